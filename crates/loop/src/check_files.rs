//! The files that a check consists of: scripts that it runs, and files that define its targets.
//!
//! A check that the agent can rewrite proves nothing, so these are compared with how they were when the loop began.
//! Files that a check only looks at (`test -f done.txt`) are the work itself, and so are tests.

use cerberus_record::shell;
use serde::{Deserialize, Serialize};

use super::texts::OneLine;

/// A file of the check, and a hash of what matters in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFile {
    pub path: OneLine,
    pub hash: u64,
}

/// A file that may belong to the check. It counts only if it exists when the loop begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateFile {
    /// Relative to the folder in which the check runs, or absolute.
    pub path: String,
    pub part: CheckedPart,
}

/// What of a file belongs to the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedPart {
    Whole,
    /// The `scripts` of a `package.json`; its dependencies may change.
    Scripts,
}

impl CheckedPart {
    /// The bytes that matter.
    pub fn of(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            CheckedPart::Whole => bytes.to_vec(),
            CheckedPart::Scripts => {
                let package = serde_json::from_slice::<serde_json::Value>(bytes);
                package.map_or_else(|_| bytes.to_vec(), |package| package["scripts"].to_string().into_bytes())
            }
        }
    }
}

const INTERPRETERS: [&str; 17] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php",
    "tsx", "source", ".",
];
/// Programs whose targets are defined in files of these names.
const DEFINED_IN: [(&str, &[&str], CheckedPart); 9] = [
    ("make", &["Makefile", "makefile", "GNUmakefile"], CheckedPart::Whole),
    ("gmake", &["Makefile", "makefile", "GNUmakefile"], CheckedPart::Whole),
    ("just", &["justfile", "Justfile", ".justfile"], CheckedPart::Whole),
    ("task", &["Taskfile.yml", "Taskfile.yaml"], CheckedPart::Whole),
    ("rake", &["Rakefile"], CheckedPart::Whole),
    ("npm", &["package.json"], CheckedPart::Scripts),
    ("pnpm", &["package.json"], CheckedPart::Scripts),
    ("yarn", &["package.json"], CheckedPart::Scripts),
    ("bun", &["package.json"], CheckedPart::Scripts),
];

/// The files that a check may consist of.
pub fn candidates(command: &str) -> Vec<CandidateFile> {
    let mut found: Vec<CandidateFile> = Vec::new();
    let mut add = |path: String, part| {
        let candidate = CandidateFile { path, part };
        if !found.contains(&candidate) {
            found.push(candidate);
        }
    };
    for (simple, group) in shell::read(command).simples.iter().zip(shell::groups(command)) {
        let texts = simple.texts();
        let first = texts.len() - shell::without_wrappers(&texts).len();
        let name = simple.program();
        let in_folder = |file: &str| match group.folder.as_str() {
            "" => file.to_string(),
            folder => format!("{}/{file}", folder.trim_end_matches('/')),
        };
        if texts.get(first).is_some_and(|program| program.contains('/')) {
            group
                .words
                .get(first)
                .iter()
                .flat_map(|word| &word.paths)
                .for_each(|path| add(path.clone(), CheckedPart::Whole));
        }
        if INTERPRETERS.contains(&name)
            && let Some(script) = group.words.iter().skip(first).find(|word| word.is_argument)
            && !texts.contains(&"-c")
            && !texts.contains(&"-m")
        {
            script.paths.iter().for_each(|path| add(path.clone(), CheckedPart::Whole));
        }
        for (_, files, part) in DEFINED_IN.iter().filter(|(program, ..)| *program == name) {
            files.iter().for_each(|file| add(in_folder(file), *part));
        }
    }
    found
}

/// Which files differ from how they were. One that is gone differs too.
pub fn changed(before: &[CheckFile], now: &[CheckFile]) -> Vec<String> {
    before.iter().filter(|file| !now.contains(file)).map(|file| file.path.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    #[test]
    fn a_check_consists_of_what_it_runs_not_of_what_it_looks_at() {
        for (command, expected) in [
            ("./check.sh --fast", &["check.sh"][..]),
            ("bash dev/test && cargo test", &["dev/test"]),
            ("cd web && npm test", &["web/package.json"]),
            ("make -C sub check", &["sub/Makefile", "sub/makefile", "sub/GNUmakefile"]),
            ("timeout 60 python3 -u check.py x", &["check.py"]),
            ("sh -c './a.sh; ./b.sh'", &["a.sh", "b.sh"]),
            ("test -f done.txt && grep -q ok result.txt", &[]),
            ("cargo test", &[]),
            ("python -m pytest tests/test_a.py", &[]),
            ("", &[]),
        ] {
            let found: Vec<String> = candidates(command)
                .into_iter()
                .map(|candidate| candidate.path.trim_start_matches("./").to_string())
                .collect();
            assert_eq!(found, expected, "{command}");
        }
    }

    #[test]
    fn of_a_package_only_the_scripts_count() {
        let before = br#"{"scripts":{"test":"jest"},"dependencies":{}}"#;
        let after = br#"{"dependencies":{"left":"1"},"scripts":{"test":"jest"}}"#;
        assert_eq!(CheckedPart::Scripts.of(before), CheckedPart::Scripts.of(after));
        assert_ne!(CheckedPart::Scripts.of(before), CheckedPart::Scripts.of(br#"{"scripts":{"test":"true"}}"#));
        assert_eq!(CheckedPart::Scripts.of(b"torn {"), b"torn {");
    }

    #[test]
    fn changed_and_missing_files_are_named() {
        let file = |path: &str, hash| CheckFile { path: OneLine::new(&BUILT_IN, path), hash };
        let before = [file("a", 1), file("b", 2), file("c", 3)];
        assert_eq!(changed(&before, &[file("a", 1), file("b", 9)]), ["b", "c"]);
        assert_eq!(changed(&before, &before), [""; 0]);
    }
}
