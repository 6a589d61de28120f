//! Decides the scope of an instruction: universal, one language, or one project.
//!
//! Based on its words and on where it was said. Names are matched as whole words only: "trust" is not Rust, and "go
//! ahead" is not Go. In doubt the scope is the project.

use std::collections::BTreeSet;

use super::wording::is_code;
use crate::extract::symbols::Language;
use crate::language::concepts::Field;
use crate::language::meaning::Meaning;
use crate::model::id::ProjectId;
use crate::model::memory::Scope;

/// Where something was said.
pub(crate) struct Origin<'a> {
    pub project: &'a ProjectId,
    pub project_name: &'a str,
    /// Of the files that the session edited.
    pub languages: &'a [&'a str],
}

/// An instruction mostly about communication, or entirely about ways of working, is universal.
const TALK_SHARE_MIN: f64 = 0.6;
const WORK_SHARE_MIN: f64 = 0.99;
const CODE_SHARE_MIN: f64 = 0.5;

/// Languages by unambiguous names.
const LANGUAGES: [(&str, &str); 25] = [
    ("bash", "bash|shellcheck"),
    ("c#", "c#|csharp"),
    ("c++", "c++|cpp"),
    ("css", "css"),
    ("dart", "flutter"),
    ("elixir", "elixir"),
    ("go", "golang|gofmt|goroutine|goroutines"),
    ("html", "html"),
    ("java", "java|junit"),
    ("javascript", "javascript|jsx"),
    ("kotlin", "kotlin"),
    ("lua", "lua"),
    ("markdown", "markdown"),
    ("perl", "perl"),
    ("php", "php|phpunit"),
    ("python", "python|pytest|mypy|ruff|pip|pydantic|unittest"),
    ("ruby", "ruby|rspec|rubocop"),
    ("rust", "rust|cargo|clippy|rustfmt|rustc|rustdoc"),
    ("scala", "scala"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("swift", "swiftui|swiftlint"),
    ("typescript", "typescript|tsx|tsc"),
    ("vue", "vue"),
    ("zig", "zig"),
];

/// Languages whose names are also words or letters, in their usual spelling.
const AMBIGUOUS: [(&str, &str); 6] =
    [("c", "C"), ("dart", "Dart"), ("go", "Go"), ("julia", "Julia"), ("r", "R"), ("swift", "Swift")];
/// Words after or before such a name that show that the language is meant. A word before it only counts if the name
/// is capitalised.
const AFTER_NAME: &str = "code|file|files|source|sources|program|programs|module|modules|package|packages|struct|structs|\
    function|functions|interface|interfaces|script|scripts|project|projects|idioms|style";
const BEFORE_NAME: &str = "in|of|for|with|our|idiomatic|write|writing|production";

/// Phrases that only make sense in their own project.
const PROJECT_PHRASES: &str =
    "this repo|this repository|this project|this codebase|this app|this code base|our|in here|this module|this file";
const PROJECT_WORDS: &str = "staging|server|pipeline|monorepo|frontend|backend|schema|endpoint|dashboard|gitignored|changelog|submodule|\
    skill|prod";
/// Capitals inside these words do not make them identifiers.
const ORDINARY_NAMES: &str = "camelcase|snake_case|pascalcase|screaming_snake_case|typescript|javascript|github|gitlab|postgresql|\
    mysql|sqlite|mongodb|graphql|macos|ios|jsdoc|openai|chatgpt|and/or|i/o|n/a|a/b|ci/cd|yes/no|tabs/spaces|phpunit|swiftui|devops";

/// The scope of what `texts` say; `canonical` is the chosen wording.
pub(crate) fn reach(canonical: &str, texts: &[&str], origins: &[Origin]) -> (Scope, Option<ProjectId>) {
    let Some(last) = origins.last() else { return (Scope::Universal, None) };
    let meaning = Meaning::of(canonical);
    let projects: BTreeSet<&ProjectId> = origins.iter().map(|origin| origin.project).collect();
    let language = named_language(canonical, texts);
    if projects.len() > 1 {
        let language = language.or_else(|| common_language(&meaning, origins));
        return (language.map_or(Scope::Universal, Scope::Language), None);
    }
    let own = (Scope::Project(last.project_name.to_string()), Some(last.project.clone()));
    if names_project(canonical, last.project_name) || meaning.speaks_of(Field::Project) {
        return own;
    }
    if let Some(language) = language {
        return (Scope::Language(language), None);
    }
    let is_talk = meaning.share_of(&[Field::Talk]) >= TALK_SHARE_MIN;
    let is_habit = meaning.share_of(&[Field::Talk, Field::Work]) >= WORK_SHARE_MIN;
    if is_talk || is_habit { (Scope::Universal, None) } else { own }
}

/// The one language named by the wording, or by most of the texts.
fn named_language(canonical: &str, texts: &[&str]) -> Option<String> {
    let one = |text: &str| {
        let named = languages_in(text);
        if named.len() == 1 { named.into_iter().next() } else { None }
    };
    let language = one(canonical).or_else(|| texts.iter().find_map(|text| one(text)))?;
    let named = texts.iter().filter(|text| one(text) == Some(language)).count();
    (2 * named >= texts.len() || one(canonical) == Some(language)).then(|| language.to_string())
}

/// The only language in all the projects where it was said, if it is about code.
fn common_language(meaning: &Meaning, origins: &[Origin]) -> Option<String> {
    let is_code =
        meaning.share_of(&[Field::Code]) >= CODE_SHARE_MIN && meaning.share_of(&[Field::Talk]) < TALK_SHARE_MIN;
    let all: BTreeSet<&str> = origins.iter().flat_map(|origin| origin.languages.iter().copied()).collect();
    let is_known = origins.iter().all(|origin| !origin.languages.is_empty());
    let only = if all.len() == 1 { all.into_iter().next() } else { None };
    only.filter(|_| is_code && is_known).map(str::to_string)
}

fn languages_in(text: &str) -> BTreeSet<&'static str> {
    let words: Vec<&str> = text.split_whitespace().map(core).collect();
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let low = word.to_lowercase();
        found.extend(LANGUAGES.iter().filter(|(_, names)| is_one_of(&low, names)).map(|(language, _)| *language));
        // ".py", "*.rs" mean the files of a language, not one file.
        if let Some(ending) = word.trim_start_matches('*').strip_prefix('.') {
            found.extend(Language::of_path(&format!("x.{ending}")).map(Language::name));
        }
        let next = words.get(at + 1).map_or(String::new(), |next| next.to_lowercase());
        let before = at.checked_sub(1).map_or(String::new(), |before| words[before].to_lowercase());
        for (language, name) in AMBIGUOUS {
            let is_meant = match *word == name {
                true => is_one_of(&next, AFTER_NAME) || is_one_of(&before, BEFORE_NAME),
                false => low == name.to_lowercase() && low != "r" && is_one_of(&next, AFTER_NAME) && before != "to",
            };
            found.extend(is_meant.then_some(language));
        }
    }
    found
}

