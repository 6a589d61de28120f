//! A parsed transcript, and what the readers of all agents build it with.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::tag::without_private;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome, ToolUse, Touch};
use cerberus_record::id::fnv1a;
use cerberus_record::ours::without_handoff;
use cerberus_record::path;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use super::tools::{self, ToolAnswer, ToolArguments};
use crate::key::prompt_key;

/// More than any session has.
pub(crate) const MESSAGES_MAX: usize = 1_000_000;

/// One event of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptEvent {
    pub at: Timestamp,
    pub key: Clean<'static>,
    pub session: Clean<'static>,
    pub branch: Option<Clean<'static>>,
    pub event: Event<'static>,
}

/// A parsed transcript.
#[derive(Debug, Default)]
pub struct Transcript {
    pub events: Vec<TranscriptEvent>,
    /// The folder where the session started.
    pub cwd: Option<String>,
    /// Tool uses without a result, newest last.
    pub in_flight: Vec<UnfinishedCall>,
    /// Lines that are not JSON.
    pub damaged_lines: usize,
    /// Lines of which long texts were kept in part.
    pub shortened_lines: usize,
    /// Every prompt, in order; also those that the client sent and that are no event.
    pub prompts: Vec<SeenPrompt>,
}

/// A prompt in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenPrompt {
    pub session: Clean<'static>,
    pub key: Clean<'static>,
    /// Where it is from, if nobody typed it.
    pub source: Option<MemorySource>,
    /// The user took it back and went on from before it.
    pub is_undone: bool,
    /// No hook reports it: the user typed it while rejecting a tool use.
    pub is_unreported: bool,
}

/// Who sent a prompt, as its transcript says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A person, or nothing says otherwise.
    Person,
    /// Nobody typed it.
    Untyped(MemorySource),
    /// It is not in the transcript.
    Unseen,
}

/// Who sent each of these prompts, which hooks reported in this order. Prompts with the same text are told apart by
/// their order; hooks that were installed later missed the first ones.
pub fn senders<'k>(reported: &[&'k str], seen: &[SeenPrompt]) -> Vec<(&'k str, Sender)> {
    let sender = |found: Option<&SeenPrompt>| match found.map(|seen| seen.source) {
        Some(None) => Sender::Person,
        Some(Some(source)) => Sender::Untyped(source),
        None => Sender::Unseen,
    };
    matched(reported, seen).into_iter().map(|(key, found)| (key, sender(found))).collect()
}

/// Those of these prompts that the user took back.
pub fn undone<'k>(reported: &[&'k str], seen: &[SeenPrompt]) -> Vec<&'k str> {
    let is_undone = |found: Option<&SeenPrompt>| found.is_some_and(|seen| seen.is_undone);
    matched(reported, seen).into_iter().filter(|(_, found)| is_undone(*found)).map(|(key, _)| key).collect()
}

/// Every reported prompt with its line in the transcript.
fn matched<'k, 's>(reported: &[&'k str], seen: &'s [SeenPrompt]) -> Vec<(&'k str, Option<&'s SeenPrompt>)> {
    let mut all: HashMap<&str, (usize, Vec<&SeenPrompt>)> = HashMap::new();
    for key in reported {
        all.entry(shared_part(key).unwrap_or(key)).or_default().0 += 1;
    }
    for prompt in seen {
        if let Some((_, found)) = all.get_mut(shared_part(&prompt.key).unwrap_or(&prompt.key)) {
            found.push(prompt);
        }
    }
    for (count, found) in all.values_mut() {
        found.drain(..found.len().saturating_sub(*count));
        found.reverse();
    }
    let mut next = |key: &str| all.get_mut(shared_part(key).unwrap_or(key)).and_then(|(_, found)| found.pop());
    reported.iter().map(|key| (*key, next(key))).collect()
}

/// A tool use that has no result in the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedCall {
    /// The key its event would have.
    pub key: String,
    pub began_at: Timestamp,
    pub tool: String,
    /// The command it runs, or the file it touches.
    pub target: Option<String>,
    /// If it edits files or presents a plan: the use, which may have been made.
    pub edit: Option<TranscriptEvent>,
}

impl UnfinishedCall {
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

/// The part of a key that several events may share: prompts with the same text, tool uses with the same arguments.
/// The n-th of them in a transcript is the n-th that the hooks reported, whatever the rest of its key.
pub fn shared_part(key: &str) -> Option<&str> {
    let (shared, _) = key.rsplit_once('-')?;
    let hash = shared.strip_prefix("prompt-").or(shared.strip_prefix("tool-"))?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| &key[..=shared.len()])
}

/// The key of a tool use whose hooks report no id: a hash of the arguments as the agent wrote them in JSON, and
/// `other` to tell equal ones apart.
pub(crate) fn use_key(cleaner: &Cleaner, arguments: &str, other: impl Display) -> Clean<'static> {
    cleaner.clean(format!("tool-{:016x}-{other}", fnv1a(arguments.as_bytes())), Keep::NAME)
}

