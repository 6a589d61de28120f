//! Search over everything, in a fresh process, with 100 and 10,000 recorded sessions of invented work.

use std::time::{Duration, Instant};

use anyhow::Result;
use cerberus_agents::claude_code;
use cerberus_os::home::Home;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Record, ToolUse, Touch};
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::project::identity;
use cerberus_store::view::fold;

use crate::measure::{Contender, Target, interleave, say, table};
use crate::passages;
use crate::programs::Programs;
use crate::scratch::Scratch;

const SIZES: [usize; 2] = [100, 10_000];
const TURNS: usize = 4;
const EDITS: usize = 12;
const RUNS: usize = 40;
const NOW: &str = "2026-06-30T12:00:00Z";

/// What is asked: a rare word, a common one, a misspelling, a part of a name, a sentence, nothing that is known.
const QUERIES: [(&str, &str); 6] = [
    ("rare", "needle7"),
    ("common", "uploader"),
    ("misspelled", "supervisro"),
    ("part of a name", "parse_head"),
    ("sentence", "why does the scheduler lose the last message"),
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
        fill(&scratch, &home, sessions)?;
        let begun = Instant::now();
        let mut store = fold::open(&Home::new(home.clone()))?;
        store.index_entries(|_, _| {})?;
        let per_session = begun.elapsed().as_secs_f64() * 1000.0 / sessions as f64;
        drop(store);
        say(&format!("{sessions} sessions: {per_session:.3} ms per session to index"))?;
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
            let target = Target::AtMost(30.0).beside(median);
            rows.push(vec![sessions.to_string(), times.name.to_string(), format!("{median:.2}"), target]);
        }
    }
    table(&["sessions", "query", "ms", "target"], &rows)
}

/// Writes sessions of invented work and folds them.
fn fill(scratch: &Scratch, home: &std::path::Path, sessions: usize) -> Result<()> {
    let home = Home::new(home.to_path_buf());
    let now = Timestamp::parse(NOW)?;
    let location = identity::locate(&scratch.repo()).location(&BUILT_IN);
    let clean = |text: String, keep| BUILT_IN.clean(text, keep);
    for session in 0..sessions {
        let start = now.minus(Duration::from_secs(3600 * (sessions - session) as u64));
        let mut events: Vec<Event> = Vec::new();
        for turn in 0..TURNS {
            let mix = session * 31 + turn * 7;
            let (verb, subject) = (VERBS[mix % VERBS.len()], SUBJECTS[mix / 3 % SUBJECTS.len()]);
            let trouble = TROUBLES[mix / 5 % TROUBLES.len()];
            let asked = format!("{verb} the {subject} in module {}: {trouble}, see needle{session}", session % 400);
            events.push(Event::Prompt { text: clean(asked, Keep::PROMPT) });
            for edit in 0..EDITS / TURNS {
                let path = format!("src/module_{}/{}_{edit}.rs", session % 400, subject.replace(' ', "_"));
                events.push(Event::Tool(ToolUse {
                    tool: Clean::word("Edit"),
                    files: vec![FileTouch { path: clean(path, Keep::NAME), how: Touch::Edited, lines: Vec::new() }],
                    names: vec![clean(format!("parse_header_{}", mix % 900), Keep::NAME)],
                    ..ToolUse::default()
                }));
            }
            events.push(Event::Tool(ToolUse {
                tool: Clean::word("Bash"),
                command: Some(clean(format!("cargo test -p module_{} {subject}", session % 400), Keep::COMMAND)),
                ..ToolUse::default()
            }));
            let said = format!("The {subject} is done. {trouble}. Next: {verb} the rest of module {}.", mix % 400);
            events.push(Event::Stop { message: clean(said.repeat(6), Keep::MESSAGE) });
        }
        events.push(Event::End { reason: Clean::word("exit") });
        let records: Vec<Record> = events
            .into_iter()
            .enumerate()
            .map(|(n, event)| Record {
                at: start.plus(Duration::from_secs(n as u64)),
                key: clean(format!("e{n}"), Keep::NAME),
                agent: claude_code::AGENT,
                imported: true,
                heard_by: None,
                by_agent: false,
                origin: None,
                session: clean(format!("session-{session}"), Keep::NAME),
                location: location.clone(),
                event,
            })
            .collect();
        journal::append_all(&home, start, &records)?;
    }
    fold::open(&home)?;
    Ok(())
}
