//! The command line itself: usage errors, and the first thing a newcomer runs.

use std::fs;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::LIMIT;
use cerberus_testkit::terminal::Terminal;

use crate::env;
use crate::style::workspace;

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
    // The words, the rule and the failing test come from what the agent's hooks reported.
    for told in [
        "signal: 9 (SIGKILL)",
        "rule:\"From now on, always run the tests with -race.\" (you, ",
        "proj:hydra",
        "said:Proxy and supervisor are two files now.",
        "git:on safe-proxy; not committed: ",
        "block:test:TestStopTwice",
        "impl:internal/proxy.go",
        "cerberus install",
    ] {
        assert!(story.contains(told), "{told} in {story}");
    }
    assert_eq!(std::fs::read_dir(&sandboxes).unwrap().count(), 0);
    assert!(!env.home().exists(), "the user's own home is not touched");
}

/// What `try` prints on a terminal of so many columns, with its escape codes.
fn try_on_terminal(env: &TestEnv, columns: u16) -> String {
    let mut command = env.command();
    command.arg("try").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn_sized(&command, (60, columns)).unwrap();
    assert!(terminal.wait(LIMIT).unwrap().success(), "{}", terminal.printed());
    terminal.printed().replace('\r', "")
}

fn without_codes(printed: &str) -> String {
    let mut parts = printed.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    first + &parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

/// Without what differs from run to run: the process, and the day.
fn lasting(line: &str) -> String {
    let (line, _) = line.split_once("(you,").unwrap_or((line, ""));
    let is_process = line.contains("SIGKILL");
    line.chars().filter(|c| !is_process || !c.is_ascii_digit()).collect()
}

#[test]
fn try_fits_the_terminal_and_has_colours() {
    let mut env = env();
    env.set_now(None);
    for columns in [40, 80, 120] {
        let printed = try_on_terminal(&env, columns);
        assert!(printed.contains("\u{1b}[36m") && printed.contains("\u{1b}[31m"), "{printed}");
        for line in without_codes(&printed).lines() {
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line}");
        }
        assert!(printed.trim_end().contains("cerberus install"));
    }
}

#[test]
fn the_picture_of_the_readme_is_what_try_prints() {
    let mut env = env();
    env.set_now(None);
    let printed = without_codes(&try_on_terminal(&env, 80));
    let picture = fs::read_to_string(workspace().join("docs/try.svg")).unwrap();
    // A part of the picture has its place instead of blanks.
    let marks = |text: &str| lasting(text).chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let drawn = picture.lines().filter_map(|line| line.split_once("<text ")).map(|(_, text)| {
        let parts = text.split('>').filter_map(|part| part.split_once('<')).map(|(text, _)| text);
        let text = parts.collect::<String>();
        let text = text.replace("&quot;", "\"").replace("&#x27;", "'").replace("&gt;", ">").replace("&lt;", "<");
        marks(&text.replace("&amp;", "&"))
    });
    // The first line is what was typed; the last is another one where the program is not in a checkout.
    let drawn: Vec<String> = drawn.skip(1).collect();
    let shown: Vec<String> = printed.lines().map(marks).collect();
    assert!(drawn.len() > 40, "{drawn:?}");
    assert_eq!(
        drawn[..drawn.len() - 1].join("\n"),
        shown[..shown.len() - 1].join("\n"),
        "dev/recording draws it again"
    );
}
