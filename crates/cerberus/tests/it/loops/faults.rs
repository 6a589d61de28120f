//! What agents do wrong, and that the loop goes on, waits or stops as it should.

use std::io::Write as _;
use std::process::Stdio;

use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::process::wait_until;
use serde_json::json;

use super::{LIMIT, Ran, Stage, begins, prints, with, works};

#[test]
fn the_hard_redline_stops_the_group_and_the_handoff_is_made_from_facts() {
    let full =
        [Act::Shell("echo x > lexer.rs"), Act::Say("still at it", 90_000), Act::IgnoreTerm, Act::ForkAway, Act::Hang];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &full]), works("echo y > b")]);
    stage.run(&["--context-window", "100000", "--max-iterations", "2"]).ended(3, "iterations");
    let history = stage.history();
    assert_eq!(
        (history[0]["ended_by"].as_str(), history[0]["fill_percent"].as_f64()),
        (Some("hard-redline"), Some(90.0))
    );
    assert_eq!(history[1]["reboot"]["reason"], "hard-redline");
    assert!(stage.agent.told(2).contains("lexer.rs"), "{}", stage.agent.told(2));
    assert_eq!(stage.agent.asked(1), "");
}

#[test]
fn a_redline_in_tokens_needs_no_window() {
    let full =
        [Act::Say("crowded", 60_000), Act::Await, Act::Say("no handoff from me", 60_500), Act::Done(""), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &full]), works("echo y > b")]);
    stage.write("a", "x");
    stage.run(&["--soft-redline", "50000", "--hard-redline", "150k", "--max-iterations", "2"]).ended(3, "iterations");
    assert_eq!(stage.history()[0]["ended_by"], "soft-redline");
}

#[test]
fn an_agent_without_live_input_is_taken_up_again_for_its_handoff() {
    let answer = "<handoff>\n## Pending\n- [ ] write the lexer\n</handoff>";
    let first = with(&[&begins(), &[Act::Shell("echo x > a.rs"), Act::Say("STUCK", 0), Act::Hang]]);
    let resumed = vec![Act::Say(answer, 0), Act::Done("")];
    let stage = Stage::new(Tongue::Codex, &[first, resumed, works("echo y > b")]);
    stage.run(&["--reboot-on-output", "STUCK", "--max-iterations", "2"]).ended(3, "iterations");
    assert!(stage.agent.arguments(2).starts_with("exec --json resume fake-1-"), "{}", stage.agent.arguments(2));
    assert!(stage.agent.told(2).contains("Context Handoff Request"));
    assert!(stage.agent.told(3).contains("- [ ] write the lexer"), "{}", stage.agent.told(3));
    let history = stage.history();
    assert_eq!((history.len(), history[0]["ended_by"].as_str()), (2, Some("output-pattern")));
}

#[test]
fn torn_lines_and_unknown_events_are_no_failure() {
    let odd = [Act::Unknown, Act::Tear("torn in two", 8_000), Act::Retry, Act::Unknown, Act::Shell("echo x > a")];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &odd, &[Act::Done("ok"), Act::Leave]])]);
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(3, "iterations");
    assert!(ran.stdout().contains("torn in two"), "{}", ran.stdout());
    assert_eq!(stage.history()[0].get("failure"), None);
}

#[test]
fn an_overload_is_waited_for_and_spends_no_iteration() {
    let overloaded = vec![Act::Start, Act::Fail(529, "Overloaded"), Act::Leave];
    let stage = Stage::new(Tongue::ClaudeCode, &[overloaded.clone(), overloaded, works("echo x > a")]);
    stage.run(&["--max-iterations", "1", "--backoff-max", "1s"]).ended(3, "iterations");
    let history = stage.history();
    assert_eq!((history.len(), history[0]["attempts"].as_u64(), stage.agent.contexts()), (1, Some(3), 3));
}

#[test]
fn what_only_the_user_can_mend_stops_at_once_and_says_how() {
    let login = vec![Act::Start, Act::Fail(401, "Invalid API key"), Act::Leave];
    let flag = vec![Act::Complain("error: unknown option '--sandbx'"), Act::Exit(1)];
    let denied = with(&[&begins(), &[Act::Denied("Bash"), Act::Leave]]);
    for (acts, why, hint) in [
        (login, "Invalid API key", "log in"),
        (flag, "unknown option", "agent_args"),
        (denied, "not permitted to use a tool it needs: Bash", "allow the tools"),
    ] {
        let stage = Stage::new(Tongue::ClaudeCode, &[acts]);
        stage.run(&[]).ended(5, why).ended(5, hint);
        assert_eq!(stage.agent.contexts(), 1, "{why}");
    }
    let stage = Stage::new(Tongue::ClaudeCode, &[works("true")]);
    std::fs::remove_file(&stage.agent.program).unwrap();
    stage.run(&[]).ended(5, "cannot start").ended(5, "--program");
}

