//! A loop of three contexts with the real agents: the first is left at the soft redline, the second at the hard one.

use std::os::unix::process::CommandExt;
use std::process::Command;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{Finished, Running, running_in};
use serde_json::{Value, json};

use super::{LIMIT, Stage};

const SOFT: usize = 75_000;
pub(super) const HARD: usize = 90_000;

/// What only the second and the third context were told; an agent that is stopped may ask once more before it ends.
const SECOND: &str = "# Context Handoff\n";
const THIRD: &str = "two.txt (new)";

const HANDOFF: &str = "I stop here.\n<handoff>\n## Completed\n- [x] write part one\n## Pending\n- [ ] write part two\n\
    - [ ] write part three\n## Key Decisions\n- plain text files (anybody can read them)\n\
    ## Known Issues\n- [LOW] the parts have no headings\n</handoff>";

/// `cerberus loop run` in the surroundings of a client, and with the client's own arguments after `--`.
fn loop_run(stage: &Stage, client: &Command, agent: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerberus"));
    command.env_clear().current_dir(stage.scratch.repo()).process_group(0);
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["loop", "run", "--agent", agent, "--program"]).arg(client.get_program());
    command.args(["--prompt", "Write the three parts.", "--min-interval", "0s", "--until", "test -f three.txt"]);
    command.args(["--max-failures", "1"]).args(args).arg("--");
    command
}

/// A tool that goes on until the loop's hook was called, and a little longer: what is said to the agent then is heard
/// when it ends.
fn wait_for_hook(stage: &Stage) -> String {
    let called = stage.scratch.root().join("called");
    format!("while [ ! -s '{}' ]; do sleep 0.1; done; sleep 2; echo looked", called.display())
}

/// What the user's hook leaves: the state that it was given.
fn with_hook(stage: &Stage) {
    let called = stage.scratch.root().join("called");
    let settings = format!("[loop.hooks]\npre_reboot = \"cat > '{}'\"\n", called.display());
    std::fs::write(stage.scratch.repo().join("cerberus.toml"), settings).unwrap();
}

fn part(client: &dyn Client, stage: &Stage, name: &str) -> Reply {
    client.write(&stage.scratch.repo().join(format!("{name}.txt")), &format!("part {name}\n")).reading(5_000)
}

pub(super) fn run_to_its_end(command: &mut Command) -> (u32, Finished) {
    let mut running = Running::spawn(command).unwrap();
    let group = running.pid();
    let finished = running.wait(LIMIT).unwrap();
    assert!(finished.status.success(), "{}\n{}", finished.stdout, finished.stderr);
    (group, finished)
}

/// The first request that holds this, as all that the model read.
pub(super) fn request_with(server: &ModelServer, words: &str, after: usize) -> (usize, String) {
    let requests: Vec<String> = server.main_requests().iter().map(request_text).collect();
    let found = requests.iter().enumerate().skip(after).find(|(_, text)| text.contains(words));
    let (at, text) = found.unwrap_or_else(|| panic!("no request holds {words:?}: {requests:#?}"));
    (at, text.clone())
}

