//! Files that shell commands changed. Few agents name them, and some only if their user wants it.
//!
//! At the end of a turn that ran commands, git is asked once what differs from the last commit, and what the turn
//! committed. A file counts if it was written, moved or removed between the turn's first prompt and the end of its last
//! command, and nobody reported an edit of it: not this session, and no other in the same folder. A file that is gone counts once, as nothing says when it went.

use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::before::is_shell;
use cerberus_os::platform;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Record, ToolUse, Touch};
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;

use crate::journal::own_record;
use crate::project::identity::{self, Located};
use crate::project::{git, privacy};
use crate::view::SessionRow;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;

/// More files are the work of a generator, and nobody means them one by one.
const FILES_MAX: usize = 50;

/// A file system's clock may be behind ours by a tick.
const TICK: Duration = Duration::from_millis(20);

/// Records the files that commands of the last turn changed, in the session's own repository and in the one that its
/// commands moved to.
pub fn record(recorder: &mut Recorder, located: &Located, session: &SessionRow) -> Result<(), FoldError> {
    let (home, clock) = (recorder.home, recorder.clock);
    let Some(turn) = recorder.store().last_turn(session, clock.now)? else { return Ok(()) };
    let last_command = turn.tools.iter().rfind(|(_, tool)| is_shell(tool)).map(|(at, _)| *at);
    let Some(until) = last_command else { return Ok(()) };
    let from = turn.prompted.minus(TICK);
    let is_elsewhere = located.root != Path::new(&session.root);
    let own = is_elsewhere.then(|| identity::locate(Path::new(&session.root)));
    let own = own.as_ref().unwrap_or(located);
    if is_elsewhere && privacy::storage_block(home, clock.now, own).is_some() {
        return Ok(());
    }
    let mut changed = Vec::new();
    for repository in std::iter::once(own).chain(is_elsewhere.then_some(located)) {
        let reported = recorder.store().edited_since(&repository.root.to_string_lossy(), turn.prompted, clock.now)?;
        for path in written(repository, from, until) {
            let name = identity::relative(own, &own.root, &repository.root.join(&path).to_string_lossy());
            let is_gone = repository.root.join(&path).symlink_metadata().is_err();
            let is_known =
                reported.contains(&path) || is_gone && recorder.store().was_edited(&session.root, &name, clock.now)?;
            if !is_known {
                changed.push(name);
            }
        }
    }
    if is_elsewhere {
        let reported = recorder.store().edited_since(&session.root, turn.prompted, clock.now)?;
        changed.retain(|name| !reported.contains(name));
    }
    if changed.is_empty() || changed.len() > FILES_MAX {
        return Ok(());
    }
    changed.sort_unstable();
    changed.dedup();
    let touched = |path: String| FileTouch {
        path: home.cleaner().clean(path, Keep::NAME),
        how: Touch::Edited,
        lines: vec![FileTouch::SOMEWHERE],
    };
    let files = changed.into_iter().map(touched).collect();
    let event = Event::Tool(ToolUse { tool: Clean::word("shell"), files, ..ToolUse::default() });
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let key = format!("shell-edits-{}", until.millis());
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    // At the time of the command: a session that crashed since is not alive again.
    recorder.record(&[Record { at: until, ..record }])
}

/// The files that differ from the last commit, or were committed, and were written within this time.
fn written(located: &Located, from: Timestamp, until: Timestamp) -> Vec<String> {
    let Some(printed) = git::changed(located) else { return Vec::new() };
    let mut paths = git::read_status(&printed).uncommitted;
    paths.extend(git::committed(located, from, until));
    paths.retain(|path| {
        let found = located.root.join(path).symlink_metadata();
        let times = changes(&located.root, path, found.as_ref().ok());
        times.iter().any(|at| *at >= from && at.minus(TICK) <= until)
    });
    paths
}

/// When a file was last written or moved to its place; if it is gone, when something was last removed from its folder.
fn changes(root: &Path, path: &str, found: Option<&Metadata>) -> Vec<Timestamp> {
    let stamp = match found {
        Some(found) => Some(found).filter(|found| found.is_file()).map(platform::stamp),
        None => {
            let folder =
                Path::new(path).ancestors().skip(1).find_map(|folder| root.join(folder).symlink_metadata().ok());
            folder.as_ref().map(platform::stamp)
        }
    };
    let nanos = stamp.into_iter().flat_map(|stamp| [stamp.modified, stamp.changed]);
    nanos.map(|nanos| Timestamp::from_millis(nanos / 1_000_000)).collect()
}
