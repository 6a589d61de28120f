//! Every door through which a text reaches what is stored: each agent's hook, each agent's transcripts, the commands,
//! the MCP server, files of the original tool. And the look at everything that came of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use cerberus_archive::segment::{FoundBlock, each_block, segments};
use cerberus_os::home::Home;
use serde_json::{Value, json};

use crate::env::TestEnv;

pub const AGENTS: [&str; 8] = ["claude-code", "codex", "gemini", "opencode", "cursor", "copilot", "qwen-code", "cline"];
pub const IMPORTED: [&str; 7] = ["claude-code", "codex", "gemini", "opencode", "copilot", "qwen-code", "cline"];

/// What an agent's session says and does.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    pub prompt: &'a str,
    pub command: &'a str,
    pub output: &'a str,
    pub path: &'a str,
    pub content: &'a str,
    pub message: &'a str,
}

/// Tells the story through an agent's hook, from start to end; what was replied.
pub fn hooks(env: &TestEnv, agent: &str, cwd: &Path, story: Story) -> String {
    let replies = payloads(agent, cwd, story).into_iter().map(|payload| {
        let output: Output = env.hook_of(agent, payload.to_string().as_bytes());
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{agent} {payload}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    replies.collect()
}

fn payloads(agent: &str, cwd: &Path, story: Story) -> Vec<Value> {
    let path = cwd.join(story.path);
    let base = match agent {
        "opencode" | "cline" => json!({"sessionID": "s1", "cwd": cwd}),
        "cursor" => json!({"conversation_id": "s1", "workspace_roots": [cwd], "generation_id": "g"}),
        "copilot" => json!({"sessionId": "s1", "cwd": cwd}),
        _ => json!({"session_id": "s1", "cwd": cwd, "transcript_path": null}),
    };
    let said = match agent {
        "claude-code" | "codex" => claude_code_payloads(agent, &path, story),
        "gemini" => gemini_payloads(agent, &path, story),
        "qwen-code" => qwen_code_payloads(agent, &path, story),
        "opencode" => opencode_payloads(agent, &path, story),
        "cursor" => cursor_payloads(agent, &path, story),
        "copilot" => copilot_payloads(agent, &path, story),
        "cline" => cline_payloads(agent, &path, story),
        other => panic!("no story of {other}"),
    };
    said.iter().map(|said| merged(base.clone(), said)).collect()
}

fn named(event: &str, extra: Value) -> Value {
    merged(json!({"hook_event_name": event}), &extra)
}

fn claude_code_payloads(agent: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        named("SessionStart", json!({"source": "startup"})),
        named("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p", "turn_id": "p"})),
        named(
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": command},
                "tool_response": if agent == "codex" { json!(output) } else { json!({"stdout": output}) }}),
        ),
        named(
            "PostToolUse",
            match agent {
                "codex" => json!({"tool_name": "apply_patch", "tool_use_id": "w", "tool_input": {"command":
                    format!("*** Begin Patch\n*** Add File: {}\n+{content}\n*** End Patch", path.display())},
                    "tool_response": "Exit code: 0\nOutput:\nSuccess."}),
                _ => {
                    json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"file_path": path, "content": content}})
                }
            },
        ),
        named("Stop", json!({"last_assistant_message": message, "turn_id": "p"})),
        named("SessionEnd", json!({"reason": "other"})),
    ]
}

fn gemini_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        named("SessionStart", json!({"timestamp": "t1", "source": "startup"})),
        named("BeforeAgent", json!({"timestamp": "t2", "prompt": prompt})),
        named(
            "AfterTool",
            json!({"timestamp": "t3", "tool_name": "run_shell_command",
                "tool_input": {"command": command}, "tool_response": {"llmContent": format!("Output: {output}")}}),
        ),
        named(
            "AfterTool",
            json!({"timestamp": "t4", "tool_name": "write_file",
                "tool_input": {"file_path": path, "content": content}}),
        ),
        named("AfterAgent", json!({"timestamp": "t5", "prompt": prompt, "prompt_response": message})),
        named("SessionEnd", json!({"timestamp": "t6", "reason": "exit"})),
    ]
}

