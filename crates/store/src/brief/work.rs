//! Which sessions worked, which only talked, and what the last ones said.

use std::cmp::Reverse;

use cerberus_recall::brief::rank::SessionWork;
use cerberus_recall::brief::stopped::{Quotable, WorkDone};
use cerberus_recall::brief::{DroppedLine, LastWork};
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::map::FastMap;
use cerberus_record::session::SessionStatus;
use cerberus_record::time::Timestamp;

use crate::brief::question::Question;
use crate::brief::subject::View;
use crate::view::{self, CarriedFacts, SessionRow, Store};

/// What sessions did, as far as facts show.
struct WorkByFacts<'a>(FastMap<&'a SessionId, WorkDone>);

impl<'a> WorkByFacts<'a> {
    fn new(carried: &'a CarriedFacts) -> WorkByFacts<'a> {
        let mut parts: FastMap<&SessionId, WorkDone> = FastMap::default();
        for known in &carried.facts {
            let part = parts.entry(&known.session).or_insert(WorkDone::Talk);
            if known.fact.kind != FactKind::Read {
                *part = WorkDone::Work;
            }
        }
        WorkByFacts(parts)
    }

    fn is_work(&self, session: &SessionRow) -> bool {
        self.0.get(&session.id) == Some(&WorkDone::Work)
    }

    /// Most commands leave no fact.
    fn of(&self, view: &View, session: &SessionRow) -> view::Result<WorkDone> {
        let part = self.0.get(&session.id).copied().unwrap_or(WorkDone::Idle);
        if part == WorkDone::Work { Ok(part) } else { Ok(part.max(view.store.ran(session, view.now)?)) }
    }

    /// Whether one of these sessions worked.
    fn has_work<'s>(&self, view: &View, sessions: impl Iterator<Item = &'s SessionRow> + Clone) -> view::Result<bool> {
        if sessions.clone().any(|session| self.is_work(session)) {
            return Ok(true);
        }
        for session in sessions {
            if self.of(view, session)? == WorkDone::Work {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The last session at work, if it is older than what carries over and the sessions since only asked or looked at
/// something.
pub(super) fn earlier(
    view: &View,
    carried: &CarriedFacts,
    history: &[SessionWork],
    sessions: &[SessionRow],
    question: &Question,
) -> view::Result<Option<SessionRow>> {
    let is_asked = question.is_fresh() && question.reminder;
    if !is_asked || WorkByFacts::new(carried).has_work(view, sessions.iter())? {
        return Ok(None);
    }
    let edited = |work: &SessionWork| work.touched.iter().filter_map(|touched| touched.last_edit).max();
    let edited = history.iter().filter_map(|work| Some((work.session.clone(), edited(work)?)));
    let ran = view.store.last_ran(&view.joined.ids, view.now)?;
    let Some((last, _)) = edited.chain(ran).max_by_key(|(_, at)| *at) else { return Ok(None) };
    let row = view.store.session(&last, view.now)?;
    Ok(row.filter(|row| row.state.status != SessionStatus::Completed && !question.is_from(row)))
}

/// The sessions that changed files, and when they last did.
pub fn worked(history: &[SessionWork]) -> Vec<LastWork> {
    let last = |work: &SessionWork| work.touched.iter().filter_map(|touched| touched.last_edit).max();
    history.iter().filter_map(|work| Some(LastWork { session: work.session.clone(), at: last(work)? })).collect()
}

/// What the last sessions said. Of those that worked, one of this folder or branch is where the work goes on. The session
/// that is continued counts as the last one.
pub(super) fn turns(
    view: &View,
    sessions: &[SessionRow],
    carried: &CarriedFacts,
    continued: Option<i64>,
    earlier: Option<&SessionRow>,
) -> view::Result<Vec<Quotable>> {
    let mut parts = WorkByFacts::new(carried);
    if let Some(earlier) = earlier {
        parts.0.insert(&earlier.id, WorkDone::Work);
    }
    let (root, branch) = (view.located.root.to_string_lossy(), view.located.branch());
    let is_here = |session: &SessionRow| session.root == root || branch.is_some() && session.branch == branch;
    let has_worked_here = parts.has_work(view, sessions.iter().rev().filter(|session| is_here(session)))?;
    let part = |session: &SessionRow| -> view::Result<WorkDone> {
        Ok(match parts.of(view, session)? {
            WorkDone::Work if has_worked_here && !is_here(session) => WorkDone::Talk,
            // Its own conversation is no question in between.
            WorkDone::Idle if Some(session.row) == continued => WorkDone::Talk,
            part => part,
        })
    };
    let mut newest: Vec<&SessionRow> = sessions.iter().collect();
    newest.sort_by_key(|session| Reverse((Some(session.row) == continued, session.last_activity, session.row)));
    let mut turns = view.store.turns(&newest, part, view.now)?;
    // Of work that no longer carries over, only where it stopped.
    let is_earlier = |turn: &Quotable| earlier.is_some_and(|earlier| turn.session == earlier.id);
    if let (Some(first), Some(last)) = (turns.iter().position(is_earlier), turns.iter().rposition(is_earlier)) {
        turns.drain(first..last);
    }
    Ok(turns)
}

/// These sessions, each with how many of its requests are among the turns.
pub(super) fn read(sessions: Vec<SessionRow>, turns: &[Quotable]) -> Vec<(SessionRow, usize)> {
    let is_request = |turn: &Quotable, of: &SessionRow| turn.session == of.id && !turn.beginning.is_empty();
    let count = |of: &SessionRow| turns.iter().filter(|turn| is_request(turn, of)).count();
    sessions.into_iter().map(|session| (count(&session), session)).map(|(count, session)| (session, count)).collect()
}

/// The requests that no brief reads, because newer ones fill it. Whoever wants to know why something is missing asks.
pub fn unread(store: &Store, read: &[(SessionRow, usize)], now: Timestamp) -> view::Result<Vec<DroppedLine>> {
    let mut dropped = Vec::new();
    for (session, requests) in read.iter().rev() {
        let count = store.prompt_count(session, now)?.saturating_sub(*requests);
        if count > 0 {
            let requests = if count == 1 { "request" } else { "requests" };
            let code = format!("{}{count} {requests} of {}", FactKind::Asked.prefix(), session.id);
            dropped.push(DroppedLine { code, reason: "not read: newer ones fill a brief".to_string() });
        }
    }
    Ok(dropped)
}
