//! Records what identifies a repository, so that it can be recognised in another folder: its origin, its first commit and
//! the name in its `.cerberus-project`.
//!
//! The git configuration is read directly, up to a size limit and without includes. Git is started only to find the first
//! commit, and never in a hook that an agent waits for. Nothing is asked over the network.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_os::platform::real_path;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep, name};
use cerberus_record::event::{Event, Location};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::project::config::origin_url;
use cerberus_record::project::origin::{self, RepositoryOrigin};
use cerberus_record::repository::Repository;

use crate::journal;
use crate::journal::own_record;
use crate::project::git;
use crate::project::identity::{Located, normal};
use crate::view::fold::{self, FoldError};
use crate::view::{self, RepositoryRow, Store};

/// A file at the top of the worktree that holds one line, the name of the project.
pub const NAME_FILE: &str = ".cerberus-project";

const NAME_FILE_BYTES_MAX: u64 = 1024;
const NAME_CHARS_MAX: usize = 100;

/// A clone with thousands of branches has a configuration of a few hundred kilobytes.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// How much work may be done to find out what has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// An agent is waiting: only read a few small files, and only if nothing is known yet.
    FilesOnly,
    /// Also ask git for an unknown first commit, at most once per checked-out commit.
    WithGit,
    /// Also ask git again if it gave no answer before.
    ForceGit,
}

/// Records the state of the repository if it has changed.
pub fn record_changes(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    located: &Located,
    effort: Effort,
) -> Result<(), FoldError> {
    let known = store.repository(&located.project)?;
    let is_past = known.as_ref().is_some_and(|known| known.at > clock.now);
    if is_past || effort == Effort::FilesOnly && known.is_some() {
        return Ok(());
    }
    let cleaner = home.cleaner();
    let mut found = read(cleaner, located, effort);
    let root_commit = root_commit(store, located, &found, known.as_ref(), effort)?;
    found.root_commit = root_commit.map(|commit| cleaner.clean(commit, Keep::NAME));
    let is_known = match &known {
        Some(known) => is_same(known, &found) && known.root_commit.as_deref() == found.root_commit.as_deref(),
        None => found.is_unknown(),
    };
    if is_known {
        return Ok(());
    }
    let event = Event::Repository(found);
    // Two processes that see the same change of the same record write the same key, so it counts once.
    let content = serde_json::to_string(&event).unwrap_or_default();
    let before = known.map_or(0, |known| known.event);
    let key = format!("repository-{}-{before:016x}-{:016x}", located.project.as_str(), fnv1a(content.as_bytes()));
    let record = own_record(home, clock, Agent::MANUAL, "", location(cleaner, located), key, event);
    journal::append(home, clock.wall, &record)?;
    fold::fold(home, store)
}

/// The main worktree, if there is one: linked worktrees come and go.
fn location(cleaner: &Cleaner, located: &Located) -> Location<'static> {
    let main = located.common_dir.as_deref().filter(|common| common.ends_with(".git")).and_then(Path::parent);
    let root = cleaner.clean(main.unwrap_or(&located.root).to_string_lossy().into_owned(), Keep::NAME);
    Location { cwd: root.clone(), root, branch: None, ..located.location(cleaner) }
}

/// Whether everything except the first commit is unchanged.
fn is_same(known: &RepositoryRow, found: &Repository) -> bool {
    known.folder == *found.folder
        && known.origin.as_deref() == found.origin.as_deref()
        && known.name.as_deref() == found.name.as_deref()
}

/// Everything except the first commit, which needs git.
fn read(cleaner: &Cleaner, located: &Located, effort: Effort) -> Repository<'static> {
    let clean = |text: String| -> Clean<'static> { cleaner.clean(text, Keep::NAME) };
    let folder = located.common_dir.as_ref().unwrap_or(&located.root);
    Repository {
        folder: clean(folder.to_string_lossy().into_owned()),
        origin: origin(located, effort).map(clean),
        root_commit: None,
        name: own_name(&located.root).map(clean),
    }
}

