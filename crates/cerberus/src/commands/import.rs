use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cerberus_agents::install;
use cerberus_agents::install::transcripts::TranscriptFiles;
use cerberus_os::ahead::{self, ahead};
use cerberus_recall::brief::rank::weights::SESSIONS_MAX;
use cerberus_record::id::Agent;
use cerberus_store::brief::learn;
use cerberus_store::browse::{overview, page};
use cerberus_store::import::{self, ImportError, ImportReport, TakeForgotten, Unwritten, files};
use cerberus_store::memory::distill;
use cerberus_store::project::identity;
use cerberus_store::same_project::worktrees::GoneWorktrees;
use cerberus_store::sessions::caller::CalledBy;
use cerberus_store::view::Store;
use cerberus_store::view::fold;
use serde_json::{Map, Value, json};

use super::archive;
use super::deleting::deleting;
use super::log::ListedJson;
use super::worktrees;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;
use crate::render::page as pager;
use crate::render::progress::Progress;
use crate::render::style::Screen;
use crate::render::time::LocalTime;

/// Import past sessions from the transcripts that agents keep
///
/// Events that are already known, from an earlier import or from hooks, are not imported again. Imported sessions end
/// at their last event, and what you corrected in them becomes proposals. Nothing in another person's transcripts is
/// approved automatically. Sessions of private projects and of projects with a `.nocerberus` file are skipped. Forgotten
/// events are skipped too, unless `--forgotten` is given. Folders that no longer exist are joined with the repository whose
/// worktrees they were, if their name, branch and files say so; `project separate` takes that back. If only two of the three
/// say so, a terminal asks once.
#[derive(clap::Args)]
pub struct ImportArgs {
    #[arg(value_name = "AGENT", value_parser = agent)]
    #[arg(help = format!("The agent: {} [default: all agents with transcripts on this machine]", names()))]
    pub(super) agent: Option<Agent>,

    /// Import into the project in this folder instead of the one named in the transcripts
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,

    /// Also import forgotten events, which are then no longer forgotten
    #[arg(long)]
    pub(super) forgotten: bool,

    /// Transcripts (plain, .gz, .zst), databases, or folders that contain them [default: everything the agent keeps]
    pub(super) paths: Vec<PathBuf>,
}
const KEPT: &str = "imported files are kept; fix the problem and run the command again";

/// The view is folded after this many transcripts.
const FILES_PER_FOLD: usize = 50;

/// The agents whose transcripts can be read, sorted by name.
fn known() -> impl Iterator<Item = (Agent, &'static TranscriptFiles)> {
    let mut known: Vec<_> = install::all().collect();
    known.sort_by_key(|profile| profile.agent.name());
    known.into_iter().filter_map(|profile| Some((profile.agent, profile.transcripts?)))
}

fn names() -> String {
    known().map(|(agent, _)| agent.to_string()).collect::<Vec<_>>().join(", ")
}

fn agent(name: &str) -> std::result::Result<Agent, String> {
    let named = known().map(|(agent, _)| agent).find(|agent| agent.name() == name);
    named.ok_or_else(|| format!("unknown agent; give the agent before any PATH, one of {}", names()))
}

/// What was imported from one agent.
#[derive(Default)]
struct ImportTally {
    files: usize,
    report: ImportReport,
    unreadable: Vec<String>,
}

