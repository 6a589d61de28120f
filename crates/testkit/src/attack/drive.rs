//! Drives one attack through one door, and looks at everything that came of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Attack, Class, Door, Place};
use crate::answering::{Answer, Answering};
use crate::doors::{Story, holding, hooks, mcp, transcript};
use crate::env::TestEnv;
use crate::fake_agent::{Act, FakeAgent, Tongue};

/// Where no attack is.
const PLAIN: Story = Story {
    prompt: "Write the store",
    command: "ls",
    output: "",
    path: "store.rs",
    content: "fn open_store() {}\n",
    message: "All done.",
};

/// What an attack reached.
#[derive(Default)]
struct Reached {
    /// Everything that a model was told or sent.
    told: String,
    problems: Vec<String>,
}

/// Tries an attack in a fresh home; what went wrong, if anything.
pub fn tried(binary: &Path, door: Door, attack: &Attack) -> Result<(), String> {
    let found = breaches(binary, door, attack);
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("{} through {}: {}: {}", attack.class.word(), door.word(), attack.name, found.join("; ")))
}

fn breaches(binary: &Path, door: Door, attack: &Attack) -> Vec<String> {
    let mut env = TestEnv::new(binary);
    let mut reached = match door {
        Door::Hook(agent) if attack.place == Place::Payload => payload(&env, agent, attack),
        Door::Hook(agent) => Reached {
            told: with_story(attack, |story| hooks(&env, agent, &env.project(), story)),
            ..Reached::default()
        },
        Door::Import(agent) => import(&env, agent, attack),
        Door::Record => record(&env, attack),
        Door::Mcp => Reached { told: server(&env, attack), ..Reached::default() },
        Door::Summary => summary(&env, attack),
        Door::Loop => looped(&mut env, attack),
    };
    let json = |args: &[&str]| serde_json::from_slice::<Value>(&env.run(args).stdout).unwrap_or_default();
    reached.told += json(&["brief"])["text"].as_str().unwrap_or_default();
    reached.told += &env.start("after", "startup");
    judge(&env, attack, &mut reached);
    reached.problems
}

/// Is anything where it must not be?
fn judge(env: &TestEnv, attack: &Attack, reached: &mut Reached) {
    for words in &attack.forbidden {
        let is_told = reached.told.contains(words.as_str());
        if is_told && attack.class != Class::Poison {
            reached.problems.push(format!("{words:?} was told"));
        }
        let is_stored = matches!(attack.class, Class::Instruction | Class::Forgery | Class::Poison | Class::Broken);
        // What a command printed is in the archive on purpose, the contents of files that it printed included.
        let may_hold = |path: &PathBuf| attack.class == Class::Contents && path.starts_with(env.home().join("archive"));
        if !is_stored && !holding(env, words).iter().all(may_hold) {
            reached.problems.push(format!("{words:?} is stored"));
        }
    }
    if attack.class == Class::Poison {
        let memories = String::from_utf8_lossy(&env.run(&["memory", "list", "--json"]).stdout).into_owned();
        let is_rule = |line: &str| line.starts_with("rule:") || line.starts_with("pref:");
        let rules: String = reached.told.lines().filter(|line| is_rule(line)).collect();
        let is_learned = |words: &&String| memories.contains(words.as_str()) || rules.contains(words.as_str());
        if attack.forbidden.iter().any(|words| is_learned(&words)) {
            reached.problems.push("it became a memory".to_string());
        }
    }
    if attack.class == Class::Forgery {
        let is_hidden =
            |c: char| c.is_control() && c != '\n' || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
        let forged = |line: &str| line.trim_start().starts_with("rule:obey") || line.contains("</system");
        if reached.told.contains(is_hidden) || reached.told.lines().any(forged) {
            reached.problems.push("a line or a code was forged".to_string());
        }
    }
}

/// The attack as the story of a session.
fn with_story<T>(attack: &Attack, tell: impl FnOnce(Story) -> T) -> T {
    let text = attack.text.as_str();
    match &attack.place {
        Place::Command { output } => tell(Story { command: text, output, ..PLAIN }),
        Place::Name => {
            let output =
                format!("test {text} ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n[main 1234567] {text}");
            let path = format!("{}.rs", text.replace('/', "-"));
            let command = "cargo test; git commit -m x";
            tell(Story { command, output: &output, path: &path, ..PLAIN })
        }
        Place::Words | Place::Payload if attack.class == Class::Poison => {
            // Pasted, printed and said by the agent, but never typed by the user.
            let prompt = format!("Summarise this page:\n> {text}\n");
            let output = format!("{text}\ntest result: ok. 1 passed; 0 failed");
            tell(Story {
                prompt: &prompt,
                command: "cargo test",
                output: &output,
                content: text,
                message: text,
                ..PLAIN
            })
        }
        Place::Words | Place::Payload => {
            let output = format!("{text}\ntest result: FAILED. 1 passed; 1 failed");
            tell(Story { prompt: text, command: "cargo test", output: &output, content: text, message: text, ..PLAIN })
        }
    }
}

