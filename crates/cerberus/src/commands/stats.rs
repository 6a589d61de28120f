use cerberus_checks::enforce;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_store::brief::usage::{self, MomentUsage, ToldSessions};
use cerberus_store::same_project::joined::joined;
use serde_json::{Value, json};

use crate::commands::check::{counted, tally_json};
use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Show how much of what sessions were told they used
///
/// Counted from this machine's own records: the files that briefs listed, and the files that those sessions then edited
/// or read. Also what checks prevented, what agents overrode, and whether they obeyed afterwards. Nothing is sent
/// anywhere.
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
        if context.json {
            let rules: Vec<Value> =
                decided.iter().map(|(id, tally)| json!({"id": id, "decisions": tally_json(tally)})).collect();
            let told = (as_json(&here), as_json(&all));
            render::json(&json!({"project": located.name, "told": told.0, "all_projects": told.1, "checks": rules}));
            return Ok(());
        }
        for (name, told) in [(located.name.as_str(), &here), ("all projects", &all)] {
            render::line(name);
            if told.sessions == 0 {
                render::line("  no session was told anything yet");
                continue;
            }
            let average = |sum: usize| sum as f64 / told.sessions as f64;
            render::line(&format!(
                "  {} told {:.1} lines and {:.0} tokens on average",
                render::count(told.sessions, "session"),
                average(told.lines),
                average(told.tokens),
            ));
            render::line(&format!("  {}", files_line(&told.files)));
            moment_lines(&told.moments).iter().for_each(|line| render::line(&format!("  {line}")));
        }
        if !decided.is_empty() {
            render::line("checks");
            decided.iter().for_each(|(id, tally)| render::line(&format!("  {id}: {}", counted(tally))));
        }
        Ok(())
    }
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
        lines.push(format!("{failures} told in between, what helped was done after {}", usage.remedies_used));
    }
    if usage.shared_files > 0 {
        let files = render::count(usage.shared_files, "file");
        lines.push(format!("{files} of another session at work told in between, {} read afterwards", usage.read_again));
    }
    if usage.past_sessions > 0 {
        let sessions = render::count(usage.past_sessions, "earlier session");
        lines.push(format!("{sessions} told with a prompt, {} looked up afterwards", usage.looked_up));
    }
    if usage.edited_files > 0 {
        lines.push(format!("{} told of before an edit", render::count(usage.edited_files, "file")));
    }
    if usage.held > 0 {
        lines.push(format!("{} held for another session at work", render::count(usage.held, "git command")));
    }
    lines
}

fn as_json(told: &ToldSessions) -> Value {
    let (files, moments) = (&told.files, &told.moments);
    json!({
        "sessions": told.sessions, "lines": told.lines, "tokens": told.tokens,
        "files": {
            "sessions": files.sessions, "told": files.told, "touched": files.touched, "told_and_touched": files.used,
            "touched_and_told": files.foreseen,
        },
        "moments": {
            "failures": moments.failures, "remedies_used": moments.remedies_used, "shared_files": moments.shared_files,
            "read_again": moments.read_again, "held": moments.held, "past_sessions": moments.past_sessions,
            "looked_up": moments.looked_up, "edited_files": moments.edited_files,
        },
    })
}
