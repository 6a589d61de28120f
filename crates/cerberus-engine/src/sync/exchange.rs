//! One exchange with the hub of a space: who belongs to it, then for every shared project what is new on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::ahead::Ahead;
use super::base;
use super::crypto::{self, Secrets, hex};
use super::document::{self, CARD, Card, Founding, Papers, REQUEST, SPACE_DOCUMENT, SPACE_PLACE, Secret};
use super::listing::{self, RECENT_MAX};
use super::local::{Device, Files, Shared, Space, SpaceKey, SpaceState, Spaces, StreamState};
use super::members::{self, Members};
use super::pull::{self, Problem, Reading};
use super::push::{self, Sent, pass};
use super::replica;
use super::spaces::{self, Request, Welcome, unreadable};
use super::transport::{Document, Question, Transport, TransportError};
use super::{CONTAINER_RECORDS_MAX, Result, SyncError, local};
use crate::brief::open;
use crate::journal::forgotten;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::{identity, privacy};
use crate::store::Store;

/// How many projects' heads are asked for together with the documents of the space.
const PROJECTS_AT_ONCE: usize = 8;

/// What an exchange did.
#[derive(Debug, Default)]
pub struct Report {
    pub sent: usize,
    pub received: usize,
    /// Names of devices that were let in.
    pub let_in: Vec<String>,
    pub problems: Vec<String>,
    /// This home was a copy of another one and is now a device of its own.
    pub is_new_device: bool,
}

/// An exchange of this home.
pub struct Exchange<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub store: &'a mut Store,
    /// Only this project, named as on the hub.
    pub only: Option<String>,
    /// Read at most about so many records of each project.
    pub records_max: Option<usize>,
}

