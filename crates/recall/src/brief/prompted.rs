//! What a prompt makes relevant that the session has not seen yet: usually little or nothing.
//!
//! On the first prompt: files whose names it mentions, and related open items and decisions. On later prompts: only
//! files that they name outright, unless the topic clearly changes; then as on the first prompt, but less. Nothing is
//! shown twice, and nothing from the session itself.

use std::cell::LazyCell;

use cerberus_record::clean::text;
use cerberus_record::map::FastSet;
use cerberus_text::tokens;

use super::likely::{remove_stale, seen};
use super::rank::RankedFile;
use super::rank::terms::{each_term, terms};
use super::rank::weights::{PROMPT_BYTES_MAX, PROMPT_FILES_MAX, PROMPT_ITEMS_MAX};
use super::{AlreadyKnown, Brief, BriefLine, BriefRequest, Section, gather, is_covered_by_memory, shorten, told};
use crate::search::rank::PromptWords;

/// Fewer shared words are a coincidence.
const SHARED_WORDS_MIN: usize = 2;

/// A shorter prompt does not show whether the topic changed.
const TOPIC_WORDS_MIN: usize = 5;

/// A prompt on the same topic repeats at least this share of earlier words.
const SAME_TOPIC_SHARE_MIN: f64 = 0.25;

/// A file whose name the prompt does not spell out must share this many words with it.
const TOPIC_FILE_WORDS_MIN: usize = 2;

/// A prompt's position in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPosition {
    First,
    /// It continues the topic of the session, or is too short to tell.
    Later,
    /// It is about something new to the session.
    NewTopic,
}

impl PromptPosition {
    /// Compares a later prompt with earlier prompts and with what the session has seen and touched.
    pub fn later(prompt: &str, asked_before: &[String], known: &AlreadyKnown) -> PromptPosition {
        let prompt_terms = terms(text::clip(prompt, PROMPT_BYTES_MAX));
        let mut repeated: FastSet<String> = FastSet::default();
        let before = asked_before.iter().map(|asked| text::clip(asked, PROMPT_BYTES_MAX));
        for text in before.chain(known.shown_codes.iter().chain(&known.own_files).map(String::as_str)) {
            each_term(text, |word| _ = prompt_terms.get(&*word).map(|word| repeated.insert(word.clone())));
        }
        let is_new = prompt_terms.len() >= TOPIC_WORDS_MIN
            && (repeated.len() as f64) < SAME_TOPIC_SHARE_MIN * prompt_terms.len() as f64;
        if is_new { PromptPosition::NewTopic } else { PromptPosition::Later }
    }
}

/// The files that a prompt asks for and its session has not touched, the likeliest first.
pub fn asked_files<'a>(
    files: &'a [RankedFile],
    prompted: PromptPosition,
    known: &'a AlreadyKnown,
) -> impl Iterator<Item = &'a RankedFile> {
    let asked = files.iter().filter(move |ranked| is_asked_for(ranked, prompted));
    asked.filter(|ranked| !known.own_files.contains(&ranked.path)).take(PROMPT_FILES_MAX)
}

/// Composes what is shown with a prompt: one code per line, no header. Of the files that were touched, only those need
/// to be facts that the prompt asks for.
pub fn on_prompt(request: &BriefRequest, prompt: &str, prompted: PromptPosition, known: &AlreadyKnown) -> Brief {
    let mut dropped = Vec::new();
    let mut open = gather::open_items(request.facts, request.settlements, request.worked, &mut dropped);
    remove_stale(&mut open, request.likely, &mut dropped);
    let recent: FastSet<&str> = open.iter().filter_map(|item| item.path.as_deref()).collect();
    let asked = asked_files(&request.likely.files, prompted, known);
    let mut items: Vec<BriefLine> = asked.map(|ranked| named(ranked, request, &open, &recent)).collect();
    let own = |item: &BriefLine| item.session.as_ref().is_some_and(|session| known.own_sessions.contains(session));
    let others = open.iter().filter(|item| !matches!(item.section, Section::Files | Section::Functions) && !own(item));
    if prompted != PromptPosition::Later {
        // Comparing meanings is expensive; related texts share words.
        let asked = terms(prompt);
        let shares_words = |item: &&BriefLine| shared_words(&item.text, &asked) >= SHARED_WORDS_MIN;
        let meaning = LazyCell::new(|| PromptWords::of(prompt));
        let related = others.filter(shares_words).filter(|item| meaning.is_about(&item.text));
        items.extend(related.take(PROMPT_ITEMS_MAX).cloned());
    }
    items.retain(|item| !is_covered_by_memory(item, request.memories, &mut dropped));
    shorten::name_files(&mut items);
    told::count(&mut items);
    items.retain(|item| !is_known(item, known));
    let mut budget_tokens = request.budget_tokens;
    items.retain(|item| {
        let fits = item.tokens <= budget_tokens;
        budget_tokens -= if fits { item.tokens } else { 0 };
        fits
    });
    items.sort_by_key(|item| item.section);
    let text = items.iter().map(BriefLine::told).collect::<Vec<_>>().join("\n");
    Brief { tokens: tokens::estimate(&text), text, items, ..Brief::default() }
}

