//! The rules of the chain as data, and a small world that is explored whole: honest devices, a thief with the keys of one
//! of them, a person with the recovery code, and a hub that shows anybody any chain that was ever made, also with single
//! links dropped, reordered, doubled, or replayed from another one.
//!
//! Nothing is sealed or signed here. A link carries the key of whoever made it instead of a signature, and a wrapped key is
//! the name of that key.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use super::*;
use crate::crypto::{self, hex};

const RECOVERY_KEY: u8 = 255;

fn keys(who: u8) -> Keys {
    Keys { sign: [who; 32], agree: [who; 32] }
}

fn id(who: u8) -> String {
    if who == RECOVERY_KEY { RECOVERY.to_string() } else { id_of(&keys(who).sign) }
}

fn device(who: u8) -> MemberDevice {
    MemberDevice { keys: keys(who), name: String::new(), names: String::new() }
}

fn is_signed(claim: Claim, key: &Key) -> bool {
    match claim {
        Claim::Link(shown) => shown.bytes == key,
        Claim::Confirmed(_, signature) => signature[..32] == *key,
    }
}

/// A link that is signed with the key of `signer`, whatever it says about that.
fn signed(signer: u8, link: Link) -> ShownLink {
    let key = keys(signer).sign;
    let hash = crypto::sha256(&[&serde_json::to_vec(&link).unwrap(), &key]);
    ShownLink { link, hash, bytes: key.to_vec() }
}

fn epoch(number: u32, name: u8, to: impl IntoIterator<Item = String>) -> Epoch {
    let wrapped = hex::text(&[name; 32]);
    Epoch {
        number,
        check: [name; 32],
        to: to.into_iter().map(|id| (id, wrapped.clone())).collect(),
        before: String::new(),
    }
}

fn founded() -> Chain {
    let epoch = epoch(1, 1, [id(1), id(RECOVERY_KEY)]);
    let change = ChainChange::Found { recovery: keys(RECOVERY_KEY), first: device(1), epoch, sealed: String::new() };
    let link = Link { v: 1, number: 1, previous: [0; 32], by: RECOVERY.to_string(), change };
    Chain::begin(signed(RECOVERY_KEY, link), &is_signed).unwrap()
}

fn next_epoch(state: &ChainState, name: u8, gone: &BTreeSet<String>) -> Epoch {
    let left = state.members.keys().filter(|id| !gone.contains(*id)).cloned();
    epoch(state.epoch() + 1, name, left.chain([id(RECOVERY_KEY)]))
}

fn add(state: &ChainState, who: u8) -> ChainChange {
    let key = hex::text(&state.epochs.last().unwrap().check);
    ChainChange::Add { device: device(who), key, welcome: String::new() }
}

fn remove(state: &ChainState, who: &[u8], name: u8) -> ChainChange {
    let gone: BTreeSet<String> = who.iter().map(|who| id(*who)).collect();
    ChainChange::Remove { let_in: state.let_in_by(&gone), epoch: next_epoch(state, name, &gone), gone }
}

fn grant(who: u8) -> Grant {
    Grant { sign: [who; 32], project: "p".to_string(), name: String::new() }
}

/// The recovery key is replaced by this one.
fn recovery(who: u8) -> ChainChange {
    let confirmed = [[who; 32], [0; 32]].concat().try_into().unwrap();
    ChainChange::Recovery { recovery: keys(who), key: String::new(), confirmed }
}

fn pushed(chain: &Chain, by: u8, change: ChainChange) -> Result<Chain, LinkRefusal> {
    let mut next = chain.clone();
    // The person has every recovery code.
    let signer = if by == RECOVERY_KEY { chain.state.recovery.sign[0] } else { by };
    next.push(signed(signer, chain.next(1, &id(by), change)), &is_signed).map(|()| next)
}

