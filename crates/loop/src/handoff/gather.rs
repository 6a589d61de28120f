//! Builds the state from captured facts: duplicates merged, settled items removed, addressed issues marked.

use std::collections::{BTreeMap, HashSet};

use cerberus_recall::brief::failing::{self, SessionRun};
use cerberus_recall::brief::{BriefLine, KnownFact, Section, Settlement, open_items};
use cerberus_record::clean::instruction::harmless;
use cerberus_record::event::Severity;
use cerberus_record::fact::{ClosedAs, ClosingTarget, Fact, FactKind};
use cerberus_record::runs::RunLedger;

use super::state::{FileDifference, HandoffDecision, Issue, ModifiedFile, PreservedState, TestState};
use super::written::settles;
use crate::texts::{OneLine, one_line};

/// What sessions left, in chronological order.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandoffEvidence<'a> {
    pub facts: &'a [KnownFact],
    pub settlements: &'a [Settlement],
    pub runs: &'a [SessionRun],
}

/// The severity of an issue that has none.
const USUAL_SEVERITY: Severity = Severity::Medium;

pub fn gather(evidence: HandoffEvidence) -> PreservedState {
    // Here a done item settles only what it names. A brief may guess, but the list of work must not lose any item.
    let not_done: Vec<KnownFact> =
        evidence.facts.iter().filter(|known| known.fact.kind != FactKind::Done).cloned().collect();
    let open = open_items(&not_done, evidence.settlements, &[], &mut Vec::new());
    let of_kind = |kind: FactKind| open.iter().filter(move |item| item.kind == kind);
    let ledger = ledger(evidence.runs);
    let behind = |item: &BriefLine| fact_behind(evidence.facts, item);
    let has_key = |item: &&BriefLine| behind(item).is_some_and(|fact| fact.custom_key.is_some());
    let mut known_issues: Vec<Issue> = of_kind(FactKind::Blocker).filter_map(|item| behind(item).map(issue)).collect();
    known_issues.extend(red_commands(evidence.runs, &ledger));
    known_issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    known_issues.extend(addressed(evidence, &open));
    PreservedState {
        current_objective: of_kind(FactKind::Objective).next().map(|item| one_line(&item.text)),
        completed_items: completed(evidence.facts),
        pending_items: pending(evidence.facts, of_kind(FactKind::Next)),
        modified_files: edited(evidence.facts),
        decisions: of_kind(FactKind::Decision).filter_map(|item| Some(decision(behind(item)?, item))).collect(),
        known_issues,
        test_state: (!evidence.runs.is_empty()).then(|| test_state(&ledger)),
        custom: custom(evidence.facts, &open),
        notes: of_kind(FactKind::Note).filter(|item| !has_key(item)).map(|item| one_line(&item.text)).collect(),
        ..PreservedState::default()
    }
}

fn fact_behind<'a>(facts: &'a [KnownFact], item: &BriefLine) -> Option<&'a Fact> {
    let is_it = |known: &&KnownFact| known.fact.code == item.code && known.at == item.at;
    facts.iter().rev().find(is_it).map(|known| &known.fact)
}

fn issue(fact: &Fact) -> Issue {
    Issue {
        description: one_line(&fact.text),
        severity: fact.severity.unwrap_or(USUAL_SEVERITY),
        files: fact.path.as_deref().map(one_line).into_iter().collect(),
        addressed: false,
    }
}

fn decision(fact: &Fact, item: &BriefLine) -> HandoffDecision {
    let why = fact.why.as_deref().filter(|why| !why.is_empty());
    let reason = why.map(|why| format!(": {why}")).unwrap_or_default();
    let description = fact.text.strip_suffix(&reason).unwrap_or(&fact.text);
    HandoffDecision { description: one_line(description), rationale: why.map(one_line), timestamp: Some(item.at) }
}

