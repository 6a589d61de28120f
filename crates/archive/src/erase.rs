//! Removing from the archive. Every block is read; what is left of a segment replaces it, and the index is made anew
//! from what is left, so that nothing of what was removed stays in any byte.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use cerberus_agents::conversation::{parts, time_of};
use cerberus_os::fault;
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::id::fnv1a;
use cerberus_record::memory::Evidence;
use cerberus_record::time::Timestamp;
use serde_json::Value;

use crate::error::ArchiveError;
use crate::index::{self, ArchiveIndex, is_damage, referred};
use crate::reached::{self, Reached};
use crate::segment::lock;
use crate::segment::{Block, BlockHead, FoundBlock, each_block, segments};
use crate::terms::line_hash;
use crate::words::{without, words};
use crate::write::stored_bytes;

/// What happens to a line: `None` removes it.
type Change<'c> = dyn Fn(&BlockHead, Option<Timestamp>, &str) -> Option<String> + 'c;

/// Removes what a request covers. The caller holds the lock of the archive.
pub fn forget(home: &Home, request: &ForgetRequest) -> Result<(), ArchiveError> {
    match request {
        ForgetRequest::Between(..) => {
            let change = |head: &BlockHead, at: Option<Timestamp>, line: &str| {
                (!is_meant(request, head, at, line)).then(|| line.to_string())
            };
            rewrite_held(home, &|_| false, &change, Some(reached(home)?))
        }
        ForgetRequest::Paths(_) => remove_lines(home, &|_| false, &|head, at, line| is_meant(request, head, at, line)),
        _ => rewrite_held(home, &|head| is_whole(request, head), &unchanged, None),
    }
}

/// Whether a request covers everything of a block.
fn is_whole(request: &ForgetRequest, head: &BlockHead) -> bool {
    match request {
        ForgetRequest::Sessions(names) | ForgetRequest::Expired(names) => {
            names.contains(&(head.agent, head.session.clone()))
        }
        ForgetRequest::Projects { ids, .. } => ids.contains(&head.project),
        ForgetRequest::Between(..) | ForgetRequest::Paths(_) => false,
    }
}

/// Whether it covers a line.
fn is_meant(request: &ForgetRequest, head: &BlockHead, at: Option<Timestamp>, line: &str) -> bool {
    match request {
        ForgetRequest::Between(since, until) => at.is_some_and(|at| (*since..*until).contains(&at)),
        ForgetRequest::Paths(paths) => {
            let words = || words(line).replace(&format!("{}/", head.root), "");
            paths.projects.contains(&head.project) && paths.are_named_in(&words())
        }
        _ => false,
    }
}

/// Of how many conversations a request removes something.
pub fn count(home: &Home, request: &ForgetRequest) -> Result<usize, ArchiveError> {
    let mut found = HashSet::new();
    each_line(home, &|_| false, &mut |head, at, line| {
        let name = (head.agent, head.session.clone());
        if !found.contains(&name) && (is_whole(request, head) || is_meant(request, head, at, line)) {
            found.insert(name);
        }
    })?;
    Ok(found.len())
}

/// Removes words that the user said from the sessions in which they said them, and from the lines that forks have of those.
/// The caller holds the lock.
pub fn forget_words(home: &Home, said: &[&Evidence]) -> Result<(), ArchiveError> {
    let mut meant: HashSet<u64> = HashSet::new();
    each_line(home, &|_| false, &mut |head, _, line| {
        let of_session = |one: &&&Evidence| *one.agent == *head.agent.name() && *one.session == *head.session;
        if said.iter().filter(of_session).any(|one| without(line, &one.text).is_some()) {
            meant.insert(line_hash(line));
        }
    })?;
    let change = |_: &BlockHead, _: Option<Timestamp>, line: &str| {
        let is_meant = meant.contains(&line_hash(line));
        let said = said.iter().filter(|_| is_meant);
        Some(said.fold(line.to_string(), |line, one| without(&line, &one.text).unwrap_or(line)))
    };
    rewrite_held(home, &|_| false, &change, Some(reached(home)?))
}

/// Removes whole blocks, and lines of others, with what the calls in these lines answered. The caller holds the lock.
pub fn remove_lines(
    home: &Home,
    is_removed: &dyn Fn(&BlockHead) -> bool,
    is_meant: &dyn Fn(&BlockHead, Option<Timestamp>, &str) -> bool,
) -> Result<(), ArchiveError> {
    // Every call is known before a line is judged: the lines of a fork are those of its original.
    let (mut calls, mut groups) = (HashSet::new(), Vec::new());
    each_line(home, is_removed, &mut |head, at, line| {
        let named = calls_in(head, line);
        if is_meant(head, at, line) {
            calls.extend(named);
        } else if named.len() > 1 {
            groups.push(named);
        }
    })?;
    let mut known = usize::MAX;
    while known != calls.len() {
        known = calls.len();
        groups.retain(|named| {
            let is_named = named.iter().any(|call| calls.contains(call));
            if is_named {
                calls.extend(named);
            }
            !is_named
        });
    }
    let change = |head: &BlockHead, at: Option<Timestamp>, line: &str| {
        let is_meant = is_meant(head, at, line) || calls_in(head, line).iter().any(|call| calls.contains(call));
        (!is_meant).then(|| line.to_string())
    };
    rewrite_held(home, is_removed, &change, Some(reached(home)?))
}

