//! A machine of its own for a test: a network namespace whose only way out is one port of this machine.
//!
//! A program in it has its own loopback, on which a listener forwards to the hub. Whatever else it tries to reach, it
//! cannot. Only root may make a namespace: for anybody else, a machine says so and uses this machine's own loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::delay::Delay;
use super::{program, run};
use crate::need;

static COUNT: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub struct Machine {
    /// The namespace; `None` without the right to make one.
    name: Option<String>,
    doors: Vec<Delay>,
}

impl Machine {
    pub fn new() -> Machine {
        let name = format!("cerberus-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let made = need::program("ip", &[]).ok_or_else(|| "only Linux has them".to_string()).and_then(|ip| {
            let made = Command::new(ip).args(["netns", "add", &name]).output().expect("ip starts");
            let why = || String::from_utf8_lossy(&made.stderr).trim().to_string();
            if made.status.success() { Ok(()) } else { Err(why()) }
        });
        if let Err(why) = made {
            eprintln!(
                "no network namespace, tested over plain loopback instead (`sudo dev/test` tests with one): {why}"
            );
            return Machine { name: None, doors: Vec::new() };
        }
        let machine = Machine { name: Some(name), doors: Vec::new() };
        run(machine.command("ip").args(["link", "set", "lo", "up"]));
        machine
    }

    /// Whether programs on it reach nothing but the hub.
    pub fn is_isolated(&self) -> bool {
        self.name.is_some()
    }

    /// Makes the server on a port of this machine reachable under the same port of that one's loopback.
    pub fn reach(&mut self, port: u16) {
        let Some(name) = &self.name else { return };
        let namespace = std::fs::File::open(format!("/run/netns/{name}")).expect("the namespace is there");
        // A socket belongs to the namespace of the thread that makes it.
        let bind = move || {
            enter(namespace.as_fd());
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("nothing else listens there")
        };
        let listener = std::thread::spawn(bind).join().expect("the listener is there");
        self.doors.push(Delay::on(listener, port, Duration::ZERO));
    }

    /// A program on that machine.
    pub fn command(&self, program_name: &str) -> Command {
        let Some(name) = &self.name else { return Command::new(program_name) };
        let mut command = Command::new(program("ip", &[]));
        command.args(["netns", "exec", name, program_name]);
        command
    }

    /// How often programs on it connected to a hub.
    pub fn connections(&self) -> u64 {
        self.doors.iter().map(Delay::connections).sum()
    }
}

/// Moves this thread into a network namespace.
#[cfg(target_os = "linux")]
fn enter(namespace: BorrowedFd) {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network)).expect("root may enter it");
}

#[cfg(not(target_os = "linux"))]
fn enter(_namespace: BorrowedFd) {
    unreachable!("no machine has a namespace here");
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = Command::new(program("ip", &[])).args(["netns", "del", name]).status();
        }
    }
}
