//! Where new records go: into the journal and then the view, or only into a preview of the view.
//!
//! A preview shows what the view would be if the records were written. It ends without a trace: neither the journal nor
//! the view is changed.

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Record;

use super::fold::{self, FoldError};
use super::{FoldTransaction, Store};
use crate::journal;
use crate::project::opted_out::OptedOut;

pub struct Recorder<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    target: RecordTarget<'a>,
}

enum RecordTarget<'a> {
    Journal(&'a mut Store),
    Preview(&'a Store, Box<FoldTransaction<'a>>),
}

impl<'a> Recorder<'a> {
    pub fn journal(home: &'a Home, clock: &'a Clock, store: &'a mut Store) -> Recorder<'a> {
        Recorder { home, clock, target: RecordTarget::Journal(store) }
    }

    /// Everything that is recorded is seen in `store` until the recorder is dropped.
    pub fn preview(home: &'a Home, clock: &'a Clock, store: &'a Store) -> Result<Recorder<'a>, FoldError> {
        let transaction = Box::new(store.begin_preview()?);
        Ok(Recorder { home, clock, target: RecordTarget::Preview(store, transaction) })
    }

    pub fn store(&self) -> &Store {
        match &self.target {
            RecordTarget::Journal(store) => store,
            RecordTarget::Preview(store, _) => store,
        }
    }

    pub fn record(&mut self, records: &[Record]) -> Result<(), FoldError> {
        match &mut self.target {
            _ if records.is_empty() => {}
            RecordTarget::Journal(store) => {
                journal::append_all(self.home, self.clock.wall, records)?;
                fold::fold(self.home, store)?;
            }
            RecordTarget::Preview(_, transaction) => {
                let opted_out = OptedOut::new(self.home);
                for record in records {
                    match opted_out.hidden(record) {
                        None => transaction.apply_newest(record)?,
                        Some(event) => transaction.apply_newest(&Record { event, ..record.clone() })?,
                    }
                }
            }
        }
        Ok(())
    }
}
