//! Making, joining and leaving spaces: keys, cards, codes, and which projects are shared.

use std::collections::BTreeMap;
use std::time::Duration;

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::forgotten;
use cerberus_store::view::{RepositoryRow, Store};
use serde::{Deserialize, Serialize};

use super::code::{Code, SECRET_BYTES};
use super::crypto::{self, Key, Secrets, hex};
use super::document::{
    self, CARD, Card, Founding, Papers, REQUEST, Removal, SPACE_DOCUMENT, SPACE_PLACE, Secret, VERSION, Wrapped,
};
use super::local::{Device, Files, Pending, Shared, Space, SpaceKey, Spaces, random};
use super::members::Members;
use super::transport::Transport;
use super::{Result, SyncError};

/// How long a code can be used.
pub const CODE_MAX: Duration = Duration::from_secs(15 * 60);

/// What a device that asks to be let in says about itself.
#[derive(Serialize, Deserialize)]
pub struct Request {
    pub device: String,
    #[serde(with = "hex")]
    pub sign: Key,
    #[serde(with = "hex")]
    pub agree: Key,
    pub name: String,
}

/// What a device is told when it is let in.
#[derive(Serialize, Deserialize)]
pub struct Welcome {
    pub founder: String,
    #[serde(with = "hex")]
    pub founder_sign: Key,
    pub keys: Vec<SpaceKey>,
    pub card: Card,
}

/// A card that nobody has vouched for yet.
pub fn card(device: &str, secrets: &Secrets, by: &str) -> Result<Card> {
    Ok(Card {
        device: device.to_string(),
        sign: secrets.sign_public().ok_or(SyncError::NoRandomBytes)?,
        agree: secrets.agree_public(),
        name: String::new(),
        project: None,
        is_key: false,
        by: by.to_string(),
        certificate: [0; 64],
    })
}

/// The id of a key that stands for no device: it follows from the secret.
pub fn key_device(secret: &[u8]) -> String {
    hex::text(&crypto::sha256(&[b"key device", secret])[..8])
}

pub fn sealed_name(space: &str, key: &Key, device: &str, name: &str) -> Result<String> {
    let sealed = crypto::seal_with(key, random()?, &[b"name", space.as_bytes(), device.as_bytes()], name.as_bytes());
    Ok(hex::text(&sealed.ok_or(SyncError::NoRandomBytes)?))
}

pub fn opened_name(space: &Space, card: &Card) -> Option<String> {
    let sealed = hex::bytes(&card.name)?;
    let purpose = [b"name".as_slice(), space.id.as_bytes(), card.device.as_bytes()];
    let opened = space.keys.iter().find_map(|one| crypto::open_with(&one.key, &purpose, &sealed))?;
    String::from_utf8(opened).ok().filter(|name| name.chars().count() <= 64)
}

/// Makes a space on a hub. Returns it with the recovery code.
pub fn init(
    home: &Home,
    hub: &mut dyn Transport,
    address: &str,
    team: Option<&str>,
    name: &str,
) -> Result<(Space, String)> {
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    if let Some(known) = spaces.named(team) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    let device = files.device()?;
    let (id, key, secret) = (hex::text(&random::<8>()?), random::<32>()?, random::<SECRET_BYTES>()?);
    let own = device.id.to_string();
    let mut space = new_space(&mut spaces, &id, team, address, name);
    (space.founder, space.founder_sign) = (own.clone(), device.secrets.sign_public().ok_or(SyncError::NoRandomBytes)?);
    space.keys = vec![SpaceKey { epoch: 1, key }];
    space.began = vec![1];
    let card = Card { name: sealed_name(&id, &key, &own, name)?, ..card(&own, &device.secrets, &own)? };
    space.card = Some(card.certified(&id, &device.secrets).ok_or(SyncError::NoRandomBytes)?);
    let names = match team {
        None => forgotten::key(home)?,
        Some(_) => random()?,
    };
    let recovery = Secrets::of(&secret);
    let recovery_card = self::card(&key_device(&secret), &recovery, &own)?;
    let recovery_card = Card { is_key: true, ..recovery_card };
    let recovery_card = recovery_card.certified(&id, &device.secrets).ok_or(SyncError::NoRandomBytes)?;
    let sealed = serde_json::to_vec(&Secret { team: team.map(str::to_string), names }).map_err(unreadable)?;
    let sealed = crypto::seal_with(&key, random()?, &[b"founding", id.as_bytes()], &sealed);
    let founding = Founding {
        v: VERSION,
        device: own,
        sign: space.founder_sign,
        check: Founding::check_of(&key, &id),
        recovery: Founding::recovery_of(&secret, &id, &space.founder, &space.founder_sign),
        sealed: hex::text(&sealed.ok_or(SyncError::NoRandomBytes)?),
    };
    let place = space.place(SPACE_PLACE);
    let members = Members {
        devices: BTreeMap::from([(recovery_card.device.clone(), recovery_card.clone())]),
        ..Members::default()
    };
    wrap_keys(&mut space, &device, &members)?;
    let signed = |secrets: &Secrets, name: &str, papers: &Papers| {
        document::signed(secrets, &place, name, papers).ok_or(SyncError::NoRandomBytes)
    };
    let recovery_papers = papers(recovery_card);
    let name_of = |device: &str| format!("{CARD}{device}");
    let recovery_name = name_of(&recovery_papers.card.device);
    hub.replace(&place, &recovery_name, &signed(&recovery, &recovery_name, &recovery_papers)?, None)?;
    publish(hub, &device, &space)?;
    let founding = document::signed(&device.secrets, &place, SPACE_DOCUMENT, &founding);
    hub.replace(&place, SPACE_DOCUMENT, &founding.ok_or(SyncError::NoRandomBytes)?, None)?;
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    let written = Code { space: id, secret }.written().ok_or(SyncError::WrongCode)?;
    Ok((space, written))
}

