//! The life cycle of a session: a state machine over what was reported and what a sweep finds.
//!
//! Pure: the same marks, process state and `now` always give the same result, so the state at any past time can be
//! computed. States are never stored. Effects are data; the caller records them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// After this long without activity a session leaves the brief.
pub const CARRY_OVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// After this long without activity a session is idle, and a sweep ends it.
pub const IDLE_AFTER: Duration = Duration::from_secs(30 * 60);
/// A session without a known process counts as crashed after this long without activity.
pub const SILENCE_MAX: Duration = Duration::from_secs(5 * 60);

/// The trigger of a session that a loop ended and replaced with a fresh one.
pub const REBOOT: &str = "reboot";

/// The trigger for `LoopEnd::NeedsUser` in older journals.
const NEEDS_USER_FORMERLY: &str = "needs mending";

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SessionStatus {
        Active = "active",
        Idle = "idle",
        Ended = "ended",
        Crashed = "crashed",
        Recovered = "recovered",
        Completed = "completed",
        Archived = "archived",
    }
}

impl SessionStatus {
    /// May it still be running?
    pub fn is_live(self) -> bool {
        matches!(self, SessionStatus::Active | SessionStatus::Idle)
    }

    /// Do its facts belong in a brief?
    pub fn carries_over(self) -> bool {
        !matches!(self, SessionStatus::Completed | SessionStatus::Archived)
    }
}

/// Something reported about a session, or decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    pub what: MarkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// It began, or its user sent a prompt.
    Alive,
    Ended {
        trigger: String,
    },
    Crashed {
        evidence: String,
    },
    Recovered,
    Completed,
    /// The user took the completion back.
    Reopened,
    Archived,
}

/// What is known about the agent's process at the time of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    Running,
    Gone,
    /// It runs, or ran, in a place we cannot inspect.
    Elsewhere,
    /// No process was ever recorded.
    Unknown,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    pub status: SessionStatus,
    /// When and why it ended or crashed.
    pub ended: Option<(Timestamp, String)>,
}

impl SessionState {
    pub const NEW: SessionState = SessionState { status: SessionStatus::Active, ended: None };
}

/// What the caller must record after a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEffect {
    End { trigger: &'static str },
    Crash { evidence: &'static str },
    Archive,
}

words! {
    /// How a loop ended. The word is also the trigger of the session that ended with it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LoopEnd {
        Complete = "complete",
        Failed = "failed",
        Limit = "limit",
        NoProgress = "no progress",
        #[serde(rename = "needs_mending")]
        NeedsUser = "needs attention",
        Interrupted = "interrupted",
    }
}

impl LoopEnd {
    /// Exit code 2 is reserved for usage errors.
    pub fn exit_code(self) -> u8 {
        match self {
            LoopEnd::Complete => 0,
            LoopEnd::Failed => 1,
            LoopEnd::Limit => 3,
            LoopEnd::NoProgress => 4,
            LoopEnd::NeedsUser => 5,
            LoopEnd::Interrupted => 6,
        }
    }
}

impl Mark {
    /// An end that we inferred.
    fn is_noticed(&self) -> bool {
        match &self.what {
            MarkKind::Ended { trigger } => trigger == TIMEOUT,
            what => matches!(what, MarkKind::Crashed { .. }),
        }
    }
}

/// Did a loop end the session, either to start a fresh one or because the loop itself ended?
fn is_by_loop(trigger: &str) -> bool {
    trigger == REBOOT || trigger == NEEDS_USER_FORMERLY || LoopEnd::ALL.iter().any(|end| end.word() == trigger)
}

/// The state after a mark.
pub fn step(state: SessionState, mark: &Mark) -> SessionState {
    match (&mark.what, state.status) {
        (MarkKind::Alive, _) => SessionState::NEW,
        // A completed session stays completed but records when it ended.
        (MarkKind::Ended { trigger }, status) => {
            let status = if status.is_live() { SessionStatus::Ended } else { status };
            let ended = match state.ended {
                // The agent only reported that it left; the loop that ended it knows why.
                Some((at, _)) if is_by_loop(trigger) => (at, trigger.clone()),
                known => known.unwrap_or_else(|| (mark.at, trigger.clone())),
            };
            SessionState { status, ended: Some(ended) }
        }
        // An ended session cannot crash, and a second crash changes nothing.
        (MarkKind::Crashed { evidence }, SessionStatus::Active | SessionStatus::Idle) => {
            SessionState { status: SessionStatus::Crashed, ended: Some((mark.at, evidence.clone())) }
        }
        (MarkKind::Recovered, SessionStatus::Crashed) => SessionState { status: SessionStatus::Recovered, ..state },
        (MarkKind::Crashed { .. } | MarkKind::Recovered, _) => state,
        (MarkKind::Completed, _) => SessionState { status: SessionStatus::Completed, ..state },
        (MarkKind::Reopened, SessionStatus::Completed) => {
            let status = if state.ended.is_some() { SessionStatus::Ended } else { SessionStatus::Active };
            SessionState { status, ..state }
        }
        (MarkKind::Reopened, _) => state,
        (MarkKind::Archived, _) => SessionState { status: SessionStatus::Archived, ..state },
    }
}

