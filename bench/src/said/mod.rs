//! What becomes of the user's words: what is proven, what is told at once, what waits, and what is refused.
//!
//! You bring labelled prompts (`prompts/labelled2.jsonl.gz`: `id`, `chain`, `prompt`, `labels`, `disputed`, `span`,
//! `prev_assistant`) and prompts with pasted rules (`poison/pasted.jsonl`: `prompt`). The answers of a real model that was
//! asked to quote a rule can be given as a file (`id`, `quote`). The program has no weights for this, and its list of cues
//! was written without these data. What counts as pasted is fitted: it was corrected after looking at what was refused.

mod data;
mod proof;

use std::path::Path;

use anyhow::Result;
use cerberus_recall::learn::correction::{CorrectionKind, corrections};
use cerberus_recall::said;
use cerberus_recall::said::cues::is_lasting;
use cerberus_recall::said::{pasted, prove};
use cerberus_testkit::simulation::random::Random;

use self::data::{Answer, Labelled, read};
use crate::measure::{say, table};

/// So many prompts are quoted by a hijacked agent.
const HIJACKED: usize = 600;
const LABELS: [&str; 5] = ["rule", "fix", "decision", "blocker", "next"];

/// What becomes of a quotation that an agent calls a rule.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// Without the person.
    Told,
    Waits,
    Refused,
}

fn fate(quotation: &str, prompt: &str) -> Fate {
    match prove(quotation, prompt).map(|place| &prompt[place]) {
        Err(_) => Fate::Refused,
        Ok(whole) if pasted::is_typed(prompt, whole) && is_lasting(whole) => Fate::Told,
        Ok(_) => Fate::Waits,
    }
}

pub fn run(data: Option<&Path>, answers: Option<&Path>) -> Result<()> {
    let Some(data) = data.filter(|data| data.join("prompts/labelled2.jsonl.gz").is_file()) else {
        return say("needs --data DIR with prompts/labelled2.jsonl.gz and poison/pasted.jsonl");
    };
    let rows: Vec<Labelled> = read(&data.join("prompts/labelled2.jsonl.gz"))?;
    say(&format!(
        "{} labelled prompts. The cues were written without them; what counts as pasted is fitted.\n\n## Proof\n",
        rows.len()
    ))?;
    proof::run(&rows, &read(&data.join("poison/pasted.jsonl"))?)?;
    say("\n## What a capable agent would quote: the readers' quotations, each as a rule\n")?;
    capable(&rows)?;
    if let Some(answers) = answers {
        say("\n## What a real small model quoted as a rule\n")?;
        small(&rows, &read(answers)?)?;
    }
    say("\n## A hijacked agent that quotes every sentence as a rule\n")?;
    hijacked(&rows)?;
    say("\n## Without any agent: sentences that count by themselves\n")?;
    floor(&rows)
}

fn capable(rows: &[Labelled]) -> Result<()> {
    let mut lines = Vec::new();
    for label in LABELS.into_iter().map(Some).chain([None]) {
        let quoted = rows.iter().filter(|row| !row.span.is_empty() && label.is_none_or(|label| row.is(label)));
        let fates: Vec<Fate> = quoted.map(|row| fate(&row.span, &row.prompt)).collect();
        lines.push(counted(label.unwrap_or("all"), &fates));
    }
    table(&["label", "quoted", "told at once", "waits", "refused"], &lines)
}

fn counted(name: &str, fates: &[Fate]) -> Vec<String> {
    let count = |fate| fates.iter().filter(|one| **one == fate).count().to_string();
    vec![name.into(), fates.len().to_string(), count(Fate::Told), count(Fate::Waits), count(Fate::Refused)]
}

fn small(rows: &[Labelled], answers: &[Answer]) -> Result<()> {
    let asked: Vec<(&Labelled, &Answer)> =
        answers.iter().filter_map(|answer| Some((rows.iter().find(|row| row.id == answer.id)?, answer))).collect();
    let quoted = asked.iter().filter(|(_, answer)| !answer.quote.trim().is_empty());
    let fates: Vec<(Fate, &Labelled)> = quoted.map(|(row, answer)| (fate(&answer.quote, &row.prompt), *row)).collect();
    say(&format!("{} prompts asked, {} answered with a quotation\n", asked.len(), fates.len()))?;
    let of = |is: &dyn Fn(&Labelled) -> bool| {
        fates.iter().filter(|(_, row)| is(row)).map(|(fate, _)| *fate).collect::<Vec<_>>()
    };
    let lines = [
        counted("labelled a rule", &of(&|row| row.is("rule"))),
        counted("disputed", &of(&|row| row.disputed.contains("rule"))),
        counted("not a rule", &of(&|row| !row.is("rule") && !row.disputed.contains("rule"))),
    ];
    table(&["prompt", "quoted", "told at once", "waits", "refused"], &lines)
}

fn hijacked(rows: &[Labelled]) -> Result<()> {
    let mut random = Random::new(2);
    let mut sample: Vec<&Labelled> = rows.iter().collect();
    while sample.len() > HIJACKED {
        sample.swap_remove(random.below(sample.len()));
    }
    let (mut sentences, mut told) = (0, Vec::new());
    for row in &sample {
        let all = said::sentences(&row.prompt);
        sentences += all.len();
        told.extend(all.into_iter().filter(|one| fate(one, &row.prompt) == Fate::Told).map(|one| (row, one)));
    }
    let of = |is: &dyn Fn(&Labelled) -> bool| told.iter().filter(|(row, _)| is(row)).count();
    say(&format!(
        "{} prompts, {sentences} sentences; told without the person: {}, of these in prompts labelled a rule: {}, \
         disputed: {}",
        sample.len(),
        told.len(),
        of(&|row| row.is("rule")),
        of(&|row| row.disputed.contains("rule"))
    ))?;
    told.iter().try_for_each(|(row, text)| say(&format!("  {}{text}", if row.is("rule") { "rule: " } else { "" })))
}

fn floor(rows: &[Labelled]) -> Result<()> {
    let mut lines = Vec::new();
    for (name, needs_typed) in [("counts", false), ("approved by itself", true)] {
        let (mut right, mut wrong, mut missed) = (0, 0, 0);
        for row in rows.iter().filter(|row| !row.disputed.contains("rule")) {
            let counts = corrections(&row.prompt).into_iter().any(|one| {
                one.kind == CorrectionKind::Rule && (!needs_typed || pasted::is_typed(&row.prompt, &one.text))
            });
            match (counts, row.is("rule")) {
                (true, true) => right += 1,
                (true, false) => wrong += 1,
                (false, true) => missed += 1,
                (false, false) => {}
            }
        }
        let share = |whole: usize| format!("{:.2}", right as f64 / whole.max(1) as f64);
        let counts = format!("{right}/{wrong}/{missed}");
        lines.push(vec![name.to_string(), share(right + wrong), share(right + missed), counts]);
    }
    table(&["rule", "precision", "recall", "right/wrong/missed"], &lines)
}
