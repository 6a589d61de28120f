//! Forgetting: removes records from the journal, or replaces them with what remains, and rebuilds the view without
//! them, including its free pages and logs.
//!
//! Only what the user asked for is forgotten, and it does not come back (`journal/rewrite.rs`). `cerberus-recall` decides
//! which records are meant.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;

use cerberus_agents::install::wiring;
use cerberus_os::clock::Clock;
use cerberus_os::failures::{self, Failure};
use cerberus_os::fault;
use cerberus_os::home::Home;
use cerberus_recall::brief::base;
use cerberus_recall::forget::{ForgetRequest, NewerRecord, Paths, RecordAction, Residue};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::glob::Glob;
use cerberus_record::clean::text::{Clean, Keep, without_words};
use cerberus_record::event::{Event, Record};
use cerberus_record::id::{Agent, MemoryId, ProjectId};
use cerberus_record::kind::EventKind;
use cerberus_record::memory::{Evidence, MemoryStatus};
use cerberus_record::time::Timestamp;

use crate::capability::Capabilities;
use crate::journal::forgotten::Namer;
use crate::journal::rewrite::{self, LineChange, Rewrite};
use crate::journal::{self, JournalError, JournalLine, LinePosition};
use crate::sessions::legacy;
use crate::view::fold::{self, FoldError};
use crate::view::{self, MemoryRow, SessionRow, Store};

/// What a request matches, and how much that is.
#[derive(Debug, Default)]
pub struct ForgetMatches {
    /// Sessions that lose a record.
    pub sessions: usize,
    pub records: usize,
    /// Records that lose some of their text.
    pub rewritten: usize,
    /// Of the removed records, those that a newer version wrote.
    pub of_newer_version: usize,
    /// Records of a newer version that cannot be judged; they are kept.
    pub unreadable: usize,
    pub memories: Vec<MemoryId>,
    /// Checkpoints of loops, which the caller removes.
    pub checkpoints: usize,
    /// Conversations that lose something, which the caller counts.
    pub conversations: usize,
}

/// A request to forget these sessions and everything they left.
pub fn of_sessions(sessions: &[SessionRow]) -> ForgetRequest {
    ForgetRequest::Sessions(names(sessions))
}

/// A request to remove these sessions for their age. What was learned from them is kept.
pub fn of_expired(sessions: &[SessionRow]) -> ForgetRequest {
    ForgetRequest::Expired(names(sessions))
}

fn names(sessions: &[SessionRow]) -> HashSet<(Agent, String)> {
    let name = |session: &SessionRow| Some((Agent::from_name(&session.agent)?, session.agent_session_id.clone()));
    sessions.iter().filter_map(name).collect()
}

/// A request to forget files of a project, and what was said about them.
pub fn of_paths(store: &Store, projects: &[ProjectId], glob: Glob) -> view::Result<ForgetRequest> {
    let (meant, others): (Vec<String>, Vec<String>) =
        store.all_files(projects)?.into_iter().partition(|path| glob.matches(path));
    // A base name that another file shares may mean that file.
    let shared: HashSet<&str> = others.iter().map(|path| base(path)).collect();
    let bases = meant.iter().map(|path| base(path)).filter(|name| name.contains('.') && !shared.contains(name));
    let bases = bases.map(str::to_string).collect();
    let sessions = store.sessions(projects, Timestamp::EPOCH, Timestamp::LAST)?.into_iter();
    let elsewhere = sessions.filter(|session| session.device.is_some());
    let elsewhere = elsewhere.map(|session| (session.agent, session.agent_session_id)).collect();
    let projects = projects.iter().cloned().collect();
    Ok(ForgetRequest::Paths(Paths { glob, projects, bases, files: meant, elsewhere }))
}

/// What would be forgotten; changes nothing.
pub fn preview(home: &Home, store: &Store, request: &ForgetRequest) -> Result<ForgetMatches, FoldError> {
    Ok(ErasePlan::of(home, request, &all_memories(store)?)?.summary())
}

