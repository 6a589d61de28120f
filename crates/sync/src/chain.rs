//! Who belongs to a space: a chain of signed links that only ever grows. Pure; every decision about membership is here.
//!
//! # The chain
//!
//! A link has a number, the hash of the link before it, one change, and the signature of a member that the chain up to
//! there entitles. The first link founds the space. It is signed by the recovery key, which no device holds.
//!
//! | change | who may sign it |
//! |---|---|
//! | `Found`: the recovery key, the first device, the first key of the space | the recovery key, once |
//! | `Add`: one more device, with its name | a member, or the recovery key |
//! | `Remove`: devices and grants, and the key that they do not get | another member, or the recovery key |
//! | `Leave`: the signer goes; somebody else begins a new key | a member |
//! | `Rotate`: a new key of the space | a member, or the recovery key |
//! | `Grant`: containers may read and append to one project | a member |
//! | `Recovery`: another recovery key | the recovery key; the new one confirms |
//!
//! The id of a device is the hash of its signing key, and an id is added once: nobody speaks for another, and a removal
//! never un-happens. A removal names the devices that were let in by those that go and that stay; the grants that those
//! made who go, or leave, end with them. A chain that has become too long takes only links that end something, so whatever
//! a member adds, every device can read it and remove that member.
//!
//! # Keys
//!
//! There is one key of the space per *epoch*. The link that begins an epoch wraps its key for exactly the members it
//! leaves and for the recovery key, says by a keyed hash which key it is, and seals all keys before it with it. So whoever
//! gets the newest key reads what is older, and nobody who is gone gets a newer one. A member that begins a key and keeps
//! it from others, or hands wrong ones on, stops nobody: whoever is left out removes it, with the keys that it has.
//!
//! # Which chain is believed
//!
//! Every device keeps the whole chain that it has seen, and puts back on the hub what is missing there. A chain that is
//! shorter is not believed; one that differs is a fork, and nothing is exchanged. One thing beats that: the recovery key
//! after the point where both differ. A chain in which it was replaced there beats one in which it was not, whatever the
//! old key signs; if it was replaced in neither, the chain in which it has signed more counts. If it was replaced in both,
//! only whoever has one of the new codes can say which counts. If removals would be lost by it, they are made again, unless
//! whoever made them is not a member any more.
//!
//! A new device learns which chain is the right one by its pairing code: whoever lets it in proves in the link that it
//! knows the code, and that link names the one before it. A container learns it from its key, and whoever has the
//! recovery code from the recovery key's own signature.
//!
//! A container is not a member. It has a *grant*: a key that signs for containers of one project and nothing else.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

pub use super::chain_link::{
    ChainChange, Epoch, Grant, Keys, Link, LinkRefusal, MemberDevice, RECOVERY, ShownLink, id_of,
};
use super::crypto::{Key, SIGNATURE_BYTES};

/// How many devices a space may have. Whoever begins a key wraps it for all of them in one link, which every hub takes.
pub const MEMBERS_MAX: usize = 4_096;
/// How long a device's name may be when it is sealed, in hexadecimal digits.
const SEALED_CHARS_MAX: usize = 16 * 1024;
/// The same for the keys that a new key brings along.
const BEFORE_CHARS_MAX: usize = 128 * 1024;
/// A chain that is longer takes only links that end something, so that every device can go on reading it.
const CHAIN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What somebody is said to have signed.
pub enum Claim<'a> {
    Link(&'a ShownLink),
    /// The hash of a link, with a signature.
    Confirmed(&'a Key, &'a [u8; SIGNATURE_BYTES]),
}

/// Whether a key signed it.
pub type IsSigned<'a> = &'a dyn Fn(Claim, &Key) -> bool;

/// A member, and how it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub device: MemberDevice,
    pub by: String,
}

/// A grant that counts, and the member that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeGrant {
    pub grant: Grant,
    pub by: String,
}

/// What a chain says when all of its links are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainState {
    pub number: u64,
    pub head: Key,
    /// How long all links are together.
    pub bytes: usize,
    pub recovery: Keys,
    pub members: BTreeMap<String, Member>,
    pub grants: BTreeMap<String, MadeGrant>,
    /// Devices and grants that were here, and who ended that.
    pub gone: BTreeMap<String, String>,
    pub epochs: Vec<Epoch>,
    /// The epoch in which each device and grant came in, with the key that was wrapped for it.
    pub given: BTreeMap<String, (u32, String)>,
    pub sealed: String,
    /// Who began the epoch.
    pub begun_by: String,
    /// Somebody left who knows the key in use.
    pub is_rotation_due: bool,
}

