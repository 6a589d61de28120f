//! Whether numbers before and since differ by more than chance: a permutation test of their ranks.
//!
//! Like is compared with like: numbers are ranked within their group, and the ranks of each group are dealt anew to its two
//! sides many times. If the sides come to lie as far apart often, it says nothing. The shuffling has a fixed seed, so the
//! same numbers give the same answer.

/// With fewer on either side nothing is said.
pub const SAMPLE_MIN: usize = 20;

/// How often the numbers are dealt anew.
const PERMUTATIONS: usize = 1_999;

/// A difference counts if chance gives one as large less often. Several measures are compared at once, so it is less than
/// the usual 5 %.
const CHANCE_MAX: f64 = 0.01;

/// Equal distances, added up in another order, differ by less.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    TooFew,
    /// The medians are the same.
    Same,
    /// The difference may be chance.
    Chance,
    Less,
    More,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::TooFew => "too few",
            Verdict::Same => "the same",
            Verdict::Chance => "may be chance",
            Verdict::Less => "less",
            Verdict::More => "more",
        }
    }
}

/// Two sides, by their medians; `None` for an empty one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    pub before: Option<f64>,
    pub since: Option<f64>,
    /// What the second side is, against the first.
    pub verdict: Verdict,
}

/// What is alike on both sides, such as the sessions of one project with one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub before: Vec<f64>,
    pub since: Vec<f64>,
}

impl Group {
    pub fn is_on_both_sides(&self) -> bool {
        !self.before.is_empty() && !self.since.is_empty()
    }
}

/// Groups of one side alone count only if there is no other: a project that is new says nothing about what changed.
pub fn compare(groups: &[Group]) -> Compared {
    let known: Vec<&Group> = groups.iter().filter(|group| group.is_on_both_sides()).collect();
    let counted = if known.is_empty() { groups.iter().collect() } else { known };
    let mut before: Vec<f64> = counted.iter().flat_map(|group| group.before.iter().copied()).collect();
    let mut since: Vec<f64> = counted.iter().flat_map(|group| group.since.iter().copied()).collect();
    let is_enough = before.len().min(since.len()) >= SAMPLE_MIN;
    let (before, since) = (median(&mut before), median(&mut since));
    let verdict = match before.zip(since).filter(|_| is_enough) {
        None => Verdict::TooFew,
        Some((first, second)) if first == second => Verdict::Same,
        Some((first, second)) => {
            let (distance, chance) = ranked(&counted);
            // The medians may lie the other way round: then neither word is true.
            let is_clear = chance < CHANCE_MAX && (distance < 0.0) == (second < first);
            match is_clear {
                false => Verdict::Chance,
                true if second < first => Verdict::Less,
                true => Verdict::More,
            }
        }
    };
    Compared { before, since, verdict }
}

/// How far the ranks since are from where they would be without any difference, and how often they are as far from it if
/// each group is divided at random. Ranks of large groups are larger, so they are taken as shares of their group.
fn ranked(groups: &[&Group]) -> (f64, f64) {
    let mut shares: Vec<(Vec<f64>, usize)> = groups
        .iter()
        .map(|group| {
            let ranks = ranks(&[&group.since[..], &group.before].concat());
            let above = ranks.len() as f64 + 1.0;
            (ranks.iter().map(|rank| rank / above - 0.5).collect(), group.since.len())
        })
        .collect();
    let distance = |all: &[(Vec<f64>, usize)]| all.iter().flat_map(|(shares, since)| &shares[..*since]).sum::<f64>();
    let found = distance(&shares);
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut as_far = 0;
    for _ in 0..PERMUTATIONS {
        for (shares, _) in &mut shares {
            for last in (1..shares.len()).rev() {
                shares.swap(last, below(&mut state, last as u64 + 1) as usize);
            }
        }
        as_far += usize::from(distance(&shares).abs() >= found.abs() - ROUNDING);
    }
    (found, (as_far + 1) as f64 / (PERMUTATIONS + 1) as f64)
}

/// The rank of each number, from 1; equal numbers share the middle of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |number: &f64| {
        let less = sorted.partition_point(|other| other.total_cmp(number).is_lt());
        let up_to = sorted.partition_point(|other| other.total_cmp(number).is_le());
        (less + 1 + up_to) as f64 / 2.0
    };
    numbers.iter().map(rank).collect()
}

