//! Who belongs to a space: everybody whom a member let in, without those whom a member removed. Pure.
//!
//! Every device publishes its own card and its own decisions, so two devices never write the same document. The device
//! that made the space is trusted first; the others follow from certificates. If two devices remove each other, the one
//! that is nearer to the beginning is believed.

use std::collections::{BTreeMap, BTreeSet};

use super::crypto::Key;
use super::document::{Card, Papers, Removal};

/// The device that made the space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Founder {
    pub device: String,
    pub sign: Key,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    pub devices: BTreeMap<String, Card>,
    pub removed: BTreeSet<String>,
}

/// How far a chain of certificates may go.
const DEPTH_MAX: usize = 32;

/// The members of a space, from papers whose own signatures were verified.
pub fn members(space: &str, founder: &Founder, papers: &[Papers]) -> Members {
    let mut removed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // A removal can only take away, so this ends.
    for _ in 0..=papers.len().min(1_000) {
        let known = chain(space, founder, papers, &removed);
        let found = removals(&known, papers);
        if found == removed {
            break;
        }
        removed = found;
    }
    let known = chain(space, founder, papers, &removed);
    let devices = known.into_iter().filter(|(device, _)| !removed.contains_key(device));
    Members {
        devices: devices.map(|(device, (card, _))| (device, card)).collect(),
        removed: removed.into_keys().collect(),
    }
}

type Known = BTreeMap<String, (Card, usize)>;

/// Everybody who was ever let in, with the length of the chain that leads there.
fn chain(space: &str, founder: &Founder, papers: &[Papers], removed: &BTreeMap<String, BTreeSet<String>>) -> Known {
    let mut known = Known::new();
    for paper in papers {
        let card = &paper.card;
        if card.device == founder.device && card.sign == founder.sign && card.is_certified(space, &founder.sign) {
            known.insert(card.device.clone(), (card.clone(), 0));
        }
    }
    for depth in 1..=DEPTH_MAX {
        let mut found = Vec::new();
        for Papers { card, .. } in papers {
            if known.contains_key(&card.device) {
                continue;
            }
            let Some((by, by_depth)) = known.get(&card.by) else { continue };
            let is_kept = removed.get(&card.by).is_none_or(|keeps| keeps.contains(&card.device));
            if *by_depth == depth - 1 && is_kept && is_let_in(space, by, card) {
                found.push((card.device.clone(), (card.clone(), depth)));
            }
        }
        if found.is_empty() {
            break;
        }
        known.extend(found);
    }
    known
}

/// Whether a member let this device in. A member that is limited to a project can let others into that project only.
pub fn is_let_in(space: &str, by: &Card, card: &Card) -> bool {
    let is_allowed = by.project.is_none() || by.project == card.project;
    is_allowed && card.by == by.device && card.is_certified(space, &by.sign)
}

fn removals(known: &Known, papers: &[Papers]) -> BTreeMap<String, BTreeSet<String>> {
    let mut order: Vec<(&usize, &String)> = known.iter().map(|(device, (_, depth))| (depth, device)).collect();
    order.sort();
    let by_device: BTreeMap<&str, &Papers> = papers.iter().map(|paper| (paper.card.device.as_str(), paper)).collect();
    let mut removed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, device) in order {
        // What a removed device says counts no more. One that is limited to a project decides about nobody.
        let is_limited = known.get(device).is_some_and(|(card, _)| card.project.is_some());
        if removed.contains_key(device) || is_limited {
            continue;
        }
        for Removal { device, keeps } in by_device.get(device.as_str()).into_iter().flat_map(|paper| &paper.removed) {
            removed.entry(device.clone()).or_default().extend(keeps.iter().cloned());
        }
    }
    removed
}

impl Members {
    /// The card of a device: its own in the space, or one that comes with its head.
    pub fn card<'a>(&'a self, space: &str, project: &str, device: &str, inline: Option<&'a Card>) -> Option<&'a Card> {
        let card = match self.devices.get(device) {
            Some(card) => card,
            None => {
                let card = inline.filter(|card| card.device == device && !self.removed.contains(device))?;
                let by = self.devices.get(&card.by)?;
                Some(card).filter(|card| is_let_in(space, by, card))?
            }
        };
        (card.project.as_deref().is_none_or(|only| only == project) && !card.is_key).then_some(card)
    }

