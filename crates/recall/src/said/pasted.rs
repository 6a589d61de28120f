//! Whether the user typed a rule, or it may be part of a text that was pasted into the prompt.
//!
//! A rule counts as typed only in a short prompt of one line without any sign of somebody else's text: quotation,
//! markup, a line copied from a log, a list, a commit or a chat, an introduction ("translate this:"), an attribution
//! ("the readme says"), a greeting or a signature. It judges by form; the word tables hold verbs that hand a text over
//! and words that name its author, in several languages. In doubt a rule is not typed: it is then proposed and never
//! approved by itself.

use std::ops::Range;
use std::sync::LazyLock;

use cerberus_text::words;

/// A longer prompt describes a task or contains a document.
const TYPED_CHARS_MAX: usize = 400;
/// A quotation of fewer words names something; a longer one repeats what somebody said.
const QUOTED_WORDS_MIN: usize = 3;
/// A command in backticks has more words.
const CODE_WORDS_MIN: usize = 6;
/// Japanese and Chinese have no blanks; this many characters count as a word.
const CHARS_PER_WORD: usize = 3;
/// The person or thing a rule is addressed to is among the first words of its sentence.
const ADDRESSEE_WORDS_MAX: usize = 5;
/// The request in front of a rule, in a script without blanks.
const BEGINNING_CHARS_MAX: usize = 8;
/// "CONTRIBUTING - always run the tests": a short heading in front of a dash.
const HEADING_WORDS_MAX: usize = 5;
/// "ok from now on", "no no never": more words in front of a rule need a connection to it.
const LEAD_WORDS_MAX: usize = 3;

type PastedWords = LazyLock<Vec<String>>;

static LEVELS: PastedWords = LazyLock::new(|| section("levels"));
static LABELS: PastedWords = LazyLock::new(|| section("labels"));
static WHY: PastedWords = LazyLock::new(|| section("why"));
static VERBS: PastedWords = LazyLock::new(|| section("verbs"));
static SOFT_VERBS: PastedWords = LazyLock::new(|| section("soft-verbs"));
static POINTERS: PastedWords = LazyLock::new(|| section("pointers"));
static SAYING: PastedWords = LazyLock::new(|| section("saying"));
static WRITINGS: PastedWords = LazyLock::new(|| section("writings"));
static ADDRESSEES: PastedWords = LazyLock::new(|| section("addressees"));
static GREETINGS: PastedWords = LazyLock::new(|| section("greetings"));
static CONNECTORS: PastedWords = LazyLock::new(|| section("connectors"));
static OPENINGS: PastedWords = LazyLock::new(|| section("openings"));
static CLOSINGS: PastedWords = LazyLock::new(|| section("closings"));

/// The words of a section of the table.
fn section(name: &str) -> Vec<String> {
    let text = include_str!("pasted/words.txt");
    let heading = format!("[{name}]");
    let lines = text.lines().skip_while(|line| !line.starts_with(&heading)).skip(1);
    let words = lines.take_while(|line| !line.starts_with('[')).flat_map(str::split_whitespace);
    words.map(|word| word.replace('_', " ")).collect()
}

/// What shows that a rule may not be the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Long,
    SeveralLines,
    Markup,
    Quotation,
    LinePrefix,
    Introduction,
    Question,
    Handed,
    Attribution,
    Addressee,
    Signature,
    /// The words of the rule are not in the prompt as they are.
    NotFound,
}

/// Whether the user typed `rule`, a sentence of `prompt`.
pub fn is_typed(prompt: &str, rule: &str) -> bool {
    sign(prompt, rule).is_none()
}

