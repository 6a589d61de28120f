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

/// The newest of the keys that somebody has.
pub fn newest<'k>(space: &Space, keys: &'k [SpaceKey]) -> Result<&'k SpaceKey> {
    keys.last().ok_or_else(|| wrong_key(space))
}

/// The next epoch, for those who are left when some are gone.
pub fn next_epoch(
    space: &Space,
    state: &ChainState,
    keys: &[SpaceKey],
    key: Key,
    gone: &BTreeSet<String>,
) -> Result<Epoch> {
    let (last, space) = (newest(space, keys)?, &space.id);
    let number = last.epoch.checked_add(1).ok_or_else(|| unreadable("no key is left"))?;
    let left = state.members.iter().filter(|(id, _)| !gone.contains(*id));
    let left = left.map(|(id, member)| (id.as_str(), &member.device.keys)).chain([(RECOVERY, &state.recovery)]);
    let before = sealed(&key, &[b"before", space.as_bytes(), &number.to_be_bytes()], &last.key)?;
    epoch(space, SpaceKey { epoch: number, key }, left, before)
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

/// All keys of the space, for whoever has these secrets: the newest was wrapped for it, and each opens the one before it.
/// `None` if the newest is not among them.
pub fn all(space: &str, state: &ChainState, id: &str, secrets: &Secrets) -> Option<Vec<SpaceKey>> {
    let mut keys: Vec<SpaceKey> = Vec::new();
    for epoch in state.epochs.iter().rev() {
        let given = state.given.get(id).filter(|(number, _)| *number == epoch.number).map(|(_, wrapped)| wrapped);
        let wraps = [epoch.to.get(id), given];
        let direct = wraps.into_iter().flatten().find_map(|wrapped| unwrapped(space, epoch.number, secrets, wrapped));
        let opened = || {
            let later = keys.last()?;
            let purpose: [&[u8]; 3] = [b"before", space.as_bytes(), &later.epoch.to_be_bytes()];
            let before = state.epochs.iter().find(|one| one.number == later.epoch)?.before.as_str();
            let key = crypto::open_with(&later.key, &purpose, &hex::bytes(before)?)?.try_into().ok()?;
            Some(SpaceKey { epoch: epoch.number, key })
        };
        match direct.or_else(opened).filter(|key| key.check(space) == epoch.check) {
            Some(key) => keys.push(key),
            // What is older cannot be opened either.
            None => break,
        }
    }
    keys.reverse();
    (!keys.is_empty()).then_some(keys)
}

fn sealed(key: &Key, purpose: &[&[u8]], plain: &[u8]) -> Result<String> {
    Ok(hex::text(&crypto::seal_with(key, random()?, purpose, plain).ok_or(SyncError::NoRandomBytes)?))
}

fn opened(space: &Space, purpose: &[&[u8]], sealed: &str) -> Option<Vec<u8>> {
    let sealed = hex::bytes(sealed)?;
    space.keys.iter().find_map(|key| crypto::open_with(&key.key, purpose, &sealed))
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

pub fn grant(space: &Space, sign: Key, project: &str, name: &str) -> Result<Grant> {
    let key = space.key().ok_or(SyncError::Waiting)?.key;
    let name = sealed(&key, &[b"name", space.id.as_bytes(), &sign], shown_name(name).as_bytes())?;
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
pub fn opened_name(space: &Space, sign: &Key, sealed: &str) -> Option<String> {
    let opened = opened(space, &[b"name", space.id.as_bytes(), sign], sealed)?;
    Some(shown_name(&String::from_utf8(opened).ok()?))
}

/// The keys for names of what members forgot before they joined.
pub fn opened_names(space: &Space, state: &ChainState) -> Vec<Key> {
    let one = |added: &Added| -> Option<Vec<Key>> {
        let opened = opened(space, &[b"names", space.id.as_bytes(), &added.keys.sign], &added.names)?;
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
    serde_json::from_slice(&opened(space, &[b"founding", space.id.as_bytes()], &state.sealed)?).ok()
}

/// Proves that whoever lets a device in knows its code, and which chain it saw.
pub fn welcome(space: &str, code: &[u8], previous: &Key, keys: &Keys) -> String {
    let key = crypto::derive(code, b"", &[b"welcome"]);
    hex::text(&crypto::mac(&key, &[space.as_bytes(), previous, &keys.sign, &keys.agree]))
}
