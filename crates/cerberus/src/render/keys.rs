//! Reads single keys from a terminal as they are pressed, and always restores the terminal's mode.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Waits for a key. Ctrl-C arrives as a character, so that it cannot interrupt in the middle of an action.
pub fn pressed() -> io::Result<char> {
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
