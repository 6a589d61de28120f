//! Turns corrections into proposals: grouped by meaning, worded as one instruction, with a scope and a rationale.
//!
//! The same corrections give the same proposals, in any order. A proposal's id comes from its first correction, so it
//! stays the same as evidence is added. What the user accepted or rejected is never proposed again, in any wording. A
//! single `Fix` is not a rule.
//!
//! Only what the user typed decides about the wording, the scope and the approval. A text that may be pasted is proposed
//! for its project, however often it comes.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{self, Nearby, canonical};
use super::correction::CorrectionKind;
use super::reach::{Origin, reach};
use super::wording::{self, has_negation};
use crate::clean::text;
use crate::language::meaning::Meaning;
use crate::model::id::{MemoryId, ProjectId};
use crate::model::memory::{Scope, Status};
use crate::model::source::Source;
use crate::model::time::Timestamp;

/// Below this a proposal is not worth the user's time.
const CONFIDENCE_MIN: f64 = 0.6;
const CONFIDENCE_MAX: f64 = 0.99;
/// The highest confidence of a proposal that the user must review; from 0.9 on, proposals are approved automatically.
const REVIEWED_MAX: f64 = 0.85;
const ASKED_MAX: f64 = 0.89;
/// On this many different days the user said it: then it need not be an explicit rule.
const DAYS_MIN: usize = 3;
/// Longer texts with a negation are easily misread.
const LONG_CHARS: usize = 200;
/// The bonus for a repetition: in the same session, and in another one.
const TWICE_RAISE: f64 = 0.05;
const TWICE_ACROSS_RAISE: f64 = 0.08;
/// From this many repetitions on, the user clearly means it.
const OFTEN: usize = 3;
const OFTEN_CONFIDENCE: f64 = 0.95;
const OFTEN_ACROSS_CONFIDENCE: f64 = 0.97;
const QUOTE_CHARS_MAX: usize = 120;

/// The user's own words and their origin: the agent, its session id, and the key of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quote<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub key: &'a str,
    pub text: &'a str,
}

/// A correction with its origin.
#[derive(Clone, Debug)]
pub struct SourcedCorrection<'a> {
    pub quote: Quote<'a>,
    pub kind: CorrectionKind,
    pub confidence: f64,
    pub at: Timestamp,
    /// Whether the user typed it.
    pub source: Source,
    pub project: ProjectId,
    pub project_name: &'a str,
    /// Of the files that the session edited.
    pub languages: Vec<&'a str>,
}

/// An existing proposal or memory.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    pub id: &'a MemoryId,
    pub content: &'a str,
    pub status: Status,
    pub source: Source,
    pub evidence: Vec<Quote<'a>>,
}