impl Exchange<'_> {
    /// Exchanges everything of the space with this number. The caller holds the lock. If the hub is full or refuses, that
    /// is remembered for `status` and `doctor` until an exchange succeeds.
    pub fn run(&mut self, hub: &mut dyn Transport, number: u32) -> Result<Report> {
        self.exchange(hub, number).inspect_err(|error| note_refusal(self.home, number, error))
    }

    fn exchange(&mut self, hub: &mut dyn Transport, number: u32) -> Result<Report> {
        let files = Files::new(self.home);
        let mut spaces = files.spaces()?;
        let mut report = Report::default();
        let hub = &mut Ahead::new(hub);
        hub.prepare(self.first_questions(&files, find(&spaces, number)?)?)?;
        let members = self.membership(hub, &mut spaces, number, &mut report)?;
        let space = find(&spaces, number)?.clone();
        let mut state = files.state(&space)?;
        (state.names, state.removed) = names(&space, &members);
        // A second round as another device, if this home turns out to be a copy.
        for _ in 0..2 {
            let device = files.device()?;
            let space = find(&files.spaces()?, number)?.clone();
            let skipped = self.skipped(&files, &space)?;
            match self.projects(hub, &device, &space, &members, &skipped, &mut state, &mut report)? {
                Sent::All => break,
                Sent::Forked => {
                    self.become_another(hub, number)?;
                    state = files.state(&space)?;
                    (state.names, state.removed) = names(&space, &members);
                    report.is_new_device = true;
                }
            }
        }
        (state.problems, state.refused) = (report.problems.clone(), None);
        files.save_state(&space, &state)?;
        Ok(report)
    }

    /// What is asked before anything is known: who belongs to the space, and the heads of the first projects. A container
    /// that reads a base learns from it which heads it needs, unless they were few when its key was printed.
    fn first_questions(&self, files: &Files, space: &Space) -> Result<Vec<Question>> {
        let state = files.state(space)?;
        let mut questions = vec![Question::Heads(space.place(SPACE_PLACE))];
        let pulled = space.projects.iter().filter(|shared| self.is_wanted(shared) && !shared.is_ending);
        for shared in pulled.take(PROJECTS_AT_ONCE) {
            let stream = state.streams.get(&shared.number).cloned().unwrap_or_default();
            let place = space.place(&shared.id);
            if pull::needs_base(space, &stream) {
                questions.push(Question::Heads(base::place(space, shared)));
                questions.extend(space.is_small.then_some(Question::Few(place, RECENT_MAX)));
            } else {
                let places = listing::first_places(&place, &stream.listing, self.clock.wall);
                questions.extend(places.into_iter().map(Question::Heads));
            }
        }
        Ok(questions)
    }

    fn is_wanted(&self, shared: &Shared) -> bool {
        self.only.as_ref().is_none_or(|only| *only == shared.id)
    }

    /// Devices of the user are read in the user's own space, not in a team's.
    fn skipped(&self, files: &Files, space: &Space) -> Result<BTreeSet<String>> {
        let mut skipped = BTreeSet::new();
        if space.team.is_some() {
            for own in files.spaces()?.spaces.iter().filter(|own| own.team.is_none() && !own.is_container()) {
                skipped.extend(files.state(own)?.names.into_keys());
            }
            skipped.remove(&files.device()?.id.to_string());
        }
        Ok(skipped)
    }

    /// Finds out who belongs to the space, lets others in, and takes new keys. Nothing was sent before.
    fn membership(
        &mut self,
        hub: &mut dyn Transport,
        spaces: &mut Spaces,
        number: u32,
        report: &mut Report,
    ) -> Result<Members> {
        let files = Files::new(self.home);
        let device = files.device()?;
        let at = spaces.spaces.iter().position(|space| space.number == number);
        let at = at.ok_or_else(|| SyncError::NoSpace("such space".to_string()))?;
        let space = &mut spaces.spaces[at];
        let before = space.clone();
        let documents = hub.heads(&space.place(SPACE_PLACE))?;
        let is_welcomed = space.card.is_none();
        if is_welcomed {
            take_welcome(&device, space, &documents)?;
        }
        check_key(self.home, space, &documents)?;
        let (mut members, papers) = read_members(space, &documents);
        let own = device.id.to_string();
        let is_key_removed =
            space.is_inline && space.card.as_ref().is_some_and(|card| members.removed.contains(&card.by));
        if members.removed.contains(&own) || is_key_removed {
            return Err(SyncError::Removed(space.label()));
        }
        if !space.is_container() {
            for key in unwrapped(space, &own, &device.secrets, &papers) {
                if !space.keys.contains(&key) {
                    space.keys.push(key);
                }
            }
            if space.team.is_none() {
                forgotten::learn(self.home, &spaces::opened_names(space, &papers))?;
            }
            self.let_in(&device, space, &documents, &mut members, report)?;
            spaces::wrap_keys(space, &device, &members)?;
            space.codes.retain(|code| code.until > self.clock.wall);
        }
        if before != *space {
            files.save_spaces(spaces)?;
        }
        let space = &spaces.spaces[at];
        let published = documents.iter().find(|document| document.name == format!("{CARD}{own}"));
        let wanted = spaces::own_papers(&device, space).filter(|_| !space.is_inline);
        if wanted.is_some() && published.map(|document| &document.bytes) != wanted.as_ref() {
            spaces::publish(hub, &device, space)?;
        }
        if is_welcomed {
            hub.replace(&space.place(SPACE_PLACE), &format!("{REQUEST}{own}"), b"", None)?;
        }
        if let Some(card) = space.card.clone().filter(|_| !space.is_inline) {
            members.devices.entry(own).or_insert(card);
        }
        Ok(members)
    }

    /// Lets in whoever asks with a code that this device printed. A code lets in one device.
    fn let_in(
        &self,
        device: &Device,
        space: &mut Space,
        documents: &[Document],
        members: &mut Members,
        report: &mut Report,
    ) -> Result<()> {
        for (asking, bytes) in documents.iter().filter_map(|one| Some((one.name.strip_prefix(REQUEST)?, &one.bytes))) {
            if bytes.is_empty() || members.devices.contains_key(asking) || members.removed.contains(asking) {
                continue;
            }
            let purpose = [b"request".as_slice(), space.id.as_bytes(), asking.as_bytes()];
            let open = |code: &local::Pending| -> Option<(Vec<u8>, Request)> {
                let secret = hex::bytes(&code.secret).filter(|_| code.until > self.clock.wall)?;
                let key = crypto::derive(&secret, b"", &[b"pair"]);
                let request: Request = serde_json::from_slice(&crypto::open_with(&key, &purpose, bytes)?).ok()?;
                (request.device == asking).then_some((secret, request))
            };
            let Some((at, (secret, request))) =
                space.codes.iter().enumerate().find_map(|(at, code)| Some((at, open(code)?)))
            else {
                continue;
            };
            space.codes.remove(at);
            let newest = space.key().ok_or(SyncError::Waiting)?.key;
            let name: String = request.name.chars().filter(|c| !c.is_control()).take(64).collect();
            let card = Card {
                device: request.device.clone(),
                sign: request.sign,
                agree: request.agree,
                name: spaces::sealed_name(&space.id, &newest, asking, &name)?,
                project: None,
                is_key: false,
                by: device.id.to_string(),
                certificate: [0; 64],
            };
            let card = card.certified(&space.id, &device.secrets).ok_or(SyncError::NoRandomBytes)?;
            let welcome = Welcome {
                founder: space.founder.clone(),
                founder_sign: space.founder_sign,
                keys: space.keys.clone(),
                card: card.clone(),
            };
            let welcome = serde_json::to_vec(&welcome).map_err(unreadable)?;
            let context = [b"welcome".as_slice(), space.id.as_bytes(), &secret];
            let wrapped = crypto::wrap(&card.agree, local::random()?, &context, &welcome);
            let wrapped = wrapped.ok_or_else(|| unreadable("a request to be let in is invalid"))?;
            space.welcome.insert(card.device.clone(), hex::text(&wrapped));
            members.devices.insert(card.device.clone(), card);
            report.let_in.push(name);
        }
        // Once a device has published its card, it has been welcomed.
        let names: BTreeSet<&str> = documents.iter().filter_map(|one| one.name.strip_prefix(CARD)).collect();
        space.welcome.retain(|device, _| !names.contains(device.as_str()));
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one call; each is used by every project")]
    fn projects(
        &mut self,
        hub: &mut Ahead,
        device: &Device,
        space: &Space,
        members: &Members,
        skipped: &BTreeSet<String>,
        state: &mut SpaceState,
        report: &mut Report,
    ) -> Result<Sent> {
        let files = Files::new(self.home);
        state.hub_keeps = !hub.removes();
        let names = state.names.clone();
        for shared in space.projects.clone() {
            if !self.is_wanted(&shared) {
                continue;
            }
            let mut stream = state.streams.remove(&shared.number).unwrap_or_default();
            let reading = Reading {
                home: self.home,
                wall: self.clock.wall,
                device,
                space,
                shared: &shared,
                members,
                names: &names,
                skipped,
                records_max: self.records_max.or(space.is_container().then_some(CONTAINER_RECORDS_MAX)),
            };
            let exchanged = self.project(hub, &reading, &mut stream, report);
            state.streams.insert(shared.number, stream);
            files.save_state(space, state)?;
            if exchanged? == Sent::Forked {
                return Ok(Sent::Forked);
            }
            if let Some(stream) = state.streams.get(&shared.number) {
                push::forget_sent(self.home, space, &shared, stream)?;
            }
            if shared.is_ending {
                self.end(&files, space, &shared, state)?;
            }
        }
        state.pulled_at = Some(self.clock.wall);
        state.pushed_at = Some(self.clock.wall);
        Ok(Sent::All)
    }

    fn project(
        &mut self,
        hub: &mut Ahead,
        reading: &Reading,
        stream: &mut StreamState,
        report: &mut Report,
    ) -> Result<Sent> {
        let Reading { home, device, space, shared, .. } = *reading;
        let files = Files::new(home);
        if !shared.is_ending {
            let pulled = reading.pull(hub, self.store, stream)?;
            report.received += pulled.records;
            report.problems.extend(pulled.problems.iter().map(Problem::to_string));
            if pulled.is_forked {
                return Ok(Sent::Forked);
            }
            if space.team.is_some() && self.may_store(shared) {
                open::record(home, self.clock, self.store, &identity::locate(Path::new(&shared.root)))?;
            }
        }
        stream.base.is_outdated |= stream.lists != self.store.forgotten_mark()? || shared.is_ending;
        let sealed = push::seal_new(home, self.store, device, space, shared, stream)?;
        report.sent += sealed;
        stream.base.since += sealed as u64;
        save_stream(&files, space, shared, stream)?;
        pass(home, "sync-sealed")?;
        if push::send(home, hub, device, space, shared, stream)? == Sent::Forked {
            return Ok(Sent::Forked);
        }
        base::keep_up(hub, reading, self.store, stream)?;
        listing::publish_head(hub, reading, stream)?;
        pass(home, "sync-published")?;
        Ok(Sent::All)
    }

    /// Whether the project's folder is there and its user lets us record anything about it.
    fn may_store(&self, shared: &Shared) -> bool {
        let root = Path::new(&shared.root);
        root.is_dir() && privacy::storage_block(self.home, self.clock.now, &identity::locate(root)).is_none()
    }

    /// The stream of a project that is no longer shared is empty now: nothing of it is kept here either.
    fn end(&mut self, files: &Files, space: &Space, shared: &Shared, state: &mut SpaceState) -> Result<()> {
        replica::drop_all(self.home, self.store, space, shared)?;
        state.streams.remove(&shared.number);
        files.save_state(space, state)?;
        files.clear_sent(space, shared)?;
        let mut spaces = files.spaces()?;
        if let Some(space) = spaces.spaces.iter_mut().find(|one| one.number == space.number) {
            space.projects.retain(|one| one.number != shared.number);
        }
        files.save_spaces(&spaces)
    }

    /// Another home writes the streams of this device, so this one becomes a device of its own, in every space. Its old
    /// keys vouch for the new ones. Everything it has is sent again; nothing is lost, and nothing counts twice.
    fn become_another(&mut self, hub: &mut dyn Transport, number: u32) -> Result<()> {
        let files = Files::new(self.home);
        let old = files.device()?;
        let new = files.new_device()?;
        let own = new.id.to_string();
        let mut spaces = files.spaces()?;
        for space in &mut spaces.spaces {
            let Some(card) = space.card.clone() else { continue };
            // The card of a container names the key that vouched for it. A copy of it has no such key.
            let by = old.id.to_string();
            let name = match space.key() {
                Some(key) => spaces::sealed_name(&space.id, &key.key, &own, &space.name)?,
                None => String::new(),
            };
            let new_card = Card { name, project: card.project, ..spaces::card(&own, &new.secrets, &by)? };
            space.card = Some(new_card.certified(&space.id, &old.secrets).ok_or(SyncError::NoRandomBytes)?);
            space.is_inline = false;
            (space.began, space.wrapped, space.welcome) = (Vec::new(), Vec::new(), BTreeMap::new());
            space.codes.clear();
            let mut state = files.state(space)?;
            for (number, stream) in &mut state.streams {
                let seen = std::mem::take(&mut stream.seen);
                let listing = std::mem::take(&mut stream.listing);
                *stream = StreamState { seen, listing, ..StreamState::default() };
                if let Some(shared) = space.projects.iter().find(|shared| shared.number == *number) {
                    files.drop_kept(space, shared, |_, _| true)?;
                    files.clear_sent(space, shared)?;
                }
            }
            files.save_state(space, &state)?;
        }
        files.save_spaces(&spaces)?;
        spaces::publish(hub, &new, find(&spaces, number)?)
    }
}

