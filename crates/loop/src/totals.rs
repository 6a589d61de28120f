//! The running totals of a run, against which limits, pace and stop conditions are checked.
//!
//! They follow from the recorded attempts, so a run resumed after a crash has exactly the same totals.

use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
use cerberus_record::time::Timestamp;
use cerberus_record::words;
use serde::{Deserialize, Serialize};

use super::settings::{LoopLimits, Pace};
use super::stop::Limit;

words! {
    /// How an attempt at an iteration ended. Also the reason for the next fresh context.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum AttemptEnd {
        IterationEnd = "iteration-end",
        SoftRedline = "soft-redline",
        HardRedline = "hard-redline",
        Turns = "turns",
        Duration = "duration",
        FailureStreak = "failure-streak",
        OutputPattern = "output-pattern",
        Stall = "stall",
        Failure = "failure",
        /// It had to wait, and nothing was spent.
        Limited = "limited",
        Limit = "limit",
        Interrupted = "interrupted",
        RunnerDied = "runner-died",
    }
}

/// Whether an attempt spends its iteration, or the iteration is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpentIteration {
    Spent,
    Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopProgress {
    Made,
    None,
    /// Not determined: the runner died, or nothing was spent.
    Unknown,
}

/// The record of a finished attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedAttempt {
    pub how: AttemptEnd,
    pub counts: SpentIteration,
    pub progress: LoopProgress,
    /// It claimed that everything is done.
    #[serde(default)]
    pub claimed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What the cost was computed with, as far as the agent did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced_by: Option<PricedBy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<cerberus_agents::meter::Certainty>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Iterations that count.
    pub spent: u32,
    /// Attempts at the current iteration.
    pub attempts: u32,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    pub failures: u32,
    /// The last failure, and how many times in a row it occurred.
    pub same: Option<(String, u32)>,
    pub without_progress: u32,
    pub claimed: bool,
    /// When contexts started, within the last hour.
    pub starts: Vec<Timestamp>,
    pub last: Option<AttemptEnd>,
    /// Attempts in a row that had to wait, and since when.
    pub waits: u32,
    pub waiting_since: Option<Timestamp>,
    /// The last attempt had to wait, and ended then.
    resting_since: Option<Timestamp>,
    /// How long the run has waited between attempts. Such time does not count.
    waited: Duration,
    /// How long the run was active before this runner resumed it.
    pub before: Duration,
    pub since: Timestamp,
}

/// The first pause for a server that does not say until when.
const PAUSE: Duration = Duration::from_secs(60);

const HOUR: Duration = Duration::from_secs(60 * 60);

impl Totals {
    pub fn new(since: Timestamp) -> Totals {
        Totals {
            spent: 0,
            attempts: 0,
            tokens: 0,
            cost_usd: None,
            priced_by: None,
            failures: 0,
            same: None,
            without_progress: 0,
            claimed: false,
            starts: Vec::new(),
            last: None,
            waits: 0,
            waiting_since: None,
            resting_since: None,
            waited: Duration::ZERO,
            before: Duration::ZERO,
            since,
        }
    }

    /// The number of the current iteration.
    pub fn iteration(&self) -> u32 {
        self.spent.saturating_add(1)
    }

    pub fn elapsed(&self, now: Timestamp) -> Duration {
        let resting = self.resting_since.map_or(Duration::ZERO, |since| now.since(since));
        self.before.saturating_add(now.since(self.since)).saturating_sub(self.waited.saturating_add(resting))
    }

    /// Another runner goes on. The time between two runners does not count.
    pub fn resumed(&mut self, last_at: Timestamp, now: Timestamp) {
        self.rested(last_at);
        self.before += last_at.since(self.since);
        self.since = now;
        // The system's clock may have been set back since.
        self.starts.retain(|start| *start <= now);
    }

    fn rested(&mut self, now: Timestamp) {
        let rested = self.resting_since.take().map_or(Duration::ZERO, |since| now.since(since));
        self.waited = self.waited.saturating_add(rested);
    }

    pub fn begin_attempt(&mut self, now: Timestamp) {
        self.rested(now);
        self.attempts = self.attempts.saturating_add(1);
        self.starts.retain(|start| now.since(*start) < HOUR);
        self.starts.push(now);
    }

