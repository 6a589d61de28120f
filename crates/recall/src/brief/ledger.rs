//! The state that tools know, branch by branch: pull requests, what was pushed, tags, releases and deployments, and the
//! branch that the last session worked on. Newer reports replace older ones about the same thing; what git contradicts
//! is not told. It outlives the sessions that a brief quotes.

use std::time::Duration;

use cerberus_record::clean::instruction::harmless;
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::git_report::CHECKS;
use cerberus_record::id::SessionId;
use cerberus_record::map::FastSet;
use cerberus_record::runs;
use cerberus_record::time::Timestamp;

use super::failing::SessionRun;
use super::repository::git_item;
use super::stopped::age;
use super::{BriefLine, KnownFact};

/// More says no more.
const BRANCHES_MAX: usize = 6;
const STEPS_MAX: usize = 2;
/// Of the branches that nobody worked on for longer, only the last one is told.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const COMMAND_CHARS_MAX: usize = 40;

/// Of what is older the age is told.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a tool reported.
#[derive(Clone, Debug)]
pub struct ToolReport {
    /// The branch that its session was on.
    pub branch: Option<String>,
    /// Of kind [`FactKind::PullRequest`] or [`FactKind::Step`]; its reference says what it is about.
    pub fact: Fact,
    pub session: SessionId,
    pub at: Timestamp,
    /// It was reported on another device.
    pub is_elsewhere: bool,
}

/// A branch that a session worked on, other than the one that is checked out.
#[derive(Clone, Debug)]
pub struct KnownBranch {
    pub name: String,
    pub last_activity: Timestamp,
    pub state: MergeState,
    pub remote: RemoteState,
    /// The other worktree in which it is checked out and the last session worked.
    pub folder: Option<String>,
}

/// What git says about a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeState {
    /// There is no such branch here. It was deleted, or is on another machine.
    Missing,
    Unmerged,
    Merged,
}

/// What the remote repository had of a branch when it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteState {
    /// There is no remote repository, or nothing here to compare with.
    #[default]
    Unknown,
    Missing,
    Same,
    /// One of them has commits that the other one lacks.
    Differs,
}

/// What is known besides what git says of the working tree.
#[derive(Clone, Debug, Default)]
pub struct BranchLedger {
    /// The branch that is checked out.
    pub here: Option<String>,
    pub remote_here: RemoteState,
    /// The last commits of the main branch: when, and their subjects.
    pub landed: Vec<(Timestamp, String)>,
    /// The branch of the last session at work.
    pub last: Option<String>,
    /// Newest first.
    pub branches: Vec<KnownBranch>,
    /// Newest first.
    pub reports: Vec<ToolReport>,
    pub checked: Option<TestsPassed>,
}

/// The last run of tests, if it passed, and how much was edited since.
#[derive(Clone, Debug)]
pub struct TestsPassed {
    pub command: String,
    pub session: SessionId,
    pub at: Timestamp,
    /// `None` if something else is checked out than what was tested, or nobody knows.
    pub edited_since: Option<usize>,
    /// What was tested, if that is another branch than the one that is checked out.
    pub branch: Option<String>,
}

/// What the last of these runs of tests says; `facts` tell which files were edited since. Failures are blockers, and
/// where nothing was edited there was nothing to test.
pub fn checked(runs: &[SessionRun], facts: &[KnownFact]) -> Option<TestsPassed> {
    let last = runs.iter().rfind(|ran| ran.command.kind == runs::Kind::Test)?;
    let edits: Vec<&KnownFact> = facts.iter().filter(|known| known.fact.kind == FactKind::File).collect();
    let since = edits.iter().filter(|known| known.at > last.at);
    let since: FastSet<&str> = since.filter_map(|known| known.fact.path.as_deref()).collect();
    let is_told = last.run.verdict == runs::RunVerdict::Green && !edits.is_empty();
    let (command, session) = (last.command.key.clone(), last.session.clone());
    is_told.then_some(TestsPassed { command, session, at: last.at, edited_since: Some(since.len()), branch: None })
}