fn origin(located: &Located, effort: Effort) -> Option<String> {
    let config = outside::bytes(&located.common_dir.as_ref()?.join("config"), CONFIG_BYTES_MAX).ok()?;
    match origin::parse(&origin_url(&String::from_utf8_lossy(&config))?)? {
        RepositoryOrigin::Remote(plain) => Some(plain),
        RepositoryOrigin::Local(path) => {
            let path = located.main_root.as_ref().unwrap_or(&located.root).join(path);
            let real = if effort == Effort::FilesOnly { None } else { real_repository(&path) };
            let real = real.unwrap_or_else(|| normal(&path));
            let worktree = if real.ends_with(".git") { real.parent().unwrap_or(&real) } else { &real };
            Some(worktree.to_string_lossy().into_owned())
        }
    }
}

/// Resolves links. Git also accepts `hydra` for `hydra.git`. The path comes from the repository and may be on a slow
/// network file system, so this is not called while an agent is waiting.
fn real_repository(path: &Path) -> Option<PathBuf> {
    let mut bare = OsString::from(path);
    bare.push(".git");
    real_path(path).or_else(|_| real_path(Path::new(&bare))).ok()
}

fn own_name(root: &Path) -> Option<String> {
    let text = outside::text(&root.join(NAME_FILE), NAME_FILE_BYTES_MAX).ok()?;
    let line = text.trim();
    let is_name = !line.is_empty() && name(line) == line && line.chars().count() <= NAME_CHARS_MAX;
    is_name.then(|| line.to_string())
}

/// The first commit. A known one is kept as long as nothing else has changed.
fn root_commit(
    store: &Store,
    located: &Located,
    found: &Repository,
    known: Option<&RepositoryRow>,
    effort: Effort,
) -> view::Result<Option<String>> {
    let known_commit = known.and_then(|known| known.root_commit.clone());
    let is_settled = known_commit.is_some() && known.is_some_and(|known| is_same(known, found));
    if located.common_dir.is_none() || is_settled {
        return Ok(known_commit);
    }
    let asked = match effort {
        Effort::FilesOnly => logged(store, located)?,
        Effort::WithGit | Effort::ForceGit => ask_git(store, located, effort)?,
    };
    Ok(asked.or(known_commit))
}

/// The first commit in the reflog may have been amended since. It is used only if it is known from another folder.
fn logged(store: &Store, located: &Located) -> view::Result<Option<String>> {
    match git::first_logged_commit(located) {
        Some(commit) if store.is_root_commit(&commit)? => Ok(Some(commit)),
        _ => Ok(None),
    }
}

