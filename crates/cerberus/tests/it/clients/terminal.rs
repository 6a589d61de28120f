//! Claude Code in a terminal, with somebody typing: `/exit`, `/clear`, a terminal that is closed, kill -9.

use std::path::Path;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{kill_group, wait_until};
use cerberus_testkit::terminal::Terminal;
use serde_json::{Value, json};

use super::claude_code::journal;
use super::story::is_written_below;
use super::{LIMIT, Stage, memories, times, told};

/// The first session, with these arguments, in which somebody typed this.
fn ask(stage: &Stage, server: &ModelServer, args: &[&str], prompt: &str) -> Terminal {
    let mut terminal = Terminal::spawn(ClaudeCode.command(&stage.place(server)).args(args)).unwrap();
    terminal.wait_for_keys(LIMIT).unwrap();
    wait_until("the session to begin", LIMIT, || (!stage.sessions().is_empty()).then_some(())).unwrap();
    terminal.enter(prompt, LIMIT, || (!server.main_requests().is_empty()).then_some(())).unwrap();
    terminal
}

/// A session that wrote a file and waits for its user, before the model's last words.
fn begin(stage: &Stage, server: &ModelServer) -> Terminal {
    let terminal = ask(stage, server, &["--permission-mode", "acceptEdits"], "Write the proxy");
    server.wait_for_main_requests(2, LIMIT).unwrap();
    terminal
}

/// The model writes a file and says something.
fn script(stage: &Stage) -> [Reply; 2] {
    let path = stage.scratch.repo().join("proxy.go");
    [ClaudeCode.write(&path, "package proxy\n\nfunc Forward() {}\n"), Reply::text("Written.")]
}

/// The file is told to the next session, and the first one is in this state, ended by this.
fn check(stage: &Stage, status: &str, trigger: &str) {
    let text = told(stage, &ClaudeCode, "Go on");
    assert_eq!(times(&text, "impl:proxy.go:3 Forward"), 1, "{text}");
    let sessions = stage.sessions();
    let first: &Value = sessions.last().unwrap();
    assert_eq!((&first["status"], &first["end_trigger"]), (&json!(status), &json!(trigger)), "{first}");
}

/// Waits until the first session has said all it had to.
fn wait_for_stop(stage: &Stage) {
    let journal = || {
        let days = std::fs::read_dir(stage.scratch.home().join(".cerberus/journal")).ok()?;
        let text: String = days.map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap()).collect();
        text.contains("{\"stop\":").then_some(())
    };
    wait_until("the turn to end", LIMIT, journal).unwrap();
}

#[test]
fn the_user_sees_once_that_the_context_passed_the_redline() {
    let stage = Stage::new(&ClaudeCode);
    let [write, written] = script(&stage);
    let server = ModelServer::start([write, written.reading(150_000), Reply::text("On it."), Reply::text("Still.")]);
    let mut terminal = begin(&stage, &server);
    wait_for_stop(&stage);
    let shown = |terminal: &Terminal| terminal.printed().matches("/cerberus:handoff").count();
    assert_eq!(shown(&terminal), 0);
    // The client writes its transcript, from which the size of the context is read, after the turn has ended.
    let written = || is_written_below(&stage.scratch.home(), b"150000").then_some(());
    wait_until("the size in the transcript", LIMIT, written).unwrap();
    terminal.enter("Go on", LIMIT, || (server.main_requests().len() > 2).then_some(())).unwrap();
    wait_until("the message", LIMIT, || (shown(&terminal) > 0).then_some(())).unwrap();
    let receipts = || journal(&stage).matches("\"redline\":true").count();
    assert_eq!(receipts(), 1);
    terminal.enter("And on", LIMIT, || (server.main_requests().len() > 3).then_some(())).unwrap();
    assert_eq!(receipts(), 1, "once a session");
}

