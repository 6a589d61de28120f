use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use cerberus_os::home::create_dir;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render::{self, block as line};

/// See it work in a sandbox: a session is captured, killed and recovered, and the next one is told everything
///
/// Uses real processes and the real hook path, in a temporary folder that is removed afterwards. Takes about a second
/// and touches nothing outside that folder.
#[derive(clap::Args)]
pub struct TryArgs {
    /// Play the agent in the sandbox in this folder (used by `try` itself)
    #[arg(long, hide = true, value_name = "DIR")]
    play_agent: Option<PathBuf>,
}

impl TryArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        const REPORT: &str = "this should not happen; please report it with the lines above";
        match self.play_agent {
            Some(dir) => play_agent(&Sandbox { dir }).hint(REPORT),
            None if context.json => {
                let told = show(&|_| {}).hint(REPORT)?;
                render::json(&json!({"ok": true, "told": told.lines().collect::<Vec<_>>()}));
                Ok(())
            }
            None => show(&line).hint(REPORT).map(drop),
        }
    }
}

/// A home and a project inside one temporary folder.
struct Sandbox {
    dir: PathBuf,
}

impl Sandbox {
    fn project(&self) -> PathBuf {
        self.dir.join("hydra")
    }

    fn cerberus(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env("CERBERUS_HOME", self.dir.join("home")).env_remove("CERBERUS_NOW").current_dir(self.project());
        Ok(command)
    }

    /// Passes one payload to `cerberus hook claude-code`, as Claude Code does. Returns the reply.
    fn hook(&self, session: &str, event: &str, extra: Value) -> anyhow::Result<String> {
        let mut payload =
            json!({"session_id": session, "cwd": render::path(&self.project()), "hook_event_name": event});
        if let (Some(fields), Value::Object(extra)) = (payload.as_object_mut(), extra) {
            fields.extend(extra);
        }
        let mut command = self.cerberus()?;
        let mut child = command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        child.stdin.take().context("a pipe")?.write_all(payload.to_string().as_bytes())?;
        let mut reply = String::new();
        child.stdout.take().context("a pipe")?.read_to_string(&mut reply)?;
        ensure!(child.wait()?.success(), "the hook failed");
        Ok(reply)
    }
}

const FIRST_SESSION: &str = "5f0c1a52-first";
const SECOND_SESSION: &str = "c3d94b7e-second";

const PROXY: &str = "package proxy\n\nfunc (p *Proxy) Forward(r Request) error {\n\treturn nil\n}\n";
const SUPERVISOR: &str = "package supervisor\n\nfunc Process(job Job) error {\n\treturn nil\n}\n";

/// What the second session must be told.
const EXPECTED: [&str; 7] = [
    "proj:hydra",
    "impl:internal/proxy.go:3 Proxy.Forward",
    "impl:internal/supervisor.go:3 Process",
    "dec:agent: split proxy in 3 files - each stays below 200 lines",
    "block:agent: race:test failure line 712",
    "next:Add a mutex to the process struct",
    "next:interrupted:Make the proxy safe under load",
];

/// Tells the story through `line`. Returns what the second session was told.
fn show(line: &dyn Fn(&str)) -> anyhow::Result<String> {
    let dir = tempfile::Builder::new().prefix("cerberus-try-").tempdir().context("cannot create a sandbox")?;
    let sandbox = Sandbox { dir: dir.path().canonicalize()? };
    ensure!(
        sandbox.dir.to_str().is_some(),
        "the temporary folder {} has a name that is not UTF-8",
        sandbox.dir.display()
    );
    std::fs::create_dir_all(sandbox.project().join("internal"))?;
    // Nothing may outlive the sandbox.
    create_dir(&sandbox.dir.join("home"))?;
    std::fs::write(sandbox.dir.join("home/config.toml"), "[archive]\nkeep = \"nothing\"\n")?;
    line("This runs in a sandbox with a project called hydra. Nothing outside it is touched.\n");

    let mut agent = start_agent(&sandbox)?;
    line(&format!(
        "1. An agent works in the project (pid {}). Every step goes through `cerberus hook claude-code`:",
        agent.id()
    ));
    follow(&mut agent, line)?;
    line("   Each step was on disk before the agent continued.\n");

    agent.kill().context("kill the agent")?;
    let ended = agent.wait()?;
    line("2. The agent is killed with SIGKILL in the middle of its work.");
    line(&format!("   {ended}; the end of the session was never reported.\n"));

    line("3. `cerberus memory recover --list` detects the crash from the process, without waiting for a timeout:");
    let listed = sandbox.cerberus()?.args(["memory", "recover", "--list"]).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).trim().to_string();
    ensure!(listed.contains("the agent's process is gone"), "the crash was not detected");
    line(&format!("      {listed}\n"));

    line("4. A new agent starts. The crashed session is recovered, and the new SessionStart hook gets this reply:\n");
    let reply: Value =
        serde_json::from_slice(sandbox.hook(SECOND_SESSION, "SessionStart", json!({"source": "startup"}))?.as_bytes())
            .context("the second session was told nothing")?;
    let brief = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    brief.lines().for_each(|code| line(&format!("      {code}")));
    for expected in EXPECTED {
        ensure!(brief.lines().any(|code| code == expected), "the second session was not told {expected}");
    }
    let tokens = cerberus_text::tokens::estimate(brief);
    line(&format!(
        "\n   {tokens} tokens, instead of explaining everything again. Completed items are not listed as open.\n"
    ));

    line("To use this in every session of your agents:\n");
    line("      cerberus install          adds the hooks to your agents' settings; `cerberus uninstall` removes them");
    line("      cerberus brief --explain  shows what the next session would be told, and why");
    Ok(brief.to_string())
}

