//! `docs/json.md` says what every command prints with `--json`, and every command prints that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Output, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, Running, wait_until};
use serde_json::{Value, json};

use crate::browse::{import, transcript};
use crate::env;
use crate::help::all_commands;

/// A shape as the document writes it.
#[derive(Clone, Debug)]
enum Shape {
    Word(String),
    OrNull(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>),
    /// Name, whether it may be missing, shape.
    Object(Vec<(String, bool, Shape)>),
    Either(Vec<Shape>),
}

/// Reads shapes from text.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn peek(&mut self) -> char {
        self.rest = self.rest.trim_start();
        self.rest.chars().next().unwrap_or('\0')
    }

    fn take(&mut self, expected: char) -> bool {
        let is_next = self.peek() == expected;
        if is_next {
            self.rest = &self.rest[expected.len_utf8()..];
        }
        is_next
    }

    fn expect(&mut self, expected: char) {
        assert!(self.take(expected), "{expected:?} expected before {:?}", self.rest);
    }

    fn shape(&mut self) -> Shape {
        let mut all = vec![self.one()];
        while self.take('|') {
            all.push(self.one());
        }
        if all.len() == 1 { all.remove(0) } else { Shape::Either(all) }
    }

    fn one(&mut self) -> Shape {
        let shape = match self.peek() {
            '[' => {
                self.expect('[');
                let inner = self.shape();
                self.expect(']');
                Shape::List(Box::new(inner))
            }
            '{' => self.object(),
            _ => Shape::Word(self.word()),
        };
        if self.take('?') { Shape::OrNull(Box::new(shape)) } else { shape }
    }

    fn object(&mut self) -> Shape {
        self.expect('{');
        if self.peek() != '"' {
            assert_eq!(self.word(), "str");
            self.expect(':');
            let inner = self.shape();
            self.expect('}');
            return Shape::Map(Box::new(inner));
        }
        let mut fields = Vec::new();
        loop {
            self.expect('"');
            let name = self.word();
            self.expect('"');
            let is_optional = self.take('?');
            self.expect(':');
            fields.push((name, is_optional, self.shape()));
            if !self.take(',') {
                break;
            }
        }
        self.expect('}');
        Shape::Object(fields)
    }

    fn word(&mut self) -> String {
        self.peek();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        assert!(!word.is_empty(), "a word expected before {rest:?}");
        self.rest = rest;
        word.to_string()
    }
}

/// The document: shapes by name, and by command.
struct Document {
    named: BTreeMap<String, Shape>,
    commands: BTreeMap<String, Shape>,
}

impl Document {
    fn read() -> Document {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut document = Document { named: BTreeMap::new(), commands: BTreeMap::new() };
        let mut titles: Vec<String> = Vec::new();
        for (at, part) in text.split("```").enumerate() {
            if at % 2 == 0 {
                let last = part.trim().lines().rev().take_while(|line| !line.is_empty()).collect::<Vec<_>>();
                let commands =
                    last.iter().filter(|line| line.starts_with("`cerberus ")).flat_map(|line| line.split('`'));
                titles = commands.filter_map(|word| word.strip_prefix("cerberus ")).map(str::to_string).collect();
                continue;
            }
            let mut reader = Reader { rest: part };
            while reader.peek() != '\0' {
                let is_named = reader.rest.split_whitespace().nth(1) == Some("=");
                if is_named {
                    let name = reader.word();
                    reader.expect('=');
                    let shape = reader.shape();
                    document.named.insert(name, shape);
                } else {
                    let shape = reader.shape();
                    titles.iter().for_each(|title| drop(document.commands.insert(title.clone(), shape.clone())));
                }
            }
        }
        document
    }

