//! Every agent we live in: what it reports becomes facts, its next session is told them in the one shape it accepts,
//! and what two hooks report of one event counts once.

use std::process::Stdio;

use cerberus_testkit::env::{TestEnv, codes, without_first_line};
use cerberus_testkit::process::{LIMIT, wait_until};
use serde_json::{Value, json};

use crate::env;
use crate::statusline::print;

/// Gives a payload to an agent's hook; what it replied, as JSON.
fn hook(env: &TestEnv, agent: &str, payload: Value) -> Value {
    let output = env.hook_of(agent, payload.to_string().as_bytes());
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{agent} {payload}");
    match output.stdout.as_slice() {
        [] => Value::Null,
        reply => serde_json::from_str(&without_first_line(str::from_utf8(reply).unwrap())).unwrap(),
    }
}

/// The same without what the user is shown.
fn told_by(env: &TestEnv, agent: &str, payload: Value) -> Value {
    let mut reply = hook(env, agent, payload);
    reply.as_object_mut().map(|reply| reply.remove("systemMessage"));
    reply
}

#[test]
fn the_user_sees_how_much_a_session_was_told() {
    let env = env();
    let say = |session: &str, name: &str, extra: Value| {
        let base = json!({"session_id": session, "cwd": env.project(), "hook_event_name": name});
        hook(&env, "claude-code", merged(base, &extra))
    };
    let start = |session: &str, source: &str| say(session, "SessionStart", json!({"source": source}));
    assert_eq!(start("s1", "startup"), Value::Null, "nothing to tell, nothing to show");
    env.write_file("s1", "t1", "a.rs", "pub fn load() {}\n");
    say("s1", "Stop", json!({"last_assistant_message": "I used npm to install it."}));
    say("s1", "UserPromptSubmit", json!({"prompt": "I prefer pnpm here. Install it again"}));
    say("s1", "SessionEnd", json!({"reason": "other"}));
    let proposals = env.json(&["memory", "propose"]);
    let waiting = proposals.as_array().unwrap().iter().filter(|one| one["status"] == "proposed").count();
    assert_eq!(waiting, 1, "one proposal waits");
    let shown = start("s2", "startup")["systemMessage"].as_str().unwrap().to_string();
    let brief = env.json(&["brief"]);
    let (items, tokens) = (brief["items"].as_array().unwrap().len(), &brief["tokens"]);
    assert_eq!(
        shown,
        format!("cerberus: picked up “I prefer pnpm here” (now) · {items} items, {tokens} tokens · 1 rule to review")
    );
    assert_eq!(start("s2", "compact").get("systemMessage"), None, "the session goes on");
    std::fs::write(env.home().join("config.toml"), "[brief]\nnotice = false\n").unwrap();
    let silent = start("s3", "startup");
    assert!(silent.get("systemMessage").is_none() && silent["hookSpecificOutput"].is_object(), "{silent}");
}

/// The lines of a transcript whose last answer left the context this full.
fn filled(agent: &str, tokens: u64) -> String {
    let line = match agent {
        "claude-code" => json!({"type": "assistant", "sessionId": "s1", "message": {"model": "claude-test-1",
            "usage": {"input_tokens": 3, "cache_read_input_tokens": tokens - 13, "output_tokens": 10}}}),
        "qwen-code" => json!({"type": "assistant", "sessionId": "s1", "contextWindowSize": 200_000,
            "usageMetadata": {"promptTokenCount": tokens - 10, "candidatesTokenCount": 10}}),
        other => panic!("no transcript of {other}"),
    };
    // What is before the end is not read.
    let before = json!({"type": "user", "message": {"content": "x".repeat(100_000)}});
    format!("{before}\n{line}\n{}\n", json!({"type": "system", "subtype": "turn_duration"}))
}