fn qwen_code_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        named("SessionStart", json!({"timestamp": "t1", "source": "startup"})),
        named("UserPromptSubmit", json!({"timestamp": "t2", "prompt": prompt})),
        named(
            "PostToolUse",
            json!({"timestamp": "t3", "tool_name": "run_shell_command", "tool_input": {"command": command},
                "tool_response": {"llmContent": format!("Command: x\nOutput: {output}\nExit Code: 0")}}),
        ),
        named(
            "PostToolUse",
            json!({"timestamp": "t4", "tool_name": "write_file",
                "tool_input": {"file_path": path, "content": content}}),
        ),
        named("Stop", json!({"timestamp": "t5", "last_assistant_message": message})),
        named("SessionEnd", json!({"timestamp": "t6", "reason": "other"})),
    ]
}

fn opencode_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        json!({"event": "start", "at": 1}),
        json!({"event": "prompt", "at": 2, "id": "m", "text": prompt}),
        json!({"event": "tool", "at": 3, "id": "c", "tool": "bash", "args": {"command": command}, "output": output}),
        json!({"event": "tool", "at": 4, "id": "w", "tool": "write", "args": {"filePath": path, "content": content}}),
        json!({"event": "stop", "at": 5, "id": "e", "text": message}),
    ]
}

fn cursor_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        named("sessionStart", json!({})),
        named("beforeSubmitPrompt", json!({"prompt": prompt})),
        named(
            "postToolUse",
            json!({"tool_name": "Shell", "tool_use_id": "c", "tool_input": {"command": command},
                "tool_output": json!({"output": output}).to_string()}),
        ),
        named(
            "postToolUse",
            json!({"tool_name": "Write", "tool_use_id": "w",
                "tool_input": {"file_path": path, "content": content}}),
        ),
        named("afterAgentResponse", json!({"text": message})),
    ]
}

fn copilot_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, .. } = story;
    vec![
        json!({"timestamp": 1, "source": "new"}),
        json!({"timestamp": 2, "prompt": prompt}),
        json!({"timestamp": 3, "toolName": "bash", "toolArgs": {"command": command},
                "toolResult": {"resultType": "success", "textResultForLlm": format!("{output}\n<exit code 0>")}}),
        json!({"timestamp": 4, "toolName": "create", "toolArgs": {"path": path, "file_text": content},
                "toolResult": {"resultType": "success"}}),
    ]
}

fn cline_payloads(_: &str, path: &Path, story: Story) -> Vec<Value> {
    let Story { prompt, command, output, content, message, .. } = story;
    vec![
        json!({"event": "start", "at": 1}),
        json!({"event": "prompt", "at": 2, "id": "m", "text": prompt}),
        json!({"event": "tool", "at": 3, "id": "c", "tool": "run_commands", "args": {"command": command},
            "output": output}),
        json!({"event": "tool", "at": 4, "id": "w", "tool": "editor", "args": {"path": path, "new_text": content},
            "output": "File created successfully"}),
        json!({"event": "stop", "at": 5, "text": message}),
        json!({"event": "end", "at": 6, "reason": "SIGTERM"}),
    ]
}

fn merged(mut base: Value, extra: &Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

/// The same story as an agent writes it down itself; the file is what `import` takes.
pub fn transcript(env: &TestEnv, agent: &str, cwd: &Path, story: Story) -> PathBuf {
    let path = cwd.join(story.path);
    let text = match agent {
        "claude-code" => claude_code_transcript(cwd, &path, story),
        "codex" => codex_transcript(cwd, &path, story),
        "gemini" => gemini_transcript(cwd, &path, story),
        "opencode" => opencode_transcript(cwd, &path, story),
        "copilot" => copilot_transcript(cwd, &path, story),
        "qwen-code" => qwen_code_transcript(cwd, &path, story),
        "cline" => cline_transcript(cwd, &path, story),
        other => panic!("no transcript of {other}"),
    };
    // The files of Gemini and Cline say nothing of their folder; these stand above and beside them.
    let folder = env.root().join("kept").join(agent).join("chats");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.with_file_name(".project_root"), cwd.to_str().unwrap()).unwrap();
    std::fs::write(folder.join("chats.json"), json!({ "cwd": cwd }).to_string()).unwrap();
    let file = folder.join(match agent {
        "opencode" => "old.json",
        "cline" => "old.messages.json",
        _ => "session-old.jsonl",
    });
    std::fs::write(&file, text).unwrap();
    file
}

fn at(second: u32) -> String {
    format!("2026-01-21T10:00:{second:02}.500Z")
}

