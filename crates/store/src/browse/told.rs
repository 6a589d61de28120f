//! What a session was told: the text of each line, and why it was told.
//!
//! A receipt has no words of a quotation, so that what is forgotten is not kept there. They come from where they were
//! said: the brief is made again, as of the time when it was told. What is not in it comes from the turn itself.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::host::ReplyLimits;
use cerberus_recall::brief::memories::BOTH_TOKENS;
use cerberus_recall::brief::usage::{self, EarlierWork};
use cerberus_recall::brief::{BriefLine, CHARS_MAX, stopped};
use cerberus_recall::moments::told::{self, ToldMoment};
use cerberus_recall::summary::render::Format;
use cerberus_record::event::StartSource;
use cerberus_record::fact::FactKind;
use cerberus_record::id::{Agent, SessionId};
use cerberus_record::time::Timestamp;

use super::page::{FORGOTTEN_RULE, Page, ToldLine};
use crate::brief::question::{Budget, Question};
use crate::brief::recall;
use crate::project::guides::UserFolders;
use crate::project::identity;
use crate::view::{self, SessionRow, Store};

/// Work that is older than this leads to no line.
const EARLIER_MAX: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// What led to each line that the session of a page was told, in the same order.
pub fn reasons(store: &Store, page: &Page) -> view::Result<Vec<Option<EarlierWork>>> {
    let Some(first) = page.told.iter().map(|line| line.at).min() else { return Ok(Vec::new()) };
    let earlier = store.earlier_facts(&page.listed.session.project, first.minus(EARLIER_MAX), first)?;
    Ok(page.told.iter().map(|line| usage::reason(&line.code, &earlier).cloned()).collect())
}

/// The words of a line that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldText {
    /// As the model got it, without the code in front.
    Whole(String),
    /// The turn that was quoted; which of its sentences were told is not known.
    Turn(String),
    /// Nobody keeps what git said at another time.
    NotKept,
    /// It was forgotten since, or taken back.
    Forgotten,
}

/// The user's settings of briefs.
#[derive(Clone, Copy, Debug)]
pub struct BriefSettings<'a> {
    pub session_tokens: usize,
    pub format: Format,
    pub reminder: bool,
    pub folders: &'a UserFolders,
}

/// More briefs of one session are not made again.
const REPLAYS_MAX: usize = 8;

/// The texts of the lines that the session of a page was told, in the same order.
pub fn texts(store: &Store, page: &Page, settings: &BriefSettings, now: Timestamp) -> view::Result<Vec<ToldText>> {
    let session = &page.listed.session;
    let mut replayed: HashMap<(Timestamp, String), Vec<String>> = HashMap::new();
    let starts = store.receipts(session, now)?.into_iter().filter_map(|row| Some((row.at, row.source?)));
    for (at, source) in starts.take(REPLAYS_MAX) {
        for (code, text) in replay(store, session, settings, at, source)? {
            replayed.entry((at, code)).or_default().push(text);
        }
    }
    let mut texts = Vec::with_capacity(page.told.len());
    for (index, line) in page.told.iter().enumerate() {
        // Several sentences of one turn have the same code.
        let name = line.memory.as_ref().map_or(line.code.as_str(), |id| id.as_str());
        let is_same = |other: &ToldLine| other.at == line.at && other.code == line.code;
        let has_more = page.told[index + 1..].iter().any(is_same);
        let known = replayed.get_mut(&(line.at, name.to_string())).filter(|known| !known.is_empty());
        texts.push(match known {
            Some(known) if has_more => ToldText::Whole(known.remove(0)),
            Some(known) => ToldText::Whole(std::mem::take(known).join("; ")),
            None => from_code(store, line, now)?,
        });
    }
    Ok(texts)
}

