//! Saves the files after every iteration, and says what is not saved.

use cerberus_checkpoint::Checkpoints;

use super::{BEFORE_THE_LOOP, Runner, now};
use crate::run::audience::LoopEvent;
use crate::run::prune::{self, RUNS_KEPT};

/// How many files are named in a message.
const NAMED_MAX: usize = 5;

impl Runner<'_> {
    /// Before the first context: the state before the loop, and what no checkpoint will contain.
    pub(super) fn first_checkpoint(&mut self) {
        let submodules = match Checkpoints::new(&self.job.home, &self.job.located) {
            Ok(checkpoints) => checkpoints.submodules(),
            Err(_) => {
                let words = "this folder is not in a git repository: no checkpoints are saved, so what the agent deletes or \
                             overwrites cannot be restored";
                self.audience.report(&LoopEvent::Message(words));
                return;
            }
        };
        if !submodules.is_empty() {
            let words = format!("files in submodules are not part of the checkpoints: {}", named(&submodules));
            self.audience.report(&LoopEvent::Message(&words));
        }
        self.checkpoint(BEFORE_THE_LOOP);
    }

    /// Saves the files as they are now, and removes what the oldest runs left. Without git, there are no checkpoints.
    pub(super) fn checkpoint(&mut self, iteration: u32) {
        let job = self.job;
        let Ok(checkpoints) = Checkpoints::new(&job.home, &job.located) else { return };
        match checkpoints.save(self.run, iteration, now()) {
            Ok(saved) if saved.left_out != self.left_out => {
                if !saved.left_out.is_empty() {
                    let words = format!(
                        "not in the checkpoint, because too large or being written: {}",
                        named(&saved.left_out)
                    );
                    self.audience.report(&LoopEvent::Message(&words));
                }
                self.left_out = saved.left_out;
            }
            Ok(_) => {}
            Err(error) => {
                let words = format!("no checkpoint was saved for this iteration: {error}");
                self.audience.report(&LoopEvent::Message(&words));
            }
        }
        match checkpoints.limit_room(now()) {
            Ok(Some(removed)) => {
                let words = format!(
                    "checkpoints took too much room (max_room), so the oldest {} are removed",
                    removed.checkpoints
                );
                self.audience.report(&LoopEvent::Message(&words));
            }
            Ok(None) => {}
            Err(error) => {
                self.audience.report(&LoopEvent::Message(&format!("the room of checkpoints is unknown: {error}")))
            }
        }
        let pruned = prune::of_old_runs(&job.home, &job.located, RUNS_KEPT)
            .and_then(|prunable| prunable.remove(&job.home, &job.located));
        if let Err(error) = pruned {
            self.audience.report(&LoopEvent::Message(&format!("old checkpoints were not removed: {error}")));
        }
    }
}

fn named(paths: &[String]) -> String {
    let first = paths.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
