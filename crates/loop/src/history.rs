//! The state of a run, and its iterations, as they follow from the entries of the loop's ledger.
//!
//! The entries alone are enough to resume a run that was killed at any point: an attempt whose agent was launched counts
//! as its iteration, any other attempt is repeated.

use cerberus_agents::meter::Certainty;
use cerberus_agents::meter::price::PricedBy;
use cerberus_record::event::AgentProcess;
use cerberus_record::session::LoopEnd;
use cerberus_record::time::Timestamp;

use super::check_result::CheckResult;
use super::entry::{LedgerEntry, LedgerStep, Reboot, RunPlace, WaitState};
use super::memory::RunMemory;
use super::settings::{Layer, Worker};
use super::totals::{AttemptEnd, EndedAttempt, LoopProgress, SpentIteration, Totals};

/// One iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    pub run: u32,
    pub iteration: u32,
    pub attempts: u32,
    pub worker: Worker,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub session_id: Option<String>,
    pub fill_percent: Option<f64>,
    pub certainty: Option<Certainty>,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    pub how: Option<AttemptEnd>,
    pub failure: Option<String>,
    pub changed_files: Option<u32>,
    pub reboot: Option<Reboot>,
    pub check: Option<CheckResult>,
    /// Only for the last iteration of a run that ended.
    pub stop: Option<(LoopEnd, String)>,
}

/// An attempt without a recorded end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAttempt {
    pub iteration: u32,
    pub attempt: u32,
    pub is_launched: bool,
    pub agent: Option<AgentProcess<'static>>,
    pub guard: Option<AgentProcess<'static>>,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    pub run: u32,
    pub worker: Worker,
    pub runner: Option<AgentProcess<'static>>,
    pub token: String,
    pub layer: Layer,
    /// The commit that was checked out when the run started.
    pub base: Option<String>,
    pub place: Option<RunPlace>,
    pub totals: Totals,
    pub open: Option<OpenAttempt>,
    /// What it waits for, if the time has not passed yet.
    pub waiting: Option<WaitState>,
    /// All of its sessions, in order.
    pub sessions: Vec<String>,
    pub stopped: Option<(LoopEnd, String)>,
    pub last_at: Timestamp,
    pub memory: RunMemory,
}

/// The state of the latest run, if there is any.
pub fn latest_run(entries: &[LedgerEntry]) -> Option<RunState> {
    let mut state: Option<RunState> = None;
    for entry in entries {
        match &mut state {
            Some(known) if known.run == entry.run => known.apply(entry),
            _ => state = RunState::begin(entry),
        }
    }
    state
}

impl RunState {
    fn begin(entry: &LedgerEntry) -> Option<RunState> {
        let LedgerStep::Run { worker, runner, token, layer, base, .. } = &entry.step else { return None };
        Some(RunState {
            run: entry.run,
            worker: *worker,
            runner: runner.clone(),
            token: token.to_string(),
            layer: (**layer).clone(),
            base: base.as_ref().map(|base| base.to_string()),
            place: None,
            totals: Totals::new(entry.at),
            open: None,
            waiting: None,
            sessions: Vec::new(),
            stopped: None,
            last_at: entry.at,
            memory: RunMemory::default(),
        })
    }

    fn apply(&mut self, entry: &LedgerEntry) {
        self.memory.apply(&entry.step);
        match &entry.step {
            LedgerStep::Run { worker, runner, token, layer, .. } => {
                self.totals.resumed(self.last_at, entry.at);
                (self.worker, self.runner, self.stopped) = (*worker, runner.clone(), None);
                self.token = token.to_string();
                self.layer = (**layer).clone();
            }
            LedgerStep::Place(place) => self.place = Some(place.clone()),
            LedgerStep::Begun { iteration, attempt } => {
                self.totals.begin_attempt(entry.at);
                self.waiting = None;
                let (iteration, attempt) = (*iteration, *attempt);
                self.open = Some(OpenAttempt { iteration, attempt, is_launched: false, agent: None, guard: None });
            }
            LedgerStep::Launched { iteration, attempt, agent, guard } => {
                let is_this = |open: &&mut OpenAttempt| open.iteration == *iteration && open.attempt == *attempt;
                if let Some(open) = self.open.as_mut().filter(is_this) {
                    (open.is_launched, open.agent, open.guard) = (true, agent.clone(), guard.clone());
                }
            }
            LedgerStep::Session { id } => self.sessions.push(id.to_string()),
            LedgerStep::Waiting(waiting) => self.waiting = Some(waiting.clone()),
            LedgerStep::Acknowledged { .. }
            | LedgerStep::Changed { .. }
            | LedgerStep::CheckFiles { .. }
            | LedgerStep::Checked { .. }
            | LedgerStep::Files { .. }
            | LedgerStep::Told { .. } => {}
            LedgerStep::Ended(ended) => {
                self.waiting = None;
                self.totals.ended(ended, entry.at);
                self.open = None;
            }
            LedgerStep::Stopped { class, words } => {
                (self.stopped, self.waiting) = (Some((*class, words.to_string())), None);
            }
        }
        // What others write, and what is written of a dead runner, does not say how long the runner was at work.
        let is_of_runner = match &entry.step {
            LedgerStep::Launched { .. } | LedgerStep::Told { .. } => false,
            LedgerStep::Ended(ended) => ended.how != AttemptEnd::RunnerDied,
            _ => true,
        };
        if is_of_runner {
            self.last_at = entry.at;
        }
    }
}

