//! Random turns of an agent and its user, with edits that no time stamp shows: every checkpoint must hold the files byte
//! for byte, and a restore must lose nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;

use super::*;
use crate::TurnMoment;
use crate::turns::TurnReason;

const SEEDS: u64 = 5;
const TURNS: u32 = 100;

/// The files of a worktree or a tree: mode, and bytes or the target of a link.
type State = BTreeMap<String, (String, Vec<u8>)>;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

const PATHS: [&str; 10] =
    ["a.txt", "b.txt", "src/c.rs", "src/d.rs", "src/deep/e", "f", "f/g", "crlf.bat", "kept.log", "ü \"q\"\n.txt"];

/// All of the same length, some with line endings that git would convert.
const TEXTS: [&str; 4] = ["one\nand\n", "two\nand\n", "two\r\nand", "two\0and\0"];

struct Turns {
    stage: Stage,
    random: Random,
}

impl Turns {
    fn new(seed: u64) -> Turns {
        let stage = Stage::new();
        stage.write(
            ".gitattributes",
            "*.txt text=auto eol=lf\n*.rs text eol=crlf ident\n*.bat working-tree-encoding=UTF-16LE-BOM\n",
        );
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for (name, value) in [("core.trustctime", "false"), ("core.checkStat", "minimal"), ("core.splitIndex", "true")]
        {
            if random.below(2) == 0 {
                stage.git(&["config", name, value]);
            }
        }
        Turns { stage, random }
    }

    /// Git may refuse: a path may be missing, or there may be nothing to commit.
    fn try_git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.safecrlf=false"]).args(args);
        git.current_dir(self.stage.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    }

    fn clear(&self, path: &str) {
        let full = self.stage.root().join(path);
        for above in full.ancestors().skip(1).filter(|above| above.is_file() || above.is_symlink()) {
            fs::remove_file(above).unwrap();
        }
        match full.symlink_metadata() {
            Ok(known) if known.is_dir() => fs::remove_dir_all(&full).unwrap(),
            Ok(_) => fs::remove_file(&full).unwrap(),
            Err(_) => {}
        }
    }

    fn change(&mut self) {
        let (path, text) = (self.random.pick(&PATHS), self.random.pick(&TEXTS));
        let full = self.stage.root().join(path);
        let is_file = full.symlink_metadata().is_ok_and(|known| known.is_file());
        match self.random.below(16) {
            // In place, so that the inode stays too.
            0..=4 if is_file => File::options().write(true).open(&full).unwrap().write_all(text.as_bytes()).unwrap(),
            0..=4 => {
                self.clear(path);
                self.stage.write(path, text);
            }
            5 => self.clear(path),
            6 => {
                let to = self.random.pick(&PATHS);
                if is_file && !to.starts_with("f") && to != path {
                    self.clear(to);
                    fs::create_dir_all(self.stage.root().join(to).parent().unwrap()).unwrap();
                    fs::rename(full, self.stage.root().join(to)).unwrap();
                }
            }
            7 if is_file => {
                let mode = self.random.pick(&[0o644, 0o755]);
                fs::set_permissions(full, fs::Permissions::from_mode(mode)).unwrap();
            }
            8 => {
                self.clear(path);
                fs::create_dir_all(full.parent().unwrap()).unwrap();
                symlink(self.random.pick(&["a.txt", "src", "no/where"]), full).unwrap();
            }
            9 => self.try_git(&["add", "-A", "."]),
            10 => self.try_git(&["commit", "-qam", "more"]),
            11 => self.try_git(&["add", "-f", path]),
            12 => self.try_git(&["add", "-N", path]),
            13 => self.try_git(&["rm", "-q", "--cached", path]),
            14 => {
                let bit = self.random.pick(&["--assume-unchanged", "--skip-worktree", "--no-assume-unchanged"]);
                self.try_git(&["update-index", bit, path]);
            }
            _ => self.stage.write("target/built", text),
        }
    }

