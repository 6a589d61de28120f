//! Messages of compilers and linters, as one short line each: `src/a.rs:12: mismatched types`.
//!
//! An error makes a run red. A warning is kept but decides nothing.

use super::report::{RunReport, leading_number};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    let mut state = ProblemsState::default();
    for line in lines {
        if rust(line, &mut state, report) || eslint(line, &mut state, report) {
            continue;
        }
        let found = located(line).or_else(|| biome(line)).or_else(|| typescript(line)).or_else(|| maven(line));
        match found {
            Some(found) => found.add_to(report),
            None => word(line, report),
        }
    }
}

#[derive(Default)]
struct ProblemsState<'a> {
    /// A message whose location follows on a later line.
    message: Option<(&'a str, bool)>,
    /// The file whose messages are listed below it.
    file: Option<&'a str>,
}

struct LocatedProblem<'a> {
    path: &'a str,
    line: u32,
    message: &'a str,
    is_error: bool,
}

impl LocatedProblem<'_> {
    fn add_to(&self, report: &mut RunReport) {
        report.problem(&format!("{}:{}: {}", self.path, self.line, self.message));
        if self.is_error {
            report.red();
        }
    }
}

/// `error[E0308]: mismatched types`, then ` --> src/a.rs:1:26`. Ruff prints `F401 …` the same way.
fn rust<'a>(line: &'a str, state: &mut ProblemsState<'a>, report: &mut RunReport) -> bool {
    if let Some(place) = line.trim_start().strip_prefix("--> ") {
        if let Some((message, is_error)) = state.message.take()
            && let Some((path, rest)) = place.split_once(':')
            && let Some((number, _)) = leading_number(rest)
        {
            LocatedProblem { path, line: number, message, is_error }.add_to(report);
        }
        return true;
    }
    let is_error = line.starts_with("error: ") || line.starts_with("error[");
    if is_error || line.starts_with("warning: ") {
        let message = line.split_once(": ").map_or(line, |(_, message)| message);
        state.message = Some((message, is_error));
        if is_error && (message.starts_with("could not compile") || message.starts_with("aborting due to")) {
            report.red();
        }
        return false;
    }
    if is_ruff_rule(line) {
        state.message = Some((line, true));
        return true;
    }
    false
}

/// `F401 [*] message`, `I001 message`.
fn is_ruff_rule(line: &str) -> bool {
    let Some((code, rest)) = line.split_once(' ') else {
        return false;
    };
    let digits = code.trim_start_matches(|c: char| c.is_ascii_uppercase());
    !rest.is_empty()
        && (1..=4).contains(&(code.len() - digits.len()))
        && (3..=4).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path on a line of its own, then `  12:7  error  message  rule`.
fn eslint<'a>(line: &'a str, state: &mut ProblemsState<'a>, report: &mut RunReport) -> bool {
    if line.starts_with(['/', '.']) && !line.contains(' ') && is_path(line) {
        state.file = Some(line);
        return true;
    }
    let Some(file) = state.file else {
        return false;
    };
    if line.is_empty() {
        state.file = None;
        return false;
    }
    let trimmed = line.trim_start();
    let Some((number, rest)) = leading_number(trimmed) else {
        return false;
    };
    let Some((_, rest)) = rest.strip_prefix(':').and_then(leading_number) else {
        return false;
    };
    let rest = rest.trim_start();
    for (level, is_error) in [("error", true), ("warning", false)] {
        if let Some(message) = rest.strip_prefix(level).filter(|message| message.starts_with(' ')) {
            LocatedProblem { path: file, line: number, message: message.trim(), is_error }.add_to(report);
            return true;
        }
    }
    false
}

