//! The chain of a space on the hub and in this home: read, kept, put back and added to.
//!
//! A hub has the chain twice. In the stream `chain` every link has its own name, so that of two devices that add a link at
//! the same moment one is told that the other was faster. The document `chain` has all links, so that one request reads
//! them. Both are put back from any device that knows them.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{
    Chain, ChainChange, ChainState, ChainVerdict, Claim, IsSigned, Keys, Link, Member, RECOVERY, ShownLink,
};
use super::crypto::{self, Key, Secrets, hex};
use super::document::{self, CHAIN, FIRST_FORMAT, SPACE_PLACE, Unusable, VERSION};
use super::files::Files;
use super::local::{Device, Space, SpaceKey};
use super::transport::{
    BATCHES_AT_ONCE_MAX, Document, Put, Range, Sealed, Stream, Transport, TransportError, redacted,
};
use super::{Result, SyncError, keys, random, unreadable};

/// How often somebody else may be faster.
const ATTEMPTS_MAX: usize = 16;
/// So many links are asked for one by one. There are more only if devices were killed.
const LINKS_AT_ONCE: usize = 2;
/// How many places there are for a link, if something else stands in the first.
const LANES: u64 = 4;
const NEWER: &str = "who belongs to this space was written by a newer version of Cerberus; update this one";
/// What links are signed as.
const LINK: &str = "link";
/// A larger link is none. One that wraps a key for all members that a space may have is smaller.
const LINK_BYTES_MAX: usize = 1024 * 1024;
/// How much the document with all links holds, so that every hub takes it. What does not fit is in the stream.
const CHAIN_CHARS_MAX: usize = 1024 * 1024;

pub fn stream(space: &Space) -> Stream {
    Stream { place: space.place(SPACE_PLACE), device: CHAIN.to_string() }
}

/// What is asked to learn about links that are not in the document yet.
pub fn newer(space: &Space, chain: &Chain) -> Range {
    let ChainState { number, recoveries, .. } = chain.state;
    Range { stream: stream(space), generation: recoveries, sequence: number, limit: LINKS_AT_ONCE }
}

fn shown(bytes: &[u8]) -> std::result::Result<ShownLink, Unusable> {
    if bytes.len() > LINK_BYTES_MAX {
        return Err(Unusable::NotADocument);
    }
    let link: Link = document::claimed(bytes)?;
    Ok(ShownLink { link, hash: crypto::hash(bytes), bytes: bytes.to_vec() })
}

/// Runs something that needs to know what is signed in a space.
pub(super) fn believing<T>(space: &Space, run: impl FnOnce(IsSigned) -> T) -> T {
    let place = space.place(SPACE_PLACE);
    run(&|claim: Claim, key: &Key| match claim {
        Claim::Link(shown) => document::is_signed(key, &place, LINK, &shown.bytes),
        Claim::Confirmed(head, signature) => crypto::is_signed(key, &confirming(space), head, signature),
    })
}

/// What a new recovery key signs the head of the chain as.
pub fn confirming(space: &Space) -> [&[u8]; 2] {
    [b"confirmed", space.id.as_bytes()]
}

/// The chain that this home knows; `None` if it has not seen any yet.
pub fn known(files: &Files, space: &Space) -> Result<Option<Chain>> {
    let links = files.links(space)?;
    if links.is_empty() {
        return Ok(None);
    }
    let damaged =
        |reason: String| SyncError::Damaged { path: files.path(&format!("chain-{}.json", space.number)), reason };
    let shown: std::result::Result<Vec<ShownLink>, Unusable> = links.iter().map(|link| shown(link)).collect();
    let shown = shown.map_err(|_| damaged("not a chain".to_string()))?;
    match believing(space, |is_signed| Chain::read(shown, is_signed)) {
        (Some(chain), None) => Ok(Some(chain)),
        (_, refusal) => Err(damaged(refusal.map_or_else(String::new, |refusal| refusal.to_string()))),
    }
}

/// What the hub's document shows. What is not a link ends it.
pub(super) struct ShownChain {
    pub links: Vec<ShownLink>,
    /// What follows them, if it says that a newer version wrote it. Anybody can say that.
    newer: Option<Vec<u8>>,
    /// There were more than fit.
    is_cut: bool,
}

