//! The agent's messages that the handoff needs: the last one, and its answer once it was asked for a handoff.
//!
//! A session stopped halfway has no closing message, so the last one it printed is used.

use std::borrow::Cow;

use cerberus_agents::stream::StreamEvent;
use cerberus_recall::extract::extract;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Keep, clip_front};
use cerberus_record::event::{Event, Severity};
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::ours::{without_handoff, without_ours};
use cerberus_record::time::Timestamp;

use super::last_words;
use super::state::{HandoffDecision, Issue, PreservedState};
use super::written::{self, WrittenHandoff, any_same, same};
use crate::texts::{OneLine, Passage, one_line};

/// An answer is a page or two.
const ANSWER_BYTES_MAX: usize = 128 * 1024;

/// How much of the last messages is quoted.
const QUOTE_BYTES_MAX: usize = 4_000;
/// A last message that is shorter is quoted with the ones before it.
const SHORT_BYTES: usize = 600;

/// More calls at once are not followed.
const CALLS_MAX: usize = 50;

/// The messages of one session.
#[derive(Clone, Debug, Default)]
pub struct AgentMessages {
    /// The last message.
    words: String,
    /// The end of all messages.
    recent: String,
    answer: Option<String>,
    /// Tool calls that have not returned, oldest first, and when they began, if that is known.
    calls: Vec<(OneLine, Option<Timestamp>)>,
}

impl AgentMessages {
    /// Follows which tools are at work.
    pub fn follow(&mut self, cleaner: &Cleaner, event: &StreamEvent, at: Option<Timestamp>) {
        match event {
            StreamEvent::Tool { name, what } => {
                self.calls.push((OneLine::new(cleaner, &format!("{name} {what}")), at));
                self.calls.truncate(CALLS_MAX);
            }
            // They return in the order in which they began, or the order does not matter: the last one hung.
            StreamEvent::ToolDone | StreamEvent::ToolFailed if !self.calls.is_empty() => drop(self.calls.remove(0)),
            StreamEvent::Finished(_) => self.calls.clear(),
            _ => {}
        }
    }

    /// The tool call that has been at work longest, and since when.
    pub fn open_call(&self) -> Option<&(OneLine, Option<Timestamp>)> {
        self.calls.first()
    }

    pub fn add(&mut self, cleaner: &Cleaner, event: &StreamEvent) {
        let StreamEvent::Text(text) = event else { return };
        let text = cleaner.clean(text.as_str(), Keep::words(ANSWER_BYTES_MAX, 0));
        self.words = text.to_string();
        self.recent.push_str(&text);
        self.recent.push('\n');
        if self.recent.len() > 2 * QUOTE_BYTES_MAX {
            self.recent = clip_front(&self.recent, QUOTE_BYTES_MAX).to_string();
        }
        if let Some(answer) = &mut self.answer {
            answer.push_str(&text);
            answer.push('\n');
            // The end of the answer matters most.
            if answer.len() > ANSWER_BYTES_MAX {
                *answer = clip_front(answer, ANSWER_BYTES_MAX / 2).to_string();
            }
        }
    }

    /// From here on, the messages answer the request for a handoff.
    pub fn asked(&mut self) {
        self.answer = Some(String::new());
    }

    /// The handoff it wrote, if it was asked.
    pub fn written(&self) -> Option<WrittenHandoff> {
        written::read(self.answer.as_deref()?)
    }

    /// The same, once the closing mark was written.
    pub fn finished(&self) -> Option<WrittenHandoff> {
        self.written().filter(|_| self.answer.as_ref().is_some_and(|answer| answer.contains(written::CLOSE)))
    }

