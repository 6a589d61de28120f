//! Follows an agent's session file while it is written, for agents whose output does not say how full the context is.
//!
//! Only new data is read, line by line; an incomplete line waits for its end. A file that is missing, or was replaced
//! by a shorter one, yields nothing.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use cerberus_agents::stream::StreamEvent;
use cerberus_os::outside;

/// How much is read at a time.
const LOOK_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// A longer line contains no token count.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A file that is being written, and how far it was read.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// Interprets a line.
    read: fn(&[u8]) -> Vec<StreamEvent>,
    offset: u64,
    /// The beginning of an incomplete line.
    begun: Vec<u8>,
    /// The current line is too long; it is skipped up to its end.
    is_skipping: bool,
}

impl Tail {
    pub fn new(path: PathBuf, read: fn(&[u8]) -> Vec<StreamEvent>) -> Tail {
        Tail { path, read, offset: 0, begun: Vec::new(), is_skipping: false }
    }

    /// What the agent has reported since the last call.
    pub fn read_new(&mut self) -> Vec<StreamEvent> {
        let mut added = Vec::new();
        let read = outside::open(&self.path).and_then(|mut file| {
            if file.metadata()?.len() < self.offset {
                *self = Tail::new(self.path.clone(), self.read);
            }
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(LOOK_BYTES_MAX).read_to_end(&mut added)
        });
        // After an error, the same bytes are read again.
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
                said.extend((self.read)(&self.begun));
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
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::Path;

    use cerberus_agents::codex::rollout;
    use cerberus_agents::meter::{Certainty, Measure, Meter, Windows};

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
    fn the_meter_follows_a_file_that_is_written_in_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        let mut tail = Tail::new(path.clone(), rollout::read);
        let mut meter = Meter::new(Measure::Usage, Windows::default(), None);
        let mut look = |meter: &mut Meter| {
            tail.read_new().iter().for_each(|said| meter.observe(said));
            meter.reading().percent
        };
        assert_eq!(look(&mut meter), None, "it does not exist yet");
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
        assert_eq!(look(&mut meter), Some(5.0), "the file was replaced");
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        append(&path, &"x".repeat(LINE_BYTES_MAX + 10));
        let mut tail = Tail::new(path.clone(), rollout::read);
        assert_eq!(tail.read_new(), []);
        assert!(tail.begun.is_empty());
        append(&path, &format!("{}\n{}\n", token_count(1), token_count(2)));
        assert_eq!(tail.read_new().len(), 4, "the line after it counts");
    }
}
