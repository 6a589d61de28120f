//! Every kind of transcript, event by event. The fixtures are written by hand in the clients' formats.

use std::collections::HashMap;

use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::Clean;
use cerberus_record::event::Event;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{claude_code, cline, codex, copilot, gemini, opencode, qwen_code};

const CLINE: &str = include_str!("fixtures/cline.json");
const CODEX_OLDER: &str = include_str!("fixtures/codex-older.jsonl");
const CODEX_NEWER: &str = include_str!("fixtures/codex-newer.jsonl");
const CODEX_SUBAGENT: &str = include_str!("fixtures/codex-subagent.jsonl");
const COPILOT: &str = include_str!("fixtures/copilot.jsonl");
const GEMINI: &str = include_str!("fixtures/gemini.jsonl");
const GEMINI_OLDER: &str = include_str!("fixtures/gemini-older.json");
const OPENCODE: &str = include_str!("fixtures/opencode.json");
const QWEN_CODE: &str = include_str!("fixtures/qwen-code.jsonl");

const ALL: [(Agent, &str); 9] = [
    (cline::AGENT, CLINE),
    (codex::AGENT, CODEX_OLDER),
    (codex::AGENT, CODEX_NEWER),
    (codex::AGENT, CODEX_SUBAGENT),
    (copilot::AGENT, COPILOT),
    (gemini::AGENT, GEMINI),
    (gemini::AGENT, GEMINI_OLDER),
    (opencode::AGENT, OPENCODE),
    (qwen_code::AGENT, QWEN_CODE),
];

/// Each event as its second, its key and its content. A shared key is reduced to its first word.
fn events_of(agent: Agent, text: &str) -> Vec<(i64, String, Value)> {
    let read = read(&BUILT_IN, agent, text.as_bytes()).unwrap();
    assert_eq!(read.damaged_lines, 0);
    let start = Timestamp::parse("2026-02-03T09:00:00Z").unwrap();
    let shown = |event: &TranscriptEvent| {
        let key = match shared_part(&event.key) {
            Some(shared) => shared.split('-').next().unwrap().to_string(),
            None => event.key.to_string(),
        };
        (event.at.since(start).as_secs() as i64, key, serde_json::to_value(&event.event).unwrap())
    };
    read.events.iter().map(shown).collect()
}

fn check(agent: Agent, text: &str, expected: &[(i64, &str, Value)]) {
    let events = events_of(agent, text);
    for (index, (at, key, event)) in expected.iter().enumerate() {
        assert_eq!(events.get(index), Some(&(*at, key.to_string(), event.clone())), "event {index}");
    }
    assert_eq!(events.len(), expected.len(), "{:?}", events.last());
}

fn unfinished(read: &Transcript) -> Vec<(&str, String)> {
    read.in_flight.iter().map(|open| (&*open.key, open.shown("/home/dev/hydra"))).collect()
}

fn prompt(text: &str) -> Value {
    json!({"prompt": {"text": text}})
}

fn stop(message: &str) -> Value {
    json!({"stop": {"message": message}})
}

fn tool(name: &str, extra: Value) -> Value {
    let mut used = json!({"tool": name});
    used.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"tool": used})
}

fn edited(path: &str, lines: Value) -> Value {
    json!({"path": format!("/home/dev/hydra/{path}"), "how": "edited", "lines": lines})
}

fn whole(path: &str) -> Value {
    json!({"path": format!("/home/dev/hydra/{path}"), "how": "edited"})
}

fn seen(path: &str) -> Value {
    json!({"path": format!("/home/dev/hydra/{path}"), "how": "read"})
}

#[test]
fn codex_in_its_older_form() {
    let failed = "Exit code 101\nrunning 1 test\ntest lazy ... FAILED\n";
    let todos = json!([{"subject": "Open lazily", "state": "done"}, {"subject": "Mend the test", "state": "open"}]);
    let patched = json!([
        edited("src/store.rs", json!([[11, 12]])),
        whole("docs/lazy.md"),
        edited("src/eager.rs", json!([[0, 0]]))
    ]);
    check(
        codex::AGENT,
        CODEX_OLDER,
        &[
            (1, "prompt", prompt("Let the store open lazily\n")),
            (
                3,
                "call_read",
                tool(
                    "Bash",
                    json!({"command": "sed -n '1,80p' store.rs", "files": [seen("src/store.rs")], "folder": "/home/dev/hydra/src"}),
                ),
            ),
            (5, "call_patch", tool("apply_patch", json!({"files": patched, "names": ["open_lazily"]}))),
            (
                6,
                "call_shell_patch",
                tool("apply_patch", json!({"files": [edited("web/app.ts", json!([[0, 0]]))], "names": ["mount"]})),
            ),
            (
                19,
                "call_test",
                tool(
                    "Bash",
                    json!({"outcome": "failed", "command": "cargo test", "error": failed, "failure": {"signature": "db0729ceea05eb37"}}),
                ),
            ),
            (20, "call_plan", tool("update_plan", json!({"todos": todos}))),
            (22, "stop-turn-1", stop("The test fails.\nNext: mend it.")),
            (61, "prompt", prompt("go on")),
            (
                64,
                "compact-1770109264000",
                json!({"compact": {"stage": "after", "summary": "We opened the store lazily."}}),
            ),
            (66, "call_ask", tool("request_user_input", json!({"answers": [["Which cache?", "An LRU"]]}))),
            (69, "call_server", tool("Bash", json!({"outcome": "unknown", "command": "npm run dev"}))),
        ],
    );
    let read = read(&BUILT_IN, codex::AGENT, CODEX_OLDER.as_bytes()).unwrap();
    assert_eq!(unfinished(&read), [("call_never", "Bash: cargo bench".to_string())]);
    assert_eq!((read.cwd.as_deref(), &*read.events[0].session), (Some("/home/dev/hydra"), "thread-1"));
    assert_eq!(read.events[0].branch.as_deref(), Some("store"));
}

