//! Whoever writes summaries: asked in their own way, borne whatever they do, and never waited for by an agent.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cerberus_testkit::answering::{Answer, Answering};
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::hubs::certificate::Certificates;
use cerberus_testkit::process::{LIMIT, wait_until};
use serde_json::{Value, json};

use crate::env;
use crate::lifecycle::Agent;
use crate::summary::{all_files, configure, saying, use_ollama, work};

const SAID: &str = "Split proxy.go into three files. Fix the race next.";
fn made_up_key() -> String {
    ["sk", "-made-up-key-of-a-test-1234567890"].concat()
}

/// A provider, the environment it needs, and its own form of an answer.
struct Known {
    provider: &'static str,
    variable: &'static str,
    path: &'static str,
    header: &'static str,
    answer: fn(&str) -> Value,
}

const KNOWN: [Known; 3] = [
    Known {
        provider: "ollama",
        variable: "",
        path: "POST /api/generate HTTP/1.1",
        header: "",
        answer: |text| json!({"model": "small", "response": text, "done": true}),
    },
    Known {
        provider: "anthropic",
        variable: "ANTHROPIC_API_KEY",
        path: "POST /v1/messages HTTP/1.1",
        header: "x-api-key: ",
        answer: |text| json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]}),
    },
    Known {
        provider: "openai",
        variable: "OPENAI_API_KEY",
        path: "POST /chat/completions HTTP/1.1",
        header: "authorization: Bearer ",
        answer: |text| json!({"choices": [{"message": {"role": "assistant", "content": text}}]}),
    },
];

fn set(env: &TestEnv, known: &Known, server: &Answering, timeout_secs: f64) {
    let (provider, url) = (known.provider, server.url());
    let lines = format!("provider = '{provider}'\nmodel = 'small'\nbase_url = '{url}'\ntimeout_secs = {timeout_secs}");
    configure(env, &lines);
}

/// `cerberus summarize`, with a key in the environment: whether it succeeded, and what it said.
fn summarize(env: &TestEnv, known: &Known) -> (bool, String) {
    let mut command = env.command();
    command.args(["summarize", "--json"]);
    if !known.variable.is_empty() {
        command.env(known.variable, made_up_key());
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

fn holds_key(bytes: &[u8]) -> bool {
    bytes.windows(12).any(|part| part == &made_up_key().as_bytes()[..12])
}

#[test]
fn each_provider_is_asked_in_its_own_way_and_its_key_goes_nowhere_else() {
    for known in &KNOWN {
        let env = env();
        work(&env, 2, 1, 1);
        let server = Answering::start([Answer::json(&(known.answer)(SAID))]);
        set(&env, known, &server, 60.0);
        let (is_written, said) = summarize(&env, known);
        assert!(is_written, "{}: {said}", known.provider);
        let written: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&written["summary"], &written["provider"]), (&json!(SAID), &json!(known.provider)));
        let request = &server.requests()[0];
        assert!(request.starts_with(known.path), "{request}");
        let sent_key = format!("{}{}\r\n", known.header, made_up_key());
        assert!(known.header.is_empty() || request.to_lowercase().contains(&sent_key.to_lowercase()), "{request}");
        assert_eq!(request.matches(&made_up_key()).count(), usize::from(!known.header.is_empty()));
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["model"], "small");
        assert!(!holds_key(said.as_bytes()) && !holds_key(&all_files(&env.home())), "{}", known.provider);
    }
}

#[test]
fn ollama_is_found_by_its_own_variable() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 1, 0, 0);
    configure(&env, "provider = 'ollama'\nmodel = 'small'");
    let host = server.url().replace("http://", "");
    let output = env.command().arg("summarize").env("OLLAMA_HOST", host).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.requests().len(), 1);
}

