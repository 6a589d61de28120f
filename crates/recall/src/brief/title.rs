//! The title of a session says what it did: what its agent or its user called it, the heading of the plan it was given,
//! its first request that names something, its first commit, how its agent summed it up, its files.
//!
//! A greeting, an answer ("yes, go on"), a bare slash command and pasted text are no requests; a session that has
//! nothing else goes on with the one before it. Pure; the view stores what these functions return with its [`Rank`] and
//! chooses when it is read.

use cerberus_record::clean::text;
use cerberus_record::id::Agent;
use cerberus_text::outline;

use super::stopped;
use crate::extract;

/// What is longer does not help to tell sessions apart. Lists cut titles to the room that they have.
pub const TITLE_CHARS_MAX: usize = 120;
/// Fewer words do not say what a session was about.
const REQUEST_WORDS_MIN: usize = 2;
/// So many words that name something make a request of the first sentence,
const NAMING_WORDS_MIN: usize = 2;
/// and so many of a later one, or of what the agent says.
const NAMING_LATER_MIN: usize = 3;
/// A request that names something is near the beginning of a prompt.
const SENTENCES_MAX: usize = 6;
/// Japanese and Chinese have no blanks; this many characters count as a word.
const CHARS_PER_WORD: usize = 3;
/// How many changed files a title names.
const FILES_MAX: usize = 2;
/// Follows the title of the session that this one goes on with.
const CONTINUED: &str = " (continued)";

/// Where a title comes from, best first. The view stores the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The user named the session in the agent.
    User = 0,
    Agent = 1,
    Request = 2,
    /// A request that names too little: "fix this issue".
    Vague = 3,
    /// A prompt that is no request.
    Prompt = 4,
}

impl Rank {
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// Greetings, and other words that open a prompt without being part of the request.
const OPENINGS: &str = "good morning|good afternoon|good evening|hi there|hey there|hello there|hi|hey|hello|yo|ok|okay|so|\
    well|now|please|pls|plz|thanks|alright|great|guten morgen|guten tag|moin|hallo|bitte|hola|buenos días|\
    buenas|por favor|olá|oi|bom dia|bonjour|salut|ciao|buongiorno|cześć|dzień dobry|привет|добрый день|\
    こんにちは|おはよう|你好|您好|안녕하세요|안녕";

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

/// A short sentence with one of these keeps the agent going, or greets it. Answers ("yes, go ahead") are known by
/// [`extract::is_bare_answer`].
const GOING_ON: &str = "left off|keep going|carry on|try again|how are you|are you there|where were we|mach weiter|\
    weitermachen|aufgehört|lo dejamos|quedamos|onde paramos|eravamo rimasti|étions arrêtés|où on en était|\
    skończyliśmy|остановились|続けて|続きから|前回の続き|接着做|继续上次|继续|이어서|계속해";
/// A longer one says with what.
const GOING_ON_WORDS_MAX: usize = 8;

/// The agent's or the user's own title, as one line; `None` if nothing is left of it.
pub fn given(title: &str) -> Option<String> {
    shortened(title)
}

/// The title that a prompt gives its session, and how good it is; `None` if it says nothing.
pub fn of_prompt(agent: Agent, prompt: &str) -> Option<(Rank, String)> {
    if let Some(title) = stopped::heading(prompt).and_then(|heading| shortened(&heading)) {
        return Some((Rank::Request, title));
    }
    let asked = stopped::request(prompt);
    let requests: Vec<&str> =
        asked.lines().flat_map(sentences).filter_map(|sentence| request(agent, sentence)).take(SENTENCES_MAX).collect();
    let is_naming = |(at, request): &(usize, &&str)| {
        extract::content_words(request) >= if *at == 0 { NAMING_WORDS_MIN } else { NAMING_LATER_MIN }
    };
    let (rank, chosen) = match requests.iter().enumerate().find(is_naming) {
        Some((_, naming)) => (Rank::Request, Some(naming)),
        None => (Rank::Vague, requests.first()),
    };
    if let Some(title) = chosen.and_then(|request| shortened(request)) {
        return Some((rank, title));
    }
    let first = prompt.lines().map(str::trim).find(|line| !line.is_empty())?;
    shortened(first).map(|title| (Rank::Prompt, title))
}

/// The title of a session without a request that says more than this one, by the fact of its first commit.
pub fn of_commit(fact: &str) -> Option<String> {
    let (hash, subject) = fact.split_once(' ')?;
    let is_hash = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    shortened(if is_hash { subject } else { fact })
}

/// The title by what the agent said when it finished: its first sentence that names something.
pub fn of_reply(message: &str) -> Option<String> {
    let is_naming = |sentence: &str| extract::content_words(sentence) >= NAMING_LATER_MIN;
    let says = |sentence: &String| is_naming(sentence) && !outline::is_offer(sentence);
    stopped::sentences_of(message).find(says).and_then(|sentence| shortened(&sentence))
}

/// The title by files: `changed a.rs, b.rs and 3 more`.
pub fn of_files(paths: &[String]) -> Option<String> {
    let names: Vec<&str> = paths.iter().take(FILES_MAX).map(|path| super::base(path)).collect();
    let more = paths.len().saturating_sub(FILES_MAX);
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => shortened(&format!("changed {}", names.join(", "))),
        (false, more) => shortened(&format!("changed {} and {more} more", names.join(", "))),
    }
}

