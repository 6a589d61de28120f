//! The command line itself: usage errors, and the first thing a newcomer runs.

use crate::env;

#[test]
fn usage_errors_exit_2_and_others_1() {
    let env = env();
    for (args, code) in [
        (&["no-such-command"][..], 2),
        (&["record", "wish", "x"], 2),
        (&["brief", "--source", "later"], 2),
        (&["brief", "--now", "soon"], 2),
        (&["brief", "--budget", "0"], 2),
        (&["record", "next", "  "], 1),
        (&["session", "complete", "20200101-000000"], 1),
        (&["session", "import", "/nowhere.json"], 1),
        (&["brief", "--cwd", "/nowhere"], 1),
    ] {
        let output = env.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}: stdout is data, stderr is talk");
    }
}

#[test]
fn the_budget_can_be_set_and_is_kept() {
    let env = env();
    for n in 0..60 {
        env.write_file("s1", &format!("t{n}"), &format!("src/some_module_{n}/some_file_{n}.rs"), "");
    }
    let brief = env.json(&["brief", "--budget", "120"]);
    assert!(brief["tokens"].as_u64().unwrap() <= 120 && brief["budget"] == 120);
    assert!(!brief["dropped"].as_array().unwrap().is_empty());
    std::fs::write(env.home().join("config.toml"), "[brief]\nsession_tokens = 500\n").unwrap();
    assert!(env.json(&["brief"])["tokens"].as_u64().unwrap() <= 500);
    std::fs::write(env.home().join("config.toml"), "[brief]\nsession_tokens = 50\n").unwrap();
    let output = env.run(&["brief"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("between 500 and 1500"));
    assert_eq!(env.start("s2", "startup"), "", "a hook with a wrong config stays silent");
    assert!(env.ok(&["status"]).contains("between 500 and 1500"));
}

#[test]
fn explain_says_where_each_line_came_from_and_what_was_left_out() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "src/a.rs", "");
    env.ok(&["record", "next", "write tests"]);
    env.ok(&["record", "done", "write tests"]);
    let explained = env.ok(&["brief", "--explain"]);
    assert!(explained.contains("edited      src/a.rs"), "{explained}");
    assert!(explained.contains("edited in 1 session, last now, not committed since"), "{explained}");
    assert!(explained.contains("Left out (1)\nnext        write tests: done today "), "{explained}");
    assert!(!explained.contains("impl:") && !explained.contains("T13:35:14"), "codes are for agents: {explained}");
}

#[test]
fn try_shows_the_whole_story_and_cleans_up() {
    let mut env = env();
    env.set_now(None);
    let sandboxes = env.root().join("tmp");
    std::fs::create_dir_all(&sandboxes).unwrap();
    let output = env.command().arg("try").env("TMPDIR", &sandboxes).output().unwrap();
    let story = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{story}{}", String::from_utf8_lossy(&output.stderr));
    for told in [
        "signal: 9 (SIGKILL)",
        "proj:hydra",
        "impl:internal/proxy.go",
        "block:agent: race:test failure line 712",
        "cerberus install",
    ] {
        assert!(story.contains(told), "{told} in {story}");
    }
    assert_eq!(std::fs::read_dir(&sandboxes).unwrap().count(), 0);
    assert!(!env.home().exists(), "the user's own home is not touched");
}