    /// Every file, and the index with them, was last changed at the same moment.
    fn stop_the_clock(&self) {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000);
        let files = self.disk().into_keys().map(|path| self.stage.root().join(path));
        for path in files.chain([self.stage.root().join(".git/index")]).filter(|path| !path.is_symlink()) {
            File::open(path).unwrap().set_modified(moment).unwrap();
        }
    }

    fn disk(&self) -> State {
        fn walk(root: &Path, dir: &Path, found: &mut State) {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
                let (path, known) = (entry.path(), entry.metadata().unwrap());
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_string();
                let mode = known.permissions().mode();
                if known.is_dir() {
                    walk(root, &path, found);
                } else if known.is_symlink() {
                    let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    found.insert(name, ("120000".to_string(), target));
                } else {
                    let mode = if mode & 0o100 == 0 { "100644" } else { "100755" };
                    found.insert(name, (mode.to_string(), fs::read(&path).unwrap()));
                }
            }
        }
        let mut found = State::new();
        walk(&self.stage.root(), &self.stage.root(), &mut found);
        found
    }

    /// What a checkpoint has to hold.
    fn expected(&self) -> State {
        let tracked = self.stage.git(&["ls-files", "-z"]);
        let is_tracked = |path: &str| tracked.split('\0').any(|tracked| tracked == path);
        let mut state = self.disk();
        state.retain(|path, _| !path.starts_with("target/") && !path.ends_with(".log") || is_tracked(path));
        state
    }

    fn tree(&self, object: &str) -> State {
        let listed = self.stage.git(&["ls-tree", "-r", "-z", object]);
        let entries = listed.split('\0').filter(|line| !line.is_empty()).map(|line| {
            let (entry, path) = line.split_once('\t').unwrap();
            let words: Vec<&str> = entry.split(' ').collect();
            (path.to_string(), words[0].to_string(), words[2].to_string())
        });
        let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut bytes = |blob: String| {
            let read = || {
                let mut git = Command::new("git");
                git.args(["cat-file", "blob", &blob]).current_dir(self.stage.root()).output().unwrap().stdout
            };
            blobs.entry(blob.clone()).or_insert_with(read).clone()
        };
        entries.map(|(path, mode, blob)| (path, (mode, bytes(blob)))).collect()
    }

    /// What belongs to the user.
    fn own(&self) -> (Vec<u8>, String, String, Vec<String>) {
        let git_dir = self.stage.root().join(".git");
        let mut names: Vec<String> =
            fs::read_dir(&git_dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let refs = self.stage.git(&["for-each-ref", "refs/heads", "refs/stash", "refs/tags"]);
        (fs::read(git_dir.join("index")).unwrap(), fs::read_to_string(git_dir.join("HEAD")).unwrap(), refs, names)
    }

    fn restored(&mut self, number: u32, wanted: &State, when: &str) {
        let (disk, expected, own) = (self.disk(), self.expected(), self.own());
        let (home, located) = (self.stage.home(), self.stage.located());
        let checkpoints = Checkpoints::new(&home, &located).unwrap();
        match checkpoints.restore(1, number, at(10_000 + number)) {
            Ok(restored) => {
                assert_eq!(self.tree(&restored.before), expected, "what was there is saved: {when}");
                let mut after = disk;
                after.retain(|path, _| !expected.contains_key(path));
                after.extend(wanted.clone());
                assert_eq!(self.disk(), after, "{when}");
            }
            Err(CheckpointError::InTheWay(paths)) => {
                assert!(paths.iter().all(|path| disk.contains_key(path) && !expected.contains_key(path)), "{when}");
                assert_eq!(self.disk(), disk, "{when}");
            }
            Err(error) => panic!("{error}: {when}"),
        }
        assert_eq!(self.own(), own, "{when}");
    }

    fn run(&mut self, seed: u64) {
        let mut saved: Vec<State> = Vec::new();
        for turn in 0..TURNS {
            let when = format!("seed {seed}, turn {turn}");
            for _ in 0..=self.random.below(4) {
                self.change();
                if self.random.below(3) > 0 {
                    self.stop_the_clock();
                }
            }
            let (expected, disk, own) = (self.expected(), self.disk(), self.own());
            let made = self.stage.save(turn);
            assert_eq!(self.tree(&made.checkpoint.object), expected, "{when}");
            assert_eq!((self.disk(), self.own()), (disk, own), "{when}");
            saved.push(expected);
            if self.random.below(5) == 0 {
                self.change();
                self.stop_the_clock();
                let number = self.random.below(saved.len() as u64) as u32;
                self.restored(number, &saved[number as usize].clone(), &when);
            }
        }
    }
}

