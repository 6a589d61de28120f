//! What other devices recorded, as segments of this home's journal. Everything is cleaned once more before it is written.

use std::collections::HashSet;
use std::time::Duration;

use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Forgotten, ForgottenRecord, Location, Record, RecordOrigin};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::order::{DeviceId, Order};
use cerberus_record::time::Timestamp;
use cerberus_store::journal::{self, JournalLine, LinePosition, Segment, rewrite};
use cerberus_store::project::opted_out::OptedOut;
use cerberus_store::view::Store;
use cerberus_store::view::fold;

use super::Result;
use super::batch::Entry;
use super::crypto::{self, Key};
use super::project::SharedProject;
use crate::share::{self, Arrival, ShareAudience};

/// A name of something forgotten has this many characters at most.
const NAME_CHARS_MAX: usize = 64;
/// More than any device lists in one record.
const NAMES_MAX: usize = 1_000;

/// Records that were not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of a kind that this version does not know.
    pub unknown: usize,
    pub large: usize,
}

/// A stream whose records arrive.
pub struct Arriving<'a> {
    pub project: SharedProject<'a>,
    pub device: DeviceId,
    pub is_container: bool,
    pub author: &'a str,
    pub received: Timestamp,
    /// How far the clock of the device is behind.
    pub behind: Duration,
}

impl Arriving<'_> {
    /// The lines to store. `last` is the place of the record before them, or 0.
    pub fn lines(&self, entries: &[Entry], last: &mut u64, left_out: &mut LeftOut) -> Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        let opted_out = OptedOut::new(self.project.home);
        let newest = journal::micros(self.received);
        for entry in entries {
            if entry.json.len() > self.project.record_bytes_max() {
                left_out.large += 1;
                continue;
            }
            let Ok(record) = Record::read_json(entry.json.as_bytes()) else {
                left_out.unknown += 1;
                continue;
            };
            let Some(record) = self.cleaned(&record) else { continue };
            // Nothing can have happened later than now. Records of a clock that is ahead keep their order.
            let seq = if entry.seq > newest { newest.max(*last + 1) } else { entry.seq };
            *last = seq;
            let order = Order { seq, device: self.device };
            let line = match opted_out.hidden(&record) {
                None => journal::encode(&record, order),
                Some(event) => journal::encode(&Record { event, ..record }, order),
            };
            lines.push(line.map_err(journal::JournalError::Encode)?);
        }
        Ok(lines)
    }

    fn cleaned(&self, record: &Record) -> Option<Record<'static>> {
        let SharedProject { home, shared, .. } = self.project;
        let (cleaner, nowhere, space) = (home.cleaner(), shared.is_space(), self.project.audience());
        let text = |text: &str| cleaner.clean(text.to_string(), Keep::NAME);
        let project = if nowhere { ProjectId::of_anchor(b"") } else { shared.project() };
        let (name, root, cwd) = (text(&shared.name), text(&shared.root), text(&shared.root));
        let location = Location { project, name, root, cwd, branch: None };
        if let Event::Forgotten(names) = &record.event {
            let is_allowed = nowhere && space == ShareAudience::Me && !self.is_container;
            return is_allowed.then(|| self.tombstones(record, names, location)).flatten();
        }
        let Arriving { device, is_container, author, received, behind, .. } = *self;
        let location = &location;
        share::arrived(record, &Arrival { space, device, is_container, author, location, received, behind, cleaner })
    }

    /// A list of forgotten records: names only, nothing else.
    fn tombstones(&self, record: &Record, names: &Forgotten, location: Location<'static>) -> Option<Record<'static>> {
        let cleaner = self.project.home.cleaner();
        let name = |name: &str| -> Option<Clean<'static>> {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let is_name = name.len() <= NAME_CHARS_MAX && name.bytes().all(is_plain);
            is_name.then(|| cleaner.clean(name.to_string(), Keep::NAME)).filter(|clean| **clean == *name)
        };
        let one = |one: &ForgottenRecord| {
            let kept = one.kept.as_ref().map(|kept| name(kept).ok_or(())).transpose().ok()?;
            Some(ForgottenRecord { record: name(&one.record)?, kept })
        };
        let records = names.records.iter().take(NAMES_MAX).filter_map(one).collect();
        let session = |(session, until): &(Clean, Timestamp)| Some((name(session)?, *until));
        let sessions = names.sessions.iter().take(NAMES_MAX).filter_map(session).collect();
        let periods = names.periods.iter().take(NAMES_MAX).copied().collect();
        let key = crypto::sha256(&[self.device.to_string().as_bytes(), record.key.as_bytes()]);
        let key = cleaner.clean(format!("forgotten-{}", crypto::hex::text(&key[..8])), Keep::NAME);
        let device = cleaner.clean(self.device.to_string(), Keep::NAME);
        Some(Record {
            at: record.at.min(self.received),
            key,
            agent: Agent::MANUAL,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: Some(RecordOrigin { device, author: None }),
            session: Clean::word(""),
            location,
            event: Event::Forgotten(Forgotten { records, sessions, periods, is_taken_back: names.is_taken_back }),
        })
    }

    /// Replaces all lines of this device by these: the stream began again, because something was forgotten.
    pub fn replace(&self, store: &mut Store, lines: Vec<Vec<u8>>) -> Result<()> {
        let trimmed = |line: &[u8]| line.trim_ascii().to_vec();
        let wanted: HashSet<Vec<u8>> = lines.iter().map(|line| trimmed(line)).collect();
        let mut kept: HashSet<Vec<u8>> = HashSet::new();
        let mut gone: Vec<LinePosition> = Vec::new();
        self.project.each_line(|position, line| {
            if let JournalLine::Whole(sealed) = line
                && sealed.order.is_some_and(|order| order.device == self.device)
                && !(wanted.contains(sealed.json) && kept.insert(sealed.json.to_vec()))
            {
                gone.push(position);
            }
        })?;
        let new: Vec<Vec<u8>> = lines.into_iter().filter(|line| !kept.contains(&trimmed(line))).collect();
        if gone.is_empty() {
            return self.project.append(self.received, &new);
        }
        self.project.rewrite(store, &gone, || self.project.append(self.received, &new))
    }
}