/// Whether git has to be asked what was merged.
pub fn has_open_pull_request(reports: &[ToolReport]) -> bool {
    newest(reports).into_iter().any(|report| report.fact.kind == FactKind::PullRequest && is_open(report))
}

/// The line, if there is something to say.
pub fn item(ledger: &BranchLedger, now: Timestamp) -> Option<BriefLine> {
    let reports = newest(&ledger.reports);
    let mut told: Vec<&ToolReport> = Vec::new();
    let mut parts = Vec::new();
    let of_branch = |name: Option<&str>| -> Vec<&ToolReport> {
        reports.iter().copied().filter(|report| report.branch.as_deref() == name).collect()
    };
    let here = of_branch(ledger.here.as_deref());
    let name_here = ledger.here.as_deref().unwrap_or_default();
    let is_over_here = is_gone(&here, name_here, ledger.remote_here) || has_landed(&here, name_here, &ledger.landed);
    if !is_over_here && let Some(words) = pull_request(&here, AddressForm::Told, now, &mut told) {
        parts.push(words);
    }
    let mut has_old = false;
    for branch in &ledger.branches {
        let reports = of_branch(Some(&branch.name));
        let is_last = ledger.last.as_ref() == Some(&branch.name);
        let is_over =
            is_gone(&reports, &branch.name, branch.remote) || has_landed(&reports, &branch.name, &ledger.landed);
        let open = if is_over { None } else { pull_request(&reports, AddressForm::Left, now, &mut told) };
        let mut known: Vec<String> = open.into_iter().collect();
        let is_open = !known.is_empty();
        let is_told = match branch.state {
            MergeState::Merged => is_last && branch.folder.is_some(),
            MergeState::Unmerged => true,
            MergeState::Missing => is_last && !is_over && !is_done(&reports, branch) || is_open,
        };
        let is_old = now.since(branch.last_activity) > FORGOTTEN_AFTER;
        if !is_told || parts.len() >= BRANCHES_MAX || is_old && has_old {
            continue;
        }
        has_old |= is_old;
        known.extend(pushed(&reports, branch));
        let when = match &branch.folder {
            Some(folder) if is_last => format!("the last session, in {}", harmless(folder, "another worktree")),
            _ if is_last => "the last session".to_string(),
            _ => format!("{} ago", age(branch.last_activity, now)),
        };
        let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
        parts.push(format!("{} ({when}){known}", harmless(&branch.name, "a branch")));
    }
    let steps = reports.iter().copied().filter(|report| is_step(report));
    for report in steps.take(STEPS_MAX) {
        let unpushed = if report.fact.text.starts_with("tagged ") { ", no push seen" } else { "" };
        parts.push(format!("{} ({} ago){unpushed}", harmless(&report.fact.text, "a step"), age(report.at, now)));
        told.push(report);
    }
    parts.extend(ledger.checked.as_ref().map(|checked| {
        let edited = match checked.edited_since {
            None => String::new(),
            Some(0) => ", nothing edited since".to_string(),
            Some(1) => ", 1 file edited since".to_string(),
            Some(count) => format!(", {count} files edited since"),
        };
        let branch = checked.branch.as_ref().map(|name| format!(" on {}", harmless(name, "a branch")));
        let cut = first_words(&checked.command, COMMAND_CHARS_MAX);
        let command = harmless(&cut, "tests");
        format!("{command} passed{} ({} ago){edited}", branch.unwrap_or_default(), age(checked.at, now))
    }));
    let last = told.iter().max_by_key(|report| report.at).map(|report| (&report.session, report.at));
    (!parts.is_empty()).then(|| git_item(&parts, last, "reported by tools", now))
}

