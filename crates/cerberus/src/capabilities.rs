//! The capabilities that this program is made of, on top of the store.

use cerberus_archive::capability::ArchiveCapability;
use cerberus_checkpoint::erase::UndoCapability;
use cerberus_checks::enforce::CheckCapability;
#[cfg(feature = "loop")]
use cerberus_loop::run::erase::LoopCapability;
use cerberus_store::capability::Capabilities;
#[cfg(feature = "sync")]
use cerberus_sync::detached::SyncCapability;

pub const ALL: Capabilities<'static> = &[
    &ArchiveCapability,
    &CheckCapability,
    &UndoCapability,
    #[cfg(feature = "loop")]
    &LoopCapability,
    #[cfg(feature = "sync")]
    &SyncCapability,
];
