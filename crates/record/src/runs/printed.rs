//! What may be kept of a command and of its output: no text that is written into files, no file that is printed.

use std::borrow::Cow;

use crate::words::is_one_of;

use super::classify::{self, classify};
use super::{RunCommand, command, may_be_run, reading};
use crate::clean::text::{clip, clip_front};
use crate::shell::{self, CommandLevel, Join, Simple};

/// Of an output whose parts cannot be told apart, no more than this is searched.
const SEARCHED_BYTES_MAX: usize = 128 * 1024;

/// The command without the text that it writes into files or passes to programs: bodies of here-documents, and what
/// `echo` and `printf` write. The message of a commit or a pull request stays.
pub fn without_contents(command: &str) -> Cow<'_, str> {
    let echoes = command.contains(['>', '|']) && (command.contains("echo") || command.contains("printf"));
    if !echoes && !command.contains("<<") {
        return Cow::Borrowed(command);
    }
    let read = shell::read(command);
    let contents = read.contents();
    if contents.is_empty() && read.read_bytes == command.len() {
        return Cow::Borrowed(command);
    }
    let mut out = String::with_capacity(command.len());
    let mut kept = 0;
    for range in contents {
        let range = command.ceil_char_boundary(range.start)..command.floor_char_boundary(range.end);
        if range.start >= kept && range.start < range.end {
            out.push_str(&command[kept..range.start]);
            out.push('…');
        }
        kept = kept.max(range.end);
    }
    // What was not read may be anything.
    out.push_str(&command[kept..read.read_bytes.max(kept)]);
    Cow::Owned(out)
}

/// How much of a command's output may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptOutput {
    /// It contains no run.
    Other,
    /// Only runs, git and commands that print nothing of files.
    Run,
    /// Other parts may print anything; only lines of the run may be kept.
    Mixed(Box<RunCommand>),
}

/// What the visible parts of a command print.
pub fn printed(command: &str) -> KeptOutput {
    if !may_be_run(command) {
        return KeptOutput::Other;
    }
    let Some(run) = command::recognise(command) else { return KeptOutput::Other };
    let read = shell::read(command);
    let is_whole = read.read_bytes == command.len();
    let visible: Vec<&Simple> =
        read.simples.iter().filter(|simple| simple.level != CommandLevel::Substitution).collect();
    let mut pipelines: Vec<Vec<&Simple>> = Vec::new();
    for simple in visible {
        match pipelines.last_mut() {
            Some(pipeline) if simple.join == Join::Pipe => pipeline.push(simple),
            _ => pipelines.push(vec![simple]),
        }
    }
    if is_whole && pipelines.iter().all(|pipeline| prints_no_file(pipeline)) {
        KeptOutput::Run
    } else {
        KeptOutput::Mixed(Box::new(run))
    }
}

/// The lines of an output that belong to a run, as far as its parser knows them alone.
pub fn lines_of_run(command: &RunCommand, output: &str) -> String {
    if output.len() <= SEARCHED_BYTES_MAX {
        return reading::own_lines(command, output);
    }
    let half = SEARCHED_BYTES_MAX / 2;
    reading::own_lines(command, &format!("{}\n…\n{}", clip(output, half), clip_front(output, half)))
}

/// Does the visible end of a pipeline show only what a run or git printed, or nothing?
fn prints_no_file(pipeline: &[&Simple]) -> bool {
    let Some((last, before)) = pipeline.split_last() else { return true };
    if last.writes_file {
        return true;
    }
    if !before.is_empty() && is_filter(last) {
        return prints_no_file(before);
    }
    let texts = last.texts();
    let own = shell::without_wrappers(&texts);
    let Some((program, rest)) = own.split_first() else {
        // `env` alone prints the environment.
        return texts.iter().all(|word| shell::is_assignment(word) || is_keyword(word));
    };
    let name = classify::program(program);
    classify(&texts).is_some()
        || is_keyword(program)
        || is_silent(name, rest)
        // The parts of a script are judged on their own.
        || classify::shell_script(own).is_some()
        || name == "eval"
        || matches!((name, rest), ("git", _) if is_silent_git(rest))
}

fn is_keyword(word: &str) -> bool {
    is_one_of(word, "fi done esac } for select case function in then else do {")
}

/// Programs that pass on what they read; with the name of a file they print that.
fn is_filter(simple: &Simple) -> bool {
    let files = simple.words.iter().skip(1).filter(|word| !word.text.starts_with('-')).count();
    match simple.program() {
        "tee" => true,
        "cat" | "tail" | "head" | "sort" | "uniq" | "wc" | "less" | "more" | "nl" | "tr" | "cut" | "column" | "ts" => {
            let is_count = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let counts = simple.words.iter().skip(1).filter(|word| is_count(&word.text)).count();
            files == counts || matches!(simple.program(), "tr" | "cut")
        }
        "grep" | "egrep" | "rg" | "sed" | "awk" | "jq" => files <= 1,
        _ => false,
    }
}

