//! The project a session works in: its identity, its git history, its files and the guides that agents read there.

pub mod git;
pub mod guides;
pub mod identity;
pub mod joined;
pub mod privacy;
pub mod repository;
pub mod tracked;
