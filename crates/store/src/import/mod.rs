//! Import: transcripts become the same records that hooks would have written.
//!
//! Importing twice equals importing once, even if hooks captured the same session: events that the view already knows
//! are not written again. A damaged line is skipped; the rest is imported.

pub mod ending;
pub mod files;
pub mod place;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::install::Profile;
use cerberus_agents::install::transcripts::{Database, PathHints, TranscriptDatabaseError};
use cerberus_agents::transcripts::{self, Transcript, TranscriptEvent, shared_part};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::platform;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Forgotten, ForgottenRecord, Location, Record, UntypedPrompts};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::path;
use cerberus_record::source::{MemorySource, is_others};
use cerberus_record::time::Timestamp;

use crate::journal;
use crate::journal::forgotten::Namer;
use crate::journal::rewrite;
use crate::project::identity::{self, Located};
use crate::project::privacy;
use crate::view::fold::FoldError;
use crate::view::{self, Store};

/// How much earlier than the agent's own timestamp a hook may have reported an event.
const HOOK_LEAD_MAX: Duration = Duration::from_secs(2);

/// How long to wait for an agent's locked database.
const BUSY: Duration = Duration::from_millis(1_500);

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("{0}")]
    Database(#[from] TranscriptDatabaseError),
    #[error(transparent)]
    Fold(#[from] FoldError),
}

impl ImportError {
    /// Whether only this file failed, so that the import can go on with the next one.
    pub fn is_file_error(&self) -> bool {
        !matches!(self, ImportError::Fold(_))
    }
}

/// The result of importing one transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    pub sessions: usize,
    pub new_events: usize,
    pub known_events: usize,
    pub damaged_lines: usize,
    /// Sessions of private or opted-out projects, which were skipped.
    pub private_sessions: usize,
    /// Events that were forgotten earlier, and therefore skipped.
    pub forgotten_events: usize,
}

impl ImportReport {
    pub fn add(&mut self, other: ImportReport) {
        self.sessions += other.sessions;
        self.new_events += other.new_events;
        self.known_events += other.known_events;
        self.damaged_lines += other.damaged_lines;
        self.private_sessions += other.private_sessions;
        self.forgotten_events += other.forgotten_events;
    }
}

/// The source and the destination of an import.
pub struct Import<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub agent: Agent,
    /// If set, the transcript's own folder is mapped to this project.
    pub project: Option<&'a Located>,
    pub forgotten: TakeForgotten,
    /// An agent runs the import: it may have written the transcript itself.
    pub by_agent: bool,
    /// The user who imports, as a number; `None` if files are the user's, whoever owns them.
    pub user: Option<u32>,
}

/// Whether an import restores forgotten events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeForgotten {
    No,
    /// The user wants them back.
    Yes,
}

/// Whose transcript it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    Other,
}

