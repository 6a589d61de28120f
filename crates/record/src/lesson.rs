//! What an ended session shows about how much a prompt should count when files are ranked.

use serde::{Deserialize, Serialize};

/// Of the files that a session edited, how many would have been told with its first prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// How many files the session edited.
    pub edited: u32,
    /// How many of them would have been told.
    pub told: u32,
    /// How many, if the prompt had counted double.
    pub told_doubled: u32,
}

/// A session's files, all of them.
pub const WHOLE: i64 = 1_000;

impl Lesson {
    /// What counting the prompt double would have gained: thousandths of the session's files. Whole numbers, because
    /// their sum does not depend on the order.
    pub fn gain(self) -> i64 {
        let gained = i64::from(self.told_doubled) - i64::from(self.told);
        (gained * WHOLE / i64::from(self.edited).max(1)).clamp(-WHOLE, WHOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_a_share_of_the_files() {
        let gain = |edited, told, told_doubled| Lesson { edited, told, told_doubled }.gain();
        assert_eq!((gain(4, 1, 3), gain(4, 3, 1), gain(3, 0, 1), gain(5, 2, 2)), (500, -500, 333, 0));
        assert_eq!((gain(0, 0, 7), gain(1, u32::MAX, 0)), (WHOLE, -WHOLE), "no session counts more than one");
    }
}