#[test]
fn a_successor_that_cannot_start_leaves_the_state_as_it_was() {
    let crash = vec![Act::Complain("out of memory"), Act::Exit(70)];
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a"), crash.clone(), crash, works("echo y > b")]);
    let ran = stage.run(&["--max-iterations", "2", "--same-failure", "9"]);
    ran.ended(3, "iterations").ended(3, "out of memory");
    let history = stage.history();
    assert_eq!((history.len(), history[1]["attempts"].as_u64()), (2, Some(3)));
    assert_eq!(history[1]["reboot"]["old_session_id"], history[0]["session_id"]);
    assert!(stage.agent.told(4).contains("# Context Handoff"));
    // Where it never starts, the old session is not closed as handed over.
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a"), vec![Act::Exit(70)]]);
    stage.run(&["--same-failure", "2"]).ended(1, "the same failure occurred 2 times");
    let sessions = stage.env.sessions();
    assert_eq!(sessions.len(), 1);
    assert_ne!(sessions[0]["end_trigger"], "reboot");
}

#[test]
fn a_stall_is_noticed_and_the_next_context_goes_on() {
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Hang]]), works("echo x > a")]);
    stage.run(&["--stall", "1s", "--max-iterations", "2"]).ended(3, "iterations");
    let history = stage.history();
    assert_eq!(
        (history[0]["ended_by"].as_str(), history[1]["reboot"]["reason"].as_str()),
        (Some("stall"), Some("stall"))
    );
}

