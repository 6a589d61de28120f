//! The keys of a space: made, wrapped for members and unwrapped again, and what is sealed with them in the chain.

use std::collections::BTreeSet;

use cerberus_record::clean::text::line;

use super::chain::{ChainState, Epoch, Grant, Keys, MemberDevice as Added, RECOVERY, id_of};
use super::crypto::{self, Key, Secrets, hex};
use super::document::Secret;
use super::local::{Granted, Space, SpaceKey};
use super::transport::redacted;
use super::{Result, SyncError, random, unreadable};

/// How many earlier keys for names of forgotten records a device may bring along.
pub const NAMES_MAX: usize = 64;
const NAME_CHARS_MAX: usize = 64;
/// How many earlier keys a new one brings along, besides the first.
const HANDED_ON_MAX: usize = 800;
/// The number of an epoch, and its key.
const HANDED_ON_BYTES: usize = 4 + crypto::KEY_BYTES;

pub fn public(secrets: &Secrets) -> Result<Keys> {
    Ok(Keys {
        sign: secrets.sign_public().ok_or(SyncError::NoRandomBytes)?,
        agree: secrets.agree_public().ok_or(SyncError::NoRandomBytes)?,
    })
}

/// A key of the space, wrapped for somebody.
pub fn wrapped(space: &str, key: &SpaceKey, to: &Keys) -> Result<String> {
    let context: [&[u8]; 3] = [b"space key", space.as_bytes(), &key.epoch.to_be_bytes()];
    let wrapped = crypto::wrap(&to.agree, &context, &key.key);
    Ok(hex::text(&wrapped.ok_or_else(|| unreadable("the key of a device is invalid"))?))
}

fn unwrapped(space: &str, epoch: u32, secrets: &Secrets, wrapped: &str) -> Option<SpaceKey> {
    let context: [&[u8]; 3] = [b"space key", space.as_bytes(), &epoch.to_be_bytes()];
    let key = crypto::unwrap(secrets, &context, &hex::bytes(wrapped)?)?.try_into().ok()?;
    Some(SpaceKey { epoch, key })
}

pub fn wrong_key(space: &Space) -> SyncError {
    SyncError::WrongKey { hub: redacted(&space.hub) }
}

/// The key in use, if it is among those that somebody has.
pub fn newest<'k>(space: &Space, state: &ChainState, keys: &'k [SpaceKey]) -> Result<&'k SpaceKey> {
    keys.last().filter(|key| key.epoch == state.epoch()).ok_or_else(|| wrong_key(space))
}

/// The next epoch, for those who are left when some are gone. Whoever begins it hands on all keys that it has, the one in
/// use perhaps not among them: somebody may keep it from the others.
pub fn next_epoch(
    space: &Space,
    state: &ChainState,
    keys: &[SpaceKey],
    key: Key,
    gone: &BTreeSet<String>,
) -> Result<Epoch> {
    let (first, later) = keys.split_first().ok_or_else(|| wrong_key(space))?;
    let space = &space.id;
    let number = state.epoch().checked_add(1).ok_or_else(|| unreadable("no key is left"))?;
    let left = state.members.iter().filter(|(id, _)| !gone.contains(*id));
    let left = left.map(|(id, member)| (id.as_str(), &member.device.keys)).chain([(RECOVERY, &state.recovery)]);
    let handed_on = [first].into_iter().chain(&later[later.len().saturating_sub(HANDED_ON_MAX)..]);
    let plain = handed_on.flat_map(|one| [one.epoch.to_be_bytes().as_slice(), &one.key].concat());
    let purpose: [&[u8]; 3] = [b"before", space.as_bytes(), &number.to_be_bytes()];
    let before = sealed(&key, &purpose, &plain.collect::<Vec<u8>>())?;
    epoch(space, SpaceKey { epoch: number, key }, left, before)
}

/// The keys that whoever began an epoch has handed on, for those who have its key. They may be wrong.
fn before(space: &str, key: &SpaceKey, epoch: &Epoch) -> Vec<SpaceKey> {
    let sealed = hex::bytes(&epoch.before).unwrap_or_default();
    let purpose: [&[u8]; 3] = [b"before", space.as_bytes(), &epoch.number.to_be_bytes()];
    let opened = crypto::open_with(&key.key, &purpose, &sealed).unwrap_or_default();
    let one = |one: &[u8]| {
        let (number, key) = one.split_first_chunk()?;
        Some(SpaceKey { epoch: u32::from_be_bytes(*number), key: key.try_into().ok()? })
    };
    opened.chunks_exact(HANDED_ON_BYTES).filter_map(one).collect()
}

/// An epoch whose key is wrapped for these.
pub fn epoch<'a>(
    space: &str,
    key: SpaceKey,
    to: impl Iterator<Item = (&'a str, &'a Keys)>,
    before: String,
) -> Result<Epoch> {
    let to = to.map(|(id, keys)| Ok((id.to_string(), wrapped(space, &key, keys)?))).collect::<Result<_>>()?;
    Ok(Epoch { number: key.epoch, check: key.check(space), to, before })
}

