//! Installing into and uninstalling from whole settings files: tricky ones by hand. `generated.rs` makes many more.

mod generated;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::hooks::{HookStyle, Nesting};
use super::servers::{self, ServerStyle, command_and_args};
use super::strict::{Syntax, refused, repair};
use super::{
    EditorPosition, InstallTarget, Json, JsonKind, Part, ProgramVersion, SettingsError, SyntaxProblem, TEXT_MAX_BYTES,
    WiredServer, Wiring, json as reader,
};
use crate::{claude_code, codex, copilot};

const COMMAND: &str = "/opt/bin/cerberus";

/// Grouped hooks.
static CLAUDE: HookStyle = HookStyle {
    agent: claude_code::AGENT,
    checks: Some(super::hooks::CheckHook { event: "PreToolUse", timeout: 10, matcher: Some("Bash|Edit") }),
    events: &[("SessionStart", 10), ("PostToolUse", 10), ("Stop", 10), ("SessionEnd", 10)],
    nesting: Nesting::Grouped,
    since: &[],
    command_key: "command",
    version: None,
    handler: |command, timeout| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("command", Json::Text(command)),
            ("timeout", Json::Number(timeout)),
        ])
    },
};
const PARTS: [Part; 1] = [Part::Hooks(&CLAUDE)];

/// Grouped hooks with a shell line.
static LINES: HookStyle = HookStyle {
    agent: codex::AGENT,
    checks: None,
    events: &[("SessionStart", 10), ("Stop", 10), ("SessionEnd", 3)],
    nesting: Nesting::Grouped,
    since: &[],
    command_key: "command",
    version: None,
    handler: |command, timeout| {
        Json::Object(vec![("command", Json::Text(command)), ("timeout", Json::Number(timeout))])
    },
};

/// Handlers without groups, in a file with a version.
static FLAT: HookStyle = HookStyle {
    agent: copilot::AGENT,
    checks: None,
    events: &[("sessionStart", 10), ("Stop", 10)],
    nesting: Nesting::Flat,
    since: &[],
    command_key: "bash",
    version: Some(1),
    handler: |command, timeout| {
        Json::Object(vec![("bash", Json::Text(command)), ("timeoutSec", Json::Number(timeout))])
    },
};

static SERVER: ServerStyle = ServerStyle {
    list: "mcpServers",
    form: servers::ServerForm::CommandAndArgs,
    env: "env",
    server: |program| Json::Object([&command_and_args(program)[..], &[("alwaysLoad", Json::Bool(true))]].concat()),
};

static LISTED: ServerStyle = ServerStyle {
    list: "mcp",
    form: servers::ServerForm::CommandList,
    env: "environment",
    server: |program| {
        Json::Object(vec![
            ("type", Json::Text("local")),
            ("command", Json::Array([program, "mcp"].map(Json::Text).to_vec())),
        ])
    },
};

/// Every form that our entries can have in a JSON file.
const ALL: &[&[Part]] = &[
    &[Part::Hooks(&CLAUDE)],
    &[Part::Hooks(&LINES)],
    &[Part::Hooks(&FLAT)],
    &[Part::Server(&SERVER)],
    &[Part::Server(&LISTED)],
    &[Part::Hooks(&LINES), Part::Server(&SERVER)],
];

fn install(text: &str, command: &str) -> Result<String, SettingsError> {
    super::install(&PARTS, text, &InstallTarget::program(command))
}

fn uninstall(text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    super::uninstall(&PARTS, text, before)
}

fn installed(text: &str) -> Result<Wiring, SettingsError> {
    super::installed(&PARTS, text, None)
}

fn events() -> Vec<&'static str> {
    CLAUDE.events.iter().map(|(event, _)| *event).collect()
}

fn set_up(text: &str) -> String {
    install(text, COMMAND).unwrap()
}

