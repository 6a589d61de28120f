//! Hooks while another process holds the view's write lock: they answer from what is readable and never wait.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use cerberus_os::home::Home;
use cerberus_store::view::view_file;
use rusqlite::Connection;
use serde_json::json;

use crate::measure::{self, Contender, TIME_COLUMNS, Target, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const RUNS: usize = 60;

/// How much longer a hook may take than without the lock.
const TARGET_EXTRA_MS: Target = Target::AtMost(50.0);

const EVENTS: [(&str, &str); 3] =
    [("SessionStart", "session start"), ("UserPromptSubmit", "prompt"), ("SessionEnd", "session end")];

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let (free, held) = (scratch.home("free"), scratch.home("held"));
    for home in [&free, &held] {
        for number in 0..200 {
            let path = format!("src/file_{number}.rs");
            let written = payload::write(&scratch.repo(), "old", &format!("t{number}"), &path, "fn f() {}\n");
            scratch.heard(programs, home, None, &written)?;
        }
        scratch.json(programs, home, &["status"])?;
    }
    let holder = Connection::open(view_file(&Home::new(held.clone())))?;
    holder.execute_batch("BEGIN IMMEDIATE")?;
    let mut rows = Vec::new();
    for (event, name) in EVENTS {
        let number = Cell::new(0);
        let hook = |home: &Path| -> Result<Duration> {
            number.set(number.get() + 1);
            let session = format!("{event}-{}", number.get());
            let fields = json!({"source": "startup", "prompt": "go on with file_3.rs", "prompt_id": session,
                "reason": "other"});
            let input = scratch.file("payload", &payload::payload(&scratch.repo(), &session, event, fields))?;
            spawn_to_exit(&mut scratch.hook(programs, home), &input)
        };
        let measured = measure::interleave(vec![
            Contender::new("lock free", RUNS, || hook(&free)),
            Contender::new("lock held", RUNS, || hook(&held)),
        ])?;
        let [without, with] = measured.as_slice() else { continue };
        for (times, target) in [
            (without, String::new()),
            (with, format!("ms more {}", TARGET_EXTRA_MS.beside(with.percentile_ms(95) - without.percentile_ms(95)))),
        ] {
            let mut cells = times.cells(without);
            cells[0] = format!("{name}, {}", times.name);
            cells.push(target);
            rows.push(cells);
        }
    }
    holder.execute_batch("ROLLBACK")?;
    let columns: Vec<&str> = TIME_COLUMNS[..4].iter().copied().chain(["x free", "target at p95"]).collect();
    table(&columns, &rows)?;
    let failures = scratch.json(programs, &held, &["status"])?["failures"].clone();
    ensure!(failures == json!([]), "hooks failed: {failures}");
    Ok(())
}