/// Devices 1, 2 and 3, of which 2 let in 3.
fn three() -> Chain {
    let chain = founded();
    let chain = pushed(&chain, 1, add(&chain.state, 2)).unwrap();
    pushed(&chain, 2, add(&chain.state, 3)).unwrap()
}

#[test]
fn only_who_is_entitled_changes_anything() {
    let chain = three();
    let state = &chain.state;
    let grant = |who: u8| ChainChange::Grant(grant(who));
    let rotate = |change: &dyn Fn(&mut Epoch)| {
        let mut epoch = next_epoch(state, 9, &BTreeSet::new());
        change(&mut epoch);
        ChainChange::Rotate(epoch)
    };
    let unnamed = match remove(state, &[2], 9) {
        ChainChange::Remove { gone, epoch, .. } => ChainChange::Remove { gone, let_in: BTreeSet::new(), epoch },
        other => other,
    };
    let unconfirmed = match recovery(8) {
        ChainChange::Recovery { recovery, key, .. } => ChainChange::Recovery { recovery, key, confirmed: [7; 64] },
        other => other,
    };
    let with_epoch = |epoch: Epoch| match remove(state, &[2], 9) {
        ChainChange::Remove { gone, let_in, .. } => ChainChange::Remove { gone, let_in, epoch },
        other => other,
    };
    let none = BTreeSet::new();
    let refused: [(&str, u8, ChainChange, LinkRefusal); 14] = [
        ("a stranger", 7, add(state, 7), LinkRefusal::NotEntitled(id(7))),
        ("an id twice", 1, add(state, 2), LinkRefusal::Known(id(2))),
        ("oneself", 1, remove(state, &[1], 9), LinkRefusal::NotEntitled(id(1))),
        ("nobody", 1, remove(state, &[], 9), LinkRefusal::NotEntitled(id(1))),
        ("somebody else", 1, remove(state, &[6], 9), LinkRefusal::Unknown(id(6))),
        ("without naming", 1, unnamed, LinkRefusal::Unnamed),
        ("with a key for who goes", 1, with_epoch(next_epoch(state, 9, &none)), LinkRefusal::WrongEpoch),
        ("an epoch later", 1, rotate(&|epoch| epoch.number += 1), LinkRefusal::WrongEpoch),
        ("the same epoch", 1, rotate(&|epoch| epoch.number -= 1), LinkRefusal::WrongEpoch),
        ("the last epoch", 1, rotate(&|epoch| epoch.number = u32::MAX), LinkRefusal::WrongEpoch),
        ("not for all", 1, rotate(&|epoch| drop(epoch.to.pop_first())), LinkRefusal::WrongEpoch),
        ("for a stranger", 1, rotate(&|epoch| drop(epoch.to.insert(id(7), String::new()))), LinkRefusal::WrongEpoch),
        ("recovery by a member", 1, recovery(8), LinkRefusal::NotEntitled(id(1))),
        ("unconfirmed", RECOVERY_KEY, unconfirmed, LinkRefusal::NotSigned("the new recovery key".to_string())),
    ];
    for (what, by, change, refusal) in refused {
        let mut same = chain.clone();
        let shown = signed(by, chain.next(1, &id(by), change));
        assert_eq!(same.push(shown, &is_signed).err(), Some(refusal), "{what}");
        assert_eq!(same, chain, "{what}");
    }
    for (by, change) in [
        (3, add(state, 4)),
        (3, remove(state, &[1, 2], 9)),
        (2, rotate(&|_| ())),
        (2, ChainChange::Leave),
        (1, grant(5)),
        (RECOVERY_KEY, add(state, 4)),
        (RECOVERY_KEY, recovery(8)),
    ] {
        assert!(pushed(&chain, by, change.clone()).is_ok(), "{change:?}");
    }
    assert_eq!(pushed(&chain, RECOVERY_KEY, grant(5)).err(), Some(LinkRefusal::NotEntitled(RECOVERY.to_string())));
    let granted = pushed(&chain, 1, grant(5)).unwrap();
    assert_eq!(
        pushed(&granted, 5, add(&granted.state, 4)).err(),
        Some(LinkRefusal::NotEntitled(id(5))),
        "a grant signs nothing"
    );
    assert_eq!(pushed(&granted, 1, add(&granted.state, 5)).err(), Some(LinkRefusal::Known(id(5))));
}

