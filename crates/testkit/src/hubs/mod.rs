//! Real servers for hubs: PostgreSQL, git over HTTP and ssh, S3-compatible storage. And a slow line between.
//!
//! Each is started by its test on 127.0.0.1, with its own folder, on a port that the system picks, and stops when
//! dropped. `dev/hubs` installs them. Where one is missing, `is_here` says so, and in CI it fails.

pub mod certificate;
pub mod delay;
pub mod git;
pub mod machine;
pub mod postgres;
pub mod s3;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::need;
use crate::process::{LIMIT, wait_until};

/// The folder into which `dev/hubs` installs, unless `CERBERUS_HUBS` names another.
pub(crate) fn installed() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let default = || workspace.canonicalize().unwrap_or(workspace.clone()).join(".cache/hubs");
    std::env::var_os("CERBERUS_HUBS").map_or_else(default, PathBuf::from)
}

/// A program of the system, in one of these folders or in PATH.
pub(crate) fn program(name: &str, dirs: &[PathBuf]) -> PathBuf {
    need::program(name, dirs).unwrap_or_else(|| panic!("{name} is missing; to install what hubs need: dev/hubs"))
}

/// A port that was free a moment ago, for servers that cannot choose one themselves.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

pub(crate) fn wait_for_port(port: u16) -> Result<(), String> {
    let connects = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(drop);
    wait_until(&format!("a server on port {port}"), LIMIT, connects)
}

pub(crate) fn scratch(name: &str) -> TempDir {
    tempfile::Builder::new().prefix(&format!("cerberus-{name}-")).tempdir().expect("makes a temporary directory")
}

/// Runs a program that must succeed, and returns what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
