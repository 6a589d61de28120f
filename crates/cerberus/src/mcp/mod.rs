//! `cerberus mcp`: what an agent may ask for by itself, over the Model Context Protocol on standard input and output.
//!
//! The official SDK speaks the protocol, in both its eras: sessions that begin with `initialize`, and requests that
//! carry everything themselves. Nothing else is written to standard output, nothing is listened to, and the end of
//! the input is the end of the server. This is the only part of the program with an async runtime; the engine is
//! called as by any command, one call at a time, in milliseconds.

mod server;
mod stdio;
mod tools;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use crate::context::Context;
use crate::failure::{Hint, Result};
use server::Server;
use stdio::Requests;

const REPORT: &str = "start it again; if it stays so, please report it";

/// Answers until the input ends.
pub fn serve(context: &Context) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().hint(REPORT)?;
    let served = runtime.block_on(async {
        match Server::new(context).serve(Requests::new()).await {
            Ok(running) => running.waiting().await.map(|_| ()).hint(REPORT),
            // A client that looks and leaves has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error).hint(REPORT),
        }
    });
    // A read of standard input cannot be called off; it must not keep us here.
    runtime.shutdown_background();
    served
}
