//! The end of one session's transcript, for a session that died.
//!
//! A hook waits for it, so nothing is searched for at length: the path that the session's start recorded comes first,
//! then the place that follows from the session's id and day. Every look at a folder and every read has a limit.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use crate::agents::Surroundings;
use crate::agents::transcripts::{Database, DatabaseError, Sought, TranscriptFiles, as_it_is_now};
use crate::os::outside;
use crate::store::SessionRow;

/// The end of a transcript is what hooks may have missed; the beginning they saw.
const TAIL_BYTES: u64 = 1024 * 1024;

/// Of a transcript that can only be read as a whole: one JSON object, or a compressed file.
const WHOLE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Names that are looked at to find one transcript.
const ENTRIES_MAX: usize = 4_000;

/// How long an agent's database may be locked before we go on without it.
const BUSY: Duration = Duration::from_millis(50);

pub struct Ending {
    pub bytes: Vec<u8>,
    /// The transcript from its beginning.
    pub is_whole: bool,
}

/// The end of a session's transcript; `None` when it cannot be found or read.
pub fn ending(surroundings: &Surroundings, kept: &TranscriptFiles, session: &SessionRow) -> Option<Ending> {
    let roots = || (kept.roots)(surroundings);
    if let Some(open) = kept.open {
        return roots().iter().find_map(|path| exported(open, path, &session.agent_session_id));
    }
    let recorded = session.transcript.as_deref().and_then(|path| as_it_is_now(Path::new(path)));
    let path = recorded.or_else(|| find(kept, &roots(), session))?;
    read(&path).ok()
}

type Open = fn(&Path, Duration) -> Result<Box<dyn Database>, DatabaseError>;

fn exported(open: Open, database: &Path, session: &str) -> Option<Ending> {
    // SQLite would wait for a pipe in its place.
    outside::open(database).ok()?;
    let exported = open(database, BUSY).and_then(|theirs| theirs.ending(session, TAIL_BYTES as usize));
    let exported = exported.ok().filter(|exported| !exported.json.is_empty())?;
    Some(Ending { bytes: exported.json, is_whole: exported.is_whole })
}

/// Where an agent keeps the transcript of a session of this id.
fn find(kept: &TranscriptFiles, roots: &[PathBuf], session: &SessionRow) -> Option<PathBuf> {
    let id = &session.agent_session_id;
    // It comes from outside and must name one file.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return None;
    }
    let (cwd, root) = (Path::new(&session.cwd), Path::new(&session.root));
    let mut sought = Sought { id, cwd, root, started_at: session.started_at, entries_left: ENTRIES_MAX };
    roots.iter().find_map(|root| (kept.find)(root, &mut sought))
}

fn read(path: &Path) -> io::Result<Ending> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json" | "zst" | "gz") => Ok(Ending { bytes: files::read_within(path, WHOLE_BYTES_MAX)?, is_whole: true }),
        _ => tail(path),
    }
}

/// The last part of a file, from the beginning of a line, below its first line: that says whose session it is.
fn tail(path: &Path) -> io::Result<Ending> {
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
    Ok(Ending { bytes, is_whole: start == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_transcript_is_its_first_line_and_its_end() {
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
        assert_eq!(of(&format!("{long}\nlast\n")), "last\n", "a first line without end is none");
    }

    #[test]
    fn only_so_much_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("session-1.json");
        std::fs::write(&whole, vec![b' '; WHOLE_BYTES_MAX as usize]).unwrap();
        assert!(read(&whole).is_ok());
        std::fs::write(&whole, vec![b' '; WHOLE_BYTES_MAX as usize + 1]).unwrap();
        assert!(read(&whole).is_err());
    }
}
