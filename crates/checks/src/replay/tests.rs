use cerberus_agents::codex;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::FileTouch;

use super::*;

fn clean(text: &str) -> Clean<'_> {
    BUILT_IN.clean(text, Keep::PROMPT)
}

fn record<'a>(root: &'a str, branch: Option<&'a str>, event: Event<'a>) -> Record<'a> {
    let location = Location {
        project: ProjectId::of_anchor(b"hydra"),
        name: clean("hydra"),
        root: clean(root),
        cwd: clean(root),
        branch: branch.map(clean),
    };
    Record {
        at: Timestamp::from_millis(1),
        key: clean("k"),
        agent: codex::AGENT,
        imported: true,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: clean("s"),
        location,
        event,
    }
}

fn ran<'a>(line: &'a str, folder: Option<&'a str>) -> Event<'a> {
    Event::Tool(ToolUse {
        tool: clean("Bash"),
        command: Some(clean(line)),
        folder: folder.map(clean),
        ..ToolUse::default()
    })
}

fn edited(path: &str) -> Event<'_> {
    let files = vec![FileTouch { path: clean(path), how: Touch::Edited, lines: Vec::new() }];
    Event::Tool(ToolUse { tool: clean("Edit"), files, ..ToolUse::default() })
}

fn replay(options: &str) -> Replay {
    let words = cerberus_record::shell::commands(options).remove(0).words;
    let rule = Rule::parse(&words).unwrap();
    let (id, sentence, projects) = (String::new(), String::new(), Some(vec![ProjectId::of_anchor(b"hydra")]));
    Replay::new(Check { id, sentence, level: rule.level_max(), rule, projects })
}

/// How many of the lines a rule would have stopped, in a session in `/home/ann/hydra` whose records say `main`.
fn stopped(options: &str, lines: &[(&str, Option<&str>)]) -> usize {
    let mut replay = replay(options);
    for (line, folder) in lines {
        replay.see(&record("/home/ann/hydra", Some("main"), ran(line, *folder)), &());
    }
    replay.stopped_cases.len()
}

#[test]
fn commands_of_other_places_break_no_rule_of_the_project() {
    for (line, folder, expected) in [
        ("git commit -m x", None, 1),
        ("git commit -m x", Some("/home/ann/hydra"), 1),
        ("git commit -m x", Some("web"), 1),
        ("cd .. && cd hydra && git commit -m x", None, 1),
        ("git commit -m x", Some("/tmp/other"), 0),
        ("git commit -m x", Some("../other"), 0),
        ("git commit -m x", Some("~/other"), 0),
        ("cd ~/other && git commit -m x", None, 0),
        ("cd ~/hydra && git commit -m x", None, 1),
        ("cd ~/hydra/web/.. && git commit -m x", None, 1),
        ("git commit -m x", Some("~/hydra"), 1),
        ("cd ~bob/hydra && git commit -m x", None, 0),
        ("cd $HOME/hydra && git commit -m x", None, 0),
        ("cd /home/ann/hydra2 && git commit -m x", None, 0),
    ] {
        for rule in ["--forbid 'git commit'", "--message-start feat", "--branch main"] {
            assert_eq!(stopped(rule, &[(line, folder)]), expected, "{rule}: {line} in {folder:?}");
        }
    }
}

