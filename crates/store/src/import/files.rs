//! Finds an agent's transcript files and reads them, plain or compressed. Never writes.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use cerberus_agents::install::Profile;
use cerberus_os::outside;
use cerberus_record::id::Agent;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// A transcript is read whole. Real ones are far smaller.
const TRANSCRIPT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Every transcript of `agent` at or below `path`, sorted.
pub fn transcripts(agent: Agent, path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let Some(kept) = Profile::of(agent).and_then(|profile| profile.transcripts) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if let Some(only) = kept.only.map(|name| folder.join(name)).filter(|only| only.is_file()) {
            found.push(only);
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // Linked folders are not entered: they may form a cycle.
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if (kept.is_transcript)(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a transcript, plain or compressed.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, TRANSCRIPT_BYTES_MAX)
}

/// Refuses a file that unpacks to more than `bytes_max`: a few kilobytes can unpack to gigabytes.
pub fn read_within(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = BufReader::new(outside::open(path)?);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => outside::whole(MultiGzDecoder::new(file), bytes_max),
        Some("zst") => unpack_zstd(file, bytes_max),
        _ => outside::whole(file, bytes_max),
    }
}

/// A transcript as a stream, plain or compressed.
pub fn reader(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::new(outside::open(path)?);
    Ok(match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        // Only whole sessions are compressed this way.
        Some("zst") => Box::new(VecDeque::from(unpack_zstd(file, TRANSCRIPT_BYTES_MAX)?)),
        _ => Box::new(file),
    })
}

fn unpack_zstd(mut file: impl BufRead, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Each append to a compressed file added a frame.
    while !file.fill_buf()?.is_empty() {
        let frame = StreamingDecoder::new(&mut file).map_err(io::Error::other)?;
        bytes.extend(outside::whole(frame, bytes_max.saturating_sub(bytes.len() as u64))?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cerberus_agents::claude_code;
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
    fn cyclic_folders_are_walked_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/one.jsonl"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/back")).unwrap();
        assert_eq!(transcripts(claude_code::AGENT, dir.path()).unwrap(), [dir.path().join("a/one.jsonl")]);
    }
}
