//! Making and joining spaces: codes, and which projects are shared.

use std::collections::BTreeSet;
use std::time::Duration;

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::forgotten;
use cerberus_store::view::{RepositoryRow, Store};
use serde::{Deserialize, Serialize};

use super::chain::{Chain, ChainChange, ChainState, Keys, RECOVERY};
use super::code::{Code, SECRET_BYTES};
use super::crypto::{self, Secrets, hex};
use super::document::{REQUEST, SPACE_PLACE, Secret};
use super::files::Files;
use super::links::{self, ChainHub};
use super::local::{Device, Pending, Shared, Space, SpaceKey, Spaces, StreamState, label};
use super::project::SharedProject;
use super::transport::{Document, Transport};
use super::{Result, SyncError, base, keys, names, random, unreadable};

/// How long a code can be used.
pub const CODE_MAX: Duration = Duration::from_secs(15 * 60);

/// What a device that asks to be let in says about itself.
#[derive(Serialize, Deserialize)]
pub struct JoinRequest {
    pub keys: Keys,
    pub name: String,
    /// The keys for names of what it has forgotten, in hexadecimal digits.
    #[serde(default)]
    pub names: Vec<String>,
}

/// The keys with which this home has named what it forgot.
fn names(home: &Home) -> Result<Vec<String>> {
    let all = [forgotten::key(home)?].into_iter().chain(forgotten::earlier(home)?);
    Ok(all.take(keys::NAMES_MAX).map(|key| hex::text(&key)).collect())
}

/// The change that lets a device in. The key in use, which must be among those that are known, is wrapped for it.
pub fn add(
    space: &Space,
    state: &ChainState,
    known: &[SpaceKey],
    keys: Keys,
    name: &str,
    names: &[String],
    welcome: String,
) -> Result<ChainChange> {
    let newest = keys::newest(space, state, known)?;
    let key = keys::wrapped(&space.id, newest, &keys)?;
    Ok(ChainChange::Add { device: keys::added(&space.id, &newest.key, keys, name, names)?, key, welcome })
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
    let mut spaces = files.spaces_to_extend()?;
    if let Some(known) = spaces.named(team) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    let device = files.device()?;
    let (id, secret) = (hex::text(&random::<8>()?), random::<SECRET_BYTES>()?);
    let mut space = new_space(&mut spaces, &id, team, address, name);
    let key = SpaceKey { epoch: 1, key: random()? };
    add_space_stream(&mut space);
    let (recovery, own) = (Secrets::of(&secret), keys::public(&device.secrets)?);
    let secret_of_all = match team {
        None => Secret { team: None, names: forgotten::key(home)? },
        Some(team) => Secret { team: Some(team.to_string()), names: random()? },
    };
    let names = if team.is_none() { names(home)? } else { Vec::new() };
    let (recovery_keys, own_id) = (keys::public(&recovery)?, device.id.to_string());
    let to = [(own_id.as_str(), &own), (RECOVERY, &recovery_keys)];
    let change = ChainChange::Found {
        first: keys::added(&id, &key.key, own.clone(), name, &names)?,
        epoch: keys::epoch(&id, key.clone(), to.into_iter(), String::new())?,
        sealed: keys::sealed_secret(&id, &key.key, &secret_of_all)?,
        recovery: recovery_keys.clone(),
    };
    let chain = links::found(&space, &recovery, change)?;
    links::put_back(hub, &space, &chain)?;
    space.keys = vec![key];
    files.save_chain(&space, &chain)?;
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    let written = Code { space: id, secret }.written().ok_or(SyncError::WrongCode)?;
    Ok((space, written))
}

/// A space without keys. Everything that belongs to the space itself has a stream of its own among own devices.
pub fn new_space(spaces: &mut Spaces, id: &str, team: Option<&str>, hub: &str, name: &str) -> Space {
    let (number, team, [id, hub, name]) = (spaces.next, team.map(str::to_string), [id, hub, name].map(str::to_string));
    spaces.next += 1;
    Space { number, id, team, hub, name, ..Space::default() }
}