/// Hashes of the calls that a line makes or answers.
fn calls_in(head: &BlockHead, line: &str) -> Vec<u64> {
    let value = serde_json::from_slice::<Value>(line.as_bytes()).unwrap_or_default();
    let named = parts(&value).into_iter().filter_map(|part| part.call);
    named.map(|call| fnv1a(format!("{}\n{call}", head.session).as_bytes())).collect()
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
    let all = crate::conversations(home)?;
    let (bytes, _) = stored_bytes(home);
    let text: u64 = all.iter().map(|one| one.text_bytes).sum();
    let mut left = bytes as f64;
    let mut due = HashSet::new();
    // The newest come first, and what has no time last.
    for one in all.into_iter().rev() {
        let is_old = one.last_at.is_some_and(|at| at < before);
        if is_old || max_bytes.is_some_and(|max| left > max as f64) {
            left -= one.text_bytes as f64 * bytes as f64 / text.max(1) as f64;
            due.insert((one.agent, one.session));
        }
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

/// Files that are no segments any more, or not yet.
pub(crate) fn set_aside(home: &Home, endings: &[&str]) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(home.archive_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            found.push(path);
        }
    }
    Ok(found)
}

fn unchanged(_: &BlockHead, _: Option<Timestamp>, line: &str) -> Option<String> {
    Some(line.to_string())
}

pub(crate) fn rewrite(
    home: &Home,
    is_removed: &dyn Fn(&BlockHead) -> bool,
    change: &Change,
) -> Result<(), ArchiveError> {
    if !home.archive_dir().is_dir() {
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
    // What was set aside cannot be judged, nor what a killed process was writing.
    set_aside(home, &["damaged", "tmp"])?.into_iter().try_for_each(fs::remove_file)?;
    if segments(home)?.is_empty() {
        return Ok(());
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
        let mut shared = SharedLines { lines: shared_lines(home)?, held: HashSet::new() };
        if shared.lines.is_empty() {
            return Ok(shared);
        }
        let (mut seen, mut held) = (HashSet::new(), HashSet::new());
        each(home, |block| {
            let is_kept = !is_removed(&block.head);
            for TimedLine { at, reference, text } in timed(&block, &shared.lines) {
                let hash = line_hash(text);
                if reference.is_some() || !shared.lines.contains_key(&hash) || !seen.insert(hash) {
                    continue;
                }
                if is_kept && change(&block.head, at, text).as_deref() == Some(text) {
                    held.insert(hash);
                }
            }
        })?;
        shared.held = held;
        Ok(shared)
    }

    /// What is left of a block. A line that its holder loses is stored here.
    fn rest(&self, block: Block, is_removed: &dyn Fn(&BlockHead) -> bool, change: &Change) -> Rest {
        if is_removed(&block.head) {
            return Rest::Changed(None);
        }
        let mut lines = Vec::with_capacity(block.lines.len());
        for TimedLine { at, reference, text } in timed(&block, &self.lines) {
            let rest = change(&block.head, at, text);
            match (reference, rest) {
                (Some(hash), Some(rest)) if rest == *text && self.held.contains(&hash) => {
                    lines.push(index::reference(hash))
                }
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

/// The lines that others refer to, by hash.
fn shared_lines(home: &Home) -> Result<HashMap<u64, String>, ArchiveError> {
    let mut wanted = HashSet::new();
    each(home, |block| wanted.extend(block.lines.iter().filter_map(|line| referred(line))))?;
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    each(home, |block| {
        for line in block.lines {
            let hash = line_hash(&line);
            if wanted.contains(&hash) {
                found.entry(hash).or_insert(line);
            }
        }
    })?;
    Ok(found)
}

struct TimedLine<'b> {
    /// The time of the line, or that of the line before it.
    at: Option<Timestamp>,
    /// If another block holds it.
    reference: Option<u64>,
    text: &'b str,
}

/// The lines of a block, without those whose holder is lost.
fn timed<'b>(block: &'b Block, shared: &'b HashMap<u64, String>) -> impl Iterator<Item = TimedLine<'b>> {
    let mut last = block.head.first_at;
    block.lines.iter().filter_map(move |line| {
        let reference = referred(line);
        let text = reference.map_or(Some(line), |hash| shared.get(&hash))?;
        let own = serde_json::from_slice::<Value>(text.as_bytes()).ok().and_then(|value| time_of(&value));
        last = own.or(last);
        Some(TimedLine { at: last, reference, text })
    })
}

/// Reads every line of the blocks that are not removed.
fn each_line(
    home: &Home,
    is_removed: &dyn Fn(&BlockHead) -> bool,
    take: &mut dyn FnMut(&BlockHead, Option<Timestamp>, &str),
) -> Result<(), ArchiveError> {
    let shared = shared_lines(home)?;
    each(home, |block| {
        if !is_removed(&block.head) {
            timed(&block, &shared).for_each(|line| take(&block.head, line.at, line.text));
        }
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
    Ok((bytes, set_aside(home, &["damaged"])?.len()))
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
    use crate::secrets::{remove_secrets, secrets};
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

    #[test]
    fn a_conversation_without_a_time_keeps_no_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = archive_of(&dir, &[r#"{"text":"of an unknown time"}"#]);
        let head = |session: &str, last: i64| {
            let mut first = None;
            each(&home, |block| first = Some(block.head)).unwrap();
            BlockHead { session: session.into(), last_at: Some(Timestamp::from_millis(last)), ..first.unwrap() }
        };
        let mut bytes = fs::read(segment_path(&home, 1)).unwrap();
        for (session, last) in [("session-old", 1_000), ("session-new", 9_000)] {
            let lines = vec![format!(r#"{{"text":"{session}"}}"#)];
            bytes.extend(Block { head: head(session, last), lines }.pack().unwrap());
        }
        fs::write(segment_path(&home, 1), bytes).unwrap();
        expire(&home, Timestamp::from_millis(5_000), None).unwrap();
        assert_eq!(lines_of(&home), [r#"{"text":"of an unknown time"}"#, r#"{"text":"session-new"}"#]);
    }
}
