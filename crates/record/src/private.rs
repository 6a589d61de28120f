//! Keeps private what the user wants private: files by pattern, whole projects, and text in `<private>…</private>`.
//!
//! Nothing of a private file is stored: not its path, not the names it defines, not the output of a command that was
//! given it. Its path is also removed from prompts and messages, but the kind of file (`.env`) may be mentioned:
//! "never commit .env" is a rule worth keeping. Commands are read as a shell would (`command`). Decides only; it reads no
//! settings.

mod command;

use crate::clean::Cleaner;
use crate::clean::glob::{Glob, PatternEffect, deciding};
use crate::clean::text::{Clean, Keep};
use crate::event::{Event, Note, Task, ToolUse};
use crate::fact::FactKind;

/// Private unless the settings say otherwise.
static PATHS: [(Glob, PatternEffect); 16] = [
    (Glob::of(".env*"), PatternEffect::Include),
    // Templates, which repositories carry: they have names and no values.
    (Glob::of(".env.example"), PatternEffect::Except),
    (Glob::of(".env.sample"), PatternEffect::Except),
    (Glob::of(".env.template"), PatternEffect::Except),
    (Glob::of("*.pem"), PatternEffect::Include),
    (Glob::of("*.key"), PatternEffect::Include),
    (Glob::of("*.p12"), PatternEffect::Include),
    (Glob::of("*.pfx"), PatternEffect::Include),
    (Glob::of("*.kdbx"), PatternEffect::Include),
    (Glob::of("id_rsa*"), PatternEffect::Include),
    (Glob::of("id_ed25519*"), PatternEffect::Include),
    (Glob::of(".netrc"), PatternEffect::Include),
    (Glob::of(".ssh/**"), PatternEffect::Include),
    (Glob::of(".gnupg/**"), PatternEffect::Include),
    (Glob::of(".aws/credentials"), PatternEffect::Include),
    (Glob::of("secrets/**"), PatternEffect::Include),
];

/// What a path that a built-in pattern matches contains.
const SPELLED: [&str; 13] = [
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".kdbx",
    ".netrc",
    ".ssh",
    ".gnupg",
    ".aws",
    "id_rsa",
    "id_ed25519",
    "secrets",
];

/// Replaces a private path.
const MARK: &str = "[private]";

/// The user's own rules, in addition to [`PATHS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivacyRules {
    /// Patterns and exceptions, in the user's order.
    own_paths: Vec<(Glob, PatternEffect)>,
    /// Absolute paths of private folders.
    projects: Vec<Glob>,
}

/// How a text refers to files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// A command or its output: every path is a real path.
    Exact,
    /// A sentence, which may be about a kind of file.
    Spoken,
}

impl PrivacyRules {
    /// `home` replaces `~`.
    pub fn read(paths: &[String], projects: &[String], home: Option<&str>) -> Result<PrivacyRules, String> {
        let expand = |text: &str| match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            _ => text.to_string(),
        };
        let path = |text: &String| match text.strip_prefix('!') {
            Some(text) => Ok((Glob::parse(&expand(text))?, PatternEffect::Except)),
            None => Ok((Glob::parse(&expand(text))?, PatternEffect::Include)),
        };
        let project = |text: &String| {
            let folder = expand(text);
            match folder.starts_with('/') {
                true => Glob::parse(&folder),
                false => Err(format!("{text:?} is not an absolute path; write it as /home/me/work or ~/work")),
            }
        };
        Ok(PrivacyRules {
            own_paths: paths.iter().map(path).collect::<Result<_, String>>()?,
            projects: projects.iter().map(project).collect::<Result<_, String>>()?,
        })
    }

    /// Must nothing of this folder be stored? `folder` is absolute.
    pub fn is_private_project(&self, folder: &str) -> bool {
        self.projects.iter().any(|glob| glob.matches(folder))
    }

    /// Must nothing of this file be stored? `path` is relative to its project, or absolute.
    pub fn is_private(&self, path: &str) -> bool {
        self.pattern_of(path).is_some()
    }

    fn has_own(&self) -> bool {
        !self.own_paths.is_empty() || !self.projects.is_empty()
    }

    fn pattern_of(&self, path: &str) -> Option<&Glob> {
        if path.starts_with('/')
            && let Some(glob) = self.projects.iter().find(|glob| glob.matches(path))
        {
            return Some(glob);
        }
        // Nearly no path needs to be compared with the built-in patterns.
        let built_in: &[(Glob, PatternEffect)] = if may_be_built_in(path) { &PATHS } else { &[] };
        if built_in.is_empty() && self.own_paths.is_empty() {
            return None;
        }
        let all = built_in.iter().chain(&self.own_paths).map(|(glob, effect)| (glob, *effect));
        deciding(&all.collect::<Vec<_>>(), path)
    }

    /// The event as it may be stored; `None` if it contains nothing private.
    pub fn hide<'a>(&self, cleaner: &Cleaner, event: &Event<'a>) -> Option<Event<'a>> {
        PrivateRemover { privacy_rules: self, cleaner }.event(event)
    }

    /// The words of a text that name a private file, each with its offset.
    fn private_words<'t>(&self, text: &'t str, speech: Speech) -> impl Iterator<Item = (usize, &'t str)> {
        // Most texts contain nothing that a built-in pattern matches, and need not be split into words.
        let text = if self.has_own() || may_be_built_in(text) { text } else { "" };
        words(text).filter(move |(_, word)| {
            // A plain word never matches a built-in pattern.
            let may_be = !self.own_paths.is_empty() || word.bytes().any(|byte| matches!(byte, b'.' | b'_' | b'/'));
            let glob = if may_be { self.pattern_of(word) } else { None };
            glob.is_some_and(|glob| speech == Speech::Exact || !glob.is_named_by(word))
        })
    }
}

