//! Sessions on record: started, ended, recovered after a crash, named after the code they changed.

pub mod find;
pub mod legacy;
pub mod lifecycle;
pub mod name;
pub mod recover;
