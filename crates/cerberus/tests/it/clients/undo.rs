//! What the real agents destroy comes back.

use std::fs;
use std::process::Command;

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use serde_json::Value;

use super::{Stage, finish};

fn undone(client: &dyn Client, remove: &str) {
    let stage = Stage::new(client);
    let repo = stage.scratch.repo();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(&repo);
        assert!(git.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success(), "git {args:?}");
    };
    fs::create_dir_all(repo.join("src")).unwrap();
    fs::write(repo.join("src/lib.rs"), "committed\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    fs::write(repo.join("src/lib.rs"), "a day's work\n").unwrap();
    fs::write(repo.join("src/new.rs"), "untracked\n").unwrap();
    stage.cerberus(&["undo", "--on", "--here"]);
    // A loaded machine may need longer than a command usually waits.
    let config = stage.scratch.home().join(".cerberus/config.toml");
    fs::write(&config, "[undo]\nwait_secs = 30.0\n").unwrap();
    let replies = [client.run("git checkout ."), client.run(remove), Reply::text("Done.")];
    let server = ModelServer::start(replies);
    finish(&mut client.session(&stage.place(&server), "Start over"));
    let last = server.main_requests().pop().map(|request| request_text(&request));
    assert!(!repo.join("src").exists(), "{}: nothing was destroyed: {last:?}", client.pin().name);
    let listed: Value = serde_json::from_str(&stage.cerberus(&["undo", "--json"])).unwrap();
    let turns = listed["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2, "{listed}");
    assert_eq!((&turns[0]["title"], &turns[1]["moment"]), (&Value::from("Start over"), &Value::from("command")));
    let read = |path: &str| fs::read_to_string(repo.join(path)).unwrap();
    stage.cerberus(&["undo", "--last", "--yes"]);
    assert_eq!([read("src/lib.rs"), read("src/new.rs")], ["committed\n", "untracked\n"], "before `{remove}`");
    stage.cerberus(&["undo", &turns[1]["turn"].to_string(), "--yes"]);
    assert_eq!([read("src/lib.rs"), read("src/new.rs")], ["a day's work\n", "untracked\n"], "before `git checkout .`");
}

#[test]
fn what_claude_code_destroys_comes_back() {
    undone(&ClaudeCode, "rm -rf src");
}

#[test]
fn what_codex_destroys_comes_back() {
    // It refuses `rm -f` itself.
    undone(&Codex, "rm -r src");
}
