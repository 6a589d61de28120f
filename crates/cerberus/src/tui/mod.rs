//! The screen that `cerberus` alone opens on a terminal. Hooks and commands initialize nothing of it.
//!
//! `ScreenState` is what is shown, `update` is what a key does to it, `draw` makes lines of it; all three are pure.
//! `source.rs` reads and changes what lies behind, `terminal.rs` owns the terminal, and this file is the loop around
//! them. There is no async code: one thread waits for keys, one for signals, and this one does everything else.

mod draw;
mod filter;
mod frame;
mod loop_runs;
mod source;
mod state;
mod terminal;
#[cfg(feature = "loop")]
#[cfg(test)]
mod tests;
mod update;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crossterm::terminal::size;

use self::source::ScreenSource;
use self::state::{ScreenEffect, ScreenState};
use self::terminal::{TerminalEvent, TerminalScreen};
use self::update::{KeyPress, update};
use crate::commands::resume::ResumeArgs;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render::style;

/// How often the view is looked at again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

const NO_SCREEN: &str = "`cerberus log` lists the sessions, `cerberus --help` the commands";

/// Whether somebody sees the screen and can press keys. On a terminal that does not know its size, nothing can be drawn.
pub fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let has_size = || matches!(size(), Ok((1.., 1..)));
    !is_dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && has_size()
}

/// Shows the screen until the user leaves it. If they resume a session, its agent replaces this process.
pub fn run(context: &Context) -> Result<()> {
    let mut source = ScreenSource::open(context)?;
    let style::Screen { is_colored, is_utf8, .. } = style::Screen::of_stdout();
    let mut state = ScreenState::new(source.local(), source.here()?, is_utf8, is_colored);
    source.read_newest(&mut state)?;
    let mut screen = TerminalScreen::open().hint(NO_SCREEN)?;
    let left = show(&mut screen, &mut source, state);
    drop(screen);
    match left? {
        Some(session) => ResumeArgs::of(session).run(context),
        None => Ok(()),
    }
}

/// Returns the id of the session that the user wants to resume.
fn show(screen: &mut TerminalScreen, source: &mut ScreenSource, mut state: ScreenState) -> Result<Option<String>> {
    screen.draw(&state).hint(NO_SCREEN)?;
    // The first frame shows what is known at once; finding out what became of open sessions may take longer.
    source.catch_up(&mut state)?;
    let mut looked = Instant::now();
    loop {
        source.complete(&mut state);
        screen.draw(&state).hint(NO_SCREEN)?;
        match screen.next(LOOK_EVERY.saturating_sub(looked.elapsed())) {
            Some(TerminalEvent::Key(key)) => {
                let keys: Vec<KeyPress> = std::iter::once(key).chain(screen.waiting_keys()).collect();
                for key in keys {
                    let (next, effect) = update(state, key);
                    state = next;
                    match effect {
                        None => {}
                        Some(ScreenEffect::Quit) => return Ok(None),
                        Some(ScreenEffect::Resume(session)) => return Ok(Some(session)),
                        Some(ScreenEffect::Suspend) => screen.suspend().hint(NO_SCREEN)?,
                        Some(effect) => source.carry_out(&mut state, effect),
                    }
                    source.complete(&mut state);
                }
            }
            Some(TerminalEvent::Resized) => {}
            Some(TerminalEvent::Signal(signal)) => screen.die(signal),
            Some(TerminalEvent::Closed) => return Ok(None),
            None => {
                looked = Instant::now();
                source.look_again(&mut state);
            }
        }
    }
}
