//! The chain of a space on the hub and in this home: read, kept, put back and added to.
//!
//! A hub has the chain twice. In the stream `chain` there is one place for the link after each, so that of two devices that
//! add a link at the same moment one is told that the other was faster. The place follows from the hash of the link before:
//! nobody can occupy one before that link is made. Whoever occupies the next one keeps links that add something from being
//! made; those that end something are then in the documents alone. Documents have all links: the document `chain` of the
//! space the newest, so that one request reads what is new, and each the place of the one with those before. Both are put
//! back from any device that knows them.

use std::collections::BTreeSet;

use super::chain::{Chain, ChainChange, ChainState, ChainVerdict, Claim, IsSigned, Link, RECOVERY, ShownLink};
use super::crypto::{self, Key, Secrets, hex};
use super::document::{self, CHAIN, FIRST_FORMAT, SPACE_PLACE, Unusable, VERSION};
use super::files::Files;
use super::local::{Device, Space, SpaceKey};
use super::transport::{Document, Place, Put, Range, Sealed, Stream, Transport, TransportError, redacted};
use super::{Result, SyncError, keys, names, random, unreadable};

/// How often somebody else may be faster.
const ATTEMPTS_MAX: usize = 16;
const NEWER: &str = "who belongs to this space was written by a newer version of Cerberus; update this one";
/// What links are signed as.
const LINK: &str = "link";
/// A larger link is none. One that wraps a key for all members that a space may have is smaller, and a document with it
/// alone is one that every hub takes.
const LINK_BYTES_MAX: usize = 1000 * 1024;
/// How much one document with links holds, unless it has only one.
const PART_CHARS_MAX: usize = 1024 * 1024;
/// How many documents are read to find the beginning of a chain.
const PARTS_MAX: usize = 512;

pub fn stream(space: &Space) -> Stream {
    Stream { place: space.place(SPACE_PLACE), device: CHAIN.to_string() }
}

/// What is asked to learn about links that are not in the document yet.
pub fn newer(space: &Space, chain: &Chain) -> Range {
    Range { stream: stream(space), generation: place_after(&chain.state.head), sequence: chain.state.number, limit: 1 }
}

/// The place in the stream of the link that follows the one with this hash.
pub fn place_after(hash: &Key) -> u64 {
    // Databases have no larger numbers.
    hash[..8].iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)) >> 1
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
    // Whoever added them has verified the signatures.
    match Chain::read(shown, &|_, _| true) {
        (Some(chain), None) => Ok(Some(chain)),
        (_, refusal) => Err(damaged(refusal.map_or_else(String::new, |refusal| refusal.to_string()))),
    }
}

/// What the hub's documents show. What is not a link ends it.
pub(super) struct ShownChain {
    pub links: Vec<ShownLink>,
    /// What follows them, if it says that a newer version wrote it. Anybody can say that.
    newer: Option<Vec<u8>>,
}

impl ShownChain {
    fn in_document(documents: &[Document]) -> ShownChain {
        let found = documents.iter().find(|document| document.name == CHAIN);
        let texts =
            found.and_then(|found| serde_json::from_slice::<Vec<String>>(&found.bytes).ok()).unwrap_or_default();
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
        ShownChain { links, newer }
    }

    /// The chain from its beginning: before the newest links are those of other documents, or those that are known.
    pub fn read(
        hub: &mut dyn Transport,
        space: &Space,
        documents: &[Document],
        known: &[ShownLink],
    ) -> Result<ShownChain> {
        let mut shown = ShownChain::in_document(documents);
        for _ in 0..PARTS_MAX {
            let Some(&Link { number, previous, .. }) = shown.links.first().map(|first| &first.link) else { break };
            let count = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
            let is_next = |before: &[ShownLink]| before.last().is_some_and(|last| last.hash == previous);
            let (before, is_known) = match known.get(..count) {
                Some(known) if is_next(known) => (known.to_vec(), true),
                _ if count == 0 => break,
                _ => (ShownChain::in_document(&hub.heads(&place_before(space, number))?).links, false),
            };
            if !is_next(&before) {
                break;
            }
            shown.links.splice(..0, before);
            if is_known {
                break;
            }
        }
        Ok(shown)
    }

    /// Whether it has something that is no part of the chain that counts.
    pub fn has_other(&self, chain: &Chain) -> bool {
        self.newer.is_some() || self.links.len() > chain.links.len()
    }

