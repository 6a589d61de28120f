use cerberus_agents::meter::price::collected_on;
use cerberus_checks::enforce;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_record::time::Timestamp;
use cerberus_store::brief::usage::{self, MomentUsage, ToldSessions};
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::Store;
use serde_json::{Value, json};

use crate::commands::check::{counted, tally_json};
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::progress::Progress;
use crate::render::style::{Line, Screen, Style};
use crate::render::time::LocalTime;
use crate::render::{page, usage as usage_lines};
use crate::report::figures::weeks::Weeks;
use crate::report::gather::visible::Visible;
use crate::usage::UsedSession;
use crate::usage::gather::{self, UsageSources};
use crate::usage::money::{Money, Spent, SpentRow, money};
use crate::usage::started::{Started, started};

/// Show what sessions cost, how long they take to get started, and whether they used what they were told
///
/// Counted on this machine from your agents' transcripts, and from the archive where a transcript is gone. Nothing is sent
/// anywhere.
///
/// Getting started: what a session takes until it first does something, before Cerberus was installed and since. A
/// difference that may be chance is marked as such.
///
/// Cost: the tokens of the last 26 weeks by project, agent, model and week, at dated list prices, or at your own from
/// [prices] in config.toml. The price of a model that is not listed is unknown.
///
/// Told: the files that briefs listed, and how many of them the sessions then edited or read. Also what checks
/// prevented, what agents overrode, and whether they obeyed afterwards.
#[derive(clap::Args)]
pub struct StatsArgs {}

impl StatsArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let (located, now) = (context.located(), context.clock.now);
        let projects = joined(&store, &located, now)?.ids;
        let here = usage::of_projects(&store, &projects, now)?;
        let all = usage::of_everything(&store, now)?;
        let decided = enforce::tallies(&store, now)?;
        let used = used(context, &store)?;
        let (local, prices) = (LocalTime::new(now), context.config()?.prices);
        let weeks = Weeks::until(local.day_number(now));
        let is_recent = |session: &&UsedSession| weeks.of(local.day_number(session.row.started_at)).is_some();
        let spent = money(used.iter().filter(is_recent), &prices, |at| local.day_number(at));
        let started = started(&used);
        if context.json {
            let rules: Vec<Value> =
                decided.iter().map(|(id, tally)| json!({"id": id, "decisions": tally_json(tally)})).collect();
            let told = (as_json(&here), as_json(&all));
            render::json(&json!({"project": located.name, "told": told.0, "all_projects": told.1, "checks": rules,
                "getting_started": started.iter().map(started_json).collect::<Vec<_>>(),
                "cost": money_json(&spent, &local, !prices.is_empty())}));
            return Ok(());
        }
        let screen = Screen::of_stdout();
        let mut lines = usage_lines::started(&screen, &started);
        lines.extend(usage_lines::money(&screen, &local, &spent, !prices.is_empty()));
        lines.push(Line::of(Style::Strong, "told".to_string()));
        if all.sessions == 0 {
            lines.extend(usage_lines::texts(&screen, 2, "no session was told anything yet"));
        }
        for (name, told) in [(located.name.as_str(), &here), ("all projects", &all)] {
            if all.sessions > 0 {
                lines.push(Line::new().plain(format!("  {name}")));
                lines.extend(told_lines(told).iter().flat_map(|text| usage_lines::texts(&screen, 4, text)));
            }
        }
        if !decided.is_empty() {
            lines.push(Line::of(Style::Strong, "checks".to_string()));
            let text = |(id, tally): &(String, _)| format!("{id}: {}", counted(tally));
            lines.extend(decided.iter().map(text).flat_map(|text| usage_lines::texts(&screen, 2, &text)));
        }
        page::page(&screen, &lines);
        Ok(())
    }
}

/// What all sessions of visible projects used.
fn used(context: &Context, store: &Store) -> Result<Vec<UsedSession>> {
    let mut visible = Visible::new(&context.home);
    let mut rows = store.sessions(&[], Timestamp::EPOCH, context.clock.now)?;
    rows.retain(|row| visible.shows(row));
    let surroundings = context.agent_surroundings();
    let sources = UsageSources { home: &context.home, store, clock: &context.clock, surroundings: &surroundings };
    let mut progress = Progress::new("sessions");
    Ok(gather::sessions(&sources, rows, |done, of| progress.at(done, of))?)
}

