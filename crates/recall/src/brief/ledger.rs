//! The state that tools know, branch by branch: pull requests, what was pushed, tags, releases and deployments, and the
//! branch that the last session worked on. Newer reports replace older ones about the same thing; what git contradicts
//! is not told. It outlives the sessions that a brief quotes.

use std::time::Duration;

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text;
use cerberus_record::fact::{Fact, Kind};
use cerberus_record::id::SessionId;
use cerberus_record::map::FastSet;
use cerberus_record::runs;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use super::failing::SessionRun;
use super::stopped::age;
use super::{Item, Known, Section};

/// More says no more.
const BRANCHES_MAX: usize = 3;
const STEPS_MAX: usize = 2;

/// Of what is older the age is told.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a tool reported.
#[derive(Clone, Debug)]
pub struct Report {
    /// The branch that its session was on.
    pub branch: Option<String>,
    /// Of kind [`Kind::PullRequest`] or [`Kind::Step`]; its reference says what it is about.
    pub fact: Fact,
    pub session: SessionId,
    pub at: Timestamp,
}

/// A branch that a session worked on, other than the one that is checked out.
#[derive(Clone, Debug)]
pub struct Branch {
    pub name: String,
    pub last_activity: Timestamp,
    pub standing: Standing,
}

/// What git says about a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no such branch here. It was deleted, or is on another machine.
    Missing,
    Unmerged,
    Merged,
}

/// What is known besides what git says of the working tree.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The branch that is checked out.
    pub here: Option<String>,
    /// The branch of the last session at work.
    pub last: Option<String>,
    /// Newest first.
    pub branches: Vec<Branch>,
    /// Newest first.
    pub reports: Vec<Report>,
    pub checked: Option<Checked>,
}

/// The last run of tests, if it passed, and how much was edited since.
#[derive(Clone, Debug)]
pub struct Checked {
    pub command: String,
    pub at: Timestamp,
    pub edited_since: usize,
}

/// What the last of these runs of tests says; `facts` tell which files were edited since. Failures are blockers.
pub fn checked(runs: &[SessionRun], facts: &[Known]) -> Option<Checked> {
    let last = runs.iter().rfind(|ran| ran.command.kind == runs::Kind::Test)?;
    let edited = facts.iter().filter(|known| known.fact.kind == Kind::File && known.at > last.at);
    let edited: FastSet<&str> = edited.filter_map(|known| known.fact.path.as_deref()).collect();
    let is_green = last.run.verdict == runs::Verdict::Green;
    is_green.then(|| Checked { command: last.command.key.clone(), at: last.at, edited_since: edited.len() })
}

/// The line, if there is something to say.
pub fn item(ledger: &Ledger, now: Timestamp) -> Option<Item> {
    let reports = newest(&ledger.reports);
    let mut told: Vec<&Report> = Vec::new();
    let mut parts = Vec::new();
    let of_branch = |name: Option<&str>| -> Vec<&Report> {
        reports.iter().copied().filter(|report| report.branch.as_deref() == name).collect()
    };
    let here = of_branch(ledger.here.as_deref());
    if let Some(words) = pull_request(&here, Address::Told, now, &mut told) {
        parts.push(words);
    }
    for branch in &ledger.branches {
        let reports = of_branch(Some(&branch.name));
        let is_last = ledger.last.as_ref() == Some(&branch.name);
        let mut known: Vec<String> = pull_request(&reports, Address::Left, now, &mut told).into_iter().collect();
        let is_open = !known.is_empty();
        let is_told = match branch.standing {
            Standing::Merged => false,
            Standing::Unmerged => true,
            Standing::Missing => is_last && !is_done(&reports, branch) || is_open,
        };
        if !is_told || parts.len() >= BRANCHES_MAX {
            continue;
        }
        known.extend(pushed(&reports, branch));
        let when =
            if is_last { "the last session".to_string() } else { format!("{} ago", age(branch.last_activity, now)) };
        let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
        parts.push(format!("{} ({when}){known}", harmless(&branch.name, "a branch")));
    }
    let steps = reports.iter().copied().filter(|report| is_step(report));
    for report in steps.take(STEPS_MAX) {
        parts.push(format!("{} ({} ago)", harmless(&report.fact.text, "a step"), age(report.at, now)));
        told.push(report);
    }
    parts.extend(ledger.checked.as_ref().map(|checked| {
        let edited = match checked.edited_since {
            0 => "nothing edited since".to_string(),
            1 => "1 file edited since".to_string(),
            count => format!("{count} files edited since"),
        };
        let command = harmless(&checked.command, "tests");
        format!("{command} passed ({} ago), {edited}", age(checked.at, now))
    }));
    let last = told.iter().max_by_key(|report| report.at);
    let code = format!("{}{}", Kind::Git.prefix(), text::code(&parts.join("; ")));
    (!parts.is_empty()).then(|| Item {
        section: Section::Git,
        kind: Kind::Git,
        tokens: tokens::line(&code),
        text: code.trim_start_matches(Kind::Git.prefix()).to_string(),
        code,
        path: None,
        session: last.map(|report| report.session.clone()),
        at: last.map_or(now, |report| report.at),
        times: 1,
        place: Some("reported by tools".to_string()),
        reference: None,
        author: None,
    })
}

/// The newest report about each thing, newest first.
fn newest(reports: &[Report]) -> Vec<&Report> {
    let mut seen: FastSet<&str> = FastSet::default();
    reports.iter().filter(|report| report.fact.reference.as_deref().is_some_and(|about| seen.insert(about))).collect()
}

/// Whether the address of a pull request is told, or only its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Address {
    Told,
    Left,
}

/// `PR #12 open https://…/pull/12`, for the newest one of a branch that is still open.
fn pull_request<'a>(
    reports: &[&'a Report],
    address: Address,
    now: Timestamp,
    told: &mut Vec<&'a Report>,
) -> Option<String> {
    let report = reports.iter().find(|report| report.fact.kind == Kind::PullRequest)?;
    let number = report.fact.reference.as_deref()?.trim_start_matches("pull ");
    let opened = report.fact.text.starts_with("https://").then_some(report.fact.text.as_str());
    if opened.is_none() && !report.fact.text.ends_with(" open") {
        return None;
    }
    told.push(report);
    let address = opened.filter(|_| address == Address::Told).map(|address| format!(" {address}")).unwrap_or_default();
    let age = Some(age(report.at, now)).filter(|_| now.since(report.at) >= DAY);
    let age = age.map(|age| format!(" ({age} ago)")).unwrap_or_default();
    Some(format!("PR {number} open{age}{address}"))
}

/// Was the branch's pull request merged or closed after everything that was done on it?
fn is_done(reports: &[&Report], branch: &Branch) -> bool {
    let done = reports.iter().find(|report| report.fact.kind == Kind::PullRequest);
    done.is_some_and(|report| {
        let is_closed = [" merged", " closed"].iter().any(|state| report.fact.text.ends_with(state));
        is_closed && report.at >= branch.last_activity
    })
}

fn pushed(reports: &[&Report], branch: &Branch) -> Option<String> {
    let about = format!("push {}", branch.name);
    reports.iter().any(|report| report.fact.reference.as_ref() == Some(&about)).then(|| "pushed".to_string())
}

/// A tag, a release or a deployment. What was pushed to a branch is told with the branch.
fn is_step(report: &Report) -> bool {
    let is_push = report.fact.reference.as_deref().is_some_and(|about| about.starts_with("push "));
    report.fact.kind == Kind::Step && !is_push
}
