//! What a session is told of the one before, where that is easily lost: after a crash, an interrupt, or a day of commands.

use std::path::Path;

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::lifecycle::Agent;
use crate::ordinary::{answer, ask, end};

fn ran(id: &str, command: &str, printed: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": command},
        "tool_response": {"stdout": printed, "stderr": "", "interrupted": false}})
}

fn looked_at(env: &TestEnv, session: &str, path: &str) {
    let input = json!({"file_path": env.project().join(path)});
    let used = json!({"tool_name": "Read", "tool_use_id": path, "tool_input": input, "tool_response": {}});
    env.hook(session, "PostToolUse", used);
}

#[test]
fn a_request_that_a_crash_cut_off_is_told_whole_and_once() {
    let env = env();
    let request = "Move the retry policy out of the proxy into a package of its own, because the gateway needs it too. Keep \
        the old names as aliases for one release, so that nobody has to change anything at once. The backoff must start at \
        fifty milliseconds and double up to ten seconds. Write a test for every limit of it, and run the linter.";
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.hook(&env, "s1", "UserPromptSubmit", json!({"prompt": request, "prompt_id": "1"}));
    agent.kill();
    let told = env.start("s2", "startup");
    for part in ["out of the proxy into", "Keep the old names", "start at fifty milliseconds", "and run the linter"] {
        assert_eq!(told.matches(part).count(), 1, "{part}: {told}");
    }
    assert!(told.contains("next:interrupted:Move the retry policy"), "{told}");
    let dropped = env.json(&["brief"])["dropped"].as_array().unwrap().clone();
    let is_listed =
        |one: &Value| one["reason"] == "told as interrupted" && one["code"].as_str().unwrap().contains("Keep");
    assert!(dropped.iter().any(is_listed), "{dropped:?}");
}

#[test]
fn a_longer_request_that_a_crash_cut_off_goes_on_where_there_is_room() {
    let env = env();
    let request: String =
        (0..12).map(|n| format!("The module number{n} reads its table{n} from the file{n} there. ")).collect();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.hook(&env, "s1", "UserPromptSubmit", json!({"prompt": request, "prompt_id": "1"}));
    agent.kill();
    let told = env.start("s2", "startup");
    for n in 0..12 {
        assert_eq!(told.matches(&format!("table{n} ")).count(), 1, "{n}: {told}");
    }
}

#[test]
fn a_session_that_only_ran_commands_worked() {
    let mut env = env();
    env.start("work", "startup");
    ask(&env, "work", "Split the proxy into three parts");
    env.write_file("work", "t1", "internal/proxy.go", "x\n");
    answer(&env, "work", "The proxy is split.");
    end(&env, "work");
    env.set_now(Some("2026-01-22T16:00:00Z"));
    env.start("ops", "startup");
    ask(&env, "ops", "restart staging and rerun the migration");
    env.hook("ops", "PostToolUse", ran("t2", "kubectl rollout restart deploy/api", "restarted"));
    env.hook("ops", "PostToolUse", ran("t3", "psql -f migrate.sql", "COMMIT"));
    answer(&env, "ops", "Done. Next step: re-enable the nightly cron job");
    end(&env, "ops");
    let told = env.start("next", "startup");
    assert!(told.contains("last:restart staging and rerun the migration"), "{told}");
    assert!(told.contains("next:re-enable the nightly cron job"), "{told}");
    // A look at something is no work, and not only a question.
    env.set_now(Some("2026-01-22T17:00:00Z"));
    env.start("look", "startup");
    ask(&env, "look", "what does the gateway do?");
    env.hook("look", "PostToolUse", ran("t4", "cat gateway.go | head -20", "package gateway"));
    answer(&env, "look", "It forwards every call to the nearest region.");
    end(&env, "look");
    let told = env.start("after", "startup");
    assert!(told.contains("next:re-enable the nightly cron job"), "it stays until another session works: {told}");
    assert!(told.contains("last:what does the gateway do?") && told.contains("nearest region"), "{told}");
}

