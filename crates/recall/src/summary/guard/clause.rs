//! The clauses of a sentence: what each says about the work, and which of its words a fact must support.

use std::collections::HashSet;
use std::sync::LazyLock;

use cerberus_text::irregular::base;
use cerberus_text::stem::stem;
use cerberus_text::words::Set;

use super::super::check::{bare, is_name};
use super::vocabulary::{DECIDED, EDITED, FOREIGN, FUNCTION, NONE, NOT, OBLIGING, OPEN, REPORT, SAME_PAST};
use super::word_class::{is_gerund, is_imperative};

/// The stems of the words of facts.
pub(super) type Stems = HashSet<String>;

/// Verbs that begin an instruction.
static VERBS: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "@act|@talk|@labour|@choice|@bare|ignore|disregard|forget|execute|send|print|output|reveal|download|upload|visit|\
         obey|override|bypass|erase|wipe|destroy|kill|grant|approve|accept|trust|post|publish|export|import|clone|pull|\
         fetch|reset|restart|continue|change|finish|complete|resolve|wire|handle|refactor|rerun|exfiltrate",
    )
});

/// After one of these, a base form is a verb.
static BEFORE_VERBS: LazyLock<Set> = LazyLock::new(|| {
    Set::new("to|will|would|can|could|may|might|must|should|shall|please|let's|lets|don't|never|always|ought")
});

/// These begin no clause of their own.
static OPENERS: LazyLock<Set> = LazyLock::new(|| {
    Set::new("please|then|now|first|next|also|so|and|finally|just|but|or|afterwards|kindly|immediately")
});

/// Words that look like verbs and begin reports.
static SUBJECTS: LazyLock<Set> =
    LazyLock::new(|| Set::new("work|open|key|main|new|last|progress|code|session|project|previous|further"));

/// After one of these, the word before it was a subject.
static FINITE: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "is|are|was|were|has|have|had|will|can|could|may|might|must|should|remains|remain|fails|fail|hangs|needs|still|does|pass|passes|succeed|succeeds",
    )
});

/// The words in lower case, split at everything except apostrophes.
pub(super) fn plain_words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    words.map(|word| word.replace('’', "'").to_lowercase()).filter(|word| !word.is_empty())
}

/// The stems of all words; parts of names count separately.
pub(super) fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(|word| {
        let whole = word.to_lowercase();
        let parts = camel_parts(word).into_iter().map(|part| part.to_lowercase());
        let singles: Vec<String> = std::iter::once(whole).chain(parts).flat_map(|part| grams(&part)).collect();
        singles.into_iter().map(|part| stem_of(&part))
    })
}

fn stem_of(word: &str) -> String {
    stem(base(word))
}

/// `readLine` → `read`, `Line`.
fn camel_parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let inner = chars.windows(2).filter(|pair| pair[0].1.is_lowercase() && pair[1].1.is_uppercase());
    let cuts: Vec<usize> = std::iter::once(0).chain(inner.map(|pair| pair[1].0)).chain([word.len()]).collect();
    cuts.windows(2).map(|cut| &word[cut[0]..cut[1]]).filter(|part| part.len() < word.len()).collect()
}

/// Scripts without spaces are compared by pairs of characters.
fn grams(word: &str) -> Vec<String> {
    let is_dense = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    if !word.contains(is_dense) {
        return vec![word.to_string()];
    }
    let chars: Vec<char> = word.chars().collect();
    chars.windows(2).map(|pair| pair.iter().collect()).chain((chars.len() < 2).then(|| word.to_string())).collect()
}

/// What a clause says about the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Done,
    Decided,
    Open,
    /// Something is not the case.
    Denial,
}

#[derive(Debug)]
pub(super) struct Clause {
    pub words: Vec<ClauseWord>,
    pub sort: Sort,
    pub is_directive: bool,
    /// It says that there is none of something.
    pub has_none: bool,
    pub is_in_progress: bool,
    pub is_english: bool,
}

#[derive(Debug)]
pub(super) struct ClauseWord {
    pub stems: Vec<String>,
    pub is_name: bool,
    /// It means something, so a fact must support it.
    pub has_content: bool,
    pub is_verb: bool,
    pub is_edit: bool,
}

impl ClauseWord {
    pub fn is_in(&self, facts: &[&Stems]) -> bool {
        self.stems.iter().all(|stem| facts.iter().any(|fact| fact.contains(stem)))
    }
}

