//! Reads the end of a crashed session's transcript.
//!
//! A hook waits for this, so there is no long search: first the path that the session's start recorded, then the path
//! that follows from the session's id and day. Every directory listing and every read is bounded.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_agents::install::transcripts::{SessionQuery, TranscriptFiles, current_path};
use cerberus_agents::install::{Profile, Surroundings};
use cerberus_os::outside;
use cerberus_record::id::Agent;
use memchr::memmem::{self, Finder};

use super::files;
use super::source::DatabaseOpener;
use crate::view::SessionRow;

/// Hooks saw the beginning of a transcript; only its end may be missing.
const TAIL_BYTES: u64 = 1024 * 1024;

/// Limit for a transcript that can only be read whole: a single JSON object, or a compressed file.
const WHOLE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How much of a transcript is searched for lines of interest, and how long such a line may be.
const SEARCHED_BYTES_MAX: u64 = 64 * 1024 * 1024;
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// How many directory entries are read to find one transcript.
const ENTRIES_MAX: usize = 4_000;

/// How long to wait for an agent's locked database before giving up on it.
const BUSY: Duration = Duration::from_millis(50);

pub struct TranscriptEnding {
    pub bytes: Vec<u8>,
    /// `bytes` starts at the beginning of the transcript.
    pub is_whole: bool,
}

/// The session's agent, and where it keeps its transcripts; `None` if the transcript is not on this device.
pub fn transcripts_of(session: &SessionRow) -> Option<(Agent, &'static TranscriptFiles)> {
    let agent = Agent::from_name(&session.agent).filter(|_| session.device.is_none())?;
    Some((agent, Profile::of(agent)?.transcripts?))
}

/// The end of a session's transcript; `None` if it cannot be found or read.
pub fn ending(surroundings: &Surroundings, kept: &TranscriptFiles, session: &SessionRow) -> Option<TranscriptEnding> {
    if let Some(open) = kept.open {
        return (kept.roots)(surroundings).iter().find_map(|path| exported(open, path, &session.agent_session_id));
    }
    read(&path(surroundings, kept, session)?).ok()
}

/// The file that holds a session's transcript; `None` if it cannot be found, or is a database of many sessions.
pub fn path(surroundings: &Surroundings, kept: &TranscriptFiles, session: &SessionRow) -> Option<PathBuf> {
    let recorded = session.transcript.as_deref().and_then(|path| current_path(Path::new(path)));
    recorded.or_else(|| find(kept, &(kept.roots)(surroundings), session)).filter(|_| kept.open.is_none())
}

/// The transcripts of a session's subagents, which are in a folder of the session's name beside its own.
pub fn of_subagents(agent: Agent, kept: &TranscriptFiles, path: &Path, session: &str) -> Vec<PathBuf> {
    let Some(folder) = path.parent().map(|folder| folder.join(session)).filter(|folder| folder.is_dir()) else {
        return Vec::new();
    };
    let found = files::transcripts(agent, &folder).unwrap_or_default();
    found.into_iter().filter(|path| (kept.path_hints)(path).parent.as_deref() == Some(session)).collect()
}

/// Whether the session's transcript is on this device, as far as can be said without reading it.
pub fn is_kept(surroundings: &Surroundings, session: &SessionRow) -> bool {
    let Some((_, kept)) = transcripts_of(session) else { return false };
    match kept.open {
        Some(_) => (kept.roots)(surroundings).iter().any(|database| database.is_file()),
        None => path(surroundings, kept, session).is_some(),
    }
}

pub(super) fn exported(open: DatabaseOpener, database: &Path, session: &str) -> Option<TranscriptEnding> {
    // SQLite would block on a pipe.
    outside::open(database).ok()?;
    let exported = open(database, BUSY).and_then(|theirs| theirs.ending(session, TAIL_BYTES as usize));
    let exported = exported.ok().filter(|exported| !exported.json.is_empty())?;
    Some(TranscriptEnding { bytes: exported.json, is_whole: exported.is_whole })
}

/// Where the agent keeps the transcript of this session.
pub(super) fn find(kept: &TranscriptFiles, roots: &[PathBuf], session: &SessionRow) -> Option<PathBuf> {
    let mut query = query(session)?;
    roots.iter().find_map(|root| (kept.find)(root, &mut query))
}

pub(super) fn query(session: &SessionRow) -> Option<SessionQuery<'_>> {
    let (id, cwd, root) = (file_id(session)?, Path::new(&session.cwd), Path::new(&session.root));
    Some(SessionQuery { id, cwd, root, started_at: session.started_at, entries_left: ENTRIES_MAX })
}

/// The agent's id of the session, which comes from outside, if it can be part of a file name.
fn file_id(session: &SessionRow) -> Option<&str> {
    let id = session.agent_session_id.as_str();
    let is_safe = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_safe && !id.is_empty()).then_some(id)
}

fn read(path: &Path) -> io::Result<TranscriptEnding> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json" | "zst" | "gz") => {
            Ok(TranscriptEnding { bytes: files::read_within(path, WHOLE_BYTES_MAX)?, is_whole: true })
        }
        _ => tail(path),
    }
}

