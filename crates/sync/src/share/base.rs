//! Which records of a project a new container needs, so that it need not read every stream from the beginning.

/// Why a record may be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It changes a memory.
    Memory,
    /// It states a decision, a blocker or a next step, or settles one.
    Stated,
    /// It only tells what happened.
    Recent,
}

/// How many records a base holds at most.
pub const BASE_RECORDS_MAX: usize = 2_000;
const MEMORIES_MAX: usize = 500;
const STATED_MAX: usize = 500;

/// Which of these records are kept. They come in any order that puts newer ones later. Memories and what is stated have
/// room of their own; the newest of everything else fill what is left.
pub fn kept(needs: &[Need]) -> Vec<bool> {
    let mut kept = vec![false; needs.len()];
    let mut left = BASE_RECORDS_MAX;
    for (need, most) in [(Need::Memory, MEMORIES_MAX), (Need::Stated, STATED_MAX), (Need::Recent, usize::MAX)] {
        let newest_first = (0..needs.len()).rev().filter(|at| needs[*at] == need).take(most.min(left));
        for at in newest_first {
            kept[at] = true;
            left -= 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_what_is_stated_stay_however_old_they_are() {
        let mut needs = vec![Need::Memory, Need::Stated, Need::Recent];
        needs.extend(vec![Need::Recent; 5_000]);
        let kept = kept(&needs);
        assert_eq!(kept[..3], [true, true, false]);
        assert_eq!(kept.iter().filter(|kept| **kept).count(), BASE_RECORDS_MAX);
        assert!(kept[5_002] && !kept[1_000], "the newest of the rest");
    }

    #[test]
    fn each_need_has_its_own_limit_and_keeps_the_newest() {
        let needs = vec![Need::Memory; 600];
        assert_eq!(kept(&needs).iter().position(|kept| *kept), Some(100));
        let needs = [vec![Need::Stated; 700], vec![Need::Memory; 700], vec![Need::Recent; 3_000]].concat();
        let kept = kept(&needs);
        let count = |from: usize, to: usize| kept[from..to].iter().filter(|kept| **kept).count();
        assert_eq!((count(0, 700), count(700, 1_400), count(1_400, 4_400)), (500, 500, 1_000));
        assert!(super::kept(&[]).is_empty());
    }
}
