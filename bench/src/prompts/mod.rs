//! How well the user's words are understood: labelled prompts, scored per label, language and person.
//!
//! You bring the labelled prompts (`data.rs`). Every person is judged by a model that was trained on the others. The
//! tables of cues for rules and next steps are the same for everybody.

mod data;
pub mod train;

use std::collections::{BTreeSet, HashSet};

use anyhow::Result;
use cerberus_core::extract::words::unit::Units;
use cerberus_core::extract::{resolved, words};
use cerberus_core::learn::correction::{Turn, corrections};
use cerberus_core::model::fact::Kind;

use self::data::{Labelled, read};
use self::train::{Examples, fit};
use crate::measure::{say, table};
use crate::programs::Programs;

const LABELS: [&str; 6] = ["rule", "sure rule", "decision", "blocker", "next", "fix"];
/// Corrections with this confidence are approved automatically.
const APPROVED_MIN: f64 = 0.9;
/// Shorter words are not content.
const CONTENT_CHARS_MIN: usize = 4;

/// What was found in one prompt.
#[derive(Default)]
pub struct Found {
    labels: HashSet<&'static str>,
    decisions: Vec<String>,
    rules: Vec<String>,
}

impl Found {
    fn new(row: &Labelled, model: &words::model::Model) -> Found {
        let before = row.before();
        let units = Units::new(&row.prompt);
        let mut found = Found::default();
        for statement in resolved(words::user_by(model, &row.prompt, &units, &before), &row.prompt, &before) {
            found.labels.insert(statement.kind.word());
            if statement.kind == Kind::Decision {
                found.decisions.push(statement.text);
            }
        }
        let turn = Turn { prompt: &row.prompt, before: before.message, is_interruption: before.is_interruption };
        for correction in corrections(&turn, &units) {
            let is_sure = correction.kind.is_durable() && correction.confidence >= APPROVED_MIN;
            found.labels.insert(if correction.kind.is_durable() { "rule" } else { "fix" });
            found.labels.extend(is_sure.then_some("sure rule"));
            if correction.kind.is_durable() {
                found.rules.push(correction.text);
            }
        }
        found
    }
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref() else {
        return say(
            "labelled prompts are needed: --data FILE or DIR (JSON Lines with prompt, labels, disputed, chain)",
        );
    };
    let rows = read(data)?;
    let examples = Examples::new(&rows);
    let found = leave_one_out(&rows, &examples);
    say(&format!(
        "{} prompts of {} people; each person is left out of the training",
        rows.len(),
        examples.people.len()
    ))?;
    let mut lines: Vec<Vec<String>> =
        LABELS.iter().map(|label| score(label, label, &rows, &found, |_| true).to_vec()).collect();
    let languages: BTreeSet<&str> = rows.iter().map(Labelled::language).collect();
    for label in ["rule", "decision", "blocker", "next"] {
        for language in &languages {
            lines.push(
                score(&format!("{label}, {language}"), label, &rows, &found, |row| row.language() == *language)
                    .to_vec(),
            );
        }
        for person in &examples.people {
            lines
                .push(score(&format!("{label}, {person}"), label, &rows, &found, |row| row.person == *person).to_vec());
        }
    }
    table(&["label", "precision", "recall", "right/wrong/missed"], &lines)?;
    say(&assents(&rows, &found))?;
    if std::env::var_os("CERBERUS_BENCH_VERBOSE").is_some() {
        errors(&rows, &found)?;
    }
    Ok(())
}

/// What is found in each prompt by a model that does not know its person.
pub fn leave_one_out(rows: &[Labelled], examples: &Examples) -> Vec<Found> {
    let mut found: Vec<Found> = rows.iter().map(|_| Found::default()).collect();
    for (at, person) in examples.people.iter().enumerate() {
        let model = fit(rows, examples, Some(at));
        for (row, found) in rows.iter().zip(&mut found).filter(|(row, _)| row.person == *person) {
            *found = Found::new(row, &model);
        }
    }
    found
}

