//! Commits and pull requests, from the tools' own reports. The command that asked for them is not evidence.

use crate::clean::text::line;
use crate::fact::{Fact, Kind, TEXT_CHARS_MAX};

const COMMITS_MAX: usize = 10;

/// Could the output of this command report a commit or a pull request?
pub fn may_report(command: &str) -> bool {
    may_commit(command) || may_open_pull_request(command)
}

/// The lines of an output that report what git did. Anything else may be file content.
pub fn report_lines(output: &str) -> String {
    let is_report = |line: &&str| commit(line).is_some() || pull_request(line).is_some();
    output.lines().filter(is_report).take(COMMITS_MAX).collect::<Vec<_>>().join("\n")
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

/// The pull requests that a command opened, by their address.
pub fn pull_requests(command: &str, output: &str) -> Vec<Fact> {
    if !may_open_pull_request(command) {
        return Vec::new();
    }
    output.lines().filter_map(pull_request).map(|address| Fact::words(Kind::PullRequest, address)).collect()
}

fn may_open_pull_request(command: &str) -> bool {
    ["gh pr create", "glab mr create"].iter().any(|tool| command.contains(tool))
}

/// A line that is only `https://HOST/OWNER/NAME/pull/12` or `…/-/merge_requests/12`.
fn pull_request(line: &str) -> Option<&str> {
    let address = line.trim();
    let (page, number) = address.strip_prefix("https://")?.rsplit_once('/')?;
    let is_page = page.ends_with("/pull") || page.ends_with("/merge_requests");
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_page && is_number && !address.contains(char::is_whitespace)).then_some(address)
}

/// Could this command have made a commit?
fn may_commit(command: &str) -> bool {
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

    #[test]
    fn pull_requests_are_known_by_their_address() {
        let opened = |command: &str, output: &str| -> Vec<String> {
            pull_requests(command, output).into_iter().map(|fact| fact.code).collect()
        };
        let github = "Creating pull request for fix/x into main in o/r\n\nhttps://github.com/o/r/pull/12\n";
        assert_eq!(opened("git push && gh pr create --fill", github), ["pull:https://github.com/o/r/pull/12"]);
        let gitlab = "https://gitlab.example/o/r/-/merge_requests/7\n";
        assert_eq!(opened("glab mr create", gitlab), ["pull:https://gitlab.example/o/r/-/merge_requests/7"]);
        assert_eq!(opened("cat notes.md", github), [""; 0]);
        for other in ["https://github.com/o/r/pull/new/fix", "see https://github.com/o/r/pull/12", "https://x/pull/"] {
            assert_eq!(opened("gh pr create", other), [""; 0], "{other}");
        }
        assert_eq!(report_lines(&format!("+secret\n{github}")), "https://github.com/o/r/pull/12");
    }
}
