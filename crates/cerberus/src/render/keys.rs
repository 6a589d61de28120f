//! Single keys from a terminal, as they are pressed. The terminal is given back as it was, whatever happens.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Waits for a key. Control-C arrives as a character, so that nothing is left half said.
pub fn pressed() -> io::Result<char> {
    let input = rustix::stdio::stdin();
    let _raw = Raw::set(input)?;
    let mut byte = [0; 1];
    if rustix::io::read(input, &mut byte)? == 0 {
        return Ok('\u{4}');
    }
    if byte[0] == ESCAPE && has_more(input) {
        // An arrow or a function key: its whole name is read, and it means nothing here.
        let mut name = [0; 16];
        rustix::io::read(input, &mut name)?;
        return Ok('?');
    }
    Ok(char::from(byte[0]))
}

const ESCAPE: u8 = 0x1b;

fn has_more(input: BorrowedFd<'_>) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// A terminal that gives each key at once, for as long as this lives.
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