impl ShownChain {
    pub fn of(documents: &[Document]) -> ShownChain {
        let found = documents.iter().find(|document| document.name == CHAIN);
        let texts =
            found.and_then(|found| serde_json::from_slice::<Vec<String>>(&found.bytes).ok()).unwrap_or_default();
        let is_cut = texts.last().is_some_and(String::is_empty);
        let (mut links, mut newer) = (Vec::new(), None);
        for bytes in texts.iter().map_while(|text| hex::bytes(text)) {
            match shown(&bytes) {
                Ok(shown) => links.push(shown),
                Err(problem) => {
                    newer = (problem == Unusable::Newer).then_some(bytes);
                    break;
                }
            }
        }
        ShownChain { links, newer, is_cut }
    }

    /// Whether it has something that is no part of the chain that counts.
    pub fn has_other(&self, chain: &Chain) -> bool {
        self.newer.is_some() || self.links.len() > chain.links.len()
    }

    /// The chain that counts, with what did not fit into the document. Fails if a member has written in a newer version.
    pub fn completed(&self, hub: &mut dyn Transport, space: &Space, chain: Chain) -> Result<Chain> {
        let (place, ChainState { members, recovery, .. }) = (space.place(SPACE_PLACE), &chain.state);
        let is_newer = self.newer.as_ref().is_some_and(|bytes| {
            let is_by = |keys: &Keys| document::is_signed(&keys.sign, &place, LINK, bytes);
            is_by(recovery) || members.values().any(|member| is_by(&member.device.keys))
        });
        if is_newer {
            return Err(unreadable(NEWER));
        }
        if self.is_cut { extended(hub, space, chain) } else { Ok(chain) }
    }
}

/// A chain with all links that the hub's stream has after it.
fn extended(hub: &mut dyn Transport, space: &Space, mut chain: Chain) -> Result<Chain> {
    loop {
        let Range { stream, generation, sequence, .. } = newer(space, &chain);
        let longer = with_newer(space, &chain, &hub.after(&stream, generation, sequence, BATCHES_AT_ONCE_MAX)?);
        if longer.links.len() == chain.links.len() {
            return Ok(chain);
        }
        chain = longer;
    }
}

/// The document with all links that fit. An empty text at its end says that there are more.
pub(super) fn document(chain: &Chain) -> Result<Vec<u8>> {
    let (mut texts, mut chars): (Vec<String>, usize) = (Vec::new(), 0);
    for text in chain.links.iter().map(|shown| hex::text(&shown.bytes)) {
        chars += text.len();
        if chars > CHAIN_CHARS_MAX {
            texts.push(String::new());
            break;
        }
        texts.push(text);
    }
    serde_json::to_vec(&texts).map_err(unreadable)
}

/// The chain that a hub shows to somebody who knows none yet.
pub fn first(hub: &mut dyn Transport, space: &Space, documents: &[Document]) -> Result<Chain> {
    let shown = ShownChain::of(documents);
    let is_first = |document: &Document| document.name == FIRST_FORMAT;
    match shown.links.first() {
        Some(founding) if founding.link.v < VERSION => return Err(SyncError::EarlierFormat),
        Some(_) => {}
        None if documents.iter().any(is_first) => return Err(SyncError::EarlierFormat),
        None if shown.newer.is_some() => return Err(unreadable(NEWER)),
        None => return Err(SyncError::UnknownSpace { hub: redacted(&space.hub) }),
    }
    match believing(space, |is_signed| Chain::read(shown.links.clone(), is_signed)) {
        (Some(chain), _) => shown.completed(hub, space, chain),
        (None, refusal) => {
            let reason = refusal.map_or_else(String::new, |refusal| refusal.to_string());
            Err(SyncError::NotBelieved { hub: redacted(&space.hub), reason })
        }
    }
}

/// Writes the document with all links.
pub fn publish(hub: &mut dyn Transport, space: &Space, chain: &Chain) -> Result<()> {
    Ok(hub.replace(&space.place(SPACE_PLACE), CHAIN, &document(chain)?, None)?)
}

/// The links as the stream has them, each with its generation. After a link of the recovery key a new one begins.
fn in_stream(chain: &Chain) -> impl Iterator<Item = (u64, Sealed)> {
    chain.links.iter().scan(1, |generation, shown| {
        let is_recovery = shown.link.by == RECOVERY && shown.link.number > 1;
        let at = std::mem::replace(generation, *generation + u64::from(is_recovery));
        Some((at, Sealed { sequence: shown.link.number, bytes: shown.bytes.clone() }))
    })
}

/// Whether the hub still has the newest link in its place.
pub(super) fn has_newest(hub: &mut dyn Transport, space: &Space, chain: &Chain) -> Result<bool> {
    let Some((generation, newest)) = in_stream(chain).last() else { return Ok(false) };
    Ok(hub.after(&stream(space), generation, newest.sequence - 1, 1)?.first() == Some(&newest))
}

