//! Hides what belongs to other projects of which nothing may be stored: a session in one project may edit, test or print
//! files of another that the user opted out.
//!
//! A tool use that leads there is not kept at all, and neither is a line of output that names such a path. In prompts and
//! messages the path is hidden. Whether a path leads there is asked of the caller; this only decides.

use memchr::memchr2;

use super::texts::{MARK, Speech, change, change_said_in_use, said, said_in_use, without_words};
use super::words;
use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep};
use crate::event::{Event, Note, ToolUse};
use crate::fact::FactKind;

/// Commands that change the folder, and options that name one.
const FOLDER_FOLLOWS: [&str; 4] = ["cd", "pushd", "-C", "--directory"];

/// How often a command inside a word of a command is looked at.
const NESTED_MAX: usize = 3;

pub struct OtherProjects<'q> {
    pub cleaner: &'q Cleaner,
    /// The top of the session's own project. The paths of its files are relative to it.
    pub root: &'q str,
    /// Whether a path leads into a project of which nothing is stored. The first argument is the folder that a relative
    /// path begins in, itself relative to the session's folder, or empty.
    pub is_shut: &'q dyn Fn(&str, &str) -> bool,
}

impl OtherProjects<'_> {
    /// The event as it may be stored; `None` if nothing in it leads elsewhere.
    pub fn hide<'a>(&self, event: &Event<'a>) -> Option<Event<'a>> {
        let hide = |text: &str, keep, _: Speech| self.text(text, keep);
        Some(match event {
            Event::Tool(used) => self.tool(used)?,
            Event::Note(note) if note.kind == FactKind::File && self.is_file_shut(&note.text) => {
                let kept = Event::Note(Note { text: Clean::word(MARK), ..note.clone() });
                said(&kept, &hide).unwrap_or(kept)
            }
            Event::Named(named) if self.is_file_shut(&named.path) => Event::Pulse,
            Event::Recover(recovery) => {
                let mut kept = recovery.clone();
                let leads = |text: &Clean| self.is_named_in(text) || self.is_led_to_from(text, String::new(), 0);
                kept.actions.retain(|text| !leads(text));
                kept.in_flight.retain(|text| !leads(text));
                return (kept != *recovery).then_some(Event::Recover(kept));
            }
            Event::Seed(codes) => {
                let mut kept = codes.clone();
                kept.retain(|code| !self.is_named_in(code));
                kept.summary.iter_mut().for_each(|text| change(text, Keep::MESSAGE, Speech::Spoken, &hide));
                return (kept != *codes).then_some(Event::Seed(kept));
            }
            _ => said(event, &hide)?,
        })
    }

    fn tool<'a>(&self, used: &ToolUse<'a>) -> Option<Event<'a>> {
        let folder = used.folder.as_deref().unwrap_or_default();
        if !folder.is_empty() && (self.is_shut)("", folder) {
            return Some(Event::Pulse);
        }
        if used.command.as_deref().is_some_and(|command| self.is_led_to_from(command, folder.to_string(), 0)) {
            return Some(Event::Pulse);
        }
        let mut texts = used.error.iter().chain(&used.output).chain(said_in_use(used));
        let is_touched = used.files.iter().any(|file| self.is_file_shut(&file.path));
        if !is_touched && !texts.any(|text| self.is_named_in(text)) {
            return None;
        }
        let mut kept = ToolUse { failure: None, ..used.clone() };
        kept.files.retain(|file| !self.is_file_shut(&file.path));
        if kept.files.len() < used.files.len() {
            if kept.files.is_empty() {
                return Some(Event::Pulse);
            }
            // It is unknown which of the files the names and the output belong to.
            kept.names.clear();
            (kept.error, kept.output) = (None, None);
        }
        kept.error = kept.error.and_then(|text| self.without_lines(text));
        kept.output = kept.output.and_then(|text| self.without_lines(text));
        change_said_in_use(&mut kept, &|text, keep, _| self.text(text, keep));
        (kept != *used).then_some(Event::Tool(kept))
    }

    fn is_file_shut(&self, path: &str) -> bool {
        match path.starts_with('/') {
            true => (self.is_shut)("", path),
            false => (self.is_shut)(self.root, path),
        }
    }

    /// The text with such paths hidden; `None` if it has none.
    fn text(&self, text: &str, keep: Keep) -> Option<Clean<'static>> {
        without_words(self.cleaner, text, self.paths(text), keep)
    }

    /// An output without the lines that name such a path; `None` if nothing is left.
    fn without_lines<'a>(&self, text: Clean<'a>) -> Option<Clean<'a>> {
        if !self.is_named_in(&text) {
            return Some(text);
        }
        let lines: Vec<&str> = text.lines().filter(|line| !self.is_named_in(line)).collect();
        let rest = lines.join("\n");
        (!rest.trim().is_empty()).then(|| self.cleaner.clean(rest, Keep::OUTPUT))
    }

    /// Whether a text names a path that leads there.
    pub fn is_named_in(&self, text: &str) -> bool {
        self.paths(text).next().is_some()
    }

    fn paths<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
        let text = if memchr2(b'/', b'~', text.as_bytes()).is_some() { text } else { "" };
        // Two slashes begin the host of a URL.
        let is_path = |word: &str| (word.contains('/') && !word.starts_with("//")) || word.starts_with('~');
        words(text).filter(move |(_, word)| is_path(word) && (self.is_shut)("", word))
    }

    /// Whether a command changes into such a project, or is given a path in it.
    fn is_led_to_from(&self, command: &str, mut folder: String, depth: usize) -> bool {
        let words = shell_words(command);
        let mut before = "";
        for word in &words {
            let is_folder = FOLDER_FOLLOWS.contains(&before);
            if paths_in(word).any(|path| (self.is_shut)(&folder, path)) {
                return true;
            }
            // A command in quotes, for another shell.
            let is_command = word.contains([' ', ';', '&', '|', '(', '\n']);
            if is_command && depth < NESTED_MAX && self.is_led_to_from(word, folder.clone(), depth + 1) {
                return true;
            }
            if is_folder && matches!(before, "cd" | "pushd") {
                folder = match word.starts_with(['/', '~', '$']) || folder.is_empty() {
                    true => word.clone(),
                    false => format!("{folder}/{word}"),
                };
            }
            before = word;
        }
        false
    }
}