    /// Where a value differs from a shape.
    fn difference(&self, shape: &Shape, value: &Value, at: &str) -> Option<String> {
        let wrong = |is_right: bool| (!is_right).then(|| format!("{at}: {value} is not {shape:?}"));
        match shape {
            Shape::OrNull(_) if value.is_null() => None,
            Shape::OrNull(inner) => self.difference(inner, value, at),
            Shape::Either(all) => {
                let found: Vec<String> = all.iter().filter_map(|one| self.difference(one, value, at)).collect();
                (found.len() == all.len()).then(|| found.join("\n or "))
            }
            Shape::List(inner) => match value.as_array() {
                Some(list) => list.iter().find_map(|one| self.difference(inner, one, &format!("{at}[]"))),
                None => wrong(false),
            },
            Shape::Map(inner) => match value.as_object() {
                Some(map) => map.iter().find_map(|(name, one)| self.difference(inner, one, &format!("{at}.{name}"))),
                None => wrong(false),
            },
            Shape::Object(fields) => {
                let Some(map) = value.as_object() else { return wrong(false) };
                let known: BTreeSet<&str> = fields.iter().map(|(name, ..)| name.as_str()).collect();
                if let Some(unknown) = map.keys().find(|name| !known.contains(name.as_str())) {
                    return Some(format!("{at}.{unknown} is not documented"));
                }
                fields.iter().find_map(|(name, is_optional, inner)| match map.get(name) {
                    Some(one) => self.difference(inner, one, &format!("{at}.{name}")),
                    None if *is_optional => None,
                    None => Some(format!("{at}.{name} is missing")),
                })
            }
            Shape::Word(word) => match word.as_str() {
                "str" => wrong(value.is_string()),
                "int" => wrong(value.is_u64() || value.is_i64()),
                "num" => wrong(value.is_number()),
                "bool" => wrong(value.is_boolean()),
                "any" => None,
                "time" => wrong(value.as_str().is_some_and(|text| text.ends_with('Z') && text.contains('T'))),
                name => self.difference(self.named.get(name).unwrap_or_else(|| panic!("no shape {name}")), value, at),
            },
        }
    }
}

/// Runs commands and compares what they print with the document.
struct Checker<'a> {
    env: &'a TestEnv,
    document: Document,
    checked: BTreeSet<String>,
}

impl Checker<'_> {
    /// The command is as many of the words as the document knows. Returns what it printed.
    fn check(&mut self, args: &[&str]) -> Value {
        let output = self.env.run(&[args, &["--json"]].concat());
        self.output(args, &output)
    }

    fn output(&mut self, args: &[&str], output: &Output) -> Value {
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = (1..=args.len()).rev().map(|length| args[..length].join(" "));
        let name = name.into_iter().find(|name| self.document.commands.contains_key(name)).unwrap();
        let shape = self.document.commands[&name].clone();
        let values = serde_json::Deserializer::from_str(&lines).into_iter::<Value>();
        let values: Vec<Value> = values.map(|value| value.unwrap_or_else(|_| panic!("{args:?}: {output:?}"))).collect();
        assert!(!values.is_empty(), "{args:?} printed nothing: {output:?}");
        for value in &values {
            let difference = self.document.difference(&shape, value, &name);
            assert!(difference.is_none(), "{}\n{value:#}", difference.unwrap_or_default());
        }
        self.checked.insert(name);
        values[0].clone()
    }
}

fn prepared(env: &TestEnv) {
    import(env, "a", &transcript("aaaa-1", 21, "I prefer small commits. fix the race", "src/a.rs", &[]));
    env.start("s", "startup");
    env.hook("s", "UserPromptSubmit", json!({"prompt": "No, never push to main. Use the queue instead."}));
    env.write_file("s", "t1", "src/b.rs", "fn b() {}\n");
    env.hook("s", "Stop", json!({"last_assistant_message": "Done.\nNext: test it."}));
    env.ok(&["record", "decision", "use a queue", "--why", "it is simple"]);
    env.ok(&["record", "blocker", "no access", "--severity", "high"]);
}