    /// The end of what it said.
    pub fn quote<'a>(&'a self) -> Cow<'a, str> {
        let text = match self.words.len() >= SHORT_BYTES {
            true => clip_front(&self.words, QUOTE_BYTES_MAX),
            false => clip_front(&self.recent, SHORT_BYTES.max(self.words.len()) * 2),
        };
        // The quote begins with a whole line.
        let is_whole = text.len() == self.recent.len() || text.len() == self.words.len();
        let text = if is_whole { text } else { text.split_once('\n').map_or(text, |(_, rest)| rest) };
        without_handoff(without_ours(text))
    }

    /// What it says it did, decided, left and warned about.
    pub fn last_words(&self) -> WrittenHandoff {
        last_words::read(&self.quote())
    }

    /// The facts in its last message.
    fn facts(&self, cleaner: &Cleaner) -> Vec<Fact> {
        let message = cleaner.clean(self.words.as_str(), Keep::MESSAGE);
        extract(&Event::Stop { message }).facts
    }
}

impl PreservedState {
    /// Adds the agent's own handoff if it wrote one, otherwise the facts in its last message.
    pub fn add_messages(&mut self, cleaner: &Cleaner, messages: &AgentMessages) {
        if let Some(written) = messages.written() {
            return self.add_written(written);
        }
        for fact in messages.facts(cleaner) {
            self.add_fact(&fact);
        }
        let said = messages.last_words();
        let is_known = |text: &str| any_same(&self.pending_items, text) || any_same(&self.completed_items, text);
        let pending = said.pending.iter().filter(|item| !is_known(item)).cloned().collect();
        self.add_written(WrittenHandoff { pending, ..said });
        let quote = messages.quote();
        self.last_words = Some(Passage::new(cleaner, quote.trim())).filter(|quote| !quote.is_empty());
    }

    /// Adds one fact, unless it is known.
    fn add_fact(&mut self, fact: &Fact) {
        let text = one_line(&fact.text);
        match fact.kind {
            FactKind::Next if !any_same(&self.pending_items, &text) && !any_same(&self.completed_items, &text) => {
                self.pending_items.push(text);
            }
            FactKind::Done if !any_same(&self.completed_items, &text) => self.completed_items.insert(0, text),
            FactKind::Decision if !self.decisions.iter().any(|known| same(&known.description, &text)) => {
                self.decisions.push(HandoffDecision { description: text, rationale: None, timestamp: None });
            }
            FactKind::Blocker if !self.known_issues.iter().any(|known| same(&known.description, &text)) => {
                let files = Vec::new();
                self.known_issues.push(Issue {
                    description: text,
                    severity: Severity::Medium,
                    files,
                    addressed: false,
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    fn messages(before: &[&str], after: &[&str]) -> AgentMessages {
        let mut messages = AgentMessages::default();
        before.iter().for_each(|text| messages.add(&BUILT_IN, &StreamEvent::Text(text.to_string())));
        if !after.is_empty() {
            messages.asked();
        }
        after.iter().for_each(|text| messages.add(&BUILT_IN, &StreamEvent::Text(text.to_string())));
        messages
    }

    #[test]
    fn an_answer_counts_only_when_it_was_asked_for() {
        let form = "<handoff>\n## Pending\n- Write the tests\n</handoff>";
        assert_eq!(messages(&[form], &[]).written(), None);
        let written = messages(&["before"], &["Right away.", form]).written().unwrap();
        assert_eq!(&*written.pending[0], "Write the tests");
        let torn = messages(&[], &["<handoff>\n## Pending\n- Write"]);
        assert!(torn.written().is_some() && torn.finished().is_none());
        assert!(messages(&[], &["<handoff>\n## Pending", "- Write\n</handoff>"]).finished().is_some());
        assert_eq!(messages(&[form], &["I would rather go on."]).written(), None);
    }

    #[test]
    fn without_a_handoff_the_last_message_is_used() {
        let last = "The parser is in place.\n\nNext steps:\n- Write the tests for the parser\n- Wire it into the build";
        let mut state =
            PreservedState { completed_items: vec![one_line("wire it into the build")], ..Default::default() };
        state.add_messages(&BUILT_IN, &messages(&["I look around.", last], &[]));
        let pending: Vec<&str> = state.pending_items.iter().map(|item| &**item).collect();
        assert_eq!(pending, ["Write the tests for the parser"]);
        state.add_messages(&BUILT_IN, &messages(&[last], &[]));
        assert_eq!(state.pending_items.len(), 1, "nothing is added twice");
    }
}