#[test]
fn a_branch_that_the_session_checked_out_counts_until_records_name_another() {
    let commit = ("git commit -m x", None);
    for (earlier, expected) in [
        ("git status", 1),
        ("git checkout topic 2>/dev/null || git checkout -b topic", 0),
        ("git switch -c topic", 0),
        ("cd web && git switch topic", 0),
        ("git checkout -- src", 1),
        ("git checkout src/a.rs", 1),
        ("cd ../other && git switch topic", 1),
        ("gh pr checkout 12", 0),
        ("git worktree add ../wt -b topic", 1),
    ] {
        assert_eq!(stopped("--branch main", &[(earlier, None), commit]), expected, "{earlier}");
    }
    assert_eq!(stopped("--branch main", &[("git switch topic", None), ("git switch main", None), commit]), 1);
    let failed = ToolUse {
        tool: clean("Bash"),
        command: Some(clean("git switch topic")),
        outcome: Outcome::Failed,
        ..ToolUse::default()
    };
    let mut main = replay("--branch main");
    let mut see = |branch, event| main.see(&record("/p", Some(branch), event), &());
    see("main", Event::Tool(failed));
    see("main", ran("git commit -m 1", None));
    see("main", ran("git switch topic", None));
    see("main", ran("git commit -m 2", None));
    see("topic", ran("git commit -m 3", None));
    see("main", ran("git commit -m 4", None));
    let whats: Vec<&str> = main.stopped_cases.iter().map(|case| case.what.as_str()).collect();
    assert_eq!(whats, ["git commit -m 1", "git commit -m 4"]);
}

#[test]
fn worktrees_have_branches_of_their_own() {
    for (lines, expected) in [
        (vec!["cd .git/wt/docs/fields && git commit -m x"], 0),
        (vec!["cd .claude/worktrees/a && git commit -m x"], 0),
        (vec!["cd worktrees-notes && git commit -m x"], 1),
        (vec!["git worktree add sub -b topic", "cd sub && git commit -m x"], 0),
        (vec!["git worktree add ../hot main", "cd ../hot/src && git commit -m x"], 1),
        (vec!["git worktree add ../wt -b topic", "cd ../wt && git switch main", "cd ../wt && git commit -m x"], 1),
        (vec!["git switch topic", "cd .git/wt/a && git commit -m x"], 0),
        (vec!["cd ../other && git worktree add /tmp/wt main", "cd /tmp/wt && git commit -m x"], 0),
        (vec!["git -C /srv/other worktree add /tmp/wt main", "cd /tmp/wt && git commit -m x"], 0),
        (vec!["cd $X && git worktree add /tmp/wt main", "cd /tmp/wt && git commit -m x"], 0),
        (vec!["cd web && git worktree add /tmp/wt main", "cd /tmp/wt && git commit -m x"], 1),
        (
            vec![
                "git worktree add /tmp/a -b topic",
                "cd /tmp/a && git worktree add /tmp/b main",
                "cd /tmp/b && git commit -m x",
            ],
            1,
        ),
        (
            vec![
                "git worktree add /tmp/a main",
                "cd ../other && git worktree add /tmp/a main",
                "cd /tmp/a && git commit -m x",
            ],
            0,
        ),
    ] {
        let lines: Vec<(&str, Option<&str>)> = lines.into_iter().map(|line| (line, None)).collect();
        assert_eq!(stopped("--branch main --only commit", &lines), expected, "{lines:?}");
    }
}

#[test]
fn the_home_folder_is_the_one_that_the_session_is_in() {
    for (root, line, expected) in [
        ("/Users/ann/p", "cd ~/p && npm install", 1),
        ("/root/p", "cd ~/p && npm install", 1),
        ("C:\\Users\\ann\\p", "cd ~/p && npm install", 1),
        ("/Users/ann", "cd ~ && npm install", 1),
        ("/Users/ann/p", "cd ~/q && npm install", 0),
        ("/srv/p", "cd ~/p && npm install", 0),
        ("/home", "cd ~/p && npm install", 0),
    ] {
        let mut replay = replay("--forbid npm");
        replay.see(&record(root, None, ran(line, None)), &());
        assert_eq!(replay.stopped_cases.len(), expected, "{root}: {line}");
    }
}

