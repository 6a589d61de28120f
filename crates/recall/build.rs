//! Hands a hash of these sources to the build script of the store, which is part of the view's version: through cargo and
//! not through a path, because in a registry the sources of the store are not beside these.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "only the crate itself is pure"
)]

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    add(Path::new("src"), &mut hash)?;
    println!("cargo::metadata=sources={hash:016x}");
    Ok(())
}

/// FNV-1a over the names and bytes of all files, in the order of their names.
fn add(path: &Path, hash: &mut u64) -> io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> =
            fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| add(entry, hash));
    }
    let name = path.to_string_lossy().into_owned().into_bytes();
    for byte in name.iter().chain(&fs::read(path)?) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Ok(())
}
