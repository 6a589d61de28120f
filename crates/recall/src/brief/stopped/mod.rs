//! Where the work stopped: the person's last request, what the agent said when it finished, and what else the last
//! sessions said that is worth knowing, quoted sentence by sentence.
//!
//! Which sentences are quoted is decided by where they stand and how they look, not by words: how many sessions and
//! turns ago, how far from the end of the message, how long, how many names of the code. So it works in any language.
//! A sentence that repeats what is already quoted is left out. Pasted text is never quoted as the person's request, and a
//! prompt that nobody typed is marked with who sent it.

mod choose;
mod open;
mod quotable;
mod sentences;

use std::borrow::Cow;

use cerberus_record::clean::text;
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::ours::without_ours;
use cerberus_record::time::Timestamp;
use cerberus_text::{outline, tokens};
use choose::anchor;

pub use super::line::QUOTED;
use super::{BriefLine, DroppedLine, Section};
use crate::said::typed::without_blocks;
pub use choose::{CandidateSentence, FEATURES, SentenceFeatures, WEIGHTS, candidates, choose};
pub use quotable::{Quotable, Turn, WorkDone, request};
use quotable::{REQUEST_BYTES_MAX, join};
pub use sentences::Sentence;

/// Older sessions, and older turns of a session, are quoted only if the newer ones are too short to fill a brief.
pub const SESSIONS_MAX: usize = 4;
pub const TURNS_MAX: usize = 8;
/// More turns of a session are not read, however short.
pub const TURNS_READ_MAX: usize = 40;
/// More is never quoted.
pub const QUOTES_TOKENS_MAX: usize = 1_500;
/// A session without a tool use in which the user typed no more than this was a question in between.
const IDLE_TOKENS_MAX: usize = 60;

/// The last turns of a session, enough of them to fill a brief.
pub fn last_turns(mut turns: Vec<Quotable>) -> Vec<Quotable> {
    let mut tokens = 0;
    let is_read = |(back, turn): &(usize, &Quotable)| {
        let is_enough = *back >= TURNS_MAX && tokens >= QUOTES_TOKENS_MAX;
        tokens += turn.tokens();
        !is_enough
    };
    let count = turns.iter().rev().enumerate().take_while(is_read).count();
    turns.drain(..turns.len() - count);
    turns
}

/// Says what the session of these turns did. `part` is what its tools did: without a tool use it is idle if the user
/// typed little.
pub fn take_part(turns: &mut [Quotable], part: WorkDone) {
    let typed: usize = turns.iter().flat_map(|turn| &turn.request).map(|sentence| sentence.tokens).sum();
    let part = if part == WorkDone::Idle && typed > IDLE_TOKENS_MAX { WorkDone::Talk } else { part };
    turns.iter_mut().for_each(|turn| turn.part = part);
}

/// The turns of sessions that are given newest first, oldest first. If none did anything, the newest counts.
pub fn oldest_first(mut sessions: Vec<Vec<Quotable>>) -> Vec<Quotable> {
    if sessions.iter().flatten().all(|turn| turn.part == WorkDone::Idle) {
        sessions.first_mut().into_iter().flatten().for_each(|turn| turn.part = WorkDone::Talk);
    }
    sessions.into_iter().rev().flatten().collect()
}

/// What other lines of the brief tell already.
#[derive(Debug, Default)]
pub struct ToldElsewhere<'a> {
    /// Requests that were cut off, as they are told, with their session.
    pub interrupted: Vec<(Option<&'a SessionId>, Cow<'a, str>)>,
    /// What is open.
    pub open: Vec<&'a str>,
}

impl ToldElsewhere<'_> {
    /// Whether a line about a request that was cut off has this sentence of it.
    fn has_request(&self, turn: &Quotable, sentence: &str) -> bool {
        self.interrupted.iter().any(|(session, text)| {
            let is_it = *session == Some(&turn.session) || text.contains(&turn.beginning);
            let (told, words) = (sentences::words(text), sentences::words(sentence));
            is_it
                && if words.is_empty() { text.contains(sentence) } else { words.iter().all(|word| told.contains(word)) }
        })
    }
}

