//! Looks at what a repository is, so that it is known again in another folder: its origin, its first commit, and the name
//! that it gives itself. What differs from what was known becomes a record.
//!
//! Configuration is read by hand, bounded, without includes; no program that it names is started and no host asked. Git is
//! started for the first commit alone, and never while an agent waits for a hook.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cerberus_core::clean::text::{Clean, Keep, name};
use cerberus_core::model::event::{Event, Place};
use cerberus_core::model::id::{Agent, fnv1a};
use cerberus_core::model::repository::Repository;
use cerberus_core::project::config::origin_url;
use cerberus_core::project::origin::{self, Origin};

use crate::hook::capture::own_record;
use crate::journal;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::os::outside;
use crate::project::git;
use crate::project::identity::{Located, normal};
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{self, RepositoryRow, Store};

/// At the top of a worktree: one line, the name of the project.
pub const NAME_FILE: &str = ".cerberus-project";

/// A line and its end.
const NAME_FILE_BYTES_MAX: u64 = 1024;
const NAME_CHARS_MAX: usize = 100;

/// A clone with thousands of branches has a few hundred kilobytes.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// How much may be done to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// An agent waits: a few small files are read, and only if nothing is known yet.
    AtOnce,
    /// Git is asked for the first commit, once for each commit that is checked out.
    WithGit,
    /// The same, though git was asked before.
    Again,
}

/// Records what the repository is, if that is not known yet or has changed.
pub fn note(home: &Home, clock: &Clock, store: &mut Store, located: &Located, look: Look) -> Result<(), FoldError> {
    let (known, count) = store.repository(&located.project)?;
    let is_past = known.as_ref().is_some_and(|known| known.at > clock.now);
    if is_past || look == Look::AtOnce && known.is_some() {
        return Ok(());
    }
    let mut found = read(located, look);
    found.root_commit = root_commit(store, located, &found, known.as_ref(), look)?;
    let is_known = match &known {
        Some(known) => is_same(known, &found) && known.root_commit.as_deref() == found.root_commit.as_deref(),
        None => found.is_unknown(),
    };
    if is_known {
        return Ok(());
    }
    let event = Event::Repository(found);
    // The same content after the same number of records is the same record, whoever writes it.
    let content = serde_json::to_string(&event).unwrap_or_default();
    let key = format!("repository-{}-{count:06}-{:016x}", located.project.as_str(), fnv1a(content.as_bytes()));
    let record = own_record(clock, Agent::Manual, "", place(located), key, event);
    journal::append(home, clock.wall, &record)?;
    fold::fold(home, store)
}

/// The main worktree is the project's place: a linked one may be gone tomorrow.
fn place(located: &Located) -> Place<'static> {
    let main = located.common_dir.as_deref().filter(|common| common.ends_with(".git")).and_then(Path::parent);
    let root = Clean::new(main.unwrap_or(&located.root).to_string_lossy().into_owned(), Keep::NAME);
    Place { cwd: root.clone(), root, branch: None, ..located.place() }
}

/// Whether everything is as it was that files tell.
fn is_same(known: &RepositoryRow, found: &Repository) -> bool {
    known.folder == *found.folder
        && known.origin.as_deref() == found.origin.as_deref()
        && known.name.as_deref() == found.name.as_deref()
}

/// What files tell, without starting git.
fn read(located: &Located, look: Look) -> Repository<'static> {
    let clean = |text: String| Clean::new(text, Keep::NAME);
    let folder = located.common_dir.as_ref().unwrap_or(&located.root);
    Repository {
        folder: clean(folder.to_string_lossy().into_owned()),
        origin: origin(located, look).map(clean),
        root_commit: None,
        name: own_name(&located.root).map(clean),
    }
}

fn origin(located: &Located, look: Look) -> Option<String> {
    let config = outside::bytes(&located.common_dir.as_ref()?.join("config"), CONFIG_BYTES_MAX).ok()?;
    match origin::parse(&origin_url(&String::from_utf8_lossy(&config))?)? {
        Origin::Remote(plain) => Some(plain),
        Origin::Local(path) => {
            let path = located.main_root.as_ref().unwrap_or(&located.root).join(path);
            let real = if look == Look::AtOnce { None } else { real_repository(&path) };
            let real = real.unwrap_or_else(|| normal(&path));
            let worktree = if real.ends_with(".git") { real.parent().unwrap_or(&real) } else { &real };
            Some(worktree.to_string_lossy().into_owned())
        }
    }
}

/// Where a path really leads: git takes `hydra` for `hydra.git`, too. The path is anybody's, and may lead to a file system
/// that answers late, so nobody asks who must be quick.
fn real_repository(path: &Path) -> Option<PathBuf> {
    let mut bare = OsString::from(path);
    bare.push(".git");
    fs::canonicalize(path).or_else(|_| fs::canonicalize(bare)).ok()
}

fn own_name(root: &Path) -> Option<String> {
    let text = outside::text(&root.join(NAME_FILE), NAME_FILE_BYTES_MAX).ok()?;
    let line = text.trim();
    let is_name = !line.is_empty() && name(line) == line && line.chars().count() <= NAME_CHARS_MAX;
    is_name.then(|| line.to_string())
}

/// The first commit: as it was known, as long as nothing else has changed.
fn root_commit(
    store: &Store,
    located: &Located,
    found: &Repository,
    known: Option<&RepositoryRow>,
    look: Look,
) -> store::Result<Option<Clean<'static>>> {
    let known_commit = known.and_then(|known| known.root_commit.clone());
    let is_settled = known_commit.is_some() && known.is_some_and(|known| is_same(known, found));
    if located.common_dir.is_none() || is_settled {
        return Ok(known_commit.map(Clean::from_stored));
    }
    let asked = match look {
        Look::AtOnce => logged(store, located)?,
        Look::WithGit | Look::Again => ask_git(store, located, look)?,
    };
    Ok(asked.or(known_commit).map(|commit| Clean::new(commit, Keep::NAME)))
}

/// The commit that git logged first may have been replaced since; it counts when another repository begins with it.
fn logged(store: &Store, located: &Located) -> store::Result<Option<String>> {
    match git::first_logged_commit(located) {
        Some(commit) if store.is_root_commit(&commit)? => Ok(Some(commit)),
        _ => Ok(None),
    }
}

fn ask_git(store: &Store, located: &Located, look: Look) -> store::Result<Option<String>> {
    let head = git::head(located).unwrap_or_default();
    if look == Look::WithGit && store.was_root_asked(&located.project, &head)? {
        return Ok(None);
    }
    let found = git::root_commit(located);
    store.set_root_asked(&located.project, &head);
    Ok(found)
}
