//! What a session is told at a moment that calls for it. Reads from the view what `recall` asks for, and decides nothing.

pub mod edit;
pub mod live;
pub mod past;
pub mod seen;