#[cfg(feature = "loop")]
#[test]
fn a_reached_limit_names_the_command_that_goes_on_in_another_agent() {
    let env = env();
    let transcript = env.root().join("s1.jsonl");
    let base = json!({"session_id": "s1", "cwd": env.project(), "transcript_path": transcript});
    let say = |name: &str, extra: Value| {
        let payload = merged(merged(base.clone(), &json!({"hook_event_name": name})), &extra);
        let output = env.hook_of("claude-code", payload.to_string().as_bytes());
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
    };
    let status_line = || print(&env, &["statusline"], &json!({"session_id": "s1", "cwd": env.project()}));
    say("SessionStart", json!({"source": "startup"}));
    say("UserPromptSubmit", json!({"prompt": "begin", "prompt_id": "1"}));
    let none = json!({"input_tokens": 0, "output_tokens": 0});
    let refused = json!({"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "sessionId": "s1",
        "message": {"model": "<synthetic>", "usage": none, "content": [{"type": "text", "text": "You've hit your limit"}]}});
    std::fs::write(&transcript, format!("{}{refused}\n", filled("claude-code", 150_000))).unwrap();
    say("StopFailure", json!({"error": "rate_limit"}));
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    let command = format!("cerberus resume {id} --in AGENT");
    assert!(env.ok(&["status"]).contains(&command));
    let limit = json!({"session": id, "agent": "claude-code", "until": null, "command": command});
    assert_eq!(env.json(&["status"])["limit"], limit);
    assert!(status_line().contains(&format!("limit reached: {command}")), "{}", status_line());
    let shown =
        |prompt: &str| say("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": prompt}))["systemMessage"].clone();
    let told = shown("go on");
    assert_eq!(
        told,
        format!("cerberus: Claude Code has reached its usage limit · `{command}` goes on in another agent")
    );
    env.ok(&["resume", &id, "--in", "codex", "--print"]);
    // It answers again, and what there was no room for is told now.
    std::fs::write(&transcript, format!("{refused}\n{}", filled("claude-code", 150_000))).unwrap();
    assert!(shown("go on with it").as_str().unwrap_or_default().contains("75% full"));
    std::fs::write(&transcript, format!("{refused}\n{}", filled("claude-code", 20_000))).unwrap();
    assert_eq!(shown("once more"), Value::Null);
    assert!(!env.ok(&["status"]).contains(&command) && !status_line().contains("limit"));
    assert_eq!(env.json(&["status"])["limit"], Value::Null);
    std::fs::write(&transcript, format!("{refused}\n")).unwrap();
    std::fs::write(env.home().join("config.toml"), "[brief]\nnotice = false\n").unwrap();
    assert_eq!(shown("with it off"), Value::Null);
}

#[test]
fn the_user_is_told_once_that_the_context_passed_the_redline() {
    for agent in ["claude-code", "qwen-code"] {
        let env = env();
        let transcript = env.root().join("s1.jsonl");
        let base = json!({"session_id": "s1", "cwd": env.project(), "transcript_path": transcript});
        let mut time = 10;
        let mut say = |name: &str, extra: Value| {
            time += 1;
            let said =
                json!({"hook_event_name": name, "timestamp": format!("2026-01-22T13:36:{time}Z"), "prompt_id": time});
            let payload = merged(merged(base.clone(), &said), &extra);
            let output = env.hook_of(agent, payload.to_string().as_bytes());
            assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
        };
        say("SessionStart", json!({"source": "startup"}));
        assert_eq!(say("UserPromptSubmit", json!({"prompt": "begin"})), Value::Null, "there is no transcript yet");
        for (tokens, is_told) in
            [(139_000, false), (150_000, true), (160_000, false), (20_000, false), (150_000, false)]
        {
            std::fs::write(&transcript, filled(agent, tokens)).unwrap();
            say("PostToolUse", json!({"tool_name": "glob", "tool_use_id": format!("t{tokens}"), "tool_input": {}}));
            let reply = say("UserPromptSubmit", json!({"prompt": format!("go on at {tokens}")}));
            let shown = reply["systemMessage"].as_str().unwrap_or_default();
            assert_eq!(
                shown.contains("75% full (150k of 200k)") && shown.contains("cerberus handoff"),
                is_told,
                "{reply}"
            );
            assert!(is_told || reply == Value::Null, "{reply}");
        }
        std::fs::write(env.home().join("config.toml"), "[brief]\nnotice = false\n").unwrap();
        let other = json!({"session_id": "s2"});
        say("SessionStart", merged(other.clone(), &json!({"source": "clear"})));
        say("UserPromptSubmit", merged(other.clone(), &json!({"prompt": "first"})));
        let reply = say("UserPromptSubmit", merged(other.clone(), &json!({"prompt": "with it off"})));
        assert_eq!(reply.get("systemMessage"), None, "{reply}");
        std::fs::write(env.home().join("config.toml"), "[loop]\nsoft_redline = \"80%\"\n").unwrap();
        let reply = say("UserPromptSubmit", merged(other.clone(), &json!({"prompt": "with a higher one"})));
        assert_eq!(reply.get("systemMessage"), None, "{reply}");
        std::fs::remove_file(env.home().join("config.toml")).unwrap();
        let reply = say("UserPromptSubmit", merged(other, &json!({"prompt": "as it is by default"})));
        assert!(reply["systemMessage"].is_string(), "another session, another message: {reply}");
    }
}

