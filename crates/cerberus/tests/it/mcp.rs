//! The MCP server, spoken to as clients do: lines of JSON-RPC over pipes to the real binary.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use cerberus_testkit::env::{TestEnv, codes, without_first_line};
use cerberus_testkit::process::LIMIT;
use cerberus_testkit::tokens::real_tokens;
use cerberus_text::tokens;
use serde_json::{Value, json};

use crate::env;
use crate::style::workspace;

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// What a client of the newer era sends with every request.
    meta: Option<Value>,
}

impl Client {
    fn start(env: &TestEnv, args: &[&str]) -> Client {
        let mut command = env.command();
        command.arg("mcp").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Client { child, input, lines, next_id: 1, meta: None }
    }

    /// A client of the older era, ready to ask.
    pub fn ready(env: &TestEnv) -> Client {
        let mut client = Client::start(env, &[]);
        client.initialize("2025-11-25");
        client
    }

    fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", params);
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer["result"].clone()
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// The next line, which must be a message and nothing else.
    fn read(&mut self) -> Value {
        let line = without_first_line(&self.lines.recv_timeout(LIMIT).expect("an answer"));
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        answer
    }

    fn send(&mut self, method: &str, mut params: Value) -> u64 {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// The structured answer of a call that must succeed.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// What a call that must fail tells the agent.
    pub fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(result.get("structuredContent").is_none());
        result["content"][0]["text"].as_str().unwrap().to_string()
    }