impl ImportArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = self.files(context)?;
        let project = match &self.project {
            Some(dir) if !dir.is_dir() => {
                return Err(anyhow::anyhow!("{} is not a folder", dir.display()))
                    .hint("pass an existing folder to --project");
            }
            Some(dir) => Some(identity::locate(dir)),
            None => None,
        };
        if let Some(located) = &project {
            context.may_store(located)?;
        }
        context.require_privacy_rules()?;
        let mut store = context.store()?;
        let by_agent = context.called_by(&store)? == CalledBy::Agent;
        let user = context.agent_surroundings().user();
        let mut tallies: Vec<(Agent, ImportTally)> = Vec::new();
        let mut progress = Progress::new("transcripts");
        let (home, clock) = (&context.home, &context.clock);
        let forgotten = if self.forgotten { TakeForgotten::Yes } else { TakeForgotten::No };
        let into = project.as_ref();
        let import = |agent| import::Import { home, clock, agent, project: into, forgotten, by_agent, user };
        let mut unwritten = Unwritten::default();
        let (mut index, mut folded) = (0, 0);
        ahead(
            ahead::workers(),
            &files,
            &|(agent, file), pieces| import(*agent).pieces(file, pieces),
            &mut |file, pieces| {
                let (agent, file) = (file.0, &file.1);
                if tallies.last().is_none_or(|(last, _)| *last != agent) {
                    tallies.push((agent, ImportTally::default()));
                }
                if let Some((_, tally)) = tallies.last_mut() {
                    tally.take(file, import(agent).take(&store, file, pieces, &mut unwritten))?;
                }
                index += 1;
                if index % FILES_PER_FOLD == 0 || index == files.len() {
                    unwritten.write(home, clock).hint(KEPT)?;
                    fold::fold(home, &mut store)?;
                    archive::imported(context, &store, &files[folded..index])?;
                    folded = index;
                }
                progress.at(index, files.len());
                Ok::<(), CommandFailure>(())
            },
        )?;
        drop(progress);
        archive::expire_imported(context);
        // What the user said in these sessions is proposed at once.
        distill::distill(&context.keeper(&context.located()), &context.agent_surroundings(), &mut store)?;
        let located = project.unwrap_or_else(|| context.located());
        learn::learn(&context.home, &context.clock, &mut store, &located, SESSIONS_MAX)?;
        // Which projects are one is not for an agent to say.
        let worktrees = match by_agent {
            true => Vec::new(),
            false => worktrees::join_certain(context, &mut store)?,
        };
        self.tell(context, &mut store, &tallies, &worktrees)?;
        let unreadable: Vec<&String> = tallies.iter().flat_map(|(_, tally)| &tally.unreadable).collect();
        match unreadable.first() {
            Some(first) => {
                Err(anyhow::anyhow!("{} could not be read: {first}", render::count(unreadable.len(), "file")))
                    .hint("the other files were imported; fix these and run the command again")
            }
            None => Ok(()),
        }
    }

    /// The files to import, agent by agent.
    fn files(&self, context: &Context) -> Result<Vec<(Agent, PathBuf)>> {
        let mut found = Vec::new();
        let surroundings = context.agent_surroundings();
        for (agent, transcripts) in known().filter(|(agent, _)| self.agent.is_none_or(|wanted| wanted == *agent)) {
            let kept = (transcripts.roots)(&surroundings);
            if self.agent.is_some() && self.paths.is_empty() && kept.is_empty() {
                return Err(anyhow::anyhow!("it is not known where {agent} keeps its transcripts"))
                    .hint("set HOME, or give the paths of the transcripts");
            }
            // Only some of the places where an agent may keep transcripts exist.
            let kept = || kept.iter().filter(|root| root.exists()).collect::<Vec<_>>();
            let roots = if self.paths.is_empty() { kept() } else { self.paths.iter().collect() };
            for root in roots {
                let files = files::transcripts(agent, root).with_context(|| format!("cannot read {}", root.display()));
                let files = files.hint("give paths of transcripts, or of folders that contain transcripts")?;
                found.extend(files.into_iter().map(|file| (agent, file)));
            }
        }
        Ok(found)
    }

    fn tell(
        &self,
        context: &Context,
        store: &mut Store,
        tallies: &[(Agent, ImportTally)],
        worktrees: &[GoneWorktrees],
    ) -> Result<()> {
        let mut total = ImportTally::default();
        for (_, tally) in tallies {
            total.files += tally.files;
            total.report.add(tally.report);
            total.unreadable.extend(tally.unreadable.iter().cloned());
        }
        if context.json {
            let agents: Map<String, Value> =
                tallies.iter().map(|(agent, tally)| (agent.to_string(), tally.json())).collect();
            let mut report = total.json();
            report["agents"] = Value::Object(agents);
            report["known"] = known_json(context, store)?;
            report["joined_worktrees"] = worktrees::json(worktrees, |one| &one.certain);
            report["likely_worktrees"] = worktrees::json(worktrees, |one| &one.likely);
            render::json(&report);
            return Ok(());
        }
        match self.agent {
            Some(_) => render::line(&total.line()),
            None if tallies.is_empty() => {
                render::line("no transcripts were found on this machine");
                return Ok(());
            }
            None => tallies.iter().for_each(|(agent, tally)| render::line(&format!("{agent}: {}", tally.line()))),
        }
        let surroundings = context.agent_surroundings();
        for (agent, transcripts) in known().filter(|(agent, _)| tallies.iter().any(|(read, _)| read == agent)) {
            if let Some(deleting) = deleting(context, &surroundings, agent, transcripts) {
                render::talk(&format!("cerberus: {agent} {deleting}; what is imported stays"));
            }
        }
        if total.report.damaged_lines > 0 {
            let lines = render::count(total.report.damaged_lines, "damaged or overlong line");
            render::talk(&format!("cerberus: skipped {lines}"));
        }
        if total.report.shortened_lines > 0 {
            let lines = render::count(total.report.shortened_lines, "overlong line");
            render::talk(&format!("cerberus: of {lines}, long texts are kept in part: their beginning and their end"));
        }
        if total.report.forgotten_events > 0 {
            let events = render::count(total.report.forgotten_events, "event");
            render::talk(&format!(
                "cerberus: skipped {events} that you had forgotten; `cerberus import --forgotten` imports them"
            ));
        }
        worktrees::tell(context, store, worktrees)?;
        // The first search need not wait then.
        let mut progress = Progress::new("sessions indexed");
        store.index_entries(|done, left| progress.at(done, done + left))?;
        drop(progress);
        picture(context, store)
    }
}