#[test]
fn a_prompt_of_every_agent_is_answered_in_its_own_shape() {
    let told = "rule:Run database migrations through the pipeline";
    let named = |event: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": told}});
    let said = "now run the database migrations please";
    for (agent, prompt, expected) in [
        (
            "codex",
            json!({"hook_event_name": "UserPromptSubmit", "turn_id": "t", "prompt": said}),
            named("UserPromptSubmit"),
        ),
        ("gemini", json!({"hook_event_name": "BeforeAgent", "timestamp": "t", "prompt": said}), named("BeforeAgent")),
        (
            "qwen-code",
            json!({"hook_event_name": "UserPromptSubmit", "timestamp": "t", "prompt": said}),
            named("UserPromptSubmit"),
        ),
        ("copilot", json!({"timestamp": 9, "prompt": said}), json!({"additionalContext": told})),
        ("opencode", json!({"event": "prompt", "at": 9, "id": "m", "text": said}), json!({"additionalContext": told})),
        ("cline", json!({"event": "prompt", "at": 9, "id": "m", "text": said}), json!({"additionalContext": told})),
        ("cursor", json!({"hook_event_name": "beforeSubmitPrompt", "prompt": said}), Value::Null),
    ] {
        let env = env();
        let start = &story(agent)[0];
        hook(&env, agent, in_project(&env, start));
        env.ok(&["memory", "learn", "Run database migrations through the pipeline"]);
        let reply = told_by(&env, agent, in_project(&env, &merged(start.clone(), &prompt)));
        assert_eq!(reply, expected, "{agent}");
    }
}

