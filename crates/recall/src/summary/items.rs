//! The few facts shown beside a summary: blockers first, then decisions, then changes.

use cerberus_record::fact::Kind;

use super::of_section;
use crate::brief::{Item, Section};

const KEY_ITEMS_MAX: usize = 5;
const DECISIONS_MAX: usize = 3;
const FILES_MAX: usize = 3;
const NEXT_MAX: usize = 5;

/// At most five: blockers, then decisions, then files, then functions if there is room.
pub fn key_items(items: &[Item]) -> Vec<&Item> {
    let blockers = of_section(items, Section::Blockers);
    let decisions = of_section(items, Section::Decisions).take(DECISIONS_MAX);
    let files = of_section(items, Section::Files).filter(|item| item.kind == Kind::File).take(FILES_MAX);
    let functions = of_section(items, Section::Functions);
    blockers.chain(decisions).chain(files).chain(functions).take(KEY_ITEMS_MAX).collect()
}

/// The next steps.
pub fn next_actions(items: &[Item]) -> Vec<&Item> {
    of_section(items, Section::Next).filter(|item| item.kind == Kind::Next).take(NEXT_MAX).collect()
}
