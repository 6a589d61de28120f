//! What a prompt makes relevant that its session was not told yet: usually little or nothing.
//!
//! On the first prompt files whose names it speaks of, and what is open or decided about the same. On later ones only what
//! they name outright, unless the topic clearly changes: then as on the first, but less. Never told twice, nothing of the
//! session's own.

use std::cell::LazyCell;
use std::collections::HashSet;

use super::likely::{keep_true, seen};
use super::rank::Ranked;
use super::rank::terms::{each_term, terms};
use super::rank::weights::{PROMPT_BYTES_MAX, PROMPT_FILES_MAX, PROMPT_NAME_SHARE_MIN, PROMPT_SAID_MAX};
use super::{AlreadyKnown, Brief, Item, Request, Section, gather, is_told_as_memory, shorten};
use crate::clean::text;
use crate::language::tokens;
use crate::search::rank::Spoken;

/// Fewer words in common are chance.
const SHARED_WORDS_MIN: usize = 2;

/// Fewer words say too little to tell whether they are of something else.
const TOPIC_WORDS_MIN: usize = 5;

/// Who goes on says at least this share of words that were said before.
const SAME_TOPIC_SHARE_MIN: f64 = 0.25;

/// A new topic's file shares this many words with the prompt.
const TOPIC_FILE_WORDS_MIN: usize = 2;

/// How a prompt stands in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompted {
    First,
    /// It goes on with what the session is about, or says too little to tell.
    Later,
    /// It speaks of something that the session has not come to yet.
    NewTopic,
}

impl Prompted {
    /// Compares a later prompt with what the session was asked before, was told and touched.
    pub fn later(prompt: &str, asked_before: &[String], known: &AlreadyKnown) -> Prompted {
        let said = terms(text::clip(prompt, PROMPT_BYTES_MAX));
        let mut heard: HashSet<String> = HashSet::new();
        let before = asked_before.iter().map(|asked| text::clip(asked, PROMPT_BYTES_MAX));
        for text in before.chain(known.told_codes.iter().chain(&known.own_files).map(String::as_str)) {
            each_term(text, |word| _ = said.get(word).map(|word| heard.insert(word.clone())));
        }
        let is_new = said.len() >= TOPIC_WORDS_MIN && (heard.len() as f64) < SAME_TOPIC_SHARE_MIN * said.len() as f64;
        if is_new { Prompted::NewTopic } else { Prompted::Later }
    }
}

/// Decides what is told beside a prompt, one code a line, without a header.
pub fn on_prompt(request: &Request, prompt: &str, prompted: Prompted, known: &AlreadyKnown) -> Brief {
    let mut dropped = Vec::new();
    let mut open = gather::open_items(request.facts, request.settlements, &mut dropped);
    keep_true(&mut open, request.likely, &mut dropped);
    let recent: HashSet<&str> = open.iter().filter_map(|item| item.path.as_deref()).collect();
    let asked = request.likely.files.iter().filter(|ranked| is_asked_for(ranked, prompted));
    let unknown = asked.filter(|ranked| !known.own_files.contains(&ranked.path)).take(PROMPT_FILES_MAX);
    let mut items: Vec<Item> = unknown.map(|ranked| named(ranked, request, &open, &recent)).collect();
    let own = |item: &Item| item.session.as_ref().is_some_and(|session| known.own_sessions.contains(session));
    let said = open.iter().filter(|item| !matches!(item.section, Section::Files | Section::Functions) && !own(item));
    if prompted != Prompted::Later {
        // Comparing meanings costs; what is spoken of shares words.
        let asked = terms(prompt);
        let shares_words = |item: &&Item| shared_words(&item.text, &asked) >= SHARED_WORDS_MIN;
        let spoken = LazyCell::new(|| Spoken::of(prompt));
        let spoken_of = said.filter(shares_words).filter(|item| spoken.is_of(&item.text));
        items.extend(spoken_of.take(PROMPT_SAID_MAX).cloned());
    }
    items.retain(|item| !is_told_as_memory(item, request.memories, &mut dropped));
    shorten::name_files(&mut items, request.files);
    items.retain(|item| !is_known(item, known));
    let mut budget_tokens = request.budget_tokens;
    items.retain(|item| {
        let fits = item.tokens <= budget_tokens;
        budget_tokens -= if fits { item.tokens } else { 0 };
        fits
    });
    items.sort_by_key(|item| item.section);
    let text = items.iter().map(|item| item.code.as_str()).collect::<Vec<_>>().join("\n");
    Brief { tokens: tokens::estimate(&text), text, memories: Vec::new(), items, dropped: Vec::new() }
}