/// One row of the table: how often `label` was found rightly.
pub fn score(
    name: &str,
    label: &str,
    rows: &[Labelled],
    found: &[Found],
    counts: impl Fn(&Labelled) -> bool,
) -> [String; 4] {
    let (mut right, mut wrong, mut missed) = (0, 0, 0);
    let labelled = label.strip_prefix("sure ").unwrap_or(label);
    for (row, found) in rows.iter().zip(found).filter(|(row, _)| row.counts_for(labelled) && counts(row)) {
        match (found.labels.contains(label), row.is(labelled)) {
            (true, true) => right += 1,
            (true, false) => wrong += 1,
            (false, true) => missed += 1,
            (false, false) => {}
        }
    }
    let share = |part: usize, whole: usize| match whole {
        0 => "-".to_string(),
        whole => format!("{:.2}", part as f64 / whole as f64),
    };
    [name.to_string(), share(right, right + wrong), share(right, right + missed), format!("{right}/{wrong}/{missed}")]
}

/// How many assents were told as decisions, and how many of these say what the agent had offered.
fn assents(rows: &[Labelled], found: &[Found]) -> String {
    let assents = rows.iter().zip(found).filter(|(row, _)| row.is("assent") && !row.is("decision"));
    let (mut all, mut told, mut resolved) = (0, 0, 0);
    for (row, found) in assents.filter(|(row, _)| !row.prev_assistant.is_empty()) {
        all += 1;
        told += usize::from(!found.decisions.is_empty());
        let said: HashSet<String> = content(&row.prev_assistant).collect();
        let is_said = |text: &String| content(text).any(|word| said.contains(&word));
        resolved += usize::from(found.decisions.iter().any(is_said));
    }
    let share = resolved as f64 / f64::from(told.max(1) as u32);
    format!("assents: {all}, told as a decision: {told}, of these with the agent's words: {resolved} ({share:.2})")
}

fn content(text: &str) -> impl Iterator<Item = String> {
    let is_content = |word: &String| word.chars().count() >= CONTENT_CHARS_MIN || !word.is_ascii();
    cerberus_core::clean::text::words(text).filter(is_content)
}

/// Every prompt that was judged wrongly.
fn errors(rows: &[Labelled], found: &[Found]) -> Result<()> {
    for label in ["rule", "decision", "blocker", "next"] {
        for (row, found) in rows.iter().zip(found).filter(|(row, _)| row.counts_for(label)) {
            let (is_found, is_labelled) = (found.labels.contains(label), row.is(label));
            if is_found != is_labelled {
                let mark = if is_found { "wrong" } else { "missed" };
                let prompt: String = row.prompt.replace('\n', " / ").chars().take(160).collect();
                let told = if label == "rule" { found.rules.join(" | ") } else { found.decisions.join(" | ") };
                say(&format!("{mark} {label}, {}: {prompt} [{told}]", row.person))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(labels: &[&str], disputed: &[&str]) -> Labelled {
        Labelled {
            prompt: "yes".to_string(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
            disputed: disputed.iter().map(|label| label.to_string()).collect(),
            prev_assistant: "Shall I split the parser module?".to_string(),
            after_interrupt: false,
            span: String::new(),
            person: "ada".to_string(),
        }
    }

    #[test]
    fn what_is_found_is_counted_by_label() {
        let found = |labels: &[&'static str]| Found { labels: labels.iter().copied().collect(), ..Found::default() };
        let rows = [row(&["rule"], &[]), row(&["rule"], &[]), row(&["rule"], &["rule"]), row(&["assent"], &[])];
        let found = [found(&["rule"]), found(&[]), found(&[]), found(&["decision"])];
        assert_eq!(score("x", "rule", &rows, &found, |_| true), ["x", "1.00", "0.50", "1/0/1"]);
        assert_eq!(score("x", "decision", &rows, &found, |_| true)[3], "0/0/0", "an assent counts neither way");
    }

    #[test]
    fn an_assent_is_resolved_if_the_decision_has_the_agents_words() {
        let told = |text: &str| Found { decisions: vec![text.to_string()], ..Found::default() };
        let rows = [row(&["assent"], &[]), row(&["assent"], &[]), row(&["assent"], &[])];
        let line = assents(&rows, &[told("split the parser module"), told("yes"), Found::default()]);
        assert_eq!(line, "assents: 3, told as a decision: 2, of these with the agent's words: 1 (0.50)");
    }
}
