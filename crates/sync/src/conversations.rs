//! Whole conversations of shared projects, for the user's other devices: each of them fetches one when somebody asks for it
//! there, and none with an exchange.
//!
//! Each conversation is a stream of its own, sealed, chained and signed like any other, in a place whose name and key follow
//! from the key of the space: a container has neither. Every writing is a new generation, so the hub drops what was there
//! before. Teams have none.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use cerberus_store::view::Store;

use super::batch::Entry;
use super::crypto::{self, hex};
use super::document::Head;
use super::files::Files;
use super::local::{SentConversation, Shared, Space};
use super::project::SharedProject;
use super::push::WholeStream;
use super::reading::{NewStream, PullLimits, PullReading};
use super::transport::Transport;
use super::{Result, SyncError, consent, links, names, unreadable};

/// A longer conversation stays on its device, and none is read.
pub const CONVERSATION_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Of the conversations of a project, the newest are sent, until they have so much text.
pub const PROJECT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// A longer line is sent in pieces.
const PIECE_BYTES_MAX: usize = 128 * 1024;

/// A conversation that may be sent.
pub struct OfferedConversation {
    pub agent: String,
    /// The agent's own name for the session.
    pub session: String,
    pub project: ProjectId,
    /// Another text whenever the conversation is another one.
    pub mark: String,
    pub text_bytes: u64,
}

/// What a sending did.
#[derive(Debug, Default)]
pub struct ConversationsSent {
    pub count: usize,
    pub bytes: u64,
    pub problems: Vec<String>,
}

/// A conversation that was fetched.
pub struct FetchedConversation {
    pub lines: Vec<String>,
    /// The name of the device that has it.
    pub from: String,
    /// How much text it has.
    pub bytes: u64,
}

/// Passes on the lines of a conversation.
pub type LinesOf<'l> = dyn Fn(&OfferedConversation, &mut dyn FnMut(&str)) -> io::Result<()> + 'l;

/// Sends the conversations of one space.
pub struct ConversationSending<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub store: &'a Store,
    pub space: &'a Space,
    pub lines: &'a LinesOf<'a>,
}

/// The name of a conversation's place; `None` for a container and in a team.
fn name(space: &Space, shared: &Shared, agent: &str, session: &str) -> Option<String> {
    if space.team.is_some() || space.is_container() || shared.is_space() {
        return None;
    }
    let first = space.keys.iter().min_by_key(|one| one.epoch)?;
    let parts = [shared.id.as_bytes(), agent.as_bytes(), session.as_bytes()];
    let hash = crypto::mac(&first.key, &[b"conversation".as_slice(), parts[0], parts[1], parts[2]]);
    Some(hex::text(&hash[..16]))
}

/// The shared project that a session belongs to.
pub fn shared_of(home: &Home, store: &Store, space: &Space, project: &ProjectId) -> Result<Option<Shared>> {
    for shared in space.projects.iter().filter(|shared| !shared.is_over() && !shared.is_space()) {
        if (SharedProject { home, space, shared }).ids(store)?.contains(project) {
            return Ok(Some(shared.clone()));
        }
    }
    Ok(None)
}

