//! Fits and checks which sentences of past conversations a brief quotes. Every figure leaves out the person it is about.
//!
//! You bring consecutive sessions (a folder with `sessions.jsonl` and transcripts, as for `continuity`) and `gold.jsonl`
//! beside them: for moments between two sessions, what was open and decided and which rules hold, as `terms` that a sentence about it has. The
//! weights are fitted on all other people and the quotes are scored on the one left out. The last line prints the weights
//! fitted on everybody, which is what ships.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use cerberus_agents::{claude_code, transcripts};
use cerberus_recall::brief::stopped::{
    self, CandidateSentence, FEATURES, QUOTES_TOKENS_MAX, Quotable, SESSIONS_MAX, SentenceFeatures, TURNS_READ_MAX,
    Turn, WEIGHTS,
};
use cerberus_record::clean::BUILT_IN;
use cerberus_record::event::Event;
use cerberus_record::id::SessionId;
use serde::Deserialize;

use crate::continuity::{Row, lines};
use crate::measure::{say, table};
use crate::programs::Programs;

/// Keeps the weights of rare features small.
const REGULARIZATION: f64 = 3.0;
const STEPS: usize = 40;
/// What a decision, a rule and the place where the work stopped are worth beside an open item of weight 1.
const DECISION_WORTH: f64 = 0.7;
const RULE_WORTH: f64 = 1.0;
const STOPPED_WORTH: f64 = 0.5;
const WORTH_MAX: f64 = 3.0;
/// What the other lines of a brief usually leave for quotes, and how much depends on it.
const USUAL_TOKENS: usize = 600;
const BUDGETS: [usize; 4] = [400, USUAL_TOKENS, 800, 1_200];
/// An item is spoken of within this many characters.
const PIECE_CHARS: usize = 240;

#[derive(Deserialize)]
pub struct Gold {
    pub boundary: String,
    continues: bool,
    #[serde(default)]
    stopped: Wanted,
    open: Vec<Wanted>,
    decisions: Vec<Wanted>,
    #[serde(default)]
    rules: Vec<Wanted>,
}

#[derive(Default, Deserialize)]
struct Wanted {
    #[serde(default)]
    weight: Option<f64>,
    /// Alternatives; all terms of one of them must occur.
    #[serde(default)]
    terms: Vec<Vec<String>>,
}

/// One moment between two sessions.
pub struct Moment {
    pub person: String,
    pub gold: Gold,
    candidates: Vec<CandidateSentence>,
}

#[derive(Default)]
pub struct Figures {
    open: (f64, f64),
    stopped: (f64, f64),
    decisions: (f64, f64),
    rules: (f64, f64),
}

/// The columns of [`Figures::row`].
pub const COLUMNS: [&str; 5] = ["person", "open told", "where it stopped", "decisions told", "rules told"];
pub const ALL_LEFT_OUT: &str = "all, each left out";

/// The folder of the user's sessions, if it has a gold standard. Otherwise this says what is needed.
pub fn data(programs: &Programs) -> Result<Option<&Path>> {
    let data = programs.data.as_deref().filter(|data| data.join("gold.jsonl").is_file());
    if data.is_none() {
        say("needs consecutive sessions with gold: --data DIR with sessions.jsonl, transcripts and gold.jsonl")?;
    }
    Ok(data)
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = data(programs)? else { return Ok(()) };
    let moments = moments(data)?;
    let people: BTreeSet<&str> = moments.iter().map(|moment| moment.person.as_str()).collect();
    let (mut rows, mut all, mut shipped) = (Vec::new(), BTreeMap::<usize, Figures>::new(), Figures::default());
    for person in people {
        let weights = fit_without(&moments, person);
        let mut own = Figures::default();
        for moment in moments.iter().filter(|moment| moment.person == person) {
            own.add(moment, &weights, USUAL_TOKENS);
            for tokens in BUDGETS {
                all.entry(tokens).or_default().add(moment, &weights, tokens);
            }
            shipped.add(moment, &WEIGHTS, USUAL_TOKENS);
        }
        rows.push(own.row(person));
    }
    rows.extend(all.iter().map(|(tokens, figures)| figures.row(&format!("{ALL_LEFT_OUT}, {tokens} tokens"))));
    rows.push(shipped.row("all, weights as shipped"));
    table(&COLUMNS, &rows)?;
    let fitted = fit(moments.iter());
    for (name, weight) in FEATURES.iter().zip(fitted) {
        say(&format!("{name:24} {weight:+.2}"))?;
    }
    Ok(())
}

