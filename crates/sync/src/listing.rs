//! Which heads a pull looks at. In a place of many devices it looks at recent heads only, so that its cost does not grow
//! with their number.
//!
//! A place with fewer than [`RECENT_MAX`] heads is listed whole. In a larger one every device also writes its head into
//! a list of recent heads, `PROJECT-eN`. When a list is full, the next one begins: N is the *era*. A pull reads the list
//! that was newest last time, the one before it, and those that follow. Once a day, and when the lists are gone, the
//! whole place is listed again.

use std::time::Duration;

use cerberus_record::time::Timestamp;

use super::ahead::Ahead;
use super::crypto::{self, hex};
use super::document::{Head, Reach};
use super::local::{Listing, Seen, StreamState};
use super::project::SharedProject;
use super::reading::PullReading;
use super::transport::{ALL, Document, Place, Question, Transport};
use super::{Result, SyncError, push, unreadable};

/// How many heads a list of recent ones takes, and how many a place may have before there are lists.
pub const RECENT_MAX: usize = 100;
/// How long the lists of recent heads are relied on.
const WHOLE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// After so many lists that are full, listing the whole place costs less.
const ERAS_MAX: usize = 20;
/// No place has more lists. A head that names a later one is not followed there.
const ERA_MAX: u64 = 1 << 40;
/// Heads of other devices that a head names: those with something new, read last.
const SEEN_MAX: usize = 100;

impl Listing {
    /// The whole place was listed: it has so many documents, and heads of these eras.
    pub fn found(&mut self, eras: impl Iterator<Item = u64>, documents: usize) {
        let first = u64::from(documents >= RECENT_MAX);
        self.era = eras.filter(|era| *era <= ERA_MAX).max().unwrap_or(0).max(self.era).max(first);
    }

    /// Lists that a base names, if there can be so many.
    pub fn of_base(era: u64, wall: Timestamp) -> Listing {
        Listing { era: era.min(ERA_MAX), whole_at: Some(wall) }
    }

    /// Whether there were few heads when the whole place was listed.
    pub fn is_small(&self) -> bool {
        self.era == 0 && self.whole_at.is_some()
    }

    /// Whether it is time to list the whole place.
    fn is_due(&self, wall: Timestamp) -> bool {
        self.whole_at.is_none_or(|at| at > wall || wall.since(at) >= WHOLE_EVERY)
    }
}

/// Documents of a place: all of them, or those that may have changed.
pub struct Listed {
    pub documents: Vec<Document>,
    pub is_whole: bool,
}

/// The place of a list of recent heads.
pub fn recent(place: &Place, era: u64) -> Place {
    Place { project: format!("{}-e{era}", place.project), ..place.clone() }
}

/// What a pull asks first: for the newest two lists, or for all heads.
pub fn first_questions(place: &Place, listing: &Listing, wall: Timestamp) -> Vec<Question> {
    let places = match listing.era {
        0 => vec![place.clone()],
        _ if listing.is_due(wall) => vec![place.clone()],
        1 => vec![recent(place, 1)],
        era => vec![recent(place, era - 1), recent(place, era)],
    };
    places.into_iter().map(|place| Question::Heads(place, ALL)).collect()
}

pub fn list(hub: &mut Ahead, reading: &PullReading, listing: &mut Listing) -> Result<Listed> {
    let place = reading.project.place();
    hub.prepare(first_questions(&place, listing, reading.wall))?;
    if listing.era > 0 && !listing.is_due(reading.wall) {
        let mut documents = match listing.era {
            1 => Vec::new(),
            era => hub.heads(&recent(&place, era - 1))?,
        };
        for era in (listing.era..=ERA_MAX).take(ERAS_MAX) {
            let found = hub.heads(&recent(&place, era))?;
            let is_full = found.len() >= RECENT_MAX;
            documents.extend(found);
            if !is_full && !documents.is_empty() {
                listing.era = era;
                return Ok(Listed { documents, is_whole: false });
            }
            if !is_full {
                break;
            }
        }
    }
    let documents = hub.heads(&place)?;
    listing.whole_at = Some(reading.wall);
    Ok(Listed { documents, is_whole: true })
}

