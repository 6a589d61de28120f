//! How far a request to forget has come on other devices.

use cerberus_os::home::Home;

use super::Result;
use super::files::Files;
use super::local::{Space, SpaceState};
use super::project::SharedProject;

/// Called after something was forgotten here. What waits to be sent may contain it: the next exchange seals it again.
pub fn drop_unsent(home: &Home) -> Result<()> {
    let files = Files::new(home);
    for space in files.spaces()?.spaces {
        let mut state = files.state(&space)?;
        let before = state.clone();
        for shared in &space.projects {
            if let Some(stream) =
                state.streams.get_mut(&shared.number).filter(|stream| stream.sealed.sequence > stream.sent)
            {
                stream.is_to_rewrite = true;
                SharedProject { home, space: &space, shared }.drop_kept(|_, _| true)?;
            }
        }
        if state != before {
            files.save_state(&space, &state)?;
        }
    }
    Ok(())
}

/// How many devices that read our streams have confirmed the last request to forget, and how many there are; `None` if
/// nobody was asked. Of several projects, the one that is furthest behind.
pub fn confirmed(space: &Space, state: &SpaceState) -> Option<[usize; 2]> {
    let streams = space.projects.iter().filter_map(|shared| state.streams.get(&shared.number));
    let asked = streams.filter_map(|stream| {
        let generation = stream.forgotten_in?;
        let readers = stream.seen.iter().filter(|(device, _)| state.names.contains_key(*device));
        let (done, waiting): (Vec<_>, Vec<_>) = readers.partition(|(_, seen)| seen.confirmed >= generation);
        Some([done.len(), done.len() + waiting.len()])
    });
    asked.max_by_key(|[confirmed, devices]| devices - confirmed)
}

#[cfg(test)]
mod tests {
    use cerberus_record::time::Timestamp;
    use serde_json::json;

    use super::super::document::Reach;
    use super::super::local::{Seen, StreamState};
    use super::*;

    #[test]
    fn devices_that_are_still_there_confirm_and_the_project_that_is_furthest_behind_counts() {
        let project = |number: u32| json!({"number": number, "id": "", "project": "", "name": "", "root": ""});
        let space: Space = serde_json::from_value(json!({
            "number": 0, "id": "", "hub": "", "name": "",
            "projects": [project(0), project(1), project(2)],
        }))
        .unwrap();
        let seen = |(device, confirmed): &(&str, u64)| {
            let reach = Reach { generation: 1, sequence: 1, hash: [0; 32] };
            (
                device.to_string(),
                Seen {
                    reach,
                    at: Timestamp::EPOCH,
                    read_at: Timestamp::EPOCH,
                    confirmed: *confirmed,
                    by: None,
                    bytes: 0,
                    unknown_to: None,
                    signature: String::new(),
                },
            )
        };
        let stream = |forgotten_in, all: &[(&str, u64)]| StreamState {
            forgotten_in,
            seen: all.iter().map(seen).collect(),
            ..StreamState::default()
        };
        let names = ["b", "c"].map(|device| (device.to_string(), device.to_string()));
        let told = |streams: [StreamState; 3]| {
            let streams = (0..).zip(streams).collect();
            let state = SpaceState { streams, names: names.clone().into(), ..SpaceState::default() };
            confirmed(&space, &state).map(|[confirmed, devices]| (confirmed, devices))
        };
        let none = || stream(None, &[("b", 1), ("c", 1)]);
        let all = || stream(Some(2), &[("b", 2), ("c", 3), ("removed", 1)]);
        let half = || stream(Some(2), &[("b", 2), ("c", 1)]);
        assert_eq!(told([none(), none(), none()]), None, "nobody was asked");
        assert_eq!(told([none(), all(), none()]), Some((2, 2)));
        assert_eq!(told([all(), half(), none()]), Some((1, 2)));
        assert_eq!(told([half(), none(), all()]), Some((1, 2)), "in any order");
    }
}
