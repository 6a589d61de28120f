//! Before a tool runs: if it may destroy files, they are kept first. The agent waits, but never for long.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use cerberus_agents::action::{Action, WrittenFile};
use cerberus_agents::before;
use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::Home;
use cerberus_record::id::Agent;
use cerberus_store::config;
use cerberus_store::project::identity::{Located, locate};
use cerberus_store::project::privacy;

use super::destructive::destructive;
use super::detached::{FAILURE, keep, wait_for_pending};
use super::switch::UndoSwitch;
use super::{TurnMoment, TurnSession};

/// A file of this size is not written by hand in a moment.
const LARGE_BYTES: u64 = 32 * 1024;

/// Keeps the files, if the user wants that here and the tool may destroy them. What fails is noted, and never stops a tool.
pub fn before_tool(home: &Home, clock: &Clock, agent: Agent, payload: &[u8]) {
    match UndoSwitch::read(home) {
        Ok(switch) if !switch.is_on_anywhere() => {}
        Ok(switch) => before_tool_with(home, clock, agent, payload, &switch),
        Err(error) => failures::note(home, clock.now, FAILURE, &error),
    }
}

fn before_tool_with(home: &Home, clock: &Clock, agent: Agent, payload: &[u8], switch: &UndoSwitch) {
    let begun = Instant::now();
    let Some(before) = before::before(agent, payload) else { return };
    let cwd = PathBuf::from(&before.cwd);
    let located = locate(&cwd);
    if located.git_dir.is_none()
        || !switch.is_on(&located.project)
        || privacy::storage_block(home, clock.now, &located).is_some()
    {
        return;
    }
    let wait = config::load(home).map(|config| config.undo).unwrap_or_default().wait();
    wait_for_pending(home, &located, wait, begun + wait);
    let Some(what) = about_to_destroy(&before.action, &located, &cwd) else { return };
    let session = TurnSession { agent: before.agent.name().to_string(), id: before.session.clone() };
    let (sender, receiver) = mpsc::channel();
    let (own_home, own_clock) = (home.clone(), *clock);
    // If it takes too long, it ends with this process, and without a reference nothing of it is offered.
    thread::spawn(move || {
        let kept = keep(&own_home, &own_clock, &located, TurnMoment::Command, Some(session));
        let _ = sender.send(kept.map_err(|error| error.to_string()));
    });
    let problem = match receiver.recv_timeout(wait.saturating_sub(begun.elapsed())) {
        Ok(Ok(())) => return,
        Ok(Err(problem)) => problem,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            format!("it took longer than {} s", wait.as_secs_f64())
        }
    };
    let words = format!("the files were not kept before `{what}` ({problem}); what the last turns left is kept");
    failures::note(home, clock.now, FAILURE, &words);
}

/// What may destroy files, in a few words.
fn about_to_destroy(action: &Action, located: &Located, cwd: &Path) -> Option<String> {
    match action {
        Action::Shell { line, .. } => destructive(line),
        Action::Write(files) => {
            let bytes = |file: &WrittenFile| cwd.join(&file.path).metadata().ok().filter(|_| is_inside(file, located));
            let is_lost = |file: &&WrittenFile| {
                bytes(file).is_some_and(|known| file.is_deleted || known.is_file() && known.len() >= LARGE_BYTES)
            };
            files.iter().find(is_lost).map(|file| match file.is_deleted {
                true => "deleting a file".to_string(),
                false => "writing a large file".to_string(),
            })
        }
    }
}

fn is_inside(file: &WrittenFile, located: &Located) -> bool {
    let path = Path::new(&file.path);
    !path.is_absolute() || path.starts_with(&located.root)
}
