//! The ledger of the loop that a command is about.

use cerberus_loop::run::ledger::LoopLedger;

use crate::context::Context;

/// That of this project.
pub(super) fn ledger(context: &Context) -> LoopLedger {
    LoopLedger::at(&context.home, &context.located())
}
