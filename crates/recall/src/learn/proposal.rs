//! Turns what the user said into proposals, in the user's own words, for the project it was said in.
//!
//! The same quotes give the same proposals, in any order. A proposal's id comes from its first quote, so it stays the same
//! as evidence is added. What the user accepted or rejected is not proposed again in nearly the same words.
//!
//! It is approved without asking only if the user typed it, and it says outright that it lasts, or the user said it again
//! in another session. What may be pasted is proposed, however often it comes.

use std::collections::{BTreeMap, BTreeSet};

use cerberus_record::clean::text;
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::MemoryStatus;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use cerberus_record::words;

use super::correction::{CorrectionKind, QUOTED};
use super::same::ComparedSentence;
use crate::said::cues;

/// The user's own words and their origin: the agent, its session id, and the key of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposedQuote<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub key: &'a str,
    pub text: &'a str,
}

/// A sentence of the user that may become a memory.
#[derive(Clone, Debug)]
pub struct SaidSentence<'a> {
    pub quote: ProposedQuote<'a>,
    pub kind: CorrectionKind,
    pub at: Timestamp,
    /// Whether the user typed it.
    pub source: MemorySource,
    pub project: ProjectId,
    /// The agent quoted it, and may have said why.
    pub quoted: Option<&'a str>,
}

/// An existing proposal or memory.
#[derive(Clone, Debug)]
pub struct KnownMemory<'a> {
    pub id: &'a MemoryId,
    pub content: &'a str,
    pub status: MemoryStatus,
    pub source: MemorySource,
    /// `None` if it holds everywhere.
    pub project: Option<&'a ProjectId>,
    pub evidence: Vec<ProposedQuote<'a>>,
}

impl KnownMemory<'_> {
    /// Whether there is nothing left to propose. That the user rejected the words of somebody else does not keep them
    /// from saying the same.
    fn is_settled(&self, is_typed: bool) -> bool {
        match self.status {
            MemoryStatus::Proposed => false,
            MemoryStatus::Approved => true,
            MemoryStatus::Rejected => self.source.is_users() || !is_typed,
        }
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Category {
        Rule = "rule",
        Preference = "preference",
        /// The user had to type it again.
        Correction = "correction",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub id: MemoryId,
    /// The sentence as the user typed it last.
    pub content: String,
    pub category: Category,
    pub project: ProjectId,
    /// How often and when the user said it, and why the agent quoted it.
    pub rationale: String,
    pub confidence: f64,
    /// The user's prompt, if it is in one; else where the words are from.
    pub source: MemorySource,
    /// Indexes of what was said, in chronological order.
    pub evidence: Vec<usize>,
    /// Whether it is approved without asking the user.
    pub is_sure: bool,
}

/// Quoted or preferred, and said again in another session.
const SAID_AGAIN: f64 = 0.92;
/// What may not be the user's own.
const UNSURE: f64 = 0.6;

/// The proposals worth showing to the user, the most important first.
pub fn propose(said: &[SaidSentence], existing: &[KnownMemory]) -> Vec<Proposal> {
    let mut order: Vec<usize> = (0..said.len()).collect();
    order.sort_by_key(|at| (said[*at].at, said[*at].quote, said[*at].quoted.is_none(), said[*at].kind));
    // The same words may be quoted, say that they last, and be typed again.
    order.dedup_by_key(|at| said[*at].quote);
    let mut groups: Vec<QuoteGroup> = Vec::new();
    for at in order {
        let compared = ComparedSentence::of(said[at].quote.text);
        let is_same =
            |group: &&mut QuoteGroup| said[group.members[0]].project == said[at].project && group.has(&compared);
        match groups.iter_mut().find(is_same) {
            Some(group) => group.add(at, compared),
            None => groups.push(QuoteGroup { members: vec![at], compared: vec![compared] }),
        }
    }
    let existing = ExistingMemories::of(existing);
    let mut proposals: BTreeMap<MemoryId, Proposal> = BTreeMap::new();
    for group in groups {
        let typed = group.members.iter().find(|at| said[**at].source.is_users());
        let id = match existing.find(said, &group) {
            Some(known) if known.is_settled(typed.is_some()) => continue,
            Some(known) if known.status == MemoryStatus::Proposed => known.id.clone(),
            _ => id_of(&said[*typed.unwrap_or(&group.members[0])].quote),
        };
        if let Some(proposal) = compose(id, said, group.members) {
            proposals.entry(proposal.id.clone()).or_insert(proposal);
        }
    }
    let mut proposals: Vec<Proposal> = proposals.into_values().collect();
    proposals.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.id.cmp(&b.id)));
    proposals
}

