//! What git and the hosts of its repositories report: commits, pushes, tags, pull requests and their checks. The command
//! that asked for them is not evidence, except that it may name the pull request that the report is about.

use crate::clean::text::line;
use crate::fact::{Fact, FactKind, TEXT_CHARS_MAX};

const REPORTS_MAX: usize = 10;

/// Could the output of this command report one of these?
pub fn may_report(command: &str) -> bool {
    may_commit(command) || may_report_pull_request(command) || may_push(command)
}

/// The lines of an output that report what was done, some of them in our words. Anything else may be file content.
pub fn report_lines(command: &str, output: &str) -> String {
    let is_report = |line: &&str| commit(line).is_some() || push(line).is_some() || pull_request(line).is_some();
    let mut lines: Vec<String> = output.lines().filter(is_report).take(REPORTS_MAX).map(str::to_string).collect();
    if may_report_pull_request(command) {
        lines.extend(state(command, output));
        lines.extend(checks(output));
    }
    lines.join("\n")
}

/// Everything that a command reported.
pub fn facts(command: &str, output: &str) -> Vec<Fact> {
    let mut facts = commits(command, output);
    facts.extend(pull_requests(command, output));
    if may_push(command) {
        facts.extend(output.lines().filter_map(push).take(REPORTS_MAX).map(|pushed| pushed.fact()));
    }
    if may_report_pull_request(command) {
        let checked = |line: &str| Fact { reference: Some(CHECKS.to_string()), ..Fact::words(FactKind::Step, line) };
        facts.extend(output.lines().filter(|line| line.starts_with(CHECKED)).map(checked));
    }
    facts
}

/// The commits that a command reported.
pub fn commits(command: &str, output: &str) -> Vec<Fact> {
    if !may_commit(command) {
        return Vec::new();
    }
    let made = output.lines().filter_map(commit).take(REPORTS_MAX);
    made.map(|(hash, subject)| Fact {
        text: line(subject, TEXT_CHARS_MAX),
        ..Fact::words(FactKind::Commit, &format!("{hash} {subject}"))
    })
    .collect()
}

/// The pull requests that a command opened, by their address, and the states that it reported. The reference is the
/// number.
pub fn pull_requests(command: &str, output: &str) -> Vec<Fact> {
    if !may_report_pull_request(command) {
        return Vec::new();
    }
    let numbered = |number: &str, text: &str| Fact {
        reference: Some(format!("pull #{number}")),
        ..Fact::words(FactKind::PullRequest, text)
    };
    let opened = output.lines().filter(|_| may_open_pull_request(command)).filter_map(pull_request);
    let opened = opened.map(|(address, number)| numbered(number, address));
    let told = output.lines().filter_map(|line| line.strip_prefix(STATE)?.split_once(": "));
    opened.chain(told.map(|(number, state)| numbered(number, &format!("#{number} {state}")))).collect()
}

fn may_open_pull_request(command: &str) -> bool {
    ["gh pr create", "glab mr create"].iter().any(|tool| command.contains(tool))
}

fn may_report_pull_request(command: &str) -> bool {
    ["gh pr ", "glab mr "].iter().any(|tool| command.contains(tool))
}