impl Import<'_> {
    /// Journals what is new in a file, which is a transcript or a database of sessions.
    pub fn file(&self, store: &Store, path: &Path) -> Result<ImportReport, ImportError> {
        let kept = Profile::of(self.agent).and_then(|profile| profile.transcripts);
        let owner = if self.is_others(path) { Owner::Other } else { Owner::User };
        let is_database = path.extension().is_some_and(|ending| ending == "db");
        if let Some(open) = kept.and_then(|kept| kept.open).filter(|_| is_database) {
            return self.database(store, &*open(path, BUSY)?, owner);
        }
        let bytes = files::read(path)?;
        let hints = kept.map_or_else(PathHints::default, |kept| (kept.path_hints)(path));
        Ok(self.transcript(store, &bytes, hints, owner)?)
    }

    /// Whether the file, or the home that it is in, is another person's.
    fn is_others(&self, path: &Path) -> bool {
        let path = platform::real_path(path).unwrap_or_else(|_| path.to_path_buf());
        let home = platform::home_around(&path).and_then(|home| platform::owner(&home));
        is_others(self.user, platform::owner(&path), home)
    }

    fn database(&self, store: &Store, theirs: &dyn Database, owner: Owner) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::default();
        for session in theirs.sessions()? {
            let exported = theirs.export(&session)?;
            report.add(self.transcript(store, &exported.json, PathHints::default(), owner)?);
            report.damaged_lines += exported.damaged_rows;
        }
        Ok(report)
    }

    fn transcript(
        &self,
        store: &Store,
        bytes: &[u8],
        hints: PathHints,
        owner: Owner,
    ) -> Result<ImportReport, FoldError> {
        let mut transcript = transcripts::read(self.home.cleaner(), self.agent, bytes).unwrap_or_default();
        transcript.cwd = hints.cwd.map(Into::into).or(transcript.cwd);
        if let Some(parent) = hints.parent {
            let parent = self.home.cleaner().clean(parent, Keep::NAME);
            let edits = transcript.in_flight.iter_mut().filter_map(|unfinished| unfinished.edit.as_mut());
            edits.for_each(|edit| edit.session = parent.clone());
            // The title of a subagent is not the session's.
            transcript.events.retain(|told| !matches!(told.event, Event::Title { .. }));
            transcript.events.iter_mut().for_each(|told| told.session = parent.clone());
        }
        if owner == Owner::Other {
            transcript.prompts.iter_mut().for_each(|seen| seen.source = Some(MemorySource::Others));
        }
        self.read(store, transcript)
    }

    /// Journals what is new in a parsed transcript.
    pub fn read(&self, store: &Store, transcript: Transcript) -> Result<ImportReport, FoldError> {
        let (report, records) = self.new_records(store, transcript, true)?;
        journal::append_all(self.home, self.clock.wall, &records)?;
        Ok(report)
    }

    /// The records of what is new in a parsed transcript, which may be only the end of one.
    pub fn new_records<'t>(
        &self,
        store: &Store,
        transcript: Transcript<'t>,
        is_whole: bool,
    ) -> Result<(ImportReport, Vec<Record<'t>>), FoldError> {
        let first = transcript.events.first().map(|told| told.at.minus(HOOK_LEAD_MAX));
        new_records(self, store, transcript, first.filter(|_| !is_whole).unwrap_or(Timestamp::EPOCH))
    }
}

/// `since` is where the transcript begins: earlier events of the view have no counterpart in it.
fn new_records<'t>(
    import: &Import,
    store: &Store,
    transcript: Transcript<'t>,
    since: Timestamp,
) -> Result<(ImportReport, Vec<Record<'t>>), FoldError> {
    let mut report = ImportReport { damaged_lines: transcript.damaged_lines, ..ImportReport::default() };
    if is_private(import, &transcript) {
        let sessions: HashSet<&str> = transcript.events.iter().map(|told| &*told.session).collect();
        return Ok((ImportReport { private_sessions: sessions.len(), ..report }, Vec::new()));
    }
    let origin = TranscriptOrigin::of(&transcript, import);
    let transcript = with_edits_in_flight(import.agent, store, transcript)?;
    let transcript = match store.has_forgotten()? {
        true => without_forgotten(import, store, transcript, &mut report)?,
        false => transcript,
    };
    let seen = transcript.prompts.iter().filter_map(|seen| Some((seen.key.to_string(), seen.source?)));
    let sources: HashMap<String, MemorySource> = seen.collect();
    let mut untyped: BTreeMap<(String, MemorySource), Vec<Clean<'t>>> = BTreeMap::new();
    let undone_keys: HashSet<String> =
        transcript.prompts.iter().filter(|seen| seen.is_undone).map(|seen| seen.key.to_string()).collect();
    let mut taken_back: BTreeMap<String, Vec<Clean<'t>>> = BTreeMap::new();
    let mut sessions: HashMap<String, KnownSession> = HashMap::new();
    let mut records = Vec::new();
    for told in transcript.events {
        let known = match sessions.entry(told.session.to_string()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(KnownSession::load(store, import.agent, &told.session, since)?)
            }
        };
        known.last_at = known.last_at.max(told.at);
        if known.has(&told) {
            report.known_events += 1;
            continue;
        }
        known.is_new = true;
        report.new_events += 1;
        if let Some(source) = sources.get(&*told.key) {
            untyped.entry((told.session.to_string(), *source)).or_default().push(told.key.clone());
        }
        if undone_keys.contains(&*told.key) {
            taken_back.entry(told.session.to_string()).or_default().push(told.key.clone());
        }
        records.push(origin.record(told));
    }
    for ((session, source), prompts) in untyped {
        let at = sessions.get(&session).map_or(Timestamp::EPOCH, |known| known.last_at);
        records.push(origin.untyped(&session, at, UntypedPrompts { source, prompts }));
    }
    records.extend(taken_back.into_iter().map(|(session, prompts)| {
        let at = sessions.get(&session).map_or(Timestamp::EPOCH, |known| known.last_at);
        origin.undone(&session, at, prompts)
    }));
    for (session, known) in &sessions {
        // If hooks report on a session, they also report its end.
        if known.is_new && !known.has_hooks {
            records.push(origin.ending(session, known.last_at));
        }
    }
    report.sessions = sessions.len();
    Ok((report, records))
}

