//! Patterns mean what they mean to git: `git check-ignore` is asked about thousands of patterns and paths.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use cerberus_record::clean::glob::{Glob, PatternEffect, deciding};
use cerberus_testkit::env::TestEnv;
use serde_json::json;

use crate::env;
use crate::forget::holding;

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const NAMES: [&str; 14] = ["a", "b", "c", "ab", "abc", "a.b", "b.c", "-", "]", "a*", "a b", "x1", ".a", "sub"];
const ODD_NAMES: [&str; 8] = ["é", "éa", "aé", "日本", "日", "ßc", "a.é", "éé"];
const PIECES: [&str; 30] = [
    "a",
    "b",
    "c",
    "ab",
    ".",
    "*",
    "*",
    "?",
    "?",
    "[abc]",
    "[a-c]",
    "[!a-c]",
    "[^b]",
    "[]a]",
    "[a-]",
    "[!]]",
    "[\\]x]",
    "[[:alpha:]]",
    "[[:digit:]]",
    "[![:lower:]]",
    "[a[:digit:]-]",
    "\\a",
    "\\*",
    "\\?",
    "\\[",
    "-",
    "]",
    "x1",
    "[b-]",
    "{a}",
];
const ODD_PIECES: [&str; 8] = ["é", "日", "?", "??", "[é]", "[!a]", "[a-é]", "ß"];

fn name_pattern(random: &mut Random, pieces: &[&str]) -> String {
    (0..1 + random.below(3)).map(|_| random.of(pieces)).collect()
}

/// A pattern of one to three names. Stars beside `**` are left out: git's answer depends on what stands before them.
fn pattern(random: &mut Random, pieces: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let name = if random.below(5) == 0 { "**".to_string() } else { name_pattern(random, pieces) };
        // Git does not know `./` at the beginning; we do.
        let is_dots = name.bytes().all(|byte| byte == b'.');
        parts.push(if name.contains("**") {
            "**".to_string()
        } else if is_dots {
            ".a".to_string()
        } else {
            name
        });
    }
    let (top, end) = (random.below(4) == 0, random.below(4) == 0);
    format!("{}{}{}", if top { "/" } else { "" }, parts.join("/"), if end { "/" } else { "" })
}

fn paths(random: &mut Random, names: &[&str], count: usize) -> Vec<String> {
    let path = |random: &mut Random| (0..1 + random.below(4)).map(|_| random.of(names)).collect::<Vec<_>>().join("/");
    (0..count).map(|_| path(random)).collect()
}

/// Asks git. In one folder no path exists, so the last name of each is a file; in the other all are folders.
struct Oracle<'e> {
    env: &'e TestEnv,
    folders: [PathBuf; 2],
}

