//! One story, told by every client: a session edits two files, runs a test that fails, decides something and leaves
//! something to do. However it ends, the first request of the next session carries all of that to the model.

use std::path::Path;
use std::time::Duration;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply};
use cerberus_testkit::process::{Running, kill_group, wait_until};
use serde_json::{Value, json};

use super::{LIMIT, Stage, finish, kill_after, memories, times, told};

const CODE: &str = "let tokens = 1\n\nexport function takeToken() {\n  return tokens-- >= 0\n}\n";
const TEST: &str = "import test from 'node:test'
import assert from 'node:assert'
import { takeToken } from './limiter.mjs'

test('an empty bucket refuses', () => {
  takeToken()
  assert.equal(takeToken(), false)
})
";
const DECISION: &str = "Let's use a token bucket instead of a fixed window.";
const TODO: &str = "Document the limiter";
const LAST_WORDS: &str = "make the bucket refuse";

/// What the next session is told, whichever client it is held with.
const TOLD: [&str; 5] = [
    "impl:limiter.test.mjs",
    "impl:limiter.mjs:3 takeToken",
    "dec:Let's use a token bucket instead of a fixed window",
    "block:test:\"an empty bucket refuses\"",
    "next:Document the limiter",
];

#[derive(Clone, Copy)]
pub(super) enum End {
    /// The client ends after its turn.
    Exit,
    /// SIGKILL, while it waits for the model.
    Kill,
}

pub(super) fn tell(client: &dyn Client, end: End) {
    let stage = Stage::new(client);
    let (code, test) = (stage.scratch.repo().join("limiter.mjs"), stage.scratch.repo().join("limiter.test.mjs"));
    let todo = client.todo(TODO);
    // Some clients have no list to put it on.
    let is_told = |code: &&str| !todo.is_empty() || !code.starts_with("next:");
    let told_codes: Vec<&str> = TOLD.into_iter().filter(is_told).collect();
    let mut script = vec![client.write(&code, CODE), client.write(&test, TEST)];
    script.push(client.edit(&code, "let tokens = 1", "let tokens = 2"));
    script.push(client.run("node --test"));
    script.extend(todo);
    script.push(match end {
        End::Exit => Reply::text(format!("The test fails.\n\nNext: {LAST_WORDS}")),
        End::Kill => Reply::hang(),
    });
    let requests = script.len();
    let server = ModelServer::start(script);
    let mut session = client.session(&stage.place(&server), DECISION);
    match end {
        End::Exit => drop(finish(&mut session)),
        End::Kill => kill_after(&mut session, &server, requests),
    }
    assert!(std::fs::read_to_string(&code).unwrap().starts_with("let tokens = 2"), "the edit was made");

    let text = told(&stage, client, "Go on");
    let missing: Vec<&str> = told_codes.iter().copied().filter(|code| times(&text, code) == 0).collect();
    assert!(missing.is_empty(), "{missing:?} did not reach the model; the brief was {}", stage.cerberus(&["brief"]));
    for code in told_codes {
        assert_eq!(times(&text, code), 1, "{code} is told once");
    }
    let is_told = text.contains("said:The test fails.") && times(&text, &format!("next:{LAST_WORDS}")) == 1;
    assert_eq!(is_told, matches!(end, End::Exit), "{}", stage.cerberus(&["brief"]));
    let states: Vec<String> = stage.sessions().iter().map(|session| session["status"].to_string()).collect();
    let first = match end {
        End::Exit => client.state_after_exit(),
        End::Kill => client.state_after_kill(),
    };
    assert_eq!(states.last().map(String::as_str), Some(format!("\"{first}\"").as_str()), "{states:?}");
    assert_eq!(states.len(), 2, "{states:?}");
}

/// Killed while a command runs, which no hook reported yet: the client's own transcript tells of it.
/// `is_written` says whether the transcript has it by then; `None` if that depends on the moment.
fn interrupt(client: &dyn Client, is_written: Option<bool>) {
    let stage = Stage::new(client);
    let started = stage.scratch.repo().join("started");
    let code = stage.scratch.repo().join("limiter.mjs");
    let server = ModelServer::start([client.write(&code, CODE), client.run("touch started; sleep 600"), Reply::hang()]);
    let mut running = Running::spawn(&mut client.session(&stage.place(&server), "Wait for it")).unwrap();
    if let Err(late) = wait_until("the command to run", LIMIT, || started.exists().then_some(())) {
        panic!("{late}\n{:?}", running.wait(Duration::ZERO));
    }
    let is_in_transcript = || is_written_below(&stage.scratch.home(), b"touch started").then_some(());
    if is_written == Some(true)
        && let Err(late) = wait_until("the command in the transcript", LIMIT, is_in_transcript)
    {
        panic!("{late}\n{:?}", running.wait(Duration::ZERO));
    }
    kill_group(running.pid()).unwrap();
    let _ = running.wait(LIMIT).unwrap();

    let text = told(&stage, client, "Go on");
    let killed = stage.sessions().pop().unwrap();
    assert_eq!((times(&text, "impl:limiter.mjs:3 takeToken"), &killed["status"]), (1, &json!("recovered")), "{killed}");
    assert_eq!(times(&text, "next:interrupted:Wait for it"), 1, "{killed}");
    let is_told = text.lines().any(|line| line.contains("next:interrupted:") && line.contains("touch started"));
    assert!(is_written.is_none_or(|expected| is_told == expected), "the brief is {}", stage.cerberus(&["brief"]));
    assert_eq!(killed["turn_count"], 1, "{killed}");
}

