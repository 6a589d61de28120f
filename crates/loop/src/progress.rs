//! Whether a context made progress: the files are in a state that this run has not seen, or a task is finished.
//!
//! A commit without changes is no progress, and neither is a file that only flips between two states.

use super::totals::LoopProgress;

/// The state of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// A hash of all files that count. `None` if it could not be determined.
    pub files: Option<u64>,
    /// How many tasks the project's sessions have finished.
    pub done: Option<usize>,
}

impl Snapshot {
    /// The progress since an earlier state. `seen` are the states of the files that this run has left before.
    pub fn since(&self, earlier: &Snapshot, seen: &[u64]) -> LoopProgress {
        let has_finished = matches!((self.done, earlier.done), (Some(now), Some(before)) if now > before);
        match self.files {
            _ if has_finished => LoopProgress::Made,
            // If the files could not be compared, they may have changed.
            None => LoopProgress::Unknown,
            Some(files) if Some(files) == earlier.files || seen.contains(&files) => LoopProgress::None,
            Some(_) => LoopProgress::Made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_state_or_a_finished_task_is_progress() {
        let state = |files, done| Snapshot { files, done };
        for (before, after, seen, expected) in [
            (state(Some(1), Some(0)), state(Some(2), Some(0)), &[1][..], LoopProgress::Made),
            (state(Some(1), Some(0)), state(Some(1), Some(0)), &[1], LoopProgress::None),
            (state(Some(2), Some(0)), state(Some(1), Some(0)), &[1, 2], LoopProgress::None),
            (state(Some(2), None), state(Some(3), None), &[1, 2], LoopProgress::Made),
            (state(Some(1), Some(0)), state(Some(1), Some(1)), &[1], LoopProgress::Made),
            (state(Some(1), Some(2)), state(Some(1), Some(1)), &[1], LoopProgress::None),
            (state(None, Some(0)), state(None, Some(0)), &[], LoopProgress::Unknown),
            (state(None, Some(0)), state(None, Some(1)), &[], LoopProgress::Made),
        ] {
            assert_eq!(after.since(&before, seen), expected, "{before:?} {after:?} {seen:?}");
        }
    }
}
