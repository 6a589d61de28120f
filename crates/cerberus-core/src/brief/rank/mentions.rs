//! Files named in the agent's last message and in the last prompts.

use std::collections::{BTreeSet, HashMap};

use super::asked::ends_in;
use super::weights::{Feature, REQUESTING_SESSIONS_MAX, REQUESTS_MAX, SESSIONS_HALF};
use super::{Evidence, Traces, faded};
use crate::brief::base;

/// Path-like words, what naming a file in them says, and how much it counts.
struct Naming<'a> {
    words: &'a [String],
    feature: Feature,
    share: f64,
}

pub fn of_mentions(evidence: &Evidence, traces: &mut Traces) {
    let mut namings: Vec<Naming> = Vec::new();
    if let Some(last) = evidence.sessions.first() {
        namings.push(Naming { words: &last.mentions, feature: Feature::Mentioned, share: 1.0 });
    }
    for (place, worked) in evidence.sessions.iter().take(REQUESTING_SESSIONS_MAX).enumerate() {
        for (turn, prompt) in worked.prompts.iter().take(REQUESTS_MAX).enumerate() {
            let share = faded(place as f64, SESSIONS_HALF) / (turn + 1) as f64;
            namings.push(Naming { words: &prompt.paths, feature: Feature::Requested, share });
        }
    }
    let words = namings.iter().flat_map(|naming| naming.words);
    let mut by_base: HashMap<&str, Vec<String>> = words.map(|word| (base(word), Vec::new())).collect();
    if by_base.is_empty() {
        return;
    }
    // A name means less if untouched files share it.
    let known: BTreeSet<&String> = traces.list.iter().map(|(path, _)| path).chain(evidence.tracked).collect();
    for path in known {
        if let Some(same_base) = by_base.get_mut(base(path).to_lowercase().as_str()) {
            same_base.push(path.clone());
        }
    }
    for Naming { words, feature, share } in namings {
        let mut certain: HashMap<&String, f64> = HashMap::new();
        for word in words {
            let same_base = by_base.get(base(word)).map(Vec::as_slice).unwrap_or_default();
            let meant: Vec<&String> = same_base.iter().filter(|path| is_meant(word, path)).collect();
            for path in &meant {
                let best = certain.entry(path).or_default();
                *best = best.max(1.0 / (meant.len() as f64).sqrt());
            }
        }
        for (path, certainty) in certain {
            if let Some(place) = traces.places.get(path) {
                traces.list[*place].1.add(feature, certainty * share);
            }
        }
    }
}

fn is_meant(word: &str, path: &str) -> bool {
    let path = path.to_lowercase();
    ends_in(&path, word) || ends_in(word, &path)
}
