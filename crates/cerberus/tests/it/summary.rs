//! The scenarios of the session summary (seed 003), by their numbers, and how summaries are told, kept and forgotten.

use cerberus_testkit::answering::{Answer, Answering};
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::tokens::real_tokens;
use serde_json::{Value, json};

use crate::env;

const SAID: &str = "Split proxy.go into three files. Fix the race next.";
const TITLE: &str = "## Previous Session Context";

/// A server that says this whenever it is asked, as Ollama would.
pub fn saying(text: &str) -> Answering {
    Answering::start([Answer::json(&json!({"response": text}))])
}

pub fn configure(env: &TestEnv, lines: &str) {
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("config.toml"), format!("[summary]\n{lines}\n")).unwrap();
}

pub fn use_ollama(env: &TestEnv, server: &Answering) {
    let url = server.url();
    configure(env, &format!("provider = 'ollama'\nmodel = 'small'\nbase_url = '{url}'\ntimeout_secs = 60"));
}

/// A session that writes files, decides, is blocked and plans.
pub fn work(env: &TestEnv, files: usize, decisions: usize, blockers: usize) {
    env.start("s1", "startup");
    env.write_file("s1", "toolu_p", "internal/proxy.go", "package x\n");
    for n in 1..files {
        env.write_file("s1", &format!("toolu_{n}"), &format!("internal/module{n}/part_{n}.go"), "package x\n");
    }
    for n in 0..decisions {
        env.ok(&["record", "decision", &format!("use strategy {n} for the request queue"), "--why", "it keeps order"]);
    }
    for n in 0..blockers {
        env.ok(&["record", "blocker", &format!("integration test {n} hangs"), "--type", "race"]);
    }
    env.ok(&["record", "next", "fix the race, add a mutex"]);
}

fn told(env: &TestEnv, format: &str) -> String {
    env.json(&["brief", "--format", format])["text"].as_str().unwrap().to_string()
}

fn codes(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_string()).collect()
}

#[test]
fn scenario_1_basic_summary_generation() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 5, 3, 1);
    use_ollama(&env, &server);
    let summary = env.json(&["summarize"]);
    assert_eq!(summary["summary"], SAID);
    assert!(real_tokens(SAID) < 150 && summary["tokens"].as_u64().unwrap() < 150);
    let asked = &server.requests()[0];
    for said in
        ["Files modified: 5", "- internal/proxy.go", "use strategy 0", "integration test 0 hangs", "fix the race"]
    {
        assert!(asked.contains(said), "{said} in {asked}");
    }
    assert!(asked.contains("\"num_predict\":200") && asked.contains("\"temperature\":0.3"), "{asked}");
}

#[test]
fn scenario_2_save_and_load() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let expected = format!(
        "{TITLE}\n\n**Project:** hydra\n\n**Summary:** {SAID}\n\n**Context:**\n- block:race:integration test 0 hangs\n\
         - dec:use strategy 0 for the request queue - it keeps order\n- impl:internal/module1/part_1.go\n- impl:internal/proxy.go\n\n\
         **Next:**\n- fix the race, add a mutex"
    );
    assert_eq!(told(&env, "summary"), expected);
    assert!(env.start("s2", "startup").contains(SAID), "the next session is told the same summary");

    let saved = env.ok(&["session", "export", "--format", "summary"]);
    let file: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&file["summary"], &file["project"]), (&json!(SAID), &json!("hydra")));
    assert_eq!(file["expires_at"], "2026-01-29T13:35:14Z", "seven days");
    assert_eq!(codes(&file["key_context"])[0], "block:race:integration test 0 hangs");
    assert_eq!(codes(&file["next_actions"]), ["fix the race, add a mutex"]);
    let path = env.root().join("active-hydra.json");
    std::fs::write(&path, saved).unwrap();
    let other = env.add_repository("other");
    let other = other.to_str().unwrap();
    env.ok(&["session", "import", path.to_str().unwrap(), "--cwd", other]);
    let loaded = env.json(&["brief", "--format", "summary", "--cwd", other])["text"].as_str().unwrap().to_string();
    assert_eq!(loaded, expected.replace("**Project:** hydra", "**Project:** other"));
}

#[test]
fn scenario_3_expiry_detection() {
    let (mut env, server) = (env(), saying(SAID));
    work(&env, 1, 1, 0);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    env.set_now(Some("2026-01-30T13:35:15Z"));
    assert_eq!(env.start("s2", "startup"), "");
    assert_eq!(told(&env, "summary"), "");
    let old = env.sessions().into_iter().find(|session| session["agent_session_id"] == "s1").unwrap();
    assert_eq!((&old["status"], &old["summary"]), (&json!("archived"), &json!(SAID)), "archived with its summary");
}