#[test]
fn a_rule_that_was_typed_is_approved_and_one_of_a_headless_run_waits() {
    let stage = Stage::new(&ClaudeCode);
    told(&stage, &ClaudeCode, "From now on always push to main after each commit");
    let server = ModelServer::start([Reply::text("Understood.")]);
    let mut command = ClaudeCode.command(&stage.place(&server));
    command.args(["--permission-mode", "default"]);
    let mut terminal = Terminal::spawn(&command).unwrap();
    terminal.wait_for_keys(LIMIT).unwrap();
    let began = || (stage.sessions().len() == 2).then_some(());
    wait_until("the session to begin", LIMIT, began).unwrap();
    let asked = || (!server.main_requests().is_empty()).then_some(());
    terminal.enter("From now on always run the tests before you commit", LIMIT, asked).unwrap();
    let stopped = || (journal(&stage).matches("{\"stop\":").count() == 2).then_some(());
    wait_until("the turn to end", LIMIT, stopped).unwrap();
    terminal.type_keys("/exit").unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait(LIMIT).unwrap();
    assert_eq!(
        memories(&stage),
        [
            "approved prompt project:repo From now on always run the tests before you commit",
            "proposed headless project:repo From now on always push to main after each commit",
        ]
    );
}

/// The model quotes what somebody typed, in Japanese, and the next session is told it.
#[test]
fn a_rule_in_japanese_is_quoted_and_told() {
    let stage = Stage::new(&ClaudeCode);
    let quote = json!({"kind": "rule", "quote": "本番に直接pushしないで"});
    let server = ModelServer::start([ClaudeCode.ours("user_said", quote), Reply::text("承知しました。")]);
    let args = ["--allowedTools", "mcp__cerberus__user_said"];
    let mut terminal = ask(&stage, &server, &args, "今後は本番に直接pushしないでください。");
    wait_for_stop(&stage);
    terminal.type_keys("/exit").unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait(LIMIT).unwrap();
    assert_eq!(memories(&stage), ["approved prompt project:repo 今後は本番に直接pushしないでください。"]);
    let text = told(&stage, &ClaudeCode, "続けて");
    assert!(text.contains("rule:\"今後は本番に直接pushしないでください。\" (you, "), "{text}");
}

#[test]
fn exit_ends_it() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start(script(&stage));
    let mut terminal = begin(&stage, &server);
    wait_for_stop(&stage);
    terminal.type_keys("/exit").unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait(LIMIT).unwrap();
    check(&stage, "ended", "prompt_input_exit");
}

#[test]
fn after_clear_the_new_conversation_is_told_the_state_once() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start(script(&stage));
    let mut terminal = begin(&stage, &server);
    wait_for_stop(&stage);
    terminal.enter("/clear", LIMIT, || (stage.sessions().len() == 2).then_some(())).unwrap();
    terminal.enter("Go on", LIMIT, || (server.main_requests().len() > 2).then_some(())).unwrap();
    let text = request_text(&server.main_requests()[2]);
    assert_eq!(text.matches("Write the proxy").count(), 1, "the conversation is a new one: {text}");
    assert!(text.contains("last:Write the proxy"), "{text}");
    assert_eq!(times(&text, "impl:proxy.go:3 Forward"), 1, "{text}");
    let sessions = stage.sessions();
    assert_eq!((&sessions[1]["status"], &sessions[1]["end_trigger"]), (&json!("ended"), &json!("clear")));
    assert_eq!(sessions[0]["status"], "active");
}

#[test]
fn a_closed_terminal_ends_it() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start(script(&stage));
    let mut terminal = begin(&stage, &server);
    wait_for_stop(&stage);
    terminal.close();
    terminal.wait(LIMIT).unwrap();
    check(&stage, "ended", "other");
}

#[test]
fn killed_in_its_terminal_it_is_recovered() {
    let stage = Stage::new(&ClaudeCode);
    let [write, _] = script(&stage);
    let server = ModelServer::start([write, Reply::hang()]);
    let mut terminal = begin(&stage, &server);
    kill_group(terminal.pid()).unwrap();
    terminal.wait(LIMIT).unwrap();
    check(&stage, "recovered", "the agent's process is gone");
}

