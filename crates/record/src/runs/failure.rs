//! How a failed command is recognised when it fails again: by a signature of its message.
//!
//! The signature is a hash of the line that says what is wrong, without folders, numbers and addresses, of the program
//! and of the failing test. Only the hash is stored: the output of a command may contain anything. Pure, bounded and
//! linear in its input; an output that says nothing has no signature.

use crate::words::is_one_of;

use super::reading::plain;
use super::{Kind, RunCommand, RunVerdict, read, recognise};
use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep, clip, line};
use crate::event::{FailedCommand, Outcome};
use crate::id::fnv1a;
use crate::shell;

/// The beginning and the end of a longer output are read: the hook has to be quick.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
const LINE_BYTES_MAX: usize = 600;
/// How much of the line is told.
const TOLD_CHARS_MAX: usize = 100;
/// A line that says less is shared by too many failures. A name says as much as two words.
const SAID_MIN: usize = 3;
const QUOTES: [char; 3] = ['\'', '"', '`'];
const COMMAND_BYTES_MAX: usize = 8192;

/// What a failed command printed says about its failure; `None` if no line says what is wrong. The line is cleaned before it
/// is hashed, so that the hash is of no secret.
pub fn failure(
    cleaner: &Cleaner,
    command: &str,
    printed: &str,
    outcome: Outcome,
) -> Option<Box<FailedCommand<'static>>> {
    let text = plain(printed, OUTPUT_BYTES_MAX);
    let run = recognise(command);
    let read = run.as_ref().map(|run| read(run, &text, outcome));
    // Without an exit code, only the output of a run shows that it failed.
    let is_red = read.as_ref().is_some_and(|read| read.verdict == RunVerdict::Red);
    if outcome != Outcome::Failed && !is_red {
        return None;
    }
    let test = match (&run, &read) {
        (Some(run), Some(read)) if run.kind == Kind::Test => read.failed.first().map(String::as_str),
        _ => None,
    };
    // A name after `#` is the head of a list of problems, not one of them.
    let problem =
        read.as_ref().and_then(|read| read.problems.iter().find(|problem| !problem.contains(": # "))).cloned();
    // What runs a compiler or a linter often says only that it failed.
    let message = problem.or_else(|| message(&text, command)).or_else(|| test.map(str::to_string))?;
    let message = cleaner.clean(message, Keep::SUBJECT);
    let test = test.map(|test| cleaner.clean(test.to_string(), Keep::SUBJECT));
    let test = test.as_deref();
    let program = program_of(run.as_ref(), command);
    let signature = hashed(&program, test.unwrap_or_default(), &message);
    let told = match test.filter(|test| !message.contains(test)) {
        Some(test) => line(&format!("{test}: {}", &*message), TOLD_CHARS_MAX),
        None => line(&message, TOLD_CHARS_MAX),
    };
    Some(Box::new(FailedCommand { signature, message: cleaner.clean(told, Keep::SUBJECT) }))
}

/// The line of a prompt that announces an error; `None` if there is none.
pub fn quoted_error(prompt: &str) -> Option<String> {
    let lines = prompt.lines().map(|raw| clip(raw, LINE_BYTES_MAX).trim().trim_matches('`'));
    let is_error = |line: &&str| alarm(line) == Alarm::Announced && says_enough(line, "") && !is_source(line);
    { lines }.find(is_error).map(str::to_string)
}

/// The signature that a failure of this command would have if it printed this line. Failures of a single test have others.
pub fn signature_of(cleaner: &Cleaner, command: &str, line: &str) -> String {
    let program = program_of(recognise(command).as_ref(), command);
    hashed(&program, "", &cleaner.clean(line, Keep::SUBJECT)).to_string()
}

fn hashed(program: &str, test: &str, message: &str) -> Clean<'static> {
    let parts = [program, test, &normal(message)];
    Clean::hashes("", &[fnv1a(parts.join("\0").as_bytes())])
}

fn program_of(run: Option<&RunCommand>, command: &str) -> String {
    run.map_or_else(|| program(command), |run| run.runner.name().to_string())
}

/// The first line that announces an error; else the first that mentions one. Lines of source that a trace quotes say where
/// it went wrong, not what.
fn message(text: &str, command: &str) -> Option<String> {
    let mut mentioned = None;
    for raw in text.lines() {
        let line = clip(raw, LINE_BYTES_MAX).trim();
        match alarm(line) {
            Alarm::None => {}
            _ if !says_enough(line, command) || is_source(line) => {}
            Alarm::Announced => return Some(line.to_string()),
            Alarm::Mentioned if mentioned.is_some() || raw.starts_with([' ', '\t']) => {}
            Alarm::Mentioned => mentioned = Some(line.to_string()),
        }
    }
    mentioned
}