    /// Fails if a member has added a link to the chain that counts in a newer version.
    pub fn check_version(&self, space: &Space, chain: &Chain) -> Result<()> {
        let (place, ChainState { number, head, members, recovery, .. }) = (space.place(SPACE_PLACE), &chain.state);
        let follows = |bytes: &&Vec<u8>| document::follows(bytes, *number, head);
        let Some(bytes) = self.newer.as_ref().filter(follows) else { return Ok(()) };
        let keys = members.iter().map(|(id, member)| (id.as_str(), &member.device.keys)).chain([(RECOVERY, recovery)]);
        let mut signers = keys.filter(|(_, keys)| document::is_signed(&keys.sign, &place, LINK, bytes));
        signers.next().map_or(Ok(()), |(by, _)| Err(unreadable(format!("{NEWER} ({by} has signed it)"))))
    }
}

/// Where the document is with the links before this number, if they are not in the same one.
fn place_before(space: &Space, number: u64) -> Place {
    space.place(&format!("before-{number}"))
}

/// A chain with all links that the hub's stream has after it.
pub(super) fn extended(hub: &mut dyn Transport, space: &Space, mut chain: Chain) -> Result<Chain> {
    loop {
        let (Range { stream, generation, sequence, limit }, count) = (newer(space, &chain), chain.links.len());
        let there = hub.after(&stream, generation, sequence, limit)?;
        believing(space, |is_signed| {
            let mut links = there.iter().map_while(|link| shown(&link.bytes).ok());
            let _ = links.try_for_each(|link| chain.push(link, is_signed));
        });
        if chain.links.len() == count {
            return Ok(chain);
        }
    }
}

/// The links of a chain in parts, each for one document. Where one ends does not change when links are added.
fn parts(chain: &Chain) -> Vec<&[ShownLink]> {
    let (mut parts, mut first, mut chars) = (Vec::new(), 0, 0);
    for (at, shown) in chain.links.iter().enumerate() {
        let more = 2 * shown.bytes.len();
        if chars + more > PART_CHARS_MAX && at > first {
            parts.push(&chain.links[first..at]);
            (first, chars) = (at, 0);
        }
        chars += more;
    }
    parts.push(&chain.links[first..]);
    parts
}

fn document(part: &[ShownLink]) -> Result<Vec<u8>> {
    serde_json::to_vec(&part.iter().map(|shown| hex::text(&shown.bytes)).collect::<Vec<_>>()).map_err(unreadable)
}

/// The chain that a hub shows to somebody who knows none yet.
pub fn first(hub: &mut dyn Transport, space: &Space, documents: &[Document]) -> Result<Chain> {
    let shown = ShownChain::read(hub, space, documents, &[])?;
    let is_first = |document: &Document| document.name == FIRST_FORMAT;
    match shown.links.first() {
        Some(founding) if founding.link.v < VERSION => return Err(SyncError::EarlierFormat),
        Some(_) => {}
        None if documents.iter().any(is_first) => return Err(SyncError::EarlierFormat),
        None if shown.newer.is_some() => return Err(unreadable(NEWER)),
        None => return Err(SyncError::UnknownSpace { hub: redacted(&space.hub) }),
    }
    match believing(space, |is_signed| Chain::read(shown.links.clone(), is_signed)) {
        (Some(chain), _) => shown.check_version(space, &chain).map(|()| chain),
        (None, refusal) => {
            let reason = refusal.map_or_else(String::new, |refusal| refusal.to_string());
            Err(SyncError::NotBelieved { hub: redacted(&space.hub), reason })
        }
    }
}

/// Writes the documents with these links of the chain and with those after them.
fn publish(hub: &mut dyn Transport, space: &Space, chain: &Chain, from: u64) -> Result<()> {
    let parts = parts(chain);
    for (part, number) in parts.iter().zip(parts[1..].iter().map(|next| next[0].link.number)) {
        if number >= from {
            hub.replace(&place_before(space, number), CHAIN, &document(part)?, None)?;
        }
    }
    Ok(hub.replace(&space.place(SPACE_PLACE), CHAIN, &document(parts[parts.len() - 1])?, None)?)
}