/// The key of a record that takes these prompts back.
pub fn undone_key<'a>(prompts: impl Iterator<Item = &'a str>) -> String {
    format!("undone-{:016x}", fnv1a(prompts.collect::<Vec<_>>().join("\n").as_bytes()))
}

/// Adds the edits that have no result in the transcript, unless a hook reported their result.
fn with_edits_in_flight<'a>(
    agent: Agent,
    store: &Store,
    mut transcript: Transcript<'a>,
) -> Result<Transcript<'a>, FoldError> {
    for unfinished in std::mem::take(&mut transcript.in_flight) {
        let Some(edit) = &unfinished.edit else { continue };
        if !unfinished.is_finished(&store.event_keys(agent, &edit.session)?) {
            transcript.events.extend(unfinished.edit);
        }
    }
    Ok(transcript)
}

/// Removes forgotten events from the transcript. If the user wants them back, keeps them and records that they are no
/// longer forgotten.
fn without_forgotten<'a>(
    import: &Import,
    store: &Store,
    mut transcript: Transcript<'a>,
    report: &mut ImportReport,
) -> Result<Transcript<'a>, FoldError> {
    let namer = Namer::open(import.home)?;
    let agent = import.agent.name();
    let sessions: HashSet<String> = transcript.events.iter().map(|told| told.session.to_string()).collect();
    let mut forgotten: HashSet<(String, String)> = HashSet::new();
    for session in &sessions {
        let events = transcript.events.iter().filter(|told| *told.session == **session);
        let events = events.map(|told| (&*told.key, told.at));
        let keys = store.forgotten_events(&namer, agent, session, events)?;
        forgotten.extend(keys.into_iter().map(|key| (session.clone(), key.to_string())));
    }
    if forgotten.is_empty() {
        return Ok(transcript);
    }
    if import.forgotten == TakeForgotten::Yes {
        let record = |(session, key): &(String, String), namer: &Namer| ForgottenRecord {
            record: namer.event(agent, session, key),
            kept: None,
        };
        let records = forgotten.iter().flat_map(|one| namer.all().map(move |namer| record(one, namer)));
        let sessions = forgotten.iter().map(|(session, _)| session).collect::<BTreeSet<_>>().into_iter();
        let sessions = sessions.flat_map(|session| namer.all().map(move |namer| namer.session(agent, session)));
        let alike = forgotten.iter().filter_map(|(session, key)| Some((session, shared_part(key)?)));
        let alike = alike.flat_map(|(session, part)| namer.all().map(move |namer| namer.shared(agent, session, part)));
        let sessions = sessions.chain(alike).map(|name| (name, Timestamp::EPOCH)).collect();
        let names = Forgotten { records: records.collect(), sessions, is_taken_back: true };
        rewrite::unforget(import.home, import.clock.wall, names)?;
        return Ok(transcript);
    }
    let all = transcript.events.len();
    let is_kept = |told: &TranscriptEvent| !forgotten.contains(&(told.session.to_string(), told.key.to_string()));
    transcript.events.retain(is_kept);
    report.forgotten_events = all - transcript.events.len();
    Ok(transcript)
}

/// Whether the session's own folder or the target project is private.
fn is_private(import: &Import, transcript: &Transcript) -> bool {
    let held = transcript.cwd.as_deref().map(|cwd| identity::locate(Path::new(cwd)));
    held.iter().chain(import.project).any(|located| privacy::permanent_block(import.home, located).is_some())
}

/// What the view knows about a session.
#[derive(Debug)]
struct KnownSession {
    keys: HashSet<String>,
    /// For events without a unique key, by the shared part of the key: how many the view knows, and how many this
    /// transcript has had so far.
    counted: HashMap<String, (usize, usize)>,
    has_hooks: bool,
    is_new: bool,
    last_at: Timestamp,
}

