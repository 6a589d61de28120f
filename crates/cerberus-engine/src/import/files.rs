//! The files in which agents keep their transcripts: which they are, and what is in them, plain or compressed.
//!
//! Only ever read.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use cerberus_core::model::id::Agent;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::os::outside;

/// A transcript is read whole; no real one comes near this.
const TRANSCRIPT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Of files that hold one line.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// Every transcript of `agent` at or below `path`, in order.
pub fn transcripts(agent: Agent, path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // Copilot keeps a session's other files beside its events.
        let events = folder.join("events.jsonl");
        if agent == Agent::Copilot && events.is_file() {
            found.push(events);
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A link to a folder is not entered: it may lead in a circle.
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if is_transcript(agent, &entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_transcript(agent: Agent, name: &str) -> bool {
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    match agent {
        Agent::Opencode if name == "opencode.db" => true,
        Agent::Opencode => plain.ends_with(".jsonl") || plain.ends_with(".json"),
        // Other files of the client are JSON too.
        Agent::Gemini => plain.ends_with(".jsonl") || (plain.ends_with(".json") && plain.starts_with("session-")),
        _ => plain.ends_with(".jsonl"),
    }
}

/// The text of a transcript, plain or compressed.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, TRANSCRIPT_BYTES_MAX)
}

/// What unpacks to more is refused: a few kilobytes can hold gigabytes of nothing.
pub fn read_within(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = BufReader::new(outside::open(path)?);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => outside::whole(MultiGzDecoder::new(file), bytes_max),
        Some("zst") => unpack_zstd(file, bytes_max),
        _ => outside::whole(file, bytes_max),
    }
}

fn unpack_zstd(mut file: impl BufRead, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file that was appended to has a frame for every time.
    while !file.fill_buf()?.is_empty() {
        let frame = StreamingDecoder::new(&mut file).map_err(io::Error::other)?;
        bytes.extend(outside::whole(frame, bytes_max.saturating_sub(bytes.len() as u64))?);
    }
    Ok(bytes)
}

/// What the place of a file says of its session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beside {
    pub cwd: Option<String>,
    /// The session that started this one.
    pub parent: Option<String>,
}

/// Gemini's chats lie in `tmp/<project>/chats`, with the project's folder in a file beside; those of its subagents in
/// a folder that has the session's name.
pub fn beside(agent: Agent, path: &Path) -> Beside {
    let named = |folder: &Path| folder.file_name().and_then(|name| name.to_str()).map(str::to_string);
    let Some(folder) = path.parent().filter(|_| agent == Agent::Gemini) else { return Beside::default() };
    let (chats, parent) = match named(folder).as_deref() {
        Some("chats") => (folder, None),
        _ => match folder.parent().filter(|above| named(above).as_deref() == Some("chats")) {
            Some(chats) => (chats, named(folder)),
            None => return Beside::default(),
        },
    };
    let cwd = chats.parent().and_then(|project| first_line(&project.join(".project_root")).ok());
    Beside { cwd: cwd.filter(|cwd| !cwd.is_empty()), parent }
}

fn first_line(path: &Path) -> io::Result<String> {
    let line = outside::text(path, LINE_BYTES_MAX)?;
    Ok(line.lines().next().unwrap_or_default().trim().to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_small_file_that_unpacks_to_much_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bomb.jsonl.gz");
        let mut packed = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::best());
        packed.write_all(&vec![b'x'; 1_000_000]).unwrap();
        packed.finish().unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 10_000);
        assert_eq!(read_within(&path, 1_000_000).unwrap().len(), 1_000_000);
        assert_eq!(read_within(&path, 999_999).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn folders_that_lead_in_a_circle_are_walked_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/one.jsonl"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/back")).unwrap();
        assert_eq!(transcripts(Agent::ClaudeCode, dir.path()).unwrap(), [dir.path().join("a/one.jsonl")]);
    }
}
