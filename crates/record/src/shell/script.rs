//! A shell line as it was read, and what only changes how its commands are run.

use std::ops::Range;

/// How a simple command is joined to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `;`, `&`, a line break, a bracket, or the beginning.
    Then,
    And,
    Or,
    Pipe,
}

/// Where a simple command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandLevel {
    /// In the line itself, also in a subshell, a group or a loop.
    Line,
    /// In `$(…)`, backquotes or `<(…)`: its output is a word of another command.
    Substitution,
    /// In a script that the line passes to a shell: `sh -c '…'`, `eval`, `bash <<EOF`.
    Script,
    /// In a script for another machine or a container: `ssh host <<EOF`, `docker exec c sh -c '…'`.
    Remote,
}

/// A word without its quotes, and where it stands in the line. A substitution is a `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWord {
    pub text: String,
    pub range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    pub words: Vec<ShellWord>,
    pub join: Join,
    pub level: CommandLevel,
    /// How many subshells it is in.
    pub depth: usize,
    /// Some of its output is not visible to the reader.
    pub is_hidden: bool,
    /// Its standard output goes into a file.
    pub writes_file: bool,
    /// The files that it is redirected from or to.
    pub targets: Vec<ShellWord>,
    /// Those of them that it writes.
    pub outputs: Vec<ShellWord>,
    /// Where its first redirection begins.
    pub(super) redirected_at: Option<usize>,
}

impl Simple {
    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }

    /// The file name of its program, without keywords, assignments and wrappers such as `sudo`.
    pub fn program(&self) -> &str {
        let texts = self.texts();
        let first = texts.len() - without_wrappers(&texts).len();
        let word = self.words.get(first).map_or("", |word| word.text.as_str());
        word.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// A line as it was read.
#[derive(Debug, Default)]
pub struct Script {
    /// In the order in which they end.
    pub simples: Vec<Simple>,
    /// The bodies of here-documents and here-strings, except messages of commits and pull requests.
    pub(super) bodies: Vec<Range<usize>>,
    /// How much was read; the rest of a very long line may be anything.
    pub read_bytes: usize,
}

impl Script {
    /// The simple commands of the line itself.
    pub fn line(self) -> Vec<Simple> {
        let is_own = |simple: &Simple| simple.level == CommandLevel::Line && !simple.words.is_empty();
        self.simples.into_iter().filter(is_own).collect()
    }

    /// The text that the line writes into files or passes to programs, in order: bodies of here-documents, and what
    /// `echo` and `printf` write.
    pub fn contents(&self) -> Vec<Range<usize>> {
        let written = self.simples.iter().enumerate().filter_map(|(at, simple)| {
            let is_echo = matches!(simple.program(), "echo" | "printf");
            let reader = self.simples.get(at + 1).filter(|next| next.join == Join::Pipe);
            let is_copied = reader.is_some_and(|next| matches!(next.program(), "tee" | "sponge" | "dd"));
            (is_echo && (simple.writes_file || is_copied)).then(|| arguments(simple)).flatten()
        });
        let mut contents: Vec<Range<usize>> = self.bodies.iter().cloned().chain(written).collect();
        contents.retain(|range| !range.is_empty());
        contents.sort_by_key(|range| range.start);
        contents
    }
}

/// Everything after the program of a simple command.
pub(super) fn arguments(simple: &Simple) -> Option<Range<usize>> {
    let program = simple.words.iter().find(|word| matches!(word.text.as_str(), "echo" | "printf"))?;
    let last = simple.words.last()?.range.end;
    if simple.words.len() > 1 && program.range.end == last {
        // Of a script in quotes only the whole word is known.
        return Some(program.range.clone());
    }
    Some(program.range.end..last.max(simple.redirected_at.unwrap_or(0)))
}

/// Removes what only changes how a command is run: keywords, assignments, privileges, timing.
pub fn without_wrappers<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        let name = first.rsplit('/').next().unwrap_or(first);
        words = match name {
            "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time" | "command" | "exec"
            | "builtin" | "nohup" | "setsid" | "unbuffer" | "doas" => rest,
            _ if is_assignment(first) => rest,
            "env" | "sudo" | "nice" | "ionice" | "stdbuf" | "xargs" => options_skipped(rest),
            "timeout" | "gtimeout" => options_skipped(rest).get(1..).unwrap_or_default(),
            _ => return words,
        };
    }
    words
}

/// Skips options, and the values of those that take one.
pub(super) fn options_skipped<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        words = match *first {
            "--" => return rest,
            "-u" | "-n" | "-C" | "-g" | "-I" | "-P" | "-L" | "-d" | "-k" | "-s" => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') && option.len() > 1 => rest,
            _ => return words,
        };
    }
    words
}

/// `NAME=value`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Is this the name of a shell?
pub(super) fn is_shell(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "ash")
}

/// Does this program run its arguments on another machine or in a container?
pub(super) fn is_remote(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(name, "ssh" | "mosh" | "docker" | "podman" | "nerdctl" | "kubectl" | "lxc" | "vagrant" | "adb" | "wsl")
}
