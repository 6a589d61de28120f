//! What a push of batches would do, and what it did.

use super::super::Put;

/// What a push would do.
pub struct PushPlan {
    pub results: Vec<Put>,
    /// A commit for each `Put::Stored`.
    pub new: Vec<String>,
    pub tip: Option<String>,
}

impl PushPlan {
    /// What it did, by what the remote had before: the same batches make the same commits, so an earlier attempt, or
    /// another home, may have stored some of them.
    pub fn results(self, before: Option<&str>) -> Vec<Put> {
        let is_before = |commit: &String| before.is_some_and(|before| commit.starts_with(before));
        let mut there = self.new.iter().position(is_before).map_or(0, |position| position + 1);
        let mut results = self.results;
        for result in results.iter_mut().filter(|result| **result == Put::Stored) {
            if there > 0 {
                *result = Put::Same;
                there -= 1;
            }
        }
        results
    }
}
