//! Codex's session file, followed while it is written: there alone stands how full its context is.
//!
//! Only what was added is read, line by line; a line that is not whole yet waits for its end. A file that is missing,
//! or was replaced by a shorter one, says nothing.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cerberus_core::agents::codex::rollout;
use cerberus_core::agents::stream::Said;

use crate::os::outside;

/// Years, months and days that are looked through for a session, the newest first.
const FOLDERS_MAX: usize = 40;
/// What is read at one look.
const LOOK_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// A longer line holds no count of tokens.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The file of a thread, once Codex has made it. `codex_home` is the folder that `CODEX_HOME` names.
pub fn find(codex_home: &Path, thread: &str) -> Option<PathBuf> {
    let is_id = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let ending = format!("-{thread}.jsonl");
    let is_its = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending));
    let days = newest_first(&codex_home.join("sessions")).into_iter().flat_map(|year| newest_first(&year));
    let mut days = days.flat_map(|month| newest_first(&month)).take(FOLDERS_MAX);
    if is_id { days.find_map(|day| newest_first(&day).into_iter().find(is_its)) } else { None }
}

fn newest_first(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found.reverse();
    found
}

/// A file that is being written, as far as it was read.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
    /// The line is too long to be of use; its end is waited for.
    is_skipping: bool,
}

impl Tail {
    pub fn new(path: PathBuf) -> Tail {
        Tail { path, offset: 0, begun: Vec::new(), is_skipping: false }
    }

    /// What was added since the last look says this.
    pub fn look(&mut self) -> Vec<Said> {
        let mut added = Vec::new();
        let read = outside::open(&self.path).and_then(|mut file| {
            if file.metadata()?.len() < self.offset {
                *self = Tail::new(self.path.clone());
            }
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(LOOK_BYTES_MAX).read_to_end(&mut added)
        });
        // What was read before an error is read again.
        if read.is_err() {
            return Vec::new();
        }
        self.offset += added.len() as u64;
        let mut said = Vec::new();
        for piece in added.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_skipping {
                self.begun.extend_from_slice(piece);
            }
            if piece.last() == Some(&b'\n') {
                said.extend(rollout::read(&self.begun));
                self.begun.clear();
                self.is_skipping = false;
            } else if self.begun.len() > LINE_BYTES_MAX {
                self.begun.clear();
                self.is_skipping = true;
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use cerberus_core::loops::meter::{Certainty, Measure, Meter, Windows};

    use super::*;

    fn token_count(last: u64) -> String {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"total_tokens":{last}}},"last_token_usage":{{"total_tokens":{last}}},"model_context_window":1000}}}}}}"#
        )
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_newest_file_of_the_thread_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let day = |name: &str| {
            let day = dir.path().join("sessions").join(name);
            fs::create_dir_all(&day).unwrap();
            day
        };
        fs::write(day("2026/01/02").join("rollout-2026-01-02T10-00-00-abc-1.jsonl"), "").unwrap();
        fs::write(day("2025/12/31").join("rollout-2025-12-31T10-00-00-abc-2.jsonl"), "").unwrap();
        let found = |thread| find(dir.path(), thread).map(|path| path.strip_prefix(dir.path()).unwrap().to_path_buf());
        assert_eq!(found("abc-2"), Some(PathBuf::from("sessions/2025/12/31/rollout-2025-12-31T10-00-00-abc-2.jsonl")));
        assert!(found("abc-1").is_some());
        for odd in ["abc-3", "", "bc-1.jsonl/../x"] {
            assert_eq!(found(odd), None, "{odd}");
        }
        assert_eq!(find(&dir.path().join("nowhere"), "abc-1"), None);
    }

    #[test]
    fn the_meter_follows_a_file_that_is_written_in_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        let mut tail = Tail::new(path.clone());
        let mut meter = Meter::new(Measure::Usage, Windows::default(), None);
        let mut look = |meter: &mut Meter| {
            tail.look().iter().for_each(|said| meter.hear(said));
            meter.reading().percent
        };
        assert_eq!(look(&mut meter), None, "it is not there yet");
        append(&path, &format!("{{\"type\":\"session_meta\"}}\n{}\n", token_count(100)));
        assert_eq!(look(&mut meter), Some(10.0));
        let (begin, end) = (token_count(700), "\n");
        append(&path, &begin[..50]);
        assert_eq!(look(&mut meter), Some(10.0), "half a line");
        append(&path, &format!("{}{end}", &begin[50..]));
        assert_eq!((look(&mut meter), meter.reading().certainty), (Some(70.0), Certainty::Direct));
        append(&path, "{\"type\":\"compacted\",\"payload\":{}}\n");
        assert_eq!(look(&mut meter), None);
        fs::write(&path, format!("{}\n", token_count(50))).unwrap();
        assert_eq!(look(&mut meter), Some(5.0), "another file in its place");
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        append(&path, &"x".repeat(LINE_BYTES_MAX + 10));
        let mut tail = Tail::new(path.clone());
        assert_eq!(tail.look(), []);
        assert!(tail.begun.is_empty());
        append(&path, &format!("{}\n{}\n", token_count(1), token_count(2)));
        assert_eq!(tail.look().len(), 3, "the line after it counts");
    }
}
