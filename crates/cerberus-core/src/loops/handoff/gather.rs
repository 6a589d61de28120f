//! Captured facts become the state: duplicates merged, settled things gone, what was addressed marked so.

use std::collections::{BTreeMap, HashSet};

use super::check::Change;
use super::state::{Decision, Issue, Line, ModifiedFile, PreservedState, TestState, said};
use super::written::settles;
use crate::brief::failing::{self, Ran};
use crate::brief::{Item, Known, Section, Settlement, open_items};
use crate::extract::runs::Ledger;
use crate::model::event::Severity;
use crate::model::fact::{ClosedAs, Fact, Kind, Target};

/// What sessions left, each in the order in which it happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    pub facts: &'a [Known],
    pub settlements: &'a [Settlement],
    pub runs: &'a [Ran],
}

/// What is said of an issue whose severity nobody told.
const USUAL_SEVERITY: Severity = Severity::Medium;

pub fn gather(evidence: Evidence) -> PreservedState {
    // What was done settles here only what it names: a brief may guess, a list of work must not lose any.
    let not_done: Vec<Known> = evidence.facts.iter().filter(|known| known.fact.kind != Kind::Done).cloned().collect();
    let open = open_items(&not_done, evidence.settlements, &mut Vec::new());
    let of_kind = |kind: Kind| open.iter().filter(move |item| item.kind == kind);
    let ledger = ledger(evidence.runs);
    let behind = |item: &Item| fact_behind(evidence.facts, item);
    let has_key = |item: &&Item| behind(item).is_some_and(|fact| fact.custom_key.is_some());
    let mut known_issues: Vec<Issue> = of_kind(Kind::Blocker).filter_map(|item| behind(item).map(issue)).collect();
    known_issues.extend(red_commands(evidence.runs, &ledger));
    known_issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    known_issues.extend(addressed(evidence, &open));
    PreservedState {
        current_objective: of_kind(Kind::Objective).next().map(|item| said(&item.text)),
        completed_items: completed(evidence.facts),
        pending_items: pending(evidence.facts, of_kind(Kind::Next)),
        modified_files: edited(evidence.facts),
        decisions: of_kind(Kind::Decision).filter_map(|item| Some(decision(behind(item)?, item))).collect(),
        known_issues,
        test_state: (!evidence.runs.is_empty()).then(|| test_state(&ledger)),
        custom: custom(evidence.facts, &open),
        notes: of_kind(Kind::Note).filter(|item| !has_key(item)).map(|item| said(&item.text)).collect(),
        ..PreservedState::default()
    }
}

fn fact_behind<'a>(facts: &'a [Known], item: &Item) -> Option<&'a Fact> {
    let is_it = |known: &&Known| known.fact.code == item.code && known.at == item.at;
    facts.iter().rev().find(is_it).map(|known| &known.fact)
}

fn issue(fact: &Fact) -> Issue {
    Issue {
        description: said(&fact.text),
        severity: fact.severity.unwrap_or(USUAL_SEVERITY),
        files: fact.path.as_deref().map(said).into_iter().collect(),
        addressed: false,
    }
}

fn decision(fact: &Fact, item: &Item) -> Decision {
    let why = fact.why.as_deref().filter(|why| !why.is_empty());
    let reason = why.map(|why| format!(": {why}")).unwrap_or_default();
    let description = fact.text.strip_suffix(&reason).unwrap_or(&fact.text);
    Decision { description: said(description), rationale: why.map(said), timestamp: Some(item.at) }
}

/// What is to be done and was not done since.
fn pending<'a>(facts: &[Known], open: impl Iterator<Item = &'a Item>) -> Vec<Line> {
    let done = |item: &Item| {
        let later = facts.iter().filter(|known| known.fact.kind == Kind::Done && known.at >= item.at);
        later.into_iter().any(|known| settles(&known.fact.text, &item.text))
    };
    open.filter(|item| !done(item)).map(|item| said(&item.text)).collect()
}

/// What was done, the newest first, each once.
fn completed(facts: &[Known]) -> Vec<Line> {
    let mut seen = HashSet::new();
    let done = facts.iter().rev().filter(|known| known.fact.kind == Kind::Done);
    done.filter(|known| seen.insert(known.fact.code.as_str())).map(|known| said(&known.fact.text)).collect()
}

/// What was edited, the newest first; whether it still differs is for git to say.
fn edited(facts: &[Known]) -> Vec<ModifiedFile> {
    let mut seen = HashSet::new();
    let edits = facts.iter().rev().filter(|known| known.fact.kind == Kind::File);
    let paths = edits.filter_map(|known| known.fact.path.as_deref()).filter(|path| seen.insert(*path));
    paths.map(|path| ModifiedFile { path: said(path), change: Change::Modified, was: None }).collect()
}

/// The last value of each key, unless it was resolved.
fn custom(facts: &[Known], open: &[Item]) -> BTreeMap<String, Line> {
    let is_open = |fact: &Fact| open.iter().any(|item| item.kind == fact.kind && item.code == fact.code);
    let keyed = facts.iter().filter_map(|known| Some((known.fact.custom_key.as_deref()?, &known.fact)));
    let mut custom = BTreeMap::new();
    for (key, fact) in keyed {
        // Kinds that are never open keep what they were set to.
        match Section::of(fact.kind).is_some() && !is_open(fact) {
            true => custom.remove(&*said(key)),
            false => custom.insert(said(key).to_string(), said(&fact.text)),
        };
    }
    custom
}

/// Issues that somebody said are settled.
fn addressed(evidence: Evidence, open: &[Item]) -> Vec<Issue> {
    let settled = evidence.settlements.iter().filter(|settlement| settlement.closing.outcome == ClosedAs::Done);
    let codes: HashSet<&str> = settled
        .filter_map(|settlement| match &settlement.closing.target {
            Target::Code(Kind::Blocker, code) => Some(code.as_str()),
            _ => None,
        })
        .filter(|code| !open.iter().any(|item| item.code == *code))
        .collect();
    let mut seen = HashSet::new();
    let blockers = evidence.facts.iter().map(|known| &known.fact).filter(|fact| fact.kind == Kind::Blocker);
    let closed = blockers.filter(|fact| codes.contains(fact.code.as_str()) && seen.insert(fact.code.as_str()));
    closed.map(|fact| Issue { addressed: true, ..issue(fact) }).collect()
}

fn ledger(runs: &[Ran]) -> Ledger {
    let mut ledger = Ledger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    ledger
}

fn test_state(ledger: &Ledger) -> TestState {
    fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Line> {
        names.map(said).collect()
    }
    TestState {
        passing: names(ledger.passing()),
        failing: names(ledger.failing()),
        fixed: names(ledger.fixed()),
        regressed: names(ledger.regressed()),
    }
}

/// Builds and lints that fail, and test commands that named no test; those with a name are the test state's.
fn red_commands(runs: &[Ran], ledger: &Ledger) -> Vec<Issue> {
    let named: HashSet<&str> = ledger.failing().collect();
    let red = failing::blockers(runs);
    let red = red.iter().map(|known| &known.fact).filter(|fact| !named.contains(fact.text.as_str()));
    red.map(|fact| Issue { severity: Severity::High, description: said(&what_is_red(fact)), ..issue(fact) }).collect()
}

/// `build fails: error[E0308]: mismatched types`.
fn what_is_red(fact: &Fact) -> String {
    let sort = fact.code.split(':').nth(1).unwrap_or("run");
    format!("{sort} fails: {}", fact.text)
}
