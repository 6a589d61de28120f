use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::health_check::{HealthCheck, bad, good};
use crate::context::Context;
use crate::render;

/// Enough for a meaningful median, few enough to be quick.
const RUNS: usize = 11;

/// An agent waits this long at every step. A longer wait would be noticeable.
const FASTEST_MAX: Duration = Duration::from_millis(50);

/// How long a hook takes on this machine, measured in a temporary home.
pub fn check(context: &Context) -> HealthCheck {
    match measure(context) {
        Err(error) => bad("hook", format!("could not be started: {error}"), "reinstall the binary"),
        Ok((fastest, median)) => {
            let detail = format!("{:.1} ms (median of {RUNS})", median.as_secs_f64() * 1000.0);
            // A busy machine makes some runs slow; only a slow disk makes all of them slow.
            match fastest <= FASTEST_MAX {
                true => good("hook", detail),
                false => bad("hook", detail, "put CERBERUS_HOME on a local disk"),
            }
        }
    }
}

/// The fastest run and the median.
fn measure(context: &Context) -> std::io::Result<(Duration, Duration)> {
    let scratch = scratch(context)?;
    let mut taken = Vec::with_capacity(RUNS);
    for run in 0..RUNS {
        let payload = json!({"session_id": "doctor", "cwd": render::path(&context.cwd), "hook_event_name": "PostToolUse",
            "tool_name": "Bash", "tool_use_id": format!("doctor-{run}"), "tool_input": {"command": "true"}});
        let begun = Instant::now();
        let mut child = Command::new(std::env::current_exe()?)
            .args(["hook", "claude-code"])
            .env("CERBERUS_HOME", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(payload.to_string().as_bytes())?;
        }
        child.wait()?;
        taken.push(begun.elapsed());
    }
    taken.sort();
    let at = |index: usize| taken.get(index).copied().unwrap_or_default();
    Ok((at(0), at(RUNS / 2)))
}

/// On the disk of the real home, if that exists.
fn scratch(context: &Context) -> std::io::Result<TempDir> {
    let named = |dir: &std::path::Path| tempfile::Builder::new().prefix("doctor-").tempdir_in(dir);
    named(context.home.root()).or_else(|_| named(&std::env::temp_dir()))
}