/// Remembers that the hub of a space is full or refused, until an exchange succeeds.
pub fn note_refusal(home: &Home, number: u32, error: &SyncError) {
    let SyncError::Transport(error @ (TransportError::Full { .. } | TransportError::Refused { .. })) = error else {
        return;
    };
    let note = || -> Result<()> {
        let files = Files::new(home);
        let space = find(&files.spaces()?, number)?.clone();
        let mut state = files.state(&space)?;
        state.refused = Some(error.to_string());
        files.save_state(&space, &state)
    };
    // Whoever exchanges is told in any case.
    let _ = note();
}

fn find(spaces: &Spaces, number: u32) -> Result<&Space> {
    spaces
        .spaces
        .iter()
        .find(|space| space.number == number)
        .ok_or_else(|| SyncError::NoSpace("such space".to_string()))
}

/// Saves the state of one stream before anything of it is sent.
pub(super) fn save_stream(files: &Files, space: &Space, shared: &Shared, stream: &StreamState) -> Result<()> {
    let mut state = files.state(space)?;
    state.streams.insert(shared.number, stream.clone());
    files.save_state(space, &state)
}

/// The members of a space, and their papers.
pub fn read_members(space: &Space, documents: &[Document]) -> (Members, Vec<Papers>) {
    let place = space.place(SPACE_PLACE);
    let read = |document: &Document| -> Option<Papers> {
        let device = document.name.strip_prefix(CARD)?;
        let papers: Papers = document::claimed(&document.bytes).ok()?;
        if papers.card.device != device {
            return None;
        }
        document::verified(&papers.card.sign, &place, &document.name, &document.bytes).ok()
    };
    let papers: Vec<Papers> = documents.iter().filter_map(read).collect();
    let members = members::members(&space.id, &space.founder(), &papers);
    let papers = papers.into_iter().filter(|one| members.devices.contains_key(&one.card.device)).collect();
    (members, papers)
}

