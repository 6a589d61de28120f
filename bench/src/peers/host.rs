//! Runs the hooks of one program as Claude Code does, and counts what they use.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::HookCommand;
use super::known::Installed;
use super::past::Past;
use crate::measure::Times;
use crate::payload;
use crate::programs::on_path;
use crate::scratch::Scratch;

/// A hook that takes longer is killed: Claude Code waits at most as long for most of them.
const HOOK_MAX: Duration = Duration::from_secs(60);
/// In the environment of everything that a program starts.
const MARK: &str = "CERBERUS_BENCH_PEER";
/// An address where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";
/// The system's unit of time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

pub struct Host<'a> {
    pub scratch: &'a Scratch,
    pub name: &'static str,
    installed: Installed,
    /// How long the agent waited, by event.
    waited: RefCell<BTreeMap<String, Vec<Duration>>>,
    events: Cell<usize>,
}

/// What the hooks of one event took and told.
pub struct EventCost {
    pub processor: Duration,
    pub told: String,
}

impl<'a> Host<'a> {
    pub fn new(scratch: &'a Scratch, name: &'static str, installed: Installed) -> Host<'a> {
        Host { scratch, name, installed, waited: RefCell::default(), events: Cell::new(0) }
    }

    fn path(&self) -> Result<OsString> {
        let known = std::env::var_os("PATH").unwrap_or_default();
        let first = self.installed.programs.clone();
        Ok(std::env::join_paths(std::iter::once(first).chain(std::env::split_paths(&known)))?)
    }

    /// A program in the repository, in the peer's environment, with this input.
    pub fn command(&self, program: &str, input: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.current_dir(self.scratch.repo()).env_clear();
        command.env("PATH", self.path()?).env("HOME", &self.installed.home).env("LANG", "C.UTF-8");
        // Whatever a program wants to download, it does not.
        command.envs([("HTTP_PROXY", NOWHERE), ("HTTPS_PROXY", NOWHERE), ("https_proxy", NOWHERE)]);
        command.env("CLAUDE_PLUGIN_ROOT", &self.installed.root).env("CLAUDE_PROJECT_DIR", self.scratch.repo());
        command.envs(self.installed.variables.iter().map(|(name, value)| (name, value))).env(MARK, self.name);
        command.stdin(fs::File::open(input)?);
        Ok(command)
    }

    /// Runs the hooks of an event, one after another. Each must succeed.
    pub fn event(&self, event: &str, payload: &[u8]) -> Result<EventCost> {
        let mut payload: Value = serde_json::from_slice(payload)?;
        payload["hook_event_name"] = event.into();
        let file = format!("{}.jsonl", payload["session_id"].as_str().unwrap_or_default());
        payload["transcript_path"] = self.transcripts().join(file).to_string_lossy().into();
        if let Some(fields) = payload.as_object_mut().filter(|_| event == "PreToolUse") {
            fields.remove("tool_response");
        }
        let input = self.scratch.file("payload.json", payload.to_string().as_bytes())?;
        let (mut cost, mut waited) = (EventCost { processor: Duration::ZERO, told: String::new() }, Duration::ZERO);
        for hook in self.installed.hooks.get(event).into_iter().flatten() {
            let counted = self.scratch.path("counted");
            let mut command = self.command("perf", &input)?;
            command.args(["stat", "-x", ",", "-e", "task-clock", "-o"]).arg(&counted).arg("--");
            command.args(words(hook));
            // A process that stays behind keeps pipes open; files do not wait for it.
            let (out, err) = (self.scratch.path("out"), self.scratch.path("err"));
            command.stdout(fs::File::create(&out)?).stderr(fs::File::create(&err)?);
            let begun = Instant::now();
            let status = run_within(&mut command, HOOK_MAX)?;
            let took = begun.elapsed();
            let said = String::from_utf8_lossy(&fs::read(&err)?).into_owned();
            let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            ensure!(
                status.success(),
                "its hook of {event} ended after {:.1} s with {status}: {said}",
                took.as_secs_f64()
            );
            waited += if hook.is_async { Duration::ZERO } else { took };
            cost.processor += processor_time(&fs::read_to_string(&counted)?)?;
            cost.told.push_str(&context(&fs::read(&out)?));
        }
        self.waited.borrow_mut().entry(event.to_string()).or_default().push(waited);
        Ok(cost)
    }

    /// The hooks before and after a tool use.
    pub fn tool_use(&self, payload: &[u8]) -> Result<Duration> {
        Ok(self.event("PreToolUse", payload)?.processor + self.event("PostToolUse", payload)?.processor)
    }

    /// The median of what the agent waited at an event.
    pub fn waited_ms(&self, event: &str) -> f64 {
        Times::new("", self.waited.borrow().get(event).cloned().unwrap_or_default()).median_ms()
    }

    /// The instructions of the hooks of a tool use, with the shells that the agent starts for them; `None` if they are not
    /// native code, or valgrind cannot run them.
    pub fn instructions(&self) -> Result<Option<u64>> {
        if !self.installed.is_native || on_path("valgrind").is_none() {
            return Ok(None);
        }
        self.events.set(self.events.get() + 1);
        let id = format!("i{}", self.events.get());
        let written = payload::write(&self.scratch.repo(), "second", &id, "src/ledger.rs", &payload::rust_code(0, 200));
        let input = self.scratch.file("payload.json", &written)?;
        let folder = self.scratch.path(&format!("callgrind-{}", self.name));
        fs::create_dir_all(&folder)?;
        let hooks = ["PreToolUse", "PostToolUse"].map(|event| self.installed.hooks.get(event));
        for hook in hooks.into_iter().flatten().flatten() {
            let mut command = self.command("valgrind", &input)?;
            command.args(["-q", "--tool=callgrind", "--trace-children=yes"]);
            command.arg(format!("--callgrind-out-file={}/%p", folder.display())).args(words(hook));
            // Some programs do not run in it.
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if !run_within(&mut command, HOOK_MAX)?.success() {
                return Ok(None);
            }
        }
        let mut sum = 0;
        for file in fs::read_dir(&folder)? {
            sum += crate::trace::total(&fs::read_to_string(file?.path())?).context("callgrind gives no total")?;
        }
        Ok(Some(sum))
    }

    pub fn home(&self) -> &Path {
        &self.installed.home
    }

    /// Where its agent writes the transcripts of the repository.
    pub fn transcripts(&self) -> PathBuf {
        self.home().join(".claude/projects/-repository")
    }

    pub fn past(&self) -> Option<Past> {
        self.installed.past
    }

    pub fn count_files(&self) -> Result<usize> {
        count_files(&self.installed.home)
    }
}