/// `89 | throw new Error('…');`, `raise ValueError(`.
fn is_source(line: &str) -> bool {
    let after_number =
        line.trim_start_matches(['>', ' ']).trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let has_gutter = after_number.len() < line.len() && after_number.starts_with('|');
    has_gutter || line.ends_with(['(', '{', '[', ';'])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alarm {
    None,
    Mentioned,
    /// `error: …`, `TypeError: …`, `fatal: …`.
    Announced,
}

/// Words by which programs say that something is wrong, at the end of a word: `ValueError`.
const ANNOUNCING: [&str; 6] = ["error", "exception", "fatal", "panic", "panicked", "err"];
/// Words by which they say it in the middle of a sentence.
const MENTIONING: &str =
    "cannot denied elifecycle failed failure invalid missing refused unable undefined unexpected unknown unrecognized";

fn alarm(line: &str) -> Alarm {
    let mut found = Alarm::None;
    let mut before = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let from = &rest[start..];
        let end = from.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from.len());
        let word = from[..end].to_ascii_lowercase();
        rest = &from[end..];
        let is_announcing = ANNOUNCING.iter().any(|ending| word == *ending || ends_a_name(&word, ending));
        if is_announcing && rest.starts_with([':', '[', '!']) {
            return Alarm::Announced;
        }
        let is_phrase = matches!((&*before, &*word), ("not", "found") | ("no", "such") | ("could", "not"));
        if is_announcing || is_phrase || is_one_of(&word, MENTIONING) {
            found = Alarm::Mentioned;
        }
        before = word;
    }
    found
}

/// `ValueError` and `IOException`, but not `terror`: those are long words.
fn ends_a_name(word: &str, ending: &str) -> bool {
    matches!(ending, "error" | "exception") && word.len() > ending.len() + 1 && word.ends_with(ending)
}

/// The message without what differs from time to time and from place to place: folders, numbers, addresses.
fn normal(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for word in message.split_whitespace() {
        let word = word.trim_end_matches(['/', '\\']);
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if !out.is_empty() {
            out.push(' ');
        }
        if is_address(name) {
            out.push('#');
            continue;
        }
        let mut was_digit = false;
        for c in name.chars() {
            let is_digit = c.is_ascii_digit();
            match (is_digit, was_digit) {
                (true, true) => {}
                (true, false) => out.push('#'),
                (false, _) => out.push(c),
            }
            was_digit = is_digit;
        }
    }
    out
}

/// Hexadecimal with a digit, such as the name of a commit.
fn is_address(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).trim_start_matches("0x");
    word.len() >= 7
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a line says what is wrong, not only that something is: `[lint] ERROR task failed` does not. Words by which programs
/// say that do not count, nor those of the command.
fn says_enough(line: &str, command: &str) -> bool {
    let is_asked = |word: &str| command.split(|c: char| !c.is_alphanumeric()).any(|own| own.eq_ignore_ascii_case(word));
    let said = normal(line).split_whitespace().fold(0, |said, token| {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
        let quoted = token.trim_matches([',', '.', ':', ';', '(', ')']);
        let is_quoted = quoted.starts_with(QUOTES) || quoted.ends_with(QUOTES);
        let is_joint = |(one, next): (char, char)| {
            (one.is_lowercase() && next.is_uppercase())
                || (one.is_alphabetic() && matches!(next, '#' | '.' | '_' | '/' | '@'))
        };
        let is_name = word.chars().zip(word.chars().skip(1)).any(is_joint);
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        said + match letters {
            0 => 0,
            _ if is_name || is_quoted => 2,
            1 | 2 if word.is_ascii() => 0,
            _ if alarm(word) != Alarm::None || is_asked(word) => 0,
            // The name of an error of the system: `ECONNREFUSED`.
            4.. if word.starts_with('E') && word.chars().all(|c| c.is_ascii_uppercase()) => 2,
            // In scripts without blanks, about two characters are a word.
            2.. if word.chars().all(is_of_unspaced_script) => letters / 2,
            _ => 1,
        }
    });
    said >= SAID_MIN
}

fn is_of_unspaced_script(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..)
}

/// The program of the first command that does something.
fn program(command: &str) -> String {
    let simples = shell::read(clip(command, COMMAND_BYTES_MAX)).line();
    let programs = simples.iter().map(shell::Simple::program);
    programs.into_iter().find(|program| !is_preparation(program)).unwrap_or_default().to_string()
}