/// The keys that members wrapped for a device.
pub fn unwrapped(space: &Space, device: &str, secrets: &Secrets, papers: &[Papers]) -> Vec<SpaceKey> {
    let mut found = Vec::new();
    for wrapped in papers.iter().flat_map(|papers| &papers.keys) {
        let context = spaces::key_context(&space.id, wrapped.epoch);
        let context: Vec<&[u8]> = context.iter().map(Vec::as_slice).collect();
        let key = || crypto::unwrap(secrets, &context, &hex::bytes(wrapped.to.get(device)?)?)?.try_into().ok();
        if let Some(key) = key() {
            let key = SpaceKey { epoch: wrapped.epoch, key };
            if key.id() == wrapped.id && !found.contains(&key) {
                found.push(key);
            }
        }
    }
    found
}

/// Takes what the device that printed our code has left for us.
fn take_welcome(device: &Device, space: &mut Space, documents: &[Document]) -> Result<()> {
    let secret = space.asked_with.as_deref().and_then(hex::bytes).ok_or(SyncError::Waiting)?;
    let own = device.id.to_string();
    let context = [b"welcome".as_slice(), space.id.as_bytes(), &secret];
    let read = |document: &Document| -> Option<Welcome> {
        document.name.strip_prefix(CARD)?;
        let papers: Papers = document::claimed(&document.bytes).ok()?;
        let welcome = crypto::unwrap(&device.secrets, &context, &hex::bytes(papers.welcome.get(&own)?)?)?;
        serde_json::from_slice(&welcome).ok()
    };
    let Welcome { founder, founder_sign, keys, card } = documents.iter().find_map(read).ok_or(SyncError::Waiting)?;
    (space.founder, space.founder_sign, space.keys) = (founder, founder_sign, keys);
    space.card = Some(card);
    space.asked_with = None;
    Ok(())
}

