//! What is promised: promises and limits are numbered, and each names tests, attacks and constants that exist.

use std::collections::BTreeSet;
use std::path::Path;

use cerberus_testkit::attack::Class;

use crate::style::{files, workspace};

/// The pages with numbered promises, in the order of their numbers.
const PROMISES: [&str; 2] = ["docs/threats.md", "docs/limits.md"];

/// The pages that name tests besides.
const NAME_TESTS: [&str; 4] = ["SECURITY.md", "docs/stored.md", "docs/trust.md", "docs/forgetting.md"];

fn read(pages: &[&str]) -> String {
    pages.iter().map(|page| std::fs::read_to_string(workspace().join(page)).unwrap()).collect()
}

/// The rows of a table whose first column is the number of a promise, without that table's head.
fn promises(page: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        is_inside = line.starts_with("| # |") || (is_inside && line.starts_with('|'));
        if is_inside && !line.starts_with("| # |") && !line.starts_with("|---") {
            // No cell has an escaped bar.
            rows.push(line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect());
        }
    }
    rows
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The tests of a file or folder of tests, by name.
fn tests_of(file: &str) -> Option<BTreeSet<String>> {
    let folder = workspace().join("crates/cerberus/tests/it");
    let mut sources = Vec::new();
    for path in [folder.join(format!("{file}.rs")), folder.join(file)] {
        collect(&path, &mut sources);
    }
    let text = sources.concat();
    let named = text.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split('(').next());
    (!sources.is_empty()).then(|| named.map(str::to_string).collect())
}

fn collect(path: &Path, sources: &mut Vec<String>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), sources));
    } else if path.extension().is_some_and(|end| end == "rs") && path.exists() {
        sources.push(std::fs::read_to_string(path).unwrap());
    }
}

#[test]
fn every_promise_names_a_test_and_an_attack_that_exist() {
    let rows = promises(&read(&PROMISES));
    assert!(rows.len() > 40, "only {} promises were found", rows.len());
    let classes: Vec<&str> = Class::ALL.iter().map(|class| class.word()).collect();
    let mut attacked = BTreeSet::new();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row[0], (at + 1).to_string(), "promises are numbered one after the other: {row:?}");
        let [.., tested, attack] = row.as_slice() else { panic!("{row:?}") };
        let names_unit_tests = tested.contains("unit test");
        let names_tests = quoted(tested).any(|test| tests_of(test.split("::").next().unwrap()).is_some());
        assert!(names_unit_tests || names_tests, "no test is named: {row:?}");
        let named: Vec<&str> = quoted(attack).collect();
        assert!(attack == "test" || !named.is_empty(), "no attack is named: {row:?}");
        for class in named {
            assert!(classes.contains(&class), "there is no attack class {class}: {row:?}");
            attacked.insert(class.to_string());
        }
    }
    let unused: Vec<&&str> = classes.iter().filter(|class| !attacked.contains(**class)).collect();
    assert!(unused.is_empty(), "attacks that no promise names: {unused:?}");
}

#[test]
fn every_test_that_is_named_exists() {
    let pages = read(&PROMISES) + &read(&NAME_TESTS);
    let mut count = 0;
    for name in quoted(&pages) {
        let Some((file, test)) = name.split_once("::").filter(|(file, _)| !file.contains([' ', '/', '.'])) else {
            continue;
        };
        // `file::test` as the pages introduce it.
        if (file, test) == ("file", "test") {
            continue;
        }
        let tests = tests_of(file).unwrap_or_else(|| panic!("there is no file of tests for {name}"));
        assert!(tests.contains(test), "there is no test {name}");
        count += 1;
    }
    assert!(count > 60, "only {count} tests are named");
}

#[test]
fn every_limit_names_a_constant_that_exists() {
    let sources: String = files("rs").iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let rows = promises(&read(&["docs/limits.md"]));
    let is_constant = |name: &&str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let names: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(&row[3])).filter(is_constant).collect();
    let missing: Vec<&&str> = names.iter().filter(|name| !sources.contains(&format!("const {name}:"))).collect();
    assert!(missing.is_empty(), "limits without a constant: {missing:?}");
    assert!(names.len() > 50, "only {} constants are named", names.len());
}
