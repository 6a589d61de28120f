//! The brief, whatever was said and whatever files are called: within its budget, one harmless code a line.

use std::borrow::Cow;

use cerberus_recall::brief::AlreadyKnown;
use cerberus_recall::brief::stopped::{Quotable, Turn};
use cerberus_recall::brief::{Brief, BriefRequest, CHARS_MAX, KnownFact, Likely, PromptPosition, compose, on_prompt};
use cerberus_recall::extract::extract;
use cerberus_recall::extract::functions;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Keep, code, name};
use cerberus_record::event::Event;
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;
use cerberus_store::project::git;
use cerberus_text::tokens;

use super::{Check, holds};

/// What a line of a brief may begin with.
const PREFIXES: [&str; 14] = [
    "proj:", "last:", "asked:", "said:", "git:", "impl:", "see:", "dec:", "block:", "next:", "goal:", "note:", "rule:",
    "pref:",
];

pub fn brief() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        let facts: Vec<KnownFact> = facts(&text).into_iter().enumerate().map(known).collect();
        let budget_tokens = 50 + input.len() % 1_000;
        let request = BriefRequest {
            project: text.lines().next().unwrap_or_default(),
            facts: &facts,
            settlements: &[],
            likely: &Likely::default(),
            now: Timestamp::LAST,
            budget_tokens,
            chars_max: CHARS_MAX,
            prompt: Some(&text),
            memories: &[],
            known: None,
            turns: &turns(&text),
            live: &[],
            worked: &[],
        };
        told(&compose(&request), budget_tokens)?;
        told(&on_prompt(&request, &text, PromptPosition::First, &AlreadyKnown::default()), budget_tokens)
    }))
}

/// The text as a conversation.
fn turns(text: &str) -> Vec<Quotable> {
    let turn = |session: &str, request: &str, reply: &str| {
        let session = SessionId::new(session);
        let (request, reply) = (request.to_string(), reply.to_string());
        Quotable::of(&Turn { session, at: Timestamp::EPOCH, request, sender: None, reply })
    };
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    vec![turn("a", text, first), turn("b", first, text), turn("b", rest, rest)]
}

/// Everything that one text can become, in every place where it may stand.
fn facts(text: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    let clean = |keep| BUILT_IN.clean(text, keep);
    for event in [
        Event::Prompt { text: clean(Keep::PROMPT) },
        Event::Stop { message: clean(Keep::MESSAGE) },
        Event::Compact { stage: cerberus_record::event::CompactStage::After, summary: Some(clean(Keep::MESSAGE)) },
    ] {
        facts.extend(extract(&event).facts);
    }
    for line in text.lines().take(20) {
        facts.extend([
            Fact::file(FactKind::File, line),
            Fact::file(FactKind::Read, line),
            Fact::function(line, Some(line)),
        ]);
        facts.extend([FactKind::Next, FactKind::Note, FactKind::Objective].map(|kind| Fact::words(kind, line)));
        facts.extend([Fact::decision(line, Some(text)), Fact::blocker(line, Some(text))]);
    }
    facts
}

fn known((place, fact): (usize, Fact)) -> KnownFact {
    let at = Timestamp::from_millis(place as i64 * 1_000);
    KnownFact { fact, session: SessionId::new("20260122-133514"), at, event: place as i64 }
}

fn told(brief: &Brief, budget_tokens: usize) -> Result<(), String> {
    holds(tokens::estimate(&brief.text) <= budget_tokens, "a brief keeps its budget", brief.tokens)?;
    holds(brief.text.chars().count() <= CHARS_MAX, "a brief keeps the host's cap", brief.text.len())?;
    for line in brief.text.lines() {
        let is_harmless = matches!(name(line), Cow::Borrowed(_)) && code(line) == line;
        holds(is_harmless, "a line of a brief is harmless", line)?;
        holds(PREFIXES.iter().any(|prefix| line.starts_with(prefix)), "a line of a brief is a code", line)?;
    }
    holds(
        brief.text.split('\n').count() == brief.text.lines().count().max(1),
        "a brief has no other lines",
        &brief.text,
    )
}

pub fn functions() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let source = String::from_utf8_lossy(input);
        for line in 0..50 {
            let Some(function) = functions::around(&source, line) else { continue };
            holds(matches!(name(function), Cow::Borrowed(_)), "a name holds nothing hostile", function)?;
            let at = functions::line_of(&source, function);
            holds(at.is_none_or(|at| functions::around(&source, at) == Some(function)), "a line is right", function)?;
        }
        Ok(())
    }))
}

pub fn git_log() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let printed = String::from_utf8_lossy(input).replace('\n', "\0").replace("commit", "\u{1}");
        git::commits(&printed, Timestamp::LAST);
        Ok(())
    }))
}
