use cerberus_loop::check_result::CheckResult;
use cerberus_loop::entry::LedgerEntry;
use cerberus_loop::history::{self, Iteration};
use cerberus_loop::run::changed_since;
use cerberus_loop::run_sums;
use serde_json::{Value, json};

use super::ledger::ledger;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::loops::{duration, money, thousands};
use crate::render::time::LocalTime;

/// Show what this project's last loop did, iteration by iteration
#[derive(clap::Args)]
pub struct LoopHistoryArgs {
    /// Show all runs, not only the last
    #[arg(long)]
    all: bool,
}

impl LoopHistoryArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let entries = ledger(context).read(context.clock.until())?;
        let mut rows = history::iterations(&entries);
        let last = rows.iter().map(|row| row.run).max();
        rows.retain(|row| self.all || Some(row.run) == last);
        if context.json {
            render::json(&rows.iter().map(as_json).collect::<Vec<_>>());
            return Ok(());
        }
        if rows.is_empty() {
            render::sentence("no loop has run in this project; `cerberus loop run` starts one");
        }
        let local = LocalTime::new(context.clock.now);
        for row in &rows {
            show(row, self.all, &local);
        }
        if !self.all && !rows.is_empty() {
            sum_up(context, &rows, &entries);
        }
        Ok(())
    }
}

fn as_json(row: &Iteration) -> Value {
    let mut value = json!({
        "run": row.run, "iteration": row.iteration, "attempts": row.attempts, "session_id": row.session_id,
        "agent": row.worker, "started_at": row.started_at.to_string(),
        "ended_at": row.ended_at.map(|at| at.to_string()),
    });
    let reboot = row.reboot.as_ref().map(|reboot| {
        let mut value = json!({
            "reason": reboot.reason, "new_session_id": &*reboot.new_session_id,
            "handoff_message": &*reboot.handoff_message, "transition_time_ms": reboot.transition_time_ms,
            "warmed_up": reboot.warmed_up,
        });
        if let Some(old) = &reboot.old_session_id {
            value["old_session_id"] = json!(&**old);
        }
        value
    });
    let optional = [
        ("fill_percent", row.fill_percent.map(|percent| json!((percent * 10.0).round() / 10.0))),
        ("fill_certainty", row.certainty.map(|certainty| json!(certainty))),
        ("tokens", row.tokens.map(|tokens| json!(tokens))),
        ("cost_usd", row.cost_usd.map(|cost| json!(cost))),
        ("priced_by", row.priced_by.as_ref().map(|priced| json!(priced))),
        ("changed_files", row.changed_files.map(|files| json!(files))),
        ("ended_by", row.how.map(|how| json!(how))),
        ("failure", row.failure.as_ref().map(|words| json!(words))),
        ("check", row.check.as_ref().map(|check| json!(check))),
        ("reboot", reboot),
        ("stop_reason", row.stop.as_ref().map(|(class, words)| json!(format!("{}: {words}", class.word())))),
    ];
    for (name, known) in optional {
        if let Some(known) = known {
            value[name] = known;
        }
    }
    value
}

fn show(row: &Iteration, with_run: bool, local: &LocalTime) {
    let number = if with_run { format!("{}.{}", row.run, row.iteration) } else { row.iteration.to_string() };
    let took = row.ended_at.map_or("running".to_string(), |ended| duration(ended.since(row.started_at)));
    let fill = row.fill_percent.map(|percent| format!("  {percent:.0} % full")).unwrap_or_default();
    let tokens = row.tokens.map(|tokens| format!("  {} tokens", thousands(tokens))).unwrap_or_default();
    let how = row.how.map(|how| format!("  {}", how.word())).unwrap_or_default();
    let again = if row.attempts > 1 { format!("  {} attempts", row.attempts) } else { String::new() };
    let cost = money(row.cost_usd, row.priced_by.as_ref());
    let changed = row.changed_files.map(|files| format!("  {} changed", render::count(files as usize, "file")));
    let changed = changed.unwrap_or_default();
    render::line(&format!(
        "{number:>4}  {}  {took}{fill}{tokens}{cost}{changed}{how}{again}",
        local.when(row.started_at)
    ));
    if let Some(session) = &row.session_id {
        let after = row.reboot.as_ref().map(|reboot| {
            let bytes = reboot.handoff_message.len();
            let seconds = reboot.transition_time_ms as f64 / 1000.0;
            format!(", after {} in {seconds:.1} s with {bytes} bytes", reboot.reason.word())
        });
        render::line(&format!("      session {session}{}", after.unwrap_or_default()));
    }
    if let Some(words) = &row.failure {
        render::line(&format!("      {words}"));
    }
    if let Some(check) = &row.check {
        check_lines(check).iter().for_each(|text| render::line(&format!("      {text}")));
    }
    if let Some((class, words)) = &row.stop {
        render::line(&format!("      {}: {words}", class.word()));
    }
}

/// The result of the check, and which tests fail.
fn check_lines(check: &CheckResult) -> Vec<String> {
    const NAMES_MAX: usize = 5;
    if check.passed {
        return vec!["check passed".to_string()];
    }
    let claim = if check.claimed { ", though the agent reported completion" } else { "" };
    let mut lines = vec![format!("check failed{claim}: {}", &*check.words)];
    let names: Vec<&str> = check.failing.iter().take(NAMES_MAX).map(|name| &**name).collect();
    if !names.is_empty() {
        let more = check.failing.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("failing: {}{more}", names.join(", ")));
    }
    lines
}

/// What the last run took and changed.
fn sum_up(context: &Context, rows: &[Iteration], entries: &[LedgerEntry]) {
    const FILES_MAX: usize = 8;
    let morning = run_sums::of(rows);
    let events: Vec<String> = morning.events.iter().map(|(name, count)| render::count(*count, name)).collect();
    let events = if events.is_empty() { String::new() } else { format!(": {}", events.join(", ")) };
    let tokens = thousands(morning.tokens);
    let (took, cost) = (duration(morning.took), money(morning.cost_usd, morning.priced_by.as_ref()));
    let iterations = render::count(morning.iterations, "iteration");
    render::line(&format!("{iterations} in {took}, {tokens} tokens{cost}{events}"));
    let base = history::latest_run(entries).and_then(|run_state| run_state.base);
    let mut files: Vec<String> = Vec::new();
    for changed in changed_since(&context.located(), base.as_deref()) {
        if !context.home.privacy_rules().is_private(&changed.path) && !files.contains(&changed.path) {
            files.push(changed.path);
        }
    }
    if !files.is_empty() {
        let more = files.len().saturating_sub(FILES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let total = render::count(files.len(), "file");
        files.truncate(FILES_MAX);
        render::line(&format!("{total} changed since it began: {}{more}", files.join(", ")));
    }
}
