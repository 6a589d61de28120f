//! What git says about paths: the entries of a tree, and lists of them in git's order.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};

/// The modes of git's trees.
pub(super) const SUBMODULE: &str = "160000";
pub(super) const LINK: &str = "120000";
pub(super) const PROGRAM: &str = "100755";
pub(super) const PLAIN: &str = "100644";

/// What a tree says about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub mode: &'static str,
    pub blob: String,
}

impl TreeEntry {
    /// The mode and the blob as git prints them.
    pub fn new(mode: &str, blob: &str) -> TreeEntry {
        let known = [PLAIN, PROGRAM, LINK, SUBMODULE].into_iter().find(|known| *known == mode);
        TreeEntry { mode: known.unwrap_or(PLAIN), blob: blob.to_string() }
    }
}

/// Sorted by the bytes of the path, as git lists them. There may be a hundred thousand, so they are not in a map, and not
/// compared as paths.
pub(super) type ByPath<T> = Vec<(OsString, T)>;

/// Finds what belongs to paths that are asked for in their order.
pub(super) struct InOrder<'l, T> {
    rest: &'l [(OsString, T)],
}

impl<'l, T> InOrder<'l, T> {
    pub fn new(sorted: &'l [(OsString, T)]) -> InOrder<'l, T> {
        InOrder { rest: sorted }
    }

    pub fn find(&mut self, path: &OsStr) -> Option<&'l T> {
        while let [(first, found), rest @ ..] = self.rest {
            match first.as_os_str().cmp(path) {
                Ordering::Less => self.rest = rest,
                Ordering::Equal => return Some(found),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

/// The parts of a list that git ends with zeros.
pub(super) fn fields(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}