/// The number of `asked` words in a text.
fn shared_words(text: &str, asked: &FastSet<String>) -> usize {
    let mut shared: Vec<&str> = Vec::new();
    each_term(text, |word| shared.extend(asked.get(&*word).map(String::as_str).filter(|word| !shared.contains(word))));
    shared.len()
}

/// A file shown as changed is also known as one to see.
fn is_known(item: &BriefLine, known: &AlreadyKnown) -> bool {
    let name = item.code.split_once(':').map_or(item.code.as_str(), |(_, name)| name);
    let is_file = item.section == Section::Files;
    // The decision may have been shown with its branch.
    let with_branch = format!("{}@", item.code);
    known.shown_codes.iter().any(|shown| *shown == item.code || shown.starts_with(&with_branch))
        || is_file && ["impl:", "see:"].iter().any(|prefix| known.shown_codes.contains(&format!("{prefix}{name}")))
}

fn is_asked_for(ranked: &RankedFile, prompted: PromptPosition) -> bool {
    match prompted {
        PromptPosition::Later => ranked.trace.is_named(),
        // One word that happens to be a whole file name may be anything, such as a branch.
        PromptPosition::First | PromptPosition::NewTopic => {
            let is_topic = ranked.trace.shared_words() >= TOPIC_FILE_WORDS_MIN;
            ranked.trace.is_named() || ranked.trace.is_mentioned() && is_topic
        }
    }
}

fn named(ranked: &RankedFile, request: &BriefRequest, open: &[BriefLine], recent: &FastSet<&str>) -> BriefLine {
    let is_it = |item: &&BriefLine| item.section == Section::Files && item.path.as_deref() == Some(&ranked.path);
    match open.iter().find(is_it).filter(|_| recent.contains(ranked.path.as_str())) {
        Some(item) => BriefLine { place: Some(ranked.trace.why(request.now)), ..item.clone() },
        None => seen(ranked, request.now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_new_if_hardly_any_word_is_repeated() {
        let asked =
            ["Write the parser for the invoice format".to_string(), "now handle the missing totals".to_string()];
        let known = AlreadyKnown {
            shown_codes: ["impl:invoice/parser.rs", "dec:totals are integers"].map(str::to_string).into(),
            own_files: ["src/invoice/lines.rs".to_string()].into(),
            ..AlreadyKnown::default()
        };
        for (prompt, expected) in [
            ("the parser drops the last line of an invoice", PromptPosition::Later),
            ("and the totals?", PromptPosition::Later),
            ("lines with a discount fail", PromptPosition::Later),
            ("yes", PromptPosition::Later),
            ("looks good, commit", PromptPosition::Later),
            ("next: rate limits of the login endpoint, per address", PromptPosition::NewTopic),
            ("something else: the onboarding mail shows a broken logo", PromptPosition::NewTopic),
        ] {
            assert_eq!(PromptPosition::later(prompt, &asked, &known), expected, "{prompt}");
        }
        let nothing = AlreadyKnown::default();
        assert_eq!(
            PromptPosition::later("the parser drops the last line always", &[], &nothing),
            PromptPosition::NewTopic
        );
    }
}