#[test]
fn nobody_signs_for_another_and_links_follow_each_other() {
    let chain = three();
    let change = || add(&chain.state, 4);
    let refusal = |shown: ShownLink| chain.clone().push(shown, &is_signed).err();
    assert_eq!(refusal(signed(3, chain.next(1, &id(1), change()))), Some(LinkRefusal::NotSigned(id(1))));
    assert_eq!(
        refusal(signed(3, chain.next(1, RECOVERY, change()))),
        Some(LinkRefusal::NotSigned(RECOVERY.to_string()))
    );
    let link = chain.next(1, &id(1), change());
    assert_eq!(refusal(signed(1, Link { number: 3, ..link.clone() })), Some(LinkRefusal::NotNext));
    assert_eq!(refusal(signed(1, Link { number: 5, ..link.clone() })), Some(LinkRefusal::NotNext));
    assert_eq!(refusal(signed(1, Link { previous: [1; 32], ..link.clone() })), Some(LinkRefusal::NotNext));
    assert_eq!(refusal(signed(1, link)), None);
}

#[test]
fn who_is_gone_stays_gone_and_a_removal_names_whom_it_let_in() {
    let chain = three();
    let removed = pushed(&chain, 1, remove(&chain.state, &[2], 9)).unwrap();
    let ChainChange::Remove { let_in, epoch, .. } = &removed.links[3].link.change else { panic!() };
    assert_eq!(*let_in, BTreeSet::from([id(3)]));
    assert!(!epoch.to.contains_key(&id(2)) && epoch.to.contains_key(&id(3)));
    assert_eq!(pushed(&removed, 2, remove(&removed.state, &[1], 8)).err(), Some(LinkRefusal::NotEntitled(id(2))));
    for by in [1, 3, RECOVERY_KEY] {
        assert_eq!(pushed(&removed, by, add(&removed.state, 2)).err(), Some(LinkRefusal::Known(id(2))));
    }
    // The grants that it made end with it, and those of others stay.
    let granted = pushed(&chain, 2, ChainChange::Grant(grant(5))).unwrap();
    let granted = pushed(&granted, 3, ChainChange::Grant(grant(6))).unwrap();
    let grants = |chain: &Chain| chain.state.grants.keys().cloned().collect::<Vec<_>>();
    let ended = pushed(&granted, 1, remove(&granted.state, &[2], 9)).unwrap();
    assert_eq!((grants(&ended), ended.state.gone[&id(5)].clone()), (vec![id(6)], id(1)));
    assert_eq!(grants(&pushed(&granted, 3, ChainChange::Leave).unwrap()), [id(5)]);
    let left = pushed(&chain, 3, ChainChange::Leave).unwrap();
    assert!(left.state.is_rotation_due);
    let rotated = ChainChange::Rotate(next_epoch(&left.state, 9, &BTreeSet::new()));
    assert!(!pushed(&left, 1, rotated).unwrap().state.is_rotation_due);
}