/// The payloads of one session that writes `a.rs`, and of the start of the next; `$CWD` stands for the project.
fn story(agent: &str) -> Vec<Value> {
    let base = |session: &str| match agent {
        "opencode" | "cline" => json!({"sessionID": session, "cwd": "$CWD"}),
        "cursor" => json!({"conversation_id": session, "workspace_roots": ["$CWD"], "generation_id": "g"}),
        "copilot" => json!({"sessionId": session, "cwd": "$CWD"}),
        _ => json!({"session_id": session, "cwd": "$CWD", "transcript_path": null}),
    };
    let (start, write) = match agent {
        "codex" => {
            let patch = "*** Begin Patch\n*** Add File: a.rs\n+pub fn load() {}\n*** End Patch";
            let write = json!({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_use_id": "c1",
                "tool_input": {"command": patch}, "tool_response": "Exit code: 0\nOutput:\nSuccess."});
            (json!({"hook_event_name": "SessionStart", "source": "startup"}), write)
        }
        "qwen-code" => {
            let write = json!({"hook_event_name": "PostToolUse", "timestamp": "2026-01-22T13:35:15Z",
                "tool_name": "write_file", "tool_input": {"file_path": "$CWD/a.rs", "content": "pub fn load() {}\n"}});
            (
                json!({"hook_event_name": "SessionStart", "timestamp": "2026-01-22T13:35:14Z", "source": "startup"}),
                write,
            )
        }
        "gemini" => {
            let write = json!({"hook_event_name": "AfterTool", "timestamp": "2026-01-22T13:35:15Z",
                "tool_name": "write_file", "tool_input": {"file_path": "$CWD/a.rs", "content": "pub fn load() {}\n"}});
            (
                json!({"hook_event_name": "SessionStart", "timestamp": "2026-01-22T13:35:14Z", "source": "startup"}),
                write,
            )
        }
        "opencode" => {
            let args = json!({"filePath": "$CWD/a.rs", "content": "pub fn load() {}\n"});
            (
                json!({"event": "start", "at": 1}),
                json!({"event": "tool", "at": 2, "id": "t1", "tool": "write", "args": args}),
            )
        }
        "cline" => {
            let args = json!({"path": "$CWD/a.rs", "new_text": "pub fn load() {}\n"});
            (
                json!({"event": "start", "at": 1}),
                json!({"event": "tool", "at": 2, "id": "t1", "tool": "editor", "args": args, "output": "File created"}),
            )
        }
        "cursor" => {
            let write = json!({"hook_event_name": "postToolUse", "tool_name": "Write", "tool_use_id": "t1",
                "tool_input": {"file_path": "$CWD/a.rs", "content": "pub fn load() {}\n"}});
            (json!({"hook_event_name": "sessionStart"}), write)
        }
        "copilot" => {
            let args = json!({"path": "$CWD/a.rs", "file_text": "pub fn load() {}\n"});
            let write = json!({"timestamp": 2, "toolName": "create", "toolArgs": args, "toolResult": {"resultType": "success"}});
            (json!({"timestamp": 1, "source": "new"}), write)
        }
        other => panic!("no story of {other}"),
    };
    [("s1", &start), ("s1", &write), ("s2", &start)].map(|(session, said)| merged(base(session), said)).to_vec()
}

