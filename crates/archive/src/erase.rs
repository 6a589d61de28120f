//! Removing from the archive. Every block is read; what is left of a segment replaces it, and the index is made anew
//! from what is left, so that nothing of what was removed stays in any byte.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;

use cerberus_agents::conversation::{parts, time_of};
use cerberus_os::fault;
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::clean::Cleaner;
use cerberus_record::time::Timestamp;
use serde_json::Value;

use crate::error::ArchiveError;
use crate::escapes::{remove_escapes, without_escapes};
use crate::index::{self, ArchiveIndex, is_damage, referred};
use crate::reached::{self, Reached};
use crate::segment::lock;
use crate::segment::{Block, BlockHead, FoundBlock, each_block, segments};
use crate::terms::line_hash;
use crate::write::stored_bytes;

/// What happens to a line: `None` removes it.
type Change<'c> = dyn Fn(&BlockHead, Option<Timestamp>, &str) -> Option<String> + 'c;

/// Removes what a request covers. The caller holds the lock of the archive.
pub fn forget(home: &Home, request: &ForgetRequest) -> Result<(), ArchiveError> {
    match request {
        ForgetRequest::Sessions(names) | ForgetRequest::Expired(names) => {
            rewrite_held(home, &|head| names.contains(&(head.agent, head.session.clone())), &unchanged, None)
        }
        ForgetRequest::Projects { ids, .. } => {
            rewrite_held(home, &|head| ids.contains(&head.project), &unchanged, None)
        }
        ForgetRequest::Between(since, until) => {
            let change = |_: &BlockHead, at: Option<Timestamp>, line: &str| {
                let is_meant = at.is_some_and(|at| (*since..*until).contains(&at));
                (!is_meant).then(|| line.to_string())
            };
            rewrite_held(home, &|_| false, &change, Some(reached(home)?))
        }
        ForgetRequest::Paths(paths) => remove_lines(home, &|_| false, &|head, _, line| {
            paths.projects.contains(&head.project)
                && paths.are_named_in(&words(line).replace(&format!("{}/", head.root), ""))
        }),
    }
}

/// Removes whole blocks, and lines of others, with what the calls in these lines answered. The caller holds the lock.
pub fn remove_lines(
    home: &Home,
    is_removed: &dyn Fn(&BlockHead) -> bool,
    is_meant: &dyn Fn(&BlockHead, Option<Timestamp>, &str) -> bool,
) -> Result<(), ArchiveError> {
    let calls: RefCell<HashSet<(String, String)>> = RefCell::default();
    let change = |head: &BlockHead, at: Option<Timestamp>, line: &str| {
        let value = serde_json::from_slice::<Value>(line.as_bytes()).unwrap_or_default();
        let named = parts(&value).into_iter().filter_map(|part| part.call);
        let named: Vec<(String, String)> = named.map(|call| (head.session.clone(), call)).collect();
        let is_meant = is_meant(head, at, line) || named.iter().any(|call| calls.borrow().contains(call));
        if is_meant {
            calls.borrow_mut().extend(named);
        }
        (!is_meant).then(|| line.to_string())
    };
    rewrite_held(home, is_removed, &change, Some(reached(home)?))
}

/// How far transcripts had been read of which something was forgotten so far, or was in blocks that are lost.
fn reached(home: &Home) -> Result<Reached, ArchiveError> {
    let known = Reached::read(home)?;
    let mut reached = known.clone();
    let noted =
        ArchiveIndex::existing(home).and_then(|index| index.map_or(Ok(()), |index| reached.note_lost(home, &index)));
    match noted {
        Err(error) if !is_damage(&error) => return Err(error),
        _ if reached != known => reached.save(home)?,
        _ => {}
    }
    Ok(reached)
}

/// Removes what is older than a time, and the oldest until the rest fits.
pub fn expire(home: &Home, before: Timestamp, max_bytes: Option<u64>) -> Result<(), ArchiveError> {
    let mut all = crate::conversations(home)?;
    let (bytes, _) = stored_bytes(home);
    let text: u64 = all.iter().map(|one| one.text_bytes).sum();
    let mut left = bytes as f64;
    let mut due = HashSet::new();
    // The newest come first.
    while let Some(oldest) = all.pop() {
        let is_old = oldest.last_at.is_some_and(|at| at < before);
        if !is_old && max_bytes.is_none_or(|max| left <= max as f64) {
            break;
        }
        left -= oldest.text_bytes as f64 * bytes as f64 / text.max(1) as f64;
        due.insert((oldest.agent, oldest.session));
    }
    match due.is_empty() {
        true => Ok(()),
        false => rewrite(home, &|head| due.contains(&(head.agent, head.session.clone())), &unchanged),
    }
}