/// What holds of every such loop, whichever agent was at work.
fn check(stage: &Stage, server: &ModelServer, group: u32) {
    let files: Vec<bool> =
        ["one", "two", "three"].map(|name| stage.scratch.repo().join(format!("{name}.txt")).exists()).to_vec();
    assert_eq!(files, [true, true, true]);
    let left: Vec<String> = running_in(group, stage.scratch.root());
    assert_eq!(left, [""; 0], "no process is left");

    // The second context begins with the first one's own words, the third with what was captured, git and both.
    let (second, text) = request_with(server, "# Context Handoff\n", 0);
    for told in
        ["Write the three parts.", "- [x] write part one", "- [ ] write part two", "one.txt (new)", "(anybody can"]
    {
        assert!(text.contains(told), "{told} in {text}");
    }
    assert!(!text.contains("# Context Handoff Request"), "it is a fresh context: {text}");
    let (_, text) = request_with(server, "two.txt (new)", second + 1);
    for told in
        ["- [x] write part one", "- [ ] write part three", "- plain text files (anybody can read them)", "- [LOW]"]
    {
        assert!(text.contains(told), "{told} in {text}");
    }

    let history: Value = serde_json::from_str(&stage.cerberus(&["loop", "history", "--json"])).unwrap();
    let rows = history.as_array().unwrap();
    assert_eq!(rows.len(), 3, "{history:#}");
    for (row, number) in rows.iter().zip(1..) {
        assert_eq!(row["iteration"], number);
        for field in ["session_id", "started_at", "ended_at", "fill_percent", "tokens"] {
            assert!(!row[field].is_null(), "{field} of {row:#}");
        }
    }
    assert!(rows[0]["reboot"].is_null());
    for (row, before, reason) in [(&rows[1], &rows[0], "soft-redline"), (&rows[2], &rows[1], "hard-redline")] {
        let reboot = &row["reboot"];
        assert_eq!(reboot["reason"], reason);
        assert_eq!((&reboot["old_session_id"], &reboot["new_session_id"]), (&before["session_id"], &row["session_id"]));
        assert!(reboot["handoff_message"].as_str().unwrap().starts_with("# Context Handoff\n"), "{reboot:#}");
        assert!(reboot["transition_time_ms"].is_u64() && reboot["warmed_up"] == false, "{reboot:#}");
    }
    assert!(rows[2]["stop_reason"].as_str().unwrap().contains("the check passed"), "{history:#}");

    let sessions = stage.sessions();
    for row in rows {
        let of_row = |session: &&Value| session["agent_session_id"] == row["session_id"];
        let session = sessions.iter().find(of_row).unwrap_or_else(|| panic!("{row:#} in {sessions:#?}"));
        // A hook of the agent may write a moment after the loop has closed the session.
        assert!(["ended", "recovered"].contains(&session["status"].as_str().unwrap()), "{session:#}");
        assert_eq!(session["end_trigger"] == "reboot", row != &rows[2], "{session:#}");
    }
    let called = std::fs::read_to_string(stage.scratch.root().join("called")).unwrap();
    let told: Value = serde_json::from_str(&called).unwrap();
    assert_eq!((&told["hook"], &told["reason"]), (&"pre_reboot".into(), &"hard-redline".into()), "{told:#}");
    assert!(told["state"]["pending_items"].is_array(), "{told:#}");
}

/// A command that goes on after the agent has looked at it: Codex writes down how full its context is only when a tool came
/// back. Whether it asks its model once more before it is stopped, nobody knows; if it does, it waits.
pub(super) fn in_background(command: &str, read_tokens: usize) -> [Reply; 2] {
    let input = json!({ "cmd": command, "yield_time_ms": 500 });
    [Reply::tool("exec_command", input).reading(read_tokens), Reply::hang().to(command)]
}

#[test]
fn claude_code_works_through_three_contexts() {
    let stage = Stage::new(&ClaudeCode);
    with_hook(&stage);
    let server = ModelServer::start([
        part(&ClaudeCode, &stage, "one"),
        ClaudeCode.run(&wait_for_hook(&stage)).reading(SOFT),
        Reply::text(HANDOFF).to("# Context Handoff Request").reading(SOFT + 1_000),
        part(&ClaudeCode, &stage, "two").to(SECOND),
        ClaudeCode.run("sleep 600 & sleep 601").to(SECOND).reading(HARD),
        part(&ClaudeCode, &stage, "three").to(THIRD),
        Reply::text("All three parts are there.").to(THIRD).reading(6_000),
    ]);
    let client = ClaudeCode.command(&stage.place(&server));
    let mut command = loop_run(&stage, &client, "claude-code", &["--context-window", "100000"]);
    let (group, _) = run_to_its_end(command.arg("--dangerously-skip-permissions"));
    check(&stage, &server, group);
    let history: Value = serde_json::from_str(&stage.cerberus(&["loop", "history", "--json"])).unwrap();
    assert_eq!(history[0]["fill_percent"], 76.0, "{history:#}");
    assert!(history[2]["cost_usd"].is_f64(), "{history:#}");
}

