//! The lines of a brief.

use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;

use crate::extract::{PASTED, SAID};

/// The reference of an item that an agent noted.
pub(super) const NOTED: &str = "noted";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// The last session: what was asked and what came of it.
    Stopped,
    Git,
    Blockers,
    Next,
    Decisions,
    /// Quotes from sessions before the last one.
    Earlier,
    Files,
    Functions,
}

impl Section {
    /// In display order.
    pub const ALL: [Section; 8] = [
        Section::Stopped,
        Section::Git,
        Section::Blockers,
        Section::Next,
        Section::Decisions,
        Section::Earlier,
        Section::Files,
        Section::Functions,
    ];

    pub fn of(kind: FactKind) -> Option<Section> {
        match kind {
            FactKind::File | FactKind::Read => Some(Section::Files),
            FactKind::Function => Some(Section::Functions),
            FactKind::Decision => Some(Section::Decisions),
            FactKind::Blocker => Some(Section::Blockers),
            FactKind::Next | FactKind::Objective | FactKind::Note => Some(Section::Next),
            FactKind::Last | FactKind::Asked | FactKind::Said => Some(Section::Stopped),
            FactKind::Git | FactKind::Live => Some(Section::Git),
            FactKind::Done | FactKind::Test | FactKind::Commit | FactKind::PullRequest | FactKind::Step => None,
        }
    }
}

/// One line of a brief and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct BriefLine {
    pub section: Section,
    pub kind: FactKind,
    pub code: String,
    pub text: String,
    pub path: Option<String>,
    /// The last session that stated it; `None` for a file known only from git.
    pub session: Option<SessionId>,
    pub at: Timestamp,
    pub tokens: usize,
    /// How often it was stated.
    pub times: usize,
    /// Why a file has its rank, or why a sentence is quoted.
    pub place: Option<String>,
    /// What its fact is called by, such as the list it stands on.
    pub reference: Option<String>,
    /// The teammate who stated it. Its code then ends in the name and the age.
    pub author: Option<String>,
}

impl BriefLine {
    /// What is written down about having told it. A quote is known by where it comes from: its words are kept only once,
    /// in the record they were said in.
    pub fn receipt_code(&self) -> String {
        if let Some(author) = &self.author {
            return format!("{} ({author})", self.text);
        }
        let is_quote =
            matches!(self.kind, FactKind::Last | FactKind::Asked | FactKind::Said | FactKind::Git | FactKind::Live);
        if !is_quote && !matches!(self.reference.as_deref(), Some(QUOTED | SAID | PASTED | NOTED)) {
            return self.code.clone();
        }
        let session = self.session.as_ref().map_or("git", SessionId::as_str);
        format!("{}{session}@{}", self.kind.prefix(), self.at)
    }

    /// Why it is in the brief.
    pub fn why(&self) -> String {
        if let Some(place) = &self.place {
            return place.clone();
        }
        let verb = match self.kind {
            FactKind::File | FactKind::Function => "changed",
            FactKind::Read => "read",
            FactKind::Decision => "decided",
            _ => "open",
        };
        let often = if self.times > 1 { format!(", {} times", self.times) } else { String::new() };
        let session = self.session.as_ref().map_or("git", SessionId::as_str);
        format!("{verb} {} in {session}{often}", self.at)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DroppedLine {
    pub code: String,
    pub reason: String,
}

/// The reference of an open item that quotes the agent.
pub const QUOTED: &str = "quoted";
