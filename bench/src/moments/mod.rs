//! What would have been told in between, in real sessions: how often, and about which of the failures that came back.
//!
//! Reads transcripts from `--data DIR`, one folder per person, all sessions of a person in one project. Every failure,
//! prompt and edit is asked about as of its moment, with everything that happened before; what briefs told is not left out.
//! Whether what is told is right is judged by hand: `--sheet FILE` writes what a reader needs for that.

mod sheet;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cerberus_os::home::Home;
use cerberus_recall::moments::seen::SeenStep;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::event::{Event, FailedCommand, Record, ToolUse, Touch};
use cerberus_record::runs;
use cerberus_record::time::Timestamp;
use cerberus_store::brief::subject::View;
use cerberus_store::moments::{edit, past, seen};
use cerberus_store::project::identity::{self, Located};
use cerberus_store::same_project::joined::{JoinedProject, joined};
use cerberus_store::view::{FailureRow, SessionRow, Store, fold};
use serde_json::Value;
use sheet::Moment;

use crate::checks::{people, records};
use crate::measure::{ms, say, table, timed};
use crate::scratch::Scratch;

/// What is counted.
#[derive(Default)]
struct Counted {
    tools: usize,
    /// Failures that can be recognised when they come back.
    failures: usize,
    /// Of these, the first in a session of those that another session has seen before.
    recurring: usize,
    /// Of these, those after which the same command passed in the meantime.
    solved: usize,
    told: usize,
    told_solved: usize,
    prompts: usize,
    prompts_told: usize,
    /// Files that sessions edited, each once per session.
    edits: usize,
    edits_told: usize,
    costs: Costs,
}

/// What it takes to find out what is told, if anything.
#[derive(Default)]
struct Costs {
    failures: Vec<Duration>,
    prompts: Vec<Duration>,
    edits: Vec<Duration>,
}

impl Costs {
    fn print(self) -> Result<()> {
        // The system counts in slices of milliseconds: right on average, not for each.
        let row = |name: &str, times: Vec<Duration>| {
            let mean = ms(times.iter().sum::<Duration>()) / times.len().max(1) as f64;
            vec![name.to_string(), times.len().to_string(), format!("{mean:.3}")]
        };
        let rows = [row("a known failure", self.failures), row("a prompt", self.prompts), row("an edit", self.edits)];
        say("\nCPU time, with the view open and nothing to fold")?;
        table(&["", "times", "mean ms"], &rows)
    }
}

/// Which people, and where the sheet is written.
#[derive(Debug, Default)]
pub struct MomentsOptions {
    /// The names of the first and the last person, in the order of names.
    pub people: Option<(String, String)>,
    pub sheet: Option<PathBuf>,
    pub seed: u64,
}

pub fn run(data: Option<&Path>, options: &MomentsOptions) -> Result<()> {
    let Some(dir) = data else {
        return say("needs a folder of transcripts: --data DIR");
    };
    let mut people = people(dir)?;
    if let Some((first, last)) = &options.people {
        people.retain(|person, _| (first..=last).contains(&person));
    }
    ensure!(!people.is_empty(), "{} has no transcripts", dir.display());
    let (mut all, mut rows, mut cases) = (Counted::default(), Vec::new(), Vec::new());
    for (person, transcripts) in &people {
        let scratch = Scratch::new()?;
        let located = identity::locate(&scratch.repo());
        let mut sessions: Vec<Vec<Record>> =
            transcripts.iter().map(|(agent, bytes)| records(*agent, bytes)).filter(|read| !read.is_empty()).collect();
        sessions.sort_by_key(|read| read[0].at);
        let chain = Chain::new(&scratch, located, sessions)?;
        let counted = chain.replay(person, &mut cases)?;
        rows.push(counted.row(person));
        all.add(counted);
    }
    rows.push(all.row(&format!("{} people", people.len())));
    let costs = std::mem::take(&mut all.costs);
    let heads = ["person", "tool uses", "failures", "came back", "solved", "told", "of solved", "of tool uses"];
    table(&[&heads[..], &["prompts", "told", "%", "edits", "told", "%"]].concat(), &rows)?;
    costs.print()?;
    match &options.sheet {
        Some(file) => sheet::write(file, cases, options.seed),
        None => say("--sheet FILE writes what is to be judged"),
    }
}

