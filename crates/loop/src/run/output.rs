//! Stores what an attempt printed: without secrets, private passages and lines that name an opted-out project, up to a
//! limit, readable by the owner only.
//!
//! Best effort: if the disk is full, the output is lost and the loop goes on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use cerberus_os::home::{Access, Home};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::tag::Passages;
use cerberus_store::project::identity::locate;
use cerberus_store::project::opted_out::OptedOut;

/// Longer output is cut; the user saw it live anyway.
const OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct AgentOutput {
    file: Option<File>,
    written_bytes: usize,
    home: Home,
    root: PathBuf,
    cwd: PathBuf,
    passages: Passages,
}

impl AgentOutput {
    /// `cwd` is the folder that the agent works in.
    pub fn create(home: &Home, path: &Path, cwd: &Path) -> AgentOutput {
        let located = locate(cwd);
        let file = home.open(path, Access::AppendOrCreate).ok();
        let passages = Passages::default();
        AgentOutput { file, written_bytes: 0, home: home.clone(), root: located.root, cwd: located.cwd, passages }
    }

    pub fn cleaner(&self) -> &Cleaner {
        self.home.cleaner()
    }

    pub fn keep(&mut self, line: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let text = String::from_utf8_lossy(line);
        let open = self.passages.outside(text.trim_end_matches('\n'));
        if OptedOut::new(&self.home).is_named_in(&self.root, &self.cwd, &open) {
            return;
        }
        let kept = self.home.cleaner().redact_words(&open);
        self.written_bytes += kept.len() + 1;
        if self.written_bytes > OUTPUT_BYTES_MAX {
            let _ = writeln!(file, "… the rest was discarded");
            self.file = None;
        } else if writeln!(file, "{kept}").is_err() {
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed_and_the_size_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.log");
        let mut output = AgentOutput::create(&Home::new(dir.path().to_path_buf()), &path, dir.path());
        output.keep(concat!("key gh", "p_0123456789abcdefghijABCDEFGHIJ012345 end\n").as_bytes());
        for line in ["a <private>harbour\n", "pier\n", "lantern</private> b\n"] {
            output.keep(line.as_bytes());
        }
        for _ in 0..9 {
            output.keep(&[b'x'; 1024 * 1024]);
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert!(kept.starts_with("key [redacted") && kept.ends_with("the rest was discarded\n"));
        assert!(kept.contains("\na \n\n b\n") && !kept.contains("pier"), "a passage may extend over lines");
        assert!(kept.len() <= OUTPUT_BYTES_MAX + 100);
    }
}
