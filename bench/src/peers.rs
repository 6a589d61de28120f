//! Other programs with hooks for Claude Code, beside ours: the time of a hook, the processes it leaves, what a session is
//! told. All get the same payloads, in a home of their own.
//!
//! Peers are installed from npm, without their install scripts, into `--data DIR` (kept) or a scratch folder. One that
//! cannot be installed, or whose hook fails, is reported so. None is given a model or a key.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cerberus_testkit::tokens;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::measure::{Times, say, table};
use crate::payload;
use crate::programs::on_path;
use crate::scratch::Scratch;

const RUNS: usize = 15;
const FILES: usize = 5;
/// A hook that takes longer is killed, and reported as failed.
const HOOK_MAX: Duration = Duration::from_secs(20);
/// In the environment of everything that a peer starts.
const MARK: &str = "CERBERUS_BENCH_PEER";

/// An address where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Environment variables that npm may need to reach its registry.
const NETWORK: [&str; 7] =
    ["NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

struct Peer {
    name: &'static str,
    /// The package and its version, and what it needs besides.
    packages: &'static [&'static str],
    /// A folder of programs that it needs.
    programs: Option<&'static str>,
    /// The folder that its hooks call CLAUDE_PLUGIN_ROOT, and the file that lists them.
    root: &'static str,
    hooks: &'static str,
}

// The newest releases that npm could install when this was written: later ones of claude-mem need a version of
// `better-call` that is not in the registry.
const PEERS: [Peer; 3] = [
    Peer {
        name: "claude-mem",
        packages: &["claude-mem@11.0.0", "@oven/bun-linux-x64@1.4.4"],
        programs: Some("@oven/bun-linux-x64/bin"),
        root: "claude-mem/plugin",
        hooks: "hooks/hooks.json",
    },
    Peer {
        name: "context-mode",
        packages: &["context-mode@1.0.169"],
        programs: None,
        root: "context-mode",
        hooks: "hooks/hooks.json",
    },
    Peer {
        name: "agentmemory",
        packages: &["@agentmemory/agentmemory@0.9.29"],
        programs: None,
        root: "@agentmemory/agentmemory/plugin",
        hooks: "hooks/hooks.json",
    },
];

/// The commands of one program by event.
type Hooks = BTreeMap<String, Vec<String>>;

pub fn run(cerberus: &Path, kept: Option<&Path>) -> Result<()> {
    let scratch = Scratch::new()?;
    let folder = kept.map_or_else(|| scratch.path("peers"), Path::to_path_buf);
    say(&format!(
        "{RUNS} PostToolUse hooks of a written file; a session start after a session with {FILES} files and two prompts"
    ))?;
    say("")?;
    let ours = format!("'{}' hook claude-code", cerberus.display());
    let events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"];
    let ours = events.map(|event| (event.to_string(), vec![ours.clone()]));
    let mut rows = vec![figures(&scratch, "cerberus", &Hooks::from(ours), Path::new("/"), None)?];
    for peer in &PEERS {
        let row = match installed(&scratch, &folder, peer) {
            Ok(root) => match hooks(&root.join(peer.hooks)) {
                Ok(hooks) => {
                    let programs = peer.programs.map(|path| folder.join(peer.name).join("node_modules").join(path));
                    figures(&scratch, peer.name, &hooks, &root, programs)?
                }
                Err(error) => vec![peer.name.to_string(), format!("its hooks are not found: {error:#}")],
            },
            Err(error) => vec![peer.name.to_string(), format!("not installed: {error:#}")],
        };
        rows.push(row);
    }
    table(&["", "hook ms", "p95 ms", "start ms", "told tokens", "processes left", "files", "notes"], &rows)
}

/// Where the peer is; installs it if it is not there yet.
fn installed(scratch: &Scratch, folder: &Path, peer: &Peer) -> Result<PathBuf> {
    let folder = folder.join(peer.name);
    let root = folder.join("node_modules").join(peer.root);
    if root.is_dir() {
        return Ok(root);
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{}\n")?;
    let mut command = Command::new(on_path("npm").context("npm is missing")?);
    command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    command.args(peer.packages);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", scratch.path("npm-home"));
    for name in NETWORK {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let output = command.current_dir(&folder).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = said.lines().find(|line| line.starts_with("npm error") && !line.contains("npm error code"));
    ensure!(output.status.success(), "{}", why.unwrap_or("npm failed"));
    ensure!(root.is_dir(), "{} is not in the package", peer.root);
    Ok(root)
}

/// The commands in a file of hooks, for a session that starts and a file that is written.
fn hooks(file: &Path) -> Result<Hooks> {
    let listed: Value = serde_json::from_slice(&fs::read(file)?)?;
    let events = listed["hooks"].as_object().context("no hooks")?;
    let mut found = Hooks::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            if !applies(group["matcher"].as_str().unwrap_or_default()) {
                continue;
            }
            let commands = group["hooks"].as_array().into_iter().flatten();
            let commands = commands.filter_map(|hook| hook["command"].as_str().map(str::to_string));
            found.entry(event.clone()).or_default().extend(commands);
        }
    }
    Ok(found)
}

/// Whether a matcher is for the tool `Write`, for a session that starts, or for everything.
fn applies(matcher: &str) -> bool {
    matcher.is_empty() || matcher.split('|').any(|part| matches!(part, "*" | ".*" | "Write" | "startup"))
}

