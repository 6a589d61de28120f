//! Checks: the user gives a memory a rule that holds, and hooks enforce it.
//!
//! What the user says about a check is a record. The checks that bind are written into one small file, `checks`, which a
//! hook reads without opening the view. Only memories that the user approved by hand carry a check, and a check binds
//! only on the device on which the user set it.

pub mod before;
mod denied;
pub mod file;
pub mod history;
mod row;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;

use cerberus_os::clock::Clock;
use cerberus_os::device;
use cerberus_os::home::Home;
use cerberus_record::check::{CheckChange, CheckLevel, CheckVerdict, PauseChange};
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location};
use cerberus_record::id::{Agent, ProjectId, fnv1a};
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::time::Timestamp;
use cerberus_store::capability::{Capability, CapabilityError};
use cerberus_store::journal::{self, JournalError, own_record};
use cerberus_store::project::identity::Located;
use cerberus_store::project::privacy;
use cerberus_store::same_project::joined::Projects;
use cerberus_store::view::fold::{self, FoldError};
use cerberus_store::view::{self, MemoryRow, RuleRow, Store, StoreError};

use crate::derive::derive;
use crate::{Check, Rule};
pub use row::{CheckRow, Idle, Unfit};

/// The checks that bind are written anew before every brief.
pub struct CheckCapability;

impl Capability for CheckCapability {
    fn before_brief(&self, home: &Home, store: &mut Store) -> Result<(), CapabilityError> {
        Ok(compile(home, store)?)
    }

    fn can_enforce(&self, sentence: &str) -> bool {
        derive(sentence).is_some()
    }
}

/// More checks than anybody keeps in mind.
pub const CHECKS_MAX: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("there are already {CHECKS_MAX} checks")]
    TooMany,
}

/// Why this memory may not bind anybody: the user did not approve it by hand, or it no longer holds.
pub fn unfit(row: &MemoryRow) -> Option<Unfit> {
    let memory = &row.memory;
    let is_homeless = matches!(row.scope(), Scope::Project(_)) && memory.project.is_none();
    match () {
        () if memory.status != MemoryStatus::Approved => Some(Unfit::NotApproved),
        () if memory.background.is_automatic => Some(Unfit::Automatic),
        () if row.is_imported => Some(Unfit::Imported),
        () if row.superseded_by.is_some() => Some(Unfit::Superseded),
        () if is_homeless => Some(Unfit::NoProject),
        () => None,
    }
}

/// All checks whose memory still exists.
pub fn all(home: &Home, store: &Store, now: Timestamp) -> Result<Vec<CheckRow>, CheckError> {
    let own = own_device(home);
    let mut found = Vec::new();
    for RuleRow { memory, words, level, content, device, at, allows_once } in store.rules(now)? {
        let Some(memory) = store.memory(&memory, now)?.filter(|row| row.id.as_str() == memory) else { continue };
        // A newer version may know more options.
        let Ok(rule) = Rule::parse(&words) else { continue };
        let elsewhere = (device != own).then_some(Idle::Elsewhere);
        let changed = (content != content_hash(&memory)).then_some(Idle::Reworded);
        let idle = elsewhere.or_else(|| unfit(&memory).map(Idle::Memory)).or(changed);
        let level = level.min(rule.level_max());
        found.push(CheckRow { memory, rule, level, at, allows_once, idle });
    }
    Ok(found)
}

fn content_hash(memory: &MemoryRow) -> String {
    format!("{:016x}", fnv1a(memory.memory.content.as_bytes()))
}

fn own_device(home: &Home) -> String {
    device::id(home).map(|id| id.to_string()).unwrap_or_default()
}

/// What the user says about the check of a memory.
pub struct CheckWish<'a> {
    pub memory: &'a MemoryRow,
    /// Empty to remove the check.
    pub words: &'a [String],
    pub level: CheckLevel,
    pub allows_once: bool,
}

/// Records it.
pub fn say(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    located: &Located,
    said: &CheckWish,
) -> Result<(), CheckError> {
    if !said.words.is_empty() && store.rules(clock.now)?.len() >= CHECKS_MAX {
        return Err(CheckError::TooMany);
    }
    let clean = |text: &str, keep| home.cleaner().clean(text.to_string(), keep);
    let unique = RandomState::new().hash_one((std::process::id(), clock.wall.millis()));
    let change = CheckChange {
        memory: clean(said.memory.id.as_str(), Keep::NAME),
        rule: said.words.iter().map(|word| clean(word, Keep::SUBJECT)).collect(),
        level: said.level,
        content: clean(&content_hash(said.memory), Keep::NAME),
        device: clean(&own_device(home), Keep::NAME),
        allows_once: said.allows_once,
    };
    // It goes with its memory, not with the folder in which it was said.
    let nowhere = || Clean::word("");
    let location =
        Location { project: located.project.clone(), name: nowhere(), root: nowhere(), cwd: nowhere(), branch: None };
    let record =
        own_record(home, clock, Agent::MANUAL, "", location, format!("check-{unique:016x}"), Event::Check(change));
    journal::append(home, clock.wall, &record).map_err(FoldError::from)?;
    fold::fold(home, store)?;
    compile(home, store)
}