fn claude_code_transcript(cwd: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let line = |kind: &str, n: u32, extra: Value| {
        merged(
            json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "old", "cwd": cwd, "timestamp": at(n)}),
            &extra,
        )
    };
    let tool = |n: u32, id: &str, name: &str, input: Value, result: Value| {
        let used = json!({"message": {"content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}});
        let answer = json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
        [
            line("assistant", n, used),
            line("user", n + 1, json!({"message": {"content": [answer]}, "toolUseResult": result})),
        ]
    };
    let mut all = vec![line("user", 1, json!({"message": {"content": prompt}}))];
    all.extend(tool(2, "c", "Bash", json!({"command": command}), json!({"stdout": output})));
    all.extend(tool(4, "w", "Write", json!({"file_path": path, "content": content}), json!({"type": "create"})));
    all.push(line("assistant", 6, json!({"message": {"content": [{"type": "text", "text": message}]}})));
    lines(&all)
}

fn codex_transcript(cwd: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let line = |n, kind: &str, payload: Value| json!({"timestamp": at(n), "type": kind, "payload": payload});
    let patch = format!("*** Begin Patch\n*** Add File: {}\n+{content}\n*** End Patch", path.display());
    let shell = json!({"command": ["bash", "-lc", command]}).to_string();
    lines(&[
        line(0, "session_meta", json!({"id": "old", "cwd": cwd, "source": "cli"})),
        line(1, "event_msg", json!({"type": "user_message", "message": prompt})),
        line(2, "response_item", json!({"type": "function_call", "name": "shell", "call_id": "c", "arguments": shell})),
        line(3, "response_item", json!({"type": "function_call_output", "call_id": "c", "output": output})),
        line(
            4,
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "w", "input": patch}),
        ),
        line(
            5,
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "w", "output": "Exit code: 0\nOutput:\nSuccess."}),
        ),
        line(6, "event_msg", json!({"type": "task_complete", "turn_id": "t", "last_agent_message": message})),
    ])
}

fn gemini_transcript(_: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let write = json!({"id": "w", "name": "write_file", "args": {"file_path": path, "content": content}, "status": "success", "timestamp": at(3)});
    let shell = json!({"id": "c", "name": "run_shell_command", "args": {"command": command}, "status": "success", "timestamp": at(2), "resultDisplay": output});
    lines(&[
        json!({"sessionId": "old", "projectHash": "9", "startTime": at(0), "kind": "main"}),
        json!({"id": "m1", "timestamp": at(1), "type": "user", "content": [{"text": prompt}]}),
        json!({"id": "m2", "timestamp": at(4), "type": "gemini", "content": message, "toolCalls": [shell, write]}),
    ])
}

fn opencode_transcript(cwd: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let made = |n: u64| json!({"created": 1_768_989_600_000 + n});
    let state = |input: Value, output: &str| json!({"status": "completed", "input": input, "output": output, "time": {"end": 1_768_989_602_000_u64}});
    let parts = json!([
        {"type": "tool", "callID": "c", "tool": "bash", "state": state(json!({"command": command}), output)},
        {"type": "tool", "callID": "w", "tool": "write", "state": state(json!({"filePath": path, "content": content}), "ok")},
        {"type": "text", "text": message},
    ]);
    let asked =
        json!({"info": {"id": "m1", "role": "user", "time": made(1)}, "parts": [{"type": "text", "text": prompt}]});
    let done = json!({"info": {"id": "m2", "role": "assistant", "time": made(2)}, "parts": parts});
    json!({"info": {"id": "old", "directory": cwd}, "messages": [asked, done]}).to_string()
}

fn copilot_transcript(cwd: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let line = |n: u32, kind: &str, data: Value| json!({"type": kind, "id": format!("e{n}"), "timestamp": at(n), "data": data});
    lines(&[
        line(0, "session.start", json!({"sessionId": "old", "context": {"cwd": cwd, "gitRoot": cwd}})),
        line(1, "user.message", json!({"content": prompt})),
        line(
            2,
            "tool.execution_start",
            json!({"toolCallId": "c", "toolName": "bash", "arguments": {"command": command}}),
        ),
        line(3, "tool.execution_complete", json!({"toolCallId": "c", "success": true, "result": {"content": output}})),
        line(
            4,
            "tool.execution_start",
            json!({"toolCallId": "w", "toolName": "create", "arguments": {"path": path, "file_text": content}}),
        ),
        line(
            5,
            "tool.execution_complete",
            json!({"toolCallId": "w", "success": true, "result": {"content": "Created"}}),
        ),
        line(6, "assistant.message", json!({"content": message})),
    ])
}

