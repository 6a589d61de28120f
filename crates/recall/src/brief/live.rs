//! Sessions that are at work now, in another window: one line each. What they say and edit is not finished, so nothing
//! else of it is told.

use std::cmp::Reverse;

use cerberus_record::clean::text;
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::map::FastSet;
use cerberus_record::time::Timestamp;

use super::rank::SessionWork;
use super::repository::{REMOVED, names};
use super::stopped::{self, age};
use super::{BriefLine, KnownFact, Likely, Section};
use crate::extract::is_recorded;

/// A session in the middle of a turn.
#[derive(Clone, Debug)]
pub struct LiveSession {
    pub session: SessionId,
    pub agent: String,
    pub last_activity: Timestamp,
    /// The prompt that it works on.
    pub prompt: String,
    /// The files that it edited, the last edited first.
    pub files: Vec<String>,
}

/// Takes the work of live sessions out of the history: their files are told with them.
pub fn take_work(live: &mut [LiveSession], history: &mut Vec<SessionWork>) {
    for session in live {
        let Some(at) = history.iter().position(|work| work.session == session.session) else { continue };
        let mut edited = history.remove(at).touched;
        edited.retain(|touched| touched.last_edit.is_some());
        edited.sort_by_key(|touched| Reverse(touched.last_edit));
        session.files = edited.into_iter().map(|touched| touched.path).collect();
    }
}

/// Leaves out what live sessions have open. What they settled, committed or tested stays evidence, and what somebody
/// recorded by hand is no talk.
pub fn leave_out_facts(live: &[LiveSession], facts: &mut Vec<KnownFact>) {
    let is_live = |known: &KnownFact| live.iter().any(|session| session.session == known.session);
    let is_kept = |fact: &Fact| Section::of(fact.kind).is_none() || is_recorded(fact.reference.as_deref());
    facts.retain(|known| is_kept(&known.fact) || !is_live(known));
}

/// Leaves out the files that live sessions edit, whoever edited them before.
pub fn leave_out_files(live: &[LiveSession], facts: &mut Vec<KnownFact>, likely: &mut Likely) {
    let files: FastSet<&str> = live.iter().flat_map(|session| &session.files).map(String::as_str).collect();
    facts.retain(|known| known.fact.path.as_deref().is_none_or(|path| !files.contains(path)));
    likely.files.retain(|ranked| !files.contains(ranked.path.as_str()));
    likely.repository.uncommitted.retain(|path| !files.contains(path.trim_end_matches(REMOVED)));
}

/// What it works on is told in so many characters.
const REQUEST_CHARS_MAX: usize = 120;
const LINE_CHARS_MAX: usize = 400;

/// `live:claude-code, 4m ago: Fix the parser; edits src/parser.rs`.
pub fn item(live: &LiveSession, now: Timestamp) -> BriefLine {
    let request = stopped::request(&live.prompt);
    let request = request.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let request = text::excerpt(request, REQUEST_CHARS_MAX).map(|words| format!(": {words}"));
    let request = request.filter(|words| words.len() > 2).unwrap_or_default();
    let when = age(live.last_activity, now);
    let files = if live.files.is_empty() { String::new() } else { format!("; edits {}", names(&live.files)) };
    let code = format!("{}{}, {when} ago{request}{files}", FactKind::Live.prefix(), live.agent);
    BriefLine {
        section: Section::Git,
        kind: FactKind::Live,
        tokens: 0,
        text: text::line(code.trim_start_matches(FactKind::Live.prefix()), LINE_CHARS_MAX),
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
            files: Vec::new(),
        };
        let now = Timestamp::from_millis(4 * 60_000);
        assert_eq!(item(&live("Fix the parser\nand more"), now).code, "live:codex, 4m ago: Fix the parser and more");
        assert_eq!(item(&live(""), now).code, "live:codex, 4m ago");
        let files = vec!["src/a.rs".to_string(), "src/b.rs".to_string()];
        let edits = LiveSession { files, ..live("Fix the parser") };
        assert_eq!(item(&edits, now).code, "live:codex, 4m ago: Fix the parser; edits src/{a.rs, b.rs}");
        let long = item(&live(&"words without an end ".repeat(20)), now).code;
        assert!(long.starts_with("live:codex, 4m ago: words without") && long.ends_with(" without…"), "{long}");
    }
}
