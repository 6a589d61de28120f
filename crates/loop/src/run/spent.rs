//! What an attempt spent and said, read from what it left: its output, and the agent's own session file. Needed when its
//! runner died and nobody counted or listened.

use std::io::Read;

use cerberus_agents::install::Profile;
use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::meter::{Measure, Meter, Windows};
use cerberus_os::home::Access;

use super::job::Job;
use super::ledger::{AttemptNumber, LoopLedger};
use super::tail::Tail;
use crate::handoff::messages::AgentMessages;
use crate::history::{OpenAttempt, RunState};

/// An attempt's output is cut at less than this.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is left of an attempt that has no end in the ledger.
pub struct AttemptRemains {
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    pub heard: AgentMessages,
}

pub fn of_open_attempt(job: &Job, ledger: &LoopLedger, run_state: &RunState, open: &OpenAttempt) -> AttemptRemains {
    let worker = run_state.worker;
    let measure = if worker.headless().is_some() { Measure::Usage } else { Measure::Output };
    let mut meter = Meter::new(measure, Windows::default(), None).with_prices(job.prices.clone());
    let number = AttemptNumber { run: run_state.run, iteration: open.iteration, attempt: open.attempt };
    let (mut bytes, mut heard) = (Vec::new(), AgentMessages::default());
    let _ = job
        .home
        .open(&ledger.output_path(number), Access::Read)
        .and_then(|file| file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes));
    for said in bytes.split(|byte| *byte == b'\n').flat_map(|line| worker.read(line)) {
        meter.observe(&said);
        heard.add(job.home.cleaner(), &said);
        heard.follow(job.home.cleaner(), &said, None);
    }
    let session_file = Profile::of(worker.agent()).and_then(|profile| profile.session_file);
    if let (Some(file), Some(dir), Some(session)) = (session_file, &job.agent_dir, run_state.sessions.last())
        && let Some(path) = (file.find)(dir, session)
    {
        Tail::new(path, file.read).read_new().iter().for_each(|said| meter.observe(said));
    }
    let (tokens, cost_usd) = meter.spent();
    AttemptRemains { tokens, cost_usd, priced_by: meter.priced_by(), heard }
}
