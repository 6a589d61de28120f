//! What the user says in a prompt: the model decides about its sentences, the tables word what they know.

use super::model::{self, Model};
use super::unit::{Unit, Units};
use super::{READ_BYTES_MAX, Statement, Statements, cued, later, own, read_labelled_list, tidy};
use crate::clean::text::clip;
use crate::model::fact::Kind;

/// What came before a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before<'a> {
    /// The end of the agent's last message; empty if there was none.
    pub message: &'a str,
    /// The user interrupted the agent, or rejected a tool use.
    pub is_interruption: bool,
}

/// In one prompt nobody decides or reports more than this; a problem is told once.
const DECISIONS_MAX: usize = 4;
const BLOCKERS_MAX: usize = 1;

/// What the user decided, is blocked by or wants next, in their own words.
pub fn user(prompt: &str, units: &Units, before: &Before) -> Vec<Statement> {
    user_by(Model::embedded(), prompt, units, before)
}

/// The same, judged by another model.
pub fn user_by(model: &Model, prompt: &str, units: &Units, before: &Before) -> Vec<Statement> {
    let cued = cued(prompt);
    let mut statements = Statements::default();
    labelled(prompt, &mut statements);
    let scores = model.scores(&model::features(units, before, &cued));
    for ((kind, part), scores) in model::KINDS.iter().zip(&model.parts).zip(scores) {
        let most = if *kind == Kind::Blocker { BLOCKERS_MAX } else { DECISIONS_MAX };
        let found = units.list.iter().zip(scores).filter(|(_, score)| *score >= part.threshold);
        for (unit, _) in found.take(most) {
            statements.add_of(*kind, unit, units, &cued);
        }
    }
    let is_put_off = |unit: &&Unit| !unit.is_pasted && later::is_put_off(&unit.reading, units.prompt_len);
    if let Some(unit) = units.list.iter().find(is_put_off) {
        statements.add_of(Kind::Next, unit, units, &cued);
    }
    cued.iter().filter(|one| one.kind == Kind::Next).for_each(|one| statements.add(one.kind, &one.text));
    statements.0
}

/// Everything that a prompt may be found to say, whatever came before it.
pub fn possible(prompt: &str) -> Vec<Statement> {
    let units = Units::new(prompt);
    let cued = cued(prompt);
    let mut all = cued.clone();
    for (unit, kind) in
        units.list.iter().flat_map(|unit| [Kind::Decision, Kind::Blocker, Kind::Next].map(|kind| (unit, kind)))
    {
        all.extend(worded(kind, unit, &units, &cued).map(|text| Statement { kind, text }));
    }
    all
}

impl Statements {
    fn add_of(&mut self, kind: Kind, unit: &Unit, units: &Units, cued: &[Statement]) {
        let Some(text) = worded(kind, unit, units, cued) else { return };
        let is_known = |one: &Statement| one.kind == kind && (one.text.contains(&text) || text.contains(&one.text));
        if !self.0.iter().any(is_known) {
            self.add(kind, &text);
        }
    }
}

/// How a unit is told: as the tables found it, with what it refers to; else the sentence itself, or the line that
/// reports the failure.
fn worded(kind: Kind, unit: &Unit, units: &Units, cued: &[Statement]) -> Option<String> {
    if unit.is_pasted {
        let first = || unit.text.lines().find(|line| line.chars().any(char::is_alphabetic));
        return tidy(units.fault.as_deref().or_else(first)?);
    }
    let found = cued.iter().find(|one| one.kind == kind && model::is_about(&one.text, &unit.text));
    found.map(|one| one.text.clone()).or_else(|| tidy(&unit.text))
}

/// The items of lists with a label: "Decisions: …", "Next steps: …".
fn labelled(prompt: &str, statements: &mut Statements) {
    let text = own::without_blocks(clip(prompt, READ_BYTES_MAX));
    let own = own::own(&text);
    let lines: Vec<&str> = own.lines.iter().map(String::as_str).collect();
    (0..lines.len()).for_each(|at| {
        read_labelled_list(&lines[at..], statements);
    });
}