pub fn moments(data: &Path) -> Result<Vec<Moment>> {
    let rows: Vec<Row> = lines(&data.join("sessions.jsonl"))?;
    let mut chains: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    rows.into_iter().for_each(|row| chains.entry(row.chain.clone()).or_default().push(row));
    chains.values_mut().for_each(|rows| rows.sort_by(|a, b| a.start.cmp(&b.start)));
    let mut moments = Vec::new();
    for gold in lines::<Gold>(&data.join("gold.jsonl"))? {
        let (person, number) = gold.boundary.rsplit_once('-').context("a boundary is named chain-number")?;
        let before = chains.get(person).with_context(|| person.to_string())?;
        let before = &before[..number.parse::<usize>()?.min(before.len())];
        let mut conversations = Vec::new();
        for row in before.iter().rev() {
            let tokens: usize = conversations.iter().flatten().map(Quotable::tokens).sum();
            if conversations.len() >= SESSIONS_MAX && tokens >= QUOTES_TOKENS_MAX {
                break;
            }
            conversations.push(turns(&data.join(&row.file))?);
            conversations.retain(|turns| !turns.is_empty());
        }
        let turns = stopped::oldest_first(conversations);
        moments.push(Moment { person: person.to_string(), candidates: stopped::candidates(&turns), gold });
    }
    Ok(moments)
}

fn turns(path: &Path) -> Result<Vec<Quotable>> {
    let bytes = cerberus_store::import::files::read(path).with_context(|| path.display().to_string())?;
    let transcript = transcripts::read(&BUILT_IN, claude_code::AGENT, &bytes).unwrap_or_default();
    let session = SessionId::new(path.to_string_lossy());
    let mut turns: Vec<Turn> = Vec::new();
    for event in transcript.events {
        match event.event {
            Event::Prompt { text } => {
                let request = text.to_string();
                turns.push(Turn {
                    session: session.clone(),
                    at: event.at,
                    request,
                    sender: None,
                    reply: String::new(),
                });
            }
            Event::Stop { message } => {
                turns.iter_mut().next_back().into_iter().for_each(|turn| turn.reply = message.to_string())
            }
            _ => {}
        }
    }
    turns.drain(..turns.len().saturating_sub(TURNS_READ_MAX));
    Ok(stopped::last_turns(turns.iter().map(Quotable::of).collect()))
}

impl Figures {
    fn add(&mut self, moment: &Moment, weights: &SentenceFeatures, budget_tokens: usize) {
        let chosen = stopped::choose(&moment.candidates, weights, budget_tokens);
        let quoted: Vec<String> = chosen.iter().flat_map(|at| pieces(&moment.candidates[*at].text)).collect();
        self.count(&moment.gold, &quoted);
    }

    /// Counts what these pieces tell.
    pub fn count(&mut self, gold: &Gold, pieces: &[String]) {
        let told = |wanted: &Wanted| pieces.iter().any(|piece| wanted.is_in(piece));
        for open in &gold.open {
            self.open.1 += open.weight.unwrap_or(1.0);
            self.open.0 += if told(open) { open.weight.unwrap_or(1.0) } else { 0.0 };
        }
        for (figure, all) in [(&mut self.decisions, &gold.decisions), (&mut self.rules, &gold.rules)] {
            figure.1 += all.len() as f64;
            figure.0 += all.iter().filter(|one| told(one)).count() as f64;
        }
        if gold.continues {
            let heavy = gold.open.iter().filter(|open| open.weight == Some(3.0)).any(told);
            self.stopped.1 += 1.0;
            self.stopped.0 += f64::from(u8::from(heavy || told(&gold.stopped)));
        }
    }

    pub fn row(&self, name: &str) -> Vec<String> {
        let percent = |(told, all): (f64, f64)| match all > 0.0 {
            true => format!("{:.0} %", 100.0 * told / all),
            false => "–".to_string(),
        };
        let figures = [self.open, self.stopped, self.decisions, self.rules].map(percent);
        std::iter::once(name.to_string()).chain(figures).collect()
    }
}

