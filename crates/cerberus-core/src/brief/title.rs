//! The title of a session: what its agent or its user called it, or its first real request made short.
//!
//! A greeting, an answer ("yes, go on"), a bare slash command and pasted text are no requests. Pure; the view stores
//! what these functions return and chooses by [`Rank`].

use super::stopped;
use crate::agents;
use crate::clean::text;

/// A title fits into one line of a list.
pub const TITLE_CHARS_MAX: usize = 60;
/// Fewer words do not say what a session was about.
const REQUEST_WORDS_MIN: usize = 2;
/// Japanese and Chinese have no blanks; this many characters count as a word.
const CHARS_PER_WORD: usize = 3;
/// How many changed files a title names.
const FILES_MAX: usize = 2;

/// Where a title comes from, best first. The view stores the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The user named the session in the agent.
    User = 0,
    Agent = 1,
    Request = 2,
    /// A prompt that is no request, used if nothing else is known.
    Prompt = 3,
}

impl Rank {
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// Words that open a prompt without being part of the request.
const OPENINGS: [&str; 16] = [
    "hi", "hey", "hello", "hallo", "ok", "okay", "so", "well", "now", "please", "pls", "thanks", "yo", "alright",
    "great", "bitte",
];

/// Phrases in front of what is wanted.
const LEADS: [&str; 12] = [
    "can you please ",
    "could you please ",
    "would you please ",
    "can you ",
    "could you ",
    "would you ",
    "i want you to ",
    "i would like you to ",
    "i'd like you to ",
    "i need you to ",
    "let's ",
    "lets ",
];

/// Politeness at the end.
const TAILS: [&str; 4] = [" please", " pls", " thanks", " thank you"];

/// Whole sentences that answer the agent or keep it going.
const ANSWERS: [&str; 34] = [
    "yes",
    "no",
    "y",
    "n",
    "ok",
    "okay",
    "sure",
    "go",
    "go on",
    "go ahead",
    "continue",
    "proceed",
    "keep going",
    "carry on",
    "do it",
    "try again",
    "retry",
    "again",
    "next",
    "stop",
    "thanks",
    "thank you",
    "good morning",
    "good evening",
    "how are you",
    "hello there",
    "hi there",
    "are you there",
    "test",
    "yes please",
    "yes go ahead",
    "sounds good",
    "looks good",
    "lgtm",
];

/// The agent's or the user's own title, as one line; `None` if nothing is left of it.
pub fn given(title: &str) -> Option<String> {
    shortened(title)
}

/// The title that a prompt gives its session, and how good it is; `None` if it says nothing.
pub fn of_prompt(prompt: &str) -> Option<(Rank, String)> {
    let asked = stopped::request(prompt);
    let sentences = asked.lines().flat_map(sentences);
    if let Some(title) = sentences.filter_map(request).find_map(|sentence| shortened(&sentence)) {
        return Some((Rank::Request, title));
    }
    let first = prompt.lines().map(str::trim).find(|line| !line.is_empty())?;
    shortened(first).map(|title| (Rank::Prompt, title))
}

/// The title of a session without a request: `changed a.rs, b.rs and 3 more`.
pub fn of_files(paths: &[String]) -> Option<String> {
    let names: Vec<&str> = paths.iter().take(FILES_MAX).map(|path| super::base(path)).collect();
    let more = paths.len().saturating_sub(FILES_MAX);
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => shortened(&format!("changed {}", names.join(", "))),
        (false, more) => shortened(&format!("changed {} and {more} more", names.join(", "))),
    }
}

/// The sentences of a line. A full stop inside a name does not end one.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim().trim_start_matches(['#', '-', '*', '>', ' ']);
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let is_end = |(at, c): (usize, char)| match c {
            '.' | '!' | '?' | ';' | ':' => rest[at + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace),
            '。' | '！' | '？' => true,
            _ => false,
        };
        let end = rest.char_indices().find(|at| is_end(*at)).map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

/// What a sentence asks for, without greeting and politeness; `None` if it asks for nothing.
fn request(sentence: &str) -> Option<String> {
    let mut words = sentence.trim();
    loop {
        let end = words.find(|c: char| !c.is_alphanumeric() && c != '\'').unwrap_or(words.len());
        let first = words[..end].to_lowercase();
        let is_opening = OPENINGS.contains(&first.as_str()) || agents::ALL.iter().any(|agent| agent.program == first);
        let after = words[end..].trim_start_matches([',', '!', ' ', '.', '-', '—', ':']);
        if !is_opening || after.len() == words.len() {
            break;
        }
        words = after;
    }
    for lead in LEADS {
        if words.get(..lead.len()).is_some_and(|start| start.eq_ignore_ascii_case(lead)) {
            words = &words[lead.len()..];
            break;
        }
    }
    let words = TAILS.iter().fold(words.trim_end_matches(['.', '!', '?']), |words, tail| {
        words.strip_suffix(tail).map_or(words, |rest| rest.trim_end_matches([',', ' ']))
    });
    let plain: Vec<String> = text::words(words).collect();
    let is_answer = ANSWERS.contains(&plain.join(" ").as_str());
    let is_bare_command = words.starts_with('/') && !words.contains(char::is_whitespace);
    let count = words.split_whitespace().count().max(wide_chars(words) / CHARS_PER_WORD);
    (!is_answer && !is_bare_command && count >= REQUEST_WORDS_MIN).then(|| words.to_string())
}

