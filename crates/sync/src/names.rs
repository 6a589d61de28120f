//! What the devices of a space are called, who let them in, and what somebody must be told of that.

use std::collections::BTreeMap;

use cerberus_record::clean::text::line;

use super::chain::{Chain, ChainChange, ChainState, MadeGrant, Member, RECOVERY, ShownLink, id_of};
use super::crypto::hex;
use super::files::Files;
use super::keys;
use super::local::{Space, SpaceState};
use super::{Result, share};

/// How much of a device's id is told beside a name that several have.
const TOLD_ID_CHARS: usize = 4;
/// How many news wait until somebody is told.
const NEWS_MAX: usize = 100;

/// The names that devices were given. Several may have the same.
pub fn given(space: &Space, state: &ChainState) -> BTreeMap<String, String> {
    let name = |member: &Member| {
        let added = &member.device;
        keys::opened_name(space, state, &added.keys.sign, &added.name).unwrap_or_default()
    };
    state.members.iter().map(|(id, member)| (id.clone(), name(member))).collect()
}

/// The names of the devices, told apart: a name that several have is told with the beginning of the device's id, and so
/// is one that looks like that.
pub fn told(space: &Space, state: &ChainState) -> BTreeMap<String, String> {
    told_apart(given(space, state))
}

fn told_apart(mut names: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let same = |name: &str| share::plain_name(name).to_lowercase();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    names.values().for_each(|name| *counts.entry(same(name)).or_default() += 1);
    let has_id = |name: &str| {
        let last = name.rsplit(' ').next().unwrap_or_default();
        last.len() == TOLD_ID_CHARS && last.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    for (id, name) in names.iter_mut().filter(|(_, name)| !name.is_empty()) {
        if counts[&same(name)] > 1 || has_id(name) {
            let short = line(name, share::AUTHOR_CHARS_MAX - TOLD_ID_CHARS - 1);
            *name = format!("{short} {}", id.get(..TOLD_ID_CHARS).unwrap_or(id));
        }
    }
    names
}

/// What a device that signed a link is called.
pub fn name_of(names: &BTreeMap<String, String>, by: &str) -> String {
    match by {
        RECOVERY => "the recovery code".to_string(),
        by => names.get(by).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| by.to_string()),
    }
}

/// The grants that count: id, name, and who made them.
pub fn grants(space: &Space, state: &ChainState) -> Vec<[String; 3]> {
    let names = told(space, state);
    let one = |(id, MadeGrant { grant, by }): (&String, &MadeGrant)| {
        let name = keys::opened_name(space, state, &grant.sign, &grant.name).unwrap_or_default();
        [id.clone(), name, name_of(&names, by)]
    };
    state.grants.iter().map(one).collect()
}

/// Notes whom others let in, and what keys of containers they made, since this was last noted.
pub fn note_news(space: &Space, chain: &Chain, own: &str, state: &mut SpaceState) {
    let (head, names) = (hex::text(&chain.state.head), told(space, &chain.state));
    // A container knows nobody's name.
    if state.told == head || space.is_container() {
        return;
    }
    let new = chain.links.iter().rev().take_while(|shown| hex::text(&shown.hash) != state.told);
    let grants = grants(space, &chain.state);
    let one = |shown: &ShownLink| {
        let id = match &shown.link.change {
            ChainChange::Add { device, .. } => id_of(&device.keys.sign),
            ChainChange::Grant(grant) => id_of(&grant.sign),
            _ => return None,
        };
        let by = name_of(&names, &shown.link.by);
        match (names.get(&id), grants.iter().find(|[grant, ..]| *grant == id)) {
            _ if shown.link.by == own || id == own => None,
            (Some(name), _) => Some(format!("{name} ({id}) was let in by {by}")),
            (_, Some([_, name, _])) => Some(format!("a key for {name} ({id}) was printed by {by}")),
            _ => None,
        }
    };
    // Whoever has just joined sees in `sync status` who is there.
    if !state.told.is_empty() {
        state.news.extend(new.take(NEWS_MAX).filter_map(one));
        state.news.truncate(NEWS_MAX);
    }
    state.told = head;
}

/// Somebody has been told the news.
pub fn are_told(files: &Files, space: &Space) -> Result<()> {
    let mut state = files.state(space)?;
    if state.news.is_empty() {
        return Ok(());
    }
    state.news.clear();
    files.save_state(space, &state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_devices_are_told_by_one_name() {
        let told = |names: &[(&str, &str)]| -> Vec<String> {
            let names = names.iter().map(|(id, name)| (id.to_string(), name.to_string()));
            told_apart(names.collect()).into_values().collect()
        };
        assert_eq!(told(&[("11112222", "ann"), ("33334444", "bob")]), ["ann", "bob"]);
        assert_eq!(told(&[("11112222", "ann"), ("33334444", " Ann!")]), ["ann 1111", "Ann! 3333"]);
        assert_eq!(told(&[("11112222", ""), ("33334444", "")]), ["", ""]);
        let forged = told(&[("11112222", "ann"), ("33334444", "ann"), ("55556666", "ann 1111")]);
        assert_eq!(forged, ["ann 1111", "ann 3333", "ann 1111 5555"]);
        // Only the beginning of a long name is told.
        let long = "a name that goes on and on";
        let told = told(&[("11112222", long), ("33334444", format!("{long} and on").as_str())]);
        assert_eq!(told.iter().map(|name| share::plain_name(name)).collect::<std::collections::BTreeSet<_>>().len(), 2);
    }
}
