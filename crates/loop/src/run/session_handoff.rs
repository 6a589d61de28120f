//! A handoff of one session for another agent: what a loop's handoff says, and the last turns in full.

use cerberus_agents::conversation::{Part, PartKind};
use cerberus_agents::stream::StreamEvent;
use cerberus_os::home::Home;
use cerberus_record::id::Agent;
use cerberus_record::ours::{without_handoff, without_ours};
use cerberus_record::time::Timestamp;
use cerberus_store::browse::page::{Page, SaidEntry};
use cerberus_store::project::identity::Located;
use cerberus_store::view::{self, SessionRow, Store};
use cerberus_text::tokens;

use super::preserve::{PreserveRequest, preserve};
use crate::handoff::messages::AgentMessages;
use crate::handoff::{Handoff, compose};
use crate::preserve::Preserve;
use crate::texts::Passage;

/// Bytes of a token of ordinary text.
const TOKEN_BYTES: usize = 4;
/// The turns get this share of the room; the rest says what they led to.
const TURNS_SHARE: usize = 2;

/// Which session is passed on, and in how many tokens.
pub struct SessionHandoff<'a> {
    pub home: &'a Home,
    pub located: &'a Located,
    pub now: Timestamp,
    pub session: &'a SessionRow,
    pub page: &'a Page,
    /// What was said, if it is kept: a page has the beginning and the end of each text.
    pub conversation: &'a [Part],
    pub tokens_max: usize,
}

impl SessionHandoff<'_> {
    pub fn compose(&self, store: &Store) -> view::Result<Handoff> {
        let cleaner = self.home.cleaner();
        let mut heard = AgentMessages::default();
        if let Some(last) = self.page.said.last() {
            heard.add(cleaner, &StreamEvent::Text(last.text.clone()));
        }
        let agent = Agent::from_name(&self.session.agent);
        let sessions: Vec<_> = agent.map(|agent| (agent, self.session.agent_session_id.clone())).into_iter().collect();
        let mut rules = Preserve { max_state_bytes: self.tokens_max * TOKEN_BYTES, ..Preserve::default() };
        let wanted = PreserveRequest {
            located: self.located,
            now: self.now,
            sessions: &sessions,
            base: None,
            prompt: self.page.asked.first().map(|asked| asked.text.as_str()),
            task_has_changed: false,
            heard: &heard,
            rules: &rules,
            privacy_rules: self.home.privacy_rules(),
            cleaner,
        };
        let mut state = preserve(store, &wanted)?.state;
        let told = match self.conversation.iter().any(|part| part.kind == PartKind::Prompt) {
            true => turns_of_parts(self.conversation),
            false => turns_of_page(&self.page.asked, &self.page.said),
        };
        let turns = last_turns(&told, rules.max_state_bytes / TURNS_SHARE);
        state.last_turns = turns.iter().map(|turn| Passage::new(cleaner, turn)).collect();
        // The last turn ends with them.
        state.last_words = state.last_words.filter(|_| state.last_turns.is_empty());
        let mut handoff = compose(&state, &rules);
        // Code and other scripts have shorter tokens.
        while tokens::estimate(&handoff.text) > self.tokens_max && rules.max_state_bytes > Preserve::MIN_STATE_BYTES {
            rules.max_state_bytes = rules.max_state_bytes * 9 / 10;
            handoff = compose(&state, &rules);
        }
        Ok(handoff)
    }
}

/// What was asked and answered in one turn.
type Turn = Vec<String>;

/// Stands for what does not fit.
const LEFT_OUT: &str = "[…]";

fn turns_of_page(asked: &[SaidEntry], said: &[SaidEntry]) -> Vec<Turn> {
    let until = asked.iter().skip(1).map(|next| Some(next.at)).chain([None]);
    let turn = |(request, until): (&SaidEntry, Option<Timestamp>)| {
        let is_of_it = |answer: &&SaidEntry| answer.at >= request.at && until.is_none_or(|next| answer.at < next);
        let answers = said.iter().filter(is_of_it).map(|answer| told("agent", &answer.text));
        std::iter::once(told("user", &request.text)).chain(answers).collect()
    };
    asked.iter().zip(until).map(turn).collect()
}