#[test]
fn codex_in_its_newer_form_and_both_at_once() {
    let failed = json!({"outcome": "failed", "command": "make", "error": "Exit code 2\nmake: *** [all] Error 1\n"});
    check(
        codex::AGENT,
        CODEX_NEWER,
        &[
            (1, "prompt", prompt("Open it twice")),
            (3, "call_1", tool("Bash", json!({"command": "cat README.md", "files": [seen("README.md")]}))),
            (
                4,
                "call_2",
                tool("apply_patch", json!({"files": [edited("src/new.rs", json!([[1, 1]]))], "names": ["b"]})),
            ),
            (5, "call_3", tool("Bash", failed)),
            (6, "call_4", tool("apply_patch", json!({"outcome": "interrupted", "error": "the user said no"}))),
            (7, "stop-turn-1", stop("Opened.\nTwice.")),
            (9, "prompt", prompt("Open it twice")),
        ],
    );
}

#[test]
fn a_codex_subagents_work_counts_but_not_its_messages() {
    let expected =
        tool("Bash", json!({"outcome": "interrupted", "command": "ls -l", "error": "aborted by user after 2.0s"}));
    check(codex::AGENT, CODEX_SUBAGENT, &[(4, "call_sub", expected)]);
    assert_eq!(&*read(&BUILT_IN, codex::AGENT, CODEX_SUBAGENT.as_bytes()).unwrap().events[0].session, "thread-1");
}

#[test]
fn copilot_events() {
    let todos = json!([{"subject": "Mount", "state": "done"}, {"subject": "Style it", "state": "open"}]);
    let started = json!({"outcome": "unknown", "command": "make watch"});
    check(
        copilot::AGENT,
        COPILOT,
        &[
            (1, "prompt", prompt("Mount the app")),
            (4, "tool", tool("create", json!({"files": [whole("web/app.ts")], "names": ["mount"]}))),
            (6, "tool", tool("edit", json!({"files": [edited("src/a.rs", json!([[4, 4]]))], "names": ["y"]}))),
            (
                7,
                "tool",
                tool("bash", json!({"outcome": "failed", "command": "npm test", "error": "Exit code 1\n1 failing"})),
            ),
            (8, "tool", tool("view", json!({"outcome": "failed", "error": "Path does not exist"}))),
            (10, "tool", tool("ask_user", json!({"answers": [["Which port?", "8080"]]}))),
            (11, "tool", tool("update_todo", json!({"todos": todos}))),
            (
                12,
                "tool",
                tool("apply_patch", json!({"files": [edited("web/b.ts", json!([[0, 0]]))], "names": ["two"]})),
            ),
            (12, "tool", tool("bash", started)),
            (14, "tool", tool("view", json!({"files": [seen("README.md")]}))),
            (16, "compact-e26", json!({"compact": {"stage": "after", "summary": "The app mounts."}})),
            (15, "stop-e25", stop("Mounted.\nNext: style it.")),
            (18, "prompt", prompt("stop there")),
        ],
    );
    let read = super::read(&BUILT_IN, copilot::AGENT, COPILOT.as_bytes()).unwrap();
    assert_eq!(unfinished(&read)[0].1, "bash: sleep 9");
    assert_eq!(read.cwd.as_deref(), Some("/home/dev/hydra"), "the project, not the folder in it");
    let branches: Vec<_> = [0, 12].map(|index| read.events[index].branch.as_deref().unwrap()).into();
    assert_eq!(branches, ["main", "style"]);
}

#[test]
fn gemini_chats() {
    let failed = json!({"outcome": "failed", "command": "pytest", "error": "Exit code 1\nFAILED a.py::test_a", "failure": {"signature": "3ffe1ab7a0adcea2"}});
    let todos = json!([{"subject": "Test b", "state": "open"}, {"subject": "Drop c", "state": "dropped"}]);
    check(
        gemini::AGENT,
        GEMINI,
        &[
            (1, "prompt", prompt("Explain @a.rs")),
            (3, "tool", tool("write_file", json!({"files": [edited("b.py", json!([[1, 2]]))], "names": ["b"]}))),
            (4, "tool", tool("run_shell_command", failed)),
            (7, "tool", tool("run_shell_command", json!({"command": "pytest b.py", "output": "1 passed in 0.1s"}))),
            (8, "tool", tool("read_file", json!({"files": [seen("README.md")]}))),
            (9, "tool", tool("replace", json!({"outcome": "failed", "error": "0 occurrences found"}))),
            (10, "tool", tool("write_todos", json!({"todos": todos}))),
            (
                15,
                "compact-c1",
                json!({"compact": {"stage": "after", "summary": "<state_snapshot>b.py is new</state_snapshot>"}}),
            ),
            (12, "stop-m5", stop("b is written.\nNext: test it.")),
            (16, "prompt", prompt("go on")),
        ],
    );
    let read = super::read(&BUILT_IN, gemini::AGENT, GEMINI.as_bytes()).unwrap();
    assert_eq!(unfinished(&read)[0].1, "run_shell_command: sleep 9");
    assert_eq!((read.cwd.as_deref(), &*read.events[0].session), (Some("/home/dev/hydra"), "gem-1"));
    check(
        gemini::AGENT,
        GEMINI_OLDER,
        &[
            (1, "prompt", prompt("Write c")),
            (3, "tool", tool("write_file", json!({"files": [whole("c.go")], "names": ["C"]}))),
            (4, "stop-m3", stop("Done.")),
        ],
    );
    let subagent = GEMINI.replace("\"kind\":\"main\"", "\"kind\":\"subagent\"");
    assert!(events_of(gemini::AGENT, &subagent).iter().all(|(_, key, _)| key == "tool" || key.starts_with("compact")));
}

