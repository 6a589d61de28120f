//! What an agent said in its stream, kept for the handoff: its last words, and its answer once it was asked.
//!
//! Of a session that is stopped in the middle nobody heard a closing word; the end of what it said stands for it.

use super::state::{Decision, Issue, PreservedState, said};
use super::written::{self, Written, any_same, same};
use crate::agents::stream::StreamEvent;
use crate::clean::Cleaner;
use crate::clean::text::{Keep, clip_front};
use crate::extract::extract;
use crate::model::event::{Event, Severity};
use crate::model::fact::{Fact, Kind};

/// An answer is a page or two.
const ANSWER_BYTES_MAX: usize = 128 * 1024;

/// The words of one session.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// What it said last.
    words: String,
    answer: Option<String>,
}

impl Heard {
    pub fn hear(&mut self, cleaner: &Cleaner, said: &StreamEvent) {
        let StreamEvent::Text(text) = said else { return };
        let text = cleaner.clean(text.as_str(), Keep { head_bytes: ANSWER_BYTES_MAX, tail_bytes: 0 });
        self.words = text.to_string();
        if let Some(answer) = &mut self.answer {
            answer.push_str(&text);
            answer.push('\n');
            // What it wrote last counts most.
            if answer.len() > ANSWER_BYTES_MAX {
                *answer = clip_front(answer, ANSWER_BYTES_MAX / 2).to_string();
            }
        }
    }

    /// From here on it answers the request for its handoff.
    pub fn asked(&mut self) {
        self.answer = Some(String::new());
    }

    /// The handoff that it wrote, once it was asked.
    pub fn written(&self) -> Option<Written> {
        written::read(self.answer.as_deref()?)
    }

    /// The same, once it said that this is all of it.
    pub fn finished(&self) -> Option<Written> {
        self.written().filter(|_| self.answer.as_ref().is_some_and(|answer| answer.contains(written::CLOSE)))
    }

    /// What its last words say about what is done, decided, open or in the way.
    fn facts(&self, cleaner: &Cleaner) -> Vec<Fact> {
        let message = cleaner.clean(self.words.as_str(), Keep::MESSAGE);
        extract(&Event::Stop { message }).facts
    }
}

impl PreservedState {
    /// Adds what was heard: its own handoff if it wrote one, else what its last words say.
    pub fn add_heard(&mut self, cleaner: &Cleaner, heard: &Heard) {
        if let Some(written) = heard.written() {
            return self.add_written(written);
        }
        for fact in heard.facts(cleaner) {
            self.add_said(&fact);
        }
    }

    /// Adds one thing, unless it is known.
    fn add_said(&mut self, fact: &Fact) {
        let text = said(&fact.text);
        match fact.kind {
            Kind::Next if !any_same(&self.pending_items, &text) && !any_same(&self.completed_items, &text) => {
                self.pending_items.push(text);
            }
            Kind::Done if !any_same(&self.completed_items, &text) => self.completed_items.insert(0, text),
            Kind::Decision if !self.decisions.iter().any(|known| same(&known.description, &text)) => {
                self.decisions.push(Decision { description: text, rationale: None, timestamp: None });
            }
            Kind::Blocker if !self.known_issues.iter().any(|known| same(&known.description, &text)) => {
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
    use super::*;
    use crate::clean::BUILT_IN;

    fn heard(before: &[&str], after: &[&str]) -> Heard {
        let mut heard = Heard::default();
        before.iter().for_each(|text| heard.hear(&BUILT_IN, &StreamEvent::Text(text.to_string())));
        if !after.is_empty() {
            heard.asked();
        }
        after.iter().for_each(|text| heard.hear(&BUILT_IN, &StreamEvent::Text(text.to_string())));
        heard
    }

    #[test]
    fn an_answer_counts_only_when_it_was_asked_for() {
        let form = "<handoff>\n## Pending\n- Write the tests\n</handoff>";
        assert_eq!(heard(&[form], &[]).written(), None);
        let written = heard(&["before"], &["Right away.", form]).written().unwrap();
        assert_eq!(&*written.pending[0], "Write the tests");
        let torn = heard(&[], &["<handoff>\n## Pending\n- Write"]);
        assert!(torn.written().is_some() && torn.finished().is_none());
        assert!(heard(&[], &["<handoff>\n## Pending", "- Write\n</handoff>"]).finished().is_some());
        assert_eq!(heard(&[form], &["I would rather go on."]).written(), None);
    }

    #[test]
    fn of_a_session_that_wrote_nothing_the_last_words_are_taken() {
        let last = "The parser is in place.\n\nNext steps:\n- Write the tests for the parser\n- Wire it into the build";
        let mut state = PreservedState { completed_items: vec![said("wire it into the build")], ..Default::default() };
        state.add_heard(&BUILT_IN, &heard(&["I look around.", last], &[]));
        let pending: Vec<&str> = state.pending_items.iter().map(|item| &**item).collect();
        assert_eq!(pending, ["Write the tests for the parser"]);
        state.add_heard(&BUILT_IN, &heard(&[last], &[]));
        assert_eq!(state.pending_items.len(), 1, "nothing is added twice");
    }
}