#[test]
fn a_file_that_was_read_since_does_not_hide_the_work_of_last_week() {
    let mut env = env();
    for (session, command) in [("edits", None), ("runs", Some("psql -f migrate.sql"))] {
        env.set_now(Some("2026-01-22T14:00:00Z"));
        env.start(session, "startup");
        ask(&env, session, &format!("Split the proxy for {session}"));
        match command {
            Some(command) => drop(env.hook(session, "PostToolUse", ran("t2", command, "COMMIT"))),
            None => env.write_file(session, "t1", "internal/proxy.go", "x\n"),
        }
        answer(&env, session, "The proxy is split.");
        end(&env, session);
    }
    env.set_now(Some("2026-01-27T14:00:00Z"));
    env.start("look", "startup");
    ask(&env, "look", "what does the gateway do?");
    looked_at(&env, "look", "gateway.go");
    answer(&env, "look", "It forwards every call.");
    end(&env, "look");
    env.set_now(Some("2026-01-30T15:00:00Z"));
    let told = env.start("later", "startup");
    assert!(told.contains("Split the proxy for runs (8d ago)"), "{told}");
}

#[test]
fn a_dictated_request_without_punctuation_is_told() {
    let env = env();
    let request = "so please take the parser of the invoices and make it read the whole file at once instead of line by line and \
        then also look at the totals which are rounded in the wrong direction since we moved to the new library and tell me \
        what you think about the tests of it which take far too long";
    ask(&env, "s1", request);
    answer(&env, "s1", "I have looked at it.");
    end(&env, "s1");
    let told = env.brief();
    assert!(
        told.contains("last:so please take the parser of the invoices") && told.contains("the new library"),
        "{told}"
    );
    assert!(told.lines().any(|line| line.starts_with("last:") && line.ends_with('…')), "{told}");
}

/// A turn in the project, with times in minutes after two.
struct Timed {
    env: TestEnv,
    starts: usize,
}

impl Timed {
    fn new() -> Timed {
        let mut env = env();
        std::fs::write(env.project().join("first.rs"), "x\n").unwrap();
        env.set_now(Some("2026-01-22T14:00:00Z"));
        let timed = Timed { env, starts: 0 };
        timed.git(0, &timed.env.project(), &["add", "--all"]);
        timed.git(0, &timed.env.project(), &["commit", "--quiet", "--message", "first"]);
        timed
    }

    fn git(&self, minute: u64, dir: &Path, args: &[&str]) {
        let author = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        let mut git = self.env.command_for("git");
        let at = format!("2026-01-22T14:{minute:02}:30Z");
        let status = git.args(author).args(args).current_dir(dir).env("GIT_COMMITTER_DATE", at).status();
        assert!(status.unwrap().success(), "git {args:?}");
    }

    fn hook(&mut self, minute: u64, event: &str, extra: Value) -> String {
        self.env.set_now(Some(&format!("2026-01-22T14:{minute:02}:00Z")));
        self.env.hook("s1", event, extra)
    }

    fn write(&self, minute: u64, path: &Path) {
        std::fs::write(path, "fn x() {}\n").unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_769_090_400 + minute * 60);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    fn told(&mut self) -> String {
        self.env.set_now(Some("2026-01-22T14:50:00Z"));
        self.starts += 1;
        self.env.start(&format!("next{}", self.starts), "startup")
    }
}

#[test]
fn what_a_command_edited_and_another_one_committed_is_told() {
    let mut timed = Timed::new();
    let project = timed.env.project();
    timed.write(9, &project.join("older.rs"));
    timed.hook(10, "UserPromptSubmit", json!({"prompt": "Raise the mast"}));
    timed.write(11, &project.join("mast.rs"));
    timed.git(12, &project, &["add", "--all"]);
    timed.git(12, &project, &["commit", "--quiet", "--message", "Raise it"]);
    timed.hook(13, "PostToolUse", ran("t1", "sed -i s/a/b/ mast.rs && git add --all && git commit -qm 'Raise it'", ""));
    timed.hook(14, "Stop", json!({"last_assistant_message": "Raised.", "stop_hook_active": false}));
    let told = timed.told();
    assert!(told.contains("impl:mast.rs") && !told.contains("impl:older.rs"), "{told}");
}

#[test]
fn what_commands_edited_before_a_second_prompt_of_the_same_turn_is_told() {
    let mut timed = Timed::new();
    let project = timed.env.project();
    timed.hook(10, "UserPromptSubmit", json!({"prompt": "Raise the mast"}));
    timed.write(11, &project.join("mast.rs"));
    timed.hook(12, "PostToolUse", ran("t1", "sh raise.sh", ""));
    timed.hook(14, "UserPromptSubmit", json!({"prompt": "and paint it"}));
    timed.hook(16, "PostToolUse", ran("t2", "ls", ""));
    timed.hook(18, "Stop", json!({"last_assistant_message": "Raised.", "stop_hook_active": false}));
    // The next turn begins anew.
    timed.write(17, &project.join("between.rs"));
    timed.hook(20, "UserPromptSubmit", json!({"prompt": "Look at it"}));
    timed.hook(22, "PostToolUse", ran("t3", "make", ""));
    timed.hook(24, "Stop", json!({"last_assistant_message": "Seen.", "stop_hook_active": false}));
    let told = timed.told();
    assert!(told.contains("impl:mast.rs") && !told.contains("impl:between.rs"), "{told}");
}

