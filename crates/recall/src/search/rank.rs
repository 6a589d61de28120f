//! Ranks the memories for a session: those that apply, match the prompt, are used, and are certain come first.
//!
//! Memories of another language or project are left out, not ranked low. Fitting them into a budget is the job of the
//! brief.

use std::time::Duration;

use cerberus_record::id::ProjectId;
use cerberus_record::memory::Scope;
use cerberus_record::time::Timestamp;
use cerberus_text::words::Words;

/// The weights of the parts of a score; they add up to 1.
const SCOPE_WEIGHT: f64 = 0.3;
const RELEVANCE_WEIGHT: f64 = 0.3;
const RECENCY_WEIGHT: f64 = 0.15;
const USE_WEIGHT: f64 = 0.1;
const CONFIDENCE_WEIGHT: f64 = 0.15;

const DAY_SECS: u64 = 24 * 3600;
/// The score for an age below so many days; anything older gets the minimum.
const RECENCY: [(u64, f64); 4] = [(7, 1.0), (30, 0.8), (90, 0.6), (180, 0.4)];
const RECENCY_MIN: f64 = 0.2;
/// More uses than this add nothing.
const USES_FULL: f64 = 32.0;
const STALE_AFTER: Duration = Duration::from_secs(60 * DAY_SECS);
/// The share of a memory that a prompt must mention.
const ABOUT_MIN: f64 = 0.39;
const PREFERENCE: &str = "preference";

/// A memory to rank.
#[derive(Clone, Copy, Debug)]
pub struct CandidateMemory<'a> {
    pub content: &'a str,
    pub category: &'a str,
    pub scope: &'a Scope,
    /// The project of a `project:` scope, if known.
    pub project: Option<&'a ProjectId>,
    pub confidence: f64,
    pub updated_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub uses: u64,
}

/// The session that the memories are for.
#[derive(Clone, Copy, Debug)]
pub struct RankContext<'a> {
    pub now: Timestamp,
    /// All ids and names of the current project.
    pub projects: &'a [ProjectId],
    pub project_names: &'a [String],
    /// The languages in use, in lower case.
    pub languages: &'a [&'a str],
    /// The prompt; empty at the start of a session.
    pub prompt: &'a str,
    /// The files in use.
    pub files: &'a [&'a str],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedMemory {
    /// The index among the candidates.
    pub index: usize,
    /// From 0 to 1.
    pub score: f64,
}

/// The memories that apply here, best first; equal ones keep their order.
pub fn rank(memories: &[CandidateMemory], context: &RankContext) -> Vec<RankedMemory> {
    let asked = Words::of(&format!("{}\n{}", context.prompt, file_words(context.files)));
    let score = |(index, memory): (usize, &CandidateMemory)| {
        Some(RankedMemory { index, score: score(memory, context, &asked)? })
    };
    let mut ranked: Vec<RankedMemory> = memories.iter().enumerate().filter_map(score).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    ranked
}

/// Whether it was neither changed nor used for so long that the user should be asked about it. Preferences do not
/// age.
pub fn is_stale(memory: &CandidateMemory, now: Timestamp) -> bool {
    memory.category != PREFERENCE && now.since(touched_at(memory)) > STALE_AFTER
}

/// The words of a prompt, compared with many texts.
#[derive(Debug)]
pub struct PromptWords(Words);

impl PromptWords {
    pub fn of(prompt: &str) -> PromptWords {
        PromptWords(Words::of(prompt))
    }

    /// Whether the prompt is about the content of a memory.
    pub fn is_about(&self, content: &str) -> bool {
        Words::of(content).share_in(&self.0) >= ABOUT_MIN
    }
}

fn touched_at(memory: &CandidateMemory) -> Timestamp {
    memory.used_at.map_or(memory.updated_at, |used_at| used_at.max(memory.updated_at))
}