#[test]
fn a_shorter_chain_is_not_believed_and_a_different_one_only_by_the_recovery_key() {
    let chain = three();
    let shown = |chain: &Chain| chain.links.clone();
    let judged = |known: &Chain, shown: Vec<ShownLink>| known.judged(shown, &is_signed);
    let mine = pushed(&chain, 1, remove(&chain.state, &[2], 9)).unwrap();
    let theirs = pushed(&chain, 2, remove(&chain.state, &[1], 8)).unwrap();
    assert_eq!(judged(&mine, shown(&mine)), ChainVerdict::Same);
    assert_eq!(judged(&mine, shown(&chain)), ChainVerdict::Older);
    assert_eq!(judged(&mine, Vec::new()), ChainVerdict::Older);
    assert_eq!(judged(&chain, shown(&mine)), ChainVerdict::Longer(mine.clone()));
    assert_eq!(judged(&mine, shown(&theirs)), ChainVerdict::Forked(4));
    assert_eq!(judged(&theirs, shown(&mine)), ChainVerdict::Forked(4));
    let recovered = pushed(&mine, RECOVERY_KEY, remove(&mine.state, &[3], 7)).unwrap();
    assert_eq!(judged(&theirs, shown(&recovered)), ChainVerdict::Recovered(recovered.clone()));
    assert_eq!(judged(&recovered, shown(&theirs)), ChainVerdict::Older);
    // What the thief removed stays: the thief is no member there. What a member removed is removed again.
    assert_eq!(theirs.removals_missing_in(&recovered.state), BTreeSet::new());
    let withheld = pushed(&chain, RECOVERY_KEY, add(&chain.state, 4)).unwrap();
    assert_eq!(judged(&mine, shown(&withheld)), ChainVerdict::Recovered(withheld.clone()));
    assert_eq!(mine.removals_missing_in(&withheld.state), BTreeSet::from([id(2)]));
    assert_eq!(judged(&recovered, shown(&withheld)), ChainVerdict::Forked(4), "two words of the recovery key");
    // One word more of the same key decides, unless the key was replaced: then the old one says nothing any more.
    let more = pushed(&withheld, RECOVERY_KEY, add(&withheld.state, 5)).unwrap();
    assert_eq!(judged(&recovered, shown(&more)), ChainVerdict::Recovered(more.clone()));
    assert_eq!(judged(&more, shown(&recovered)), ChainVerdict::Older);
    let replaced = pushed(&chain, RECOVERY_KEY, recovery(8)).unwrap();
    assert_eq!(judged(&more, shown(&replaced)), ChainVerdict::Recovered(replaced.clone()));
    assert_eq!(judged(&replaced, shown(&more)), ChainVerdict::Older);
    let again = pushed(&chain, RECOVERY_KEY, recovery(9)).unwrap();
    assert_eq!(judged(&replaced, shown(&again)), ChainVerdict::Forked(4), "two new keys");
    // Links that cannot be believed count as not shown.
    let mut forged = shown(&chain);
    forged.push(signed(3, chain.next(1, &id(1), add(&chain.state, 4))));
    assert_eq!(judged(&chain, forged.clone()), ChainVerdict::Same);
    assert_eq!(judged(&mine, forged), ChainVerdict::Older);
    assert_eq!(judged(&chain, shown(&founded())[..0].to_vec()), ChainVerdict::Older);
}

#[test]
fn a_space_has_no_more_devices_than_one_link_can_wrap_a_key_for() {
    let mut chain = three();
    let member = chain.state.members[&id(1)].clone();
    for number in chain.state.members.len()..MEMBERS_MAX {
        chain.state.members.insert(format!("fill-{number}"), member.clone());
    }
    let refused = pushed(&chain, 1, add(&chain.state, 4)).err();
    assert_eq!(refused, Some(LinkRefusal::Full));
    // Everybody in it can still be removed.
    let gone: BTreeSet<String> = chain.state.members.keys().filter(|one| one.starts_with("fill-")).cloned().collect();
    let (let_in, epoch) = (chain.state.let_in_by(&gone), next_epoch(&chain.state, 9, &gone));
    let removed = pushed(&chain, 1, ChainChange::Remove { gone, let_in, epoch }).unwrap();
    assert!(pushed(&removed, 1, add(&removed.state, 4)).is_ok());
}