/// What is kept of a use without a result: the files that it edits, and the plan that it presents. `None` if there is
/// nothing of both.
pub(crate) fn edit_in_flight(used: ToolUse<'static>) -> Option<ToolUse<'static>> {
    let ToolUse { tool, mut files, plan, .. } = used;
    files.retain(|touched| touched.how == Touch::Edited);
    let is_kept = !files.is_empty() || plan.is_some();
    is_kept.then(|| ToolUse { tool, outcome: Outcome::Interrupted, files, plan, ..ToolUse::default() })
}

/// The key of an edit in flight. It differs from the key of the use, which may still be reported.
pub(crate) fn in_flight_key(cleaner: &Cleaner, key: &str) -> Clean<'static> {
    cleaner.clean(format!("in-flight-{key}"), Keep::NAME)
}

/// The event that names a session, and its key. A session may get an earlier title again.
pub(crate) fn titled(
    cleaner: &Cleaner,
    title: String,
    is_users: bool,
    at: Timestamp,
) -> (Clean<'static>, Event<'static>) {
    let key = cleaner.clean(format!("title-{:016x}-{}", fnv1a(title.as_bytes()), at.millis()), Keep::NAME);
    (key, Event::Title { text: cleaner.clean(title, Keep::SUBJECT), is_users })
}

/// Whether the client wrote this text, not the user.
pub(crate) fn is_from_client(words: &str) -> bool {
    // A passage that the user marked as private starts with a tag too.
    let words = without_private(words);
    let words = words.trim_start();
    words.is_empty() || words.starts_with('<') || words.starts_with("# AGENTS.md instructions")
}

/// How the key of a tool use is made.
pub(crate) enum UseKey<'a> {
    /// From the agent's own id, which its hooks report too.
    Id(&'a str),
    /// From the arguments, because the hooks report no id.
    Given { arguments: &'a str, id: &'a str },
}

impl UseKey<'_> {
    fn clean(self, cleaner: &Cleaner) -> Clean<'static> {
        match self {
            UseKey::Id(id) => cleaner.clean(id, Keep::NAME).into_owned(),
            UseKey::Given { arguments, id } => {
                use_key(cleaner, arguments, format_args!("{:016x}", fnv1a(id.as_bytes())))
            }
        }
    }
}

/// Builds a transcript event by event. Time, session, branch and folder carry over to lines that do not set them.
pub(crate) struct TranscriptBuilder<'c> {
    pub(crate) cleaner: &'c Cleaner,
    pub(crate) read: Transcript,
    pub(crate) at: Option<Timestamp>,
    pub(crate) session: Option<String>,
    pub(crate) branch: Option<String>,
    /// The current folder; relative paths start here.
    pub(crate) cwd: Option<String>,
    pub(crate) is_subagent: bool,
    /// Where the next prompts are from, if nobody types them.
    pub(crate) untyped: Option<MemorySource>,
    /// The agent's last message of this turn, its time and its key.
    pub(crate) last_message: Option<(String, Timestamp, String)>,
    /// It used a tool after its last message, so its turn goes on.
    pub(crate) is_at_work: bool,
    /// What the session is called, as far as was read.
    pub(crate) title: Option<String>,
}