/// All sessions of a person.
struct Chain {
    store: Store,
    located: Located,
    sessions: Vec<Vec<Record<'static>>>,
}

impl Chain {
    fn new(scratch: &Scratch, located: Located, mut sessions: Vec<Vec<Record<'static>>>) -> Result<Chain> {
        let home = Home::new(scratch.home("home"));
        for read in &mut sessions {
            read.iter_mut().for_each(|record| record.location = located.location(&BUILT_IN));
            cerberus_store::journal::append_all(&home, read[0].at, read)?;
        }
        let mut store = fold::open(&home)?;
        fold::fold_all(&home, &mut store)?;
        Ok(Chain { store, located, sessions })
    }

    fn replay(&self, person: &str, cases: &mut Vec<Value>) -> Result<Counted> {
        let (mut counted, mut asked) = (Counted::default(), HashSet::new());
        let last = self.sessions.iter().flatten().map(|read| read.at).max();
        let joined = joined(&self.store, &self.located, last.unwrap_or(Timestamp::EPOCH))?;
        self.store.make_digests(&joined.ids);
        let mut others = OtherMoments { chain: self, joined: &joined, known: HashSet::new() };
        for records in &self.sessions {
            for place in 0..records.len() {
                let moment = Moment { person, records, place };
                others.prompt(moment, &mut counted, cases)?;
                let Event::Tool(used) = &moment.record().event else { continue };
                counted.tools += 1;
                others.edits(moment, used, &mut counted, cases)?;
                let Some(failure) = &used.failure else { continue };
                counted.failures += 1;
                if asked.insert((moment.record().session.to_string(), failure.signature.to_string())) {
                    self.ask(moment, failure, &mut counted, cases)?;
                }
            }
        }
        Ok(counted)
    }

    fn ask(
        &self,
        moment: Moment,
        failure: &FailedCommand,
        counted: &mut Counted,
        cases: &mut Vec<Value>,
    ) -> Result<()> {
        let record = moment.record();
        let session = self.session(moment, record.at)?;
        let before = self.store.failures(&failure.signature, &session, record.at)?;
        let Some(last) = before.first() else { return Ok(()) };
        let is_solved = self.is_solved(last, &session, record)?;
        counted.recurring += 1;
        counted.solved += usize::from(is_solved);
        let message = Some(&*failure.message);
        let told = timed(&mut counted.costs.failures, || {
            seen::seen(&self.store, &self.located, &session, &failure.signature, message, record.at)
        })?;
        let told = told.as_ref().map(|told| told.text.as_str());
        counted.told += usize::from(told.is_some());
        counted.told_solved += usize::from(told.is_some() && is_solved);
        let kinds = [told.map(|_| "seen"), is_solved.then_some("recurring")];
        for kind in kinds.into_iter().flatten() {
            let mut case = moment.case(kind, told);
            case["then"] = self.last_failure(moment, failure).map(Moment::then).unwrap_or_default();
            cases.push(case);
        }
        Ok(())
    }

    /// The last such failure of another session.
    fn last_failure<'a>(&'a self, now: Moment<'a>, failure: &FailedCommand) -> Option<Moment<'a>> {
        let is_it = |record: &Record| {
            record.at < now.record().at
                && record.session != now.record().session
                && matches!(&record.event, Event::Tool(used)
                    if used.failure.as_ref().is_some_and(|known| known.signature == failure.signature))
        };
        let found = self.sessions.iter().filter_map(|records| {
            let place = records.iter().rposition(is_it)?;
            Some(Moment { records, place, ..now })
        });
        found.max_by_key(|moment| moment.record().at)
    }

    fn session(&self, moment: Moment, now: Timestamp) -> Result<SessionRow> {
        let record = moment.record();
        let found = self.store.agent_session(record.agent, &record.session, now)?;
        found.with_context(|| format!("{}: the session {} is missing", moment.person, &*record.session))
    }

