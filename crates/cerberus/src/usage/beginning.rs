//! What a session spent until it did something: until its first edit, or the first test, build, lint, commit or push.

use std::collections::HashSet;

use cerberus_agents::conversation::purpose::{CallPurpose, purpose};
use cerberus_agents::conversation::{Part, PartKind, parts};
use cerberus_agents::model_calls::ModelCall;
use cerberus_record::time::Timestamp;
use cerberus_record::{path, runs, shell};
use serde_json::Value;

/// What it took to get started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    pub calls: usize,
    /// Files that the session before had read or edited, and that were read once more.
    pub reread: usize,
    /// Commands that ask git what the state is.
    pub git: usize,
    /// Questions that the user had to answer.
    pub questions: usize,
    /// All tokens that were read and written. `None` if the transcript does not say it.
    pub tokens: Option<u64>,
}

/// The files that a session edited or read.
#[derive(Clone, Debug, Default)]
pub struct KnownFiles {
    root: String,
    paths: HashSet<String>,
}

impl KnownFiles {
    pub fn new(root: &str, paths: Vec<String>) -> KnownFiles {
        KnownFiles { root: root.to_string(), paths: paths.into_iter().collect() }
    }

    /// The known file that is meant. A transcript from another place spells the root in its own way.
    fn named(&self, meant: &str) -> Option<&String> {
        if let Some(inside) = path::below(&self.root, meant) {
            return self.paths.get(&*inside);
        }
        let ends = meant.match_indices('/').map(|(at, _)| &meant[at + 1..]);
        std::iter::once(meant).chain(ends).find_map(|end| self.paths.get(end))
    }
}

/// Reads it from the session's own transcript; `None` if the session did nothing of the kind.
pub fn read(transcript: &[u8], calls: &[ModelCall], before: &KnownFiles) -> Option<Beginning> {
    let mut reader =
        BeginningReader { before, found: Beginning::default(), reread: HashSet::new(), turn: TurnSide::Asks };
    let mut lines = transcript.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let at = lines.find_map(|line| reader.line(&serde_json::from_slice(line).ok()?));
    let at = match at {
        Some(at) => at,
        // One object, written on several lines.
        None => reader.line(&serde_json::from_slice(transcript).ok()?)?,
    };
    let until = |call: &&ModelCall| call.at.zip(at).is_some_and(|(call, at)| call <= at);
    let spent = calls.iter().filter(until).map(|call| call.tokens.total());
    let tokens = spent.reduce(u64::saturating_add);
    Some(Beginning { reread: reader.reread.len(), tokens, ..reader.found })
}

/// Whose turn it is, as far as a question goes.
#[derive(PartialEq, Eq)]
enum TurnSide {
    /// The agent's last words were a question.
    Asked,
    Asks,
}

struct BeginningReader<'b> {
    before: &'b KnownFiles,
    found: Beginning,
    reread: HashSet<String>,
    turn: TurnSide,
}

/// Programs that print files.
const PRINTERS: [&str; 8] = ["cat", "sed", "head", "tail", "nl", "less", "bat", "awk"];

impl BeginningReader<'_> {
    /// When the beginning is over, if it is over in this line; the time may be unknown.
    fn line(&mut self, line: &Value) -> Option<Option<Timestamp>> {
        if let Some(messages) = line.get("messages").and_then(Value::as_array) {
            return messages.iter().find_map(|message| self.line(message));
        }
        parts(line).iter().find_map(|part| self.part(part))
    }

    fn part(&mut self, part: &Part) -> Option<Option<Timestamp>> {
        match (part.kind, purpose(part)) {
            (PartKind::Message, _) => {
                let said =
                    part.text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '"' | ')'));
                self.turn = if said.ends_with(['?', '？']) { TurnSide::Asked } else { TurnSide::Asks };
            }
            (PartKind::Prompt, _) if self.turn == TurnSide::Asked => {
                self.found.questions += 1;
                self.turn = TurnSide::Asks;
            }
            (_, Some(CallPurpose::Edit)) => return Some(part.at),
            (_, Some(CallPurpose::Command)) if self.command(&part.text) => return Some(part.at),
            (_, Some(purpose)) => {
                self.found.calls += 1;
                self.found.questions += usize::from(purpose == CallPurpose::Question);
                self.reads(part.file.as_deref());
                self.turn = TurnSide::Asks;
            }
            _ => {}
        }
        None
    }

    /// Whether a command is the first that does something; counts what it asks and reads otherwise.
    fn command(&mut self, line: &str) -> bool {
        if runs::recognise(line).is_some() {
            return true;
        }
        for command in shell::commands(line) {
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            match words.split_first() {
                Some((&"git", rest)) => match git_verb(rest) {
                    Some("commit" | "push") => return true,
                    Some("status" | "log" | "diff") => self.found.git += 1,
                    _ => {}
                },
                Some((program, rest)) if PRINTERS.contains(program) => {
                    rest.iter().for_each(|word| self.reads(Some(word)));
                }
                _ => {}
            }
        }
        false
    }

    fn reads(&mut self, file: Option<&str>) {
        self.reread.extend(file.and_then(|file| self.before.named(file)).cloned());
    }
}