#[test]
fn a_long_chain_takes_only_links_that_end_something() {
    let chain = three();
    let mut long = pushed(&chain, 1, ChainChange::Grant(grant(5))).unwrap();
    let room = CHAIN_BYTES_MAX - long.state.bytes;
    // The last byte that fits, then one more.
    let filled = |bytes: usize| {
        let mut shown = signed(1, long.next(1, &id(1), add(&long.state, 4)));
        shown.bytes = vec![0; bytes];
        long.clone().push(shown, &|_, _| true)
    };
    assert_eq!((filled(room), filled(room + 1)), (Ok(()), Err(LinkRefusal::Full)));
    long.state.bytes = CHAIN_BYTES_MAX;
    let state = &long.state;
    let rotate = |state: &ChainState| ChainChange::Rotate(next_epoch(state, 9, &BTreeSet::new()));
    for change in [add(state, 4), ChainChange::Grant(grant(6)), rotate(state), remove(state, &[5], 9)] {
        assert_eq!(pushed(&long, 1, change.clone()).err(), Some(LinkRefusal::Full), "{change:?}");
    }
    assert!(pushed(&long, 1, remove(state, &[2, 5], 9)).is_ok());
    assert!(pushed(&long, RECOVERY_KEY, rotate(state)).is_ok() && pushed(&long, RECOVERY_KEY, add(state, 4)).is_ok());
    let left = pushed(&long, 3, ChainChange::Leave).unwrap();
    let rotated = pushed(&left, 1, rotate(&left.state)).unwrap();
    assert_eq!(pushed(&rotated, 1, rotate(&rotated.state)).err(), Some(LinkRefusal::Full));
}

/// The devices of the small world. The thief has the keys of one of them.
const HONEST: [u8; 2] = [1, 2];
const THIEF: u8 = 3;
const ACCOMPLICE: u8 = 4;
const NEW: u8 = 5;
/// Keys of containers, and the recovery keys.
const GRANTS: [u8; 2] = [100, 101];
const RECOVERY_KEYS: std::ops::RangeInclusive<u8> = 250..=RECOVERY_KEY;

/// Everything that was ever made, and what each honest device believes.
#[derive(Clone)]
struct World {
    /// Chains that some device could be shown: every link that was ever made, with those before it.
    made: Vec<Rc<Chain>>,
    believes: BTreeMap<u8, Rc<Chain>>,
    /// Removals that a device makes again as soon as it can.
    due: BTreeMap<u8, BTreeSet<String>>,
    /// How many keys were made.
    names: u8,
    /// How much each actor may still do.
    left: Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Left {
    thief: u8,
    honest: u8,
    recovery: u8,
    shown: u8,
    garbled: u8,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    /// The hub shows a device one of the chains.
    Show(u8, usize),
    /// It shows one with something done to a single link.
    ShowGarbled(u8, usize, Garbling),
    Add(u8, u8),
    Remove(u8, u8),
    Rotate(u8),
    Grant(u8),
    Leave(u8),
    /// The person removes a device on this one, in the name of the recovery key.
    Recover(u8, u8),
    /// The person replaces the recovery key on this device.
    Replace(u8),
    /// The thief adds to one of the chains.
    Steal(usize, Theft),
}

#[derive(Clone, Copy, Debug)]
enum Theft {
    Add(u8),
    Remove(u8),
    Rotate,
    Grant,
    Leave,
}

#[derive(Clone, Copy, Debug)]
enum Garbling {
    Dropped(usize),
    Swapped(usize),
    Doubled(usize),
    /// The last link of another chain stands there.
    Replayed(usize, usize),
}

impl Garbling {
    fn all(length: usize, chains: usize) -> impl Iterator<Item = Garbling> {
        let one = move |at: usize| {
            let moved = [Garbling::Dropped(at), Garbling::Doubled(at)].into_iter();
            let swapped = (at + 1 < length).then_some(Garbling::Swapped(at));
            moved.chain(swapped).chain((0..chains).map(move |from| Garbling::Replayed(at, from)))
        };
        (0..length).flat_map(one)
    }

