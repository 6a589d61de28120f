//! Sessions that are at work now, in another window: one line each. What they say is not finished, so it is not quoted.

use cerberus_record::clean::text;
use cerberus_record::fact::Kind;
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;

use super::stopped::{self, age};
use super::{Item, Section};

/// A session in the middle of a turn.
#[derive(Clone, Debug)]
pub struct LiveSession {
    pub session: SessionId,
    pub agent: String,
    pub last_activity: Timestamp,
    /// The prompt that it works on.
    pub prompt: String,
}

/// What it works on is told in so many characters.
const REQUEST_CHARS_MAX: usize = 120;

/// `live:claude-code, 4m ago: Fix the parser`.
pub fn item(live: &LiveSession, now: Timestamp) -> Item {
    let request = stopped::request(&live.prompt);
    let request = request.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let request = text::clause(request, REQUEST_CHARS_MAX).map(|words| format!(": {words}"));
    let request = request.filter(|words| words.len() > 2).unwrap_or_default();
    let when = age(live.last_activity, now);
    let code = format!("{}{}, {when} ago{request}", Kind::Live.prefix(), live.agent);
    Item {
        section: Section::Git,
        kind: Kind::Live,
        tokens: 0,
        text: text::line(code.trim_start_matches(Kind::Live.prefix()), REQUEST_CHARS_MAX * 2),
        code: text::code(&code).into_owned(),
        path: None,
        session: None,
        at: live.last_activity,
        times: 1,
        place: Some(format!("{} is at work now", live.session)),
        reference: None,
        author: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_at_work_is_one_line() {
        let live = |prompt: &str| LiveSession {
            session: SessionId::new("s"),
            agent: "codex".to_string(),
            last_activity: Timestamp::EPOCH,
            prompt: prompt.to_string(),
        };
        let now = Timestamp::from_millis(4 * 60_000);
        assert_eq!(item(&live("Fix the parser\nand more"), now).code, "live:codex, 4m ago: Fix the parser and more");
        assert_eq!(item(&live(""), now).code, "live:codex, 4m ago");
        assert_eq!(item(&live(&"words without an end ".repeat(20)), now).code, "live:codex, 4m ago");
    }
}
