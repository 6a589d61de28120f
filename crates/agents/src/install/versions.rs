//! Which versions of an agent are installed: its programs are asked, within a fixed time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cerberus_os::output::read_until;
use cerberus_os::platform::{self, ProcessEnd, is_program};
use cerberus_record::clean::text::line;

use super::{InstallScope, Profile, Surroundings};
use crate::settings::{ProgramVersion, depends_on_version};

/// A program that does not print its version within this time is not waited for.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const PRINTED_BYTES_MAX: usize = 4096;
const PRINTED_CHARS_MAX: usize = 40;

/// More copies than this are not asked.
const PROGRAMS_MAX: usize = 8;

/// A program of an agent.
#[derive(Clone, Debug)]
pub struct AgentProgram {
    pub path: PathBuf,
    /// The first line that it prints when asked for its version.
    pub printed: Option<String>,
}

impl AgentProgram {
    pub fn version(&self) -> Option<ProgramVersion> {
        ProgramVersion::find(self.printed.as_deref()?)
    }
}

/// Asks every program of the agent, on PATH and elsewhere. Two names of one file are one program.
pub fn programs(profile: &Profile, surroundings: &Surroundings) -> Vec<AgentProgram> {
    let elsewhere = (profile.programs)(surroundings).into_iter().filter(|path| is_program(path));
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found = surroundings.all_on_path(profile.program());
    found.extend(elsewhere);
    found.retain(|path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_new = !seen.contains(&real);
        seen.push(real);
        is_new
    });
    found.truncate(PROGRAMS_MAX);
    found.into_iter().map(|path| AgentProgram { printed: ask(&path, ANSWER_MAX), path }).collect()
}

/// The oldest version decides what may be installed; `None` if no program says which version it is.
pub fn oldest(programs: &[AgentProgram]) -> Option<ProgramVersion> {
    programs.iter().filter_map(AgentProgram::version).min()
}

/// The oldest version of the agent, if its settings depend on it.
pub fn oldest_client(profile: &Profile, surroundings: &Surroundings, scope: InstallScope) -> Option<ProgramVersion> {
    let files = (profile.files)(surroundings, scope);
    let is_asked = files.iter().any(|file| depends_on_version(file.parts));
    if is_asked { oldest(&programs(profile, surroundings)) } else { None }
}

/// What one program says when asked for its version.
pub fn version_of(program: &Path) -> Option<ProgramVersion> {
    ProgramVersion::find(&ask(program, ANSWER_MAX)?)
}

fn ask(program: &Path, limit: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = platform::in_own_group(&mut command).spawn().ok()?;
    let printed = read_until(&mut child, Instant::now() + limit, PRINTED_BYTES_MAX);
    // With everything that it started: nothing of it is needed any more.
    platform::end_group(child.id(), ProcessEnd::Kill);
    let _ = child.wait();
    let printed = String::from_utf8_lossy(&printed.ok()?).into_owned();
    printed.lines().next().map(|first| line(first, PRINTED_CHARS_MAX)).filter(|first| !first.is_empty())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use cerberus_record::id::Agent;

    use super::*;

    /// Written by another process: a file that this one has open for writing could not be started.
    fn make(path: &Path, script: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
        assert!(Command::new("sh").args(["-c", write]).arg(path).arg(script).status().unwrap().success());
    }

    #[test]
    fn silent_endless_and_failing_programs_say_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("claude");
        let (long, short) = (Duration::from_secs(600), Duration::from_millis(5));
        for (script, limit, printed) in [
            ("echo '2.1.50 (Claude Code)'; echo more", long, Some("2.1.50 (Claude Code)")),
            ("printf '\\033[31m2.1.50\\033[0m'", long, Some("[31m2.1.50 [0m")),
            ("sleep 600 & sleep 600", short, None),
            ("exec yes", long, None),
            ("exit 3", long, None),
        ] {
            make(&program, script);
            assert_eq!(ask(&program, limit).as_deref(), printed, "{script}");
        }
    }

    #[test]
    fn the_oldest_decides_and_two_names_of_one_program_count_once() {
        let dir = tempfile::tempdir().unwrap();
        let (home, first, second) = (dir.path().join("home"), dir.path().join("first"), dir.path().join("second"));
        let variable = |name: &str| match name {
            "HOME" => Some(OsString::from(&home)),
            "PATH" => std::env::join_paths([&first, &second]).ok(),
            _ => None,
        };
        let surroundings = Surroundings::new(&variable, dir.path().join("project"));
        let profile = Profile::of(Agent::from_name("claude-code").unwrap()).unwrap();
        let decides = || oldest(&programs(profile, &surroundings));
        assert_eq!(decides(), None);
        make(&first.join("claude"), "exit 3");
        assert_eq!(decides(), None, "it does not answer");
        make(&second.join("claude"), "echo '2.1.325 (Claude Code)'");
        assert_eq!(decides(), Some(ProgramVersion(2, 1, 325)));
        make(&home.join(".claude/local/claude"), "echo '2.1.50 (Claude Code)'");
        assert_eq!(decides(), Some(ProgramVersion(2, 1, 50)));
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        std::os::unix::fs::symlink(second.join("claude"), home.join(".local/bin/claude")).unwrap();
        assert_eq!(programs(profile, &surroundings).len(), 3);
    }

    #[test]
    fn only_so_many_programs_are_asked() {
        let dir = tempfile::tempdir().unwrap();
        let folders: Vec<PathBuf> = (0..PROGRAMS_MAX + 3).map(|at| dir.path().join(at.to_string())).collect();
        folders.iter().for_each(|folder| make(&folder.join("claude"), "echo 2.1.50"));
        let variable = |name: &str| (name == "PATH").then(|| std::env::join_paths(&folders).unwrap_or(OsString::new()));
        let surroundings = Surroundings::new(&variable, dir.path().to_path_buf());
        let profile = Profile::of(Agent::from_name("claude-code").unwrap()).unwrap();
        assert_eq!(programs(profile, &surroundings).len(), PROGRAMS_MAX);
    }
}
