//! Other programs with hooks for Claude Code, beside ours: what a hook costs, how long the agent waits for it, what a
//! session is told, what stays behind.
//!
//! All get the same payloads, in turns, in a home of their own, without a model, a key or a network. Peers come from npm,
//! without their install scripts, into `--data DIR` (kept) or a scratch folder; one that npm does not have is taken from
//! there. A peer whose hook fails, or that keeps nothing, is no competitor: it gets no figures, and the run fails.

mod host;
mod known;
mod past;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use cerberus_record::time::Timestamp;
use cerberus_testkit::tokens;
use serde_json::{Value, json};

use self::host::Host;
use self::known::Installed;
use crate::measure::{Contender, Times, interleave, say, table};
use crate::payload;
use crate::programs::on_path;
use crate::scratch::Scratch;

const RUNS: usize = 15;
const STARTS: usize = 5;
const FILES: usize = 5;

const PROMPTS: [&str; 2] = ["Make the proxy safe under load", "Now add a mutex to the process struct"];

const CLOSING: &str = "The proxy is split in three files. The race test still fails.";

/// The commands of one program by event.
type Hooks = BTreeMap<String, Vec<HookCommand>>;

/// One hook, as the agent's settings name it.
#[derive(Clone, Debug, PartialEq)]
struct HookCommand {
    program: String,
    /// With arguments it is run as it is, without by a shell.
    args: Option<Vec<String>>,
    /// The agent does not wait for it.
    is_async: bool,
}

/// The figures of one program.
struct Row {
    tool: Times,
    prompt: Times,
    start: Times,
    told: String,
}

pub fn run(cerberus: &Path, kept: Option<&Path>, sessions: Option<&Path>) -> Result<()> {
    ensure!(on_path("perf").is_some(), "perf is missing: it counts the processor time of hooks");
    let scratch = Scratch::new()?;
    let folder = kept.map_or_else(|| scratch.path("peers"), Path::to_path_buf);
    let (mut hosts, mut broken) = (Vec::new(), Vec::new());
    let ours = known::ours(&scratch, cerberus)?;
    for (name, installed) in std::iter::once(("cerberus", Ok(ours))).chain(known::installed(&scratch, &folder)) {
        let begun = installed.and_then(|installed| begin(&scratch, name, installed));
        match begun {
            Ok(host) => hosts.push(host),
            Err(why) => {
                say(&format!("BROKEN, without figures: {name}: {why:#}"))?;
                broken.push(name);
            }
        }
    }
    let measured = measure(&hosts);
    // Whatever happens, nothing is left running.
    let left: Vec<(usize, Duration)> = hosts.iter().map(|host| host::leftovers(host.name)).collect::<Result<_>>()?;
    print(&hosts, &measured?, &left)?;
    if let Some(sessions) = sessions {
        past::run(&scratch, &hosts, &sessions.canonicalize()?)?;
    }
    ensure!(broken.is_empty(), "these did not run as they should: {}", broken.join(", "));
    Ok(())
}

/// A whole session, in which every hook must succeed and after which something must be kept.
fn begin<'a>(scratch: &'a Scratch, name: &'static str, installed: Installed) -> Result<Host<'a>> {
    let host = Host::new(scratch, name, installed);
    let session = || -> Result<()> {
        write_transcript(&host)?;
        let before = host.count_files()?;
        host.event("SessionStart", &said(scratch, "first", "SessionStart", json!({"source": "startup"})))?;
        for prompt in PROMPTS {
            host.event("UserPromptSubmit", &said(scratch, "first", "UserPromptSubmit", json!({"prompt": prompt})))?;
        }
        for number in 0..FILES {
            let (id, path) = (format!("t{number}"), format!("src/file_{number}.rs"));
            let code = payload::rust_code(number, 40);
            host.tool_use(&payload::write(&scratch.repo(), "first", &id, &path, &code))?;
        }
        let closing = json!({"last_assistant_message": CLOSING});
        host.event("Stop", &said(scratch, "first", "Stop", closing))?;
        host.event("SessionEnd", &said(scratch, "first", "SessionEnd", json!({"reason": "exit"})))?;
        ensure!(host.count_files()? > before, "a session with {FILES} written files left no file in its home");
        Ok(())
    };
    match session() {
        Ok(()) => Ok(host),
        Err(why) => {
            host::leftovers(name)?;
            Err(why)
        }
    }
}

