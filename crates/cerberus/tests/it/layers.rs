//! The top-level folders of every library import each other in one direction only, and agents are known by name only in
//! their own. `dev/layers` proves the direction of the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::style::{files, shown, workspace};

/// From one folder to another: where in the source it is imported.
type Imports = BTreeMap<(String, String), Vec<String>>;

#[test]
fn folders_import_in_one_direction() {
    let mut seen = 0;
    for name in ["record", "recall", "store", "sync"] {
        let imports = imports_of(&workspace().join("crates").join(name).join("src"));
        seen += imports.len();
        let wrong = circles(&imports);
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    }
    assert!(seen > 50, "only {seen} imports found: does this test still see them?");
}

/// The imports that close a circle, each with where it is.
fn circles(imports: &Imports) -> Vec<String> {
    let edges: BTreeSet<(&str, &str)> = imports.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let closing = edges.iter().filter(|(from, to)| leads_to(&edges, to, from));
    closing
        .map(|(from, to)| {
            format!("{from} imports {to} in a circle: {}", imports[&(from.to_string(), to.to_string())].join(", "))
        })
        .collect()
}

fn leads_to(edges: &BTreeSet<(&str, &str)>, start: &str, end: &str) -> bool {
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(folder) = open.pop() {
        let next = edges.iter().filter(|(from, _)| *from == folder).map(|(_, to)| *to);
        open.extend(next.filter(|to| seen.insert(to)));
    }
    seen.contains(end)
}

fn imports_of(src: &Path) -> Imports {
    let paths: Vec<PathBuf> = files("rs").into_iter().filter(|path| path.starts_with(src) && !is_test(path)).collect();
    let parts = |path: &Path| -> Vec<String> {
        let inside = path.strip_prefix(src).unwrap().with_extension("");
        let mut parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if parts.last().is_some_and(|last| last == "mod") {
            parts.pop();
        }
        parts
    };
    // Files beside the root of the crate count as one folder with it.
    let folder = |name: &str| match paths.iter().any(|path| path.starts_with(src.join(name))) {
        true => name.to_string(),
        false => "the root".to_string(),
    };
    let mut imports = Imports::new();
    for path in &paths {
        let module = parts(path);
        let code = without_tests(&std::fs::read_to_string(path).unwrap());
        let from = folder(&module[0]);
        for (offset, name) in imported(&code, module.len()) {
            let to = folder(&name);
            // The root puts the folders together.
            if from != to && module[0] != "lib" {
                let line = code[..offset].lines().count();
                let place = format!("{}:{line}", shown(path));
                imports.entry((from.clone(), to)).or_default().push(place);
            }
        }
    }
    imports
}

/// A file that is compiled for tests only.
pub(crate) fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let parent = path.parent().unwrap();
    let declared_in = [parent.join("mod.rs"), parent.join("lib.rs"), parent.with_extension("rs")];
    let declaration = format!("#[cfg(test)]\nmod {name};");
    declared_in.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&declaration)))
        || is_part_of_test(parent)
}

/// A part of a longer test file, in a folder of its name.
fn is_part_of_test(folder: &Path) -> bool {
    let file = folder.with_extension("rs");
    file.is_file() && is_test(&file)
}

/// The code without comments and without modules for tests; its lines stay where they are.
pub(crate) fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    let mut in_tests = false;
    while let Some(line) = lines.next() {
        let opens = |next: &&str| next.ends_with('{') && (next.starts_with("mod ") || next.contains(" mod "));
        in_tests |= line == "#[cfg(test)]" && lines.peek().is_some_and(opens);
        // Formatted code closes a module with a brace in the first column.
        let closes = in_tests && line == "}";
        let is_comment = line.trim_start().starts_with("//");
        if !in_tests && !is_comment {
            code.push_str(line.split(" // ").next().unwrap_or_default());
        }
        code.push('\n');
        in_tests &= !closes;
    }
    code
}

