//! What the agent of the story does. It calls hooks as a real one, and records nothing by other ways.

use std::io::Read;
use std::path::Path;

use anyhow::ensure;
use serde_json::{Value, json};

use super::sandbox::Sandbox;
use crate::render::{self, line};

const FIRST_SESSION: &str = "5f0c1a52-first";
pub const SECOND_SESSION: &str = "c3d94b7e-second";

/// Who speaks.
pub const USER: &str = "you";
pub const AGENT: &str = "agent";
/// The agent has done everything that it does, and waits.
pub const WAITING: &str = "(waiting)";

const ASKED: &str = "Make the proxy safe under load. From now on, always run the tests with -race.";
const SAID: &str = "Proxy and supervisor are two files now. TestStopTwice still fails: Stop reads the process while Wait \
                    writes it. I would put both behind one mutex.";
const ANSWERED: &str = "Yes, add the mutex.";

const PROXY: &str =
    "package internal\n\nfunc (p *Proxy) Forward(r Request) error {\n\treturn p.supervisor.Handle(r)\n}\n";
const SUPERVISOR: &str = "package internal\n\nfunc (s *Supervisor) Stop() error {\n\treturn s.process.Kill()\n}\n";
const LOCKED: &str =
    "package internal\n\nfunc (s *Supervisor) Stop() error {\n\ts.mutex.Lock()\n\treturn s.process.Kill()\n}\n";

const TEST: &str = "go test -race ./...";
const FAILED: &str = "Exit code 1\n==================\nWARNING: DATA RACE\nWrite at 0x00c0000a4018 by goroutine 9:\n  \
                      hydra/internal.(*Supervisor).Wait()\n--- FAIL: TestStopTwice (0.01s)\n    testing.go:1490: race \
                      detected during execution of test\nFAIL\nFAIL\thydra/internal\t0.034s\nFAIL\n";

/// Plays until it is killed, or until its parent is gone.
pub fn play(sandbox: &Sandbox) -> anyhow::Result<()> {
    ensure!(sandbox.start(FIRST_SESSION)?.is_empty(), "the first session was told something");
    let said = |who: &str, text: &str| line(&format!("{who}\t{text}"));
    let used = |event: &str, id: &str, tool: &str, input: Value, rest: Value| -> anyhow::Result<()> {
        let mut payload = json!({"tool_name": tool, "tool_use_id": id, "tool_input": input});
        if let (Some(fields), Value::Object(rest)) = (payload.as_object_mut(), rest) {
            fields.extend(rest);
        }
        sandbox.hook(FIRST_SESSION, event, payload).map(drop)
    };
    let file = |name: &str| sandbox.project().join("internal").join(name);
    let wrote = |id: &str, path: &Path, content: &str| -> anyhow::Result<()> {
        std::fs::write(path, content)?;
        let input = json!({"file_path": render::path(path), "content": content});
        used("PostToolUse", id, "Write", input, json!({"tool_response": {"type": "create"}}))
    };
    sandbox.hook(FIRST_SESSION, "UserPromptSubmit", json!({"prompt": ASKED}))?;
    said(USER, ASKED);
    wrote("toolu_1", &file("proxy.go"), PROXY)?;
    said("Write", "internal/proxy.go");
    wrote("toolu_2", &file("supervisor.go"), SUPERVISOR)?;
    said("Write", "internal/supervisor.go");
    let todos = json!({"todos": [
        {"content": "Split the proxy in two files", "status": "completed"},
        {"content": "Add a mutex around Stop and Wait", "status": "in_progress"},
    ]});
    used("PostToolUse", "toolu_3", "TodoWrite", todos, json!({"tool_response": {}}))?;
    said("Todo", "1 item done, 1 open");
    used("PostToolUseFailure", "toolu_4", "Bash", json!({"command": TEST}), json!({"error": FAILED}))?;
    said("Bash", &format!("{TEST}\tTestStopTwice: race detected"));
    sandbox.hook(FIRST_SESSION, "Stop", json!({"last_assistant_message": SAID, "stop_hook_active": false}))?;
    said(AGENT, SAID);
    sandbox.hook(FIRST_SESSION, "UserPromptSubmit", json!({"prompt": ANSWERED}))?;
    said(USER, ANSWERED);
    let path = file("supervisor.go");
    std::fs::write(&path, LOCKED)?;
    let edit = json!({"file_path": render::path(&path), "old_string": "\treturn s", "new_string": "\ts.mutex.Lock()\n\treturn s"});
    used("PostToolUse", "toolu_5", "Edit", edit, json!({"tool_response": {}}))?;
    said("Edit", "internal/supervisor.go");
    line(WAITING);
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}