/// Commands that print nothing, or only their own words and the names of files.
fn is_silent(name: &str, rest: &[&str]) -> bool {
    match name {
        "cd" | "pushd" | "popd" | "unset" | "source" | "." | "sleep" | "true" | "false" | ":" | "mkdir" | "rm"
        | "rmdir" | "cp" | "mv" | "ln" | "touch" | "chmod" | "kill" | "wait" | "trap" | "date" | "pwd" | "test"
        | "[" | "[[" | "exit" | "return" | "local" | "shopt" | "ulimit" | "umask" | "ls" | "clear" | "which" => true,
        "export" | "set" | "declare" => rest.iter().any(|word| *word != "-p"),
        // A variable may hold anything.
        "echo" | "printf" => rest.iter().all(|word| !word.contains('$') || matches!(*word, "$?" | "exit=$?")),
        _ => false,
    }
}

/// Subcommands of git that report what they did, and print no file.
fn is_silent_git(rest: &[&str]) -> bool {
    let subcommand = rest.iter().skip_while(|word| word.starts_with('-')).find(|word| !word.contains('/'));
    let is_shown = rest.iter().any(|word| matches!(*word, "show" | "-p" | "--patch" | "-v" | "--verbose"));
    !is_shown
        && subcommand.is_some_and(|word| {
            is_one_of(
                word,
                "add branch checkout cherry-pick clean clone commit fetch init merge mv pull push rebase \
                     reset restore revert rm stash status submodule switch tag worktree",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_is_not_kept() {
        for (command, kept) in [
            ("cat > .env <<'EOF'\nDB=hunter\nX=y\nEOF\nls", "cat > .env <<'EOF'\n…\nEOF\nls"),
            ("tee a <<-EOF && go test\n\tbody\n\tEOF", "tee a <<-EOF && go test\n…\n\tEOF"),
            ("echo 'some words' > notes.txt && ls", "echo…> notes.txt && ls"),
            ("printf '%s' größer >>a; echo done", "printf…>>a; echo done"),
            ("echo > a words here", "echo…"),
            ("echo words | tee -a notes.txt", "echo… | tee -a notes.txt"),
            ("python - <<< 'print(1)'", "python - <<<…"),
            ("cat <<EOF\nnever closed", "cat <<EOF\n…"),
            ("cat <<EOF\nEOF", "cat <<EOF\nEOF"),
            ("echo \"a $(cat <<EOF\nb\nEOF\n) c\" > d", "echo…> d"),
            ("bash -c 'cat > a <<EOF\nbody\nEOF'", "bash -c 'cat > a <<EOF\n…\nEOF'"),
            ("bash -c \"echo \\\"body\\\" > a\"; ls", "bash -c …; ls"),
            ("bash <<'EOF'\necho body > a\nEOF", "bash <<'EOF'\n…\nEOF"),
        ] {
            assert_eq!(without_contents(command), kept, "{command}");
        }
        for command in [
            "git commit -m \"$(cat <<'EOF'\nFix the parser\nEOF\n)\"",
            "cd a && GIT_TRACE=1 git commit -m \"$(cat <<'EOF'\nFix the parser\nEOF\n)\"",
            "cd a && gh pr create --body-file - <<EOF\nWhat changed\nEOF",
            "echo done",
            "cargo test > out.log",
            "echo a 2>&1",
            "echo a | grep b",
        ] {
            assert_eq!(without_contents(command), command);
        }
    }

    #[test]
    fn commands_that_print_anything_else_are_recognised() {
        for command in [
            "npm test; env",
            "npm test && cat notes.txt",
            "npm test; cat .env 2>/dev/null",
            "npm test; c\"a\"t notes.txt",
            "npm test; sudo cat notes.txt | head -3",
            "npm test; echo $API_KEY",
            "printenv; go test",
            "cd a && (cat b; make)",
            "cargo test | cat - notes.txt",
            "bash -c 'npm test; env'",
            "for f in *; do cat $f; done; make test",
            "cargo test > log; tail log",
            "make test; git diff",
            "make test; git -C a log -p",
            "make test; awk 1 notes.txt x",
        ] {
            assert!(matches!(printed(command), KeptOutput::Mixed(_)), "{command}: {:?}", printed(command));
        }
        for command in [
            "npm test",
            "go test | cat",
            "env CI=1 npm test",
            "cargo test 2>&1 | tail -5 | grep FAILED",
            "export A=1; make",
            "cat a > b; make",
            "cd x && git pull && cargo build && cargo test; echo exit=$?",
            "if cargo test; then echo ok; fi",
            "bash -c 'cd x && cargo test'",
            "cargo test \"$(cat names.txt)\"",
        ] {
            assert_eq!(printed(command), KeptOutput::Run, "{command}");
        }
        for command in ["cat test.log", "grep -rn test src", "ls", "env"] {
            assert_eq!(printed(command), KeptOutput::Other, "{command}");
        }
    }
}