pub fn papers(card: Card) -> Papers {
    let (removed, keys, welcome, names) = (Vec::new(), Vec::new(), BTreeMap::new(), String::new());
    Papers { v: VERSION, card, removed, keys, welcome, names }
}

/// A space without keys. Everything that belongs to the space itself has a stream of its own among own devices.
pub fn new_space(spaces: &mut Spaces, id: &str, team: Option<&str>, hub: &str, name: &str) -> Space {
    let number = spaces.next;
    spaces.next += 1;
    Space {
        number,
        id: id.to_string(),
        team: team.map(str::to_string),
        hub: hub.to_string(),
        name: name.to_string(),
        founder: String::new(),
        founder_sign: [0; 32],
        keys: Vec::new(),
        scoped: Vec::new(),
        card: None,
        is_inline: false,
        is_small: false,
        removed: Vec::new(),
        began: Vec::new(),
        wrapped: Vec::new(),
        welcome: BTreeMap::new(),
        earlier_names: None,
        codes: Vec::new(),
        asked_with: None,
        projects: Vec::new(),
        next_project: 0,
    }
}

/// The stream of what belongs to no project: memories that apply everywhere, and names of what was forgotten.
pub fn add_space_stream(space: &mut Space) {
    if space.team.is_none() && !space.is_container() {
        space.add_project(SPACE_PLACE, &ProjectId::from_stored(String::new()), "", "");
    }
}

pub fn unreadable(error: impl std::fmt::Display) -> SyncError {
    SyncError::Unreadable(error.to_string())
}

/// Wraps keys for the members that need them from us: those that we let in, and everybody for an epoch that we began.
pub fn wrap_keys(space: &mut Space, device: &Device, members: &Members) -> Result<()> {
    let own = device.id.to_string();
    for space_key in space.keys.clone() {
        let (SpaceKey { epoch, key }, id) = (&space_key, space_key.id());
        let epoch = *epoch;
        let began = space.began.contains(&epoch);
        let needed = members.devices.values().filter(|card| card.device != own && card.project.is_none());
        for card in needed.filter(|card| began || card.by == own) {
            let at = match space.wrapped.iter().position(|one| one.id == id) {
                Some(at) => at,
                None => {
                    space.wrapped.push(Wrapped { epoch, id: id.clone(), to: BTreeMap::new() });
                    space.wrapped.len() - 1
                }
            };
            if !space.wrapped[at].to.contains_key(&card.device) {
                let context = key_context(&space.id, epoch);
                let context: Vec<&[u8]> = context.iter().map(Vec::as_slice).collect();
                let wrapped = crypto::wrap(&card.agree, random()?, &context, key);
                let wrapped = wrapped.ok_or_else(|| unreadable(format!("the card of {} is invalid", card.device)))?;
                space.wrapped[at].to.insert(card.device.clone(), hex::text(&wrapped));
            }
        }
    }
    Ok(())
}

pub fn key_context(space: &str, epoch: u32) -> [Vec<u8>; 3] {
    [b"space key".to_vec(), space.as_bytes().to_vec(), epoch.to_be_bytes().to_vec()]
}