/// Forgets what the request matches.
pub fn forget(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    request: &ForgetRequest,
    capabilities: Capabilities,
) -> Result<ForgetMatches, FoldError> {
    let memories = all_memories(store)?;
    let _held = hold(home, capabilities)?;
    // While we hold this lock, nobody else rewrites records.
    let transaction = store.begin_fold()?;
    let plan = ErasePlan::of(home, request, &memories)?;
    // Before the records go: once they are gone, nobody can ask for their copies again.
    plan.forget_copies(home, request, capabilities).map_err(|source| failed(home, source))?;
    rewrite::rewrite(home, clock.wall, &plan.rewrite(request, clock.now))?;
    fold::rebuild_within(home, &transaction)?;
    transaction.forget_terms()?;
    transaction.commit()?;
    pass(home, "rewrite-folded")?;
    store.wipe_deleted()?;
    rewrite::done(home)?;
    Ok(plan.summary())
}

/// Changes lines of the journal, and rebuilds the view without their old text.
pub fn change(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    lines: Vec<(LinePosition, LineChange)>,
) -> Result<(), FoldError> {
    let transaction = store.begin_fold()?;
    rewrite::rewrite(home, clock.wall, &Rewrite { lines, ..Rewrite::default() })?;
    fold::rebuild_within(home, &transaction)?;
    transaction.forget_terms()?;
    transaction.commit()?;
    pass(home, "rewrite-folded")?;
    store.wipe_deleted()?;
    Ok(rewrite::done(home)?)
}

fn hold(home: &Home, capabilities: Capabilities) -> Result<Vec<Option<File>>, JournalError> {
    let held = capabilities.iter().map(|capability| capability.hold(home)).collect::<io::Result<_>>();
    held.map_err(|source| failed(home, source))
}

fn all_memories(store: &Store) -> view::Result<Vec<MemoryRow>> {
    let lists = MemoryStatus::ALL
        .into_iter()
        .map(|status| store.memories(status, Timestamp::LAST))
        .collect::<view::Result<Vec<_>>>()?;
    Ok(lists.into_iter().flatten().collect())
}

fn failed(home: &Home, source: io::Error) -> JournalError {
    JournalError::Write { path: home.root().to_path_buf(), source }
}

fn pass(home: &Home, label: &str) -> Result<(), JournalError> {
    fault::point(label).map(|_| ()).map_err(|source| failed(home, source))
}

/// What a request removes from the journal and rewrites in it.
#[derive(Default)]
struct ErasePlan {
    lines: Vec<(LinePosition, LineChange)>,
    of_newer_version: usize,
    unreadable: usize,
    memories: Vec<MemoryId>,
    /// The time of the last removed record per session.
    sessions: HashMap<(Agent, String), Timestamp>,
    /// Files of the original tool whose records are matched.
    seeds: Vec<String>,
    /// The time from the first to the last matched record.
    span: Option<(Timestamp, Timestamp)>,
    roots: HashSet<String>,
}

impl ErasePlan {
    fn of(home: &Home, request: &ForgetRequest, memories: &[MemoryRow]) -> Result<ErasePlan, JournalError> {
        let mut residue = Residue::default();
        journal::each_line(home, |_, line| {
            if let JournalLine::Whole(sealed) = line
                && let Some(record) = sealed.record()
            {
                residue.add(request, &record);
            }
        })?;
        let mut plan = ErasePlan::default();
        let is_forgotten = |row: &&MemoryRow| residue.add_memory(request, row.id.as_str(), &row.memory);
        plan.memories = memories.iter().filter(is_forgotten).map(|row| row.id.clone()).collect();
        journal::each_line(home, |position, line| match line {
            JournalLine::Whole(sealed) => match sealed.record() {
                Some(record) => plan.add(request, &residue, position, &record),
                None => plan.add_newer(request, position, sealed.json),
            },
            JournalLine::Broken(bytes) if request.may_be_in(&String::from_utf8_lossy(bytes)) => {
                plan.lines.push((position, LineChange::Remove));
            }
            JournalLine::Broken(_) => {}
        })?;
        Ok(plan)
    }

