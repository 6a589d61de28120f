//! Where the work stopped: the person's last request, what the agent said when it finished, and what else the last
//! sessions said that is worth knowing, quoted sentence by sentence.
//!
//! Which sentences are quoted is decided by where they stand and how they look, not by words: how many sessions and
//! turns ago, how far from the end of the message, how long, how many names of the code. So it works in any language.
//! A sentence that repeats what is already quoted is left out. Pasted text is never quoted as the person's request, and a
//! prompt that nobody typed is marked with who sent it.

mod choose;
mod open;
mod sentences;

use super::{Item, Section};
use crate::clean::text;
use crate::language::{outline, tokens};
use crate::model::fact::Kind;
use crate::model::id::SessionId;
use crate::model::source::Source;
use crate::model::time::Timestamp;
use crate::said;
use crate::said::ours::without_ours;
use crate::said::typed::without_blocks;

pub use choose::{Candidate, FEATURES, Features, WEIGHTS, candidates, choose};
pub use sentences::Sentence;

/// Older sessions, and older turns of a session, are not quoted.
pub const SESSIONS_MAX: usize = 4;
pub const TURNS_MAX: usize = 8;

/// The reference of an open item that quotes the agent.
pub(crate) const QUOTED: &str = "quoted";

/// All quotes together.
pub const QUOTES_TOKENS: usize = 384;

/// A request and the message with which the agent finished. In chronological order.
#[derive(Clone, Debug)]
pub struct Turn {
    pub session: SessionId,
    pub at: Timestamp,
    /// The prompt as it was sent; empty if the agent worked without one.
    pub request: String,
    /// Where the prompt is from, if nobody typed it.
    pub sender: Option<Source>,
    /// Empty if the turn was cut off.
    pub reply: String,
}

/// A turn as it is quoted. It does not depend on other turns or on time, so it can be made before a brief is asked for.
#[derive(Clone, Debug)]
pub struct Quotable {
    pub session: SessionId,
    pub at: Timestamp,
    /// How the request begins.
    pub beginning: String,
    pub request: Vec<Sentence>,
    pub sender: Option<Source>,
    pub reply: Vec<Sentence>,
}

impl Quotable {
    pub fn of(turn: &Turn) -> Quotable {
        let mut reply = sentences::sentences(&without_ours(&turn.reply));
        reply.retain(|sentence| sentences::says_something(&sentence.text));
        Quotable {
            session: turn.session.clone(),
            at: turn.at,
            beginning: text::line(&turn.request, COMPARED_CHARS),
            request: sentences::sentences(&request(&turn.request)),
            sender: turn.sender,
            reply,
        }
    }
}

/// What other lines of the brief tell already.
#[derive(Debug, Default)]
pub struct Told<'a> {
    /// Requests that were cut off.
    pub interrupted: Vec<&'a str>,
    /// What is open.
    pub open: Vec<&'a str>,
}

/// So much of a request is compared with those that were cut off.
const COMPARED_CHARS: usize = 60;

impl Told<'_> {
    fn has_request(&self, turn: &Quotable) -> bool {
        self.interrupted.iter().any(|text| text.contains(&turn.beginning))
    }
}

/// The lines of a brief that quote `turns`: what the last message leaves open, and quotes, the newest turn first.
pub fn items(turns: &[Quotable], now: Timestamp, budget_tokens: usize, told: &Told) -> Vec<Item> {
    let mut found = candidates(turns);
    let mut items = open_items(turns, &mut found, &told.open);
    let used: usize = items.iter().map(|item| item.tokens).sum();
    let chosen = choose(&found, &WEIGHTS, budget_tokens.min(QUOTES_TOKENS).saturating_sub(used));
    for (index, turn) in turns.iter().enumerate().rev() {
        for is_reply in [false, true] {
            let quoted =
                chosen.iter().map(|at| &found[*at]).filter(|one| one.turn == index && one.is_reply == is_reply);
            let quoted = join(quoted.map(|candidate| candidate.text.as_str()));
            if !quoted.is_empty() && (is_reply || !told.has_request(turn)) {
                items.push(item(turns, index, is_reply, &quoted, now));
            }
        }
    }
    items
}

/// So many sentences of the last message are told as open.
const OPEN_MAX: usize = 3;
/// Shorter ones need the sentence before them.
const OPEN_CHARS_MIN: usize = 30;
const OPEN_CHARS_MAX: usize = 160;
/// An open item that shares this many of its words with another is the same.
const SAME_SHARE: f64 = 0.5;

/// Takes out of `found` what the agent's last message says remains to be done.
fn open_items(turns: &[Quotable], found: &mut Vec<Candidate>, told: &[&str]) -> Vec<Item> {
    let Some(last) = turns.last() else { return Vec::new() };
    let known: Vec<Vec<u64>> = told.iter().map(|text| sentences::words(text)).collect();
    let is_known = |text: &str| {
        let words = sentences::words(text);
        let shared = |known: &Vec<u64>| known.iter().filter(|word| words.contains(word)).count() as f64;
        known.iter().any(|known| !known.is_empty() && shared(known) >= SAME_SHARE * known.len().min(words.len()) as f64)
    };
    let is_open = |candidate: &Candidate| {
        candidate.turn + 1 == turns.len()
            && candidate.is_reply
            && candidate.text.chars().count() >= OPEN_CHARS_MIN
            && open::is_open(&candidate.text)
            && !is_known(&candidate.text)
    };
    let mut open: Vec<usize> = (0..found.len()).filter(|at| is_open(&found[*at])).collect();
    // A message ends with what remains.
    open.drain(..open.len().saturating_sub(OPEN_MAX));
    let taken: Vec<Candidate> = open.into_iter().rev().map(|at| found.remove(at)).collect();
    taken.into_iter().rev().map(|candidate| open_item(last, &candidate.text)).collect()
}