/// The next number below `end` (SplitMix64).
fn below(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % end
}

fn median(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len() / 2;
    let is_even = numbers.len().is_multiple_of(2);
    if numbers.is_empty() {
        return None;
    }
    let (low, high, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let high = *high;
    match is_even {
        true => low.iter().copied().max_by(f64::total_cmp).map(|low| (low + high) / 2.0),
        false => Some(high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, first: usize, spread: usize) -> Vec<f64> {
        (0..count).map(|number| (first + number * 7 % spread) as f64).collect()
    }

    fn verdict(before: &[f64], since: &[f64]) -> Verdict {
        compare(&[Group { before: before.to_vec(), since: since.to_vec() }]).verdict
    }

    #[test]
    fn a_clear_difference_is_seen_and_a_small_one_is_not() {
        assert_eq!(verdict(&numbers(40, 20, 10), &numbers(30, 5, 10)), Verdict::Less);
        assert_eq!(verdict(&numbers(30, 5, 10), &numbers(40, 20, 10)), Verdict::More);
        assert_eq!(verdict(&numbers(40, 20, 30), &numbers(30, 21, 30)), Verdict::Chance);
        let mostly_none = |some: usize| [vec![1.0; some], vec![0.0; 40 - some]].concat();
        assert_eq!(verdict(&mostly_none(19), &mostly_none(1)), Verdict::Same, "the medians show no difference");
        assert_eq!(verdict(&numbers(19, 20, 10), &numbers(90, 5, 10)), Verdict::TooFew);
        assert_eq!(
            compare(&[Group { before: Vec::new(), since: vec![1.0] }]),
            Compared { before: None, since: Some(1.0), verdict: Verdict::TooFew }
        );
    }

    #[test]
    fn the_same_numbers_from_one_source_seldom_differ() {
        let mut state = 1;
        let mut draw = |count: usize| (0..count).map(|_| below(&mut state, 100) as f64).collect::<Vec<_>>();
        let is_seen = |verdict| matches!(verdict, Verdict::Less | Verdict::More);
        let seen = (0..200).filter(|_| is_seen(verdict(&draw(25), &draw(25)))).count();
        assert!(seen <= 8, "{seen} of 200 pairs seem to differ");
    }

    #[test]
    fn another_mix_of_projects_is_no_difference() {
        let group = |before: &[f64], since: &[f64]| Group { before: before.to_vec(), since: since.to_vec() };
        let (small, large) = (numbers(60, 5, 10), numbers(60, 200, 100));
        // Work moved from the large project to the small one; in each, nothing changed.
        let moved = [group(&small[..8], &small[8..]), group(&large[..52], &large[52..])];
        assert_eq!(
            verdict(&[&small[..8], &large[..52]].concat(), &[&small[8..], &large[52..]].concat()),
            Verdict::Less
        );
        assert_eq!(compare(&moved).verdict, Verdict::Chance);
        // A project that is new or has ended says nothing beside one that is on both sides.
        let even = group(&small[..30], &small[30..]);
        let with_new = [even.clone(), group(&[], &numbers(60, 0, 3)), group(&large, &[])];
        assert_eq!(compare(&with_new), compare(&[even]));
        let better = [group(&small[..30], &numbers(30, 1, 3)), group(&large[..30], &numbers(30, 100, 50))];
        assert_eq!(compare(&better).verdict, Verdict::Less);
    }

    #[test]
    fn equal_numbers_share_a_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0, 5.0]), [3.0, 1.0, 3.0, 5.0, 3.0]);
        // Two clusters: medians of random groups would jump from one to the other.
        assert_eq!(verdict(&[vec![7.0; 20], vec![6.0; 10]].concat(), &[2.0; 20]), Verdict::Less);
    }

    #[test]
    fn medians_are_in_the_middle() {
        for (numbers, expected) in
            [(vec![], None), (vec![3.0], Some(3.0)), (vec![9.0, 1.0], Some(5.0)), (vec![9.0, 1.0, 2.0], Some(2.0))]
        {
            assert_eq!(median(&mut numbers.clone()), expected, "{numbers:?}");
        }
    }
}