/// The value of JSON with comments, without the parser under test.
fn value_of(text: &str) -> Value {
    let mut plain = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let length = end.unwrap() + 2;
                plain.push_str(&rest[..length]);
                length
            }
            '/' if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            '/' => rest.find("*/").unwrap() + 2,
            ']' | '}' => {
                plain.truncate(plain.trim_end_matches(',').len());
                plain.push(character);
                1
            }
            _ if character.is_whitespace() => 1,
            _ => {
                plain.push(character);
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn our_entry() -> Value {
    let command = format!("{COMMAND} hook claude-code");
    let handler = json!({"type": "command", "command": command, "timeout": 10});
    json!({ "hooks": [handler] })
}

// Files written by hand.

#[test]
fn a_new_file_looks_as_the_agent_itself_would_write_it() {
    let events: Vec<String> = events()
        .into_iter()
        .map(|event| {
            format!(
                r#"    "{event}": [
      {{
        "hooks": [
          {{
            "type": "command",
            "command": "/opt/bin/cerberus hook claude-code",
            "timeout": 10
          }}
        ]
      }}
    ]"#
            )
        })
        .collect();
    let expected = format!("{{\n  \"hooks\": {{\n{}\n  }}\n}}\n", events.join(",\n"));
    for text in ["{}\n", "", " \n", "{\n}\n"] {
        assert_eq!(set_up(text), expected);
    }
    let windows = expected.replace('\n', "\r\n");
    assert_eq!(set_up("\u{feff}\r\n"), format!("\u{feff}{windows}"));
    assert_eq!(set_up("{}"), expected.trim_end());
}

const FOREIGN: &[&str] = &[
    "",
    "\u{feff}",
    " \r\n\t",
    "{}",
    "{ }\n",
    "{\n}\n",
    "{ // nothing yet\n}\n",
    "{ /* nothing yet */ }",
    "\u{feff}{\r\n\t\"model\": \"opus\"\r\n}",
    "{\"model\":\"opus\"}",
    "{\"model\":\"opus\",\"hooks\":{}}",
    "{\"hooks\": { }, \"model\": \"opus\"}\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [ ]\n  }\n}\n",
    "{\n  \"hooks\": {\n    // soon\n  },\n}\n",
    "{\n  \"hooks\": { \"Stop\": [ /* soon */ ], },\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [{\n      \"hooks\": [{ \"type\": \"command\", \"command\": \"beep\" }]\n    }]\n  }\n}",
    "{\"hooks\": {\n\"Stop\": [\n{\"hooks\": []}, // mine  \n // last\n]\n}}\n",
    "// top\n{\n    \"a\": [1, 2,], // one\n    /* two */ \"b\": \"\\u007b // no comment\" // three \n    // four\n} // five",
    "{\"a\": 1 // no comma\n}",
    "{\n\"a\": 1}",
    "{\"hooks\": {\"Stop\": [1, null, \"x\", {\"hooks\": 5}, {\"hooks\": [5, {\"command\": 6}]}], \"Odd\": 7}}",
    "{\"a\": 1, \"a\": 2, \"hooks\": {\"X\": [], \"X\": []}}",
    "{\r\"a\": 1, // old\r\"b\": 2 // mac\r}\r",
];

#[test]
fn foreign_files_come_back_byte_for_byte() {
    for &parts in ALL {
        for &text in FOREIGN {
            let after = super::install(parts, text, &InstallTarget::program("/o'pt/a b/cerberus")).unwrap();
            assert_eq!(
                super::install(parts, &after, &InstallTarget::program("/o'pt/a b/cerberus")).unwrap(),
                after,
                "twice into {text:?}"
            );
            let wiring = super::installed(parts, &after, None).unwrap();
            assert_eq!(wiring.missing, [""; 0], "{text:?}");
            assert_eq!(wiring.commands().into_iter().collect::<Vec<_>>(), ["/o'pt/a b/cerberus"]);
            assert_eq!(super::uninstall(parts, &after, Some(text)).unwrap(), text);
            let without = super::uninstall(parts, &after, None).unwrap();
            assert!(super::installed(parts, &without, None).unwrap().is_empty(), "{without}");
            assert_eq!(super::uninstall(parts, text, None).unwrap(), text, "nothing of ours in {text:?}");
            assert!(super::installed(parts, text, None).unwrap().is_empty());
            value_of(&after);
        }
    }
}