#[test]
fn scenario_4_priority_selection() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 10, 5, 2);
    use_ollama(&env, &server);
    let chosen = codes(&env.json(&["summarize"])["key_context"]);
    let kinds: Vec<&str> = chosen.iter().map(|code| code.split(':').next().unwrap()).collect();
    assert_eq!(kinds, ["block", "block", "dec", "dec", "dec"]);
}

#[test]
fn scenario_5_no_previous_session() {
    let (env, server) = (env(), saying(SAID));
    use_ollama(&env, &server);
    assert_eq!(env.start("s1", "startup"), "");
    assert_eq!(told(&env, "summary"), "");
    let output = env.run(&["summarize"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no session of this project has anything to summarize"));
    assert_eq!(env.run(&["session", "export", "--format", "summary"]).status.code(), Some(1));
    assert!(server.requests().is_empty(), "without facts nobody is asked");
}

#[test]
fn scenario_6_token_budget_enforcement() {
    let sentence =
        "The integration tests of the request queue still hang, so the next step is to find out why it hangs. ";
    let (env, server) = (env(), saying(&sentence.repeat(17)));
    assert!(real_tokens(&sentence.repeat(17)) >= 300);
    env.start("s1", "startup");
    env.write_file("s1", "t1", "proxy.go", "package x\n");
    for n in 0..5 {
        env.ok(&[
            "record",
            "blocker",
            &format!("{n} {}", "the integration tests of the request queue hang ".repeat(2)),
        ]);
        env.ok(&[
            "record",
            "next",
            &format!("{n} {}", "find out why the request queue hangs and write it down ".repeat(5)),
        ]);
    }
    use_ollama(&env, &server);
    let summary = env.json(&["summarize"]);
    assert_eq!(summary["summary"].as_str().unwrap().matches("The integration").count(), 3, "three sentences at most");
    let told = told(&env, "summary");
    assert!(told.starts_with(TITLE) && real_tokens(&told) < 500, "{} tokens", real_tokens(&told));
    assert_eq!(told.matches("- block:").count(), 5, "blockers are the last to go: {told}");
}

#[test]
fn scenario_7_malformed_session_file() {
    let env = env();
    let dir = env.home().join("memory/sessions");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("active-hydra.json"), "{\"session_id\": \"20260121-143022\", \"summary\": \"Spl").unwrap();
    assert_eq!(told(&env, "summary"), "");
    assert_eq!(env.start("s1", "startup"), "");
    let failures = env.json(&["status"])["failures"].clone();
    assert!(failures[0]["detail"].as_str().unwrap().contains("was not imported: not JSON"), "{failures}");
    assert!(dir.join("active-hydra.json").exists());
}

#[test]
fn scenario_8_multiple_projects() {
    let env = env();
    let dir = env.home().join("memory/sessions");
    std::fs::create_dir_all(&dir).unwrap();
    for (project, said) in [("hydra", "Split the proxy."), ("cerberus", "Write the journal.")] {
        let file = json!({
            "session_id": format!("2026012{}-143022", project.len() % 2), "project": project, "summary": said,
            "key_context": ["dec:modularize"], "next_actions": ["fix race"], "token_estimate": 9,
            "timestamp": "2026-01-21T14:30:22", "expires_at": "2026-01-28T14:30:22",
        });
        std::fs::write(dir.join(format!("active-{project}.json")), file.to_string()).unwrap();
    }
    let hydra = told(&env, "summary");
    let expected = format!(
        "{TITLE}\n\n**Project:** hydra\n\n**Summary:** Split the proxy.\n\n**Context:**\n- dec:modularize\n\n**Next:**\n- fix race"
    );
    assert_eq!(hydra, expected);
    let other = env.add_repository("cerberus");
    let other = env.json(&["brief", "--format", "summary", "--cwd", other.to_str().unwrap()])["text"].clone();
    assert!(other.as_str().unwrap().contains("Write the journal.") && !other.as_str().unwrap().contains("proxy"));
}

#[test]
fn scenario_9_cleanup_expired() {
    let (mut env, server) = (env(), saying(SAID));
    use_ollama(&env, &server);
    for (now, session) in [("2026-01-10T10:00:00Z", "a"), ("2026-01-12T10:00:00Z", "b"), ("2026-01-22T09:50:00Z", "c")]
    {
        env.set_now(Some(now));
        env.start(session, "startup");
        env.write_file(session, "toolu_1", "proxy.go", "package x\n");
        env.ok(&["record", "next", "fix the race, add a mutex"]);
        env.ok(&["summarize"]);
    }
    env.set_now(Some("2026-01-22T10:00:00Z"));
    assert_eq!(env.json(&["memory", "session-cleanup"])["archived"], 2);
    let statuses: Vec<(Value, bool)> =
        env.sessions().iter().map(|session| (session["status"].clone(), session["summary"] == SAID)).collect();
    assert_eq!(statuses, [(json!("active"), true), (json!("archived"), true), (json!("archived"), true)]);
    assert!(told(&env, "summary").contains(SAID), "the active one is still told");
}

#[test]
fn scenario_10_integration_with_memories() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 5, 3, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    for n in 0..90 {
        let rule = format!("always check invariant number {n} of the request queue before a release is made");
        env.ok(&["memory", "learn", &rule]);
    }
    let told = env.start("s2", "startup");
    let (memories, session) = told.split_once("\n\n").unwrap();
    assert!(memories.lines().all(|line| line.starts_with("rule:")) && real_tokens(memories) > 1000);
    assert!(session.starts_with(TITLE) && real_tokens(session) < 500, "{session}");
    assert!(real_tokens(&told) < 2000, "{} tokens", real_tokens(&told));
}