/// Publishes this device's card and decisions.
pub fn publish(hub: &mut dyn Transport, device: &Device, space: &Space) -> Result<()> {
    let name = format!("{CARD}{}", device.id);
    let place = space.place(SPACE_PLACE);
    if let Some(bytes) = own_papers(device, space) {
        hub.replace(&place, &name, &bytes, None)?;
    }
    Ok(())
}

/// This device's document in the space, as bytes; the same until something changes.
pub fn own_papers(device: &Device, space: &Space) -> Option<Vec<u8>> {
    let papers = Papers {
        v: VERSION,
        card: space.card.clone()?,
        removed: space.removed.clone(),
        keys: space.wrapped.clone(),
        welcome: space.welcome.clone(),
        names: sealed_names(device, space).unwrap_or_default(),
    };
    document::signed(&device.secrets, &space.place(SPACE_PLACE), &format!("{CARD}{}", device.id), &papers)
}

fn names_purpose<'a>(space: &'a Space, device: &'a str) -> [&'a [u8]; 3] {
    [b"names", space.id.as_bytes(), device.as_bytes()]
}

/// The keys for names of what this home forgot before it joined. The same until they change: the salt follows from them.
fn sealed_names(device: &Device, space: &Space) -> Option<String> {
    let keys = space.earlier_names.as_ref().filter(|keys| !keys.is_empty() && space.team.is_none())?.join(" ");
    let first = space.keys.iter().min_by_key(|one| (one.epoch, one.key))?;
    let own = device.id.to_string();
    let mut salt = [0; crypto::SALT_BYTES];
    salt.copy_from_slice(&crypto::mac(&first.key, &[b"names salt", keys.as_bytes()])[..crypto::SALT_BYTES]);
    Some(hex::text(&crypto::seal_with(&first.key, salt, &names_purpose(space, &own), keys.as_bytes())?))
}

/// The keys for names of what other devices forgot before they joined.
pub fn opened_names(space: &Space, papers: &[Papers]) -> Vec<Key> {
    let one = |papers: &Papers| -> Option<Vec<Key>> {
        let sealed = hex::bytes(&papers.names).filter(|_| papers.card.project.is_none())?;
        let purpose = names_purpose(space, &papers.card.device);
        let opened = space.keys.iter().find_map(|key| crypto::open_with(&key.key, &purpose, &sealed))?;
        Some(String::from_utf8(opened).ok()?.split(' ').filter_map(hex::array).collect())
    };
    papers.iter().filter_map(one).flatten().collect()
}