impl ChainState {
    fn found(shown: &ShownLink) -> Result<ChainState, LinkRefusal> {
        let Link { number, previous, by, change, .. } = &shown.link;
        let ChainChange::Found { recovery, first, epoch, sealed } = change else { return Err(LinkRefusal::NotNext) };
        if *number != 1 || *previous != [0; 32] || by != RECOVERY {
            return Err(LinkRefusal::NotNext);
        }
        let mut state = ChainState {
            number: 1,
            head: shown.hash,
            bytes: shown.bytes.len(),
            recovery: recovery.clone(),
            members: BTreeMap::new(),
            grants: BTreeMap::new(),
            gone: BTreeMap::new(),
            epochs: Vec::new(),
            given: BTreeMap::new(),
            sealed: short(sealed)?.clone(),
            begun_by: String::new(),
            is_rotation_due: false,
        };
        let id = state.add(first, RECOVERY)?;
        state.check_epoch(epoch, &BTreeSet::new())?;
        state.begin(epoch, RECOVERY);
        state.given.insert(id, (state.epoch(), String::new()));
        Ok(state)
    }

    /// The key with which somebody signs.
    pub fn signer(&self, by: &str) -> Option<&Key> {
        match by {
            RECOVERY => Some(&self.recovery.sign),
            by => self.members.get(by).map(|member| &member.device.keys.sign),
        }
    }

    /// The number of the key in use.
    pub fn epoch(&self) -> u32 {
        self.epochs.last().map_or(0, |epoch| epoch.number)
    }

    /// Whether an id may not be used any more.
    pub fn is_known(&self, id: &str) -> bool {
        self.members.contains_key(id) || self.grants.contains_key(id) || self.gone.contains_key(id)
    }

    fn add(&mut self, device: &MemberDevice, by: &str) -> Result<String, LinkRefusal> {
        let id = id_of(&device.keys.sign);
        if self.is_known(&id) {
            return Err(LinkRefusal::Known(id));
        }
        if self.members.len() >= MEMBERS_MAX {
            return Err(LinkRefusal::Full);
        }
        short(&device.name)?;
        short(&device.names)?;
        self.members.insert(id.clone(), Member { device: device.clone(), by: by.to_string() });
        Ok(id)
    }

    /// Whether a key may be the next one when some are gone.
    fn check_epoch(&self, epoch: &Epoch, gone: &BTreeSet<String>) -> Result<(), LinkRefusal> {
        let is_next = self.epoch().checked_add(1) == Some(epoch.number);
        let left = self.members.keys().filter(|id| !gone.contains(*id)).map(String::as_str);
        if !is_next || !left.chain([RECOVERY]).collect::<BTreeSet<_>>().into_iter().eq(epoch.to.keys()) {
            return Err(LinkRefusal::WrongEpoch);
        }
        epoch.to.values().try_for_each(|wrapped| short(wrapped).map(drop))?;
        if epoch.before.len() <= BEFORE_CHARS_MAX { Ok(()) } else { Err(LinkRefusal::TooLong) }
    }

    fn begin(&mut self, epoch: &Epoch, by: &str) {
        self.epochs.push(epoch.clone());
        self.begun_by = by.to_string();
        self.is_rotation_due = false;
    }

    /// The members whom some of these let in, and who stay when they go.
    pub fn let_in_by(&self, gone: &BTreeSet<String>) -> BTreeSet<String> {
        let stays = |(id, member): &(&String, &Member)| gone.contains(&member.by) && !gone.contains(*id);
        self.members.iter().filter(stays).map(|(id, _)| id.clone()).collect()
    }

    /// The grants that some of these made. They end with them.
    pub fn granted_by(&self, gone: &BTreeSet<String>) -> BTreeSet<String> {
        self.grants.iter().filter(|(_, made)| gone.contains(&made.by)).map(|(id, _)| id.clone()).collect()
    }

    /// Ends devices and grants, and the grants that those devices made.
    fn end(&mut self, gone: &BTreeSet<String>, by: &str) {
        for id in self.granted_by(gone).union(gone) {
            self.members.remove(id);
            self.grants.remove(id);
            self.gone.insert(id.clone(), by.to_string());
        }
    }

