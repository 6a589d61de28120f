//! A request and its answer, as they may be quoted.

use cerberus_record::clean::text;
use cerberus_record::id::SessionId;
use cerberus_record::ours::without_ours;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use super::sentences::Sentence;
use crate::said;
use crate::said::typed::{FOREIGN_REST, without_blocks};

/// A request and the message with which the agent finished. In chronological order.
#[derive(Clone, Debug)]
pub struct Turn {
    pub session: SessionId,
    pub at: Timestamp,
    /// The prompt as it was sent; empty if the agent worked without one.
    pub request: String,
    /// Where the prompt is from, if nobody typed it.
    pub sender: Option<MemorySource>,
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
    pub sender: Option<MemorySource>,
    pub reply: Vec<Sentence>,
    /// What its session did. Not packed: it depends on the session's other turns.
    pub part: WorkDone,
}

impl Quotable {
    /// What it would cost to quote all of it.
    pub fn tokens(&self) -> usize {
        self.request.iter().chain(&self.reply).map(|sentence| sentence.tokens).sum()
    }

    pub fn of(turn: &Turn) -> Quotable {
        let mut reply = super::sentences::sentences(&without_ours(&turn.reply));
        reply.retain(|sentence| super::sentences::says_something(&sentence.text));
        Quotable {
            session: turn.session.clone(),
            at: turn.at,
            beginning: text::line(&turn.request, COMPARED_CHARS),
            request: super::sentences::sentences(&request(&turn.request)),
            sender: turn.sender,
            reply,
            part: WorkDone::default(),
        }
    }
}

/// What a session did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkDone {
    /// Nothing but a short question and its answer.
    Idle,
    /// It talked, and maybe looked at something.
    #[default]
    Talk,
    /// It edited, ran or decided something.
    Work,
}

/// So much of a request is compared with those that were cut off.
pub(super) const COMPARED_CHARS: usize = 60;

/// What the person asked for in a prompt, without pasted text. A slash command is its name and arguments, a plan that
/// was handed over the words before it and its title.
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
    let title = shown.lines().find_map(|line| line.trim().strip_prefix("# ")).unwrap_or_default().trim();
    let words = FOREIGN_REST.iter().find(|words| shown.contains(**words)).copied().unwrap_or_default();
    format!("{words} {title}").trim().to_string()
}

/// A request says what it wants at the beginning.
pub(super) const REQUEST_BYTES_MAX: usize = 2_000;

pub(super) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside)
}

/// Sentences in one line, each list with its heading. What does not end like a sentence is separated by a semicolon, the
/// end of a list with a heading by a full stop.
pub(super) fn join<'a>(sentences: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let (mut joined, mut last) = (String::new(), "");
    for (heading, sentence) in sentences {
        if !joined.is_empty() {
            let is_ended = joined.ends_with(['.', '!', '?', ';', ':', '。', '！', '？']);
            let end = if last.is_empty() || last == heading { "; " } else { ". " };
            joined.push_str(if is_ended { " " } else { end });
        }
        if !heading.is_empty() && heading != last {
            joined.push_str(heading);
            joined.push_str(": ");
        }
        joined.push_str(sentence);
        last = heading;
    }
    joined
}