/// How to record an attempt whose runner died. Its iteration is spent only if the agent got to work.
pub fn died(open: &OpenAttempt) -> EndedAttempt {
    EndedAttempt {
        how: AttemptEnd::RunnerDied,
        counts: if open.is_launched { SpentIteration::Spent } else { SpentIteration::Again },
        progress: LoopProgress::Unknown,
        claimed: false,
        failure: None,
        tokens: 0,
        cost_usd: None,
        fill_percent: None,
        certainty: None,
        priced_by: None,
    }
}

/// All iterations of all runs, oldest first. Attempts at the same iteration are merged.
pub fn iterations(entries: &[LedgerEntry]) -> Vec<Iteration> {
    let mut found: Vec<Iteration> = Vec::new();
    let mut worker = Worker::COMMAND;
    for entry in entries {
        match &entry.step {
            LedgerStep::Run { worker: named, .. } => worker = *named,
            LedgerStep::Begun { iteration, .. } => begin(&mut found, entry, worker, *iteration),
            step => {
                if let Some(last) = found.last_mut().filter(|last| last.run == entry.run) {
                    last.apply(entry.at, step);
                }
            }
        }
    }
    found
}

fn begin(found: &mut Vec<Iteration>, entry: &LedgerEntry, worker: Worker, number: u32) {
    let is_same = |last: &&mut Iteration| last.run == entry.run && last.iteration == number;
    if let Some(last) = found.last_mut().filter(is_same) {
        (last.attempts, last.worker) = (last.attempts + 1, worker);
        (last.ended_at, last.how, last.failure, last.stop) = (None, None, None, None);
        return;
    }
    found.push(Iteration {
        run: entry.run,
        iteration: number,
        attempts: 1,
        worker,
        started_at: entry.at,
        ended_at: None,
        session_id: None,
        fill_percent: None,
        certainty: None,
        priced_by: None,
        tokens: None,
        cost_usd: None,
        how: None,
        failure: None,
        changed_files: None,
        reboot: None,
        check: None,
        stop: None,
    });
}

impl Iteration {
    fn apply(&mut self, at: Timestamp, step: &LedgerStep) {
        match step {
            LedgerStep::Session { id } => self.session_id = Some(id.to_string()),
            LedgerStep::Acknowledged { reboot } => self.reboot = reboot.clone(),
            LedgerStep::Ended(ended) => {
                self.ended_at = Some(at);
                self.how = Some(ended.how);
                self.failure = ended.failure.clone();
                self.fill_percent = ended.fill_percent;
                self.certainty = ended.certainty;
                self.priced_by = PricedBy::and(self.priced_by.take(), ended.priced_by.clone());
                // The cost of earlier attempts is included.
                self.tokens = match (self.tokens, ended.tokens) {
                    (None, 0) => None,
                    (known, more) => Some(known.unwrap_or(0).saturating_add(more)),
                };
                self.cost_usd = match (self.cost_usd, ended.cost_usd) {
                    (None, None) => None,
                    (known, more) => Some(known.unwrap_or(0.0) + more.unwrap_or(0.0)),
                };
            }
            LedgerStep::Stopped { class, words } => self.stop = Some((*class, words.to_string())),
            LedgerStep::Changed { files } => self.changed_files = Some(*files),
            LedgerStep::Checked { result, .. } => self.check = Some(result.clone()),
            LedgerStep::Run { .. }
            | LedgerStep::Place(_)
            | LedgerStep::Waiting(_)
            | LedgerStep::Begun { .. }
            | LedgerStep::Launched { .. }
            | LedgerStep::CheckFiles { .. }
            | LedgerStep::Files { .. }
            | LedgerStep::Told { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::{Clean, Keep};
    use proptest::prelude::*;

    use super::*;

    fn word(text: &str) -> Clean<'static> {
        BUILT_IN.clean(text.to_string(), Keep::NAME)
    }

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(secs))
    }

    fn run(is_resumed: bool) -> LedgerStep {
        LedgerStep::Run {
            worker: Worker::COMMAND,
            token: word("t"),
            runner: None,
            is_resumed,
            layer: Box::default(),
            base: None,
        }
    }

    fn ended(counts: SpentIteration) -> LedgerStep {
        let open = OpenAttempt {
            iteration: 1,
            attempt: 1,
            is_launched: counts == SpentIteration::Spent,
            agent: None,
            guard: None,
        };
        LedgerStep::Ended(EndedAttempt { how: AttemptEnd::IterationEnd, tokens: 5, ..died(&open) })
    }

