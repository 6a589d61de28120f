//! Which of two hooks of the same event answers it: the one whose line comes first in the journal.
//!
//! Lines never change places. The view cannot decide: two hooks that write at once may have their places in the order
//! of all records the other way round, and which of them the view keeps depends on when it was folded.

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::echo::{ECHO_MAX, same_words};
use cerberus_record::event::Record;
use cerberus_record::kind::EventKind;
use cerberus_record::time::Timestamp;
use memchr::memmem;

use crate::hook::answer::AnswerError;
use crate::hook::capture::PendingAnswer;
use crate::journal::{self, JournalError};
use crate::view::Store;

impl PendingAnswer {
    /// Whether another hook reported the same event first and answers it.
    pub(super) fn is_echo(&self, home: &Home, clock: &Clock, store: &Store) -> Result<bool, AnswerError> {
        let own = std::process::id();
        let end = journal::end(home, clock.wall)?;
        let session = serde_json::to_vec(&*self.session).map_err(JournalError::from)?;
        let lines = end.lines().map(|(_, line)| line).filter(|line| memmem::find(line, &session).is_some());
        let sealed: Vec<_> = lines.filter_map(journal::decode).collect();
        let reporters = self.reporters(sealed.iter().filter_map(|line| line.record()), own, clock.now);
        if reporters.first().is_some_and(|first| *first != own) {
            return Ok(true);
        }
        // What is no longer at the journal's end is in the view.
        let known = store.reporters(self.agent, &self.session, &self.key, clock.now)?;
        Ok(known.iter().any(|pid| *pid != own && !reporters.contains(pid)))
    }

    /// The processes that reported this event, the first one first.
    fn reporters<'a>(&self, records: impl Iterator<Item = Record<'a>>, own: u32, now: Timestamp) -> Vec<u32> {
        let range = same_words(&self.key);
        let is_same = |key: &str| {
            key == &*self.key || range.as_ref().is_some_and(|(low, high)| low.as_str() < key && key < high.as_str())
        };
        let mut found = Vec::new();
        for record in records.filter(|record| record.agent == self.agent && record.session == self.session) {
            let is_close = record.at.since(now) <= ECHO_MAX && now.since(record.at) <= ECHO_MAX;
            if is_close && is_same(&record.key) {
                found.extend(record.heard_by);
            } else if range.is_some() && !found.contains(&own) && EventKind::of(&record.event).separates_echoes() {
                // The same words after this are a new event.
                found.clear();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_agents::claude_code;
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::{Clean, Keep};
    use cerberus_record::echo::timed_key;
    use cerberus_record::event::{Event, Record};
    use cerberus_record::order::{DeviceId, Order};
    use cerberus_record::time::Timestamp;

    use super::*;
    use crate::hook::capture::Trigger;
    use crate::project::identity;
    use crate::view::fold;

    #[test]
    fn the_first_line_of_the_journal_counts_even_if_its_place_in_the_order_is_later() {
        let own = std::process::id();
        for (pids, is_echo) in [([own + 1, own], true), ([own, own + 1], false)] {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::new(dir.path().join("home"));
            let now = Timestamp::from_millis(1_700_000_000_000);
            let located = identity::locate(dir.path());
            // The second hook was started first, and read the journal's end before the first one wrote.
            let times = [now.plus(Duration::from_millis(8)), now];
            let key = |at| BUILT_IN.clean(timed_key("x", at), Keep::NAME);
            let records = std::iter::zip(times, pids).map(|(at, pid)| Record {
                at,
                key: key(at),
                agent: claude_code::AGENT,
                imported: false,
                heard_by: Some(pid),
                by_agent: false,
                origin: None,
                session: Clean::word("s"),
                location: located.location(&BUILT_IN),
                event: Event::End { reason: Clean::word("other") },
            });
            std::fs::create_dir_all(home.journal_dir()).unwrap();
            let order = |at: Timestamp| Order { seq: journal::micros(at), device: DeviceId::default() };
            let lines: Vec<_> = records.map(|record| journal::encode(&record, order(record.at)).unwrap()).collect();
            journal::append_to(&home, "2023-11-14.jsonl", &lines).unwrap();
            let at = times[pids.iter().position(|pid| *pid == own).unwrap()];
            let pending = PendingAnswer {
                agent: claude_code::AGENT,
                session: Clean::word("s"),
                key: key(at),
                located,
                trigger: Trigger::End,
            };
            let store = fold::open_in_hook(&home).unwrap();
            assert_eq!(
                pending.is_echo(&home, &Clock { now: at, wall: at, is_given: true }, &store).unwrap(),
                is_echo,
                "{pids:?}"
            );
        }
    }
}
