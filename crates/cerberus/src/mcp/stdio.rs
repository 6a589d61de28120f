//! Standard input and output, one message a line. Only requests come in.
//!
//! The SDK gives up when a client says anything but a request before it has begun, such as that a first try is
//! cancelled. Nothing that a client could notify of concerns a server that answers at once and asks nothing.
//! A line of more than 16 MiB is skipped, and so is one that is no JSON; the next is read all the same.

use std::io;

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{Stdin, Stdout};

pub struct Requests {
    lines: AsyncRwTransport<RoleServer, Stdin, Stdout>,
}

impl Requests {
    pub fn new() -> Requests {
        Requests { lines: AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout()) }
    }
}

impl Transport<RoleServer> for Requests {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.lines.receive().await?;
            if matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await
    }
}