/// Asks to be let into a space, with a code that one of its devices printed.
pub fn ask(home: &Home, hub: &mut dyn Transport, address: &str, code: &str, name: &str) -> Result<Space> {
    let code = Code::read(code).ok_or(SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    if let Some(known) = spaces.spaces.iter().find(|known| known.id == code.space && known.card.is_some()) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    spaces.spaces.retain(|known| known.id != code.space);
    let device = files.device()?;
    let mut space = new_space(&mut spaces, &code.space, None, address, name);
    let place = space.place(SPACE_PLACE);
    if !hub.heads(&place)?.iter().any(|document| document.name == SPACE_DOCUMENT) {
        return Err(SyncError::UnknownSpace { hub: address.to_string() });
    }
    let own = device.id.to_string();
    let Card { device: _, sign, agree, .. } = card(&own, &device.secrets, "")?;
    let request = Request { device: own.clone(), sign, agree, name: name.to_string() };
    let request = serde_json::to_vec(&request).map_err(unreadable)?;
    let key = crypto::derive(&code.secret, b"", &[b"pair"]);
    let sealed = crypto::seal_with(&key, random()?, &[b"request", space.id.as_bytes(), own.as_bytes()], &request);
    hub.replace(&place, &format!("{REQUEST}{own}"), &sealed.ok_or(SyncError::NoRandomBytes)?, None)?;
    space.asked_with = Some(hex::text(&code.secret));
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    Ok(space)
}

/// Joins a space with its recovery code: no other device is needed.
pub fn recover(home: &Home, hub: &mut dyn Transport, address: &str, code: &str, name: &str) -> Result<Space> {
    let code = Code::read(code).ok_or(SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    let device = files.device()?;
    let mut space = new_space(&mut spaces, &code.space, None, address, name);
    let place = space.place(SPACE_PLACE);
    let documents = hub.heads(&place)?;
    let unknown = || SyncError::UnknownSpace { hub: address.to_string() };
    let founding = documents.iter().find(|document| document.name == SPACE_DOCUMENT).ok_or_else(unknown)?;
    let founding: Founding = document::claimed(&founding.bytes).map_err(|_| unknown())?;
    let expected = Founding::recovery_of(&code.secret, &space.id, &founding.device, &founding.sign);
    if founding.recovery != expected {
        return Err(SyncError::WrongCode);
    }
    (space.founder, space.founder_sign) = (founding.device, founding.sign);
    let secrets = Secrets::of(&code.secret);
    let key_id = key_device(&code.secret);
    let (_, all) = super::membership::read_members(&space, &documents);
    space.keys = super::membership::unwrapped(&space, &key_id, &secrets, &all);
    let newest = space.key().ok_or_else(unknown)?.key;
    let own = device.id.to_string();
    let card = Card { name: sealed_name(&space.id, &newest, &own, name)?, ..card(&own, &device.secrets, &key_id)? };
    space.card = Some(card.certified(&space.id, &secrets).ok_or(SyncError::NoRandomBytes)?);
    super::membership::check_key(home, &mut space, &documents)?;
    if let Some(known) = spaces.named(space.team.as_deref()) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    publish(hub, &device, &space)?;
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    Ok(space)
}

/// Makes a code with which one more device can join. It is not stored on the hub.
pub fn code(home: &Home, team: Option<&str>, wall: Timestamp) -> Result<String> {
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    let space = spaces.named(team).ok_or_else(|| SyncError::NoSpace(label(team)))?;
    if space.card.is_none() || space.is_container() {
        return Err(SyncError::Waiting);
    }
    let secret = random::<SECRET_BYTES>()?;
    space.codes.retain(|code| code.until > wall);
    space.codes.push(Pending { secret: hex::text(&secret), until: wall.plus(CODE_MAX) });
    let written = Code { space: space.id.clone(), secret }.written().ok_or(SyncError::WrongCode)?;
    files.save_spaces(&spaces)?;
    Ok(written)
}

pub fn label(team: Option<&str>) -> String {
    match team {
        Some(team) => format!("team {team}"),
        None => "sync with your own devices; `cerberus sync init URL` starts it".to_string(),
    }
}

/// Removes a device and begins a new epoch, whose key it does not get.
pub fn remove(
    hub: &mut dyn Transport,
    device: &Device,
    space: &mut Space,
    members: &Members,
    gone: &str,
) -> Result<()> {
    let let_in = members.devices.values().filter(|card| card.by == gone && card.device != gone);
    let keeps = let_in.map(|card| card.device.clone()).collect();
    space.removed.retain(|removal| removal.device != gone);
    space.removed.push(Removal { device: gone.to_string(), keeps });
    let epoch = space.keys.iter().map(|one| one.epoch).max().unwrap_or(0) + 1;
    space.keys.push(SpaceKey { epoch, key: random()? });
    space.began.push(epoch);
    let mut left = members.clone();
    left.devices.remove(gone);
    space.wrapped.iter_mut().for_each(|one| drop(one.to.remove(gone)));
    space.welcome.remove(gone);
    wrap_keys(space, device, &left)?;
    publish(hub, device, space)
}

/// The names that a project may have on a hub, the best first: none says anything without the key of the space.
pub fn project_names(space: &Space, repository: &RepositoryRow) -> Vec<String> {
    let Some(first) = space.keys.iter().min_by_key(|one| one.epoch) else { return Vec::new() };
    // A path means nothing on another machine.
    let origin = repository.origin.as_deref().filter(|origin| !origin.starts_with('/'));
    let known =
        [("name", repository.name.as_deref()), ("origin", origin), ("commit", repository.root_commit.as_deref())];
    let name = |(what, value): (&str, Option<&str>)| {
        let hash = crypto::mac(&first.key, &[b"project", what.as_bytes(), value?.as_bytes()]);
        Some(hex::text(&hash[..16]))
    };
    known.into_iter().filter_map(name).collect()
}

/// Shares a project in a space. If another device shares it already, under any of its names, that one is used.
pub fn share(
    hub: Option<&mut dyn Transport>,
    store: &Store,
    space: &mut Space,
    project: &ProjectId,
    name: &str,
    root: &str,
) -> Result<Shared> {
    if let Some(known) = space.projects.iter_mut().find(|known| known.project == project.as_str() && !known.is_space())
    {
        known.begin();
        return Ok(known.clone());
    }
    let repository = store.repository(project)?.ok_or(SyncError::NoIdentity)?;
    let names = project_names(space, &repository);
    let mut chosen = names.first().cloned().ok_or(SyncError::NoIdentity)?;
    if let Some(hub) = hub {
        for name in &names {
            if !hub.heads(&space.place(name))?.is_empty() {
                chosen = name.clone();
                break;
            }
        }
    }
    add_space_stream(space);
    Ok(space.add_project(&chosen, project, name, root).clone())
}