/// Does any file below the folder contain the bytes? Logs do not count: no transcript is read from them. Files may come
/// and go meanwhile.
pub fn is_written_below(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => is_written_below(&path, bytes),
            Ok(kind) if kind.is_file() && path.extension().is_none_or(|extension| extension != "log") => {
                std::fs::read(&path).is_ok_and(|text| text.windows(bytes.len()).any(|part| part == bytes))
            }
            _ => false,
        }
    })
}

/// What the model itself records, through the MCP server that `install` wired, is told next time as the agent's. What it
/// quotes is the user's; these sessions are headless or may be, so a rule waits.
pub(super) fn record(client: &dyn Client) {
    let stage = Stage::new(client);
    let note = json!({"kind": "decision", "text": "keep one pool a host"});
    let quote = json!({"kind": "rule", "quote": "put the pool into its own module"});
    let (record, said) = (client.ours("session_record", note), client.ours("user_said", quote));
    let server = ModelServer::start([record, said, Reply::text("Noted.")]);
    let prompt = "Note what we settled on. Put the pool into its own module!";
    finish(&mut client.session(&stage.place(&server), prompt));
    let text = told(&stage, client, "Go on");
    assert_eq!(times(&text, "dec:agent: keep one pool a host"), 1, "{:?}", stage.sessions());
    let kept = memories(&stage);
    let is_waiting = |one: &String| one.starts_with("proposed") && one.ends_with("Put the pool into its own module!");
    assert!(kept.len() == 1 && is_waiting(&kept[0]), "{kept:?}");
    let sessions = stage.sessions();
    let is_of_client = |session: &Value| session["agent"] == client.pin().agent;
    assert!(sessions.len() == 2 && sessions.iter().all(is_of_client), "it belongs to the session: {sessions:?}");
}

#[test]
fn claude_code_is_killed() {
    tell(&ClaudeCode, End::Kill);
}

#[test]
fn codex_is_killed() {
    tell(&Codex, End::Kill);
}

#[test]
fn claude_code_is_interrupted() {
    interrupt(&ClaudeCode, Some(true));
}

#[test]
fn codex_is_interrupted() {
    interrupt(&Codex, Some(true));
}

#[cfg(feature = "all-clients")]
mod all {
    use cerberus_testkit::clients::Client;
    use cerberus_testkit::clients::claude_code::OLD;
    use cerberus_testkit::clients::cline::Cline;
    use cerberus_testkit::clients::copilot::Copilot;
    use cerberus_testkit::clients::gemini::Gemini;
    use cerberus_testkit::clients::opencode::Opencode;
    use cerberus_testkit::clients::qwen_code::QwenCode;
    use cerberus_testkit::model_server::{ModelServer, Reply, request_text};

    use super::super::{Stage, finish, times};
    use super::{End, interrupt, tell};

    #[test]
    fn opencode_asks_for_a_title_without_the_brief() {
        let stage = Stage::new(&Opencode);
        stage.cerberus(&["record", "next", "bound the retries"]);
        let server = ModelServer::start([Reply::text("I know.")]);
        finish(&mut Opencode.session(&stage.place(&server), "Go on"));
        let is_told = |request: &serde_json::Value| times(&request_text(request), "next:bound the retries") > 0;
        assert!(server.main_requests().iter().all(is_told));
        let titles: Vec<_> =
            server.requests().into_iter().filter(|request| request_text(request).contains("title generator")).collect();
        assert!(!titles.is_empty() && !titles.iter().any(is_told), "{titles:?}");
    }

    #[test]
    fn older_claude_code_is_killed() {
        OLD.iter().for_each(|client| tell(client, End::Kill));
    }

    #[test]
    fn gemini_is_killed() {
        tell(&Gemini, End::Kill);
    }

    #[test]
    fn gemini_is_interrupted() {
        // It writes a tool use down when it has ended.
        interrupt(&Gemini, Some(false));
    }

    #[test]
    fn opencode_is_killed() {
        tell(&Opencode, End::Kill);
    }

    #[test]
    fn opencode_is_interrupted() {
        interrupt(&Opencode, Some(true));
    }

    #[test]
    fn qwen_code_is_killed() {
        tell(&QwenCode, End::Kill);
    }

    #[test]
    fn qwen_code_is_interrupted() {
        interrupt(&QwenCode, Some(true));
    }

    #[test]
    fn cline_is_killed() {
        tell(&Cline, End::Kill);
    }

    #[test]
    fn cline_is_interrupted() {
        interrupt(&Cline, Some(true));
    }

    #[test]
    fn copilot_is_killed() {
        tell(&Copilot, End::Kill);
    }

    #[test]
    fn copilot_is_interrupted() {
        // It writes its events down with a delay.
        interrupt(&Copilot, None);
    }
}
