//! The language of a file, by its name alone.
//!
//! Never looks into the file: the same path always gives the same language.

/// A language whose definitions can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    Bash,
    C,
    Cpp,
    CSharp,
    Dart,
    Elixir,
    Go,
    Java,
    JavaScript,
    Julia,
    Kotlin,
    Lua,
    Perl,
    Php,
    Python,
    R,
    Ruby,
    Rust,
    Scala,
    Sql,
    Svelte,
    Swift,
    Tsx,
    TypeScript,
    Vue,
    Zig,
}

impl Language {
    pub const ALL: [Language; 26] = [
        Language::Bash,
        Language::C,
        Language::Cpp,
        Language::CSharp,
        Language::Dart,
        Language::Elixir,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Julia,
        Language::Kotlin,
        Language::Lua,
        Language::Perl,
        Language::Php,
        Language::Python,
        Language::R,
        Language::Ruby,
        Language::Rust,
        Language::Scala,
        Language::Sql,
        Language::Svelte,
        Language::Swift,
        Language::Tsx,
        Language::TypeScript,
        Language::Vue,
        Language::Zig,
    ];

    /// The name in one word: `rust`, `typescript`, `c++`.
    pub fn name(self) -> &'static str {
        match self {
            Language::Bash => "bash",
            Language::C => "c",
            Language::Cpp => "c++",
            Language::CSharp => "c#",
            Language::Dart => "dart",
            Language::Elixir => "elixir",
            Language::Go => "go",
            Language::Java => "java",
            Language::JavaScript => "javascript",
            Language::Julia => "julia",
            Language::Kotlin => "kotlin",
            Language::Lua => "lua",
            Language::Perl => "perl",
            Language::Php => "php",
            Language::Python => "python",
            Language::R => "r",
            Language::Ruby => "ruby",
            Language::Rust => "rust",
            Language::Scala => "scala",
            Language::Sql => "sql",
            Language::Svelte => "svelte",
            Language::Swift => "swift",
            Language::Tsx | Language::TypeScript => "typescript",
            Language::Vue => "vue",
            Language::Zig => "zig",
        }
    }

    /// The language of the file at `path`, with `/` or `\` as separator; `None` for files without definitions.
    pub fn of_path(path: &str) -> Option<Language> {
        let file_name = path.rsplit(['/', '\\']).next()?;
        match file_name {
            "Rakefile" | "Gemfile" | "Vagrantfile" | "Guardfile" | "Podfile" | "Fastfile" => {
                return Some(Language::Ruby);
            }
            ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | "PKGBUILD" => return Some(Language::Bash),
            "SConstruct" | "SConscript" | "wscript" => return Some(Language::Python),
            _ => {}
        }
        let (stem, ending) = file_name.rsplit_once('.')?;
        if stem.is_empty() || ending.len() > 8 {
            return None;
        }
        Language::of_ending(&ending.to_ascii_lowercase())
    }

    fn of_ending(ending: &str) -> Option<Language> {
        Some(match ending {
            "sh" | "bash" | "zsh" | "ksh" | "bats" => Language::Bash,
            "c" => Language::C,
            // A header may be either; the patterns of C++ read both.
            "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "ipp" | "inl" | "cu" | "cuh" | "ino" => {
                Language::Cpp
            }
            "cs" => Language::CSharp,
            "dart" => Language::Dart,
            "ex" | "exs" => Language::Elixir,
            "go" => Language::Go,
            "java" => Language::Java,
            "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
            "jl" => Language::Julia,
            "kt" | "kts" => Language::Kotlin,
            "lua" | "luau" => Language::Lua,
            "pl" | "pm" => Language::Perl,
            "php" | "phtml" => Language::Php,
            "py" | "pyi" | "pyw" => Language::Python,
            "r" => Language::R,
            "rb" | "rake" | "gemspec" | "ru" => Language::Ruby,
            "rs" => Language::Rust,
            "scala" | "sc" | "sbt" => Language::Scala,
            "sql" | "psql" | "pgsql" => Language::Sql,
            "svelte" => Language::Svelte,
            "swift" => Language::Swift,
            "tsx" => Language::Tsx,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "vue" => Language::Vue,
            "zig" => Language::Zig,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_follows_from_the_file_name() {
        for (path, language) in [
            ("src/main.rs", Some(Language::Rust)),
            ("C:\\code\\Program.CS", Some(Language::CSharp)),
            ("app/page.test.tsx", Some(Language::Tsx)),
            ("types.d.ts", Some(Language::TypeScript)),
            ("Rakefile", Some(Language::Ruby)),
            ("include/a.h", Some(Language::Cpp)),
            ("analysis.R", Some(Language::R)),
            ("README.md", None),
            ("Makefile", None),
            (".rs", None),
            ("rs", None),
            ("dir.rs/file", None),
            ("", None),
        ] {
            assert_eq!(Language::of_path(path), language, "{path}");
        }
    }
}
