//! Every release of every client does the same five things: the story of a session and the next, a session that goes on,
//! compaction, our MCP server, and uninstalling. A cell of the table in `docs/clients.md` is one test here.
//!
//! With `CERBERUS_MATRIX=FILE`, every test adds its result to that file; `dev/clients matrix` prints the table from it.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cerberus_testkit::clients::{ALL, Client};
use cerberus_testkit::model_server::{ModelServer, Reply, SIDE_TEXT, request_text};
use cerberus_testkit::scratch::Scratch;

use super::story::{End, record, tell};
use super::{Stage, finish, times, told};

const RESULTS_VARIABLE: &str = "CERBERUS_MATRIX";

/// What is checked in a cell.
type Cell = fn(&dyn Client);

const CELLS: [(&str, Cell); 5] = [
    ("story", |client| tell(client, End::Exit)),
    ("resume", resume),
    ("compaction", compaction),
    ("mcp", record),
    ("uninstall", uninstall),
];

/// A session that goes on has its own words and is told only what is new.
fn resume(client: &dyn Client) {
    let stage = Stage::new(client);
    stage.cerberus(&["record", "next", "bound the retries"]);
    let server = ModelServer::start([Reply::text("It is blue."), Reply::text("It was blue.")]);
    finish(&mut client.session(&stage.place(&server), "Remember the colour of the sky"));
    stage.cerberus(&["record", "next", "document the limiter"]);
    finish(&mut client.resume(&stage.place(&server), "Which colour was it"));
    let requests = server.main_requests();
    let resumed = request_text(requests.last().unwrap());
    for prompt in ["Remember the colour of the sky", "Which colour was it"] {
        assert!(resumed.contains(prompt), "{prompt} in {resumed}");
    }
    for code in ["next:bound the retries", "next:document the limiter"] {
        assert_eq!(times(&resumed, code), 1, "{code} in {resumed}");
    }
    let turns: Vec<_> = stage.sessions().iter().map(|session| session["turn_count"].clone()).collect();
    assert!(turns.contains(&serde_json::json!(2)), "{turns:?}");
}

/// After compaction a session knows again what it did.
fn compaction(client: &dyn Client) {
    const SUMMARY: &str = "The user asked for something.";
    let stage = Stage::new(client);
    stage.cerberus(&["record", "next", "add a mutex to the proxy"]);
    let path = stage.scratch.repo().join("proxy.go");
    let written = client.write(&path, "package proxy\n\nfunc Forward() {}\n");
    // What is replaced must be longer than the summary.
    let server = ModelServer::start([written, Reply::text("It is written. ".repeat(2_000)).reading(60_000)]);
    client.compact(&stage.place(&server)).expect("a command that compacts");
    finish(&mut client.session(&stage.place(&server), "Write the proxy"));
    let summary = format!("<summary><state_snapshot>{SUMMARY}</state_snapshot></summary>");
    let server = ModelServer::start([Reply::text(summary)]);
    finish(&mut client.compact(&stage.place(&server)).unwrap());
    let server = ModelServer::start([Reply::text("Going on.")]);
    finish(&mut client.resume(&stage.place(&server), "Go on"));
    let text = request_text(&server.main_requests()[0]);
    // Some ask for the summary in a request of its own.
    assert!([SUMMARY, SIDE_TEXT].iter().any(|summary| text.contains(summary)), "it was compacted: {text}");
    for code in ["impl:proxy.go:3 Forward", "next:add a mutex to the proxy"] {
        assert_eq!(times(&text, code), 1, "{code} in {text}");
    }
}

