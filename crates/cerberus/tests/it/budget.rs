//! What a hook may cost. Instructions are counted by valgrind: unlike times, they do not vary.
//!
//! The development build is counted, which is there whenever tests run, from the beginning of `main`. It executes many
//! more instructions than the program that is shipped, but what is added to a hook's work shows in both.
//! `cerberus-bench hook` counts the shipped one, with its start.

use std::fs::{self, File};
use std::process::Stdio;

use cerberus_testkit::need;
use serde_json::json;

use crate::env;

/// 2.54 million were measured; a tenth is added for other compilers.
const INSTRUCTIONS_MAX: u64 = 2_800_000;

/// Two hundred lines of code, with three definitions in every twenty.
fn code() -> String {
    let block = |number: usize| {
        let lines = (0..17).map(|line| format!("    let value_{line} = self.entries.get({line}).copied();\n"));
        format!(
            "pub struct Ledger{number} {{\n{}fn push_{number}() {{\n}}\nfn newest_{number}() {{\n",
            lines.collect::<String>()
        )
    };
    (0..10).map(block).collect()
}

#[test]
fn a_hook_stays_within_its_budget() {
    if !need::has(&["valgrind"]) {
        return;
    }
    let env = env();
    let path = env.project().join("src/ledger.rs");
    let used = json!({"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": path, "content": code()},
        "tool_response": {"type": "create", "filePath": path, "content": code(), "structuredPatch": []}});
    let input = env.root().join("payload.json");
    fs::write(&input, env.payload("s1", "PostToolUse", used)).unwrap();
    let counted = env.root().join("counted");
    // The first record of a day also makes a file.
    let [_, second] = [1, 2].map(|_| {
        let mut command = env.command_for("valgrind");
        command.args(["--tool=callgrind", "--toggle-collect=main"]);
        command.arg(format!("--callgrind-out-file={}", counted.display()));
        command.arg(env!("CARGO_BIN_EXE_cerberus")).args(["hook", "claude-code"]);
        command.stdin(File::open(&input).unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().unwrap();
        assert!(status.success(), "{status}");
        let text = fs::read_to_string(&counted).unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("callgrind gives a total");
        total.trim().parse::<u64>().unwrap()
    });
    assert!(env.brief().contains("ledger.rs"), "it was recorded");
    assert!(second <= INSTRUCTIONS_MAX, "{second} instructions, of at most {INSTRUCTIONS_MAX}");
}