/// Whether the text names something specific to this project: a path, a file, an identifier, the project itself.
fn names_project(text: &str, project_name: &str) -> bool {
    let low = text.to_lowercase();
    let padded = format!(" {} ", low.split_whitespace().map(core).collect::<Vec<_>>().join(" "));
    let has = |words: &str| padded.contains(&format!(" {words} "));
    if PROJECT_PHRASES.split('|').any(has) || PROJECT_WORDS.split('|').any(has) {
        return true;
    }
    if project_name.chars().count() > 2 && has(&project_name.to_lowercase()) {
        return true;
    }
    text.split_whitespace().map(core).any(is_own_name)
}

fn is_own_name(word: &str) -> bool {
    let is_ending =
        word.starts_with(['.', '*']) && Language::of_path(&format!("x{}", word.trim_start_matches('*'))).is_some();
    if is_ending || is_one_of(&word.to_lowercase(), ORDINARY_NAMES) || word.contains("://") {
        return false;
    }
    let is_file = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        let is_ending = (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric());
        stem.len() > 1
            && is_ending
            && ending.chars().any(char::is_alphabetic)
            && !matches!(stem, "e.g" | "i.e" | "e" | "i")
    });
    is_file || (is_code(word) && word.chars().any(char::is_alphabetic))
}

