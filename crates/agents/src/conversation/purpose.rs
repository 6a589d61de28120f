//! What a call of a tool is for, by the tool's name and what it is given. Agents name the same tools differently.

use cerberus_record::shell;

use super::{Part, PartKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPurpose {
    /// It changes files.
    Edit,
    /// It runs a command.
    Command,
    /// It asks the user.
    Question,
    /// Anything else: it reads, searches, plans.
    Look,
}

const EDITS: [&str; 7] = ["edit", "write", "replace", "patch", "create", "insert", "delete_file"];
const COMMANDS: [&str; 6] = ["bash", "shell", "exec", "terminal", "command", "script"];
const QUESTIONS: [&str; 3] = ["ask", "question", "request_user_input"];

/// Tools that keep notes, lists and plans of the agent itself.
const NOTES: [&str; 5] = ["todo", "memory", "plan", "task", "stdin"];

/// The purpose of a call; `None` if the part is none.
pub fn purpose(part: &Part) -> Option<CallPurpose> {
    let tool = part.tool.as_ref().filter(|_| part.kind == PartKind::Call)?.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    Some(match () {
        _ if QUESTIONS.iter().any(|word| tool.starts_with(word)) => CallPurpose::Question,
        _ if has(&NOTES) => CallPurpose::Look,
        // One editor shows files too.
        _ if has(&EDITS) && part.text.contains("command: view") => CallPurpose::Look,
        _ if has(&EDITS) => CallPurpose::Edit,
        _ if has(&COMMANDS) && writes(&part.text) => CallPurpose::Edit,
        _ if has(&COMMANDS) => CallPurpose::Command,
        _ => CallPurpose::Look,
    })
}

/// Whether a command line writes files of the project, as far as it says itself.
fn writes(line: &str) -> bool {
    let is_scratch = |path: &String| path.starts_with("/dev/") || path.starts_with("/tmp/") || path.contains('$');
    let edits_in_place = |words: &[String]| {
        let mut words = words.iter().map(String::as_str);
        words.next() == Some("sed") && words.any(|word| word.starts_with("-i") || word.starts_with("--in-place"))
    };
    line.contains("*** Begin Patch")
        || shell::commands(line)
            .iter()
            .any(|command| command.outputs.iter().any(|path| !is_scratch(path)) || edits_in_place(&command.words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_same_purpose_whatever_its_agent_calls_it() {
        use CallPurpose::{Command, Edit, Look, Question};
        for (tool, text, expected) in [
            ("Edit", "/p/a.rs", Edit),
            ("apply_patch", "a.rs", Edit),
            ("replace", "a.rs", Edit),
            ("create", "a.rs", Edit),
            ("str_replace_editor", "command: view\npath: a.rs", Look),
            ("Bash", "cargo test", Command),
            ("exec_command", "git status", Command),
            ("run_shell_command", "ls > /dev/null 2>&1", Command),
            ("Bash", "cat > src/a.rs <<'EOF'\nfn a() {}\nEOF", Edit),
            ("shell", "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n*** End Patch\nEOF", Edit),
            ("Bash", "sed -i 's/a/b/' a.rs", Edit),
            ("Bash", "sed -n 1,20p a.rs", Command),
            ("AskUserQuestion", "which one?", Question),
            ("request_user_input", "", Question),
            ("Read", "/p/a.rs", Look),
            ("Grep", "pattern: fn", Look),
            ("TodoWrite", "todos: []", Look),
            ("update_plan", "", Look),
            ("write_stdin", "q", Look),
            ("Task", "find it", Look),
        ] {
            let (tool, text) = (Some(tool.to_string()), text.to_string());
            let part = Part { at: None, kind: PartKind::Call, text, tool, file: None, call: None };
            assert_eq!(purpose(&part), Some(expected), "{part:?}");
            assert_eq!(purpose(&Part { kind: PartKind::Output, ..part }), None);
        }
    }
}