    /// The entries of a run with three iterations, the second in two attempts.
    fn whole() -> Vec<LedgerStep> {
        let attempt = |iteration: u32, number: u32, counts| {
            vec![
                LedgerStep::Begun { iteration, attempt: number },
                LedgerStep::Launched { iteration, attempt: number, agent: None, guard: None },
                LedgerStep::Session { id: word(&format!("s{iteration}-{number}")) },
                LedgerStep::Acknowledged { reboot: None },
                ended(counts),
            ]
        };
        let mut steps = vec![run(false)];
        steps.extend(attempt(1, 1, SpentIteration::Spent));
        steps.extend(attempt(2, 1, SpentIteration::Again));
        steps.extend(attempt(2, 2, SpentIteration::Spent));
        steps.extend(attempt(3, 1, SpentIteration::Spent));
        steps.push(LedgerStep::Stopped { class: LoopEnd::Limit, words: word("enough") });
        steps
    }

    fn entries(steps: Vec<LedgerStep>) -> Vec<LedgerEntry> {
        steps.into_iter().enumerate().map(|(n, step)| LedgerEntry { at: at(n as u64), run: 1, step }).collect()
    }

    #[test]
    fn attempts_at_one_iteration_are_merged() {
        let rows = iterations(&entries(whole()));
        let found: Vec<_> = rows.iter().map(|row| (row.iteration, row.attempts, row.session_id.as_deref())).collect();
        assert_eq!(found, [(1, 1, Some("s1-1")), (2, 2, Some("s2-2")), (3, 1, Some("s3-1"))]);
        assert_eq!(rows[1].tokens, Some(10));
        assert_eq!(rows[2].stop, Some((LoopEnd::Limit, "enough".to_string())));
        let state = latest_run(&entries(whole())).unwrap();
        assert_eq!((state.totals.spent, state.totals.tokens, state.open), (3, 20, None));
    }

    #[test]
    fn time_between_runners_does_not_count() {
        let mut entries = entries(vec![run(false), ended(SpentIteration::Spent)]);
        entries[1].at = at(100);
        entries.push(LedgerEntry { at: at(9_000), run: 1, step: run(true) });
        let state = latest_run(&entries).unwrap();
        assert_eq!(state.totals.elapsed(at(9_050)), Duration::from_secs(150));
    }

    #[test]
    fn neither_a_dead_runners_end_nor_a_clock_that_was_set_counts() {
        let begun = |iteration| LedgerStep::Begun { iteration, attempt: 1 };
        let launched = LedgerStep::Launched { iteration: 2, attempt: 1, agent: None, guard: None };
        let open = OpenAttempt { iteration: 2, attempt: 1, is_launched: true, agent: None, guard: None };
        // The guard starts when the clock was ahead by a day. The runner dies; another one goes on ten hours later, and
        // a third one after the clock was set back.
        let written = [
            (0, run(false)),
            (10, begun(1)),
            (90, ended(SpentIteration::Spent)),
            (100, begun(2)),
            (86_500, launched),
            (36_000, LedgerStep::Ended(died(&open))),
            (36_001, run(true)),
            (36_011, begun(3)),
            (1_000, run(true)),
        ];
        let entries: Vec<LedgerEntry> =
            written.into_iter().map(|(secs, step)| LedgerEntry { at: at(secs), run: 1, step }).collect();
        let state = latest_run(&entries).unwrap();
        assert_eq!(state.totals.elapsed(at(1_005)), Duration::from_secs(100 + 10 + 5));
        assert!(
            state.totals.starts.iter().all(|start| *start <= at(1_000)),
            "nothing waits for a start that is to come"
        );
    }

    proptest! {
        /// Killed after any entry and resumed, no iteration is lost and none is done twice.
        #[test]
        fn a_run_killed_anywhere_continues_where_it_was(cut in 1usize..22) {
            let steps: Vec<LedgerStep> = whole().into_iter().take(cut).collect();
            let is_over = matches!(steps.last(), Some(LedgerStep::Stopped { .. }));
            let mut entries = entries(steps);
            let found = latest_run(&entries).unwrap();
            entries.push(LedgerEntry { at: at(100), run: 1, step: run(true) });
            if let Some(open) = &found.open {
                entries.push(LedgerEntry { at: at(101), run: 1, step: LedgerStep::Ended(died(open)) });
            }
            let mut next = latest_run(&entries).unwrap();
            prop_assert!(next.open.is_none());
            // It continues with its third iteration.
            while !is_over && next.totals.spent < 3 {
                let (iteration, attempt) = (next.totals.iteration(), next.totals.attempts + 1);
                let step = LedgerStep::Begun { iteration, attempt };
                entries.push(LedgerEntry { at: at(200), run: 1, step });
                entries.push(LedgerEntry { at: at(201), run: 1, step: ended(SpentIteration::Spent) });
                next = latest_run(&entries).unwrap();
            }
            let rows = iterations(&entries);
            let numbers: Vec<u32> = rows.iter().map(|row| row.iteration).collect();
            prop_assert_eq!(numbers, vec![1, 2, 3]);
            prop_assert!(rows.iter().all(|row| row.ended_at.is_some()));
        }
    }
}
