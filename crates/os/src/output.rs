//! Reads what a child process prints, within limits of time and size. The caller ends the child.

use std::process::Child;
use std::time::Instant;

use super::platform;
pub use super::platform::OutputError;

/// Reads everything the child prints until it closes its output.
pub fn read_until(child: &mut Child, deadline: Instant, bytes_max: usize) -> Result<Vec<u8>, OutputError> {
    platform::read_output(child.stdout.take().ok_or(OutputError::Broken)?, deadline, bytes_max)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn silent_and_endless_output_is_cut_off() {
        let long = Duration::from_secs(600);
        // `exec`, so that the child to be killed is the program itself and not a shell that leaves it behind.
        for (script, limit, read) in [
            ("printf done", long, Ok(b"done".to_vec())),
            ("exec sleep 600", Duration::from_millis(5), Err(OutputError::TimedOut)),
            ("exec yes", long, Err(OutputError::TooLong)),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
            assert_eq!(read_until(&mut child, Instant::now() + limit, 1000), read, "{script}");
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
}
