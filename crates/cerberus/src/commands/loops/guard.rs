use std::ffi::OsString;

use cerberus_loop::run::guard::{self, GuardLaunch, GuardNote};
use cerberus_loop::run::ledger::{AttemptNumber, LoopLedger};

use crate::context::Context;
use crate::failure::Result;

/// Run one program of a loop so that none of its processes outlives the runner (used by `loop run`)
#[derive(clap::Args)]
#[command(hide = true)]
pub struct LoopGuardArgs {
    /// The folder of the ledger
    #[arg(long, value_name = "NAME")]
    ledger: Option<String>,

    /// Run, iteration and attempt
    #[arg(long, value_name = "N-N-N", value_parser = number)]
    attempt: Option<AttemptNumber>,

    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

fn number(text: &str) -> std::result::Result<AttemptNumber, String> {
    let numbers: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [run, iteration, attempt] => Ok(AttemptNumber { run, iteration, attempt }),
        _ => Err("expected three numbers".to_string()),
    }
}

impl LoopGuardArgs {
    /// Does not return: exits with the program's exit code.
    pub fn run(self, context: &Context) -> Result<()> {
        let mut command = self.command.into_iter();
        let ledger = self.ledger.and_then(|name| LoopLedger::named(&context.home, &name));
        let note = ledger.zip(self.attempt).map(|(ledger, number)| GuardNote { ledger, number });
        let launch = GuardLaunch { program: command.next().unwrap_or_default(), args: command.collect(), note };
        std::process::exit(guard::run(&launch))
    }
}