/// The title of a session that goes on with the one of this title.
pub fn of_continued(title: &str) -> String {
    format!("{}{CONTINUED}", title.strip_suffix(CONTINUED).unwrap_or(title))
}

/// The sentences of a line. A full stop inside a name does not end one; a colon does after a word that names what
/// follows ("Goal: …") and at the end of the line.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim().trim_start_matches(['#', '-', '*', '>', ' ']);
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let is_end = |(at, c): (usize, char)| match c {
            '.' | '!' | '?' | ';' => rest[at + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace),
            ':' => rest[at + 1..].starts_with(' ') && !rest[..at].contains(' '),
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
fn request(agent: Agent, sentence: &str) -> Option<&str> {
    let mut words = sentence.trim();
    while let Some(after) = without_opening(agent, words) {
        words = after;
    }
    for lead in LEADS {
        if words.get(..lead.len()).is_some_and(|start| start.eq_ignore_ascii_case(lead)) {
            words = &words[lead.len()..];
            break;
        }
    }
    let words = TAILS.iter().fold(words.trim_end_matches(['.', '!', '?', ':']), |words, tail| {
        words.strip_suffix(tail).map_or(words, |rest| rest.trim_end_matches([',', ' ']))
    });
    let is_bare_command = words.starts_with('/') && !words.contains(char::is_whitespace);
    let count = words.split_whitespace().count().max(wide_chars(words) / CHARS_PER_WORD);
    let is_going_on = count <= GOING_ON_WORDS_MAX && {
        let lower = words.to_lowercase();
        GOING_ON.split('|').any(|phrase| lower.contains(phrase)) || extract::is_bare_answer(words)
    };
    (!is_going_on && !is_bare_command && count >= REQUEST_WORDS_MIN).then_some(words)
}

/// What follows a greeting or the name of the agent at the beginning of a sentence.
fn without_opening(agent: Agent, words: &str) -> Option<&str> {
    let after = |opening: &str| {
        let start = words.char_indices().nth(opening.chars().count()).map_or(words.len(), |(at, _)| at);
        let (first, rest) = words.split_at(start);
        (!opening.is_empty() && first.to_lowercase() == opening).then_some(rest)
    };
    let is_apart =
        |rest: &&str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '/' | '_'));
    // Claude Code is called Claude.
    let called = agent.name().split('-').next().unwrap_or_default();
    // `claude mcp list` is a command.
    let is_called = |rest: &&str| rest.is_empty() || rest.starts_with([',', '!', '.', ':', '-', '—']);
    let opened = OPENINGS.split('|').find_map(|opening| after(opening).filter(is_apart));
    let rest = opened.or_else(|| after(called).filter(is_called))?;
    Some(rest.trim_start_matches([',', '!', ' ', '.', '-', '—', ':', '、', '，', '！', '。']))
}

fn wide_chars(text: &str) -> usize {
    text.chars().filter(|c| *c >= '\u{2e80}').count()
}

