use crate::context::Context;
use crate::failure::Result;
use crate::mcp;

/// Serve the brief, sessions and memories to any agent over the Model Context Protocol (stdio)
///
/// Agents start the server themselves once it is registered, for example with `claude mcp add cerberus -- cerberus
/// mcp`. It works without hooks, serves the project of the folder it is started in (or --cwd), and exits when its input
/// ends.
#[derive(clap::Args)]
pub struct McpArgs {}

impl McpArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        mcp::serve(context)
    }
}