/// Everything that is told without a provider is told with one, in the same lines.
#[test]
fn a_summary_only_adds() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "Split the proxy in three parts"}));
    env.write_file("s1", "t1", "internal/parts.go", "package proxy\n\nfunc Forward() {}\n");
    let message = "The proxy is split. The handlers are in a file of their own.";
    env.hook("s1", "Stop", json!({"last_assistant_message": message, "stop_hook_active": false}));
    let without = env.start("s2", "startup");
    for code in ["last:", "said:", "next:", "impl:internal/parts.go Forward"] {
        assert!(without.contains(code), "{code}: {without}");
    }
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let with = env.start("s3", "startup");
    assert!(with.contains(SAID) && with.ends_with(&without), "{with}\n\n{without}");
    // A budget that the codes use up has no room for more.
    let codes = env.json(&["brief", "--format", "codes"]);
    let tokens = (codes["tokens"].as_u64().unwrap() + 10).to_string();
    assert_eq!(env.json(&["brief", "--budget", &tokens])["text"], codes["text"]);
}

/// The codes use their whole budget, and the summary has its own.
#[test]
fn a_summary_is_told_although_the_codes_are_many() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    for turn in 0..20 {
        let prompt =
            format!("Let module{turn} read table{turn} and write column{turn} of file{turn} as plan{turn} says");
        env.hook("s1", "UserPromptSubmit", json!({"prompt": prompt}));
        let words: Vec<String> = (0..6)
            .map(|n| format!("The part{turn}{n} of shelf{turn}{n} is behind door{turn}{n} since day{turn}{n}."))
            .collect();
        env.hook("s1", "Stop", json!({"last_assistant_message": words.join(" "), "stop_hook_active": false}));
    }
    env.hook("s1", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let codes = told(&env, "codes");
    let both = told(&env, "both");
    assert!(both.contains(SAID) && both.ends_with(codes.trim_start_matches('\n')), "{both}\n---\n{codes}");
    let small = env.json(&["brief", "--format", "both", "--budget", "600"]);
    let dropped = small["dropped"].as_array().unwrap();
    let is_listed = |one: &Value| one["code"].as_str().unwrap().starts_with("summary:Split proxy.go");
    assert!(small["text"].as_str().unwrap().contains(SAID) != dropped.iter().any(is_listed), "{small}");
    assert!(small["tokens"].as_u64().unwrap() <= 600);
}

#[test]
fn codes_summary_or_both_as_asked_and_as_set() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    let codes_alone = env.brief();
    assert_eq!(told(&env, "summary"), codes_alone, "without a summary: codes");
    assert_eq!(told(&env, "both"), codes_alone);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    assert_eq!(told(&env, "codes"), codes_alone);
    let both = told(&env, "both");
    assert_eq!(both, format!("{TITLE}\n\n**Project:** hydra\n\n**Summary:** {SAID}\n\n{codes_alone}"));
    assert_eq!(env.brief(), both, "whoever sets a provider wants to hear it");
    let brief = env.json(&["brief"]);
    assert_eq!((&brief["summary"]["text"], &brief["summary"]["provider"]), (&json!(SAID), &json!("ollama")));
    assert!(
        env.ok(&["brief", "--explain"]).contains("by ollama")
            && env.ok(&["brief", "--explain"]).contains("summary of 2026")
    );
    for (format, expected) in [("codes", &codes_alone), ("both", &both)] {
        configure(&env, &format!("format = '{format}'"));
        assert_eq!((&env.brief(), &env.start(format, "startup")), (expected, expected));
        assert_eq!(env.start(format, "resume"), "", "a session that goes on was told");
    }
    configure(&env, "format = 'prose'");
    let output = env.run(&["brief"]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("line 2"));
    assert_eq!(env.run(&["brief", "--format", "prose"]).status.code(), Some(2));
}