/// What agents destroy files with.
const DESTROYERS: [&str; 14] = [
    "git checkout .",
    "git checkout -f HEAD",
    "git reset -q --hard",
    "git reset -q --hard HEAD~1",
    "git clean -fdq",
    "git clean -fdxq",
    "git stash -q && git stash drop -q",
    "git stash -qu && git stash drop -q",
    "git restore .",
    "git -c rebase.autoStash=true rebase -q HEAD~1",
    "rm -rf src",
    "rm -rf f a.txt .gitignore",
    "find . -path ./.git -prune -o -type f -exec rm {} +",
    "for f in $(ls); do [ -f \"$f\" ] && echo overwritten > \"$f\"; done",
];

impl Turns {
    fn destroy(&mut self) -> &'static str {
        let line = self.random.pick(&DESTROYERS);
        let mut shell = Command::new("sh");
        let name = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        shell.args(["-c", line]).envs(name.map(|name| (name, "t@example.com"))).env("GIT_CONFIG_GLOBAL", "/dev/null");
        // It may fail: there may be nothing to destroy.
        shell.current_dir(self.stage.root()).output().unwrap();
        line
    }

    /// Every turn is kept, destroyed and put back.
    fn run_destroyed(&mut self, seed: u64) {
        let (home, located) = (self.stage.home(), self.stage.located());
        // Longer than a tick of any clock, so that most files are recognised and none wrongly.
        let mut checkpoints = Checkpoints::new(&home, &located).unwrap();
        checkpoints.settled_after = Duration::from_millis(20);
        let keep = |moment, number| checkpoints.keep(TurnReason::of(moment), at(number)).unwrap();
        keep(TurnMoment::Before, 0);
        for turn in 1..=TURNS {
            for _ in 0..=self.random.below(4) {
                self.change();
                if self.random.below(3) > 0 {
                    self.stop_the_clock();
                }
            }
            let expected = self.expected();
            keep(TurnMoment::Command, 3 * turn);
            let wanted = checkpoints.turns().unwrap().pop().unwrap();
            assert_eq!(self.tree(&wanted.object), expected, "seed {seed}, turn {turn}");
            let line = self.destroy();
            let when = format!("seed {seed}, turn {turn}: {line}");
            let own = self.own();
            keep(TurnMoment::Turn, 3 * turn + 1);
            let found = checkpoints.turns().unwrap().pop().unwrap();
            let undone = checkpoints.undo(&found, &wanted, None);
            undone.unwrap_or_else(|error| panic!("{error}: {when}"));
            let disk = self.disk();
            for (path, file) in &expected {
                assert_eq!(disk.get(path), Some(file), "{path:?}: {when}");
            }
            assert_eq!(self.own(), own, "{when}");
            keep(TurnMoment::Undo, 3 * turn + 2);
        }
        self.stage.git(&["fsck", "--strict"]);
    }
}

#[test]
fn every_turn_is_put_back_whatever_destroyed_it() {
    std::thread::scope(|scope| {
        for seed in 1..=SEEDS {
            scope.spawn(move || Turns::new(seed).run_destroyed(seed));
        }
    });
}

#[test]
fn every_checkpoint_is_the_worktree_byte_for_byte() {
    std::thread::scope(|scope| {
        for seed in 1..=SEEDS {
            scope.spawn(move || Turns::new(seed).run(seed));
        }
    });
}
