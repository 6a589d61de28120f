//! The doors of the testkit, as the tests here call them.

pub use cerberus_testkit::doors::*;
