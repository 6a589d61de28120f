//! The exchange after a session's end, in a process of its own: nobody waits for it.

use std::fs;
use std::process::Child;

use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::Home;
use cerberus_os::platform;
use cerberus_store::capability::Capability;
use cerberus_store::summary::detached::{FLAG, command};

/// What a session left is sent when it has ended.
pub struct SyncCapability;

impl Capability for SyncCapability {
    fn after_end(&self, home: &Home, clock: &Clock) {
        start(home, clock);
    }
}

/// Starts an exchange with other devices, if this home takes part in any, and returns at once. Nobody waits for it.
pub fn start(home: &Home, clock: &Clock) -> Option<Child> {
    fs::symlink_metadata(home.sync_dir().join("spaces.json")).ok()?;
    let started = command(home).and_then(|mut command| platform::in_own_group(command.args(["sync", FLAG])).spawn());
    started.inspect_err(|error| failures::note(home, clock.now, "sync", error)).ok()
}