/// One program's row.
fn figures(
    scratch: &Scratch,
    name: &str,
    hooks: &Hooks,
    root: &Path,
    programs: Option<PathBuf>,
) -> Result<Vec<String>> {
    let mut host = Host { scratch, name, hooks, root, programs, failed: None };
    fs::create_dir_all(host.home())?;
    let repo = scratch.repo();
    let said = |session: &str, event: &str, extra: Value| payload::payload(&repo, session, event, extra);
    let start = json!({"source": "startup"});
    host.event("SessionStart", &said("first", "SessionStart", start.clone()))?;
    for prompt in ["Make the proxy safe under load", "Now add a mutex to the process struct"] {
        host.event("UserPromptSubmit", &said("first", "UserPromptSubmit", json!({"prompt": prompt})))?;
    }
    for number in 0..FILES {
        let path = format!("src/file_{number}.rs");
        let written = payload::write(&repo, "first", &format!("t{number}"), &path, &payload::rust_code(number, 40));
        host.event("PostToolUse", &written)?;
    }
    let mut times = Vec::new();
    for number in 0..RUNS {
        let written =
            payload::write(&repo, "first", &format!("m{number}"), "src/ledger.rs", &payload::rust_code(0, 200));
        times.push(host.event("PostToolUse", &written)?.0);
    }
    let closing = json!({"last_assistant_message": "The proxy is split in three files. The race test still fails."});
    host.event("Stop", &said("first", "Stop", closing))?;
    host.event("SessionEnd", &said("first", "SessionEnd", json!({"reason": "exit"})))?;
    let (started, told) = host.event("SessionStart", &said("second", "SessionStart", start))?;
    let left = leftovers(name)?;
    let times = Times::new("", times);
    Ok(vec![
        name.to_string(),
        format!("{:.1}", times.median_ms()),
        format!("{:.1}", times.percentile_ms(95)),
        format!("{:.1}", started.as_secs_f64() * 1e3),
        tokens::real_tokens(&told).to_string(),
        left.to_string(),
        count_files(&host.home())?.to_string(),
        host.failed.unwrap_or_default(),
    ])
}

/// What runs the hooks, as Claude Code does.
struct Host<'a> {
    scratch: &'a Scratch,
    name: &'a str,
    hooks: &'a Hooks,
    root: &'a Path,
    programs: Option<PathBuf>,
    /// The first hook that failed.
    failed: Option<String>,
}

impl Host<'_> {
    fn home(&self) -> PathBuf {
        self.scratch.path(&format!("home-{}", self.name))
    }

    fn path(&self) -> Result<OsString> {
        let known = std::env::var_os("PATH").unwrap_or_default();
        Ok(std::env::join_paths(self.programs.iter().cloned().chain(std::env::split_paths(&known)))?)
    }

    /// Runs the hooks of an event, one after another. Returns their time, and what the model is told.
    fn event(&mut self, event: &str, payload: &[u8]) -> Result<(Duration, String)> {
        let input = self.scratch.file("payload.json", payload)?;
        let (mut took, mut told) = (Duration::ZERO, String::new());
        for command in self.hooks.get(event).into_iter().flatten() {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command).current_dir(self.scratch.repo()).env_clear();
            shell.env("PATH", self.path()?).env("HOME", self.home());
            // Whatever a program wants to download, it does not.
            shell.envs([("HTTP_PROXY", NOWHERE), ("HTTPS_PROXY", NOWHERE), ("https_proxy", NOWHERE)]);
            shell
                .env("CLAUDE_PLUGIN_ROOT", self.root)
                .env("CLAUDE_PROJECT_DIR", self.scratch.repo())
                .env(MARK, self.name);
            shell.stdin(fs::File::open(&input)?);
            // A process that stays behind keeps pipes open; files do not wait for it.
            let (out, err) = (self.scratch.path("out"), self.scratch.path("err"));
            shell.stdout(fs::File::create(&out)?).stderr(fs::File::create(&err)?);
            let begun = Instant::now();
            let status = run_within(&mut shell, HOOK_MAX)?;
            took += begun.elapsed();
            told.push_str(&context(&fs::read(&out)?));
            if !status.success() && self.failed.is_none() {
                let said = String::from_utf8_lossy(&fs::read(&err)?).into_owned();
                let said: String =
                    said.lines().find(|line| !line.trim().is_empty()).unwrap_or("").chars().take(60).collect();
                self.failed = Some(format!("{event}: {status} {said}"));
            }
        }
        Ok((took, told))
    }
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

/// Counts the processes that a program left running, and ends them.
fn leftovers(name: &str) -> Result<usize> {
    let wanted = format!("{MARK}={name}\0").into_bytes();
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let Some(pid) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if environment.windows(wanted.len()).any(|part| part == wanted) {
            count += 1;
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
    Ok(count)
}

fn count_files(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        count += if path.is_dir() && !path.is_symlink() { count_files(&path)? } else { 1 };
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_what_they_are_for() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hooks.json");
        let hook = |command: &str| json!([{"type": "command", "command": command}]);
        let listed = json!({"hooks": {
            "PostToolUse": [{"matcher": "Bash|Write", "hooks": hook("a")}, {"matcher": "Bash", "hooks": hook("b")}],
            "SessionStart": [{"matcher": "startup|clear", "hooks": hook("c")}, {"hooks": hook("d")}],
        }});
        fs::write(&file, listed.to_string()).unwrap();
        let found = hooks(&file).unwrap();
        assert_eq!(found["PostToolUse"], ["a"]);
        assert_eq!(found["SessionStart"], ["c", "d"]);
    }

    #[test]
    fn what_the_model_is_told_is_the_context_or_the_plain_text() {
        let reply = json!({"hookSpecificOutput": {"additionalContext": "next:x"}, "continue": true}).to_string();
        assert_eq!(context(reply.as_bytes()), "next:x");
        assert_eq!(context(b"{\"continue\": true}"), "");
        assert_eq!(context(b"plain\n"), "plain");
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
        while leftovers("a-test").unwrap() == 0 {}
        assert!(!child.wait().unwrap().success());
    }
}