impl Gold {
    /// What a sentence is worth, between 0 and 1.
    fn worth(&self, sentence: &str) -> f64 {
        let pieces = pieces(sentence);
        let has = |wanted: &&Wanted| pieces.iter().any(|piece| wanted.is_in(piece));
        let open: f64 = self.open.iter().filter(has).map(|open| open.weight.unwrap_or(1.0)).sum();
        let decisions = self.decisions.iter().filter(has).count() as f64 * DECISION_WORTH;
        let rules = self.rules.iter().filter(has).count() as f64 * RULE_WORTH;
        let stopped = if has(&&self.stopped) { STOPPED_WORTH } else { 0.0 };
        (open + decisions + rules + stopped).min(WORTH_MAX) / WORTH_MAX
    }
}

impl Wanted {
    fn is_in(&self, piece: &str) -> bool {
        let has = |term: &String| {
            let term = plain(term);
            let term = term.trim();
            let starts_word = |at: usize| !piece[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            !term.is_empty() && piece.match_indices(term).any(|(at, _)| starts_word(at))
        };
        self.terms.iter().any(|all| !all.is_empty() && all.iter().all(has))
    }
}

/// A sentence in pieces of limited length, in lower case with signs made blanks.
pub fn pieces(sentence: &str) -> Vec<String> {
    let chars: Vec<char> = sentence.chars().collect();
    chars.chunks(PIECE_CHARS).map(|chunk| plain(&chunk.iter().collect::<String>())).collect()
}

/// A point inside a word stays.
fn plain(text: &str) -> String {
    let chars: Vec<char> = text.to_lowercase().chars().collect();
    let is_word = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let kept = |(at, c): (usize, &char)| match c {
        '.' if is_word(at.checked_sub(1)) && is_word(Some(at + 1)) => '.',
        c if c.is_alphanumeric() => *c,
        _ => ' ',
    };
    let spaced: String = chars.iter().enumerate().map(kept).collect();
    format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The weights fitted on everybody else.
pub fn fit_without(moments: &[Moment], person: &str) -> SentenceFeatures {
    fit(moments.iter().filter(|moment| moment.person != person))
}

/// Logistic regression by Newton's method.
fn fit<'a>(moments: impl Iterator<Item = &'a Moment>) -> SentenceFeatures {
    let samples: Vec<(SentenceFeatures, f64)> = moments
        .flat_map(|moment| moment.candidates.iter().map(|one| (one.features, moment.gold.worth(&one.text))))
        .collect();
    const N: usize = FEATURES.len();
    let mut weights = [0.0; N];
    for _ in 0..STEPS {
        let (mut gradient, mut curvature) = ([0.0; N], [[0.0; N]; N]);
        for (features, worth) in &samples {
            let sum: f64 = features.iter().zip(&weights).map(|(feature, weight)| feature * weight).sum();
            let expected = 1.0 / (1.0 + (-sum).exp());
            for row in 0..N {
                gradient[row] += features[row] * (worth - expected);
                for column in 0..N {
                    curvature[row][column] += features[row] * features[column] * expected * (1.0 - expected);
                }
            }
        }
        for at in 0..N {
            gradient[at] -= if at == 0 { 0.0 } else { REGULARIZATION * weights[at] };
            curvature[at][at] += REGULARIZATION;
        }
        let step = solve(curvature, gradient);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
    }
    weights
}

/// Gaussian elimination with pivoting.
pub fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let pivot = (column..N).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..N {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot = matrix[column];
            matrix[row].iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_system_is_solved() {
        assert_eq!(solve([[0.0, 2.0], [4.0, 0.0]], [6.0, 8.0]), [2.0, 3.0]);
    }

    #[test]
    fn terms_are_found_at_the_beginning_of_words() {
        let wanted = Wanted { weight: None, terms: vec![vec!["migrat".to_string(), "main.go".to_string()]] };
        assert!(wanted.is_in(&plain("The migration in `main.go` is open.")));
        assert!(!wanted.is_in(&plain("immigration in main.go")));
        assert!(!wanted.is_in(&plain("migration in main go")));
    }
}
