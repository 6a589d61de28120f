//! What the code and the documents must look like, checked by machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
/// What is defined once for each system, or once with a feature and once without it, has the same name twice.
const SHARED_NAMES_MAX_PERCENT: usize = 4;

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn files(ending: &str) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = ["crates", "bench", "docs", "fuzz"].iter().map(|dir| workspace().join(dir)).collect();
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap().display().to_string()
}

/// The part of a source file before its tests.
fn before_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for path in files("rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = before_tests(&text).lines().count();
        let is_test = shown(&path).contains("/tests/") || shown(&path).ends_with("tests.rs");
        if lines > FILE_LINES_MAX && !is_test {
            wrong.push(format!("{}: {lines} lines before its tests", shown(&path)));
        }
        // A command's doc comment is its help; the module says no more.
        let is_command = shown(&path).contains("src/commands/") && !shown(&path).ends_with("mod.rs");
        if !text.starts_with("//!") && !is_command && !shown(&path).ends_with("tests.rs") {
            wrong.push(format!("{}: does not begin with //!", shown(&path)));
        }
        if is_command && !text.contains("\n/// ") {
            wrong.push(format!("{}: a command without a help", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_are_short() {
    let mut wrong = Vec::new();
    for path in files("rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = before_tests(&text).lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            let is_function = ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn ", "const fn ", "pub const fn "]
                .iter()
                .any(|begin| code.starts_with(begin));
            if !is_function || code.ends_with(';') || code.ends_with('}') {
                continue;
            }
            // Formatted code closes a function with a brace in the column it began in.
            let closing = format!("{}}}", " ".repeat(indent));
            let length = lines[start..].iter().position(|line| *line == closing).map_or(0, |end| end + 1);
            let is_test = shown(&path).contains("/tests/") || shown(&path).ends_with("tests.rs");
            if length > FUNCTION_LINES_MAX && !is_test {
                wrong.push(format!("{}:{}: {length} lines", shown(&path), start + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A type's name says which one it is, so that a reader need not look at the imports.
#[test]
fn names_of_types_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files("rs") {
        let place = shown(&path);
        let is_product = place.contains("/src/") && !place.contains("testkit") && !place.starts_with("bench");
        if !is_product || place.contains("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for name in before_tests(&text).lines().filter_map(defined_type) {
            places.entry(name.to_owned()).or_default().push(place.clone());
        }
    }
    let all: usize = places.values().map(Vec::len).sum();
    let shared: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    let sharing: usize = shared.iter().map(|(_, places)| places.len()).sum();
    assert!(all > 1000, "only {all} types were found");
    assert!(sharing * 100 <= all * SHARED_NAMES_MAX_PERCENT, "{sharing} of {all} types share a name: {shared:#?}");
}

/// The name of the type that a line defines at the beginning of a module.
fn defined_type(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    Some(name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(name))
}

#[test]
fn the_name_of_a_type_is_found_in_its_definition() {
    assert_eq!(defined_type("pub(super) struct Row<'a> {"), Some("Row"));
    assert_eq!(defined_type("pub enum Kind {"), Some("Kind"));
    assert_eq!(defined_type("type Pairs = Vec<(u8, u8)>;"), Some("Pairs"));
    assert_eq!(defined_type("    struct Inner;"), None);
    assert_eq!(defined_type("fn structure() {"), None);
}

#[test]
fn paths_in_documents_exist() {
    let mut documents = files("md");
    documents.extend(
        std::fs::read_dir(workspace())
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "md")),
    );
    let mut wrong = Vec::new();
    let mut checked = 0;
    for document in &documents {
        let text = std::fs::read_to_string(document).unwrap();
        for cited in cited_paths(&text) {
            checked += 1;
            let beside = document.parent().unwrap().join(&cited);
            if !workspace().join(&cited).exists() && !beside.exists() {
                wrong.push(format!("{}: {cited}", shown(document)));
            }
        }
    }
    assert!(wrong.is_empty(), "cited but not there:\n{}", wrong.join("\n"));
    assert!(checked > 20, "only {checked} paths found: does this test still see them?");
}

/// Paths of ours: in backticks below a folder of the repository, and targets of relative links.
fn cited_paths(text: &str) -> Vec<String> {
    const FOLDERS: [&str; 8] = ["crates/", "bench/", "docs/", "dev/", ".ci/", "plugin/", "./dev/", "fuzz/"];
    let ticked = text.split('`').skip(1).step_by(2).map(|code| code.split_whitespace().next().unwrap_or_default());
    let ticked =
        ticked.filter(|code| FOLDERS.iter().any(|folder| code.starts_with(folder)) && !code.contains(['*', '<', '{']));
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let linked = linked.filter(|target| !target.contains(':') && !target.starts_with('#'));
    ticked
        .chain(linked)
        .map(|path| path.split('#').next().unwrap_or_default().trim_end_matches('/').to_string())
        .collect()
}

#[test]
fn unsafe_code_is_forbidden_in_every_crate() {
    let manifest = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
    let root = manifest("Cargo.toml");
    assert!(root.contains("unsafe_code = \"forbid\""));
    let members = root.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 4, "{members:?}");
    for member in members {
        assert!(manifest(&format!("{member}/Cargo.toml")).contains("[lints]\nworkspace = true"), "{member}");
    }
}

#[test]
fn documents_and_code_speak_of_the_product_alone() {
    let mut paths = files("rs");
    paths.extend(files("md"));
    let forbidden = ["/wor", "k/"].concat();
    let wrong: Vec<String> = paths
        .iter()
        .filter(|path| std::fs::read_to_string(path).unwrap().contains(&forbidden))
        .map(|path| shown(path))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Tests that sleep, and why.
const MAY_SLEEP: [(&str, &str); 6] = [
    ("crates/cerberus/tests/it/archive/live.rs", "kills at a random moment"),
    ("crates/cerberus/tests/it/archive.rs", "looks again until another process is done"),
    ("crates/cerberus/tests/it/loops/control.rs", "two signals of a kind at once would be one"),
    ("crates/cerberus/tests/it/sync/containers.rs", "looks again until another process is done"),
    ("crates/cerberus/tests/it/sync/faults.rs", "kills at a random moment"),
    ("crates/cerberus/tests/it/undo.rs", "looks again until another process is done"),
];

#[test]
fn tests_do_not_wait_for_time_to_pass() {
    let mark = ["thread::", "sleep("].concat();
    let tests = files("rs").into_iter().filter(|path| shown(path).starts_with("crates/cerberus/tests/"));
    let sleeping: Vec<String> =
        tests.filter(|path| std::fs::read_to_string(path).unwrap().contains(&mark)).map(|path| shown(&path)).collect();
    assert_eq!(sleeping, MAY_SLEEP.map(|(path, _)| path));
}

/// Pages that people read from the beginning to the end.
#[test]
fn the_first_pages_are_short() {
    for (page, bytes_max) in [("ARCHITECTURE.md", 12_000), ("SECURITY.md", 10_000), ("README.md", 10_000)] {
        let bytes = std::fs::read_to_string(workspace().join(page)).unwrap().len();
        assert!(bytes <= bytes_max, "{page} has {bytes} bytes");
    }
}

#[test]
fn the_readme_is_read_in_a_minute() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words <= 700, "{words} words");
}

/// What a brief costs is measured on one page; the others round that figure.
#[test]
fn one_price_is_told_everywhere() {
    let page = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
    let measured = page("docs/continuity.md");
    let measured = measured.split("A brief has ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let rounded = (measured.parse::<f64>().unwrap() / 50.0).round() * 50.0;
    let price = format!("about {rounded} tokens");
    for path in ["README.md", "docs/start.md", "crates/cerberus/src/commands/command_line.rs"] {
        assert!(page(path).contains(&price), "{path} says {price}");
    }
}

/// The first percentage in the row of a table that begins with `name`.
fn percentage<'a>(page: &'a str, name: &str) -> &'a str {
    let row =
        page.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap_or_else(|| panic!("no row {name}"));
    row.split('|').find_map(|cell| cell.trim().strip_suffix(" %")).unwrap_or_else(|| panic!("no figure: {row}"))
}

#[test]
fn the_readme_has_the_figures_that_were_measured() {
    let page = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
    let (readme, measured) = (page("README.md"), page("docs/continuity.md"));
    for (told, name) in [
        ("open items told", "open items told (weighted)"),
        ("decisions still in force told", "decisions still in force told"),
    ] {
        assert_eq!(percentage(&readme, told), percentage(&measured, name), "{told}");
    }
}

#[test]
fn the_places_of_the_glossary_exist() {
    let page = std::fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let rows = page.split("## Glossary").nth(1).unwrap().lines().filter(|line| line.starts_with("| "));
    let mut wrong = Vec::new();
    let mut checked = 0;
    for row in rows.skip(1) {
        // A crate, then files and folders below its sources.
        let mut sources = PathBuf::new();
        let places = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
        for place in places.split('`').skip(1).step_by(2) {
            let of_crate = workspace().join("crates").join(place).join("src");
            let is_there = of_crate.is_dir() || sources.join(place).exists() && !sources.as_os_str().is_empty();
            if of_crate.is_dir() {
                sources = of_crate;
            }
            checked += 1;
            if !is_there {
                wrong.push(format!("{place}: {row}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
    assert!(checked > 40, "only {checked} places found: does this test still see them?");
}
