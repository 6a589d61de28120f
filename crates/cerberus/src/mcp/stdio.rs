//! Standard input and output, one message per line. Only requests are passed on.
//!
//! The SDK fails if a client sends anything but a request before initialization, such as a cancellation of an earlier
//! attempt. This server answers at once and asks the client nothing, so it can ignore all notifications. A line that is
//! longer than 16 MiB or is not JSON is skipped.

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
