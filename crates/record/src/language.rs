//! The programming language of a file, by its name alone. Memories may apply to one language.
//!
//! Never looks into the file: the same path always gives the same language.

/// The language of the file at `path`, with `/` or `\` as separator, in one word: `rust`, `typescript`, `c++`.
pub fn of_path(path: &str) -> Option<&'static str> {
    let file_name = path.rsplit(['/', '\\']).next()?;
    match file_name {
        "Rakefile" | "Gemfile" | "Vagrantfile" | "Guardfile" | "Podfile" | "Fastfile" => return Some("ruby"),
        ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | "PKGBUILD" => return Some("bash"),
        "SConstruct" | "SConscript" | "wscript" => return Some("python"),
        _ => {}
    }
    let (stem, ending) = file_name.rsplit_once('.')?;
    if stem.is_empty() || ending.len() > 8 {
        return None;
    }
    Some(match ending.to_ascii_lowercase().as_str() {
        "sh" | "bash" | "zsh" | "ksh" | "bats" => "bash",
        "c" => "c",
        // A header may be either.
        "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "ipp" | "inl" | "cu" | "cuh" | "ino" => "c++",
        "cs" => "c#",
        "dart" => "dart",
        "ex" | "exs" => "elixir",
        "go" => "go",
        "java" => "java",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "jl" => "julia",
        "kt" | "kts" => "kotlin",
        "lua" | "luau" => "lua",
        "pl" | "pm" => "perl",
        "php" | "phtml" => "php",
        "py" | "pyi" | "pyw" => "python",
        "r" => "r",
        "rb" | "rake" | "gemspec" | "ru" => "ruby",
        "rs" => "rust",
        "scala" | "sc" | "sbt" => "scala",
        "sql" | "psql" | "pgsql" => "sql",
        "svelte" => "svelte",
        "swift" => "swift",
        "ts" | "tsx" | "mts" | "cts" => "typescript",
        "vue" => "vue",
        "zig" => "zig",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_follows_from_the_file_name() {
        for (path, language) in [
            ("src/main.rs", Some("rust")),
            ("C:\\code\\Program.CS", Some("c#")),
            ("app/page.test.tsx", Some("typescript")),
            ("types.d.ts", Some("typescript")),
            ("Rakefile", Some("ruby")),
            ("include/a.h", Some("c++")),
            ("analysis.R", Some("r")),
            ("README.md", None),
            ("Makefile", None),
            (".rs", None),
            ("rs", None),
            ("dir.rs/file", None),
            ("", None),
        ] {
            assert_eq!(of_path(path), language, "{path}");
        }
    }
}