/// A session in which the model presents a plan and the user answers with this key. The plan is in a file that the client
/// names; the tool has no input.
fn present_plan(stage: &Stage, server: &ModelServer, key: &str) -> Terminal {
    let args = ["--permission-mode", "plan", "--settings", r#"{"showClearContextOnPlanAccept": true}"#];
    let mut terminal = ask(stage, server, &args, "Plan it");
    wait_for_stop(stage);
    let told = request_text(&server.main_requests()[0]);
    let named =
        told.split_whitespace().find(|word| word.contains("/.claude/plans/")).expect("the client names the file");
    let path = Path::new(named.trim_end_matches('.'));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "# The plan\n\n## Steps\n\n1. Write the schema\n2. Fold the journal\n").unwrap();
    terminal.enter("Show it", LIMIT, || (server.main_requests().len() > 1).then_some(())).unwrap();
    terminal.wait_for_text("Would you like to proceed?", LIMIT).unwrap();
    terminal.press(key, LIMIT, || (server.main_requests().len() > 3).then_some(())).unwrap();
    terminal
}

fn plan_script() -> [Reply; 4] {
    let find = Reply::tool("ToolSearch", json!({ "query": "select:ExitPlanMode", "max_results": 1 }));
    [Reply::text("Thinking."), find, Reply::tool("ExitPlanMode", json!({})), Reply::hang()]
}

/// The next session is told the steps, after the client was killed.
fn check_plan(stage: &Stage, terminal: &mut Terminal) {
    kill_group(terminal.pid()).unwrap();
    terminal.wait(LIMIT).unwrap();
    let text = told(stage, &ClaudeCode, "Go on");
    for code in ["next:Write the schema", "next:Fold the journal"] {
        assert_eq!(times(&text, code), 1, "{code} in {text}");
    }
}

#[test]
fn an_approved_plan_is_recorded_at_once_and_told() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start(plan_script());
    let mut terminal = present_plan(&stage, &server, "3");
    assert_eq!(journal(&stage).matches("\"plan\":\"# The plan").count(), 1, "before anything reads the transcript");
    check_plan(&stage, &mut terminal);
}

#[test]
fn a_plan_that_is_implemented_in_a_cleared_context_is_told() {
    let stage = Stage::new(&ClaudeCode);
    let server = ModelServer::start(plan_script());
    let mut terminal = present_plan(&stage, &server, "1");
    assert_eq!(stage.sessions().len(), 2, "the client cleared the context");
    check_plan(&stage, &mut terminal);
}

#[test]
fn an_edit_that_the_user_refused_is_told_as_nothing() {
    let stage = Stage::new(&ClaudeCode);
    let path = stage.scratch.repo().join("proxy.go");
    std::fs::write(&path, "package proxy\n").unwrap();
    let read = Reply::tool("Read", json!({ "file_path": path }));
    let edit = ClaudeCode.edit(&path, "package proxy", "package other");
    let server = ModelServer::start([read, edit, Reply::text("Well.")]);
    let mut terminal = ask(&stage, &server, &["--permission-mode", "default"], "Rename it");
    terminal.wait_for_text("Do you want to make this edit", LIMIT).unwrap();
    let refused = || is_written_below(&stage.scratch.home(), b"doesn't want to proceed").then_some(());
    terminal.press("\u{1b}", LIMIT, refused).unwrap();
    kill_group(terminal.pid()).unwrap();
    terminal.wait(LIMIT).unwrap();
    let text = told(&stage, &ClaudeCode, "Go on");
    assert!(text.contains("next:interrupted:Rename it"), "{text}");
    for line in ["impl:proxy.go", "not committed"] {
        assert!(!text.contains(line), "{line} in {text}");
    }
}

const INSTEAD: &str = "From now on always use pnpm";