/// Top-level folders that paths in `code` lead to, with their offsets; the module is `depth` below the crate's root.
fn imported(code: &str, depth: usize) -> Vec<(usize, String)> {
    let to_root = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", to_root.as_str()] {
        for (offset, _) in code.match_indices(root) {
            let is_inside = code[..offset].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$');
            if !is_inside {
                found.extend(first_names(&code[offset + root.len()..]).into_iter().map(|name| (offset, name)));
            }
        }
    }
    found
}

/// `a::b` → `a`; `{a::{b, c}, d}` → `a`, `d`.
fn first_names(path: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = |text: &str| text.chars().take_while(|c| is_name(*c)).collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut names = Vec::new();
    let (mut level, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level > 0 => level -= 1,
            ',' | '}' if level == 0 => {
                names.push(name(group[start..at].trim_start()));
                start = at + 1;
            }
            _ => {}
        }
        if c == '}' && level == 0 && start > at {
            break;
        }
    }
    names
}

/// Files outside the agents' folders that may name one, and why.
const MAY_NAME_AGENTS: [(&str, &str); 5] = [
    ("crates/record/src/path.rs", "a folder in which worktrees are found"),
    ("crates/recall/src/summary/check.rs", "words that people use"),
    ("crates/cerberus/src/commands/doctor/latency.rs", "sends a payload as one agent does"),
    ("crates/cerberus/src/commands/try_out/sandbox.rs", "plays a session of one agent"),
    ("crates/cerberus/src/tui/terminal.rs", "a terminal has a cursor"),
];

/// A new agent is a folder of the crate of agents: nothing else knows an agent by name.
#[test]
fn agents_are_named_in_their_folders_only() {
    // Not "inclined".
    const NAMES: [&str; 9] =
        ["claude", "codex", "gemini", "opencode", "cursor", "copilot", "qwen", "cline::", "\"cline\""];
    let is_elsewhere = |path: &str| is_product(path) && !path.starts_with("crates/agents/src/");
    let mut allowed = BTreeSet::from(MAY_NAME_AGENTS.map(|(path, _)| path.to_string()));
    let mut wrong = Vec::new();
    for path in files("rs").into_iter().filter(|path| is_elsewhere(&shown(path)) && !is_test(path)) {
        let code = without_tests(&std::fs::read_to_string(&path).unwrap()).to_lowercase();
        let naming = code.lines().enumerate().filter(|(_, line)| NAMES.iter().any(|name| line.contains(name)));
        let places: Vec<String> = naming.map(|(at, line)| format!("{}:{}: {line}", shown(&path), at + 1)).collect();
        if !places.is_empty() && !allowed.remove(&shown(&path)) {
            wrong.extend(places);
        }
    }
    assert!(wrong.is_empty(), "agents are named outside their folders:\n{}", wrong.join("\n"));
    assert!(allowed.is_empty(), "these name no agent any more: {allowed:?}");
}

/// What Clippy forbids the pure crates, it finds through these: the list itself is `.ci/pure/clippy.toml`.
#[test]
fn the_pure_crates_are_forbidden_to_do_anything() {
    for name in ["text", "record", "recall"] {
        let folder = workspace().join("crates").join(name);
        let linked = std::fs::canonicalize(folder.join("clippy.toml")).unwrap();
        assert_eq!(linked, workspace().join(".ci/pure/clippy.toml"), "{name}");
        let root = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        let lints = root.split("not(test),").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
        for lint in ["disallowed_methods", "disallowed_types", "print_stdout", "print_stderr"] {
            assert!(lints.contains("deny(") && lints.contains(lint), "{name}: {lint}");
        }
    }
}

/// Building the documentation of every crate to look for tests takes long, so no crate has any.
#[test]
fn no_test_is_in_a_comment() {
    let is_code = |line: &str| ["/// ```", "//! ```", "/// ```rust", "//! ```rust"].contains(&line.trim());
    for path in files("rs") {
        // A block ends with such a line too.
        let text = std::fs::read_to_string(&path).unwrap();
        let mut fences = text.lines().filter(|line| line.trim_start().starts_with("//") && line.contains(" ```"));
        while let (Some(begin), _) = (fences.next(), fences.next()) {
            assert!(!is_code(begin), "{}: {begin} is not run", shown(&path));
        }
    }
}