    fn check_gone(&self, gone: &BTreeSet<String>, let_in: &BTreeSet<String>, by: &str) -> Result<(), LinkRefusal> {
        if gone.is_empty() || gone.contains(by) {
            return Err(LinkRefusal::NotEntitled(by.to_string()));
        }
        if *let_in != self.let_in_by(gone) {
            return Err(LinkRefusal::Unnamed);
        }
        match gone.iter().find(|id| !self.members.contains_key(*id) && !self.grants.contains_key(*id)) {
            Some(id) => Err(LinkRefusal::Unknown(id.clone())),
            None => Ok(()),
        }
    }

    /// Whether a link is made whatever stands in its place on a hub: nobody may keep it from being made.
    pub fn is_urgent(&self, by: &str, change: &ChainChange) -> bool {
        matches!(change, ChainChange::Remove { .. }) || self.is_ending(by, change)
    }

    /// Whether a link ends something. However long a chain is, there are few of these: nobody comes in any more.
    fn is_ending(&self, by: &str, change: &ChainChange) -> bool {
        match change {
            _ if by == RECOVERY => true,
            ChainChange::Remove { gone, .. } => gone.iter().any(|id| self.members.contains_key(id)),
            ChainChange::Rotate(_) => self.is_rotation_due,
            change => *change == ChainChange::Leave,
        }
    }

    /// Makes the change of one more link, or none at all. Whether the link is signed was found out before.
    fn change(&mut self, shown: &ShownLink) -> Result<(), LinkRefusal> {
        let Link { number, previous, by, change, .. } = &shown.link;
        if self.number.checked_add(1) != Some(*number) || *previous != self.head {
            return Err(LinkRefusal::NotNext);
        }
        let (is_recovery, bytes) = (by == RECOVERY, self.bytes + shown.bytes.len());
        if bytes > CHAIN_BYTES_MAX && !self.is_ending(by, change) {
            return Err(LinkRefusal::Full);
        }
        match change {
            ChainChange::Found { .. } => return Err(LinkRefusal::NotNext),
            ChainChange::Leave | ChainChange::Grant(_) if is_recovery => {
                return Err(LinkRefusal::NotEntitled(by.clone()));
            }
            ChainChange::Recovery { .. } if !is_recovery => return Err(LinkRefusal::NotEntitled(by.clone())),
            ChainChange::Add { device, key, .. } => {
                let key = short(key)?.clone();
                let id = self.add(device, by)?;
                self.given.insert(id, (self.epoch(), key));
            }
            ChainChange::Remove { gone, let_in, epoch } => {
                self.check_gone(gone, let_in, by)?;
                self.check_epoch(epoch, gone)?;
                self.end(gone, by);
                self.begin(epoch, by);
            }
            ChainChange::Leave => {
                self.end(&BTreeSet::from([by.clone()]), by);
                self.is_rotation_due = true;
            }
            ChainChange::Rotate(epoch) => {
                self.check_epoch(epoch, &BTreeSet::new())?;
                self.begin(epoch, by);
            }
            ChainChange::Grant(grant) => {
                let id = id_of(&grant.sign);
                if self.is_known(&id) {
                    return Err(LinkRefusal::Known(id));
                }
                short(&grant.name)?;
                self.given.insert(id.clone(), (self.epoch(), String::new()));
                self.grants.insert(id, MadeGrant { grant: grant.clone(), by: by.clone() });
            }
            ChainChange::Recovery { recovery, key, .. } => {
                let key = short(key)?.clone();
                self.recovery = recovery.clone();
                self.given.insert(RECOVERY.to_string(), (self.epoch(), key));
            }
        }
        (self.number, self.head, self.bytes) = (*number, shown.hash, bytes);
        Ok(())
    }
}

fn short(text: &String) -> Result<&String, LinkRefusal> {
    if text.len() <= SEALED_CHARS_MAX { Ok(text) } else { Err(LinkRefusal::TooLong) }
}

/// A chain whose links are all believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub links: Vec<ShownLink>,
    pub state: ChainState,
}

/// What a hub shows, compared with the chain that this device knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainVerdict {
    /// The same, or nothing that counts.
    Same,
    /// The same and more.
    Longer(Chain),
    /// Less than is known, or something that is beaten by what is known.
    Older,
    /// Something else, which the recovery key has signed.
    Recovered(Chain),
    /// Something else from this link on.
    Forked(u64),
}