/// Commands that only say where and how the next one runs.
pub fn is_preparation(program: &str) -> bool {
    matches!(program, "" | "cd" | "pushd" | "popd" | "export" | "unset" | "set" | "source" | "." | "echo" | "sleep")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::BUILT_IN;

    fn hash(command: &str, printed: &str) -> Option<String> {
        failure(&BUILT_IN, command, printed, Outcome::Failed).map(|failure| failure.signature.to_string())
    }

    #[test]
    fn the_same_failure_has_the_same_signature() {
        for (command, one, other) in [
            (
                "python run.py",
                "Exit code 1\nTraceback (most recent call last):\n  File \"/home/a/run.py\", line 3\nKeyError: 'port 81'",
                "Exit code 1\nTraceback (most recent call last):\n  File \"/tmp/b/run.py\", line 94\nKeyError: 'port 9'",
            ),
            (
                "cat /a/b/c.toml",
                "cat: /a/b/c.toml: No such file or directory",
                "\u{1b}[31mcat: /x/c.toml: No such file or directory\u{1b}[0m",
            ),
            ("git show x", "fatal: bad object 3f2a9c1d77 here", "fatal: bad object 99aa00bb1c here"),
        ] {
            assert!(hash(command, one).is_some(), "{one}");
            assert_eq!(hash(command, one), hash(command, other), "{one}");
        }
    }

    #[test]
    fn different_failures_have_different_signatures() {
        let missing = |name: &str| hash("python run.py", &format!("ModuleNotFoundError: No module named '{name}'"));
        assert_ne!(missing("yaml"), missing("toml"));
        let by = |command: &str| hash(command, "error: the port is taken");
        assert_ne!(by("deploy now"), by("serve now"));
        assert_eq!(by("deploy now"), by("cd app && deploy now"));
        let failing = |test: &str| {
            hash("cargo test", &format!("test {test} ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed;\n"))
        };
        assert!(failing("store::opens").is_some());
        assert_ne!(failing("store::opens"), failing("store::closes"));
    }

    #[test]
    fn the_line_that_announces_an_error_is_told() {
        let line = |printed: &str| {
            failure(&BUILT_IN, "make x", printed, Outcome::Failed).map(|failure| failure.message.to_string())
        };
        assert_eq!(
            line("0 files failed before\nerror: the lock is held\nmore"),
            Some("error: the lock is held".into())
        );
        assert_eq!(line("\u{1b}[1;31merror\u{1b}[0m: the lock is held"), Some("error: the lock is held".into()));
        assert_eq!(line("bash: frob: command not found"), Some("bash: frob: command not found".into()));
        for named in [
            "Error: connect ECONNREFUSED 127.0.0.1:5432",
            "Error: spawn ENOENT",
            "Error: 数据库连接失败",
            "fatal: 不是 git 仓库",
        ] {
            assert_eq!(line(named).as_deref(), Some(named));
        }
        for silent in [
            "",
            "npm ERR! code ELIFECYCLE",
            "Exit code 1",
            "0 errors, 3 files",
            "error: 7",
            "all good",
            "\u{0}\u{1}\u{2}",
        ] {
            assert_eq!(line(silent), None, "{silent:?}");
        }
        for general in ["error: Item 3 failed", "[x] ERROR task failed", "make: *** [x] Error 2", "2 errors in 3.5s"] {
            assert_eq!(line(general), None, "{general:?}");
            let named = format!("{general}\nerror: no rule to make target 'x'");
            assert_eq!(line(&named).as_deref(), Some("error: no rule to make target 'x'"), "{general:?}");
        }
        let trace = "    raise RuntimeError(\n    raise RuntimeError('no such port')\n    raise self._exception\n 89 | throw new Error('no');\n> 3 | error: x y z\n";
        assert_eq!(line(trace), None, "a trace quotes the source");
        assert_eq!(line(&format!("{trace}ValueError: no such port\n")), Some("ValueError: no such port".into()));
        let told = line(&format!("error: {}", "very long words ".repeat(50))).unwrap();
        assert!(told.chars().count() <= TOLD_CHARS_MAX);
    }

    #[test]
    fn without_an_exit_code_the_output_has_to_show_the_failure() {
        let found = |command, printed| failure(&BUILT_IN, command, printed, Outcome::Unknown).is_some();
        assert!(found("cargo test", "test a::b ... FAILED\ntest result: FAILED. 0 passed; 1 failed;\n"));
        assert!(!found("cargo test", "test result: ok. 2 passed; 0 failed;\n"));
        assert!(!found("frob", "error: the lock is held"));
    }

    #[test]
    fn a_huge_output_is_read_at_its_ends() {
        let filler = "nothing to see here\n".repeat(500_000);
        assert!(hash("x", &format!("{filler}error: the disk is full\n")).is_some());
        assert!(hash("x", &format!("{filler}error: the disk is full\n{filler}")).is_none());
        assert!(hash("x", &"é".repeat(5_000_000)).is_none());
    }
}