/// The parts of a word that may be a path: `../a`, `--file=../a`, `-I../a`, `A=../a:../b`.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let of_option = word.strip_prefix('-').and_then(|rest| rest.find(['/', '.', '~']).map(|at| &rest[at..]));
    let whole = (!word.starts_with('-')).then_some(word);
    let parts = word.split(['=', ':', ',']).filter(move |part| *part != word && !part.starts_with('-'));
    whole.into_iter().chain(of_option).chain(parts).filter(|path| !path.is_empty() && !path.starts_with("//"))
}

/// The words of a shell command, without quotes and backslashes. What is not between words (`;`, `&&`, `|`) only
/// separates them.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '\\') => word.extend(rest.next()),
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`' | '{' | '}') => words.push(std::mem::take(&mut word)),
            (None, c) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (None, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::BUILT_IN;
    use crate::event::{FileTouch, Outcome, Recovery, Touch};

    fn clean(text: &str) -> Clean<'_> {
        BUILT_IN.clean(text, Keep::PROMPT)
    }

    /// Everything in `/code/shut` is shut; the session's folder is `/code/open/src`.
    fn hidden<'a>(event: &Event<'a>) -> Option<Event<'a>> {
        let is_shut = |folder: &str, path: &str| {
            let base = if folder.starts_with('/') { folder.to_string() } else { format!("/code/open/src/{folder}") };
            let whole = match path.strip_prefix("~/") {
                Some(rest) => format!("/code/{rest}"),
                None if path.starts_with('/') => path.to_string(),
                None => format!("{base}/{path}"),
            };
            let mut parts: Vec<&str> = Vec::new();
            for part in whole.split('/').filter(|part| !matches!(*part, "" | ".")) {
                match part {
                    ".." => parts.truncate(parts.len().saturating_sub(1)),
                    part => parts.push(part),
                }
            }
            parts.starts_with(&["code", "shut"])
        };
        OtherProjects { cleaner: &BUILT_IN, root: "/code/open", is_shut: &is_shut }.hide(event)
    }

    fn ran(command: &'static str) -> Event<'static> {
        let output = Some(clean("1 failed"));
        Event::Tool(ToolUse { tool: clean("Bash"), command: Some(clean(command)), output, ..ToolUse::default() })
    }

    #[test]
    fn a_command_that_leads_there_is_not_kept() {
        for command in [
            "cd /code/shut && cargo test",
            "cd ../../shut; cargo test",
            "cd .. && cd .. && cd shut && cargo test",
            "(pushd ~/shut/src; make)",
            "git -C ../../shut status",
            "make --directory=../../shut test",
            "cargo test --manifest-path ../../shut/Cargo.toml",
            "cd ../../\"shut\" && ls",
            "cd ../../sh\\ut && ls",
            "PYTHONPATH=lib:../../shut/src pytest",
            "cc -I../../shut/include a.c",
            "bash -c 'cd ../../shut && cargo test'",
            "echo \"$(cat ../../shut/a)\" >b",
            "pytest >../../shut/log",
        ] {
            assert_eq!(hidden(&ran(command)), Some(Event::Pulse), "{command}");
        }
        for command in
            ["cargo test", "cd .. && ls shut.md", "echo 'about shut'", "curl https://code/shut", "cd ../../open"]
        {
            assert_eq!(hidden(&ran(command)), None, "{command}");
        }
    }

    #[test]
    fn a_command_that_runs_there_is_not_kept() {
        let ran = |folder: &'static str, command: &'static str| {
            let (command, folder) = (Some(clean(command)), Some(clean(folder)));
            Event::Tool(ToolUse { tool: clean("Bash"), command, folder, ..ToolUse::default() })
        };
        assert_eq!(hidden(&ran("/code/shut", "cargo test")), Some(Event::Pulse));
        assert_eq!(hidden(&ran("../../shut/src", "cargo test")), Some(Event::Pulse));
        assert_eq!(hidden(&ran("/code", "cat shut/a.rs")), Some(Event::Pulse));
        assert_eq!(hidden(&ran("/code/open", "cargo test")), None);
    }

    #[test]
    fn files_lines_and_paths_that_lead_there_are_not_kept() {
        let touch = |path| FileTouch { path: clean(path), how: Touch::Edited, lines: Vec::new() };
        let edit = |paths: &[&'static str]| {
            let files = paths.iter().map(|path| touch(path)).collect();
            Event::Tool(ToolUse { tool: clean("Edit"), files, names: vec![clean("harbour")], ..ToolUse::default() })
        };
        assert_eq!(hidden(&edit(&["/code/shut/a.rs"])), Some(Event::Pulse));
        assert_eq!(hidden(&edit(&["../shut/a.rs"])), Some(Event::Pulse), "from the top of the project");
        assert_eq!(hidden(&edit(&["a.rs"])), None);
        let Some(Event::Tool(kept)) = hidden(&edit(&["a.rs", "/code/shut/a.rs"])) else { panic!("one is left") };
        assert!(kept.files == [touch("a.rs")] && kept.names.is_empty());
        let output = clean("error in /code/shut/a.rs:3: harbour\nwarning: src/b.rs\n --> ../../shut/c.rs:1:1");
        let failed = ToolUse { output: Some(output), outcome: Outcome::Failed, ..ToolUse::default() };
        let Some(Event::Tool(kept)) = hidden(&Event::Tool(failed)) else { panic!("a line is left") };
        assert_eq!(kept.output.as_deref(), Some("warning: src/b.rs"));
        let said = hidden(&Event::Prompt { text: clean("Compare ~/shut/plan.md with src/plan.md, please.") });
        assert_eq!(said, Some(Event::Prompt { text: clean("Compare [private] with src/plan.md, please.") }));
        let title = |text| Event::Title { text: clean(text), is_users: false };
        assert_eq!(hidden(&title("Repair ~/shut/plan.md")), Some(title("Repair [private]")));
        let recovery = Recovery {
            actions: vec![clean("carried over 1 fact"), clean("recorded interrupted work: cd ../../shut && ls")],
            in_flight: vec![clean("cd ../../shut && cargo test harbour")],
            is_automatic: true,
        };
        let Some(Event::Recover(kept)) = hidden(&Event::Recover(recovery)) else { panic!("still a recovery") };
        assert!(kept.in_flight.is_empty() && kept.actions == [clean("carried over 1 fact")]);
    }
}