fn wide_chars(text: &str) -> usize {
    text.chars().filter(|c| *c >= '\u{2e80}').count()
}

/// One line of at most [`TITLE_CHARS_MAX`] characters, cut between words, with a capital letter.
fn shortened(words: &str) -> Option<String> {
    let whole = text::line(words, 4 * TITLE_CHARS_MAX);
    let whole = whole.trim_matches(|c: char| matches!(c, '"' | '“' | '”' | '`' | '*' | '#' | ' '));
    let whole = whole.trim_end_matches(['.', ',', ';', ':', '!', ' ', '。']);
    if !whole.chars().any(char::is_alphanumeric) {
        return None;
    }
    let mut title = whole.to_string();
    if let Some((end, _)) = whole.char_indices().nth(TITLE_CHARS_MAX) {
        // Room for the sign that something is missing.
        let end = whole[..end].char_indices().next_back().map_or(0, |(at, _)| at);
        let is_whole_word = whole[end..].starts_with(' ');
        let cut = whole[..end].rfind(' ').filter(|at| !is_whole_word && *at > end / 2).unwrap_or(end);
        title = format!("{}…", whole[..cut].trim_end_matches([',', ';', ':', '.', ' ', '-', '(']));
    }
    Some(capitalized(&title))
}

/// A name such as `process.go` or `fooBar` keeps its spelling.
fn capitalized(title: &str) -> String {
    let first = title.split_whitespace().next().unwrap_or_default();
    let is_word = first.chars().all(|c| c.is_lowercase() || matches!(c, '\'' | '’' | ',' | '…'));
    let mut chars = title.chars();
    match chars.next() {
        Some(initial) if is_word => initial.to_uppercase().chain(chars).collect(),
        _ => title.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_title_is_the_first_request_made_short() {
        for (prompt, title) in [
            ("fix the race in process.go", "Fix the race in process.go"),
            (
                "Hi Claude! Could you please split proxy.go in three files? Each under 200 lines.",
                "Split proxy.go in three files",
            ),
            ("fix the build, please!", "Fix the build"),
            ("ok, now add retry with jitter to the uploader.", "Add retry with jitter to the uploader"),
            ("hello\n\ninvestigate why CI failed on main: the job is red", "Investigate why CI failed on main"),
            ("process.go has a race, find it", "process.go has a race, find it"),
            ("/review the uploader", "/review the uploader"),
            ("修复登录页面的错误。谢谢", "修复登录页面的错误"),
            (
                "Make the whole thing work with every version of every agent that anybody could ever install here",
                "Make the whole thing work with every version of every agent…",
            ),
            ("why?\nthe test is flaky\n```\nerror: boom\n```", "The test is flaky"),
        ] {
            assert_eq!(of_prompt(prompt), Some((Rank::Request, title.to_string())), "{prompt}");
        }
    }

    #[test]
    fn greetings_answers_and_commands_are_no_requests() {
        for prompt in ["hi", "Hello there!", "yes, go ahead", "continue", "/clear", "ok", "LGTM"] {
            assert!(matches!(of_prompt(prompt), Some((Rank::Prompt, _))), "{prompt}");
        }
        for prompt in ["", " \n ", "...", "???"] {
            assert_eq!(of_prompt(prompt), None, "{prompt:?}");
        }
    }

    #[test]
    fn a_session_without_a_request_is_named_after_its_files() {
        let files = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(of_files(&files(&["src/a.rs", "b.rs"])).as_deref(), Some("Changed a.rs, b.rs"));
        assert_eq!(of_files(&files(&["a", "b", "c", "d"])).as_deref(), Some("Changed a, b and 2 more"));
        assert_eq!(of_files(&[]), None);
    }

    #[test]
    fn a_given_title_is_one_line() {
        assert_eq!(given("\"E2E checkpoint tests\"\n"), Some("E2E checkpoint tests".to_string()));
        assert_eq!(given("\u{1b}[2J  "), Some("[2J".to_string()));
        assert_eq!(given(" \n"), None);
    }

    proptest! {
        #[test]
        fn any_prompt_gives_a_short_line(prompt in "(?s).{0,300}") {
            if let Some((_, title)) = of_prompt(&prompt) {
                prop_assert!(title.chars().count() <= TITLE_CHARS_MAX + 2, "{title}");
                prop_assert!(!title.contains('\n') && !title.trim().is_empty());
            }
        }
    }
}
