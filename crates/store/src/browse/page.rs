//! The page of one session: what was asked, done, decided and left, and what it was told.

use std::collections::{BTreeMap, HashSet};

use cerberus_os::clock::Clock;
use cerberus_recall::brief::{KnownFact, Section, attributed, failing, open_items};
use cerberus_record::fact::FactKind;
use cerberus_record::id::MemoryId;
use cerberus_record::runs::{RunLedger, RunVerdict};
use cerberus_record::time::Timestamp;

use super::log::{self, ListedSession};
use crate::view::{self, CarriedFacts, CorrectionRow, FactFilter, MemoryRow, ReceiptRow, SessionRow, Store};

/// Something that was said, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidEntry {
    pub at: Timestamp,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWork {
    pub path: String,
    pub edits: usize,
    pub reads: usize,
    pub functions: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    pub passing: Vec<String>,
    pub failing: Vec<String>,
    pub fixed: Vec<String>,
    pub regressed: Vec<String>,
    /// Every run in order: green or not. Runs without a verdict are left out.
    pub runs: Vec<bool>,
}

/// The code of a memory that was told and is forgotten.
pub const FORGOTTEN_RULE: &str = "rule:";

/// A line that the session was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldLine {
    pub at: Timestamp,
    pub code: String,
    /// The memory that it is, if it is one.
    pub memory: Option<MemoryId>,
    /// The user had to say the same again in this session.
    pub is_broken: bool,
}

#[derive(Clone, Debug)]
pub struct Page {
    pub listed: ListedSession,
    pub asked: Vec<SaidEntry>,
    /// The agent's own words at the end of each turn.
    pub said: Vec<SaidEntry>,
    pub done: Vec<String>,
    pub decided: Vec<String>,
    /// Blockers and next steps that are open at the end of the session.
    pub left: Vec<String>,
    pub files: Vec<FileWork>,
    pub tests: Tests,
    pub commits: Vec<String>,
    pub told: Vec<ToldLine>,
    /// What the user corrected.
    pub corrected: Vec<SaidEntry>,
    /// A model's summary, if there is one.
    pub summary: Option<String>,
}

impl Page {
    /// Nothing was asked, done or recorded.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
            && self.files.is_empty()
            && self.done.is_empty()
            && self.decided.is_empty()
            && self.left.is_empty()
            && self.commits.is_empty()
    }
}

/// More than any session contains.
const CORRECTIONS_MAX: usize = 10_000;

pub fn page(store: &Store, clock: &Clock, session: SessionRow) -> view::Result<Page> {
    let now = clock.now;
    let sessions = [session];
    let mut carried = store.carried(&sessions, FactFilter::All, now)?;
    let runs = store.runs(&sessions, now)?;
    let mut ledger = RunLedger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    let owned = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_string).collect::<Vec<_>>();
    let tests = Tests {
        passing: owned(&mut ledger.passing()),
        failing: owned(&mut ledger.failing()),
        fixed: owned(&mut ledger.fixed()),
        regressed: owned(&mut ledger.regressed()),
        runs: runs.iter().filter_map(|ran| verdict(ran.run.verdict)).collect(),
    };
    let corrected = store.corrections(&[sessions[0].row], CORRECTIONS_MAX, now)?;
    let told = told(store, &sessions[0], &corrected, now)?;
    carried.add(failing::blockers(&runs, &carried.facts));
    let said = |(at, text)| SaidEntry { at, text };
    Ok(Page {
        asked: store.asked(&sessions[0], now)?.into_iter().map(said).collect(),
        said: store.said(&sessions[0], now)?.into_iter().map(said).collect(),
        done: texts(&carried.facts, FactKind::Done),
        decided: texts(&carried.facts, FactKind::Decision),
        left: left(&carried),
        files: files(&carried.facts),
        commits: texts(&carried.facts, FactKind::Commit),
        corrected: corrected
            .into_iter()
            .map(|row| SaidEntry { at: row.origin.at, text: row.correction.text })
            .collect(),
        summary: store.summary(&sessions[0], now)?.map(|row| row.text),
        listed: log::described(store, clock, sessions.into())?.remove(0),
        tests,
        told,
    })
}

fn verdict(verdict: RunVerdict) -> Option<bool> {
    match verdict {
        RunVerdict::Green => Some(true),
        RunVerdict::Red => Some(false),
        _ => None,
    }
}

/// The texts of a kind, each once, in the order of first mention.
fn texts(facts: &[KnownFact], kind: FactKind) -> Vec<String> {
    let mut seen = HashSet::new();
    let of_kind = facts.iter().filter(|known| known.fact.kind == kind && seen.insert(known.fact.code.as_str()));
    of_kind.map(|known| attributed(&known.fact.text, known.fact.reference.as_deref())).collect()
}

fn left(carried: &CarriedFacts) -> Vec<String> {
    let open = open_items(&carried.facts, &carried.settlements, &[], &mut Vec::new());
    let is_left = |section: Section| matches!(section, Section::Blockers | Section::Next);
    let open = open.into_iter().filter(|item| is_left(item.section));
    open.map(|item| attributed(&item.text, item.reference.as_deref())).collect()
}

/// The files of a session, those with most edits first.
fn files(facts: &[KnownFact]) -> Vec<FileWork> {
    let mut by_path: BTreeMap<&str, FileWork> = BTreeMap::new();
    for known in facts {
        let Some(path) = known.fact.path.as_deref() else { continue };
        let work = by_path.entry(path).or_insert_with(|| FileWork {
            path: path.to_string(),
            edits: 0,
            reads: 0,
            functions: Vec::new(),
        });
        match known.fact.kind {
            FactKind::File => work.edits += 1,
            FactKind::Read => work.reads += 1,
            FactKind::Function if !work.functions.contains(&known.fact.text) => {
                work.functions.push(known.fact.text.clone())
            }
            _ => {}
        }
    }
    let mut files: Vec<FileWork> = by_path.into_values().filter(|work| work.edits + work.reads > 0).collect();
    files.sort_by(|a, b| (b.edits, b.reads).cmp(&(a.edits, a.reads)).then_with(|| a.path.cmp(&b.path)));
    files
}

/// The lines that a session was told.
fn told(
    store: &Store,
    session: &SessionRow,
    corrected: &[CorrectionRow],
    now: Timestamp,
) -> view::Result<Vec<ToldLine>> {
    let mut lines = Vec::new();
    for ReceiptRow { at, codes, memories, .. } in store.receipts(session, now)? {
        let line = |code: String| ToldLine { at, code, memory: None, is_broken: false };
        // In the order in which a model reads them.
        for id in memories {
            lines.push(match store.memory(&id, now)? {
                Some(row) => {
                    let kind = if &*row.memory.category == "preference" { "pref" } else { "rule" };
                    let is_broken = corrected.iter().any(|one| one.origin.at >= at && is_evidence(&row, one));
                    let code = format!("{kind}:{}", &*row.memory.content);
                    ToldLine { at, code, memory: Some(row.id), is_broken }
                }
                None => line(FORGOTTEN_RULE.to_string()),
            });
        }
        lines.extend(codes.into_iter().map(line));
    }
    Ok(lines)
}

/// Whether a memory was learned from this correction, among others.
fn is_evidence(row: &MemoryRow, correction: &CorrectionRow) -> bool {
    row.memory.background.evidence.iter().any(|said| correction.origin.is_of(said))
}
