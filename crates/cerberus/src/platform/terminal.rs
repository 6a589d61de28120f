//! What every terminal has.

/// The columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

/// Which of the standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardStream {
    Output,
    Error,
}