impl Known<'_> {
    /// Whether there is nothing left to propose. That the user rejected the words of somebody else does not keep them
    /// from saying the same.
    fn is_settled(&self, is_typed: bool) -> bool {
        match self.status {
            Status::Proposed => false,
            Status::Approved => true,
            Status::Rejected => self.source.is_users() || !is_typed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Rule,
    Preference,
    /// How things are in the user's surroundings.
    Fact,
    /// The same thing had to be fixed repeatedly.
    Correction,
}

impl Category {
    pub fn word(self) -> &'static str {
        match self {
            Category::Rule => "rule",
            Category::Preference => "preference",
            Category::Fact => "fact",
            Category::Correction => "correction",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub id: MemoryId,
    /// One imperative sentence.
    pub content: String,
    pub category: Category,
    pub scope: Scope,
    /// The project of a `project:` scope.
    pub project: Option<ProjectId>,
    /// How often, when, and in which words the user said it.
    pub rationale: String,
    pub confidence: f64,
    /// The user's prompt, if it is in one; else where the words are from.
    pub source: Source,
    /// Indexes of the corrections, in chronological order.
    pub evidence: Vec<usize>,
}

/// From this confidence on, the user is not asked.
const SURE_MIN: f64 = 0.9;

impl Proposal {
    /// Whether it is approved without asking the user.
    pub fn is_sure(&self) -> bool {
        self.confidence >= SURE_MIN
    }
}

/// The proposals worth showing to the user, the most important first.
pub fn propose(corrections: &[SourcedCorrection], existing: &[Known]) -> Vec<Proposal> {
    let mut order: Vec<usize> = (0..corrections.len()).collect();
    order.sort_by_key(|at| (corrections[*at].at, corrections[*at].quote));
    order.dedup_by_key(|at| corrections[*at].quote);
    let texts: Vec<&str> = order.iter().map(|at| corrections[*at].quote.text).collect();
    let memory = Existing::of(existing);

    // Several clusters may be wordings of one existing proposal.
    let mut groups: BTreeMap<MemoryId, Vec<usize>> = BTreeMap::new();
    for cluster in cluster::cluster(&texts) {
        let members: Vec<usize> = cluster.members.iter().map(|at| order[*at]).collect();
        let quotes: Vec<Quote> = members.iter().map(|at| corrections[*at].quote).collect();
        let typed = members.iter().find(|at| corrections[**at].source.is_users());
        let id = match memory.find(&quotes) {
            Some(known) if known.is_settled(typed.is_some()) => continue,
            Some(known) if known.status == Status::Proposed => known.id.clone(),
            _ => id_of(typed.map_or(&quotes[0], |at| &corrections[*at].quote)),
        };
        groups.entry(id).or_default().extend(members);
    }

    let mut proposals: Vec<(f64, Proposal)> = Vec::new();
    for (id, mut members) in groups {
        members.sort_by_key(|at| (corrections[*at].at, corrections[*at].quote));
        let Some(proposal) = compose(id, corrections, members) else { continue };
        // The composed wording may match a settled memory, even if none of the quotes does.
        let is_typed = proposal.source.is_users();
        if memory.find_content(&proposal.content).is_none_or(|known| !known.is_settled(is_typed)) {
            proposals.push((proposal.evidence.len() as f64 * proposal.confidence, proposal));
        }
    }
    proposals.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.id.cmp(&other.id)));
    proposals.into_iter().map(|(_, proposal)| proposal).collect()
}

/// A stable id from the first quote. The text distinguishes corrections in the same message.
fn id_of(first: &Quote) -> MemoryId {
    MemoryId::of(&[first.agent, first.session, first.key, first.text])
}

/// Existing memories, found by wording, by evidence text, or by the origin of the evidence.
struct Existing<'a> {
    known: &'a [Known<'a>],
    by_quote: BTreeMap<Quote<'a>, usize>,
    nearby: Nearby,
    /// The index of the memory that each of `nearby` belongs to.
    owners: Vec<usize>,
}

impl<'a> Existing<'a> {
    fn of(known: &'a [Known<'a>]) -> Existing<'a> {
        let mut existing = Existing { known, by_quote: BTreeMap::new(), nearby: Nearby::default(), owners: Vec::new() };
        // Settled memories are found first.
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by_key(|at| known[*at].status == Status::Proposed);
        for at in order {
            existing.remember(at, known[at].content);
            for quote in &known[at].evidence {
                existing.by_quote.entry(*quote).or_insert(at);
                existing.remember(at, quote.text);
            }
        }
        existing
    }

    fn remember(&mut self, owner: usize, text: &str) {
        self.nearby.add(Meaning::of(text));
        self.owners.push(owner);
    }

    fn find(&self, quotes: &[Quote]) -> Option<&Known<'a>> {
        let by_quote = quotes.iter().filter_map(|quote| self.by_quote.get(quote)).map(|at| &self.known[*at]);
        let by_words = quotes.iter().filter_map(|quote| self.find_content(quote.text));
        let found: Vec<&Known> = by_quote.chain(by_words).collect();
        found.iter().find(|known| known.status != Status::Proposed).or_else(|| found.first()).copied()
    }

    fn find_content(&self, text: &str) -> Option<&Known<'a>> {
        self.nearby.nearest(&Meaning::of(text)).map(|at| &self.known[self.owners[at]])
    }
}

