//! Which records of this home go into a stream.

use std::collections::{BTreeMap, HashMap};

use cerberus_os::home::Home;
use cerberus_record::event::{Event, MemoryChange, Record};
use cerberus_record::id::ProjectId;
use cerberus_record::kind::EventKind;
use cerberus_record::memory::Scope;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::{self, Segment};
use cerberus_store::same_project::joined::Projects;
use cerberus_store::view::Store;

use super::Result;
use super::batch::{Entry, RECORD_BYTES_MAX, SPACE_RECORD_BYTES_MAX};
use super::local::{Shared, Space};
use crate::share::{self, Sharing};

/// Records for a stream, in the order of their places, and how far the journal was read.
pub struct Gathered {
    pub entries: Vec<Entry>,
    pub read: BTreeMap<String, u64>,
}

/// Reads this home's own records from where `from` says.
pub fn gather(
    home: &Home,
    store: &Store,
    space: &Space,
    shared: &Shared,
    from: &BTreeMap<String, u64>,
) -> Result<Gathered> {
    let ids = project_ids(store, shared)?;
    let sharing = Sharing { space: kind(space), ids: &ids, names: &shared.names, cleaner: home.cleaner() };
    let mut entries = Vec::new();
    let read = each_own(home, store, space, shared, from, |seq, record| {
        if let Some(json) = written(&record, &sharing).filter(|json| json.len() <= record_bytes_max(shared)) {
            entries.push(Entry { seq, json });
        }
    })?;
    entries.sort_by(|a, b| (a.seq, &a.json).cmp(&(b.seq, &b.json)));
    entries.dedup();
    Ok(Gathered { entries, read })
}

/// Looks at this home's own records of a stream, with their places. Returns how far the journal was read.
pub fn each_own(
    home: &Home,
    store: &Store,
    space: &Space,
    shared: &Shared,
    from: &BTreeMap<String, u64>,
    mut look: impl FnMut(u64, Record),
) -> Result<BTreeMap<String, u64>> {
    let mut memories = Memories { store, known: HashMap::new() };
    let ids = project_ids(store, shared)?;
    let kind = kind(space);
    let mut read = BTreeMap::new();
    for Segment { name, .. } in journal::segments(home)?.into_iter().filter(|one| !journal::is_replica(&one.name)) {
        let mut offset = from.get(&name).copied().unwrap_or(0);
        loop {
            let stretch = journal::read(home, &name, offset)?;
            if stretch.next_offset == offset {
                break;
            }
            for (at, line) in stretch.lines() {
                let Some(sealed) = journal::decode(line) else { continue };
                let Some(record) = sealed.record() else { continue };
                let seq = stretch.order(at, &sealed).seq;
                if belongs(&record, kind, shared, &ids, &mut memories)? {
                    look(seq, record);
                }
            }
            offset = stretch.next_offset;
        }
        read.insert(name, offset);
    }
    Ok(read)
}

/// The largest record of a stream.
pub fn record_bytes_max(shared: &Shared) -> usize {
    if shared.is_space() { SPACE_RECORD_BYTES_MAX } else { RECORD_BYTES_MAX }
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

pub fn kind(space: &Space) -> share::ShareAudience {
    if space.team.is_some() { share::ShareAudience::Team } else { share::ShareAudience::Me }
}

/// All ids of a shared project here.
pub fn project_ids(store: &Store, shared: &Shared) -> Result<Vec<ProjectId>> {
    if shared.is_space() {
        return Ok(Vec::new());
    }
    let own = shared.project();
    let joined = Projects::load(store, Timestamp::LAST)?.joined(store, &own)?;
    Ok([own].into_iter().chain(joined.into_iter().map(|member| member.project)).collect())
}

fn written(record: &Record, sharing: &Sharing) -> Option<String> {
    match &record.event {
        // Names that only the devices of this space can compute.
        Event::Forgotten(_) => serde_json::to_string(record).ok(),
        _ => serde_json::to_string(&share::shared(record, sharing)?).ok(),
    }
}

/// Whether a record is one of this stream.
fn belongs(
    record: &Record,
    kind: share::ShareAudience,
    shared: &Shared,
    ids: &[ProjectId],
    memories: &mut Memories,
) -> Result<bool> {
    let is_here = ids.contains(&record.location.project);
    Ok(match (&record.event, kind) {
        (Event::Forgotten(_), share::ShareAudience::Me) => shared.is_space(),
        (Event::Forgotten(_), share::ShareAudience::Team) => false,
        (Event::Memory(change), _) => match memories.project(change)? {
            Some(project) => ids.contains(&project),
            None => shared.is_space() && memories.is_everywhere(change)?,
        },
        (Event::Open(_), _) => is_here && kind == share::ShareAudience::Team,
        (event, share::ShareAudience::Me) => is_here && EventKind::of(event).is_of_a_session(),
        (_, share::ShareAudience::Team) => false,
    })
}

/// Where memories apply: an undone change does not say it itself.
struct Memories<'a> {
    store: &'a Store,
    known: HashMap<String, (Option<ProjectId>, bool)>,
}

impl Memories<'_> {
    fn project(&mut self, change: &MemoryChange) -> Result<Option<ProjectId>> {
        Ok(self.place(change)?.0)
    }

    /// Whether it applies beyond projects.
    fn is_everywhere(&mut self, change: &MemoryChange) -> Result<bool> {
        Ok(self.place(change)?.1)
    }

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
