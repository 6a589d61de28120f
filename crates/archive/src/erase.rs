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
use crate::escapes::remove_escapes;
use crate::index::{self, ArchiveIndex, referred};
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
            rewrite_held(home, &|head| names.contains(&(head.agent, head.session.clone())), &unchanged)
        }
        ForgetRequest::Projects { ids, .. } => rewrite_held(home, &|head| ids.contains(&head.project), &unchanged),
        ForgetRequest::Between(since, until) => rewrite_held(home, &|_| false, &|_, at, line| {
            let is_meant = at.is_some_and(|at| (*since..*until).contains(&at));
            (!is_meant).then(|| line.to_string())
        }),
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
    rewrite_held(home, is_removed, &|head, at, line| {
        let value = serde_json::from_slice::<Value>(line.as_bytes()).unwrap_or_default();
        let named = parts(&value).into_iter().filter_map(|part| part.call);
        let named: Vec<(String, String)> = named.map(|call| (head.session.clone(), call)).collect();
        let is_meant = is_meant(head, at, line) || named.iter().any(|call| calls.borrow().contains(call));
        if is_meant {
            calls.borrow_mut().extend(named);
        }
        (!is_meant).then(|| line.to_string())
    })
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
        if path.file_name().is_some_and(|name| name != "lock") {
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

/// The words in a line of JSON, without what escapes a line break or shows them in colours: paths are not glued to it.
pub fn words(line: &str) -> String {
    let Ok(mut value) = serde_json::from_slice::<Value>(line.as_bytes()) else { return line.to_string() };
    // Earlier versions kept them.
    remove_escapes(&mut value);
    let mut found = String::with_capacity(line.len());
    spell(&value, &mut found);
    found
}

fn spell(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => match inner(text) {
            Some(inner) => spell(&inner, found),
            None => found.extend([text, "\n"]),
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
    rewrite_held(home, is_removed, change)
}

/// Rewrites every segment that changes.
fn rewrite_held(home: &Home, is_removed: &dyn Fn(&BlockHead) -> bool, change: &Change) -> Result<(), ArchiveError> {
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