#[test]
fn qwen_code_chats() {
    let failed = json!({"outcome": "failed", "command": "node --test", "error": "Exit code 1\n1 failed"});
    let missing = "File not found: /home/dev/hydra/missing.txt";
    check(
        qwen_code::AGENT,
        QWEN_CODE,
        &[
            (0, "prompt", prompt("Write the limiter")),
            (
                3,
                "tool",
                tool("write_file", json!({"files": [edited("limiter.mjs", json!([[1, 1]]))], "names": ["takeToken"]})),
            ),
            (5, "tool", tool("run_shell_command", failed)),
            (6, "tool", tool("read_file", json!({"outcome": "failed", "error": missing}))),
            (7, "stop-a3", stop("It fails.")),
            (9, "prompt", prompt("Then fix it")),
            (10, "compact-c1", json!({"compact": {"stage": "after", "summary": "A limiter was written."}})),
        ],
    );
    let read = read(&BUILT_IN, qwen_code::AGENT, QWEN_CODE.as_bytes()).unwrap();
    assert_eq!(unfinished(&read)[0].1, "edit: limiter.mjs");
    assert!(read.in_flight[0].edit.is_some(), "an edit without a result may have been made");
    assert_eq!((read.cwd.as_deref(), &*read.events[0].session), (Some("/home/dev/hydra"), "3df6"));
    assert_eq!(read.events[0].branch.as_deref(), Some("main"));
    let subagent = QWEN_CODE.replace("\"sessionId\"", "\"isSidechain\":true,\"sessionId\"");
    let is_kept = |key: &str| key == "tool" || key.starts_with("compact");
    assert!(events_of(qwen_code::AGENT, &subagent).iter().all(|(_, key, _)| is_kept(key)));
}

#[test]
fn cline_sessions() {
    let vet = json!({"outcome": "failed", "command": "go vet ./...", "error": "Exit code 1\nvet: bad\n"});
    let error = "Editor operation failed: text not found";
    check(
        cline::AGENT,
        CLINE,
        &[
            (1, "prompt", prompt("Write the lexer")),
            (3, "c1", tool("editor", json!({"files": [whole("lex.go")], "names": ["Lex"]}))),
            (4, "c2", tool("run_commands", json!({"command": "go test ./...", "output": "ok  \thydra\t0.1s\n"}))),
            (4, "c2.1", tool("run_commands", vet)),
            (6, "c3", tool("editor", json!({"files": [edited("lex.go", json!([[3, 3]]))]}))),
            (7, "c4", tool("editor", json!({"outcome": "failed", "error": error}))),
            (8, "c5", tool("read_files", json!({"files": [seen("go.mod")]}))),
            (9, "c6", tool("ask_question", json!({"answers": [["Tabs?", "Yes"]]}))),
            (10, "stop-m11", stop("Lexed.\nNext: parse.")),
            (13, "prompt", prompt("parse it")),
        ],
    );
    let read = crate::cline::transcript::read(&BUILT_IN, CLINE.as_bytes()).unwrap();
    let open = [("c7", "editor: parse.go"), ("c8", "run_commands: go build"), ("c8.1", "run_commands: sleep 9")];
    assert_eq!(unfinished(&read), open.map(|(key, shown)| (key, shown.to_string())));
    assert!(read.in_flight[0].edit.is_some(), "an edit without a result may have been made");
    let subagent = CLINE.replacen("\"mode\": \"user\"", "\"mode\": \"subagent\", \"parentThreadId\": \"lead-1\"", 1);
    let read = crate::cline::transcript::read(&BUILT_IN, subagent.as_bytes()).unwrap();
    assert!(read.events.iter().all(|event| &*event.session == "lead-1" && matches!(event.event, Event::Tool(_))));
}

#[test]
fn opencode_exports() {
    let todos = json!([{"subject": "Lex", "state": "done"}, {"subject": "Parse", "state": "open"}]);
    let error = "The user rejected permission to use this specific tool call.";
    let rejected = json!({"outcome": "interrupted", "command": "rm x", "error": error});
    check(
        opencode::AGENT,
        OPENCODE,
        &[
            (1, "prompt", prompt("Write the lexer")),
            (3, "c1", tool("write", json!({"files": [whole("lex.go")], "names": ["Lex"]}))),
            (4, "c2", tool("edit", json!({"files": [edited("lex.go", json!([[3, 3]]))]}))),
            (5, "c3", tool("bash", json!({"command": "go test ./...", "output": "ok  \thydra\t0.1s\n"}))),
            (6, "c4", tool("bash", rejected)),
            (7, "c5", tool("todowrite", json!({"todos": todos}))),
            (8, "c6", tool("question", json!({"answers": [["Tabs?", "Yes, always"]]}))),
            (12, "compact-msg_4", json!({"compact": {"stage": "after", "summary": "The lexer is there."}})),
            (9, "stop-msg_2", stop("Lexed.\nNext: parse.")),
            (13, "prompt", prompt("parse it")),
            (13, "title-53ec201aa5e0da41-1770109213000", json!({"title": {"text": "Lexer"}})),
            (16, "c8", tool("read", json!({"files": [seen("grammar.txt")]}))),
        ],
    );
    let read = crate::opencode::transcript::read(&BUILT_IN, OPENCODE.as_bytes()).unwrap();
    assert!(read.events.iter().all(|event| &*event.session == "ses_1"), "a subagent's work belongs to the session");
    assert_eq!(unfinished(&read), [("c7", "read: go.mod".to_string())]);
}

