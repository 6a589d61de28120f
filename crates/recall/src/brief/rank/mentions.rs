//! Files named in the agent's last message and in the last prompts.

use cerberus_record::map::FastMap;

use super::asked::{LowerNames, ends_in};
use super::weights::{Feature, REQUESTING_SESSIONS_MAX, REQUESTS_MAX, SESSIONS_HALF};
use super::{RankEvidence, Traces, faded};
use crate::brief::base;

/// Path-like words, what naming a file in them says, and how much it counts.
struct PathNaming<'a> {
    words: &'a [String],
    feature: Feature,
    share: f64,
}

pub fn of_mentions<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    let mut namings: Vec<PathNaming> = Vec::new();
    if let Some(last) = evidence.sessions.first() {
        namings.push(PathNaming { words: &last.mentions, feature: Feature::Mentioned, share: 1.0 });
    }
    for (place, worked) in evidence.sessions.iter().take(REQUESTING_SESSIONS_MAX).enumerate() {
        for (turn, prompt) in worked.prompts.iter().take(REQUESTS_MAX).enumerate() {
            let share = faded(place as f64, SESSIONS_HALF) / (turn + 1) as f64;
            namings.push(PathNaming { words: &prompt.paths, feature: Feature::Requested, share });
        }
    }
    let words = namings.iter().flat_map(|naming| naming.words);
    let mut by_base: FastMap<&str, Vec<&str>> = words.map(|word| (base(word), Vec::new())).collect();
    if by_base.is_empty() {
        return;
    }
    let mut names = LowerNames::of(by_base.keys().copied());
    // A name means less if untouched files share it.
    for path in traces.list.iter().map(|(path, _)| *path).chain(evidence.tracked.iter().map(String::as_str)) {
        if let Some(same_base) = names.find(base(path)).and_then(|name| by_base.get_mut(name)) {
            same_base.push(path);
        }
    }
    for same_base in by_base.values_mut() {
        same_base.sort_unstable();
        same_base.dedup();
    }
    for PathNaming { words, feature, share } in namings {
        let mut certain: FastMap<&str, f64> = FastMap::default();
        for word in words {
            let same_base = by_base.get(base(word)).map(Vec::as_slice).unwrap_or_default();
            let meant: Vec<&str> = same_base.iter().copied().filter(|path| is_meant(word, path)).collect();
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