    fn applied(self, mut links: Vec<ShownLink>, made: &[Rc<Chain>]) -> Vec<ShownLink> {
        match self {
            Garbling::Dropped(at) => drop(links.remove(at)),
            Garbling::Swapped(at) => links.swap(at, at + 1),
            Garbling::Doubled(at) => links.insert(at, links[at].clone()),
            Garbling::Replayed(at, from) => links.insert(at + 1, made[from].links.last().unwrap().clone()),
        }
        links
    }
}

impl World {
    fn new(left: Left) -> World {
        let chain = founded();
        let chain = pushed(&chain, 1, add(&chain.state, 2)).unwrap();
        let chain = Rc::new(pushed(&chain, 1, add(&chain.state, THIEF)).unwrap());
        let believes = HONEST.iter().map(|who| (*who, Rc::clone(&chain))).collect();
        World { made: vec![chain], believes, due: BTreeMap::new(), names: 1, left }
    }

    fn acts(&self) -> Vec<Act> {
        let (mut acts, chains) = (Vec::new(), 0..self.made.len());
        // Whoever has left asks the hub for nothing any more.
        let has_left = |who: &u8| self.believes[who].state.gone.get(&id(*who)) == Some(&id(*who));
        for who in HONEST.into_iter().filter(|who| !has_left(who)) {
            if self.left.shown > 0 {
                acts.extend(chains.clone().map(|at| Act::Show(who, at)));
            }
            if self.left.garbled > 0 {
                let garblings =
                    |at: usize| Garbling::all(self.made[at].links.len(), self.made.len()).map(move |one| (at, one));
                acts.extend(chains.clone().flat_map(garblings).map(|(at, one)| Act::ShowGarbled(who, at, one)));
            }
            if self.left.honest > 0 {
                let others = [1, 2, THIEF, ACCOMPLICE, NEW].into_iter().filter(|other| *other != who);
                acts.extend(others.map(|other| Act::Remove(who, other)));
                acts.extend([Act::Add(who, NEW), Act::Rotate(who), Act::Grant(who), Act::Leave(who)]);
            }
            if self.left.recovery > 0 {
                acts.extend([Act::Recover(who, THIEF), Act::Recover(who, ACCOMPLICE), Act::Replace(who)]);
            }
        }
        if self.left.thief > 0 {
            let removals = [Theft::Remove(1), Theft::Remove(2)].into_iter();
            let thefts = removals.chain([Theft::Add(ACCOMPLICE), Theft::Rotate, Theft::Grant, Theft::Leave]);
            let thefts: Vec<Theft> = thefts.collect();
            acts.extend(chains.flat_map(|at| thefts.iter().map(move |theft| Act::Steal(at, *theft))));
        }
        acts
    }

    fn make(&mut self, chain: &Chain, by: u8, change: ChainChange) -> Option<Rc<Chain>> {
        let made = Rc::new(pushed(chain, by, change).ok()?);
        self.made.push(Rc::clone(&made));
        Some(made)
    }

