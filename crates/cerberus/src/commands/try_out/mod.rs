//! `cerberus try`: a story that happens for real in a sandbox, told on the terminal as it happens.

mod sandbox;
mod script;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context as _, ensure};
use sandbox::Sandbox;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::page;
use crate::render::style::{Line, Screen, Style, wrapped};

/// See it work in a sandbox: a session is killed in the middle of its work, and the next one continues
///
/// A scripted agent calls the real hooks: it is asked something, edits, runs a test that fails, and is killed. Nothing is
/// recorded by hand. Everything happens in a temporary folder that is removed afterwards, and takes about a second.
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
            Some(dir) => script::play(&Sandbox { dir }).hint(REPORT),
            None if context.json => {
                let told = story(&Teller { screen: None }).hint(REPORT)?;
                render::json(&json!({"ok": true, "told": told.lines().collect::<Vec<_>>()}));
                Ok(())
            }
            None => story(&Teller { screen: Some(Screen::of_stdout()) }).hint(REPORT).map(drop),
        }
    }
}

/// Prints the story, or nothing.
struct Teller {
    screen: Option<Screen>,
}

/// In front of everything that belongs to a step.
const INDENT: usize = 4;
/// Who does something: `you`, `Write`.
const WHO_COLUMNS: usize = 9;

impl Teller {
    fn line(&self, line: &Line) {
        self.screen.iter().for_each(|screen| page::print(screen, line));
    }

    fn step(&self, number: usize, title: &str) {
        self.line(&Line::new());
        self.line(&Line::of(Style::Heading, format!(" {number}  {title}")));
    }

    /// A text behind a label, wrapped beside it. What is in front of the label is in front of every line.
    fn labelled(&self, front: &Line, label: &Line, style: Style, text: &str) {
        let front = Line::new().pad(INDENT).join(front.clone());
        let width = front.width() + label.width();
        let columns = self.screen.as_ref().map_or(usize::MAX, Screen::room).saturating_sub(width);
        for (at, text) in wrapped(text, columns).into_iter().enumerate() {
            let start = front.clone();
            let start = if at == 0 { start.join(label.clone()) } else { start.pad(width) };
            self.line(&start.add(style, text));
        }
    }

    fn text(&self, label: &Line, text: &str) {
        self.labelled(&Line::new(), label, Style::Plain, text);
    }

    /// What the agent did: `WHO<tab>WHAT`, or `WHO<tab>WHAT<tab>WHAT FAILED`.
    fn happened(&self, step: &str) {
        let mut parts = step.splitn(3, '\t');
        let (who, what, failed) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
        let is_speech = matches!(who, script::USER | script::AGENT);
        let who = Line::of(if is_speech { Style::Strong } else { Style::Faint }, who).pad(WHO_COLUMNS);
        self.text(&who, what);
        if let Some(failed) = failed {
            self.labelled(&Line::new().pad(WHO_COLUMNS), &Line::new(), Style::Bad, &format!("✗ {failed}"));
        }
    }

    /// A line of the brief: what it says it is, and the rest.
    fn told(&self, code: &str) {
        let bar = Line::new().faint("│ ");
        match code.split_once(':').filter(|(kind, _)| !kind.is_empty() && kind.bytes().all(|c| c.is_ascii_lowercase()))
        {
            Some((kind, text)) => {
                self.labelled(&bar, &Line::of(Style::Heading, format!("{kind}:")), Style::Plain, text);
            }
            None if code.is_empty() => self.line(&Line::new().pad(INDENT).join(bar)),
            None => self.labelled(&bar, &Line::new(), Style::Faint, code),
        }
    }
}

/// What the second session must be told.
const EXPECTED: [&str; 6] = [
    "proj:hydra",
    "next:interrupted:Yes, add the mutex",
    "block:test:TestStopTwice",
    "next:Add a mutex around Stop and Wait",
    "impl:internal/supervisor.go:3 Stop",
    "impl:internal/proxy.go:3 Forward",
];

/// Tells the story. Returns what the second session was told.
fn story(tell: &Teller) -> anyhow::Result<String> {
    let dir = tempfile::Builder::new().prefix("cerberus-try-").tempdir().context("cannot create a sandbox")?;
    let sandbox = Sandbox { dir: dir.path().canonicalize()? };
    ensure!(
        sandbox.dir.to_str().is_some(),
        "the temporary folder {} has a name that is not UTF-8",
        sandbox.dir.display()
    );
    sandbox.fill()?;
    tell.line(&Line::of(Style::Strong, "A session of a coding agent is killed. The next one continues."));
    tell.line(&Line::new().faint("In a sandbox: nothing outside it is touched."));

    tell.step(1, "An agent works on the project hydra");
    let mut agent = start_agent(&sandbox)?;
    follow(&mut agent, tell)?;
    let killed = agent.id();
    agent.kill().context("kill the agent")?;
    let ended = agent.wait()?;

    tell.step(2, "It is killed in the middle of its work");
    tell.text(&Line::of(Style::Bad, "✗ "), &format!("process {killed}: {ended}. It had no time to say goodbye."));
    let listed = sandbox.cerberus()?.args(["memory", "recover", "--list"]).output()?;
    ensure!(
        String::from_utf8_lossy(&listed.stdout).contains("the agent's process is gone"),
        "the crash was not detected"
    );
    tell.text(&Line::of(Style::Strong, "✓ "), "Cerberus sees that the process is gone.");

    tell.step(3, "You start the agent again, and it is told:");
    tell.line(&Line::new());
    let told = sandbox.start(script::SECOND_SESSION)?;
    told.lines().for_each(|code| tell.told(code));
    for expected in EXPECTED {
        ensure!(told.lines().any(|code| code == expected), "the second session was not told {expected}");
    }
    tell.line(&Line::new());
    let tokens = cerberus_text::tokens::estimate(&told);
    let seen = "Nothing was recorded by hand: hooks saw the requests, the list, the test and the edits.";
    tell.text(&Line::new(), &format!("{tokens} tokens. {seen}"));
    tell.line(&Line::new());
    tell.line(&Line::of(Style::Heading, " Have it in your own agents:"));
    tell.line(&Line::new().pad(INDENT).add(Style::Strong, next_command()));
    Ok(told)
}

/// A program in a build folder is installed first.
fn next_command() -> &'static str {
    let exe = std::env::current_exe().unwrap_or_default();
    let folder = exe.parent().and_then(Path::file_name).unwrap_or_default();
    match (folder == "debug" || folder == "release") && Path::new("crates/cerberus/Cargo.toml").is_file() {
        true => "cargo install --locked --path crates/cerberus && cerberus install",
        false => "cerberus install",
    }
}

/// A separate process, so that it can be killed.
fn start_agent(sandbox: &Sandbox) -> anyhow::Result<Child> {
    let mut command = sandbox.cerberus()?;
    command.args(["try", "--play-agent"]).arg(&sandbox.dir);
    // After its work it waits on this pipe and never exits by itself.
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// Prints what the agent does until it waits.
fn follow(agent: &mut Child, tell: &Teller) -> anyhow::Result<()> {
    let output = BufReader::new(agent.stdout.take().context("a pipe")?);
    for step in output.lines() {
        match step?.as_str() {
            script::WAITING => return Ok(()),
            step => tell.happened(step),
        }
    }
    anyhow::bail!("the agent stopped early")
}