#[test]
fn codex_works_through_three_contexts() {
    let stage = Stage::new(&Codex);
    with_hook(&stage);
    let [soft, waits] = in_background("sleep 600 & sleep 601", SOFT);
    let [hard, waits_too] = in_background("sleep 602 & sleep 603", HARD);
    let server = ModelServer::start([
        part(&Codex, &stage, "one"),
        soft,
        // The session that is asked has the command in its past too.
        Reply::text(HANDOFF).to("# Context Handoff Request").reading(SOFT + 1_000),
        waits,
        part(&Codex, &stage, "two").to(SECOND),
        hard.to(SECOND),
        waits_too,
        part(&Codex, &stage, "three").to(THIRD),
        Reply::text("All three parts are there.").to(THIRD).reading(6_000),
    ]);
    let client = Codex.command(&stage.place(&server), &[]);
    let mut command = loop_run(&stage, &client, "codex", &["--soft-redline", "70k", "--hard-redline", "85k"]);
    command.args(["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
    let (group, _) = run_to_its_end(command.args(client.get_args()));
    check(&stage, &server, group);
}

#[test]
fn the_window_of_a_model_is_asked_for_once() {
    let stage = Stage::new(&ClaudeCode);
    let windows = stage.scratch.home().join(".cerberus/loops/windows.json");
    let asked = |server: &ModelServer| server.received().iter().filter(|one| one.path.contains("count_tokens")).count();
    let run = |parts: [&str; 2]| {
        let [first, last] = parts.map(|name| part(&ClaudeCode, &stage, name));
        let server = ModelServer::start([first, ClaudeCode.run("sleep 3"), last, Reply::text("Done.")]);
        let client = ClaudeCode.command(&stage.place(&server));
        run_to_its_end(loop_run(&stage, &client, "claude-code", &[]).arg("--dangerously-skip-permissions"));
        asked(&server)
    };
    assert!(run(["one", "three"]) > 0);
    assert!(std::fs::read_to_string(&windows).unwrap().contains("claude-"), "{}", windows.display());
    std::fs::remove_file(stage.scratch.repo().join("three.txt")).unwrap();
    assert_eq!(run(["two", "three"]), 0, "it is known now");
}

#[cfg(feature = "all-clients")]
#[test]
fn gemini_works_through_three_contexts() {
    let client = &cerberus_testkit::clients::gemini::Gemini;
    let stage = Stage::new(client);
    with_hook(&stage);
    let waits = "sleep 600 & sleep 601";
    let server = ModelServer::start([
        part(client, &stage, "one"),
        client.run(waits).reading(SOFT),
        Reply::text(HANDOFF).to("# Context Handoff Request").reading(SOFT + 1_000),
        part(client, &stage, "two").to(SECOND),
        client.run("sleep 602 & sleep 603").to(SECOND).reading(HARD),
        part(client, &stage, "three").to(THIRD),
        Reply::text("All three parts are there.").to(THIRD).reading(6_000),
    ]);
    let session = client.session(&stage.place(&server), "");
    let mut command = loop_run(&stage, &session, "gemini", &["--soft-redline", "70k", "--hard-redline", "85k"]);
    let (group, _) = run_to_its_end(command.args(["--yolo", "-m", "gemini-2.5-pro"]));
    check(&stage, &server, group);
    let history: Value = serde_json::from_str(&stage.cerberus(&["loop", "history", "--json"])).unwrap();
    assert_eq!(history[0]["fill_certainty"], history[1]["fill_certainty"], "{history:#}");
}
