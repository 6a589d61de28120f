//! Files that git renamed keep their traces under the new name.

use std::collections::HashSet;
use std::hash::BuildHasher;

use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::map::{FastMap, FastSet};

use super::{Commit, SessionWork};
use crate::brief::KnownFact;

/// A file renamed more often than this is not followed.
const STEPS_MAX: usize = 8;

/// The current names of files that are no longer tracked, and which were deleted.
#[derive(Debug, Default)]
pub struct Renames {
    current_name: FastMap<String, String>,
    deleted: FastSet<String>,
}

impl Renames {
    /// `commits` are newest first. A name that is tracked again is not an old name.
    pub fn new<S: BuildHasher>(commits: &[Commit], tracked: &HashSet<&str, S>) -> Renames {
        let mut next: FastMap<&str, &str> = FastMap::default();
        let mut deleted = FastSet::default();
        for commit in commits {
            for (old, new) in &commit.renamed {
                next.entry(old).or_insert(new);
            }
            deleted.extend(commit.deleted.iter().filter(|path| !tracked.contains(path.as_str())).cloned());
        }
        let mut current_name = FastMap::default();
        for old in next.keys().filter(|old| !tracked.contains(**old)) {
            let mut name = *old;
            for _ in 0..STEPS_MAX {
                match next.get(name).filter(|_| !tracked.contains(name)) {
                    Some(newer) => name = newer,
                    None => break,
                }
            }
            if tracked.contains(name) {
                current_name.insert(old.to_string(), name.to_string());
            }
        }
        deleted.retain(|path| !current_name.contains_key(path));
        Renames { current_name, deleted }
    }

    pub fn current_name<'a>(&'a self, path: &'a str) -> &'a str {
        self.current_name.get(path).map_or(path, String::as_str)
    }

    /// Whether a commit deleted it and nothing restored it.
    pub fn is_deleted(&self, path: &str) -> bool {
        self.deleted.contains(path)
    }

    /// Gives facts the current names of their files.
    pub fn follow_facts(&self, facts: &mut [KnownFact]) {
        if self.current_name.is_empty() {
            return;
        }
        for known in facts {
            let Some(new) = known.fact.path.as_deref().and_then(|path| self.current_name.get(path)) else { continue };
            match known.fact.kind {
                FactKind::File | FactKind::Read => known.fact = Fact::file(known.fact.kind, new),
                _ => known.fact.path = Some(new.clone()),
            }
        }
    }

    pub fn follow_work(&self, sessions: &mut [SessionWork]) {
        if self.current_name.is_empty() {
            return;
        }
        for touched in sessions.iter_mut().flat_map(|worked| &mut worked.touched) {
            if let Some(new) = self.current_name.get(&touched.path) {
                touched.path = new.clone();
            }
        }
    }

    pub fn follow_commits(&self, commits: &mut [Commit]) {
        if self.current_name.is_empty() {
            return;
        }
        for path in commits.iter_mut().flat_map(|commit| &mut commit.files) {
            if let Some(new) = self.current_name.get(path.as_str()) {
                *path = new.clone();
            }
        }
    }
}
