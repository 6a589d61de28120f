//! `cerberus mcp`: an MCP server on standard input and output.
//!
//! The official SDK implements the protocol in both its forms: sessions that begin with `initialize`, and
//! self-contained requests. Nothing else is written to standard output, no port is opened, and the server exits when
//! its input ends. This is the only part of the program with an async runtime. It calls the engine like any command,
//! one call at a time.

mod server;
mod stdio;
mod tools;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use server::Server;
use stdio::Requests;

use crate::context::Context;
use crate::failure::{Hint, Result};

const REPORT: &str = "start it again; if the problem persists, please report it";

#[cfg(test)]
pub fn tool_names() -> Vec<String> {
    tools::all().iter().map(|offer| offer.tool.name.to_string()).collect()
}

/// Answers until the input ends.
pub fn serve(context: &Context) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().hint(REPORT)?;
    let served = runtime.block_on(async {
        match Server::new(context).serve(Requests::new()).await {
            Ok(running) => running.waiting().await.map(|_| ()).hint(REPORT),
            // A client may connect and leave; that is not an error.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error).hint(REPORT),
        }
    });
    // A pending read of standard input cannot be cancelled and must not delay the exit.
    runtime.shutdown_background();
    served
}