/// Whether the user repeats somebody else's words at this place of a prompt: they stand in quotation marks.
pub fn is_quoted(prompt: &str, place: &Range<usize>) -> bool {
    let start = prompt[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = prompt[place.end..].find('\n').map_or(prompt.len(), |at| place.end + at);
    let (before, inside, after) = (&prompt[start..place.start], &prompt[place.clone()], &prompt[place.end..end]);
    // An apostrophe stands in a word; a quotation mark before or after one.
    let opening = |mark: char| {
        let begins = |(at, _): &(usize, &str)| !before[..*at].ends_with(char::is_alphanumeric);
        before.match_indices(mark).filter(begins).map(|(at, _)| at + mark.len_utf8()).next_back()
    };
    let closing = |text: &str, mark: char| {
        let ends = |(at, _): (usize, &str)| !text[at + mark.len_utf8()..].starts_with(char::is_alphanumeric);
        text.match_indices(mark).any(ends)
    };
    let is_pair = |open: char, close: char| {
        let is_open = match open == close && open != '\'' {
            true => before.matches(open).count() % 2 == 1,
            false => opening(open).is_some_and(|at| !closing(&before[at..], close)),
        };
        is_open && closing(after, close) && super::word_count::word_count(inside) >= QUOTED_WORDS_MIN
    };
    PAIRS.iter().filter(|(open, _)| *open != '`').any(|(open, close)| is_pair(*open, *close))
}

/// "Translate to German", "Summarize": the user wants something done with a text.
pub(super) fn begins_with_verb(text: &str) -> bool {
    mentions(beginning(text), &VERBS)
}

/// The first sign that `rule` is not the user's own.
pub fn sign(prompt: &str, rule: &str) -> Option<Sign> {
    let is_indented = prompt.trim_start_matches(['\n', '\r']).starts_with("    ");
    let prompt = prompt.trim();
    if is_indented {
        return Some(Sign::LinePrefix);
    }
    if prompt.chars().count() > TYPED_CHARS_MAX {
        return Some(Sign::Long);
    }
    if prompt.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) || prompt.contains("\\n") {
        return Some(Sign::SeveralLines);
    }
    let prompt = prompt.to_lowercase();
    let rule = rule.trim().to_lowercase();
    let rule = rule.trim_end_matches(ENDS);
    let Some(start) = prompt.find(rule).filter(|_| !rule.is_empty()) else {
        return Some(Sign::NotFound);
    };
    let place = narrowed(&prompt, start..start + rule.len());
    let signs: [(Sign, bool); 9] = [
        (Sign::LinePrefix, has_line_prefix(&prompt)),
        (Sign::Markup, has_markup(&prompt)),
        (Sign::Quotation, has_quotation(&prompt)),
        (Sign::Introduction, has_introduction(&prompt, place.start)),
        (Sign::Question, has_question(&prompt)),
        (Sign::Handed, is_handed(&prompt, &place)),
        (Sign::Attribution, is_attributed(&prompt, &place)),
        (Sign::Addressee, has_addressee(&prompt, &place)),
        (Sign::Signature, has_signature(&prompt)),
    ];
    signs.into_iter().find(|(_, is_there)| *is_there).map(|(sign, _)| sign)
}

/// The rule itself: from the words that a standing rule begins with. Of several sentences without such words, the last
/// one. What is in front may announce it.
fn narrowed(prompt: &str, found: Range<usize>) -> Range<usize> {
    let parts = || sentences(prompt).map(|place| place.start.max(found.start)..place.end.min(found.end));
    let parts = || parts().filter(|part| part.start < part.end);
    let opened = parts().find_map(|part| Some(part.start + opening(&prompt[part.clone()])?..part.end));
    opened.or_else(|| parts().last()).unwrap_or(found)
}

/// Where a standing rule begins in a sentence.
fn opening(sentence: &str) -> Option<usize> {
    let is_apart = |at: usize, phrase: &str| {
        let before = sentence[..at].chars().next_back();
        let after = sentence[at + phrase.len()..].chars().next();
        is_unspaced(phrase) || ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    };
    let find =
        |phrase: &String| sentence.match_indices(phrase.as_str()).map(|(at, _)| at).find(|at| is_apart(*at, phrase));
    OPENINGS.iter().filter_map(find).min()
}

const ENDS: [char; 8] = ['.', '!', '?', ',', ';', ':', '。', '！'];