#[test]
fn what_was_typed_while_rejecting_a_tool_use_is_told_while_the_session_goes_on() {
    let stage = Stage::new(&ClaudeCode);
    let install = ClaudeCode.run("npm install left-pad");
    let server = ModelServer::start([install, Reply::text("I will use pnpm."), Reply::text("It is the last one.")]);
    let mut terminal = ask(&stage, &server, &["--permission-mode", "default"], "Install the dependencies");
    for (key, shown) in
        [("", "❯ 1."), ("\x1b[B", "❯ 2."), ("\x1b[B", "❯ 3."), ("\x1b[B", "❯ 4. No"), ("\t", "differently")]
    {
        terminal.type_keys(key).unwrap();
        terminal.wait_for_text(shown, LIMIT).unwrap();
    }
    send(&mut terminal, INSTEAD);
    wait_for_stops(&stage, 1);
    // The client writes its transcript a little later than it calls hooks: the end of the next turn finds the words.
    wait_until("the words in the transcript", LIMIT, || {
        is_written_below(&stage.scratch.home().join(".claude/projects"), b"userFeedback").then_some(())
    })
    .unwrap();
    terminal.enter("Which version is it?", LIMIT, || (server.main_requests().len() > 2).then_some(())).unwrap();
    wait_for_stops(&stage, 2);
    let text = told(&stage, &ClaudeCode, "Go on");
    for line in ["last:Which version is it?", &format!("asked:{INSTEAD}"), "said:I will use pnpm."] {
        assert!(text.contains(line), "{line} in {text}");
    }
    for line in ["interrupted", "live:"] {
        assert!(!text.contains(line), "{line} in {text}");
    }
    terminal.type_keys("/exit").unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait(LIMIT).unwrap();
    assert_eq!(memories(&stage), [format!("approved prompt project:repo {INSTEAD}")]);
}

/// Waits until the journal has this many turns that ended.
fn wait_for_stops(stage: &Stage, count: usize) {
    let stopped = || (journal(stage).matches("{\"stop\":").count() == count).then_some(());
    wait_until("the turn to end", LIMIT, stopped).unwrap();
}

/// Types words and, once they are on the screen, Enter.
fn send(terminal: &mut Terminal, words: &str) {
    terminal.type_keys(words).unwrap();
    terminal.wait_for_text(words, LIMIT).unwrap();
    terminal.type_keys("\r").unwrap();
}

#[test]
fn a_turn_undone_with_rewind_is_not_told() {
    let stage = Stage::new(&ClaudeCode);
    let path = stage.scratch.repo().join("global.go");
    let [write, written] = script(&stage);
    let undone = [ClaudeCode.write(&path, "package proxy\n\nvar Cache = 1\n"), Reply::text("The cache is global now.")];
    let instead = Reply::text("The cache is per request.");
    let server = ModelServer::start([write, written].into_iter().chain(undone).chain([instead]));
    let mut terminal = begin(&stage, &server);
    wait_for_stops(&stage, 1);
    terminal.enter("Make the cache global", LIMIT, || (server.main_requests().len() > 2).then_some(())).unwrap();
    wait_for_stops(&stage, 2);
    send(&mut terminal, "/rewind");
    terminal.wait_for_text("to the point before", LIMIT).unwrap();
    // From the current state up to the last prompt, then everything is restored.
    terminal.type_keys("\x1b[A").unwrap();
    terminal.wait_for_text("❯ Make the cache global", LIMIT).unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait_for_text("❯ 1. Restore code and conversation", LIMIT).unwrap();
    terminal.type_keys("\r").unwrap();
    wait_until("the file to go", LIMIT, || (!path.exists()).then_some(())).unwrap();
    // The answer is gone, and the prompt is in the input line again.
    let shows = |terminal: &Terminal, words: &str| terminal.screen().contents().contains(words);
    let is_restored = || !shows(&terminal, "global now") && shows(&terminal, "Make the cache global");
    wait_until("the conversation to be restored", LIMIT, || is_restored().then_some(())).unwrap();
    terminal.type_keys("\x15").unwrap();
    let is_cleared = || (!shows(&terminal, "Make the cache global")).then_some(());
    wait_until("an empty input line", LIMIT, is_cleared).unwrap();
    terminal.enter("Keep it in each request", LIMIT, || (server.main_requests().len() > 4).then_some(())).unwrap();
    wait_for_stops(&stage, 3);
    terminal.type_keys("/exit").unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait(LIMIT).unwrap();
    let text = told(&stage, &ClaudeCode, "Go on");
    assert!(text.contains("last:Keep it in each request") && text.contains("asked:Write the proxy"), "{text}");
    assert!(text.contains("said:The cache is per request.") && text.contains("impl:proxy.go:3 Forward"), "{text}");
    for undone in ["cache global", "global now", "global.go"] {
        assert!(!text.contains(undone), "{undone}: {text}");
    }
}
