//! What of a transcript is new: events that the view does not know, as records. Whoever reads a long transcript passes it
//! on in pieces.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use cerberus_agents::transcripts::{SeenPrompt, Transcript, TranscriptEvent, shared_part};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Forgotten, ForgottenRecord, Location, Record, UntypedPrompts};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::path;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use super::source::{Import, ImportReport, Owner, TakeForgotten, undone_key};
use crate::journal::forgotten::Namer;
use crate::journal::rewrite;
use crate::project::identity;
use crate::project::privacy;
use crate::view::fold::FoldError;
use crate::view::{self, Store};

/// Makes records of the events of one transcript.
pub(super) struct NewRecords<'i> {
    import: &'i Import<'i>,
    store: &'i Store,
    origin: TranscriptOrigin<'i>,
    is_private: bool,
    has_forgotten: bool,
    /// The session whose subagent wrote the transcript.
    parent: Option<Clean<'static>>,
    owner: Owner,
    /// Earlier events of the view have no counterpart in the transcript.
    since: Timestamp,
    sessions: HashMap<String, KnownSession>,
    /// How many prompts were looked at, and where those of them are from that nobody typed.
    prompts: usize,
    sources: HashMap<String, MemorySource>,
    /// The keys of those that are new.
    new_prompts: HashSet<String>,
    report: ImportReport,
}

impl<'i> NewRecords<'i> {
    /// `cwd` is the folder where the session started.
    pub(super) fn new(
        import: &'i Import<'i>,
        store: &'i Store,
        cwd: Option<&str>,
        since: Timestamp,
    ) -> Result<NewRecords<'i>, FoldError> {
        Ok(NewRecords {
            import,
            store,
            origin: TranscriptOrigin::new(cwd.unwrap_or("/"), import),
            is_private: is_private(import, cwd),
            has_forgotten: store.has_forgotten()?,
            parent: None,
            owner: Owner::User,
            since,
            sessions: HashMap::new(),
            prompts: 0,
            sources: HashMap::new(),
            new_prompts: HashSet::new(),
            report: ImportReport::default(),
        })
    }

    pub(super) fn of(self, parent: Option<String>, owner: Owner) -> Self {
        let parent = parent.map(|parent| self.import.home.cleaner().clean(parent, Keep::NAME));
        NewRecords { parent, owner, ..self }
    }

    /// The records of the next events. `prompts` are those that were not passed before.
    pub(super) fn take(
        &mut self,
        mut events: Vec<TranscriptEvent>,
        prompts: &[SeenPrompt],
    ) -> Result<Vec<Record<'static>>, FoldError> {
        if let Some(parent) = &self.parent {
            // The title of a subagent is not the session's.
            events.retain(|told| !matches!(told.event, Event::Title { .. }));
            events.iter_mut().for_each(|told| told.session = parent.clone());
        }
        if self.is_private {
            for told in &events {
                self.known(&told.session)?;
            }
            return Ok(Vec::new());
        }
        if self.has_forgotten {
            events = self.without_forgotten(events)?;
        }
        self.note_sources(prompts);
        let mut untyped: BTreeMap<(String, MemorySource), Vec<Clean<'static>>> = BTreeMap::new();
        let mut records = Vec::new();
        for told in events {
            let known = self.known(&told.session)?;
            known.last_at = known.last_at.max(told.at);
            if known.has(&told) {
                self.report.known_events += 1;
                continue;
            }
            known.is_new = true;
            self.report.new_events += 1;
            if matches!(told.event, Event::Prompt { .. }) {
                if let Some(source) = self.sources.remove(&*told.key) {
                    untyped.entry((told.session.to_string(), source)).or_default().push(told.key.clone());
                }
                self.new_prompts.insert(told.key.to_string());
            }
            records.push(self.origin.record(told));
        }
        for ((session, source), prompts) in untyped {
            let at = self.known(&session)?.last_at;
            records.push(self.origin.untyped(&session, at, UntypedPrompts { source, prompts }));
        }
        Ok(records)
    }

    /// The rest, and what only the end shows.
    pub(super) fn finish(mut self, transcript: Transcript) -> Result<(ImportReport, Vec<Record<'static>>), FoldError> {
        let Transcript { mut events, in_flight, prompts, damaged_lines, shortened_lines, .. } = transcript;
        (self.report.damaged_lines, self.report.shortened_lines) = (damaged_lines, shortened_lines);
        for mut unfinished in in_flight {
            let Some(mut edit) = unfinished.edit.take() else { continue };
            edit.session = self.parent.clone().unwrap_or(edit.session);
            // A hook may have reported its result.
            if !unfinished.is_finished(&self.store.event_keys(self.import.agent, &edit.session)?) {
                events.push(edit);
            }
        }
        let mut records = self.take(events, prompts.get(self.prompts..).unwrap_or_default())?;
        let mut taken_back: BTreeMap<&str, Vec<Clean<'static>>> = BTreeMap::new();
        for seen in prompts.iter().filter(|seen| seen.is_undone) {
            let session = self.parent.as_deref().unwrap_or(&seen.session);
            if self.new_prompts.contains(&*seen.key) || self.stands(session, &seen.key)? {
                taken_back.entry(session).or_default().push(seen.key.clone());
            }
        }
        for (session, prompts) in taken_back {
            let at = self.sessions.get(session).map_or(Timestamp::EPOCH, |known| known.last_at);
            records.push(self.origin.undone(session, at, prompts));
        }
        for (session, known) in &self.sessions {
            // If hooks report on a session, they also report its end.
            if known.is_new && !known.has_hooks {
                records.push(self.origin.ending(session, known.last_at));
            }
        }
        let sessions = self.sessions.len();
        self.report = match self.is_private {
            true => ImportReport { private_sessions: sessions, ..self.report },
            false => ImportReport { sessions, ..self.report },
        };
        Ok((self.report, records))
    }

    /// Whether an import that was interrupted, or was before the user took it back, left this prompt standing.
    fn stands(&self, session: &str, prompt: &str) -> Result<bool, FoldError> {
        let Some(session) = self.store.agent_session(self.import.agent, session, self.import.clock.now)? else {
            return Ok(false);
        };
        Ok(self.store.standing_prompts(&session)?.iter().any(|stands| stands == prompt))
    }

    fn note_sources(&mut self, prompts: &[SeenPrompt]) {
        let others = (self.owner == Owner::Other).then_some(MemorySource::Others);
        let sources = prompts.iter().filter_map(|seen| Some((seen.key.to_string(), others.or(seen.source)?)));
        self.sources.extend(sources);
        self.prompts += prompts.len();
    }

    fn known(&mut self, session: &str) -> Result<&mut KnownSession, FoldError> {
        match self.sessions.entry(session.to_string()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                Ok(entry.insert(KnownSession::load(self.store, self.import.agent, session, self.since)?))
            }
        }
    }

    /// Removes forgotten events. If the user wants them back, keeps them and records that they are no longer forgotten.
    fn without_forgotten(&mut self, mut events: Vec<TranscriptEvent>) -> Result<Vec<TranscriptEvent>, FoldError> {
        let namer = Namer::open(self.import.home)?;
        let agent = self.import.agent.name();
        let sessions: HashSet<String> = events.iter().map(|told| told.session.to_string()).collect();
        let mut forgotten: HashSet<(String, String)> = HashSet::new();
        for session in &sessions {
            let of = events.iter().filter(|told| *told.session == **session);
            let of = of.map(|told| (&*told.key, told.at));
            let keys = self.store.forgotten_events(&namer, agent, session, of)?;
            forgotten.extend(keys.into_iter().map(|key| (session.clone(), key.to_string())));
        }
        if forgotten.is_empty() {
            return Ok(events);
        }
        if self.import.forgotten == TakeForgotten::Yes {
            let record = |(session, key): &(String, String), namer: &Namer| ForgottenRecord {
                record: namer.event(agent, session, key),
                kept: None,
            };
            let records = forgotten.iter().flat_map(|one| namer.all().map(move |namer| record(one, namer)));
            let sessions = forgotten.iter().map(|(session, _)| session).collect::<BTreeSet<_>>().into_iter();
            let sessions = sessions.flat_map(|session| namer.all().map(move |namer| namer.session(agent, session)));
            let alike = forgotten.iter().filter_map(|(session, key)| Some((session, shared_part(key)?)));
            let alike =
                alike.flat_map(|(session, part)| namer.all().map(move |namer| namer.shared(agent, session, part)));
            let sessions = sessions.chain(alike).map(|name| (name, Timestamp::EPOCH)).collect();
            let names = Forgotten { records: records.collect(), sessions, is_taken_back: true, ..Forgotten::default() };
            rewrite::unforget(self.import.home, self.import.clock.wall, names)?;
            return Ok(events);
        }
        let all = events.len();
        let is_kept = |told: &TranscriptEvent| !forgotten.contains(&(told.session.to_string(), told.key.to_string()));
        events.retain(is_kept);
        self.report.forgotten_events += all - events.len();
        Ok(events)
    }
}

