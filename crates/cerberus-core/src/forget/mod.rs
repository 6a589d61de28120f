//! What is to be forgotten, decided record by record: which go, which lose words, and what the others still hold of it.
//!
//! Two looks at the journal: the first finds what is meant ([`Wish`]) and gathers where else its words may stand
//! ([`Traces`]: the codes that other sessions were told, the evidence of memories); the second decides each record's
//! [`Fate`]. Pure: nothing here reads or writes.

mod mention;

use std::collections::HashSet;

pub use mention::Paths;

use serde::Deserialize;

use crate::brief::failing::{self, SessionRun};
use crate::clean::text::Clean;
use crate::extract::{Extracted, extract};
use crate::model::event::{Event, MemoryChange, Record};
use crate::model::fact::{Fact, Kind};
use crate::model::id::{Agent, ProjectId, SessionId};
use crate::model::memory::{Evidence, Memory, Scope, Status};
use crate::model::time::Timestamp;

/// What the user wants gone.
#[derive(Debug)]
pub enum Wish {
    /// By their agent and its own name for them.
    Sessions(HashSet<(Agent, String)>),
    /// The same for want of room: what was learnt from them, or told to others, stays.
    Expired(HashSet<(Agent, String)>),
    /// By what their worktrees share; and what people call them, where nothing else is known.
    Projects {
        ids: HashSet<ProjectId>,
        name: String,
    },
    Paths(Paths),
    /// From the first moment up to the second.
    Between(Timestamp, Timestamp),
}

/// What becomes of a record.
#[derive(Debug, PartialEq)]
pub enum Fate {
    Stays,
    Goes,
    /// The record without what is forgotten, as JSON.
    Becomes(String),
}

impl Wish {
    /// What becomes of a record of a session that is meant itself.
    pub fn fate(&self, record: &Record) -> Fate {
        let is_meant = match self {
            Wish::Sessions(names) | Wish::Expired(names) => names.contains(&(record.agent, record.session.to_string())),
            Wish::Projects { ids, .. } => ids.contains(&record.place.project),
            Wish::Between(since, until) => (*since..*until).contains(&record.at),
            Wish::Paths(paths) => return paths.fate(record),
        };
        match &record.event {
            Event::Memory(_) => Fate::Stays,
            Event::Used { .. } if matches!(self, Wish::Sessions(_) | Wish::Expired(_)) => Fate::Stays,
            _ if is_meant => Fate::Goes,
            _ => Fate::Stays,
        }
    }

    /// May a line that was cut short hold what is meant? It is of no use to anybody.
    pub fn may_be_in(&self, stump: &str) -> bool {
        match self {
            Wish::Sessions(names) => names.iter().any(|(_, name)| stump.contains(name.as_str())),
            Wish::Expired(_) => false,
            Wish::Projects { ids, .. } => ids.iter().any(|id| stump.contains(id.as_str())),
            Wish::Paths(paths) => paths.projects.iter().any(|id| stump.contains(id.as_str())),
            Wish::Between(since, until) => {
                let digits = stump.strip_prefix("{\"at\":").and_then(|rest| rest.split(',').next());
                let at = digits.and_then(|digits| digits.parse().ok()).map(Timestamp::from_millis);
                at.is_none_or(|at| (*since..*until).contains(&at))
            }
        }
    }

    /// Does a record go that a newer version wrote? It cannot be rewritten, so all of it goes when any of it is meant.
    pub fn takes_unread(&self, unread: &Unread) -> bool {
        match self {
            Wish::Sessions(names) | Wish::Expired(names) => {
                let agent = Agent::from_name(&unread.agent);
                agent.is_some_and(|agent| names.contains(&(agent, unread.session.clone())))
            }
            Wish::Projects { ids, .. } => ids.iter().any(|id| id.as_str() == unread.project),
            Wish::Between(since, until) => (*since..*until).contains(&unread.at),
            Wish::Paths(paths) => {
                paths.projects.iter().any(|id| id.as_str() == unread.project) && paths.are_named_in(&unread.text)
            }
        }
    }

    fn means_memory(&self, memory: &Memory) -> bool {
        match self {
            Wish::Sessions(_) | Wish::Expired(_) => false,
            Wish::Projects { ids, name } => match &memory.project {
                Some(project) => ids.contains(project),
                None => Scope::parse(&memory.scope) == Some(Scope::Project(name.clone())),
            },
            Wish::Between(since, until) => (*since..*until).contains(&memory.created_at),
            Wish::Paths(paths) => paths.are_named_in(&memory.content),
        }
    }
}

/// What can be told of a record that a newer version wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    pub at: Timestamp,
    pub agent: String,
    pub session: String,
    pub project: String,
    /// All of its line.
    pub text: String,
}

impl Unread {
    /// From the line itself; `None` when not even that much can be told.
    pub fn parse(line: &[u8]) -> Option<Unread> {
        #[derive(Deserialize)]
        struct Place {
            project: String,
        }
        #[derive(Deserialize)]
        struct Fields {
            at: Timestamp,
            agent: String,
            session: String,
            place: Place,
        }
        let Fields { at, agent, session, place } = serde_json::from_slice(line).ok()?;
        let text = String::from_utf8_lossy(line).into_owned();
        Some(Unread { at, agent, session, project: place.project, text })
    }
}

