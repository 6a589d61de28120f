//! Sessions as the agents wrote them down themselves, read back as the events that their hooks report.
//!
//! One file an agent, each with a `read` that never fails: what is damaged is counted, what is unknown is skipped, a
//! text that the client put into the user's mouth is no prompt. What a subagent did belongs to the session that
//! started it; what it was told and what it answered does not. Nothing here looks at a disk.

#[cfg(test)]
mod tests;
pub mod tools;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;

use self::tools::Arguments;
use crate::agents;
use crate::agents::key::prompt_key;
use crate::clean::Cleaner;
use crate::clean::tag::without_private;
use crate::clean::text::{Clean, Keep};
use crate::extract::injected::without_handoff;
use crate::model::event::{CompactStage, Event, ToolUse};
use crate::model::id::{Agent, fnv1a};
use crate::model::path;
use crate::model::time::Timestamp;

/// More than any session has.
pub(crate) const MESSAGES_MAX: usize = 1_000_000;

/// One event of a transcript.
#[derive(Debug, PartialEq)]
pub struct Told<'a> {
    pub at: Timestamp,
    pub key: Clean<'a>,
    pub session: Clean<'a>,
    pub branch: Option<Clean<'a>>,
    pub event: Event<'a>,
}

/// A whole transcript, read.
#[derive(Debug, Default)]
pub struct Transcript<'a> {
    pub events: Vec<Told<'a>>,
    /// The folder the session began in.
    pub cwd: Option<Cow<'a, str>>,
    /// Tool uses without a result, newest last.
    pub in_flight: Vec<Unfinished>,
    /// Lines that are no JSON.
    pub damaged_lines: usize,
}

/// A tool use that has no result in the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The key its event would have.
    pub key: String,
    pub began_at: Timestamp,
    pub tool: String,
    /// The command it runs, or the file it touches.
    pub target: Option<String>,
}

impl Unfinished {
    /// A transcript lags behind the hooks: `known` holds the keys of the session's events, and when they happened.
    pub fn is_finished(&self, known: &HashMap<String, Timestamp>) -> bool {
        match shared_part(&self.key) {
            Some(shared) => known.iter().any(|(key, at)| key.starts_with(shared) && *at >= self.began_at),
            None => known.contains_key(&self.key),
        }
    }

    /// `Bash: cargo test`; a file of the project is named by its path below `root`.
    pub fn shown(&self, root: &str) -> String {
        let Some(target) = &self.target else { return self.tool.clone() };
        let inside = target.starts_with('/').then(|| path::below(root, target)).flatten();
        format!("{}: {}", self.tool, inside.as_deref().unwrap_or(target))
    }
}

/// Reads a transcript of `agent`; `None` when we know of none that it writes.
pub fn read<'a>(cleaner: &'a Cleaner, agent: Agent, bytes: &'a [u8]) -> Option<Transcript<'a>> {
    agents::profile(agent)?.transcript.map(|read| read(cleaner, bytes))
}

/// The part of a key that others may share: prompts of the same words, tool uses that were given the same. The n-th of
/// them in a transcript is the n-th that was heard, whatever the rest of its key.
pub fn shared_part(key: &str) -> Option<&str> {
    let (shared, _) = key.rsplit_once('-')?;
    let hash = shared.strip_prefix("prompt-").or(shared.strip_prefix("tool-"))?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| &key[..=shared.len()])
}

/// The key of a tool use whose id the hooks do not give: what it was given, as the agent wrote it in JSON, and what
/// tells it from others of the same.
pub(crate) fn use_key(cleaner: &Cleaner, arguments: &str, other: impl Display) -> Clean<'static> {
    cleaner.clean(format!("tool-{:016x}-{other}", fnv1a(arguments.as_bytes())), Keep::NAME)
}

/// Whether the client, not the user, wrote these words.
pub(crate) fn is_machine(words: &str) -> bool {
    // What the user keeps private stands in a tag too.
    let words = without_private(words);
    let words = words.trim_start();
    words.is_empty() || words.starts_with('<') || words.starts_with("# AGENTS.md instructions")
}

/// Lines of JSON, each on its own; `take` gets what could be read, the rest is counted.
pub(crate) fn each_line<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8], mut take: impl FnMut(T)) -> usize {
    let mut damaged_lines = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice(line) {
            Ok(line) => take(line),
            Err(_) => damaged_lines += 1,
        }
    }
    damaged_lines
}

/// The key under which a tool use is known.
pub(crate) enum UseKey<'a> {
    /// The agent's own id, which its hooks give too.
    Id(Cow<'a, str>),
    /// Its hooks give none, only what it was given.
    Given { arguments: &'a str, id: Cow<'a, str> },
}

impl<'a> UseKey<'a> {
    fn clean(self, cleaner: &Cleaner) -> Clean<'a> {
        match self {
            UseKey::Id(id) => cleaner.clean(id, Keep::NAME),
            UseKey::Given { arguments, id } => {
                use_key(cleaner, arguments, format_args!("{:016x}", fnv1a(id.as_bytes())))
            }
        }
    }
}