/// The command line of a hook.
fn words(hook: &HookCommand) -> Vec<String> {
    match &hook.args {
        Some(args) => std::iter::once(&hook.program).chain(args).cloned().collect(),
        None => ["bash", "-c", &hook.program].map(str::to_string).into(),
    }
}

/// What `perf stat -x ,` says of the event `task-clock`.
pub fn processor_time(counted: &str) -> Result<Duration> {
    let line = counted.lines().find(|line| line.contains("task-clock")).context("perf counts no processor time")?;
    let ms: f64 = line.split(',').next().unwrap_or_default().parse().with_context(|| line.to_string())?;
    Ok(Duration::from_secs_f64(ms / 1e3))
}

/// Runs a command to its end, or kills its process group after this time.
fn run_within(command: &mut Command, limit: Duration) -> Result<ExitStatus> {
    let mut child = command.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process has a number")?;
    let (ended, waits) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waits.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    });
    let status = child.wait();
    drop(ended);
    let _ = watch.join();
    Ok(status?)
}

/// What Claude Code tells the model of a hook's output: the context in it, or plain text as it is.
fn context(output: &[u8]) -> String {
    match serde_json::from_slice::<Value>(output) {
        Ok(reply) => reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string(),
        Err(_) => String::from_utf8_lossy(output).trim().to_string(),
    }
}

/// Counts the processes that a program left running and the processor time that they used, and ends them.
pub fn leftovers(name: &str) -> Result<(usize, Duration)> {
    let wanted = format!("{MARK}={name}\0").into_bytes();
    let (mut count, mut used) = (0, Duration::ZERO);
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let Some(pid) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if environment.windows(wanted.len()).any(|part| part == wanted) {
            count += 1;
            used += used_by(&path);
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
    Ok((count, used))
}

/// The processor time of a process and of the children that it waited for.
fn used_by(process: &Path) -> Duration {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: f64 = fields.skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum();
    Duration::from_secs_f64(ticks / TICKS_PER_SECOND)
}

fn count_files(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        count += if path.is_dir() && !path.is_symlink() { count_files(&path)? } else { 1 };
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_model_is_told_is_the_context_or_the_plain_text() {
        let reply = json!({"hookSpecificOutput": {"additionalContext": "next:x"}, "continue": true}).to_string();
        assert_eq!(context(reply.as_bytes()), "next:x");
        assert_eq!(context(b"{\"continue\": true}"), "");
        assert_eq!(context(b"plain\n"), "plain");
    }

    #[test]
    fn processor_time_is_read_from_what_perf_prints() {
        let printed =
            "# started on Thu Nov 19 01:18:14 2026\n\n2.21,msec,task-clock,2208353,100.00,0.145,CPUs utilized\n";
        assert_eq!(processor_time(printed).unwrap(), Duration::from_micros(2_210));
        assert!(processor_time("<not supported>,,task-clock:u,0,100.00,,").is_err());
        assert!(processor_time("").is_err());
    }

    #[test]
    fn a_hook_that_hangs_is_killed_with_what_it_started() {
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "sleep 600 & wait"]);
        assert!(!run_within(&mut hangs, Duration::from_millis(50)).unwrap().success());
        let mut ends = Command::new("sh");
        ends.args(["-c", "exit 0"]);
        assert!(run_within(&mut ends, Duration::from_secs(600)).unwrap().success());
    }

    #[test]
    fn a_process_that_is_left_running_is_found_and_ended() {
        let mut child = Command::new("sleep").arg("600").env(MARK, "a-test").spawn().unwrap();
        // Until the program has started, its variables are those of this one.
        while leftovers("a-test").unwrap().0 == 0 {}
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_program_whose_hook_fails_or_that_keeps_nothing_has_no_figures() {
        if on_path("perf").is_none() {
            return;
        }
        let scratch = Scratch::new().unwrap();
        let with = |name: &'static str, script: &str| {
            let home = scratch.path(name);
            fs::create_dir_all(&home).unwrap();
            let hook = HookCommand { program: script.to_string(), args: None, is_async: false };
            let hooks = ["SessionStart", "PostToolUse"].map(|event| (event.to_string(), vec![hook.clone()])).into();
            let (root, programs) = (home.clone(), home.clone());
            let installed =
                Installed { home, hooks, root, programs, variables: Vec::new(), is_native: false, past: None };
            super::super::begin(&scratch, name, installed).map(drop)
        };
        assert!(with("works", "cat >> \"$HOME/kept\"").is_ok());
        let broken = with("breaks", "echo no server >&2; exit 3").unwrap_err().to_string();
        assert!(broken.contains("SessionStart") && broken.contains("no server"), "{broken}");
        let idle = with("idles", "true").unwrap_err().to_string();
        assert!(idle.contains("left no file"), "{idle}");
    }
}
