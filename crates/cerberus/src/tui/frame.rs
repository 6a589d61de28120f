//! What the terminal shows: a line for each row, with escape codes. Only rows that change are written.

use std::fmt::Write as _;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalFrame {
    /// Columns and rows.
    pub size: (u16, u16),
    /// From the top. Every row ends without a style.
    pub rows: Vec<String>,
    /// The column of the caret in the last row, if it is seen.
    pub caret: Option<usize>,
}

impl TerminalFrame {
    /// What a terminal has to be sent that shows `before`.
    pub fn instead_of(&self, before: &TerminalFrame) -> String {
        let mut out = String::new();
        if self == before {
            return out;
        }
        out.push_str("\u{1b}[?25l");
        let is_resized = self.size != before.size;
        if is_resized {
            out.push_str("\u{1b}[2J");
        }
        let old = |row: usize| if is_resized { None } else { before.rows.get(row) };
        for (at, row) in self.rows.iter().enumerate().filter(|(at, row)| old(*at) != Some(row)) {
            // The row is erased first: after its last column, that would erase the last letter.
            let _ = write!(out, "\u{1b}[{};1H\u{1b}[K{row}", at + 1);
        }
        if let Some(column) = self.caret {
            let _ = write!(out, "\u{1b}[{};{}H\u{1b}[?25h", self.size.1, column + 1);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: (u16, u16), rows: &[&str], caret: Option<usize>) -> TerminalFrame {
        TerminalFrame { size, rows: rows.iter().map(ToString::to_string).collect(), caret }
    }

    #[test]
    fn only_what_changes_is_written() {
        let before = frame((5, 3), &["one", "two", "three"], None);
        assert_eq!(before.instead_of(&before), "");
        let after = frame((5, 3), &["one", "2", "three"], Some(1));
        assert_eq!(after.instead_of(&before), "\u{1b}[?25l\u{1b}[2;1H\u{1b}[K2\u{1b}[3;2H\u{1b}[?25h");
        assert_eq!(before.instead_of(&after), "\u{1b}[?25l\u{1b}[2;1H\u{1b}[Ktwo");
    }

    #[test]
    fn another_size_is_written_whole() {
        let before = frame((5, 3), &["one", "two", "three"], None);
        let sent = frame((9, 2), &["one", "two"], None).instead_of(&before);
        let mut terminal = vt100::Parser::new(2, 9, 0);
        terminal.process(b"xxxxxxxxx\r\nxxxxxxxxx");
        terminal.process(sent.as_bytes());
        assert_eq!(terminal.screen().contents(), "one\ntwo");
        assert!(terminal.screen().hide_cursor());
    }
}