/// Adding an agent touches few files besides tests, fixtures and documents.
#[test]
fn an_agent_is_few_files() {
    const FILES_MAX: usize = 10;
    for agent in ["cline", "cursor", "qwen_code"] {
        let own = format!("crates/agents/src/{agent}/");
        let all = files("rs").into_iter().chain(files("js")).filter(|path| {
            let shown = shown(path);
            (is_product(&shown) || shown.starts_with("fuzz/")) && !is_test(path) && !shown.ends_with("/recorded.rs")
        });
        let names_it: Vec<String> = all
            .filter(|path| {
                let code = without_tests(&std::fs::read_to_string(path).unwrap());
                shown(path).starts_with(&own)
                    || code.contains(&format!("{agent}::"))
                    || code.contains(&format!("mod {agent};"))
            })
            .map(|path| shown(&path))
            .collect();
        assert!((4..=FILES_MAX).contains(&names_it.len()), "{agent}: {names_it:#?}");
    }
}

/// Code that is compiled for one operating system only is in two folders. Scripts for a shell may still try programs of several.
#[test]
fn code_for_one_system_is_in_its_folders_only() {
    const MARKS: [&str; 12] = [
        "cfg(unix",
        "cfg(windows",
        "cfg(not(unix",
        "cfg(not(windows",
        "target_os",
        "os::unix",
        "os::windows",
        "os::fd",
        "rustix",
        "signal_hook",
        "sysinfo",
        "/proc/",
    ];
    let folders = ["crates/os/src/platform/", "crates/cerberus/src/platform/"];
    let is_elsewhere = |path: &str| is_product(path) && !folders.iter().any(|folder| path.starts_with(folder));
    let mut wrong = Vec::new();
    for path in files("rs").into_iter().filter(|path| is_elsewhere(&shown(path)) && !is_test(path)) {
        let code = without_tests(&std::fs::read_to_string(&path).unwrap());
        let marked = code.lines().enumerate().filter(|(_, line)| MARKS.iter().any(|mark| line.contains(mark)));
        wrong.extend(marked.map(|(at, line)| format!("{}:{}: {line}", shown(&path), at + 1)));
    }
    assert!(wrong.is_empty(), "code for one system outside its folders:\n{}", wrong.join("\n"));
}

/// Files whose types read back clean text, as we wrote it: records, the loop's book, and what both hold.
const READ_CLEAN_TEXT_BACK: [&str; 13] = [
    "crates/loop/src/entry.rs",
    "crates/record/src/check.rs",
    "crates/record/src/clean/text.rs",
    "crates/record/src/event.rs",
    "crates/record/src/failure.rs",
    "crates/record/src/forgotten.rs",
    "crates/record/src/memory.rs",
    "crates/record/src/open.rs",
    "crates/record/src/quotation.rs",
    "crates/record/src/repository.rs",
    "crates/record/src/seed_codes.rs",
    "crates/record/src/source.rs",
    "crates/record/src/summary.rs",
];
/// Files that take clean text out of the view.
const TAKE_CLEAN_TEXT_FROM_THE_VIEW: [&str; 4] = [
    "crates/record/src/clean/text.rs",
    "crates/store/src/view/changed_twice.rs",
    "crates/store/src/view/memories.rs",
    "crates/store/src/view/read.rs",
];
/// Files that make or use a cleaner without the user's rules: the home before they are read, and ids of the system.
const CLEAN_WITHOUT_THE_USERS_RULES: [&str; 4] = [
    "crates/os/src/home.rs",
    "crates/os/src/process.rs",
    "crates/record/src/clean/mod.rs",
    "crates/store/src/view/mod.rs",
];

