//! S3-compatible storage for one test: moto, which checks signatures and permissions.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::{installed, scratch};
use crate::need;
use crate::process::{LIMIT, Running, wait_until};

const SERVER: &str = include_str!("s3_server.py");

#[derive(Debug)]
pub struct Storage {
    _running: Running,
    port: u16,
    key: String,
    secret: String,
    _dir: TempDir,
}

impl Storage {
    /// Whether this machine can start one; if not, the caller leaves its test out.
    pub fn is_here() -> bool {
        need::has_file(&installed().join("moto/bin/python"), "dev/hubs")
    }

    /// Storage with one bucket, `bucket`, and one user who may use it.
    pub fn start() -> Storage {
        let python = installed().join("moto/bin/python");
        assert!(python.exists(), "moto is missing ({}); to install what hubs need: dev/hubs", python.display());
        let dir = scratch("s3");
        let script = dir.path().join("server.py");
        std::fs::write(&script, SERVER).expect("writes into a new folder");
        let mut command = Command::new(python);
        // Without a user's configuration of boto3.
        command.env_clear().env("HOME", dir.path()).env("PATH", crate::scratch::SYSTEM_PATH).arg("-I").arg(&script);
        let running = Running::spawn(&mut command).expect("python is started");
        let line = || running.printed().lines().find(|line| line.starts_with('{')).map(str::to_string);
        let told = wait_until("moto", LIMIT, line).expect("moto starts");
        let told: Value = serde_json::from_str(&told).expect("it prints JSON");
        let text = |name: &str| told[name].as_str().expect("a text").to_string();
        let port = told["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        Storage { port, key: text("key"), secret: text("secret"), _running: running, _dir: dir }
    }

    /// The address of the hub.
    pub fn hub(&self) -> String {
        self.hub_through(self.port)
    }

    /// The same through another port, such as that of a slow line.
    pub fn hub_through(&self, port: u16) -> String {
        let secret = self.secret.replace('%', "%25").replace('/', "%2F").replace('+', "%2B");
        format!("s3+http://{}:{secret}@127.0.0.1:{port}/bucket/some/where?region=eu-central-1", self.key)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The name of the key, and the secret.
    pub fn credentials(&self) -> (&str, &str) {
        (&self.key, &self.secret)
    }
}
