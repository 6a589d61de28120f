//! What the screen shows, as plain values. Nothing here reads a file or draws.

use std::collections::{HashMap, HashSet};

use cerberus_recall::brief::usage::EarlierWork;
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::Scope;
use cerberus_store::browse::log::ListedSession;
use cerberus_store::browse::page::{Page, ToldLine};
use cerberus_store::browse::proposals::ListedProposal;
use cerberus_store::browse::told::ToldText;

use super::filter;
use super::loop_runs::{LastOutput, LoopRun};
use crate::commands::undo::KeptTurn;
use crate::passages::FoundText;
use crate::render::time::LocalTime;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    Log,
    Told,
    Review,
    Loops,
}

impl Tab {
    pub const ALL: [Tab; 4] = [Tab::Log, Tab::Told, Tab::Review, Tab::Loops];

    pub fn name(self) -> &'static str {
        match self {
            Tab::Log => "Log",
            Tab::Told => "Told",
            Tab::Review => "Review",
            Tab::Loops => "Loops",
        }
    }
}

/// What was read from the view and the ledgers.
#[derive(Clone, Debug, Default)]
pub struct ScreenData {
    /// Newest first.
    pub sessions: Vec<ListedSession>,
    /// The rows of the sessions that were told anything.
    pub told: HashSet<i64>,
    pub proposals: Vec<ListedProposal>,
    /// Running ones first.
    pub loops: Vec<LoopRun>,
    /// The names of the projects of loops.
    pub names: HashMap<ProjectId, String>,
    /// One line about all files that were told.
    pub usage: String,
}

/// A session that was read whole.
#[derive(Clone, Debug)]
pub struct LoadedSession {
    pub page: Page,
    /// What led to each line that it was told.
    pub reasons: Vec<Option<EarlierWork>>,
    /// The words of each line that it was told; `None` before they were asked for.
    pub texts: Option<Vec<ToldText>>,
    /// Its turns whose files are kept; `None` before they were asked for.
    pub turns: Option<Vec<KeptTurn>>,
    /// What it cost, in words, once its transcript was read; empty if that says nothing.
    pub cost: Option<String>,
}

/// What is typed to find a session.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub text: String,
    pub is_typing: bool,
    /// The text for which `found` is the answer.
    pub searched: String,
    /// The rows of the sessions in which the words occur anywhere.
    pub found: HashSet<i64>,
    /// The text of a session that has the words best.
    pub passages: HashMap<i64, FoundText>,
}

/// What lies over the page and takes all keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialog {
    Help {
        scroll: usize,
    },
    Ask {
        question: String,
        effect: ScreenEffect,
    },
    /// The new words of the current proposal.
    Edit(String),
    Text {
        title: String,
        lines: Vec<String>,
        scroll: usize,
    },
}

/// What must be done outside of the state.
#[derive(Clone, Debug, PartialEq)]
pub enum ScreenEffect {
    Quit,
    Suspend,
    /// Quit, and resume the session with this id in its agent.
    Resume(String),
    /// Show what the next session in this folder would be told.
    Brief(String),
    Approve {
        id: MemoryId,
        words: Option<String>,
        scope: Option<Scope>,
    },
    Reject(MemoryId),
    Undo(MemoryId),
    /// Show what the turns of the open session changed.
    Diffs,
}

#[derive(Clone, Debug)]
pub struct ScreenState {
    pub tab: Tab,
    pub data: ScreenData,
    pub local: LocalTime,
    pub is_utf8: bool,
    pub is_colored: bool,
    /// The ids and the name of the project of the current folder.
    pub here: (Vec<ProjectId>, String),
    pub is_only_here: bool,
    pub filter: Filter,
    /// What is selected: in the log, of the told sessions and of the lines of one, of the proposals, of the loops.
    pub log_at: usize,
    pub told_at: usize,
    pub line_at: usize,
    pub review_at: usize,
    pub loop_at: usize,
    /// The page of the selected session is open, scrolled down by this many lines.
    pub open: Option<usize>,
    pub loaded: Option<LoadedSession>,
    pub output: LastOutput,
    /// The user chose that the current proposal shall apply everywhere.
    pub is_for_all: bool,
    /// The decided memories, in order, for undoing.
    pub decided: Vec<MemoryId>,
    pub dialog: Option<Dialog>,
    /// Shown until the next key.
    pub message: Option<String>,
}

