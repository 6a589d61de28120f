//! Reads the files that the check consists of.

use std::path::Path;

use cerberus_os::outside;
use cerberus_record::clean::Cleaner;
use cerberus_record::id::fnv1a;

use crate::check_files::{CheckFile, candidates};
use crate::texts::OneLine;

/// Only this much of a file is compared.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The files of the check as they are now. Files that do not exist are left out.
pub fn read(cwd: &Path, cleaner: &Cleaner, command: &str) -> Vec<CheckFile> {
    let hash = |bytes: Vec<u8>| fnv1a(&bytes);
    let files = candidates(command).into_iter().filter_map(|candidate| {
        let bytes = outside::beginning(&cwd.join(&candidate.path), FILE_BYTES_MAX).ok()?;
        Some(CheckFile { path: OneLine::new(cleaner, &candidate.path), hash: hash(candidate.part.of(&bytes)) })
    });
    files.collect()
}
