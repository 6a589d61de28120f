//! A prompt is about what an earlier session worked on, or quotes an error that was solved before.

use cerberus_recall::brief::rank::{PastPrompt, SessionWork};
use cerberus_recall::moments::past::{self, Anchors, AskedFor, MatchingSession};
use cerberus_recall::moments::{edit, told};
use cerberus_record::clean::text::clip;
use cerberus_record::id::Agent;
use cerberus_record::runs;
use cerberus_record::session::SessionStatus;
use cerberus_text::tokens;

use super::seen::{self, Told};
use crate::brief::subject::View;
use crate::view::{self, Asks, SessionRow};

/// More earlier prompts are not read.
const MATCHES_MAX: usize = 8;
/// How much of a prompt is searched for an error.
const PROMPT_BYTES_MAX: usize = 16_000;

/// What is told about earlier work, and what all sessions did, if it was read.
#[derive(Debug, Default)]
pub struct PastTold {
    /// Best first; usually nothing.
    pub lines: Vec<Told>,
    pub history: Option<Vec<SessionWork>>,
}

pub fn told(view: &View, session: &SessionRow, prompt: &str) -> view::Result<PastTold> {
    if let Some(told) = pasted_error(view, session, prompt)? {
        return Ok(PastTold { lines: vec![told], history: None });
    }
    let anchors = Anchors::of(prompt);
    if anchors.is_empty() {
        return Ok(PastTold::default());
    }
    let symbols = view.store.files_of_symbols(&view.joined.ids, &anchors.symbols, view.now)?;
    // Most names are of nothing that a session has seen, and the history is long.
    if symbols.is_empty() && !anchors.names_any(&view.store.all_files(&view.joined.ids)?) {
        return Ok(PastTold::default());
    }
    let mut history = view.store.history(&view.joined.ids, Asks::Prompt, view.now)?;
    let own = history.iter().position(|work| work.session == session.id).map(|place| (place, history.remove(place)));
    let mut files = past::named_files(&anchors, &history);
    files.extend(symbols.iter().map(String::as_str));
    let lines = match Agent::from_name(&session.agent) {
        Some(agent) => lines(view, session, &AskedFor::of(agent, prompt), &files, &history)?,
        None => Vec::new(),
    };
    if let Some((place, work)) = own {
        history.insert(place, work);
    }
    Ok(PastTold { lines, history: Some(history) })
}

fn lines(
    view: &View,
    session: &SessionRow,
    asked: &AskedFor,
    files: &[&str],
    history: &[SessionWork],
) -> view::Result<Vec<Told>> {
    let matches = past::matches(asked, files, history);
    if matches.is_empty() {
        return Ok(Vec::new());
    }
    let known = view.store.told_codes(session, view.now)?;
    let (mut lines, mut left) = (Vec::new(), past::TOKENS_MAX);
    for found in matches.into_iter().take(MATCHES_MAX) {
        // The brief has quoted that session, or it was told already.
        let is_told = |code: &String| {
            code.contains(&format!("{}@", found.work.session)) || told::is_past(code, found.work.session.as_str())
        };
        if lines.len() == past::SESSIONS_MAX || known.iter().any(is_told) {
            continue;
        }
        let Some(earlier) = view.store.session(&found.work.session, view.now)? else { continue };
        if matches!(earlier.state.status, SessionStatus::Active) {
            continue;
        }
        let Some(told) = line(view, &earlier, &found)? else { continue };
        let needed = tokens::line(&told.text);
        if needed <= left {
            left -= needed;
            lines.push(told);
        }
    }
    Ok(lines)
}

fn line(view: &View, earlier: &SessionRow, found: &past::PastMatch) -> view::Result<Option<Told>> {
    let prompts = view.store.asked(earlier, view.now)?;
    let is_it = |(_, text): &&(_, String)| PastPrompt::words(text).0 == found.terms;
    let Some((at, prompt)) = prompts.iter().rev().find(is_it) else { return Ok(None) };
    let Some(agent) = Agent::from_name(&earlier.agent) else { return Ok(None) };
    let then = AskedFor::of(agent, prompt);
    if !found.asks_the_same(&then) {
        return Ok(None);
    }
    let said = view.store.said(earlier, view.now)?;
    let Some((_, message)) = said.iter().find(|(said_at, _)| said_at >= at) else { return Ok(None) };
    let decisions = view.store.decided_in(earlier, view.now)?;
    let decision = decisions.iter().find(|text| edit::naming(text, found.path).is_some());
    let past = MatchingSession {
        id: earlier.id.as_str(),
        title: &then.title,
        at: *at,
        path: found.path,
        message,
        decision: decision.map(String::as_str),
    };
    let text = past::told(|word| found.asks(word), &past, view.now);
    Ok(text.map(|text| Told { text, code: told::past_code(earlier.id.as_str()) }))
}

/// The error that the prompt quotes, if it was solved before.
fn pasted_error(view: &View, session: &SessionRow, prompt: &str) -> view::Result<Option<Told>> {
    let Some(error) = runs::quoted_error(clip(prompt, PROMPT_BYTES_MAX)) else { return Ok(None) };
    let failed = view.store.failed_commands(&view.joined.ids, session, view.now)?;
    let cleaner = view.store.cleaner();
    let is_same = |(signature, command): &&(String, String)| runs::signature_of(cleaner, command, &error) == *signature;
    let Some((signature, _)) = failed.iter().find(is_same) else { return Ok(None) };
    seen::seen(view.store, view.located, session, signature, Some(&error), view.now)
}
