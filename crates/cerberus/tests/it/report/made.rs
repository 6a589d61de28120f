//! Made-up work for the report: transcripts of several projects and agents over half a year, sessions from hooks,
//! memories and a loop. The same every time.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use cerberus_record::time::Timestamp;
use cerberus_testkit::env::{START, TestEnv};
use serde_json::{Value, json};

const REQUESTS: [&str; 8] = [
    "fix the race in the supervisor, the test is flaky again",
    "split proxy.go in three files",
    "add retry with jitter to the uploader",
    "investigate why CI fails on main",
    "write the checkpoint tests",
    "adopt the new evaluation contract",
    "make the importer resume after a crash",
    "rename the settings and keep the old names working",
];
const FILES: [&str; 9] = [
    "src/supervisor.rs",
    "src/proxy/listen.rs",
    "src/proxy/mod.rs",
    "src/upload.rs",
    "src/store/fold.rs",
    "tests/checkpoint.rs",
    ".github/workflows/ci.yml",
    "docs/contract.md",
    "src/settings/names_of_all_settings.rs",
];

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len() as u64) as usize]
    }
}

fn time(millis: i64) -> String {
    Timestamp::from_millis(millis).to_string()
}

/// The folder name that Claude Code uses for a project.
fn folder_name(dir: &Path) -> String {
    dir.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A transcript of Claude Code, with token counts, edits, a test run, and sometimes a compaction.
pub fn claude(id: &str, cwd: &Path, begun: i64, asked: &str, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut lines: Vec<Value> = Vec::new();
    let mut at = begun;
    let mut push = |kind: &str, minutes: i64, extra: Value| {
        at += minutes * 60_000 + 1_000;
        let mut line = json!({
            "type": kind, "uuid": format!("{id}-{at}"), "sessionId": id, "cwd": cwd, "gitBranch": "main",
            "timestamp": time(at), "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        lines.push(line);
    };
    push("user", 0, json!({"message": {"content": asked}}));
    let mut context = 18_000 + dice.roll(30_000);
    for turn in 0..3 + dice.roll(5) {
        let (tool, path) = (format!("{id}-{turn}"), cwd.join(dice.pick(&FILES)));
        context = (context + dice.roll(40_000)).min(188_000);
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": context, "output_tokens": 900});
        let input = json!({"file_path": path, "content": "pub fn run() {}\n"});
        let block = json!({"type": "tool_use", "id": tool, "name": "Write", "input": input});
        let message =
            json!({"id": format!("m-{id}-{turn}"), "model": "claude-test-1", "content": [block], "usage": usage});
        push("assistant", 1 + dice.roll(9) as i64, json!({"message": message}));
        let done = json!({"type": "tool_result", "tool_use_id": tool, "content": "File created"});
        push("user", 0, json!({"message": {"content": [done]}, "toolUseResult": "File created"}));
        if context > 170_000 {
            push("system", 0, json!({"subtype": "compact_boundary", "content": "Conversation compacted"}));
            let words = json!({"isCompactSummary": true, "message": {"content": "We changed the files."}});
            push("user", 0, words);
            context = 30_000;
        }
    }
    let (test, is_red) = (format!("{id}-test"), dice.roll(3) == 0);
    let block = json!({"type": "tool_use", "id": test, "name": "Bash", "input": {"command": "cargo test --workspace"}});
    push("assistant", 1, json!({"message": {"content": [block]}}));
    let output = match is_red {
        true => "test stop_twice ... FAILED\n\ntest result: FAILED. 11 passed; 1 failed",
        false => "test result: ok. 12 passed; 0 failed",
    };
    let done = json!({"type": "tool_result", "tool_use_id": test, "content": output, "is_error": is_red});
    push("user", 0, json!({"message": {"content": [done]}, "toolUseResult": output}));
    push("assistant", 0, json!({"message": {"content": [{"type": "text", "text": "The files are changed."}]}}));
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// A session file of Codex, without token counts if `is_silent`.
fn codex(id: &str, cwd: &Path, begun: i64, asked: &str, is_silent: bool) -> String {
    let at = |second: i64| time(begun + second * 1000);
    let mut lines = vec![
        json!({"timestamp": at(0), "type": "session_meta", "payload": {"id": id, "cwd": cwd, "source": "cli"}}),
        json!({"timestamp": at(1), "type": "event_msg", "payload": {"type": "user_message", "message": asked}}),
        json!({"timestamp": at(2400), "type": "event_msg", "payload": {"type": "agent_message", "message": "It is done."}}),
    ];
    if !is_silent {
        let info = json!({"total_token_usage": {"total_tokens": 412_000}, "last_token_usage": {"total_tokens": 126_000},
            "model_context_window": 272_000});
        lines.push(
            json!({"timestamp": at(2401), "type": "event_msg", "payload": {"type": "token_count", "info": info}}),
        );
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub const DAY: i64 = 24 * 60 * 60 * 1000;

/// Writes `sessions` transcripts where the agents keep them, over the `days` before now, and imports them.
pub fn import(env: &TestEnv, sessions: u64, days: u64) {
    let now = Timestamp::parse(START).unwrap().millis();
    let projects = [env.project(), env.add_repository("nimbus"), env.add_repository("atlas")];
    let user = env.root().join("user");
    let mut dice = Dice(7);
    for number in 0..sessions {
        let cwd = &projects[(dice.roll(6) / 3 + dice.roll(2)) as usize % 3];
        let begun = now - DAY - dice.roll(days.max(1)) as i64 * DAY - dice.roll(8 * 3_600_000) as i64;
        let (asked, id) = (dice.pick(&REQUESTS), format!("made-{number}"));
        if number % 5 == 4 {
            let day = time(begun);
            let folder = user.join(".codex/sessions").join(&day[..4]).join(&day[5..7]).join(&day[8..10]);
            fs::create_dir_all(&folder).unwrap();
            let name = format!("rollout-{}-{id}.jsonl", day[..19].replace(':', "-"));
            fs::write(folder.join(name), codex(&id, cwd, begun, asked, number % 2 == 0)).unwrap();
        } else {
            let folder = user.join(".claude/projects").join(folder_name(cwd));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{id}.jsonl")), claude(&id, cwd, begun, asked, number + 1)).unwrap();
        }
    }
    env.ok(&["import", "claude-code"]);
    env.ok(&["import", "codex"]);
}

/// A session from hooks that is told something and uses a part of it, and memories.
pub fn told(env: &TestEnv) {
    env.start("live-1", "startup");
    env.hook("live-1", "UserPromptSubmit", json!({"prompt": "always use pnpm, never npm"}));
    env.write_file("live-1", "t1", "src/supervisor.rs", "fn supervise() {}\n");
    env.hook("live-1", "SessionEnd", json!({"reason": "exit"}));
    env.ok(&["learn", "Never hold a lock while calling wait"]);
    env.ok(&["learn", "Prefer small commits"]);
    env.start("live-2", "startup");
    env.write_file("live-2", "t2", "src/upload.rs", "fn upload() {}\n");
}

/// A session of an hour ago that nobody ended: its agent is gone.
pub fn crashed(env: &mut TestEnv) {
    let earlier = Timestamp::parse(START).unwrap().millis() - 3_600_000;
    env.set_now(Some(&time(earlier)));
    env.hook("gone", "UserPromptSubmit", json!({"prompt": "migrate the store to the new schema"}));
    env.set_now(Some(START));
}
