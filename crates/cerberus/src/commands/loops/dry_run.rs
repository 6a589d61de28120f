//! `loop run --dry-run`: shows the first prompt, the command line and the limits, and runs the check once.

use cerberus_loop::completion::CompletionCheck;
use cerberus_loop::run::dry_run;
use cerberus_loop::run::interrupts::Interrupts;
use cerberus_loop::run::job::Job;
use cerberus_loop::settings::Settings;
use cerberus_record::span::Span;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::loops::thousands;

pub fn show(context: &Context, job: &Job, worktree: Option<&str>, interrupts: &Interrupts) -> Result<()> {
    let plan = dry_run::plan(job, interrupts).hint("pass an existing text file to --prompt-file")?;
    let command: Vec<&str> =
        [plan.invocation.program.as_str()].into_iter().chain(plan.invocation.args.iter().map(String::as_str)).collect();
    let checked = plan.checked.as_ref().map(words);
    let limits = limits(&job.settings);
    if context.json {
        let limits: serde_json::Map<_, _> =
            limits.into_iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
        let line = json!({ "event": "plan", "prompt": plan.opening.first, "task": plan.opening.task,
            "arguments": command, "root": render::path(&job.located.cwd), "worktree": worktree, "limits": limits,
            "check": checked, "command": job.settings.completion.check });
        render::json_text(&line.to_string());
        return Ok(());
    }
    let title = |words: &str| render::line(&format!("── {words}"));
    title("command");
    render::line(&command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    title("folder");
    match worktree {
        Some(name) => render::line(&format!("a worktree on branch {name}, beside {}", job.located.root.display())),
        None => render::line(&job.located.cwd.display().to_string()),
    }
    title("first prompt");
    render::block(&plan.opening.first);
    if let Some(task) = &plan.opening.task {
        title("then the task");
        render::block(task);
    }
    title("limits");
    for (name, value) in limits {
        render::line(&format!("{name:<22} {value}"));
    }
    title("check");
    match (&job.settings.completion.check, checked) {
        (Some(command), Some(checked)) => render::line(&format!("{command}: {checked}")),
        _ => render::line("none; a claim of completion must be confirmed by a second context"),
    }
    Ok(())
}

fn words(checked: &CompletionCheck) -> String {
    match checked {
        CompletionCheck::Passed | CompletionCheck::Changed { .. } => {
            "it passes already, so the loop would end after one context".to_string()
        }
        CompletionCheck::NoTests => "it succeeds but runs no tests, so it does not count".to_string(),
        CompletionCheck::Failed { words, .. } => format!("it does not pass yet ({words})"),
    }
}

fn limits(settings: &Settings) -> Vec<(&'static str, String)> {
    let limits = &settings.limits;
    let dollars = |usd: f64| format!("${usd:.2}");
    let all = [
        ("soft redline", Some(settings.redline.soft.to_string())),
        ("hard redline", Some(settings.redline.hard.to_string())),
        ("iterations", limits.iterations.map(|number| number.to_string())),
        ("duration", limits.duration.map(|span| Span(span).to_string())),
        ("tokens", limits.tokens.map(thousands)),
        ("cost", limits.cost_usd.map(dollars)),
        ("without progress", limits.no_progress.map(|number| format!("{number} iterations"))),
        ("silence", Some(Span(settings.stall).to_string())),
        ("contexts per hour", Some(settings.pace.per_hour.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// For a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | ':' | ',' | '+' | '@');
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