/// What sessions were told, and whether they used it.
fn told_lines(told: &ToldSessions) -> Vec<String> {
    if told.sessions == 0 {
        return vec!["no session was told anything yet".to_string()];
    }
    let average = |sum: usize| sum as f64 / told.sessions as f64;
    let sessions = render::count(told.sessions, "session");
    let size =
        format!("{sessions} told {:.1} lines and {:.0} tokens on average", average(told.lines), average(told.tokens),);
    let moments = moment_lines(&told.moments());
    [size, files_line(&told.files)].into_iter().chain(moments).collect()
}

/// `12 files told to 3 sessions, 5 of them touched (42 %); of 9 files touched, 5 had been told (56 %)`.
pub fn files_line(usage: &ToldFileUsage) -> String {
    if usage.sessions == 0 {
        return "no session was told about files and then worked on any".to_string();
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
    format!(
        "{} told to {}, {} of them touched ({:.0} %); of {} touched, {} had been told ({:.0} %)",
        render::count(usage.told, "file"),
        render::count(usage.sessions, "session"),
        usage.used,
        percent(usage.used, usage.told),
        render::count(usage.touched, "file"),
        usage.foreseen,
        percent(usage.foreseen, usage.touched),
    )
}

/// What was told in between, and whether it was used.
fn moment_lines(usage: &MomentUsage) -> Vec<String> {
    let mut lines = Vec::new();
    if usage.failures > 0 {
        let failures = render::count(usage.failures, "known failure");
        lines.push(format!("told what had helped with {failures}; done after {}", usage.remedies_used));
    }
    if usage.shared_files > 0 {
        let files = render::count(usage.shared_files, "file");
        lines.push(format!("told of {files} changed by another session at work; {} read again", usage.read_again));
    }
    if usage.past_sessions > 0 {
        let sessions = render::count(usage.past_sessions, "earlier session");
        lines.push(format!("told of {sessions} with a prompt; {} looked up", usage.looked_up));
    }
    if usage.edited_files > 0 {
        lines.push(format!("told of {} before an edit", render::count(usage.edited_files, "file")));
    }
    if usage.held > 0 {
        let commands = render::count(usage.held, "git command");
        lines.push(format!("held back {commands} for another session at work; {} not run", usage.left_alone));
    }
    lines
}

fn as_json(told: &ToldSessions) -> Value {
    let (files, moments) = (&told.files, told.moments());
    json!({
        "sessions": told.sessions, "lines": told.lines, "tokens": told.tokens,
        "files": {
            "sessions": files.sessions, "told": files.told, "touched": files.touched, "told_and_touched": files.used,
            "touched_and_told": files.foreseen,
        },
        "moments": {
            "failures": moments.failures, "remedies_used": moments.remedies_used, "shared_files": moments.shared_files,
            "read_again": moments.read_again, "held": moments.held, "left_alone": moments.left_alone,
            "past_sessions": moments.past_sessions, "looked_up": moments.looked_up,
            "edited_files": moments.edited_files,
        },
    })
}

fn started_json(one: &Started) -> Value {
    let measures = one.measures.iter().map(|(measure, compared)| {
        let verdict = compared.verdict.words();
        (measure.key().to_string(), json!({"before": compared.before, "since": compared.since, "difference": verdict}))
    });
    let (project, agent) = one.of.clone().unzip();
    let medians: serde_json::Map<String, Value> = measures.collect();
    json!({"project": project, "agent": agent, "before": one.before, "since": one.since, "medians": medians})
}

fn money_json(money: &Money, local: &LocalTime, has_own_prices: bool) -> Value {
    let rows = |rows: &[SpentRow]| -> Vec<Value> { rows.iter().map(row_json).collect() };
    let weeks: Vec<Value> = money
        .by_week
        .iter()
        .map(|(monday, row)| {
            let mut value = row_json(row);
            value["name"] = json!(local.iso_date(*monday));
            value
        })
        .collect();
    json!({
        "prices_of": collected_on(), "own_prices": has_own_prices, "sessions": money.sessions,
        "unknown_sessions": money.unknown_sessions, "all": spent_json(&money.all),
        "by_project": rows(&money.by_project), "by_agent": rows(&money.by_agent), "by_model": rows(&money.by_model),
        "by_week": weeks,
    })
}

fn row_json(row: &SpentRow) -> Value {
    let mut value = spent_json(&row.spent);
    value["name"] = json!(row.name);
    value["sessions"] = json!(row.sessions);
    value
}

fn spent_json(spent: &Spent) -> Value {
    json!({"tokens": spent.tokens, "cost_usd": spent.known_usd(), "unpriced_tokens": spent.unpriced_tokens})
}