    /// Whether the same command passed after it had failed, in the same session or the next one.
    fn is_solved(&self, last: &FailureRow, session: &SessionRow, record: &Record) -> Result<bool> {
        let mut steps = self.store.steps_after(last.session, last.event, record.at)?;
        if let Some(next) = self.store.next_session(last.session, session)? {
            steps.extend(self.store.steps_after(next, last.event, record.at)?);
        }
        let wanted = same(&last.command);
        Ok(steps.iter().any(|row| match &row.step {
            SeenStep::Ran { command, passed: Some(true) } => same(command) == wanted,
            _ => false,
        }))
    }
}

/// Prompts and edits. Nothing is told twice to a session.
struct OtherMoments<'a> {
    chain: &'a Chain,
    joined: &'a JoinedProject,
    known: HashSet<(String, String)>,
}

impl OtherMoments<'_> {
    fn view(&self, now: Timestamp) -> View<'_> {
        View { store: &self.chain.store, located: &self.chain.located, joined: self.joined, now }
    }

    fn is_new(&mut self, record: &Record, code: &str) -> bool {
        self.known.insert((record.session.to_string(), code.to_string()))
    }

    fn prompt(&mut self, moment: Moment, counted: &mut Counted, cases: &mut Vec<Value>) -> Result<()> {
        let record = moment.record();
        let Event::Prompt { text } = &record.event else { return Ok(()) };
        counted.prompts += 1;
        let session = self.chain.session(moment, record.at)?;
        let found = timed(&mut counted.costs.prompts, || past::told(&self.view(record.at), &session, text))?.lines;
        let told: Vec<String> =
            found.into_iter().filter(|told| self.is_new(record, &told.code)).map(|told| told.text).collect();
        if !told.is_empty() {
            counted.prompts_told += 1;
            cases.push(moment.case("past", Some(&told.join("\n"))));
        }
        Ok(())
    }

    fn edits(&mut self, moment: Moment, used: &ToolUse, counted: &mut Counted, cases: &mut Vec<Value>) -> Result<()> {
        let record = moment.record();
        for file in used.files.iter().filter(|file| file.how == Touch::Edited) {
            let path = file.path.to_string();
            if !self.is_new(record, &format!("edit {path}")) {
                continue;
            }
            counted.edits += 1;
            // The edit itself is not known yet.
            let before = record.at.minus(Duration::from_millis(1));
            let Ok(session) = self.chain.session(moment, before) else { continue };
            let told = timed(&mut counted.costs.edits, || edit::told(&self.view(before), &session, &path))?;
            if let Some(told) = told {
                counted.edits_told += 1;
                cases.push(moment.case("edit", Some(&told.text)));
            }
        }
        Ok(())
    }
}

/// What two runs of one command share: what they test or build, or the words before a pipe.
fn same(command: &str) -> String {
    let own = command.split(" | ").next().unwrap_or_default().replace(" 2>&1", "");
    runs::recognise(command).map_or(own, |run| run.key.to_string())
}

impl Counted {
    fn add(&mut self, other: Counted) {
        self.tools += other.tools;
        self.failures += other.failures;
        self.recurring += other.recurring;
        self.solved += other.solved;
        self.told += other.told;
        self.told_solved += other.told_solved;
        self.prompts += other.prompts;
        self.prompts_told += other.prompts_told;
        self.edits += other.edits;
        self.edits_told += other.edits_told;
        self.costs.failures.extend(other.costs.failures);
        self.costs.prompts.extend(other.costs.prompts);
        self.costs.edits.extend(other.costs.edits);
    }

    fn row(&self, name: &str) -> Vec<String> {
        let percent = |part: usize, whole: usize| format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64);
        let counts = [self.tools, self.failures, self.recurring, self.solved, self.told].map(|count| count.to_string());
        let shares = [percent(self.told_solved, self.solved), percent(self.told, self.tools)];
        let others = [(self.prompts, self.prompts_told), (self.edits, self.edits_told)];
        let others = others.map(|(all, told)| [all.to_string(), told.to_string(), percent(told, all)]);
        std::iter::once(name.to_string()).chain(counts).chain(shares).chain(others.into_iter().flatten()).collect()
    }
}