/// What is to be done and has not been done since.
fn pending<'a>(facts: &[KnownFact], open: impl Iterator<Item = &'a BriefLine>) -> Vec<OneLine> {
    let done = |item: &BriefLine| {
        let later = facts.iter().filter(|known| known.fact.kind == FactKind::Done && known.at >= item.at);
        later.into_iter().any(|known| settles(&known.fact.text, &item.text))
    };
    open.filter(|item| !done(item)).map(|item| one_line(&item.text)).collect()
}

/// What was done, newest first, each once.
fn completed(facts: &[KnownFact]) -> Vec<OneLine> {
    let mut seen = HashSet::new();
    let done = facts.iter().rev().filter(|known| known.fact.kind == FactKind::Done);
    done.filter(|known| seen.insert(known.fact.code.as_str())).map(|known| one_line(&known.fact.text)).collect()
}

/// What was edited, newest first; git decides later whether it still differs.
fn edited(facts: &[KnownFact]) -> Vec<ModifiedFile> {
    let mut seen = HashSet::new();
    let edits = facts.iter().rev().filter(|known| known.fact.kind == FactKind::File);
    let paths = edits.filter_map(|known| known.fact.path.as_deref()).filter(|path| seen.insert(*path));
    paths.map(|path| ModifiedFile { path: one_line(path), change: FileDifference::Modified, was: None }).collect()
}

/// The last value of each key, unless it was resolved.
fn custom(facts: &[KnownFact], open: &[BriefLine]) -> BTreeMap<String, OneLine> {
    let is_open = |fact: &Fact| open.iter().any(|item| item.kind == fact.kind && item.code == fact.code);
    let keyed = facts.iter().filter_map(|known| Some((known.fact.custom_key.as_deref()?, &known.fact)));
    let mut custom = BTreeMap::new();
    for (key, fact) in keyed {
        // Kinds that are never open keep their last value.
        match Section::of(fact.kind).is_some() && !is_open(fact) {
            true => custom.remove(&*one_line(key)),
            false => custom.insert(one_line(key).to_string(), one_line(&fact.text)),
        };
    }
    custom
}

/// Issues that were marked as settled.
fn addressed(evidence: HandoffEvidence, open: &[BriefLine]) -> Vec<Issue> {
    let settled = evidence.settlements.iter().filter(|settlement| settlement.closing.outcome == ClosedAs::Done);
    let codes: HashSet<&str> = settled
        .filter_map(|settlement| match &settlement.closing.target {
            ClosingTarget::Code(FactKind::Blocker, code) => Some(code.as_str()),
            _ => None,
        })
        .filter(|code| !open.iter().any(|item| item.code == *code))
        .collect();
    let mut seen = HashSet::new();
    let blockers = evidence.facts.iter().map(|known| &known.fact).filter(|fact| fact.kind == FactKind::Blocker);
    let closed = blockers.filter(|fact| codes.contains(fact.code.as_str()) && seen.insert(fact.code.as_str()));
    closed.map(|fact| Issue { addressed: true, ..issue(fact) }).collect()
}

fn ledger(runs: &[SessionRun]) -> RunLedger {
    let mut ledger = RunLedger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    ledger
}

fn test_state(ledger: &RunLedger) -> TestState {
    fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<OneLine> {
        names.map(one_line).collect()
    }
    TestState {
        passing: names(ledger.passing()),
        failing: names(ledger.failing()),
        fixed: names(ledger.fixed()),
        regressed: names(ledger.regressed()),
    }
}

/// Failing builds and lints, and failing test commands that named no test. Named tests are in the test state.
fn red_commands(runs: &[SessionRun], ledger: &RunLedger) -> Vec<Issue> {
    let named: HashSet<&str> = ledger.failing().collect();
    let red = failing::blockers(runs, &[]);
    let red = red.iter().map(|known| &known.fact).filter(|fact| !named.contains(fact.text.as_str()));
    red.map(|fact| Issue { severity: Severity::High, description: one_line(&what_is_red(fact)), ..issue(fact) })
        .collect()
}

/// `build fails: error[E0308]: mismatched types`.
fn what_is_red(fact: &Fact) -> String {
    let sort = fact.code.split(':').nth(1).unwrap_or("run");
    format!("{sort} fails: {}", harmless(&fact.text, "an error"))
}