/// Lower-case words; an entry of a table that ends with `*` is the beginning of a word.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_'))).filter(|word| !word.is_empty())
}

fn is_in(word: &str, table: &[String]) -> bool {
    table.iter().any(|entry| match entry.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == entry,
    })
}

/// Whether a word of the table is in the text. Scripts without blanks are searched as they are.
fn mentions(text: &str, table: &[String]) -> bool {
    words(text).any(|word| is_in(word, table))
        || table.iter().any(|entry| is_unspaced(entry) && text.contains(entry.trim_end_matches('*')))
}

fn is_unspaced(text: &str) -> bool {
    text.contains(|c: char| words::is_unspaced(c) || matches!(c, '\u{ac00}'..='\u{d7af}'))
}

fn word_count(text: &str) -> usize {
    if is_unspaced(text) { text.chars().count().div_ceil(CHARS_PER_WORD) } else { words(text).count() }
}

/// What begins a line of a list, a document, a diff, a log, a shell, a comment, a chat, a ticket or a mention.
fn has_line_prefix(prompt: &str) -> bool {
    let first = prompt.split_whitespace().next().unwrap_or_default();
    let is_mark = !first.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '¡' | '¿' | '`' | '\'' | '"'));
    let has_digit = first.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = first.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let is_hash = first.len() >= 7 && has_digit && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ticket = first.contains('-') && has_digit;
    // The number of an item in the middle of a line.
    let is_item = |word: &str| {
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_mark || prompt.split_whitespace().any(is_item) || is_number || is_hash || is_ticket || is_in(first, &LEVELS)
}

/// Tags, fences, links, tables, JSON, placeholders and mentions; characters that only copied text has.
fn has_markup(prompt: &str) -> bool {
    const PIECES: &[&str] =
        &["```", "~~~", "](", "://", "www.", "{\"", "\":", "/*", "*/", "**", "&nbsp;", "&lt;", "&quot;"];
    const RARE: &[char] = &['\u{a0}', '\u{ad}', '\u{feff}', '©', '®', '™', '│', '┃', '¶', '\u{fffd}'];
    let is_hidden = |c: char| RARE.contains(&c) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    let after = |mark: char, is_it: fn(char) -> bool| {
        prompt.match_indices(mark).any(|(at, _)| prompt[at + mark.len_utf8()..].starts_with(is_it))
    };
    PIECES.iter().any(|piece| prompt.contains(piece))
        || prompt.contains(is_hidden)
        || prompt.matches('|').count() > 1
        // "anna> …"
        || prompt.split_whitespace().any(|word| word.len() > 2 && word.ends_with('>'))
        || after('<', |c| c.is_alphabetic() || matches!(c, '/' | '!'))
        || after('[', |c| c.is_alphabetic() || c == '.')
        || words(prompt).any(|word| word == "copyright")
}

/// Marks around a quotation.
const PAIRS: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('”', '”'),
    ('«', '»'),
    ('»', '«'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('`', '`'),
    ('‘', '’'),
    ('\'', '\''),
];

/// Quotation marks around several words, or one without its partner.
fn has_quotation(prompt: &str) -> bool {
    PAIRS.iter().any(|(open, close)| quotes(prompt, *open, *close))
}

fn quotes(text: &str, open: char, close: char) -> bool {
    let is_apostrophe = matches!(open, '\'' | '‘');
    let words_min = if open == '`' { CODE_WORDS_MIN } else { QUOTED_WORDS_MIN };
    let mut rest = text;
    let mut before = ' ';
    while let Some(at) = rest.find(open) {
        before = rest[..at].chars().next_back().unwrap_or(before);
        let mut inside = &rest[at + open.len_utf8()..];
        // ``a rule``: several marks in front of a word open one quotation. "" alone is an empty one.
        let word = inside.trim_start_matches(open);
        if open == close && word.starts_with(char::is_alphanumeric) {
            inside = word;
        }
        // "don't", "users'": not an opening mark.
        if is_apostrophe && (before.is_alphanumeric() || inside.starts_with(char::is_whitespace)) {
            (rest, before) = (inside, open);
            continue;
        }
        let ends = |(end, _): &(usize, &str)| {
            !is_apostrophe || !inside[end + close.len_utf8()..].starts_with(char::is_alphanumeric)
        };
        let Some((end, _)) = inside.match_indices(close).find(ends) else {
            return word_count(inside) >= words_min && !is_apostrophe;
        };
        if word_count(&inside[..end]) >= words_min {
            return true;
        }
        (rest, before) = (&inside[end + close.len_utf8()..], close);
    }
    false
}