/// As many whole words as there is room for, at least one.
fn first_words(command: &str, chars_max: usize) -> String {
    let ends = command.match_indices(' ').map(|(at, _)| at).chain([command.len()]);
    let fits = |end: &usize| command[..*end].chars().count() <= chars_max;
    let first = command.find(' ').unwrap_or(command.len());
    let end = ends.take_while(fits).last().unwrap_or(first);
    format!("{}{}", &command[..end], if end < command.len() { " …" } else { "" })
}

/// The newest report about each thing, newest first.
fn newest(reports: &[ToolReport]) -> Vec<&ToolReport> {
    let mut seen: FastSet<&str> = FastSet::default();
    reports.iter().filter(|report| report.fact.reference.as_deref().is_some_and(|about| seen.insert(about))).collect()
}

/// Whether the address of a pull request is told, or only its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressForm {
    Told,
    Left,
}

/// `PR #12 open https://…/pull/12`, for the newest one of a branch that is still open.
fn pull_request<'a>(
    reports: &[&'a ToolReport],
    address: AddressForm,
    now: Timestamp,
    told: &mut Vec<&'a ToolReport>,
) -> Option<String> {
    let report = reports.iter().find(|report| report.fact.kind == FactKind::PullRequest)?;
    let number = report.fact.reference.as_deref()?.trim_start_matches("pull ");
    let opened = report.fact.text.starts_with("https://").then_some(report.fact.text.as_str());
    if !is_open(report) {
        return None;
    }
    told.push(report);
    let address =
        opened.filter(|_| address == AddressForm::Told).map(|address| format!(" {address}")).unwrap_or_default();
    let age = Some(age(report.at, now)).filter(|_| now.since(report.at) >= DAY);
    let age = age.map(|age| format!(" ({age} ago)")).unwrap_or_default();
    Some(format!("PR {number} open{age}{address}"))
}

/// Was the branch's pull request merged or closed after everything that was done on it?
fn is_done(reports: &[&ToolReport], branch: &KnownBranch) -> bool {
    let done = reports.iter().find(|report| report.fact.kind == FactKind::PullRequest);
    done.is_some_and(|report| {
        let is_closed = [" merged", " closed"].iter().any(|state| report.fact.text.ends_with(state));
        is_closed && report.at >= branch.last_activity
    })
}

fn is_open(report: &ToolReport) -> bool {
    report.fact.text.starts_with("https://") || report.fact.text.ends_with(" open")
}

fn is_push(report: &ToolReport, branch: &str) -> bool {
    report.fact.reference.as_deref().and_then(|about| about.strip_prefix("push ")) == Some(branch)
}

/// It was pushed from here and is no longer there: its pull request was merged or closed.
fn is_gone(reports: &[&ToolReport], branch: &str, remote: RemoteState) -> bool {
    remote == RemoteState::Missing && reports.iter().any(|report| is_push(report, branch) && !report.is_elsewhere)
}

/// Whether the main branch has a commit that came with the branch's pull request.
fn has_landed(reports: &[&ToolReport], branch: &str, landed: &[(Timestamp, String)]) -> bool {
    let Some(report) = reports.iter().find(|report| report.fact.kind == FactKind::PullRequest) else { return false };
    let number = report.fact.reference.as_deref().unwrap_or_default().trim_start_matches("pull ");
    let marks = [format!("({number})"), format!("pull request {number} "), format!("Merge branch '{branch}' into ")];
    landed.iter().any(|(at, subject)| *at >= report.at && marks.iter().any(|mark| subject.contains(mark)))
}

/// As far as the remote repository is known, it has all of the branch.
fn pushed(reports: &[&ToolReport], branch: &KnownBranch) -> Option<String> {
    let is_there = matches!(branch.remote, RemoteState::Unknown | RemoteState::Same)
        || branch.remote == RemoteState::Missing && !is_gone(reports, &branch.name, branch.remote);
    (is_there && reports.iter().any(|report| is_push(report, &branch.name))).then(|| "pushed".to_string())
}