/// Publishes how far this device's stream goes, and how far it has read the others.
pub fn publish_head(hub: &mut dyn Transport, reading: &PullReading, stream: &mut StreamState) -> Result<()> {
    let (PullReading { device, .. }, SharedProject { space, shared, .. }) = (reading, reading.project);
    // Nobody needs to know of a container before it has something to say.
    if space.is_container() && stream.sealed == Reach::default() {
        return Ok(());
    }
    let mut seen: Vec<(&String, &Seen)> = stream.seen.iter().collect();
    seen.sort_by_key(|(device, seen)| (std::cmp::Reverse(seen.read_at), *device));
    let seen = seen.into_iter().take(SEEN_MAX).map(|(device, seen)| (device.clone(), seen.reach.clone()));
    let reach = Reach { sequence: stream.sent, ..stream.sealed.clone() };
    let (place, name, era) = (reading.project.place(), device.id.to_string(), stream.listing.era);
    let head = Head::of(&device.secrets, &place, &name, reach).ok_or(SyncError::NoRandomBytes)?;
    let (pass, is_kept) = (space.pass(device, &shared.id), shared.is_ending && shared.is_kept);
    let mut head = Head { seen: seen.collect(), era, proofs: stream.proofs.clone(), pass, is_kept, ..head };
    let content = hex::text(&crypto::hash(&serde_json::to_vec(&compared(&head)).map_err(unreadable)?));
    if content == stream.head {
        return Ok(());
    }
    head.at = reading.wall;
    let bytes = push::publish(hub, device, &place, &head)?;
    if era > 0 {
        hub.replace(&recent(&place, era), &name, &bytes, None)?;
    }
    (stream.head, stream.published) = (content, stream.sent);
    Ok(())
}

/// What of a head is worth publishing. In a place of many devices, that one of them has read something is not, unless a
/// stream began again: every record would make all of them write.
fn compared(head: &Head) -> Head {
    let mut compared = Head { era: 0, ..head.clone() };
    if head.era > 0 {
        compared.seen.retain(|_, reach| reach.generation > 1);
        compared.seen.values_mut().for_each(|reach| (reach.sequence, reach.hash) = (0, [0; 32]));
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_large_place_reading_is_published_only_if_a_stream_began_again() {
        let reach = |generation, sequence| Reach { generation, sequence, hash: [sequence as u8; 32] };
        let head = |era, generation, sequence| {
            let seen = [("b".to_string(), reach(generation, sequence)), ("c".to_string(), reach(1, sequence))].into();
            let (reach, signature, at) = (reach(1, 1), [0; 64], Timestamp::EPOCH);
            compared(&Head {
                v: super::super::document::VERSION,
                reach,
                signature,
                at,
                seen,
                era,
                proofs: [].into(),
                pass: None,
                is_kept: false,
            })
        };
        assert_ne!(head(0, 1, 1), head(0, 1, 2));
        assert_eq!(head(3, 1, 1), head(4, 1, 2));
        assert_eq!(head(3, 2, 1), head(3, 2, 2));
        assert_ne!(head(3, 1, 1), head(3, 2, 1), "it confirms that something is forgotten");
    }

    #[test]
    fn lists_begin_when_a_place_is_large_and_never_go_back() {
        let mut listing = Listing::default();
        listing.found([0, 0].into_iter(), RECENT_MAX - 1);
        assert_eq!(listing.era, 0);
        listing.found([0, 0].into_iter(), RECENT_MAX);
        assert_eq!(listing.era, 1);
        listing.found([3, 7].into_iter(), RECENT_MAX);
        assert_eq!(listing.era, 7);
        listing.found(std::iter::empty(), 0);
        assert_eq!(listing.era, 7);
        listing.found([u64::MAX, 8].into_iter(), 0);
        assert_eq!(listing.era, 8, "no place has so many");
    }
}
