//! What a checkpoint says about itself, as the text of its tag.

use cerberus_record::time::Timestamp;

use super::{EMAIL, NAME};

/// The text of a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedState {
    pub title: String,
    /// The commit that was checked out.
    pub base: Option<String>,
    /// Files that were too large to copy.
    pub left_out: Vec<String>,
}

const BASE: &str = "base ";
const LEFT_OUT: &str = "left out ";

impl SavedState {
    /// The tag of `tree`, in git's own format.
    pub fn tag(&self, tree: &str, now: Timestamp) -> String {
        let secs = now.millis() / 1_000;
        let mut text = format!(
            "object {tree}\ntype tree\ntag cerberus-loop\ntagger {NAME} <{EMAIL}> {secs} +0000\n\n{}\n",
            self.title
        );
        text.extend(self.base.iter().map(|base| format!("{BASE}{base}\n")));
        // A name may contain a line break; its JSON does not.
        let quoted = self.left_out.iter().filter_map(|path| serde_json::to_string(path).ok());
        text.extend(quoted.map(|path| format!("{LEFT_OUT}{path}\n")));
        text
    }

    /// Reads it back. Anything else is an empty one.
    pub fn parse(tag: &str) -> SavedState {
        let (_, message) = tag.split_once("\n\n").unwrap_or_default();
        let mut saved =
            SavedState { title: message.lines().next().unwrap_or_default().to_string(), ..SavedState::default() };
        for line in message.lines().skip(1) {
            if let Some(base) = line.strip_prefix(BASE) {
                saved.base = Some(base.to_string());
            } else if let Some(path) = line.strip_prefix(LEFT_OUT) {
                saved.left_out.extend(serde_json::from_slice::<String>(path.as_bytes()).ok());
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
        };
        assert_eq!(SavedState::parse(&saved.tag("4567", Timestamp::from_millis(1_000))), saved);
        assert_eq!(SavedState::parse("tree 1\nauthor x\n"), SavedState::default());
    }
}