#[test]
fn a_summary_that_knows_less_than_the_codes_is_not_told() {
    let (mut env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    assert!(env.brief().starts_with(TITLE));
    env.set_now(Some("2026-01-22T13:40:00Z"));
    env.ok(&["memory", "session-end"]);
    assert!(env.brief().starts_with(TITLE), "an end adds nothing to be told");
    env.ok(&["session", "complete", "20260122-133514"]);
    assert_eq!(env.brief(), "", "what is completed is not summed up either");

    env.start("s2", "startup");
    env.write_file("s2", "t1", "proxy.go", "package x\n");
    env.ok(&["summarize"]);
    assert!(env.brief().starts_with(TITLE));
    env.set_now(Some("2026-01-22T13:50:00Z"));
    env.write_file("s2", "t2", "later.go", "package x\n");
    assert_eq!(env.brief(), "proj:hydra\nimpl:later.go\nimpl:proxy.go", "more happened since");
    env.ok(&["summarize"]);
    env.set_now(Some("2026-01-22T13:55:00Z"));
    env.start("s3", "startup");
    env.write_file("s3", "t3", "newest.go", "package x\n");
    assert!(env.brief().starts_with("proj:hydra\nimpl:newest.go"), "another session worked since");
}

#[test]
fn what_was_settled_since_is_not_told_beside_it() {
    let (mut env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    env.set_now(Some("2026-01-22T14:35:14Z"));
    env.ok(&["record", "blocker", "integration test 0 hangs", "--resolve"]);
    env.ok(&["record", "next", "write the notes"]);
    let told = env.brief();
    assert!(told.starts_with(TITLE) && !told.contains("block:"), "{told}");
    assert!(told.contains("next:write the notes"), "and what was added since is: {told}");
}

#[test]
fn a_view_made_anew_tells_the_same_and_what_is_forgotten_is_gone() {
    let (mut env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let before = env.brief();
    env.rebuild();
    assert_eq!(env.brief(), before);
    for entry in std::fs::read_dir(env.home()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("view-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    assert_eq!(env.brief(), before);
    env.set_now(Some("2026-03-30T13:35:14Z"));
    env.ok(&["memory", "session-cleanup"]);
    env.ok(&["memory", "session-cleanup", "--older-than", "30d", "--yes"]);
    assert!(!all_files(&env.home()).windows(20).any(|bytes| bytes == b"Split proxy.go into "));
}

/// Every byte below a folder.
pub fn all_files(dir: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => bytes.extend(all_files(&path)),
            path => bytes.extend(std::fs::read(path).unwrap_or_default()),
        }
    }
    bytes
}

/// What was decided may be repeated as it was said, and the provider is told everything that the session left.
#[test]
fn a_decision_may_be_repeated_and_no_fact_is_missing() {
    let said = "Never drop sqlite as the store, whatever is faster.";
    let (env, server) = (env(), saying(said));
    env.start("s1", "startup");
    env.write_file("s1", "t1", "internal/proxy.go", "package x\n");
    env.ok(&["record", "decision", said]);
    env.ok(&["record", "objective", "Ship the store"]);
    env.ok(&["record", "note", "The mock is slow"]);
    for (id, command, printed) in [
        ("b1", "gh pr create --fill", "https://github.com/hydra/hydra/pull/12\n"),
        ("b2", "git commit -m x", "[main 1a2b3c4] open the store once\n 1 file changed\n"),
        ("b3", "git tag v1.2.0", ""),
    ] {
        env.hook(
            "s1",
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": command},
            "tool_response": {"stdout": printed, "stderr": "", "interrupted": false}}),
        );
    }
    use_ollama(&env, &server);
    assert_eq!(env.json(&["summarize"])["summary"], said);
    let asked = &server.requests()[0];
    for fact in [said, "Ship the store", "The mock is slow", "pull request #12", "open the store once", "tagged v1.2.0"]
    {
        assert!(asked.contains(fact), "{fact} in {asked}");
    }
    for wrong in ["Drop sqlite as the store.", "All tests pass.", "Merged the pull request."] {
        let server = saying(wrong);
        use_ollama(&env, &server);
        assert!(!env.run(&["summarize"]).status.success(), "{wrong}");
    }
}
