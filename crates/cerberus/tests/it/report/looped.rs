//! Runs of a loop for the report, as their ledger holds them.

use cerberus_agents::meter::price::PricedBy;
use cerberus_loop::entry::{LedgerEntry, LedgerStep};
use cerberus_loop::run::ledger::LoopLedger;
use cerberus_loop::settings::Worker;
use cerberus_loop::totals::{AttemptEnd, EndedAttempt, LoopProgress, SpentIteration};
use cerberus_os::home::Home;
use cerberus_record::clean::text::Clean;
use cerberus_record::session::LoopEnd;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity;
use cerberus_testkit::env::{START, TestEnv};

use super::made::DAY;

/// Two runs of a loop: one with costs, of which one was computed without a price, and one without costs.
pub fn looped(env: &TestEnv) {
    let ledger = LoopLedger::new(&Home::new(env.home()), &identity::locate(&env.project()).project);
    let begun = Timestamp::parse(START).unwrap().millis() - 3 * DAY;
    for (run, costs) in [(1, [Some(2.31), Some(0.87)]), (2, [None, None])] {
        let mut minute = i64::from(run) * 120;
        let mut append = |minutes: i64, step: LedgerStep| {
            minute += minutes;
            ledger.append(&LedgerEntry { at: Timestamp::from_millis(begun + minute * 60_000), run, step }).unwrap();
        };
        let (worker, layer) = (Worker::all().next().unwrap(), Box::default());
        append(
            0,
            LedgerStep::Run { worker, token: Clean::word("t"), runner: None, is_resumed: false, layer, base: None },
        );
        for (number, cost_usd) in (1..).zip(costs) {
            append(0, LedgerStep::Begun { iteration: number, attempt: 1 });
            append(
                18,
                LedgerStep::Ended(EndedAttempt {
                    how: AttemptEnd::SoftRedline,
                    counts: SpentIteration::Spent,
                    progress: LoopProgress::Made,
                    claimed: false,
                    failure: None,
                    tokens: if cost_usd.is_some() { 1_900_000 } else { 0 },
                    cost_usd,
                    fill_percent: cost_usd.map(|_| 71.0),
                    certainty: None,
                    priced_by: (number == 2 && cost_usd.is_some())
                        .then(|| PricedBy { date: "2026-11-16".to_string(), unknown: vec!["claude-next".to_string()] }),
                }),
            );
        }
        append(0, LedgerStep::Stopped { class: LoopEnd::Complete, words: Clean::word("done") });
    }
}