impl ConversationSending<'_> {
    /// Sends what is new of what is offered, newest first, and removes everything else that was sent. The caller holds the
    /// lock.
    pub fn send(&self, hub: &mut dyn Transport, offered: &[OfferedConversation]) -> Result<ConversationsSent> {
        let files = Files::new(self.home);
        let (wanted, mut sent) = (self.wanted(offered)?, ConversationsSent::default());
        let known = files.state(self.space)?.conversations;
        let is_gone = |(name, one): &(&String, &SentConversation)| {
            !wanted.names.contains_key(*name) && !wanted.paused.contains(&one.project) && !one.mark.is_empty()
        };
        for (name, one) in known.iter().filter(is_gone) {
            self.write(hub, name, SentConversation { mark: String::new(), ..one.clone() }, &[])?;
        }
        for (name, (shared, offer)) in &wanted.names {
            let mark = format!("{} {}", self.space.hub, offer.mark);
            let one = known.get(name).cloned();
            if one.as_ref().is_some_and(|one| one.mark == mark) {
                continue;
            }
            let generation = one.map_or(0, |one| one.generation);
            let entries = self.entries(offer).map_err(unreadable)?;
            self.write(hub, name, SentConversation { project: shared.id.clone(), generation, mark }, &entries)?;
            sent.count += 1;
            sent.bytes += offer.text_bytes;
        }
        sent.problems = wanted.too_large;
        Ok(sent)
    }

    fn wanted<'o>(&self, offered: &'o [OfferedConversation]) -> Result<WantedConversations<'o>> {
        let mut wanted = WantedConversations::default();
        for shared in self.space.projects.iter().filter(|shared| shared.has_conversations) {
            if consent::pause(self.home, self.clock.now, self.store, shared)?.is_some() {
                wanted.paused.insert(shared.id.clone());
                continue;
            }
            if shared.is_ending || shared.is_over() {
                continue;
            }
            let ids = SharedProject { home: self.home, space: self.space, shared }.ids(self.store)?;
            let mut left = PROJECT_BYTES_MAX;
            for offer in offered.iter().filter(|offer| ids.contains(&offer.project)) {
                if offer.text_bytes > CONVERSATION_BYTES_MAX {
                    wanted.too_large.push(format!(
                        "a conversation of {} is larger than {} MiB and stays here: {}",
                        shared.name,
                        CONVERSATION_BYTES_MAX >> 20,
                        offer.session
                    ));
                    continue;
                }
                left = left.saturating_sub(offer.text_bytes);
                if left == 0 {
                    break;
                }
                if let Some(name) = name(self.space, shared, &offer.agent, &offer.session) {
                    wanted.names.insert(name, (shared.clone(), offer));
                }
            }
        }
        Ok(wanted)
    }

    fn entries(&self, offer: &OfferedConversation) -> io::Result<Vec<Entry>> {
        let (mut entries, mut seq) = (Vec::new(), 0);
        (self.lines)(offer, &mut |line| {
            seq += 1;
            let mut rest = line;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES_MAX));
                entries.push(Entry { seq, json: piece.to_string() });
                rest = after;
            }
        })?;
        Ok(entries)
    }

    /// Writes a conversation as a new generation; without entries it is removed.
    fn write(&self, hub: &mut dyn Transport, name: &str, one: SentConversation, entries: &[Entry]) -> Result<()> {
        let files = Files::new(self.home);
        let (device, keys) = (files.device()?, self.space.project_keys(name));
        let Some(key) = keys.first() else { return Ok(()) };
        // An attempt that was cut off has used its generation up.
        let generation = self.clock.wall.millis().unsigned_abs().max(one.generation + 1);
        self.note(&files, name, SentConversation { generation, mark: "begun".to_string(), ..one.clone() })?;
        let place = self.space.place(name);
        let whole = WholeStream { device: &device, key, place, generation, batches_max: u64::MAX };
        if !whole.write(hub, entries, |head| Head { at: self.clock.wall, ..head })? {
            return Err(unreadable("somebody else writes where this device writes"));
        }
        self.note(&files, name, SentConversation { generation, ..one })
    }

    fn note(&self, files: &Files, name: &str, one: SentConversation) -> Result<()> {
        let mut state = files.state(self.space)?;
        state.conversations.insert(name.to_string(), one);
        files.save_state(self.space, &state)
    }
}

#[derive(Default)]
struct WantedConversations<'o> {
    names: BTreeMap<String, (Shared, &'o OfferedConversation)>,
    /// Projects of which nothing is sent or removed now.
    paused: BTreeSet<String>,
    too_large: Vec<String>,
}

/// Fetches the newest conversation of this name that another device has sent; `None` if there is none.
pub fn fetch(
    hub: &mut dyn Transport,
    home: &Home,
    wall: Timestamp,
    space: &Space,
    shared: &Shared,
    (agent, session): (&str, &str),
) -> Result<Option<FetchedConversation>> {
    let Some(name) = name(space, shared, agent, session) else { return Ok(None) };
    let files = Files::new(home);
    let (device, chain) = (files.device()?, links::known(&files, space)?.ok_or(SyncError::Waiting)?);
    let (names, skipped) = (names::told(space, &chain.state), BTreeSet::new());
    let at = Shared { id: name, ..shared.clone() };
    let project = SharedProject { home, space, shared: &at };
    let (device, trust, names, skipped) = (&device, &chain.state, &names, &skipped);
    let limits = &PullLimits::default();
    let reading = PullReading { project, wall, device, trust, names, skipped, records_max: None, limits };
    let (place, mut problems) = (project.place(), Vec::new());
    let Some((author, head)) = reading.newest(hub, &place, &mut problems)? else {
        return problems.first().map_or(Ok(None), |problem| Err(unreadable(problem)));
    };
    let stream = NewStream::whole(&author, &head);
    let verified = reading.verified(hub, &place, &stream, &mut None)?;
    let verified = verified.map_err(unreadable)?;
    let bytes = verified.bytes;
    if bytes > CONVERSATION_BYTES_MAX {
        return Err(unreadable(format!("{}: the conversation is too large", reading.name(&author))));
    }
    let (mut lines, mut last): (Vec<String>, u64) = (Vec::new(), 0);
    for Entry { seq, json } in verified.all(hub)? {
        match lines.last_mut().filter(|_| seq == last) {
            Some(line) => line.push_str(&json),
            None => lines.push(json),
        }
        last = seq;
    }
    Ok(Some(FetchedConversation { lines, from: reading.name(&author), bytes }))
}