/// What runs after a session has the agent's variables, and an agent can run it too.
#[test]
fn after_a_session_the_environment_does_not_decide_where_it_is_sent() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 1, 0, 0);
    configure(&env, "provider = 'ollama'\nmodel = 'small'\ntimeout_secs = 1");
    let host = server.url();
    for words in [&["summarize", "--detached", "--", "s1"][..], &["doctor", "--json"]] {
        let output = env.command().args(words).env("OLLAMA_HOST", &host).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(words[0] != "doctor" || said.contains("127.0.0.1:11434") && !said.contains(&host), "{said}");
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn whatever_a_provider_does_it_is_tried_twice_and_then_codes_are_told() {
    let elsewhere = saying(SAID);
    let mega = || vec![b'x'; 1024 * 1024];
    for known in &KNOWN {
        let of = |text: &str| Answer::json(&(known.answer)(text));
        let long = (known.answer)(&"word ".repeat(220_000));
        for (answer, timeout_secs, reason) in [
            (Answer::Say(500, b"{\"error\": \"overloaded\"}".to_vec()), 60.0, "has an internal error (status 500)"),
            (Answer::Say(401, made_up_key().into_bytes()), 60.0, "rejects the API key (status 401)"),
            (Answer::Say(404, vec![]), 60.0, "does not know the model"),
            (Answer::Say(200, b"<html>garbage".to_vec()), 60.0, "contains nothing usable"),
            (Answer::Say(200, b"{\"something\": [\"else\"]}".to_vec()), 60.0, "contains nothing usable"),
            (Answer::Raw(b"\x00\xff not http at all\r\n\r\n".to_vec()), 60.0, "cannot be reached"),
            (Answer::Raw(vec![]), 60.0, "cannot be reached"),
            (Answer::Say(200, mega()), 60.0, "is too long"),
            (Answer::json(&long), 60.0, "is too long"),
            (of(""), 60.0, "contains nothing usable"),
            (of("Rewrite forwarder.go and call flush_all()."), 60.0, "contains nothing usable"),
            (Answer::Elsewhere(elsewhere.url()), 60.0, "redirects to another address"),
            (Answer::Hang, 1.5, "did not answer within 1.5 s"),
        ] {
            let env = env();
            work(&env, 2, 1, 1);
            let codes = env.brief();
            let server = Answering::start([answer]);
            set(&env, known, &server, timeout_secs);
            let (is_written, said) = summarize(&env, known);
            assert!(!is_written && said.contains(reason), "{}: {reason} in {said}", known.provider);
            assert!(said.contains("until then, briefs use codes"), "{said}");
            assert_eq!(server.requests().len(), 2, "{}: one retry: {reason}", known.provider);
            assert_eq!((env.brief(), env.start("s2", "startup")), (codes.clone(), codes), "{reason}");
            assert!(!holds_key(said.as_bytes()) && !holds_key(&all_files(&env.home())), "{said}");
        }
    }
    assert!(elsewhere.requests().is_empty(), "no redirect is followed");
}

#[test]
fn a_second_try_may_succeed_and_leaves_out_what_not_every_model_takes() {
    for known in &KNOWN {
        let env = env();
        work(&env, 2, 1, 1);
        let refused = Answer::Say(400, b"{\"error\": \"temperature is not supported\"}".to_vec());
        let server = Answering::start([refused, Answer::json(&(known.answer)(SAID))]);
        set(&env, known, &server, 60.0);
        let (is_written, said) = summarize(&env, known);
        assert!(is_written, "{said}");
        let requests = server.requests();
        assert!(requests[0].contains("temperature") && !requests[1].contains("temperature"), "{}", requests[1]);
    }
}

#[test]
fn an_answer_that_comes_late_is_waited_for_within_the_limit() {
    let env = env();
    work(&env, 2, 1, 1);
    let server = Answering::start([Answer::late(&json!({"response": SAID}))]);
    use_ollama(&env, &server);
    let mut child = env.command().arg("summarize").stdout(std::process::Stdio::null()).spawn().unwrap();
    server.wait_for(1);
    assert_eq!((server.answered(), child.try_wait().unwrap()), (0, None));
    server.release();
    assert!(child.wait().unwrap().success());
    assert!(env.brief().contains(SAID));
}

#[test]
fn nothing_goes_out_but_facts_without_secrets() {
    let (env, server) = (env(), saying(SAID));
    let token = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    work(&env, 2, 1, 1);
    env.hook(
        "s1",
        "UserPromptSubmit",
        json!({"prompt": format!("Use {token} to log in. We decided to use the token {token}."), "prompt_id": "1"}),
    );
    env.ok(&["record", "decision", &format!("log in with {token}")]);
    env.ok(&["record", "next", &format!("export API_TOKEN={token} and retry")]);
    env.write_file("s1", "t8", "src/login.go", &format!("var token = \"{token}\" // content-of-the-file\n"));
    env.write_file("s1", "t9", "/home/ada/private/diary.md", "x");
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let request = &server.requests()[0];
    for private in
        [token.as_str(), "0123456789abcdefghij", "content-of-the-file", "diary", env.root().to_str().unwrap()]
    {
        assert!(!request.contains(private), "{private} in {request}");
    }
    assert!(request.contains("log in with [redacted"), "{request}");
}

#[test]
fn any_program_can_write_it_and_an_agent_that_does_is_no_session() {
    let env = env();
    work(&env, 2, 1, 1);
    let prompt = env.root().join("prompt.txt");
    // As `claude -p` would: it has hooks of ours too, which call us while it is at work.
    let hook = format!("'{}' hook claude-code", env.command().get_program().to_str().unwrap());
    let payload = String::from_utf8(env.payload("inner", "SessionStart", json!({"source": "startup"}))).unwrap();
    std::fs::write(env.root().join("payload.json"), payload).unwrap();
    let script = format!(
        "cat > '{}'; {hook} < '{}'; echo 'Here is the summary:'; echo '{SAID}'",
        prompt.display(),
        env.root().join("payload.json").display()
    );
    configure(&env, &format!("provider = 'command'\ncommand = ['sh', '-c', \"\"\"{script}\"\"\"]"));
    let written = env.json(&["summarize"]);
    assert_eq!((&written["summary"], &written["provider"]), (&json!(SAID), &json!("command")));
    assert!(std::fs::read_to_string(prompt).unwrap().contains("Summarize this coding session"));
    assert_eq!(env.sessions().len(), 1, "the agent that sums up is not captured");

    configure(&env, "provider = 'command'\ncommand = ['/nowhere/agent', '-p']");
    let output = env.run(&["summarize"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the command cannot be run: No such file"));
    configure(&env, "provider = 'command'\ncommand = ['sh', '-c', 'exit 3']");
    let output = env.run(&["summarize"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the command failed: exit status: 3"));
}

#[test]
fn without_a_provider_it_says_how_to_set_one_and_nothing_is_begun() {
    let env = env();
    work(&env, 2, 1, 1);
    let output = env.run(&["summarize"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1)
            && said.contains("no provider for summaries is set")
            && said.contains("provider =")
    );
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    assert!(!env.home().join("summaries").exists());
}

fn failures(env: &TestEnv) -> Option<Vec<Value>> {
    env.json(&["status"])["failures"].as_array().cloned().filter(|found| !found.is_empty())
}

fn summary_of(env: &TestEnv, session: &str) -> Option<String> {
    let found = env.sessions().into_iter().find(|found| found["agent_session_id"] == session)?;
    found["summary"].as_str().map(str::to_string)
}

#[test]
fn after_its_end_a_session_is_summed_up_once() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    for reason in ["other", "logout", "clear"] {
        env.hook("s1", "SessionEnd", json!({"reason": reason}));
    }
    wait_until("the summary", LIMIT, || summary_of(&env, "s1")).unwrap();
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    for _ in 0..3 {
        env.ok(&["summarize", "--detached", &id]);
    }
    assert_eq!(server.requests().len(), 1, "however many hooks say that it ended");
    assert!(env.start("s2", "startup").contains(SAID));
    assert_eq!(env.json(&["status"])["failures"], json!([]));
}

#[test]
fn what_was_summed_up_by_hand_is_not_again_at_the_end() {
    let (env, server) = (env(), saying(SAID));
    work(&env, 2, 1, 1);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    env.ok(&["summarize", "--detached", &id]);
    assert_eq!(server.requests().len(), 1);
    env.ok(&["summarize"]);
    assert_eq!(server.requests().len(), 2, "but again by hand whenever it is asked for");
    env.write_file("s1", "t9", "more.go", "package x\n");
    env.ok(&["summarize", "--detached", &id]);
    assert_eq!(server.requests().len(), 3, "and when more was done");
}

#[test]
fn an_agent_does_not_wait_for_a_provider_that_hangs() {
    let env = env();
    work(&env, 2, 1, 1);
    let codes = env.brief();
    let server = Answering::start([Answer::Hang]);
    use_ollama(&env, &server);
    // The hook's exit and the end of its output are both waited for here, as agents do.
    assert_eq!(env.hook("s1", "SessionEnd", json!({"reason": "other"})), "");
    server.wait_for(1);
    assert_eq!((server.answered(), server.held()), (0, 1), "it hangs still, and the hook is long done");
    assert_eq!(env.start("s2", "startup"), codes, "neither does the next session wait");
    drop(server);
    wait_until("it to give up", LIMIT, || failures(&env)).unwrap();
}

#[test]
fn a_provider_that_hangs_is_given_up_and_nothing_is_left_running() {
    let env = env();
    work(&env, 2, 1, 1);
    let server = Answering::start([Answer::Hang]);
    set(&env, &KNOWN[0], &server, 1.5);
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    let failures = wait_until("the failure", LIMIT, || failures(&env)).unwrap();
    assert!(
        failures[0]["detail"].as_str().unwrap().contains("did not answer within 1.5 s; briefs use codes instead"),
        "{failures:?}"
    );
    wait_until("both tries to end", LIMIT, || (server.held() == 0).then_some(())).unwrap();
    assert_eq!(server.requests().len(), 2);
    // The same process, waited for: it ends by itself.
    env.write_file("s1", "t9", "more.go", "package x\n");
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    env.ok(&["summarize", "--detached", &id]);
    // The server sees a little later that nobody waits for its answer.
    wait_until("both tries to end again", LIMIT, || (server.held() == 0).then_some(())).unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn sessions_that_idle_or_die_are_summed_up_when_that_is_noticed() {
    let (mut env, server) = (env(), saying(SAID));
    use_ollama(&env, &server);
    let mut agent = Agent::start(&env);
    agent.hook(&env, "killed", "SessionStart", json!({"source": "startup"}));
    agent.write_file(&env, "killed", "t1", "proxy.go");
    agent.kill();
    env.start("s2", "startup");
    wait_until("the summary of what died", LIMIT, || summary_of(&env, "killed")).unwrap();
    env.write_file("s2", "t2", "proxy.go", "package x\n");
    env.set_now(Some("2026-01-22T14:35:14Z"));
    env.start("s3", "startup");
    wait_until("the summary of what idled", LIMIT, || summary_of(&env, "s2")).unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn commands_that_end_a_session_have_it_summed_up_too() {
    let (env, server) = (env(), saying(SAID));
    use_ollama(&env, &server);
    env.ok(&["memory", "session-start"]);
    env.ok(&["record", "file", "proxy.go"]);
    env.ok(&["memory", "session-end"]);
    wait_until("the summary", LIMIT, || env.sessions()[0]["summary"].as_str().map(str::to_string)).unwrap();
}

#[test]
fn doctor_shows_the_providers_state() {
    let env = env();
    work(&env, 2, 1, 1);
    let state = |variable: Option<&str>| {
        let mut command = env.command();
        command.args(["doctor", "--json"]);
        command.envs(variable.map(|name| (name, made_up_key())));
        let output = command.output().unwrap();
        assert!(!holds_key(&output.stdout) && !holds_key(&output.stderr));
        let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
        let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "summary").unwrap();
        (check["ok"].as_bool().unwrap(), check["detail"].as_str().unwrap().to_string())
    };
    assert_eq!(state(None), (true, "off; briefs use codes".to_string()));
    configure(&env, "provider = 'anthropic'\nmodel = 'small'");
    assert!(!state(None).0 && state(None).1.contains("set ANTHROPIC_API_KEY"));

    let server = Answering::start([
        Answer::Say(404, vec![]),
        Answer::json(&json!({"content": [{"type": "text", "text": SAID}]})),
    ]);
    set(&env, &KNOWN[1], &server, 60.0);
    let there = state(Some("ANTHROPIC_API_KEY"));
    assert!(there.0 && there.1.ends_with(": reachable, no summary yet"), "{there:?}");
    assert!(!server.requests()[0].contains(&made_up_key()), "a sign of life is asked for without the key");
    assert!(summarize(&env, &KNOWN[1]).0);
    assert!(state(Some("ANTHROPIC_API_KEY")).1.ends_with(": reachable, last summary today 13:35"));
    let url = server.url();
    drop(server);
    let gone = state(Some("ANTHROPIC_API_KEY"));
    assert!(
        !gone.0 && gone.1.starts_with(&format!("anthropic, small at {url}: the provider cannot be reached")),
        "{gone:?}"
    );

    configure(&env, "provider = 'command'\ncommand = ['no-such-agent-here', '-p']");
    assert!(state(None).1.ends_with("no-such-agent-here was not found"));
    configure(&env, "provider = 'command'\ncommand = ['false']");
    env.write_file("s1", "t9", "more.go", "package x\n");
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    env.ok(&["summarize", "--detached", &id]);
    let failed = state(None);
    assert!(
        !failed.0 && failed.1.contains("the command failed: exit status: 1; briefs use codes instead"),
        "{failed:?}"
    );
}

#[test]
fn a_provider_that_answers_nobody_does_not_hold_up_doctor() {
    let env = env();
    let server = Answering::start([Answer::Hang]);
    use_ollama(&env, &server);
    let doctor = env.doctor();
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "summary").unwrap();
    assert!(check["detail"].as_str().unwrap().contains("did not answer within 3 s"), "{check}");
}

/// A server of a company, whose certificate its own authority signed.
#[test]
fn the_systems_authorities_are_trusted() {
    let env = env();
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(folder.path());
    let (server, key) = (certificates.server(), certificates.server_key());
    let mut openssl = Command::new("openssl");
    openssl.args(["s_server", "-www", "-accept", "127.0.0.1:0", "-cert"]).arg(server).arg("-key").arg(key);
    let mut openssl = openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said = BufReader::new(openssl.stdout.take().unwrap()).lines().map_while(Result::ok);
    let port = said.into_iter().find_map(|line| Some(line.strip_prefix("ACCEPT 127.0.0.1:")?.to_string())).unwrap();
    configure(&env, &format!("provider = 'openai'\nmodel = 'small'\nbase_url = 'https://localhost:{port}'"));
    let state = |authorities: Option<PathBuf>| {
        let mut command = env.command();
        command
            .args(["doctor", "--json"])
            .env("OPENAI_API_KEY", made_up_key())
            .envs(authorities.map(|file| ("SSL_CERT_FILE", file)));
        let doctor: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "summary").unwrap();
        check["detail"].as_str().unwrap().to_string()
    };
    let (stranger, own) = (state(None), state(Some(certificates.authority())));
    let none = state(Some(folder.path().join("missing.pem")));
    openssl.kill().unwrap();
    openssl.wait().unwrap();
    assert!(stranger.contains("certificate") && none.contains("certificate"), "{stranger}; {none}");
    assert!(own.ends_with("reachable, no summary yet"), "{own}");
}
