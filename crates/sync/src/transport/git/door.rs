//! The second place that starts git, besides `project/git/command.rs`: it works in a repository of our own and talks to
//! one remote.
//!
//! No hook runs, no configuration of a project applies, nobody is prompted, only the protocol of the hub's address is
//! allowed, no redirect is followed, and time and output are limited. Credentials come from where the user's own git
//! finds them: a credential helper, or ssh.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cerberus_os::output::{OutputError, read_until};
use cerberus_os::platform::{self, ProcessEnd};

use super::super::TimeLimit;

/// The largest answer that is read from git at once.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How much one fetch may add to the repository. A remote that knows no filters sends whatever anybody put there.
const FETCHED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How often it is looked at while git fetches.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Enough for a message; a remote can print anything.
const MESSAGES_BYTES_MAX: u64 = 16 * 1024;

const SETTINGS: [&str; 22] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.alternateRefsCommand=true",
    "core.gitProxy=",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=no",
    "fetch.fsckObjects=true",
    // What is fetched becomes one file, whose growth can be seen.
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "protocol.version=2",
    "http.followRedirects=false",
    // Whoever started it may be killed. Then it ends by itself when nothing is heard any more.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
    // The remote names references only; it must not be able to name another place to fetch from.
    "transfer.bundleURI=false",
];

const VARIABLES: [(&str, &str); 8] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty: no program asks for a password, whatever the configuration names.
    ("GIT_ASKPASS", ""),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GCM_INTERACTIVE", "never"),
    // Messages are compared.
    ("LC_ALL", "C"),
    ("LANGUAGE", ""),
];

/// Whether git may get a variable of this process: of its own, only those that say where its settings and certificates are.
fn is_inherited(name: &str) -> bool {
    let is_of_git = name.starts_with("GIT_") || name == "SSH_ASKPASS";
    let is_of_settings = matches!(name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" | "GIT_CONFIG_NOSYSTEM");
    !is_of_git || is_of_settings || name.starts_with("GIT_SSL_")
}

/// Git in one bare repository of our own, allowed to use one protocol.
#[derive(Debug)]
pub struct Door {
    dir: PathBuf,
    protocol: &'static str,
    time: TimeLimit,
    pub(super) fetched_bytes_max: u64,
}

/// The git processes that run now. Each leads a group of its own.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A process that is known to run.
struct Running(u32);

impl Running {
    fn new(id: u32) -> Running {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        Running(id)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != self.0);
    }
}

/// Ends every git that runs now, with the programs that it started. For a process that is about to end.
pub fn end_all() {
    for id in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        platform::end_group(id, ProcessEnd::Kill);
    }
}

/// What git did.
#[derive(Debug)]
pub struct Done {
    pub is_success: bool,
    pub output: Vec<u8>,
    pub messages: String,
}

/// Why git did nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum GitFailure {
    /// It cannot be started.
    NoGit(String),
    TimedOut,
    TooLong,
}

impl Door {
    /// `dir` need not exist yet.
    pub fn new(dir: &Path, protocol: &'static str, time: TimeLimit) -> Door {
        Door { dir: dir.to_path_buf(), protocol, time, fetched_bytes_max: FETCHED_BYTES_MAX }
    }

    /// Creates the repository, unless it exists. It has no hooks and no configuration but git's own.
    pub fn create(&self) -> Result<Done, GitFailure> {
        let dir = self.dir.to_string_lossy();
        self.run(&["init", "--quiet", "--bare", "--template=", "--object-format=sha1", &dir], Vec::new())
    }