    /// Closes the input: the process ends by itself, and said nothing more.
    pub fn end(mut self) {
        drop(self.input.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert_eq!(self.lines.recv_timeout(LIMIT).ok(), None, "nothing but answers on standard output");
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn a_session_begins_in_every_version_that_has_beginnings() {
    let env = env();
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::start(&env, &[]);
        let begun = client.initialize(asked);
        assert_eq!(begun["protocolVersion"], given, "{asked}");
        assert_eq!(begun["serverInfo"]["name"], "cerberus");
        assert!(begun["capabilities"]["tools"].is_object() && begun["capabilities"]["resources"].is_object());
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        assert_eq!(client.ok("session_context", json!({}))["project"], "hydra");
        client.end();
    }
}

#[test]
fn the_newer_era_needs_no_beginning() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    client.meta = Some(meta("2026-07-28"));
    let discovered = client.ask("server/discover", json!({}))["result"].clone();
    assert!(discovered["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert!(discovered["instructions"].as_str().unwrap().contains("session_context"));
    assert_eq!(client.ok("session_record", json!({"kind": "next", "text": "tidy up"}))["code"], "next:tidy up");
    assert_eq!(client.ok("session_context", json!({}))["text"], "proj:hydra\nnext:agent: tidy up");
    assert_eq!(client.ask("tools/list", json!({}))["result"]["resultType"], "complete");
    client.meta = Some(meta("2031-01-01"));
    assert!(client.ask("tools/list", json!({}))["error"]["code"].is_number(), "a version that is not known yet");
    client.end();
}

#[test]
fn a_client_that_probes_first_is_answered_and_may_begin_as_it_likes() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    for params in [json!({}), json!({"_meta": {}}), json!({"_meta": {"x": 1}})] {
        assert!(client.ask("server/discover", params)["error"]["code"].is_number());
    }
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    client.write(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    assert!(client.ask("tools/list", json!({}))["error"]["code"].is_number(), "nothing was begun");
    assert_eq!(client.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    assert_eq!(client.ok("session_context", json!({}))["text"], "");
    client.end();
}

/// `name(argument: type, …) (effect)`; `!` is required.
fn in_a_line(tool: &Value) -> String {
    let input = &tool["inputSchema"];
    let required = input["required"].as_array().cloned().unwrap_or_default();
    let arguments = input["properties"].as_object().unwrap().iter().map(|(name, schema)| {
        let mark = if required.contains(&json!(name)) { "!" } else { "" };
        format!("{name}: {}{mark}", schema["type"].as_str().expect("one type"))
    });
    let hints = &tool["annotations"];
    assert_eq!(hints["openWorldHint"], false);
    let effect = match (&hints["readOnlyHint"], &hints["destructiveHint"]) {
        (Value::Bool(true), Value::Bool(false)) => "reads",
        (Value::Bool(false), Value::Bool(false)) => "adds",
        (Value::Bool(false), Value::Bool(true)) => "removes",
        odd => panic!("{odd:?}"),
    };
    format!("{}({}) ({effect})", tool["name"].as_str().unwrap(), arguments.collect::<Vec<_>>().join(", "))
}

#[test]
fn the_tools_are_few_small_and_always_in_the_same_order() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let begun = client.initialize("2025-11-25");
    assert!(begun["instructions"].as_str().unwrap().len() < 1024);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(client.ask("tools/list", json!({}))["result"]["tools"].to_string(), listed.to_string());
    let lines: Vec<String> = listed.as_array().unwrap().iter().map(in_a_line).collect();
    let expected = [
        "session_context(query: string) (reads)",
        "session_record(kind: string!, resolve: boolean, severity: string, text: string!, why: string) (adds)",
        "user_said(kind: string!, quote: string!, why: string) (adds)",
    ];
    assert_eq!(lines, expected);
    let kinds = &listed[1]["inputSchema"]["properties"]["kind"]["enum"];
    assert_eq!(*kinds, json!(["done", "next", "decision", "blocker", "file", "function", "objective", "note"]));
    // Every session of every connected agent pays for these.
    let costs = tokens::estimate(&listed.to_string()) + tokens::estimate(begun["instructions"].as_str().unwrap());
    assert!(costs <= 500, "{costs} tokens");
    let real = real_tokens(&listed.to_string()) + real_tokens(begun["instructions"].as_str().unwrap());
    let price = format!("about {} tokens", (real as f64 / 50.0).round() * 50.0);
    for path in ["README.md", "docs/agents.md", "crates/cerberus/src/commands/install.rs"] {
        let page = fs::read_to_string(workspace().join(path)).unwrap();
        assert!(page.contains(&price), "{path} says {price} a session: {real}, estimated as {costs}");
    }
    for word in ["anyOf", "oneOf", "$ref", "$schema", "format"] {
        assert!(!listed.to_string().contains(&format!("\"{word}\"")), "{word} in {listed}");
    }
    client.end();
}

#[test]
fn the_context_is_the_brief() {
    let env = env();
    env.write_file("s1", "t1", "src/login.rs", "fn login() {}\n");
    env.write_file("s1", "t2", "src/paint.rs", "fn paint() {}\n");
    env.ok(&["memory", "learn", "Never push to main"]);
    let mut client = Client::ready(&env);
    let told = client.ok("session_context", json!({}));
    assert_eq!(told["text"], env.brief());
    assert_eq!(told["tokens"], env.json(&["brief"])["tokens"]);
    for query in ["make login faster", "paint it red"] {
        let told = client.call("session_context", json!({"query": query}));
        let brief = env.json(&["brief", "--prompt", query])["text"].clone();
        assert_eq!(told["structuredContent"]["text"], brief, "{query}");
        assert_eq!(told["content"], json!([{"type": "text", "text": brief}]));
    }
    let listed = client.ask("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["uri"], "cerberus://brief");
    let read = client.ask("resources/read", json!({"uri": "cerberus://brief"}))["result"]["contents"].clone();
    assert_eq!(read, json!([{"uri": "cerberus://brief", "mimeType": "text/plain", "text": env.brief()}]));
    client.end();
}

#[test]
fn with_nothing_to_tell_it_says_so() {
    let env = env();
    let mut client = Client::ready(&env);
    let told = client.call("session_context", json!({}));
    assert_eq!(told["content"][0]["text"], "Earlier sessions of hydra left nothing.");
    assert_eq!(told["structuredContent"]["text"], "");
    assert_eq!(client.ok("session_history", json!({}))["sessions"], json!([]));
    assert_eq!(client.ok("memory_search", json!({"query": "anything"}))["memories"], json!([]));
    client.end();
}

#[test]
fn facts_go_to_one_manual_session_where_no_hook_is_installed() {
    let env = env();
    let mut client = Client::ready(&env);
    for (arguments, code) in [
        (json!({"kind": "decision", "text": "use WAL", "why": "readers"}), "dec:use WAL - readers"),
        (json!({"kind": "blocker", "text": "no staging key", "severity": "high"}), "block:issue:no staging key"),
        (json!({"kind": "file", "text": env.project().join("src/a.rs")}), "impl:src/a.rs"),
        (json!({"kind": "next", "text": "measure it", "why": null, "resolve": false}), "next:measure it"),
    ] {
        let recorded = client.ok("session_record", arguments.clone());
        assert_eq!(recorded["agent"], "manual");
        assert_eq!(recorded["code"], code, "{arguments}");
    }
    let told = client.ok("session_context", json!({}))["text"].clone();
    assert_eq!(
        told,
        "proj:hydra\nblock:agent: issue:no staging key\nnext:agent: measure it\ndec:agent: use WAL - readers\nimpl:src/a.rs"
    );
    client.ok("session_record", json!({"kind": "blocker", "text": "no staging key", "resolve": true}));
    assert!(!client.ok("session_context", json!({}))["text"].as_str().unwrap().contains("block:"));
    client.end();
    assert_eq!(env.sessions().len(), 1);
}

#[test]
fn facts_go_to_the_live_session_where_there_is_one() {
    let env = env();
    env.start("s1", "startup");
    let mut client = Client::ready(&env);
    let recorded = client.ok("session_record", json!({"kind": "done", "text": "parser"}));
    assert_eq!((&recorded["agent"], &recorded["agent_session_id"]), (&json!("claude-code"), &json!("s1")));
    client.end();
    assert_eq!(codes(&env.sessions()[0], "done"), ["done:parser"]);
}

#[test]
fn the_history_is_the_commands() {
    let mut env = env();
    env.write_file("s1", "t1", "src/a.rs", "fn a() {}\n");
    env.set_now(Some("2026-01-23T10:00:00Z"));
    env.write_file("s2", "t2", "src/b.rs", "fn b() {}\n");
    env.set_now(Some("2026-01-24T10:00:00Z"));
    let mut client = Client::ready(&env);
    for days in [1, 30] {
        let shown = client.ok("session_history", json!({"days": days}))["sessions"].clone();
        assert_eq!(shown, env.json(&["memory", "session-history", "--days", &days.to_string()]));
        assert_eq!(shown.as_array().unwrap().len(), if days == 1 { 1 } else { 2 });
    }
    let shown = client.call("session_history", json!({}));
    let text: Value = serde_json::from_str(shown["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, shown["structuredContent"], "clients that know no structure get the same as text");
    client.end();
}

#[test]
fn memories_are_learnt_found_and_forgotten() {
    let env = env();
    let mut client = Client::ready(&env);
    let tabs = client.ok("memory_learn", json!({"text": "Use tabs for indentation"}));
    assert_eq!(tabs["new"], true);
    assert_eq!(client.ok("memory_learn", json!({"text": "Use tabs for indentation"}))["new"], false);
    let here = json!({"text": "Deploy with make ship", "scope": "project", "category": "preference"});
    let ship = client.ok("memory_learn", here);
    let spaces = client.ok("memory_learn", json!({"text": "Use spaces for indentation"}));
    assert_eq!(spaces["supersedes"], json!([]));
    assert_eq!(client.ok("memory_search", json!({"query": "deploy"}))["memories"], json!([]), "not approved yet");
    for learned in [&tabs, &ship] {
        env.ok(&["memory", "approve", learned["id"].as_str().unwrap()]);
    }
    let found = client.ok("memory_search", json!({"query": "deploy"}))["memories"].clone();
    assert_eq!(found, env.json(&["memory", "search", "deploy"]));
    assert_eq!(found[0]["scope"], "project:hydra");
    let mut ids = |arguments: Value| -> Vec<Value> {
        let found = client.ok("memory_search", arguments)["memories"].clone();
        found.as_array().unwrap().iter().map(|memory| memory["id"].clone()).collect()
    };
    assert_eq!(ids(json!({"query": "indentation deploy", "scope": "project"})).len(), 2);
    assert_eq!(ids(json!({"query": "indentation deploy", "scope": "universal"})), [] as [Value; 0]);
    assert_eq!(ids(json!({"query": "indentation deploy", "category": "preference"})), [ship["id"].clone()]);
    assert_eq!(ids(json!({"query": "indentation", "limit": 1})).len(), 1);
    let gone = client.ok("memory_forget", json!({"ids": [spaces["id"]]}));
    assert_eq!(gone["forgotten"], json!([spaces["id"]]));
    let told = client.ok("session_context", json!({}))["text"].as_str().unwrap().to_string();
    assert!(told.contains("rule:Use tabs for indentation") && told.contains("pref:Deploy with make ship"), "{told}");
    client.end();
    assert_eq!(env.json(&["memory", "list", "--all"]).as_array().unwrap().len(), 2);
}

#[test]
fn being_found_is_a_use_and_a_moment_that_was_asked_for_counts_nothing() {
    let mut env = env();
    let id = env.json(&["memory", "learn", "Never push to main"])["id"].as_str().unwrap().to_string();
    let uses = |env: &TestEnv| env.json(&["memory", "show", &id])["use_count"].clone();
    let mut client = Client::ready(&env);
    client.ok("memory_search", json!({"query": "push"}));
    client.end();
    assert_eq!(uses(&env), 0, "CERBERUS_NOW is set");
    env.set_now(None);
    let mut client = Client::ready(&env);
    assert_eq!(client.ok("memory_search", json!({"query": "push"}))["memories"][0]["use_count"], 1);
    client.end();
    assert_eq!(uses(&env), 1);
}

#[test]
fn what_goes_wrong_is_told_to_the_agent_with_what_to_do_next() {
    let env = env();
    env.ok(&["memory", "learn", "Never push to main"]);
    let many: Vec<String> = (0..101).map(|n| format!("m-{n}")).collect();
    let mut client = Client::ready(&env);
    for (tool, arguments, said) in [
        ("session_context", json!({"prompt": "x"}), "unknown field `prompt`"),
        ("session_context", json!({"query": 5}), "invalid type"),
        ("session_record", json!({"kind": "next"}), "missing field `text`"),
        ("session_record", json!({"kind": "wish", "text": "x"}), "one of done, next, decision"),
        ("session_record", json!({"kind": "next", "text": " "}), "the text is empty"),
        ("session_record", json!({"kind": "blocker", "text": "x", "severity": "bad"}), "one of low, medium"),
        ("session_history", json!({"days": 0}), "from 1 to 365"),
        ("session_history", json!({"days": 4_000_000_000u32}), "from 1 to 365"),
        ("session_history", json!({"days": -1}), "match its input schema"),
        ("memory_learn", json!({"text": ""}), "the text is empty"),
        ("memory_learn", json!({"text": "x".repeat(20_000)}), "the text is too long"),
        ("memory_learn", json!({"text": "x", "scope": "galaxy"}), "write universal, language:NAME"),
        ("search", json!({"query": "\n"}), "the query is empty"),
        ("search", json!({"query": "word ".repeat(1000)}), "the query is too long"),
        ("search", json!({"query": "x", "limit": 0}), "from 1 to 100"),
        ("search", json!({"query": "x", "kind": "nonsense"}), "is not a kind"),
        ("memory_search", json!({"query": "\n"}), "the query is empty"),
        ("memory_search", json!({"query": "word ".repeat(1000)}), "the query is too long"),
        ("memory_search", json!({"query": "x", "limit": 0}), "from 1 to 100"),
        ("memory_search", json!({"query": "x", "scope": "here"}), "is not a scope"),
        ("memory_forget", json!({"ids": []}), "give 1 to 100"),
        ("memory_forget", json!({"ids": many}), "give 1 to 100"),
        ("memory_forget", json!({"ids": ["m-0000000000"]}), "memory_search returns the ids"),
        ("memory_forget", json!({"ids": ["m-"]}), "memory_search returns the ids"),
        ("memory_forget", json!({"ids": [""]}), "memory_search returns the ids"),
    ] {
        let told = client.fails(tool, arguments);
        assert!(told.contains(said), "{tool}: {told}");
        assert_eq!(told.lines().count(), 2, "{tool}: what happened, and what to do: {told}");
    }
    client.end();
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 1, "nothing was forgotten");
    assert_eq!(env.sessions(), [] as [Value; 0], "nothing was recorded");
}

#[test]
fn a_broken_home_is_told_and_does_not_end_the_server() {
    let env = env();
    std::fs::write(env.home(), "not a folder").unwrap();
    let mut client = Client::ready(&env);
    assert!(client.fails("session_record", json!({"kind": "next", "text": "x"})).contains("cerberus doctor"));
    assert_eq!(client.ask("resources/read", json!({"uri": "cerberus://brief"}))["error"]["code"], -32603);
    std::fs::remove_file(env.home()).unwrap();
    client.ok("session_record", json!({"kind": "next", "text": "x"}));
    client.end();
}

#[test]
fn what_does_not_exist_is_an_error_of_the_protocol() {
    let env = env();
    let mut client = Client::ready(&env);
    for (method, params, code) in [
        ("no/such/method", json!({}), -32601),
        ("logging/setLevel", json!({"level": "info"}), -32601),
        ("subscriptions/listen", json!({"notifications": {}}), -32601),
        ("tools/call", json!({"name": "no_such_tool"}), -32602),
        ("resources/read", json!({"uri": "cerberus://secrets"}), -32002),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32002),
    ] {
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    client.end();
}

#[test]
fn lines_that_are_no_messages_are_survived() {
    let env = env();
    let mut client = Client::ready(&env);
    for line in ["", "   ", "not json", "{\"jsonrpc\":\"2.0\",", "\u{feff}", "\0\0"] {
        client.write(line);
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "{line:?}");
    }
    for line in ["[]", "5", "{}", "{}{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}"] {
        client.write(line);
        assert_eq!(client.read()["error"]["code"], -32600, "{line:?}");
    }
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/of/something/new","params":{}}"#);
    client.write(&"x".repeat(17 * 1024 * 1024));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "after a line of 17 MiB");
    let long = client.fails("memory_learn", json!({"text": "x".repeat(4 * 1024 * 1024)}));
    assert!(long.contains("too long"));
    client.end();
}

#[test]
fn the_end_of_the_input_is_the_end_and_what_was_asked_is_still_answered() {
    let env = env();
    Client::start(&env, &[]).end();
    let mut begun = Client::start(&env, &[]);
    begun.initialize("2025-06-18");
    begun.end();
    let mut client = Client::ready(&env);
    let asked: Vec<u64> = (0..20)
        .map(|n| {
            let arguments = json!({"kind": "next", "text": format!("step {n}")});
            client.send("tools/call", json!({"name": "session_record", "arguments": arguments}))
        })
        .collect();
    drop(client.input.take());
    let answered: Vec<Value> = asked.iter().map(|_| client.read()["id"].clone()).collect();
    assert_eq!(answered, asked, "in the order in which they were asked");
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
    assert_eq!(codes(&env.sessions()[0], "next").len(), 20);
}

#[test]
fn hooks_and_other_servers_may_write_meanwhile() {
    let env = env();
    env.start("s1", "startup");
    std::thread::scope(|scope| {
        let env = &env;
        scope.spawn(move || {
            for n in 0..40 {
                env.write_file("s1", &format!("t{n}"), &format!("src/f{n}.rs"), "fn x() {}\n");
            }
        });
        for server in 0..2 {
            scope.spawn(move || {
                let mut client = Client::ready(env);
                for n in 0..20 {
                    let text = format!("step {server} {n}");
                    let recorded = client.call("session_record", json!({"kind": "next", "text": text}));
                    assert_eq!(recorded["structuredContent"]["agent_session_id"], "s1", "{recorded}");
                    client.call("session_context", json!({"query": "step"}));
                }
                client.end();
            });
        }
    });
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["tools_used"], json!({"Write": 40}));
    assert_eq!(codes(&sessions[0], "next").len(), 40);
    assert_eq!(env.json(&["status"])["failures"], json!([]));
}

#[test]
fn what_the_server_told_is_no_evidence() {
    let env = env();
    let told = "proj:hydra\nblock:no staging key\nnext:measure it\ndec:use WAL";
    let response = json!([{"type": "text", "text": told}]);
    let tool = "mcp__cerberus__session_context";
    let extra = json!({"tool_name": tool, "tool_use_id": "t1", "tool_input": {}, "tool_response": response});
    env.hook("s1", "PostToolUse", extra);
    let input = json!({"kind": "decision", "text": "we decided to use WAL; next step: measure it"});
    let tool = "mcp__cerberus__session_record";
    let extra = json!({"tool_name": tool, "tool_use_id": "t2", "tool_input": input, "tool_response": response});
    env.hook("s1", "PostToolUse", extra);
    assert_eq!(env.sessions()[0]["facts"], json!([]));
    assert_eq!(env.brief(), "");
}

#[test]
fn it_serves_the_folder_it_was_given() {
    let env = env();
    let other = env.add_repository("kraken");
    let mut client = Client::start(&env, &["--cwd", other.to_str().unwrap()]);
    client.initialize("2025-11-25");
    client.ok("session_record", json!({"kind": "next", "text": "swim"}));
    assert_eq!(client.ok("session_context", json!({}))["text"], "proj:kraken\nnext:agent: swim");
    client.end();
    assert_eq!(env.brief(), "");
}

#[test]
fn past_sessions_are_searched_in_this_project_unless_asked() {
    let env = env();
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "make the uploader retry with jitter"}));
    let other = env.add_repository("lerna");
    let mut payload: Value = serde_json::from_slice(&env.payload("s2", "UserPromptSubmit", json!({}))).unwrap();
    payload["cwd"] = json!(other);
    payload["prompt"] = json!("the other uploader is slow");
    env.hook_bytes(payload.to_string().as_bytes());
    env.ok(&["memory", "learn", "The uploader runs at night", "--everywhere"]);
    let mut client = Client::ready(&env);
    let mut texts = |arguments: Value| -> Vec<String> {
        let found = client.ok("search", arguments)["results"].clone();
        let mut texts: Vec<String> =
            found.as_array().unwrap().iter().map(|hit| format!("{}: {}", hit["kind"], hit["project"])).collect();
        texts.sort();
        texts.dedup();
        texts
    };
    let here = ["\"memory\": \"\"", "\"prompt\": \"hydra\"", "\"title\": \"hydra\""];
    assert_eq!(texts(json!({"query": "uploader"})), here);
    assert_eq!(texts(json!({"query": "uploader", "project": "*"})).len(), 5);
    assert_eq!(texts(json!({"query": "uploader", "project": "lerna", "kind": "title"})), ["\"title\": \"lerna\""]);
    client.end();
}