/// May a session still be running, by its marks since it was last alive, oldest first?
pub fn is_open(marks: &[Mark]) -> bool {
    marks.iter().fold(SessionState::NEW, step).status.is_live()
}

/// Does activity after this mark show that the session goes on? An end that was reported stays.
pub fn is_disproved_by_activity(last: &Mark) -> bool {
    last.is_noticed() || last.what == MarkKind::Recovered
}

/// The state of a session after its marks up to `now`, oldest first.
pub fn state(marks: &[Mark], last_activity: Timestamp, now: Timestamp) -> SessionState {
    let after = |state: SessionState, mark: &Mark| {
        let had_ended = state.ended.is_some();
        let mut state = step(state, mark);
        // Nobody reported this end. It is noticed when somebody looks; until then the session was silent.
        if let Some((at, _)) = state.ended.as_mut().filter(|_| !had_ended && mark.is_noticed()) {
            *at = last_activity.min(*at);
        }
        state
    };
    let state = marks.iter().filter(|mark| mark.at <= now).fold(SessionState::NEW, after);
    let silence = now.since(last_activity);
    match state.status {
        _ if silence > CARRY_OVER => SessionState { status: SessionStatus::Archived, ..state },
        SessionStatus::Active if silence > IDLE_AFTER => SessionState { status: SessionStatus::Idle, ..state },
        _ => state,
    }
}

/// What a sweep decides: the session's state given its process and the time, and the effects to record.
pub fn settle(
    state: SessionState,
    last_activity: Timestamp,
    process: Process,
    idle_after: Duration,
    now: Timestamp,
) -> (SessionState, Vec<SessionEffect>) {
    let silence = now.since(last_activity);
    let crash = |evidence: &'static str| {
        let state = SessionState { status: SessionStatus::Crashed, ended: Some((last_activity, evidence.to_string())) };
        (state, vec![SessionEffect::Crash { evidence }])
    };
    match (state.status, process) {
        (SessionStatus::Archived, _) if silence > CARRY_OVER => (state, vec![SessionEffect::Archive]),
        (SessionStatus::Active | SessionStatus::Idle, Process::Gone) => crash("the agent's process is gone"),
        (SessionStatus::Active | SessionStatus::Idle, Process::Unknown) if silence > SILENCE_MAX => {
            crash("silence, and no process is known")
        }
        (SessionStatus::Active | SessionStatus::Idle, _) if silence > idle_after => {
            let ended = Some((last_activity, TIMEOUT.to_string()));
            (SessionState { status: SessionStatus::Ended, ended }, vec![SessionEffect::End { trigger: TIMEOUT }])
        }
        _ => (state, Vec::new()),
    }
}