impl KnownSession {
    fn load(store: &Store, agent: Agent, session: &str, since: Timestamp) -> view::Result<KnownSession> {
        let events = store.event_keys(agent, session)?;
        let mut counted: HashMap<String, (usize, usize)> = HashMap::new();
        for shared in events.iter().filter(|(_, at)| **at >= since).filter_map(|(key, _)| shared_part(key)) {
            counted.entry(shared.to_string()).or_default().0 += 1;
        }
        let has_hooks = store.has_started(agent, session)?;
        let keys = events.into_keys().collect();
        Ok(KnownSession { keys, counted, has_hooks, is_new: false, last_at: Timestamp::EPOCH })
    }

    /// Whether the view already has this event. Events that a hook could not identify have different keys there; they
    /// are matched by count.
    fn has(&mut self, told: &TranscriptEvent) -> bool {
        if let Some(shared) = shared_part(&told.key) {
            let (known, met) = self.counted.entry(shared.to_string()).or_default();
            *met += 1;
            return met <= known;
        }
        !self.keys.insert(told.key.to_string())
    }
}

/// Where a transcript's session ran.
struct TranscriptOrigin<'i> {
    cleaner: &'i Cleaner,
    agent: Agent,
    by_agent: bool,
    location: Location<'static>,
    /// The project root as the transcript spells it.
    root: String,
}

impl<'i> TranscriptOrigin<'i> {
    fn of(transcript: &Transcript, import: &Import<'i>) -> TranscriptOrigin<'i> {
        let cleaner = import.home.cleaner();
        let (agent, by_agent) = (import.agent, import.by_agent);
        let cwd = transcript.cwd.as_deref().unwrap_or("/");
        match import.project {
            Some(located) => TranscriptOrigin {
                cleaner,
                agent,
                by_agent,
                location: located.location(cleaner),
                root: cwd.to_string(),
            },
            None => {
                let located = identity::locate(Path::new(cwd));
                TranscriptOrigin {
                    cleaner,
                    agent,
                    by_agent,
                    location: located.location(cleaner),
                    root: located.root.to_string_lossy().into_owned(),
                }
            }
        }
    }

    fn record<'a>(&self, told: TranscriptEvent<'a>) -> Record<'a> {
        let TranscriptEvent { at, key, session, branch, mut event } = told;
        if let Event::Tool(used) = &mut event {
            for touched in &mut used.files {
                if let Some(inside) = path::below(&self.root, &touched.path) {
                    touched.path = self.cleaner.clean(inside, Keep::NAME);
                }
            }
        }
        let location = Location { branch, ..self.location.clone() };
        Record {
            at,
            key,
            agent: self.agent,
            imported: true,
            heard_by: None,
            by_agent: self.by_agent,
            origin: None,
            session,
            location,
            event,
        }
    }

    fn ending(&self, session: &str, at: Timestamp) -> Record<'static> {
        let event = Event::End { reason: Clean::word("import") };
        self.own(session, at, format!("import-end-{}", at.millis()), event)
    }

    /// Which prompts nobody typed.
    fn untyped<'a>(&self, session: &str, at: Timestamp, found: UntypedPrompts<'a>) -> Record<'a> {
        let keys: Vec<&str> = found.prompts.iter().map(|key| &**key).collect();
        let key = format!("untyped-{:016x}", fnv1a(keys.join("\n").as_bytes()));
        self.own(session, at, key, Event::Untyped(found))
    }

    /// Which prompts the user took back.
    fn undone<'a>(&self, session: &str, at: Timestamp, prompts: Vec<Clean<'a>>) -> Record<'a> {
        let key = undone_key(prompts.iter().map(|key| &**key));
        self.own(session, at, key, Event::Undone { prompts })
    }

    fn own<'a>(&self, session: &str, at: Timestamp, key: String, event: Event<'a>) -> Record<'a> {
        Record {
            at,
            key: self.cleaner.clean(key, Keep::NAME),
            agent: self.agent,
            imported: true,
            heard_by: None,
            by_agent: self.by_agent,
            origin: None,
            session: self.cleaner.clean(session.to_string(), Keep::NAME),
            // What is checked out now says nothing about the session.
            location: Location { branch: None, ..self.location.clone() },
            event,
        }
    }
}