fn merged(mut base: Value, extra: &Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

fn in_project(env: &TestEnv, payload: &Value) -> Value {
    let project = env.project().to_str().unwrap().to_string();
    serde_json::from_str(&payload.to_string().replace("$CWD", &project)).unwrap()
}

#[test]
fn the_next_session_of_every_agent_is_told_in_its_own_shape() {
    let told = "proj:hydra\nimpl:a.rs load";
    let named = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": told}});
    for (agent, expected) in [
        ("codex", named),
        ("copilot", json!({"additionalContext": told})),
        ("opencode", json!({"additionalContext": told})),
        ("cline", json!({"additionalContext": told})),
        ("cursor", json!({"additional_context": told})),
    ] {
        let env = env();
        let mut replies: Vec<Value> =
            story(agent).iter().map(|said| hook(&env, agent, in_project(&env, said))).collect();
        let notice = replies[2].as_object_mut().unwrap().remove("systemMessage");
        assert_eq!(notice.is_some(), agent == "codex", "{agent}: of these, only Codex shows it");
        assert_eq!(replies, [Value::Null, Value::Null, expected], "{agent}");
        let sessions = env.sessions();
        assert!(sessions.len() == 2 && sessions.iter().all(|session| session["agent"] == agent), "{sessions:?}");
    }
}

#[test]
fn gemini_and_qwen_code_are_told_with_the_first_prompt_after_each_start() {
    for (agent, prompt) in [("gemini", "BeforeAgent"), ("qwen-code", "UserPromptSubmit")] {
        is_told_with_the_first_prompt(agent, prompt);
    }
}

fn is_told_with_the_first_prompt(agent: &str, prompt: &str) {
    let env = env();
    for said in &story(agent)[..2] {
        hook(&env, agent, in_project(&env, said));
    }
    let say = |name: &str, time: u32, extra: Value| {
        let base = json!({"session_id": "s2", "cwd": "$CWD", "transcript_path": null, "hook_event_name": name,
            "timestamp": format!("2026-01-22T13:36:{time:02}Z")});
        told_by(&env, agent, in_project(&env, &merged(base, &extra)))
    };
    let told = |text: &str| json!({"hookSpecificOutput": {"hookEventName": prompt, "additionalContext": text}});
    assert_eq!(say("SessionStart", 1, json!({"source": "startup"})), Value::Null, "the prompt follows");
    let first = say(prompt, 2, json!({"prompt": "go on"}));
    assert_eq!(first, told("proj:hydra\nimpl:a.rs load"));
    assert_eq!(say(prompt, 3, json!({"prompt": "and then"})), Value::Null);
    // The other session goes on, so there is something new to tell when this one is resumed.
    let later = json!({"timestamp": "2026-01-22T13:36:04Z", "tool_input": {"file_path": "$CWD/b.rs", "content": "x"}});
    hook(&env, agent, in_project(&env, &merged(story(agent)[1].clone(), &later)));
    assert_eq!(say("SessionStart", 5, json!({"source": "resume"})), Value::Null);
    assert_eq!(say(prompt, 6, json!({"prompt": "once more"})), told("proj:hydra\nimpl:b.rs"));
    // Compacted without a prompt, then resumed: what it was told is lost.
    assert_eq!(say("SessionStart", 9, json!({"source": "compact"})), Value::Null);
    assert_eq!(say("SessionStart", 10, json!({"source": "resume"})), Value::Null);
    let compacted = say(prompt, 11, json!({"prompt": "what was it"}));
    assert!(compacted.to_string().contains("impl:a.rs"), "{compacted}");
    assert_eq!(say("SessionStart", 12, json!({"source": "clear"})), Value::Null);
    let again = say(prompt, 13, json!({"prompt": "from the start"}));
    assert!(again.to_string().contains("impl:a.rs") && again.to_string().contains("impl:b.rs"), "{again}");
}

/// Copilot does not keep what a hook told, so a session that goes on is told everything again.
#[test]
fn copilot_is_told_everything_again_when_resumed() {
    let env = env();
    let story = story("copilot");
    let replies: Vec<Value> = story.iter().map(|said| hook(&env, "copilot", in_project(&env, said))).collect();
    let resumed = merged(story[2].clone(), &json!({"timestamp": 9, "source": "resume"}));
    let again = hook(&env, "copilot", in_project(&env, &resumed));
    assert!(again.to_string().contains("impl:a.rs load") && again == replies[2], "{again}");
}

/// Older versions of Qwen Code send no start from a headless session, and an empty prompt after every round of tools.
#[test]
fn qwen_code_is_told_without_a_start_and_empty_prompts_do_not_count() {
    let env = env();
    for said in &story("qwen-code")[..2] {
        hook(&env, "qwen-code", in_project(&env, said));
    }
    let say = |time: u32, prompt: &str| {
        let said = json!({"session_id": "s2", "cwd": "$CWD", "transcript_path": null, "prompt": prompt,
            "hook_event_name": "UserPromptSubmit", "timestamp": format!("2026-01-22T13:36:{time:02}Z")});
        told_by(&env, "qwen-code", in_project(&env, &said))
    };
    let first = say(1, "go on");
    assert_eq!(first["hookSpecificOutput"]["additionalContext"], "proj:hydra\nimpl:a.rs load", "{first}");
    assert_eq!(say(2, ""), Value::Null);
    assert_eq!(say(3, "and then"), Value::Null);
    let turns: Vec<Value> = env.sessions().iter().map(|session| session["turn_count"].clone()).collect();
    assert!(turns.contains(&json!(2)), "{turns:?}");
}

#[test]
fn what_copilot_tells_two_hooks_counts_once_and_is_answered_once() {
    let env = env();
    env.start("earlier", "startup");
    env.write_file("earlier", "t1", "old.rs", "");
    let own = |extra: Value| merged(json!({"sessionId": "s1", "cwd": env.project()}), &extra);
    let borrowed = |extra: Value| merged(json!({"session_id": "s1", "cwd": env.project()}), &extra);
    let at = |second: u32| {
        (json!(1_769_088_914_000_u64 + u64::from(second) * 1000), format!("2026-01-22T13:35:{:02}Z", 14 + second))
    };
    let mut replies = Vec::new();
    let mut both = |first: Value, second: Value| {
        replies.push(hook(&env, "copilot", own(first)));
        replies.push(hook(&env, "claude-code", borrowed(second)));
    };
    let (millis, time) = at(0);
    both(
        json!({"timestamp": millis, "source": "new"}),
        json!({"hook_event_name": "SessionStart", "timestamp": time, "source": "new"}),
    );
    let (millis, time) = at(1);
    both(
        json!({"timestamp": millis, "prompt": "go on"}),
        json!({"hook_event_name": "UserPromptSubmit", "timestamp": time, "prompt": "go on"}),
    );
    // The same command again is another use.
    for second in [2, 3] {
        let (millis, time) = at(second);
        let input = json!({"command": "cargo test"});
        let text = "test result: FAILED. 1 passed; 1 failed\n<shellId: 0 completed with exit code 101>";
        both(
            json!({"timestamp": millis, "toolName": "bash", "toolArgs": input, "toolResult": {"textResultForLlm": text}}),
            json!({"hook_event_name": "PostToolUse", "timestamp": time, "tool_name": "Bash", "tool_input": input,
                "tool_result": {"text_result_for_llm": text}}),
        );
    }
    let (millis, time) = at(4);
    both(
        json!({"timestamp": millis, "reason": "complete"}),
        json!({"hook_event_name": "SessionEnd", "timestamp": time, "reason": "complete"}),
    );
    assert_eq!(replies[0], json!({"additionalContext": "proj:hydra\nimpl:old.rs"}));
    assert!(replies[1..].iter().all(Value::is_null), "{replies:?}");
    let sessions = env.sessions();
    let of_copilot: Vec<&Value> = sessions.iter().filter(|session| session["agent_session_id"] == "s1").collect();
    assert_eq!(of_copilot.len(), 1);
    let session = of_copilot[0];
    assert_eq!((&session["agent"], &session["status"]), (&json!("copilot"), &json!("ended")));
    assert_eq!((&session["tools_used"], &session["turn_count"]), (&json!({"bash": 2}), &json!(1)));
}

#[test]
fn how_a_command_of_codex_ended_is_never_guessed() {
    let env = env();
    let run = |id: &str, command: &str, printed: &str| {
        let said = json!({"session_id": "s1", "cwd": env.project(), "turn_id": "t", "hook_event_name": "PostToolUse",
            "tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": command}, "tool_response": printed});
        hook(&env, "codex", said);
    };
    let tests = || codes(&env.sessions()[0], "test");
    run("c1", "make test", "something happened\n");
    assert_eq!(tests(), [""; 0]);
    run("c2", "cargo test", "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n");
    assert_eq!(tests(), ["test:cargo:1-passed"]);
    run("c3", "git commit -m x", "[main 1a2b3c4] open the store once\n");
    assert_eq!(codes(&env.sessions()[0], "commit"), ["commit:1a2b3c4 open the store once"]);
}