/// How many of the asked words a text has.
fn shared_words(text: &str, asked: &HashSet<String>) -> usize {
    let mut shared: Vec<&str> = Vec::new();
    each_term(text, |word| shared.extend(asked.get(word).map(String::as_str).filter(|word| !shared.contains(word))));
    shared.len()
}

/// A file told as changed is known as one to see, too.
fn is_known(item: &Item, known: &AlreadyKnown) -> bool {
    let said = item.code.split_once(':').map_or(item.code.as_str(), |(_, said)| said);
    let is_file = item.section == Section::Files;
    // A decision was perhaps told with the branch it was taken on.
    let with_branch = format!("{}@", item.code);
    known.told_codes.iter().any(|told| *told == item.code || told.starts_with(&with_branch))
        || is_file && ["impl:", "see:"].iter().any(|prefix| known.told_codes.contains(&format!("{prefix}{said}")))
}

fn is_asked_for(ranked: &Ranked, prompted: Prompted) -> bool {
    match prompted {
        Prompted::First => ranked.trace.is_named() || ranked.trace.name_share() >= PROMPT_NAME_SHARE_MIN,
        Prompted::Later => ranked.trace.is_named(),
        // One word that happens to be a file's whole name is no topic.
        Prompted::NewTopic => {
            let is_spoken_of = ranked.trace.name_share() >= PROMPT_NAME_SHARE_MIN;
            ranked.trace.is_named() || is_spoken_of && ranked.trace.words_said() >= TOPIC_FILE_WORDS_MIN
        }
    }
}

fn named(ranked: &Ranked, request: &Request, open: &[Item], recent: &HashSet<&str>) -> Item {
    let is_it = |item: &&Item| item.section == Section::Files && item.path.as_deref() == Some(&ranked.path);
    match open.iter().find(is_it).filter(|_| recent.contains(ranked.path.as_str())) {
        Some(item) => Item { place: Some(ranked.trace.why(request.now)), ..item.clone() },
        None => seen(ranked, request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_new_when_hardly_a_word_was_heard_before() {
        let asked =
            ["Write the parser for the invoice format".to_string(), "now handle the missing totals".to_string()];
        let known = AlreadyKnown {
            told_codes: ["impl:invoice/parser.rs", "dec:totals-are-integers"].map(str::to_string).into(),
            own_files: ["src/invoice/lines.rs".to_string()].into(),
            ..AlreadyKnown::default()
        };
        for (prompt, expected) in [
            ("the parser drops the last line of an invoice", Prompted::Later),
            ("and the totals?", Prompted::Later),
            ("lines with a discount fail", Prompted::Later),
            ("yes", Prompted::Later),
            ("looks good, commit", Prompted::Later),
            ("next: rate limits of the login endpoint, per address", Prompted::NewTopic),
            ("something else: the onboarding mail shows a broken logo", Prompted::NewTopic),
        ] {
            assert_eq!(Prompted::later(prompt, &asked, &known), expected, "{prompt}");
        }
        let nothing = AlreadyKnown::default();
        assert_eq!(Prompted::later("the parser drops the last line always", &[], &nothing), Prompted::NewTopic);
    }
}
