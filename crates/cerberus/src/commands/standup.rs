//! What `log --yesterday` and `report --week` print.

use std::time::Duration;

use cerberus_record::id::ProjectId;
use cerberus_store::browse::standup::{DoneEntry, Period, ProjectStandup, standup};
use cerberus_store::view::Store;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::time::LocalTime;
use crate::report::gather::visible::Visible;

/// How many days are searched for one with work.
const DAYS_MAX: i64 = 7;

/// Which sessions are meant; all of them if nothing is given.
#[derive(Default)]
pub struct StandupFilter {
    pub projects: Vec<ProjectId>,
    pub agent: Option<String>,
}

/// Yesterday, or the last day before with work: on a Monday that is Friday.
pub fn print_last_day(context: &Context, store: &Store, filter: &StandupFilter) -> Result<()> {
    let local = LocalTime::new(context.clock.now);
    let today = local.day_number(context.clock.now);
    for day in (today - DAYS_MAX..today).rev() {
        let period = Period { from: local.start_of(day), until: local.start_of(day + 1) };
        let projects = gathered(context, store, period, filter)?;
        if !projects.is_empty() || day == today - DAYS_MAX {
            print(context, store, &local.weekday_of(day), period, &projects)?;
            break;
        }
    }
    Ok(())
}

/// The last seven days, today included.
pub fn print_week(context: &Context, store: &Store) -> Result<()> {
    let local = LocalTime::new(context.clock.now);
    let today = local.day_number(context.clock.now);
    let first = today + 1 - DAYS_MAX;
    let period = Period { from: local.start_of(first), until: local.start_of(today + 1) };
    let title = format!("{} to {}", local.weekday_of(first), local.weekday_of(today));
    let projects = gathered(context, store, period, &StandupFilter::default())?;
    print(context, store, &title, period, &projects)
}

fn gathered(context: &Context, store: &Store, period: Period, filter: &StandupFilter) -> Result<Vec<ProjectStandup>> {
    let mut visible = Visible::new(&context.home);
    Ok(standup(store, &context.clock, period, |session| {
        let is_agent = filter.agent.as_ref().is_none_or(|agent| *agent == session.agent);
        let is_project = filter.projects.is_empty() || filter.projects.contains(&session.project);
        is_agent && is_project && visible.shows(session)
    })?)
}

fn print(context: &Context, store: &Store, title: &str, period: Period, projects: &[ProjectStandup]) -> Result<()> {
    if context.json {
        // The last moment, as people name days.
        let until = period.until.minus(Duration::from_secs(1));
        let projects: Vec<Value> = projects.iter().map(as_json).collect();
        let (from, until) = (period.from.to_string(), until.to_string());
        render::json(&json!({"from": from, "until": until, "projects": projects}));
        return Ok(());
    }
    if projects.is_empty() {
        let older = "no session was active in these seven days; `cerberus log` lists the others";
        render::talk(nothing_known(store, context)?.unwrap_or(older));
        return Ok(());
    }
    render::standup::lines(title, projects).iter().for_each(|line| render::line(line));
    Ok(())
}

fn as_json(project: &ProjectStandup) -> Value {
    let done = project.done.iter().map(|entry| match entry {
        DoneEntry::Item(item) => json!({"text": item, "by_agent": false}),
        DoneEntry::Said(words) => json!({"text": words, "by_agent": true}),
    });
    json!({
        "project": project.name, "sessions": project.sessions, "files": project.files, "asked": project.asked,
        "done": done.collect::<Vec<_>>(), "decided": project.decided, "committed": project.committed,
        "open": project.open,
    })
}

/// What to do where no session is known at all.
pub fn nothing_known(store: &Store, context: &Context) -> Result<Option<&'static str>> {
    let is_empty = store.all_projects(context.clock.now)?.is_empty();
    Ok(is_empty.then_some("no session is known yet; `cerberus import` reads the transcripts that your agents keep"))
}
