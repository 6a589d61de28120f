//! `cerberus mcp`: an MCP server on standard input and output.
//!
//! Requests are answered one at a time, in the order in which they come, by the functions that commands call. Nothing
//! else is written to standard output, no port is opened, and the server exits when its input ends.
//!
//! `lines` reads and writes messages, `protocol` decides in which form a request is answered, `server` answers it.

mod lines;
mod protocol;
mod server;
mod tools;

use std::io;

use lines::Lines;
use serde_json::Value;
use server::Server;

use crate::context::Context;
use crate::failure::{Hint, Result};

#[cfg(test)]
pub fn tool_names() -> Vec<String> {
    tools::all().iter().map(|offer| offer.name.to_string()).collect()
}

/// Answers until the input ends, or until nobody reads the answers.
pub fn serve(context: &Context) -> Result<()> {
    let mut server = Server::new(context);
    let mut lines = Lines::new(io::stdin().lock());
    while let Some(message) = lines.next().hint("start it again")? {
        let Some(answer) = protocol::answer(&mut server, message) else { continue };
        if !write(&answer).hint("start it again")? {
            break;
        }
    }
    Ok(())
}

/// Whether somebody reads what was written.
fn write(answer: &Value) -> io::Result<bool> {
    match lines::write(&mut io::stdout().lock(), answer) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}