#[test]
fn what_commands_edited_in_a_turn_that_was_cut_off_is_told() {
    let mut timed = Timed::new();
    timed.hook(10, "UserPromptSubmit", json!({"prompt": "Raise the mast"}));
    timed.write(11, &timed.env.project().join("mast.rs"));
    timed.hook(12, "PostToolUse", ran("t1", "sh raise.sh", ""));
    timed.hook(13, "StopFailure", json!({"error": "rate_limit"}));
    let told = timed.told();
    assert!(told.contains("impl:mast.rs"), "{told}");
}

#[test]
fn what_commands_edited_in_another_repository_is_told_there_too() {
    let mut timed = Timed::new();
    let other = timed.env.add_repository("sails");
    timed.hook(9, "SessionStart", json!({"source": "startup"}));
    timed.hook(10, "UserPromptSubmit", json!({"prompt": "Cut the sails"}));
    timed.write(11, &other.join("jib.rs"));
    timed.write(11, &timed.env.project().join("mast.rs"));
    let mut moved = ran("t1", "cd ../sails && sh cut.sh", "");
    moved["cwd"] = json!(other);
    timed.hook(12, "PostToolUse", moved);
    timed.hook(14, "Stop", json!({"last_assistant_message": "Cut.", "stop_hook_active": false, "cwd": other}));
    timed.env.set_now(Some("2026-01-22T14:50:00Z"));
    let reply = timed.env.hook("s2", "SessionStart", json!({"source": "startup", "cwd": other}));
    assert!(reply.contains("impl:jib.rs") && !reply.contains("mast.rs"), "{reply}");
    let told = timed.told();
    assert!(told.contains("impl:mast.rs") && told.contains("sails/jib.rs"), "{told}");
}

#[test]
fn tests_that_passed_say_nothing_about_another_branch_or_edits_by_hand() {
    let tested = |timed: &mut Timed| {
        let project = timed.env.project();
        timed.git(5, &project, &["checkout", "--quiet", "-b", "fix/x"]);
        timed.hook(9, "SessionStart", json!({"source": "startup"}));
        timed.hook(10, "UserPromptSubmit", json!({"prompt": "Fix x"}));
        timed.write(11, &project.join("first.rs"));
        timed.env.write_file("s1", "t0", "first.rs", "y\n");
        timed.hook(13, "PostToolUse", ran("t1", "go test ./...", "ok  \thydra\t0.1s\n"));
        timed.hook(14, "Stop", json!({"last_assistant_message": "Fixed.", "stop_hook_active": false}));
    };
    let mut timed = Timed::new();
    tested(&mut timed);
    let told = timed.told();
    assert!(told.contains("go test ./... passed (37m ago), nothing edited since"), "{told}");
    timed.write(20, &timed.env.project().join("first.rs"));
    let told = timed.told();
    assert!(told.contains("passed (37m ago), 1 file edited since"), "by hand: {told}");
    let mut timed = Timed::new();
    tested(&mut timed);
    let project = timed.env.project();
    timed.git(15, &project, &["commit", "--quiet", "--all", "--message", "Fix x"]);
    timed.git(16, &project, &["checkout", "--quiet", "main"]);
    let told = timed.told();
    assert!(told.contains("go test ./... passed on fix/x (37m ago)") && !told.contains("edited since"), "{told}");
}

#[test]
fn a_pull_request_that_was_merged_on_the_website_is_not_told_as_open() {
    let mut timed = Timed::new();
    let project = timed.env.project();
    timed.git(5, &project, &["checkout", "--quiet", "-b", "fix/x"]);
    timed.hook(9, "SessionStart", json!({"source": "startup"}));
    timed.hook(10, "UserPromptSubmit", json!({"prompt": "Fix x"}));
    timed.env.write_file("s1", "t1", "first.rs", "y\n");
    timed.hook(11, "PostToolUse", ran("t2", "gh pr create --fill", "https://github.com/hydra/hydra/pull/12\n"));
    timed.hook(14, "Stop", json!({"last_assistant_message": "Opened.", "stop_hook_active": false}));
    let told = timed.told();
    assert!(told.contains("PR #12 open"), "{told}");
    timed.git(19, &project, &["commit", "--quiet", "--allow-empty", "--message", "Fix x"]);
    timed.git(20, &project, &["checkout", "--quiet", "main"]);
    timed.git(21, &project, &["commit", "--quiet", "--allow-empty", "--message", "Fix x (#12)"]);
    let told = timed.told();
    assert!(told.contains("fix/x (the last session)") && !told.contains("PR #12"), "{told}");
}

