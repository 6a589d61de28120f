//! Several homes and one hub: what one device records, the others know, and nothing else happens.

mod attack;
mod chain;
mod consent;
mod containers;
mod conversations;
mod faults;
mod forget;
mod grants;
mod hostile;
mod hubs;
mod interleave;
mod limits;
mod links;
mod machines;
mod recovery;
mod scale;
pub mod team;

use std::path::{Path, PathBuf};

use cerberus_testkit::env::TestEnv;
use serde_json::Value;

use crate::env;

/// A hub in a folder.
pub struct Hub {
    dir: tempfile::TempDir,
}

impl Hub {
    pub fn new() -> Hub {
        Hub { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn url(&self) -> String {
        self.path().to_string_lossy().into_owned()
    }

    /// Every file of the hub with its content.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        each_file(&self.path(), &mut found);
        found.sort();
        found
    }

    /// The files whose path contains this.
    pub fn paths(&self, part: &str) -> Vec<PathBuf> {
        let files = self.files().into_iter().map(|(path, _)| path);
        files.filter(|path| path.to_string_lossy().contains(part)).collect()
    }

    /// The batches, by device and in order.
    pub fn batches(&self) -> Vec<PathBuf> {
        self.files()
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| !["/heads/", "/space/chain/"].iter().any(|part| path.to_string_lossy().contains(part)))
            .collect()
    }
}

fn each_file(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => each_file(&entry.path(), found),
            false => found.push((entry.path(), std::fs::read(entry.path()).unwrap())),
        }
    }
}

/// A machine with a clone of the same repository, at the machine's own time.
pub fn machine() -> TestEnv {
    let mut env = env();
    env.set_now(None);
    env.git(&env.project(), &["remote", "add", "origin", "https://git.example.com/acme/hydra.git"]);
    env
}

/// Makes a space on the hub and shares the project. Returns the recovery code.
pub fn init(env: &TestEnv, hub: &Hub, name: &str) -> String {
    let made = env.json(&["sync", "init", &hub.url(), "--name", name]);
    env.ok(&["share"]);
    made["recovery_code"].as_str().unwrap().to_string()
}

/// Lets another machine in and shares the project there.
pub fn join(first: &TestEnv, other: &TestEnv, hub: &Hub, name: &str, team: &[&str]) {
    let code = first.json(&[&["sync", "pair", "--wait", "0"], team].concat());
    let code = code["code"].as_str().unwrap();
    other.ok(&["sync", "init", &hub.url(), "--code", code, "--name", name, "--wait", "0"]);
    first.ok(&["sync"]);
    other.ok(&["sync"]);
    other.ok(&[&["share"], team].concat());
}

/// Two machines that share a project.
pub fn pair() -> (Hub, TestEnv, TestEnv) {
    let (hub, a, b) = (Hub::new(), machine(), machine());
    init(&a, &hub, "laptop");
    join(&a, &b, &hub, "workstation", &[]);
    (hub, a, b)
}

/// What sync reports as wrong in its last exchange.
pub fn problems(env: &TestEnv) -> Vec<String> {
    let status = env.json(&["sync", "status"]);
    let all = status["spaces"].as_array().unwrap().iter().flat_map(|space| space["problems"].as_array().unwrap());
    all.map(|problem| problem.as_str().unwrap().to_string()).collect()
}

pub fn space(env: &TestEnv) -> Value {
    env.json(&["sync", "status"])["spaces"][0].clone()
}

/// Decides something for the team.
pub fn decide_for_team(env: &TestEnv, what: &str) {
    env.ok(&["record", "decision", what, "--team"]);
}

pub fn decide(env: &TestEnv, what: &str) {
    env.ok(&["record", "decision", what]);
}
