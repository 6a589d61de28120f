//! What earlier prompts like this one led to.

use cerberus_record::clean::text::clip;
use cerberus_record::map::FastSet;

use super::terms::terms;
use super::weights::{Feature, PAST_PROMPTS_MAX, PROMPT_BYTES_MAX, SIMILAR_PROMPTS_MAX};
use super::{PastPrompt, SessionWork, Traces};

pub fn of_past_prompts<'a>(topic: &str, sessions: &'a [SessionWork], traces: &mut Traces<'a>) {
    let mut asked: Vec<String> = terms(clip(topic, PROMPT_BYTES_MAX)).into_iter().collect();
    // Floating-point sums depend on the order.
    asked.sort_unstable();
    let led_to_edits = |prompt: &&PastPrompt| !prompt.edited.is_empty();
    let all = sessions.iter().flat_map(|work| work.prompts.iter().filter(led_to_edits).map(move |one| (work, one)));
    let all: Vec<(&SessionWork, &PastPrompt)> = all.take(PAST_PROMPTS_MAX).collect();
    if asked.is_empty() || all.is_empty() {
        return;
    }
    let mut similar = similarities(&asked, &all);
    similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (similarity, place) in similar.into_iter().take(SIMILAR_PROMPTS_MAX) {
        let (work, prompt) = all[place];
        for touched in prompt.edited.iter().filter_map(|place| work.touched.get(*place)) {
            traces.of(&touched.path).at_least(Feature::MostSimilar, similarity);
        }
    }
}

/// The share of the asked words that each past prompt contains, weighted by how few prompts contain them, and less for
/// long prompts. Only those above zero, with their places.
fn similarities(asked: &[String], all: &[(&SessionWork, &PastPrompt)]) -> Vec<(f64, usize)> {
    let wanted: FastSet<&[u8]> = asked.iter().map(String::as_bytes).collect();
    // Most words begin with no letter of those that are asked.
    let initial = |word: &[u8]| 1_u128 << word.first().copied().unwrap_or_default().min(127);
    let initials = wanted.iter().fold(0, |initials, word| initials | initial(word));
    let mut holders = vec![0_usize; asked.len()];
    let mut shared: Vec<(Vec<usize>, usize)> = Vec::with_capacity(all.len());
    for (_, prompt) in all {
        let (mut found, mut count) = (Vec::new(), 0_usize);
        for word in prompt.terms.as_bytes().split(|byte| *byte == b' ') {
            count += 1;
            if initials & initial(word) != 0
                && wanted.contains(word)
                && let Ok(place) = asked.binary_search_by(|asked| asked.as_bytes().cmp(word))
            {
                holders[place] += 1;
                found.push(place);
            }
        }
        found.sort_unstable();
        shared.push((found, count));
    }
    let count = all.len() as f64;
    let rarity: Vec<f64> =
        holders.iter().map(|held| (1.0 + (count - *held as f64 + 0.5) / (*held as f64 + 0.5)).ln().powi(2)).collect();
    let asked_length = rarity.iter().sum::<f64>().sqrt();
    // The length of a past prompt, as if all its words were about as rare as the asked ones.
    let word_length = asked_length / (asked.len() as f64).sqrt();
    let similarity = |(found, words): &(Vec<usize>, usize)| {
        found.iter().map(|place| rarity[*place]).sum::<f64>() / (asked_length * word_length * (*words as f64).sqrt())
    };
    let found = shared.iter().enumerate().map(|(place, one)| (similarity(one), place));
    found.filter(|(similarity, _)| *similarity > 0.0).collect()
}
