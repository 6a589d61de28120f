//! The version of the view: a hash of the code that makes it. Records become rows by what core extracts from them and by
//! the tables of the store; when either changes, the view is folded anew from the journal.
//! Core's own build script hashes core.

use std::env;
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let core = env::var("DEP_CERBERUS_CORE_SOURCES").map_err(io::Error::other)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    add_bytes(core.as_bytes(), &mut hash);
    for folder in ["src/store", "src/journal"] {
        println!("cargo::rerun-if-changed={folder}");
        add(Path::new(folder), &mut hash)?;
    }
    println!("cargo::rustc-env=VIEW_VERSION={hash:016x}");
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
    add_bytes(path.to_string_lossy().as_bytes(), hash);
    add_bytes(&fs::read(path)?, hash);
    Ok(())
}

fn add_bytes(bytes: &[u8], hash: &mut u64) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