#[cfg(all(feature = "loop", feature = "sync"))]
#[test]
fn every_command_prints_what_is_documented() {
    let env = env();
    prepared(&env);
    let mut checker = Checker { env: &env, document: Document::read(), checked: BTreeSet::new() };
    let file = |name: &str| env.root().join(name).to_str().unwrap().to_string();
    let other = env.add_repository("lerna");
    let other = other.to_str().unwrap();
    for args in [
        &["status"][..],
        &["log"],
        &["show"],
        &["search", "race"],
        &["resume", "aaaa", "--print"],
        &["stats"],
        &["report"],
        &["report", "--week"],
        &["log", "--yesterday"],
        &["brief"],
        &["brief", "--explain"],
        &["record", "next", "measure it"],
        &["quote", "never push to main"],
        &["install", "--agent", "claude-code"],
        &["uninstall"],
        &["import"],
        &["archive"],
        &["doctor"],
        &["try"],
        &["pause", "--for", "2h"],
        &["unpause"],
        &["scan"],
        &["forget", "--path", "zzz", "--dry-run"],
        &["completions", "bash"],
        &["man", "log"],
        &["project"],
        &["project", "same-as", other],
        &["project", "separate", other],
        &["memory", "session-status", "--all"],
        &["memory", "session-history"],
        &["memory", "session-cleanup", "--dry-run"],
        &["memory", "recover", "--list"],
        &["memory", "stats"],
        &["session", "export"],
        &["session", "export", "--format", "seed"],
        &["session", "complete"],
        &["session", "complete", "--undo"],
        &["loop", "status"],
        &["loop", "history"],
        &["loop", "list"],
        &["loop", "prune", "--dry-run"],
        &["memory", "session-start"],
        &["memory", "session-end"],
    ] {
        checker.check(args);
    }
    memories(&mut checker, &file("memories.jsonl"));
    let seed = file("active-hydra.json");
    std::fs::write(&seed, env.ok(&["session", "export", "--format", "seed"])).unwrap();
    checker.check(&["session", "import", &seed]);
    let mut handoff = env.command();
    handoff.args(["handoff", "--json"]).stdin(Stdio::null());
    checker.output(&["handoff"], &handoff.output().unwrap());
    std::fs::write(
        env.home().join("config.toml"),
        "[summary]\nprovider = \"command\"\ncommand = [\"echo\", \"The queue was used.\"]\n",
    )
    .unwrap();
    let summary = env.run(&["summarize", "--json"]);
    checker.output(&["summarize"], &summary);
    undo(&mut checker);
    loops(&mut checker);
    sync(&mut checker);
    let documented: BTreeSet<String> = checker.document.commands.keys().cloned().collect();
    let left: Vec<&String> = documented.difference(&checker.checked).collect();
    // A loop that runs, a session that ends while it is watched: other tests start those.
    let elsewhere = ["loop attach", "loop stop", "loop tell", "watch"];
    assert!(left.iter().all(|name| elsewhere.contains(&name.as_str())), "{left:?}");
}

fn memories(checker: &mut Checker, file: &str) {
    let learned = checker.check(&["learn", "Use tabs"])["id"].as_str().unwrap().to_string();
    checker.check(&["memory", "learn", "Sign every commit"]);
    for args in [
        &["memory", "list"][..],
        &["memory", "show", &learned],
        &["memory", "edit", &learned, "Use spaces"],
        &["memory", "undo", &learned],
        &["memory", "search", "tabs"],
        &["memory", "publish"],
        &["memory", "unpublish", "--dry-run"],
        &["memory", "export", file],
        &["memory", "import", file],
    ] {
        checker.check(args);
    }
    let rule = checker.check(&["learn", "Never force push."])["id"].as_str().unwrap().to_string();
    for args in [
        &["check", "add", &rule][..],
        &["check", "level", &rule, "remind"],
        &["check", "show", &rule],
        &["check", "list"],
        &["check", "list", "--possible"],
        &["check", "allow-once", &rule],
        &["check", "remove", &rule],
    ] {
        checker.check(args);
    }
    let proposals = checker.check(&["memory", "propose"]);
    let waiting = proposals.as_array().unwrap().iter().find(|one| one["status"] == "proposed").cloned();
    let id = waiting.unwrap_or_else(|| panic!("{proposals}"))["id"].as_str().unwrap().to_string();
    for args in [
        &["review"][..],
        &["memory", "review"],
        &["memory", "approve", &id],
        &["memory", "undo", &id],
        &["memory", "reject", &id],
        &["memory", "forget", &learned, "--yes"],
    ] {
        checker.check(args);
    }
}