fn turns_of_parts(parts: &[Part]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut is_asking = false;
    for part in parts {
        let entry = match part.kind {
            PartKind::Prompt => told("user", &part.text),
            PartKind::Message => told("agent", &part.text),
            _ => continue,
        };
        // A prompt may have several pieces.
        match (turns.last_mut(), part.kind == PartKind::Prompt && !is_asking) {
            (Some(turn), false) => turn.push(entry),
            (_, true) => turns.push(vec![entry]),
            (None, false) => {}
        }
        is_asking = part.kind == PartKind::Prompt;
    }
    turns
}

fn told(speaker: &str, text: &str) -> String {
    format!("{speaker}: {}", without_handoff(without_ours(text)).trim())
}

/// The last turns, newest first, in at most so many bytes. Of the newest there are always the request and how it ended.
fn last_turns(turns: &[Turn], bytes_max: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut bytes_left = bytes_max;
    for turn in turns.iter().rev() {
        let whole = turn.join("\n");
        if whole.len() > bytes_left {
            if found.is_empty() {
                found.push(ends(turn, bytes_left));
            }
            break;
        }
        bytes_left -= whole.len();
        found.push(whole);
    }
    found
}

fn ends(turn: &Turn, bytes_max: usize) -> String {
    let Some((request, rest)) = turn.split_first() else { return String::new() };
    let mut bytes_left = bytes_max.saturating_sub(request.len());
    let fits = |entry: &&String| {
        let is_room = entry.len() <= bytes_left;
        bytes_left = bytes_left.saturating_sub(entry.len());
        is_room
    };
    let count = rest.iter().rev().take_while(fits).count().max(1).min(rest.len());
    let left_out = (count < rest.len()).then_some(LEFT_OUT);
    let end = rest[rest.len() - count..].iter().map(String::as_str);
    std::iter::once(request.as_str()).chain(left_out).chain(end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: i64, text: &str) -> SaidEntry {
        SaidEntry { at: Timestamp::from_millis(at), text: text.to_string() }
    }

    #[test]
    fn turns_are_whole_and_the_newest_comes_first() {
        let asked = [entry(1, "Build it"), entry(5, "Now test it")];
        let said = [entry(2, "Built."), entry(6, "Tested."), entry(7, "All pass.")];
        let turns = |asked: &[SaidEntry], said: &[SaidEntry], bytes| last_turns(&turns_of_page(asked, said), bytes);
        assert_eq!(
            turns(&asked, &said, 1_000),
            ["user: Now test it\nagent: Tested.\nagent: All pass.", "user: Build it\nagent: Built."]
        );
        assert_eq!(turns(&asked, &said, 60).len(), 1, "an older turn that does not fit is left out");
        assert_eq!(turns(&asked, &said, 0), ["user: Now test it\n[…]\nagent: All pass."], "the newest one stays");
        assert_eq!(turns(&asked[..1], &[], 100), ["user: Build it"]);
        assert_eq!(turns(&asked[..1], &[], 0), ["user: Build it"]);
    }

    #[test]
    fn a_conversation_that_is_kept_has_every_message() {
        let part = |kind, text: &str| {
            let text = text.to_string();
            Part { at: None, kind, text, tool: None, file: None, call: None }
        };
        let parts = [
            part(PartKind::Message, "from before"),
            part(PartKind::Prompt, "Build it"),
            part(PartKind::Prompt, "with tests"),
            part(PartKind::Message, "I look first."),
            part(PartKind::Output, "1 passed"),
            part(PartKind::Message, "Built."),
            part(PartKind::Prompt, "Go on"),
        ];
        let turns = last_turns(&turns_of_parts(&parts), 1_000);
        assert_eq!(turns, ["user: Go on", "user: Build it\nuser: with tests\nagent: I look first.\nagent: Built."]);
    }
}
