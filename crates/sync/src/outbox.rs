//! What was sealed and waits to be sent, and what the streams of this device hold.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cerberus_os::fault;
use cerberus_os::home::{Access, create_dir};
use cerberus_os::outside;

use super::project::SharedProject;
use super::transport::Sealed;
use super::{Result, at};

const OUTBOX: &str = "outbox";
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

impl SharedProject<'_> {
    fn outbox(&self) -> PathBuf {
        self.files().path(OUTBOX)
    }

    /// Keeps a sealed batch until the hub has it. A retry sends the same bytes.
    pub fn keep(&self, generation: u64, batch: &Sealed) -> Result<()> {
        let (space, project) = (self.space.number, self.shared.number);
        let path = self.outbox().join(format!("{space}-{project}-{generation}-{}", batch.sequence));
        let write = || -> io::Result<()> {
            create_dir(&self.outbox())?;
            fault::point("sync-seal")?;
            self.home.replace(&path, &batch.bytes)
        };
        at(&path, write())
    }

    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.home.open(path, Access::Read).and_then(|file| outside::whole(file, bytes_max))
    }

    /// The batches of the stream that wait, in order: generation and batch.
    pub fn kept(&self) -> Result<Vec<(u64, Sealed)>> {
        let read = |(generation, sequence, path): (u64, u64, PathBuf)| {
            let bytes = at(&path, self.read(&path, FILE_BYTES_MAX))?;
            Ok((generation, Sealed { sequence, bytes }))
        };
        self.kept_files()?.into_iter().map(read).collect()
    }

    fn kept_files(&self) -> Result<Vec<(u64, u64, PathBuf)>> {
        let entries = match fs::read_dir(self.outbox()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => at(&self.outbox(), entries)?,
        };
        let prefix = format!("{}-{}-", self.space.number, self.shared.number);
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (generation, sequence) = name.strip_prefix(&prefix)?.split_once('-')?;
            Some((generation.parse().ok()?, sequence.parse().ok()?, entry.path()))
        };
        let mut found: Vec<(u64, u64, PathBuf)> = entries.flatten().filter_map(file).collect();
        found.sort();
        Ok(found)
    }

    /// Drops the batches of the stream that `is_done`.
    pub fn drop_kept(&self, is_done: impl Fn(u64, u64) -> bool) -> Result<()> {
        let files = self.kept_files()?.into_iter();
        let mut done = files.filter(|(generation, sequence, _)| is_done(*generation, *sequence));
        done.try_for_each(|(_, _, path)| at(&path, fs::remove_file(&path)))
    }

    fn sent_path(&self) -> PathBuf {
        self.files().path(&format!("sent-{}-{}", self.space.number, self.shared.number))
    }

    /// What the current generation of the stream holds: the place and a checksum of each of its `count` records.
    pub fn sent(&self, count: u64) -> Result<Vec<(u64, u32)>> {
        let path = self.sent_path();
        let bytes = match self.read(&path, 1 << 30) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => at(&path, read)?,
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        let all = bytes.chunks_exact(12).map(|one| (number(&one[..8]), number(&one[8..]) as u32));
        Ok(all.take(usize::try_from(count).unwrap_or(usize::MAX)).collect())
    }

    /// Adds records after the first `count`; what a killed process left behind them is cut off.
    pub fn add_sent(&self, count: u64, records: &[(u64, u32)]) -> Result<()> {
        let path = self.sent_path();
        let bytes = records.iter().flat_map(|(seq, crc)| [seq.to_be_bytes().as_slice(), &crc.to_be_bytes()].concat());
        let write = || -> io::Result<()> {
            create_dir(&self.home.sync_dir())?;
            let mut file = self.home.open(&path, Access::AppendOrCreate)?;
            file.set_len(file.metadata()?.len().min(count * 12))?;
            file.write_all(&bytes.collect::<Vec<u8>>())?;
            file.sync_data()
        };
        at(&path, write())
    }

    pub fn clear_sent(&self) -> Result<()> {
        let path = self.sent_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => at(&path, removed),
        }
    }
}
