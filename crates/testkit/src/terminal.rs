//! A program in its own terminal: captures its output and types input for it.
//!
//! The terminal is a pseudo-terminal pair; `setsid --ctty`, or on other systems a line of Python, makes it the program's
//! controlling terminal, so closing it sends SIGHUP like closing a window. The output is kept as it is; [`Terminal::screen`] renders it. A program that is
//! still running when its terminal is dropped is killed with its group.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};

use crate::process::{kill_group, wait_until};

/// What starts the words behind it in a session of their own, with their input as its terminal.
const IN_SESSION: &[&str] = match cfg!(target_os = "linux") {
    true => &["setsid", "--ctty"],
    false => &[
        "python3",
        "-c",
        "import os, sys, fcntl, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])",
    ],
};
/// Only some systems can open a terminal that no child gets that another test starts at that moment.
#[cfg(target_os = "linux")]
const OPEN_FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY);
/// Rows and columns, unless a test sets others.
const SIZE: (u16, u16) = (40, 120);
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// How long output may arrive after the program has ended.
const LAST_WORDS_MAX: Duration = Duration::from_secs(5);
/// Enables bracketed paste. A program prints this when it is ready for input.
const TAKES_KEYS: &str = "\x1b[?2004h";

/// A program and its terminal.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: Option<File>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    printed: Mutex<Vec<u8>>,
    is_closing: AtomicBool,
}

impl Terminal {
    /// Starts the command, whose environment must have been cleared, in a new terminal.
    pub fn spawn(command: &Command) -> io::Result<Terminal> {
        Terminal::spawn_sized(command, SIZE)
    }

    /// In a terminal of this many rows and columns.
    pub fn spawn_sized(command: &Command, size: (u16, u16)) -> io::Result<Terminal> {
        let main = openpt(OPEN_FLAGS)?;
        rustix::io::fcntl_setfd(&main, rustix::io::FdFlags::CLOEXEC)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        tcsetwinsize(&main, winsize(size))?;
        let name = ptsname(&main, Vec::new())?;
        let other = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let child = in_session(command, other)?.spawn()?;
        let (keyboard, screen) = (File::from(main.try_clone()?), File::from(main));
        let shared = Arc::new(Shared::default());
        let for_reader = Arc::clone(&shared);
        let reader = std::thread::spawn(move || keep(screen, &for_reader));
        Ok(Terminal { child, keyboard: Some(keyboard), shared, reader: Some(reader) })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The output so far, including control sequences.
    pub fn printed(&self) -> String {
        let printed = self.shared.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&printed).into_owned()
    }

    /// The output as a terminal shows it, if the program draws everything anew when its size changes.
    pub fn screen(&self) -> vt100::Screen {
        let size = self.keyboard.as_ref().and_then(|keyboard| tcgetwinsize(keyboard).ok());
        let (rows, columns) = size.map_or(SIZE, |size| (size.ws_row, size.ws_col));
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.shared.printed.lock().unwrap_or_else(PoisonError::into_inner));
        parser.screen().clone()
    }

    /// Waits until the screen shows this.
    pub fn wait_for_text(&self, text: &str, limit: Duration) -> Result<(), String> {
        let is_shown = || self.screen().contents().contains(text).then_some(());
        let late = |late: String| format!("{late}; the screen shows:\n{}", self.screen().contents());
        wait_until(&format!("{text:?} on the screen"), limit, is_shown).map_err(late)
    }

    /// Waits until nothing has been drawn for so long.
    pub fn wait_for_silence(&self, silence: Duration, limit: Duration) -> Result<(), String> {
        let (mut length, mut since) = (0, Instant::now());
        let is_silent = || {
            let now = self.printed().len();
            if now != length {
                (length, since) = (now, Instant::now());
            }
            (since.elapsed() >= silence).then_some(())
        };
        wait_until("silence", limit, is_silent).map_err(|late| self.told(&late))
    }

    pub fn resize(&self, size: (u16, u16)) -> io::Result<()> {
        match &self.keyboard {
            Some(keyboard) => Ok(tcsetwinsize(keyboard, winsize(size))?),
            None => Err(closed()),
        }
    }

    /// Whether keys reach the program one by one and unseen.
    pub fn is_raw(&self) -> io::Result<bool> {
        let Some(keyboard) = &self.keyboard else { return Err(closed()) };
        Ok(!tcgetattr(keyboard)?.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO))
    }

    /// Waits until the program reads keys.
    pub fn wait_for_keys(&self, limit: Duration) -> Result<(), String> {
        let takes_keys = || self.printed().contains(TAKES_KEYS).then_some(());
        wait_until("a terminal that takes keys", limit, takes_keys).map_err(|late| self.told(&late))
    }

    pub fn type_keys(&mut self, keys: &str) -> io::Result<()> {
        match &mut self.keyboard {
            Some(keyboard) => keyboard.write_all(keys.as_bytes()),
            None => Err(closed()),
        }
    }

    /// Types a line, then presses Enter until it is accepted: a program that is still drawing may miss a key.
    pub fn enter<T>(&mut self, line: &str, limit: Duration, taken: impl FnMut() -> Option<T>) -> Result<T, String> {
        self.type_keys(line).map_err(|error| error.to_string())?;
        self.press("\r", limit, taken).map_err(|late| format!("{line:?}: {late}"))
    }

    /// Presses a key until it is accepted.
    pub fn press<T>(&mut self, key: &str, limit: Duration, mut taken: impl FnMut() -> Option<T>) -> Result<T, String> {
        const PRESS_EVERY: Duration = Duration::from_millis(500);
        let tries = limit.as_millis() / PRESS_EVERY.as_millis();
        for _ in 0..tries {
            self.type_keys(key).map_err(|error| error.to_string())?;
            if let Ok(found) = wait_until("the key to be taken", PRESS_EVERY, &mut taken) {
                return Ok(found);
            }
        }
        Err(self.told(&format!("{key:?} was not taken within {limit:?}")))
    }

    /// Has the program exited?
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the program to end, and then for its last words.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus, String> {
        let child = &mut self.child;
        let ended = wait_until("the program to end", limit, || child.try_wait().ok().flatten());
        let ended = ended.map_err(|late| self.told(&late))?;
        let is_read = || self.reader.as_ref().is_none_or(JoinHandle::is_finished).then_some(());
        // Another program that it left running may keep the terminal open.
        let _ = wait_until("the output to end", LAST_WORDS_MAX, is_read);
        Ok(ended)
    }

    /// Closes the terminal under the program.
    pub fn close(&mut self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        self.keyboard = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }

    fn told(&self, what: &str) -> String {
        format!("{what}; the terminal shows: {}", self.printed().escape_debug())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = kill_group(self.pid());
            let _ = self.child.wait();
        }
        self.close();
    }
}

