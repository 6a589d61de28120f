//! Which records of this home go into a stream.

use std::collections::{BTreeMap, HashMap};

use cerberus_record::event::{Event, MemoryChange, Record};
use cerberus_record::id::ProjectId;
use cerberus_record::kind::EventKind;
use cerberus_record::memory::Scope;
use cerberus_store::journal::{self, Segment};
use cerberus_store::view::Store;

use super::Result;
use super::batch::Entry;
use super::project::SharedProject;
use crate::share::{self, ShareAudience, Sharing};

/// Records for a stream, in the order of their places, and how far the journal was read.
pub struct Gathered {
    pub entries: Vec<Entry>,
    pub read: BTreeMap<String, u64>,
}

impl SharedProject<'_> {
    /// Reads this home's own records from where `from` says.
    pub fn gather(&self, store: &Store, from: &BTreeMap<String, u64>) -> Result<Gathered> {
        // The team knows what the project is called.
        let is_other = |name: &&String| !name.eq_ignore_ascii_case(&self.shared.name);
        let names: Vec<String> = self.shared.names.iter().filter(is_other).cloned().collect();
        let ids = self.ids(store)?;
        let sharing = Sharing { space: self.audience(), ids: &ids, names: &names, cleaner: self.home.cleaner() };
        let mut entries = Vec::new();
        let read = self.each_own(store, from, |seq, record| {
            if let Some(json) = written(&record, &sharing).filter(|json| json.len() <= self.record_bytes_max()) {
                entries.push(Entry { seq, json });
            }
        })?;
        entries.sort_by(|a, b| (a.seq, &a.json).cmp(&(b.seq, &b.json)));
        entries.dedup();
        Ok(Gathered { entries, read })
    }

    /// Looks at this home's own records of the stream, with their places. Returns how far the journal was read.
    pub fn each_own(
        &self,
        store: &Store,
        from: &BTreeMap<String, u64>,
        mut look: impl FnMut(u64, Record),
    ) -> Result<BTreeMap<String, u64>> {
        let mut memories = Memories { store, known: HashMap::new() };
        let (ids, mut read) = (self.ids(store)?, BTreeMap::new());
        let segments = journal::segments(self.home)?.into_iter();
        for Segment { name, .. } in segments.filter(|one| !journal::is_replica(&one.name)) {
            let mut offset = from.get(&name).copied().unwrap_or(0);
            loop {
                let stretch = journal::read(self.home, &name, offset)?;
                if stretch.next_offset == offset {
                    break;
                }
                for (at, line) in stretch.lines() {
                    let Some(sealed) = journal::decode(line) else { continue };
                    let Some(record) = sealed.record() else { continue };
                    let seq = stretch.order(at, &sealed).seq;
                    if self.has(&record, &ids, &mut memories)? {
                        look(seq, record);
                    }
                }
                offset = stretch.next_offset;
            }
            read.insert(name, offset);
        }
        Ok(read)
    }

    /// Whether a record is one of this stream.
    fn has(&self, record: &Record, ids: &[ProjectId], memories: &mut Memories) -> Result<bool> {
        let (is_here, is_space) = (ids.contains(&record.location.project), self.shared.is_space());
        Ok(match (&record.event, self.audience()) {
            (Event::Forgotten(_), ShareAudience::Me) => is_space,
            (Event::Forgotten(_), ShareAudience::Team) => false,
            (Event::Memory(change), _) => match memories.place(change)? {
                (Some(project), _) => ids.contains(&project),
                (None, is_everywhere) => is_space && is_everywhere,
            },
            (Event::Open(_), audience) => is_here && audience == ShareAudience::Team,
            (event, ShareAudience::Me) => is_here && EventKind::of(event).is_of_a_session(),
            (_, ShareAudience::Team) => false,
        })
    }
}

/// Of the lists of what is open, each of which replaces the one before it, only the newest.
pub fn keep_newest_list(entries: &mut Vec<Entry>) {
    let is_list = |entry: &Entry| {
        Record::read_json(entry.json.as_bytes()).is_ok_and(|record| matches!(record.event, Event::Open(_)))
    };
    let newest = entries.iter().rposition(is_list);
    let mut at = 0..;
    entries.retain(|entry| at.next() == newest || !is_list(entry));
}

fn written(record: &Record, sharing: &Sharing) -> Option<String> {
    match &record.event {
        // Names that only the devices of this space can compute.
        Event::Forgotten(_) => serde_json::to_string(record).ok(),
        _ => serde_json::to_string(&share::shared(record, sharing)?).ok(),
    }
}

/// Where memories apply: an undone change does not say it itself.
struct Memories<'a> {
    store: &'a Store,
    known: HashMap<String, (Option<ProjectId>, bool)>,
}

impl Memories<'_> {
    /// The project, if it is one, and whether it applies beyond projects.
    fn place(&mut self, change: &MemoryChange) -> Result<(Option<ProjectId>, bool)> {
        let of = |scope: &str, project: &Option<ProjectId>| {
            let is_projects = matches!(Scope::parse(scope), Some(Scope::Project(_)) | None);
            (project.clone().filter(|_| is_projects), !is_projects)
        };
        if let Some(memory) = &change.memory {
            let place = of(&memory.scope, &memory.project);
            self.known.insert(change.id.to_string(), place.clone());
            return Ok(place);
        }
        if let Some(place) = self.known.get(&*change.id) {
            return Ok(place.clone());
        }
        let versions = self.store.memory_versions(&change.id)?;
        let place = versions.first().map_or((None, false), |(_, memory)| of(&memory.scope, &memory.project));
        self.known.insert(change.id.to_string(), place.clone());
        Ok(place)
    }
}