/// Shows everything that is known now, and what to type next.
fn picture(context: &Context, store: &Store) -> Result<()> {
    let overview = overview::overview(store, &context.clock)?;
    let mut left = Vec::new();
    for work in overview.projects.iter().take(LEFT_PROJECTS) {
        let page = page::page(store, &context.clock, work.last.session.clone())?;
        left.extend(page.left.into_iter().take(LEFT_ITEMS).map(|item| (work.name.clone(), item)));
    }
    let to_review = store.count_proposals(context.clock.now)?;
    let screen = Screen::of_stdout();
    let local = LocalTime::new(context.clock.now);
    pager::page(&screen, &render::overview::lines(&screen, &local, &overview, &left, to_review));
    Ok(())
}

fn known_json(context: &Context, store: &Store) -> Result<Value> {
    let overview = overview::overview(store, &context.clock)?;
    let projects: Vec<Value> = overview
        .projects
        .iter()
        .map(|work| json!({"name": work.name, "sessions": work.sessions, "last": ListedJson::of(&work.last)}))
        .collect();
    Ok(json!({
        "sessions": overview.sessions, "projects": projects,
        "since": overview.period.map(|(first, _)| first.to_string()),
        "until": overview.period.map(|(_, last)| last.to_string()),
        "to_review": store.count_proposals(context.clock.now)?,
    }))
}

/// How many projects are looked at for what they left open, and how much of it is shown.
const LEFT_PROJECTS: usize = 3;
const LEFT_ITEMS: usize = 2;

impl ImportTally {
    /// Counts one file. One that cannot be read does not end the import.
    fn take(&mut self, file: &Path, taken: std::result::Result<ImportReport, ImportError>) -> Result<()> {
        self.files += 1;
        match taken {
            Ok(report) => self.report.add(report),
            Err(error) if error.is_file_error() => self.unreadable.push(format!("{}: {error}", file.display())),
            failed => drop(failed.hint(KEPT)?),
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "files": self.files, "sessions": self.report.sessions, "events": self.report.new_events,
            "known_events": self.report.known_events, "damaged_lines": self.report.damaged_lines,
            "shortened_lines": self.report.shortened_lines,
            "private_sessions": self.report.private_sessions,
            "forgotten_events": self.report.forgotten_events, "unreadable": self.unreadable,
        })
    }

    fn line(&self) -> String {
        let events = render::count(self.report.new_events, "new event");
        let sessions = render::count(self.report.sessions, "session");
        let files = render::count(self.files, "file");
        let private = match self.report.private_sessions {
            0 => String::new(),
            left_out => format!(", {} skipped as private", render::count(left_out, "session")),
        };
        format!("{files}: {sessions}, {events}, {} already known{private}", self.report.known_events)
    }
}
