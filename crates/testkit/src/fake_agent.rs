//! A fake agent: a program that plays a scenario, context by context, in the output format of a real agent.
//!
//! It is a shell script generated from acts, so it starts quickly and needs nothing installed. It counts its contexts
//! and stores its input: prompt `n` is in `told-n`. It never stores its environment. It can misbehave like real agents:
//! hang, tear lines, fail, ignore SIGTERM, leave children, print unknown events.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::process::write_program;

/// The agent whose output format it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tongue {
    ClaudeCode,
    Codex,
    Plain,
}

/// The size of its context window in tokens.
pub const WINDOW: u64 = 100_000;
pub const MODEL: &str = "claude-fake-1";

/// One action.
#[derive(Clone, Debug)]
pub enum Act {
    /// Reports the start of a session.
    Start,
    /// Prints a message, with this many tokens in its context.
    Say(&'static str, u64),
    /// Like `Say`, but written in two halves with a pause between them.
    Tear(&'static str, u64),
    /// Prints an unknown event, and a line that is not an event.
    Unknown,
    /// Reports that the server is overloaded and when it retries.
    Retry,
    /// Reports that it runs a command.
    Call(&'static str),
    /// Reports a failed tool.
    ToolFailed,
    /// Reports in its result that it was not allowed to use a tool.
    Denied(&'static str),
    /// Ends its turn.
    Done(&'static str),
    /// Ends its turn with a failure: status and message.
    Fail(u16, &'static str),
    /// Waits for one more message and stores it in `asked-n`.
    Await,
    /// Runs until its input ends.
    Leave,
    /// Runs forever.
    Hang,
    IgnoreTerm,
    /// Leaves a child process in its process group.
    Fork,
    /// Leaves an orphaned child process in a session of its own.
    ForkAway,
    /// Any shell command.
    Shell(&'static str),
    /// Prints something to standard error.
    Complain(&'static str),
    Exit(u8),
}

/// A program on disk.
#[derive(Debug)]
pub struct FakeAgent {
    pub program: PathBuf,
    dir: PathBuf,
}

impl FakeAgent {
    /// Writes the program into `dir`. The last context is repeated for all further ones.
    pub fn new(dir: &Path, tongue: Tongue, contexts: &[Vec<Act>]) -> FakeAgent {
        let program = dir.join("agent");
        write_program(&program, &script(dir, tongue, contexts));
        FakeAgent { program, dir: dir.to_path_buf() }
    }

    /// How many contexts were started.
    pub fn contexts(&self) -> usize {
        std::fs::read_to_string(self.dir.join("count")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// The first input of the `n`th context.
    pub fn told(&self, n: usize) -> String {
        std::fs::read_to_string(self.dir.join(format!("told-{n}"))).unwrap_or_default()
    }

    /// Messages that it received while it was working.
    pub fn asked(&self, n: usize) -> String {
        std::fs::read_to_string(self.dir.join(format!("asked-{n}"))).unwrap_or_default()
    }

    /// The arguments with which the `n`th context was started.
    pub fn arguments(&self, n: usize) -> String {
        std::fs::read_to_string(self.dir.join(format!("arguments-{n}"))).unwrap_or_default()
    }

    pub fn program(&self) -> &str {
        self.program.to_str().expect("a path of ours")
    }
}

fn script(dir: &Path, tongue: Tongue, contexts: &[Vec<Act>]) -> String {
    let dir = dir.display();
    let read = match tongue {
        Tongue::ClaudeCode => format!("IFS= read -r line; printf '%s\\n' \"$line\" >\"{dir}/told-$n\""),
        Tongue::Codex | Tongue::Plain => format!("cat >\"{dir}/told-$n\""),
    };
    let mut text = format!(
        "#!/bin/sh\nn=$(cat \"{dir}/count\" 2>/dev/null || echo 0)\nn=$((n + 1))\necho $n >\"{dir}/count\"\n\
         s=fake-$n-$$\nprintf '%s\\n' \"$*\" >\"{dir}/arguments-$n\"\nenv | cut -d= -f1 >\"{dir}/variables-$n\"\n{read}\n\
         case $n in\n"
    );
    for (index, acts) in contexts.iter().enumerate() {
        let label = if index + 1 == contexts.len() { "*".to_string() } else { (index + 1).to_string() };
        let _ = writeln!(text, "{label})");
        let mut message = 0;
        for act in acts {
            message += 1;
            text.push_str(&played(tongue, act, message, &dir.to_string()));
        }
        text.push_str(";;\n");
    }
    text.push_str("esac\n");
    text
}

fn played(tongue: Tongue, act: &Act, message: usize, dir: &str) -> String {
    let print = |line: String| format!("printf '%s\\n' {}\n", quoted(&line));
    match act {
        Act::Start => started(tongue).map(print).unwrap_or_default(),
        Act::Say(words, tokens) => said(tongue, words, *tokens, message).into_iter().map(print).collect(),
        Act::Tear(words, tokens) => {
            let lines = said(tongue, words, *tokens, message).join("\n");
            let (head, tail) = lines.split_at(lines.len() / 2);
            format!("printf '%s' {}\nsleep 0.2\nprintf '%s\\n' {}\n", quoted(head), quoted(tail))
        }
        Act::Unknown => {
            let strange = json!({"type": "something_new", "session_id": "x", "data": {"a": [1, null]}}).to_string();
            [print(strange), print("not JSON at all {".to_string())].concat()
        }
        Act::Retry => print(
            json!({"type": "system", "subtype": "api_retry", "attempt": 1, "retry_delay_ms": 10, "error_status": 529})
                .to_string(),
        ),
        Act::Call(command) => {
            let call = json!({"type": "tool_use", "id": format!("call-{message}"), "name": "Bash",
                "input": {"command": command}});
            print(json!({"type": "assistant", "message": {"id": format!("c{message}"), "content": [call]}}).to_string())
        }
        Act::ToolFailed => print(
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "is_error": true, "content": "x"}]}})
                .to_string(),
        ),
        Act::Denied(tool) => {
            let denials = json!([{"tool_name": tool, "tool_use_id": "t", "tool_input": {}}]);
            print(json!({"type": "result", "subtype": "success", "is_error": false, "result": "denied",
                "permission_denials": denials, "modelUsage": {}}).to_string())
        }
        Act::Done(words) => done(tongue, words).into_iter().map(print).collect(),
        Act::Fail(status, words) => print(failed(tongue, *status, words)),
        // Calls such as `--version` are not messages.
        Act::Await => format!(
            "while IFS= read -r line; do case $line in *control_request*) ;; *) break ;; esac; done\n\
             printf '%s\\n' \"$line\" >>\"{dir}/asked-$n\"\n"
        ),
        Act::Leave => "cat >/dev/null\n".to_string(),
        Act::Hang => "while :; do sleep 600; done\n".to_string(),
        Act::IgnoreTerm => "trap '' TERM\n".to_string(),
        Act::Fork => "sleep 600 &\n".to_string(),
        Act::ForkAway => "(setsid sleep 600 >/dev/null 2>&1 </dev/null &)\n".to_string(),
        Act::Shell(command) => format!("{command}\n"),
        Act::Complain(words) => format!("printf '%s\\n' {} >&2\n", quoted(words)),
        Act::Exit(code) => format!("exit {code}\n"),
    }
}

/// The session id is known only at run time.
const SESSION: &str = "@SESSION@";

fn started(tongue: Tongue) -> Option<String> {
    match tongue {
        Tongue::ClaudeCode => {
            Some(json!({"type": "system", "subtype": "init", "session_id": SESSION, "model": MODEL}).to_string())
        }
        Tongue::Codex => Some(json!({"type": "thread.started", "thread_id": SESSION}).to_string()),
        Tongue::Plain => None,
    }
}

fn said(tongue: Tongue, words: &str, tokens: u64, message: usize) -> Vec<String> {
    match tongue {
        Tongue::ClaudeCode => {
            let content = json!([{"type": "text", "text": words}]);
            let usage = json!({"input_tokens": tokens, "output_tokens": 10});
            let message = json!({"id": format!("m{message}"), "model": MODEL, "content": content, "usage": usage});
            vec![json!({"type": "assistant", "message": message, "session_id": SESSION}).to_string()]
        }
        Tongue::Codex => {
            vec![json!({"type": "item.completed", "item": {"type": "agent_message", "text": words}}).to_string()]
        }
        Tongue::Plain => words.lines().map(str::to_string).collect(),
    }
}

fn done(tongue: Tongue, words: &str) -> Vec<String> {
    match tongue {
        Tongue::ClaudeCode => {
            let used = json!({"inputTokens": 1_000, "outputTokens": 100, "contextWindow": WINDOW});
            vec![
                json!({"type": "result", "subtype": "success", "is_error": false, "result": words,
                "session_id": SESSION, "total_cost_usd": 0.25, "modelUsage": {MODEL: used}})
                .to_string(),
            ]
        }
        Tongue::Codex => {
            vec![json!({"type": "turn.completed", "usage": {"input_tokens": 1_000, "output_tokens": 100}}).to_string()]
        }
        Tongue::Plain => words.lines().map(str::to_string).collect(),
    }
}

fn failed(tongue: Tongue, status: u16, words: &str) -> String {
    match tongue {
        Tongue::ClaudeCode => json!({"type": "result", "subtype": "success", "is_error": true,
            "result": format!("API Error: {status} {words}"), "session_id": SESSION})
        .to_string(),
        Tongue::Codex => {
            json!({"type": "turn.failed", "error": {"message": format!("unexpected status {status}: {words}")}})
                .to_string()
        }
        Tongue::Plain => words.to_string(),
    }
}

/// One shell word, in which the session id is substituted.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''").replace(SESSION, "'\"$s\"'"))
}