/// `src/a.go:12:5: undefined: x`, `a.py:3: error: …`, `a.ts:1:7 - error TS2322: …`.
fn located(line: &str) -> Option<LocatedProblem<'_>> {
    let (path, rest) = line.split_once(':')?;
    if !is_path(path) {
        return None;
    }
    let (number, rest) = leading_number(rest)?;
    let rest = match rest.strip_prefix(':').and_then(leading_number) {
        Some((_, rest)) => rest,
        None => rest,
    };
    let message = match rest.strip_prefix(" - ") {
        Some(message) => message.strip_prefix("error ").unwrap_or(message),
        None => rest.strip_prefix(": ")?.trim_start_matches([':', ' ']),
    };
    let is_note = ["note:", "info:", "in ", "help:"].iter().any(|begin| message.starts_with(begin));
    if message.is_empty() || is_note {
        return None;
    }
    let is_warning = message.starts_with("warning") || message.starts_with("warn:");
    let message = ["error: ", "fatal error: ", "warning: "]
        .iter()
        .find_map(|level| message.strip_prefix(level))
        .unwrap_or(message);
    Some(LocatedProblem { path, line: number, message, is_error: !is_warning })
}

/// `src/a.ts:3:7 lint/rule  FIXABLE  ━━━`, also with `at` before it. A file to be formatted has no line number.
fn biome(line: &str) -> Option<LocatedProblem<'_>> {
    let trimmed = line.trim_start();
    let (place, rest) = trimmed.strip_prefix("at ").unwrap_or(trimmed).split_once(' ')?;
    let is_rule = rest.starts_with("lint/") || rest.starts_with("assist/") || rest.starts_with("suppressions/");
    let is_check =
        rest.ends_with('━') && ["format ", "parse ", "organizeImports "].iter().any(|begin| rest.starts_with(begin));
    if !(is_rule || is_check) {
        return None;
    }
    let (path, number) = place.split_once(':').unwrap_or((place, "1"));
    let (line, _) = leading_number(number)?;
    let message = rest.trim_matches(|c: char| c == '━' || c.is_whitespace());
    is_path(path).then_some(LocatedProblem { path, line, message, is_error: true })
}

/// A word with a file extension; not a time, not an address.
fn is_path(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    !stem.is_empty()
        && !path.contains(' ')
        && !path.starts_with(['(', '<', '"', '\'', '[', '|', '@'])
        && (1..=10).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !ending.bytes().all(|byte| byte.is_ascii_digit())
}

/// `a.ts(1,7): error TS2322: …`; C# uses the same format.
fn typescript(line: &str) -> Option<LocatedProblem<'_>> {
    let (path, rest) = line.split_once('(')?;
    if !is_path(path) {
        return None;
    }
    let (number, rest) = leading_number(rest)?;
    let (_, message) = rest.split_once("): ")?;
    let (is_error, message) = match (message.strip_prefix("error "), message.strip_prefix("warning ")) {
        (Some(message), _) => (true, message),
        (None, Some(message)) => (false, message),
        (None, None) => return None,
    };
    // A C# message is followed by the project in brackets.
    let message = message.split(" [/").next().unwrap_or(message);
    Some(LocatedProblem { path, line: number, message, is_error })
}

/// `[ERROR] /a/B.java:[1,53] cannot find symbol`; Kotlin's `e: file:///a/B.kt:1:53 …`.
fn maven(line: &str) -> Option<LocatedProblem<'_>> {
    if let Some(rest) = line.strip_prefix("e: ") {
        let rest = rest.strip_prefix("file://").unwrap_or(rest);
        let (path, rest) = rest.split_once(':')?;
        let (number, rest) = leading_number(rest)?;
        let message = rest.split_once(' ')?.1;
        return is_path(path).then_some(LocatedProblem { path, line: number, message, is_error: true });
    }
    let rest = line.strip_prefix("[ERROR] ")?;
    let (path, rest) = rest.split_once(":[")?;
    let (number, rest) = leading_number(rest)?;
    let (_, message) = rest.split_once("] ")?;
    is_path(path).then_some(LocatedProblem { path, line: number, message, is_error: true })
}

/// Lines without a location that report the overall result.
fn word(line: &str, report: &mut RunReport) {
    let trimmed = line.trim();
    if let Some(file) = trimmed.strip_prefix("would reformat ") {
        report.problem(&format!("{file}: not formatted"));
        report.red();
    } else if let Some(rest) = trimmed.strip_prefix("Diff in ") {
        let file = rest.trim_end_matches(':');
        report.problem(&format!("{file}: not formatted"));
        report.red();
    } else if let Some(file) = trimmed.strip_prefix("[warn] ") {
        if is_path(file) {
            report.problem(&format!("{file}: not formatted"));
            report.red();
        }
    } else if is_failure(trimmed) {
        report.red();
    } else if is_success(trimmed) {
        report.green();
    }
}