/// Calls the plugin's hooks as opencode does, and prints the system prompt of the session's first model call.
const OPENCODE: &str = r#"
import { existsSync, writeFileSync } from "node:fs"
import { Cerberus } from PLUGIN
const hooks = await Cerberus({ directory: process.cwd() })
const sessionID = process.env.SESSION
const event = (type, properties) => hooks.event({ event: { type, properties } })
await event("session.created", { sessionID, info: { id: sessionID } })
await event("session.created", { info: { id: "child", parentID: sessionID } })
// The user does something else meanwhile, in another process.
if (process.env.PAUSE) {
  writeFileSync(process.env.PAUSE, "")
  while (existsSync(process.env.PAUSE)) await new Promise((resolve) => setTimeout(resolve, 5))
}
const text = "\"now run the database migrations please\""
await hooks["chat.message"]({ sessionID }, { message: { id: "m1" }, parts: [{ type: "text", text }] })
await hooks["chat.message"]({ sessionID: "child" }, { message: { id: "m2" }, parts: [{ type: "text", text: "sub job" }] })
const system = ["You are an agent."]
await hooks["experimental.chat.system.transform"]({ sessionID }, { system })
await hooks["experimental.chat.system.transform"]({ sessionID: "child" }, { system })
await hooks.config({ agent: { title: { prompt: "Name it." } } })
for (const prompt of ["You are a title generator. You output ONLY a title.", "Name it."]) {
  const asked = [prompt]
  await hooks["experimental.chat.system.transform"]({ sessionID }, { system: asked })
  system.push(...asked.slice(1))
}
const tool = (tool, callID, args, metadata = {}, id = sessionID) =>
  hooks["tool.execute.after"]({ tool, sessionID: id, callID, args }, { output: "text", metadata })