/// The stream of what belongs to no project: memories that apply everywhere, and names of what was forgotten.
pub fn add_space_stream(space: &mut Space) {
    if space.team.is_none() && !space.is_container() {
        space.add_project(SPACE_PLACE, &ProjectId::from_stored(String::new()), "", "");
    }
}

/// Asks to be let into a space, with a code that one of its devices printed.
pub fn ask(home: &Home, hub: &mut dyn Transport, address: &str, code: &str, name: &str) -> Result<Space> {
    let code = Code::read(code).ok_or(SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces_to_extend()?;
    let mut space = new_space(&mut spaces, &code.space, None, address, name);
    let place = space.place(SPACE_PLACE);
    let documents = hub.heads(&place)?;
    let chain = links::first(hub, &space, &documents)?;
    let is_in = chain.state.members.contains_key(&files.device()?.id.to_string());
    if let Some(known) = spaces.spaces.iter().find(|known| known.id == code.space && !known.is_waiting() && is_in) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    spaces.spaces.retain(|known| known.id != code.space);
    let device = unused(&files, &mut spaces, &chain.state)?;
    let own = device.id.to_string();
    let request = JoinRequest { keys: keys::public(&device.secrets)?, name: name.to_string(), names: names(home)? };
    let request = serde_json::to_vec(&request).map_err(unreadable)?;
    let key = crypto::derive(&code.secret, b"", &[b"pair"]);
    let sealed = crypto::seal_with(&key, random()?, &[b"request", space.id.as_bytes(), own.as_bytes()], &request);
    hub.replace(&place, &format!("{REQUEST}{own}"), &sealed.ok_or(SyncError::NoRandomBytes)?, None)?;
    space.asked_with = Some(hex::text(&code.secret));
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    Ok(space)
}

/// This device. If it was in the space before, it comes back as another: an id is used once.
fn unused(files: &Files, spaces: &mut Spaces, state: &ChainState) -> Result<Device> {
    let device = files.device()?;
    if state.is_known(&device.id.to_string()) { become_another(files, spaces) } else { Ok(device) }
}

/// This home becomes another device, in every space. Its old keys let the new ones in. Everything it has is sent again;
/// nothing is lost, and nothing counts twice.
pub fn become_another(files: &Files, spaces: &mut Spaces) -> Result<Device> {
    let old = files.device()?;
    for space in &mut spaces.spaces {
        space.former.get_or_insert_with(|| old.secrets.clone());
        space.codes.clear();
        let mut state = files.state(space)?;
        for (number, stream) in &mut state.streams {
            let seen = std::mem::take(&mut stream.seen);
            let (listing, replica_bytes) = (std::mem::take(&mut stream.listing), stream.replica_bytes);
            *stream = StreamState { seen, replica_bytes, listing, ..StreamState::default() };
            if let Some(shared) = space.projects.iter().find(|shared| shared.number == *number) {
                let project = SharedProject { home: files.home, space, shared };
                project.drop_kept(|_, _| true)?;
                project.clear_sent()?;
            }
        }
        files.save_state(space, &state)?;
    }
    files.save_spaces(spaces)?;
    files.new_device()
}

/// Joins a space with its recovery code: no other device is needed. The chain is the right one because the recovery key
/// has signed its beginning, or confirmed it later.
/// Says besides what the hub alone vouches for.
pub fn recover(
    home: &Home,
    hub: &mut dyn Transport,
    address: &str,
    code: &str,
    name: &str,
) -> Result<(Space, Vec<String>)> {
    let code = Code::read(code).ok_or(SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces_to_extend()?;
    let mut space = new_space(&mut spaces, &code.space, None, address, name);
    let documents = hub.heads(&space.place(SPACE_PLACE))?;
    let mut chain = links::first(hub, &space, &documents)?;
    let secrets = Secrets::of(&code.secret);
    if chain.state.recovery != keys::public(&secrets)? {
        return Err(SyncError::WrongCode);
    }
    let is_in = chain.state.members.contains_key(&files.device()?.id.to_string());
    spaces.spaces.retain(|known| known.id != space.id || is_in);
    space.keys = keys::all(&space.id, &chain.state, RECOVERY, &secrets).ok_or(SyncError::WrongCode)?;
    space.team = keys::opened_secret(&space, &chain.state).ok_or(SyncError::WrongCode)?.team;
    if let Some(known) = spaces.named(space.team.as_deref()) {
        return Err(SyncError::SpaceExists(known.label()));
    }
    let notes = unconfirmed(&space, &chain, &documents);
    let device = unused(&files, &mut spaces, &chain.state)?;
    let names = if space.team.is_none() { names(home)? } else { Vec::new() };
    let (key, mut at) = (random()?, ChainHub::recovery(hub, &files, &space, &secrets));
    at.append(&mut chain, |state, keys| match keys::newest(&space, state, keys) {
        Ok(_) => Ok(None),
        // Somebody keeps it from whoever has the recovery code.
        Err(_) => Ok(Some(ChainChange::Rotate(keys::next_epoch(&space, state, keys, key, &BTreeSet::new())?))),
    })?;
    at.append(&mut chain, |state, keys| {
        add(&space, state, keys, keys::public(&device.secrets)?, name, &names, String::new()).map(Some)
    })?;
    links::take_keys(&files, &mut space, &chain.state, &device)?;
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    Ok((space, notes))
}

/// What whoever joins with the recovery code cannot know: whether the hub shows all changes after the last one that the
/// recovery key has signed. A device that wrote here and that no change names shows that it does not.
fn unconfirmed(space: &Space, chain: &Chain, documents: &[Document]) -> Vec<String> {
    let confirmed = chain.links.iter().rposition(|shown| shown.link.by == RECOVERY).map_or(0, |at| at + 1);
    let names: Vec<String> = names::told(space, &chain.state).into_values().collect();
    let mut notes = vec![format!(
        "the recovery code vouches for the first {confirmed} of {} changes of who belongs to the space; the others are \
         as the hub shows them. Remove whom you had removed before. In it are: {}",
        chain.links.len(),
        names.join(", ")
    )];
    let is_device = |name: &&str| DeviceId::parse(name).is_some_and(|device| device.to_string() == **name);
    let written = documents.iter().map(|document| document.name.as_str()).filter(is_device);
    let unknown: Vec<&str> = written.filter(|name| !chain.state.is_known(name)).collect();
    if !unknown.is_empty() {
        notes.push(format!(
            "the hub shows less of who belongs to the space than its devices know: {} wrote there and is not named",
            unknown.join(", ")
        ));
    }
    notes
}

/// The recovery key, if this is the recovery code of a space.
pub fn recovery(space: &Space, state: &ChainState, code: &str) -> Result<Secrets> {
    let code = Code::read(code).filter(|code| code.space == space.id).ok_or(SyncError::WrongCode)?;
    let secrets = Secrets::of(&code.secret);
    if keys::public(&secrets)? == state.recovery { Ok(secrets) } else { Err(SyncError::WrongCode) }
}

/// Makes another recovery code. The old one does not count any more.
pub fn rotate_recovery(files: &Files, hub: &mut dyn Transport, space: &Space, old: &str) -> Result<String> {
    let device = files.device()?;
    let mut chain = links::current(hub, files, space, &device, true)?;
    let old = recovery(space, &chain.state, old)?;
    let secret = random::<SECRET_BYTES>()?;
    let new = Secrets::of(&secret);
    ChainHub::recovery(hub, files, space, &old).append(&mut chain, |state, keys| {
        let (recovery, newest) = (keys::public(&new)?, keys::newest(space, state, keys)?);
        let confirmed = new.signature(&links::confirming(space), &state.head).ok_or(SyncError::NoRandomBytes)?;
        Ok(Some(ChainChange::Recovery { key: keys::wrapped(&space.id, newest, &recovery)?, recovery, confirmed }))
    })?;
    Code { space: space.id.clone(), secret }.written().ok_or(SyncError::WrongCode)
}

/// Ends a fork, by the word of the recovery key: the chain that this device knows counts, or the other one, if the code is
/// the one that was made there. A new key begins. Says whether this device's chain counts.
pub fn settle(files: &Files, hub: &mut dyn Transport, number: u32, code: &str) -> Result<bool> {
    let (device, mut spaces) = (files.device()?, files.spaces()?);
    let space = spaces.numbered(number)?;
    let mut chain = links::current(hub, files, space, &device, true)?;
    let other = match recovery(space, &chain.state, code) {
        Err(SyncError::WrongCode) => {
            let other = links::forking(hub, space, &chain)?.filter(|other| recovery(space, &other.state, code).is_ok());
            Some(other.ok_or(SyncError::WrongCode)?)
        }
        known => known.map(|_| None)?,
    };
    let is_own = other.is_none();
    if let Some(other) = other {
        space.follow(&chain, &other.state);
        files.send_again(space)?;
        chain = other;
    }
    let (secrets, key) = (recovery(space, &chain.state, code)?, random()?);
    ChainHub::recovery(hub, files, space, &secrets).append(&mut chain, |state, keys| {
        Ok(Some(ChainChange::Rotate(keys::next_epoch(space, state, keys, key, &BTreeSet::new())?)))
    })?;
    if chain.state.members.contains_key(&device.id.to_string()) {
        links::take_keys(files, space, &chain.state, &device)?;
    }
    files.save_spaces(&spaces)?;
    Ok(is_own)
}

/// Leaves a space. The others begin a new key; what was received stays here.
pub fn leave(files: &Files, hub: &mut dyn Transport, number: u32) -> Result<()> {
    let (device, mut spaces) = (files.device()?, files.spaces()?);
    if let Some(space) = spaces.spaces.iter().find(|space| space.number == number && !space.is_waiting()) {
        match links::current(hub, files, space, &device, false) {
            Ok(mut chain) => {
                let leave = |_: &ChainState, _: &[SpaceKey]| Ok(Some(ChainChange::Leave));
                ChainHub::of(hub, files, space, &device).append(&mut chain, leave)?;
            }
            // A container is not a member, whoever was removed has left already, and nobody is kept by a fork.
            Err(SyncError::Removed(_) | SyncError::Forked { .. } | SyncError::NotBelieved { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    spaces.spaces.retain(|space| space.number != number);
    files.save_spaces(&spaces)
}

/// From now on, a space is exchanged at another address. What the new hub does not have is sent there.
pub fn relocate(files: &Files, hub: &mut dyn Transport, number: u32, address: &str) -> Result<()> {
    let mut spaces = files.spaces()?;
    let space = spaces.numbered(number)?;
    let chain = links::known(files, space)?.ok_or(SyncError::Waiting)?;
    space.hub = address.to_string();
    links::put_back(hub, space, &chain)?;
    let mut state = files.state(space)?;
    for stream in state.streams.values_mut() {
        stream.is_to_rewrite = true;
        stream.head.clear();
        // Containers need a base there, too: whoever moves first and has none to find writes one.
        (stream.base.since, stream.base.since_at) = (base::WORTH_RECORDS, None);
    }
    files.save_state(space, &state)?;
    files.save_spaces(&spaces)
}

/// Makes a code with which one more device can join. It is not stored on the hub.
pub fn code(home: &Home, team: Option<&str>, wall: Timestamp) -> Result<String> {
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    let space = spaces.named(team).ok_or_else(|| SyncError::NoSpace(label(team)))?;
    if space.is_waiting() || space.is_container() {
        return Err(SyncError::Waiting);
    }
    let secret = random::<SECRET_BYTES>()?;
    space.codes.retain(|code| code.until > wall);
    space.codes.push(Pending { secret: hex::text(&secret), until: wall.plus(CODE_MAX) });
    let written = Code { space: space.id.clone(), secret }.written().ok_or(SyncError::WrongCode)?;
    files.save_spaces(&spaces)?;
    Ok(written)
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
