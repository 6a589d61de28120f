//! What people look at: the list of sessions, the page of one session, search over everything, and all projects at a
//! glance. Every query is as of a given time. The results are plain structs; others draw them.

pub mod find;
pub mod log;
pub mod overview;
pub mod page;
pub mod proposals;
pub mod search;
pub mod standup;
pub mod told;