/// All keys of the space that whoever has these secrets can get: those that were wrapped for it, and those that came with
/// them. `None` if there are none.
pub fn all(space: &str, state: &ChainState, id: &str, secrets: &Secrets) -> Option<Vec<SpaceKey>> {
    let (mut keys, mut handed_on): (Vec<SpaceKey>, BTreeSet<(u32, Key)>) = Default::default();
    for epoch in state.epochs.iter().rev() {
        let given = state.given.get(id).filter(|(number, _)| *number == epoch.number).map(|(_, wrapped)| wrapped);
        let wraps = [epoch.to.get(id), given].into_iter().flatten();
        let wrapped = wraps.filter_map(|wrapped| unwrapped(space, epoch.number, secrets, wrapped));
        let others = handed_on.range((epoch.number, [0; 32])..=(epoch.number, [u8::MAX; 32]));
        let mut found = wrapped.chain(others.map(|(epoch, key)| SpaceKey { epoch: *epoch, key: *key }));
        if let Some(key) = found.find(|key| key.check(space) == epoch.check) {
            handed_on.extend(before(space, &key, epoch).into_iter().map(|one| (one.epoch, one.key)));
            keys.push(key);
        }
    }
    keys.reverse();
    (!keys.is_empty()).then_some(keys)
}

/// Whether somebody began an epoch after this one without the key before it. What is sealed with that key is then read by
/// some devices and not by others.
pub fn is_skipped(space: &Space, state: &ChainState, since: u32) -> bool {
    state.epochs.windows(2).filter(|pair| pair[1].number > since).any(|pair| {
        let key = key_of(space, pair[1].number);
        let handed_on = key.map(|key| before(&space.id, key, &pair[1])).unwrap_or_default();
        !handed_on.iter().any(|key| key.epoch == pair[0].number && key.check(&space.id) == pair[0].check)
    })
}

fn sealed(key: &Key, purpose: &[&[u8]], plain: &[u8]) -> Result<String> {
    Ok(hex::text(&crypto::seal_with(key, random()?, purpose, plain).ok_or(SyncError::NoRandomBytes)?))
}

/// Opens what was sealed with the key of an epoch.
fn opened(space: &Space, epoch: u32, purpose: &[&[u8]], sealed: &str) -> Option<Vec<u8>> {
    crypto::open_with(&key_of(space, epoch)?.key, purpose, &hex::bytes(sealed)?)
}

fn key_of(space: &Space, epoch: u32) -> Option<&SpaceKey> {
    space.keys.binary_search_by_key(&epoch, |key| key.epoch).ok().map(|at| &space.keys[at])
}

/// What a link says about a device.
pub fn added(space: &str, key: &Key, keys: Keys, name: &str, names: &[String]) -> Result<Added> {
    let names: Vec<&str> = names.iter().filter(|name| hex::array::<32>(name).is_some()).map(String::as_str).collect();
    let purpose = |what: &'static [u8]| [what, space.as_bytes(), &keys.sign];
    let names = match names.is_empty() {
        true => String::new(),
        false => sealed(key, &purpose(b"names"), names[..names.len().min(NAMES_MAX)].join(" ").as_bytes())?,
    };
    let name = sealed(key, &purpose(b"name"), shown_name(name).as_bytes())?;
    Ok(Added { keys, name, names })
}

pub fn grant(space: &str, key: &Key, sign: Key, project: &str, name: &str) -> Result<Grant> {
    let name = sealed(key, &[b"name", space.as_bytes(), &sign], shown_name(name).as_bytes())?;
    Ok(Grant { sign, project: project.to_string(), name })
}

/// The id of a container's grant.
pub fn grant_id(granted: &Granted) -> Result<String> {
    Ok(id_of(&public(&Secrets::of(&granted.secret))?.sign))
}

/// A name as it may be shown.
pub fn shown_name(name: &str) -> String {
    line(name, NAME_CHARS_MAX)
}

/// The name of a device or a grant.
pub fn opened_name(space: &Space, state: &ChainState, sign: &Key, sealed: &str) -> Option<String> {
    let opened = opened(space, state.given.get(&id_of(sign))?.0, &[b"name", space.id.as_bytes(), sign], sealed)?;
    Some(shown_name(&String::from_utf8(opened).ok()?))
}

/// The keys for names of what members forgot before they joined.
pub fn opened_names(space: &Space, state: &ChainState) -> Vec<Key> {
    let one = |added: &Added| -> Option<Vec<Key>> {
        let (sign, epoch) = (&added.keys.sign, state.given.get(&id_of(&added.keys.sign))?.0);
        let opened = opened(space, epoch, &[b"names", space.id.as_bytes(), sign], &added.names)?;
        Some(String::from_utf8(opened).ok()?.split(' ').filter_map(hex::array).collect())
    };
    state.members.values().filter_map(|member| one(&member.device)).flatten().collect()
}

pub fn sealed_secret(space: &str, key: &Key, secret: &Secret) -> Result<String> {
    let plain = serde_json::to_vec(secret).map_err(unreadable)?;
    sealed(key, &[b"founding", space.as_bytes()], &plain)
}

/// What only members know about the space.
pub fn opened_secret(space: &Space, state: &ChainState) -> Option<Secret> {
    serde_json::from_slice(&opened(space, 1, &[b"founding", space.id.as_bytes()], &state.sealed)?).ok()
}

/// Proves that whoever lets a device in knows its code, and which chain it saw.
pub fn welcome(space: &str, code: &[u8], previous: &Key, keys: &Keys) -> String {
    let key = crypto::derive(code, b"", &[b"welcome"]);
    hex::text(&crypto::mac(&key, &[space.as_bytes(), previous, &keys.sign, &keys.agree]))
}