/// "Translate to German: …", "feat: …", "Tom: …", "CONTRIBUTING - …": words in front of the rule that announce it.
fn has_introduction(prompt: &str, start: usize) -> bool {
    // "use as a test input always run …": the rule begins in the middle of a sentence, without a connection.
    let sentence = sentences(prompt).find(|place| place.contains(&start)).unwrap_or(start..start);
    let lead = prompt[sentence.start.min(start)..start].trim();
    let is_connected =
        lead.ends_with([',', ';', '，', '、']) || words(lead).next_back().is_none_or(|word| is_in(word, &CONNECTORS));
    if word_count(lead) > LEAD_WORDS_MAX && !is_connected {
        return true;
    }
    let is_own = |head: &str| LABELS.iter().any(|label| label == head.trim());
    let is_colon =
        |at: usize, mark: &str| mark == "：" || prompt[at + 1..].starts_with([' ', '\t']) || at + 1 == prompt.len();
    let colon = prompt.match_indices([':', '：']).find(|(at, mark)| is_colon(*at, mark));
    if colon.is_some_and(|(at, _)| !is_own(&prompt[..at])) {
        return true;
    }
    const DASHES: [&str; 8] = [" - ", " – ", " — ", "—", " -- ", " -> ", " => ", " | "];
    DASHES
        .iter()
        .filter_map(|dash| prompt.find(dash))
        .any(|at| at < start || word_count(&prompt[..at]) <= HEADING_WORDS_MAX)
}

/// Why the agent did something is a complaint; any other question may be about a text in the prompt.
fn has_question(prompt: &str) -> bool {
    sentences(prompt).any(|place| {
        let sentence = &prompt[place];
        let asks = sentence.contains(['?', '？', '¿', '؟']);
        let is_why = words(sentence).next().is_some_and(|word| is_in(word, &WHY))
            || WHY.iter().any(|why| is_unspaced(why) && sentence.contains(why.as_str()));
        asks && (!is_why || mentions(sentence, &POINTERS))
    })
}

/// The sentences of a line, each with its end mark.
fn sentences(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = line.get(from..).filter(|rest| !rest.trim().is_empty())?;
        let is_end = |(at, mark): &(usize, &str)| {
            let after = &rest[at + mark.len()..];
            matches!(*mark, "。" | "！" | "？") || after.is_empty() || after.starts_with(char::is_whitespace)
        };
        let end = rest.match_indices(['.', '!', '?', '。', '！', '？']).find(is_end);
        let length = end.map_or(rest.len(), |(at, mark)| at + mark.len());
        let place = from..from + length;
        from += length;
        Some(place)
    })
}

/// Whether a sentence beside the rule, or the words in front of it, hand a text over.
fn is_handed(prompt: &str, rule: &Range<usize>) -> bool {
    let others = outside(prompt, rule);
    others.iter().any(|text| mentions(text, &VERBS) || (mentions(text, &SOFT_VERBS) && mentions(text, &POINTERS)))
        // "Summarise for me from now on always …": the rule begins with the request.
        || mentions(beginning(&prompt[rule.clone()]), &VERBS)
}

/// The first word, or as many characters as may be one.
fn beginning(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or_default();
    let end = word.char_indices().nth(BEGINNING_CHARS_MAX).map_or(word.len(), |(at, _)| at);
    if is_unspaced(word) { &word[..end] } else { word }
}

