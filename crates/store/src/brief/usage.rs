//! Reads what sessions were told and what they then touched.

use std::collections::{HashMap, HashSet};

use cerberus_recall::brief;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::time::Timestamp;

use crate::view::{self, Asks, Store};

/// What the sessions of some projects were told.
#[derive(Debug, Default)]
pub struct ToldSessions {
    /// Sessions that were told anything.
    pub sessions: usize,
    /// Lines of briefs, memories included.
    pub lines: usize,
    pub tokens: usize,
    pub files: ToldFileUsage,
}

impl ToldSessions {
    pub fn merge(&mut self, other: ToldSessions) {
        self.sessions += other.sessions;
        self.lines += other.lines;
        self.tokens += other.tokens;
        self.files.merge(other.files);
    }
}

/// Counts over the sessions of these projects, which are one project in several folders.
pub fn of_projects(store: &Store, projects: &[ProjectId], now: Timestamp) -> view::Result<ToldSessions> {
    let history = store.history(projects, Asks::Nothing, now)?;
    let work: HashMap<&SessionId, Vec<&str>> = history
        .iter()
        .map(|work| (&work.session, work.touched.iter().map(|touched| touched.path.as_str()).collect()))
        .collect();
    let files = store.all_files(projects)?;
    let bases: HashSet<&str> = files.iter().map(|path| brief::base(path)).collect();
    let mut told = ToldSessions::default();
    for session in store.sessions(projects, Timestamp::EPOCH, now)? {
        let (lines, tokens) = store.told(&session, now)?;
        if lines == 0 {
            continue;
        }
        told.sessions += 1;
        told.lines += lines;
        told.tokens += tokens;
        if let Some(touched) = work.get(&session.id) {
            told.files.add(&store.told_codes(&session, now)?, touched, &bases);
        }
    }
    Ok(told)
}

/// Counts over all projects of this home.
pub fn of_everything(store: &Store, now: Timestamp) -> view::Result<ToldSessions> {
    let mut told = ToldSessions::default();
    for project in store.all_projects(now)? {
        told.merge(of_projects(store, &[project], now)?);
    }
    Ok(told)
}
