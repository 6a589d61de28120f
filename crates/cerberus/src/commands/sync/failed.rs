//! What to do about an error of sync.

use cerberus_sync::{SyncError, transport};

use crate::failure::{self, CommandFailure};

/// What to do about an error.
pub(super) fn hint(error: &SyncError) -> &'static str {
    use transport::TransportError::{Address, Full, InTheWay, Refused, Unexpected, Unreachable};
    match error {
        SyncError::Transport(Unreachable { .. }) => "nothing is lost; run `cerberus sync` again when it can be reached",
        SyncError::Transport(Refused { reason, .. }) if reason.contains("certificate") => {
            "add ?sslrootcert=FILE to the address, with the authority that signed it; for git, set http.sslCAInfo"
        }
        SyncError::Transport(Refused { .. }) => {
            "check the address and your rights there; `cerberus sync init --help` shows both"
        }
        SyncError::Transport(Full { .. }) => "make room on the hub, then run `cerberus sync` again; nothing is lost",
        SyncError::Transport(Unexpected { .. }) => {
            "check the address; `cerberus sync init --help` says what each hub must be"
        }
        SyncError::Transport(InTheWay { .. }) => "find out who put it there, remove it, then run `cerberus sync` again",
        SyncError::Transport(Address(_)) => "`cerberus sync init --help` shows the address of each hub",
        SyncError::WrongKey { .. } => "join the space again: `cerberus sync pair` on another device prints a code",
        SyncError::UnknownSpace { .. } => "check the address, and that the hub was not emptied",
        SyncError::WrongCode => "type it again; `cerberus sync pair` prints a new one-time code",
        SyncError::Waiting => "then run `cerberus sync` here; a code can be used for 15 minutes",
        SyncError::Removed(_) => "ask somebody who is still in it for a new code: `cerberus sync pair`",
        SyncError::NoSpace(_) => "`cerberus sync init URL` makes one, `cerberus sync status` shows which there are",
        SyncError::SpaceExists(_) => "`cerberus sync status` shows it; a code joins a space that exists elsewhere",
        SyncError::NoIdentity => {
            "make a first commit, add an origin, or write a name into .cerberus-project, the same on every device"
        }
        SyncError::NotShared => "`cerberus share` shares it",
        SyncError::EarlierFormat => "then `cerberus share` in each project, and `cerberus sync pair` for each device",
        SyncError::Forked { .. } => {
            "on a device that you trust, `cerberus sync settle --recovery CODE`; then remove the one that did this"
        }
        SyncError::NotBelieved { .. } => "check the address, and that nobody else writes to the hub",
        SyncError::Obstructed { .. } => {
            "find out who writes to the hub; `cerberus sync settle --recovery CODE` works around it"
        }
        SyncError::KeyWithheld { .. } => {
            "remove that device: `cerberus sync remove ID`; or begin another key: `cerberus sync settle --recovery CODE`"
        }
        SyncError::NoDevice(_) => "`cerberus sync status` lists the devices",
        SyncError::SeveralDevices(..) => "name it by the beginning of its id",
        _ => failure::DOCTOR,
    }
}

/// A failure with the hint that fits it.
pub(super) fn failed(error: SyncError) -> CommandFailure {
    let hint = hint(&error).to_string();
    CommandFailure { error: error.into(), hint }
}