/// What the replicas of a project hold, so that nothing is stored twice.
#[derive(Default)]
pub struct Held {
    records: HashSet<Key>,
    devices: HashSet<DeviceId>,
}

impl Held {
    /// `None` if the replicas are as long as they were when it was last noted how far streams were read: then nothing
    /// that arrives is there yet.
    pub fn unless(bytes: u64, project: SharedProject) -> Result<Option<Held>> {
        if project.replica_bytes()? == bytes {
            return Ok(None);
        }
        let mut held = Held::default();
        for segment in project.segments()? {
            for stretch in journal::stretches(project.home, &segment.name) {
                for (_, line) in stretch?.lines() {
                    let Some((device, record)) = identity(line) else { continue };
                    held.devices.insert(device);
                    held.records.insert(record);
                }
            }
        }
        Ok(Some(held))
    }

    pub fn has(&self, line: &[u8]) -> bool {
        identity(line).is_some_and(|(_, record)| self.records.contains(&record))
    }

    /// Whether anything of this device is there.
    pub fn has_any_of(&self, device: &str) -> bool {
        DeviceId::parse(device).is_some_and(|device| self.devices.contains(&device))
    }
}

/// What identifies a record of another device. Its place and its time do not: if that device's clock is ahead, they
/// depend on when it arrived.
fn identity(line: &[u8]) -> Option<(DeviceId, Key)> {
    let sealed = journal::decode(line.trim_ascii())?;
    let (device, record) = (sealed.order?.device, sealed.record()?);
    let event = serde_json::to_vec(&record.event).ok()?;
    let names = format!("{device}\n{}\n{}\n{}\n", record.agent.name(), &*record.session, &*record.key);
    Some((device, crypto::sha256(&[names.as_bytes(), &event])))
}

/// Whether a line lists what was forgotten.
pub fn is_list(line: &[u8]) -> bool {
    let record = journal::decode(line.trim_ascii()).and_then(|sealed| sealed.record());
    record.is_some_and(|record| matches!(record.event, Event::Forgotten(_)))
}