/// Whether hooks enforce any rule.
pub fn are_on(home: &Home) -> bool {
    home.checks().exists()
}

/// Records that the user switches the checks off or on with a pause, if any are on here. To be called before the pause
/// begins, or after it is lifted.
pub fn record_pause(home: &Home, clock: &Clock, located: &Located, change: PauseChange) -> Result<(), JournalError> {
    let are_off_here = privacy::users_block(home, located).is_some();
    if !are_on(home) || !change.everywhere && are_off_here {
        return Ok(());
    }
    let nowhere = || Clean::word("");
    // A pause everywhere says nothing about the project in which it was typed.
    let project = if change.everywhere { ProjectId::of_name("") } else { located.project.clone() };
    let location = Location { project, name: nowhere(), root: nowhere(), cwd: nowhere(), branch: None };
    let key = format!("pause-{}-{}", clock.wall.millis(), std::process::id());
    let record = own_record(home, clock, Agent::MANUAL, "", location, key, Event::Pause(change));
    journal::append(home, clock.wall, &record)
}

/// Writes the file that hooks read; removes it if nothing binds. Nothing is written if nothing changed. The time that a
/// command is given does not matter: an agent could choose one at which there were no checks.
pub fn compile(home: &Home, store: &Store) -> Result<(), CheckError> {
    let projects = Projects::load(store, Timestamp::LAST)?;
    let mut compiled = Vec::new();
    for row in all(home, store, Timestamp::LAST)?.into_iter().filter(CheckRow::is_on) {
        compiled.push(file::CheckEntry::of(&row, scope_projects(store, &projects, &row.memory)?));
    }
    let path = home.checks();
    let written = match compiled.is_empty() {
        true => match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        false => {
            let text = file::text(&compiled);
            match home.text(&path, file::BYTES_MAX) {
                Ok(before) if before == text => Ok(()),
                _ => home.replace(&path, text.as_bytes()),
            }
        }
    };
    written.map_err(|source| CheckError::Write { path, source })
}

/// The projects that a memory is about; `None` for all.
fn scope_projects(store: &Store, projects: &Projects, row: &MemoryRow) -> view::Result<Option<Vec<ProjectId>>> {
    let Scope::Project(_) = row.scope() else { return Ok(None) };
    let Some(own) = &row.memory.project else { return Ok(Some(Vec::new())) };
    let mut ids: Vec<ProjectId> = projects.joined(store, own)?.into_iter().map(|member| member.project).collect();
    ids.push(own.clone());
    ids.sort();
    ids.dedup();
    Ok(Some(ids))
}

/// The check of a row, as a hook or a replay uses it.
pub fn check(store: &Store, row: &CheckRow, now: Timestamp) -> Result<Check, CheckError> {
    check_of(store, &row.memory, row.rule.clone(), now)
}

/// The check that a memory would have with this rule.
pub fn check_of(store: &Store, row: &MemoryRow, rule: Rule, now: Timestamp) -> Result<Check, CheckError> {
    let projects = scope_projects(store, &Projects::load(store, now)?, row)?;
    let (id, sentence) = (row.id.as_str().to_string(), row.memory.content.to_string());
    Ok(Check { id, sentence, level: rule.level_max(), rule, projects })
}

/// How often a check was decided, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckTally {
    /// Tries that were not run: denied and not repeated, or left to the user.
    pub prevented: usize,
    pub overridden: usize,
    pub allowed: usize,
    /// Sessions with a decision.
    pub sessions: usize,
    /// Those of them in which nothing broke the rule again after the first denial.
    pub obeyed: usize,
}

impl CheckTally {
    /// Whether agents mostly insist, so that the rule may not be what the user wants.
    pub fn is_mostly_overridden(&self) -> bool {
        self.overridden >= 3 && self.overridden > self.prevented
    }
}

/// The tally of every memory that has decisions.
pub fn tallies(store: &Store, now: Timestamp) -> Result<Vec<(String, CheckTally)>, CheckError> {
    let decisions = store.decisions(now)?;
    let mut memories: Vec<&str> = decisions.iter().map(|decision| decision.memory.as_str()).collect();
    memories.sort_unstable();
    memories.dedup();
    let tally = |memory: &str| {
        let own: Vec<_> = decisions.iter().filter(|decision| decision.memory == memory).collect();
        let count = |verdict| own.iter().filter(|decision| decision.verdict == verdict).count();
        let (denied, overridden) = (count(CheckVerdict::Denied), count(CheckVerdict::Overridden));
        let mut sessions: Vec<i64> = own.iter().map(|decision| decision.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let is_obeyed = |session: &&i64| {
            own.iter().filter(|decision| decision.session == **session).count() == 1
                && own.iter().any(|decision| decision.session == **session && decision.verdict == CheckVerdict::Denied)
        };
        CheckTally {
            prevented: denied.saturating_sub(overridden) + count(CheckVerdict::Asked),
            overridden,
            allowed: count(CheckVerdict::Allowed),
            sessions: sessions.len(),
            obeyed: sessions.iter().filter(is_obeyed).count(),
        }
    };
    Ok(memories.into_iter().map(|memory| (memory.to_string(), tally(memory))).collect())
}