/// Outside text becomes clean by a cleaner alone: nothing else can make `Clean` from it.
#[test]
fn clean_text_is_made_by_a_cleaner_or_read_back() {
    let mut found = [const { BTreeSet::new() }; 3];
    for path in files("rs").into_iter().filter(|path| is_product(&shown(path)) && !is_test(path)) {
        let code = without_tests(&std::fs::read_to_string(&path).unwrap());
        let marks = [
            derive_deserialize(&code).any(|item| item.contains("Clean<") || item.contains("struct Clean")),
            code.contains("Clean::from_stored(") || code.contains("pub fn from_stored(text: String) -> Clean"),
            code.contains("BUILT_IN") || code.contains("Cleaner::default()"),
        ];
        for (found, _) in found.iter_mut().zip(marks).filter(|(_, is_marked)| *is_marked) {
            found.insert(shown(&path));
        }
    }
    let expected = [&READ_CLEAN_TEXT_BACK[..], &TAKE_CLEAN_TEXT_FROM_THE_VIEW, &CLEAN_WITHOUT_THE_USERS_RULES];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.iter().eq(expected), "found in {found:#?}, expected in {expected:#?}");
    }
}

/// The types that can be deserialised, each with its fields.
fn derive_deserialize(code: &str) -> impl Iterator<Item = &str> {
    let derives = code
        .match_indices("#[derive(")
        .filter(|(at, _)| code[*at..].lines().next().is_some_and(|line| line.contains("Deserialize")));
    derives.map(|(at, _)| {
        let item = &code[at..];
        // Formatted code closes a type with a brace in the column it began in; a type of one line ends there.
        let end = item.find("\n}").unwrap_or(item.len()).min(item.find(");\n").unwrap_or(item.len()));
        &item[..end]
    })
}

/// What only these files do, named by the ends of their paths.
const DOORS: [(&str, &[&str]); 2] = [
    ("Command::new(\"git\")", &["git/command.rs", "git/door.rs"]),
    ("use ureq", &["http.rs", "transport/roots.rs", "store/src/authorities.rs"]),
];

/// Git is started in two places. HTTP is spoken by the client of providers and by that of object storage.
#[test]
fn git_and_http_have_their_doors() {
    for (mark, doors) in DOORS {
        let is_user = |path: &PathBuf| without_tests(&std::fs::read_to_string(path).unwrap()).contains(mark);
        let product = files("rs").into_iter().filter(|path| is_product(&shown(path)) && !is_test(path));
        let users: Vec<String> = product.filter(is_user).map(|path| shown(&path)).collect();
        let wrong: Vec<&String> = users.iter().filter(|path| !doors.iter().any(|door| path.ends_with(door))).collect();
        assert!(wrong.is_empty(), "{mark}: {wrong:?}");
        assert!(users.len() >= doors.len(), "{mark} is found in {users:?} only");
    }
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !path.contains("testkit/")
}

#[test]
fn every_form_of_an_import_is_seen() {
    let names = |code: &str, depth| imported(code, depth).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(names("use crate::a::b;\nlet x = crate::c::D;", 1), ["a", "c"]);
    assert_eq!(names("use crate::{a::{b, c}, d,\n    e::f};\nuse other::x;", 1), ["a", "d", "e"]);
    assert_eq!(names("use super::super::a::b;", 2), ["a"]);
    assert_eq!(names("use super::a::b; use my_crate::a; use $crate::a;", 2), [""; 0]);
    let code =
        without_tests("use a; // crate::b\n// crate::c\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\nuse e;\n");
    assert_eq!(code, "use a;\n\n\n\n\n\nuse e;\n");
}

#[test]
fn circles_are_named_and_allowed_ones_must_be_needed() {
    let imports = |edges: &[(&str, &str)]| -> Imports {
        edges.iter().map(|(a, b)| ((a.to_string(), b.to_string()), vec![format!("{a}.rs:1")])).collect()
    };
    let tangled = imports(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]);
    let wrong = circles(&tangled);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    assert_eq!(wrong[0], "a imports b in a circle: a.rs:1");
}
