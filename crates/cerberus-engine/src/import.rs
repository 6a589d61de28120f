//! The past, by import: transcripts become the same records that hooks would have written.
//!
//! Importing twice equals importing once, also when hooks saw the same session: what the view knows already is not
//! written again. A damaged line costs that line.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cerberus_core::event::{Event, Place, Record};
use cerberus_core::id::Agent;
use cerberus_core::path;
use cerberus_core::text::{Clean, Keep};
use cerberus_core::time::Timestamp;
use cerberus_core::wire::claude_code::prompt_key_prefix;
use cerberus_core::wire::claude_code::transcript::{self, Told, Transcript};
use flate2::read::MultiGzDecoder;

use crate::clock::Clock;
use crate::fold::FoldError;
use crate::home::Home;
use crate::identity::{self, Located};
use crate::journal;
use crate::store::{self, Store};

/// A transcript is read whole; no real one comes near this.
const TRANSCRIPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// What was found in one transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub sessions: usize,
    pub new_events: usize,
    pub known_events: usize,
    pub damaged_lines: usize,
}

impl Report {
    pub fn add(&mut self, other: Report) {
        self.sessions += other.sessions;
        self.new_events += other.new_events;
        self.known_events += other.known_events;
        self.damaged_lines += other.damaged_lines;
    }
}

/// Every transcript at or below `path`, in order.
pub fn transcripts(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a transcript, plain or compressed.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => MultiGzDecoder::new(file).take(TRANSCRIPT_BYTES_MAX).read_to_end(&mut bytes)?,
        false => file.take(TRANSCRIPT_BYTES_MAX).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// Journals what is new in a transcript. With `project`, the transcript's own folder is mapped onto it.
pub fn import(
    home: &Home,
    clock: &Clock,
    store: &Store,
    project: Option<&Located>,
    bytes: &[u8],
) -> Result<Report, FoldError> {
    let transcript = transcript::read(bytes);
    let mut report = Report { damaged_lines: transcript.damaged_lines, ..Report::default() };
    let origin = Origin::of(&transcript, project);
    let mut sessions: HashMap<String, Known> = HashMap::new();
    let mut records = Vec::new();
    for told in transcript.events {
        let known = match sessions.entry(told.session.to_string()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(Known::load(store, &told.session)?),
        };
        known.last_at = known.last_at.max(told.at);
        if known.has(&told) {
            report.known_events += 1;
            continue;
        }
        known.is_new = true;
        report.new_events += 1;
        records.push(origin.record(told));
    }
    for (session, known) in &sessions {
        // A session that hooks report on ends when they say so.
        if known.is_new && !known.has_hooks {
            records.push(origin.ending(session, known.last_at));
        }
    }
    report.sessions = sessions.len();
    journal::append_all(home, clock.wall, &records)?;
    Ok(report)
}

/// What the view knows of a session.
#[derive(Debug)]
struct Known {
    keys: HashSet<String>,
    /// How many prompts of the same words are known, and how many were met in the transcript.
    prompts: HashMap<String, (usize, usize)>,
    has_hooks: bool,
    is_new: bool,
    last_at: Timestamp,
}

impl Known {
    fn load(store: &Store, session: &str) -> store::Result<Known> {
        let keys = store.event_keys(Agent::ClaudeCode, session)?;
        let mut prompts: HashMap<String, (usize, usize)> = HashMap::new();
        for key in keys.iter().filter(|key| key.starts_with("prompt-")) {
            if let Some(end) = key.rfind('-') {
                prompts.entry(key[..=end].to_string()).or_default().0 += 1;
            }
        }
        let has_hooks = store.has_started(Agent::ClaudeCode, session)?;
        Ok(Known { keys, prompts, has_hooks, is_new: false, last_at: Timestamp::EPOCH })
    }

    /// Is it there already? A prompt that a hook saw has another key; the n-th of the same words is the n-th known.
    fn has(&mut self, told: &Told) -> bool {
        if let Event::Prompt { text } = &told.event {
            let (known, met) = self.prompts.entry(prompt_key_prefix(text)).or_default();
            *met += 1;
            return met <= known;
        }
        !self.keys.insert(told.key.to_string())
    }
}

/// Where a transcript's session was held.
struct Origin {
    place: Place<'static>,
    /// The project's root as the transcript writes it.
    root: String,
}

impl Origin {
    fn of(transcript: &Transcript, project: Option<&Located>) -> Origin {
        let cwd = transcript.cwd.as_deref().unwrap_or("/");
        match project {
            Some(located) => Origin { place: located.place(), root: cwd.to_string() },
            None => {
                let located = identity::locate(Path::new(cwd));
                Origin { place: located.place(), root: located.root.to_string_lossy().into_owned() }
            }
        }
    }

    fn record<'a>(&self, told: Told<'a>) -> Record<'a> {
        let Told { at, key, session, branch, mut event } = told;
        if let Event::Tool(used) = &mut event {
            for touched in &mut used.files {
                if let Some(inside) = path::below(&self.root, &touched.path) {
                    touched.path = Clean::new(inside, Keep::NAME);
                }
            }
        }
        let place = Place { branch, ..self.place.clone() };
        Record { at, key, agent: Agent::ClaudeCode, imported: true, heard_by: None, session, place, event }
    }

    fn ending(&self, session: &str, at: Timestamp) -> Record<'static> {
        Record {
            at,
            key: Clean::new(format!("import-end-{}", at.millis()), Keep::NAME),
            agent: Agent::ClaudeCode,
            imported: true,
            heard_by: None,
            session: Clean::new(session.to_string(), Keep::NAME),
            place: self.place.clone(),
            event: Event::End { reason: Clean::word("import") },
        }
    }
}