/// A tag, a release, a deployment, or checks that did not pass. What was pushed to a branch is told with the branch.
fn is_step(report: &ToolReport) -> bool {
    let is_push = report.fact.reference.as_deref().is_some_and(|about| about.starts_with("push "));
    let is_checks = report.fact.reference.as_deref() == Some(CHECKS);
    let is_open = ["fail", "pending"].iter().any(|result| report.fact.text.contains(result));
    report.fact.kind == FactKind::Step && !is_push && (!is_checks || is_open)
}

#[cfg(test)]
mod tests {
    use cerberus_record::git_report;
    use cerberus_record::steps;

    use super::*;

    const HOUR: i64 = 60 * 60 * 1_000;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_millis(hours * HOUR)
    }

    /// What a command printed on a branch, so many hours after the beginning.
    fn reported(branch: &str, hours: i64, command: &str, output: &str) -> Vec<ToolReport> {
        let output = git_report::report_lines(command, output);
        let facts = git_report::facts(command, &output).into_iter().chain(steps::facts(command));
        let (branch, session) = (Some(branch.to_string()), SessionId::new("s"));
        let report = |fact| {
            let (branch, session) = (branch.clone(), session.clone());
            ToolReport { branch, fact, session, at: at(hours), is_elsewhere: false }
        };
        facts.map(report).collect()
    }

    fn branch(name: &str, hours: i64, state: MergeState) -> KnownBranch {
        let remote = RemoteState::Unknown;
        KnownBranch { name: name.to_string(), last_activity: at(hours), state, remote, folder: None }
    }

    /// At the tenth hour on `main`. The reports are given oldest first.
    fn told(branches: Vec<KnownBranch>, reports: Vec<Vec<ToolReport>>) -> Option<String> {
        told_beside(branches, reports, "")
    }

    /// The same, with a commit of the main branch in the last hour.
    fn told_beside(branches: Vec<KnownBranch>, reports: Vec<Vec<ToolReport>>, subject: &str) -> Option<String> {
        let mut reports = reports.concat();
        reports.reverse();
        let last = branches.first().map(|branch| branch.name.clone());
        let (here, landed) = (Some("main".to_string()), vec![(at(9), subject.to_string())]);
        let ledger = BranchLedger { here, landed, last, branches, reports, ..BranchLedger::default() };
        item(&ledger, at(10)).map(|item| item.code)
    }

    const OPENED: (&str, &str) = ("gh pr create --fill", "https://github.com/o/r/pull/12\n");

    #[test]
    fn an_open_pull_request_is_told_until_it_is_merged_or_closed() {
        let fix = || vec![branch("fix/x", 8, MergeState::Missing)];
        let opened = || reported("fix/x", 7, OPENED.0, OPENED.1);
        let pushed = || reported("fix/x", 6, "git push -u origin HEAD", " * [new branch]      fix/x -> fix/x\n");
        assert_eq!(told(fix(), vec![pushed(), opened()]).unwrap(), "git:fix/x (the last session): PR #12 open, pushed");
        for (command, output) in [
            ("gh pr merge 12 --squash", "✓ Squashed and merged pull request #12 (Fix x)"),
            ("gh pr close 12", "✓ Closed pull request o/r#12 (Fix x)"),
            ("gh pr view 12", "title:\tFix x\nstate:\tMERGED\nnumber:\t12\n"),
            ("gh pr view --json number,state", "{\"number\":12,\"state\":\"CLOSED\"}"),
        ] {
            assert_eq!(told(fix(), vec![opened(), reported("fix/x", 9, command, output)]), None, "{command}");
        }
        let looked = reported("fix/x", 9, "gh pr view 12 --json state", "{\n  \"state\": \"OPEN\"\n}");
        assert!(told(fix(), vec![opened(), looked]).unwrap().contains("PR #12 open"));
    }

    #[test]
    fn a_pull_request_that_was_merged_elsewhere_is_not_told() {
        let fix = |remote| vec![KnownBranch { remote, ..branch("fix/x", 8, MergeState::Unmerged) }];
        let opened = || reported("fix/x", 7, OPENED.0, OPENED.1);
        let pushed = || reported("fix/x", 6, "git push -u origin HEAD", " * [new branch]      fix/x -> fix/x\n");
        let known = |remote, subject: &str| told_beside(fix(remote), vec![pushed(), opened()], subject).unwrap();
        assert_eq!(known(RemoteState::Same, "Fix y (#13)"), "git:fix/x (the last session): PR #12 open, pushed");
        assert_eq!(known(RemoteState::Differs, ""), "git:fix/x (the last session): PR #12 open");
        assert_eq!(known(RemoteState::Missing, ""), "git:fix/x (the last session)");
        for subject in ["Fix x (#12)", "Merge pull request #12 from o/fix/x", "Merge branch 'fix/x' into 'main'"] {
            assert!(!known(RemoteState::Same, subject).contains("PR"), "{subject}");
        }
        // Nobody fetched here what another device pushed.
        let elsewhere = |reports: Vec<ToolReport>| -> Vec<ToolReport> {
            reports.into_iter().map(|report| ToolReport { is_elsewhere: true, ..report }).collect()
        };
        let told = told(fix(RemoteState::Missing), vec![elsewhere(pushed()), elsewhere(opened())]);
        assert_eq!(told.unwrap(), "git:fix/x (the last session): PR #12 open, pushed");
    }

    #[test]
    fn what_git_contradicts_is_not_told() {
        let opened = || vec![reported("fix/x", 7, OPENED.0, OPENED.1)];
        assert_eq!(told(vec![branch("fix/x", 8, MergeState::Merged)], opened()), None);
        let others = |state| vec![branch("last", 9, MergeState::Merged), branch("other", 8, state)];
        assert_eq!(told(others(MergeState::Unmerged), Vec::new()).unwrap(), "git:other (2h ago)");
        assert_eq!(told(others(MergeState::Missing), Vec::new()), None);
    }

    #[test]
    fn steps_are_told_with_their_age_and_replaced_by_newer_ones() {
        let main = |hours, command: &str, output: &str| reported("main", hours, command, output);
        assert_eq!(
            told(Vec::new(), vec![main(6, "git tag v1.2.0", "")]).unwrap(),
            "git:tagged v1.2.0 (4h ago), no push seen"
        );
        let pushed = main(7, "git push --tags", " * [new tag]         v1.2.0 -> v1.2.0");
        assert_eq!(
            told(Vec::new(), vec![main(6, "git tag v1.2.0", ""), pushed]).unwrap(),
            "git:pushed v1.2.0 (3h ago)"
        );
        let deployed = vec![main(1, "fly deploy", ""), main(8, "fly deploy", "")];
        assert_eq!(told(Vec::new(), deployed).unwrap(), "git:ran fly deploy (2h ago)");
        let checks = |second: &str| main(9, "gh pr checks 12", &format!("lint\tpass\t3s\tx\nbuild\t{second}\t9s\tx\n"));
        assert_eq!(told(Vec::new(), vec![checks("fail")]).unwrap(), "git:checks: 1 pass, 1 fail (1h ago)");
        assert_eq!(told(Vec::new(), vec![checks("fail"), checks("pass")]), None);
    }

    #[test]
    fn the_last_tests_are_told_with_what_was_edited_since() {
        let line = |edited_since, branch: Option<&str>| {
            let (command, session) = ("go test ./...".to_string(), SessionId::new("s"));
            let branch = branch.map(str::to_string);
            let checked = Some(TestsPassed { command, session, at: at(9), edited_since, branch });
            item(&BranchLedger { checked, ..BranchLedger::default() }, at(10)).unwrap().code
        };
        assert_eq!(line(Some(0), None), "git:go test ./... passed (1h ago), nothing edited since");
        assert_eq!(line(Some(2), None), "git:go test ./... passed (1h ago), 2 files edited since");
        assert_eq!(line(None, Some("fix/x")), "git:go test ./... passed on fix/x (1h ago)");
        assert!(item(&BranchLedger::default(), at(10)).is_none());
    }
}
