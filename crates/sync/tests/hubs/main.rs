//! Hubs with their real servers: what they all do, what each refuses, and what remains of a push that is cut off.

// Clippy takes what stands beside the test functions for production code.
#![allow(clippy::unwrap_used, clippy::panic)]

mod conformance;
mod git;
mod machines;
mod postgres;
mod s3;

use std::path::Path;
use std::process::Command;

use cerberus_sync::transport::{LocalMachine, Place, Put, Sealed, Stream, TimeLimit, Transport, TransportError, open};
use cerberus_testkit::hubs::delay::Delay;
use cerberus_testkit::process::{LIMIT, Running, kill_group, wait_until};

/// The variables that make another process do a part of a test.
const JOB: &str = "CERBERUS_HUB_TEST";
const HUB: &str = "CERBERUS_HUB_TEST_ADDRESS";
const DIR: &str = "CERBERUS_HUB_TEST_DIR";

fn hub(address: &str, dir: &Path) -> Box<dyn Transport> {
    open(address, &LocalMachine { dir, variable: &|_| None, time: TimeLimit::of(LIMIT, LIMIT) })
        .unwrap_or_else(|error| panic!("{error}"))
}

fn place(project: &str) -> Place {
    Place { space: "5pace".to_string(), project: project.to_string() }
}

fn stream(project: &str, device: &str) -> Stream {
    Stream { place: place(project), device: device.to_string() }
}

fn batch(sequence: u64, text: &str) -> Sealed {
    Sealed { sequence, bytes: text.as_bytes().to_vec() }
}

/// A push that takes many packets, also if it is compressed.
fn large_push() -> Vec<Sealed> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()
    };
    (1..=20).map(|sequence| Sealed { sequence, bytes: (0..8 * 1024).flat_map(|_| next()).collect() }).collect()
}

/// Which kind of error it is, and what it says.
fn told<T>(result: Result<T, TransportError>) -> (&'static str, String) {
    match result {
        Ok(_) => ("fine", String::new()),
        Err(error) => {
            let kind = match &error {
                TransportError::Unreachable { .. } => "unreachable",
                TransportError::Refused { .. } => "refused",
                TransportError::Full { .. } => "full",
                TransportError::Unexpected { .. } => "unexpected",
                TransportError::InTheWay { .. } => "in the way",
                TransportError::Address(_) => "no address",
            };
            (kind, error.to_string())
        }
    }
}

const SPACE: &str = "00000000000000ff";

fn conforms(address: &str, removes: bool) {
    let dir = tempfile::tempdir().unwrap();
    conformance::check(&mut from_two_homes(address, dir.path()), SPACE, removes);
}

/// Every other connection comes from another home.
fn from_two_homes(address: &str, dir: &Path) -> impl FnMut() -> Box<dyn Transport> {
    let mut count = 0;
    move || {
        count += 1;
        hub(address, &dir.join((count % 2).to_string()))
    }
}

/// This test's program, as another process that does one job.
fn other_process(job: &str, address: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_job_in_another_process", "--nocapture"]);
    command.env(JOB, job).env(HUB, address).env(DIR, dir);
    command
}

/// Not a test of its own: what other tests let another process do.
#[test]
fn a_job_in_another_process() {
    let Ok(job) = std::env::var(JOB) else { return };
    let (address, dir) = (std::env::var(HUB).unwrap(), std::env::var(DIR).unwrap());
    match job.as_str() {
        "batches" => conformance::batches(&mut from_two_homes(&address, Path::new(&dir)), SPACE),
        "heads" => println!("told: {:?}", told(hub(&address, Path::new(&dir)).heads(&place("p")))),
        "push" => {
            let pushed = hub(&address, Path::new(&dir)).put_if_absent(&stream("cut", "de1"), 1, &large_push());
            panic!("a push through a line that holds it came to an end: {pushed:?}");
        }
        other => panic!("{other}"),
    }
}

/// Kills a process in the middle of a push, at several points of it. `address` is that of the hub behind a port. Returns
/// how many batches were there each time. A retry must complete the push.
fn cut_off(port: u16, address: &dyn Fn(u16) -> String) -> Vec<usize> {
    let mut counts = Vec::new();
    for bytes in [3_000, 200_000, 900_000] {
        let (killed, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let line = Delay::holding(port, bytes);
        let running = Running::spawn(&mut other_process("push", &address(line.port()), killed.path())).unwrap();
        wait_until("a push that is held", LIMIT, || line.is_held().then_some(())).unwrap();
        kill_group(running.pid()).unwrap();
        drop(running);
        drop(line);
        let mut direct = hub(&address(port), dir.path());
        let found = direct.after(&stream("cut", "de1"), 1, 0, 100).unwrap();
        assert_eq!(found, large_push()[..found.len()], "what is there is whole");
        counts.push(found.len());
    }
    let dir = tempfile::tempdir().unwrap();
    let mut direct = hub(&address(port), dir.path());
    let again = direct.put_if_absent(&stream("cut", "de1"), 1, &large_push()).unwrap();
    assert!(again.len() == 20 && !again.contains(&Put::Other), "{again:?}");
    assert_eq!(direct.put_if_absent(&stream("cut", "de1"), 1, &large_push()).unwrap(), [Put::Stored; 20]);
    assert_eq!(direct.after(&stream("cut", "de1"), 1, 0, 100).unwrap(), large_push());
    counts
}

/// Several devices push at once, each its own stream and all a common one.
fn all_at_once(address: &dyn Fn(usize) -> String) {
    const DEVICES: usize = 6;
    let work = |number: usize, address: String| {
        let dir = tempfile::tempdir().unwrap();
        let mut hub = hub(&address, dir.path());
        for sequence in 1..=3 {
            let own = [batch(sequence, &format!("{number}"))];
            assert_eq!(hub.put_if_absent(&stream("many", &format!("de{number}")), 1, &own).unwrap(), [Put::Stored]);
        }
        hub.replace(&place("many"), &format!("de{number}"), b"head", Some(1)).unwrap();
        hub.put_if_absent(&stream("common", "c0"), 1, &[batch(1, &format!("{number}"))])
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..DEVICES)
            .map(|number| {
                let address = address(number);
                scope.spawn(move || work(number, address))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let stored = results.iter().filter(|result| matches!(result.as_deref(), Ok([Put::Stored]))).count();
    assert_eq!(stored, 1, "one writer wins: {results:?}");
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&address(0), dir.path());
    assert_eq!(hub.heads(&place("many")).unwrap().len(), DEVICES);
    for number in 0..DEVICES {
        let found = hub.after(&stream("many", &format!("de{number}")), 1, 0, 10).unwrap();
        assert_eq!(found.len(), 3, "device {number}");
    }
    assert_eq!(hub.after(&stream("common", "c0"), 1, 0, 10).unwrap().len(), 1);
}