    pub fn ended(&mut self, ended: &EndedAttempt, now: Timestamp) {
        if ended.how == AttemptEnd::Limited {
            self.waits = self.waits.saturating_add(1);
            self.waiting_since.get_or_insert(now);
            self.resting_since = Some(now);
        } else {
            (self.waits, self.waiting_since) = (0, None);
        }
        self.tokens = self.tokens.saturating_add(ended.tokens);
        self.cost_usd = match (self.cost_usd, ended.cost_usd) {
            (None, None) => None,
            (known, more) => Some(known.unwrap_or(0.0) + more.unwrap_or(0.0)),
        };
        self.priced_by = PricedBy::and(self.priced_by.take(), ended.priced_by.clone());
        self.last = Some(ended.how);
        if ended.counts == SpentIteration::Spent {
            self.spent = self.spent.saturating_add(1);
            self.attempts = 0;
            self.claimed = ended.claimed;
        }
        match ended.progress {
            LoopProgress::Made => self.without_progress = 0,
            LoopProgress::None => self.without_progress = self.without_progress.saturating_add(1),
            LoopProgress::Unknown => {}
        }
        match &ended.failure {
            // Waiting is not a failure, and does not end a series of failures.
            _ if ended.how == AttemptEnd::Limited => {}
            None => {
                self.failures = 0;
                self.same = None;
            }
            Some(words) => {
                self.failures = self.failures.saturating_add(1);
                let times = match &self.same {
                    Some((before, times)) if before == words => times.saturating_add(1),
                    _ => 1,
                };
                self.same = Some((words.clone(), times));
            }
        }
    }

    /// The limit that is reached, if any. `tokens` and `cost_usd` are of the context still at work.
    pub fn limit(&self, limits: &LoopLimits, tokens: u64, cost_usd: Option<f64>, now: Timestamp) -> Option<Limit> {
        let cost = self.cost_usd.unwrap_or(0.0) + cost_usd.unwrap_or(0.0);
        let reached = [
            (Limit::Duration, limits.duration.is_some_and(|max| self.elapsed(now) >= max)),
            (Limit::Tokens, limits.tokens.is_some_and(|max| self.tokens.saturating_add(tokens) >= max)),
            (Limit::Cost, limits.cost_usd.is_some_and(|max| cost >= max)),
            (Limit::Iterations, limits.iterations.is_some_and(|max| self.spent >= max)),
        ];
        reached.into_iter().find(|(_, is_reached)| *is_reached).map(|(limit, _)| limit)
    }

    /// What is left of the limit in dollars.
    pub fn budget_usd(&self, limits: &LoopLimits) -> Option<f64> {
        limits.cost_usd.map(|max| (max - self.cost_usd.unwrap_or(0.0)).max(0.0))
    }

    /// When the next context may start: not too soon after the last, and not too many within an hour.
    pub fn next_start(&self, pace: &Pace, now: Timestamp) -> Timestamp {
        let mut next = now;
        if let Some(last) = self.starts.last() {
            next = next.max(last.plus(pace.min_interval));
        }
        let lately: Vec<&Timestamp> = self.starts.iter().filter(|start| now.since(**start) < HOUR).collect();
        if lately.len() >= pace.per_hour as usize {
            next = next.max(lately[lately.len() - pace.per_hour as usize].plus(HOUR));
        }
        next
    }

    /// How long to wait for a server that does not say until when: doubled each time.
    pub fn pause(&self, pace: &Pace) -> Duration {
        let doubled = self.waits.saturating_sub(1).min(20);
        PAUSE.saturating_mul(1 << doubled).min(pace.backoff_max)
    }

    /// Whether waiting until then would take longer than the user allows.
    pub fn is_waiting_too_long(&self, limits: &LoopLimits, until: Timestamp) -> bool {
        let since = self.waiting_since.filter(|_| limits.wait.is_some());
        since.zip(limits.wait).is_some_and(|(since, max)| until.since(since) >= max)
    }

    /// How long to wait after failures: doubled each time.
    pub fn backoff(&self, pace: &Pace) -> Duration {
        let doubled = self.failures.saturating_sub(1).min(20);
        pace.backoff.saturating_mul(1 << doubled).min(pace.backoff_max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(secs))
    }

    fn pace() -> Pace {
        Pace {
            min_interval: Duration::from_secs(60),
            per_hour: 3,
            failures_max: 5,
            same_failure_max: 3,
            backoff: Duration::from_secs(5),
            backoff_max: Duration::from_secs(60),
        }
    }

