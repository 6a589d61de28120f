//! Files are named by their path from the root of the project, so that they can be opened as they are told.

use cerberus_record::clean::text;

use super::{BriefLine, Section};

/// The last component of a path.
pub fn base(path: &str) -> &str {
    match memchr::memrchr(b'/', path.as_bytes()) {
        Some(at) if at + 1 < path.len() => &path[at + 1..],
        None => path,
        // It ends with a slash.
        Some(_) => path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path),
    }
}

/// Whether `suffix` is the end of `path`, in whole components.
pub(super) fn ends_with_path(path: &str, suffix: &str) -> bool {
    path.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Gives every file its name. Files outside the project keep their full path.
pub fn name_files(items: &mut [BriefLine]) {
    for item in items.iter_mut().filter(|item| item.section == Section::Files) {
        if let Some(path) = item.path.as_deref() {
            item.code = format!("{}{}", item.kind.prefix(), text::code(path));
        }
    }
}
