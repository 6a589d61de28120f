//! placeholder
use super::{Scope, Uses};
use crate::time::Timestamp;
pub struct Candidate<'a> {
    pub content: &'a str,
    pub category: &'a str,
    pub scope: Scope,
    pub confidence: f64,
    pub updated_at: Timestamp,
    pub uses: Uses,
}
pub struct RankContext<'a> {
    pub now: Timestamp,
    pub prompt: Option<&'a str>,
    pub files: &'a [&'a str],
}
pub fn rank(c: &[Candidate], _x: &RankContext) -> Vec<usize> {
    (0..c.len()).collect()
}
pub fn speaks_of(prompt: &str, content: &str) -> bool {
    super::meaning::Meaning::of(content).share_in(&super::meaning::Meaning::of(prompt)) >= 0.5
}
pub fn is_stale(_category: &str, _updated_at: Timestamp, _last_used: Option<Timestamp>, _now: Timestamp) -> bool {
    false
}
