//! The few facts shown beside a summary: blockers first, then decisions, then changes.

use cerberus_record::fact::FactKind;

use super::of_section;
use crate::brief::{BriefLine, Section};

const KEY_ITEMS_MAX: usize = 5;
const DECISIONS_MAX: usize = 3;
const FILES_MAX: usize = 3;
const NEXT_MAX: usize = 5;

/// At most five: blockers, then decisions, then files, then functions if there is room.
pub fn key_items(items: &[BriefLine]) -> Vec<&BriefLine> {
    let blockers = of_section(items, Section::Blockers);
    let decisions = of_section(items, Section::Decisions).take(DECISIONS_MAX);
    let files = of_section(items, Section::Files).filter(|item| item.kind == FactKind::File).take(FILES_MAX);
    let functions = of_section(items, Section::Functions);
    blockers.chain(decisions).chain(files).chain(functions).take(KEY_ITEMS_MAX).collect()
}

/// The next steps.
pub fn next_actions(items: &[BriefLine]) -> Vec<&BriefLine> {
    of_section(items, Section::Next).filter(|item| item.kind == FactKind::Next).take(NEXT_MAX).collect()
}
