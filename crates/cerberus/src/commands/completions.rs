use clap::CommandFactory;
use clap_complete::Shell;

use super::Arguments;
use crate::failure::{Hint, Result};

/// Print a completion script for your shell
///
/// For bash: cerberus completions bash > ~/.local/share/bash-completion/completions/cerberus
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "cerberus", &mut script);
        crate::render::block(String::from_utf8(script).hint("this is a bug; please report it")?.trim_end());
        Ok(())
    }
}