/// Puts back every link that the hub does not have any more.
pub fn put_back(hub: &mut dyn Transport, space: &Space, chain: &Chain) -> Result<()> {
    // One after another: what stands in the way of one must not keep the others.
    let (mut links, stream) = (in_stream(chain), stream(space));
    let put = links.try_for_each(|(generation, link)| match hub.put_if_absent(&stream, generation, &[link]) {
        Err(TransportError::InTheWay { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    });
    put?;
    publish(hub, space, chain)
}

/// Signs the first link.
pub fn found(space: &Space, recovery: &Secrets, change: ChainChange) -> Result<Chain> {
    let link = Link { v: VERSION, number: 1, previous: [0; 32], by: RECOVERY.to_string(), change };
    let first = signed(space, recovery, &link)?;
    let begun = believing(space, |is_signed| Chain::begin(first, is_signed));
    begun.map_err(unreadable)
}

fn signed(space: &Space, secrets: &Secrets, link: &Link) -> Result<ShownLink> {
    let bytes = document::signed(secrets, &space.place(SPACE_PLACE), LINK, link).ok_or(SyncError::NoRandomBytes)?;
    Ok(ShownLink { link: link.clone(), hash: crypto::hash(&bytes), bytes })
}

/// The chain before somebody types a change: what this home knows, and what the hub has more. Fails if this device is not
/// in it. Whoever has the recovery code goes on from what this home knows, whatever the hub shows.
pub fn current(
    hub: &mut dyn Transport,
    files: &Files,
    space: &Space,
    device: &Device,
    has_recovery: bool,
) -> Result<Chain> {
    let known = known(files, space)?.ok_or(SyncError::Waiting)?;
    let shown = ShownChain::of(&hub.heads(&space.place(SPACE_PLACE))?);
    let chain = match believing(space, |is_signed| known.judged(shown.links.clone(), is_signed)) {
        ChainVerdict::Longer(chain) => chain,
        ChainVerdict::Same | ChainVerdict::Older => known,
        ChainVerdict::Forked(_) if has_recovery => known,
        ChainVerdict::Forked(number) => return Err(forked(space, number)),
        ChainVerdict::Recovered(_) => {
            let reason = "the recovery code was used; run `cerberus sync` first".to_string();
            return Err(SyncError::NotBelieved { hub: redacted(&space.hub), reason });
        }
    };
    let chain = shown.completed(hub, space, chain)?;
    match chain.state.members.contains_key(&device.id.to_string()) || has_recovery {
        true => Ok(chain),
        false => Err(SyncError::Removed(space.label())),
    }
}

pub(super) fn forked(space: &Space, number: u64) -> SyncError {
    SyncError::Forked { hub: redacted(&space.hub), space: space.label(), number }
}

/// Whether a link has got its place on the hub.
enum Placed {
    Here,
    /// Somebody else was faster: this is the chain now.
    After(Box<Chain>),
    /// Something that cannot be believed stands everywhere.
    Nowhere,
}

/// Puts a link where nobody else can put one. What cannot be believed is left there, and the next place is tried.
fn placed(hub: &mut dyn Transport, space: &Space, chain: &Chain, sealed: Sealed) -> Result<Placed> {
    let Range { stream, generation, sequence, limit } = newer(space, chain);
    for lane in 0..LANES {
        let generation = generation + (lane << 32);
        if !hub.put_if_absent(&stream, generation, std::slice::from_ref(&sealed))?.contains(&Put::Other) {
            return Ok(Placed::Here);
        }
        let there = hub.after(&stream, generation, sequence, limit)?;
        let longer = with_newer(space, chain, &there);
        if longer.links.len() > chain.links.len() {
            return Ok(Placed::After(Box::new(longer)));
        }
    }
    Ok(Placed::Nowhere)
}

/// A chain with the links that follow it, as far as they can be believed.
pub(super) fn with_newer(space: &Space, chain: &Chain, there: &[Sealed]) -> Chain {
    let mut longer = chain.clone();
    believing(space, |is_signed| {
        let mut links = there.iter().map_while(|link| shown(&link.bytes).ok());
        let _ = links.try_for_each(|link| longer.push(link, is_signed));
    });
    longer
}

/// Where links are added, and who signs them.
pub struct ChainHub<'a> {
    pub hub: &'a mut dyn Transport,
    files: &'a Files<'a>,
    space: &'a Space,
    by: String,
    secrets: &'a Secrets,
}

impl<'a> ChainHub<'a> {
    /// A device signs.
    pub fn of(hub: &'a mut dyn Transport, files: &'a Files, space: &'a Space, device: &'a Device) -> ChainHub<'a> {
        ChainHub { hub, files, space, by: device.id.to_string(), secrets: &device.secrets }
    }

    /// Whoever has the recovery code signs.
    pub fn recovery(
        hub: &'a mut dyn Transport,
        files: &'a Files,
        space: &'a Space,
        secrets: &'a Secrets,
    ) -> ChainHub<'a> {
        ChainHub { hub, files, space, by: RECOVERY.to_string(), secrets }
    }

    /// Adds a link. If somebody else was faster, the change is made anew on top of theirs. `change` gets the keys that the
    /// signer has, and says what to do; `None` if there is nothing to do any more.
    pub fn append(
        &mut self,
        chain: &mut Chain,
        change: impl Fn(&ChainState, &[SpaceKey]) -> Result<Option<ChainChange>>,
    ) -> Result<bool> {
        let ChainHub { hub, files, space, by, secrets } = self;
        for _ in 0..ATTEMPTS_MAX {
            // Somebody who was faster may have removed this device.
            if chain.state.signer(by).is_none() {
                return Err(SyncError::Removed(space.label()));
            }
            let keys = keys::all(&space.id, &chain.state, by, secrets).unwrap_or_default();
            let Some(change) = change(&chain.state, &keys)? else { return Ok(false) };
            let link = signed(space, secrets, &chain.next(VERSION, by, change))?;
            let sealed = Sealed { sequence: link.link.number, bytes: link.bytes.clone() };
            let mut next = chain.clone();
            let pushed = believing(space, |is_signed| next.push(link, is_signed));
            pushed.map_err(|refusal| unreadable(format!("this device may not do that: {refusal}")))?;
            match placed(*hub, space, chain, sealed)? {
                Placed::Here => {}
                Placed::After(longer) => {
                    *chain = *longer;
                    continue;
                }
                // The word of the recovery key counts, whatever stands in its way.
                Placed::Nowhere if by == RECOVERY => {}
                Placed::Nowhere => break,
            }
            *chain = next;
            files.save_chain(space, chain)?;
            publish(*hub, space, chain)?;
            return Ok(true);
        }
        Err(SyncError::Obstructed { hub: redacted(&space.hub) })
    }
}