/// Whether the session's own folder or the target project is private.
fn is_private(import: &Import, cwd: Option<&str>) -> bool {
    let held = cwd.map(|cwd| identity::locate(Path::new(cwd)));
    held.iter().chain(import.project).any(|located| privacy::permanent_block(import.home, located).is_some())
}

/// What the view knows about a session.
#[derive(Debug)]
struct KnownSession {
    /// As hashes.
    keys: HashSet<u64>,
    /// For events without a unique key, by the shared part of the key: how many the view knows, and how many this
    /// transcript has had so far.
    counted: HashMap<String, (usize, usize)>,
    has_hooks: bool,
    is_new: bool,
    last_at: Timestamp,
}

impl KnownSession {
    fn load(store: &Store, agent: Agent, session: &str, since: Timestamp) -> view::Result<KnownSession> {
        let mut counted: HashMap<String, (usize, usize)> = HashMap::new();
        let mut keys = HashSet::new();
        store.each_event_key(agent, session, |key, at| {
            keys.insert(fnv1a(key.as_bytes()));
            if let Some(shared) = shared_part(key).filter(|_| at >= since) {
                counted.entry(shared.to_string()).or_default().0 += 1;
            }
        })?;
        let has_hooks = store.has_started(agent, session)?;
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
        !self.keys.insert(fnv1a(told.key.as_bytes()))
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
    fn new(cwd: &str, import: &Import<'i>) -> TranscriptOrigin<'i> {
        let cleaner = import.home.cleaner();
        let (agent, by_agent) = (import.agent, import.by_agent);
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

    fn record(&self, told: TranscriptEvent) -> Record<'static> {
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
