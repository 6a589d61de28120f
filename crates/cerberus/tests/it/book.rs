//! `docs/` is a book: every page is in its list, every link leads somewhere inside the book.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::style::workspace;

/// How a page names a file of the repository that is not in the book.
const REPOSITORY: &str = "https://github.com/cerberus-memory/cerberus/blob/main/";

/// The pages below `docs/`, by their path in it.
fn pages() -> BTreeMap<PathBuf, String> {
    let docs = workspace().join("docs");
    let mut found = BTreeMap::new();
    let mut folders = vec![docs.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(&docs).unwrap().to_path_buf(), text);
            }
        }
    }
    found
}

/// A text without its blocks of code and the code in its lines.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    outside.split('`').step_by(2).collect()
}

fn links(text: &str) -> Vec<String> {
    let targets = prose(text);
    let targets = targets.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_string).collect()
}

/// The names by which a page's headings are linked, as mdBook and GitHub make them.
fn anchors(text: &str) -> Vec<String> {
    let outside = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    let name = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(name).collect()
}

/// `target` as seen from a page, without `.` and `..`; `None` if it leads out of the book.
fn resolved(page: &Path, target: &str) -> Option<PathBuf> {
    let mut path = page.parent().unwrap().to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            part => path.push(part),
        }
    }
    Some(path)
}

/// Why a link of a page leads nowhere.
fn broken(pages: &BTreeMap<PathBuf, String>, page: &Path, link: &str) -> Option<String> {
    if let Some(path) = link.strip_prefix(REPOSITORY) {
        return (!workspace().join(path).exists()).then(|| "there is no such file".to_string());
    }
    if link.contains(':') {
        return None;
    }
    let (target, anchor) = link.split_once('#').map_or((link, None), |(target, anchor)| (target, Some(anchor)));
    let path = if target.is_empty() { Some(page.to_path_buf()) } else { resolved(page, target) };
    let Some(path) = path else { return Some("it leads out of the book".to_string()) };
    let Some(text) = pages.get(&path) else {
        let is_there = workspace().join("docs").join(&path).is_file();
        return (!is_there).then(|| "there is no such page".to_string());
    };
    anchor.filter(|anchor| !anchors(text).iter().any(|known| known == anchor)).map(|_| "no such heading".to_string())
}

#[test]
fn every_link_of_the_book_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (page, text) in &pages {
        for link in links(text) {
            checked += 1;
            wrong.extend(broken(&pages, page, &link).map(|why| format!("docs/{}: {link}: {why}", page.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 40, "only {checked} links found: does this test still see them?");
}

#[test]
fn every_page_is_in_the_list_of_the_book_once() {
    let pages = pages();
    let mut listed: Vec<PathBuf> = links(&pages[Path::new("SUMMARY.md")]).into_iter().map(PathBuf::from).collect();
    listed.sort();
    let there: Vec<PathBuf> = pages.into_keys().filter(|page| page != Path::new("SUMMARY.md")).collect();
    assert_eq!(listed, there);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let text = "# A page\n\n## Whose words count?\n\n```\n[x](gone.md)\n```\n`[x](gone.md)`";
    let pages = BTreeMap::from([(PathBuf::from("a.md"), text.to_string()), (PathBuf::from("adr/b.md"), String::new())]);
    assert_eq!(links(text), [""; 0]);
    for (page, link, is_broken) in [
        ("a.md", "adr/b.md", false),
        ("a.md", "#whose-words-count", false),
        ("adr/b.md", "../a.md#a-page", false),
        ("a.md", "https://example.com/", false),
        ("a.md", &format!("{REPOSITORY}Cargo.toml"), false),
        ("a.md", "gone.md", true),
        ("a.md", "#gone", true),
        ("adr/b.md", "a.md", true),
        ("a.md", "../README.md", true),
        ("a.md", &format!("{REPOSITORY}gone.md"), true),
    ] {
        assert_eq!(broken(&pages, Path::new(page), link).is_some(), is_broken, "{page}: {link}");
    }
}
