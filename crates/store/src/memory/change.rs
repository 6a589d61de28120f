//! Changing memories: learning, deciding, editing, undoing, recording uses and importing.
//!
//! Every change is one record with the whole memory, so that no change is ever half made. It also names the version it
//! is based on: of two changes to the same version, the second in the journal's order is refused, or, if another device
//! made it, proposed to the user.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::learn::conflict;
use cerberus_recall::learn::exchange::MemoryLine;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location, MemoryChange, Record};
use cerberus_record::id::{Agent, MemoryId, ProjectId};
use cerberus_record::memory::{Background, Memory, MemoryStatus, Scope};
use cerberus_record::order::Order;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use crate::journal::{self, JournalError, own_record};
use crate::project::identity::Located;
use crate::same_project::joined::Projects;
use crate::view::fold::{self, FoldError};
use crate::view::{self, MemoryRow, Store, StoreError};

/// A new memory is compared with this many of the user's own.
const COMPARED_MAX: usize = 2_000;

/// How many suggestions of agents may wait. More would hide the user's own proposals.
const SUGGESTIONS_MAX: usize = 200;
/// The confidence of a suggestion: nobody but an agent said it.
const SUGGESTED: f64 = 0.5;

/// How often a command tries to fold its change while another process holds the view.
const FOLDS_MAX: usize = 20;

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("{0} was changed by someone else in the meantime; your change was not made")]
    ChangedMeanwhile(MemoryId),
    #[error("{SUGGESTIONS_MAX} suggestions of agents already wait for the user's decision")]
    TooManySuggestions,
    #[error(transparent)]
    Fold(#[from] FoldError),
}

impl From<StoreError> for ChangeError {
    fn from(error: StoreError) -> Self {
        ChangeError::Fold(error.into())
    }
}

/// A new version of a memory; without one, the last change is undone.
pub(super) struct NewVersion {
    pub id: MemoryId,
    /// The number of versions when it was read.
    pub based_on: usize,
    /// The name of the version that was read.
    pub parent: Option<String>,
    pub memory: Option<Memory<'static>>,
}

/// Changes memories in a given home, time and project.
pub struct MemoryWriter<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub located: &'a Located,
}

/// The result of learning something.
pub struct LearnResult {
    pub id: MemoryId,
    /// Whether these exact words were new.
    pub is_new: bool,
    pub status: MemoryStatus,
    /// The memories that it contradicts and replaces.
    pub supersedes: Vec<MemoryRow>,
}

impl LearnResult {
    fn known(row: &MemoryRow) -> LearnResult {
        LearnResult { id: row.id.clone(), is_new: false, status: row.memory.status, supersedes: Vec::new() }
    }
}

