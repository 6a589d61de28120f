//! What was sealed and waits to be sent, and what the streams of this device hold.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use cerberus_os::fault;
use cerberus_os::home::{Access, create_dir};
use cerberus_os::outside;

use super::files::FILE_BYTES_MAX;
use super::local::{Files, Shared, Space};
use super::transport::Sealed;
use super::{Result, SyncError};

const OUTBOX: &str = "outbox";

impl Files<'_> {
    /// Keeps a sealed batch until the hub has it. A retry sends the same bytes.
    pub fn keep(&self, space: &Space, project: &Shared, generation: u64, batch: &Sealed) -> Result<()> {
        let path =
            self.path(OUTBOX).join(format!("{}-{}-{generation}-{}", space.number, project.number, batch.sequence));
        let write = || -> io::Result<()> {
            create_dir(&self.path(OUTBOX))?;
            fault::point("sync-seal")?;
            self.home.replace(&path, &batch.bytes)
        };
        write().map_err(|source| SyncError::Local { path: path.clone(), source })
    }

    /// The batches of a stream that wait, in order: generation and batch.
    pub fn kept(&self, space: &Space, project: &Shared) -> Result<Vec<(u64, Sealed)>> {
        let mut found = Vec::new();
        for (generation, sequence, path) in self.kept_files(space, project)? {
            let read = self.home.open(&path, Access::Read).and_then(|file| outside::whole(file, FILE_BYTES_MAX));
            let bytes = read.map_err(|source| SyncError::Local { path, source })?;
            found.push((generation, Sealed { sequence, bytes }));
        }
        Ok(found)
    }

    fn kept_files(&self, space: &Space, project: &Shared) -> Result<Vec<(u64, u64, PathBuf)>> {
        let entries = match fs::read_dir(self.path(OUTBOX)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| SyncError::Local { path: self.path(OUTBOX), source })?,
        };
        let prefix = format!("{}-{}-", space.number, project.number);
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((generation, sequence)) = name.strip_prefix(&prefix).and_then(|rest| rest.split_once('-')) else {
                continue;
            };
            if let (Ok(generation), Ok(sequence)) = (generation.parse(), sequence.parse()) {
                found.push((generation, sequence, entry.path()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Drops the batches of a stream that `is_done`.
    pub fn drop_kept(&self, space: &Space, project: &Shared, is_done: impl Fn(u64, u64) -> bool) -> Result<()> {
        for (generation, sequence, path) in self.kept_files(space, project)? {
            if is_done(generation, sequence) {
                fs::remove_file(&path).map_err(|source| SyncError::Local { path, source })?;
            }
        }
        Ok(())
    }

    fn sent_path(&self, space: &Space, project: &Shared) -> PathBuf {
        self.path(&format!("sent-{}-{}", space.number, project.number))
    }

    /// What the current generation of a stream holds: the place and a checksum of each of its `count` records.
    pub fn sent(&self, space: &Space, project: &Shared, count: u64) -> Result<Vec<(u64, u32)>> {
        let path = self.sent_path(space, project);
        let read = self.home.open(&path, Access::Read).and_then(|file| outside::whole(file, 1 << 30));
        let bytes = match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|source| SyncError::Local { path, source })?,
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        let all = bytes.chunks_exact(12).map(|one| (number(&one[..8]), number(&one[8..]) as u32));
        Ok(all.take(usize::try_from(count).unwrap_or(usize::MAX)).collect())
    }

    /// Adds records after the first `count`; what a killed process left behind them is cut off.
    pub fn add_sent(&self, space: &Space, project: &Shared, count: u64, records: &[(u64, u32)]) -> Result<()> {
        let path = self.sent_path(space, project);
        let bytes: Vec<u8> =
            records.iter().flat_map(|(seq, crc)| [seq.to_be_bytes().as_slice(), &crc.to_be_bytes()].concat()).collect();
        let write = || -> io::Result<()> {
            create_dir(&self.home.sync_dir())?;
            let mut file = self.home.open(&path, Access::AppendOrCreate)?;
            file.set_len(file.metadata()?.len().min(count * 12))?;
            file.write_all(&bytes)?;
            file.sync_data()
        };
        write().map_err(|source| SyncError::Local { path: path.clone(), source })
    }

    pub fn clear_sent(&self, space: &Space, project: &Shared) -> Result<()> {
        let path = self.sent_path(space, project);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SyncError::Local { path, source }),
            _ => Ok(()),
        }
    }
}