    fn after(&self, act: Act) -> Option<World> {
        let mut world = World { names: self.names + 1, ..self.clone() };
        let (name, none) = (world.names, BTreeSet::new());
        let (who, made) = match act {
            Act::Show(who, at) => {
                world.left.shown -= 1;
                let links = self.made[at].links.clone();
                return world.shown(who, links).then_some(world);
            }
            Act::ShowGarbled(who, at, garbling) => {
                world.left.garbled -= 1;
                let links = garbling.applied(self.made[at].links.clone(), &self.made);
                return world.shown(who, links).then_some(world);
            }
            Act::Steal(at, theft) => {
                world.left.thief -= 1;
                let chain = self.made[at].clone();
                let change = match theft {
                    Theft::Add(who) => add(&chain.state, who),
                    Theft::Remove(who) => remove(&chain.state, &[who], name),
                    Theft::Rotate => ChainChange::Rotate(next_epoch(&chain.state, name, &none)),
                    Theft::Grant => ChainChange::Grant(grant(GRANTS[0])),
                    Theft::Leave => ChainChange::Leave,
                };
                return world.make(&chain, THIEF, change).map(|_| world);
            }
            Act::Recover(who, gone) => {
                world.left.recovery -= 1;
                let chain = self.believes[&who].clone();
                (who, world.make(&chain, RECOVERY_KEY, remove(&chain.state, &[gone], name)))
            }
            Act::Replace(who) => {
                world.left.recovery -= 1;
                let (chain, next) = (self.believes[&who].clone(), RECOVERY_KEY - world.names % 5 - 1);
                (who, world.make(&chain, RECOVERY_KEY, recovery(next)))
            }
            Act::Add(who, _) | Act::Remove(who, _) | Act::Rotate(who) | Act::Grant(who) | Act::Leave(who) => {
                world.left.honest -= 1;
                let chain = self.believes[&who].clone();
                let change = match act {
                    Act::Add(_, new) => add(&chain.state, new),
                    Act::Remove(_, gone) => remove(&chain.state, &[gone], name),
                    Act::Grant(_) => ChainChange::Grant(grant(GRANTS[1])),
                    Act::Leave(_) => ChainChange::Leave,
                    _ => ChainChange::Rotate(next_epoch(&chain.state, name, &none)),
                };
                (who, world.make(&chain, who, change))
            }
        };
        world.believes.insert(who, made?);
        Some(world)
    }

    /// A device is shown links, and makes removals again that the recovery key did not know. Returns whether anything
    /// changed.
    fn shown(&mut self, who: u8, links: Vec<ShownLink>) -> bool {
        let known = self.believes[&who].clone();
        let mut believed = match known.judged(links, &is_signed) {
            ChainVerdict::Longer(chain) => Rc::new(chain),
            ChainVerdict::Recovered(chain) => {
                self.due.entry(who).or_default().extend(known.removals_missing_in(&chain.state));
                Rc::new(chain)
            }
            ChainVerdict::Same | ChainVerdict::Older | ChainVerdict::Forked(_) => return false,
        };
        let is_due = |one: &u8| self.due.get(&who).is_some_and(|due| due.contains(&id(*one)));
        let members = &believed.state.members;
        let due: Vec<u8> = (1..=NEW).filter(|one| is_due(one) && members.contains_key(&id(*one))).collect();
        if !due.is_empty() && members.contains_key(&id(who)) {
            let again = remove(&believed.state, &due, self.names);
            believed = self.make(&believed, who, again).unwrap_or(believed);
        }
        self.believes.insert(who, believed);
        true
    }

    /// Two worlds with the same identity have the same future.
    fn identity(&self) -> (BTreeSet<Key>, Vec<Key>, Left, Vec<String>) {
        let made = self.made.iter().map(|chain| chain.state.head).collect();
        let due = self.due.iter().flat_map(|(who, due)| due.iter().map(move |id| format!("{who} {id}"))).collect();
        (made, self.believes.values().map(|chain| chain.state.head).collect(), self.left, due)
    }

    /// The keys that whoever has this id was ever given, by anybody, in any chain.
    fn keys_of(&self, id: &str) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        // Each chain is another one and a link; the first was there before.
        let new = self.made.iter().skip(1).filter_map(|chain| chain.links.last());
        for shown in self.made[0].links.iter().chain(new) {
            match &shown.link.change {
                ChainChange::Add { device, key, .. } if id_of(&device.keys.sign) == id => {
                    keys.insert(key.clone());
                }
                ChainChange::Found { epoch, .. } | ChainChange::Remove { epoch, .. } | ChainChange::Rotate(epoch) => {
                    keys.extend(epoch.to.get(id).cloned());
                    keys.extend((shown.link.by == id).then(|| hex::text(&epoch.check)));
                }
                _ => {}
            }
        }
        keys
    }

