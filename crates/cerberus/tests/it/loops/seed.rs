//! What the original specification of fresh contexts asks for: its eight testing requirements and its eight acceptance
//! criteria, each as a test of its own.

use cerberus_testkit::fake_agent::{Act, Tongue};
use serde_json::Value;

use super::{Stage, begins, prints, with, works};

const HANDOFF: &str = "<handoff>\n## Current Objective\nBuild the parser\n## Completed\n- [x] read the grammar\n\
    ## Pending\n- [ ] write the lexer\n## Key Decisions\n- recursive descent (easy to read)\n\
    ## Known Issues\n- [HIGH] the grammar is ambiguous at line 9\n</handoff>";

/// A context that reaches the soft redline, is asked, and answers; and one that follows.
fn handing_over() -> Stage {
    let full = [Act::Say("It gets crowded.", 75_000), Act::Await, Act::Say(HANDOFF, 76_000), Act::Done(""), Act::Leave];
    let first = with(&[&begins(), &[Act::Shell("echo x > lexer.rs")], &full]);
    Stage::new(Tongue::ClaudeCode, &[first, works("echo y > parser.rs")])
}

const WINDOW: [&str; 2] = ["--context-window", "100000"];

fn two(stage: &Stage) -> Vec<Value> {
    stage.run(&[&WINDOW[..], &["--max-iterations", "2"]].concat()).ended(3, "the limit of iterations is reached");
    stage.history()
}

#[test]
fn requirement_1_a_fresh_context_creates_a_new_session() {
    let stage = handing_over();
    let history = two(&stage);
    assert_eq!((history.len(), stage.agent.contexts()), (2, 2));
    assert_ne!(history[0]["session_id"], history[1]["session_id"]);
    assert_eq!(history[1]["reboot"]["new_session_id"], history[1]["session_id"]);
    assert_eq!(history[1]["reboot"]["old_session_id"], history[0]["session_id"]);
}

#[test]
fn requirement_2_state_is_preserved_across_transitions() {
    let stage = handing_over();
    stage.env.ok(&["record", "decision", "tokens are borrowed", "--why", "no copies"]);
    stage.env.ok(&["record", "note", "eu-west", "--key", "region"]);
    two(&stage);
    let told = stage.agent.told(2);
    for kept in ["read the grammar", "write the lexer", "tokens are borrowed", "no copies", "region", "eu-west"] {
        assert!(told.contains(kept), "{kept} in {told}");
    }
}

