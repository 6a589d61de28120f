//! Commits, from git's own report. The command that asked for them is not evidence.

use crate::clean::text::line;
use crate::model::fact::{Fact, Kind, TEXT_CHARS_MAX};

const COMMITS_MAX: usize = 10;

/// The lines of an output that report what git did. Anything else may be file content.
pub fn report_lines(output: &str) -> String {
    output.lines().filter(|line| commit(line).is_some()).take(COMMITS_MAX).collect::<Vec<_>>().join("\n")
}

/// The commits that a command reported.
pub fn commits(command: &str, output: &str) -> Vec<Fact> {
    if !may_commit(command) {
        return Vec::new();
    }
    let made = output.lines().filter_map(commit).take(COMMITS_MAX);
    made.map(|(hash, subject)| Fact {
        text: line(subject, TEXT_CHARS_MAX),
        ..Fact::words(Kind::Commit, &format!("{hash} {subject}"))
    })
    .collect()
}

/// Could this command have made a commit?
pub fn may_commit(command: &str) -> bool {
    command.contains("git") && ["commit", "cherry-pick", "revert", "merge"].iter().any(|verb| command.contains(verb))
}

/// `[main 1a2b3c4] subject`, `[main (root-commit) 1a2b3c4] subject`, `[detached HEAD 1a2b3c4] subject`.
fn commit(line: &str) -> Option<(&str, &str)> {
    let (inside, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, hash) = inside.rsplit_once(' ')?;
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !subject.trim().is_empty()).then_some((hash, subject.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_what_git_reports() {
        let output = "On branch x\n[main (root-commit) 1a2b3c4] store: open it once\n 1 file changed\n[detached HEAD 0123abc] Fix: the race\n[info 12] no\n";
        let codes: Vec<String> =
            commits("git add . && git commit -m x", output).into_iter().map(|fact| fact.code).collect();
        assert_eq!(codes, ["commit:1a2b3c4 store: open it once", "commit:0123abc Fix: the race"]);
        assert_eq!(commits("cat log.txt", output), []);
        assert_eq!(report_lines("diff --git a b\n[main 1a2b3c4] x\n+secret"), "[main 1a2b3c4] x");
    }
}
