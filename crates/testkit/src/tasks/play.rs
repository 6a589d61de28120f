//! Plays a task in one arm: its sessions one after another, each ended as the task says, then the tests.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cerberus_agents::meter::price::Prices;
use cerberus_agents::model_calls::{self, ModelCall};
use cerberus_agents::stream::{self, Finish, StreamEvent};
use serde::{Deserialize, Serialize};

use super::agents::{GUIDE, Player, path};
use super::scripted::{self, Mind};
use super::{Arm, Task, TaskSessionEnd};
use crate::model_server::ModelServer;
use crate::process::{Running, kill_group, wait_until};
use crate::scratch::Scratch;

/// One turn of an agent may take this long.
const TURN_MAX: Duration = Duration::from_secs(1_800);
const TEST_MAX: Duration = Duration::from_secs(120);

/// Who plays, and with what.
#[derive(Debug)]
pub struct Table<'a> {
    pub player: Player,
    /// The agent's program.
    pub agent: PathBuf,
    pub cerberus: PathBuf,
    pub model: TaskModel<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum TaskModel<'a> {
    /// The agent's own, or the one with this name.
    Real(Option<&'a str>),
    Scripted(Mind),
}

/// What became of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    pub passed: bool,
    pub tool_calls: usize,
    pub tokens: u64,
    /// At list prices, unless the agent says it; `None` if the price of its model is not known.
    pub cost_usd: Option<f64>,
    /// Sessions after the correction, and those of them that did again what the user had corrected.
    pub later_sessions: usize,
    pub repeats: usize,
}

/// Plays it from its first session to its tests. An agent that fails is an error: it says nothing about memory.
pub fn play(table: &Table, task: &Task, arm: Arm) -> Result<TaskResult, String> {
    let game = Game { table, task, arm, scratch: Scratch::new() };
    game.set_up()?;
    let mut result = TaskResult::default();
    let mut goes_on = false;
    for (number, session) in task.sessions.iter().enumerate() {
        for turn in 0..session.turns.len() {
            result.tool_calls += game.turn((number, turn), goes_on)?;
            goes_on = true;
        }
        goes_on = session.end == TaskSessionEnd::Compaction && game.compact()?;
        if number > 0 {
            result.later_sessions += 1;
            result.repeats += usize::from(run_script(&game.scratch, &task.repeats));
        }
    }
    result.passed = run_script(&game.scratch, &task.accept);
    let calls = calls_below(&game.scratch.home());
    result.tokens = calls.iter().map(|call| call.tokens.total()).sum();
    result.cost_usd = calls.iter().map(cost).sum();
    Ok(result)
}

/// What the agent's own transcripts say that its model was asked.
fn calls_below(home: &Path) -> Vec<ModelCall> {
    let mut calls: Vec<ModelCall> = Vec::new();
    let mut folders = vec![home.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_transcript = path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json");
            if path.is_dir() && entry.file_name() != ".cerberus" {
                folders.push(path);
            } else if is_transcript {
                for call in model_calls::read(&std::fs::read(&path).unwrap_or_default()) {
                    // A conversation that goes on may repeat its beginning in another file.
                    match calls.iter_mut().find(|known| known.key.is_some() && known.key == call.key) {
                        Some(known) => model_calls::merge(known, call),
                        None => calls.push(call),
                    }
                }
            }
        }
    }
    calls
}

/// At the list price of the very model.
fn cost(call: &ModelCall) -> Option<f64> {
    let listed = || Some(Prices::default().listed(call.model.as_deref()?, &call.tokens)?.of(&call.tokens));
    call.cost_usd.or_else(listed)
}

struct Game<'a> {
    table: &'a Table<'a>,
    task: &'a Task,
    arm: Arm,
    scratch: Scratch,
}

