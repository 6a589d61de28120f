//! Removing what is stored: on request, by retention settings, or because it contains a secret.

pub mod forget;
pub mod retention;
pub mod scan;