await tool("write", "t1", { filePath: process.cwd() + "/a.rs", content: "pub fn load() {}\n" })
await tool("bash", "t2", { command: "cargo test" }, { output: "test result: FAILED. 0 passed; 2 failed", exit: 101 }, "child")
await tool("todowrite", "t3", { todos: [{ content: "Write the docs", status: "pending" }] })
await hooks["experimental.text.complete"]({ sessionID }, { text: "Done." })
await event("session.idle", { sessionID })
await event("session.idle", undefined)
await hooks["tool.execute.after"](undefined, undefined)
await hooks.dispose()
console.log(JSON.stringify(system))
"#;

#[test]
fn the_plugin_of_opencode_reports_and_injects() {
    let env = env();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_cerberus"));
    let source = include_str!("../../../agents/src/opencode/install/plugin.js");
    let source =
        source.replace("const CERBERUS = \"cerberus\"", &format!("const CERBERUS = {:?}", binary.to_str().unwrap()));
    let plugin = env.root().join("cerberus.mjs");
    std::fs::write(&plugin, source).unwrap();
    let script = OPENCODE.replace("PLUGIN", &format!("{:?}", plugin.to_str().unwrap()));
    let driver = env.root().join("opencode.mjs");
    std::fs::write(&driver, script).unwrap();
    let pause = env.root().join("pause");
    let run = |session: &str, learns: bool, arguments: &[&str]| -> Value {
        let mut node = env.command_for("node");
        node.arg(&driver).args(arguments).env("SESSION", session).stdout(Stdio::piped()).stderr(Stdio::piped());
        if learns {
            node.env("PAUSE", &pause);
        }
        let child = node.spawn().unwrap();
        if learns {
            wait_until("the session has started", LIMIT, || pause.exists().then_some(())).unwrap();
            env.ok(&["memory", "learn", "Run database migrations through the pipeline"]);
            std::fs::remove_file(&pause).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(run("ses_1", false, &["--print-logs"]), json!(["You are an agent."]));
    let session = env.sessions()[0].clone();
    assert_eq!((&session["agent"], &session["status"]), (&json!("opencode"), &json!("ended")));
    assert_eq!(session["tools_used"], json!({"bash": 1, "todowrite": 1, "write": 1}));
    assert_eq!(session["turn_count"], 1);
    let prompts = run("ses_2", true, &[]);
    assert_eq!(prompts.as_array().unwrap().len(), 2, "a request for a title is told nothing: {prompts}");
    let told = prompts[1].as_str().unwrap().to_string();
    for line in [
        "proj:hydra",
        "last:now run the database migrations please",
        "impl:a.rs load",
        "next:Write the docs",
        "rule:Run database migrations through the pipeline",
    ] {
        assert!(told.lines().any(|told| told == line), "{line} in {told}");
    }
    run("ses_3", false, &["--print-logs", "run", "now run the database migrations please"]);
    let told = run("ses_4", false, &[])[1].as_str().unwrap().to_string();
    assert!(told.contains("last:now run the database migrations please [not typed: headless]"), "{told}");
}
