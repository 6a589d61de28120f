//! A session retold for a model: what the user and the agent said, and what tools did. Bounded; never file contents.
//!
//! Every entry is one line, so that a quotation can be compared with it. What Cerberus itself told the session is left
//! out.

use cerberus_record::clean::text::{clip, clip_front, line};
use cerberus_record::event::{CompactStage, Event, Outcome, ToolUse, Touch};
use cerberus_record::fact::FactKind;
use cerberus_record::kind::EventKind;
use cerberus_record::ours::without_ours;
use cerberus_record::runs::RunVerdict;

use crate::extract::{ExtractedFacts, extract};

/// The longest part of a prompt that is retold, and of a message: its beginning and its end.
const PROMPT_CHARS_MAX: usize = 600;
const MESSAGE_CHARS_MAX: usize = 900;
const TOOL_CHARS_MAX: usize = 200;
/// Of a long text only this much is looked at.
const TEXT_BYTES_MAX: usize = 3_000;
/// The longest digest. Of a longer session, the beginning and the end are told.
pub const DIGEST_BYTES_MAX: usize = 24_000;
const BEGINNING_BYTES: usize = 2_000;

/// One line of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestEntry {
    /// The user or the agent said it, in their own words. The rest may come from the repository.
    pub is_said: bool,
    pub label: &'static str,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    entries: Vec<DigestEntry>,
}

impl Digest {
    /// The digest of these entries, oldest first.
    pub fn of(entries: impl IntoIterator<Item = DigestEntry>) -> Digest {
        let mut kept: Vec<DigestEntry> = Vec::new();
        for entry in entries {
            if !entry.text.is_empty() && kept.last() != Some(&entry) {
                kept.push(entry);
            }
        }
        let mut digest = Digest { entries: kept };
        digest.shorten();
        digest
    }