impl<'c> TranscriptBuilder<'c> {
    pub(crate) fn new(cleaner: &'c Cleaner) -> TranscriptBuilder<'c> {
        let read = Transcript::default();
        let (at, session, branch, cwd, last_message) = (None, None, None, None, None);
        TranscriptBuilder {
            cleaner,
            read,
            at,
            session,
            branch,
            cwd,
            is_subagent: false,
            untyped: None,
            last_message,
            is_at_work: false,
            title: None,
        }
    }

    /// The agent's own title for the session; the last one counts.
    pub(crate) fn set_title(&mut self, title: Option<Cow<str>>) {
        self.title = title.filter(|title| !title.trim().is_empty()).map(Cow::into_owned).or(self.title.take());
    }

    pub(crate) fn set_time(&mut self, timestamp: Option<Cow<str>>) {
        self.at = timestamp.and_then(|at| Timestamp::parse(&at).ok()).or(self.at);
    }

    /// The first folder is the session's; later ones are where it moved.
    pub(crate) fn set_cwd(&mut self, cwd: Option<Cow<str>>) {
        let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else { return };
        self.read.cwd.get_or_insert_with(|| cwd.to_string());
        self.cwd = Some(cwd.into_owned());
    }

    /// The first one counts.
    pub(crate) fn set_session(&mut self, session: Option<Cow<str>>) {
        self.session = self.session.take().or(session.map(Cow::into_owned));
    }

    pub(crate) fn set_branch(&mut self, branch: Option<Cow<str>>) {
        self.branch = branch.filter(|branch| !branch.is_empty()).map(Cow::into_owned).or(self.branch.take());
    }

    /// `source` tells prompts with the same text apart.
    pub(crate) fn prompt(&mut self, words: Cow<str>, source: &str) {
        if let Some((key, text)) = self.saw_prompt(words, source) {
            self.push(key, Event::Prompt { text });
        }
    }

    /// Notes who sent a prompt, which need not be an event.
    pub(crate) fn saw_prompt(&mut self, words: Cow<str>, source: &str) -> Option<(Clean<'static>, Clean<'static>)> {
        let words = without_handoff(words);
        let is_prompt = !is_from_client(&words);
        // Whatever it looks like, a hook may have reported it as a prompt.
        if self.is_subagent || (!is_prompt && (self.untyped.is_none() || words.trim().is_empty())) {
            return None;
        }
        let text = self.cleaner.clean(words, Keep::PROMPT).into_owned();
        let key = prompt_key(&text, source.as_bytes());
        let session = self.cleaner.clean(self.session.clone()?, Keep::NAME);
        self.read.prompts.push(SeenPrompt {
            session,
            key: key.clone(),
            source: self.untyped,
            is_undone: false,
            is_unreported: false,
        });
        is_prompt.then_some((key, text))
    }

    pub(crate) fn agent_message(&mut self, words: Cow<str>, key: &str) {
        if let Some(at) = self.at.filter(|_| !self.is_subagent && !words.trim().is_empty()) {
            self.last_message = Some((words.into_owned(), at, key.to_string()));
            self.is_at_work = false;
        }
    }

    pub(crate) fn uses_tool(&mut self) {
        self.is_at_work = true;
    }

    /// The end of the transcript. A message before a tool use announces it; a turn that ended there was cut off.
    pub(crate) fn finish(&mut self) {
        if !self.is_at_work {
            self.finish_turn();
        }
        if let Some((title, at)) = self.title.take().filter(|_| !self.is_subagent).zip(self.at) {
            let (key, event) = titled(self.cleaner, title, false, at);
            self.push_at(at, key, event);
        }
    }

    /// The agent's last message ends its turn.
    pub(crate) fn finish_turn(&mut self) {
        if let Some((words, at, key)) = self.last_message.take() {
            let message = self.cleaner.clean(words, Keep::MESSAGE);
            let key = self.cleaner.clean(format!("stop-{key}"), Keep::NAME);
            self.push_at(at, key, Event::Stop { message });
        }
    }

    pub(crate) fn tool(&mut self, key: UseKey, mut used: ToolUse<'static>) {
        if let Some(cwd) = self.cwd.as_deref() {
            tools::resolve_paths(self.cleaner, &mut used, cwd);
        }
        // The folder of the session is known.
        used.folder.take_if(|folder| Some(&**folder) == self.read.cwd.as_deref());
        self.push(key.clean(self.cleaner), Event::Tool(used));
    }

    pub(crate) fn compacted(&mut self, summary: Cow<str>, key: &str) {
        let summary = self.cleaner.clean(summary, Keep::MESSAGE).into_owned();
        let summary = Some(summary).filter(|summary| !summary.trim().is_empty());
        let event = Event::Compact { stage: CompactStage::After, summary };
        self.push(self.cleaner.clean(format!("compact-{key}"), Keep::NAME), event);
    }

    /// A tool use that has no result, and when it began.
    pub(crate) fn in_flight(&mut self, key: UseKey, began_at: Option<Timestamp>, tool: &str, given: &ToolArguments) {
        let key = key.clean(self.cleaner).to_string();
        let edit = edit_in_flight(tools::tool_use(self.cleaner, tool, given, &ToolAnswer::default()));
        let edit = edit.zip(began_at).zip(self.session.clone()).map(|((mut used, at), session)| {
            if let Some(cwd) = self.cwd.as_deref() {
                tools::resolve_paths(self.cleaner, &mut used, cwd);
            }
            let session = self.cleaner.clean(session, Keep::NAME);
            let branch = self.branch.as_deref().map(|branch| self.cleaner.clean(branch.to_string(), Keep::NAME));
            let key = in_flight_key(self.cleaner, &key);
            TranscriptEvent { at, key, session, branch, event: Event::Tool(used) }
        });
        let (began_at, tool) = (began_at.unwrap_or(Timestamp::EPOCH), tool.to_string());
        let target = given.target(&tool);
        self.read.in_flight.push(UnfinishedCall { key, began_at, tool, target, edit });
    }

    pub(crate) fn push(&mut self, key: Clean<'static>, event: Event<'static>) {
        if let Some(at) = self.at {
            self.push_at(at, key, event);
        }
    }

    pub(crate) fn push_at(&mut self, at: Timestamp, key: Clean<'static>, event: Event<'static>) {
        let Some(session) = self.session.clone().filter(|session| !session.is_empty()) else { return };
        let session = self.cleaner.clean(session, Keep::NAME);
        let branch = self.branch.clone().map(|branch| self.cleaner.clean(branch, Keep::NAME));
        self.read.events.push(TranscriptEvent { at, key, session, branch, event });
    }
}
