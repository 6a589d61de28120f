//! Pure decisions.

pub mod settings;