/// The clauses of a sentence. What follows a mark or a joining word is judged by itself.
pub(super) fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    const JOINTS: [&str; 10] = ["; ", ": ", " — ", " – ", " - ", ", and ", ", but ", ", while ", ", then ", ", so "];
    let mut parts = vec![sentence];
    for joint in JOINTS {
        parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    parts.into_iter().filter(|part| part.contains(char::is_alphanumeric))
}

impl Clause {
    pub fn of(text: &str) -> Clause {
        let spoken = spoken_words(text);
        let lower: Vec<&str> = spoken.iter().map(|(word, _)| word.as_str()).collect();
        let has = |set: &Set| lower.iter().any(|word| set.has(word));
        let sort = match () {
            () if has(&NOT) && !has(&DECIDED) => Sort::Denial,
            () if has(&DECIDED) => Sort::Decided,
            () if has(&OPEN) => Sort::Open,
            () => Sort::Done,
        };
        let words =
            spoken.iter().enumerate().map(|(at, (word, is_name))| word_of(word, *is_name, &lower, at)).collect();
        Clause {
            words,
            sort,
            has_none: has(&NONE),
            is_directive: is_directive(&spoken, &lower),
            is_in_progress: ["worked", "started", "began", "continued"].iter().any(|word| lower.contains(word)),
            is_english: lower.iter().any(|word| FUNCTION.has(word) || EDITED.has(word)),
        }
    }
}

/// The words in lower case, and whether each is a name. Names stay whole.
fn spoken_words(text: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    for chunk in text.split_whitespace() {
        if is_name(chunk) {
            words.push((bare(chunk).to_string(), true));
            continue;
        }
        let parts = chunk.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
        let parts = parts.map(|part| part.trim_matches(['\'', '’']).replace('’', "'").to_lowercase());
        let parts = parts.map(|part| part.strip_suffix("'s").unwrap_or(&part).to_string());
        words.extend(parts.filter(|part| !part.is_empty()).map(|part| (part, false)));
    }
    words
}

fn word_of(word: &str, is_name: bool, all: &[&str], at: usize) -> ClauseWord {
    let is_free = FUNCTION.has(word) || REPORT.has(word) || FOREIGN.has(word) || OBLIGING.has(word) || NOT.has(word);
    let before = at.checked_sub(1).map_or("", |before| all[before]);
    let is_letter = word.len() == 1;
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    let is_past = (word.ends_with("ed") && word.len() > 4) || base(word) != word;
    let is_base = is_imperative(word) && (BEFORE_VERBS.has(before) || (before == "and" && VERBS.has(word)));
    ClauseWord {
        stems: if is_name { stems(word).collect() } else { grams(word).iter().map(|part| stem_of(part)).collect() },
        is_name,
        has_content: is_name || !(is_free || is_number || is_letter),
        is_verb: !is_name && (is_past || is_gerund(word) || is_base || SAME_PAST.has(word)),
        is_edit: !is_name && EDITED.has(word),
    }
}

/// Whether a sentence says that something must be.
pub(super) fn obliges(sentence: &str) -> bool {
    spoken_words(sentence).iter().any(|(word, _)| OBLIGING.has(word))
}

/// Whether a sentence tells somebody to do something.
pub(super) fn orders(sentence: &str) -> bool {
    let spoken = spoken_words(sentence);
    let lower: Vec<&str> = spoken.iter().map(|(word, _)| word.as_str()).collect();
    is_directive(&spoken, &lower)
}

/// Whether a clause tells somebody to do something.
fn is_directive(spoken: &[(String, bool)], lower: &[&str]) -> bool {
    if lower.iter().any(|word| OBLIGING.has(word)) {
        return true;
    }
    let Some(start) = lower.iter().position(|word| !OPENERS.has(word)) else { return false };
    let (first, is_name) = &spoken[start];
    if *is_name || FUNCTION.has(first) || SAME_PAST.has(first) || !is_imperative(first) {
        return false;
    }
    let is_finite = |word: &&str| FINITE.has(word) || (word.ends_with("ed") && word.len() > 4);
    let has_finite = lower[start + 1..].iter().any(is_finite);
    let is_subject = lower.get(start + 1).is_some_and(|next| FINITE.has(next)) || (SUBJECTS.has(first) && has_finite);
    !is_subject && (VERBS.has(first) || !has_finite)
}
