//! What nobody can rule out at night: a repository that cannot be written to, a clock that is set, an agent that prints without
//! end. The loop stays within bounds, says what happened, and can be resumed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use cerberus_testkit::fake_agent::{Act, Tongue};

use super::*;

/// The same command, started by a shell.
fn started_with(start: &str, stage: &Stage, run: &Command) -> Command {
    let mut shell = stage.env.command_for("sh");
    shell.args(["-c", &format!("{start} \"$0\" \"$@\"")]).arg(run.get_program()).args(run.get_args());
    shell.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(run.get_current_dir().unwrap()).stdin(Stdio::null());
    shell
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux limits the memory of a process")]
fn an_agent_that_prints_without_end_is_stopped() {
    // A gibibyte of long lines, which would not fit into the memory that the runner may use.
    let floods = "head -c 1073741824 /dev/zero | tr '\\0' x | fold -w 8000000";
    let contexts =
        [with(&[&begins(), &[Act::Shell(floods), Act::Done("That was all."), Act::Leave]]), works("echo x > a")];
    let stage = Stage::new(Tongue::ClaudeCode, &contexts);
    let run = stage.command(&["--max-iterations", "2"]);
    let ran = Ran(started_with("ulimit -v 900000; exec", &stage, &run).output().unwrap());
    stage.nobody_is_left();
    ran.ended(3, "iterations").ended(3, "it printed more than 256 MiB");
    let history = stage.history();
    assert_eq!(history[0]["ended_by"], "failure", "{history:#?}");
    let stored: u64 =
        crate::loops::faults::walk(&stage.env.home()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(stored < 12_000_000, "what it printed is cut: {stored}");
}

/// A library that answers as if the system's clock had been set: by the seconds in a file.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, at);
    const char *path = getenv("CLOCK_FILE");
    FILE *file = path && id == CLOCK_REALTIME ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file && fscanf(file, "%ld", &seconds) == 1) at->tv_sec += seconds;
    if (file) fclose(file);
    return result;
}
"#;

fn clock_library(dir: &Path) -> std::path::PathBuf {
    let (source, library) = (dir.join("clock.c"), dir.join("clock.so"));
    fs::write(&source, CLOCK).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status();
    assert!(made.unwrap().success());
    library
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), ignore = "the clock is set by a library for glibc")]
fn a_clock_that_is_set_ends_nothing_and_hides_nothing() {
    // It jumps by ten hours while the first context works, and back by thirty while the second does.
    let jump = |command| {
        with(&[&begins(), &[Act::Shell(command), Act::Tear("I go on.", 6_000), Act::Done("Done."), Act::Leave]])
    };
    let contexts =
        [jump("echo 36000 > ../clock; echo x > a"), jump("echo -72000 > ../clock; echo y > b"), works("date +%N >> a")];
    let stage = Stage::new(Tongue::ClaudeCode, &contexts);
    let library = clock_library(&stage.env.root());
    let with_clock = |mut command: Command| {
        command.env("LD_PRELOAD", &library).env("CLOCK_FILE", stage.env.root().join("clock"));
        let ran = Ran(command.output().unwrap());
        stage.nobody_is_left();
        ran
    };
    let ran = with_clock(stage.command(&["--max-iterations", "3", "--stall", "1h", "--max-duration", "2h"]));
    ran.ended(3, "the limit of iterations is reached").ended(3, "the system's clock was set forward by 10h");
    ran.ended(3, "the system's clock was set back by 30h");
    let ends: Vec<_> = stage.history().iter().map(|row| row["ended_by"].as_str().unwrap().to_string()).collect();
    assert_eq!(ends, ["iteration-end"; 3]);
    // What was written while the clock was ahead is known to the next runner, and delays nothing.
    let mut resumed = stage.env.command();
    resumed.args(["loop", "run", "--resume", "--max-iterations", "4", "--min-interval", "2s"]).stdin(Stdio::null());
    with_clock(resumed).ended(3, "the limit of iterations is reached");
    let numbers: Vec<u64> = stage.history().iter().filter_map(|row| row["iteration"].as_u64()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

/// A command that cannot write where permissions forbid it: root can otherwise.
fn without_privileges(stage: &Stage, run: &Command) -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let start = if is_root { "exec setpriv --bounding-set=-dac_override --inh-caps=-dac_override" } else { "exec" };
    started_with(start, stage, run)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_repository_that_cannot_be_written_to_is_said_and_the_run_can_be_resumed() {
    // The objects of the repository: no checkpoint is saved, and the loop says so and goes on.
    let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
    let objects = stage.env.project().join(".git/objects");
    let refs = stage.env.project().join(".git/refs");
    let modes = |mode| {
        let folders = fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path());
        folders.chain([objects.clone(), refs.clone()]).for_each(|path| set_mode(&path, mode));
    };
    modes(0o555);
    let ran = Ran(without_privileges(&stage, &stage.command(&["--max-iterations", "2"])).output().unwrap());
    modes(0o755);
    stage.nobody_is_left();
    ran.ended(3, "iterations").ended(3, "no checkpoint was saved for this iteration");
    assert_eq!(stage.history().len(), 2);
    // The files: no context gets anywhere, which ends the loop soon. When that is mended, the run goes on.
    let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
    set_mode(&stage.env.project(), 0o555);
    let ran = Ran(without_privileges(&stage, &stage.command(&["--no-progress", "2"])).output().unwrap());
    set_mode(&stage.env.project(), 0o755);
    stage.nobody_is_left();
    ran.ended(4, "no progress");
    let before = stage.history().len();
    assert!(before <= 3, "{before}");
    let more = (before + 1).to_string();
    stage.resume(&["--max-iterations", &more]).ended(3, "iterations");
    assert!(stage.env.project().join("a").exists());
}

#[test]
fn checkpoints_have_a_limit_of_room() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("head -c 1500000 /dev/urandom >model.bin")]);
    fs::create_dir_all(stage.env.home()).unwrap();
    fs::write(stage.env.home().join("config.toml"), "[undo]\nmax_room = \"5 MB\"\n").unwrap();
    let ran = stage.run(&["--max-iterations", "6"]);
    ran.ended(3, "iterations").ended(3, "checkpoints took too much room (max_room), so the oldest ");
    let status = stage.env.ok(&["loop", "status"]);
    assert!(status.contains(" of at most 4.8 MiB; the limit was reached "), "{status}");
    let room = &stage.env.json(&["loop", "status"])["room"];
    assert!(
        room["bytes"].as_u64().unwrap() <= 5_000_000 && room["removed"]["checkpoints"].as_u64() > Some(0),
        "{room}"
    );
    stage.env.ok(&["loop", "restore", "6"]);
    // A large file is one here too.
    fs::write(stage.env.home().join("config.toml"), "[undo]\nmax_file_size = \"1 MB\"\n").unwrap();
    stage.run(&["--max-iterations", "1"]).ended(3, "because too large or being written: model.bin");
}