/// Writes the documents with all links, if the newest is another one.
pub(super) fn keep_published(
    hub: &mut dyn Transport,
    space: &Space,
    documents: &[Document],
    chain: &Chain,
) -> Result<()> {
    let newest = document(parts(chain).last().copied().unwrap_or_default())?;
    match documents.iter().any(|document| document.name == CHAIN && document.bytes == newest) {
        true => Ok(()),
        false => publish(hub, space, chain, 0),
    }
}

/// A link as the stream has it, and its place there.
fn in_stream(shown: &ShownLink) -> (u64, Sealed) {
    (place_after(&shown.link.previous), Sealed { sequence: shown.link.number, bytes: shown.bytes.clone() })
}

/// Whether the hub still has the newest link.
pub(super) fn has_newest(hub: &mut dyn Transport, space: &Space, chain: &Chain) -> Result<bool> {
    let Some((generation, newest)) = chain.links.last().map(in_stream) else { return Ok(false) };
    Ok(hub.after(&stream(space), generation, newest.sequence - 1, 1)?.contains(&newest))
}

/// Puts back every link that the hub does not have any more.
pub fn put_back(hub: &mut dyn Transport, space: &Space, chain: &Chain) -> Result<()> {
    let stream = stream(space);
    for (generation, link) in chain.links.iter().map(in_stream) {
        // What stands in the way of one must not keep the others.
        match hub.put_if_absent(&stream, generation, &[link]) {
            Err(TransportError::InTheWay { .. }) | Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
    }
    publish(hub, space, chain, 0)
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
    let documents = hub.heads(&space.place(SPACE_PLACE))?;
    let shown = ShownChain::read(hub, space, &documents, &known.links)?;
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
    match chain.state.members.contains_key(&device.id.to_string()) || has_recovery {
        true => Ok(chain),
        false => Err(SyncError::Removed(space.label())),
    }
}

/// The other chain that the hub shows, if it is a fork of this one.
pub fn forking(hub: &mut dyn Transport, space: &Space, known: &Chain) -> Result<Option<Chain>> {
    let documents = hub.heads(&space.place(SPACE_PLACE))?;
    let shown = ShownChain::read(hub, space, &documents, &known.links)?.links;
    Ok(believing(space, |is_signed| match known.judged(shown.clone(), is_signed) {
        ChainVerdict::Forked(number) if number > 1 => Chain::read(shown, is_signed).0,
        _ => None,
    }))
}

pub(super) fn forked(space: &Space, number: u64) -> SyncError {
    SyncError::Forked { hub: redacted(&space.hub), space: space.label(), number }
}

/// Whether a link has got its place on the hub.
enum Placed {
    Here,
    /// Somebody else was faster: this is the chain now.
    After(Box<Chain>),
    /// Something that cannot be believed stands there.
    Nowhere,
}

/// Puts a link where nobody else can put one.
fn placed(hub: &mut dyn Transport, space: &Space, chain: &Chain, link: &ShownLink) -> Result<Placed> {
    let (generation, sealed) = in_stream(link);
    if !hub.put_if_absent(&stream(space), generation, &[sealed])?.contains(&Put::Other) {
        return Ok(Placed::Here);
    }
    let mut longer = extended(hub, space, chain.clone())?;
    if longer.links.len() == chain.links.len() {
        // Whoever met the same has only the documents, too.
        let documents = hub.heads(&space.place(SPACE_PLACE))?;
        let shown = ShownChain::read(hub, space, &documents, &chain.links)?.links;
        match believing(space, |is_signed| chain.judged(shown, is_signed)) {
            ChainVerdict::Longer(chain) => longer = chain,
            _ => return Ok(Placed::Nowhere),
        }
    }
    Ok(Placed::After(Box::new(longer)))
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
        // The word of the recovery key may replace links that the documents have.
        let from = if by == RECOVERY { 0 } else { chain.state.number + 1 };
        for _ in 0..ATTEMPTS_MAX {
            // Somebody who was faster may have removed this device.
            if chain.state.signer(by).is_none() {
                return Err(SyncError::Removed(space.label()));
            }
            let keys = keys::all(&space.id, &chain.state, by, secrets).unwrap_or_default();
            let Some(change) = change(&chain.state, &keys)? else { return Ok(false) };
            let link = signed(space, secrets, &chain.next(VERSION, by, change))?;
            if link.bytes.len() > LINK_BYTES_MAX {
                return Err(unreadable("this change is too large for one link; make it in several steps"));
            }
            let (mut next, is_urgent) = (chain.clone(), chain.state.is_urgent(by, &link.link.change));
            let pushed = believing(space, |is_signed| next.push(link.clone(), is_signed));
            pushed.map_err(|refusal| unreadable(format!("this device may not do that: {refusal}")))?;
            match placed(*hub, space, chain, &link)? {
                Placed::Here => {}
                Placed::After(longer) => {
                    *chain = *longer;
                    continue;
                }
                // Nobody keeps a removal, or the word of the recovery key, from being made: only documents have it then.
                Placed::Nowhere if is_urgent => publish(*hub, space, &next, from)?,
                Placed::Nowhere => break,
            }
            *chain = next;
            files.save_chain(space, chain)?;
            // It is done. What keeps the documents from being written is told by the next exchange, which tries again.
            let _ = publish(*hub, space, chain, from);
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
    take_keys(files, space, &chain.state, device)?;
    let removed = chain.links.iter().rev().take_while(|shown| shown.link.number > before);
    let let_in = removed.filter(|shown| shown.link.by == own).find_map(|shown| match &shown.link.change {
        ChainChange::Remove { let_in, .. } => Some(let_in.clone()),
        _ => None,
    });
    Ok(let_in.unwrap_or_default())
}

/// Takes the keys that the chain has for this device. The one in use must be among them. Whoever saves them does so later:
/// if the process is killed before, it is found out once more whether everything must be sent again.
pub fn take_keys(files: &Files, space: &mut Space, state: &ChainState, device: &Device) -> Result<()> {
    let keys = keys::all(&space.id, state, &device.id.to_string(), &device.secrets);
    let keys = keys.ok_or_else(|| keys::wrong_key(space))?;
    if keys::newest(space, state, &keys).is_err() {
        let name = names::told(space, state).remove(&state.begun_by).filter(|name| !name.is_empty());
        let by = name.map_or_else(|| state.begun_by.clone(), |name| format!("{name} ({})", state.begun_by));
        return Err(SyncError::KeyWithheld { space: space.label(), by });
    }
    let since = space.key().map_or(u32::MAX, |key| key.epoch);
    space.keys = keys;
    if keys::is_skipped(space, state, since) { files.send_again(space) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::chain::{MEMBERS_MAX, MemberDevice, id_of};
    use super::*;

    #[test]
    fn a_link_for_as_many_devices_as_a_space_may_have_fits_into_one_document() {
        let space = Space { id: "5e".repeat(8), ..Space::default() };
        let own = Secrets::of(b"first");
        let public = keys::public(&own).unwrap();
        let (id, key) = (id_of(&public.sign), SpaceKey { epoch: 1, key: [7; 32] });
        let first = MemberDevice { keys: public.clone(), name: String::new(), names: String::new() };
        let to = [(id.as_str(), &public), (RECOVERY, &public)];
        let epoch = keys::epoch(&space.id, key, to.into_iter(), String::new()).unwrap();
        let change = ChainChange::Found { recovery: public, first, epoch, sealed: String::new() };
        let mut chain = found(&space, &own, change).unwrap();
        (chain.state.number, chain.state.epochs[0].number) = (u64::MAX - 1, u32::MAX - 1);
        let known: Vec<SpaceKey> = (0..2_000).map(|epoch| SpaceKey { epoch, key: [7; 32] }).collect();
        let mut epoch = keys::next_epoch(&space, &chain.state, &known, [8; 32], &BTreeSet::new()).unwrap();
        // The largest removes one device that let in all others.
        let (gone, wrapped) = (BTreeSet::from(["0".repeat(16)]), epoch.to[&id].clone());
        let let_in: BTreeSet<String> = (1..MEMBERS_MAX).map(|number| format!("{number:016x}")).collect();
        epoch.to.extend(let_in.iter().map(|id| (id.clone(), wrapped.clone())));
        let change = ChainChange::Remove { let_in, gone, epoch };
        let link = signed(&space, &own, &chain.next(VERSION, &id, change)).unwrap();
        assert!((800_000..LINK_BYTES_MAX).contains(&link.bytes.len()), "{}", link.bytes.len());
        assert!(shown(&link.bytes).is_ok() && document(&[link]).unwrap().len() < 2 << 20);
    }
}
