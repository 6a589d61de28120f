//! The version of the view: a hash of the code that makes it. Records become rows by what is extracted from them and by
//! the tables of the view; when either changes, the view is folded anew from the journal.

use std::env;
use std::fs;
use std::io;
use std::path::Path;

/// The crates that extract say where they are.
const FOLDERS: [(&str, &str); 5] = [
    ("DEP_CERBERUS_TEXT_FOLDER", "src"),
    ("DEP_CERBERUS_RECORD_FOLDER", "src"),
    ("DEP_CERBERUS_RECALL_FOLDER", "src"),
    ("CARGO_MANIFEST_DIR", "src/view"),
    ("CARGO_MANIFEST_DIR", "src/journal"),
];

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (variable, folder) in FOLDERS {
        let root = env::var(variable).map_err(io::Error::other)?;
        println!("cargo::rerun-if-changed={root}/{folder}");
        add(Path::new(&root), Path::new(folder), &mut hash)?;
    }
    println!("cargo::rustc-env=VIEW_VERSION={hash:016x}");
    Ok(())
}

/// FNV-1a over the names and bytes of all files, in the order of their names.
fn add(root: &Path, path: &Path, hash: &mut u64) -> io::Result<()> {
    let whole = root.join(path);
    if whole.is_dir() {
        let mut names: Vec<_> =
            fs::read_dir(whole)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
        names.sort();
        return names.iter().try_for_each(|name| add(root, &path.join(name), hash));
    }
    for byte in path.to_string_lossy().as_bytes().iter().chain(&fs::read(whole)?) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Ok(())
}