    fn add(&mut self, request: &ForgetRequest, residue: &Residue, position: LinePosition, record: &Record) {
        let own = request.action_for(record);
        let is_covered = own != RecordAction::Keep;
        let action = if is_covered { own } else { residue.action_for(request, record) };
        if is_covered {
            let (first, last) = self.span.unwrap_or((record.at, record.at));
            self.span = Some((first.min(record.at), last.max(record.at)));
            self.roots.insert(record.location.root.to_string());
            if matches!(record.event, Event::Seed(_)) {
                self.seeds.push(record.key.to_string());
            }
        }
        match action {
            RecordAction::Keep => {}
            RecordAction::Remove => {
                if is_covered && EventKind::of(&record.event).is_of_a_session() {
                    let last = self.sessions.entry((record.agent, record.session.to_string())).or_insert(record.at);
                    *last = record.at.max(*last);
                }
                self.lines.push((position, LineChange::Remove));
            }
            RecordAction::Rewrite(json) => self.lines.push((position, LineChange::Replace(json))),
        }
    }

    fn add_newer(&mut self, request: &ForgetRequest, position: LinePosition, line: &[u8]) {
        match NewerRecord::parse(line) {
            Some(newer) if request.covers_newer(&newer) => {
                self.of_newer_version += 1;
                self.lines.push((position, LineChange::Remove));
            }
            Some(_) => {}
            None => self.unreadable += 1,
        }
    }

    /// The changes to make. If a whole session is forgotten, nothing of it up to now may come back, captured or not.
    fn rewrite(&self, request: &ForgetRequest, now: Timestamp) -> Rewrite {
        let are_whole =
            matches!(request, ForgetRequest::Sessions(_) | ForgetRequest::Expired(_) | ForgetRequest::Projects { .. });
        let whole = self.sessions.iter().filter(|((_, name), _)| are_whole && !name.is_empty());
        let sessions = whole.map(|((agent, name), last)| (*agent, name.clone(), now.max(*last))).collect();
        let (mut files, mut period) = (Vec::new(), None);
        match request {
            ForgetRequest::Paths(paths) => {
                let bases = paths.bases.iter().map(|base| Namer::base(base));
                let names: Vec<String> = paths.files.iter().cloned().chain(bases).collect();
                for (agent, session) in &paths.elsewhere {
                    files.extend(names.iter().map(|name| (agent.clone(), session.clone(), name.clone())));
                }
            }
            ForgetRequest::Between(since, until) => period = Some((*since, *until)),
            _ => {}
        }
        Rewrite { lines: self.lines.clone(), sessions, files, period, asked_at: Some(now) }
    }

    fn summary(&self) -> ForgetMatches {
        let replaced = self.lines.iter().filter(|(_, change)| matches!(change, LineChange::Replace(_))).count();
        ForgetMatches {
            sessions: self.sessions.len(),
            records: self.lines.len() - replaced,
            rewritten: replaced,
            of_newer_version: self.of_newer_version,
            unreadable: self.unreadable,
            memories: self.memories.clone(),
            checkpoints: 0,
            conversations: 0,
        }
    }

    /// Forgets what is stored outside the journal and the view.
    fn forget_copies(&self, home: &Home, request: &ForgetRequest, capabilities: Capabilities) -> io::Result<()> {
        legacy::forget(home, &self.seeds)?;
        capabilities.iter().try_for_each(|capability| capability.forget(home, request))?;
        let is_covered = |failure: &Failure| match (request, self.span) {
            (ForgetRequest::Paths(paths), _) => paths.are_named_in(&failure.detail),
            (ForgetRequest::Projects { names, .. }, _) => {
                names.iter().any(|name| failure.detail.contains(name.as_str()))
                    || self.roots.iter().any(|root| failure.detail.contains(root.as_str()))
            }
            (_, Some((first, last))) => (first..=last).contains(&failure.at),
            (_, None) => false,
        };
        failures::forget(home, is_covered)?;
        wiring::forget_backups(home, |path| self.has_settings(request, path))?;
        view::other_views(home).iter().try_for_each(std::fs::remove_file)
    }
}