fn is_failure(trimmed: &str) -> bool {
    let counted = |begin: &str, ends: &[&str]| {
        trimmed
            .strip_prefix(begin)
            .and_then(leading_number)
            .is_some_and(|(number, rest)| number > 0 && ends.iter().any(|end| rest.starts_with(end)))
    };
    counted("Found ", &[" error"])
        || counted("", &[" issues:", " issue:", " issues.", " errors, ", " error, "])
        || (trimmed.starts_with("✖ ") && trimmed.contains(" problem") && !trimmed.contains("(0 errors"))
        || trimmed.starts_with("make: *** [")
        || trimmed.starts_with("gmake: *** [")
        || trimmed.starts_with("ninja: build stopped")
        || trimmed == "[INFO] BUILD FAILURE"
        || trimmed.starts_with("BUILD FAILED")
        || trimmed.starts_with("error: could not compile")
        || trimmed.starts_with("error: build failed")
        || trimmed.starts_with("× Some errors were emitted while running checks")
        || trimmed.starts_with("ERROR: failed to solve")
        || trimmed.starts_with("ERROR: failed to build")
        || (trimmed.contains(" exited with code ") && trimmed.starts_with("error: script "))
        || trimmed.starts_with("npm ERR! code ELIFECYCLE")
        || trimmed.starts_with("npm error code ELIFECYCLE")
}

fn is_success(trimmed: &str) -> bool {
    trimmed == "0 issues."
        || trimmed == "All checks passed!"
        || trimmed == "[INFO] BUILD SUCCESS"
        || trimmed.starts_with("Success: no issues found")
        || trimmed.starts_with("All matched files use Prettier code style")
        || trimmed.starts_with("BUILD SUCCESSFUL")
        || trimmed.starts_with("0 errors, ")
        || trimmed.starts_with("Found 0 errors")
        || trimmed.starts_with("Build complete!")
        || trimmed == "Build succeeded."
        || (trimmed.starts_with("Finished `") && trimmed.contains(" profile "))
        || (trimmed.starts_with("Checked ")
            && trimmed.contains(" files in ")
            && (trimmed.ends_with("No fixes applied.") || trimmed.contains(". Fixed ")))
        || trimmed.ends_with("no offenses detected")
        || (trimmed.starts_with("All done!") && trimmed.contains('✨'))
        || trimmed == "[OK] No errors"
}

/// The shell or a task runner reports that the command does not exist.
pub(super) fn did_not_happen(line: &str) -> bool {
    let line = line.trim_start();
    line.ends_with(": command not found")
        || line.starts_with("zsh: command not found: ")
        || line.starts_with("(eval):1: command not found: ")
        || line.contains(": no such file or directory: ") && (line.starts_with("(eval):") || line.starts_with("cd:"))
        || line.ends_with(": No such file or directory") && line.contains(": cd: ")
        || line.contains("No rule to make target")
        || line.contains("Missing script: ")
        || line.starts_with("error: Script not found")
        || line.starts_with("error: unrecognized subcommand")
        || line.starts_with("error: no such command")
        || line.starts_with("error: could not find `Cargo.toml`")
        || line.starts_with("ERR_PNPM_NO_SCRIPT")
        || line.starts_with("error Command \"")
        || line.contains("running in background with ID")
        || line.contains("was manually backgrounded")
        || line.starts_with("Command timed out after ")
        || line.starts_with("mise ERROR ")
        || is_missing_package(line)
        || line.ends_with("No module named pytest")
}

/// Go was given a package that does not exist.
pub(super) fn is_missing_package(line: &str) -> bool {
    (line.starts_with("stat ") && line.ends_with(": directory not found"))
        || line.starts_with("no Go files in ")
        || line.contains(": build constraints exclude all Go files in ")
}