/// A word without surrounding punctuation.
fn core(word: &str) -> &str {
    let start = word.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '*' | '/' | '_' | '@'));
    start.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '/' | '_'))
}

fn is_one_of(word: &str, list: &str) -> bool {
    !word.is_empty() && list.split('|').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach_of(text: &str, origins: &[(&str, &[&str])]) -> String {
        let ids: Vec<ProjectId> = origins.iter().map(|(name, _)| ProjectId::of_name(name)).collect();
        let origins: Vec<Origin> = origins
            .iter()
            .zip(&ids)
            .map(|((name, languages), id)| Origin { project: id, project_name: name, languages })
            .collect();
        reach(text, &[text], &origins).0.to_string()
    }

    #[test]
    fn scope_from_one_project() {
        for (text, scope) in [
            // Communication and ways of working.
            ("keep it short", "universal"),
            ("keep it simple", "universal"),
            ("keep the parser simple", "project:hydra"),
            ("no emojis", "universal"),
            ("use British spelling", "universal"),
            ("explain before you commit", "universal"),
            ("think before you code", "universal"),
            ("always answer in German", "universal"),
            ("wait for my review before you push", "universal"),
            ("always ask before pushing", "universal"),
            ("write tests alongside each task", "universal"),
            // A language by its name, its files, its tools.
            ("prefer iterators over loops in Rust", "language:rust"),
            ("use pytest for all tests", "language:python"),
            ("type hints in all .py files", "language:python"),
            ("run cargo clippy before you commit", "language:rust"),
            ("never use panic in production Go code", "language:go"),
            ("keep goroutine code short", "language:go"),
            ("always close files in go code", "language:go"),
            ("comment the macros in C code", "language:c"),
            ("do not wrap lines in markdown", "language:markdown"),
            // Words that only contain a language's name.
            ("trust the cache", "project:hydra"),
            ("change the colours back", "project:hydra"),
            ("you can go ahead with the branch names", "project:hydra"),
            ("go over the code again", "project:hydra"),
            ("plan B or plan C are fine as names", "project:hydra"),
            ("be swift with the code", "project:hydra"),
            // Things of the project, even next to a language.
            ("use PortalTabs for portal pages", "project:hydra"),
            ("our component library needs themes", "project:hydra"),
            ("follow PYTHON.md", "project:hydra"),
            ("never edit src/generated by hand in Python", "project:hydra"),
            ("never run migrations by hand", "project:hydra"),
            ("call it hydra in all messages", "project:hydra"),
            ("never call reset_all in tests", "project:hydra"),
            ("keep replies short in this repo", "project:hydra"),
            // No indication: the project.
            ("use the blue theme", "project:hydra"),
            ("handle errors with results", "project:hydra"),
        ] {
            assert_eq!(reach_of(text, &[("hydra", &["rust"])]), scope, "{text}");
        }
    }

    #[test]
    fn scope_from_several_projects() {
        let rust: (&str, &[&str]) = ("hydra", &["rust"]);
        let also_rust: (&str, &[&str]) = ("argus", &["rust"]);
        let mixed: (&str, &[&str]) = ("medusa", &["rust", "python"]);
        let unknown: (&str, &[&str]) = ("echo", &[]);
        for (text, origins, scope) in [
            ("handle all errors", [rust, also_rust], "language:rust"),
            ("handle all errors", [rust, mixed], "universal"),
            ("handle all errors", [rust, unknown], "universal"),
            ("keep it short", [rust, also_rust], "universal"),
            ("ask before you push", [rust, also_rust], "universal"),
            ("use pytest", [rust, mixed], "language:python"),
            ("deploy on fridays only", [rust, mixed], "universal"),
        ] {
            assert_eq!(reach_of(text, &origins), scope, "{text}");
        }
        assert_eq!(reach_of("anything", &[]), "universal");
    }
}