impl MemoryWriter<'_> {
    pub fn learn(
        &self,
        store: &mut Store,
        text: &str,
        category: &str,
        scope: &Scope,
    ) -> Result<LearnResult, FoldError> {
        let known = store.own_memories(COMPARED_MAX, self.clock.now)?;
        let is_same = |memory: &&MemoryRow| {
            let content = memory.memory.content.trim().to_lowercase();
            memory.memory.status == MemoryStatus::Approved
                && content == text.trim().to_lowercase()
                && *memory.memory.scope == scope.to_string()
        };
        if let Some(same) = known.iter().find(is_same) {
            return Ok(LearnResult::known(same));
        }
        let memory = Memory {
            status: MemoryStatus::Approved,
            content: self.home.cleaner().clean(text.trim().to_string(), Keep::MEMORY),
            category: self.home.cleaner().clean(category.to_string(), Keep::SUBJECT),
            scope: self.home.cleaner().clean(scope.to_string(), Keep::NAME),
            project: self.project_of(scope),
            confidence: 1.0,
            created_at: self.clock.now,
            updated_at: self.clock.now,
            source: Clean::word(MemorySource::User.word()),
            background: Background::default(),
        };
        let id = free_id(store, &[text, &scope.to_string(), &self.clock.now.to_string()])?;
        let projects = Projects::load(store, self.clock.now)?;
        let (memory, supersedes) = superseding(self.home, &projects, &id, memory, known);
        // Two processes that learn the same thing at the same time have learned it once.
        let is_new =
            self.make(store, NewVersion { id: id.clone(), based_on: 0, parent: None, memory: Some(memory) })?;
        Ok(LearnResult { id, is_new, status: MemoryStatus::Approved, supersedes })
    }

    /// Proposes what an agent wants remembered: for this project, with its source, replacing nothing. Words that are
    /// known here, whatever the user decided about them, are not proposed again.
    pub fn suggest(
        &self,
        store: &mut Store,
        text: &str,
        category: &str,
        source: MemorySource,
    ) -> Result<LearnResult, ChangeError> {
        let known = store.own_memories(COMPARED_MAX, self.clock.now)?;
        let is_here = |row: &MemoryRow| match row.scope() {
            Scope::Universal => true,
            scope => row.memory.project.as_ref() == Some(&self.located.project) || self.project_of(&scope).is_some(),
        };
        let words = text.trim().to_lowercase();
        if let Some(same) = known.iter().find(|row| row.memory.content.to_lowercase() == words && is_here(row)) {
            return Ok(LearnResult::known(same));
        }
        let is_waiting = |row: &&MemoryRow| row.origin().is_agents() && row.memory.status == MemoryStatus::Proposed;
        if known.iter().filter(is_waiting).count() >= SUGGESTIONS_MAX {
            return Err(ChangeError::TooManySuggestions);
        }
        let clean = |text: String, keep| self.home.cleaner().clean(text, keep);
        let rationale = format!("{}, {}", source.title(), self.clock.now.day());
        let memory = Memory {
            status: MemoryStatus::Proposed,
            content: clean(text.trim().to_string(), Keep::MEMORY),
            category: clean(category.to_string(), Keep::SUBJECT),
            scope: clean(Scope::Project(self.located.name.clone()).to_string(), Keep::NAME),
            project: Some(self.located.project.clone()),
            confidence: SUGGESTED,
            created_at: self.clock.now,
            updated_at: self.clock.now,
            source: Clean::word(source.word()),
            background: Background { rationale: Some(clean(rationale, Keep::PROMPT)), ..Background::default() },
        };
        let id = free_id(store, &[text, &memory.scope, &self.clock.now.to_string()])?;
        let is_new =
            self.make(store, NewVersion { id: id.clone(), based_on: 0, parent: None, memory: Some(memory) })?;
        Ok(LearnResult { id, is_new, status: MemoryStatus::Proposed, supersedes: Vec::new() })
    }

    /// The current project, if the scope names it.
    pub fn project_of(&self, scope: &Scope) -> Option<ProjectId> {
        match scope {
            Scope::Project(name) if *name == self.located.name => Some(self.located.project.clone()),
            _ => None,
        }
    }

    /// Approves or rejects a memory. Returns what an approved one now supersedes.
    pub fn decide(
        &self,
        store: &mut Store,
        row: &MemoryRow,
        status: MemoryStatus,
    ) -> Result<Vec<MemoryRow>, ChangeError> {
        let mut memory = row.memory.clone();
        memory.status = status;
        memory.background.is_automatic = false;
        self.revise(store, row, memory)
    }

    /// Replaces the current version. Returns what it now supersedes.
    pub fn revise(
        &self,
        store: &mut Store,
        row: &MemoryRow,
        mut memory: Memory<'static>,
    ) -> Result<Vec<MemoryRow>, ChangeError> {
        memory.updated_at = self.clock.now;
        memory.background.supersedes.clear();
        // What a team is told was read for it word by word.
        memory.background.for_team &= memory.content == row.memory.content;
        let known = store.own_memories(COMPARED_MAX, self.clock.now)?;
        let projects = Projects::load(store, self.clock.now)?;
        let (memory, supersedes) = superseding(self.home, &projects, &row.id, memory, known);
        self.change(store, row, Some(memory))?;
        Ok(supersedes)
    }

    /// Undoes the last change of a memory; `false` if there is none.
    pub fn undo(&self, store: &mut Store, row: &MemoryRow) -> Result<bool, ChangeError> {
        if row.has_earlier {
            self.change(store, row, None)?;
        }
        Ok(row.has_earlier)
    }

    /// Changes the version that was read, or reports that it is no longer current.
    fn change(&self, store: &mut Store, row: &MemoryRow, memory: Option<Memory<'static>>) -> Result<(), ChangeError> {
        let change =
            NewVersion { id: row.id.clone(), based_on: row.version, parent: Some(row.version_key.clone()), memory };
        match self.make(store, change)? {
            true => Ok(()),
            false => Err(ChangeError::ChangedMeanwhile(row.id.clone())),
        }
    }

    /// Counts a use of these memories. Returns `false` and counts nothing if the user set the time.
    pub fn used(&self, ids: &[MemoryId]) -> Result<bool, FoldError> {
        if ids.is_empty() || self.clock.is_given {
            return Ok(false);
        }
        let memories = ids.iter().map(|id| self.home.cleaner().clean(id.as_str().to_string(), Keep::NAME)).collect();
        let key = format!("used-{}-{}", self.clock.now.millis(), std::process::id());
        let record = self.record(self.clock.now, key, Event::Used { memories });
        journal::append(self.home, self.clock.wall, &record)?;
        Ok(true)
    }

    /// Stores the lines of an export as they are. A memory that is already here, or newer here, is kept. Returns how
    /// many were new.
    pub fn import(&self, store: &mut Store, lines: Vec<MemoryLine>) -> Result<usize, FoldError> {
        let mut taken: HashMap<MemoryId, usize> = HashMap::new();
        let mut records = Vec::new();
        for line in lines {
            let (id, memory) = line.into_memory(self.home.cleaner(), self.clock.now, |scope| self.project_of(scope));
            // A repeated line without an id is another memory each time.
            let times = taken.entry(id.clone()).or_default();
            *times += 1;
            let id = if *times > 1 { MemoryId::new(format!("{id}-{times}")) } else { id };
            let (versions, newest) = store.memory_head(id.as_str())?;
            if newest.is_none_or(|updated_at| updated_at < memory.updated_at) {
                let at = memory.created_at.min(self.clock.now);
                let change = NewVersion { id, based_on: versions, parent: None, memory: Some(memory) };
                let record = Record { at, ..self.change_record(change) };
                records.push(Record { imported: true, ..record });
            }
        }
        journal::append_all(self.home, self.clock.wall, &records)?;
        fold::fold(self.home, store)?;
        Ok(records.len())
    }

    /// Proposes the lines of a file that an agent imports. Of each line only the words and the category count: not its
    /// id, status, scope or source. Returns how many were new.
    pub fn import_suggestions(&self, store: &mut Store, lines: Vec<MemoryLine>) -> Result<usize, ChangeError> {
        let mut new = 0;
        for line in lines {
            let learned = self.suggest(store, line.content(), line.category_word(), MemorySource::Agent)?;
            new += usize::from(learned.is_new);
        }
        Ok(new)
    }

    pub(super) fn records(&self, changes: Vec<NewVersion>) -> Vec<Record<'static>> {
        changes.into_iter().map(|change| self.change_record(change)).collect()
    }

    /// Records one change. Returns whether it was made, or refused because another one came first. Only the fold knows,
    /// so this waits until the fold is complete. One process at a time, and each after all earlier changes: a record
    /// that took an earlier place but was written later would undo what another process reported as made.
    fn make(&self, store: &mut Store, change: NewVersion) -> Result<bool, FoldError> {
        let path = self.home.memories_lock();
        let _lock = self.home.lock(&path).map_err(|source| JournalError::Write { path, source })?;
        self.fold(store)?;
        let record = self.change_record(change);
        let after = Order::seq_of(store.last_memory_rank()?);
        journal::append_after(self.home, self.clock.wall, after, std::slice::from_ref(&record))?;
        self.fold(store)?;
        Ok(store.has_memory_change(&record.key)?)
    }

    fn fold(&self, store: &mut Store) -> Result<(), FoldError> {
        let mut tries = 1;
        loop {
            match fold::fold_all(self.home, store) {
                Err(FoldError::Store(error)) if error.is_busy() && tries < FOLDS_MAX => tries += 1,
                folded => return folded.map(drop),
            }
        }
    }

    /// The key is unique, so that two identical changes at the same time are not taken for one.
    fn change_record(&self, change: NewVersion) -> Record<'static> {
        let NewVersion { id, based_on, parent, memory } = change;
        let unique = RandomState::new().hash_one((std::process::id(), self.clock.wall.millis()));
        let key = format!("{id}#{based_on}-{unique:016x}");
        let id = self.home.cleaner().clean(id.as_str().to_string(), Keep::NAME);
        let memory = memory.map(Box::new);
        let parent = parent.map(|parent| self.home.cleaner().clean(parent, Keep::NAME));
        let event = Event::Memory(MemoryChange { id, memory, based_on: Some(based_on), parent });
        self.record(self.clock.now, key, event)
    }

    fn record(&self, at: Timestamp, key: String, event: Event<'static>) -> Record<'static> {
        let location: Location<'static> = self.located.location(self.home.cleaner());
        Record { at, ..own_record(self.home, self.clock, Agent::MANUAL, "", location, key, event) }
    }
}

