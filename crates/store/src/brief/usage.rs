//! Reads what sessions were told and what they then touched.

use std::collections::{HashMap, HashSet};

use cerberus_recall::brief;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_recall::moments::told::{self, ToldMoment};
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::time::Timestamp;

use crate::brief::in_between::{MomentTold, moments_of};
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
    /// What was told in between, oldest first within a session.
    pub in_between: Vec<MomentTold>,
}

/// What sessions were told in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MomentUsage {
    /// Failures that were known, and how often what helped was done afterwards.
    pub failures: usize,
    pub remedies_used: usize,
    /// Files that another session at work had changed, and how often they were read afterwards.
    pub shared_files: usize,
    pub read_again: usize,
    /// Commands that were held, and how often no other was run afterwards.
    pub held: usize,
    pub left_alone: usize,
    /// Earlier sessions that prompts were about, and how many of them were looked up afterwards.
    pub past_sessions: usize,
    pub looked_up: usize,
    /// Files of which something was told before they were edited.
    pub edited_files: usize,
}

impl MomentUsage {
    fn of(told: &[MomentTold]) -> MomentUsage {
        let mut usage = MomentUsage::default();
        for MomentTold { code, is_followed, .. } in told {
            let (told, followed) = match told::read(code) {
                Some(ToldMoment::Seen { .. }) => (&mut usage.failures, &mut usage.remedies_used),
                Some(ToldMoment::Changed { .. }) => (&mut usage.shared_files, &mut usage.read_again),
                Some(ToldMoment::Held) => (&mut usage.held, &mut usage.left_alone),
                Some(ToldMoment::Past { .. }) => (&mut usage.past_sessions, &mut usage.looked_up),
                Some(ToldMoment::Edit { .. }) => {
                    usage.edited_files += 1;
                    continue;
                }
                None => continue,
            };
            *told += 1;
            *followed += usize::from(*is_followed);
        }
        usage
    }
}

impl ToldSessions {
    pub fn merge(&mut self, other: ToldSessions) {
        self.sessions += other.sessions;
        self.lines += other.lines;
        self.tokens += other.tokens;
        self.files.merge(other.files);
        self.in_between.extend(other.in_between);
    }

    pub fn moments(&self) -> MomentUsage {
        MomentUsage::of(&self.in_between)
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
        told.in_between.extend(moments_of(store, &session, now)?);
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
