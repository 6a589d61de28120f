//! Who belongs to a space: its members, the devices that are let in, and the keys that they get.

use std::collections::{BTreeMap, BTreeSet};

use cerberus_os::home::Home;
use cerberus_store::journal::forgotten;

use super::crypto::{self, Secrets, hex};
use super::document::{self, CARD, Card, Founding, Papers, REQUEST, SPACE_DOCUMENT, SPACE_PLACE, Secret};
use super::exchange::{Exchange, Report};
use super::local::{self, Device, Files, Space, SpaceKey, Spaces};
use super::members::{self, Members};
use super::spaces::{self, Request, Welcome, unreadable};
use super::transport::{Document, Transport};
use super::{Result, SyncError};

impl Exchange<'_> {
    /// Finds out who belongs to the space, lets others in, and takes new keys. Nothing was sent before.
    pub(super) fn membership(
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

/// The names of the devices, and those that were removed.
pub fn names(space: &Space, members: &Members) -> (BTreeMap<String, String>, Vec<String>) {
    let name = |card: &Card| (card.device.clone(), spaces::opened_name(space, card).unwrap_or_default());
    (members.people().map(name).collect(), members.removed.iter().cloned().collect())
}