#[test]
fn a_session_that_its_user_interrupted_is_not_at_work() {
    let env = env();
    env.start("a", "startup");
    ask(&env, "a", "Rename the xylophone driver");
    let told = env.start("b", "startup");
    assert!(told.contains("live:") && !told.contains("last:"), "{told}");
    let line = |kind: &str, text: &str| {
        let message = json!({"role": kind, "content": [{"type": "text", "text": text}]});
        json!({"type": kind, "message": message, "uuid": text, "sessionId": "a"}).to_string()
    };
    let path = env.root().join("user/.claude/projects/-hydra/a.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines = [
        line("user", "Rename the xylophone driver"),
        line("assistant", "It says \"[Request interrupted by user\" there."),
        line("user", "[Request interrupted by user]"),
        json!({"type": "system", "content": "x"}).to_string(),
    ];
    std::fs::write(&path, lines[..2].join("\n")).unwrap();
    assert!(env.start("c", "startup").contains("live:"), "it goes on");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let told = env.start("d", "startup");
    assert!(!told.contains("live:") && told.contains("last:Rename the xylophone driver"), "{told}");
}

/// Begins a session, and asks with the tool of MCP.
const ASKING_AGENT: &str = "import subprocess, sys\n\
    program, start, prompt, calls = sys.argv[1:]\n\
    for said in (start, prompt):\n    \
        subprocess.run([program, 'hook', 'claude-code'], input=said.encode(), stdout=subprocess.DEVNULL)\n\
    answer = subprocess.run([program, 'mcp'], input=calls.encode(), stdout=subprocess.PIPE)\n\
    print(answer.stdout.decode())\n";

#[test]
fn an_agent_that_asks_is_not_told_its_own_request() {
    let env = env();
    let mut past = Agent::start(&env);
    past.hook(&env, "work", "SessionStart", json!({"source": "startup"}));
    past.hook(
        &env,
        "work",
        "UserPromptSubmit",
        json!({"prompt": "Split the proxy into three parts", "prompt_id": "1"}),
    );
    past.hook(&env, "work", "Stop", json!({"last_assistant_message": "The proxy is split."}));
    past.hook(&env, "work", "SessionEnd", json!({"reason": "exit"}));
    past.kill();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "other", "SessionStart", json!({"source": "startup"}));
    agent.hook(&env, "other", "UserPromptSubmit", json!({"prompt": "Tune the harp", "prompt_id": "1"}));
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "session_context", "arguments": {}}});
    let prompt = json!({"prompt": "Rename the xylophone driver", "prompt_id": "1"});
    let mut own = env.command_for("python3");
    own.args(["-c", ASKING_AGENT]).arg(env.command().get_program());
    for payload in [
        env.payload("own", "SessionStart", json!({"source": "startup"})),
        env.payload("own", "UserPromptSubmit", prompt),
    ] {
        own.arg(String::from_utf8(payload).unwrap());
    }
    let told = String::from_utf8(own.arg(format!("{hello}\n{call}\n")).output().unwrap().stdout).unwrap();
    assert!(told.contains("last:Split the proxy into three parts") && !told.contains("Rename"), "{told}");
    assert!(told.contains("live:claude-code, 0m ago: Tune the harp") && !told.contains("asked:Tune"), "{told}");
    agent.kill();
}

#[test]
fn requests_that_are_not_read_are_listed() {
    let mut env = env();
    for turn in 0..60 {
        env.set_now(Some(&format!("2026-01-22T14:{turn:02}:00Z")));
        ask(&env, "s1", &format!("Let module{turn} read table{turn}"));
        answer(&env, "s1", &"It reads its table now, and it writes what it has read into the other one. ".repeat(8));
    }
    end(&env, "s1");
    let dropped = env.json(&["brief"])["dropped"].as_array().unwrap().clone();
    let is_listed = |one: &Value| {
        one["reason"].as_str().unwrap().starts_with("not read")
            && one["code"].as_str().unwrap().contains("requests of 2026")
    };
    assert_eq!(dropped.iter().filter(|one| is_listed(one)).count(), 1, "{dropped:?}");
}