#[test]
fn requirement_3_the_handoff_message_holds_what_is_essential() {
    let stage = handing_over();
    let history = two(&stage);
    assert!(stage.agent.asked(1).contains("Context Handoff Request"), "{}", stage.agent.asked(1));
    let message = history[1]["reboot"]["handoff_message"].as_str().unwrap();
    for part in [
        "# Context Handoff",
        "## Current Objective",
        "- [x] read the grammar",
        "- [ ] write the lexer",
        "recursive descent",
        "easy to read",
        "[HIGH] the grammar is ambiguous at line 9",
        "lexer.rs",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(message.trim_end().ends_with("Please continue working on the pending items."), "{message}");
}

#[test]
fn requirement_4_the_old_session_is_properly_terminated() {
    let stage = handing_over();
    let history = two(&stage);
    let sessions = stage.env.sessions();
    let old = sessions.iter().find(|session| session["agent_session_id"] == history[0]["session_id"]).unwrap();
    assert_eq!((old["status"].as_str(), old["end_trigger"].as_str()), (Some("ended"), Some("reboot")), "{old}");
    assert!(sessions.iter().all(|session| session["status"] == "ended"), "{sessions:?}");
}

#[test]
fn requirement_5_the_warm_up_prompt_is_executed_if_configured() {
    let warm = |last| with(&[&begins(), &[Act::Done("I have looked."), Act::Await, Act::Say(last, 6_000)]]);
    let first = with(&[&warm("working"), &[Act::Done(""), Act::Leave]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[first]);
    stage.write("a.txt", "x");
    let options = ["--warm-up", "Read the README first", "--warm-up-delay", "0", "--max-iterations", "2"];
    stage.run(&options).ended(3, "iterations");
    assert!(stage.agent.told(1).contains("Read the README first") && !stage.agent.told(1).contains("Build the parser"));
    assert!(stage.agent.asked(1).contains("Build the parser"));
    let told = stage.agent.told(2);
    assert!(told.contains("# Context Handoff") && told.contains("Read the README first"), "{told}");
    assert_eq!(stage.history()[1]["reboot"]["warmed_up"], true);
}

#[test]
fn requirement_6_state_size_limits_are_enforced() {
    let stage = handing_over();
    for n in 0..200 {
        stage.env.ok(&["record", "note", &format!("a remark that is rather long and has the number {n}")]);
    }
    let limited = [&WINDOW[..], &["--max-iterations", "2", "--max-state-size", "700"]].concat();
    stage.run(&limited).ended(3, "iterations");
    let history = stage.history();
    let message = history[1]["reboot"]["handoff_message"].as_str().unwrap();
    assert!(message.len() <= 700, "{} bytes", message.len());
    for kept in ["the grammar is ambiguous", "write the lexer", "Please continue working on the pending items."] {
        assert!(message.contains(kept), "{kept} in {message}");
    }
}

#[test]
fn requirement_7_git_tells_which_files_were_modified() {
    let stage = Stage::new(
        Tongue::Plain,
        &[
            prints("git mv old.rs 'new name.rs'; echo more >> kept.rs; echo x > \"with space.rs\""),
            prints("echo y >> kept.rs"),
            prints("true"),
        ],
    );
    for file in ["old.rs", "kept.rs"] {
        stage.write(file, "fn a() {}\nfn b() {}\n");
    }
    stage.env.git(&stage.env.project(), &["add", "."]);
    stage.env.git(&stage.env.project(), &["commit", "--quiet", "--message=files"]);
    stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
    let told = stage.agent.told(3);
    for file in ["new name.rs", "kept.rs", "with space.rs"] {
        assert_eq!(told.matches(file).count(), 1, "{file} in {told}");
    }
}

#[test]
fn requirement_8_the_test_state_is_preserved_when_enabled() {
    for (setting, is_kept) in [("true", true), ("false", false)] {
        let stage = Stage::new(Tongue::ClaudeCode, &[works("echo x > a.rs"), works("echo y > b.rs")]);
        stage.write("cerberus.toml", &format!("[loop.preserve]\ntest_state = {setting}\n"));
        let output = "running 2 tests\ntest lexer::reads ... FAILED\ntest lexer::ends ... ok\n\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        // What the agent's own hook would tell of its first context.
        let payload = format!(
            r#"{{"session_id":"'"$s"'","cwd":"{}","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_use_id":"t1","tool_input":{{"command":"cargo test"}},"error":{}}}"#,
            stage.env.project().display(),
            serde_json::to_string(&format!("Exit code 101\n{output}")).unwrap(),
        );
        let hook = format!("printf '%s' '{payload}' | {} hook claude-code", env!("CARGO_BIN_EXE_cerberus"));
        let script = std::fs::read_to_string(&stage.agent.program).unwrap();
        std::fs::write(&stage.agent.program, script.replacen("echo x > a.rs", &format!("echo x > a.rs; {hook}"), 1))
            .unwrap();
        stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
        assert_eq!(stage.agent.told(2).contains("lexer::reads"), is_kept, "{}", stage.agent.told(2));
    }
}

#[test]
fn criterion_1_fresh_context_creates_new_session() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo $s >> sessions.txt")]);
    stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
    let sessions = std::fs::read_to_string(stage.env.project().join("sessions.txt")).unwrap();
    let mut names: Vec<&str> = sessions.lines().collect();
    names.dedup();
    assert_eq!(names.len(), 3, "each context is a process of its own: {sessions}");
    assert_eq!(stage.history().len(), 3);
}

#[test]
fn criterion_2_essential_state_is_preserved_across_reboots() {
    let record = concat!(env!("CARGO_BIN_EXE_cerberus"), " record next 'write the lexer'");
    let stage = Stage::new(Tongue::Plain, &[prints(record), prints("echo x > a"), prints("true")]);
    stage.run(&["--max-iterations", "3"]).ended(3, "iterations");
    for n in [2, 3] {
        assert!(stage.agent.told(n).contains("- [ ] write the lexer"), "{}", stage.agent.told(n));
    }
}

#[test]
fn criterion_3_context_handoff_message_generation() {
    let stage = Stage::new(Tongue::Codex, &[works("echo x > a.rs"), works("echo y > b.rs")]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let told = stage.agent.told(2);
    assert!(told.starts_with("Build the parser\n\n# Context Handoff\n"), "{told}");
    assert!(told.contains("a.rs"), "{told}");
    assert!(!stage.agent.told(1).contains("Handoff"), "the first has no predecessor");
}

#[test]
fn criterion_4_state_preservation_rules_are_configurable() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a.rs"), prints("true")]);
    stage.env.ok(&["record", "decision", "use arenas"]);
    stage.env.ok(&["record", "next", "write the lexer"]);
    stage.write("NOTES.md", "the notes go along");
    let rules = "[loop.preserve]\nkinds = [\"next\", \"file\"]\ninclude_files = [\"NOTES.md\"]\ngit_history = false\n";
    stage.write("cerberus.toml", rules);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let told = stage.agent.told(2);
    assert!(told.contains("write the lexer") && told.contains("the notes go along") && told.contains("a.rs"), "{told}");
    assert!(!told.contains("use arenas") && !told.contains("Recent Commits"), "{told}");
    // What is said on the command line wins.
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a.rs"), prints("true")]);
    stage.write("cerberus.toml", "[loop]\nmax_iterations = 1\n[loop.preserve]\ngit_history_count = 1\n");
    stage.env.git(&stage.env.project(), &["commit", "--quiet", "--allow-empty", "--message=second"]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let told = stage.agent.told(2);
    assert!(told.contains("second") && !told.contains(" start"), "{told}");
}

#[test]
fn criterion_5_clean_termination_of_the_old_session() {
    // It hangs after its result, ignores SIGTERM, and has left children behind: nothing of it survives.
    let stubborn = [Act::IgnoreTerm, Act::Fork, Act::ForkAway, Act::Done("done"), Act::Hang];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &stubborn]), works("echo x > a")]);
    stage.write("b", "x");
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    let history = stage.history();
    assert_eq!(history[0]["ended_by"], "iteration-end", "its work counts: {history:?}");
    assert_eq!(stage.env.sessions().iter().filter(|session| session["status"] == "ended").count(), 2);
}