/// Whether the path contains one of [`SPELLED`]: one pass over the bytes, without allocation.
fn may_be_built_in(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let is_first = match byte {
            b'.' => true,
            b'i' | b'I' => matches!(bytes.get(at + 1), Some(b'd' | b'D')),
            b's' | b'S' => matches!(bytes.get(at + 1), Some(b'e' | b'E')),
            _ => false,
        };
        let begins =
            |word: &&str| bytes[at..].get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()));
        is_first && SPELLED.iter().any(begins)
    })
}

/// Hides private parts of an event. The remaining text is cleaned again.
struct PrivateRemover<'w> {
    privacy_rules: &'w PrivacyRules,
    cleaner: &'w Cleaner,
}

impl PrivateRemover<'_> {
    fn event<'a>(&self, event: &Event<'a>) -> Option<Event<'a>> {
        let spoken = |text: &Clean<'a>, keep| self.text(text, keep, Speech::Spoken);
        Some(match event {
            Event::Tool(used) => self.tool(used)?,
            Event::Prompt { text } => Event::Prompt { text: spoken(text, Keep::PROMPT)? },
            Event::Title { text, is_users } => Event::Title { text: spoken(text, Keep::SUBJECT)?, is_users: *is_users },
            Event::Stop { message } => Event::Stop { message: spoken(message, Keep::MESSAGE)? },
            Event::SubagentStop { message } => Event::SubagentStop { message: spoken(message, Keep::MESSAGE)? },
            Event::Compact { stage, summary: Some(summary) } => {
                Event::Compact { stage: *stage, summary: Some(spoken(summary, Keep::MESSAGE)?) }
            }
            Event::Task(task) => Event::Task(self.task(task)?),
            Event::Note(note) => Event::Note(self.note(note)?),
            Event::Quote(quotation) => {
                let mut kept = quotation.clone();
                kept.text = spoken(&quotation.text, Keep::PROMPT).unwrap_or(kept.text);
                replace(&mut kept.why, |text| spoken(text, Keep::SUBJECT));
                return (kept != *quotation).then_some(Event::Quote(kept));
            }
            Event::AgentNotes { text } => Event::AgentNotes { text: spoken(text, Keep::NOTES)? },
            // The file has become private since: nothing of it is needed.
            Event::Named(named) if self.privacy_rules.is_private(&named.path) => Event::Pulse,
            Event::Recover(recovery) => {
                let mut kept = recovery.clone();
                for text in kept.actions.iter_mut().chain(&mut kept.in_flight) {
                    if let Some(hidden) = self.text(text, Keep::SUBJECT, Speech::Exact) {
                        *text = hidden;
                    }
                }
                return (kept != *recovery).then_some(Event::Recover(kept));
            }
            Event::Seed(codes) => {
                let mut kept = codes.clone();
                kept.retain(|code| spoken(code, Keep::SUBJECT).is_none());
                kept.summary = kept.summary.map(|text| spoken(&text, Keep::MESSAGE).unwrap_or(text));
                return (kept != *codes).then_some(Event::Seed(kept));
            }
            _ => return None,
        })
    }

    fn tool<'a>(&self, used: &ToolUse<'a>) -> Option<Event<'a>> {
        // In a private folder, any word may name a private file.
        if used.folder.as_deref().is_some_and(|folder| self.privacy_rules.is_private(&format!("{folder}/x"))) {
            return Some(Event::Pulse);
        }
        let touches = used.files.iter().any(|file| self.privacy_rules.is_private(&file.path));
        let command = used.command.as_ref().and_then(|text| self.command(text));
        if !touches && command.is_none() && !self.is_mentioned(used) {
            return None;
        }
        let mut kept = ToolUse { failure: None, ..used.clone() };
        if touches || command.is_some() {
            kept.files.retain(|file| !self.privacy_rules.is_private(&file.path));
            // It is unknown which names and which output belong to the private file.
            kept.names.clear();
            (kept.error, kept.output) = (None, None);
            kept.command = command.or(kept.command);
        }
        if touches && kept.files.is_empty() && kept.command.is_none() {
            return Some(Event::Pulse);
        }
        for (text, keep) in [(&mut kept.error, Keep::OUTPUT), (&mut kept.output, Keep::OUTPUT)] {
            replace(text, |text| self.text(text, keep, Speech::Exact));
        }
        replace(&mut kept.plan, |text| self.text(text, Keep::MESSAGE, Speech::Spoken));
        for (asked, given) in &mut kept.answers {
            for text in [asked, given] {
                if let Some(hidden) = self.text(text, Keep::SUBJECT, Speech::Spoken) {
                    *text = hidden;
                }
            }
        }
        for task in kept.todos.iter_mut().flatten().chain(&mut kept.task).chain(&mut kept.tasks) {
            if let Some(hidden) = self.task(task) {
                *task = hidden;
            }
        }
        Some(Event::Tool(kept))
    }

    /// Does any output, question or plan name a private file?
    fn is_mentioned(&self, used: &ToolUse) -> bool {
        let names = |text: &Clean, speech| self.privacy_rules.private_words(text, speech).next().is_some();
        let tasks =
            used.todos.iter().flatten().chain(&used.task).chain(&used.tasks).filter_map(|task| task.subject.as_ref());
        let answers = used.answers.iter().flat_map(|(asked, given)| [asked, given]);
        used.error.iter().chain(&used.output).any(|text| names(text, Speech::Exact))
            || used.plan.iter().chain(answers).chain(tasks).any(|text| names(text, Speech::Spoken))
    }

    fn task<'a>(&self, task: &Task<'a>) -> Option<Task<'a>> {
        let subject = self.text(task.subject.as_ref()?, Keep::SUBJECT, Speech::Spoken)?;
        Some(Task { subject: Some(subject), ..task.clone() })
    }

    fn note<'a>(&self, note: &Note<'a>) -> Option<Note<'a>> {
        let speech = if note.kind == FactKind::File { Speech::Exact } else { Speech::Spoken };
        let mut kept = note.clone();
        kept.text = self.text(&note.text, Keep::SUBJECT, speech).unwrap_or(kept.text);
        replace(&mut kept.why, |text| self.text(text, Keep::SUBJECT, Speech::Spoken));
        (kept != *note).then_some(kept)
    }

    /// The command with the names of private files hidden; `None` if it has nothing to do with any.
    fn command<'a>(&self, command: &str) -> Option<Clean<'a>> {
        let found = self.privacy_rules.in_command(command);
        let mut out = String::new();
        let mut kept = 0;
        for range in &found.words {
            out.push_str(&command[kept..range.start]);
            out.push_str(MARK);
            kept = range.end;
        }
        out.push_str(&command[kept..]);
        // Words that only a text shows: in comments, in arguments that are text themselves.
        let by_words = self.text(&out, Keep::COMMAND, Speech::Exact);
        by_words.or_else(|| found.is_private.then(|| self.cleaner.clean(out, Keep::COMMAND)))
    }

    /// The text with the paths of private files hidden; `None` if it names none.
    fn text<'a>(&self, text: &str, keep: Keep, speech: Speech) -> Option<Clean<'a>> {
        let mut out = String::new();
        let mut kept = 0;
        for (start, word) in self.privacy_rules.private_words(text, speech) {
            out.push_str(&text[kept..start]);
            out.push_str(MARK);
            kept = start + word.len();
        }
        if kept == 0 {
            return None;
        }
        out.push_str(&text[kept..]);
        Some(self.cleaner.clean(out, keep))
    }
}

