//! The order of files: by their scores, but past work is not pushed aside by mere hints.
//!
//! A prompt often shares a word with files that it is not about. Files that it only hints at, and that past work alone
//! would not tell, are therefore few among those told.

use cerberus_record::map::FastSet;
use cerberus_record::time::Timestamp;

use super::weights::FILES_MAX;

/// A file by what decides about its place.
#[derive(Clone, Copy, Debug)]
pub struct ScoredFile {
    /// Without the prompt.
    pub past: f64,
    /// With it.
    pub score: f64,
    /// The prompt names it, or most of its name.
    pub is_mentioned: bool,
    pub last_at: Option<Timestamp>,
}

/// The places of the files, the likeliest first. Files with equal scores are ordered by their last touch, newest first.
/// At most `hinted_max` of the first ten are files that the prompt only hints at.
pub fn order(files: &[ScoredFile], hinted_max: usize) -> Vec<usize> {
    let order = sorted(files, |file| file.score);
    if hinted_max >= FILES_MAX || files.iter().all(|file| file.score == file.past) {
        return order;
    }
    let known: FastSet<usize> = sorted(files, |file| file.past).into_iter().take(FILES_MAX).collect();
    let (mut told, mut hinted) = (0, 0);
    let (mut first, rest): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|place| {
        let is_hinted = !files[*place].is_mentioned && !known.contains(place);
        let is_told = told < FILES_MAX && !(is_hinted && hinted == hinted_max);
        told += usize::from(is_told);
        hinted += usize::from(is_told && is_hinted);
        is_told
    });
    first.extend(rest);
    first
}

fn sorted(files: &[ScoredFile], score: impl Fn(&ScoredFile) -> f64) -> Vec<usize> {
    let mut places: Vec<(f64, usize)> = files.iter().map(score).zip(0..).collect();
    places.sort_by(|(a, at), (b, bt)| b.total_cmp(a).then(files[*bt].last_at.cmp(&files[*at].last_at)));
    places.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(past: f64, prompt: f64, is_mentioned: bool) -> ScoredFile {
        ScoredFile { past, score: past + prompt, is_mentioned, last_at: None }
    }

    #[test]
    fn past_work_is_not_pushed_aside_by_hints() {
        let known = (0..12).map(|number| file(3.0 - 0.1 * f64::from(number), 0.0, false));
        let hinted = [file(0.0, 9.0, false), file(0.0, 8.0, false), file(0.0, 7.0, true)];
        let files: Vec<ScoredFile> = known.chain(hinted).collect();
        assert_eq!(order(&files, 1), [12, 14, 0, 1, 2, 3, 4, 5, 6, 7, 13, 8, 9, 10, 11]);
        assert_eq!(order(&files, FILES_MAX)[..4], [12, 13, 14, 0]);
        assert_eq!(order(&files[..12], 1), (0..12).collect::<Vec<_>>(), "there is no prompt");
        assert_eq!(order(&files[10..], 1), [2, 3, 4, 0, 1], "where there are few files, past work would tell all");
    }
}
