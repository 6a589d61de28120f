//! Only what a person typed becomes a memory by itself. Prompts that a schedule, a program or somebody else sent propose
//! at most, in their project; the transcript says so, the environment of the hook, or the owner of an imported file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;

const TYPED: &str = "From now on always run the tests before you commit";
const OTHER: &str = "From now on always push to main after each commit";

/// What Claude Code writes about a prompt that was typed, fired by a schedule, or passed to `claude -p`.
fn typed() -> Value {
    json!({"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human", "entrypoint": "cli"})
}

fn scheduled() -> Value {
    json!({"isMeta": true, "promptSource": "system", "wakeupSource": "schedule_wakeup", "scheduledTaskId": "9b706a40",
        "turnOrigin": "scheduled", "entrypoint": "cli"})
}

fn headless() -> Value {
    json!({"promptSource": "sdk", "turnOrigin": "sdk", "entrypoint": "sdk-cli"})
}

/// A transcript of a session in which these prompts were sent.
fn transcript(env: &TestEnv, session: &str, prompts: &[(&str, Value)]) -> PathBuf {
    let line = |(number, (words, marks)): (usize, &(&str, Value))| {
        let mut line = json!({"type": "user", "message": {"role": "user", "content": words}, "isSidechain": false,
            "uuid": format!("{session}-{number}"), "timestamp": format!("2026-01-22T13:00:{number:02}.000Z"),
            "userType": "external", "cwd": env.project(), "sessionId": session, "version": "2.1.326"});
        line.as_object_mut().unwrap().extend(marks.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let path = env.root().join(format!("{session}.jsonl"));
    std::fs::write(&path, prompts.iter().enumerate().map(line).collect::<String>()).unwrap();
    path
}

fn start(env: &TestEnv, session: &str, transcript: &Path) {
    env.hook(session, "SessionStart", json!({"source": "startup", "transcript_path": transcript}));
}

fn prompt(env: &TestEnv, session: &str, words: &str) {
    env.hook(session, "UserPromptSubmit", json!({"prompt": words}));
    env.hook(session, "Stop", json!({"last_assistant_message": "Done.", "stop_hook_active": false}));
}

fn end(env: &TestEnv, session: &str) {
    env.hook(session, "SessionEnd", json!({"reason": "other"}));
}

/// All memories, as [`shown`].
fn memories(env: &TestEnv) -> Vec<String> {
    let all = env.json(&["memory", "list", "--all"]);
    shown(&all)
}

/// Listed memories as status, source, scope and words, sorted.
pub fn shown(listed: &Value) -> Vec<String> {
    let words =
        |row: &Value| ["status", "source", "scope", "content"].map(|field| row[field].as_str().unwrap().to_string());
    let mut all: Vec<String> = listed.as_array().unwrap().iter().map(|row| words(row).join(" ")).collect();
    all.sort();
    all
}

const APPROVED: &str = "approved prompt project:hydra From now on always run the tests before you commit";

fn proposed(source: &str) -> String {
    format!("proposed {source} project:hydra From now on always push to main after each commit")
}

#[test]
fn a_scheduled_prompt_proposes_at_most() {
    let env = env();
    let file = transcript(&env, "s", &[(TYPED, typed()), (OTHER, scheduled())]);
    start(&env, "s", &file);
    prompt(&env, "s", TYPED);
    prompt(&env, "s", OTHER);
    end(&env, "s");
    let expected = [APPROVED.to_string(), proposed("scheduled")];
    assert_eq!(memories(&env), expected);
    let brief = env.brief();
    assert!(
        brief.contains("rule:\"From now on always run") && !brief.contains("rule:\"From now on always push"),
        "{brief}"
    );
    // The journal says so, not the transcript.
    std::fs::remove_file(file).unwrap();
    env.rebuild();
    assert_eq!(memories(&env), expected);
    let shown = env.ok(&["memory", "list", "--source", "scheduled", "--all"]);
    assert!(shown.contains("from a scheduled prompt"), "{shown}");
}

#[test]
fn a_scheduled_prompt_that_begins_like_a_line_of_the_client_proposes_at_most() {
    for begins in ["Caveat:ok. ", "[Request interrupted] ", "<ok/> "] {
        let env = env();
        let words = format!("{begins}{OTHER}.");
        let file = transcript(&env, "s", &[(&words, scheduled())]);
        start(&env, "s", &file);
        prompt(&env, "s", &words);
        end(&env, "s");
        env.json(&["memory", "propose"]);
        assert!(!memories(&env).iter().any(|memory| memory.starts_with("approved")), "{begins}: {:?}", memories(&env));
    }
}

#[test]
fn words_of_a_prompt_that_no_transcript_has_yet_are_not_quoted_as_the_users() {
    let env = env();
    let words = "We keep the lock in the store. Then paint the wall";
    let file = transcript(&env, "s", &[("Go on", typed())]);
    start(&env, "s", &file);
    prompt(&env, "s", words);
    let quote = || env.run(&["quote", "--kind", "decision", "We keep the lock in the store"]);
    assert!(!quote().status.success(), "nobody knows who sent it");
    transcript(&env, "s", &[("Go on", typed()), (words, scheduled())]);
    assert!(!quote().status.success());
    transcript(&env, "s", &[("Go on", typed()), (words, typed())]);
    assert!(quote().status.success(), "{:?}", quote());
}

#[test]
fn no_number_of_scheduled_prompts_approves() {
    let mut env = env();
    for day in 10..16 {
        env.set_now(Some(&format!("2026-01-{day}T12:00:00Z")));
        let session = format!("s{day}");
        let file = transcript(&env, &session, &[(OTHER, scheduled())]);
        start(&env, &session, &file);
        prompt(&env, &session, OTHER);
        end(&env, &session);
    }
    assert_eq!(memories(&env), [proposed("scheduled")]);
    // The user says it too.
    prompt(&env, "own", OTHER);
    end(&env, "own");
    let known = memories(&env);
    assert!(known.len() == 1 && known[0].starts_with("approved prompt"), "{known:?}");
}

#[test]
fn a_transcript_that_lags_behind_is_waited_for() {
    let env = env();
    let file = transcript(&env, "s", &[("Go on", typed())]);
    start(&env, "s", &file);
    prompt(&env, "s", OTHER);
    assert_eq!(env.json(&["memory", "propose"]), json!([]), "the session goes on, and nobody knows who sent it");
    transcript(&env, "s", &[("Go on", typed()), (OTHER, scheduled())]);
    env.json(&["memory", "propose"]);
    assert_eq!(memories(&env), [proposed("scheduled")]);
}

/// The result of a tool use that the user rejected with words of their own, as Claude Code writes it.
fn rejected(env: &TestEnv, words: &str) -> Value {
    let told = format!("The user doesn't want to proceed with this tool use. To tell you how, the user said:\n{words}");
    let block = json!({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": told});
    json!({"type": "user", "message": {"role": "user", "content": [block]}, "isSidechain": false, "sessionId": "s",
        "uuid": "s-9", "parentUuid": "s-8", "timestamp": "2026-01-22T13:00:09.000Z", "cwd": env.project(),
        "entrypoint": "cli", "toolUseResult": format!("Error: {told}"), "toolDenialKind": "user-rejected",
        "userFeedback": words})
}

#[test]
fn what_was_typed_while_rejecting_a_tool_use_is_a_prompt() {
    let env = env();
    let file = transcript(&env, "s", &[("Install the dependencies", typed())]);
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{}\n", rejected(&env, TYPED))).unwrap();
    start(&env, "s", &file);
    prompt(&env, "s", "Install the dependencies");
    end(&env, "s");
    assert_eq!(memories(&env), [APPROVED]);
    let brief = env.brief();
    assert!(brief.contains("rule:\"From now on always run the tests before you commit\""), "{brief}");
    // Once, however often the transcript is read.
    let prompts = || recorded_prompts(&env);
    assert_eq!(prompts(), 2);
    start(&env, "s", &file);
    end(&env, "s");
    env.ok(&["import", "claude-code", file.to_str().unwrap()]);
    assert_eq!(prompts(), 2);
    assert_eq!(memories(&env), [APPROVED]);
}

#[test]
fn what_was_typed_while_rejecting_a_tool_use_is_known_when_the_turn_has_ended() {
    let mut env = env();
    env.set_now(Some("2026-01-22T13:00:05Z"));
    let file = transcript(&env, "s", &[("Install the dependencies", typed())]);
    start(&env, "s", &file);
    prompt(&env, "s", "Install the dependencies");
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{}\n", rejected(&env, TYPED))).unwrap();
    let stop = |env: &TestEnv| {
        env.hook("s", "Stop", json!({"last_assistant_message": "They are green.", "stop_hook_active": false}));
        recorded_prompts(env)
    };
    env.set_now(Some("2026-01-22T13:00:20Z"));
    assert_eq!(stop(&env), 2);
    // It was answered, though its record comes after that of the answer.
    let told = env.start("t", "startup");
    assert!(told.contains(&format!("last:{TYPED}")) && told.contains("said:They are green."), "{told}");
    assert!(!told.contains("live:"), "{told}");
    env.set_now(Some("2026-01-22T13:00:40Z"));
    assert_eq!(stop(&env), 2);
}

/// How many prompts stand in the journal.
fn recorded_prompts(env: &TestEnv) -> usize {
    let days = std::fs::read_dir(env.home().join("journal")).unwrap();
    let text: String = days.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect();
    text.matches("{\"prompt\":").count()
}

#[test]
fn a_command_that_finds_a_session_over_reads_what_its_hooks_did_not_report() {
    let mut env = env();
    let file = transcript(&env, "s", &[("Install the dependencies", typed())]);
    let long_ago = Clock::new(None).wall.minus(Duration::from_secs(2 * 60 * 60));
    env.set_now(Some(&long_ago.to_string()));
    start(&env, "s", &file);
    prompt(&env, "s", "Install the dependencies");
    // Nothing happens afterwards, so no hook reads it.
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{}\n", rejected(&env, TYPED))).unwrap();
    env.set_now(None);
    env.ok(&["stats"]);
    assert_eq!(recorded_prompts(&env), 1, "it says nothing of the state of sessions");
    env.ok(&["log"]);
    assert_eq!(recorded_prompts(&env), 2);
}

/// A plan that was accepted by clearing the context, as Claude Code writes it: the tool use is rejected.
fn cleared_plan(env: &TestEnv) -> String {
    let own = |kind: &str, at: u32, content: Value| {
        let line = json!({"type": kind, "message": {"role": kind, "content": [content]}, "isSidechain": false,
            "sessionId": "s", "uuid": format!("s-{at}"), "timestamp": format!("2026-01-22T13:35:{at}.000Z"),
            "cwd": env.project(), "entrypoint": "cli"});
        format!("{line}\n")
    };
    let input = json!({"plan": "# The plan\n\n1. Write the schema\n2. Fold the journal\n"});
    let used = json!({"type": "tool_use", "id": "toolu_2", "name": "ExitPlanMode", "input": input});
    let refused = "The user doesn't want to proceed with this tool use.";
    let answered = json!({"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": refused});
    own("assistant", 15, used) + &own("user", 16, answered)
}

#[test]
fn what_is_written_after_the_end_is_told_to_the_session_that_follows() {
    let mut env = env();
    let file = transcript(&env, "s", &[("Plan it", typed())]);
    start(&env, "s", &file);
    prompt(&env, "s", "Plan it");
    end(&env, "s");
    let written = std::fs::read_to_string(&file).unwrap() + &cleared_plan(&env);
    std::fs::write(&file, written).unwrap();
    env.set_now(Some("2026-01-22T13:35:20Z"));
    let told = env.start("t", "clear");
    assert!(told.contains("next:Write the schema") && told.contains("next:Fold the journal"), "{told}");
}

#[test]
fn a_transcript_without_marks_counts_as_typed() {
    let env = env();
    let file = transcript(&env, "s", &[(OTHER, json!({}))]);
    start(&env, "s", &file);
    prompt(&env, "s", OTHER);
    end(&env, "s");
    // And one that does not have the prompt, or does not exist.
    start(&env, "t", &transcript(&env, "t", &[("Go on", typed())]));
    prompt(&env, "t", TYPED);
    end(&env, "t");
    start(&env, "u", &env.root().join("missing.jsonl"));
    prompt(&env, "u", "From now on always use tabs for indentation");
    end(&env, "u");
    let known = memories(&env);
    assert!(known.len() == 3 && known.iter().all(|row| row.starts_with("approved prompt")), "{known:?}");
}

#[test]
fn a_headless_run_proposes_at_most() {
    // By its transcript.
    let env_of_transcript = env();
    start(&env_of_transcript, "s", &transcript(&env_of_transcript, "s", &[(OTHER, headless())]));
    prompt(&env_of_transcript, "s", OTHER);
    end(&env_of_transcript, "s");
    assert_eq!(memories(&env_of_transcript), [proposed("headless")]);

    // By the variables of the hook, which must be of this session.
    let with = |variables: &[(&str, &str)]| {
        let env = env();
        let payload =
            json!({"session_id": "s", "cwd": env.project(), "hook_event_name": "UserPromptSubmit", "prompt": OTHER});
        let mut hook = env.command();
        hook.args(["hook", "claude-code"]).envs(variables.iter().copied());
        feed(&mut hook, payload.to_string().as_bytes());
        end(&env, "s");
        memories(&env)
    };
    assert_eq!(with(&[("CI", "true")]), [proposed("headless")]);
    let entry = ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    assert_eq!(with(&[entry, ("CLAUDE_CODE_SESSION_ID", "s")]), [proposed("headless")]);
    for variables in [&[entry, ("CLAUDE_CODE_SESSION_ID", "outer")][..], &[("CI", "false")], &[]] {
        let known = with(variables);
        assert!(known.len() == 1 && known[0].starts_with("approved prompt"), "{variables:?}: {known:?}");
    }
}

/// Runs the hook with this payload; it must succeed.
fn feed(hook: &mut std::process::Command, payload: &[u8]) {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn codex_exec_proposes_at_most() {
    let env = env();
    let lines = |source: &str, words: &str| {
        let meta = json!({"id": source, "cwd": env.project(), "originator": "codex", "source": source});
        let trigger = if source == "cli" { "user" } else { source };
        let started = json!({"type": "task_started", "turn_id": "t", "turn_attribution": {"turn_trigger": trigger}});
        let said = json!({"type": "user_message", "message": words});
        let line = |kind: &str, payload: Value| {
            format!("{}\n", json!({"timestamp": "2026-01-22T13:00:00Z", "type": kind, "payload": payload}))
        };
        let path = env.root().join(format!("rollout-2026-01-22T13-00-00-{source}.jsonl"));
        let text = [line("session_meta", meta), line("event_msg", started), line("event_msg", said)].concat();
        std::fs::write(&path, text).unwrap();
        path
    };
    for (source, words) in [("exec", OTHER), ("cli", TYPED)] {
        let payload = |name: &str, extra: Value| {
            let mut payload = json!({"session_id": source, "cwd": env.project(), "hook_event_name": name,
                "transcript_path": lines(source, words), "model": "gpt-5.5", "permission_mode": "default"});
            payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            payload.to_string().into_bytes()
        };
        env.hook_of("codex", &payload("SessionStart", json!({"source": "startup"})));
        env.hook_of("codex", &payload("UserPromptSubmit", json!({"turn_id": "t", "prompt": words})));
        env.hook_of("codex", &payload("SessionEnd", json!({"reason": "other"})));
    }
    assert_eq!(memories(&env), [APPROVED.to_string(), proposed("headless")]);
}

#[test]
fn what_is_imported_keeps_its_marks() {
    let env = env();
    let file = transcript(&env, "s", &[(TYPED, typed()), (OTHER, headless())]);
    env.json(&["import", "claude-code", &file.to_string_lossy()]);
    let expected = [APPROVED.to_string(), proposed("headless")];
    assert_eq!(memories(&env), expected);
    env.json(&["import", "claude-code", &file.to_string_lossy()]);
    env.rebuild();
    assert_eq!(memories(&env), expected, "again, from the journal alone");
}

#[test]
fn another_persons_transcript_proposes_at_most() {
    let env = env();
    let own = transcript(&env, "own", &[(TYPED, typed())]);
    let others = transcript(&env, "others", &[(OTHER, typed())]);
    // Only root can give a file away. Who counts as another person is tested in `model/source.rs` too.
    let is_given = std::os::unix::fs::chown(&others, Some(54_321), None).is_ok();
    for file in [own, others] {
        env.json(&["import", "claude-code", "--project", ".", &file.to_string_lossy()]);
    }
    let known = memories(&env);
    match is_given {
        true => assert_eq!(known, [APPROVED.to_string(), proposed("others")]),
        false => assert!(known.len() == 2 && known.iter().all(|row| row.starts_with("approved prompt")), "{known:?}"),
    }
}

#[test]
fn a_prompt_that_nobody_typed_is_not_told_as_the_users() {
    let env = env();
    start(&env, "s", &transcript(&env, "s", &[(TYPED, typed()), (OTHER, scheduled())]));
    prompt(&env, "s", TYPED);
    prompt(&env, "s", OTHER);
    end(&env, "s");
    for when in ["grown", "rebuilt"] {
        let brief = env.brief();
        assert!(brief.contains(&format!("last:{OTHER} [not typed: scheduled]")), "{when}: {brief}");
        assert!(brief.lines().any(|line| line == format!("asked:{TYPED}")), "{when}: {brief}");
        env.rebuild();
    }
}

#[test]
fn what_is_forgotten_leaves_no_mark() {
    let env = env();
    start(&env, "s", &transcript(&env, "s", &[(OTHER, scheduled())]));
    prompt(&env, "s", OTHER);
    end(&env, "s");
    let journal = || -> String {
        let days = std::fs::read_dir(env.home().join("journal")).unwrap();
        days.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect()
    };
    assert!(journal().contains("\"untyped\""), "{}", journal());
    env.ok(&["forget", "--session", "s", "--yes"]);
    assert!(!journal().contains("\"untyped\""), "{}", journal());
    assert_eq!(memories(&env), [] as [String; 0]);
}
