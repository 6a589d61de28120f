//! The life of a session: its state is decided from what was heard of it, and from the time that is given.
//!
//! Nothing is stored as a state. The same marks and the same `now` always give the same answer, so any moment of the
//! past can be asked for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// After this long without activity a session leaves the brief.
pub const CARRY_OVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    Ended,
    Completed,
    Archived,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Ended => "ended",
            Status::Completed => "completed",
            Status::Archived => "archived",
        }
    }

    pub fn is_live(self) -> bool {
        self == Status::Active
    }

    /// Do its facts belong into a brief?
    pub fn carries_over(self) -> bool {
        matches!(self, Status::Active | Status::Ended)
    }
}

/// Something that changed the state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    pub what: MarkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// It began, or the user spoke: it is alive.
    Alive,
    Ended {
        trigger: String,
    },
    Completed,
    Archived,
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub status: Status,
    pub ended: Option<(Timestamp, String)>,
}

/// Decides from the marks up to `now`, oldest first, and the last activity up to `now`.
pub fn state(marks: &[Mark], last_activity: Timestamp, now: Timestamp) -> State {
    let mut state = State { status: Status::Active, ended: None };
    for mark in marks.iter().filter(|mark| mark.at <= now) {
        match &mark.what {
            MarkKind::Alive => state = State { status: Status::Active, ended: None },
            MarkKind::Ended { trigger } => {
                // A completed session stays completed, and still knows when it ended.
                if state.status == Status::Active {
                    state.status = Status::Ended;
                }
                state.ended = Some((mark.at, trigger.clone()));
            }
            MarkKind::Completed => state.status = Status::Completed,
            MarkKind::Archived => state.status = Status::Archived,
        }
    }
    if now.since(last_activity) > CARRY_OVER {
        state.status = Status::Archived;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_marks_and_the_clock() {
        let at = |secs: i64| Timestamp::from_millis(secs * 1000);
        let alive = |secs| Mark { at: at(secs), what: MarkKind::Alive };
        let ended = |secs| Mark { at: at(secs), what: MarkKind::Ended { trigger: "other".into() } };
        let completed = |secs| Mark { at: at(secs), what: MarkKind::Completed };
        let week = CARRY_OVER.as_secs() as i64;
        for (marks, last, now, status) in [
            (vec![alive(1)], 1, 2, Status::Active),
            (vec![alive(1), ended(5)], 5, 6, Status::Ended),
            (vec![alive(1), ended(5)], 5, 4, Status::Active),
            (vec![alive(1), ended(5), alive(7)], 7, 8, Status::Active),
            (vec![alive(1), completed(3)], 3, 8, Status::Completed),
            (vec![alive(1), completed(3), ended(5)], 5, 8, Status::Completed),
            (vec![alive(1), completed(3), alive(5)], 5, 8, Status::Active),
            (vec![alive(1)], 1, week + 1, Status::Active),
            (vec![alive(1)], 1, week + 2, Status::Archived),
        ] {
            let found = state(&marks, at(last), at(now));
            assert_eq!(found.status, status, "{marks:?} at {now}");
        }
    }
}