/// A stable id from the first quote. The text distinguishes sentences of the same prompt.
fn id_of(first: &ProposedQuote) -> MemoryId {
    MemoryId::of(&[first.agent, first.session, first.key, first.text])
}

/// Quotes of one project that say the same.
struct QuoteGroup {
    members: Vec<usize>,
    compared: Vec<ComparedSentence>,
}

impl QuoteGroup {
    fn has(&self, compared: &ComparedSentence) -> bool {
        self.compared.iter().any(|one| one.is_same(compared))
    }

    fn add(&mut self, at: usize, compared: ComparedSentence) {
        self.members.push(at);
        self.compared.push(compared);
    }
}

/// Existing memories with their words.
struct ExistingMemories<'a> {
    known: Vec<(&'a KnownMemory<'a>, Vec<ComparedSentence>)>,
}

impl<'a> ExistingMemories<'a> {
    fn of(known: &'a [KnownMemory<'a>]) -> ExistingMemories<'a> {
        let mut sorted: Vec<&KnownMemory> = known.iter().collect();
        // Settled memories are found first.
        sorted.sort_by_key(|known| known.status == MemoryStatus::Proposed);
        let compared = |known: &'a KnownMemory<'a>| {
            let texts = known.evidence.iter().map(|quote| quote.text).chain([known.content]);
            (known, texts.map(ComparedSentence::of).collect())
        };
        ExistingMemories { known: sorted.into_iter().map(compared).collect() }
    }

    /// The memory of this project, or of all, that says the same.
    fn find(&self, said: &[SaidSentence], group: &QuoteGroup) -> Option<&'a KnownMemory<'a>> {
        let project = &said[group.members[0]].project;
        let is_it = |(known, compared): &&(&KnownMemory, Vec<ComparedSentence>)| {
            let is_here = known.project.is_none_or(|other| other == project);
            let has_quote = group.members.iter().any(|at| known.evidence.contains(&said[*at].quote));
            is_here && (has_quote || compared.iter().any(|one| group.has(one)))
        };
        self.known.iter().find(is_it).map(|(known, _)| *known)
    }
}

/// The proposal that these quotes make. What the user typed counts alone: pasted words change neither its wording nor its
/// standing.
fn compose(id: MemoryId, said: &[SaidSentence], evidence: Vec<usize>) -> Option<Proposal> {
    let all: Vec<&SaidSentence> = evidence.iter().map(|at| &said[*at]).collect();
    let typed: Vec<&SaidSentence> = all.iter().copied().filter(|one| one.source.is_users()).collect();
    let members = if typed.is_empty() { &all } else { &typed };
    let last = members.last()?;
    // What says that it lasts is the better wording.
    let best = members.iter().rev().find(|one| is_lasting(one)).unwrap_or(last);
    let is_typed = !typed.is_empty();
    // What was only repeated must still be a repetition among sentences that say the same.
    if members.iter().all(|one| one.kind == CorrectionKind::Fix) && sessions(members) < 2 {
        return None;
    }
    let (confidence, is_sure) = match () {
        () if !is_typed => (UNSURE, false),
        () if members.iter().any(|one| is_lasting(one)) => (CorrectionKind::Rule.confidence(), true),
        // The user meant it in one session, and said it again in another.
        () if is_wanted(members) && sessions(members) > 1 => (SAID_AGAIN, true),
        () if members.iter().any(|one| one.quoted.is_some()) => (QUOTED, false),
        () if members.iter().any(|one| one.kind == CorrectionKind::Preference) => {
            (CorrectionKind::Preference.confidence(), false)
        }
        () => (CorrectionKind::Fix.confidence(), false),
    };
    Some(Proposal {
        id,
        content: best.quote.text.to_string(),
        category: category(members),
        project: last.project.clone(),
        rationale: rationale(members),
        confidence,
        source: last.source,
        evidence,
        is_sure,
    })
}

