//! Which lines of a transcript may be stored: those of turns that the journal has records of, without what was said during
//! a pause. What no record decides yet is left for the next time.

use std::collections::BTreeMap;

use cerberus_agents::conversation::Call;
use cerberus_record::kind::EventKind;
use cerberus_record::time::Timestamp;

use crate::terms::StoredLine;

/// How much later than its record a line may be written, in milliseconds.
const SLACK_MILLIS: i64 = 5_000;

/// How much may wait for a record, of text and of what is indexed of it.
const WAITING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a line costs that waits, besides its text.
const WAITING_LINE_BYTES: usize = 96;

/// And a call that has no result yet.
const OPEN_CALL_BYTES: usize = 128;

/// What the journal knows of a session.
#[derive(Debug, Default)]
pub struct RecordedTurns {
    /// What the session did, in order of time.
    events: Vec<(Timestamp, EventKind)>,
    /// Pauses of which nothing was recorded, each from the first time up to the second.
    pauses: Vec<(Timestamp, Timestamp)>,
    /// Nothing more is expected of it.
    is_over: bool,
}

impl RecordedTurns {
    pub fn new(
        events: Vec<(Timestamp, EventKind)>,
        mut pauses: Vec<(Timestamp, Timestamp)>,
        is_over: bool,
    ) -> RecordedTurns {
        let mut events: Vec<_> = events.into_iter().filter(|(_, kind)| kind.is_activity()).collect();
        events.sort_by_key(|(at, _)| *at);
        // The user may have imported what was said meanwhile. A hook may have been at work when the pause began.
        let is_told = |(at, kind): &(Timestamp, EventKind), (from, until): &(Timestamp, Timestamp)| {
            let is_within = is_later(*at, *from) && at < until;
            is_within && matches!(kind, EventKind::Prompt | EventKind::Tool | EventKind::Stop)
        };
        pauses.retain(|pause| !events.iter().any(|event| is_told(event, pause)));
        RecordedTurns { events, pauses, is_over }
    }

    fn is_paused(&self, at: Timestamp) -> bool {
        self.pauses.iter().any(|(from, until)| *from < at && at < *until)
    }

    /// The last event up to a time.
    fn last(&self, until: i64) -> Option<&(Timestamp, EventKind)> {
        let last = self.events.partition_point(|(at, _)| at.millis() <= until).checked_sub(1)?;
        Some(&self.events[last])
    }

    fn has_begun(&self, prompted: Timestamp) -> bool {
        self.events.iter().any(|(at, _)| (at.millis() - prompted.millis()).abs() <= SLACK_MILLIS)
    }

    /// Whether later records decide about what was said at this time.
    fn is_decided(&self, at: Option<Timestamp>) -> bool {
        let last = self.events.last().map(|(last, _)| *last);
        self.is_over || at.is_none_or(|at| last.is_some_and(|last| !is_later(at, last)))
    }

    /// Whether the turn has ended that was recorded last.
    pub fn has_ended(&self) -> bool {
        self.is_over || matches!(self.events.last(), None | Some((_, EventKind::Stop | EventKind::End)))
    }
}

fn is_later(line: Timestamp, record: Timestamp) -> bool {
    line.millis() > record.millis() + SLACK_MILLIS
}

/// A line that was read.
pub(crate) struct WaitingLine {
    pub at: Option<Timestamp>,
    /// The line itself, if it is stored.
    pub line: Option<StoredLine>,
    /// Whether it has what a tool printed.
    pub has_output: bool,
    /// Where it ends.
    pub to: u64,
    /// The calls without a result after it, if it changed them.
    pub open: Option<BTreeMap<String, Call>>,
}

impl WaitingLine {
    fn bytes(&self) -> usize {
        let open_bytes = self.open.as_ref().map_or(0, |open| open.len() * OPEN_CALL_BYTES);
        WAITING_LINE_BYTES + open_bytes + self.line.as_ref().map_or(0, StoredLine::bytes)
    }
}

/// Holds the lines of one transcript back until it is known whether they may be stored.
pub(crate) struct Recorded<'a> {
    turns: &'a RecordedTurns,
    /// Whether the prompts in the transcript are the session's, and not a subagent's.
    is_main: bool,
    waiting: Vec<WaitingLine>,
    bytes: usize,
    ready: Vec<WaitingLine>,
    /// The prompt of the turn was recorded.
    is_turn: bool,
    /// Nothing more is read this time.
    pub is_left: bool,
}

