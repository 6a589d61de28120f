//! A run in a few words: how long it took, what it cost, and what went wrong on the way.

use cerberus_agents::meter::price::PricedBy;
use std::time::Duration;

use super::history::Iteration;
use super::totals::AttemptEnd;

/// The sums over the iterations of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSums {
    pub iterations: usize,
    pub took: Duration,
    pub tokens: u64,
    /// `None` if no iteration reports its cost.
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    /// What happened, with how often, the most important first.
    pub events: Vec<(&'static str, usize)>,
}

pub fn of(rows: &[Iteration]) -> RunSums {
    let count = |is_it: &dyn Fn(&Iteration) -> bool| rows.iter().filter(|row| is_it(row)).count();
    let how = |how: AttemptEnd| move |row: &Iteration| row.how == Some(how);
    let refused = |row: &Iteration| row.check.as_ref().is_some_and(|check| check.claimed && !check.passed);
    let changed = |row: &Iteration| row.check.as_ref().is_some_and(|check| !check.changed.is_empty());
    let repeated: usize = rows.iter().map(|row| row.attempts.saturating_sub(1) as usize).sum();
    let events = [
        ("refused completion", count(&refused)),
        ("changed check", count(&changed)),
        ("failure", count(&how(AttemptEnd::Failure))),
        ("stall", count(&how(AttemptEnd::Stall))),
        ("repeated attempt", repeated),
        ("soft redline", count(&how(AttemptEnd::SoftRedline))),
        ("hard redline", count(&how(AttemptEnd::HardRedline))),
    ];
    let (first, last) = (rows.first().map(|row| row.started_at), rows.iter().filter_map(|row| row.ended_at).max());
    let costs: Vec<f64> = rows.iter().filter_map(|row| row.cost_usd).collect();
    RunSums {
        iterations: rows.len(),
        took: first.zip(last).map_or(Duration::ZERO, |(first, last)| last.since(first)),
        tokens: rows.iter().filter_map(|row| row.tokens).sum(),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
        priced_by: rows.iter().fold(None, |sum, row| PricedBy::and(sum, row.priced_by.clone())),
        events: events.into_iter().filter(|(_, count)| *count > 0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::time::Timestamp;

    use super::*;
    use crate::check_result::CheckResult;
    use crate::completion::CompletionCheck;
    use crate::settings::Worker;

    #[test]
    fn a_night_is_summed_up() {
        let failed = CompletionCheck::Failed { words: "exit 1".to_string() };
        let row = |number: u32, how, is_refused: bool, cost_usd| Iteration {
            run: 1,
            iteration: number,
            attempts: number,
            worker: Worker::COMMAND,
            started_at: Timestamp::from_millis(i64::from(number) * 60_000),
            ended_at: Some(Timestamp::from_millis(i64::from(number) * 60_000 + 30_000)),
            session_id: None,
            fill_percent: None,
            certainty: None,
            priced_by: None,
            tokens: Some(100),
            cost_usd,
            changed_files: None,
            how: Some(how),
            failure: None,
            reboot: None,
            check: is_refused.then(|| CheckResult::new(&BUILT_IN, "x", &failed, "", true, &["c".to_string()])),
            stop: None,
        };
        let rows = [row(1, AttemptEnd::IterationEnd, true, None), row(2, AttemptEnd::Failure, false, Some(0.5))];
        let morning = of(&rows);
        assert_eq!((morning.iterations, morning.took.as_secs(), morning.tokens), (2, 90, 200));
        assert_eq!(morning.cost_usd, Some(0.5));
        let events = [("refused completion", 1), ("changed check", 1), ("failure", 1), ("repeated attempt", 1)];
        assert_eq!(morning.events, events);
        assert_eq!(of(&[]), RunSums::default());
    }
}
