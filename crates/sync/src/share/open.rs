//! The list of what is open in a project, made from what a brief would tell.

use cerberus_recall::brief::BriefLine;
use cerberus_recall::extract::INTERRUPTED;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{OpenFact, OpenFacts};
use cerberus_record::id::fnv1a;

use super::outgoing::FACTS_MAX;
use super::paths::relative;
use super::windows::Outside;

/// The decisions, blockers and next steps among these items, the newest first. An interrupted request is a quote of the
/// user, and what a run printed is output: neither is part of it.
pub fn open_list(items: &[BriefLine], root: &str, cleaner: &Cleaner) -> OpenFacts<'static> {
    let is_told = |item: &&BriefLine| {
        let is_quote = matches!(item.reference.as_deref(), Some(INTERRUPTED | cerberus_recall::extract::RUN))
            || item.reference.as_deref() == Some(cerberus_recall::brief::stopped::QUOTED);
        OpenFacts::KINDS.contains(&item.kind) && !is_quote
    };
    let mut facts: Vec<OpenFact> = items
        .iter()
        .filter(is_told)
        .map(|item| OpenFact {
            kind: item.kind,
            code: cleaner.clean(relative(&item.code, root, Outside::Shortened).into_owned(), Keep::SUBJECT),
            at: item.at,
            session: Clean::hashes("", &[fnv1a(item.session.as_ref().map_or("", |id| id.as_str()).as_bytes())]),
        })
        .collect();
    facts.sort_by(|a, b| (b.at, &a.code).cmp(&(a.at, &b.code)));
    facts.truncate(FACTS_MAX);
    OpenFacts { facts }
}
