use crate::context::Context;
use crate::failure::Result;

/// Go through the proposals, one key each
#[derive(clap::Args)]
pub struct Review {}

impl Review {
    pub fn run(self, _context: &Context) -> Result<()> {
        Ok(())
    }
}
