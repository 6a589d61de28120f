//! Pure decisions.

pub mod tokens;
