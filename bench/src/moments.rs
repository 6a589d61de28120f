//! What would have been told in between, in real sessions: how often, and about which of the failures that came back.
//!
//! Reads transcripts from `--data DIR`, one folder per person, all sessions of a person in one project. Every failure,
//! prompt and edit is asked about as of its moment, with everything that happened before; what briefs told is not left out.
//! Whether what is told is right is judged by hand: a seeded sample of each kind is printed, and `CERBERUS_HITS=FILE`
//! writes everything to a file.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cerberus_os::home::Home;
use cerberus_recall::moments::seen::SeenStep;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::event::{Event, FailedCommand, Record, ToolUse, Touch};
use cerberus_record::id::fnv1a;
use cerberus_record::runs;
use cerberus_record::time::Timestamp;
use cerberus_store::brief::survey::View;
use cerberus_store::moments::{edit, past, seen};
use cerberus_store::project::identity::{self, Located};
use cerberus_store::same_project::joined::{JoinedProject, joined};
use cerberus_store::view::{FailureRow, SessionRow, Store, fold};

use crate::checks::{people, records};
use crate::measure::{say, table};
use crate::scratch::Scratch;

/// More are not read by anybody.
const SAMPLE_MAX: usize = 60;

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
}

pub fn run(data: Option<&Path>, seed: u64) -> Result<()> {
    let Some(dir) = data else {
        return say("needs a folder of transcripts: --data DIR");
    };
    let people = people(dir)?;
    ensure!(!people.is_empty(), "{} has no transcripts", dir.display());
    let (mut all, mut rows, mut lines) = (Counted::default(), Vec::new(), Vec::new());
    for (person, transcripts) in &people {
        let scratch = Scratch::new()?;
        let located = identity::locate(&scratch.repo());
        let mut sessions: Vec<Vec<Record>> =
            transcripts.iter().map(|(agent, bytes)| records(*agent, bytes)).filter(|read| !read.is_empty()).collect();
        sessions.sort_by_key(|read| read[0].at);
        let chain = Chain::new(&scratch, located, sessions)?;
        let counted = chain.replay(person, &mut lines)?;
        rows.push(counted.row(person));
        all.add(&counted);
    }
    rows.push(all.row("all"));
    let heads = ["person", "tool uses", "failures", "came back", "solved", "told", "of solved", "of tool uses"];
    table(&[&heads[..], &["prompts", "told", "%", "edits", "told", "%"]].concat(), &rows)?;
    if let Some(file) = std::env::var_os("CERBERUS_HITS") {
        std::fs::write(file, lines.concat())?;
    }
    let salted = |line: &String| fnv1a(format!("{seed} {line}").as_bytes());
    lines.sort_by_cached_key(salted);
    for kind in ["failure", "prompt", "edit"] {
        let own: Vec<&String> = lines.iter().filter(|line| line.starts_with(kind)).collect();
        say(&format!("\nto be judged, {} of {} of kind {kind}:\n", own.len().min(SAMPLE_MAX), own.len()))?;
        own.into_iter().take(SAMPLE_MAX).try_for_each(|line| say(line))?;
    }
    Ok(())
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

    fn replay(&self, person: &str, lines: &mut Vec<String>) -> Result<Counted> {
        let (mut counted, mut asked) = (Counted::default(), HashSet::new());
        let joined = joined(
            &self.store,
            &self.located,
            self.sessions.iter().flatten().map(|read| read.at).max().unwrap_or(Timestamp::EPOCH),
        )?;
        let mut moments = OtherMoments { chain: self, joined: &joined, person, known: HashSet::new() };
        for record in self.sessions.iter().flatten() {
            moments.prompt(record, &mut counted, lines)?;
            let Event::Tool(used) = &record.event else { continue };
            counted.tools += 1;
            moments.edits(record, used, &mut counted, lines)?;
            let Some(failure) = &used.failure else { continue };
            counted.failures += 1;
            if asked.insert((record.session.to_string(), failure.signature.to_string())) {
                self.ask(person, record, used, failure, &mut counted, lines)?;
            }
        }
        Ok(counted)
    }

    fn ask(
        &self,
        person: &str,
        record: &Record,
        used: &ToolUse,
        failure: &FailedCommand,
        counted: &mut Counted,
        lines: &mut Vec<String>,
    ) -> Result<()> {
        let session = self.store.agent_session(record.agent, &record.session, record.at)?;
        let session = session.with_context(|| format!("{person}: the session {} is missing", &*record.session))?;
        let before = self.store.failures(&failure.signature, &session, record.at)?;
        let Some(last) = before.first() else { return Ok(()) };
        let is_solved = self.is_solved(last, &session, record)?;
        counted.recurring += 1;
        counted.solved += usize::from(is_solved);
        let message = Some(&*failure.message);
        let told = seen::seen(&self.store, &self.located, &session, &failure.signature, message, record.at)?;
        let Some(told) = told else { return Ok(()) };
        counted.told += 1;
        counted.told_solved += usize::from(is_solved);
        let command = used.command.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
        let command: String = command.chars().take(160).collect();
        lines.push(told_line("failure", person, record, command, &told.text)?);
        Ok(())
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

fn told_line(kind: &str, person: &str, record: &Record, now: String, told: &str) -> Result<String> {
    let id: String = record.session.chars().take(8).collect();
    let mut line = String::new();
    writeln!(line, "{kind} {person} {id} {}\n  now:  {now}\n  told: {}\n", record.at, told.replace('\n', " | "))?;
    Ok(line)
}

/// Prompts and edits. Nothing is told twice to a session.
struct OtherMoments<'a> {
    chain: &'a Chain,
    joined: &'a JoinedProject,
    person: &'a str,
    known: HashSet<(String, String)>,
}

impl OtherMoments<'_> {
    fn view(&self, now: Timestamp) -> View<'_> {
        View { store: &self.chain.store, located: &self.chain.located, joined: self.joined, now }
    }

    fn session(&self, record: &Record) -> Result<SessionRow> {
        let found = self.chain.store.agent_session(record.agent, &record.session, record.at)?;
        found.with_context(|| format!("{}: the session {} is missing", self.person, &*record.session))
    }

    fn is_new(&mut self, record: &Record, code: &str) -> bool {
        self.known.insert((record.session.to_string(), code.to_string()))
    }

    fn prompt(&mut self, record: &Record, counted: &mut Counted, lines: &mut Vec<String>) -> Result<()> {
        let Event::Prompt { text } = &record.event else { return Ok(()) };
        counted.prompts += 1;
        let found = past::told(&self.view(record.at), &self.session(record)?, text)?;
        let told: Vec<String> =
            found.into_iter().filter(|told| self.is_new(record, &told.code)).map(|told| told.text).collect();
        if !told.is_empty() {
            counted.prompts_told += 1;
            let now = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
            lines.push(told_line("prompt", self.person, record, now, &told.join("\n"))?);
        }
        Ok(())
    }

    fn edits(&mut self, record: &Record, used: &ToolUse, counted: &mut Counted, lines: &mut Vec<String>) -> Result<()> {
        for file in used.files.iter().filter(|file| file.how == Touch::Edited) {
            let path = file.path.to_string();
            if !self.is_new(record, &format!("edit {path}")) {
                continue;
            }
            counted.edits += 1;
            // The edit itself is not known yet.
            let before = record.at.minus(Duration::from_millis(1));
            let Some(session) = self.chain.store.agent_session(record.agent, &record.session, before)? else {
                continue;
            };
            if let Some(told) = edit::told(&self.view(before), &session, &path)? {
                counted.edits_told += 1;
                lines.push(told_line("edit", self.person, record, path, &told.text)?);
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
    fn add(&mut self, other: &Counted) {
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
