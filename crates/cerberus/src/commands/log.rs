use std::time::Duration;

use cerberus_record::id::ProjectId;
use cerberus_record::span::Span;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::find;
use cerberus_store::browse::log::{self, ListedSession, LogFilter};
use cerberus_store::project::identity;
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::Store;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::json;

use crate::commands::standup::{self, StandupFilter, nothing_known};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::style::{Line, Screen};
use crate::render::time::{LocalTime, NamedDay};
use crate::render::{page, sessions};

/// List sessions of all projects, newest first
///
/// Shows the last ten. With --json, lists all of them unless -n is given.
#[derive(clap::Args)]
pub struct LogArgs {
    /// Only sessions in which these words occur
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// How many sessions to show [default: 10; all with --json]
    #[arg(short = 'n', long = "number", value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    only: SessionFilter,

    /// Only sessions that edited this file, given by its path or the end of it
    #[arg(long, value_name = "PATH")]
    file: Option<String>,

    /// Only sessions that left a test or a command failing
    #[arg(long)]
    failing: bool,

    /// For a standup: what was asked, done, decided and committed yesterday, or on the last day before with work, and
    /// what is open now. By project, as text to paste; without private projects
    #[arg(long, conflicts_with_all = ["words", "limit", "since", "file", "failing"])]
    yesterday: bool,
}

/// Filters that `log` and `search` share.
#[derive(clap::Args)]
pub struct SessionFilter {
    /// Only this project: its name, or a folder inside it (. is the current one)
    #[arg(long, value_name = "NAME|DIR")]
    pub project: Option<String>,

    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = agent_names())]
    pub agent: Option<String>,

    /// Only what happened since then: 7d, 12h, yesterday, Mon, 12 Nov, 2026-01-22, 2026-01-22T13:35:14Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
}

/// A point in time, or a span before now.
#[derive(Clone, Copy, Debug)]
pub enum Since {
    At(Timestamp),
    Before(Duration),
    /// The beginning of a day, as lists name it.
    Day(NamedDay),
}

pub fn since(text: &str) -> std::result::Result<Since, String> {
    if let Ok(at) = Timestamp::parse(text).or_else(|_| Timestamp::parse(&format!("{text}T00:00:00"))) {
        return Ok(Since::At(at));
    }
    if let Some(day) = NamedDay::parse(text) {
        return Ok(Since::Day(day));
    }
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let span = text.parse::<Span>().ok().filter(|_| has_unit);
    span.map(|span| Since::Before(span.0))
        .ok_or_else(|| "write it as 7d, 12h, yesterday, Mon, 12 Nov or 2026-01-22".to_string())
}

impl SessionFilter {
    /// The ids and names of the project; empty if all projects are meant.
    pub fn projects(&self, context: &Context, store: &Store) -> Result<(Vec<ProjectId>, Vec<String>)> {
        let Some(project) = &self.project else { return Ok((Vec::new(), Vec::new())) };
        let now = context.clock.now;
        let ids = store.projects_named(project, now)?;
        let folder = context.cwd.join(project);
        if ids.is_empty() && !folder.is_dir() {
            return Err(anyhow::anyhow!("no session of a project {project:?} is known, and it is not a folder"))
                .hint(known_projects(store, now)?);
        }
        if !ids.is_empty() {
            return Ok((ids, vec![project.clone()]));
        }
        let joined = joined(store, &identity::locate(&folder), now)?;
        Ok((joined.ids, joined.names))
    }

    pub fn since(&self, now: Timestamp) -> Timestamp {
        match self.since {
            None => Timestamp::EPOCH,
            Some(Since::At(at)) => at,
            Some(Since::Before(span)) => now.minus(span),
            Some(Since::Day(day)) => LocalTime::new(now).beginning(day),
        }
    }
}

/// So many projects are named where none was found.
const PROJECTS_MAX: usize = 12;

