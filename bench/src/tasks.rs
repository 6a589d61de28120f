//! Does memory help an agent? Twelve small tasks over several sessions (`crates/testkit/src/tasks`), without memory, with
//! the agent's own files and with Cerberus: how many are passed, and what they take.
//!
//! The agent is the one on PATH, in a home of its own, with the key that is in the environment. It acts without asking.
//! Every result is appended to `--answers FILE` at once and not played again, so that a run may be interrupted. With
//! `--model scripted` no model is asked: that checks the harness, and says nothing about models.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use cerberus_testkit::tasks::agents::{self, Player};
use cerberus_testkit::tasks::play::{Table, TaskModel, TaskResult, play};
use cerberus_testkit::tasks::scripted::Mind;
use cerberus_testkit::tasks::{self, Arm, Task};

use crate::measure::{say, table};
use crate::programs::on_path;
use crate::reader::Answers;

/// What only this benchmark takes.
#[derive(Debug, Default)]
pub struct TaskOptions {
    pub agent: Option<String>,
    pub runs: Option<usize>,
    /// This one alone.
    pub task: Option<String>,
}

/// Results by task and arm, one for each run.
type Results = BTreeMap<(&'static str, Arm), Vec<TaskResult>>;

pub fn run(cerberus: PathBuf, options: &TaskOptions, model: Option<&str>, mut answers: Answers) -> Result<()> {
    let name = options.agent.as_deref().unwrap_or("claude");
    let player =
        Player::find(name).with_context(|| format!("{name:?} cannot play; agents that can: {}", agents::names()))?;
    let model = match model {
        Some("scripted") => TaskModel::Scripted(Mind::Heeds),
        Some("contrary") => TaskModel::Scripted(Mind::Defies),
        other => TaskModel::Real(other),
    };
    let program = player.profile.program;
    let pinned = || player.client().pin().locate().ok();
    let agent = match model {
        TaskModel::Scripted(_) => pinned().or_else(|| on_path(program)),
        TaskModel::Real(_) => on_path(program),
    };
    let agent = agent.with_context(|| format!("{program} is not on PATH"))?;
    let players = Table { player, agent, cerberus, model };
    let (mut plays, left_out): (Vec<Task>, Vec<Task>) = tasks::all()
        .into_iter()
        .filter(|task| options.task.as_deref().is_none_or(|only| only == task.name))
        .partition(|task| on_path(&task.needs).is_some());
    ensure!(!plays.is_empty(), "there is no such task, or what it needs is missing");
    plays.sort_by_key(|task| task.name);
    for task in left_out {
        say(&format!("{} is left out: {} is missing", task.name, task.needs))?;
    }
    let runs = options.runs.unwrap_or(1);
    let results = play_all(&players, &plays, runs, &mut answers)?;
    print(&plays, &results)
}

fn play_all(players: &Table, plays: &[Task], runs: usize, answers: &mut Answers) -> Result<Results> {
    let mut results = Results::new();
    let agent = players.player.profile.agent.name();
    for run in 0..runs {
        for (number, task) in plays.iter().enumerate() {
            let mut arms = Arm::ALL;
            // None always comes first.
            arms.rotate_left((run + number) % Arm::ALL.len());
            for arm in arms {
                let of = format!("{agent}, {:?}, {}, run {}", players.model, task.name, run + 1);
                let key = format!("{of}, {}", arm.name());
                let result = match answers.get(&key) {
                    Some(known) => serde_json::from_str(known)?,
                    None => {
                        let result = play(players, task, arm).map_err(|failed| anyhow!(failed))?;
                        answers.add(&key, &of, serde_json::to_string(&result)?)?;
                        result
                    }
                };
                say(&format!("{}, {}, run {}: {}", task.name, arm.name(), run + 1, words(&result)))?;
                results.entry((task.name, arm)).or_default().push(result);
            }
        }
    }
    Ok(results)
}

fn words(result: &TaskResult) -> String {
    let passed = if result.passed { "passed" } else { "failed" };
    let again = if result.repeats > 0 { ", what was corrected was done again" } else { "" };
    format!("{passed}{again}; {} tool calls, {} tokens, {}", result.tool_calls, result.tokens, dollars(result.cost_usd))
}

fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "–".to_string(), |cost| format!("{cost:.2} $"))
}