/// The lines of a brief that quote `turns`: what the last message leaves open, and quotes, the newest turn first. What
/// is not quoted goes to `dropped`.
pub fn items(
    turns: &[Quotable],
    now: Timestamp,
    budget_tokens: usize,
    told: &ToldElsewhere,
    dropped: &mut Vec<DroppedLine>,
) -> Vec<BriefLine> {
    let mut found = candidates(turns);
    let last = found.last().map_or(0, |candidate| candidate.turn);
    leave_out_interrupted(turns, &mut found, told, dropped);
    let mut items = open_items(turns, &mut found, &told.open);
    let question = question(turns, last, now);
    dropped.extend(questions_left_out(turns, question.as_ref()));
    items.extend(question);
    let used: usize = items.iter().map(|item| item.tokens).sum();
    let chosen = choose(&found, &WEIGHTS, budget_tokens.min(QUOTES_TOKENS_MAX).saturating_sub(used));
    let mut lines = vec![[const { Vec::new() }; 2]; turns.len()];
    found.iter().enumerate().for_each(|(at, one)| lines[one.turn][usize::from(one.is_reply)].push(at));
    for (index, line) in lines.into_iter().enumerate().rev() {
        let mut has_request = false;
        for (is_reply, sentences) in [false, true].into_iter().zip(line) {
            let (quoted, left_out): (Vec<usize>, Vec<usize>) =
                sentences.into_iter().partition(|at| chosen.binary_search(at).is_ok());
            let joined = |places: &[usize]| {
                join(places.iter().map(|at| (found[*at].heading.as_str(), found[*at].text.as_str())))
            };
            if !quoted.is_empty() {
                // A reply stands below its request, which has the age of both.
                let now = (!has_request).then_some(now);
                items.push(item(turns, index, last, is_reply, &joined(&quoted), now));
                has_request = true;
            }
            if !left_out.is_empty() {
                dropped.push(not_quoted(is_reply, &joined(&left_out), "says less than what is quoted, or nothing new"));
            }
        }
    }
    items
}

/// Takes out of `found` what a line about a request that was cut off tells already.
fn leave_out_interrupted(
    turns: &[Quotable],
    found: &mut Vec<CandidateSentence>,
    told: &ToldElsewhere,
    dropped: &mut Vec<DroppedLine>,
) {
    let is_told = |one: &mut CandidateSentence| !one.is_reply && told.has_request(&turns[one.turn], &one.text);
    for one in found.extract_if(.., is_told) {
        dropped.push(not_quoted(false, &one.text, "told as interrupted"));
    }
}

/// What was not quoted is shown by how it begins.
const DROPPED_CHARS_MAX: usize = 120;

fn not_quoted(is_reply: bool, words: &str, reason: &str) -> DroppedLine {
    let kind = if is_reply { FactKind::Said } else { FactKind::Asked };
    let code = format!("{}{}", kind.prefix(), text::code(&text::phrase(words, DROPPED_CHARS_MAX)));
    DroppedLine { code, reason: reason.to_string() }
}

/// Questions since the last session at work are one line.
fn question(turns: &[Quotable], last: usize, now: Timestamp) -> Option<BriefLine> {
    let idle = turns.iter().enumerate().rev().take_while(|(index, _)| *index > last);
    let (index, asked) = idle.filter(|(_, turn)| turn.part == WorkDone::Idle).find_map(|(index, turn)| {
        let asked = turn.request.iter().find(|sentence| sentences::says_something(&sentence.text))?;
        Some((index, asked))
    })?;
    Some(item(turns, index, last, false, &asked.text, Some(now)))
}

/// The other questions, and all answers to them.
fn questions_left_out(turns: &[Quotable], told: Option<&BriefLine>) -> Vec<DroppedLine> {
    let words = |sentences: &[Sentence]| join(sentences.iter().map(|one| (one.heading.as_str(), one.text.as_str())));
    let is_told =
        |turn: &Quotable| told.is_some_and(|told| told.session.as_ref() == Some(&turn.session) && told.at == turn.at);
    let mut dropped = Vec::new();
    for turn in turns.iter().rev().filter(|turn| turn.part == WorkDone::Idle) {
        for (is_reply, said) in [(false, &turn.request), (true, &turn.reply)] {
            if !said.is_empty() && (is_reply || !is_told(turn)) {
                dropped.push(not_quoted(is_reply, &words(said), "a question in between"));
            }
        }
    }
    dropped
}

/// So many sentences of the last message are told as open.
const OPEN_MAX: usize = 3;
/// Shorter ones need the sentence before them.
const OPEN_CHARS_MIN: usize = 30;
/// An open item that shares this many of its words with another is the same.
const SAME_SHARE: f64 = 0.5;

