//! The runs of loops, with what they cost.

use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
#[cfg(feature = "loop")]
use cerberus_loop::history::Iteration;
use cerberus_record::time::Timestamp;

use super::shares::Sum;

/// One run of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedRun {
    pub project: String,
    pub number: u32,
    pub agent: String,
    pub started_at: Timestamp,
    pub contexts: usize,
    /// The time of the contexts that ended.
    pub duration: Duration,
    pub tokens: Sum,
    /// What it cost: as the agent said, or computed. `None` if that is unknown of every context.
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    /// Contexts of which the cost is unknown.
    pub without_cost: usize,
    /// The fullest context.
    pub peak_percent: Option<f64>,
    /// How it ended; `None` while it runs, or if its runner died.
    pub end: Option<&'static str>,
}

/// The runs of a project's iterations, oldest first.
#[cfg(feature = "loop")]
pub fn runs(project: &str, iterations: &[Iteration]) -> Vec<ReportedRun> {
    let mut runs: Vec<ReportedRun> = Vec::new();
    for iteration in iterations {
        if runs.last().is_none_or(|run| run.number != iteration.run) {
            runs.push(ReportedRun {
                project: project.to_string(),
                number: iteration.run,
                agent: iteration.worker.name().to_string(),
                started_at: iteration.started_at,
                contexts: 0,
                duration: Duration::ZERO,
                tokens: Sum::default(),
                cost_usd: None,
                priced_by: None,
                without_cost: 0,
                peak_percent: None,
                end: None,
            });
        }
        if let Some(run) = runs.last_mut() {
            run.add(iteration);
        }
    }
    runs
}

#[cfg(feature = "loop")]
impl ReportedRun {
    fn add(&mut self, iteration: &Iteration) {
        self.contexts += 1;
        self.duration += iteration.ended_at.map_or(Duration::ZERO, |end| end.since(iteration.started_at));
        self.tokens.add(iteration.tokens);
        match iteration.cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.without_cost += 1,
        }
        self.priced_by = PricedBy::and(self.priced_by.take(), iteration.priced_by.clone());
        self.peak_percent = match (self.peak_percent, iteration.fill_percent) {
            (Some(peak), Some(fill)) => Some(peak.max(fill)),
            (peak, fill) => peak.or(fill),
        };
        self.end = iteration.stop.as_ref().map(|(end, _)| end.word());
    }
}

#[cfg(feature = "loop")]
#[cfg(test)]
mod tests {
    use cerberus_loop::settings::Worker;
    use cerberus_record::session::LoopEnd;

    use super::*;

    fn iteration(run: u32, number: u32, cost_usd: Option<f64>, fill_percent: Option<f64>) -> Iteration {
        let at = |minute: u32| Timestamp::from_millis(i64::from(minute) * 60_000);
        Iteration {
            run,
            iteration: number,
            attempts: 1,
            worker: Worker::COMMAND,
            started_at: at(number * 10),
            ended_at: Some(at(number * 10 + 4)),
            session_id: None,
            fill_percent,
            certainty: None,
            priced_by: None,
            tokens: cost_usd.map(|_| 100),
            cost_usd,
            changed_files: None,
            how: None,
            failure: None,
            reboot: None,
            check: None,
            stop: (number == 2).then(|| (LoopEnd::Complete, String::new())),
        }
    }

    #[test]
    fn iterations_become_runs_and_unknown_cost_stays_unknown() {
        let found = runs(
            "hydra",
            &[iteration(1, 1, Some(0.5), Some(71.0)), iteration(1, 2, None, Some(30.0)), iteration(2, 1, None, None)],
        );
        assert_eq!(found.len(), 2);
        let (first, second) = (&found[0], &found[1]);
        assert_eq!(
            (first.contexts, first.duration.as_secs(), first.cost_usd, first.without_cost),
            (2, 480, Some(0.5), 1)
        );
        assert_eq!((first.peak_percent, first.end, first.tokens.value()), (Some(71.0), Some("complete"), Some(100)));
        assert_eq!((second.cost_usd, second.peak_percent, second.tokens.value(), second.end), (None, None, None, None));
    }
}
