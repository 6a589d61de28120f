//! Windows.

use std::io::{self, Read};
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};

use super::{StandardStream, TerminalSize};

pub use signal_hook::consts::SIGINT;

/// The program that opens a file as the desktop would.
pub const OPENER: &str = "explorer";

const CHUNK_BYTES: usize = 64 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// There is no such limit.
pub fn survive_size_limit() {}

// Standard input

/// Standard input, read by a thread, so that nobody waits for ever.
pub struct Input(Receiver<io::Result<Vec<u8>>>);

impl Input {
    pub fn open() -> Input {
        let (send, chunks) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = io::stdin().lock().read(&mut chunk).map(|count| chunk[..count].to_vec());
                let is_last = read.as_ref().map_or(true, Vec::is_empty);
                if send.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        Input(chunks)
    }

    /// Appends what arrives to `bytes`. Returns 0 at the end of the input, `None` if nothing arrives in time.
    pub fn read(&mut self, bytes: &mut Vec<u8>, secs_max: u32) -> io::Result<Option<usize>> {
        match self.0.recv_timeout(Duration::from_secs(secs_max.into())) {
            Ok(chunk) => {
                let chunk = chunk?;
                bytes.extend_from_slice(&chunk);
                Ok(Some(chunk.len()))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Ok(Some(0)),
        }
    }
}

// Signals

/// Ctrl-C, caught from now on. It reaches every program of the console.
pub struct Signals(Arc<AtomicBool>);

impl Signals {
    pub fn catch() -> io::Result<Signals> {
        let asked = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGINT, Arc::clone(&asked))?;
        Ok(Signals(asked))
    }

    pub fn catch_all() -> io::Result<Signals> {
        Signals::catch()
    }

    /// Calls `heard` with every signal, until it returns false. Never returns otherwise.
    pub fn each(self, mut heard: impl FnMut(i32) -> bool) {
        loop {
            std::thread::sleep(LOOK_EVERY);
            if self.0.swap(false, Ordering::Relaxed) && !heard(SIGINT) {
                return;
            }
        }
    }
}

/// Ends this process as the signal would have done.
pub fn die(signal: i32) -> ! {
    exit(128 + signal)
}

/// A job cannot be suspended.
pub fn suspend() -> io::Result<()> {
    Ok(())
}

/// The console has sent the signal to the child already.
pub fn forward(_signal: i32, _child: u32) {}

/// Runs the program and ends with its exit code. Returns only if it cannot be started.
pub fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

// The terminal

pub fn terminal_size(_stream: StandardStream) -> Option<TerminalSize> {
    size().ok().map(|(columns, rows)| TerminalSize { columns, rows })
}

/// Waits for a key. Ctrl-C arrives as a character, so that it cannot interrupt in the middle of an action.
pub fn pressed_key() -> io::Result<char> {
    let _raw = Raw::set()?;
    loop {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        return Ok(match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => '\u{3}',
            KeyCode::Char('d') if key.modifiers.contains(KeyModifiers::CONTROL) => '\u{4}',
            KeyCode::Char(c) => c,
            KeyCode::Enter => '\r',
            KeyCode::Esc => '\u{1b}',
            _ => '?',
        });
    }
}

/// The terminal in raw mode, until this is dropped.
struct Raw;

impl Raw {
    fn set() -> io::Result<Raw> {
        enable_raw_mode().map(|()| Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
    }
}