fn open_item(turn: &Quotable, sentence: &str) -> Item {
    let code = format!("{}{}", Kind::Next.prefix(), text::code(&text::line(sentence, OPEN_CHARS_MAX)));
    Item {
        section: Section::Next,
        kind: Kind::Next,
        tokens: tokens::line(&code),
        code,
        text: sentence.to_string(),
        path: None,
        session: Some(turn.session.clone()),
        at: turn.at,
        times: 1,
        place: Some(format!("the agent said so at the end, {} in {}", turn.at, turn.session)),
        reference: Some(QUOTED.to_string()),
        author: None,
    }
}

/// What the person asked for in a prompt, without pasted text. A slash command is its name and arguments, a plan that
/// was handed over its title.
pub fn request(prompt: &str) -> String {
    if let Some(name) = between(prompt, "<command-name>", "</command-name>") {
        let arguments = between(prompt, "<command-args>", "</command-args>").unwrap_or_default();
        return format!("{} {}", name.trim(), arguments.trim()).trim().to_string();
    }
    let prompt = text::clip(prompt, REQUEST_BYTES_MAX);
    let typed = said::sentences(prompt).join("\n");
    if !typed.is_empty() {
        return typed;
    }
    let shown = without_blocks(prompt);
    let title = shown.lines().find_map(|line| line.trim().strip_prefix("# "));
    title.map(|title| format!("Implement the plan: {}", title.trim())).unwrap_or_default()
}

/// The heading of a plan or another document that a prompt hands over: it is all of the prompt, or all but one line that
/// ends with a colon. A label such as `Plan:` is no part of it.
pub fn heading(prompt: &str) -> Option<String> {
    let typed = without_blocks(text::clip(prompt, REQUEST_BYTES_MAX));
    let lines = outline::prose(&typed);
    let first = lines.iter().position(|line| outline::heading(line).is_some())?;
    let mut before = lines[..first].iter().filter(|line| !line.trim().is_empty());
    if before.next().is_some_and(|line| !line.trim_end().ends_with([':', '：'])) || before.next().is_some() {
        return None;
    }
    let headings = lines[first..].iter().filter_map(|line| outline::heading(line));
    let mut named = headings.map(|(_, heading)| match heading.split_once([':', '：']) {
        Some((label, rest)) if is_plan(label) && !rest.trim().is_empty() => rest.trim(),
        _ => heading,
    });
    named.find(|heading| !is_plan(heading)).map(str::to_string)
}

/// `Plan`, `Implementation plan`, `План`: the word is nearly the same in many languages.
fn is_plan(label: &str) -> bool {
    let mut words = label.split_whitespace();
    let says_plan =
        words.clone().any(|word| matches!(word.to_lowercase().as_str(), "plan" | "plano" | "piano" | "план"));
    says_plan && words.nth(PLAN_WORDS_MAX).is_none()
}

/// A heading with more words says which plan.
const PLAN_WORDS_MAX: usize = 2;

/// The sentences of an agent's message, without code, headings and what we told it.
pub fn sentences_of(message: &str) -> impl Iterator<Item = String> {
    sentences::sentences(&without_ours(message)).into_iter().map(|sentence| sentence.text)
}

/// What is older is marked with its age.
const RECENT_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// A request says what it wants at the beginning.
const REQUEST_BYTES_MAX: usize = 2_000;

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside)
}

/// Sentences in one line. What does not end like a sentence is separated by a semicolon.
fn join<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for sentence in sentences {
        if !joined.is_empty() {
            let is_ended = joined.ends_with(['.', '!', '?', ';', ':', '。', '！', '？']);
            joined.push_str(if is_ended { " " } else { "; " });
        }
        joined.push_str(sentence);
    }
    joined
}

fn item(turns: &[Quotable], index: usize, is_reply: bool, quoted: &str, now: Timestamp) -> Item {
    let turn = &turns[index];
    let is_last_session = turns.last().is_some_and(|last| last.session == turn.session);
    let kind = match is_reply {
        true => Kind::Said,
        false if index + 1 == turns.len() => Kind::Last,
        false => Kind::Asked,
    };
    let is_recent = is_last_session && now.millis().saturating_sub(turn.at.millis()) < RECENT_MILLIS;
    let age = if is_recent { String::new() } else { format!(" ({} ago)", age(turn.at, now)) };
    let sender = turn.sender.filter(|_| !is_reply);
    let mark = sender.map_or_else(String::new, |sender| format!(" [not typed: {}]", sender.word()));
    let code = format!("{}{}{age}{mark}", kind.prefix(), text::code(quoted));
    let place = match kind {
        Kind::Said => "the agent's own words at the end of a turn",
        Kind::Last => "the last request",
        _ => "an earlier request",
    };
    Item {
        section: if is_last_session { Section::Stopped } else { Section::Earlier },
        kind,
        tokens: tokens::line(&code),
        code,
        text: quoted.to_string(),
        path: None,
        session: Some(turn.session.clone()),
        at: turn.at,
        times: 1,
        place: Some(format!("{place}, {} in {}", turn.at, turn.session)),
        reference: None,
        author: None,
    }
}

/// `5m`, `3h`, `2d`.
pub(super) fn age(at: Timestamp, now: Timestamp) -> String {
    let minutes = now.millis().saturating_sub(at.millis()).max(0) / 60_000;
    match minutes {
        0..60 => format!("{minutes}m"),
        60..2_880 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests;