/// What the agent would have written of the session: some programs read that instead.
fn write_transcript(host: &Host) -> Result<()> {
    let repo = host.scratch.repo();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let begun = Timestamp::from_millis(i64::try_from(now.as_millis())?).minus(Duration::from_secs(60));
    let line = |kind: &str, number: usize, content: Value| {
        json!({
            "type": kind, "sessionId": "first", "cwd": repo, "gitBranch": "main", "isSidechain": false,
            "uuid": format!("{kind}-{number}"), "timestamp": begun.plus(Duration::from_secs(number as u64)).to_string(),
            "message": {"role": kind, "content": content},
        })
    };
    let mut lines: Vec<Value> =
        PROMPTS.iter().enumerate().map(|(at, prompt)| line("user", at, json!(prompt))).collect();
    for number in 0..FILES {
        let (id, path) = (format!("t{number}"), repo.join(format!("src/file_{number}.rs")));
        let input = json!({"file_path": path, "content": payload::rust_code(number, 40)});
        let used = json!([{"type": "tool_use", "id": id, "name": "Write", "input": input}]);
        lines.push(line("assistant", 10 + 2 * number, used));
        let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "File created successfully"}]);
        lines.push(line("user", 11 + 2 * number, result));
    }
    lines.push(line("assistant", 40, json!([{"type": "text", "text": CLOSING}])));
    std::fs::create_dir_all(host.transcripts())?;
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    Ok(std::fs::write(host.transcripts().join("first.jsonl"), text.join("\n") + "\n")?)
}

fn said(scratch: &Scratch, session: &str, event: &str, extra: Value) -> Vec<u8> {
    payload::payload(&scratch.repo(), session, event, extra)
}

/// The processor time of hooks, of all programs in turns.
fn timed(hosts: &[Host], runs: usize, hook: impl Fn(&Host, usize) -> Result<Duration>) -> Result<Vec<Times>> {
    let hook = &hook;
    let contenders = hosts.iter().map(|host| {
        let mut number = 0;
        Contender::new(host.name, runs, move || {
            number += 1;
            hook(host, number)
        })
    });
    interleave(contenders.collect())
}

/// One kind of hook after another.
fn measure(hosts: &[Host]) -> Result<Vec<Row>> {
    let tool = timed(hosts, RUNS, |host, number| {
        let (id, code) = (format!("m{number}"), payload::rust_code(0, 200));
        host.tool_use(&payload::write(&host.scratch.repo(), "second", &id, "src/ledger.rs", &code))
    })?;
    let prompt = timed(hosts, RUNS, |host, number| {
        let prompt = json!({"prompt": format!("Go on with the ledger, part {number}")});
        let prompt = said(host.scratch, "second", "UserPromptSubmit", prompt);
        Ok(host.event("UserPromptSubmit", &prompt)?.processor)
    })?;
    let begin = |host: &Host, number: usize| {
        let start = json!({"source": "startup"});
        host.event("SessionStart", &said(host.scratch, &format!("start-{number}"), "SessionStart", start))
    };
    let start = timed(hosts, STARTS, |host, number| Ok(begin(host, number)?.processor))?;
    let times = tool.into_iter().zip(prompt).zip(start).enumerate();
    let row = |(host, ((tool, prompt), start))| {
        let host: &Host = &hosts[host];
        Ok(Row { told: begin(host, 0)?.told, tool, prompt, start })
    };
    times.map(row).collect()
}

fn print(hosts: &[Host], rows: &[Row], left: &[(usize, Duration)]) -> Result<()> {
    say(&format!(
        "processor time of all hooks of an event, medians of {RUNS} tool uses, {RUNS} prompts and {STARTS} starts; `waits`: how \
          long the agent waits"
    ))?;
    let cell = |ms: f64| format!("{ms:.1}");
    let row = |(row, (host, (count, processor))): (&Row, (&Host, &(usize, Duration)))| -> Result<Vec<String>> {
        Ok(vec![
            host.name.to_string(),
            cell(row.tool.median_ms()),
            cell(host.waited_ms("PreToolUse") + host.waited_ms("PostToolUse")),
            host.instructions()?.map_or("–".to_string(), |count| count.to_string()),
            cell(row.prompt.median_ms()),
            cell(host.waited_ms("UserPromptSubmit")),
            cell(row.start.median_ms()),
            tokens::real_tokens(&row.told).to_string(),
            format!("{count} ({:.1} s)", processor.as_secs_f64()),
            host.count_files()?.to_string(),
        ])
    };
    let columns = [
        "",
        "tool ms",
        "waits",
        "instructions",
        "prompt ms",
        "waits",
        "start ms",
        "told tokens",
        "left running (used)",
        "files",
    ];
    table(&columns, &rows.iter().zip(hosts.iter().zip(left)).map(row).collect::<Result<Vec<_>>>()?)
}