/// One line of at most [`TITLE_CHARS_MAX`] characters, cut between words, with a capital letter.
fn shortened(words: &str) -> Option<String> {
    let whole = text::line(words, 4 * TITLE_CHARS_MAX);
    let whole = whole.trim_matches(|c: char| matches!(c, '*' | '#' | ' '));
    let whole = whole.trim_end_matches(['.', ',', ';', ':', '!', ' ', '。']);
    let quoted = [('"', '"'), ('“', '”'), ('`', '`')].into_iter().find_map(|(open, close)| {
        let inside = whole.strip_prefix(open)?.strip_suffix(close)?;
        (!inside.contains([open, close])).then_some(inside)
    });
    let whole = quoted.unwrap_or(whole);
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

    const AGENT: Agent = Agent::new("claude-code");
    use proptest::prelude::*;

    #[test]
    fn a_title_is_the_first_request_made_short() {
        for (prompt, title) in [
            ("fix the race in process.go", "Fix the race in process.go"),
            (
                "Hi Claude! Could you please split proxy.go in three files? Each under 200 lines.",
                "Split proxy.go in three files",
            ),
            ("ok, now add retry with jitter to the uploader.", "Add retry with jitter to the uploader"),
            ("hello\n\ninvestigate why CI failed on main: it is red", "Investigate why CI failed on main: it is red"),
            ("Goal: make the uploader faster", "Make the uploader faster"),
            ("process.go has a race, find it", "process.go has a race, find it"),
            ("claude mcp list fails in this folder", "Claude mcp list fails in this folder"),
            ("/review the uploader protocol", "/review the uploader protocol"),
            ("修复登录页面的错误。谢谢", "修复登录页面的错误"),
            (
                "Look at this. Fix this issue.\nThe uploader loses the last part when the network is slow",
                "The uploader loses the last part when the network is slow",
            ),
            ("Review pr 227 for me", "Review pr 227 for me"),
        ] {
            assert_eq!(of_prompt(AGENT, prompt), Some((Rank::Request, title.to_string())), "{prompt}");
        }
        let long = format!("Make the whole thing work with {}", "every version of every agent ".repeat(9));
        let (_, title) = of_prompt(AGENT, &long).unwrap();
        assert!(title.ends_with("every agent…") && title.chars().count() > 100, "{title}");
    }

    #[test]
    fn a_plan_is_called_by_its_heading() {
        for (prompt, title) in [
            (
                "Implement the following plan:\n\n# Plan: Add a limiter to the API\n\n## Context\nMore",
                "Add a limiter to the API",
            ),
            ("Implement this plan:\n# Fix: Frontend floods the backend\ntext", "Fix: Frontend floods the backend"),
            ("Setze diesen Plan um:\n\n## Plan\n\n### Suche beschleunigen\n- a", "Suche beschleunigen"),
            ("# Phase 2: Expression tree\n\nDo it.", "Phase 2: Expression tree"),
            ("Implement the following plan:\n\n# Plan : Refonte du score\n", "Refonte du score"),
        ] {
            assert_eq!(of_prompt(AGENT, prompt), Some((Rank::Request, title.to_string())), "{prompt}");
        }
        let asked = "Split the onboarding in three slices.\n\n## Slice 1\nThe key";
        assert_eq!(
            of_prompt(AGENT, asked).unwrap().1,
            "Split the onboarding in three slices",
            "the words of the user come first"
        );
    }

    #[test]
    fn a_request_that_names_nothing_is_vague() {
        for (prompt, title) in [
            ("fix the build, please!", "Fix the build"),
            ("why?\nthe test is flaky\n```\nerror: boom\n```", "The test is flaky"),
            ("Take a look at this", "Take a look at this"),
            ("commit and push all changes", "Commit and push all changes"),
        ] {
            assert_eq!(of_prompt(AGENT, prompt), Some((Rank::Vague, title.to_string())), "{prompt}");
        }
    }

    #[test]
    fn greetings_answers_and_commands_are_no_requests() {
        for prompt in [
            "hi",
            "Hello there!",
            "Good morning, Claude",
            "Guten Morgen!",
            "yes, go ahead",
            "continue",
            "pick up where we left off",
            "weiter",
            "続けて",
            "继续",
            "/clear",
            "ok",
            "LGTM",
        ] {
            assert!(
                matches!(of_prompt(AGENT, prompt), Some((Rank::Prompt, _))),
                "{prompt}: {:?}",
                of_prompt(AGENT, prompt)
            );
        }
        for prompt in ["", " \n ", "...", "???"] {
            assert_eq!(of_prompt(AGENT, prompt), None, "{prompt:?}");
        }
        let long = "pick up where we left off with the uploader: the retries still need a jitter";
        assert_eq!(of_prompt(AGENT, long).unwrap().0, Rank::Request, "it says with what");
    }

    #[test]
    fn a_session_may_be_called_by_what_came_of_it() {
        assert_eq!(of_commit("3f2a1bc ci: pin bun").as_deref(), Some("ci: pin bun"));
        assert_eq!(of_commit("fix the race").as_deref(), Some("Fix the race"));
        let message =
            "Done!\n\n## Summary\nThe uploader now retries with jitter. Should I add a test for the uploader?";
        assert_eq!(of_reply(message).as_deref(), Some("The uploader now retries with jitter"));
        assert_eq!(of_reply("Review complete. All good!"), None);
        assert_eq!(of_continued("Fix the race"), "Fix the race (continued)");
        assert_eq!(of_continued(&of_continued("Fix the race")), "Fix the race (continued)");
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
        assert_eq!(given("Create `limits.md`."), Some("Create `limits.md`".to_string()));
        assert_eq!(given("\u{1b}[2J  "), Some("[2J".to_string()));
        assert_eq!(given(" \n"), None);
    }

    proptest! {
        #[test]
        fn any_prompt_gives_a_short_line(prompt in "(?s).{0,300}") {
            if let Some((_, title)) = of_prompt(AGENT, &prompt) {
                prop_assert!(title.chars().count() <= TITLE_CHARS_MAX + 2, "{title}");
                prop_assert!(!title.contains('\n') && !title.trim().is_empty());
            }
        }
    }
}
