//! What a checkpoint says about itself, as the text of its tag.

use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use cerberus_record::words;

/// The author of a checkpoint.
pub(super) const NAME: &str = "Cerberus";
pub(super) const EMAIL: &str = "cerberus@localhost";

words! {
    /// When the state of a turn was kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TurnMoment {
        /// Before a turn: what was changed by hand.
        Before = "before",
        /// At the end of a turn.
        Turn = "turn",
        /// Before a command that may destroy something.
        Command = "command",
        /// Before an undo: what had changed since.
        Found = "found",
        /// After an undo.
        Undo = "undo",
    }
}

/// The session that a state was kept for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSession {
    pub agent: String,
    /// The agent's own name for it.
    pub id: String,
}

/// The text of a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedState {
    pub title: String,
    /// The commit that was checked out.
    pub base: Option<String>,
    /// Files that were too large to copy, or did not stop changing.
    pub left_out: Vec<String>,
    /// Hashes of the names of private files: nothing else of them is kept.
    pub private: Vec<String>,
    pub moment: Option<TurnMoment>,
    pub session: Option<TurnSession>,
}

/// What stands for the name of a private file.
pub fn private_name(path: &str) -> String {
    format!("{:016x}", fnv1a(path.as_bytes()))
}

const BASE: &str = "base ";
const LEFT_OUT: &str = "left out ";
const PRIVATE: &str = "private ";
const MOMENT: &str = "moment ";
const SESSION: &str = "session ";

impl SavedState {
    /// The tag of `tree`, in git's own format.
    pub fn tag(&self, tree: &str, now: Timestamp) -> String {
        let secs = now.millis() / 1_000;
        let mut text =
            format!("object {tree}\ntype tree\ntag cerberus\ntagger {NAME} <{EMAIL}> {secs} +0000\n\n{}\n", self.title);
        text.extend(self.base.iter().map(|base| format!("{BASE}{base}\n")));
        text.extend(self.moment.iter().map(|moment| format!("{MOMENT}{}\n", moment.word())));
        // A name may contain a line break; its JSON does not.
        let quoted = |path: &String| serde_json::to_string(path).ok();
        if let Some(TurnSession { agent, id }) = &self.session {
            text.extend(quoted(id).map(|id| format!("{SESSION}{agent} {id}\n")));
        }
        text.extend(self.left_out.iter().filter_map(quoted).map(|path| format!("{LEFT_OUT}{path}\n")));
        text.extend(self.private.iter().map(|name| format!("{PRIVATE}{name}\n")));
        text
    }

    /// Reads it back. Anything else is an empty one.
    pub fn parse(tag: &str) -> SavedState {
        let (_, message) = tag.split_once("\n\n").unwrap_or_default();
        SavedState::of_message(message)
    }

    /// The same without the head of the tag.
    pub fn of_message(message: &str) -> SavedState {
        let mut saved =
            SavedState { title: message.lines().next().unwrap_or_default().to_string(), ..SavedState::default() };
        let unquoted = |text: &str| serde_json::from_slice::<String>(text.as_bytes()).ok();
        for line in message.lines().skip(1) {
            if let Some(base) = line.strip_prefix(BASE) {
                saved.base = Some(base.to_string());
            } else if let Some(path) = line.strip_prefix(LEFT_OUT) {
                saved.left_out.extend(unquoted(path));
            } else if let Some(path) = line.strip_prefix(PRIVATE) {
                saved.private.push(path.to_string());
            } else if let Some(moment) = line.strip_prefix(MOMENT) {
                saved.moment = TurnMoment::from_word(moment);
            } else if let Some((agent, id)) = line.strip_prefix(SESSION).and_then(|rest| rest.split_once(' ')) {
                saved.session = unquoted(id).map(|id| TurnSession { agent: agent.to_string(), id });
            }
        }
        saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let saved = SavedState {
            title: "cerberus loop: run 1, iteration 2".to_string(),
            base: Some("0123".to_string()),
            left_out: vec!["a b.bin".to_string(), "line\nbreak \"x\"".to_string()],
            private: vec![private_name(".env")],
            moment: Some(TurnMoment::Command),
            session: Some(TurnSession { agent: "codex".to_string(), id: "a \n b".to_string() }),
        };
        assert_eq!(SavedState::parse(&saved.tag("4567", Timestamp::from_millis(1_000))), saved);
        assert_eq!(SavedState::parse("tree 1\nauthor x\n"), SavedState::default());
    }
}