    fn check(&self, before: &World, act: Act) {
        for (who, chain) in &self.believes {
            // Nobody believes what nobody has made.
            assert!(self.made.iter().any(|made| made.links.starts_with(&chain.links)), "{who} after {act:?}");
            // A grant counts as long as its maker.
            let has_maker = |made: &MadeGrant| chain.state.members.contains_key(&made.by);
            assert!(chain.state.grants.values().all(has_maker), "{who} after {act:?}");
            // A removed device has no key that an honest device uses after it knows of the removal. After somebody left,
            // nothing is sent before another key was begun.
            let newest = hex::text(&chain.state.epochs.last().unwrap().check);
            for gone in chain.state.gone.keys().filter(|_| !chain.state.is_rotation_due) {
                assert!(!self.keys_of(gone).contains(&newest), "{gone} has the key of {who} after {act:?}");
                assert!(!chain.state.members.contains_key(gone), "{act:?}");
            }
            // Every link was made with the key of whoever it names.
            for shown in &chain.links {
                let signers = if shown.link.by == RECOVERY { RECOVERY_KEYS } else { 1..=NEW };
                let mut signers = signers.filter(|one| shown.link.by == RECOVERY || id(*one) == shown.link.by);
                assert!(signers.any(|signer| shown.bytes == keys(signer).sign), "{act:?}");
            }
            // What is known only grows, unless the recovery key says otherwise; and then removals by members stay.
            let known = &before.believes[who];
            let is_grown = chain.links.starts_with(&known.links);
            let is_recovered = chain.links.iter().skip(1).any(|shown| shown.link.by == RECOVERY);
            assert!(is_grown || is_recovered, "{who} believes less after {act:?}");
            // Nobody removes themselves: that others do again.
            let is_in = chain.state.members.contains_key(&id(*who));
            let stays = |(gone, by): &(&String, &String)| **gone != id(*who) && chain.state.members.contains_key(*by);
            for (gone, by) in known.state.gone.iter().filter(|one| is_in && stays(one)) {
                assert!(!chain.state.members.contains_key(gone), "{by} had removed {gone}; {who} after {act:?}");
            }
        }
    }
}

#[test]
fn in_every_small_world_who_is_removed_gets_no_later_key_and_nobody_speaks_for_another() {
    let mut explored = 0;
    for left in [
        Left { thief: 1, honest: 2, recovery: 0, shown: 1, garbled: 0 },
        Left { thief: 2, honest: 1, recovery: 0, shown: 1, garbled: 0 },
        Left { thief: 1, honest: 1, recovery: 1, shown: 1, garbled: 0 },
        Left { thief: 1, honest: 0, recovery: 1, shown: 3, garbled: 0 },
        Left { thief: 1, honest: 1, recovery: 0, shown: 0, garbled: 1 },
        Left { thief: 0, honest: 1, recovery: 1, shown: 0, garbled: 1 },
    ] {
        let (mut known, mut open) = (HashSet::new(), vec![World::new(left)]);
        while let Some(world) = open.pop() {
            for act in world.acts() {
                let Some(next) = world.after(act) else { continue };
                if known.insert(next.identity()) {
                    next.check(&world, act);
                    open.push(next);
                }
            }
        }
        explored += known.len();
    }
    assert!(explored > 8_000, "{explored} worlds");
}

#[test]
fn in_long_random_histories_too() {
    for seed in 0..60_u64 {
        let mut world = World::new(Left { thief: 12, honest: 8, recovery: 3, shown: 30, garbled: 20 });
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for _ in 0..70 {
            let acts = world.acts();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let Some(act) = acts.get((random >> 33) as usize % acts.len().max(1)) else { break };
            let Some(next) = world.after(*act) else { continue };
            next.check(&world, *act);
            world = next;
        }
    }
}
