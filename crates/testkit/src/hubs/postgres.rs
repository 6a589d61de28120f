//! A real PostgreSQL with TLS and `hub.sql`, for one test.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::certificate::Certificates;
use super::{free_port, program, run, scratch};
use crate::need;
use crate::process::{LIMIT, Running, wait_until};

/// Of every role. Nothing outside the test can reach the server.
const PASSWORD: &str = "p%ss:w/rd";
const PASSWORD_ENCODED: &str = "p%25ss%3Aw%2Frd";

const HUB_SQL: &str = include_str!("../../../sync/src/transport/postgres/hub.sql");

/// PostgreSQL refuses to run as root, and another user needs a shared folder.
const USER: &str = "postgres";

#[derive(Debug)]
pub struct Database {
    running: Running,
    certificates: Certificates,
    port: u16,
    dir: TempDir,
}

impl Database {
    /// Whether this machine can start one; if not, the caller leaves its test out.
    pub fn is_here() -> bool {
        need::has_below(&folders(), &["initdb", "postgres", "psql", "openssl"])
    }

    /// A database with the tables of `hub.sql`.
    pub fn start() -> Database {
        let database = Database::start_empty();
        // Twice: applying it again changes nothing.
        database.sql(HUB_SQL);
        database.sql(HUB_SQL);
        database
    }

    /// A database without any table.
    pub fn start_empty() -> Database {
        let dir = scratch("postgres");
        let certificates = Certificates::new(dir.path());
        std::fs::write(dir.path().join("password"), PASSWORD).expect("writes into a new folder");
        let data = dir.path().join("data");
        give(dir.path());
        let mut initdb = as_user(&binary("initdb"));
        initdb.args(["--username=admin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        run(initdb.arg("--pwfile").arg(dir.path().join("password")).arg("--pgdata").arg(&data).current_dir(dir.path()));
        // The port may be taken between its choice and its use.
        let started = (0..5).find_map(|_| serve(dir.path(), &certificates));
        let (running, port) = started.expect("PostgreSQL starts");
        Database { running, certificates, port, dir }
    }

    /// Runs SQL as the administrator, through `psql` as a person would. Returns what it printed, unaligned.
    pub fn sql(&self, sql: &str) -> String {
        self.sql_as("admin", sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Runs SQL as a role. The error is what `psql` said.
    pub fn sql_as(&self, role: &str, sql: &str) -> Result<String, String> {
        let mut psql = Command::new(binary("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "--command", sql]);
        let url = format!("{}&sslrootcert={}", self.url(role, "sslmode=verify-full"), self.authority().display());
        let output = psql.arg(url).env_clear().env("PATH", crate::scratch::SYSTEM_PATH).output().expect("psql runs");
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Adds a person, as the administrator does.
    pub fn add_person(&self, role: &str) {
        self.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}' IN ROLE cerberus_member"));
    }

    /// The address of the hub for a person, with TLS.
    pub fn hub(&self, role: &str) -> String {
        format!("{}&sslrootcert={}", self.url(role, "sslmode=verify-full"), self.authority().display())
    }

    /// An address with settings of the test's choice.
    pub fn url(&self, role: &str, settings: &str) -> String {
        format!("postgres://{role}:{PASSWORD_ENCODED}@127.0.0.1:{}/postgres?{settings}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn authority(&self) -> PathBuf {
        self.certificates.authority()
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Its own way to stop at once leaves no shared memory behind.
        if let Some(pid) = i32::try_from(self.running.pid()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        let _ = self.running.wait(Duration::from_secs(30));
    }
}

fn serve(dir: &Path, certificates: &Certificates) -> Option<(Running, u16)> {
    let port = free_port();
    let mut command = as_user(&binary("postgres"));
    command.arg("-D").arg(dir.join("data")).args(["-p", &port.to_string()]).current_dir(dir);
    for setting in [
        "listen_addresses=127.0.0.1".to_string(),
        "unix_socket_directories=".to_string(),
        "max_connections=60".to_string(),
        "fsync=off".to_string(),
        "ssl=on".to_string(),
        format!("ssl_cert_file={}", certificates.server().display()),
        format!("ssl_key_file={}", certificates.server_key().display()),
    ] {
        command.args(["-c", &setting]);
    }
    let running = Running::spawn(&mut command).expect("PostgreSQL is started");
    let is_ready = || {
        let mut ready = Command::new(binary("pg_isready"));
        let status = ready.args(["--quiet", "--host=127.0.0.1", "--port", &port.to_string()]).status();
        status.is_ok_and(|status| status.success()).then_some(())
    };
    wait_until("PostgreSQL", LIMIT, is_ready).ok().map(|()| (running, port))
}

/// Debian keeps the programs of each version in a folder of their own; the newest is first.
fn folders() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    dirs.sort();
    dirs.reverse();
    dirs
}

/// A program of PostgreSQL.
fn binary(name: &str) -> PathBuf {
    program(name, &folders())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A command that runs as a user PostgreSQL accepts.
fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new(super::program("setpriv", &[]));
    command.args([&format!("--reuid={USER}"), &format!("--regid={USER}"), "--clear-groups"]).arg(program);
    command
}

/// Gives a folder and the files in it to the user that runs the server.
fn give(dir: &Path) {
    let key = dir.join("server.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("changes a file of the test");
    if !is_root() {
        return;
    }
    let id = |flag: &str| run(Command::new("id").args([flag, USER])).trim().parse::<u32>().expect("an id");
    let (user, group) = (id("--user"), id("--group"));
    let entries = std::fs::read_dir(dir).expect("reads a folder of the test").flatten().map(|entry| entry.path());
    for path in entries.chain([dir.to_path_buf()]) {
        chown(path, Some(user), Some(group)).expect("root may give files away");
    }
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).expect("changes a folder of the test");
}
