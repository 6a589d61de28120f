//! The simple commands of a line as they would be run: with the folder they run in, the variables that the line itself
//! sets, and the files they write.

use std::ops::Range;

use super::paths::{ShellState, joined};
use super::{CommandLevel, Join, read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    pub words: Vec<String>,
    /// Where each word stands in the line.
    pub ranges: Vec<Range<usize>>,
    /// As seen from where the line begins; empty if it is the same. Unknown parts contain a `$`.
    pub folder: String,
    /// The files that its output is redirected to, as seen from where the line begins.
    pub outputs: Vec<String>,
    pub join: Join,
    pub level: CommandLevel,
}

/// All simple commands of a line, at every level, in the order in which they end.
pub fn commands(line: &str) -> Vec<SimpleCommand> {
    let mut state = ShellState::new();
    let command = |simple: &super::Simple| {
        let (mut words, mut ranges) = (Vec::new(), Vec::new());
        for word in &simple.words {
            let text = state.substituted(&word.text);
            // A shell splits a variable into words.
            let is_split = word.text.starts_with('$') && text != word.text && words.is_empty();
            let parts: Vec<String> = match is_split {
                true => text.split_whitespace().map(str::to_string).collect(),
                false => vec![text],
            };
            ranges.extend(parts.iter().map(|_| word.range.clone()));
            words.extend(parts);
        }
        let outputs: Vec<String> = simple.outputs.iter().map(|word| state.substituted(&word.text)).collect();
        let folder = state.group(simple).folder;
        let outputs = outputs.iter().map(|path| joined(&folder, path)).collect();
        SimpleCommand { words, ranges, folder, outputs, join: simple.join, level: simple.level }
    };
    read(line).simples.iter().map(command).collect()
}