#[test]
fn every_style_is_written_as_its_agent_reads_it() {
    let line = |agent: &str, timeout: u32, key: &str, timeout_key: &str| json!({key: format!("{COMMAND} hook {agent}"), timeout_key: timeout});
    let grouped = |timeout| json!([{"hooks": [line("codex", timeout, "command", "timeout")]}]);
    let flat = json!([line("copilot", 10, "bash", "timeoutSec")]);
    let server = json!({"cerberus": {"command": COMMAND, "args": ["mcp"], "alwaysLoad": true}});
    for (parts, expected) in [
        (ALL[1], json!({"hooks": {"SessionStart": grouped(10), "Stop": grouped(10), "SessionEnd": grouped(3)}})),
        (ALL[2], json!({"version": 1, "hooks": {"sessionStart": flat, "Stop": flat}})),
        (ALL[3], json!({"mcpServers": server})),
        (ALL[4], json!({"mcp": {"cerberus": {"type": "local", "command": [COMMAND, "mcp"]}}})),
    ] {
        assert_eq!(value_of(&super::install(parts, "", &InstallTarget::program(COMMAND)).unwrap()), expected);
        assert_eq!(
            super::uninstall(parts, &super::install(parts, "", &InstallTarget::program(COMMAND)).unwrap(), None)
                .unwrap(),
            "{}\n"
        );
    }
}

#[test]
fn a_flat_list_keeps_foreign_entries() {
    let parts = ALL[2];
    let text = r#"{"version": 1, "hooks": {"Stop": [{"bash": "beep"}, {"bash": "/old/cerberus hook copilot", "timeoutSec": 3}], "x": []}}"#;
    let after = super::install(parts, text, &InstallTarget::program(COMMAND)).unwrap();
    assert!(after.starts_with(&text.replace("/old/cerberus", COMMAND)[..text.len() - 10]), "{after}");
    let cleaned = r#"{"version": 1, "hooks": {"Stop": [{"bash": "beep"}], "x": []}}"#;
    assert_eq!(super::uninstall(parts, &after, None).unwrap(), cleaned);
    assert_eq!(super::uninstall(parts, text, None).unwrap(), cleaned);
}