fn print(plays: &[Task], results: &Results) -> Result<()> {
    say("")?;
    let cell = |task: &Task, arm| {
        let of = &results[&(task.name, arm)];
        format!("{} of {}", passed(of), of.len())
    };
    let row = |task: &Task| {
        let arms = Arm::ALL.into_iter().map(|arm| cell(task, arm));
        std::iter::once(task.name.to_string()).chain(arms).collect()
    };
    let columns: Vec<&str> = std::iter::once("passed").chain(Arm::ALL.map(Arm::name)).collect();
    table(&columns, &plays.iter().map(row).collect::<Vec<_>>())?;
    say("")?;
    let rows = Arm::ALL.map(|arm| summed(arm, results));
    table(&["", "passed", "corrections repeated", "tool calls", "tokens", "at list prices"], &rows)?;
    say("")?;
    for (arm, other) in [(Arm::OwnFiles, Arm::Nothing), (Arm::Cerberus, Arm::Nothing), (Arm::Cerberus, Arm::OwnFiles)] {
        let (better, worse) = compared(plays, results, arm, other);
        say(&format!(
            "{} passes more than {} in {better} tasks, less in {worse} (sign test: p = {:.3})",
            arm.name(),
            other.name(),
            sign_test(better, worse)
        ))?;
    }
    Ok(())
}

fn passed(results: &[TaskResult]) -> usize {
    results.iter().filter(|result| result.passed).count()
}

/// The row of an arm: all of its runs together.
fn summed(arm: Arm, results: &Results) -> Vec<String> {
    let of: Vec<TaskResult> =
        results.iter().filter(|((_, played), _)| *played == arm).flat_map(|(_, of)| of.clone()).collect();
    let repeats: usize = of.iter().map(|result| result.repeats).sum();
    let later: usize = of.iter().map(|result| result.later_sessions).sum();
    vec![
        arm.name().to_string(),
        format!("{} of {}", passed(&of), of.len()),
        format!("{repeats} of {later}"),
        of.iter().map(|result| result.tool_calls).sum::<usize>().to_string(),
        of.iter().map(|result| result.tokens).sum::<u64>().to_string(),
        dollars(of.iter().map(|result| result.cost_usd).sum()),
    ]
}

/// In how many tasks an arm passes more runs than another, and in how many fewer.
fn compared(plays: &[Task], results: &Results, arm: Arm, other: Arm) -> (usize, usize) {
    let share = |task: &Task, arm| passed(&results[&(task.name, arm)]);
    let count = |wanted| plays.iter().filter(|task| share(task, arm).cmp(&share(task, other)) == wanted).count();
    (count(std::cmp::Ordering::Greater), count(std::cmp::Ordering::Less))
}

/// How likely it is that so many of the differences, or more, point the same way if both are as good.
fn sign_test(better: usize, worse: usize) -> f64 {
    let all = better + worse;
    let (mut ways, mut sum) = (1.0, 0.0);
    for few in 0..=better.min(worse) {
        sum += ways;
        ways *= (all - few) as f64 / (few + 1) as f64;
    }
    (2.0 * sum / 2f64.powi(i32::try_from(all).unwrap_or(i32::MAX))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_if_it_points_one_way_often_enough() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert_eq!(sign_test(3, 3), 1.0);
        assert_eq!(sign_test(5, 0), 0.0625);
        assert_eq!(sign_test(0, 6), sign_test(6, 0));
        assert!((sign_test(8, 1) - 0.039).abs() < 0.001);
    }

    #[test]
    fn arms_are_compared_by_task() {
        let plays: Vec<Task> = tasks::all().into_iter().take(3).collect();
        let result = |passed| TaskResult { passed, cost_usd: Some(0.5), ..TaskResult::default() };
        let mut results = Results::new();
        for (task, (nothing, ours)) in plays.iter().zip([(0, 2), (1, 1), (2, 1)]) {
            for (arm, count) in [(Arm::Nothing, nothing), (Arm::Cerberus, ours)] {
                results.insert((task.name, arm), (0..2).map(|run| result(run < count)).collect());
            }
        }
        assert_eq!(compared(&plays, &results, Arm::Cerberus, Arm::Nothing), (1, 1));
        assert_eq!(summed(Arm::Cerberus, &results)[1..3], ["4 of 6", "0 of 0"]);
        assert_eq!(summed(Arm::Cerberus, &results)[5], "3.00 $");
    }
}
