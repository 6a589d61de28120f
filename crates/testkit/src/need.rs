//! What a test needs of the machine. `dev/test` installs all of it.
//!
//! Without it, a test is left out on a developer's machine, and says so past the output that the test runner keeps for
//! itself. In CI, where the variable `CI` is set, it fails: there nothing may be left out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs are that an ordinary user's PATH does not name.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// The file of a program: in one of these folders, in PATH or in the system's folders.
pub fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    folders.iter().cloned().chain(on_path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Whether these programs are there; if not, the caller leaves its test out.
pub fn has(programs: &[&str]) -> bool {
    has_below(&[], programs)
}

/// The same for programs that are in PATH or in one of these folders.
pub fn has_below(folders: &[PathBuf], programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|name| program(name, folders).is_none()).collect();
    is_met(&missing.join(", "), in_ci())
}

fn in_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Whether a process can be started in a network of its own, which has no routes; with the words that do it.
pub fn without_network() -> Option<&'static [&'static str]> {
    const WORDS: &[&str] = &["unshare", "--user", "--map-current-user", "--net", "--"];
    let tried = Command::new(WORDS[0]).args(&WORDS[1..]).arg("true").output();
    let missing = if tried.is_ok_and(|tried| tried.status.success()) { "" } else { "a network namespace (unshare)" };
    is_met(missing, in_ci()).then_some(WORDS)
}

fn is_met(missing: &str, in_ci: bool) -> bool {
    assert!(missing.is_empty() || !in_ci, "{missing} is missing, and in CI no test may be left out; see dev/test");
    if !missing.is_empty() {
        let name = std::thread::current().name().unwrap_or("a test").to_string();
        // What is printed through macros is shown for tests that fail, alone.
        let _ = writeln!(std::io::stderr(), "NOT TESTED: {name}: {missing} is missing; dev/test installs it");
    }
    missing.is_empty()
}

/// Whether a file or folder that `script` makes is there; if not, the caller leaves its test out.
pub fn has_file(path: &Path, script: &str) -> bool {
    let missing = if path.exists() { String::new() } else { format!("{} (made by {script})", path.display()) };
    is_met(&missing, in_ci())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_left_out_but_never_in_ci() {
        assert!(program("sh", &[]).is_some() && program("no-such-program", &[]).is_none());
        assert!(is_met("", true) && is_met("", false));
        assert!(!is_met("no-such-program", false));
        assert!(std::panic::catch_unwind(|| is_met("no-such-program", true)).is_err());
    }
}
