//! The only way git is started: no program that a repository names is run, nothing is fetched over a network, and
//! nobody is prompted.
//!
//! A repository can be anybody's, and its configuration can name programs: hooks, a file watcher, a pager, diff and
//! filter drivers, a signature checker, transports. Each is switched off here, at a level that overrides the
//! repository's own files. The user's configuration applies, including `safe.directory`: git itself refuses a
//! repository of another user before it reads its configuration.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cerberus_os::output::read_until;

/// A session's start waits at most this long for git. Tests, which run development builds, may share a machine that has too
/// much to do.
pub const TIME_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 250 });

/// Enough for recent history; a hundred commits of a thousand files each need not be read to the end.
pub const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Settings that override every configuration file. Only for programs with a fixed setting; for the others see
/// [`drivers`].
const SETTINGS: [&str; 13] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=true",
    "diff.external=",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    // A folder that looks like a bare repository can be part of anybody's checkout.
    "safe.bareRepository=explicit",
];

/// Allows no protocol, so that no remote helper or `ssh` is started to fetch missing objects.
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Inside a git hook these variables point elsewhere. Git also skips the owner check for a repository named by them.
const NOT_INHERITED: [&str; 14] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ASKPASS",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_TRACE",
    "GIT_WORK_TREE",
    "SSH_ASKPASS",
];