impl<'e> Oracle<'e> {
    fn new(env: &'e TestEnv, paths: &[String]) -> Oracle<'e> {
        let folders = ["absent", "folders"].map(|name| env.add_repository(name));
        paths.iter().for_each(|path| fs::create_dir_all(folders[1].join(path)).unwrap());
        Oracle { env, folders }
    }

    /// The paths that are ignored, as a file or as a folder.
    fn ignored(&self, patterns: &[String], paths: &[String]) -> HashSet<String> {
        let mut found = HashSet::new();
        for folder in &self.folders {
            fs::write(folder.join(".gitignore"), patterns.join("\n") + "\n").unwrap();
            let mut git = self.env.command_for("git");
            git.current_dir(folder).args(["-c", "core.ignorecase=true", "check-ignore", "--no-index", "--stdin", "-z"]);
            let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            git.stdin.take().unwrap().write_all((paths.join("\0") + "\0").as_bytes()).unwrap();
            let printed = String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap();
            found.extend(printed.split('\0').filter(|path| !path.is_empty()).map(str::to_string));
        }
        found
    }
}

/// A pattern for git that begins at any depth, as ours do.
fn at_any_depth(pattern: &str) -> String {
    let (mark, rest) = pattern.strip_prefix('!').map_or(("", pattern), |rest| ("!", rest));
    match rest.trim_end_matches('/').contains('/') && !rest.starts_with('/') {
        true => format!("{mark}**/{rest}"),
        false => pattern.to_string(),
    }
}

fn is_included(patterns: &[String], path: &str) -> bool {
    let rule = |text: &String| match text.strip_prefix('!') {
        Some(text) => (Glob::parse(text).unwrap(), PatternEffect::Except),
        None => (Glob::parse(text).unwrap(), PatternEffect::Include),
    };
    let rules: Vec<(Glob, PatternEffect)> = patterns.iter().map(rule).collect();
    let rules: Vec<(&Glob, PatternEffect)> = rules.iter().map(|(glob, effect)| (glob, *effect)).collect();
    deciding(&rules, path).is_some()
}

#[test]
fn lists_of_patterns_mean_what_they_mean_to_git() {
    let mut random = Random(20);
    let env = env();
    let paths = paths(&mut random, &NAMES, 150);
    let oracle = Oracle::new(&env, &paths);
    let (mut included, mut excepted) = (0, 0);
    for _ in 0..250 {
        let mut list: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(4) {
            let mark = if !list.is_empty() && random.below(3) == 0 { "!" } else { "" };
            list.push(format!("{mark}{}", pattern(&mut random, &PIECES)));
        }
        let for_git: Vec<String> = list.iter().map(|pattern| at_any_depth(pattern)).collect();
        let expected = oracle.ignored(&for_git, &paths);
        for path in &paths {
            assert_eq!(is_included(&list, path), expected.contains(path), "{list:?} {path:?}");
        }
        included += expected.len();
        excepted += usize::from(list.iter().any(|pattern| pattern.starts_with('!')) && !expected.is_empty());
    }
    assert!(included > 5_000 && excepted > 25, "the patterns match something: {included} {excepted}");
}

#[test]
fn a_pattern_to_forget_means_what_it_means_to_git() {
    let mut random = Random(4);
    let env = env();
    let paths = paths(&mut random, &NAMES, 150);
    let oracle = Oracle::new(&env, &paths);
    let mut tried = 0;
    for _ in 0..250 {
        let pattern = pattern(&mut random, &PIECES);
        let Ok(glob) = Glob::parse_exact(&pattern) else { continue };
        tried += 1;
        let expected = oracle.ignored(std::slice::from_ref(&pattern), &paths);
        for path in &paths {
            assert_eq!(glob.matches(path), expected.contains(path), "{pattern:?} {path:?}");
        }
    }
    assert!(tried > 200, "{tried}");
}

/// Git reads bytes. People mean characters, so a character that takes several bytes matches like any other; what git
/// says about the same pattern and path, written with one byte for each, is the answer for characters.
#[test]
fn characters_of_several_bytes_match_as_git_matches_bytes_or_as_people_read_them() {
    let mut random = Random(7);
    let env = env();
    let names = [&NAMES[..5], &ODD_NAMES].concat();
    let pieces = [&PIECES[..12], &ODD_PIECES].concat();
    let narrow = |text: &str| text.replace('é', "p").replace('日', "q").replace('本', "r").replace('ß', "s");
    let paths = paths(&mut random, &names, 150);
    let narrow_paths: Vec<String> = paths.iter().map(|path| narrow(path)).collect();
    let oracle = Oracle::new(&env, &[paths.clone(), narrow_paths.clone()].concat());
    let mut wide = 0;
    for _ in 0..200 {
        let pattern = pattern(&mut random, &pieces);
        let for_git = at_any_depth(&pattern);
        let by_byte = oracle.ignored(std::slice::from_ref(&for_git), &paths);
        let by_char = oracle.ignored(&[narrow(&for_git)], &narrow_paths);
        for (path, narrow_path) in paths.iter().zip(&narrow_paths) {
            // In a set, a range up to é has other members than one up to its stand-in.
            let expected = by_byte.contains(path) || by_char.contains(narrow_path);
            let ours = is_included(std::slice::from_ref(&pattern), path);
            if pattern.contains("[a-é]") {
                assert!(ours || !by_byte.contains(path), "{pattern:?} {path:?}");
            } else {
                assert_eq!(ours, expected, "{pattern:?} {path:?}");
            }
            wide += usize::from(expected && !by_byte.contains(path));
        }
    }
    assert!(wide > 100, "{wide}");
}

#[test]
fn private_paths_have_gitignore_syntax_and_other_patterns_are_refused_loudly() {
    let env = env();
    fs::create_dir_all(env.home()).unwrap();
    let configure = |patterns: &[&str]| {
        fs::write(env.home().join("config.toml"), format!("[private]\npaths = {}\n", json!(patterns))).unwrap();
    };
    configure(&["plan[abc].md", "[!a-y]oo/", "gr?ße.md", "a\\*b", "books/*", "!books/open.md"]);
    for (n, path) in ["plana.md", "zoo/keeper.md", "größe.md", "a*b", "books/ledger.md"].iter().enumerate() {
        env.write_file("s1", &format!("p{n}"), path, "");
        assert_eq!(holding(&env, path), [""; 0], "{path}");
    }
    for (n, path) in ["pland.md", "boo/keeper.md", "axb", "books/open.md"].iter().enumerate() {
        env.write_file("s1", &format!("o{n}"), path, "");
        assert!(!holding(&env, path).is_empty(), "{path}");
    }
    for (wrong, why) in [
        ("{a,b}.md", "gitignore has no braces"),
        ("plan[abc.md", "[ is never closed"),
        ("[c-a]", "a range runs backwards"),
        ("[[:word:]]", "there is no class [:word:]"),
        ("a\\", "a backslash at the end"),
        ("#a", "a comment"),
        ("", "1 to 127 characters"),
    ] {
        configure(&[wrong]);
        env.write_file("s1", wrong, "lantern.md", "");
        assert_eq!(holding(&env, "lantern.md"), [""; 0], "{wrong}: nothing is stored until it is fixed");
        let report = env.doctor();
        let check =
            report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "config").unwrap().clone();
        assert!(check["ok"] == false && check["detail"].as_str().unwrap().contains(why), "{wrong}: {check}");
        configure(&[]);
        if !wrong.is_empty() {
            let refused = env.run(&["forget", "--path", wrong, "--yes"]);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(refused.status.code() == Some(2) && said.contains(why), "{wrong}: {said}");
        }
    }
}
