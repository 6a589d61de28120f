use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity::{Located, locate};

use super::*;

mod room;
mod turns;

/// A repository, and a home beside it.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn empty() -> Stage {
        let stage = Stage { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(stage.root()).unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        stage
    }

    fn new() -> Stage {
        let stage = Stage::empty();
        stage.write(".gitignore", "target/\n*.log\n");
        stage.write("src/a.rs", "one\n");
        stage.write("src/b.rs", "one\n");
        stage.git(&["add", "."]);
        stage.git(&["commit", "-qm", "one"]);
        stage
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root(), args)
    }

    fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"])
            .args(args);
        let run = git.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).into_owned()
    }

    fn located(&self) -> Located {
        locate(&self.root())
    }

    fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    fn save(&self, number: u32) -> NewCheckpoint {
        let (home, located) = (self.home(), self.located());
        Checkpoints::new(&home, &located).unwrap().save(1, number, at(number)).unwrap()
    }

    fn restore(&self, number: u32) -> Result<RestoredPaths, CheckpointError> {
        let (home, located) = (self.home(), self.located());
        Checkpoints::new(&home, &located).unwrap().restore(1, number, at(100 + number))
    }

    /// Every file of the worktree, tracked or not; a link is shown as its target.
    fn files(&self) -> BTreeMap<String, String> {
        fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                if kind.is_dir() {
                    walk(root, &path, found);
                } else if kind.is_symlink() {
                    found.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
                } else {
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.root(), &self.root(), &mut found);
        found
    }

    /// Everything that a checkpoint must not change.
    fn untouched(&self) -> (String, Vec<u8>, String, String) {
        (
            self.git(&["--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all"]),
            fs::read(self.root().join(".git/index")).unwrap_or_default(),
            self.git(&["for-each-ref", "refs/heads", "refs/stash"]),
            fs::read_to_string(self.root().join(".git/HEAD")).unwrap(),
        )
    }
}

fn at(number: u32) -> Timestamp {
    Timestamp::from_millis(1_770_000_000_000 + i64::from(number) * 1_000)
}

#[test]
fn a_checkpoint_holds_untracked_files_and_leaves_index_and_branch_alone() {
    let stage = Stage::new();
    stage.write("src/a.rs", "two\n");
    stage.git(&["add", "src/a.rs"]);
    stage.write("src/a.rs", "three\n");
    stage.write("new dir/ümlaut \"q\".txt", "new\n");
    stage.write("target/big", "ignored\n");
    stage.write("deploy/.env.local", "private\n");
    stage.git(&["stash", "list"]);
    let before = stage.untouched();
    let files = stage.files();
    let made = stage.save(1);
    assert_eq!((stage.untouched(), stage.files()), (before, files));
    let made = made.checkpoint.object;
    let listed = stage.git(&["ls-tree", "-r", "-z", "--name-only", &made]);
    let mut listed: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    listed.sort_unstable();
    assert_eq!(listed, [".gitignore", "new dir/ümlaut \"q\".txt", "src/a.rs", "src/b.rs"]);
    assert_eq!(stage.git(&["show", &format!("{made}:src/a.rs")]), "three\n");
    assert_eq!(stage.git(&["rev-parse", "refs/cerberus/loop/1/1"]).trim(), made);
    assert!(stage.git(&["cat-file", "tag", &made]).contains("tagger Cerberus <cerberus@localhost> 1770000001 +0000"));
    assert_eq!(
        fs::read_dir(stage.dir.path().join("home/checkpoints/scratch")).unwrap().count(),
        0,
        "nothing is left over"
    );
}

