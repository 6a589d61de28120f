//! How brief and hook scale: 10, 1,000 and 10,000 recorded sessions, up to a million facts.
//!
//! At every size, ten sessions are from this week; the others are older, as after years of use. Then many sessions of
//! one moment.

use std::time::{Duration, Instant};

use anyhow::Result;
use cerberus_agents::claude_code;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, FileTouch, Location, Record, ToolUse, Touch};
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::project::identity;
use cerberus_store::sessions::sweep;
use cerberus_store::view::fold;

use crate::measure::{Contender, Target, Times, interleave, say, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const SIZES: [(&str, usize); 3] = [("10 sessions", 10), ("1,000 sessions", 1_000), ("10,000 sessions", 10_000)];
const RECENT_SESSIONS: usize = 10;
const FACTS_PER_SESSION: usize = 100;
const NOW: &str = "2026-06-30T12:00:00Z";
const RUNS: usize = 60;
const SWEEPS: usize = 200;
const CROWDS: [usize; 2] = [250, 2_000];

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let now = Timestamp::parse(NOW)?;
    let hook =
        scratch.file("hook.json", &payload::write(&scratch.repo(), "s", "toolu_x", "src/x.rs", "fn x() {}\n"))?;
    let nothing = scratch.file("nothing", b"")?;
    let mut contenders = Vec::new();
    for (name, sessions) in SIZES {
        let home = scratch.home(&format!("scale-{sessions}"));
        fill(&scratch, &home, sessions, now)?;
        contenders.push(Contender::program(
            name,
            RUNS,
            scratch.cerberus(programs, &home, &["brief", "--now", NOW]),
            &nothing,
        ));
    }
    let briefs = interleave(contenders)?;
    let mut contenders = Vec::new();
    for (name, sessions) in SIZES {
        let home = scratch.home(&format!("scale-{sessions}"));
        contenders.push(Contender::program(name, RUNS, scratch.hook(programs, &home), &hook));
    }
    let hooks = interleave(contenders)?;
    say(&format!("{FACTS_PER_SESSION} facts per session, {RECENT_SESSIONS} sessions of the last week at each size"))?;
    let mut rows = Vec::new();
    for ((name, sessions), (brief, hook)) in SIZES.iter().zip(briefs.iter().zip(&hooks)) {
        let ratio = brief.median_ms() / briefs[0].median_ms();
        let facts = sessions * FACTS_PER_SESSION;
        rows.push(vec![
            name.to_string(),
            facts.to_string(),
            format!("{:.2}", brief.median_ms()),
            format!("{ratio:.2}, {}", Target::AtMost(1.5).beside(ratio)),
            format!("{:.2}", hook.median_ms()),
            format!("{:.2}", hook.median_ms() / hooks[0].median_ms()),
        ]);
    }
    table(&["on record", "facts", "brief ms", "brief ratio", "hook ms", "hook ratio"], &rows)?;
    sweeping(&scratch, now)?;
    crowded(&scratch, now)
}

/// What folding a session costs when many begin at the same moment, as after an import.
fn crowded(scratch: &Scratch, now: Timestamp) -> Result<()> {
    let mut of_one_ms = Vec::new();
    let location = identity::locate(&scratch.repo()).location(&BUILT_IN);
    for sessions in CROWDS {
        let home = Home::new(scratch.home(&format!("crowd-{sessions}")));
        // Making an empty view is no part of it; for few sessions, it would be most of it.
        let mut store = fold::open(&home)?;
        for session in 0..sessions {
            journal::append_all(&home, now, &[edit(&location, session, 0, now)])?;
        }
        let begun = Instant::now();
        fold::fold(&home, &mut store)?;
        of_one_ms.push(begun.elapsed().as_secs_f64() * 1_000.0 / sessions as f64);
    }
    let (few, many) = (of_one_ms[0], of_one_ms[1]);
    say(&format!(
        "\nfolding a session among {} of one moment: {many:.3} ms, {:.2} x as much as among {}, {}",
        CROWDS[1],
        many / few,
        CROWDS[0],
        Target::AtMost(1.5).beside(many / few)
    ))
}

/// What sweeping sessions adds to a start with 1,000 recorded sessions, measured inside one process.
fn sweeping(scratch: &Scratch, now: Timestamp) -> Result<()> {
    let home = Home::new(scratch.home("scale-1000"));
    let clock = Clock { now, wall: now, is_given: true };
    let mut store = fold::open(&home)?;
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..SWEEPS {
        let begun = Instant::now();
        drop(fold::open(&home)?);
        times.0.push(begun.elapsed());
        let begun = Instant::now();
        sweep::sweep(&home, &clock, &mut store, IDLE_AFTER)?;
        times.1.push(begun.elapsed());
    }
    let (start, sweep) = (Times::new("start", times.0).median_ms(), Times::new("sweep", times.1).median_ms());
    say(&format!(
        "\nthe sweep at start, 1,000 sessions on record: {sweep:.3} ms, {}",
        Target::AtMost(1.0).beside(sweep)
    ))?;
    say(&format!("opening the view without it: {start:.3} ms; with it {:.2} x", (start + sweep) / start))
}

/// Writes and folds this many sessions with the store.
fn fill(scratch: &Scratch, home: &std::path::Path, sessions: usize, now: Timestamp) -> Result<()> {
    let home = Home::new(home.to_path_buf());
    let location = identity::locate(&scratch.repo()).location(&BUILT_IN);
    for session in 0..sessions {
        let age = match session < RECENT_SESSIONS {
            true => Duration::from_secs(12 * 3600 * (session as u64 + 1)),
            false => Duration::from_secs(8 * 86_400 + 3600 * session as u64),
        };
        let records: Vec<Record> =
            (0..FACTS_PER_SESSION).map(|number| edit(&location, session, number, now.minus(age))).collect();
        journal::append_all(&home, now, &records)?;
    }
    fold::open(&home)?;
    Ok(())
}

/// One edit of a session that began at a time.
fn edit(location: &Location<'static>, session: usize, number: usize, begun: Timestamp) -> Record<'static> {
    let clean = |text: String| BUILT_IN.clean(text, Keep::NAME);
    Record {
        at: begun.plus(Duration::from_secs(number as u64)),
        key: clean(format!("t{number}")),
        agent: claude_code::AGENT,
        imported: true,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: clean(format!("session-{session}")),
        location: location.clone(),
        event: Event::Tool(ToolUse {
            tool: Clean::word("Edit"),
            files: vec![FileTouch {
                path: clean(format!("src/m{}/file_{}.rs", session % 50, number % 40)),
                how: Touch::Edited,
                lines: Vec::new(),
            }],
            ..ToolUse::default()
        }),
    }
}
