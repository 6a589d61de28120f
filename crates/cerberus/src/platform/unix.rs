//! Linux, macOS and other Unix systems.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_current_process_group, kill_process};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::emulate_default_handler;

use super::{StandardStream, TerminalSize};

pub use signal_hook::consts::SIGINT;

/// The program that opens a file as the desktop would.
pub const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// With a limit on the size of files (`ulimit -f`), a write must fail like on a full disk, not kill the process.
pub fn survive_size_limit() {
    if getrlimit(Resource::Fsize).current.is_some() {
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

// Standard input

/// Standard input, read without waiting for ever.
pub struct Input(BorrowedFd<'static>);

impl Input {
    pub fn open() -> Input {
        Input(rustix::stdio::stdin())
    }

    /// Reads what arrives into the free capacity of `bytes`. Returns 0 at the end of the input, `None` if nothing
    /// arrives in time.
    pub fn read(&mut self, bytes: &mut Vec<u8>, secs_max: u32) -> io::Result<Option<usize>> {
        let limit = Timespec { tv_sec: i64::from(secs_max), tv_nsec: 0 };
        loop {
            // An error is reported by the read that follows.
            if let Ok(0) = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit)) {
                return Ok(None);
            }
            match rustix::io::read(self.0, spare_capacity(bytes)) {
                Err(Errno::INTR) => {}
                read => return Ok(Some(read?)),
            }
        }
    }
}

// Signals

/// The signals that ask a program to end, caught from now on.
pub struct Signals(signal_hook::iterator::Signals);

impl Signals {
    pub fn catch() -> io::Result<Signals> {
        let hangup = (!is_deaf_to_hangups()).then_some(SIGHUP);
        Ok(Signals(signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))?))
    }

    /// Also the one that asks for a memory dump, for the screen: its terminal must be restored in any case.
    pub fn catch_all() -> io::Result<Signals> {
        Ok(Signals(signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?))
    }

    /// Calls `heard` with every signal, until it returns false. Never returns otherwise.
    pub fn each(mut self, mut heard: impl FnMut(i32) -> bool) {
        for signal in self.0.forever() {
            if !heard(signal) {
                return;
            }
        }
    }
}

/// Whether who started this program had it ignore that its terminal closes, as `nohup` does. Only Linux says so.
fn is_deaf_to_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

/// Ends this process as the signal would have done.
pub fn die(signal: i32) -> ! {
    let _ = emulate_default_handler(signal);
    exit(128 + signal)
}

/// Stops this process until the user continues its job.
pub fn suspend() -> io::Result<()> {
    Ok(kill_current_process_group(Signal::TSTP)?)
}

/// Sends a caught signal on to a child.
pub fn forward(signal: i32, child: u32) {
    let signal = match signal {
        SIGINT => Signal::INT,
        SIGHUP => Signal::HUP,
        _ => Signal::TERM,
    };
    if let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        let _ = kill_process(child, signal);
    }
}

/// Becomes the program. Returns only if that fails.
pub fn become_program(command: &mut Command) -> io::Error {
    command.exec()
}

// The terminal

pub fn terminal_size(stream: StandardStream) -> Option<TerminalSize> {
    let size = match stream {
        StandardStream::Output => tcgetwinsize(rustix::stdio::stdout()),
        StandardStream::Error => tcgetwinsize(rustix::stdio::stderr()),
    };
    size.ok().map(|size| TerminalSize { columns: size.ws_col, rows: size.ws_row })
}

/// Waits for a key. Ctrl-C arrives as a character, so that it cannot interrupt in the middle of an action.
pub fn pressed_key() -> io::Result<char> {
    let input = rustix::stdio::stdin();
    let _raw = Raw::set(input)?;
    let Some(first) = byte(input)? else { return Ok('\u{4}') };
    if first == ESCAPE && has_more(input) {
        skip_sequence(input)?;
        return Ok('?');
    }
    Ok(char::from(first))
}

fn byte(input: BorrowedFd<'_>) -> io::Result<Option<u8>> {
    let mut byte = [0; 1];
    let count = rustix::io::read(input, &mut byte)?;
    Ok((count > 0).then_some(byte[0]))
}

/// Arrow and function keys are ignored: reads the rest of the escape sequence, and no further.
fn skip_sequence(input: BorrowedFd<'_>) -> io::Result<()> {
    if !matches!(byte(input)?, Some(b'[' | b'O')) {
        return Ok(());
    }
    while has_more(input) && !matches!(byte(input)?, None | Some(b'@'..=b'~')) {}
    Ok(())
}

const ESCAPE: u8 = 0x1b;

fn has_more(input: BorrowedFd<'_>) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// The terminal in raw mode, until this is dropped.
struct Raw<'a> {
    input: BorrowedFd<'a>,
    before: Termios,
}

impl<'a> Raw<'a> {
    fn set(input: BorrowedFd<'a>) -> io::Result<Raw<'a>> {
        let before = tcgetattr(input)?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(input, OptionalActions::Drain, &raw)?;
        Ok(Raw { input, before })
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.input, OptionalActions::Drain, &self.before);
    }
}
