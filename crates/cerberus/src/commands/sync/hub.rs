//! Opens hubs.

use std::sync::Once;
use std::time::Duration;

use cerberus_sync::SyncError;
use cerberus_sync::transport::{self, TimeLimit, Transport};

use crate::context::Context;
use crate::platform::{Signals, die};

/// How long one request to a hub may take.
pub(super) const REQUEST_MAX: Duration = Duration::from_secs(30);

/// How long everything that one command does may take. The next one goes on from there.
pub(super) const COMMAND_MAX: Duration = Duration::from_secs(10 * 60);

/// Opens a hub. Nothing is sent yet.
pub(super) fn open(context: &Context, address: &str) -> std::result::Result<Box<dyn Transport>, SyncError> {
    open_within(context, address, TimeLimit::of(REQUEST_MAX, COMMAND_MAX))
}

pub(super) fn open_within(
    context: &Context,
    address: &str,
    time: TimeLimit,
) -> std::result::Result<Box<dyn Transport>, SyncError> {
    static WATCH: Once = Once::new();
    WATCH.call_once(end_children_too);
    let (dir, variable) = (context.home.sync_dir().join("hub"), |name: &str| std::env::var(name).ok());
    Ok(transport::open(address, &transport::LocalMachine { dir: &dir, variable: &variable, time })?)
}

/// If somebody ends this process, the programs that it has started end with it.
fn end_children_too() {
    if let Ok(signals) = Signals::catch() {
        std::thread::spawn(|| {
            signals.each(|signal| {
                transport::git::end_all();
                die(signal)
            });
        });
    }
}