impl ScreenState {
    pub fn new(local: LocalTime, here: (Vec<ProjectId>, String), is_utf8: bool, is_colored: bool) -> ScreenState {
        ScreenState {
            tab: Tab::Log,
            data: ScreenData::default(),
            local,
            is_utf8,
            is_colored,
            here,
            is_only_here: false,
            filter: Filter::default(),
            log_at: 0,
            told_at: 0,
            line_at: 0,
            review_at: 0,
            loop_at: 0,
            open: None,
            loaded: None,
            output: LastOutput::default(),
            is_for_all: false,
            decided: Vec::new(),
            dialog: None,
            message: None,
        }
    }

    /// The sessions of the log that match.
    pub fn sessions(&self) -> Vec<&ListedSession> {
        let text = self.filter.text.trim();
        let is_found = |listed: &ListedSession| {
            text.is_empty() || self.filter.found.contains(&listed.session.row) || filter::matches(text, listed)
        };
        self.data
            .sessions
            .iter()
            .filter(|listed| self.is_in_scope(&listed.session.project) && is_found(listed))
            .collect()
    }

    /// The sessions that were told anything.
    pub fn told_sessions(&self) -> Vec<&ListedSession> {
        let is_told = |listed: &&ListedSession| self.data.told.contains(&listed.session.row);
        self.data.sessions.iter().filter(is_told).filter(|listed| self.is_in_scope(&listed.session.project)).collect()
    }

    pub fn loops(&self) -> Vec<&LoopRun> {
        self.data.loops.iter().filter(|run| self.is_in_scope(&run.project)).collect()
    }

    fn is_in_scope(&self, project: &ProjectId) -> bool {
        !self.is_only_here || self.here.0.contains(project)
    }

    /// The session that the keys act on.
    pub fn selected(&self) -> Option<&ListedSession> {
        match self.tab {
            Tab::Log => self.sessions().get(self.log_at).copied(),
            Tab::Told => self.told_sessions().get(self.told_at).copied(),
            Tab::Review | Tab::Loops => None,
        }
    }

    /// The selected session as a whole, once it was read.
    pub fn page(&self) -> Option<&LoadedSession> {
        let row = self.selected()?.session.row;
        self.loaded.as_ref().filter(|loaded| loaded.page.listed.session.row == row)
    }

    pub fn told_line(&self) -> Option<&ToldLine> {
        self.page()?.page.told.get(self.line_at)
    }

    pub fn proposal(&self) -> Option<&ListedProposal> {
        self.data.proposals.get(self.review_at)
    }

    pub fn selected_loop(&self) -> Option<&LoopRun> {
        self.loops().get(self.loop_at).copied()
    }

    /// Takes what was read anew. What was selected stays selected.
    pub fn take(&mut self, data: ScreenData) {
        let (session, told) =
            (self.row_of(&self.sessions(), self.log_at), self.row_of(&self.told_sessions(), self.told_at));
        let proposal = self.proposal().map(|proposal| proposal.row.id.clone());
        let run = self.selected_loop().map(|run| (run.project.clone(), run.state.run));
        self.data = data;
        self.loaded = None;
        let find =
            |listed: &[&ListedSession], row: Option<i64>| listed.iter().position(|one| Some(one.session.row) == row);
        self.log_at = find(&self.sessions(), session).unwrap_or(self.log_at);
        self.told_at = find(&self.told_sessions(), told).unwrap_or(self.told_at);
        let same = self.data.proposals.iter().position(|one| Some(&one.row.id) == proposal.as_ref());
        self.review_at = same.unwrap_or(self.review_at);
        self.is_for_all &= same.is_some();
        let is_same = |one: &&LoopRun| Some((one.project.clone(), one.state.run)) == run;
        self.loop_at = self.loops().iter().position(is_same).unwrap_or(self.loop_at);
        self.keep_in_range();
    }

    fn row_of(&self, listed: &[&ListedSession], at: usize) -> Option<i64> {
        listed.get(at).map(|one| one.session.row)
    }

    /// No selection is behind the end of its list.
    pub fn keep_in_range(&mut self) {
        let last = |length: usize| length.saturating_sub(1);
        self.log_at = self.log_at.min(last(self.sessions().len()));
        self.told_at = self.told_at.min(last(self.told_sessions().len()));
        self.review_at = self.review_at.min(last(self.data.proposals.len()));
        self.loop_at = self.loop_at.min(last(self.loops().len()));
        if let Some(loaded) = self.page() {
            self.line_at = self.line_at.min(last(loaded.page.told.len()));
        }
        if self.selected().is_none() {
            self.open = None;
        }
    }
}