    /// Runs git to its end. `input` is its standard input.
    pub fn run(&self, args: &[&str], input: Vec<u8>) -> Result<Done, GitFailure> {
        let mut command = self.command();
        // Nothing but these may reach the remote, whatever is missing here.
        let is_remote = args.iter().any(|arg| matches!(*arg, "fetch" | "push"));
        command.env("GIT_ALLOW_PROTOCOL", if is_remote { self.protocol } else { "none" });
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Git starts further programs, which must end with it.
        let mut child = platform::in_own_group(&mut command)
            .spawn()
            .map_err(|error| GitFailure::NoGit(format!("git cannot be started: {error}")))?;
        let _running = Running::new(child.id());
        let deadline = Instant::now() + self.time.left();
        if let Some(mut stdin) = child.stdin.take() {
            std::thread::spawn(move || stdin.write_all(&input));
        }
        let messages = messages_of(&mut child);
        let output = match args.contains(&"fetch") {
            true => self.watched(&mut child, deadline),
            false => read_until(&mut child, deadline, OUTPUT_BYTES_MAX),
        };
        if output.is_err() {
            platform::end_group(child.id(), ProcessEnd::Kill);
        }
        let status = child.wait().map_err(|error| GitFailure::NoGit(error.to_string()))?;
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        let messages = messages.recv_timeout(left).unwrap_or_default();
        match output {
            Ok(output) => Ok(Done { is_success: status.success(), output, messages }),
            Err(OutputError::TimedOut) => Err(GitFailure::TimedOut),
            Err(OutputError::TooLong) => Err(GitFailure::TooLong),
            Err(OutputError::Broken) => Err(GitFailure::NoGit("its output cannot be read".to_string())),
        }
    }

    /// Reads what a fetch prints, and ends it when it has stored too much.
    fn watched(&self, child: &mut Child, deadline: Instant) -> Result<Vec<u8>, OutputError> {
        let (id, most) = (child.id(), self.stored_bytes() + self.fetched_bytes_max);
        let (running, is_over) = channel::<()>();
        let (output, is_ended) = std::thread::scope(|scope| {
            let watching = scope.spawn(move || {
                while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    if self.stored_bytes() > most {
                        platform::end_group(id, ProcessEnd::Kill);
                        return true;
                    }
                }
                self.stored_bytes() > most
            });
            let output = read_until(child, deadline, OUTPUT_BYTES_MAX);
            drop(running);
            (output, watching.join().unwrap_or(true))
        });
        if is_ended { Err(OutputError::TooLong) } else { output }
    }

    /// How much the packs of the repository hold, also one that is being written.
    pub(super) fn stored_bytes(&self) -> u64 {
        let packs = std::fs::read_dir(self.dir.join("objects/pack")).into_iter().flatten().flatten();
        packs.filter_map(|pack| pack.metadata().ok()).map(|pack| pack.len()).sum()
    }

    fn command(&self) -> Command {
        let mut command = self.plain();
        command.arg("--git-dir").arg(&self.dir).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if self.protocol == "ssh" {
            command.env("GIT_SSH_COMMAND", self.ssh());
        }
        command
    }

    fn plain(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir("/");
        for (name, _) in std::env::vars_os().filter(|(name, _)| !is_inherited(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command.envs(VARIABLES);
        command
    }

    /// The user's own ssh command, if one is set, which must ask nothing and stay with this git alone.
    fn ssh(&self) -> String {
        let of_environment = || std::env::var("GIT_SSH_COMMAND").ok();
        let of_settings = || {
            let mut command = self.plain();
            command.args(["config", "--global", "--get", "core.sshCommand"]);
            let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
            String::from_utf8(output.stdout).ok()
        };
        let own = of_environment().or_else(of_settings).map(|own| own.trim().to_string());
        let own = own.filter(|own| !own.is_empty()).unwrap_or_else(|| "ssh".to_string());
        format!(
            "{own} -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ControlMaster=no -o ForwardAgent=no"
        )
    }
}

/// Reads standard error on the side. A program that git left running may keep it open, so nobody waits for its end.
fn messages_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut stderr = stderr;
            let _ = stderr.by_ref().take(MESSAGES_BYTES_MAX).read_to_end(&mut bytes);
            // The rest is read too, or git would stop at a full pipe.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            sender.send(String::from_utf8_lossy(&bytes).into_owned())
        });
    }
    receiver
}