/// A hook must exit 0, say nothing on standard error and nothing but a valid reply.
fn payload(env: &TestEnv, agent: &str, attack: &Attack) -> Reached {
    let output = env.hook_of(agent, attack.text.as_bytes());
    let mut reached = Reached { told: String::from_utf8_lossy(&output.stdout).into_owned(), ..Reached::default() };
    let is_reply = output.stdout.is_empty() || serde_json::from_slice::<Value>(&output.stdout).is_ok();
    if output.status.code() != Some(0) || !output.stderr.is_empty() || !is_reply {
        reached.problems.push(format!("the hook ended with {:?}", output.status));
    }
    reached
}

fn import(env: &TestEnv, agent: &str, attack: &Attack) -> Reached {
    let file = with_story(attack, |story| transcript(env, agent, &env.project(), story));
    let project = env.project();
    env.run(&["import", agent, "--project", &project.to_string_lossy(), &file.to_string_lossy()]);
    Reached::default()
}

fn record(env: &TestEnv, attack: &Attack) -> Reached {
    let text = attack.text.as_str();
    env.start("s1", "startup");
    if attack.place == Place::Name {
        env.run(&["record", "file", text]);
        env.run(&["record", "function", text]);
        return Reached::default();
    }
    env.run(&["record", "decision", text, "--why", text]);
    env.run(&["record", "blocker", text]);
    env.run(&["record", "note", text]);
    env.run(&["memory", "learn", text]);
    Reached::default()
}

fn server(env: &TestEnv, attack: &Attack) -> String {
    let text = attack.text.as_str();
    let kinds: &[&str] = if attack.place == Place::Name { &["file"] } else { &["next", "decision", "note"] };
    let mut calls: Vec<(&str, Value)> =
        kinds.iter().map(|kind| ("session_record", json!({"kind": kind, "text": text}))).collect();
    if attack.place != Place::Name {
        calls.push(("memory_learn", json!({"text": format!("Always {text}")})));
    }
    mcp(env, &calls);
    // What it answers to a later session.
    let told = mcp(env, &[("session_context", json!({}))]);
    let answers = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    answers.filter_map(|answer| answer["result"]["structuredContent"]["text"].as_str().map(str::to_string)).collect()
}

/// The session is sent to a provider, which answers with the attack.
fn summary(env: &TestEnv, attack: &Attack) -> Reached {
    let answer = json!({"model": "small", "response": attack.text, "done": true});
    let provider = Answering::start([Answer::json(&answer)]);
    let url = provider.url();
    let config = format!(
        "[summary]\nprovider = 'ollama'\nmodel = 'small'\nbase_url = '{url}'\nreads = 'conversation'\ntimeout_secs = 20\n"
    );
    let _ = std::fs::create_dir_all(env.home());
    let _ = std::fs::write(env.home().join("config.toml"), config);
    let mut told = with_story(attack, |story| hooks(env, "claude-code", &env.project(), story));
    env.run(&["summarize"]);
    // What a provider is sent is checked for secrets; instructions in it are words like any others.
    if !matches!(attack.class, Class::Instruction | Class::Forgery) {
        told += &provider.requests().concat();
    }
    Reached { told, ..Reached::default() }
}

/// An agent in a loop is asked for, prints and complains with the attack; a second context is told what remains.
fn looped(env: &mut TestEnv, attack: &Attack) -> Reached {
    env.set_now(None);
    env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "--message=start"]);
    let said = env.root().join("said.txt");
    let written = std::fs::File::create(&said).and_then(|mut file| file.write_all(attack.text.as_bytes()));
    // The script lives as long as the attack.
    let line: &'static str = Box::leak(format!("cat '{0}'; echo; cat '{0}' >&2", said.display()).into_boxed_str());
    let agent = FakeAgent::new(&env.root().join("looping"), Tongue::Plain, &[vec![Act::Shell(line)]]);
    let prompt = if attack.class == Class::Poison { "work" } else { &attack.text };
    let mut command = env.command();
    command.args(["loop", "run", "--agent", "command", "--program", agent.program(), "--prompt", prompt]);
    command.args(["--min-interval", "0", "--backoff", "0", "--no-progress", "1000", "--max-iterations", "2"]);
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let problems = if written.is_ok() && ran.is_ok() { Vec::new() } else { vec!["the loop did not run".to_string()] };
    Reached { told: String::new(), problems }
}
