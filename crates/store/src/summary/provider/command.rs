//! Any program: the prompt on its standard input, the answer on its output.
//!
//! It runs in its own process group, which is ended afterwards in any case.

use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cerberus_os::output::{OutputError, read_until};
use cerberus_os::platform::{self, ProcessEnd};

use super::error::ProviderError;

/// Set for the program of the provider `command`, so that an agent that writes a summary is not captured as a session.
pub const SUMMARIZING: &str = "CERBERUS_SUMMARIZING";

const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// The interval for checking whether a program that closed its output has exited.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

pub fn ask(command: &[String], prompt: &str, limit: Duration) -> Result<String, ProviderError> {
    let deadline = Instant::now() + limit;
    let Some((program, arguments)) = command.split_first() else { return Err(ProviderError::NotSet("command")) };
    let mut command = Command::new(program);
    // An agent refuses to start inside one of its own sessions. This is not one, though it may have been started from
    // one.
    for name in cerberus_agents::nesting_variables() {
        command.env_remove(name);
    }
    command
        .args(arguments)
        // An agent must not find a project here, or anything to work on.
        .current_dir("/")
        .env(SUMMARIZING, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = platform::in_own_group(&mut command).spawn().map_err(ProviderError::NotRun)?;
    if let Some(mut input) = child.stdin.take() {
        // The prompt fits into a pipe. A program that does not read it can still answer.
        let _ = input.write_all(prompt.as_bytes());
    }
    let printed = read_until(&mut child, deadline, ANSWER_BYTES_MAX);
    let status = end(child, if printed.is_ok() { deadline } else { Instant::now() });
    match (printed, status) {
        (Err(OutputError::TooLong), _) => Err(ProviderError::Long),
        (Err(OutputError::TimedOut | OutputError::Broken), _) | (_, None) => Err(ProviderError::Late(limit)),
        (Ok(_), Some(status)) if !status.success() => Err(ProviderError::Failed(status)),
        (Ok(printed), Some(_)) => Ok(String::from_utf8_lossy(&printed).into_owned()),
    }
}

/// Waits for the program until the deadline, then ends what is left of its group. Returns its exit status if it exited
/// by itself.
fn end(mut child: Child, deadline: Instant) -> Option<ExitStatus> {
    let mut by_itself = platform::has_ended(&mut child);
    while !by_itself && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
        by_itself = platform::has_ended(&mut child);
    }
    platform::end_group(child.id(), ProcessEnd::Kill);
    child.wait().ok().filter(|_| by_itself)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<String, String> {
        let command = ["sh", "-c", script].map(str::to_string);
        ask(&command, "the prompt", limit).map_err(|error| error.to_string())
    }

    #[test]
    fn programs_answer_fail_or_are_ended() {
        let long = Duration::from_secs(600);
        let short = Duration::from_millis(30);
        assert_eq!(sh("cat", long).unwrap(), "the prompt");
        assert_eq!(sh("echo $CERBERUS_SUMMARIZING; pwd", long).unwrap(), "1\n/\n");
        assert_eq!(
            sh("exec 0<&-; echo said", long).unwrap(),
            "said\n",
            "a program that does not read its input can still answer"
        );
        for (script, limit, said) in [
            ("echo half; exit 3", long, "the command failed: exit status: 3"),
            ("sleep 600", short, "the provider did not answer within 0.03 s"),
            ("exec 1>&-; sleep 600", short, "the provider did not answer within 0.03 s"),
            ("yes", long, "the answer of the provider is too long"),
        ] {
            assert_eq!(sh(script, limit).unwrap_err(), said, "{script}");
        }
        let missing = ask(&["/nowhere/program".to_string()], "x", long).unwrap_err().to_string();
        assert!(missing.starts_with("the command cannot be run: No such file"), "{missing}");
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "whether a process runs is read from /proc")]
    fn what_a_program_left_running_is_ended_too() {
        let long = Duration::from_secs(600);
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!("sleep 6000 >/dev/null & echo $! > {}; echo said", pid.display());
        assert_eq!(sh(&script, long).unwrap(), "said\n");
        let pid = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        // It was sent SIGKILL; the system may take a moment to end it.
        let given_up = Instant::now() + long;
        while !is_gone() {
            assert!(Instant::now() < given_up, "processes it left behind are ended too");
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