/// Removes devices and grants, and begins a key that they do not get. Says who was let in by them and stays.
pub fn remove(
    hub: &mut dyn Transport,
    files: &Files,
    space: &mut Space,
    chain: &mut Chain,
    device: &Device,
    gone: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let (key, own, before) = (random()?, device.id.to_string(), chain.state.number);
    ChainHub::of(hub, files, space, device).append(chain, |state, keys| {
        let is_here = |id: &&String| state.members.contains_key(*id) || state.grants.contains_key(*id);
        let gone: BTreeSet<String> = gone.iter().filter(is_here).cloned().collect();
        if gone.is_empty() {
            return Ok(None);
        }
        let epoch = keys::next_epoch(space, state, keys, key, &gone)?;
        Ok(Some(ChainChange::Remove { let_in: state.let_in_by(&gone), gone, epoch }))
    })?;
    take_keys(space, &chain.state, device)?;
    let removed = chain.links.iter().rev().take_while(|shown| shown.link.number > before);
    let let_in = removed.filter(|shown| shown.link.by == own).find_map(|shown| match &shown.link.change {
        ChainChange::Remove { let_in, .. } => Some(let_in.clone()),
        _ => None,
    });
    Ok(let_in.unwrap_or_default())
}

/// Takes the keys that the chain has for this device. The one in use must be among them.
pub fn take_keys(space: &mut Space, state: &ChainState, device: &Device) -> Result<()> {
    let keys = keys::all(&space.id, state, &device.id.to_string(), &device.secrets);
    let keys = keys.ok_or_else(|| keys::wrong_key(space))?;
    if keys::newest(space, state, &keys).is_err() {
        let name = names(space, state).remove(&state.begun_by).filter(|name| !name.is_empty());
        let by = name.map_or_else(|| state.begun_by.clone(), |name| format!("{name} ({})", state.begun_by));
        return Err(SyncError::KeyWithheld { space: space.label(), by });
    }
    space.keys = keys;
    Ok(())
}

/// The names of the devices.
pub fn names(space: &Space, state: &ChainState) -> BTreeMap<String, String> {
    let name = |member: &Member| {
        let added = &member.device;
        keys::opened_name(space, &added.keys.sign, &added.name).unwrap_or_default()
    };
    state.members.iter().map(|(id, member)| (id.clone(), name(member))).collect()
}