/// The projects that can be asked for.
fn known_projects(store: &Store, now: Timestamp) -> Result<String> {
    let mut names: Vec<String> = Vec::new();
    for session in store.sessions(&[], Timestamp::EPOCH, now)?.into_iter().rev() {
        if !names.contains(&session.project_name) {
            names.push(session.project_name);
        }
    }
    let more = names.len().saturating_sub(PROJECTS_MAX);
    names.truncate(PROJECTS_MAX);
    Ok(match (names.is_empty(), more) {
        (true, _) => {
            "no project is known yet; `cerberus import` reads the transcripts that your agents keep".to_string()
        }
        (false, 0) => format!("known projects: {}", names.join(", ")),
        (false, more) => format!("known projects: {} and {more} more", names.join(", ")),
    })
}

/// One session, for JSON.
#[derive(Serialize)]
pub struct ListedJson<'a> {
    id: &'a str,
    title: &'a str,
    project: &'a str,
    agent: &'a str,
    started_at: String,
    ended_at: Option<String>,
    duration_minutes: f64,
    active_minutes: f64,
    files: usize,
    failing: usize,
    status: &'static str,
    /// The other device that it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
}

impl ListedJson<'_> {
    pub fn of(listed: &ListedSession) -> ListedJson<'_> {
        let session = &listed.session;
        ListedJson {
            id: session.id.as_str(),
            title: &listed.title,
            project: &session.project_name,
            agent: &session.agent,
            started_at: session.started_at.to_string(),
            ended_at: listed.ended_at().map(|at| at.to_string()),
            duration_minutes: minutes(listed.elapsed()),
            active_minutes: minutes(listed.active),
            files: listed.files,
            failing: listed.failing,
            status: session.state.status.word(),
            device: session.device.as_deref(),
        }
    }
}

/// Minutes with one decimal.
fn minutes(time: Duration) -> f64 {
    (time.as_secs_f64() / 6.0).round() / 10.0
}

/// How many lines a list has unless more are asked for.
pub const SHOWN: usize = 10;

impl LogArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if self.yesterday {
            return self.standup(context);
        }
        let mut store = context.swept_store()?;
        let filter = LogFilter {
            projects: self.only.projects(context, &store)?.0,
            agent: self.only.agent.clone(),
            since: self.only.since(context.clock.now),
            file: self.file.clone(),
            failing: self.failing,
            words: self.words.join(" "),
            limit: self.limit.or((!context.json).then_some(SHOWN)),
        };
        let found = log::log(&mut store, &context.clock, &filter)?;
        if context.json {
            let all: Vec<ListedJson> = found.sessions.iter().map(ListedJson::of).collect();
            render::json(&json!(all));
            return Ok(());
        }
        if found.sessions.is_empty() {
            render::talk(&self.nothing(&store, context)?);
            return Ok(());
        }
        let screen = Screen::of_stdout();
        let ids = find::id_lengths(&store, context.clock.now)?;
        let mut lines = sessions::list(&screen, &LocalTime::new(context.clock.now), &found.sessions, &ids);
        if found.total > found.sessions.len() {
            let more = format!("{} of {}; -n {} shows all", found.sessions.len(), found.total, found.total);
            lines.push(Line::new().faint(more));
        }
        page::page(&screen, &lines);
        Ok(())
    }

    fn standup(self, context: &Context) -> Result<()> {
        context.require_privacy_rules()?;
        let store = context.swept_store()?;
        let projects = self.only.projects(context, &store)?.0;
        standup::print_last_day(context, &store, &StandupFilter { projects, agent: self.only.agent })
    }

    fn nothing(&self, store: &Store, context: &Context) -> Result<String> {
        let other = "no session matches; without words and options, `cerberus log` lists all";
        Ok(nothing_known(store, context)?.unwrap_or(other).to_string())
    }
}

/// The names of all agents, for an argument.
fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(cerberus_agents::ALL.iter().map(|profile| profile.agent.name()).chain(["manual", "seed"]))
}