/// Takes out of `found` what the last message names as a next step, and that of the last session at work. What only may
/// say that something remains is quoted first.
fn open_items(turns: &[Quotable], found: &mut Vec<CandidateSentence>, told: &[&str]) -> Vec<BriefLine> {
    let last = found.last().map(|candidate| candidate.turn);
    let known: Vec<Vec<u64>> = told.iter().map(|text| sentences::words(text)).collect();
    let is_known = |text: &str| {
        let words = sentences::words(text);
        let shared = |known: &Vec<u64>| known.iter().filter(|word| words.contains(word)).count() as f64;
        known.iter().any(|known| !known.is_empty() && shared(known) >= SAME_SHARE * known.len().min(words.len()) as f64)
    };
    let ends = [last, anchor(turns)];
    let is_last = |candidate: &CandidateSentence| {
        ends.contains(&Some(candidate.turn)) && candidate.is_reply && !is_known(&candidate.text)
    };
    let ending = (0..found.len()).filter(|at| is_last(&found[*at]));
    let (steps, mut others): (Vec<usize>, Vec<usize>) = ending.partition(|at| names_a_step(&found[*at]));
    let is_open = |text: &str| text.chars().count() >= OPEN_CHARS_MIN && open::is_open(text);
    others.retain(|at| is_open(&found[*at].text));
    // A message ends with what remains.
    others.drain(..others.len().saturating_sub(OPEN_MAX));
    others.into_iter().for_each(|at| found[at].is_certain = true);
    let steps = chosen_steps(found, &steps);
    let line = |step: &Vec<usize>| {
        let words = join(step.iter().map(|at| ("", open::without_label(&found[*at].text))));
        open_item(&turns[found[step[0]].turn], &words)
    };
    let lines = steps.iter().map(line).collect();
    steps.into_iter().flatten().rev().for_each(|at| drop(found.remove(at)));
    lines
}

/// Whether it says so itself, or stands in a list that is called so.
fn names_a_step(candidate: &CandidateSentence) -> bool {
    let CandidateSentence { text, heading, .. } = candidate;
    let labelled = if heading.is_empty() { Cow::Borrowed(&**text) } else { format!("{heading}: {text}").into() };
    open::names_a_step(&labelled) && open::is_open(&labelled) && !outline::is_finished(text)
}

/// The steps that are told, each as the places of its sentences: the last ones that a sentence names, and the first ones
/// of the last list of them.
fn chosen_steps(found: &[CandidateSentence], steps: &[usize]) -> Vec<Vec<usize>> {
    let list = |at: usize| (found[at].turn, &found[at].heading);
    let (listed, mut named): (Vec<usize>, Vec<usize>) =
        steps.iter().copied().partition(|at| !found[*at].heading.is_empty());
    let last_list = listed.last().map(|at| list(*at));
    let mut chosen: Vec<Vec<usize>> = Vec::new();
    for at in listed.into_iter().filter(|at| Some(list(*at)) == last_list) {
        match chosen.last_mut() {
            _ if found[at].begins_item => chosen.push(vec![at]),
            // What is indented goes on with the item before it.
            Some(item) if item.last() == Some(&(at - 1)) => item.push(at),
            _ => {}
        }
    }
    chosen.truncate(OPEN_MAX);
    named.drain(..named.len().saturating_sub(OPEN_MAX - chosen.len()));
    chosen.extend(named.into_iter().map(|at| vec![at]));
    chosen.sort_unstable();
    chosen
}

fn open_item(turn: &Quotable, sentence: &str) -> BriefLine {
    let code = format!("{}{}", FactKind::Next.prefix(), text::code(sentence));
    BriefLine {
        section: Section::Next,
        kind: FactKind::Next,
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

/// A quote, with its age if `now` is given and it is not recent.
fn item(
    turns: &[Quotable],
    index: usize,
    last: usize,
    is_reply: bool,
    quoted: &str,
    now: Option<Timestamp>,
) -> BriefLine {
    let turn = &turns[index];
    let is_last_session = turns[last].session == turn.session;
    let kind = match is_reply {
        true => FactKind::Said,
        false if index == last => FactKind::Last,
        false => FactKind::Asked,
    };
    let is_recent = |now: &Timestamp| is_last_session && now.millis().saturating_sub(turn.at.millis()) < RECENT_MILLIS;
    let now = now.filter(|now| !is_recent(now));
    let age = now.map_or_else(String::new, |now| format!(" ({} ago)", age(turn.at, now)));
    let sender = turn.sender.filter(|_| !is_reply);
    let mark = sender.map_or_else(String::new, |sender| format!(" [not typed: {}]", sender.word()));
    let code = format!("{}{}{age}{mark}", kind.prefix(), text::code(quoted));
    let place = match kind {
        FactKind::Said => "the agent's own words at the end of a turn",
        FactKind::Last => "the last request",
        _ => "an earlier request",
    };
    BriefLine {
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
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    let minutes = now.millis().saturating_sub(at.millis()).max(0) / 60_000;
    match minutes {
        0..60 => format!("{minutes}m"),
        60..2_880 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests;
