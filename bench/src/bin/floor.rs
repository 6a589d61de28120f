//! The minimum of a durable hook: appends standard input to a file in one write and syncs it. Without a file it only
//! reads its input: the minimum of a hook that records nothing.
//!
//! The hook is measured against it. It is built the same way and does not look at what it copies.

use std::process::ExitCode;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The size of one read; the benchmark payloads fit.
const READ_BYTES: usize = 64 * 1024;

fn main() -> ExitCode {
    match append() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn append() -> rustix::io::Result<()> {
    let mut bytes: Vec<u8> = Vec::with_capacity(READ_BYTES);
    while rustix::io::read(rustix::stdio::stdin(), spare_capacity(&mut bytes))? > 0 {
        bytes.reserve(READ_BYTES / 4);
    }
    let Some(path) = std::env::args_os().nth(1) else { return Ok(()) };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    if rustix::io::write(&file, &bytes)? != bytes.len() {
        return Err(Errno::IO);
    }
    rustix::fs::fdatasync(&file)
}