/// The verb of a git command, after its options: `-C dir status` → `status`.
fn git_verb<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-C" | "-c" | "--git-dir" | "--work-tree" => drop(words.next()),
            word if word.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use cerberus_agents::model_calls;
    use serde_json::json;

    use super::*;

    fn call(tool: &str, input: Value, tokens: u64) -> Value {
        let block = json!({"type": "tool_use", "id": tool, "name": tool, "input": input});
        let id = format!("{tool}-{tokens}");
        json!({"type": "assistant", "timestamp": format!("2026-11-12T10:{:02}:00Z", tokens % 60), "message": {
            "role": "assistant", "id": id, "content": [block], "usage": {"input_tokens": tokens}}})
    }

    fn said(role: &str, text: &str) -> Value {
        json!({"type": role, "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    }

    fn bash(command: &str, tokens: u64) -> Value {
        call("Bash", json!({"command": command}), tokens)
    }

    fn beginning(lines: &[Value]) -> Option<Beginning> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let before = KnownFiles::new("/p", vec!["src/a.rs".to_string(), "b.rs".to_string()]);
        read(text.as_bytes(), &model_calls::read(text.as_bytes()), &before)
    }

    #[test]
    fn everything_before_the_first_edit_counts() {
        let lines = [
            said("user", "go on"),
            call("Read", json!({"file_path": "/p/src/a.rs"}), 1),
            call("Read", json!({"file_path": "/p/other/b.rs"}), 2),
            bash("cd /p && git -C . status && git log -3 | head", 3),
            bash("sed -n 1,9p src/a.rs; cat b.rs", 4),
            said("assistant", "Shall I mend **both?**"),
            said("user", "yes"),
            call("AskUserQuestion", json!({"questions": []}), 5),
            call("Edit", json!({"file_path": "/p/src/a.rs", "old_string": "a", "new_string": "b"}), 6),
            call("Read", json!({"file_path": "/p/c.rs"}), 7),
        ];
        let expected = Beginning { calls: 5, reread: 2, git: 2, questions: 2, tokens: Some(1 + 2 + 3 + 4 + 5 + 6) };
        assert_eq!(beginning(&lines), Some(expected));
        assert_eq!(beginning(&lines[..8]), None, "it did nothing");
    }

    #[test]
    fn the_first_command_that_does_something_ends_it() {
        for (command, is_end) in [
            ("cargo test", true),
            ("npm run build", true),
            ("git add -A && git commit -m x", true),
            ("git push", true),
            ("cat > src/new.rs <<'EOF'\nfn a() {}\nEOF", true),
            ("git diff", false),
            ("ls src", false),
        ] {
            assert_eq!(beginning(&[said("user", "go on"), bash(command, 1)]).is_some(), is_end, "{command}");
        }
    }

    #[test]
    fn a_transcript_that_is_one_object_is_read_too() {
        let messages = [said("user", "go on"), bash("git status", 1), bash("cargo test", 2)];
        let text = serde_json::to_string_pretty(&json!({"messages": messages})).unwrap();
        let calls = model_calls::read(text.as_bytes());
        let found = read(text.as_bytes(), &calls, &KnownFiles::default());
        assert_eq!(found, Some(Beginning { calls: 1, git: 1, tokens: Some(3), ..Beginning::default() }));
    }
}
