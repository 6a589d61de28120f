//! Finds an agent's transcript files and reads them, plain or compressed. Never writes.

use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cerberus_agents::install::Profile;
use cerberus_os::outside;
use cerberus_record::id::Agent;
use flate2::read::MultiGzDecoder;
use memchr::memchr;
use zstd::stream::read::Decoder;

use super::shortened::ShortenedLine;

/// A transcript that is one JSON object is read whole, also by the archive. Real ones are smaller.
const OBJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// More is not read into memory.
const FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Of a longer line, long texts are kept in part; it is left out if that does not make it shorter.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A longer line is large: whoever reads it has no other meanwhile.
pub const LARGE_BYTES: usize = 1024 * 1024;

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

/// Reads lines and anything else, plain or compressed.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, FILE_BYTES_MAX)
}

/// Reads a transcript that is one JSON object, plain or compressed.
pub fn read_object(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, OBJECT_BYTES_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let mib = OBJECT_BYTES_MAX / (1024 * 1024);
            io::Error::new(error.kind(), format!("it is one JSON object, larger than {mib} MiB"))
        }
        _ => error,
    })
}

/// Refuses a file that unpacks to more than `bytes_max`: a few kilobytes can unpack to gigabytes.
pub fn read_within(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    outside::whole(reader(path)?, bytes_max)
}

/// A transcript as a stream, plain or compressed.
pub fn reader(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::new(outside::open(path)?);
    Ok(match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        // Each append to a compressed file added a frame. All are read.
        Some("zst") => Box::new(BufReader::new(Decoder::with_buffer(file)?)),
        _ => Box::new(file),
    })
}

/// The name of a file without that of its compression.
pub fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name).to_string()
}

/// The lines of a transcript, one in memory at a time.
pub struct FileLines {
    reader: Box<dyn BufRead>,
    at: u64,
}

pub struct FileLine {
    /// Empty if the line is too long, and if it has no long texts that could be kept in part.
    pub bytes: Vec<u8>,
    /// Where it ends.
    pub to: u64,
    pub is_long: bool,
    /// Long texts in it are kept in part.
    pub is_shortened: bool,
    /// Otherwise it may still be being written.
    pub is_ended: bool,
}

impl FileLines {
    pub fn open(path: &Path) -> io::Result<FileLines> {
        Ok(FileLines { reader: reader(path)?, at: 0 })
    }

    /// Begins at an offset.
    pub fn after(path: &Path, from: u64) -> io::Result<FileLines> {
        if matches!(path.extension().and_then(|ending| ending.to_str()), Some("gz" | "zst")) {
            let mut reader = reader(path)?;
            io::copy(&mut reader.by_ref().take(from), &mut io::sink())?;
            return Ok(FileLines { reader, at: from });
        }
        let mut file = outside::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(FileLines { reader: Box::new(BufReader::new(file)), at: from })
    }

    pub fn next_line(&mut self) -> io::Result<Option<FileLine>> {
        self.next_line_with(&mut || true)
    }

    /// The same. `before_large` is called when the line turns out to be large, and decides whether it is read at all.
    pub fn next_line_with(&mut self, before_large: &mut dyn FnMut() -> bool) -> io::Result<Option<FileLine>> {
        let mut line =
            FileLine { bytes: Vec::new(), to: self.at, is_long: false, is_shortened: false, is_ended: false };
        let (mut is_large, mut shortened) = (false, None::<ShortenedLine>);
        while !line.is_ended {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let end = memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if !is_large && line.bytes.len() + taken > LARGE_BYTES {
                is_large = true;
                if !before_large() {
                    return Ok(None);
                }
                line.bytes.reserve_exact(LINE_BYTES_MAX - line.bytes.len());
            }
            if shortened.is_none() && line.bytes.len() + taken > LINE_BYTES_MAX {
                shortened.get_or_insert_default().push(&std::mem::take(&mut line.bytes));
            }
            match &mut shortened {
                Some(shortened) if line.is_long => *shortened = ShortenedLine::default(),
                Some(shortened) => {
                    shortened.push(&bytes[..taken]);
                    line.is_long = shortened.len() > LINE_BYTES_MAX;
                }
                None => line.bytes.extend_from_slice(&bytes[..taken]),
            }
            line.is_ended = end.is_some();
            self.reader.consume(taken);
            line.to += taken as u64;
        }
        if let Some(shortened) = shortened.filter(|_| !line.is_long) {
            (line.bytes, line.is_shortened) = (shortened.finish(), true);
        }
        let is_any = line.to > self.at;
        self.at = line.to;
        Ok(is_any.then_some(line))
    }
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