/// The reason of an end that nobody reported.
pub const TIMEOUT: &str = "timeout";
/// The reason of an end by `session-end`.
pub const EXPLICIT: &str = "explicit";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    fn mark(secs: i64, what: MarkKind) -> Mark {
        Mark { at: at(secs), what }
    }

    fn alive(secs: i64) -> Mark {
        mark(secs, MarkKind::Alive)
    }

    fn ended(secs: i64) -> Mark {
        mark(secs, MarkKind::Ended { trigger: "other".into() })
    }

    fn crashed(secs: i64) -> Mark {
        mark(secs, MarkKind::Crashed { evidence: "gone".into() })
    }

    const WEEK: i64 = CARRY_OVER.as_secs() as i64;
    const IDLE: i64 = IDLE_AFTER.as_secs() as i64;

    #[test]
    fn a_session_is_open_until_an_end_that_activity_does_not_disprove() {
        let mark = |what| Mark { at: Timestamp::from_millis(1), what };
        let ended = |trigger: &str| mark(MarkKind::Ended { trigger: trigger.to_string() });
        let crashed = || mark(MarkKind::Crashed { evidence: "silence".to_string() });
        for (marks, is_still_open, is_disproved) in [
            (vec![mark(MarkKind::Alive)], true, false),
            (vec![ended("exit")], false, false),
            (vec![ended(TIMEOUT)], false, true),
            (vec![crashed()], false, true),
            (vec![crashed(), mark(MarkKind::Recovered)], false, true),
            (vec![crashed(), mark(MarkKind::Alive)], true, false),
            (vec![mark(MarkKind::Completed)], false, false),
            (vec![mark(MarkKind::Completed), mark(MarkKind::Reopened)], true, false),
            (vec![ended("exit"), mark(MarkKind::Completed), mark(MarkKind::Reopened)], false, false),
            (vec![mark(MarkKind::Archived)], false, false),
        ] {
            let found = (is_open(&marks), marks.last().is_some_and(is_disproved_by_activity));
            assert_eq!(found, (is_still_open, is_disproved), "{marks:?}");
        }
    }

    #[test]
    fn a_reboot_is_the_better_reason_for_an_end() {
        let reboot = |secs| mark(secs, MarkKind::Ended { trigger: REBOOT.into() });
        for (marks, why) in [
            (vec![alive(1), reboot(5)], (5, REBOOT)),
            (vec![alive(1), ended(4), reboot(5)], (4, REBOOT)),
            (vec![alive(1), reboot(5), ended(6)], (5, REBOOT)),
            (vec![alive(1), ended(4), mark(5, MarkKind::Ended { trigger: "complete".into() })], (4, "complete")),
            (
                vec![alive(1), ended(4), mark(5, MarkKind::Ended { trigger: "needs mending".into() })],
                (4, "needs mending"),
            ),
            (vec![alive(1), ended(4), ended(5)], (4, "other")),
        ] {
            let found = state(&marks, at(5), at(9));
            assert_eq!((found.status, found.ended), (SessionStatus::Ended, Some((at(why.0), why.1.to_string()))));
        }
    }

    #[test]
    fn the_state_follows_the_marks_and_the_clock() {
        let completed = |secs| mark(secs, MarkKind::Completed);
        let recovered = |secs| mark(secs, MarkKind::Recovered);
        for (marks, last, now, status) in [
            (vec![alive(1)], 1, 2, SessionStatus::Active),
            (vec![alive(1)], 1, IDLE + 1, SessionStatus::Active),
            (vec![alive(1)], 1, IDLE + 2, SessionStatus::Idle),
            (vec![alive(1), ended(5)], 5, 6, SessionStatus::Ended),
            (vec![alive(1), ended(5)], 5, 4, SessionStatus::Active),
            (vec![alive(1), ended(5), alive(7)], 7, 8, SessionStatus::Active),
            (vec![alive(1), crashed(5)], 5, 8, SessionStatus::Crashed),
            (vec![alive(1), crashed(5), crashed(6)], 5, 8, SessionStatus::Crashed),
            (vec![alive(1), crashed(5), recovered(6)], 5, 8, SessionStatus::Recovered),
            (vec![alive(1), crashed(5), recovered(6), recovered(7)], 5, 8, SessionStatus::Recovered),
            (vec![alive(1), crashed(5), recovered(6), alive(7)], 7, 8, SessionStatus::Active),
            (vec![alive(1), ended(5), crashed(6)], 5, 8, SessionStatus::Ended),
            (vec![alive(1), recovered(5)], 5, 8, SessionStatus::Active),
            (vec![alive(1), completed(3)], 3, 8, SessionStatus::Completed),
            (vec![alive(1), completed(3), ended(5)], 5, 8, SessionStatus::Completed),
            (vec![alive(1), completed(3), mark(4, MarkKind::Reopened)], 3, 8, SessionStatus::Active),
            (vec![alive(1), ended(2), completed(3), mark(4, MarkKind::Reopened)], 3, 8, SessionStatus::Ended),
            (vec![alive(1), crashed(2), mark(4, MarkKind::Reopened)], 3, 8, SessionStatus::Crashed),
            (vec![alive(1), completed(3), alive(5)], 5, 8, SessionStatus::Active),
            (vec![alive(1)], 1, WEEK + 2, SessionStatus::Archived),
            (vec![alive(1), ended(2)], 2, WEEK + 3, SessionStatus::Archived),
        ] {
            assert_eq!(state(&marks, at(last), at(now)).status, status, "{marks:?} at {now}");
        }
    }

    #[test]
    fn a_sweep_decides_from_evidence_first_and_silence_last() {
        let (active, idle) = (SessionStatus::Active, SessionStatus::Idle);
        let (end, crash) = (|| SessionEffect::End { trigger: TIMEOUT }, |evidence| SessionEffect::Crash { evidence });
        let gone = "the agent's process is gone";
        let silent = "silence, and no process is known";
        for (status, process, silence, expected, effects) in [
            (active, Process::Running, 1, active, vec![]),
            (active, Process::Running, 301, active, vec![]),
            (idle, Process::Running, IDLE + 1, SessionStatus::Ended, vec![end()]),
            (active, Process::Gone, 1, SessionStatus::Crashed, vec![crash(gone)]),
            (idle, Process::Gone, IDLE + 1, SessionStatus::Crashed, vec![crash(gone)]),
            (active, Process::Unknown, 299, active, vec![]),
            (active, Process::Unknown, 301, SessionStatus::Crashed, vec![crash(silent)]),
            (active, Process::Elsewhere, 301, active, vec![]),
            (idle, Process::Elsewhere, IDLE + 1, SessionStatus::Ended, vec![end()]),
            (SessionStatus::Ended, Process::Gone, 301, SessionStatus::Ended, vec![]),
            (SessionStatus::Crashed, Process::Gone, 301, SessionStatus::Crashed, vec![]),
            (SessionStatus::Recovered, Process::Gone, 301, SessionStatus::Recovered, vec![]),
            (SessionStatus::Completed, Process::Unknown, 301, SessionStatus::Completed, vec![]),
            (SessionStatus::Archived, Process::Gone, WEEK + 1, SessionStatus::Archived, vec![SessionEffect::Archive]),
        ] {
            let before = SessionState { status, ended: None };
            let (after, found) = settle(before, at(1000), process, IDLE_AFTER, at(1000 + silence));
            assert_eq!((after.status, found), (expected, effects), "{status:?} {process:?} after {silence} s");
        }
    }

    #[test]
    fn limits_match_the_documentation_and_are_exclusive() {
        assert_eq!((SILENCE_MAX.as_secs(), IDLE_AFTER.as_secs(), CARRY_OVER.as_secs()), (300, 1_800, 604_800));
        for (silence, status) in [
            (1_800, SessionStatus::Active),
            (1_801, SessionStatus::Idle),
            (604_800, SessionStatus::Idle),
            (604_801, SessionStatus::Archived),
        ] {
            assert_eq!(state(&[alive(0)], at(0), at(silence)).status, status, "after {silence} s");
        }
        let settled = |status, process, silence| {
            let (state, effects) =
                settle(SessionState { status, ended: None }, at(0), process, IDLE_AFTER, at(silence));
            (state.status, state.ended, effects.len())
        };
        let because = |secs, why: &str| Some((at(secs), why.to_string()));
        for (status, process, silence, expected) in [
            (SessionStatus::Active, Process::Unknown, 300, (SessionStatus::Active, None, 0)),
            (
                SessionStatus::Active,
                Process::Unknown,
                301,
                (SessionStatus::Crashed, because(0, "silence, and no process is known"), 1),
            ),
            (
                SessionStatus::Active,
                Process::Gone,
                5,
                (SessionStatus::Crashed, because(0, "the agent's process is gone"), 1),
            ),
            (SessionStatus::Active, Process::Running, 1_800, (SessionStatus::Active, None, 0)),
            (SessionStatus::Idle, Process::Running, 1_801, (SessionStatus::Ended, because(0, TIMEOUT), 1)),
            // A user may archive a session that is not old; that is already recorded.
            (SessionStatus::Archived, Process::Unknown, 604_800, (SessionStatus::Archived, None, 0)),
            (SessionStatus::Archived, Process::Unknown, 604_801, (SessionStatus::Archived, None, 1)),
        ] {
            assert_eq!(settled(status, process, silence), expected, "{status:?} {process:?} after {silence} s");
        }
    }

    #[test]
    fn every_status_has_its_word_and_properties() {
        for (status, word, is_live, carries_over) in [
            (SessionStatus::Active, "active", true, true),
            (SessionStatus::Idle, "idle", true, true),
            (SessionStatus::Ended, "ended", false, true),
            (SessionStatus::Crashed, "crashed", false, true),
            (SessionStatus::Recovered, "recovered", false, true),
            (SessionStatus::Completed, "completed", false, false),
            (SessionStatus::Archived, "archived", false, false),
        ] {
            assert_eq!((status.word(), status.is_live(), status.carries_over()), (word, is_live, carries_over));
            assert_eq!(serde_json::to_value(status).unwrap(), word);
        }
    }

    #[test]
    fn an_end_that_was_noticed_late_was_at_the_last_activity() {
        let timeout = || mark(9_000, MarkKind::Ended { trigger: TIMEOUT.into() });
        let crash = || mark(9_000, MarkKind::Crashed { evidence: "gone".into() });
        for (marks, last, expected) in [
            (vec![alive(1), timeout()], 180, 180),
            (vec![alive(1), crash()], 180, 180),
            (vec![alive(1), crash(), mark(9_001, MarkKind::Recovered)], 180, 180),
            (vec![alive(1), timeout(), ended(9_500)], 180, 180),
            (vec![alive(1), timeout(), alive(9_100), ended(9_500)], 9_200, 9_500),
            (vec![alive(1), ended(9_500)], 180, 9_500),
        ] {
            let found = state(&marks, at(last), at(10_000)).ended.map(|(at, _)| at);
            assert_eq!(found, Some(at(expected)), "{marks:?}");
        }
    }

    #[test]
    fn marks_change_only_what_they_must() {
        let crash = || mark(5, MarkKind::Crashed { evidence: "gone".into() });
        let gone = Some((at(5), "gone".to_string()));
        for (marks, status, ended) in [
            (vec![crash(), mark(6, MarkKind::Recovered)], SessionStatus::Recovered, gone.clone()),
            (vec![crash(), mark(6, MarkKind::Completed)], SessionStatus::Completed, gone.clone()),
            (vec![crash(), mark(6, MarkKind::Archived)], SessionStatus::Archived, gone.clone()),
            (vec![crash(), ended(6)], SessionStatus::Crashed, gone),
            (
                vec![mark(3, MarkKind::Completed), ended(5)],
                SessionStatus::Completed,
                Some((at(5), "other".to_string())),
            ),
            (vec![crash(), alive(7)], SessionStatus::Active, None),
        ] {
            assert_eq!(state(&marks, at(7), at(8)), SessionState { status, ended }, "{marks:?}");
        }
    }

    fn any_mark() -> impl Strategy<Value = MarkKind> {
        prop_oneof![
            Just(MarkKind::Alive),
            Just(MarkKind::Ended { trigger: "other".into() }),
            Just(MarkKind::Crashed { evidence: "gone".into() }),
            Just(MarkKind::Recovered),
            Just(MarkKind::Completed),
            Just(MarkKind::Reopened),
            Just(MarkKind::Archived),
        ]
    }

    proptest! {
        #[test]
        fn any_history_has_one_state_and_settling_it_twice_is_settling_it_once(
            history in proptest::collection::vec((any_mark(), 0i64..4000), 0..30),
            process in prop_oneof![Just(Process::Running), Just(Process::Gone), Just(Process::Elsewhere), Just(Process::Unknown)],
            later in 0i64..1_000_000,
        ) {
            let mut secs = 0;
            let marks: Vec<Mark> = history.into_iter().map(|(what, after)| { secs += after; mark(secs, what) }).collect();
            let (last, now) = (at(secs), at(secs + later));
            let before = state(&marks, last, now);
            let (after, effects) = settle(before.clone(), last, process, IDLE_AFTER, now);
            // A sweep never makes a session live again.
            prop_assert!(before.status.is_live() || after.status == before.status);
            if let Some((ended, _)) = &after.ended {
                prop_assert!(*ended <= now, "time never goes backwards");
            }
            let (again, more) = settle(after.clone(), last, process, IDLE_AFTER, now);
            prop_assert_eq!(&again, &after);
            prop_assert!(more.is_empty() || matches!(more[..], [SessionEffect::Archive]));
            // Recording the effects gives the same state.
            let recorded = effects.iter().filter_map(|effect| match effect {
                SessionEffect::End { trigger } => Some(MarkKind::Ended { trigger: trigger.to_string() }),
                SessionEffect::Crash { evidence } => Some(MarkKind::Crashed { evidence: evidence.to_string() }),
                SessionEffect::Archive => None,
            });
            let mut all = marks.clone();
            all.extend(recorded.map(|what| Mark { at: now, what }));
            prop_assert_eq!(state(&all, last, now).status, after.status);
        }
    }
}
