//! Reads what sessions were told and what they then touched.

use std::collections::{HashMap, HashSet};

use cerberus_recall::brief;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_recall::moments::told::{self, ToldMoment};
use cerberus_record::fact::FactKind;
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::time::Timestamp;

use crate::view::{self, Asks, ReceiptRow, SessionRow, Store};

/// What the sessions of some projects were told.
#[derive(Debug, Default)]
pub struct ToldSessions {
    /// Sessions that were told anything.
    pub sessions: usize,
    /// Lines of briefs, memories included.
    pub lines: usize,
    pub tokens: usize,
    pub files: ToldFileUsage,
    pub moments: MomentUsage,
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
    /// Commands that were held.
    pub held: usize,
    /// Earlier sessions that prompts were about, and how many of them were looked up afterwards.
    pub past_sessions: usize,
    pub looked_up: usize,
    /// Files of which something was told before they were edited.
    pub edited_files: usize,
}

impl MomentUsage {
    fn merge(&mut self, other: MomentUsage) {
        self.failures += other.failures;
        self.remedies_used += other.remedies_used;
        self.shared_files += other.shared_files;
        self.read_again += other.read_again;
        self.held += other.held;
        self.past_sessions += other.past_sessions;
        self.looked_up += other.looked_up;
        self.edited_files += other.edited_files;
    }

    fn of_session(store: &Store, session: &SessionRow, now: Timestamp) -> view::Result<MomentUsage> {
        let mut usage = MomentUsage::default();
        for ReceiptRow { at, codes, .. } in store.receipts(session, now)? {
            for moment in codes.iter().filter_map(|code| told::read(code)) {
                match moment {
                    ToldMoment::Seen { remedy } => {
                        usage.failures += 1;
                        let words = remedy.trim_end_matches('…');
                        usage.remedies_used += usize::from(store.has_done(session, words, at, now)?);
                    }
                    ToldMoment::Changed { file } => {
                        usage.shared_files += 1;
                        let read = store.last_touch(session, file, &[FactKind::Read], now)?;
                        usage.read_again += usize::from(read.is_some_and(|read| read >= at));
                    }
                    ToldMoment::Held => usage.held += 1,
                    ToldMoment::Past { session: earlier } => {
                        usage.past_sessions += 1;
                        usage.looked_up += usize::from(store.has_done(session, earlier, at, now)?);
                    }
                    ToldMoment::Edit { .. } => usage.edited_files += 1,
                }
            }
        }
        Ok(usage)
    }
}

impl ToldSessions {
    pub fn merge(&mut self, other: ToldSessions) {
        self.sessions += other.sessions;
        self.lines += other.lines;
        self.tokens += other.tokens;
        self.files.merge(other.files);
        self.moments.merge(other.moments);
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
        told.moments.merge(MomentUsage::of_session(store, &session, now)?);
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