/// Removes everything.
pub fn delete(home: &Home) -> Result<(), ArchiveError> {
    let _lock = lock(home)?;
    index::remove(home)?;
    for entry in fs::read_dir(home.archive_dir())? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "lock" && name != reached::FILE) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Calls `found` with the number of the segment and the secrets in each line that has some.
pub fn secrets(home: &Home, found: &mut dyn FnMut(u32, u64, &str, &str)) -> Result<(), ArchiveError> {
    for (number, path) in segments(home)? {
        each_block(home, number, &path, 0, |read| {
            if let FoundBlock::Block(place, block) = read {
                for line in &block.lines {
                    let clean = without_secrets(home.cleaner(), line);
                    if clean != *line {
                        found(number, place.offset, &clean, line);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Removes secrets that rules know now.
pub fn remove_secrets(home: &Home) -> Result<(), ArchiveError> {
    rewrite(home, &|_| false, &|_, _, line| Some(without_secrets(home.cleaner(), line)))
}

fn without_secrets(cleaner: &Cleaner, line: &str) -> String {
    let Ok(mut value) = serde_json::from_slice::<Value>(line.as_bytes()) else { return line.to_string() };
    // Earlier versions kept them.
    remove_escapes(&mut value);
    let is_changed = redact(cleaner, &mut value);
    if is_changed { value.to_string() } else { line.to_string() }
}

fn redact(cleaner: &Cleaner, value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let clean = cleaner.redact(text);
            let is_changed = *clean != **text;
            if is_changed {
                *text = clean.into_owned();
            }
            is_changed
        }
        Value::Array(all) => all.iter_mut().fold(false, |changed, value| redact(cleaner, value) | changed),
        Value::Object(object) => object.values_mut().fold(false, |changed, value| redact(cleaner, value) | changed),
        _ => false,
    }
}

fn unchanged(_: &BlockHead, _: Option<Timestamp>, line: &str) -> Option<String> {
    Some(line.to_string())
}

/// What separates words where a text has other text as JSON.
const WRITTEN: [(&str, &str); 6] = [
    ("\\n", "\n"),
    ("\\r", "\n"),
    ("\\t", "\t"),
    ("\\\"", "\""),
    // Earlier versions kept what only shows words in colours.
    ("\\u001b", "\u{1b}"),
    ("\\u001B", "\u{1b}"),
];

/// A line of JSON as the words in it: paths are not glued to what escapes a line break, or shows them in colours.
pub fn words(line: &str) -> String {
    let value = serde_json::from_slice(line.as_bytes()).unwrap_or_else(|_| Value::from(line));
    let mut found = String::with_capacity(line.len());
    spell(&value, &mut found);
    found
}

fn spell(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => match inner(text) {
            Some(inner) => spell(&inner, found),
            None => {
                let text = WRITTEN.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
                found.extend([&without_escapes(&text), "\n"]);
            }
        },
        Value::Array(all) => all.iter().for_each(|value| spell(value, found)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.extend([key, "\n"]);
            spell(value, found);
        }),
        _ => {}
    }
}

/// JSON in a text.
fn inner(text: &str) -> Option<Value> {
    text.starts_with(['{', '[']).then(|| serde_json::from_slice(text.as_bytes()).ok()).flatten()
}

fn rewrite(home: &Home, is_removed: &dyn Fn(&BlockHead) -> bool, change: &Change) -> Result<(), ArchiveError> {
    if segments(home)?.is_empty() {
        return Ok(());
    }
    let _lock = lock(home)?;
    rewrite_held(home, is_removed, change, None)
}

/// Rewrites every segment that changes. Notes in `reached` which transcripts lost something that they still have.
fn rewrite_held(
    home: &Home,
    is_removed: &dyn Fn(&BlockHead) -> bool,
    change: &Change,
    mut reached: Option<Reached>,
) -> Result<(), ArchiveError> {
    if segments(home)?.is_empty() {
        return Ok(());
    }
    // What was set aside cannot be judged, nor what a killed process was writing.
    for entry in fs::read_dir(home.archive_dir())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "damaged" || ending == "tmp") {
            fs::remove_file(path)?;
        }
    }
    let shared = SharedLines::read(home, is_removed, change)?;
    let mut is_changed = false;
    // A line may refer to one in an older block: that is there until the newer one has the words itself.
    for (number, path) in segments(home)?.into_iter().rev() {
        let (mut bytes, mut is_new) = (Vec::new(), false);
        each_block(home, number, &path, 0, |found| {
            match found {
                FoundBlock::Block(_, block) => match shared.rest(*block, is_removed, change) {
                    Rest::Same(block) => bytes.extend(block.pack()?),
                    Rest::Changed(block) => {
                        is_new = true;
                        if let (Some(reached), Some(Block { head, .. })) = (&mut reached, block.as_deref()) {
                            reached.note(head);
                        }
                        bytes.extend(block.map(|block| block.pack()).transpose()?.unwrap_or_default());
                    }
                },
                FoundBlock::Damaged { .. } => is_new = true,
            }
            Ok(())
        })?;
        if !is_new {
            continue;
        }
        if let Some(reached) = &reached {
            reached.save(home)?;
        }
        if !is_changed {
            is_changed = true;
            index::remove(home)?;
        }
        fault::point("archive-erase")?;
        match bytes.is_empty() {
            true => fs::remove_file(&path)?,
            false => home.replace(&path, &bytes)?,
        }
    }
    if is_changed {
        home.sync_folder(&home.archive_dir())?;
        ArchiveIndex::open_writable(home)?;
    }
    Ok(())
}

enum Rest {
    Same(Box<Block>),
    /// `None` if nothing is left.
    Changed(Option<Box<Block>>),
}

/// Lines that several sessions have.
struct SharedLines {
    /// What they are, by hash.
    lines: HashMap<u64, String>,
    /// Those whose holder keeps them as they are.
    held: HashSet<u64>,
}

impl SharedLines {
    fn read(
        home: &Home,
        is_removed: &dyn Fn(&BlockHead) -> bool,
        change: &Change,
    ) -> Result<SharedLines, ArchiveError> {
        let mut wanted = HashSet::new();
        each(home, |block| wanted.extend(block.lines.iter().filter_map(|line| referred(line))))?;
        let mut shared = SharedLines { lines: HashMap::new(), held: HashSet::new() };
        if wanted.is_empty() {
            return Ok(shared);
        }
        each(home, |block| {
            let is_kept = !is_removed(&block.head);
            for (at, line) in timed(&block) {
                let hash = line_hash(line);
                if referred(line).is_some() || !wanted.contains(&hash) || shared.lines.contains_key(&hash) {
                    continue;
                }
                if is_kept && change(&block.head, at, line).as_deref() == Some(line) {
                    shared.held.insert(hash);
                }
                shared.lines.insert(hash, line.to_string());
            }
        })?;
        Ok(shared)
    }

    /// What is left of a block. A line that its holder loses is stored here.
    fn rest(&self, block: Block, is_removed: &dyn Fn(&BlockHead) -> bool, change: &Change) -> Rest {
        if is_removed(&block.head) {
            return Rest::Changed(None);
        }
        let mut lines = Vec::with_capacity(block.lines.len());
        for (at, line) in timed(&block) {
            let reference = referred(line);
            let text = match reference {
                Some(hash) => match self.lines.get(&hash) {
                    Some(text) => text,
                    None => continue,
                },
                None => line,
            };
            let rest = change(&block.head, at, text);
            match (reference, rest) {
                (Some(hash), Some(rest)) if rest == *text && self.held.contains(&hash) => lines.push(line.to_string()),
                (_, Some(rest)) => lines.push(rest),
                (_, None) => {}
            }
        }
        match lines == block.lines {
            true => Rest::Same(Box::new(block)),
            // The block stays if it is empty: it says how far its transcript was read.
            false => Rest::Changed(Some(Box::new(Block { lines, ..block }))),
        }
    }
}

/// The lines of a block, each with its time, or that of the line before it.
fn timed(block: &Block) -> impl Iterator<Item = (Option<Timestamp>, &str)> {
    let mut last = block.head.first_at;
    block.lines.iter().map(move |line| {
        let own = serde_json::from_slice::<Value>(line.as_bytes()).ok().and_then(|value| time_of(&value));
        last = own.or(last);
        (last, line.as_str())
    })
}

fn each(home: &Home, mut take: impl FnMut(Block)) -> Result<(), ArchiveError> {
    for (number, path) in segments(home)? {
        each_block(home, number, &path, 0, |found| {
            if let FoundBlock::Block(_, block) = found {
                take(*block);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// How many bytes of the segments cannot be read, and how many files were set aside for that.
pub fn damage(home: &Home) -> Result<(u64, usize), ArchiveError> {
    let mut bytes = 0;
    for (number, path) in segments(home)? {
        each_block(home, number, &path, 0, |found| {
            if let FoundBlock::Damaged { from, to } = found {
                bytes += to - from;
            }
            Ok(())
        })?;
    }
    let is_aside = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == "damaged");
    let aside = fs::read_dir(home.archive_dir()).into_iter().flatten().flatten().filter(is_aside).count();
    Ok((bytes, aside))
}

/// Makes the index anew. A segment with damage is set aside, and what can be read of it is kept.
pub fn rebuild(home: &Home) -> Result<u64, ArchiveError> {
    let _lock = lock(home)?;
    index::remove(home)?;
    let mut damaged = 0;
    for (number, path) in segments(home)? {
        let (mut bytes, mut bad) = (Vec::new(), 0);
        each_block(home, number, &path, 0, |found| {
            match found {
                FoundBlock::Block(_, block) => bytes.extend(block.pack()?),
                FoundBlock::Damaged { from, to } => bad += to - from,
            }
            Ok(())
        })?;
        if bad > 0 {
            damaged += bad;
            // Its blocks are never in the copy alone: whoever is killed here does the same once more.
            home.replace(&path.with_extension("segment.damaged"), &fs::read(&path)?)?;
            fault::point("archive-aside")?;
            home.replace(&path, &bytes)?;
        }
    }
    ArchiveIndex::open_writable(home)?;
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use cerberus_recall::forget::Paths;
    use cerberus_record::clean::glob::Glob;
    use cerberus_record::id::{Agent, ProjectId};

    use super::*;
    use crate::segment::segment_path;

    /// A home whose archive has these lines as they are.
    fn archive_of(dir: &tempfile::TempDir, lines: &[&str]) -> Home {
        let home = Home::new(dir.path().join("home"));
        drop(lock(&home).unwrap());
        let head = BlockHead {
            agent: Agent::MANUAL,
            session: "session-one".into(),
            project: ProjectId::from_stored("p".into()),
            root: "/hydra".into(),
            source: "/t.jsonl".into(),
            is_main: true,
            from: 0,
            to: 9,
            mark: 0,
            first_at: None,
            last_at: None,
            open: Default::default(),
            text_bytes: lines.iter().map(|line| line.len() as u64 + 1).sum(),
        };
        let lines = lines.iter().map(|line| line.to_string()).collect();
        fs::write(segment_path(&home, 1), Block { head, lines }.pack().unwrap()).unwrap();
        home
    }

    fn lines_of(home: &Home) -> Vec<String> {
        let mut found = Vec::new();
        each(home, |block| found.extend(block.lines)).unwrap();
        found
    }

    #[test]
    fn colours_that_earlier_versions_kept_hide_nothing() {
        let kept = r#"{"text":"\u001b[1mother words\u001b[0m"}"#;
        let dir = tempfile::tempdir().unwrap();
        let home = archive_of(
            &dir,
            &[
                r#"{"text":"\u001b[35msrc/secretly.rs\u001b[0m:12: words"}"#,
                r#"{"arguments":"{\"output\":\"\\u001B[35m/hydra/src/secretly.rs\\u001b[0m:12\"}"}"#,
                r#"{"output":"{\"a\":\"\\u001b[35msrc/secretly.rs\\u001b[0m\"}\n{\"a\":\"tune\\nsrc/secretly.rs\"}"}"#,
                r#"{"changes":{"src/secretly.rs":{}}}"#,
                kept,
            ],
        );
        let paths = Paths {
            glob: Glob::parse("src/secretly.rs").unwrap(),
            projects: HashSet::from([ProjectId::from_stored("p".into())]),
            bases: HashSet::new(),
            files: Vec::new(),
            elsewhere: Vec::new(),
        };
        forget(&home, &ForgetRequest::Paths(paths)).unwrap();
        assert_eq!(lines_of(&home), [kept]);

        let dir = tempfile::tempdir().unwrap();
        let home = archive_of(&dir, &[r#"{"text":"the \u001b[1mpassword\u001b[0m is Winter!2031x"}"#, kept]);
        let mut found = 0;
        secrets(&home, &mut |_, _, _, _| found += 1).unwrap();
        assert_eq!(found, 1);
        remove_secrets(&home).unwrap();
        assert_eq!(lines_of(&home), [r#"{"text":"the password is [redacted:password]"}"#, kept]);
    }
}