fn compose(id: MemoryId, corrections: &[SourcedCorrection], evidence: Vec<usize>) -> Option<Proposal> {
    let all: Vec<&SourcedCorrection> = evidence.iter().map(|at| &corrections[*at]).collect();
    let typed: Vec<&SourcedCorrection> = all.iter().copied().filter(|one| one.source.is_users()).collect();
    // What the user typed counts alone: pasted words change neither its wording nor its scope.
    let source = typed.last().or(all.last())?.source;
    let members = if typed.is_empty() { all } else { typed };
    let durable: Vec<&SourcedCorrection> = members.iter().copied().filter(|one| one.kind.is_durable()).collect();
    // If the user stated it as a rule, the wording and confidence of the rule count.
    let speaking: &[&SourcedCorrection] = if durable.is_empty() { &members } else { &durable };
    let best = canonical(speaking.iter().map(|one| one.quote.text).enumerate())?;
    let wording = speaking[best].quote.text;
    let content = wording::sentence(wording);
    let confidence = confidence(&members, speaking, wording)?;
    if content.is_empty() || confidence < CONFIDENCE_MIN {
        return None;
    }
    let places: Vec<Origin> = members
        .iter()
        .map(|one| Origin { project: &one.project, project_name: one.project_name, languages: &one.languages })
        .collect();
    let texts: Vec<&str> = members.iter().map(|one| one.quote.text).collect();
    let (scope, project) = match members.last().filter(|_| !source.is_users()) {
        Some(last) => (Scope::Project(last.project_name.to_string()), Some(last.project.clone())),
        None => reach(&wording::plain(wording), &texts, &places),
    };
    let category = if durable.is_empty() { Category::Correction } else { category(&durable) };
    let rationale = rationale(&members, wording);
    Some(Proposal { id, content, category, scope, project, rationale, confidence, source, evidence })
}

fn sessions(members: &[&SourcedCorrection]) -> usize {
    members.iter().map(|one| (one.quote.agent, one.quote.session)).collect::<BTreeSet<_>>().len()
}

/// How sure it is that the user wants this; `None` for something fixed only once or twice.
fn confidence(members: &[&SourcedCorrection], speaking: &[&SourcedCorrection], wording: &str) -> Option<f64> {
    let is_fix = !speaking.iter().any(|one| one.kind.is_durable());
    let (times, sessions) = (members.len(), sessions(members));
    if is_fix && times < OFTEN && sessions < 2 {
        return None;
    }
    let best = speaking.iter().map(|one| one.confidence).fold(0.0, f64::max);
    let raised = match (times, sessions) {
        (1, _) => best,
        (2, 1) => best + TWICE_RAISE,
        (2, _) => best + TWICE_ACROSS_RAISE,
        (_, 1) => best.max(OFTEN_CONFIDENCE),
        _ => best.max(OFTEN_ACROSS_CONFIDENCE),
    };
    let is_easily_misread = wording.chars().count() > LONG_CHARS && has_negation(wording);
    let most = match () {
        () if is_fix || is_easily_misread => REVIEWED_MAX,
        () if is_meant(speaking) => CONFIDENCE_MAX,
        () => ASKED_MAX,
    };
    // Rounded to two decimals, so that floating-point errors do not decide what is approved automatically.
    Some((raised.min(most) * 100.0).round() / 100.0)
}

/// Whether the user need not be asked: they typed an explicit rule, or said it on several days.
fn is_meant(speaking: &[&SourcedCorrection]) -> bool {
    let typed = || speaking.iter().filter(|one| one.source.is_users());
    let days: BTreeSet<_> = typed().map(|one| one.at.day()).collect();
    typed().any(|one| one.confidence >= SURE_MIN) || days.len() >= DAYS_MIN
}

fn category(durable: &[&SourcedCorrection]) -> Category {
    let is_liking = |one: &&&SourcedCorrection| matches!(one.kind, CorrectionKind::Style | CorrectionKind::Preference);
    if durable.iter().all(|one| one.kind == CorrectionKind::Fact) {
        return Category::Fact;
    }
    let likings = durable.iter().filter(is_liking).count();
    if 2 * likings > durable.len() { Category::Preference } else { Category::Rule }
}

