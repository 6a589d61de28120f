//! A handoff of one session for another agent: what a loop's handoff says, and the last turns in full.

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
        let turns = turns(&self.page.asked, &self.page.said, rules.max_state_bytes / TURNS_SHARE);
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

/// What was asked and answered, turn by turn, newest first, in at most so many bytes. The newest turn is always there.
fn turns(asked: &[SaidEntry], said: &[SaidEntry], bytes_max: usize) -> Vec<String> {
    let mut turns = Vec::new();
    let mut bytes_left = bytes_max;
    let mut until = None;
    for request in asked.iter().rev() {
        let next_at = until.replace(request.at);
        let is_of_it = |answer: &&SaidEntry| answer.at >= request.at && next_at.is_none_or(|next| answer.at < next);
        let answers = said.iter().filter(is_of_it).map(|answer| ("agent", answer));
        let told = std::iter::once(("user", request)).chain(answers).map(|(speaker, entry)| {
            let text = without_handoff(without_ours(&entry.text));
            format!("{speaker}: {}", text.trim())
        });
        let turn = told.collect::<Vec<_>>().join("\n");
        if turn.len() > bytes_left && !turns.is_empty() {
            break;
        }
        bytes_left = bytes_left.saturating_sub(turn.len());
        turns.push(turn);
    }
    turns
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
        assert_eq!(
            turns(&asked, &said, 1_000),
            ["user: Now test it\nagent: Tested.\nagent: All pass.", "user: Build it\nagent: Built."]
        );
        assert_eq!(turns(&asked, &said, 60).len(), 1, "an older turn that does not fit is left out");
        assert_eq!(turns(&asked, &said, 0).len(), 1, "the newest one stays");
        assert_eq!(turns(&asked[..1], &[], 100), ["user: Build it"]);
    }
}