impl SharedProject<'_> {
    fn is_replica(&self, segment: &str) -> bool {
        journal::is_replica_of(segment, self.space.number, self.shared.number)
    }

    fn segments(&self) -> Result<impl Iterator<Item = Segment>> {
        Ok(journal::segments(self.home)?.into_iter().filter(|one| self.is_replica(&one.name)))
    }

    /// How long the replicas are together.
    pub fn replica_bytes(&self) -> Result<u64> {
        Ok(self.segments()?.map(|segment| segment.bytes).sum())
    }

    /// Looks at every line of the replicas.
    pub fn each_line(&self, mut look: impl FnMut(LinePosition, JournalLine)) -> Result<()> {
        Ok(journal::each_line(self.home, |position, line| {
            if self.is_replica(&position.segment) {
                look(position, line);
            }
        })?)
    }

    /// Adds lines to what arrived on this day.
    pub fn append(&self, wall: Timestamp, lines: &[Vec<u8>]) -> Result<()> {
        let segment = journal::replica_of(wall, self.space.number, self.shared.number);
        Ok(journal::append_to(self.home, &segment, lines)?)
    }

    /// Removes everything that arrived.
    pub fn drop_all(&self, store: &mut Store) -> Result<()> {
        let mut gone = Vec::new();
        self.each_line(|position, _| gone.push(position))?;
        if gone.is_empty() { Ok(()) } else { self.rewrite(store, &gone, || Ok(())) }
    }

    /// Removes lines after something was added, in one step of the view.
    fn rewrite(&self, store: &mut Store, gone: &[LinePosition], add: impl FnOnce() -> Result<()>) -> Result<()> {
        let transaction = store.begin_fold()?;
        add()?;
        rewrite::remove(self.home, gone)?;
        fold::rebuild_within(self.home, &transaction)?;
        transaction.forget_terms()?;
        transaction.commit()?;
        store.wipe_deleted()?;
        Ok(rewrite::done(self.home)?)
    }
}

#[cfg(test)]
mod tests {
    use cerberus_os::home::Home;

    use super::super::document::SPACE_PLACE;
    use super::super::local::{Shared, Space};
    use super::*;

    #[test]
    fn lists_of_forgotten_records_are_taken_from_own_devices_only_and_hold_nothing_but_names() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let (received, later) = (Timestamp::from_millis(1_000), Timestamp::from_millis(9_000));
        let name = |name: &str, kept: Option<&str>| ForgottenRecord {
            record: home.cleaner().clean(name.to_string(), Keep::NAME),
            kept: kept.map(|kept| home.cleaner().clean(kept.to_string(), Keep::NAME)),
        };
        let long = "a".repeat(NAME_CHARS_MAX + 1);
        let records =
            vec![name("e-1", Some("v-1")), name("two words", None), name("e-2", Some("a/b")), name(&long, None)];
        let location = Location {
            project: ProjectId::of_anchor(b""),
            name: Clean::word(""),
            root: Clean::word(""),
            cwd: Clean::word(""),
            branch: None,
        };
        let sent = Record {
            at: later,
            key: Clean::word("k"),
            agent: Agent::MANUAL,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: Clean::word(""),
            location,
            event: Event::Forgotten(Forgotten { records, ..Forgotten::default() }),
        };
        let taken = |team: Option<&str>, place: &str| {
            let space = Space { team: team.map(str::to_string), ..Space::default() };
            let shared = Shared { id: place.to_string(), project: "p".to_string(), ..Shared::default() };
            let (project, device) = (SharedProject { home: &home, space: &space, shared: &shared }, [7; 8]);
            let device = DeviceId::from_bytes(device);
            let behind = Duration::ZERO;
            Arriving { project, device, is_container: false, author: "", received, behind }.cleaned(&sent)
        };
        assert_eq!(taken(Some("acme"), SPACE_PLACE), None, "a teammate forgets nothing here");
        assert_eq!(taken(None, "p"), None, "it belongs to the space, not to a project");
        let kept = taken(None, SPACE_PLACE).unwrap();
        assert_eq!(kept.at, received, "a clock that is ahead");
        let Event::Forgotten(Forgotten { records, .. }) = kept.event else { panic!() };
        assert_eq!(records, [name("e-1", Some("v-1"))]);
    }
}