/// Uninstalling gives every file back byte for byte; afterwards nothing of ours runs.
fn uninstall(client: &dyn Client) {
    let stage = Stage::with(client);
    stage.cerberus(&["record", "next", "add a mutex"]);
    let before = files_of_client(&stage.scratch);
    stage.cerberus(&["install", "--agent", client.pin().agent]);
    assert_ne!(files_of_client(&stage.scratch), before);
    stage.cerberus(&["uninstall"]);
    assert_eq!(files_of_client(&stage.scratch), before, "every file is as it was");

    stage.cerberus(&["install", "--agent", client.pin().agent]);
    assert_eq!(times(&told(&stage, client, "Go on"), "next:add a mutex"), 1);
    stage.cerberus(&["uninstall"]);
    let sessions = stage.sessions().len();
    let text = told(&stage, client, "And without");
    assert_eq!((times(&text, "next:add a mutex"), stage.sessions().len()), (0, sessions), "{text}");
}

/// Everything in the user's home except our own.
fn files_of_client(scratch: &Scratch) -> Vec<(PathBuf, Vec<u8>)> {
    fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".cerberus" => {}
                true => collect(&entry.path(), files),
                false => files.push((entry.path(), std::fs::read(entry.path()).unwrap_or_default())),
            }
        }
    }
    let mut files = Vec::new();
    collect(&scratch.home(), &mut files);
    files.sort();
    files
}

/// One test: fills a cell of a release. Where it is said to be impossible, that must be true.
fn fill(name: &str, cell: &str) {
    let client = ALL.into_iter().find(|client| client.pin().name == name).unwrap();
    let (_, check) = CELLS.into_iter().find(|(known, _)| *known == cell).unwrap();
    match client.cannot(cell) {
        None => check(client),
        Some(reason) => {
            let is_so = catch_unwind(AssertUnwindSafe(|| check(client))).is_err();
            assert!(is_so, "{name} can do it, though {reason:?} is said");
        }
    }
    if let Some(path) = std::env::var_os(RESULTS_VARIABLE) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{name}\t{cell}\t{}\n", expected(client, cell)).as_bytes()).unwrap();
    }
}

fn expected(client: &dyn Client, cell: &str) -> String {
    client.cannot(cell).map_or_else(|| "ok".to_string(), |reason| format!("not possible: {reason}"))
}

/// The table as `dev/clients matrix` prints it if everything passes.
#[test]
fn the_table_in_the_documentation_is_the_one_that_is_tested() {
    let document = include_str!("../../../../../docs/clients.md");
    let cells: Vec<&str> = CELLS.into_iter().map(|(cell, _)| cell).collect();
    let mut table = format!("| client | version | {} |\n|---|---|{}\n", cells.join(" | "), "---|".repeat(cells.len()));
    for client in ALL {
        let filled: Vec<String> = cells.iter().map(|cell| expected(client, cell)).collect();
        table += &format!("| {} | {} | {} |\n", client.pin().agent, client.pin().version, filled.join(" | "));
    }
    assert!(document.contains(&table), "docs/clients.md does not contain this table:\n{table}");
}

/// The tests of one release.
macro_rules! release {
    ($module:ident, $name:literal) => {
        mod $module {
            #[test]
            fn story() {
                super::fill($name, "story");
            }

            #[test]
            fn resume() {
                super::fill($name, "resume");
            }

            #[test]
            fn compaction() {
                super::fill($name, "compaction");
            }

            #[test]
            fn mcp() {
                super::fill($name, "mcp");
            }

            #[test]
            fn uninstall() {
                super::fill($name, "uninstall");
            }
        }
    };
}

release!(claude_code, "claude-code");
release!(codex, "codex");

#[cfg(feature = "all-clients")]
mod all {
    use super::fill;

    release!(claude_code_2_1_133, "claude-code-2.1.133");
    release!(claude_code_2_1_101, "claude-code-2.1.101");
    release!(claude_code_2_1_50, "claude-code-2.1.50");
    release!(codex_0_155_0, "codex-0.155.0");
    release!(gemini, "gemini");
    release!(gemini_0_47_0, "gemini-0.47.0");
    release!(opencode, "opencode");
    release!(opencode_1_17_11, "opencode-1.17.11");
    release!(copilot, "copilot");
    release!(copilot_1_0_75, "copilot-1.0.75");
    release!(qwen_code, "qwen-code");
    release!(qwen_code_0_15_10, "qwen-code-0.15.10");
    release!(cline, "cline");
}
