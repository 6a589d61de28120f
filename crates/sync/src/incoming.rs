//! Lines of other devices that are being stored: in few writes, and never much of them in memory.

use cerberus_store::journal::rewrite;
use cerberus_store::view::Store;
use cerberus_store::view::fold;

use super::project::SharedProject;
use super::reading::{NewStream, PullReading};
use super::replica::{self, Held, LeftOut};
use super::transport::Transport;
use super::verified::VerifiedStream;
use super::{Result, pass};

/// How much may wait until it is written.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

pub struct IncomingRecords<'p> {
    reading: &'p PullReading<'p>,
    /// What a killed process stored.
    pub held: Option<Held>,
    lines: Vec<Vec<u8>>,
    bytes: usize,
    is_any: bool,
    is_forgetting: bool,
}

impl<'p> IncomingRecords<'p> {
    pub fn new(reading: &'p PullReading<'p>, held: Option<Held>) -> IncomingRecords<'p> {
        IncomingRecords { reading, held, lines: Vec::new(), bytes: 0, is_any: false, is_forgetting: false }
    }

    /// Takes the records of a stream that was verified. If it `begins_again`, they replace what is stored of it.
    pub fn take(
        &mut self,
        hub: &mut dyn Transport,
        store: &mut Store,
        new: &NewStream,
        mut stream: VerifiedStream,
        begins_again: bool,
    ) -> Result<LeftOut> {
        let arriving = self.reading.arriving(new.device, new.behind)?;
        let (mut all, mut last, mut left_out) = (Vec::new(), 0, LeftOut::default());
        while let Some(entries) = stream.next(hub)? {
            let lines = arriving.lines(&entries, &mut last, &mut left_out)?;
            match begins_again {
                true => all.extend(lines),
                false => self.add(lines)?,
            }
        }
        if begins_again {
            arriving.replace(store, all)?;
        }
        Ok(left_out)
    }

    pub fn add(&mut self, lines: Vec<Vec<u8>>) -> Result<()> {
        let held = self.held.as_ref();
        for line in lines.into_iter().filter(|line| held.is_none_or(|held| !held.has(line))) {
            self.bytes += line.len();
            self.lines.push(line);
        }
        if self.bytes > WAITING_BYTES_MAX { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let SharedProject { home, shared, .. } = self.reading.project;
        // What other devices forgot must leave the view and its free pages here too, even if this process is killed.
        if shared.is_space() && !self.is_forgetting && self.lines.iter().any(|line| replica::is_list(line)) {
            rewrite::begin(home)?;
            self.is_forgetting = true;
        }
        pass(home, "sync-append")?;
        self.reading.project.append(self.reading.wall, &self.lines)?;
        pass(home, "sync-appended")?;
        self.is_any |= !self.lines.is_empty();
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Stores the rest, and folds it.
    pub fn finish(mut self, store: &mut Store, is_any_read: bool) -> Result<()> {
        self.write()?;
        let home = self.reading.project.home;
        if self.is_forgetting {
            fold::finish_rewrite(home, store)?;
        } else if is_any_read || self.is_any {
            fold::fold_all(home, store)?;
        }
        Ok(())
    }
}
