//! Kinds of events as SQL lists, for `kind IN (…)`.

use std::sync::LazyLock;

use cerberus_record::kind::EventKind;

pub(super) static ACTIVITY_KINDS: LazyLock<String> = LazyLock::new(|| listed(EventKind::is_activity));
pub(super) static SEPARATING_KINDS: LazyLock<String> = LazyLock::new(|| listed(EventKind::separates_echoes));

fn listed(is_meant: fn(EventKind) -> bool) -> String {
    let words = EventKind::ALL.iter().filter(|kind| is_meant(**kind)).map(|kind| format!("'{}'", kind.word()));
    words.collect::<Vec<_>>().join(", ")
}