fn rationale(members: &[&SourcedCorrection], wording: &str) -> String {
    let last = members.iter().map(|one| one.at).max().unwrap_or(Timestamp::EPOCH).day();
    let quote = text::line(wording, QUOTE_CHARS_MAX);
    let mark = if wording.trim().chars().count() > QUOTE_CHARS_MAX { "…" } else { "" };
    match (members.len(), sessions(members)) {
        (1, _) => format!("said once, {last}: \"{quote}{mark}\""),
        (times, 1) => format!("said {times} times in 1 session, last {last}: \"{quote}{mark}\""),
        (times, sessions) => format!("said {times} times in {sessions} sessions, last {last}: \"{quote}{mark}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY_MILLIS: i64 = 24 * 3600 * 1000;

    /// `session: text`, each one day later; the project is the first letter of the session.
    fn corrections(kind: CorrectionKind, confidence: f64, lines: &[&'static str]) -> Vec<SourcedCorrection<'static>> {
        let one = |(at, line): (usize, &&'static str)| {
            let (session, text) = line.split_once(": ").unwrap();
            SourcedCorrection {
                quote: Quote { agent: "claude-code", session, key: text, text },
                kind,
                confidence,
                at: Timestamp::from_millis(1_769_000_000_000 + at as i64 * DAY_MILLIS),
                source: Source::Prompt,
                project: ProjectId::of_name(&session[..1]),
                project_name: &session[..1],
                languages: vec!["rust"],
            }
        };
        lines.iter().enumerate().map(one).collect()
    }

    fn rules(lines: &[&'static str]) -> Vec<SourcedCorrection<'static>> {
        corrections(CorrectionKind::Rule, 0.8, lines)
    }

    fn shown(proposals: &[Proposal]) -> Vec<String> {
        let line = |p: &Proposal| format!("{} {} {:.2} {}", p.category.word(), p.scope, p.confidence, p.content);
        proposals.iter().map(line).collect()
    }

    #[test]
    fn repetition_by_meaning_is_one_proposal() {
        let corrections = corrections(
            CorrectionKind::Style,
            0.8,
            &["a1: keep it short", "a1: be concise", "a2: terse output please", "a2: use tabs for indentation"],
        );
        let proposals = propose(&corrections, &[]);
        assert_eq!(
            shown(&proposals),
            ["preference universal 0.97 Be concise.", "preference project:a 0.80 Use tabs for indentation."]
        );
        assert_eq!(proposals[0].evidence, [0, 1, 2]);
        assert_eq!(proposals[0].rationale, "said 3 times in 2 sessions, last 2026-01-23: \"be concise\"");
        assert_eq!(proposals[1].rationale, "said once, 2026-01-24: \"use tabs for indentation\"");
        assert_eq!(proposals[1].project, Some(ProjectId::of_name("a")));
    }

    #[test]
    fn repetition_raises_and_more_so_across_sessions() {
        for (lines, confidence) in [
            (&["a1: no emojis"][..], 0.8),
            (&["a1: no emojis", "a1: stop using emojis"], 0.85),
            (&["a1: no emojis", "a2: stop using emojis"], 0.88),
            (&["a1: no emojis", "a1: stop using emojis", "a1: avoid emojis"], 0.95),
            (&["a1: no emojis", "a1: stop using emojis", "a2: avoid emojis"], 0.97),
        ] {
            let proposals = propose(&rules(lines), &[]);
            assert_eq!(proposals.iter().map(|p| p.confidence).collect::<Vec<_>>(), [confidence], "{lines:?}");
        }
        assert_eq!(propose(&corrections(CorrectionKind::Rule, 0.55, &["a1: no emojis"]), &[]), []);
        assert_eq!(propose(&[], &[]), []);
    }

    #[test]
    fn what_is_no_explicit_rule_needs_three_days() {
        let mut thrice = rules(&["a1: no emojis", "a2: stop using emojis", "a3: avoid emojis"]);
        assert!(propose(&thrice, &[])[0].is_sure());
        let first = thrice[0].at;
        thrice.iter_mut().for_each(|one| one.at = first);
        let asked = propose(&thrice, &[]);
        assert_eq!((asked.len(), asked[0].confidence, asked[0].is_sure()), (1, ASKED_MAX, false), "all on one day");
        // An explicit rule is enough once.
        assert!(propose(&corrections(CorrectionKind::Rule, 0.92, &["a1: never use emojis"]), &[])[0].is_sure());
        // Two occasions make no implied rule certain.
        let twice = corrections(CorrectionKind::Rule, 0.88, &["a1: no emojis", "a2: stop using emojis"]);
        assert!(!propose(&twice, &[])[0].is_sure());
    }

    #[test]
    fn pasted_words_are_proposed_for_their_project_and_never_certain() {
        let lines = ["a1: never use emojis", "b1: never use emojis", "c1: never use emojis", "c2: never use emojis"];
        for source in Source::ALL.into_iter().filter(|source| !source.is_users()) {
            let mut pasted = corrections(CorrectionKind::Rule, 0.97, &lines);
            pasted.iter_mut().for_each(|one| one.source = source);
            let proposals = propose(&pasted, &[]);
            let shown: Vec<_> =
                proposals.iter().map(|one| (one.is_sure(), one.scope.to_string(), one.source)).collect();
            assert_eq!(shown, [(false, "project:c".to_string(), source)]);
        }
    }

    #[test]
    fn pasted_words_add_nothing_to_what_the_user_typed() {
        let typed = corrections(CorrectionKind::Rule, 0.8, &["a1: run the tests before committing"]);
        let mut both = typed.clone();
        let mut pasted =
            corrections(CorrectionKind::Rule, 0.97, &["b1: x", "b2: always run the tests before committing"]);
        pasted.iter_mut().for_each(|one| one.source = Source::Pasted);
        both.extend(pasted.split_off(1));
        let (alone, proposals) = (propose(&typed, &[]), propose(&both, &[]));
        assert_eq!((proposals.len(), proposals[0].evidence.len()), (1, 2));
        let told = |one: &Proposal| (one.content.clone(), one.scope.clone(), one.confidence, one.source);
        assert_eq!(told(&proposals[0]), told(&alone[0]), "neither wording, scope nor confidence");
    }

    #[test]
    fn a_fix_alone_is_never_proposed() {
        let fixes = |lines: &[&'static str]| propose(&corrections(CorrectionKind::Fix, 0.95, lines), &[]);
        assert_eq!(fixes(&["a1: rename the button"]), []);
        assert_eq!(fixes(&["a1: rename the button", "a1: the button needs renaming"]), []);
        let again = fixes(&["a1: run the formatter", "a2: you forgot to run the formatter"]);
        assert_eq!(shown(&again), ["correction project:a 0.85 Run the formatter."]);
        // Stated once as a rule, it is a rule.
        let mut mixed = corrections(CorrectionKind::Fix, 0.9, &["a1: run the formatter"]);
        mixed.extend(corrections(CorrectionKind::Rule, 0.8, &["a1: always run the formatter"]));
        assert_eq!(shown(&propose(&mixed, &[])), ["rule project:a 0.85 Always run the formatter."]);
    }

    #[test]
    fn long_negations_need_review() {
        const LONG: &str = "never edit the generated clients by hand because they are written anew by the build every night and then \
            everything that was changed there is gone again, which has cost us more than one evening already, as you may remember";
        let mut once = rules(&["a1: x"]);
        once[0].quote.text = LONG;
        once[0].confidence = 0.95;
        let proposals = propose(&once, &[]);
        assert_eq!(proposals[0].confidence, REVIEWED_MAX);
        assert!(
            proposals[0].content.starts_with("Never edit the generated clients by hand"),
            "{}",
            proposals[0].content
        );
        assert!(proposals[0].rationale.ends_with("…\""));
    }

    #[test]
    fn a_settled_memory_is_not_proposed_again() {
        let again = rules(&["a1: please be terse", "a2: stop using emojis"]);
        let id = MemoryId::new("m-1");
        let source = Source::Prompt;
        let known = |status| Known { id: &id, content: "Keep answers short.", status, source, evidence: Vec::new() };
        for status in [Status::Approved, Status::Rejected] {
            assert_eq!(shown(&propose(&again, &[known(status)])), ["rule universal 0.80 Do not use emojis."]);
        }
        // The evidence counts as well as the content.
        let quote = Quote { agent: "codex", session: "s", key: "k", text: "be brief" };
        let odd =
            Known { id: &id, content: "Mind the reader.", status: Status::Rejected, source, evidence: vec![quote] };
        assert_eq!(propose(&again, &[odd]).len(), 1);
        // The opposite is a different instruction.
        let verbose = Known { content: "Explain in long answers.", ..known(Status::Rejected) };
        assert_eq!(propose(&again, &[verbose]).len(), 2);
        // Rejecting what an agent suggested does not keep the user from saying it.
        let suggested = Known { source: Source::Mcp, ..known(Status::Rejected) };
        assert_eq!(propose(&again, std::slice::from_ref(&suggested)).len(), 2);
        let mut pasted = again.clone();
        pasted.iter_mut().for_each(|one| one.source = Source::Pasted);
        assert_eq!(propose(&pasted, &[suggested]).len(), 1);
    }

    #[test]
    fn new_evidence_strengthens_a_pending_proposal() {
        let first = rules(&["a1: be concise"]);
        let before = propose(&first, &[]);
        let known = Known {
            id: &before[0].id,
            content: &before[0].content,
            status: Status::Proposed,
            source: Source::Prompt,
            evidence: vec![first[0].quote],
        };
        let more = rules(&["a1: be concise", "b1: your answers are too long"]);
        let after = propose(&more, &[known]);
        assert_eq!((after.len(), &after[0].id, after[0].evidence.len()), (1, &before[0].id, 2));
        assert!(after[0].confidence > before[0].confidence);
    }

    #[test]
    fn the_order_of_the_input_does_not_matter() {
        let mut corrections = rules(&["a1: use tabs", "a2: be concise", "b1: keep it short", "b1: use spaces"]);
        let ids = |corrections: &[SourcedCorrection]| {
            propose(corrections, &[]).into_iter().map(|p| (p.id, p.content)).collect::<Vec<_>>()
        };
        let before = ids(&corrections);
        corrections.reverse();
        assert_eq!(ids(&corrections), before);
        // A duplicate counts once.
        corrections.extend(corrections.clone());
        assert_eq!(ids(&corrections), before);
    }

    #[test]
    fn two_rules_in_one_message_are_two_proposals() {
        let mut both = rules(&["a1: use tabs", "a1: never push to main"]);
        both.iter_mut().for_each(|one| one.quote.key = "same");
        let proposals = propose(&both, &[]);
        assert_eq!(proposals.len(), 2);
        assert_ne!(proposals[0].id, proposals[1].id);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn ids_are_stable_as_evidence_grows(lines in proptest::collection::vec(
            prop::sample::select(vec![
                "a1: be concise", "a2: keep it short", "b1: no emojis", "b2: never use emojis", "a1: use tabs",
                "a3: indent with tabs", "b1: ask before committing", "b3: never commit without asking", "c1: write tests",
            ]), 1..12), cut in 1usize..12) {
            let all = rules(&lines);
            let before = propose(&all[..cut.min(all.len())], &[]);
            let after = propose(&all, &[]);
            for proposal in before {
                prop_assert!(after.iter().any(|later| later.id == proposal.id && later.confidence >= proposal.confidence));
            }
        }

        #[test]
        fn contents_are_short_and_clean(text in "\\PC{0,80}[\\n\\x1b\\t]{0,3}[a-z ]{0,200}") {
            let mut one = rules(&["a1: x"]);
            one[0].quote.text = &text;
            for proposal in propose(&one, &[]) {
                prop_assert!(proposal.content.split_whitespace().count() <= wording::CONTENT_WORDS_MAX);
                prop_assert!(!proposal.content.contains(char::is_control) && !proposal.rationale.contains(char::is_control));
            }
        }
    }
}