/// The session's agent, and the lines of its transcript that say who sent its prompts and which of them stand.
pub fn prompt_lines(surroundings: &Surroundings, session: &SessionRow) -> Option<(Agent, Vec<u8>)> {
    let (agent, kept) = transcripts_of(session)?;
    let marks =
        cerberus_agents::profile(agent).map(|profile| profile.prompt_lines).filter(|marks| !marks.is_empty())?;
    Some((agent, lines_with(&path(surroundings, kept, session)?, marks).ok()?))
}

/// The session's agent, and the lines at the end of its transcript with words of the user that no hook reports. `None`
/// if there are none: a hook asks at the end of every turn.
pub fn unreported_lines(surroundings: &Surroundings, session: &SessionRow) -> Option<(Agent, Vec<u8>)> {
    let (agent, kept) = transcripts_of(session)?;
    let mark =
        cerberus_agents::profile(agent).map(|profile| profile.unreported_words).filter(|mark| !mark.is_empty())?;
    let ending = tail(&path(surroundings, kept, session)?).ok()?;
    // Nearly always there are none, and no line need be looked at.
    memmem::find(&ending.bytes, mark.as_bytes())?;
    Some((agent, matching(ending.bytes.as_slice(), &[mark]).ok()?))
}

/// The lines of a transcript that contain one of these texts. Of a very long transcript, the end is searched.
fn lines_with(path: &Path, texts: &[&str]) -> io::Result<Vec<u8>> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("zst" | "gz") => return matching(files::read_within(path, SEARCHED_BYTES_MAX)?.as_slice(), texts),
        // One object.
        Some("json") => return files::read_within(path, WHOLE_BYTES_MAX),
        _ => {}
    }
    let mut file = outside::open(path)?;
    let start = file.metadata()?.len().saturating_sub(SEARCHED_BYTES_MAX);
    let mut first = Vec::new();
    if start > 0 {
        // It identifies the session.
        BufReader::new(&file).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut first)?;
    }
    file.seek(SeekFrom::Start(start))?;
    matching(first.as_slice().chain(BufReader::new(file).take(SEARCHED_BYTES_MAX)), texts)
}

fn matching(mut lines: impl BufRead, texts: &[&str]) -> io::Result<Vec<u8>> {
    let finders: Vec<Finder> = texts.iter().map(Finder::new).collect();
    let (mut found, mut line) = (Vec::new(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line.len() <= LINE_BYTES_MAX && finders.iter().any(|finder| finder.find(&line).is_some()) {
            found.extend_from_slice(&line);
        }
        line.clear();
    }
    Ok(found)
}

/// The first line of a file, which identifies the session, followed by the last part of the file in whole lines.
fn tail(path: &Path) -> io::Result<TranscriptEnding> {
    let mut file = outside::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    let mut bytes = Vec::new();
    if start > 0 {
        BufReader::new(&file).take(start.min(TAIL_BYTES)).read_until(b'\n', &mut bytes)?;
        bytes.truncate(if bytes.ends_with(b"\n") { bytes.len() } else { 0 });
    }
    let first_line = bytes.len();
    file.seek(SeekFrom::Start(start.max(first_line as u64)))?;
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    if start > first_line as u64 {
        let rest = &bytes[first_line..];
        let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        bytes.drain(first_line..first_line + line);
    }
    Ok(TranscriptEnding { bytes, is_whole: start == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_and_the_end_of_a_long_transcript_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            String::from_utf8(tail(&path).unwrap().bytes).unwrap()
        };
        let filler = format!("{}\n", "x".repeat(99));
        let many = filler.repeat(2 * TAIL_BYTES as usize / filler.len());
        let read = of(&format!("first\n{many}last\n"));
        assert!(read.starts_with("first\nxxx") && read.ends_with("x\nlast\n"), "{}", &read[..20]);
        assert!(read.len() as u64 <= TAIL_BYTES + 6 && read.len() as u64 > TAIL_BYTES - 200);
        assert!(read.lines().all(|line| matches!(line.len(), 5 | 99 | 4)), "no line is torn");
        assert_eq!(of("first\nlast\n"), "first\nlast\n");
        let long = "y".repeat(2 * TAIL_BYTES as usize);
        assert_eq!(of(&format!("{long}\nlast\n")), "last\n", "a first line that is too long is left out");
    }

    #[test]
    fn lines_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let found = |text: &str| {
            std::fs::write(&path, text).unwrap();
            String::from_utf8(lines_with(&path, &["\"a\"", "\"b\""]).unwrap()).unwrap()
        };
        assert_eq!(found("1 \"a\"\n2\n3 \"b\"\n4 a b"), "1 \"a\"\n3 \"b\"\n");
        let long = format!("{}\n", "\"a\"".repeat(LINE_BYTES_MAX));
        assert_eq!(found(&format!("{long}\"b\"")), "\"b\"", "a line that is too long is left out");
        let filler = format!("{}\n", "x".repeat(999)).repeat(SEARCHED_BYTES_MAX as usize / 1000 + 1);
        assert_eq!(found(&format!("\"a\"\n\"b\"\n{filler}2 \"b\"\n")), "\"a\"\n2 \"b\"\n", "the first, and the end");
    }

    #[test]
    fn reading_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("session-1.json");
        std::fs::write(&whole, vec![b' '; WHOLE_BYTES_MAX as usize]).unwrap();
        assert!(read(&whole).is_ok());
        std::fs::write(&whole, vec![b' '; WHOLE_BYTES_MAX as usize + 1]).unwrap();
        assert!(read(&whole).is_err());
    }
}