fn score(memory: &CandidateMemory, context: &RankContext, asked: &Words) -> Option<f64> {
    let uses = (1.0 + memory.uses as f64).ln() / (1.0 + USES_FULL).ln();
    Some(
        SCOPE_WEIGHT * scope_match(memory, context)?
            + RELEVANCE_WEIGHT * Words::of(memory.content).share_in(asked)
            + RECENCY_WEIGHT * recency(context.now.since(touched_at(memory)))
            + USE_WEIGHT * uses.min(1.0)
            + CONFIDENCE_WEIGHT * memory.confidence.clamp(0.0, 1.0),
    )
}

/// A narrower scope weighs more; `None` if the memory does not apply.
fn scope_match(memory: &CandidateMemory, context: &RankContext) -> Option<f64> {
    match memory.scope {
        Scope::Universal => Some(0.8),
        Scope::Language(language) => context.languages.contains(&language.as_str()).then_some(0.9),
        // Several projects may share a name, so the id decides if there is one.
        Scope::Project(name) => match memory.project {
            Some(project) => context.projects.contains(project).then_some(1.0),
            None => context.project_names.iter().any(|here| here.eq_ignore_ascii_case(name)).then_some(1.0),
        },
    }
}

fn recency(age: Duration) -> f64 {
    let worth = RECENCY.iter().find(|(days, _)| age < Duration::from_secs(days * DAY_SECS));
    worth.map_or(RECENCY_MIN, |(_, worth)| *worth)
}

