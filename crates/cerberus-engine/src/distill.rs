//! Corrections become proposals, and what is sure enough becomes a memory by itself.
use crate::fold::FoldError;
use crate::memories::Keeper;
use crate::store::{MemoryRow, Store};

pub fn distill(_keeper: &Keeper, _store: &mut Store) -> Result<(), FoldError> {
    Ok(())
}

pub fn proposals(keeper: &Keeper, store: &mut Store) -> Result<Vec<MemoryRow>, FoldError> {
    distill(keeper, store)?;
    Ok(store.memories(cerberus_core::memory::Status::Proposed, keeper.clock.now)?)
}

pub fn waiting(keeper: &Keeper, store: &mut Store) -> Result<Vec<MemoryRow>, FoldError> {
    proposals(keeper, store)
}