/// Whether the user said outright that it lasts. An agent's quotation makes more of a sentence, never of its words.
fn is_lasting(said: &SaidSentence) -> bool {
    match said.quoted {
        Some(_) => cues::is_lasting(said.quote.text),
        None => said.kind == CorrectionKind::Rule,
    }
}

/// Whether somebody understood it as meant to last: the agent that quoted it, or the user who said what they prefer.
fn is_wanted(members: &[&SaidSentence]) -> bool {
    members.iter().any(|one| one.quoted.is_some() || one.kind == CorrectionKind::Preference)
}

fn sessions(members: &[&SaidSentence]) -> usize {
    members.iter().map(|one| (one.quote.agent, one.quote.session)).collect::<BTreeSet<_>>().len()
}

fn category(members: &[&SaidSentence]) -> Category {
    let has = |kind| members.iter().any(|one| one.kind == kind);
    match () {
        () if has(CorrectionKind::Rule) => Category::Rule,
        () if has(CorrectionKind::Preference) => Category::Preference,
        () => Category::Correction,
    }
}

const REASON_CHARS_MAX: usize = 160;

fn rationale(members: &[&SaidSentence]) -> String {
    let last = members.iter().map(|one| one.at).max().unwrap_or(Timestamp::EPOCH).day();
    let keys: BTreeSet<_> = members.iter().map(|one| (one.quote.session, one.quote.key)).collect();
    let said = match (keys.len(), sessions(members)) {
        (1, _) => format!("said once, {last}"),
        (times, 1) => format!("said {times} times in 1 session, last {last}"),
        (times, sessions) => format!("said {times} times in {sessions} sessions, last {last}"),
    };
    let reason = members.iter().filter_map(|one| one.quoted).rfind(|reason| !reason.trim().is_empty());
    match reason {
        Some(reason) => format!("{said}; the agent: {}", text::line(reason, REASON_CHARS_MAX)),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY_MILLIS: i64 = 24 * 3600 * 1000;

    /// `session: text`, each one day later; the project is the first letter of the session.
    fn said(kind: CorrectionKind, lines: &[&'static str]) -> Vec<SaidSentence<'static>> {
        let one = |(at, line): (usize, &&'static str)| {
            let (session, text) = line.split_once(": ").unwrap();
            SaidSentence {
                quote: ProposedQuote { agent: "claude-code", session, key: text, text },
                kind,
                at: Timestamp::from_millis(1_769_000_000_000 + at as i64 * DAY_MILLIS),
                source: MemorySource::Prompt,
                project: ProjectId::of_name(&session[..1]),
                quoted: None,
            }
        };
        lines.iter().enumerate().map(one).collect()
    }

    fn quoted(lines: &[&'static str]) -> Vec<SaidSentence<'static>> {
        let mut all = said(CorrectionKind::Rule, lines);
        all.iter_mut().for_each(|one| one.quoted = Some("it was corrected"));
        all
    }

    fn shown(proposals: &[Proposal]) -> Vec<String> {
        let line = |one: &Proposal| {
            let sure = if one.is_sure { "sure" } else { "asked" };
            format!("{} {sure} {} {}", one.category.word(), one.evidence.len(), one.content)
        };
        proposals.iter().map(line).collect()
    }

    #[test]
    fn what_lasts_is_sure_at_once_and_keeps_its_words() {
        let rules = said(
            CorrectionKind::Rule,
            &["a1: always run the tests, even for docs!", "a2: Always run the tests, even for docs.", "b1: never mock"],
        );
        let proposals = propose(&rules, &[]);
        let expected = ["rule sure 1 never mock", "rule sure 2 Always run the tests, even for docs."];
        let mut lines = shown(&proposals);
        lines.sort();
        assert_eq!(lines, expected);
        let both = proposals.iter().find(|one| one.evidence.len() == 2).unwrap();
        assert_eq!(both.rationale, "said 2 times in 2 sessions, last 2026-01-22");
        assert_eq!(both.project, ProjectId::of_name("a"));
    }

    #[test]
    fn a_quotation_waits_unless_it_lasts_or_was_said_again() {
        for (lines, expected) in [
            (&["a1: put helpers into tools.rs"][..], "rule asked 1 put helpers into tools.rs"),
            (&["a1: never put helpers into main.rs"], "rule sure 1 never put helpers into main.rs"),
            (
                &["a1: put helpers into tools.rs", "a1: Put the helpers into tools.rs"],
                "rule asked 2 Put the helpers into tools.rs",
            ),
            (
                &["a1: put helpers into tools.rs", "a2: Put the helpers into tools.rs"],
                "rule sure 2 Put the helpers into tools.rs",
            ),
        ] {
            assert_eq!(shown(&propose(&quoted(lines), &[])), [expected]);
        }
        let one = propose(&quoted(&["a1: put helpers into tools.rs"]), &[]);
        assert_eq!(one[0].rationale, "said once, 2026-01-21; the agent: it was corrected");
        // Another project is another matter.
        assert_eq!(propose(&quoted(&["a1: put helpers into tools.rs", "b1: put helpers into tools.rs"]), &[]).len(), 2);
    }

    #[test]
    fn what_was_only_repeated_waits() {
        let lines = [
            "a1: put the helpers into tools.rs",
            "a2: put the helpers into tools.rs",
            "a3: put the helpers into tools.rs",
        ];
        assert_eq!(
            shown(&propose(&said(CorrectionKind::Fix, &lines), &[])),
            ["correction asked 3 put the helpers into tools.rs"]
        );
        assert_eq!(propose(&said(CorrectionKind::Fix, &lines[..1]), &[]), []);
        // Quoted once, it was meant.
        let mut mixed = said(CorrectionKind::Fix, &lines);
        mixed[1].quoted = Some("");
        mixed[1].kind = CorrectionKind::Rule;
        assert!(propose(&mixed, &[])[0].is_sure);
        let liked = said(CorrectionKind::Preference, &["a1: I prefer small commits", "a2: I prefer small commits!"]);
        assert_eq!(shown(&propose(&liked[..1], &[])), ["preference asked 1 I prefer small commits"]);
        assert_eq!(shown(&propose(&liked, &[])), ["preference sure 2 I prefer small commits!"]);
    }

    #[test]
    fn what_the_user_did_not_type_is_never_sure() {
        let lines = ["a1: never use emojis", "a2: never use emojis", "a3: never use emojis"];
        for source in MemorySource::ALL.into_iter().filter(|source| !source.is_users()) {
            for mut pasted in [said(CorrectionKind::Rule, &lines), quoted(&lines)] {
                pasted.iter_mut().for_each(|one| one.source = source);
                let proposals = propose(&pasted, &[]);
                assert_eq!(shown(&proposals), ["rule asked 3 never use emojis"]);
                assert_eq!(proposals[0].source, source);
            }
        }
    }

    #[test]
    fn pasted_words_add_nothing_to_what_the_user_typed() {
        let typed = quoted(&["a1: run the tests before committing"]);
        let mut both = typed.clone();
        let mut pasted = said(CorrectionKind::Rule, &["a1: x", "a2: always run the tests before committing"]);
        pasted.iter_mut().for_each(|one| one.source = MemorySource::Pasted);
        both.extend(pasted.split_off(1));
        let (alone, proposals) = (propose(&typed, &[]), propose(&both, &[]));
        assert_eq!((proposals.len(), proposals[0].evidence.len()), (1, 2));
        let told = |one: &Proposal| (one.content.clone(), one.is_sure, one.confidence, one.source);
        assert_eq!(told(&proposals[0]), told(&alone[0]), "neither wording nor standing");
    }

    #[test]
    fn a_settled_memory_is_not_proposed_again() {
        let again = said(CorrectionKind::Rule, &["a1: never use emojis in code", "a2: always squash the commits"]);
        let (id, here, elsewhere) = (MemoryId::new("m-1"), ProjectId::of_name("a"), ProjectId::of_name("b"));
        let known = |status, project| KnownMemory {
            id: &id,
            content: "Never use emojis in code.",
            status,
            source: MemorySource::Prompt,
            project,
            evidence: Vec::new(),
        };
        for status in [MemoryStatus::Approved, MemoryStatus::Rejected] {
            for project in [None, Some(&here)] {
                let left = propose(&again, &[known(status, project)]);
                assert_eq!(shown(&left), ["rule sure 1 always squash the commits"]);
            }
            assert_eq!(propose(&again, &[known(status, Some(&elsewhere))]).len(), 2);
        }
        // The opposite is another rule.
        let opposite = KnownMemory { content: "Use emojis in code.", ..known(MemoryStatus::Rejected, None) };
        assert_eq!(propose(&again, &[opposite]).len(), 2);
        // Rejecting what an agent suggested does not keep the user from saying it.
        let suggested = KnownMemory { source: MemorySource::Mcp, ..known(MemoryStatus::Rejected, None) };
        assert_eq!(propose(&again, std::slice::from_ref(&suggested)).len(), 2);
        let mut pasted = again.clone();
        pasted.iter_mut().for_each(|one| one.source = MemorySource::Pasted);
        assert_eq!(propose(&pasted, &[suggested]).len(), 1);
    }

    #[test]
    fn new_evidence_strengthens_a_pending_proposal() {
        let first = quoted(&["a1: put helpers into tools.rs"]);
        let before = propose(&first, &[]);
        let project = ProjectId::of_name("a");
        let known = KnownMemory {
            id: &before[0].id,
            content: &before[0].content,
            status: MemoryStatus::Proposed,
            source: MemorySource::Prompt,
            project: Some(&project),
            evidence: vec![first[0].quote],
        };
        let more = quoted(&["a1: put helpers into tools.rs", "a2: Put the helpers into tools.rs"]);
        let after = propose(&more, &[known]);
        assert_eq!((after.len(), &after[0].id, after[0].evidence.len()), (1, &before[0].id, 2));
        assert!(after[0].is_sure && !before[0].is_sure);
    }

    #[test]
    fn two_rules_in_one_prompt_are_two_proposals() {
        let mut both = said(CorrectionKind::Rule, &["a1: always use tabs", "a1: never push to main"]);
        both.iter_mut().for_each(|one| one.quote.key = "same");
        let proposals = propose(&both, &[]);
        assert_eq!(proposals.len(), 2);
        assert_ne!(proposals[0].id, proposals[1].id);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn ids_are_stable_and_the_order_of_the_input_does_not_matter(lines in proptest::collection::vec(
            prop::sample::select(vec![
                "a1: always be concise", "a2: Always be concise!", "b1: never use emojis", "b2: never use emojis here",
                "a1: always use tabs", "a3: always use tabs.", "b1: ask before committing", "c1: write tests",
            ]), 1..12), cut in 1usize..12) {
            let mut all = said(CorrectionKind::Rule, &lines);
            let before = propose(&all[..cut.min(all.len())], &[]);
            let after = propose(&all, &[]);
            for proposal in before {
                prop_assert!(after.iter().any(|later| later.id == proposal.id));
            }
            all.reverse();
            let ids = |proposals: &[Proposal]| proposals.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&propose(&all, &[])), ids(&after));
        }
    }
}
