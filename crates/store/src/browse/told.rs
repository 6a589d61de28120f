//! What a session was told, and why each line was.

use std::time::Duration;

use cerberus_recall::brief::usage::{self, EarlierWork};

use super::page::Page;
use crate::view::{self, Store};

/// Work that is older than this leads to no line.
const EARLIER_MAX: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// What led to each line that the session of a page was told, in the same order.
pub fn reasons(store: &Store, page: &Page) -> view::Result<Vec<Option<EarlierWork>>> {
    let Some(first) = page.told.iter().map(|line| line.at).min() else { return Ok(Vec::new()) };
    let earlier = store.earlier_facts(&page.listed.session.project, first.minus(EARLIER_MAX), first)?;
    Ok(page.told.iter().map(|line| usage::reason(&line.code, &earlier).cloned()).collect())
}
