use std::ffi::OsString;

use cerberus_loop::run::guard::{self, Launch, Note};
use cerberus_loop::run::ledger::{Ledger, Number};

use crate::context::Context;
use crate::failure::Result;

/// Run one program of a loop so that none of its processes outlives the runner (used by `loop run`)
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Guard {
    /// The folder of the ledger
    #[arg(long, value_name = "NAME")]
    ledger: Option<String>,

    /// Run, iteration and attempt
    #[arg(long, value_name = "N-N-N", value_parser = number)]
    attempt: Option<Number>,

    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

fn number(text: &str) -> std::result::Result<Number, String> {
    let numbers: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [run, iteration, attempt] => Ok(Number { run, iteration, attempt }),
        _ => Err("expected three numbers".to_string()),
    }
}

impl Guard {
    /// Does not return: exits with the program's exit code.
    pub fn run(self, context: &Context) -> Result<()> {
        let mut command = self.command.into_iter();
        let ledger = self.ledger.and_then(|name| Ledger::named(&context.home, &name));
        let note = ledger.zip(self.attempt).map(|(ledger, number)| Note { ledger, number });
        let launch = Launch { program: command.next().unwrap_or_default(), args: command.collect(), note };
        std::process::exit(guard::run(&launch))
    }
}