    fn ended(how: AttemptEnd, counts: SpentIteration, failure: Option<&str>) -> EndedAttempt {
        let failure = failure.map(str::to_string);
        let progress = LoopProgress::Made;
        EndedAttempt {
            how,
            counts,
            progress,
            claimed: false,
            failure,
            tokens: 10,
            cost_usd: None,
            fill_percent: None,
            certainty: None,
            priced_by: None,
        }
    }

    #[test]
    fn contexts_keep_their_distance() {
        for (starts, now, next) in [
            (&[][..], 0, 0),
            (&[0], 10, 60),
            (&[0], 100, 100),
            (&[0, 100], 200, 200),
            (&[0, 100, 200], 300, 3600),
            (&[0, 100, 200], 3600, 3600),
            (&[0, 100, 200, 3600], 3650, 3700),
        ] {
            let mut totals = Totals::new(at(0));
            starts.iter().for_each(|start| totals.begin_attempt(at(*start)));
            assert_eq!(totals.next_start(&pace(), at(now)), at(next), "{starts:?} at {now}");
        }
    }

    #[test]
    fn failures_are_counted_in_a_row_and_waiting_is_not_one() {
        let mut totals = Totals::new(at(0));
        let mut waits = Vec::new();
        for (how, failure, failures, same) in [
            (AttemptEnd::Failure, Some("a"), 1, Some(1)),
            (AttemptEnd::Failure, Some("a"), 2, Some(2)),
            (AttemptEnd::Limited, Some("overloaded"), 2, Some(2)),
            (AttemptEnd::Failure, Some("b"), 3, Some(1)),
            (AttemptEnd::IterationEnd, None, 0, None),
            (AttemptEnd::Failure, Some("b"), 1, Some(1)),
        ] {
            totals.ended(&ended(how, SpentIteration::Spent, failure), at(0));
            assert_eq!((totals.failures, totals.same.as_ref().map(|same| same.1)), (failures, same));
            waits.push(totals.backoff(&pace()).as_secs());
        }
        assert_eq!(waits, [5, 10, 10, 20, 5, 5]);
        totals.failures = 4_000_000_000;
        assert_eq!(totals.backoff(&pace()).as_secs(), 60);
    }

    #[test]
    fn waiting_does_not_count_and_pauses_grow() {
        let mut totals = Totals::new(at(0));
        let limits = LoopLimits { wait: Some(Duration::from_secs(1_000)), ..LoopLimits::default() };
        let mut pauses = Vec::new();
        for start in [100, 300, 600] {
            totals.begin_attempt(at(start));
            totals.ended(&ended(AttemptEnd::Limited, SpentIteration::Again, Some("overloaded")), at(start + 10));
            pauses.push(totals.pause(&Pace { backoff_max: Duration::from_secs(150), ..pace() }).as_secs());
        }
        assert_eq!(pauses, [60, 120, 150]);
        assert_eq!(totals.elapsed(at(900)).as_secs(), 100 + 10 + 10 + 10, "only what was not waiting");
        assert!(!totals.is_waiting_too_long(&limits, at(1_109)) && totals.is_waiting_too_long(&limits, at(1_110)));
        assert!(!totals.is_waiting_too_long(&LoopLimits::default(), at(100_000)));
        // The runner dies at 700 and another one goes on at 5000.
        totals.resumed(at(700), at(5_000));
        assert_eq!(totals.elapsed(at(5_000)).as_secs(), 130);
        totals.begin_attempt(at(5_000));
        totals.ended(&ended(AttemptEnd::IterationEnd, SpentIteration::Spent, None), at(5_020));
        assert_eq!((totals.elapsed(at(5_020)).as_secs(), totals.waits, totals.waiting_since), (150, 0, None));
    }

    proptest! {
        #[test]
        fn an_iteration_is_spent_or_still_to_be_done(attempts in proptest::collection::vec(any::<bool>(), 0..40)) {
            let mut totals = Totals::new(at(0));
            for is_spent in &attempts {
                totals.begin_attempt(at(0));
                let counts = if *is_spent { SpentIteration::Spent } else { SpentIteration::Again };
                totals.ended(&ended(AttemptEnd::IterationEnd, counts, None), at(0));
            }
            prop_assert_eq!(totals.spent as usize, attempts.iter().filter(|spent| **spent).count());
            prop_assert_eq!(totals.tokens, 10 * attempts.len() as u64);
            let open = attempts.iter().rev().take_while(|spent| !**spent).count();
            prop_assert_eq!(totals.attempts as usize, open);
        }
    }
}