/// The memories that an accepted memory contradicts and therefore replaces, where both would apply.
pub fn superseding(
    home: &Home,
    projects: &Projects,
    id: &MemoryId,
    mut memory: Memory<'static>,
    known: Vec<MemoryRow>,
) -> (Memory<'static>, Vec<MemoryRow>) {
    if memory.status != MemoryStatus::Approved {
        return (memory, Vec::new());
    }
    // The ids and names of a project differ between its folders.
    let group = |memory: &Memory| memory.project.as_ref().map(|project| projects.representative(project).clone());
    let own = group(&memory);
    let meets = |other: &Memory| match (&own, group(other)) {
        (Some(own), Some(other)) => *own == other,
        (None, None) => other.scope == memory.scope,
        _ => false,
    };
    let older: Vec<MemoryRow> = known
        .into_iter()
        .filter(|other| {
            other.id != *id && other.memory.status == MemoryStatus::Approved && other.superseded_by.is_none()
        })
        .filter(|other| {
            let is_other_text = memory.background.other_of.as_deref() == Some(other.id.as_str());
            is_other_text || meets(&other.memory) && conflict::contradicts(&other.memory.content, &memory.content)
        })
        .collect();
    memory.background.supersedes =
        older.iter().map(|other| home.cleaner().clean(other.id.as_str().to_string(), Keep::NAME)).collect();
    (memory, older)
}