#[test]
fn criterion_6_metrics_are_tracked_for_reboots() {
    let stage = handing_over();
    let history = two(&stage);
    let first = &history[0];
    assert_eq!(
        (first["fill_percent"].as_f64(), first["ended_by"].as_str()),
        (Some(76.0), Some("soft-redline")),
        "{first}"
    );
    assert!(first["tokens"].as_u64().unwrap() > 1_000 && first["cost_usd"].as_f64() == Some(0.25), "{first}");
    let reboot = &history[1]["reboot"];
    assert_eq!((reboot["reason"].as_str(), reboot["warmed_up"].as_bool()), (Some("soft-redline"), Some(false)));
    assert!(reboot["transition_time_ms"].is_u64());
    assert_eq!(history[1]["stop_reason"], "limit: the limit of iterations is reached");
    let shown = stage.env.ok(&["loop", "history"]);
    assert!(shown.contains("76 % full") && shown.contains("after soft-redline in"), "{shown}");
}

#[test]
fn criterion_7_hooks_run_before_and_after_a_reboot() {
    let stage = handing_over();
    let points = ["loop_start", "loop_end", "pre_iteration", "post_iteration", "pre_reboot", "post_reboot"];
    let hooks: String =
        points.iter().map(|point| format!("{point} = \"cat >> ../{point}.json; echo >> ../{point}.json\"\n")).collect();
    stage.write("cerberus.toml", &format!("[loop.hooks]\n{hooks}"));
    let history = two(&stage);
    let read = |point: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(stage.env.root().join(format!("{point}.json"))).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let counts = points.map(|point| read(point).len());
    assert_eq!(counts, [1, 1, 2, 2, 1, 1]);
    let before = &read("pre_reboot")[0];
    assert_eq!((before["hook"].as_str(), before["reason"].as_str()), (Some("pre_reboot"), Some("soft-redline")));
    assert_eq!(before["session_id"], history[0]["session_id"]);
    assert!(before["state"]["modified_files"].to_string().contains("lexer.rs"), "{before}");
    let after = &read("post_reboot")[0];
    assert_eq!(after["new_session_id"], history[1]["session_id"]);
    assert_eq!(read("loop_end")[0]["stop"], "limit");
}

#[test]
fn criterion_8_warm_up_prompt_support() {
    // An agent that takes one message gets it before its task.
    let stage = Stage::new(Tongue::Codex, &[works("echo x > a.rs")]);
    stage.run(&["--max-iterations", "1", "--warm-up", "Look around"]).ended(3, "iterations");
    assert!(stage.agent.told(1).starts_with("Look around\n\nBuild the parser"), "{}", stage.agent.told(1));
}
