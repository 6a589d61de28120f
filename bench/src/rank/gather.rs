//! What is known about each file at every start of a session, and which of them the session then edits.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use cerberus_os::home::Home;
use cerberus_recall::brief::rank::{PAST, RankFeatures, RankedFile, SessionWork};
use cerberus_record::time::Timestamp;
use cerberus_store::brief::subject::View;
use cerberus_store::brief::{learn, survey};
use cerberus_store::project::identity;
use cerberus_store::same_project::joined;
use cerberus_store::view::{Asks, Caller, CarriedFacts, Store, fold};

use crate::continuity::replay::Replay;
use crate::continuity::session::Session;
use crate::continuity::{Commit, Row, baselines, lines};
use crate::programs::Programs;
use crate::scratch::Scratch;

/// The candidates at a start, without or with the prompt.
pub struct Case {
    /// `ln(1 + feature)`.
    pub rows: Vec<RankFeatures>,
    pub is_edited: Vec<bool>,
    pub is_unnamed: Vec<bool>,
}

/// One start of a session that goes on to edit files.
pub struct Start {
    pub person: String,
    pub kind: &'static str,
    /// How many files it edits, and how many of them its first prompt does not name.
    pub edited: usize,
    pub unnamed: usize,
    /// What frecency and git's log reach together.
    pub baseline: f64,
    pub at_start: Case,
    pub prompted: Case,
    /// With the prompt, as it looks when the session has ended.
    pub in_hindsight: Case,
}

pub fn starts(programs: &Programs, data: &Path) -> Result<Vec<Start>> {
    let mut chains: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    lines::<Row>(&data.join("sessions.jsonl"))?
        .into_iter()
        .for_each(|row| chains.entry(row.chain.clone()).or_default().push(row));
    let mut starts = Vec::new();
    for (name, mut rows) in chains {
        rows.sort_by(|a, b| a.start.cmp(&b.start));
        let scratch = Scratch::new()?;
        let commits: Vec<Commit> = lines(&data.join(&name).join("gitlog.jsonl"))?;
        let mut replay = Replay::new(programs, &scratch, commits)?;
        chain(data, &rows, &mut replay, &scratch, &mut starts)?;
    }
    Ok(starts)
}

fn chain(data: &Path, rows: &[Row], replay: &mut Replay, scratch: &Scratch, starts: &mut Vec<Start>) -> Result<()> {
    let mut past: Vec<Session> = Vec::new();
    for row in rows {
        let path = data.join(&row.file);
        let session = Session::read(&path)?;
        let known_before = past.iter().any(|session| session.before(&row.start).next().is_some());
        if known_before && !session.edited().is_empty() && !session.is_copy(&past) {
            replay.check_out(&row.start)?;
            starts.push(start(row, &session, &past, replay, scratch)?);
        }
        replay.learn(&path, &session)?;
        past.push(session);
    }
    Ok(())
}

fn start(row: &Row, session: &Session, past: &[Session], replay: &Replay, scratch: &Scratch) -> Result<Start> {
    let edited = session.edited();
    let prompt = session.first_prompt();
    let is_unnamed = |path: &str| !prompt.to_lowercase().contains(&base(path).to_lowercase());
    let home = Home::new(replay.home.clone());
    let mut store = Store::open(&home, Caller::Command)?;
    fold::fold_all(&home, &mut store)?;
    let now = Timestamp::parse(&row.start)?;
    let located = identity::locate(&scratch.repo());
    let joined = joined::joined(&store, &located, now)?;
    let view = View { store: &store, located: &located, joined: &joined, now };
    let history = store.history(&joined.ids, Asks::Prompt, now)?;
    let case = |files: Vec<RankedFile>| {
        let mut case = Case { rows: Vec::new(), is_edited: Vec::new(), is_unnamed: Vec::new() };
        for ranked in files {
            let features = ranked.trace.features;
            // Of the files that git tracks, most have nothing to do with the prompt.
            if !ranked.trace.has_past() && features[PAST..].iter().all(|feature| *feature == 0.0) {
                continue;
            }
            let is_edited = edited.contains(ranked.path.as_str());
            case.rows.push(features.map(f64::ln_1p));
            case.is_edited.push(is_edited);
            case.is_unnamed.push(is_edited && is_unnamed(&ranked.path));
        }
        case
    };
    let survey = |history: Vec<SessionWork>, prompt: Option<&str>| {
        survey::survey(&view, history, &mut CarriedFacts::default(), &[], prompt, true)
            .map(|found| case(found.likely.files))
    };
    let in_hindsight = learn::ranked_then(&view, &prompt)?.context("git gave no answer in time")?;
    let told = baselines::frecency_and_log(past, &replay.commits, &row.start);
    let told = told.iter().take(10).filter(|path| edited.contains(path.as_str())).count();
    Ok(Start {
        person: row.chain.clone(),
        kind: kind_of(&prompt),
        edited: edited.len(),
        unnamed: edited.iter().filter(|path| is_unnamed(path)).count(),
        baseline: told as f64 / edited.len() as f64,
        at_start: survey(history.clone(), None)?,
        prompted: survey(history, Some(&prompt))?,
        in_hindsight: case(in_hindsight),
    })
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A plan names its files itself; the others say less and less.
fn kind_of(prompt: &str) -> &'static str {
    let lower = prompt.trim_start().to_lowercase();
    let is_plan = lower.starts_with("implement the following plan")
        || lower.strip_prefix("# plan").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    match prompt {
        _ if is_plan => "plan",
        prompt if prompt.starts_with('/') => "command",
        prompt if prompt.split_whitespace().count() < 12 => "short",
        _ => "ordinary",
    }
}
