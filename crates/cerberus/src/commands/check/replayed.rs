//! What a check would have stopped so far, for people.

use cerberus_checks::enforce::{self, CheckRow, history};
use cerberus_checks::replay::{Case, Replay};
use cerberus_checks::{Check, Rule};
use cerberus_store::view::Store;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;

/// How many examples are shown.
const SHOWN: usize = 5;

pub struct ReplayedCheck {
    replay: Replay,
    noun: String,
}

impl ReplayedCheck {
    pub fn of(context: &Context, store: &Store, row: &CheckRow) -> Result<ReplayedCheck> {
        ReplayedCheck::of_check(context, enforce::check(store, row, context.clock.now)?)
    }

    pub fn of_check(context: &Context, check: Check) -> Result<ReplayedCheck> {
        let noun = noun(&check.rule);
        Ok(ReplayedCheck { replay: history::replay(&context.home, check)?, noun })
    }

    /// `would have stopped 22 of 107 commits`.
    pub fn summary(&self) -> String {
        format!("would have stopped {} of {} {}", self.replay.stopped_cases.len(), self.replay.concerned, self.noun)
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("  {}", self.summary())];
        let listed =
            [("the last it would have stopped", &self.replay.stopped_cases), ("let pass", &self.replay.passed_cases)];
        for (label, cases) in listed {
            if !cases.is_empty() {
                lines.push(format!("  {label}:"));
                lines.extend(last(cases).map(|case| format!("    {}  {}", case.at.day(), case.what)));
            }
        }
        lines
    }

    pub fn json(&self) -> Value {
        let cases = |cases: &[Case]| {
            last(cases)
                .map(|case| json!({"at": case.at.to_string(), "session": case.session, "what": case.what}))
                .collect::<Vec<_>>()
        };
        json!({
            "stopped": self.replay.stopped_cases.len(), "of": self.replay.concerned, "what": self.noun,
            "tool_uses": self.replay.uses, "last_stopped": cases(&self.replay.stopped_cases),
            "last_passed": cases(&self.replay.passed_cases),
        })
    }
}

fn last(cases: &[Case]) -> impl Iterator<Item = &Case> {
    cases.iter().rev().take(SHOWN)
}

fn noun(rule: &Rule) -> String {
    match rule {
        Rule::Command { forbidden, .. } => {
            let mut programs: Vec<&str> = forbidden.iter().map(|pattern| pattern.program()).collect();
            programs.dedup();
            format!("uses of {}", programs.join(", "))
        }
        Rule::Prefix { .. } => "commands".to_string(),
        Rule::Path { .. } => "edits".to_string(),
        Rule::Branch { .. } => "commits and pushes".to_string(),
        Rule::Order { before, .. } => format!("uses of {}", before.text()),
        Rule::Stop { .. } => "turns with edits".to_string(),
        Rule::Commit { .. } => "commits".to_string(),
        Rule::Text { .. } => "edits (what was written is not kept, so this is not known)".to_string(),
    }
}
