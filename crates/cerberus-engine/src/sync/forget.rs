//! How far a request to forget has come on other devices.

use super::Result;
use super::local::{Files, Space, SpaceState};
use crate::os::home::Home;

/// Devices that have confirmed that something is gone, of those that had it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmed {
    pub confirmed: usize,
    pub devices: usize,
    /// The hub keeps the sealed bytes until it collects its garbage.
    pub hub_keeps: bool,
}

/// Called after something was forgotten here. What waits to be sent may contain it: the next exchange seals it again.
pub fn drop_unsent(home: &Home) -> Result<()> {
    let files = Files::new(home);
    for space in files.spaces()?.spaces {
        let mut state = files.state(&space)?;
        let before = state.clone();
        for shared in &space.projects {
            if let Some(stream) = state.streams.get_mut(&shared.number).filter(|stream| stream.sealed > stream.sent) {
                stream.is_to_rewrite = true;
                files.drop_kept(&space, shared, |_, _| true)?;
            }
        }
        if state != before {
            files.save_state(&space, &state)?;
        }
    }
    Ok(())
}

/// Whether every device that reads our streams has confirmed the last request to forget; `None` if nobody was asked.
pub fn confirmed(space: &Space, state: &SpaceState) -> Option<Confirmed> {
    let mut found = None;
    let projects = space.projects.iter();
    for stream in projects.filter_map(|shared| state.streams.get(&shared.number)) {
        let Some(generation) = stream.forgotten_in else { continue };
        let readers = stream.seen.iter().filter(|(device, _)| state.names.contains_key(*device));
        let (devices, confirmed) =
            readers.fold((0, 0), |(all, done), (_, seen)| (all + 1, done + usize::from(seen.confirmed >= generation)));
        let one = Confirmed { confirmed, devices, hub_keeps: state.hub_keeps };
        // The one that is furthest behind.
        let left = |one: &Confirmed| one.devices - one.confirmed;
        found = match found {
            Some(known) if left(&known) >= left(&one) => Some(known),
            _ => Some(one),
        };
    }
    found
}
