//! Synchronous I/O.
