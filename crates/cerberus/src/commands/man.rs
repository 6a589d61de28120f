use anyhow::anyhow;
use clap::CommandFactory;
use clap_mangen::Man;

use super::Arguments;
use crate::failure::{Hint, Result};
use crate::render;

/// Print the manual page of cerberus, or of one command
///
/// To read it: cerberus man | man -l -. To install it: cerberus man > ~/.local/share/man/man1/cerberus.1
#[derive(clap::Args)]
pub struct ManPage {
    /// The command, for example: memory search
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl ManPage {
    pub fn run(self) -> Result<()> {
        let mut program = Arguments::command();
        program.build();
        let mut command = &program;
        for name in &self.command {
            let missing = || anyhow!("there is no command {name:?}");
            command = command.find_subcommand(name).ok_or_else(missing).hint("`cerberus --help` lists the commands")?;
        }
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page).hint("this is a bug; please report it")?;
        render::block(String::from_utf8(page).hint("this is a bug; please report it")?.trim_end());
        Ok(())
    }
}