/// The sentences that are not part of the rule, and what stands before and after it in its own.
fn outside<'a>(prompt: &'a str, rule: &Range<usize>) -> Vec<&'a str> {
    let cut = |place: Range<usize>| {
        let before = place.start..place.end.min(rule.start).max(place.start);
        let after = place.start.max(rule.end).min(place.end)..place.end;
        [before, after]
    };
    sentences(prompt)
        .flat_map(cut)
        .filter_map(|place| prompt.get(place))
        .filter(|text| !text.trim().is_empty())
        .collect()
}

/// Whether somebody says it. "I said", "I already told you" is the user.
fn is_said(text: &str) -> bool {
    let all: Vec<&str> = words(text).collect();
    let is_own = |at: usize| at > 0 && matches!(all[at - 1], "i" | "i've" | "i’ve" | "already" | "ich" | "j'ai" | "ya");
    all.iter().enumerate().any(|(at, word)| is_in(word, &SAYING) && !is_own(at))
        || (is_unspaced(text) && mentions(text, &SAYING))
}

fn is_attributed(prompt: &str, rule: &Range<usize>) -> bool {
    let names_origin = |word: &str| {
        let word = word.trim_end_matches(ENDS).trim_matches(['(', ')', '[', ']']);
        let is_digit = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        // "#42", "10:31"
        let is_reference = is_digit(word.strip_prefix('#'));
        let is_time = word.split_once(':').is_some_and(|(hour, rest)| is_digit(Some(hour)) && is_digit(Some(rest)));
        is_reference
            || is_time
            || word.starts_with('@')
            || [".md", ".txt", ".rst", ".log", ".eml", ".html"].iter().any(|ending| word.ends_with(ending))
    };
    let is_others =
        |text: &str| is_said(text) || mentions(text, &WRITINGS) || text.split_whitespace().any(names_origin);
    let (before, after) = (&prompt[..rule.start], &prompt[rule.end..]);
    // The rule itself may be about mails; it is attributed by its first words only.
    let head = first_words(&prompt[rule.clone()], ADDRESSEE_WORDS_MAX);
    is_others(before)
        || is_others(after)
        || is_said(head)
        || words(head).any(|word| word.starts_with("readme") || word.starts_with("contributing"))
}

fn first_words(text: &str, count: usize) -> &str {
    let end = text.match_indices(char::is_whitespace).nth(count).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn has_addressee(prompt: &str, rule: &Range<usize>) -> bool {
    let sentence = sentences(prompt).find(|place| place.contains(&rule.start)).unwrap_or(rule.clone());
    let head = first_words(prompt[sentence].trim_start(), ADDRESSEE_WORDS_MAX);
    let opening = first_words(prompt, ADDRESSEE_WORDS_MAX);
    // "Hi Tom, …": somebody is greeted by name.
    let greets = words(opening).next().is_some_and(|word| is_in(word, &GREETINGS))
        && opening.split_whitespace().nth(1).is_some_and(|name| name.ends_with([',', '!', ':', '.']))
        && !opening.split_whitespace().next().is_some_and(|hi| hi.ends_with(ENDS));
    greets || mentions(head, &ADDRESSEES) || outside(prompt, rule).iter().any(|text| mentions(text, &ADDRESSEES))
}

/// "Best regards, Tom", "-- Tom", "Thanks, Tom".
fn has_signature(prompt: &str) -> bool {
    let last = |mark: char| prompt.rsplit_once(mark).map(|(before, after)| (before.trim(), after.trim()));
    let is_name = |text: &str| (1..=3).contains(&words(text).count());
    let after_closing = last(',').is_some_and(|(before, name)| {
        is_name(name) && words(before).next_back().is_some_and(|word| is_in(word, &CLOSINGS))
    });
    let after_dash = ['—', '–', '~'].into_iter().filter_map(last).any(|(_, name)| is_name(name))
        || prompt.rsplit_once("--").is_some_and(|(_, name)| name.starts_with(' ') && is_name(name))
        || prompt.rsplit_once(" - ").is_some_and(|(_, name)| is_name(name));
    after_closing || after_dash
}

#[cfg(test)]
mod tests;
