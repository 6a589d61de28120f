use crate::context::Context;
use crate::failure::Result;
use crate::mcp;

/// Serve the brief, the session and memories to any agent, over the Model Context Protocol on standard input and output
///
/// Agents start this by themselves once it is registered: `claude mcp add cerberus -- cerberus mcp`. It needs no hooks,
/// serves the project of the folder it is started in (or --cwd), and ends when its input does.
#[derive(clap::Args)]
pub struct Mcp {}

impl Mcp {
    pub fn run(self, context: &Context) -> Result<()> {
        mcp::serve(context)
    }
}