fn qwen_code_transcript(cwd: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let line = |n: u32, kind: &str, parts: Value| {
        json!({"uuid": format!("u{n}"), "sessionId": "old", "timestamp": at(n), "cwd": cwd, "type": kind,
                    "message": {"parts": parts}, "toolCallResult": {"status": "success"}})
    };
    let call = |id: &str, name: &str, args: Value| json!([{"functionCall": {"id": id, "name": name, "args": args}}]);
    let answer = |id: &str, output: &str| json!([{"functionResponse": {"id": id, "response": {"output": output}}}]);
    let printed = format!("Command: x\nOutput: {output}\nExit Code: 0");
    lines(&[
        line(1, "user", json!([{"text": prompt}])),
        line(2, "assistant", call("c", "run_shell_command", json!({"command": command}))),
        line(3, "tool_result", answer("c", &printed)),
        line(4, "assistant", call("w", "write_file", json!({"file_path": path, "content": content}))),
        line(5, "tool_result", answer("w", "ok")),
        line(6, "assistant", json!([{"text": message}])),
    ])
}

fn cline_transcript(_: &Path, path: &Path, story: Story) -> String {
    let Story { prompt, command, output, content, message, .. } = story;
    let said = |n: u64, role: &str, content: Value| json!({"id": format!("m{n}"), "role": role, "content": content, "ts": 1_768_989_600_000 + n});
    let used =
        |id: &str, name: &str, input: Value| json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let done = |id: &str, content: Value| json!([{"type": "tool_result", "tool_use_id": id, "content": content}]);
    let asked = format!("<user_input mode=\"act\">{prompt}</user_input>");
    let made = json!({"query": "edit", "result": "File created successfully", "success": true}).to_string();
    let messages = json!([
        said(1, "user", json!([{"type": "text", "text": asked}])),
        said(2, "assistant", used("c", "run_commands", json!({"commands": [command]}))),
        said(3, "user", done("c", json!([{"query": command, "result": output, "success": true}]))),
        said(4, "assistant", used("w", "editor", json!({"path": path, "new_text": content}))),
        said(5, "user", done("w", json!(made))),
        said(6, "assistant", json!([{"type": "text", "text": message}])),
    ]);
    json!({"version": 1, "agent": "lead", "sessionId": "old", "messages": messages}).to_string()
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Calls tools of the MCP server; everything it said.
pub fn mcp(env: &TestEnv, calls: &[(&str, Value)]) -> String {
    let mut child =
        env.command().arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let mut said = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for (id, (name, arguments)) in calls.iter().enumerate() {
        let params = json!({"name": name, "arguments": arguments});
        said.push(json!({"jsonrpc": "2.0", "id": id + 2, "method": "tools/call", "params": params}));
    }
    child.stdin.take().unwrap().write_all(lines(&said).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The segments of the archive, unpacked.
pub fn archived(env: &TestEnv) -> Vec<(PathBuf, String)> {
    let home = Home::new(env.home());
    let unpacked = |(number, path): (u32, PathBuf)| {
        let mut text = String::new();
        let read = each_block(&home, number, &path, 0, |found| {
            if let FoundBlock::Block(_, block) = found {
                text.push_str(&block.lines.join("\n"));
            }
            Ok(())
        });
        read.map(|()| (path, text)).ok()
    };
    segments(&home).unwrap_or_default().into_iter().filter_map(unpacked).collect()
}

/// The files of the home that hold these bytes anywhere, free pages and logs included.
pub fn holding(env: &TestEnv, words: &str) -> Vec<PathBuf> {
    let mut folders = vec![env.home()];
    let mut found = Vec::new();
    found.extend(archived(env).into_iter().filter(|(_, text)| holds(text.as_bytes(), words)).map(|(path, _)| path));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if holds(&std::fs::read(&path).unwrap_or_default(), words) {
                // A process in the background may have removed it by now.
                found.push(path);
            }
        }
    }
    found
}

pub fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

/// Everything that is printed or exported of what is stored.
pub fn printed(env: &TestEnv) -> String {
    let file = env.root().join("exported.jsonl");
    let mut all = env.ok(&["memory", "export", file.to_str().unwrap()]);
    for args in [
        &["brief", "--explain"][..],
        &["brief", "--json"],
        &["status", "--json"],
        &["memory", "session-status", "--all", "--json"],
        &["memory", "session-history", "--days", "90", "--json"],
        &["memory", "list", "--json"],
        &["memory", "propose", "--json"],
        &["memory", "search", "deploy", "--json"],
        &["session", "export"],
        &["session", "export", "--format", "seed"],
    ] {
        all += &env.ok(args);
    }
    all + &std::fs::read_to_string(file).unwrap()
}
