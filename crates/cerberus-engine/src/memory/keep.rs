//! What commands do to memories: learn, decide, edit, take back, look up, and carry from home to home.
//!
//! Every change is one record that holds the memory whole, so that nothing is ever half approved.

use std::collections::HashMap;

use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::learn::conflict;
use cerberus_core::learn::exchange::Line;
use cerberus_core::model::event::{Event, MemoryChange, Place, Record};
use cerberus_core::model::id::{Agent, MemoryId, ProjectId};
use cerberus_core::model::memory::{Background, Memory, Scope, Status};
use cerberus_core::model::time::Timestamp;

use crate::hook::capture::own_record;
use crate::journal;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::identity::Located;
use crate::project::joined::Projects;
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{self, MemoryRow, Store};

/// A new memory is compared with this many of the user's own.
const COMPARED_MAX: usize = 2_000;

/// One who changes memories: where and when.
pub struct Keeper<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub located: &'a Located,
}

/// What came of learning something.
pub struct Learnt {
    pub id: MemoryId,
    /// These very words were not known.
    pub is_new: bool,
    /// What it contradicts and takes the place of.
    pub supersedes: Vec<MemoryRow>,
}

impl Keeper<'_> {
    pub fn learn(&self, store: &mut Store, text: &str, category: &str, scope: &Scope) -> Result<Learnt, FoldError> {
        let known = store.own_memories(COMPARED_MAX, self.clock.now)?;
        let is_same = |memory: &&MemoryRow| {
            let content = memory.memory.content.trim().to_lowercase();
            memory.memory.status == Status::Approved
                && content == text.trim().to_lowercase()
                && *memory.memory.scope == scope.to_string()
        };
        if let Some(same) = known.iter().find(is_same) {
            return Ok(Learnt { id: same.id.clone(), is_new: false, supersedes: Vec::new() });
        }
        let memory = Memory {
            status: Status::Approved,
            content: Clean::new(text.trim().to_string(), Keep::MEMORY),
            category: Clean::new(category.to_string(), Keep::SUBJECT),
            scope: Clean::new(scope.to_string(), Keep::NAME),
            project: self.project_of(scope),
            confidence: 1.0,
            created_at: self.clock.now,
            updated_at: self.clock.now,
            source: Clean::word("user"),
            background: Background::default(),
        };
        let id = free_id(store, &[text, &scope.to_string(), &self.clock.now.to_string()])?;
        let projects = Projects::load(store, self.clock.now)?;
        let (memory, supersedes) = superseding(&projects, &id, memory, known);
        self.write(store, vec![(id.clone(), Some(memory))])?;
        Ok(Learnt { id, is_new: true, supersedes })
    }

    /// The project of a scope that names the one we are in.
    pub fn project_of(&self, scope: &Scope) -> Option<ProjectId> {
        match scope {
            Scope::Project(name) if *name == self.located.name => Some(self.located.project.clone()),
            _ => None,
        }
    }

    /// Approves or rejects; gives what an approved one now supersedes.
    pub fn decide(&self, store: &mut Store, row: &MemoryRow, status: Status) -> Result<Vec<MemoryRow>, FoldError> {
        let mut memory = row.memory.clone();
        memory.status = status;
        memory.background.is_automatic = false;
        self.revise(store, row, memory)
    }

    /// Puts a changed memory in the place of the one that stands; gives what it now supersedes.
    pub fn revise(
        &self,
        store: &mut Store,
        row: &MemoryRow,
        mut memory: Memory<'static>,
    ) -> Result<Vec<MemoryRow>, FoldError> {
        memory.updated_at = self.clock.now;
        memory.background.supersedes.clear();
        let known = store.own_memories(COMPARED_MAX, self.clock.now)?;
        let projects = Projects::load(store, self.clock.now)?;
        let (memory, supersedes) = superseding(&projects, &row.id, memory, known);
        self.write(store, vec![(row.id.clone(), Some(memory))])?;
        Ok(supersedes)
    }

    /// Takes the last change of a memory back; `false` when it never was changed.
    pub fn undo(&self, store: &mut Store, row: &MemoryRow) -> Result<bool, FoldError> {
        if row.has_earlier {
            self.write(store, vec![(row.id.clone(), None)])?;
        }
        Ok(row.has_earlier)
    }

    /// Counts that these memories were looked up. A moment that was asked for changes nothing; was it counted?
    pub fn used(&self, ids: &[MemoryId]) -> Result<bool, FoldError> {
        if ids.is_empty() || self.clock.is_given {
            return Ok(false);
        }
        let memories = ids.iter().map(|id| Clean::new(id.as_str().to_string(), Keep::NAME)).collect();
        let key = format!("used-{}-{}", self.clock.now.millis(), std::process::id());
        let record = self.record(self.clock.now, key, Event::Used { memories });
        journal::append(self.home, self.clock.wall, &record)?;
        Ok(true)
    }

    /// Stores lines of an export as they are. What is here already, or newer here, stays; gives how many were new.
    pub fn import(&self, store: &mut Store, lines: Vec<Line>) -> Result<usize, FoldError> {
        let mut taken: HashMap<MemoryId, usize> = HashMap::new();
        let mut records = Vec::new();
        for line in lines {
            let (id, memory) = line.into_memory(self.clock.now, |scope| self.project_of(scope));
            // The n-th time the same line without an id is another memory.
            let times = taken.entry(id.clone()).or_default();
            *times += 1;
            let id = if *times > 1 { MemoryId::new(format!("{id}-{times}")) } else { id };
            let (versions, newest) = store.memory_standing(id.as_str())?;
            if newest.is_none_or(|updated_at| updated_at < memory.updated_at) {
                let at = memory.created_at.min(self.clock.now);
                let key = change_key(&id, versions);
                let record = self.record(at, key, change(&id, Some(memory)));
                records.push(Record { imported: true, ..record });
            }
        }
        journal::append_all(self.home, self.clock.wall, &records)?;
        fold::fold(self.home, store)?;
        Ok(records.len())
    }

    /// Records changes, all with one sync, and folds them.
    pub fn write(&self, store: &mut Store, changes: Vec<(MemoryId, Option<Memory<'static>>)>) -> Result<(), FoldError> {
        let mut records = Vec::new();
        let mut versions: HashMap<MemoryId, usize> = HashMap::new();
        for (id, memory) in changes {
            let known = match versions.get(&id) {
                Some(known) => *known,
                None => store.memory_standing(id.as_str())?.0,
            };
            records.push(self.record(self.clock.now, change_key(&id, known), change(&id, memory)));
            versions.insert(id, known + 1);
        }
        journal::append_all(self.home, self.clock.wall, &records)?;
        fold::fold(self.home, store)
    }

    fn record(&self, at: Timestamp, key: String, event: Event<'static>) -> Record<'static> {
        let place: Place<'static> = self.located.place();
        Record { at, ..own_record(self.clock, Agent::Manual, "", place, key, event) }
    }
}

/// The n-th change of a memory is one change, whoever makes it and however often it arrives.
fn change_key(id: &MemoryId, versions: usize) -> String {
    format!("{id}#{versions}")
}

fn change(id: &MemoryId, memory: Option<Memory<'static>>) -> Event<'static> {
    let id = Clean::new(id.as_str().to_string(), Keep::NAME);
    Event::Memory(MemoryChange { id, stands: memory.map(Box::new) })
}

/// An accepted memory takes the place of what it contradicts, where both would hold.
pub fn superseding(
    projects: &Projects,
    id: &MemoryId,
    mut memory: Memory<'static>,
    known: Vec<MemoryRow>,
) -> (Memory<'static>, Vec<MemoryRow>) {
    if memory.status != Status::Approved {
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
        .filter(|other| other.id != *id && other.memory.status == Status::Approved && other.superseded_by.is_none())
        .filter(|other| meets(&other.memory) && conflict::contradicts(&other.memory.content, &memory.content))
        .collect();
    memory.background.supersedes =
        older.iter().map(|other| Clean::new(other.id.as_str().to_string(), Keep::NAME)).collect();
    (memory, older)
}

/// An id made of these parts that no memory has yet.
fn free_id(store: &Store, parts: &[&str]) -> store::Result<MemoryId> {
    let wanted = MemoryId::of(parts);
    let mut id = wanted.clone();
    for number in 2.. {
        if store.memory_standing(id.as_str())?.0 == 0 {
            break;
        }
        id = MemoryId::new(format!("{wanted}-{number}"));
    }
    Ok(id)
}