#[test]
fn a_server_of_ours_is_updated_and_a_foreign_one_of_our_name_is_left_alone() {
    let parts = ALL[3];
    let text = r#"{"mcpServers": {"memory": {"args": ["mcp"], "command": "/old/cerberus", "env": {}}}, "b": 1}"#;
    assert_eq!(
        super::install(parts, text, &InstallTarget::program(COMMAND)).unwrap(),
        text.replace("/old/cerberus", COMMAND)
    );
    assert_eq!(super::uninstall(parts, text, None).unwrap(), r#"{"b": 1}"#);
    for server in [
        r#"{"command": "npx", "args": ["mcp"]}"#,
        r#"{"command": "cerberus", "args": ["serve"]}"#,
        r#"{"command": "cerberus"}"#,
        r#"{"url": "http://127.0.0.1"}"#,
        "null",
    ] {
        let text = format!(r#"{{"mcpServers": {{"cerberus": {server}}}}}"#);
        let taken = SettingsError::Taken { path: "`mcpServers.cerberus`".to_owned() };
        assert_eq!(super::install(parts, &text, &InstallTarget::program(COMMAND)), Err(taken), "{server}");
        assert_eq!(super::uninstall(parts, &text, None).unwrap(), text);
    }
    let wrong = super::install(parts, r#"{"mcpServers": []}"#, &InstallTarget::program(COMMAND)).unwrap_err();
    assert_eq!(wrong.to_string(), "line 1, column 16: `mcpServers` should be an object, but is an array");
}

#[test]
fn without_the_old_text_only_empty_containers_are_lost() {
    for (text, expected) in [
        ("", "{}\n"),
        ("{ }\n", "{}\n"),
        ("{\n  \"hooks\": {}\n}\n", "{}\n"),
        ("{\"model\":\"opus\",\"hooks\":{}}", "{\"model\":\"opus\"}"),
        ("{\n  \"hooks\": {\n    \"Stop\": [],\n    \"X\": [ ]\n  }\n}", "{\n  \"hooks\": {\n    \"X\": [ ]\n  }\n}"),
        ("{\n  \"hooks\": {\n    // soon\n  },\n}\n", "{\n  \"hooks\": {\n    // soon\n  },\n}\n"),
        ("{\"hooks\": {\"Stop\": [ /* soon */ ]}}", "{\"hooks\": {\"Stop\": [ /* soon */ ]}}"),
    ] {
        assert_eq!(uninstall(&set_up(text), None).unwrap(), expected);
    }
}

#[test]
fn changes_since_the_installation_are_kept() {
    let before = "{\n  \"model\": \"opus\"\n}\n";
    let edited = set_up(before).replace("opus", "sonnet");
    assert_eq!(uninstall(&edited, Some(before)).unwrap(), "{\n  \"model\": \"sonnet\"\n}\n");
}

#[test]
fn an_older_installation_does_not_come_back_from_the_old_text() {
    let before = r#"{"hooks": {"Stop": [{"hooks": [{"command": "/old/cerberus hook claude-code"}]}]}}"#;
    assert_eq!(uninstall(&set_up(before), Some(before)).unwrap(), "{}");
}

/// A file with these handlers on one event.
fn with_handlers(handlers: &str) -> String {
    format!(r#"{{"hooks": {{"PreToolUse": [{{"matcher": "Bash", "hooks": [{handlers}]}}]}}}}"#)
}

#[test]
fn our_hooks_are_recognised_in_every_spelling() {
    for (handler, command) in [
        (r#"{"command": "cerberus", "args": ["hook", "claude-code"]}"#, "cerberus"),
        (r#"{"args": ["hook", "claude\u002dcode",], "command": "/a b/cerberus"}"#, "/a b/cerberus"),
        (r#"{"command": "C:\\Tools\\Cerberus.EXE", "args": ["hook", "claude-code"]}"#, r"C:\Tools\Cerberus.EXE"),
        (r#"{"command": "\"/a b/cerberus\"", "args": ["hook", "claude-code"]}"#, "\"/a b/cerberus\""),
        (r#"{"command": "/x/cerberus hook claude-code"}"#, "/x/cerberus"),
        (r#"{"command": " '/a b/cerberus'  hook claude-code ", "args": []}"#, "/a b/cerberus"),
        (r#"{"command": "\"$HOME\"/bin/cerberus hook claude-code"}"#, "$HOME/bin/cerberus"),
        (r#"{"command": "/a\\ b/cerberus hook claude-code"}"#, "/a b/cerberus"),
    ] {
        let text = with_handlers(handler);
        let wiring = installed(&text).unwrap();
        assert_eq!(wiring.commands().into_iter().collect::<Vec<_>>(), [command], "{handler}");
        assert_eq!(wiring.hooks[0].event, "PreToolUse");
        assert_eq!(wiring.hooks[0].matcher.as_deref(), Some("Bash"));
        assert_eq!(uninstall(&text, None).unwrap(), "{}");
        let updated = installed(&set_up(&text)).unwrap();
        assert_eq!(updated.commands().into_iter().collect::<Vec<_>>(), [COMMAND], "{handler}");
    }
}

#[test]
fn foreign_handlers_are_not_recognised_as_ours() {
    for handler in [
        r#"{"command": "cerberus", "args": ["hook", "codex"]}"#,
        r#"{"command": "cerberus", "args": ["hook"]}"#,
        r#"{"command": "cerberus", "args": ["hook", "claude-code", 1]}"#,
        r#"{"command": "cerberus", "args": "hook claude-code"}"#,
        r#"{"command": "cerberus"}"#,
        r#"{"command": "/x/not-cerberus", "args": ["hook", "claude-code"]}"#,
        r#"{"command": "/cerberus/run", "args": ["hook", "claude-code"]}"#,
        r#"{"command": "notify && cerberus hook claude-code"}"#,
        r#"{"command": "env A=1 cerberus hook claude-code"}"#,
        r#"{"command": "cerberus hook claude-code | tee log"}"#,
        r#"{"command": "cerberus hookclaude-code"}"#,
        r#"{"command": "cerberushook claude-code"}"#,
        r#"{"command": "hook claude-code"}"#,
        r#"{"command": ["cerberus hook claude-code"]}"#,
        "\"cerberus hook claude-code\"",
    ] {
        let text = with_handlers(handler);
        assert_eq!(installed(&text).unwrap().hooks, [], "{handler}");
        assert_eq!(uninstall(&text, None).unwrap(), text);
    }
}

#[test]
fn our_hooks_with_another_path_are_updated_in_place() {
    let text = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [
        // memory
        { "command": "/old/cerberus", "timeout": 3, "args": ["hook", "claude-code"] },
        { "command": "beep" }
      ] }
    ]
  }
}"#;
    let after = set_up(text);
    let (kept, _) = text.split_once("\n  }\n}").unwrap();
    let old = r#""/old/cerberus", "timeout": 3, "args": ["hook", "claude-code"]"#;
    let expected = kept.replace(old, r#""/opt/bin/cerberus hook claude-code", "timeout": 3"#);
    assert!(after.starts_with(&format!("{expected},\n    \"SessionStart\": [")), "{after}");
    assert_eq!(after.matches("\"Stop\"").count(), 1);
}

#[test]
fn program_and_arguments_become_a_shell_line() {
    let fresh = set_up("{}");
    let old = fresh.replace(
        " hook claude-code\",",
        "\",\n            \"args\": [\n              \"hook\",\n              \"claude-code\"\n            ],",
    );
    assert!(installed(&old).unwrap().hooks.iter().all(|hook| hook.has_args) && old != fresh, "{old}");
    assert_eq!(set_up(&old), fresh);
    assert!(installed(&fresh).unwrap().hooks.iter().all(|hook| !hook.has_args));
    assert_eq!(uninstall(&old, None).unwrap(), "{}");
    let first = r#"{"hooks":{"Stop":[{"hooks":[{"args":["hook","claude-code"],"command":"/a b/cerberus"}]}]}}"#;
    let expected = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/opt/bin/cerberus hook claude-code"}]}],"#;
    assert!(set_up(first).starts_with(expected), "{}", set_up(first));
}

/// As [`CLAUDE`], but some events came later.
static GROWING: HookStyle = HookStyle {
    checks: None,
    since: &[("Stop", ProgramVersion(2, 0, 0)), ("SessionEnd", ProgramVersion(2, 1, 76))],
    agent: CLAUDE.agent,
    events: CLAUDE.events,
    nesting: CLAUDE.nesting,
    command_key: CLAUDE.command_key,
    version: None,
    handler: CLAUDE.handler,
};

#[test]
fn only_events_that_the_client_knows_are_installed() {
    let parts: &[Part] = &[Part::Hooks(&GROWING)];
    let wired = |text: &str, client| -> Vec<String> {
        let wiring = super::installed(parts, text, client).unwrap();
        wiring.hooks.into_iter().filter(|hook| !hook.is_unknown).map(|hook| hook.event).collect()
    };
    let target = |client| InstallTarget { client, ..InstallTarget::program(COMMAND) };
    let all = ["SessionStart", "PostToolUse", "Stop", "SessionEnd"];
    let foreign = r#"{"hooks": {"SessionEnd": [{"hooks": [{"command": "beep"}]}]}, "a": 1}"#;
    for before in ["{}", "", "{\n  \"hooks\": {}\n}\n", foreign] {
        let full = super::install(parts, before, &target(Some(ProgramVersion(2, 1, 325)))).unwrap();
        let mut grown = before.to_owned();
        for (client, count) in [
            (None, 2),
            (Some(ProgramVersion(1, 9, 9)), 2),
            (Some(ProgramVersion(2, 0, 0)), 3),
            (Some(ProgramVersion(2, 1, 75)), 3),
            (Some(ProgramVersion(2, 1, 76)), 4),
        ] {
            let fresh = super::install(parts, before, &target(client)).unwrap();
            assert_eq!(
                BTreeSet::from_iter(wired(&fresh, client)),
                all[..count].iter().map(ToString::to_string).collect()
            );
            assert_eq!(super::installed(parts, &fresh, client).unwrap().missing, [""; 0]);
            // An upgraded client gets what became possible; an older one loses what it does not know.
            grown = super::install(parts, &grown, &target(client)).unwrap();
            let shrunk = super::install(parts, &full, &target(client)).unwrap();
            for text in [&fresh, &grown, &shrunk] {
                assert_eq!(value_of(text), value_of(&fresh), "{client:?} {before}");
                assert_eq!(super::uninstall(parts, text, Some(before)).unwrap(), before, "{client:?}");
            }
            if client.is_some() {
                let unknown = super::installed(parts, &full, client).unwrap().hooks;
                assert_eq!(unknown.iter().filter(|hook| hook.is_unknown).count(), all.len() - count);
            }
        }
        assert_eq!(grown, full);
    }
    assert_eq!(parts[0].describe(None), "2 hooks");
    assert!(super::depends_on_version(parts) && !super::depends_on_version(&PARTS));
}

#[test]
fn a_server_is_told_the_data_folder() {
    for (parts, env) in [(ALL[3], "env"), (ALL[4], "environment")] {
        let install = |text: &str, home| {
            let text = super::install(parts, text, &InstallTarget { home, ..InstallTarget::program(COMMAND) }).unwrap();
            let servers = super::installed(parts, &text, None).unwrap().servers;
            assert_eq!(servers, [WiredServer { command: COMMAND.to_owned(), home: home.map(str::to_owned) }]);
            text
        };
        let without = install("{\n  \"a\": 1\n}\n", None);
        let with = install("{\n  \"a\": 1\n}\n", Some("/o'h \"x\""));
        let server = |text: &str| value_of(text).as_object().unwrap().values().next_back().unwrap()["cerberus"].clone();
        assert_eq!(server(&with)[env], json!({"CERBERUS_HOME": "/o'h \"x\""}));
        assert_eq!(install(&without, Some("/o'h \"x\"")), with);
        assert_eq!(install(&with, None), without);
        assert_eq!(value_of(&install(&with, Some("/b"))), value_of(&install(&without, Some("/b"))));
        let shared = with.replace("\"CERBERUS_HOME\"", "\"A\": \"b\",\n        \"CERBERUS_HOME\"");
        assert_eq!(server(&install(&shared, None))[env], json!({"A": "b"}));
        assert_eq!(
            server(&install(&install(&shared, None), Some("/b")))[env],
            json!({"A": "b", "CERBERUS_HOME": "/b"})
        );
        assert_eq!(super::uninstall(parts, &with, Some("{\n  \"a\": 1\n}\n")).unwrap(), "{\n  \"a\": 1\n}\n");
        let strange = without.replace("\"command\"", &format!("\"{env}\": 5, \"command\""));
        let error =
            super::install(parts, &strange, &InstallTarget { home: Some("/h"), ..InstallTarget::program(COMMAND) });
        assert!(matches!(error, Err(SettingsError::WrongType { .. })), "{error:?}");
    }
}

#[test]
fn duplicates_of_our_hooks_are_reduced_to_one_per_matcher() {
    let ours = |path: &str| format!(r#"{{"command": "{path}", "args": ["hook", "claude-code"]}}"#);
    let (a, b) = (ours("/a/cerberus"), ours("/b/cerberus"));
    let text = format!(
        r#"{{"hooks": {{"Stop": [{{"hooks": [{a}, 1, {b}]}}, {{"matcher": "*", "hooks": [{b}]}}, {{"matcher": "x", "hooks": [{b}]}}]}}}}"#
    );
    let new = format!(r#"{{"command": "{COMMAND} hook claude-code"}}"#);
    let expected = format!(
        r#"{{"hooks": {{"Stop": [{{"hooks": [{new}, 1]}}, {{"matcher": "x", "hooks": [{new}]}}], "SessionStart""#
    );
    assert!(set_up(&text).starts_with(&expected), "{}", set_up(&text));
    assert_eq!(uninstall(&text, None).unwrap(), r#"{"hooks": {"Stop": [{"hooks": [1]}]}}"#);
}

#[test]
fn an_invalid_file_is_rejected_with_the_position() {
    let wrong = |line, column, path: &str, expected, found| SettingsError::WrongType {
        at: EditorPosition { line, column },
        path: path.to_owned(),
        expected,
        found,
    };
    let twice = |line, column, key: &str| SettingsError::DuplicateKey {
        at: EditorPosition { line, column },
        key: key.to_owned(),
    };
    for (text, error) in [
        ("[]", wrong(1, 1, "the file", JsonKind::Object, JsonKind::Array)),
        ("null", wrong(1, 1, "the file", JsonKind::Object, JsonKind::Null)),
        ("{\"hooks\": []}", wrong(1, 11, "`hooks`", JsonKind::Object, JsonKind::Array)),
        ("{\n  \"hooks\": null}", wrong(2, 12, "`hooks`", JsonKind::Object, JsonKind::Null)),
        ("{\"hooks\": {\"Stop\": {}}}", wrong(1, 20, "`hooks.Stop`", JsonKind::Array, JsonKind::Object)),
        ("{\"hooks\": {},\n\"hooks\": {}}", twice(2, 1, "hooks")),
        ("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", twice(1, 24, "Stop")),
        ("{\"hooks\": {\"X\": [{\"hooks\": [{\"command\": 1, \"command\": 2}]}]}}", twice(1, 44, "command")),
        (
            "{\"a\": 1",
            SettingsError::Syntax { at: EditorPosition { line: 1, column: 8 }, problem: SyntaxProblem::UnexpectedEnd },
        ),
    ] {
        assert_eq!(install(text, COMMAND), Err(error.clone()), "{text}");
        assert_eq!(uninstall(text, None), Err(error.clone()), "{text}");
        assert_eq!(uninstall(text, Some("{}")), Err(error.clone()), "{text}");
        assert_eq!(installed(text), Err(error), "{text}");
    }
    let shown = install("{\n  \"hooks\": {\"Stop\": {}}}", COMMAND).unwrap_err().to_string();
    assert_eq!(shown, "line 2, column 21: `hooks.Stop` should be an array, but is an object");
}

#[test]
fn a_program_of_another_name_is_not_installed() {
    for command in ["", "/x/cerberus-dev", "/x/cerberus/", "sh"] {
        let error = SettingsError::NotCerberus { command: command.to_owned() };
        assert_eq!(install("{}", command), Err(error));
    }
    for (command, written) in [
        ("/a \"b\"/\u{e9}\\/cerberus", "/a \"b\"/\u{e9}\\/cerberus"),
        ("C:\\Program Files\\cerberus.exe", "C:/Program Files/cerberus.exe"),
    ] {
        let after = install("{}", command).unwrap();
        assert_eq!(installed(&after).unwrap().commands().into_iter().collect::<Vec<_>>(), [written]);
        assert_eq!(uninstall(&after, None).unwrap(), "{}");
    }
}

#[test]
fn a_result_that_could_not_be_read_again_is_not_written() {
    let text = format!("{{}}{}", " ".repeat(TEXT_MAX_BYTES - 2));
    assert!(matches!(install(&text, COMMAND), Err(SettingsError::TooLarge { .. })));
    assert!(installed(&text).is_ok());
}

#[test]
fn the_hook_for_rules_comes_and_goes_without_a_trace() {
    let parts: &[Part] = &[Part::Hooks(&CLAUDE)];
    let with = |checks| InstallTarget { checks, ..InstallTarget::program(COMMAND) };
    for before in
        ["", "{}", "{\n  \"a\": 1\n}\n", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]}}"]
    {
        let off = super::install(parts, before, &with(false)).unwrap();
        let on = super::install(parts, &off, &with(true)).unwrap();
        let wired = super::installed(parts, &on, None).unwrap();
        let check = wired.hooks.iter().find(|hook| hook.event == "PreToolUse").unwrap();
        assert_eq!(check.matcher.as_deref(), Some("Bash|Edit"), "{on}");
        assert!(super::installed(parts, &off, None).unwrap().hooks.iter().all(|hook| hook.event != "PreToolUse"));
        assert_eq!(super::install(parts, &on, &with(true)).unwrap(), on);
        assert_eq!(super::install(parts, &on, &with(false)).unwrap(), off);
        for text in [&on, &off] {
            assert_eq!(super::uninstall(parts, text, Some(before)).unwrap(), before);
        }
    }
}