    /// Removes entries after the beginning until the rest fits.
    fn shorten(&mut self) {
        let cost = |entry: &DigestEntry| entry.label.len() + entry.text.len() + 3;
        let mut total: usize = self.entries.iter().map(cost).sum();
        let mut beginning = 0;
        let first = self.entries.iter().take_while(|entry| {
            beginning += cost(entry);
            beginning <= BEGINNING_BYTES
        });
        let first = first.count();
        let mut removed = 0;
        for entry in &self.entries[first..] {
            if total <= DIGEST_BYTES_MAX {
                break;
            }
            total -= cost(entry);
            removed += 1;
        }
        self.entries.drain(first..first + removed);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One entry per line, each with its speaker.
    pub fn text(&self) -> String {
        self.entries.iter().map(|entry| format!("{}: {}\n", entry.label, entry.text)).collect()
    }

    /// The sentence of an entry that contains these words, whatever the white space.
    pub fn find(&self, quote: &str, said_only: bool) -> Option<&str> {
        let quote = one_line(quote);
        let entries = self.entries.iter().filter(|entry| entry.is_said || !said_only);
        let mut found = entries.filter_map(|entry| Some((&entry.text, entry.text.find(&quote)?)));
        let (text, start) = found.next().filter(|_| !quote.is_empty())?;
        let end = start + quote.len();
        let is_end = |at: &usize| text[..*at].ends_with(['.', '!', '?']);
        let breaks: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).filter(is_end).collect();
        let from = breaks.iter().rev().find(|at| **at < start).map_or(0, |at| at + 1);
        let to = breaks.iter().find(|at| **at >= end).copied().unwrap_or(text.len());
        Some(&text[from..to])
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn said(label: &'static str, text: &str) -> DigestEntry {
    DigestEntry { is_said: true, label, text: line(&one_line(text), MESSAGE_CHARS_MAX + 3) }
}

fn did(text: &str) -> DigestEntry {
    DigestEntry { is_said: false, label: "Tool", text: line(&one_line(text), TOOL_CHARS_MAX) }
}

/// What an event adds to the digest.
pub fn entries(event: &Event) -> Vec<DigestEntry> {
    match event {
        Event::Prompt { text } if EventKind::of(event) == EventKind::Prompt => {
            let text = without_ours(clip(text, TEXT_BYTES_MAX));
            vec![said("User", &line(&one_line(&text), PROMPT_CHARS_MAX))]
        }
        Event::Stop { message } => vec![said("Agent", &both_ends(&without_ours(message)))],
        Event::Compact { stage: CompactStage::After, summary: Some(summary) } => {
            vec![said("Agent", &both_ends(&without_ours(summary)))]
        }
        Event::Tool(used) => tool(used, &extract(event)),
        Event::Note(note) => vec![said("Recorded", &format!("{}: {}", note.kind.word(), &*note.text))],
        Event::Quote(quotation) => vec![said("User", &quotation.text)],
        Event::StopFailure { error } => vec![did(&format!("the turn failed: {}", first_line(error)))],
        _ => Vec::new(),
    }
}

/// The beginning and the end of a message. What remains to be done usually stands at its end.
fn both_ends(message: &str) -> String {
    let text = one_line(message);
    if text.chars().count() <= MESSAGE_CHARS_MAX {
        return text;
    }
    let half = MESSAGE_CHARS_MAX / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = clip_front(&text, half).to_string();
    format!("{head} … {tail}")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Edits, runs, commits, failures, answers and plans. Reading and searching are left out.
fn tool(used: &ToolUse, extracted: &ExtractedFacts) -> Vec<DigestEntry> {
    let mut found = Vec::new();
    let edited = used.files.iter().filter(|file| file.how == Touch::Edited && !file.path.starts_with('/'));
    let edited: Vec<&str> = edited.map(|file| &*file.path).collect();
    if !edited.is_empty() && used.outcome.may_be_done() {
        found.push(did(&format!("edited {}", edited.join(", "))));
    }
    if let Some((command, run)) = &extracted.run {
        let result = match run.verdict {
            RunVerdict::Green => "passed".to_string(),
            RunVerdict::Red => format!(
                "failed: {}",
                run.failed.iter().chain(&run.problems).take(3).cloned().collect::<Vec<_>>().join(", ")
            ),
            RunVerdict::Empty | RunVerdict::Unknown => "ran".to_string(),
        };
        found.push(did(&format!("{} {result}", command.key)));
    } else if used.outcome == Outcome::Failed {
        let error = used.error.as_deref().map(first_line).unwrap_or_default();
        found.push(did(&format!("{} failed: {error}", used.command.as_deref().map_or(&*used.tool, first_line))));
    }
    let commits = extracted.facts.iter().filter(|fact| fact.kind == FactKind::Commit);
    found.extend(commits.map(|fact| did(&format!("committed: {}", fact.text))));
    found.extend(used.answers.iter().map(|(asked, given)| said("User", &format!("{} → {}", &**asked, &**given))));
    found.extend(used.plan.iter().map(|plan| said("Plan", &both_ends(plan))));
    found
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::{Clean, Keep};
    use cerberus_record::event::FileTouch;

    use super::*;

    fn clean(text: &str) -> Clean<'static> {
        BUILT_IN.clean(text.to_string(), Keep::MESSAGE)
    }

    fn of(events: &[Event]) -> Digest {
        Digest::of(events.iter().flat_map(entries))
    }

    #[test]
    fn a_session_is_retold_without_contents_and_without_our_own_lines() {
        let touch = |path: &str, how| FileTouch { path: clean(path), how, lines: Vec::new() };
        let edit = ToolUse {
            tool: clean("Write"),
            files: vec![
                touch("proxy.go", Touch::Edited),
                touch("/home/ada/x", Touch::Edited),
                touch("b.go", Touch::Read),
            ],
            ..ToolUse::default()
        };
        let test = ToolUse {
            tool: clean("Bash"),
            outcome: Outcome::Failed,
            command: Some(clean("go test ./...")),
            output: Some(clean("--- FAIL: TestRace (0.01s)\nFAIL\tx\t0.1s\n")),
            ..ToolUse::default()
        };
        let failed = ToolUse {
            tool: clean("Bash"),
            outcome: Outcome::Failed,
            command: Some(clean("make release")),
            error: Some(clean("make: *** no rule\nsecond line")),
            ..ToolUse::default()
        };
        let digest = of(&[
            Event::Prompt { text: clean("Split the\n  proxy.\nproj:hydra\nnext:fix-the-race") },
            Event::Prompt { text: clean("<task-notification>done</task-notification>") },
            Event::Tool(edit.clone()),
            Event::Tool(edit),
            Event::Tool(test),
            Event::Tool(failed),
            Event::Stop { message: clean("Split it.\n\nThe race is still open.") },
        ]);
        assert_eq!(
            digest.text(),
            "User: Split the proxy.\nTool: edited proxy.go\nTool: go test ./... failed: TestRace\n\
             Tool: make release failed: make: *** no rule\nAgent: Split it. The race is still open.\n"
        );
        assert_eq!(digest.find("race  is\nstill", true), Some("The race is still open."));
        assert_eq!(digest.find("it. The race", true), Some("Split it. The race is still open."));
        assert!(digest.find("failed: TestRace", false).is_some());
        assert_eq!(digest.find("failed: TestRace", true), None, "tools report what the repository says");
        assert_eq!(digest.find("proxy. Tool: edited", false), None, "a quotation does not span entries");
        assert_eq!(digest.find(" ", false), None);
    }

    #[test]
    fn a_long_session_keeps_its_beginning_and_its_end() {
        let turns = (0..400).flat_map(|n| {
            let long = format!("message {n} {} end {n}", "words ".repeat(400));
            [Event::Prompt { text: clean(&format!("request {n}")) }, Event::Stop { message: clean(&long) }]
        });
        let text = of(&turns.collect::<Vec<_>>()).text();
        assert!(text.len() <= DIGEST_BYTES_MAX, "{}", text.len());
        assert!(text.starts_with("User: request 0\n") && text.ends_with("end 399\n"));
        assert!(!text.contains("request 200\n"));
    }
}
