//! The room of checkpoints: a limit holds for loops and turns together, and what goes is only what nobody else needs.

use cerberus_os::clock::Clock;

use super::*;
use crate::TurnMoment;
use crate::turns::TurnReason;

/// Of a file that changes with every turn. It is reason to look at the room.
const FILE_BYTES: usize = 1_100_000;
const ALLOWED_BYTES: u64 = 5_000_000;

/// What no compression makes smaller.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..FILE_BYTES).map(|_| next()).collect()
}

impl Stage {
    /// With little room, in the user's settings.
    fn narrow() -> Stage {
        let stage = Stage::new();
        fs::create_dir(stage.dir.path().join("home")).unwrap();
        fs::write(stage.dir.path().join("home/config.toml"), "[undo]\nmax_room = \"5 MB\"\n").unwrap();
        stage
    }

    fn change(&self, seed: u64) {
        fs::write(self.root().join("model.bin"), noise(seed)).unwrap();
    }

    fn turn(&self, number: u32, unused_for: Duration) {
        let (home, located) = (self.home(), self.located());
        let mut checkpoints = Checkpoints::new(&home, &located).unwrap();
        checkpoints.unused_for = unused_for;
        self.change(u64::from(number));
        let kept = checkpoints.keep(TurnReason::of(TurnMoment::Turn), at(number)).unwrap();
        checkpoints.prune(kept.as_ref(), &Clock::new(Some(at(number)))).unwrap();
    }

    fn turns(&self) -> Vec<u32> {
        let (home, located) = (self.home(), self.located());
        let turns = Checkpoints::new(&home, &located).unwrap().turns().unwrap();
        turns.into_iter().map(|turn| turn.number).collect()
    }

    fn room(&self) -> crate::room::RoomTaken {
        let (home, located) = (self.home(), self.located());
        Checkpoints::new(&home, &located).unwrap().room().unwrap()
    }

    /// The bytes of all objects in the repository, whoever needs them.
    fn object_bytes(&self) -> u64 {
        let printed = self.git(&["count-objects", "-v"]);
        let size = printed.lines().find_map(|line| line.strip_prefix("size: ")).unwrap();
        1024 * size.parse::<u64>().unwrap()
    }
}

#[test]
fn the_oldest_go_when_there_is_no_room_and_the_repository_stays_small() {
    let stage = Stage::narrow();
    // The oldest are those of a loop, and its newest stays.
    for number in 0..3 {
        stage.change(1_000 + u64::from(number));
        stage.save(number);
    }
    for number in 1..=12 {
        stage.turn(number, Duration::ZERO);
        let taken = stage.room().bytes.unwrap();
        assert!(taken <= ALLOWED_BYTES, "{taken} after {number}");
        let bytes = stage.object_bytes();
        assert!(bytes <= ALLOWED_BYTES + 100_000, "what went takes no room any more: {bytes} after {number}");
    }
    let names = stage.git(&["for-each-ref", "--format=%(refname)", "refs/cerberus/loop"]);
    assert_eq!(names, "refs/cerberus/loop/1/2\n");
    let turns = stage.turns();
    assert!(turns.len() >= 2 && turns.ends_with(&[11, 12]), "{turns:?}");
    let taken = stage.room();
    assert_eq!(taken.bytes_max, ALLOWED_BYTES);
    assert!(taken.removed.is_some_and(|removed| removed.checkpoints > 0 && removed.at <= at(12)));
    stage.git(&["fsck", "--strict"]);
    // A single state that is too large is kept: without it there is nothing to go back to.
    for number in 0..6 {
        fs::write(stage.root().join(format!("part-{number}")), noise(2_000 + number)).unwrap();
    }
    stage.turn(99, Duration::ZERO);
    assert_eq!(stage.turns().last(), Some(&13));
    assert!(stage.room().bytes.unwrap() > ALLOWED_BYTES);
}

#[test]
fn what_somebody_else_may_need_stays() {
    let stage = Stage::narrow();
    let blob = || stage.git(&["hash-object", "model.bin"]).trim().to_string();
    let is_there =
        |blob: &String| stage.git(&["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"]).contains(blob);
    // In a stash that was dropped, in the index, in an older commit, and in nothing but turns.
    stage.turn(1, Duration::ZERO);
    let stashed = blob();
    stage.git(&["stash", "-qu"]);
    stage.git(&["stash", "drop", "-q"]);
    stage.turn(2, Duration::ZERO);
    let committed = blob();
    stage.git(&["add", "."]);
    stage.git(&["commit", "-qm", "model"]);
    stage.turn(3, Duration::ZERO);
    stage.git(&["commit", "-qam", "another model"]);
    stage.turn(4, Duration::ZERO);
    let indexed = blob();
    stage.git(&["add", "."]);
    stage.turn(5, Duration::ZERO);
    let alone = blob();
    for number in 6..=20 {
        stage.turn(number, Duration::ZERO);
    }
    assert!(!stage.turns().contains(&5), "{:?}", stage.turns());
    assert!(is_there(&stashed) && is_there(&committed) && is_there(&indexed));
    assert!(!is_there(&alone));
    stage.git(&["fsck", "--strict"]);
    // What was written just now may be about to be used.
    let young = Stage::narrow();
    for number in 1..=12 {
        young.turn(number, crate::checkpoints::UNUSED_FOR);
    }
    assert!(young.turns().len() < 6 && young.object_bytes() > 12_000_000, "{:?}", young.turns());
}

#[test]
fn what_is_forgotten_leaves_the_repository_at_once() {
    let stage = Stage::narrow();
    stage.turn(1, Duration::ZERO);
    stage.turn(2, Duration::ZERO);
    let (home, located) = (stage.home(), stage.located());
    let checkpoints = Checkpoints::new(&home, &located).unwrap();
    let names: Vec<String> = checkpoints.turns().unwrap().into_iter().map(|turn| turn.name).collect();
    checkpoints.forget(names.iter().map(String::as_str)).unwrap();
    assert!(stage.object_bytes() < 100_000, "{}", stage.object_bytes());
    stage.git(&["fsck", "--strict"]);
}

#[test]
fn what_a_command_is_about_to_refer_to_is_not_forgotten() {
    let stage = Stage::narrow();
    let path_of = |blob: &str| stage.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    // What one of them holds is written again, as `git add` does; the other is used by nobody.
    stage.turn(1, Duration::ZERO);
    let renewed = path_of(stage.git(&["hash-object", "model.bin"]).trim());
    stage.turn(2, Duration::ZERO);
    let unused = path_of(stage.git(&["hash-object", "model.bin"]).trim());
    let forget = || {
        let (home, located) = (stage.home(), stage.located());
        let checkpoints = Checkpoints::new(&home, &located).unwrap();
        let names: Vec<String> = checkpoints.turns().unwrap().into_iter().map(|turn| turn.name).collect();
        checkpoints.forget(names.iter().map(String::as_str)).unwrap();
    };
    let soon = std::time::SystemTime::now() + Duration::from_secs(3_600);
    let file = fs::File::options().read(true).open(&renewed).unwrap();
    file.set_modified(soon).unwrap();
    forget();
    assert!(renewed.exists() && !unused.exists());
    // Somebody holds the index, for longer than anybody waits.
    stage.turn(3, Duration::ZERO);
    let indexed = path_of(stage.git(&["hash-object", "model.bin"]).trim());
    let lock = stage.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    forget();
    assert!(indexed.exists());
    fs::remove_file(lock).unwrap();
    stage.git(&["fsck"]);
}
