//! The line that the user sees when a session was told something.

use cerberus_record::clean::text;
use cerberus_record::id::MemoryId;
use cerberus_record::session::SessionStatus;
use cerberus_record::time::Timestamp;

use super::Brief;

/// The line fits on one line of most terminals.
const NOTICE_CHARS_MAX: usize = 120;

/// The session whose work goes on.
#[derive(Clone, Debug)]
pub struct PickedUp {
    pub title: String,
    pub last_activity: Timestamp,
    pub status: SessionStatus,
}

/// `cerberus: picked up “Fix the race” (2 h ago, crashed) · 9 items, 412 tokens · 2 rules to review`; `None` if nothing
/// was told.
pub fn notice(brief: &Brief, picked_up: Option<&PickedUp>, proposals: usize, now: Timestamp) -> Option<String> {
    if brief.text.is_empty() {
        return None;
    }
    let items = counted(brief.items.len() + brief.memories.len(), "item");
    let mut told = format!("{items}, {}", counted(brief.tokens, "token"));
    if proposals > 0 {
        told += &format!(" · {} to review", counted(proposals, "rule"));
    }
    Some(match picked_up {
        None => format!("cerberus: {told}"),
        Some(session) => {
            let ended = match session.status {
                SessionStatus::Crashed | SessionStatus::Recovered => ", crashed",
                _ => "",
            };
            let after = format!("” ({}{ended}) · {told}", session.last_activity.ago(now));
            let before = "cerberus: picked up “";
            let room = NOTICE_CHARS_MAX.saturating_sub(before.chars().count() + after.chars().count());
            format!("{before}{}{after}", shortened(&session.title, room))
        }
    })
}

/// `cerberus: learned “Never push to main.” (undo: cerberus memory undo m-1)`.
pub fn learned(words: &str, id: &MemoryId) -> String {
    let (before, after) = ("cerberus: learned “", format!("” (undo: cerberus memory undo {id})"));
    let room = NOTICE_CHARS_MAX.saturating_sub(before.chars().count() + after.chars().count());
    format!("{before}{}{after}", shortened(words, room))
}

/// `cerberus: 2 rules of this project can be enforced: cerberus check list --possible`; `None` if none can.
pub fn enforceable(rules: usize) -> Option<String> {
    let rules = (rules > 0).then(|| counted(rules, "rule"))?;
    Some(format!("cerberus: {rules} of this project can be enforced: cerberus check list --possible"))
}

fn shortened(title: &str, chars_max: usize) -> String {
    if title.chars().count() <= chars_max {
        return title.to_string();
    }
    format!("{}…", text::line(title, chars_max.saturating_sub(1)))
}

fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    #[test]
    fn a_notice_says_how_much_was_told() {
        let brief = |tokens: usize, text: &str| Brief { text: text.to_string(), tokens, ..Brief::default() };
        for (brief, proposals, expected) in [
            (brief(0, ""), 3, None),
            (brief(412, "proj:x"), 0, Some("cerberus: 0 items, 412 tokens")),
            (brief(1, "proj:x"), 1, Some("cerberus: 0 items, 1 token · 1 rule to review")),
            (brief(412, "proj:x"), 2, Some("cerberus: 0 items, 412 tokens · 2 rules to review")),
        ] {
            assert_eq!(notice(&brief, None, proposals, now()).as_deref(), expected);
        }
    }

    #[test]
    fn a_notice_names_the_session_that_it_picks_up() {
        let brief = Brief { text: "proj:x".to_string(), tokens: 412, ..Brief::default() };
        let session = |title: &str, status| PickedUp {
            title: title.to_string(),
            last_activity: now().minus(Duration::from_secs(2 * 60 * 60)),
            status,
        };
        let said = |title: &str, status| notice(&brief, Some(&session(title, status)), 1, now()).unwrap();
        assert_eq!(
            said("Fix the race", SessionStatus::Recovered),
            "cerberus: picked up “Fix the race” (2 h ago, crashed) · 0 items, 412 tokens · 1 rule to review"
        );
        assert!(
            said("Fix the race", SessionStatus::Ended).starts_with("cerberus: picked up “Fix the race” (2 h ago) · ")
        );
        let long = said(&"word ".repeat(40), SessionStatus::Ended);
        assert!(long.chars().count() <= NOTICE_CHARS_MAX && long.contains("…” (2 h ago)"), "{long}");
    }
}