/// A hub in a folder, and a key for containers to remove.
fn sync(checker: &mut Checker) {
    let hub = checker.env.root().join("hub");
    std::fs::create_dir(&hub).unwrap();
    let project = checker.env.project();
    checker.env.git(&project, &["remote", "add", "origin", "https://git.example.com/acme/hydra.git"]);
    let other = checker.env.root().join("other-hub");
    std::fs::create_dir(&other).unwrap();
    let mut run = |args: &[&str]| {
        let output = checker.env.command().env_remove("CERBERUS_NOW").args(args).arg("--json").output().unwrap();
        checker.output(args, &output)
    };
    let code = run(&["sync", "init", hub.to_str().unwrap()])["recovery_code"].as_str().unwrap().to_string();
    let code = run(&["sync", "rotate-recovery", "--recovery", &code])["recovery_code"].as_str().unwrap().to_string();
    for args in [
        &["sync", "settle", "--recovery", &code][..],
        &["share", "--dry-run"],
        &["share"],
        &["sync"],
        &["sync", "status"],
        &["sync", "pair", "--wait", "0"],
        &["sync", "pair", "--for-project"],
        &["sync", "remove", "containers of hydra", "--yes"],
        &["sync", "hub-sql"],
        &["status"],
        &["sync", "move", other.to_str().unwrap()],
        &["unshare"],
        &["sync", "leave", "--yes"],
    ] {
        run(args);
    }
}

/// A turn is kept and put back.
fn undo(checker: &mut Checker) {
    checker.check(&["undo", "--on", "--here"]);
    std::fs::write(checker.env.project().join("undone.rs"), "x\n").unwrap();
    checker.check(&["undo"]);
    checker.check(&["undo", "diff", "2"]);
    checker.check(&["undo", "--last", "--yes"]);
    checker.check(&["undo", "--off"]);
}

/// A loop whose agent is a shell script that does nothing twice.
fn loops(checker: &mut Checker) {
    let args = ["loop", "run", "--agent", "command", "--prompt", "do it", "--max-iterations", "1", "--json"];
    let args = [&args[..], &["--until", "false", "--", "echo", "hi"]].concat();
    let output = checker.env.command().env_remove("CERBERUS_NOW").args(args).output().unwrap();
    checker.output(&["loop", "run"], &output);
    let real = |args: &[&str]| checker.env.command().env_remove("CERBERUS_NOW").args(args).output().unwrap();
    let (status, history) = (real(&["loop", "status", "--json"]), real(&["loop", "history", "--json"]));
    checker.output(&["loop", "status"], &status);
    checker.output(&["loop", "history"], &history);
    let restored = real(&["loop", "restore", "1", "--json"]);
    checker.output(&["loop", "restore"], &restored);
    for command in ["list", "logs", "diff", "prune"] {
        let output =
            checker.env.command().env_remove("CERBERUS_NOW").args(["loop", command, "--json"]).output().unwrap();
        checker.output(&["loop", command], &output);
    }
}

#[test]
fn every_command_is_documented() {
    let env = env();
    let document = Document::read();
    // They speak another format, or the output is that of another program.
    let other = ["run", "hook", "mcp", "statusline", "loop guard"];
    let all = all_commands(&env);
    for name in &all {
        let is_group = all.iter().any(|other| other.len() > name.len() && other.starts_with(name));
        let name = name.join(" ");
        let is_known = document.commands.contains_key(&name) || other.contains(&name.as_str());
        assert!(is_known || is_group, "{name} is not in docs/json.md");
    }
    for name in document.commands.keys() {
        let words: Vec<String> = name.split(' ').map(str::to_string).collect();
        assert!(all.contains(&words), "{name} is not a command");
    }
}

#[test]
fn a_watched_session_that_crashes_is_a_line_of_json() {
    let mut env = env();
    env.start("s", "startup");
    env.set_now(Some("2026-01-22T15:00:00Z"));
    let document = Document::read();
    let mut command = env.command();
    command.args(["watch", "--interval", "1", "--json"]).stdout(Stdio::piped());
    let watching = Running::spawn(&mut command).unwrap();
    let line = wait_until("a line", LIMIT, || {
        let printed = watching.printed();
        printed.lines().next().filter(|_| printed.contains('\n')).map(str::to_string)
    });
    drop(watching);
    let value: Value = serde_json::from_str(&line.unwrap()).unwrap();
    let difference = document.difference(&document.commands["watch"], &value, "watch");
    assert_eq!(difference, None);
}
