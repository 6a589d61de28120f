//! The version of the view: a hash of the code that makes it. Records become rows by what is extracted from them and by
//! the tables of the view; when either changes, the view is folded anew from the journal.
//! The crates that extract hash their own sources.

use std::env;
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for sources in ["DEP_CERBERUS_TEXT_SOURCES", "DEP_CERBERUS_RECORD_SOURCES", "DEP_CERBERUS_RECALL_SOURCES"] {
        add_bytes(env::var(sources).map_err(io::Error::other)?.as_bytes(), &mut hash);
    }
    for folder in ["src/view", "src/journal"] {
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