#[test]
fn the_next_context_is_told_what_hung() {
    let hangs = with(&[&begins(), &[Act::Call("npm run dev"), Act::Hang]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[hangs.clone(), works("echo x > a")]);
    stage.run(&["--stall", "1s", "--max-iterations", "2"]).ended(3, "iterations");
    let told = stage.agent.told(2);
    let (before, after) = told.split_once("## Interrupted").unwrap_or_else(|| panic!("{told}"));
    assert!(!before.contains("##"), "it comes first: {told}");
    assert!(after.contains("printed nothing for too long") && after.contains("`Bash npm run dev`"), "{told}");
    assert!(after.contains("in the background, or with a time limit"), "{told}");

    // The runner dies. The next one reads what ran from what the agent printed.
    let stage = Stage::new(Tongue::ClaudeCode, &[hangs, works("echo x > a"), works("echo y > b")]);
    let mut child = stage.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_written = || {
        let loops = std::fs::read_dir(stage.env.home().join("loops")).into_iter().flatten().flatten();
        let mut logs = loops.map(|dir| dir.path().join("output-1-1-1.log"));
        logs.any(|log| std::fs::read_to_string(log).is_ok_and(|said| said.contains("npm run dev"))).then_some(())
    };
    wait_until("its output to be written down", LIMIT, is_written).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    stage.resume(&["--max-iterations", "3"]).ended(3, "iterations");
    let told = stage.agent.told(2);
    assert!(told.contains("the loop itself was killed") && told.contains("`Bash npm run dev`"), "{told}");
    assert!(!stage.agent.told(3).contains("## Interrupted"), "{}", stage.agent.told(3));
}

#[test]
fn an_outage_is_waited_for_as_long_as_the_user_allows() {
    let words = "API Error: Connection error. (getaddrinfo ENOTFOUND api.example.invalid)";
    let outage = vec![Act::Start, Act::Fail(0, words), Act::Leave];
    let contexts = [&vec![outage.clone(); 5][..], &[works("echo x > a")]].concat();
    let stage = Stage::new(Tongue::ClaudeCode, &contexts);
    stage.run(&["--max-iterations", "1", "--backoff-max", "1s"]).ended(3, "iterations");
    let history = stage.history();
    assert_eq!((history.len(), history[0]["attempts"].as_u64()), (1, Some(6)), "no iteration is spent");

    let stage = Stage::new(Tongue::ClaudeCode, &[outage]);
    let told = "cat >> ../notified; echo >> ../notified";
    let ran = stage.run(&["--max-wait", "3s", "--backoff-max", "1s", "--notify", told]);
    ran.ended(3, "limit of waiting").ended(3, "raise the limit");
    let notified = std::fs::read_to_string(stage.env.root().join("notified")).unwrap();
    let said: Vec<serde_json::Value> = notified.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(said[0]["waiting"].as_str().unwrap().contains("Connection error"), "{notified}");
    assert_eq!((said.len(), said[1]["stop"].as_str()), (2, Some("limit")), "once for a row of waits: {notified}");
    assert!((3..20).contains(&stage.agent.contexts()), "{}", stage.agent.contexts());
}

#[test]
fn a_context_with_a_handoff_gets_rules_and_no_second_text() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a")]);
    stage.env.ok(&["learn", "Use tabs in Makefiles", "--scope", "project"]);
    stage.env.ok(&["record", "decision", "tests use real processes"]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let has_variable = |context: usize| {
        let variables = std::fs::read_to_string(stage.env.root().join(format!("agent/variables-{context}"))).unwrap();
        variables.lines().any(|name| name == "CERBERUS_HANDOFF")
    };
    assert_eq!([has_variable(1), has_variable(2)], [false, true]);
    // A start that reports this is answered like this.
    let start = |session: &str, handoff: Option<&str>| {
        let payload = stage.env.payload(session, "SessionStart", json!({"source": "startup"}));
        let mut command = stage.env.command();
        command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.envs(handoff.map(|value| ("CERBERUS_HANDOFF", value)));
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&payload).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let told = start("s1", Some("1"));
    assert!(told.contains("Use tabs in Makefiles") && !told.contains("real processes"), "{told}");
    assert!(start("s2", None).contains("real processes"));
}

#[test]
fn an_early_exit_is_a_crash_and_is_tried_again() {
    let early = with(&[&begins(), &[Act::Exit(0)]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[early, works("echo x > a")]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    assert_eq!(stage.history()[0]["ended_by"], "failure");
}

#[test]
fn children_that_hide_do_not_survive_a_program_that_ends() {
    let stage = Stage::new(Tongue::Plain, &[vec![Act::Fork, Act::ForkAway, Act::Say("bye", 0), Act::Exit(0)]]);
    // `run` itself waits until nothing works in the project any more.
    stage.run(&["--max-iterations", "1"]).ended(3, "iterations");
}

#[test]
fn what_marks_an_agent_as_nested_is_not_passed_on() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a")]);
    let output = stage.command(&["--max-iterations", "1"]).env("CLAUDECODE", "0").env("KEPT", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let variables = std::fs::read_to_string(stage.env.root().join("agent/variables-1")).unwrap();
    let names: Vec<&str> = variables.lines().collect();
    assert!(names.contains(&"KEPT") && !names.contains(&"CLAUDECODE"), "{names:?}");
}

#[test]
fn what_was_printed_is_kept_without_secrets() {
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a")]);
    let script = std::fs::read_to_string(&stage.agent.program).unwrap();
    std::fs::write(&stage.agent.program, script.replace("working", &format!("the key is {key}"))).unwrap();
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let mut kept = 0;
    for entry in walk(&stage.env.home()) {
        let text = String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).into_owned();
        assert!(!text.contains(key), "{}", entry.display());
        kept += usize::from(text.contains("the key is [redacted"));
    }
    assert!(kept > 0, "the output is kept somewhere");
}

pub fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_full_disk_ends_the_loop_with_a_reason_and_it_goes_on_later() {
    let stage = Stage::new(Tongue::Plain, &[prints("date +%N >> a")]);
    // What a file may not grow beyond is what a full disk does to a write.
    let run = stage.command(&["--max-iterations", "40", "--no-progress", "99"]);
    let mut full = std::process::Command::new("sh");
    full.args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""]).arg(run.get_program()).args(run.get_args()).env_clear();
    full.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    full.current_dir(run.get_current_dir().unwrap());
    let ran = Ran(full.output().unwrap());
    stage.nobody_is_left();
    ran.ended(1, "ledger.jsonl").ended(1, "free disk space");
    let before = stage.history().len();
    assert!((1..40).contains(&before), "{before}");
    let more = (before + 2).to_string();
    stage.resume(&["--max-iterations", &more]).ended(3, "iterations");
    let numbers: Vec<u64> = stage.history().iter().filter_map(|row| row["iteration"].as_u64()).collect();
    assert_eq!(numbers, (1..=before as u64 + 2).collect::<Vec<_>>(), "none is lost and none is done twice");
}