/// The words in file names: `src/auth/token_store.rs` gives auth, token and store.
fn file_words(files: &[&str]) -> String {
    let words = files.iter().flat_map(|path| path.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn days_ago(days: u64) -> Timestamp {
        now().minus(Duration::from_secs(days * DAY_SECS))
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-22T12:00:00Z").unwrap()
    }

    fn memory<'a>(content: &'a str, scope: &'a Scope) -> CandidateMemory<'a> {
        let (category, updated_at) = ("rule", days_ago(1));
        CandidateMemory { content, category, scope, project: None, confidence: 0.9, updated_at, used_at: None, uses: 0 }
    }

    /// The contents in ranked order.
    fn ranked_contents<'a>(memories: &[CandidateMemory<'a>], prompt: &str, files: &[&str]) -> Vec<&'a str> {
        let projects = [ProjectId::of_anchor(b"/hydra"), ProjectId::of_anchor(b"/moved/hydra")];
        let project_names = ["hydra".to_string(), "lerna".to_string()];
        let (projects, project_names) = (projects.as_slice(), project_names.as_slice());
        let context = RankContext { now: now(), projects, project_names, languages: &["rust"], prompt, files };
        rank(memories, &context).into_iter().map(|one| memories[one.index].content).collect()
    }

    #[test]
    fn only_memories_that_apply_and_the_narrowest_first() {
        let scopes = ["universal", "language:rust", "language:go", "project:hydra", "project:argus"].map(Scope::parse);
        let scopes: Vec<Scope> = scopes.into_iter().flatten().collect();
        let mut memories: Vec<CandidateMemory> = scopes.iter().map(|scope| memory("Use no globals.", scope)).collect();
        for (memory, content) in memories.iter_mut().zip(["all", "rust", "go", "hydra", "argus"]) {
            memory.content = content;
        }
        assert_eq!(ranked_contents(&memories, "", &[]), ["hydra", "rust", "all"]);
        // Another project with the same name.
        let namesake = ProjectId::of_anchor(b"/elsewhere/hydra");
        memories[3].project = Some(&namesake);
        assert_eq!(ranked_contents(&memories, "", &[]), ["rust", "all"]);
        // A project in another folder, with another name.
        let (moved, lerna) = (ProjectId::of_anchor(b"/moved/hydra"), Scope::Project("Lerna".to_string()));
        memories[3].project = Some(&moved);
        memories.push(memory("lerna", &lerna));
        assert_eq!(ranked_contents(&memories, "", &[]), ["hydra", "lerna", "rust", "all"]);
    }

    #[test]
    fn matches_of_the_prompt_come_first() {
        let all = Scope::Universal;
        let memories = [
            memory("Write tests first.", &all),
            memory("Never log tokens.", &all),
            memory("Ask before migrations.", &all),
        ];
        assert_eq!(ranked_contents(&memories, "", &[])[0], "Write tests first.");
        assert_eq!(ranked_contents(&memories, "add a migration for the users table", &[])[0], "Ask before migrations.");
        assert_eq!(ranked_contents(&memories, "", &["src/log/tokens.rs"])[0], "Never log tokens.");
    }

    #[test]
    fn recent_used_and_certain_ones_come_first() {
        let all = Scope::Universal;
        let base = memory("base", &all);
        let sorted = |memories: &[CandidateMemory<'static>]| ranked_contents(memories, "", &[]);
        let aged = [(200, "old"), (100, "older"), (1, "new"), (20, "recent"), (60, "quarter")];
        let aged =
            aged.map(|(days, content)| CandidateMemory { content, updated_at: days_ago(days), ..base_of(content) });
        assert_eq!(sorted(&aged), ["new", "recent", "quarter", "older", "old"]);
        let used = [0, 30, 3].map(|uses| CandidateMemory { uses, ..base });
        assert_eq!(rank_indices(&used), [1, 2, 0]);
        let sure = [0.6, 0.99, 0.8].map(|confidence| CandidateMemory { confidence, ..base });
        assert_eq!(rank_indices(&sure), [1, 2, 0]);
    }

    fn base_of(content: &'static str) -> CandidateMemory<'static> {
        memory(content, &Scope::Universal)
    }

    fn rank_indices(memories: &[CandidateMemory]) -> Vec<usize> {
        let context =
            RankContext { now: now(), projects: &[], project_names: &[], languages: &[], prompt: "", files: &[] };
        rank(memories, &context).into_iter().map(|one| one.index).collect()
    }

    #[test]
    fn ages_score_as_in_the_table() {
        for (days, worth) in [(0, 1.0), (6, 1.0), (7, 0.8), (29, 0.8), (30, 0.6), (90, 0.4), (180, 0.2), (999, 0.2)] {
            assert_eq!(recency(Duration::from_secs(days * DAY_SECS)), worth, "{days}");
        }
    }

    #[test]
    fn stale_means_neither_changed_nor_used() {
        let all = Scope::Universal;
        for (category, updated, used, stale) in [
            ("rule", 61, None, true),
            ("rule", 60, None, false),
            ("rule", 400, Some(3), false),
            ("rule", 400, Some(80), true),
            ("correction", 90, None, true),
            ("preference", 900, None, false),
        ] {
            let memory = CandidateMemory {
                category,
                updated_at: days_ago(updated),
                used_at: used.map(days_ago),
                ..memory("Use tabs.", &all)
            };
            assert_eq!(is_stale(&memory, now()), stale, "{category} {updated} {used:?}");
        }
    }

    #[test]
    fn the_weights_add_up_to_one() {
        let sum = SCOPE_WEIGHT + RELEVANCE_WEIGHT + RECENCY_WEIGHT + USE_WEIGHT + CONFIDENCE_WEIGHT;
        assert!((sum - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn scores_are_shares_and_sorted(uses in proptest::collection::vec((0u64..1_000_000, 0.0f64..1.0, 0u64..900), 0..12)) {
            let all = Scope::Universal;
            let one = |(uses, confidence, days)| {
                CandidateMemory { uses, confidence, updated_at: days_ago(days), ..memory("Use tabs.", &all) }
            };
            let memories: Vec<CandidateMemory> = uses.into_iter().map(one).collect();
            let context =
                RankContext { now: now(), projects: &[], project_names: &[], languages: &[], prompt: "tabs", files: &[] };
            let ranked = rank(&memories, &context);
            prop_assert_eq!(ranked.len(), memories.len());
            prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.score)));
            prop_assert!(ranked.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}
