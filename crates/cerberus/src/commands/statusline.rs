use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cerberus_os::output::read_until;
use cerberus_store::brief::status_line::status_line;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Print a status line for an agent (agents call this, not people)
///
/// Reads the agent's state as JSON on standard input. Shows the project, what the session was told, what waits for
/// review, and how full the context is. Always exits 0. `cerberus install --statusline` sets it up.
#[derive(clap::Args)]
pub struct StatusLineArgs {
    /// Also run this shell command with the same input, and print its output first
    #[arg(long, value_name = "COMMAND")]
    wrap: Option<String>,
}

const INPUT_BYTES_MAX: u64 = 1024 * 1024;

/// The user's own status line gets this long, and may print this much.
const WRAPPED_MAX: Duration = Duration::from_secs(5);
const WRAPPED_BYTES_MAX: usize = 64 * 1024;

impl StatusLineArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut input = Vec::new();
        let _ = std::io::stdin().take(INPUT_BYTES_MAX).read_to_end(&mut input);
        if let Some(wrapped) = self.wrap.and_then(|command| run_wrapped(&command, &input)) {
            render::own_output(wrapped.trim_ascii_end());
            render::own_output(b"\n");
        }
        let line = match cerberus_agents::read_status(&input) {
            _ if context.home.unsafe_home().is_some() => {
                "cerberus: nothing is stored; run `cerberus doctor`".to_string()
            }
            Some((agent, status)) => status_line(&context.home, &context.clock, agent, &status),
            None => "cerberus: the agent did not describe its session".to_string(),
        };
        context.answer(&json!({"text": line}), || render::line(&line))
    }
}

/// What the user's own command prints. It is ended if it takes too long.
fn run_wrapped(command: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shell.spawn().ok()?;
    // The input is smaller than a pipe's buffer in practice; a command that does not read it must not block us.
    let writer = child.stdin.take().map(|mut pipe| {
        let input = input.to_vec();
        std::thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let printed = read_until(&mut child, Instant::now() + WRAPPED_MAX, WRAPPED_BYTES_MAX);
    let _ = child.kill();
    let _ = child.wait();
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    printed.ok().filter(|printed| !printed.trim_ascii().is_empty())
}
