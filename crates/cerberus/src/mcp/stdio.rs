//! Standard input and output, one message per line. Only requests are passed on.
//!
//! The SDK fails if a client sends anything but a request before initialization, such as a cancellation of an earlier
//! attempt. This server answers at once and asks the client nothing, so it can ignore all notifications. A line that is
//! longer than 16 MiB or is not JSON is skipped.

use std::io;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncWrite, Stdin};

pub struct Requests {
    lines: AsyncRwTransport<RoleServer, Stdin, StdioOutput>,
}

impl Requests {
    pub fn new() -> Requests {
        Requests { lines: AsyncRwTransport::new_server(tokio::io::stdin(), StdioOutput) }
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

/// Standard output, written without waiting for another turn. The SDK drops what it is doing with a line when something
/// else happens; an answer that waited to be written would be lost.
struct StdioOutput;

impl AsyncWrite for StdioOutput {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(io::stdout().lock().write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(io::stdout().lock().flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
