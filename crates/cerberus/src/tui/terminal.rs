//! The terminal: raw mode and the alternate screen, and that both end whatever happens.
//!
//! It is restored when the screen is left, on a panic (the shipped program does not unwind), before the process dies of
//! a signal, and while it is suspended. The mouse is not captured, so that text can be selected.

use std::io::{self, Write as _, stdout};
use std::panic;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use cerberus_os::fault;
use crossterm::cursor::Show;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{
    DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    size,
};

use super::draw::draw;
use super::frame::TerminalFrame;
use super::state::ScreenState;
use super::update::KeyPress;
use crate::platform::{self, Signals};

/// Something that happened to the terminal.
#[derive(Clone, Copy, Debug)]
pub enum TerminalEvent {
    Key(KeyPress),
    Resized,
    Signal(i32),
    Closed,
}

/// The terminal while the screen is shown on it.
pub struct TerminalScreen {
    /// What it shows.
    shown: TerminalFrame,
    inputs: Receiver<TerminalEvent>,
    /// An input that came between keys.
    kept: Option<TerminalEvent>,
}

impl TerminalScreen {
    pub fn open() -> io::Result<TerminalScreen> {
        let (sender, inputs) = channel();
        // Caught before the terminal changes, so that no signal can leave it changed.
        let signals = Signals::catch_all()?;
        restore_on_panic();
        enter()?;
        wait_for_signals(signals, sender.clone());
        wait_for_keys(sender);
        Ok(TerminalScreen { shown: TerminalFrame::default(), inputs, kept: None })
    }

    pub fn draw(&mut self, state: &ScreenState) -> io::Result<()> {
        fault::point("screen-draw")?;
        let frame = draw(state, size()?);
        let mut stdout = stdout();
        stdout.write_all(frame.instead_of(&self.shown).as_bytes())?;
        stdout.flush()?;
        self.shown = frame;
        Ok(())
    }

    /// The next input, or `None` after this time.
    pub fn next(&mut self, wait_max: Duration) -> Option<TerminalEvent> {
        if let Some(kept) = self.kept.take() {
            return Some(kept);
        }
        match self.inputs.recv_timeout(wait_max) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(TerminalEvent::Closed),
        }
    }

    /// The keys that were pressed meanwhile, so that not every one of them is drawn.
    pub fn waiting_keys(&mut self) -> Vec<KeyPress> {
        let mut keys = Vec::new();
        while let Ok(input) = self.inputs.try_recv() {
            match input {
                TerminalEvent::Key(key) => keys.push(key),
                TerminalEvent::Resized => {}
                other => {
                    self.kept = Some(other);
                    break;
                }
            }
        }
        keys
    }

    /// Gives the terminal back to the shell until the user continues this job.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        platform::suspend()?;
        // Here the process stops, and continues.
        enter()?;
        // The alternate screen is empty now.
        self.shown = TerminalFrame::default();
        Ok(())
    }

    /// Ends the process as the signal would have done.
    pub fn die(&mut self, signal: i32) -> ! {
        restore();
        platform::die(signal)
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, DisableLineWrap).inspect_err(|_| restore())
}

/// Best effort: the terminal may be gone.
fn restore() {
    let _ = execute!(stdout(), EnableLineWrap, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn restore_on_panic() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
    }));
}

fn wait_for_signals(signals: Signals, sender: Sender<TerminalEvent>) {
    std::thread::spawn(move || {
        signals.each(|signal| sender.send(TerminalEvent::Signal(signal)).is_ok());
    });
}

fn wait_for_keys(sender: Sender<TerminalEvent>) {
    std::thread::spawn(move || {
        loop {
            let input = match event::read() {
                Ok(Event::Key(key)) => pressed(key).map(TerminalEvent::Key),
                Ok(Event::Resize(..)) => Some(TerminalEvent::Resized),
                Ok(_) => None,
                Err(_) => Some(TerminalEvent::Closed),
            };
            let is_closed = matches!(input, Some(TerminalEvent::Closed));
            if input.is_some_and(|input| sender.send(input).is_err()) || is_closed {
                return;
            }
        }
    });
}

fn pressed(key: KeyEvent) -> Option<KeyPress> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => KeyPress::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => KeyPress::Char(c),
        KeyCode::Up => KeyPress::Up,
        KeyCode::Down => KeyPress::Down,
        KeyCode::Left => KeyPress::Left,
        KeyCode::Right => KeyPress::Right,
        KeyCode::PageUp => KeyPress::PageUp,
        KeyCode::PageDown => KeyPress::PageDown,
        KeyCode::Home => KeyPress::Home,
        KeyCode::End => KeyPress::End,
        KeyCode::Enter => KeyPress::Enter,
        KeyCode::Esc => KeyPress::Esc,
        KeyCode::Tab => KeyPress::Tab,
        KeyCode::Backspace => KeyPress::Backspace,
        _ => return None,
    })
}
