//! What a summary is made from.

use cerberus_record::fact::FactKind;
use cerberus_record::runs;

use crate::brief::BriefLine;

/// The input of a summary: what one session left.
#[derive(Debug)]
pub struct SummaryMaterial<'a> {
    pub project: &'a str,
    /// The open items, as in a brief of that session alone.
    pub items: &'a [BriefLine],
    /// Those of them that the model may see.
    pub shared: &'a [BriefLine],
    /// What was completed, as text, newest last.
    pub done: &'a [String],
    /// Runs whose last result was green: what they were for, and their command.
    pub passing: &'a [(runs::Kind, String)],
}

impl SummaryMaterial<'_> {
    /// Without facts there is nothing to summarise.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.done.is_empty()
    }
}

/// What kind of run an item reports as failing.
pub(super) fn failing_kind(item: &BriefLine) -> Option<runs::Kind> {
    let kinds = [runs::Kind::Test, runs::Kind::Build, runs::Kind::Lint];
    let prefixes = ["block:test:", "block:build:", "block:lint:"];
    let is_it = |(_, prefix): &(runs::Kind, &str)| item.code.starts_with(prefix);
    kinds.into_iter().zip(prefixes).find(is_it).map(|(kind, _)| kind).filter(|_| item.kind == FactKind::Blocker)
}

pub(super) fn is_failing(item: &BriefLine) -> bool {
    failing_kind(item).is_some()
}

pub(super) fn of_kind(items: &[BriefLine], kind: FactKind) -> impl Iterator<Item = &BriefLine> {
    items.iter().filter(move |item| item.kind == kind)
}