impl<'a> Recorded<'a> {
    pub fn new(turns: &'a RecordedTurns, is_main: bool) -> Recorded<'a> {
        let (waiting, ready) = (Vec::new(), Vec::new());
        Recorded { turns, is_main, waiting, bytes: 0, ready, is_turn: true, is_left: false }
    }

    pub fn push(&mut self, is_prompt: bool, line: WaitingLine) {
        if self.is_left {
            return;
        }
        if let Some(at) = line.at.filter(|_| is_prompt && self.is_main) {
            let has_begun = self.turns.has_begun(at);
            if has_begun || self.turns.is_decided(Some(at)) {
                self.settle(at.millis() - 1);
                self.is_turn = has_begun;
            }
        }
        self.bytes += line.bytes();
        self.waiting.push(line);
        if self.bytes > WAITING_BYTES_MAX {
            self.finish(false);
        }
    }

    /// Decides about what waits, as far as that can be decided; the rest is left. `holds_last`: the last line may still
    /// change.
    pub fn finish(&mut self, holds_last: bool) {
        let is_open = |line: &WaitingLine| !self.turns.is_decided(line.at);
        let last = self.waiting.len().saturating_sub(usize::from(holds_last));
        let left = self.waiting.iter().position(is_open).unwrap_or(self.waiting.len()).min(last);
        self.is_left |= left < self.waiting.len();
        self.waiting.truncate(left);
        self.settle(i64::MAX);
    }

    /// Decides about what waits: its turn ended before this time.
    fn settle(&mut self, until: i64) {
        let last = self.turns.last(until).map(|(at, _)| *at);
        let is_tail = |line: &WaitingLine| line.at.is_some_and(|at| last.is_none_or(|last| is_later(at, last)));
        // A tool that ran and was not recorded: nothing was recorded from then on.
        let is_unrecorded = self.waiting.iter().any(|line| line.has_output && is_tail(line));
        for mut line in std::mem::take(&mut self.waiting) {
            let is_recorded = match (self.is_main, line.at) {
                (true, _) => self.is_turn && !(is_unrecorded && is_tail(&line)),
                (false, at) => at.is_none_or(|at| self.is_beside_recorded(at, line.has_output)),
            };
            let is_kept = is_recorded && !line.at.is_some_and(|at| self.turns.is_paused(at));
            line.line = line.line.filter(|_| is_kept);
            self.ready.push(line);
        }
        self.bytes = 0;
    }

    /// Whether a line of a subagent was written in a turn that was recorded.
    fn is_beside_recorded(&self, at: Timestamp, has_output: bool) -> bool {
        let next = self.turns.events.get(self.turns.events.partition_point(|(known, _)| *known < at));
        if next.is_some_and(|(_, kind)| *kind != EventKind::Prompt) {
            return true;
        }
        // The turn was interrupted.
        let before = self.turns.last(at.millis());
        let is_open = !matches!(before, None | Some((_, EventKind::Stop | EventKind::End)));
        before.is_some_and(|(known, _)| !is_later(at, *known)) || is_open && !has_output
    }

    pub fn take(&mut self) -> Vec<WaitingLine> {
        std::mem::take(&mut self.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn line(seconds: i64, has_output: bool) -> WaitingLine {
        let line = Some(StoredLine { text: seconds.to_string(), terms: Default::default() });
        WaitingLine { at: Some(at(seconds)), line, has_output, to: seconds as u64, open: None }
    }

    fn turns(events: &[(i64, EventKind)], pauses: &[(i64, i64)], is_over: bool) -> RecordedTurns {
        let pauses = pauses.iter().map(|(from, until)| (at(*from), at(*until))).collect();
        RecordedTurns::new(events.iter().map(|(seconds, kind)| (at(*seconds), *kind)).collect(), pauses, is_over)
    }

    /// The times of the lines that are kept, and how far was read. `>` is a prompt, `<` an output.
    fn kept(turns: &RecordedTurns, is_main: bool, lines: &[(char, i64)]) -> (Vec<u64>, u64) {
        let mut recorded = Recorded::new(turns, is_main);
        for (what, seconds) in lines {
            recorded.push(*what == '>', line(*seconds, *what == '<'));
        }
        recorded.finish(false);
        let ready = recorded.take();
        let to = ready.last().map_or(0, |line| line.to);
        (ready.iter().filter(|line| line.line.is_some()).map(|line| line.to).collect(), to)
    }

    const PROMPT: EventKind = EventKind::Prompt;
    const TOOL: EventKind = EventKind::Tool;
    const STOP: EventKind = EventKind::Stop;

    #[test]
    fn what_no_record_decides_is_left() {
        let lines = [('>', 0), ('.', 5), ('<', 10), ('.', 30), ('.', 31)];
        let live = turns(&[(0, PROMPT), (10, TOOL)], &[], false);
        assert_eq!(kept(&live, true, &lines), (vec![0, 5, 10], 10));
        assert_eq!(kept(&live, false, &lines), (vec![0, 5, 10], 10));
        let later = turns(&[(0, PROMPT), (10, TOOL), (60, TOOL)], &[], false);
        assert_eq!(kept(&later, true, &lines), (vec![0, 5, 10, 30, 31], 31));
        // It was interrupted, or it crashed: no tool ran that was not recorded.
        let over = turns(&[(0, PROMPT), (10, TOOL)], &[], true);
        assert_eq!(kept(&over, true, &lines), (vec![0, 5, 10, 30, 31], 31));
        let next = turns(&[(0, PROMPT), (10, TOOL), (60, PROMPT)], &[], false);
        let interrupted = [&lines[..], &[('>', 60)]].concat();
        assert_eq!(kept(&next, true, &interrupted), (vec![0, 5, 10, 30, 31, 60], 60));
        assert_eq!(kept(&next, false, &lines), (vec![0, 5, 10, 30, 31], 31));
        // A prompt that is not recorded yet is no prompt that was not recorded.
        let asked = [&lines[..3], &[('>', 40), ('.', 41)]].concat();
        assert_eq!(kept(&live, true, &asked), (vec![0, 5, 10], 10));
    }

    #[test]
    fn what_was_not_recorded_is_not_kept() {
        let unrecorded = turns(&[(0, PROMPT), (4, STOP), (100, PROMPT), (104, STOP)], &[], false);
        let lines = [('>', 0), ('.', 3), ('>', 50), ('.', 51), ('<', 52), ('>', 100), ('.', 103)];
        assert_eq!(kept(&unrecorded, true, &lines), (vec![0, 3, 100, 103], 103));
        assert_eq!(kept(&unrecorded, false, &lines), (vec![0, 3, 100, 103], 103));
        // Recording ended within a turn.
        let ended = turns(&[(0, PROMPT), (4, TOOL), (100, PROMPT)], &[], false);
        let lines = [('>', 0), ('<', 3), ('.', 50), ('<', 52), ('.', 53), ('>', 100)];
        assert_eq!(kept(&ended, true, &lines), (vec![0, 3, 100], 100));
    }

    #[test]
    fn a_pause_within_a_turn_is_not_kept_unless_it_was_imported() {
        let lines = [('>', 0), ('<', 3), ('.', 50), ('<', 52), ('<', 90), ('.', 100)];
        let paused = turns(&[(0, PROMPT), (4, TOOL), (90, TOOL), (101, STOP)], &[(40, 80)], false);
        assert_eq!(kept(&paused, true, &lines).0, [0, 3, 90, 100]);
        assert_eq!(kept(&paused, false, &lines).0, [0, 3, 90, 100]);
        let at_work = turns(&[(0, PROMPT), (4, TOOL), (41, TOOL), (90, TOOL), (101, STOP)], &[(40, 80)], false);
        assert_eq!(kept(&at_work, true, &lines).0, [0, 3, 90, 100]);
        let imported = turns(&[(0, PROMPT), (4, TOOL), (52, TOOL), (90, TOOL), (101, STOP)], &[(40, 80)], false);
        assert_eq!(kept(&imported, true, &lines).0, [0, 3, 50, 52, 90, 100]);
    }

    #[test]
    fn what_waits_for_a_record_is_bounded_also_where_no_text_is_stored() {
        let turns = turns(&[(0, PROMPT), (1_000_000, STOP)], &[], false);
        let mut recorded = Recorded::new(&turns, true);
        for to in 0..(2 * WAITING_BYTES_MAX / WAITING_LINE_BYTES) as u64 {
            recorded.push(false, WaitingLine { at: None, line: None, has_output: false, to, open: None });
            recorded.take();
        }
        assert!(recorded.waiting.len() <= WAITING_BYTES_MAX / WAITING_LINE_BYTES, "{}", recorded.waiting.len());
    }
}