/// Where words of what is forgotten may stand in what is not.
#[derive(Debug, Default)]
pub struct Traces {
    codes: HashSet<String>,
    /// Files are told by the end of their path.
    paths: HashSet<String>,
    /// Agent, session and key of the events that evidence was taken from.
    sources: HashSet<(String, String, String)>,
    /// Memories that go with it.
    memories: HashSet<String>,
}

impl Traces {
    /// What a record said, and says no more.
    pub fn add(&mut self, wish: &Wish, record: &Record) {
        if matches!(wish, Wish::Expired(_)) {
            return;
        }
        let left = match &wish.fate(record) {
            Fate::Stays => return,
            Fate::Goes => HashSet::new(),
            Fate::Becomes(json) => codes_of(serde_json::from_str::<Record>(json).ok().as_ref()),
        };
        for fact in facts(record) {
            if left.contains(&fact.code) {
                continue;
            }
            self.paths.extend(fact.path.filter(|_| matches!(fact.kind, Kind::File | Kind::Read)));
            self.codes.insert(fact.code);
        }
        let name = |text: &str| text.to_string();
        self.sources.insert((name(record.agent.name()), name(&record.session), name(&record.key)));
    }

    /// Does this memory go too? What was only proposed, or approved by nobody, goes with all that it was learnt from;
    /// what the user decided stays, without those words as evidence.
    pub fn add_memory(&mut self, wish: &Wish, id: &str, memory: &Memory) -> bool {
        let evidence = &memory.background.evidence;
        let is_the_users = memory.status == Status::Approved && !memory.background.is_automatic;
        let has_no_source = !evidence.is_empty() && evidence.iter().all(|said| self.is_source(said));
        let goes = wish.means_memory(memory) || has_no_source && !is_the_users;
        if goes {
            self.memories.insert(id.to_string());
        }
        goes
    }

    /// What becomes of a record that is not meant itself.
    pub fn fate(&self, wish: &Wish, record: &Record) -> Fate {
        match &record.event {
            Event::Memory(change) if self.memories.contains(&*change.id) => Fate::Goes,
            Event::Memory(change) => self.memory_fate(wish, record, change),
            Event::Receipt { codes, .. } if codes.iter().any(|code| self.was_told(code)) => {
                let mut kept = record.clone();
                if let Event::Receipt { codes, .. } = &mut kept.event {
                    codes.retain(|code| !self.was_told(code));
                }
                becomes(&kept)
            }
            _ => Fate::Stays,
        }
    }

    fn memory_fate(&self, wish: &Wish, record: &Record, change: &MemoryChange) -> Fate {
        let evidence = change.stands.iter().flat_map(|memory| &memory.background.evidence);
        let has_trace = evidence.into_iter().any(|said| self.is_source(said));
        let was_there = matches!(wish, Wish::Projects { ids, .. } if ids.contains(&record.place.project));
        if !has_trace && !was_there {
            return Fate::Stays;
        }
        let mut kept = record.clone();
        if was_there {
            let place = &mut kept.place;
            (place.name, place.root, place.cwd) = (Clean::word(""), Clean::word(""), Clean::word(""));
            place.branch = None;
        }
        if let Event::Memory(MemoryChange { stands: Some(memory), .. }) = &mut kept.event
            && has_trace
        {
            memory.background.evidence.retain(|said| !self.is_source(said));
            // It quotes them.
            memory.background.rationale = None;
        }
        becomes(&kept)
    }

    fn is_source(&self, said: &Evidence) -> bool {
        let name = |text: &Clean| text.to_string();
        self.sources.contains(&(name(&said.agent), name(&said.session), name(&said.key)))
    }

    fn was_told(&self, code: &str) -> bool {
        let said = code.split_once(':').map_or(code, |(_, said)| said);
        // A decision was perhaps told with the branch it was taken on.
        let plain = code.rsplit_once('@').map_or(code, |(plain, _)| plain);
        self.codes.contains(code)
            || self.codes.contains(plain)
            || self.paths.iter().any(|path| {
                path.strip_suffix(said)
                    .is_some_and(|before| !said.is_empty() && (before.is_empty() || before.ends_with('/')))
            })
    }
}

fn codes_of(record: Option<&Record>) -> HashSet<String> {
    record.map(facts).unwrap_or_default().into_iter().map(|fact| fact.code).collect()
}

/// Everything that a brief may tell because of this record.
fn facts(record: &Record) -> Vec<Fact> {
    let Extracted { mut facts, run, .. } = extract(&record.event);
    if let Some((command, run)) = run {
        let ran = SessionRun { command, run, session: SessionId::new(""), at: record.at, event: 0 };
        facts.extend(failing::blockers(&[ran]).into_iter().map(|known| known.fact));
    }
    facts
}

fn becomes(record: &Record) -> Fate {
    // What cannot be written without the words goes whole.
    serde_json::to_string(record).map_or(Fate::Goes, Fate::Becomes)
}

#[cfg(test)]
mod tests;
