//! What git says against the reports of tools: branches that moved or are gone from the remote repository, pull requests
//! that were merged on its website, tests that passed on something else than what is checked out.

use cerberus_os::platform;
use cerberus_recall::brief::ledger::{self, RemoteState, TestsPassed, ToolReport};
use cerberus_record::time::Timestamp;

use crate::brief::subject::View;
use crate::project::git;
use crate::project::git::references::{References, RemoteBranch};
use crate::view::{self, SessionRow};

/// How a branch compares with the remote one of the same name.
pub(super) fn remote(references: &References, branch: &str) -> RemoteState {
    match references.remote_branch(branch) {
        RemoteBranch::NoRemote => RemoteState::Unknown,
        RemoteBranch::Missing => RemoteState::Missing,
        RemoteBranch::At(theirs) => match references.branch(branch) {
            Some(ours) if ours != theirs => RemoteState::Differs,
            Some(_) | None => RemoteState::Same,
        },
    }
}

/// The last commits of the main branch, if a pull request may be among them. Git is asked again only when it moved.
pub(super) fn landed(
    view: &View,
    references: &References,
    reports: &[ToolReport],
) -> view::Result<Vec<(Timestamp, String)>> {
    if !ledger::has_open_pull_request(reports) {
        return Ok(Vec::new());
    }
    let tips = references.main_tips();
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let (key, asked) = (format!("{}\0landed", view.located.root.to_string_lossy()), tips.join(" "));
    let kept = view.store.git_log(&key)?.filter(|(kept_asked, _)| *kept_asked == asked).map(|(_, printed)| printed);
    let printed = match kept {
        Some(printed) => printed,
        None => {
            let Some(printed) = git::subjects(view.located, &tips) else { return Ok(Vec::new()) };
            let printed = view.store.cleaner().redact(&printed).into_owned();
            view.store.cache_git_log(&key, &asked, &printed);
            printed
        }
    };
    let commit = |line: &str| {
        let (secs, subject) = line.split_once(' ')?;
        Some((Timestamp::from_millis(secs.parse::<i64>().ok()?.saturating_mul(1_000)), subject.to_string()))
    };
    Ok(printed.lines().filter_map(commit).filter(|(at, _)| *at <= view.now).collect())
}

/// More files are not looked at: a session waits for this.
const LOOKED_AT_MAX: usize = 2_000;

/// The run of tests with what is known now: on which branch it was, and what was edited since, by whomever.
pub(super) fn tested(view: &View, passed: TestsPassed, sessions: &[SessionRow], tracked: &[String]) -> TestsPassed {
    let session = sessions.iter().find(|session| session.id == passed.session);
    let here = view.located.branch();
    let left = git::left_since(view.located, passed.at);
    // Where HEAD was before it moved; else where its session was.
    let branch = match &left {
        Some(from) => from.clone(),
        None => session.and_then(|session| session.branch.clone()),
    };
    let branch = branch.filter(|name| Some(name) != here.as_ref());
    if left.is_some() || branch.is_some() {
        return TestsPassed { edited_since: None, branch, ..passed };
    }
    let is_local = session.is_none_or(|session| session.device.is_none());
    let edited_since = match passed.edited_since {
        Some(0) if !is_local || tracked.len() > LOOKED_AT_MAX => None,
        Some(0) => Some(tracked.iter().filter(|path| was_written(view, path, passed.at)).count()),
        count => count,
    };
    TestsPassed { edited_since, ..passed }
}

fn was_written(view: &View, path: &str, since: Timestamp) -> bool {
    let Ok(found) = view.located.root.join(path).symlink_metadata() else { return false };
    let at = Timestamp::from_millis(platform::stamp(&found).modified / 1_000_000);
    at > since && at <= view.now
}
