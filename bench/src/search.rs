//! Search over everything, in a fresh process, with 100 and 10,000 imported and archived sessions of invented work.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use cerberus_record::time::Timestamp;
use serde_json::{Value, json};

use crate::measure::{Contender, Target, interleave, say, table};
use crate::passages::{self, size};
use crate::programs::Programs;
use crate::scratch::Scratch;

const SIZES: [usize; 2] = [100, 10_000];
const TURNS: usize = 4;
const EDITS: usize = 12;
const PRINTED_LINES: usize = 20;
const RUNS: usize = 40;
const NOW: &str = "2026-06-30T12:00:00Z";

/// What is asked: a rare word, a common one, a misspelling, a part of a name, a sentence, three words that a command
/// printed, a phrase of common words, nothing that is known.
const QUERIES: [(&str, &str); 8] = [
    ("rare", "needle7"),
    ("common", "uploader"),
    ("misspelled", "supervisro"),
    ("part of a name", "parse_head"),
    ("sentence", "why does the scheduler lose the last message"),
    ("three printed words", "uploader warning line42"),
    ("phrase", "\"the race test still fails\""),
    ("unknown", "qqqqqqqq"),
];

const SUBJECTS: [&str; 12] = [
    "scheduler",
    "uploader",
    "parser",
    "supervisor",
    "journal",
    "billing queue",
    "login page",
    "cache",
    "proxy",
    "view",
    "lexer",
    "metrics",
];
const VERBS: [&str; 8] = ["fix", "split", "measure", "rewrite", "test", "document", "speed up", "rename"];
const TROUBLES: [&str; 6] = [
    "it loses the last message",
    "the race test still fails",
    "two requests deadlock",
    "the retries have no jitter",
    "memory grows without bound",
    "the error is swallowed",
];

pub fn run(programs: &Programs) -> Result<()> {
    if let Some(data) = &programs.data {
        return passages::run(programs, data);
    }
    let scratch = Scratch::new()?;
    let nothing = scratch.file("nothing", b"")?;
    let mut rows = Vec::new();
    for sessions in SIZES {
        let home = scratch.home(&format!("search-{sessions}"));
        let transcripts = written(&scratch, sessions)?;
        let begun = Instant::now();
        scratch.json(programs, &home, &["import", "claude-code", &transcripts.to_string_lossy()])?;
        let per_session = begun.elapsed().as_secs_f64() * 1000.0 / sessions as f64;
        // The first search indexes what the view has.
        scratch.json(programs, &home, &["search", "needle1", "--now", NOW])?;
        say(&format!(
            "{sessions} sessions: {per_session:.2} ms per session to import and archive; {}",
            size(programs, &scratch, &home)?
        ))?;
        let contender = |(name, query): (&'static str, &'static str)| {
            Contender::program(
                name,
                RUNS,
                scratch.cerberus(programs, &home, &["search", query, "--json", "--now", NOW]),
                &nothing,
            )
        };
        for times in interleave(QUERIES.into_iter().map(contender).collect())? {
            let median = times.median_ms();
            let target = Target::AtMost(if sessions > SIZES[0] { 150.0 } else { 50.0 }).beside(median);
            rows.push(vec![sessions.to_string(), times.name.to_string(), format!("{median:.2}"), target]);
        }
    }
    table(&["sessions", "query", "ms", "target"], &rows)
}

/// A folder with transcripts of invented work.
fn written(scratch: &Scratch, sessions: usize) -> Result<PathBuf> {
    let folder = scratch.path(&format!("transcripts-{sessions}"));
    std::fs::create_dir_all(&folder)?;
    let now = Timestamp::parse(NOW)?;
    for session in 0..sessions {
        let start = now.minus(Duration::from_secs(3600 * (sessions - session) as u64));
        let mut lines = InventedSession { cwd: scratch.repo(), session, start, text: String::new(), count: 0 };
        (0..TURNS).for_each(|turn| lines.turn(turn));
        std::fs::write(folder.join(format!("session-{session}.jsonl")), lines.text)?;
    }
    Ok(folder)
}

/// The lines of one session.
struct InventedSession {
    cwd: PathBuf,
    session: usize,
    start: Timestamp,
    text: String,
    count: u64,
}

impl InventedSession {
    fn turn(&mut self, turn: usize) {
        let mix = self.session * 31 + turn * 7;
        let (verb, subject) = (VERBS[mix % VERBS.len()], SUBJECTS[mix / 3 % SUBJECTS.len()]);
        let (trouble, module) = (TROUBLES[mix / 5 % TROUBLES.len()], self.session % 400);
        self.push(
            "user",
            json!(format!("{verb} the {subject} in module {module}: {trouble}, see needle{}", self.session)),
        );
        for edit in 0..EDITS / TURNS {
            let path = self.cwd.join(format!("src/module_{module}/{}_{edit}.rs", subject.replace(' ', "_")));
            let new = format!("fn parse_header_{}() {{}}", mix % 900);
            self.used("Edit", json!({"file_path": path, "old_string": "", "new_string": new}), "changed");
        }
        let command = format!("cargo test -p module_{module} {subject}");
        let line =
            |line: usize| format!("{subject} warning line{} took {} ms\n", (mix + line) % 3000, mix * line % 977);
        self.used("Bash", json!({"command": command}), &(0..PRINTED_LINES).map(line).collect::<String>());
        let said = format!("The {subject} is done. {trouble}. Next: {verb} the rest of module {}.", mix % 400);
        self.push("assistant", json!([{"type": "text", "text": said.repeat(6)}]));
    }

    fn used(&mut self, tool: &str, input: Value, printed: &str) {
        let id = format!("toolu_{}_{}", self.session, self.count);
        self.push("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]));
        self.push("user", json!([{"type": "tool_result", "tool_use_id": id, "content": printed}]));
    }

    fn push(&mut self, role: &str, content: Value) {
        self.count += 1;
        let line = json!({
            "type": role, "uuid": format!("u{}-{}", self.session, self.count), "cwd": self.cwd,
            "sessionId": format!("session-{}", self.session),
            "timestamp": self.start.plus(Duration::from_secs(self.count)).to_string(),
            "message": {"role": role, "content": content},
        });
        self.text.push_str(&format!("{line}\n"));
    }
}