fn ask_git(store: &Store, located: &Located, effort: Effort) -> view::Result<Option<String>> {
    let head = git::head(located).unwrap_or_default();
    if effort == Effort::WithGit && store.was_root_asked(&located.project, &head)? {
        return Ok(None);
    }
    let found = git::root_commit(located);
    store.set_root_asked(&located.project, &head);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use cerberus_record::time::Timestamp;

    use super::*;
    use crate::project::identity::locate;

    fn run(dir: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    struct Fixture {
        dir: tempfile::TempDir,
        home: Home,
    }

    impl Fixture {
        fn new() -> Fixture {
            let dir = tempfile::tempdir().unwrap();
            let fixture = Fixture { home: Home::new(dir.path().join("home")), dir };
            std::fs::create_dir(fixture.root()).unwrap();
            run(&fixture.root(), &["init", "-q", "-b", "main"]);
            fixture
        }

        fn root(&self) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join("hydra")
        }

        fn commit(&self, message: &str) -> String {
            run(&self.root(), &["commit", "-q", "--allow-empty", "-m", message]);
            run(&self.root(), &["rev-parse", "HEAD"])
        }

        /// Looks at the given time. Returns the known state and the number of records.
        fn look(&self, second: i64, effort: Effort) -> (Option<RepositoryRow>, usize) {
            let mut count = 0;
            let mut store = fold::open(&self.home).unwrap();
            let clock = Clock::new(Some(Timestamp::from_millis(second * 1000)));
            record_changes(&self.home, &clock, &mut store, &locate(&self.root()), effort).unwrap();
            journal::each_line(&self.home, |_, _| count += 1).unwrap();
            (store.repository(&locate(&self.root()).project).unwrap(), count)
        }
    }

    #[test]
    fn only_changes_are_recorded() {
        let fixture = Fixture::new();
        assert_eq!(fixture.look(1, Effort::WithGit), (None, 0), "an empty repository has nothing to record");
        let first = fixture.commit("one");
        let origin = |url: &str| run(&fixture.root(), &["config", "remote.origin.url", url]);
        let known = |second, effort| {
            let (row, count) = fixture.look(second, effort);
            let row = row.unwrap();
            (row.origin.unwrap_or_default(), row.root_commit.unwrap_or_default(), count)
        };
        assert_eq!(fixture.look(2, Effort::FilesOnly), (None, 0), "the reflog is used only for a commit that is known");
        assert_eq!(known(3, Effort::WithGit), (String::new(), first.clone(), 1));
        assert_eq!(known(4, Effort::ForceGit), (String::new(), first.clone(), 1));
        for (second, url, count) in
            [(5, "https://a.example/x", 2), (6, "git@b.example:x", 3), (7, "https://a.example/x", 4)]
        {
            origin(url);
            assert_eq!(known(second, Effort::FilesOnly).2, count - 1, "a hook does not look again");
            let plain = format!("{}.example/x", if url.contains("b.example") { 'b' } else { 'a' });
            assert_eq!(known(second, Effort::WithGit), (plain, first.clone(), count));
        }
        origin("https://c.example/x");
        assert_eq!(known(1, Effort::WithGit).2, 4, "a look in the past records nothing");
    }

    #[test]
    fn the_smallest_of_several_first_commits_is_used() {
        let fixture = Fixture::new();
        let mut first = vec![fixture.commit("one")];
        run(&fixture.root(), &["checkout", "-q", "--orphan", "other"]);
        first.push(fixture.commit("two"));
        run(&fixture.root(), &["merge", "-q", "--allow-unrelated-histories", "-m", "both", "main"]);
        first.sort();
        assert_eq!(git::root_commit(&locate(&fixture.root())).as_ref(), first.first());
    }

    #[test]
    fn the_first_commit_is_read_from_the_reflog() {
        let fixture = Fixture::new();
        let logged = || git::first_logged_commit(&locate(&fixture.root()));
        assert_eq!(logged(), None);
        let first = fixture.commit("one");
        fixture.commit("two");
        assert_eq!(logged(), Some(first));
        let clone = fixture.root().with_file_name("clone");
        run(&fixture.root(), &["clone", "-q", ".", clone.to_str().unwrap()]);
        assert_eq!(git::first_logged_commit(&locate(&clone)), None);
        let log = fixture.root().join(".git/logs/HEAD");
        for odd in ["", "x", "0 1\tcommit (initial): x\n", "\u{0}\u{1}\t\n"] {
            std::fs::write(&log, odd).unwrap();
            assert_eq!(logged(), None, "{odd:?}");
        }
    }

    #[test]
    fn local_origins_are_resolved() {
        let fixture = Fixture::new();
        fixture.commit("one");
        let source = fixture.root();
        std::os::unix::fs::symlink(&source, source.with_file_name("link")).unwrap();
        run(&source, &["clone", "-q", "--bare", ".", "../bare.git"]);
        let clone = source.with_file_name("clone");
        run(&source, &["clone", "-q", ".", clone.to_str().unwrap()]);
        run(&clone, &["worktree", "add", "-q", "-b", "side", "../side"]);
        let bare = source.with_file_name("bare.git");
        let gone = source.with_file_name("gone");
        for (url, expected) in [
            (source.to_str().unwrap(), &source),
            ("../hydra", &source),
            ("../hydra/.git", &source),
            ("../link/", &source),
            ("../bare", &bare),
            ("../bare.git", &bare),
            ("../clone/../gone", &gone),
        ] {
            run(&clone, &["config", "remote.origin.url", url]);
            for worktree in [&clone, &clone.with_file_name("side")] {
                let found = origin(&locate(worktree), Effort::WithGit);
                assert_eq!(found.as_deref(), expected.to_str(), "{url} in {}", worktree.display());
            }
        }
        run(&clone, &["config", "remote.origin.url", "../hydra/.git"]);
        assert_eq!(origin(&locate(&clone), Effort::FilesOnly).as_deref(), source.to_str(), "without resolving links");
    }
}