/// A separate process, so that it can be killed.
fn start_agent(sandbox: &Sandbox) -> anyhow::Result<Child> {
    let mut command = sandbox.cerberus()?;
    command.args(["try", "--play-agent"]).arg(&sandbox.dir);
    // After its work it waits on this pipe and never exits by itself.
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// Prints the agent's output until it waits.
fn follow(agent: &mut Child, line: &dyn Fn(&str)) -> anyhow::Result<()> {
    let output = BufReader::new(agent.stdout.take().context("a pipe")?);
    for step in output.lines() {
        match step?.as_str() {
            WAITING => return Ok(()),
            step => line(&format!("      {step}")),
        }
    }
    anyhow::bail!("the agent stopped early")
}

const WAITING: &str = "(waiting)";

fn play_agent(sandbox: &Sandbox) -> anyhow::Result<()> {
    let tool = |name: &str, id: &str, input: Value, response: Value| json!({"tool_name": name, "tool_use_id": id, "tool_input": input, "tool_response": response});
    let file = |path: &str| sandbox.project().join("internal").join(path);
    let wrote = |id: &str, path: &Path, content: &str| -> anyhow::Result<Value> {
        std::fs::write(path, content)?;
        Ok(tool("Write", id, json!({"file_path": render::path(path), "content": content}), json!({"type": "create"})))
    };
    let reply = sandbox.hook(FIRST_SESSION, "SessionStart", json!({"source": "startup"}))?;
    ensure!(reply.is_empty(), "the first session was told something");
    line("SessionStart       is told nothing: this is the first session");
    sandbox.hook(FIRST_SESSION, "UserPromptSubmit", json!({"prompt": "Make the proxy safe under load"}))?;
    line("UserPromptSubmit   \"Make the proxy safe under load\"");
    sandbox.hook(FIRST_SESSION, "PostToolUse", wrote("toolu_1", &file("proxy.go"), PROXY)?)?;
    line("PostToolUse Write  internal/proxy.go");
    sandbox.hook(FIRST_SESSION, "PostToolUse", wrote("toolu_2", &file("supervisor.go"), SUPERVISOR)?)?;
    line("PostToolUse Write  internal/supervisor.go");
    let todos = json!({"todos": [
        {"content": "Split the proxy", "status": "completed"},
        {"content": "Add a mutex to the process struct", "status": "in_progress"},
    ]});
    sandbox.hook(FIRST_SESSION, "PostToolUse", tool("TodoWrite", "toolu_3", todos, json!({})))?;
    line("PostToolUse Todo   1 completed, 1 open");
    record(sandbox, &["decision", "split proxy in 3 files", "--why", "each stays below 200 lines"])?;
    line("cerberus record    decision: split proxy in 3 files");
    record(sandbox, &["blocker", "test failure line 712", "--type", "race"])?;
    line("cerberus record    blocker: test failure line 712");
    line(WAITING);
    // Waits until it is killed, or until its parent is gone.
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}

fn record(sandbox: &Sandbox, what: &[&str]) -> anyhow::Result<()> {
    let recorded = sandbox.cerberus()?.arg("record").args(what).stdout(Stdio::null()).status()?;
    ensure!(recorded.success(), "cerberus record {what:?} failed");
    Ok(())
}