/// Git in the worktree `root`, for commands that only read history and references: `log`, `for-each-ref`, `rev-parse`.
///
/// For a diff, the arguments must include `--no-ext-diff --no-textconv`. Commands that read the files of the worktree
/// or change anything use [`on_files`].
pub fn command(root: &Path) -> Command {
    let mut command = Command::new("git");
    // Start in the root folder, so that a relative folder in PATH finds no program.
    command.current_dir("/").arg("-C").arg(root).arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.envs(VARIABLES);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    // If `root` is not a repository, git must not search the folders above.
    if let Some(above) = root.parent() {
        command.env("GIT_CEILING_DIRECTORIES", above);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Git for commands that read the files of the worktree, such as `status`, `diff` and `add`. The repository chooses the
/// names of its own drivers, so these are listed first and each is switched off. `None` if git cannot list them.
///
/// A submodule is a repository of its own: `status` and `diff` need `--ignore-submodules=all`.
pub fn on_files(root: &Path) -> Option<Command> {
    let drivers = drivers(root)?;
    let mut command = command(root);
    for driver in drivers {
        command.args(["-c", &format!("{driver}=")]);
        // A required filter would fail the whole command.
        if let Some(filter) = driver.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')) {
            command.args(["-c", &format!("filter.{}.required=false", filter.0)]);
        }
    }
    Some(command)
}

/// The settings with which the repository's own configuration starts programs for some of its files.
fn drivers(root: &Path) -> Option<Vec<String>> {
    const PROGRAMS: &str = "^(filter|diff|merge)\\..*\\.(clean|smudge|process|command|textconv|driver)$";
    let mut command = command(root);
    command.args(["config", "--show-scope", "--includes", "-z", "--name-only", "--get-regexp", PROGRAMS]);
    let (printed, status) = output(command, Instant::now() + TIME_MAX, OUTPUT_BYTES_MAX)?;
    let printed = String::from_utf8_lossy(&printed);
    // Exit code 1 means that there are none.
    if !matches!(status.code(), Some(0 | 1)) {
        return None;
    }
    let fields: Vec<&str> = printed.split('\0').collect();
    let of_repository = fields.chunks_exact(2).filter(|pair| matches!(pair[0], "local" | "worktree"));
    Some(of_repository.map(|pair| pair[1].to_string()).collect())
}

/// What git printed, if it succeeded in time.
pub fn printed(command: Command, time_max: Duration) -> Option<String> {
    printed_bytes(command, time_max, OUTPUT_BYTES_MAX).map(|printed| String::from_utf8_lossy(&printed).into_owned())
}

/// The same as bytes, with another limit of size.
pub fn printed_bytes(command: Command, time_max: Duration, bytes_max: usize) -> Option<Vec<u8>> {
    let (printed, status) = output(command, Instant::now() + time_max, bytes_max)?;
    status.success().then_some(printed)
}

fn output(mut command: Command, deadline: Instant, bytes_max: usize) -> Option<(Vec<u8>, std::process::ExitStatus)> {
    let mut child = command.spawn().ok()?;
    let printed = read_until(&mut child, deadline, bytes_max).ok();
    if printed.is_none() {
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    Some((printed?, status))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const AMPLE: Duration = Duration::from_secs(60);

    /// A repository in which every setting that can name a program names one that leaves a mark.
    struct Trap {
        dir: tempfile::TempDir,
    }

    impl Trap {
        fn new() -> Trap {
            let trap = Trap { dir: tempfile::tempdir().unwrap() };
            fs::create_dir(trap.root()).unwrap();
            trap.git(&["init", "-q", "-b", "main"]);
            fs::write(trap.root().join("a.txt"), "one\n").unwrap();
            fs::write(trap.root().join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
            trap.git(&["add", "."]);
            trap.git(&["commit", "-qm", "one"]);
            let program = trap.dir.path().join("program");
            fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trap.canary().display())).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let program = program.to_str().unwrap();
            for name in [
                "core.fsmonitor core.pager pager.log pager.status pager.for-each-ref core.editor core.sshCommand",
                "core.askPass gpg.program diff.external diff.evil.command diff.evil.textconv filter.evil.clean",
                "filter.evil.smudge filter.evil.process merge.evil.driver credential.helper core.alternateRefsCommand",
                "alias.log alias.status sequence.editor interactive.diffFilter core.gitProxy gpg.ssh.program",
            ]
            .join(" ")
            .split(' ')
            {
                trap.git(&["config", name, program]);
            }
            for (name, value) in [("log.showSignature", "true"), ("protocol.ext.allow", "always")] {
                trap.git(&["config", name, value]);
            }
            for hook in ["post-index-change", "pre-commit", "post-checkout", "reference-transaction"] {
                fs::copy(program, trap.root().join(".git/hooks").join(hook)).unwrap();
            }
            // The file looks changed, so git must read it through its filter.
            fs::write(trap.root().join("a.txt"), "two\n").unwrap();
            trap
        }

        fn root(&self) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join("repository")
        }

        fn canary(&self) -> PathBuf {
            self.dir.path().join("canary")
        }

        fn sprung(&self) -> String {
            fs::read_to_string(self.canary()).unwrap_or_default()
        }

        fn git(&self, args: &[&str]) {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args).current_dir(self.root());
            let run = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
            assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
        }
    }

    #[test]
    fn the_trap_catches_a_careless_caller() {
        let trap = Trap::new();
        let _ = Command::new("git").args(["status"]).current_dir(trap.root()).output().unwrap();
        assert_ne!(trap.sprung(), "");
    }

    #[test]
    fn no_program_named_by_a_repository_is_started() {
        let trap = Trap::new();
        let root = trap.root();
        let history: [&[&str]; 4] = [
            &["log", "-p", "--no-ext-diff", "--no-textconv", "HEAD"],
            &["log", "-n", "5", "--name-status", "-z", "-M", "--format=%ct", "HEAD"],
            &["for-each-ref", "--no-merged=HEAD", "refs/heads"],
            &["rev-parse", "HEAD"],
        ];
        for args in history {
            let mut command = command(&root);
            command.args(args);
            assert!(printed(command, AMPLE).is_some(), "{args:?}");
            assert_eq!(trap.sprung(), "", "{args:?}");
        }
        let files: [&[&str]; 5] = [
            &["status", "--porcelain", "-z", "--ignore-submodules=all"],
            &["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"],
            &["add", "--all"],
            &["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "two"],
            &["checkout", "HEAD", "--", "a.txt"],
        ];
        for args in files {
            let mut command = on_files(&root).unwrap();
            command.args(args);
            assert!(printed(command, AMPLE).is_some(), "{args:?}");
            assert_eq!(trap.sprung(), "", "{args:?}");
        }
    }

    #[test]
    fn missing_objects_are_not_fetched() {
        let trap = Trap::new();
        let program = trap.dir.path().join("program");
        for (name, value) in [
            ("extensions.partialClone", "origin".to_string()),
            ("remote.origin.promisor", "true".to_string()),
            ("remote.origin.url", format!("ext::{} %S", program.display())),
            ("core.repositoryFormatVersion", "1".to_string()),
        ] {
            trap.git(&["config", name, &value]);
        }
        let objects = trap.root().join(".git/objects");
        fs::remove_dir_all(&objects).unwrap();
        fs::create_dir(&objects).unwrap();
        let mut command = command(&trap.root());
        command.args(["log", "HEAD"]);
        assert_eq!((printed(command, AMPLE), trap.sprung()), (None, String::new()));
    }

    #[test]
    fn a_repository_of_another_user_is_left_alone() {
        let trap = Trap::new();
        let mut command = command(&trap.root());
        command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.args(["log", "HEAD"]);
        assert_eq!((printed(command, AMPLE), trap.sprung()), (None, String::new()));
    }

    #[test]
    fn neither_a_folder_above_nor_one_that_looks_bare_is_taken_for_the_repository() {
        let trap = Trap::new();
        let inside = trap.root().join("inside");
        trap.git(&["init", "-q", "--bare", "inside"]);
        fs::create_dir(trap.root().join("plain")).unwrap();
        for root in [inside, trap.root().join("plain")] {
            let mut command = command(&root);
            command.args(["rev-parse", "--git-dir"]);
            assert_eq!(printed(command, AMPLE), None, "{}", root.display());
        }
    }
}