fn replace<'a>(text: &mut Option<Clean<'a>>, hide: impl Fn(&Clean<'a>) -> Option<Clean<'a>>) {
    if let Some(hidden) = text.as_ref().and_then(hide) {
        *text = Some(hidden);
    }
}

/// The words of a text that may be paths, each with its offset. Punctuation at the end of a sentence is not part of a
/// path.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            let end = word_end(text, start);
            at = end + text[end..].chars().next().map_or(0, char::len_utf8);
            let word = text[start..end].trim_end_matches('.');
            if !word.is_empty() {
                return Some((start, word));
            }
        }
        None
    })
}

/// Where the word ends that begins at `start` or goes on there.
fn word_end(text: &str, start: usize) -> usize {
    let mut at = start;
    for &byte in &text.as_bytes()[start..] {
        let is_end = match byte {
            0..0x80 => WORD_ENDS[usize::from(byte)],
            // The first byte of a longer character.
            0xc0.. => text[at..].starts_with(char::is_whitespace),
            _ => false,
        };
        if is_end {
            return at;
        }
        at += 1;
    }
    at
}

/// The characters of ASCII that end a word.
static WORD_ENDS: [bool; 128] = {
    let (mut table, mut at) = ([false; 128], 0);
    let ends = b"'\"`()[]{}<>,:;=|&@!? \t\n\x0b\x0c\r";
    while at < ends.len() {
        table[ends[at] as usize] = true;
        at += 1;
    }
    table
};

pub mod projects;
#[cfg(test)]
mod tests;
