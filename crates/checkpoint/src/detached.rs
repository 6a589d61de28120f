//! Keeping a turn in a process of its own: nobody waits for it.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::{Home, create_dir};
use cerberus_os::platform;
use cerberus_record::id::Agent;
use cerberus_store::project::identity::Located;
use cerberus_store::summary::detached::command;

use super::folder::folder;
use super::switch;
use super::turns::TurnReason;
use super::{CheckpointError, Checkpoints, TurnMoment, TurnSession};

/// What failed, in the list of failures.
pub const FAILURE: &str = "undo";

/// How often a hook looks whether the state before a turn is kept.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Exists from the beginning of a turn until the state before it is kept.
fn pending(home: &Home, located: &Located) -> PathBuf {
    folder(home, located).join("pending")
}

/// Starts keeping the state of the files, if the user wants that here, and returns at once.
pub fn start(home: &Home, clock: &Clock, located: &Located, moment: TurnMoment, agent: Agent, session: &str) {
    if located.git_dir.is_none() || !switch::is_on(home, &located.project) {
        return;
    }
    let started = || {
        if moment == TurnMoment::Before {
            create_dir(&folder(home, located))?;
            OpenOptions::new().write(true).create(true).truncate(true).open(pending(home, located))?;
        }
        let mut command = command(home)?;
        command.arg("--cwd").arg(&located.root);
        command.args(["undo", "--keep", moment.word(), "--agent", agent.name(), "--session", session]);
        platform::in_own_group(&mut command).spawn()
    };
    if let Err(error) = started() {
        failures::note(home, clock.now, FAILURE, &error);
    }
}

/// Waits until the state before the turn is kept, at most until the deadline. One that takes longer than `time_max` is
/// not waited for.
pub(super) fn wait_for_pending(home: &Home, located: &Located, time_max: Duration, deadline: Instant) {
    let is_pending = || {
        let begun = pending(home, located).symlink_metadata().and_then(|known| known.modified()).ok();
        begun.is_some_and(|begun| begun.elapsed().is_ok_and(|age| age < time_max))
    };
    while is_pending() && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Keeps the state of the files now, and removes what is old.
pub fn keep(
    home: &Home,
    clock: &Clock,
    located: &Located,
    moment: TurnMoment,
    session: Option<TurnSession>,
) -> Result<(), CheckpointError> {
    let kept = || {
        let checkpoints = Checkpoints::new(home, located)?;
        let kept = checkpoints.keep(TurnReason { session, ..TurnReason::of(moment) }, clock.now)?;
        if moment != TurnMoment::Command {
            checkpoints.prune(kept.as_ref(), clock)?;
        }
        Ok(())
    };
    let result = kept();
    if moment == TurnMoment::Before {
        let _ = fs::remove_file(pending(home, located));
    }
    result
}