impl ErasePlan {
    /// Whether an agent's settings file belongs to the forgotten project, or is a forgotten file.
    fn has_settings(&self, request: &ForgetRequest, path: &Path) -> bool {
        let mut inside = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        match request {
            ForgetRequest::Projects { .. } => inside.next().is_some(),
            ForgetRequest::Paths(paths) => inside.any(|path| paths.glob.matches(&path.to_string_lossy())),
            _ => false,
        }
    }
}

/// Removes memories, and their words from the prompts that they were learned from; otherwise they would be learned
/// again.
pub fn memories(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    memories: &[MemoryRow],
    capabilities: Capabilities,
) -> Result<(), FoldError> {
    let ids: HashSet<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence: Vec<_> = memories.iter().flat_map(|memory| &memory.memory.background.evidence).collect();
    let mut lines = Vec::new();
    journal::each_line(home, |position, line| {
        let JournalLine::Whole(sealed) = line else { return };
        let Some(record) = sealed.record() else {
            // Written by a newer version: a record that names the memory is removed whole.
            let text = String::from_utf8_lossy(sealed.json);
            if ids.iter().any(|id| text.contains(&format!("\"{id}\""))) {
                lines.push((position, LineChange::Remove));
            }
            return;
        };
        let is_its_own = match &record.event {
            Event::Memory(change) => ids.contains(&*change.id),
            Event::Check(change) => ids.contains(&*change.memory),
            _ => false,
        };
        if is_its_own {
            lines.push((position, LineChange::Remove));
        } else if evidence.iter().any(|said| is_from(said, &record)) {
            let rest = serde_json::to_string(&without(home.cleaner(), record, &evidence));
            lines.push((position, rest.map_or(LineChange::Remove, LineChange::Replace)));
        }
    })?;
    let _held = hold(home, capabilities)?;
    let forgotten = capabilities.iter().try_for_each(|capability| capability.forget_words(home, &evidence));
    forgotten.map_err(|source| failed(home, source))?;
    change(home, clock, store, lines)
}

fn is_from(said: &Evidence, record: &Record) -> bool {
    record.key == said.key && record.session == said.session && record.agent.name() == &*said.agent
}

/// The record without the user's words that are evidence for a memory.
fn without<'a>(cleaner: &Cleaner, mut record: Record<'a>, evidence: &[&Evidence]) -> Record<'a> {
    let words: Vec<&str> = evidence.iter().filter(|said| is_from(said, &record)).map(|said| &*said.text).collect();
    let cut = |text: &mut Clean<'a>, keep| {
        let rest = words.iter().fold(text.to_string(), |rest, said| without_words(&rest, said));
        *text = cleaner.clean(rest, keep);
    };
    match &mut record.event {
        Event::Prompt { text } => cut(text, Keep::PROMPT),
        Event::Tool(used) => used.error.iter_mut().for_each(|error| cut(error, Keep::ERROR)),
        _ => {}
    }
    record
}

/// How many bytes of the journal each session takes.
pub fn bytes_of_sessions(home: &Home) -> Result<HashMap<(Agent, String), u64>, JournalError> {
    let mut found = HashMap::new();
    journal::each_line(home, |position, line| {
        if let JournalLine::Whole(sealed) = line
            && let Some(record) = sealed.record()
            && EventKind::of(&record.event).is_of_a_session()
        {
            *found.entry((record.agent, record.session.to_string())).or_default() += position.length as u64;
        }
    })?;
    Ok(found)
}
