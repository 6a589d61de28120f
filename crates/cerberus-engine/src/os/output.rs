//! Reads what a child process prints, within limits of time and size. The caller ends the child.

use std::io::Read;
use std::process::Child;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Why the output is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputError {
    TimedOut,
    TooLong,
    Broken,
}

/// Reads everything the child prints until it closes its output.
pub fn read_until(child: &mut Child, deadline: Instant, bytes_max: usize) -> Result<Vec<u8>, OutputError> {
    let mut output = child.stdout.take().ok_or(OutputError::Broken)?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 64 * 1024];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or(OutputError::TimedOut)?;
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Err(OutputError::TimedOut),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Err(OutputError::Broken),
            Ok(_) => {}
        }
        match output.read(&mut chunk).map_err(|_| OutputError::Broken)? {
            0 => return Ok(bytes),
            _ if bytes.len() > bytes_max => return Err(OutputError::TooLong),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

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
