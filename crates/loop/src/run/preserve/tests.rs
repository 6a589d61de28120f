use std::fs;
use std::process::Command;

use cerberus_agents::stream::StreamEvent;
use cerberus_agents::{claude_code, codex};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Note, Outcome, Severity, ToolUse, Touch};
use cerberus_record::fact::FactKind;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::git;
use cerberus_store::project::identity::locate;
use cerberus_store::view::fold;

use super::*;
use crate::handoff::compose;
use crate::handoff::state::FileDifference;

/// A repository of three files, and the home of a loop that works in it.
struct Stage {
    dir: tempfile::TempDir,
    base: String,
}

fn now() -> Timestamp {
    Timestamp::parse("2026-02-01T12:00:00Z").unwrap()
}

impl Stage {
    fn new() -> Stage {
        let mut stage = Stage { dir: tempfile::tempdir().unwrap(), base: String::new() };
        fs::create_dir_all(stage.root().join("src")).unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        for name in ["a.rs", "b.rs", "old name.rs", "same.rs"] {
            fs::write(stage.root().join("src").join(name), format!("{name}\n").repeat(20)).unwrap();
        }
        fs::write(stage.root().join(".gitignore"), "ignored.txt\n").unwrap();
        stage.git(&["add", "."]);
        stage.git(&["commit", "-qm", "first: everything"]);
        stage.base = git::head(&stage.located()).unwrap();
        stage
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn located(&self) -> Located {
        locate(&self.root())
    }

    fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args).current_dir(self.root());
        let run = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }

    /// Writes the records that a session's hooks would write.
    fn happened(&self, agent: Agent, session: &str, events: Vec<Event<'static>>) {
        let clock = Clock { now: now(), wall: now(), is_given: false };
        let records: Vec<_> = events
            .into_iter()
            .enumerate()
            .map(|(n, event)| {
                own_record(
                    &self.home(),
                    &clock,
                    agent,
                    session,
                    self.located().location(&BUILT_IN),
                    format!("{session}-{n}"),
                    event,
                )
            })
            .collect();
        journal::append_all(&self.home(), now(), &records).unwrap();
    }

    fn preserved(&self, heard: &AgentMessages, rules: &Preserve) -> Preservation {
        let store = fold::open(&self.home()).unwrap();
        let wanted = PreserveRequest {
            located: &self.located(),
            now: now(),
            sessions: &[(claude_code::AGENT, "one".to_string()), (codex::AGENT, "nobody".to_string())],
            base: Some(&self.base),
            prompt: Some("Build the parser.\n\nIn small steps."),
            task_has_changed: false,
            heard,
            rules,
            privacy_rules: &PrivacyRules::default(),
            cleaner: &BUILT_IN,
        };
        preserve(&store, &wanted).unwrap()
    }
}

