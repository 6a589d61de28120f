//! placeholder
use crate::time::Timestamp;
pub fn is_stale(_category: &str, _updated_at: Timestamp, _last_used: Option<Timestamp>, _now: Timestamp) -> bool {
    false
}