/// Writes a transcript event by event. Where a line stands is carried on to lines that do not say.
pub(crate) struct Scribe<'a> {
    pub(crate) cleaner: &'a Cleaner,
    pub(crate) read: Transcript<'a>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) session: Option<Cow<'a, str>>,
    pub(crate) branch: Option<Cow<'a, str>>,
    /// Where commands run now; relative paths begin there.
    pub(crate) cwd: Option<Cow<'a, str>>,
    pub(crate) is_subagent: bool,
    /// The agent's last words of this turn, when it said them, and their key.
    pub(crate) last_words: Option<(Cow<'a, str>, Timestamp, Cow<'a, str>)>,
    /// It used a tool after its last words, so its turn goes on.
    pub(crate) is_at_work: bool,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(cleaner: &'a Cleaner) -> Scribe<'a> {
        let read = Transcript::default();
        let (at, session, branch, cwd, last_words) = (None, None, None, None, None);
        Scribe { cleaner, read, at, session, branch, cwd, is_subagent: false, last_words, is_at_work: false }
    }

    pub(crate) fn stands_at(&mut self, timestamp: Option<Cow<'a, str>>) {
        self.at = timestamp.and_then(|at| Timestamp::parse(&at).ok()).or(self.at);
    }

    /// The first folder is the session's, later ones are where it went.
    pub(crate) fn stands_in(&mut self, cwd: Option<Cow<'a, str>>) {
        let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else { return };
        self.read.cwd.get_or_insert_with(|| cwd.clone());
        self.cwd = Some(cwd);
    }

    pub(crate) fn on_branch(&mut self, branch: Option<Cow<'a, str>>) {
        self.branch = branch.filter(|branch| !branch.is_empty()).or(self.branch.take());
    }

    /// `source` tells this prompt from others of the same words.
    pub(crate) fn prompt(&mut self, words: Cow<'a, str>, source: &str) {
        let words = without_handoff(words);
        if self.is_subagent || is_machine(&words) {
            return;
        }
        let text = self.cleaner.clean(words, Keep::PROMPT);
        self.push(prompt_key(&text, source.as_bytes()), Event::Prompt { text });
    }

    pub(crate) fn says(&mut self, words: Cow<'a, str>, key: Cow<'a, str>) {
        if let Some(at) = self.at.filter(|_| !self.is_subagent && !words.trim().is_empty()) {
            self.last_words = Some((words, at, key));
            self.is_at_work = false;
        }
    }

    pub(crate) fn uses_tool(&mut self) {
        self.is_at_work = true;
    }

    /// The end of the transcript. Words before a tool use announce it: a turn that ended there was cut off.
    pub(crate) fn finish(&mut self) {
        if !self.is_at_work {
            self.finish_turn();
        }
    }

    /// The agent's last words are what it ended its turn with.
    pub(crate) fn finish_turn(&mut self) {
        if let Some((words, at, key)) = self.last_words.take() {
            let message = self.cleaner.clean(words, Keep::MESSAGE);
            let key = self.cleaner.clean(format!("stop-{key}"), Keep::NAME);
            self.push_at(at, key, Event::Stop { message });
        }
    }

    pub(crate) fn tool(&mut self, key: UseKey<'a>, mut used: ToolUse<'static>) {
        if let Some(cwd) = self.cwd.as_deref() {
            tools::stands_in(self.cleaner, &mut used, cwd);
        }
        self.push(key.clean(self.cleaner), Event::Tool(used));
    }

    pub(crate) fn compacted(&mut self, summary: Cow<'a, str>, key: &str) {
        let summary = Some(self.cleaner.clean(summary, Keep::MESSAGE)).filter(|summary| !summary.trim().is_empty());
        let event = Event::Compact { stage: CompactStage::After, summary };
        self.push(self.cleaner.clean(format!("compact-{key}"), Keep::NAME), event);
    }

    /// A tool use that has no result, and when it began.
    pub(crate) fn in_flight(&mut self, key: UseKey<'a>, began_at: Option<Timestamp>, tool: &str, given: &Arguments) {
        self.read.in_flight.push(Unfinished {
            key: key.clean(self.cleaner).to_string(),
            began_at: began_at.unwrap_or(Timestamp::EPOCH),
            tool: tool.to_string(),
            target: given.target(tool),
        });
    }

    pub(crate) fn push(&mut self, key: Clean<'a>, event: Event<'a>) {
        if let Some(at) = self.at {
            self.push_at(at, key, event);
        }
    }

    pub(crate) fn push_at(&mut self, at: Timestamp, key: Clean<'a>, event: Event<'a>) {
        let Some(session) = self.session.clone().filter(|session| !session.is_empty()) else { return };
        let session = self.cleaner.clean(session, Keep::NAME);
        let branch = self.branch.clone().map(|branch| self.cleaner.clean(branch, Keep::NAME));
        self.read.events.push(Told { at, key, session, branch, event });
    }
}