fn clean(text: &'static str) -> Clean<'static> {
    BUILT_IN.clean(text, Keep::NAME)
}

fn note(kind: FactKind, text: &'static str) -> Event<'static> {
    let (why, sort, severity, custom_key) = (None, None, None, None);
    Event::Note(Note { kind, text: clean(text), why, sort, severity, custom_key, resolved: false, for_team: false })
}

fn edited(path: &'static str) -> Event<'static> {
    let files = vec![FileTouch { path: clean(path), how: Touch::Edited, lines: vec![] }];
    Event::Tool(ToolUse { tool: clean("Edit"), files, ..ToolUse::default() })
}

#[test]
fn git_says_which_files_are_modified_and_none_is_listed_twice() {
    let stage = Stage::new();
    let root = stage.root();
    stage.happened(
        claude_code::AGENT,
        "one",
        vec![
            edited("src/a.rs"),
            edited("src/same.rs"),
            edited("ignored.txt"),
            edited("vanished.rs"),
            edited("src/a.rs"),
        ],
    );
    // Committed since the loop began, staged, unstaged, new, deleted: each once.
    fs::write(root.join("src/a.rs"), "committed\n").unwrap();
    stage.git(&["commit", "-qam", "second: a"]);
    fs::write(root.join("src/a.rs"), "and changed again\n").unwrap();
    stage.git(&["mv", "src/old name.rs", "src/neu \"ü\".rs"]);
    fs::remove_file(root.join("src/b.rs")).unwrap();
    fs::write(root.join("brand new.txt"), "x").unwrap();
    fs::write(root.join(".env"), "x").unwrap();
    fs::write(root.join("ignored.txt"), "x").unwrap();
    let state = stage.preserved(&AgentMessages::default(), &Preserve::default()).state;
    let mut told: Vec<(&str, FileDifference, Option<&str>)> =
        state.modified_files.iter().map(|file| (&*file.path, file.change, file.was.as_deref())).collect();
    assert_eq!(told[0].0, "src/a.rs", "the last file worked on comes first");
    told.sort_by_key(|file| file.0);
    assert_eq!(
        told,
        [
            ("brand new.txt", FileDifference::Added, None),
            ("ignored.txt", FileDifference::Modified, None),
            ("src/a.rs", FileDifference::Modified, None),
            ("src/b.rs", FileDifference::Deleted, None),
            ("src/neu \"ü\".rs", FileDifference::Renamed, Some("src/old name.rs")),
        ]
    );
    assert_eq!(state.recent_commits.len(), 2);
    assert!(state.recent_commits[0].ends_with(" second: a"), "{:?}", state.recent_commits);
}

#[test]
fn the_loops_own_sessions_and_manual_records_are_preserved() {
    let stage = Stage::new();
    stage.happened(
        claude_code::AGENT,
        "one",
        vec![
            note(FactKind::Next, "write the tests"),
            note(FactKind::Done, "the lexer works"),
            Event::Note(Note {
                kind: FactKind::Decision,
                text: clean("borrow the tokens"),
                why: Some(clean("no copies")),
                sort: None,
                severity: None,
                custom_key: None,
                for_team: false,
                resolved: false,
            }),
            Event::Tool(ToolUse {
                tool: clean("Bash"),
                outcome: Outcome::Failed,
                command: Some(clean("cargo test")),
                output: Some(clean(
                    "test parse::deep ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
                )),
                ..ToolUse::default()
            }),
        ],
    );
    let blocker = Note {
        kind: FactKind::Blocker,
        text: clean("no access to the server"),
        why: None,
        sort: None,
        severity: Some(Severity::Critical),
        custom_key: None,
        for_team: false,
        resolved: false,
    };
    stage.happened(Agent::MANUAL, "by hand", vec![Event::Note(blocker)]);
    stage.happened(codex::AGENT, "a stranger", vec![note(FactKind::Next, "paint the house")]);
    let state = stage.preserved(&AgentMessages::default(), &Preserve::default()).state;
    let text = compose(&state, &Preserve::default()).text;
    for told in [
        "## Current Objective\nBuild the parser.\n",
        "- [x] the lexer works\n",
        "- [ ] write the tests\n",
        "- borrow the tokens (no copies)\n",
        "- [CRITICAL] no access to the server\n",
        "## Failing Tests\n- parse::deep\n",
        "first: everything\n",
    ] {
        assert!(text.contains(told), "{told} in {text}");
    }
    assert!(!text.contains("paint the house"), "{text}");
}

#[test]
fn rules_select_what_is_preserved_and_files_are_included() {
    let stage = Stage::new();
    stage.happened(
        claude_code::AGENT,
        "one",
        vec![note(FactKind::Next, "write the tests"), note(FactKind::Done, "the lexer")],
    );
    fs::write(stage.root().join("PLAN.md"), "# Plan\nkey: 1\n").unwrap();
    fs::write(stage.root().join("image.bin"), b"\x00\x01").unwrap();
    fs::write(stage.root().join(".env.local"), "SECRET=1\n").unwrap();
    fs::write(stage.dir.path().join("outside.txt"), "not yours\n").unwrap();
    let wanted = ["PLAN.md", "image.bin", ".env.local", "../outside.txt", "gone.md", "src"];
    let rules = Preserve {
        kinds: vec![FactKind::Next],
        commits: 0,
        include_files: wanted.map(str::to_string).to_vec(),
        ..Preserve::default()
    };
    let preserved = stage.preserved(&AgentMessages::default(), &rules);
    let text = compose(&preserved.state, &rules).text;
    assert!(text.contains("## PLAN.md\n```\n# Plan\nkey: 1\n```\n"), "{text}");
    for gone in ["the lexer", "Objective", "Recent Commits", "not yours", "SECRET"] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    let missing: Vec<&str> = preserved.missing.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(missing, wanted[1..]);
}

#[test]
fn the_agents_handoff_is_added_to_captured_facts() {
    let stage = Stage::new();
    stage.happened(
        claude_code::AGENT,
        "one",
        vec![note(FactKind::Next, "write the tests"), note(FactKind::Next, "tidy up")],
    );
    let mut heard = AgentMessages::default();
    heard.asked();
    let answer = "<handoff>\n## Completed\n- [x] tidy up\n## Pending\n- [ ] write the tests first\n## Modified Files\n- src/a.rs\n</handoff>";
    heard.add(&BUILT_IN, &StreamEvent::Text(answer.to_string()));
    let state = stage.preserved(&heard, &Preserve::default()).state;
    let pending: Vec<&str> = state.pending_items.iter().map(|item| &**item).collect();
    assert_eq!(pending, ["write the tests first"]);
    assert_eq!(state.completed_items.len(), 1);
    assert_eq!(state.modified_files, [], "git knows that nothing is modified");
}