#[test]
fn restoring_brings_files_back_and_removes_later_ones() {
    let stage = Stage::new();
    stage.write("notes.txt", "untracked\n");
    stage.write("src/run.sh", "#!/bin/sh\n");
    fs::set_permissions(stage.root().join("src/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("src/a.rs", stage.root().join("link")).unwrap();
    stage.save(1);
    let then = stage.files();

    stage.write("src/a.rs", "changed\n");
    fs::remove_file(stage.root().join("src/b.rs")).unwrap();
    fs::remove_file(stage.root().join("notes.txt")).unwrap();
    fs::remove_file(stage.root().join("link")).unwrap();
    stage.write("link/inside", "a folder now\n");
    stage.write("later/deep/file", "later\n");
    stage.write("target/big", "ignored\n");
    fs::set_permissions(stage.root().join("src/run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    stage.git(&["add", "later"]);
    stage.git(&["commit", "-qm", "two"]);
    let (_, index, branches, head) = stage.untouched();
    let now = stage.files();

    let restored = stage.restore(1).unwrap();
    let mut expected = then.clone();
    expected.insert("target/big".into(), "ignored\n".into());
    assert_eq!(stage.files(), expected);
    assert_eq!(restored.removed, ["later/deep/file", "link/inside"]);
    assert_eq!(restored.written, ["link", "notes.txt", "src/a.rs", "src/b.rs", "src/run.sh"]);
    assert!(!stage.root().join("later").exists(), "no empty folder is left");
    assert_eq!(fs::metadata(stage.root().join("src/run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    let (_, index_after, branches_after, head_after) = stage.untouched();
    assert_eq!((index_after, branches_after, head_after), (index, branches, head));

    // The earlier state can be recovered.
    assert_eq!(stage.git(&["show", &format!("{}:later/deep/file", restored.before)]), "later\n");
    assert_eq!(stage.git(&["show", &format!("{}:src/a.rs", restored.before)]), "changed\n");
    assert_eq!(now["src/a.rs"], "changed\n");
    assert_eq!(stage.restore(1).unwrap().written, [""; 0], "there is nothing left to do");
}

#[test]
fn files_outside_every_checkpoint_are_not_overwritten() {
    let stage = Stage::new();
    stage.write("out.txt", "mine\n");
    stage.write("folder", "a file\n");
    stage.save(1);
    fs::remove_file(stage.root().join("out.txt")).unwrap();
    fs::remove_file(stage.root().join("folder")).unwrap();
    stage.write(".gitignore", "out.txt\nfolder/\n");
    stage.write("out.txt", "ignored and precious\n");
    stage.write("folder/precious", "too\n");
    let now = stage.files();
    let refused = stage.restore(1).unwrap_err();
    assert!(matches!(&refused, CheckpointError::InTheWay(paths) if paths == &["folder", "out.txt"]), "{refused}");
    assert_eq!(stage.files(), now);
}

#[test]
fn every_kind_of_repository_has_checkpoints() {
    let empty = Stage::empty();
    empty.write("first.txt", "nothing is committed\n");
    empty.save(1);
    fs::remove_file(empty.root().join("first.txt")).unwrap();
    empty.restore(1).unwrap();
    assert_eq!(empty.files()["first.txt"], "nothing is committed\n");

    let detached = Stage::new();
    detached.git(&["checkout", "-q", "--detach"]);
    detached.write("src/a.rs", "detached\n");
    let before = detached.untouched();
    detached.save(1);
    assert_eq!(detached.untouched(), before);

    let linked = Stage::new();
    linked.git(&["worktree", "add", "-q", "../linked"]);
    let (root, home) = (linked.root().with_file_name("linked"), linked.home());
    fs::write(root.join("only here.txt"), "x\n").unwrap();
    let located = locate(&root);
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    let made = checkpoints.save(1, 1, at(1)).unwrap();
    assert!(linked.git(&["ls-tree", "-r", "--name-only", &made.checkpoint.object]).contains("only here.txt"));
    fs::remove_file(root.join("only here.txt")).unwrap();
    checkpoints.restore(1, 1, at(2)).unwrap();
    assert!(root.join("only here.txt").exists() && !linked.root().join("only here.txt").exists());

    let plain = tempfile::tempdir().unwrap();
    let located = locate(plain.path());
    assert!(matches!(Checkpoints::new(&home, &located), Err(CheckpointError::NoGit(_))));
}

#[test]
fn nested_repositories_are_not_changed() {
    let inner = Stage::new();
    let outer = Stage::new();
    outer.git(&["submodule", "add", "-q", inner.root().to_str().unwrap(), "sub"]);
    outer.git(&["commit", "-qm", "with a submodule"]);
    // One that is not added to git, and one without a commit.
    for (name, is_committed) in [("cloned", true), ("fresh", false)] {
        let dir = outer.root().join(name);
        fs::create_dir(&dir).unwrap();
        outer.git_in(&dir, &["init", "-q"]);
        fs::write(dir.join("x"), "x\n").unwrap();
        if is_committed {
            outer.git_in(&dir, &["add", "."]);
            outer.git_in(&dir, &["commit", "-qm", "x"]);
        }
    }
    outer.write("src/a.rs", "one more\n");
    outer.save(1);
    fs::write(outer.root().join("sub/src/a.rs"), "changed in the submodule\n").unwrap();
    outer.git_in(&outer.root().join("sub"), &["commit", "-qam", "moved on"]);
    outer.write("src/a.rs", "changed\n");
    let restored = outer.restore(1).unwrap();
    assert_eq!(restored.kept, ["sub"], "it is told");
    let files = outer.files();
    assert_eq!(files["src/a.rs"], "one more\n");
    assert_eq!(files["sub/src/a.rs"], "changed in the submodule\n");
    assert!(files.contains_key("cloned/x") && files.contains_key("fresh/x"));
}

#[test]
fn no_program_named_by_the_repository_is_started() {
    let stage = Stage::new();
    stage.write(".gitattributes", "*.rs filter=evil\n");
    let mark = stage.dir.path().join("mark");
    let program = format!("sh -c 'touch {}; cat'", mark.display());
    for name in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"] {
        stage.git(&["config", name, &program]);
    }
    let hook = stage.root().join(".git/hooks/reference-transaction");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write("src/a.rs", "two\n");
    stage.save(1);
    stage.write("src/a.rs", "three\n");
    stage.restore(1).unwrap();
    assert_eq!(stage.files()["src/a.rs"], "two\n");
    assert!(!mark.exists());
}

#[test]
fn a_missing_checkpoint_is_reported_and_old_runs_are_pruned() {
    let stage = Stage::new();
    assert!(matches!(stage.restore(7), Err(CheckpointError::Missing { run: 1, number: 7 })));
    let (home, located) = (stage.home(), stage.located());
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    for run in 1..=4 {
        for number in [10, 2] {
            checkpoints.save(run, number, at(number)).unwrap();
        }
    }
    let old = checkpoints.old_references(2).unwrap();
    assert_eq!(old.len(), 4);
    checkpoints.remove_references(old.iter().map(|one| one.name.as_str())).unwrap();
    let numbers = |run| checkpoints.list(run).unwrap().iter().map(|one| one.number).collect::<Vec<_>>();
    assert_eq!((numbers(1), numbers(2), numbers(3), numbers(4)), (vec![], vec![], vec![2, 10], vec![2, 10]));
}

#[test]
fn checkpoints_are_not_part_of_the_history_and_survive_a_collection() {
    let stage = Stage::new();
    let log = || stage.git(&["log", "--all", "--oneline", "--decorate"]);
    let before = log();
    stage.write("src/a.rs", "two\n");
    stage.save(1);
    assert_eq!(log(), before);
    stage.git(&["gc", "-q", "--prune=now"]);
    stage.git(&["fsck", "--strict"]);
    stage.write("src/a.rs", "three\n");
    stage.restore(1).unwrap();
    assert_eq!(stage.files()["src/a.rs"], "two\n");
    assert_eq!(log(), before);
}

#[test]
fn a_commit_of_an_older_version_is_restored_too() {
    let stage = Stage::new();
    stage.write("src/a.rs", "two\n");
    stage.git(&["commit", "-qam", "two"]);
    stage.git(&["update-ref", "refs/cerberus/loop/1/1", "HEAD"]);
    stage.git(&["reset", "-q", "--hard", "HEAD^"]);
    let (home, located) = (stage.home(), stage.located());
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    let references = checkpoints.references().unwrap();
    let changed: Vec<String> =
        checkpoints.changed_files(&references[0]).unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(changed, ["src/a.rs"]);
    stage.restore(1).unwrap();
    assert_eq!(stage.files()["src/a.rs"], "two\n");
}

#[test]
fn every_file_counts_if_the_commit_below_is_gone() {
    let stage = Stage::new();
    stage.write("src/a.rs", "two\n");
    stage.git(&["commit", "-qam", "two"]);
    stage.write("src/b.rs", "two\n");
    stage.save(1);
    let (home, located) = (stage.home(), stage.located());
    let changed = || {
        let checkpoints = Checkpoints::new(&home, &located).unwrap();
        let references = checkpoints.references().unwrap();
        let files = checkpoints.changed_files(&references[0]).unwrap();
        files.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(changed(), ["src/b.rs"]);
    stage.git(&["reset", "-q", "--hard", "HEAD^"]);
    stage.git(&["reflog", "expire", "--expire=now", "--all"]);
    stage.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(changed(), [".gitignore", "src/a.rs", "src/b.rs"]);
}

#[test]
fn large_files_are_listed_and_stay_as_they_are() {
    let stage = Stage::new();
    let grow = |path: &str, bytes| fs::File::create(stage.root().join(path)).unwrap().set_len(bytes).unwrap();
    stage.write("tracked.bin", "small\n");
    stage.write("unchanged.bin", "small\n");
    stage.git(&["add", "."]);
    stage.git(&["commit", "-qm", "more"]);
    grow("tracked.bin", (50 << 20) + 1);
    grow("new.bin", (50 << 20) + 1);
    let made = stage.save(1);
    assert_eq!(made.left_out, ["tracked.bin", "new.bin"]);
    let listed = stage.git(&["ls-tree", "-r", "--name-only", &made.checkpoint.object]);
    assert!(!listed.contains("new.bin"), "{listed}");
    stage.write("tracked.bin", "later\n");
    stage.write("new.bin", "later\n");
    stage.write("src/a.rs", "later\n");
    let restored = stage.restore(1).unwrap();
    assert_eq!(
        (restored.written, restored.kept),
        (vec!["src/a.rs".into()], vec!["new.bin".into(), "tracked.bin".into()])
    );
    assert_eq!((stage.files()["new.bin"].as_str(), stage.files()["tracked.bin"].as_str()), ("later\n", "later\n"));
}

#[test]
fn worktrees_keep_their_checkpoints_apart() {
    let stage = Stage::new();
    stage.git(&["worktree", "add", "-q", "../linked"]);
    let linked = stage.root().with_file_name("linked");
    let (home, located) = (stage.home(), locate(&linked));
    fs::write(linked.join("src/a.rs"), "linked\n").unwrap();
    stage.write("src/a.rs", "main\n");
    stage.save(1);
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    for run in 1..=3 {
        checkpoints.save(run, 1, at(1)).unwrap();
    }
    fs::write(linked.join("src/a.rs"), "changed\n").unwrap();
    checkpoints.restore(1, 1, at(2)).unwrap();
    assert_eq!(fs::read_to_string(linked.join("src/a.rs")).unwrap(), "linked\n");
    let old = checkpoints.old_references(1).unwrap();
    assert_eq!(old.len(), 3, "two runs, and the state before the restore: {old:?}");
    assert!(old.iter().all(|one| one.worktree.is_some()), "{old:?}");
    assert_eq!(checkpoints.references_of_removed_worktrees().unwrap(), []);
    stage.git(&["worktree", "remove", "--force", "../linked"]);
    let (home, located) = (stage.home(), stage.located());
    let main = Checkpoints::new(&home, &located).unwrap();
    assert_eq!(main.references_of_removed_worktrees().unwrap().len(), 4);
    assert_eq!(main.list(1).unwrap().len(), 1);
}

#[test]
fn an_edit_of_the_same_size_at_the_same_moment_is_saved() {
    let stage = Stage::new();
    let moment = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000);
    let stop_the_clock = || {
        for path in ["src/a.rs", "src/b.rs", ".gitignore", ".git/index"] {
            File::open(stage.root().join(path)).unwrap().set_modified(moment).unwrap();
        }
    };
    stop_the_clock();
    stage.git(&["add", "."]);
    stage.git(&["commit", "-q", "--allow-empty", "-m", "in the same second"]);
    stage.write("src/a.rs", "two\n");
    stop_the_clock();
    let made = stage.save(1);
    assert_eq!(stage.git(&["show", &format!("{}:src/a.rs", made.checkpoint.object)]), "two\n");
    stage.write("src/a.rs", "six\n");
    stop_the_clock();
    let restored = stage.restore(1).unwrap();
    assert_eq!(stage.git(&["show", &format!("{}:src/a.rs", restored.before)]), "six\n");
    assert_eq!((stage.files()["src/a.rs"].as_str(), restored.written), ("two\n", vec!["src/a.rs".to_string()]));
}

#[test]
fn files_are_saved_as_they_are_whatever_git_would_convert() {
    let stage = Stage::new();
    stage.write(".gitattributes", "* text=auto eol=lf ident\n");
    stage.git(&["config", "core.autocrlf", "input"]);
    stage.write("src/a.rs", "one\r\n$Id: mine $\r\n");
    stage.save(1);
    let then = stage.files();
    stage.write("src/a.rs", "later\n");
    stage.restore(1).unwrap();
    assert_eq!(stage.files(), then);
}

#[test]
fn a_damaged_or_locked_index_is_no_obstacle() {
    let stage = Stage::new();
    stage.write("src/a.rs", "two\n");
    stage.write("new.txt", "new\n");
    fs::write(stage.root().join(".git/index.lock"), "").unwrap();
    let whole = fs::read(stage.root().join(".git/index")).unwrap();
    for index in [whole.as_slice(), &whole[..whole.len() / 2], b""] {
        fs::write(stage.root().join(".git/index"), index).unwrap();
        let made = stage.save(1).checkpoint.object;
        let listed = stage.git(&["ls-tree", "-r", "--name-only", &made]);
        assert_eq!(listed, ".gitignore\nnew.txt\nsrc/a.rs\nsrc/b.rs\n");
        assert_eq!(stage.git(&["show", &format!("{made}:src/a.rs")]), "two\n");
        assert_eq!(fs::read(stage.root().join(".git/index")).unwrap(), index);
    }
}

#[test]
fn nothing_is_restored_if_an_object_of_the_checkpoint_is_lost() {
    let stage = Stage::new();
    stage.write("src/a.rs", "only in the checkpoint\n");
    let made = stage.save(1).checkpoint.object;
    let blob = stage.git(&["rev-parse", &format!("{made}:src/a.rs")]);
    stage.write("src/a.rs", "now\n");
    stage.write("src/b.rs", "now\n");
    let (folder, name) = blob.trim().split_at(2);
    fs::remove_file(stage.root().join(".git/objects").join(folder).join(name)).unwrap();
    let now = stage.files();
    let refused = stage.restore(1).unwrap_err();
    assert!(matches!(&refused, CheckpointError::Lost(paths) if paths == &["src/a.rs"]), "{refused}");
    assert_eq!(stage.files(), now);
}

#[test]
fn what_changed_after_it_was_saved_is_not_overwritten() {
    let stage = Stage::new();
    let wanted = stage.save(1).checkpoint.object;
    stage.write("src/a.rs", "two\n");
    stage.write("later.txt", "new\n");
    let before = stage.save(2).checkpoint.object;
    let (home, located) = (stage.home(), stage.located());
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    let (changes, _) = checkpoints.differences(&before, &wanted).unwrap();
    stage.write("src/a.rs", "six\n");
    fs::set_permissions(stage.root().join("later.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    let now = stage.files();
    let refused = checkpoints.replace(&changes).unwrap_err();
    assert!(matches!(&refused, CheckpointError::Changed(paths) if paths == &["later.txt", "src/a.rs"]), "{refused}");
    assert_eq!(stage.files(), now, "nothing was changed");
    stage.write("src/a.rs", "two\n");
    fs::set_permissions(stage.root().join("later.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(checkpoints.replace(&changes).unwrap(), (vec!["src/a.rs".to_string()], vec!["later.txt".to_string()]));
}