/// An id made from these parts that no memory has yet.
fn free_id(store: &Store, parts: &[&str]) -> view::Result<MemoryId> {
    let wanted = MemoryId::of(parts);
    let mut id = wanted.clone();
    for number in 2.. {
        if store.memory_head(id.as_str())?.0 == 0 {
            break;
        }
        id = MemoryId::new(format!("{wanted}-{number}"));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;
    use crate::project::identity::locate;

    #[test]
    fn the_second_change_of_the_same_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let located = locate(dir.path());
        let clock = Clock::new(Some(Timestamp::from_millis(1_700_000_000_000)));
        let writer = MemoryWriter { home: &home, clock: &clock, located: &located };
        let mut store = fold::open(&home).unwrap();
        let id = writer.learn(&mut store, "Use tabs", "rule", &Scope::Universal).unwrap().id;
        let row = |store: &Store| store.memory(id.as_str(), clock.now).unwrap().unwrap();
        let worded = |row: &MemoryRow, words: &str| Memory {
            content: BUILT_IN.clean(words.to_string(), Keep::MEMORY),
            ..row.memory.clone()
        };
        let seen = row(&store);
        writer.revise(&mut store, &seen, worded(&seen, "Use spaces")).unwrap();
        let later = row(&store);
        assert_eq!((seen.version, later.version), (1, 2));
        writer.decide(&mut store, &later, MemoryStatus::Rejected).unwrap();

        let is_refused =
            |result: Result<(), ChangeError>| matches!(result, Err(ChangeError::ChangedMeanwhile(of)) if of == id);
        for stale in [&seen, &later] {
            assert!(is_refused(writer.revise(&mut store, stale, worded(stale, "Use both")).map(drop)));
            assert!(is_refused(writer.decide(&mut store, stale, MemoryStatus::Approved).map(drop)));
        }
        assert!(is_refused(writer.undo(&mut store, &later).map(drop)));
        for _ in 0..2 {
            let versions = store.memory_versions(id.as_str()).unwrap();
            let words: Vec<_> = versions.iter().map(|(_, memory)| (&*memory.content, memory.status)).collect();
            let (approved, rejected) = (MemoryStatus::Approved, MemoryStatus::Rejected);
            assert_eq!(words, [("Use tabs", approved), ("Use spaces", approved), ("Use spaces", rejected)]);
            fold::rebuild(&home, &mut store).unwrap();
        }
        let current = row(&store);
        assert!(writer.undo(&mut store, &current).unwrap());
        assert_eq!((row(&store).memory.status, row(&store).version), (MemoryStatus::Approved, 4));
    }
}