/// A test run from a script: the script is waited for, and then the command, which outlives it.
#[test]
fn a_codex_script_ends_with_the_command_that_it_started() {
    let line = |second: u32, payload: Value| {
        let at = format!("2026-02-03T09:00:{second:02}Z");
        format!("{}\n", json!({"timestamp": at, "type": "response_item", "payload": payload}))
    };
    let call = |second, id: &str, name: &str, arguments: Value| {
        let payload = match name {
            "exec" => json!({"type": "custom_tool_call", "name": name, "call_id": id, "input": arguments}),
            _ => {
                json!({"type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string()})
            }
        };
        line(second, payload)
    };
    let output = |second, id: &str, texts: &[&str]| {
        let pieces: Vec<Value> = texts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
        line(second, json!({"type": "custom_tool_call_output", "call_id": id, "output": pieces}))
    };
    let running = |cell: &str| format!("Script running with cell ID {cell}\nWall time 10.0 seconds\nOutput:\n");
    let done = "Script completed\nWall time 1.0 seconds\nOutput:\n";
    let script =
        json!("const r = await tools.exec_command({cmd: \"mise run check\", workdir: \"/q\"});\ntext(r.output);");
    let poll = json!("text(await tools.write_stdin({session_id: 54507, chars: \"\"}));");
    let meta =
        json!({"timestamp": "2026-02-03T09:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/p"}});
    let begun = [
        format!("{meta}\n"),
        call(1, "run", "exec", script.clone()),
        output(2, "run", &[&running("223")]),
        call(3, "w1", "wait", json!({"cell_id": "223"})),
    ]
    .concat();
    let outlived = [
        begun.clone(),
        output(4, "w1", &[done, "[test] $ go test ./...", "[test] ok  \tx/a\t0.1s", "SESSION_ID=54507"]),
        call(5, "p1", "exec", poll.clone()),
        output(6, "p1", &[&running("224")]),
        call(7, "w2", "wait", json!({"cell_id": "224"})),
        output(8, "w2", &[&running("224")]),
        call(9, "w3", "wait", json!({"cell_id": "224"})),
        output(10, "w3", &[done, "{\"session_id\":54507,\"output\":\"\"}"]),
        call(11, "p2", "exec", poll),
    ]
    .concat();
    let end = |code: i64| {
        [
            outlived.clone(),
            output(12, "p2", &[done, &json!({"exit_code": code, "output": "[test] ok  \tx/b\t0.1s\n"}).to_string()]),
        ]
        .concat()
    };
    let of = |events: Vec<(i64, String, Value)>| {
        assert_eq!(events.len(), 1, "{events:?}");
        let (at, key, event) = events.into_iter().next().unwrap();
        assert_eq!((key.as_str(), &event["tool"]["command"]), ("run", &json!("mise run check")));
        (at, event["tool"].clone())
    };
    let (at, used) = of(events_of(codex::AGENT, &end(0)));
    assert_eq!((at, &used["folder"], used.get("outcome")), (12, &json!("/q"), None));
    let printed = used["output"].as_str().unwrap();
    assert!(printed.contains("x/a\t0.1s") && printed.ends_with("x/b\t0.1s\n"), "{printed}");
    assert_eq!(of(events_of(codex::AGENT, &end(1))).1["outcome"], "failed");
    // It never ended.
    let (_, used) = of(events_of(codex::AGENT, &[outlived, output(12, "p2", &[done, "still at it"])].concat()));
    assert_eq!(used["outcome"], "unknown");
    // The script is waited for only once, and says nothing about an exit code.
    let (at, used) =
        of(events_of(codex::AGENT, &[begun.clone(), output(4, "w1", &[done, "ok  \tx/a\t0.1s"])].concat()));
    assert_eq!((at, &used["outcome"]), (4, &json!("unknown")));
    let (_, used) =
        of(events_of(codex::AGENT, &[begun, output(4, "w1", &["Script failed\nOutput:\n", "no"])].concat()));
    assert_eq!(used["outcome"], "failed");
    // Where the client reports the command itself, the script is not a second one.
    let nested = json!({"type": "exec_command_end", "call_id": "own", "command": ["mise", "run", "check"], "exit_code": 0, "aggregated_output": ""});
    let told = [
        format!("{meta}\n"),
        call(1, "run", "exec", script),
        format!("{}\n", json!({"timestamp": "2026-02-03T09:00:02Z", "type": "event_msg", "payload": nested})),
        output(3, "run", &[done, "x"]),
    ]
    .concat();
    let commands =
        events_of(codex::AGENT, &told).into_iter().filter(|(_, _, event)| event["tool"]["command"].is_string());
    assert_eq!(commands.count(), 1);
}

#[test]
fn text_from_the_client_is_not_a_prompt() {
    for words in [
        "<environment_context>x</environment_context>",
        "  <user_instructions>x</user_instructions>",
        "# AGENTS.md instructions for /x",
        "<turn_aborted>",
        " ",
    ] {
        let line = json!({"timestamp": "2026-02-03T09:00:01Z", "type": "event_msg", "payload": {"type": "user_message", "message": words}});
        let meta =
            json!({"timestamp": "2026-02-03T09:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}});
        assert_eq!(events_of(codex::AGENT, &format!("{meta}\n{line}")), [], "{words}");
    }
}

#[test]
fn a_tool_use_without_an_id_is_matched_by_its_arguments() {
    let args = json!({"path": "/home/dev/hydra/README.md"});
    let hook_event = json!({"sessionId": "cop-1", "timestamp": 1, "cwd": "/home/dev/hydra", "toolName": "view", "toolArgs": args,
        "toolResult": {"resultType": "success", "textResultForLlm": "hi"}});
    let hook_event = hook_event.to_string();
    let hook_event = crate::parse(&BUILT_IN, copilot::AGENT, hook_event.as_bytes()).unwrap().unwrap();
    let read = super::read(&BUILT_IN, copilot::AGENT, COPILOT.as_bytes()).unwrap();
    assert_eq!(shared_part(&hook_event.key), shared_part(&read.events[9].key));
    let args = json!({"file_path": "README.md"});
    let hook_event = json!({"session_id": "gem-1", "cwd": "/x", "hook_event_name": "AfterTool", "timestamp": "2026-02-03T09:00:08Z",
        "tool_name": "read_file", "tool_input": args, "tool_response": {"llmContent": "hi"}});
    let hook_event = hook_event.to_string();
    let hook_event = crate::parse(&BUILT_IN, gemini::AGENT, hook_event.as_bytes()).unwrap().unwrap();
    let read = super::read(&BUILT_IN, gemini::AGENT, GEMINI.as_bytes()).unwrap();
    assert_eq!(shared_part(&hook_event.key), shared_part(&read.events[4].key));
    assert!(shared_part(&hook_event.key).is_some());
    for key in ["call_1-2", "toolu_1", "tool-abc-1", "prompt-x", "stop-0123456789abcdef-1"] {
        assert_eq!(shared_part(key), None, "{key}");
    }
}

#[test]
fn a_use_that_a_hook_reported_is_not_in_flight() {
    let began_at = Timestamp::parse("2026-02-03T09:00:10Z").unwrap();
    let open =
        |key: &str| UnfinishedCall { key: key.to_string(), began_at, tool: "x".to_string(), target: None, edit: None };
    let earlier = Timestamp::parse("2026-02-03T09:00:09Z").unwrap();
    for (key, known, at, is_finished) in [
        ("call_1", "call_1", earlier, true),
        ("call_1", "call_11", began_at, false),
        ("tool-0123456789abcdef-aa", "tool-0123456789abcdef-bb", began_at, true),
        ("tool-0123456789abcdef-aa", "tool-0123456789abcdef-bb", earlier, false),
        ("tool-0123456789abcdef-aa", "tool-0000456789abcdef-bb", began_at, false),
    ] {
        let known = HashMap::from([(known.to_string(), at)]);
        assert_eq!(open(key).is_finished(&known), is_finished, "{key} {known:?}");
    }
}

#[test]
fn an_unfinished_edit_is_named_by_its_file() {
    let patch = "*** Begin Patch\n*** Update File: src/store.rs\n@@\n-a\n+b\n*** End Patch";
    let meta =
        json!({"timestamp": "2026-02-03T09:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}});
    let call = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch});
    let call = json!({"timestamp": "2026-02-03T09:00:01Z", "type": "response_item", "payload": call});
    let text = format!("{meta}\n{call}");
    assert_eq!(unfinished(&read(&BUILT_IN, codex::AGENT, text.as_bytes()).unwrap())[0].1, "apply_patch: src/store.rs");
    for (tool, input, shown) in [
        ("write", json!({"filePath": "/home/dev/hydra/src/a.go", "content": "x"}), "write: src/a.go"),
        ("edit", json!({"filePath": "/elsewhere/a.go", "newString": "x"}), "edit: /elsewhere/a.go"),
        ("bash", json!({"command": "./run.sh"}), "bash: ./run.sh"),
        ("todowrite", json!({}), "todowrite"),
    ] {
        let part = json!({"type": "tool", "callID": "c", "tool": tool, "state": {"status": "running", "input": input}});
        let message = json!({"info": {"id": "m", "role": "assistant", "time": {"created": 1}}, "parts": [part]});
        let text = json!({"info": {"id": "s"}, "messages": [message]}).to_string();
        assert_eq!(unfinished(&read(&BUILT_IN, opencode::AGENT, text.as_bytes()).unwrap())[0].1, shown);
    }
}

/// Each agent announces a tool use, uses the tool, and is cut off before its turn ends.
#[test]
fn a_message_before_a_tool_use_does_not_end_a_turn() {
    let codex =
        |kind: &str, payload: Value| json!({"timestamp": "2026-02-03T09:00:00Z", "type": kind, "payload": payload});
    let copilot =
        |kind: &str, data: Value| json!({"type": kind, "id": "e", "timestamp": "2026-02-03T09:00:00Z", "data": data});
    let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let call = json!({"id": "w", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"});
    let state = json!({"status": "completed", "input": {"command": "ls"}});
    let texts = [
        (
            codex::AGENT,
            lines(&[
                codex("session_meta", json!({"id": "s"})),
                codex("event_msg", json!({"type": "agent_message", "message": "I will look."})),
                codex("response_item", json!({"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"})),
                codex("response_item", json!({"type": "function_call_output", "call_id": "c", "output": "x"})),
            ]),
        ),
        (
            copilot::AGENT,
            lines(&[
                copilot("session.start", json!({"sessionId": "s"})),
                copilot("assistant.message", json!({"content": "I will look."})),
                copilot("tool.execution_start", json!({"toolCallId": "t", "toolName": "bash", "arguments": {}})),
                copilot("tool.execution_complete", json!({"toolCallId": "t", "success": true})),
            ]),
        ),
        (
            gemini::AGENT,
            lines(&[
                json!({"sessionId": "s", "kind": "main"}),
                json!({"id": "m", "timestamp": "2026-02-03T09:00:00Z", "type": "gemini", "content": "I will look.", "toolCalls": [call]}),
            ]),
        ),
        (
            opencode::AGENT,
            json!({"info": {"id": "s"}, "messages": [{"info": {"id": "m", "role": "assistant", "time": {"created": 1}},
                "parts": [{"type": "text", "text": "I will look."}, {"type": "tool", "callID": "c", "tool": "bash", "state": state}]}]})
            .to_string(),
        ),
        (
            claude_code::AGENT,
            lines(&[
                json!({"type": "assistant", "uuid": "u1", "sessionId": "s", "timestamp": "2026-02-03T09:00:00Z", "message": {"content": [
                    {"type": "text", "text": "I will look."}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}}),
                json!({"type": "user", "uuid": "u2", "sessionId": "s", "timestamp": "2026-02-03T09:00:00Z", "message": {"content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "x"}]}}),
            ]),
        ),
    ];
    for (agent, text) in texts {
        let read = read(&BUILT_IN, agent, text.as_bytes()).unwrap();
        assert!(
            matches!(read.events[..], [TranscriptEvent { event: Event::Tool(_), .. }]),
            "{agent}: {:?}",
            read.events
        );
    }
}

#[test]
fn damage_is_counted_and_skipped() {
    for (agent, text) in ALL.into_iter().filter(|(_, text)| !text.starts_with("{\n")) {
        let damaged = format!("not json\n{{\"type\":\n{text}\n[\n\u{0}\n");
        let (whole, damaged) =
            (read(&BUILT_IN, agent, text.as_bytes()).unwrap(), read(&BUILT_IN, agent, damaged.as_bytes()).unwrap());
        assert_eq!((damaged.events, damaged.damaged_lines), (whole.events, 4), "{agent}");
    }
    let cut = &OPENCODE[..OPENCODE.len() - 20];
    let read = crate::opencode::transcript::read(&BUILT_IN, cut.as_bytes()).unwrap();
    assert_eq!((read.events.len(), read.damaged_lines), (11, 1), "the session that is whole is read");
}

const ODD: [&str; 12] = [
    "null",
    "true",
    "-1",
    "1e99",
    "\"\"",
    "\"\\u0000<x\"",
    "\"*** Begin Patch\\n*** Add File: \"",
    "[]",
    "[[1]]",
    "{}",
    "{\"text\":{}}",
    "99999999999999999999",
];

/// The `number`-th value in `value`, counting `value` itself.
fn nth<'v>(value: &'v mut Value, number: &mut usize) -> Option<&'v mut Value> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, number)),
        Value::Object(entries) => entries.values_mut().find_map(|item| nth(item, number)),
        _ => None,
    }
}

fn bounded(read: &Transcript) {
    for event in &read.events {
        assert!(serde_json::to_string(&event.event).unwrap().len() < 256 * 1024);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for profile in crate::ALL {
            read(&BUILT_IN, profile.agent, &bytes).iter().for_each(bounded);
        }
    }

    #[test]
    fn any_truncation_is_survived(which in 0..ALL.len(), start in any::<prop::sample::Index>(), end in any::<prop::sample::Index>()) {
        let (agent, text) = ALL[which];
        let (start, end) = (start.index(text.len()), end.index(text.len()));
        bounded(&read(&BUILT_IN, agent, &text.as_bytes()[start.min(end)..start.max(end)]).unwrap());
        bounded(&read(&BUILT_IN, agent, &text.as_bytes()[..end]).unwrap());
    }

    #[test]
    fn any_value_in_any_place_is_survived(which in 0..ALL.len(), line in any::<prop::sample::Index>(), number in 0usize..60, odd in 0..ODD.len()) {
        let (agent, text) = ALL[which];
        let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let mut documents: Vec<Value> = documents.map(|value| value.unwrap()).collect();
        let line = line.index(documents.len());
        let mut number = number;
        if let Some(place) = nth(&mut documents[line], &mut number) {
            *place = serde_json::from_str(ODD[odd]).unwrap();
        }
        let text = documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        bounded(&read(&BUILT_IN, agent, text.as_bytes()).unwrap());
    }

    #[test]
    fn any_record_is_survived(agent in prop::sample::select(crate::ALL.map(|profile| profile.agent).to_vec()), record in "\\{(\"(type|payload|data|info|messages|id|item|\\$set)\":(\\{\\}|\\[\\]|1|\"session_meta\"|\"event_msg\"),?){0,4}\\}") {
        read(&BUILT_IN, agent, record.as_bytes()).iter().for_each(bounded);
    }
}

#[test]
fn calls_that_wait_for_their_answer_are_limited() {
    let mut calls = Pending::default();
    for number in 0..4_140 {
        calls.insert(&number.to_string(), 1, number);
    }
    assert_eq!((calls.remove("43"), calls.remove("44"), calls.remove("4139")), (None, Some(44), Some(4_139)));
    calls.insert("large", 20 * 1024 * 1024, 0);
    assert_eq!(calls.take().map(|(id, _)| id).collect::<Vec<_>>(), ["large"], "the newest is kept");
    calls.insert("twice", 1, 1);
    calls.insert("twice", 1, 2);
    assert_eq!(calls.take().collect::<Vec<_>>(), [("twice".to_string(), 2)]);
}

#[test]
fn a_transcript_read_in_pieces_is_the_same() {
    for (agent, text) in ALL {
        let mut reader = TranscriptReader::new(&BUILT_IN, agent).unwrap();
        if reader.form == TranscriptForm::Whole || text == GEMINI_OLDER {
            continue;
        }
        let mut events = Vec::new();
        for line in text.split_inclusive('\n') {
            reader.line(line.as_bytes());
            events.append(&mut reader.read().events);
        }
        let rest = reader.finish();
        events.extend(rest.events);
        let whole = read(&BUILT_IN, agent, text.as_bytes()).unwrap();
        assert_eq!((events, rest.prompts, rest.in_flight), (whole.events, whole.prompts, whole.in_flight), "{agent}");
    }
}

#[test]
fn each_agents_own_title_is_read() {
    let at = "2026-01-22T13:35:01Z";
    let codex = [
        json!({"timestamp": at, "type": "session_meta", "payload": {"id": "s", "cwd": "/p"}}),
        json!({"timestamp": at, "type": "event_msg",
            "payload": {"type": "thread_name_updated", "thread_name": "Fix the race"}}),
    ];
    let copilot = [
        json!({"type": "session.start", "timestamp": at, "data": {"sessionId": "s", "context": {"cwd": "/p"}}}),
        json!({"type": "session.title_changed", "timestamp": at, "data": {"title": "Fix the race"}}),
    ];
    let gemini = [
        json!({"sessionId": "s", "startTime": at, "directories": ["/p"]}),
        json!({"id": "1", "timestamp": at, "type": "user", "content": "hi"}),
        json!({"$set": {"summary": "Fix the race"}}),
    ];
    let opencode = |title: &str| {
        let time = json!({"created": 1_769_088_901_000_i64});
        [json!({"info": {"id": "s", "directory": "/p", "title": title},
            "messages": [{"info": {"id": "m", "role": "user", "time": time}, "parts": [{"type": "text", "text": "hi"}]}]})]
    };
    let titles = |agent: &str, lines: &[Value]| -> Vec<String> {
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let read = read(&BUILT_IN, Agent::from_name(agent).unwrap(), text.as_bytes()).unwrap();
        let titles = read.events.iter().filter_map(|told| match &told.event {
            Event::Title { text, .. } => Some(text.to_string()),
            _ => None,
        });
        titles.collect()
    };
    assert_eq!(titles("codex", &codex), ["Fix the race"]);
    assert_eq!(titles("copilot", &copilot), ["Fix the race"]);
    assert_eq!(titles("gemini", &gemini), ["Fix the race"]);
    assert_eq!(titles("opencode", &opencode("Fix the race")), ["Fix the race"]);
    assert_eq!(titles("opencode", &opencode("New session - 2026-01-22T13:35:01Z")), [""; 0]);
}

/// The prompts of a transcript, each as the words it was made of and where it is from.
fn sources(agent: Agent, lines: &[Value], words: &[&str]) -> Vec<(String, Option<&'static str>)> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = read(&BUILT_IN, agent, text.as_bytes()).unwrap();
    let named = |key: &str| words.iter().find(|words| key.starts_with(&crate::key::prompt_key_prefix(words)));
    let shown = |seen: &SeenPrompt| (named(&seen.key).unwrap().to_string(), seen.source.map(MemorySource::word));
    assert!(read.prompts.iter().all(|seen| &*seen.session == "s"));
    read.prompts.iter().map(shown).collect()
}

fn expected(all: &[(&str, Option<&'static str>)]) -> Vec<(String, Option<&'static str>)> {
    all.iter().map(|(words, source)| (words.to_string(), *source)).collect()
}

/// As Claude Code 2.1.326 writes them.
#[test]
fn claude_code_marks_scheduled_and_headless_prompts() {
    let line = |words: &str, extra: Value| {
        let mut line = json!({"type": "user", "message": {"role": "user", "content": words}, "uuid": words,
            "timestamp": "2026-02-03T09:00:00.000Z", "isSidechain": false, "userType": "external", "entrypoint": "cli",
            "cwd": "/home/dev/hydra", "sessionId": "s", "version": "2.1.326", "gitBranch": "main"});
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    let typed = json!({"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"});
    let scheduled = json!({"isMeta": true, "promptSource": "system", "queueSkipSlashCommands": true,
        "wakeupSource": "schedule_wakeup", "scheduledTaskId": "9b706a40", "turnOrigin": "scheduled"});
    let printed = json!({"promptSource": "sdk", "turnOrigin": "sdk", "entrypoint": "sdk-cli"});
    let lines = [line("Use tabs", typed), line("Push to main", scheduled), line("Use pnpm", printed)];
    let found = sources(claude_code::AGENT, &lines, &["Use tabs", "Push to main", "Use pnpm"]);
    let marks = [("Use tabs", None), ("Push to main", Some("scheduled")), ("Use pnpm", Some("headless"))];
    assert_eq!(found, expected(&marks));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let events = events_of(claude_code::AGENT, &text);
    let events: Vec<&Value> = events.iter().map(|(_, _, event)| event).collect();
    assert_eq!(events, [&prompt("Use tabs"), &prompt("Use pnpm")], "what the client sends is no event");
}

/// As Codex 0.121 to 0.166 write them.
#[test]
fn codex_marks_sessions_and_turns_that_nobody_typed() {
    let meta = |source: Value| {
        let payload = json!({"id": "s", "cwd": "/home/dev/hydra", "originator": "x", "source": source});
        json!({"timestamp": "2026-02-03T09:00:00Z", "type": "session_meta", "payload": payload})
    };
    let message =
        |payload: Value| json!({"timestamp": "2026-02-03T09:00:01Z", "type": "event_msg", "payload": payload});
    let turn = |trigger: &str| {
        let attribution = json!({"turn_id": "t", "turn_trigger": trigger, "parent_turn_id": null});
        message(json!({"type": "task_started", "turn_id": "t", "turn_attribution": attribution}))
    };
    let said = |words: &str| message(json!({"type": "user_message", "message": words}));
    let item = |words: &str| {
        let item = json!({"type": "UserMessage", "id": words, "content": [{"type": "text", "text": words}]});
        message(json!({"type": "item_completed", "turn_id": "t", "item": item}))
    };
    let older = || message(json!({"type": "task_started", "turn_id": "t"}));
    let source_of = |lines: &[Value]| sources(codex::AGENT, lines, &["Use tabs"]).remove(0).1;
    for (lines, source) in [
        ([meta(json!("cli")), older(), said("Use tabs")], None),
        ([meta(json!("vscode")), older(), said("Use tabs")], None),
        ([meta(json!("exec")), older(), said("Use tabs")], Some("headless")),
        ([meta(json!("mcp")), older(), item("Use tabs")], Some("headless")),
        ([meta(json!("cli")), turn("user"), item("Use tabs")], None),
        ([meta(json!("exec")), turn("exec"), item("Use tabs")], Some("headless")),
        // It went on in the other program.
        ([meta(json!("cli")), turn("exec"), item("Use tabs")], Some("headless")),
        ([meta(json!("exec")), turn("user"), item("Use tabs")], None),
        ([meta(json!("cli")), turn("heartbeat"), item("Use tabs")], Some("client")),
    ] {
        assert_eq!(source_of(&lines), source, "{lines:?}");
    }
}

/// As the schema of Copilot CLI 1.0.102 describes them.
#[test]
fn copilot_marks_schedules_skills_and_continuations() {
    let start = json!({"type": "session.start", "id": "0", "timestamp": "2026-02-03T09:00:00Z",
        "data": {"sessionId": "s", "context": {"cwd": "/home/dev/hydra"}}});
    let said = |extra: Value| {
        let mut data = json!({"content": "Use tabs", "delivery": "idle"});
        data.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"type": "user.message", "id": "1", "timestamp": "2026-02-03T09:00:01Z", "data": data})
    };
    for (extra, source) in [
        (json!({}), None),
        (json!({"source": "user"}), None),
        (json!({"source": "schedule-3"}), Some("scheduled")),
        (json!({"source": "skill-pdf"}), Some("client")),
        (json!({"source": "agent-7"}), Some("client")),
        (json!({"isAutopilotContinuation": true}), Some("client")),
    ] {
        let found = sources(copilot::AGENT, &[start.clone(), said(extra.clone())], &["Use tabs"]);
        assert_eq!(found, expected(&[("Use tabs", source)]), "{extra}");
    }
}

/// As Qwen Code 0.24.4 writes them.
#[test]
fn qwen_code_marks_schedules_notifications_and_goals() {
    let said = |extra: Value| {
        let mut line = json!({"uuid": "1", "sessionId": "s", "timestamp": "2026-02-03T09:00:00Z", "type": "user",
            "cwd": "/home/dev/hydra", "message": {"role": "user", "parts": [{"text": "Use tabs"}]}});
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    for (extra, source) in [
        (json!({}), None),
        (json!({"provenance": "real_user"}), None),
        (json!({"provenance": "system", "subtype": "cron", "systemPayload": {"displayText": "x"}}), Some("scheduled")),
        (json!({"provenance": "system", "subtype": "notification"}), Some("client")),
        (json!({"provenance": "goal_runtime", "subtype": "goal_runtime"}), Some("client")),
        (json!({"provenance": "something_new"}), Some("client")),
    ] {
        let found = sources(qwen_code::AGENT, &[said(extra.clone())], &["Use tabs"]);
        assert_eq!(found, expected(&[("Use tabs", source)]), "{extra}");
    }
}

/// As Cline 3.0.65 writes them.
#[test]
fn cline_marks_sessions_that_a_schedule_began() {
    for (origin, source) in [
        (json!({"source": "cli", "sessionId": "s"}), None),
        (json!({"source": "cli", "mode": "user", "sessionId": "s"}), None),
        (json!({"source": "core", "mode": "automation", "trigger": "hub-schedule"}), Some("scheduled")),
        (json!({"source": "core", "mode": "import"}), Some("client")),
    ] {
        let text = json!([{"type": "text", "text": "Use tabs"}]);
        let message = json!({"id": "m1", "role": "user", "ts": 1_770_000_000_000_u64, "content": text});
        let file = json!({"sessionId": "s", "origin": origin, "messages": [message]});
        let found = sources(cline::AGENT, std::slice::from_ref(&file), &["Use tabs"]);
        assert_eq!(found, expected(&[("Use tabs", source)]), "{file}");
    }
}

#[test]
fn prompts_with_the_same_words_are_told_apart_by_their_order() {
    let key = |words: &str, number: usize| crate::key::prompt_key(words, number.to_string().as_bytes());
    let (typed, cron) = (None, Some(MemorySource::Scheduled));
    let (person, untyped, unseen) = (Sender::Person, Sender::Untyped(MemorySource::Scheduled), Sender::Unseen);
    for (seen, reported, verdicts) in [
        (&[typed, cron, cron][..], 3, &[person, untyped, untyped][..]),
        // Hooks were installed after the first one.
        (&[typed, cron], 1, &[untyped]),
        (&[cron, typed], 1, &[person]),
        // The transcript lags behind.
        (&[typed], 2, &[person, unseen]),
        (&[], 1, &[unseen]),
    ] {
        let prompt = |(number, source): (usize, &Option<MemorySource>)| SeenPrompt {
            session: Clean::word("s"),
            key: key("Use tabs", 100 + number),
            source: *source,
            is_undone: false,
            is_unreported: false,
        };
        let mut seen: Vec<SeenPrompt> = seen.iter().enumerate().map(prompt).collect();
        seen.push(SeenPrompt {
            session: Clean::word("s"),
            key: key("Go on", 1),
            source: cron,
            is_undone: false,
            is_unreported: false,
        });
        let keys: Vec<Clean> = (0..reported).map(|number| key("Use tabs", number)).collect();
        let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
        let found: Vec<Sender> = senders(&keys, &seen).into_iter().map(|(_, sender)| sender).collect();
        assert_eq!(found, verdicts, "{seen:?}");
    }
}