impl Game<'_> {
    fn set_up(&self) -> Result<(), String> {
        let (repo, home) = (self.scratch.repo(), self.scratch.home());
        write_files(&repo, self.task);
        if self.arm == Arm::OwnFiles {
            std::fs::write(repo.join(self.table.player.guide()), GUIDE).expect("writes into a scratch folder");
        }
        self.scratch.git(&["add", "--all"]);
        self.scratch.git(&["commit", "--quiet", "--allow-empty", "--message=begin"]);
        let author = "[user]\n\tname = Test\n\temail = test@localhost\n";
        std::fs::write(home.join(".gitconfig"), author).expect("writes into a scratch folder");
        if matches!(self.table.model, TaskModel::Scripted(_)) {
            self.table.player.client().prepare(&self.scratch);
        }
        if self.arm != Arm::Cerberus {
            return Ok(());
        }
        // It asks the agent for its version.
        let profile = self.table.player.profile;
        let programs = self.scratch.root().join("programs");
        std::fs::create_dir(&programs).expect("makes a directory in a scratch folder");
        symlink(&self.table.agent, programs.join(profile.program)).expect("makes a link in a new directory");
        let usual = path();
        let found = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&usual)))
            .map_err(|error| error.to_string())?;
        let mut install = Command::new(&self.table.cerberus);
        install.args(["install", "--agent", profile.agent.name()]);
        install.env_clear().env("HOME", &home).env("PATH", found).current_dir(&repo);
        let installed = finished(&mut install, TEST_MAX)?;
        if installed.0 { Ok(()) } else { Err(format!("cerberus install failed: {}", installed.1)) }
    }

    /// One turn, to its end or until it is killed; how many tools were used.
    fn turn(&self, at: (usize, usize), goes_on: bool) -> Result<usize, String> {
        let session = &self.task.sessions[at.0];
        let server = match self.table.model {
            TaskModel::Scripted(mind) => {
                Some(scripted::turn(&self.table.player, mind, &self.scratch.repo(), self.task, at))
            }
            TaskModel::Real(_) => None,
        };
        let kill_after = match session.end {
            TaskSessionEnd::KillAfter(tools) if at.1 + 1 == session.turns.len() => {
                // A note that the scripted model keeps comes before its work.
                let has_note = server.is_some() && self.arm == Arm::OwnFiles && session.turns[at.1].note.is_some();
                Some(tools + usize::from(has_note))
            }
            _ => None,
        };
        let prompt = &session.turns[at.1].prompt;
        let printed = self.run(server.as_ref(), goes_on, prompt, kill_after)?;
        let where_it_was = || format!("{}, {}, session {}: {printed}", self.task.name, self.arm.name(), at.0 + 1);
        let events = self.events(&printed);
        let has_failed = events.iter().any(|event| matches!(event, StreamEvent::Finished(Finish::Failed(_))));
        let has_begun = events.iter().any(|event| !matches!(event, StreamEvent::Unknown));
        if has_failed || !has_begun {
            return Err(format!("the agent failed in {}", where_it_was()));
        }
        Ok(events.iter().filter(|event| matches!(event, StreamEvent::Tool { .. })).count())
    }

    /// Compacts the conversation, and says whether that was possible. If not, the next session is a new one.
    fn compact(&self) -> Result<bool, String> {
        let Some(prompt) = self.table.player.compact() else { return Ok(false) };
        let server = matches!(self.table.model, TaskModel::Scripted(_)).then(scripted::compaction);
        self.run(server.as_ref(), true, prompt, None).map(|_| true)
    }

    /// Runs the agent once; what it printed.
    fn run(
        &self,
        server: Option<&ModelServer>,
        goes_on: bool,
        prompt: &str,
        kill_after: Option<usize>,
    ) -> Result<String, String> {
        let Table { player, agent, .. } = self.table;
        let mut command = player.turn(agent, &self.scratch, self.arm, goes_on, prompt);
        if let TaskModel::Real(Some(name)) = self.table.model {
            command.args([player.headless.model_flags[0], name]);
        }
        if let Some(server) = server {
            player.point(&mut command, &server.url());
        }
        let mut running = Running::spawn(&mut command).map_err(|error| format!("{}: {error}", agent.display()))?;
        if let Some(tools) = kill_after {
            let is_over = || {
                let events = self.events(&running.printed());
                let used = events.iter().filter(|event| is_used(event)).count();
                let has_ended = events.iter().any(|event| matches!(event, StreamEvent::Finished(_)));
                (used >= tools || has_ended).then_some(())
            };
            let over = wait_until("its tools", TURN_MAX, is_over);
            let _ = kill_group(running.pid());
            over.map_err(|late| format!("{late}: {}", running.printed()))?;
        }
        let ended = running.wait(TURN_MAX)?;
        match ended.status.success() || kill_after.is_some() {
            true => Ok(ended.stdout),
            false => Err(format!("{} ended with {}: {}{}", agent.display(), ended.status, ended.stdout, ended.stderr)),
        }
    }

    fn events(&self, printed: &str) -> Vec<StreamEvent> {
        let read = self.table.player.headless.read;
        printed.lines().flat_map(|line| stream::read(read, line.as_bytes())).collect()
    }
}

pub(super) fn write_files(repo: &Path, task: &Task) {
    for (path, text) in &task.files {
        let path = repo.join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("makes a directory");
        std::fs::write(path, text).expect("writes into a scratch folder");
    }
}

/// Runs a script in the repository; whether it succeeded, in time. `$T` is a folder of its own.
pub(super) fn run_script(scratch: &Scratch, script: &str) -> bool {
    let own = tempfile::tempdir_in(scratch.root()).expect("makes a directory in a scratch folder");
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).env_clear().current_dir(scratch.repo());
    shell.env("PATH", path()).env("HOME", own.path()).env("T", own.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    finished(&mut shell, TEST_MAX).is_ok_and(|(succeeded, _)| succeeded)
}

/// Runs a program to its end: whether it succeeded, and what it printed.
fn finished(command: &mut Command, limit: Duration) -> Result<(bool, String), String> {
    let mut running = Running::spawn(command).map_err(|error| error.to_string())?;
    let ended = running.wait(limit)?;
    Ok((ended.status.success(), ended.stdout + &ended.stderr))
}

/// A tool that has returned. Codex reports an edit only then.
fn is_used(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::ToolDone | StreamEvent::ToolFailed)
        || matches!(event, StreamEvent::Tool { name, .. } if name == "edit")
}