/// A line that is only `https://HOST/OWNER/NAME/pull/12` or `…/-/merge_requests/12`: the address and the number.
fn pull_request(line: &str) -> Option<(&str, &str)> {
    let address = line.trim();
    let (page, number) = address.strip_prefix("https://")?.rsplit_once('/')?;
    let is_page = page.ends_with("/pull") || page.ends_with("/merge_requests");
    (is_page && is_number(number) && !address.contains(char::is_whitespace)).then_some((address, number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// How we write down the state of a pull request: `pull request #12: merged`.
const STATE: &str = "pull request #";

/// The state of the pull request that a command is about, as far as its output tells it.
fn state(command: &str, output: &str) -> Option<String> {
    // A line `state:\tOPEN`, or `"state":"OPEN"` in JSON, where a quotation mark inside a text is escaped.
    let field = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let rest = line.or_else(|| Some(output.split_once(&format!("\"{name}\":"))?.1))?;
        let rest = rest.trim_start_matches([' ', '\t', '"']);
        Some(rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
    };
    let asked = || named_in(command).or_else(|| field("number").filter(|number| is_number(number)));
    if let Some((number, word)) = output.lines().find_map(sentence) {
        return Some(format!("{STATE}{number}: {word}"));
    }
    let word = match field("state")?.to_ascii_lowercase().as_str() {
        "open" | "opened" => "open",
        "merged" => "merged",
        "closed" => "closed",
        _ => return None,
    };
    Some(format!("{STATE}{}: {word}", asked()?))
}

/// `✓ Squashed and merged pull request #12 (title)`, `! Pull request o/r#12 was already merged`: number and state.
fn sentence(line: &str) -> Option<(&str, &'static str)> {
    // The tool's own marks: other lines may quote such a sentence.
    let (before, rest) = line.strip_prefix(['✓', '!'])?.split_once('#')?;
    if !before.contains("ull request") {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    let said = |words: &str| before.contains(words) || after.contains(words);
    let word = match () {
        () if said("was already merged") || before.contains("erged pull") => "merged",
        () if before.contains("Closed ") => "closed",
        () if before.contains("Reopened ") || said("marked as \"ready for review\"") => "open",
        () => return None,
    };
    is_number(number).then_some((number, word))
}

/// The pull request that a command names: `gh pr merge 12`, `gh pr view https://…/pull/12`.
fn named_in(command: &str) -> Option<&str> {
    let (_, rest) = command.split_once("gh pr ").or_else(|| command.split_once("glab mr "))?;
    let word = rest.split_whitespace().nth(1)?;
    Some(word.rsplit(['/', '#']).next().unwrap_or(word)).filter(|number| is_number(number))
}

/// What the rows of `gh pr checks` say, in one line: `checks: 3 pass, 1 fail (build)`.
fn checks(output: &str) -> Option<String> {
    let rows = output.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        Some((cells.next()?, cells.next()?)).filter(|_| cells.next().is_some())
    });
    let mut last: Vec<(&str, &str)> = Vec::new();
    for (name, result) in rows.filter(|(_, result)| ["pass", "fail", "pending"].contains(result)) {
        last.retain(|(other, _)| *other != name);
        last.push((name, result));
    }
    let count = |wanted: &str| last.iter().filter(|(_, result)| *result == wanted).count();
    let counted =
        |wanted: &str| Some(count(wanted)).filter(|count| *count > 0).map(|count| format!("{count} {wanted}"));
    let counts: Vec<String> = ["pass", "fail", "pending"].into_iter().filter_map(counted).collect();
    (!counts.is_empty()).then(|| format!("{CHECKED}{}", counts.join(", ")))
}

const CHECKED: &str = "checks: ";
/// What a report of checks is about.
pub const CHECKS: &str = "checks";

fn may_push(command: &str) -> bool {
    command.contains("git") && command.contains("push")
}

/// A branch or tag that was pushed.
struct PushedReference<'a> {
    name: &'a str,
    is_tag: bool,
}

impl PushedReference<'_> {
    fn fact(&self) -> Fact {
        // A tag that is pushed was made before, which is the same step.
        let what = if self.is_tag { "tag" } else { "push" };
        Fact {
            reference: Some(format!("{what} {}", self.name)),
            ..Fact::words(FactKind::Step, &format!("pushed {}", self.name))
        }
    }
}

/// `   1a2b3c4..5d6e7f8  main -> main`, ` * [new branch]  fix/x -> fix/x`, ` + 1a2b3c4...5d6e7f8 x -> x (forced update)`.
fn push(line: &str) -> Option<PushedReference<'_>> {
    let (before, after) = line.split_once(" -> ")?;
    let mark = before.trim_start().trim_start_matches(['*', '+']).trim_start();
    let is_hash = |text: &str| text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_moved = mark
        .split(char::is_whitespace)
        .next()
        .and_then(|range| range.split_once(".."))
        .is_some_and(|(from, to)| is_hash(from) && is_hash(to.trim_start_matches('.')));
    let is_tag = mark.starts_with("[new tag]");
    let name = after.split_whitespace().next()?;
    // A fetch names the remote branch with its remote: `main -> origin/main`.
    let own = before.split_whitespace().next_back()?;
    let is_pushed = (is_moved || is_tag || mark.starts_with("[new branch]")) && own == name;
    is_pushed.then_some(PushedReference { name, is_tag })
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
        assert_eq!(report_lines("git commit", "diff --git a b\n[main 1a2b3c4] x\n+secret"), "[main 1a2b3c4] x");
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
        assert_eq!(
            report_lines("gh pr view 3 --json body,state", "{\"body\":\"words\",\"state\":\"OPEN\"}"),
            "pull request #3: open"
        );
        let viewed = "title:\tRead state: merged\nstate:\tOPEN\nnumber:\t3\n--\nClosed by pull request #3\n";
        assert_eq!(report_lines("gh pr view", viewed), "pull request #3: open");
        assert_eq!(report_lines("gh pr create", &format!("+secret\n{github}")), "https://github.com/o/r/pull/12");
    }

    #[test]
    fn what_was_pushed_is_known_by_gits_lines() {
        let pushed = |output: &str| -> Vec<String> {
            facts("git push", &report_lines("git push", output)).into_iter().map(|fact| fact.code).collect()
        };
        assert_eq!(pushed("To host:o/r\n   1a2b3c4..5d6e7f8  main -> main\n"), ["step:pushed main"]);
        assert_eq!(pushed(" + 1a2b3c4...5d6e7f8 x -> x (forced update)"), ["step:pushed x"]);
        assert_eq!(pushed(" * [new tag]         v1 -> v1"), ["step:pushed v1"]);
        for other in
            [" ! [rejected]        main -> main (fetch first)", "   1a2b3c4..5d6e7f8  main -> origin/main", "a -> b"]
        {
            assert_eq!(pushed(other), [""; 0], "{other}");
        }
    }
}