/// Fails unless the hub holds this space and our key is its key. Learns what only its devices know.
pub fn check_key(home: &Home, space: &mut Space, documents: &[Document]) -> Result<()> {
    let hub = super::transport::redacted(&space.hub);
    let found = documents.iter().find(|document| document.name == SPACE_DOCUMENT);
    let found = found.ok_or_else(|| SyncError::UnknownSpace { hub: hub.clone() })?;
    let place = space.place(SPACE_PLACE);
    let founding: Founding = document::verified(&space.founder_sign, &place, SPACE_DOCUMENT, &found.bytes)
        .map_err(|_| SyncError::WrongKey { hub: hub.clone() })?;
    if space.is_container() {
        return Ok(());
    }
    let first =
        space.keys.iter().find(|one| one.epoch == 1 && Founding::check_of(&one.key, &space.id) == founding.check);
    let first = first.ok_or_else(|| SyncError::WrongKey { hub: hub.clone() })?;
    let purpose = [b"founding".as_slice(), space.id.as_bytes()];
    let opened = hex::bytes(&founding.sealed).and_then(|sealed| crypto::open_with(&first.key, &purpose, &sealed));
    let secret: Option<Secret> = opened.and_then(|opened| serde_json::from_slice(&opened).ok());
    let Secret { team, names } = secret.ok_or(SyncError::WrongKey { hub })?;
    space.team = team;
    if space.team.is_none() {
        forgotten::adopt(home, names)?;
        if space.earlier_names.is_none() {
            space.earlier_names = Some(forgotten::earlier(home)?.iter().map(|key| hex::text(key)).collect());
        }
    }
    Ok(())
}

fn names(space: &Space, members: &Members) -> (BTreeMap<String, String>, Vec<String>) {
    let name = |card: &Card| (card.device.clone(), spaces::opened_name(space, card).unwrap_or_default());
    (members.people().map(name).collect(), members.removed.iter().cloned().collect())
}