/// The lines of the brief that a session was told, each with its code in the receipt or the id of its memory.
fn replay(
    store: &Store,
    session: &SessionRow,
    settings: &BriefSettings,
    at: Timestamp,
    source: StartSource,
) -> view::Result<Vec<(String, String)>> {
    let root = Path::new(&session.root);
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    let profile = Agent::from_name(&session.agent).and_then(cerberus_agents::profile);
    let limits = profile.map_or(ReplyLimits::NONE, |profile| profile.limits);
    let budget = Budget::of_session(settings.session_tokens);
    let question = Question {
        now: at,
        is_past: true,
        source,
        budget: Budget { both_tokens: BOTH_TOKENS.min(limits.tokens_max), ..budget },
        chars_max: CHARS_MAX.min(limits.chars_max),
        prompt: None,
        folders: settings.folders,
        format: settings.format,
        reminder: settings.reminder,
        session: Some(session),
    };
    let brief = recall::brief(store, &identity::locate(root), &question, None)?.brief;
    let line = |item: &BriefLine| (item.receipt_code(), words(&item.told()).to_string());
    let memories = brief.memories.iter().map(|item| (item.id.to_string(), words(&item.code).to_string()));
    Ok(brief.items.iter().map(line).chain(memories).collect())
}

/// What a code says without its prefix.
fn words(code: &str) -> &str {
    code.split_once(':').map_or(code, |(_, words)| words)
}

fn from_code(store: &Store, line: &ToldLine, now: Timestamp) -> view::Result<ToldText> {
    if line.code == FORGOTTEN_RULE {
        return Ok(ToldText::Forgotten);
    }
    let whole = |text: &str| ToldText::Whole(text.to_string());
    if line.memory.is_some() {
        return Ok(whole(words(&line.code)));
    }
    if let Some(words) = moment_words(&line.code) {
        return Ok(ToldText::Whole(words));
    }
    let Some((kind, session, at)) = reference(&line.code) else { return Ok(whole(words(&line.code))) };
    if kind == FactKind::Git {
        return Ok(ToldText::NotKept);
    }
    let Some(session) = store.session(&SessionId::new(session), now)? else { return Ok(ToldText::Forgotten) };
    let asked = store.asked(&session, now)?;
    let text = match kind {
        FactKind::Last | FactKind::Asked => {
            asked.into_iter().find(|(said_at, _)| *said_at == at).map(|(_, text)| stopped::request(&text))
        }
        FactKind::Live => asked.into_iter().rfind(|(said_at, _)| *said_at <= at).map(|(_, text)| text),
        _ => store.said(&session, now)?.into_iter().find(|(said_at, _)| *said_at >= at).map(|(_, text)| text),
    };
    Ok(text.map_or(ToldText::Forgotten, ToldText::Turn))
}

/// The words for what was told in between; `None` if the code is for a line of a brief.
pub fn moment_words(code: &str) -> Option<String> {
    Some(match told::read(code)? {
        ToldMoment::Seen { remedy } => format!("what helped then: {remedy}"),
        ToldMoment::Changed { file } => format!("another session has changed {file}"),
        ToldMoment::Held => "another session has not committed its work".to_string(),
        ToldMoment::Past { session } => format!("what came of {session}"),
        ToldMoment::Edit { file } => format!("what is known about {file}"),
    })
}

/// The turn that a code refers to: `said:SESSION@TIME`.
fn reference(code: &str) -> Option<(FactKind, &str, Timestamp)> {
    let (session, at) = words(code).rsplit_once('@')?;
    let kind = FactKind::ALL.into_iter().find(|kind| code.starts_with(kind.prefix()))?;
    let at = Timestamp::parse(at).ok().filter(|_| !session.contains(char::is_whitespace))?;
    Some((kind, session, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_session_and_a_time() {
        let at = Timestamp::parse("2026-01-22T13:35:14Z").unwrap();
        assert_eq!(
            reference("said:20260122-133514@2026-01-22T13:35:14Z"),
            Some((FactKind::Said, "20260122-133514", at))
        );
        assert_eq!(reference("git:git@2026-01-22T13:35:14Z"), Some((FactKind::Git, "git", at)));
        for code in
            ["next:mail dev@example.org", "next:meet at home@2026-01-22T13:35:14Z", "impl:a@b.rs", "rule:Use pnpm"]
        {
            assert_eq!(reference(code), None, "{code}");
        }
    }
}