impl Chain {
    pub fn begin(first: ShownLink, is_signed: IsSigned) -> Result<Chain, LinkRefusal> {
        let state = ChainState::found(&first)?;
        match is_signed(Claim::Link(&first), &state.recovery.sign) {
            true => Ok(Chain { links: vec![first], state }),
            false => Err(LinkRefusal::NotSigned(RECOVERY.to_string())),
        }
    }

    /// Adds a link, if it is signed by somebody who may make the change.
    pub fn push(&mut self, shown: ShownLink, is_signed: IsSigned) -> Result<(), LinkRefusal> {
        let by = &shown.link.by;
        let key = self.state.signer(by).ok_or_else(|| LinkRefusal::NotEntitled(by.clone()))?;
        if !is_signed(Claim::Link(&shown), key) {
            return Err(LinkRefusal::NotSigned(by.clone()));
        }
        if let ChainChange::Recovery { recovery, confirmed, .. } = &shown.link.change
            && !is_signed(Claim::Confirmed(&shown.link.previous, confirmed), &recovery.sign)
        {
            return Err(LinkRefusal::NotSigned("the new recovery key".to_string()));
        }
        self.state.change(&shown)?;
        self.links.push(shown);
        Ok(())
    }

    /// The links that can be believed, up to the first that cannot, and why that one cannot.
    pub fn read(shown: Vec<ShownLink>, is_signed: IsSigned) -> (Option<Chain>, Option<LinkRefusal>) {
        let mut shown = shown.into_iter();
        let mut chain = match shown.next().map(|first| Chain::begin(first, is_signed)) {
            None => return (None, None),
            Some(Err(refusal)) => return (None, Some(refusal)),
            Some(Ok(chain)) => chain,
        };
        let refusal = shown.find_map(|link| chain.push(link, is_signed).err());
        (Some(chain), refusal)
    }

    /// Compares what a hub shows with this chain.
    pub fn judged(&self, shown: Vec<ShownLink>, is_signed: IsSigned) -> ChainVerdict {
        let common = self.links.iter().zip(&shown).take_while(|(known, shown)| known.hash == shown.hash).count();
        if common == shown.len() {
            return if common == self.links.len() { ChainVerdict::Same } else { ChainVerdict::Older };
        }
        if common == self.links.len() {
            let mut longer = self.clone();
            // What cannot be believed counts as not shown.
            let _ = shown.into_iter().skip(common).try_for_each(|link| longer.push(link, is_signed));
            return if longer.links.len() > common { ChainVerdict::Longer(longer) } else { ChainVerdict::Same };
        }
        let (Some(other), _) = Chain::read(shown, is_signed) else { return ChainVerdict::Older };
        if other.links.len() <= common {
            return ChainVerdict::Older;
        }
        let (own, others) = (self.recovery_since(common), other.recovery_since(common));
        match own.cmp(&others) {
            // Another founding is another space, whoever signed it.
            _ if common == 0 => ChainVerdict::Forked(1),
            // Whoever had the code before may have signed as often as it liked.
            _ if own.0 && others.0 => ChainVerdict::Forked(common as u64 + 1),
            Ordering::Less => ChainVerdict::Recovered(other),
            Ordering::Greater => ChainVerdict::Older,
            Ordering::Equal => ChainVerdict::Forked(common as u64 + 1),
        }
    }

    /// Whether the recovery key was replaced after the first so many links, and how often it has signed there.
    fn recovery_since(&self, common: usize) -> (bool, usize) {
        let signed = || self.links[common..].iter().filter(|shown| shown.link.by == RECOVERY);
        (signed().any(|shown| matches!(shown.link.change, ChainChange::Recovery { .. })), signed().count())
    }

    /// The removals of this chain that must be made again in another that the recovery key has signed, as soon as somebody
    /// is in there: those by whoever is a member there.
    pub fn removals_missing_in(&self, other: &ChainState) -> BTreeSet<String> {
        let counts = |(id, by): &(&String, &String)| {
            !other.gone.contains_key(*id) && (*by == RECOVERY || other.members.contains_key(*by) || id == by)
        };
        self.state.gone.iter().filter(counts).map(|(id, _)| id.clone()).collect()
    }

    /// A link that would follow.
    pub fn next(&self, v: u32, by: &str, change: ChainChange) -> Link {
        Link { v, number: self.state.number + 1, previous: self.state.head, by: by.to_string(), change }
    }
}

#[cfg(test)]
mod tests;