fn winsize((rows, columns): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the terminal is closed")
}

/// The same command as the leader of a new session with this controlling terminal.
fn in_session(command: &Command, terminal: OwnedFd) -> io::Result<Command> {
    let mut wrapped = Command::new(IN_SESSION[0]);
    wrapped.args(&IN_SESSION[1..]).arg(command.get_program()).args(command.get_args()).env_clear();
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    wrapped.current_dir(command.get_current_dir().unwrap_or(".".as_ref()));
    wrapped.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(Stdio::from(terminal));
    Ok(wrapped)
}

/// Collects output until the program ends or the terminal is closed. It must not block in a read, which would keep the
/// terminal open.
fn keep(mut screen: File, shared: &Shared) {
    let mut piece = [0; 4096];
    while !shared.is_closing.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(&screen, PollFlags::IN)];
        match poll(&mut waiting, Some(&LOOK_EVERY)) {
            Ok(0) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        // On Linux, a read fails when the last program has closed the terminal.
        let Ok(length @ 1..) = screen.read(&mut piece) else { return };
        shared.printed.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::LIMIT;

    fn sh(script: &str) -> Terminal {
        let mut command = Command::new("/bin/sh");
        command.env_clear().env("PATH", crate::scratch::SYSTEM_PATH).args(["-c", script]);
        Terminal::spawn(&command).unwrap()
    }

    #[test]
    fn a_program_has_a_terminal_and_reads_what_is_typed() {
        let mut terminal = sh(r#"test -t 0 && printf '\033[?2004h'; read word; echo "got $word"; test -e /dev/tty"#);
        terminal.wait_for_keys(LIMIT).unwrap();
        terminal.type_keys("ten\r").unwrap();
        assert!(terminal.wait(LIMIT).unwrap().success());
        wait_until("output", LIMIT, || terminal.printed().contains("got ten").then_some(())).unwrap();
        assert!(terminal.ended().is_some());
    }

    #[test]
    fn the_screen_is_what_a_terminal_shows() {
        let mut terminal = sh(r"stty -icanon -echo; printf 'gone\033[2J\033[H\033[7mleft\033[0m'; read key");
        terminal.wait_for_text("left", LIMIT).unwrap();
        let screen = terminal.screen();
        assert!(!screen.contents().contains("gone") && screen.cell(0, 0).unwrap().inverse());
        assert_eq!((screen.size(), terminal.is_raw().unwrap()), (SIZE, true));
        terminal.resize((24, 80)).unwrap();
        assert_eq!(terminal.screen().size(), (24, 80));
        terminal.type_keys("\n").unwrap();
        terminal.wait(LIMIT).unwrap();
    }

    #[test]
    fn closing_it_hangs_the_program_up() {
        // If the parent of the tests ignores the signal, a shell cannot trap it; the end of the input works as well.
        let mut terminal = sh("trap 'exit 7' HUP; printf '\\033[?2004h'; cat >/dev/null; exit 7");
        terminal.wait_for_keys(LIMIT).unwrap();
        terminal.close();
        assert_eq!(terminal.wait(LIMIT).unwrap().code(), Some(7));
        assert!(terminal.type_keys("x").is_err());
    }
}