    /// The devices that people work on.
    pub fn people(&self) -> impl Iterator<Item = &Card> {
        self.devices.values().filter(|card| !card.is_key)
    }
}

#[cfg(test)]
mod tests {
    use super::super::crypto::Secrets;
    use super::super::document::VERSION;
    use super::*;

    fn papers(device: &str, by: &str, removed: &[(&str, &[&str])]) -> Papers {
        let secrets = Secrets::of(device.as_bytes());
        let card = Card {
            device: device.to_string(),
            sign: secrets.sign_public().unwrap(),
            agree: secrets.agree_public(),
            name: String::new(),
            project: None,
            is_key: false,
            by: by.to_string(),
            certificate: [0; 64],
        };
        let card = card.certified("s", &Secrets::of(by.as_bytes())).unwrap();
        let removal = |(device, keeps): &(&str, &[&str])| Removal {
            device: device.to_string(),
            keeps: keeps.iter().map(ToString::to_string).collect(),
        };
        let removed = removed.iter().map(removal).collect();
        Papers { v: VERSION, card, removed, keys: Vec::new(), welcome: BTreeMap::new(), names: String::new() }
    }

    fn names(papers: &[Papers]) -> Vec<String> {
        let founder = Founder { device: "a".to_string(), sign: Secrets::of(b"a").sign_public().unwrap() };
        members("s", &founder, papers).devices.into_keys().collect()
    }

    #[test]
    fn members_are_those_whom_members_let_in() {
        let all = [papers("a", "a", &[]), papers("b", "a", &[]), papers("c", "b", &[]), papers("x", "x", &[])];
        assert_eq!(names(&all), ["a", "b", "c"]);
        let mut other_order = all.clone();
        other_order.reverse();
        assert_eq!(names(&other_order), ["a", "b", "c"], "in any order");
        assert_eq!(names(&all[1..]), [""; 0], "nothing without the beginning");
        let mut forged = papers("d", "x", &[]);
        forged.card.by = "a".to_string();
        assert_eq!(names(&[all[0].clone(), forged]), ["a"]);
    }

    #[test]
    fn who_is_removed_can_let_nobody_in_and_remove_nobody() {
        let a = papers("a", "a", &[("b", &["c"])]);
        let b = papers("b", "a", &[("c", &[]), ("a", &[])]);
        let all = [a, b, papers("c", "b", &[]), papers("later", "b", &[])];
        assert_eq!(names(&all), ["a", "c"]);
        // Two that remove each other: the one nearer to the beginning is believed.
        let all = [
            papers("a", "a", &[]),
            papers("b", "a", &[("d", &[])]),
            papers("c", "a", &[]),
            papers("d", "c", &[("b", &[])]),
        ];
        assert_eq!(names(&all), ["a", "b", "c"]);
    }

    #[test]
    fn a_limited_member_lets_others_into_its_project_only() {
        let limit = |mut paper: Papers, by: &str, project: &str| {
            paper.card.project = Some(project.to_string());
            paper.card = paper.card.certified("s", &Secrets::of(by.as_bytes())).unwrap();
            paper
        };
        let key = limit(papers("k", "a", &[("a", &[])]), "a", "p");
        let all = [papers("a", "a", &[]), key, limit(papers("c", "k", &[]), "k", "p"), papers("d", "k", &[])];
        assert_eq!(names(&all), ["a", "c", "k"], "and removes nobody");
        let founder = Founder { device: "a".to_string(), sign: Secrets::of(b"a").sign_public().unwrap() };
        let members = members("s", &founder, &all);
        assert!(members.card("s", "p", "c", None).is_some() && members.card("s", "q", "c", None).is_none());
        let inline = limit(papers("e", "k", &[]), "k", "p").card;
        assert!(members.card("s", "p", "e", Some(&inline)).is_some());
        assert!(members.card("s", "p", "f", Some(&inline)).is_none());
    }
}