#[test]
fn a_message_that_was_cut_keeps_its_known_beginning() {
    let long = |subject: &str| {
        let body = "A line of the body.\n".repeat(200);
        format!("git commit -m \"$(cat <<'EOF'\n{subject}\n\n{body}\nCo-Authored-By: x\nEOF\n)\"")
    };
    let endless = format!("git commit -m \"{}\"", "word ".repeat(600));
    for (options, line, expected) in [
        ("--message-start feat", long("Add x"), 1),
        ("--message-start feat", long("feat: x"), 0),
        ("--message-max 20", long("A subject of more than twenty characters"), 1),
        ("--message-max 20", long("Short"), 0),
        ("--message-forbid 'line of the body'", long("x"), 1),
        ("--message-forbid Co-Authored-By", long("x"), 0),
        ("--message-start feat", endless.clone(), 1),
        ("--message-start word", endless.clone(), 0),
        ("--message-max 72", endless, 1),
    ] {
        let cut = BUILT_IN.clean(line.as_str(), Keep::COMMAND);
        assert!(cut.contains("\n…\n"));
        let event = Event::Tool(ToolUse { tool: clean("Bash"), command: Some(cut), ..ToolUse::default() });
        let mut replay = replay(options);
        replay.see(&record("/p", None, event), &());
        assert_eq!(replay.stopped_cases.len(), expected, "{options}: {}", &line[..60]);
    }
}

#[test]
fn paths_of_windows_are_inside_or_outside_as_well() {
    let seen = |options: &str, event| {
        let mut replay = replay(options);
        replay.see(&record("C:\\dev\\hydra", Some("main"), event), &());
        replay.stopped_cases.len()
    };
    assert_eq!(seen("--forbid npm", ran("cd /c/dev/hydra/web && npm install", None)), 1);
    assert_eq!(seen("--forbid npm", ran("npm install", Some("C:\\dev\\hydra\\web"))), 1);
    assert_eq!(seen("--forbid npm", ran("npm install", Some("C:\\dev\\other"))), 0);
    assert_eq!(seen("--protect CLAUDE.md", edited("CLAUDE.md")), 1);
    assert_eq!(seen("--protect CLAUDE.md", edited("C:\\dev\\hydra\\CLAUDE.md")), 1);
    assert_eq!(seen("--protect CLAUDE.md", edited("C:\\Temp\\CLAUDE.md")), 0);
}

#[test]
fn a_green_run_of_the_same_toolchain_keeps_an_order_and_a_stop() {
    let tested = |output: &'static str| {
        Event::Tool(ToolUse {
            tool: clean("Bash"),
            command: Some(clean("mise run check")),
            output: Some(clean(output)),
            ..ToolUse::default()
        })
    };
    for (output, expected) in [
        ("[test] $ go test ./...\n[test] ok  \texample.com/a\t0.1s\n", 0),
        ("[test] ok  \texample.com/a\t0.1s\n[test] FAIL\texample.com/b\t0.1s\n", 1),
        ("[lint] 0 issues.\n", 1),
    ] {
        for rule in ["--before 'git commit' --need 'go test'", "--before stop --need 'go test'"] {
            let mut replay = replay(rule);
            let commit = ran("git commit -m x", None);
            let stop = Event::Stop { message: clean("Done") };
            for event in [Event::Prompt { text: clean("x") }, edited("a.go"), tested(output), commit, stop] {
                replay.see(&record("/p", Some("main"), event), &());
            }
            assert_eq!(replay.stopped_cases.len(), expected, "{rule}: {output}");
        }
    }
}

#[test]
fn a_turn_is_stopped_once_and_an_edit_that_failed_needs_no_run() {
    let failed = || match edited("a.go") {
        Event::Tool(used) => Event::Tool(ToolUse { outcome: Outcome::Failed, ..used }),
        other => other,
    };
    let (prompt, stop) = (|| Event::Prompt { text: clean("x") }, || Event::Stop { message: clean("Done") });
    for (events, expected) in [
        (vec![prompt(), edited("a.go"), stop(), stop()], 1),
        (vec![prompt(), edited("a.go"), stop(), prompt(), edited("a.go"), stop()], 2),
        (vec![prompt(), failed(), stop()], 0),
        (vec![prompt(), edited("a.go"), ran("go test", None), failed(), stop()], 0),
    ] {
        let mut replay = replay("--before stop --need 'go test'");
        events.into_iter().for_each(|event| replay.see(&record("/p", None, event), &()));
        assert_eq!(replay.stopped_cases.len(), expected);
    }
}
