//! Loops, running and past: their contexts, how full they were, what they cost, and the last output.

use cerberus_loop::history::Iteration;
use cerberus_loop::run::list::LoopRun;

use super::row::{ScreenRow, around, rule, signs, titled_rule};
use crate::render::loops::{money, thousands};
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::duration;
use crate::render::{count, counted};
use crate::tui::state::ScreenState;

const LIST_ROWS_MAX: usize = 4;
const ITERATION_ROWS_MAX: usize = 5;
const OUTPUT_ROWS_MAX: usize = 6;
const BAR_COLUMNS: usize = 20;

pub fn rows(state: &ScreenState, screen: &Screen) -> Vec<ScreenRow> {
    let loops = state.loops();
    let Some(run) = loops.get(state.loop_at) else {
        let text = "No loop has run. `cerberus loop run` lets an agent work through a task in one fresh context after another.";
        let lines = wrapped(text, screen.columns.saturating_sub(2));
        return lines.into_iter().map(|line| Line::new().plain(format!(" {line}")).into()).collect();
    };
    let listed = loops.iter().enumerate().map(|(at, run)| listed(state, run, at == state.loop_at));
    let mut rows = around(listed.collect(), LIST_ROWS_MAX);
    rows.push(rule(screen.columns).into());
    rows.extend(summary(state, run));
    rows.push(titled_rule("contexts", screen.columns).into());
    let first = run.iterations.len().saturating_sub(ITERATION_ROWS_MAX);
    rows.extend(run.iterations[first..].iter().map(|iteration| one(state, run, iteration).into()));
    rows.push(titled_rule("last output", screen.columns).into());
    let lines: Vec<String> =
        state.output.lines.iter().flat_map(|line| wrapped(line, screen.columns.saturating_sub(2))).collect();
    let first = lines.len().saturating_sub(OUTPUT_ROWS_MAX);
    rows.extend(lines[first..].iter().map(|line| Line::new().plain(format!(" {line}")).into()));
    rows
}

fn listed(state: &ScreenState, run: &LoopRun, is_chosen: bool) -> ScreenRow {
    let (done, bad, _) = signs(state);
    let live = if state.is_utf8 { "●" } else { "*" };
    let line = Line::new().plain(if is_chosen { ">" } else { " " });
    let line = match (&run.state.stopped, run.is_running) {
        (_, true) => line.add(Style::Heading, format!("{live} running")),
        (Some((class, _)), _) if class.exit_code() == 0 => line.plain(format!("{done} {}", class.word())),
        (Some((class, _)), _) => line.add(Style::Bad, format!("{bad} {}", class.word())),
        (None, false) => line.add(Style::Bad, format!("{bad} its runner died")),
    };
    let name = state.data.names.get(&run.project).map_or(run.project.as_str(), String::as_str);
    let line = line.pad(19).plain(name).pad(33).plain(run.state.worker.name()).pad(46);
    ScreenRow::list(line.faint(state.local.when(run.started_at)), is_chosen)
}

fn summary(state: &ScreenState, run: &LoopRun) -> Vec<ScreenRow> {
    let label = |name: &str| Line::new().faint(format!(" {name}")).pad(10);
    let (totals, layer) = (&run.state.totals, &run.state.layer);
    let task = layer.prompt_file.as_ref().or(layer.prompt.as_ref());
    let mut rows: Vec<ScreenRow> = Vec::new();
    rows.extend(task.map(|task| label("task").plain(task.lines().next().unwrap_or_default()).into()));
    rows.extend(layer.until.as_ref().map(|until| label("until").plain(until.as_str()).into()));
    if let Some((class, words)) = &run.state.stopped {
        rows.push(label("stopped").plain(format!("{}: {words}", class.word())).into());
    }
    let fill = match state.output.fill_percent {
        Some(percent) => label("context").plain(format!("{} {percent:.0}% full", bar(percent))),
        None => label("context").faint("unknown"),
    };
    rows.push(fill.into());
    let cost = money(totals.cost_usd, totals.priced_by.as_ref());
    let cost = if cost.is_empty() { "unknown".to_string() } else { cost.trim_start_matches(", ").to_string() };
    let spent = format!(
        "{cost}   {} tokens   {}",
        thousands(totals.tokens),
        counted(totals.spent as usize, "context", "contexts")
    );
    let took = run.state.last_at.since(run.started_at);
    rows.push(label("cost").plain(format!("{spent}   {}", duration(took))).into());
    rows
}

fn bar(percent: f64) -> String {
    let full = ((percent / 100.0 * BAR_COLUMNS as f64).round().max(0.0) as usize).min(BAR_COLUMNS);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_COLUMNS - full))
}

/// One context of a run.
fn one(state: &ScreenState, run: &LoopRun, iteration: &Iteration) -> Line {
    let (done, bad, _) = signs(state);
    let line = Line::new().plain(format!(" {:>3}  ", iteration.iteration));
    let line = match (iteration.ended_at, iteration.how) {
        (Some(_), Some(how)) if iteration.failure.is_none() => line.plain(format!("{done} {}", how.word())),
        (Some(_), how) => line.add(Style::Bad, format!("{bad} {}", how.map_or("failed", |how| how.word()))),
        (None, _) if run.is_running => line.add(Style::Heading, "running"),
        (None, _) => line.add(Style::Bad, format!("{bad} not ended")),
    };
    let fill = iteration.fill_percent.map_or("  ?%".to_string(), |percent| format!("{percent:>3.0}%"));
    let end = iteration.ended_at.unwrap_or(run.state.last_at);
    let line = line.pad(24).plain(fill).pad(30).plain(duration(end.since(iteration.started_at))).pad(43);
    // The day of the prices stands above.
    let is_most = iteration.priced_by.as_ref().is_some_and(|by| !by.unknown.is_empty());
    let most = if is_most { "at most " } else { "" };
    let cost = iteration.cost_usd.map(|cost| format!("{most}${cost:.2}  ")).unwrap_or_default();
    let attempts = if iteration.attempts > 1 { count(iteration.attempts as usize, "attempt") } else { String::new() };
    let failure = iteration.failure.as_deref().unwrap_or_default();
    line.plain(format!("{cost}{attempts}")).faint(format!(" {failure}"))
}
