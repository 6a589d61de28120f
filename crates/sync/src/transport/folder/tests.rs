//! Somebody else who can write to the folder puts anything there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::super::{ALL, Document};
use super::*;

const OWN: &str = "00000000000000aa";
const OTHER: &str = "00000000000000bb";

#[test]
fn a_folder_that_is_not_there_is_never_created() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("unmounted");
    assert!(matches!(Folder::open(missing.clone()), Err(TransportError::Unreachable { .. })));
    assert!(!missing.exists());
    fs::write(&missing, "").unwrap();
    assert!(matches!(Folder::open(missing), Err(TransportError::Refused { .. })));
}

fn place() -> Place {
    Place { space: "s".to_string(), project: "p".to_string() }
}

fn stream(device: &str) -> Stream {
    Stream { place: place(), device: device.to_string() }
}

fn sealed(sequence: u64) -> Sealed {
    Sealed { sequence, bytes: format!("batch {sequence}").into_bytes() }
}

#[test]
fn what_others_put_into_the_folder_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(dir.path().to_path_buf()).unwrap();
    folder.replace(&place(), "a", b"head", None).unwrap();
    fs::write(dir.path().join("s/p/heads/.a.1.tmp"), "half").unwrap();
    fs::write(dir.path().join("s/p/heads/a.sync-conflict"), "other").unwrap();
    assert_eq!(folder.heads(&place()).unwrap(), [Document { name: "a".to_string(), bytes: b"head".to_vec() }]);
}

#[test]
fn what_killed_processes_left_is_removed_when_it_is_old_and_ours() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(dir.path().to_path_buf()).unwrap();
    let mut exchange = || {
        folder.put_if_absent(&stream(OWN), 1, &[sealed(1)]).unwrap();
        folder.replace(&place(), OWN, b"head", Some(1)).unwrap();
    };
    exchange();
    let (batches, heads) = (dir.path().join(format!("s/p/{OWN}/{:016x}", 1)), dir.path().join("s/p/heads"));
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 24 * 60 * 60);
    let mut kept = Vec::new();
    for (folder, name, is_old, is_ours) in [
        (&batches, format!(".{:016x}.5eed.tmp", 7), true, true),
        (&heads, format!(".{OTHER}.00000000c0ffee00.tmp"), true, true),
        (&heads, format!(".{OWN}.00000000c0ffee00.tmp"), false, true),
        (&heads, ".syncthing.head.tmp".to_string(), true, false),
        (&heads, "notes.txt".to_string(), true, false),
    ] {
        let path = folder.join(name);
        let file = fs::File::create(&path).unwrap();
        if is_old {
            file.set_modified(long_ago).unwrap();
        }
        kept.push((path, !(is_old && is_ours)));
    }
    exchange();
    for (path, is_kept) in kept {
        assert_eq!(path.exists(), is_kept, "{}", path.display());
    }
}

#[test]
fn whoever_may_write_into_the_hub_may_write_everywhere_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (number, wanted) in [0o700, 0o775, 0o777].into_iter().enumerate() {
        let top = dir.path().join(format!("hub{number}"));
        fs::create_dir(&top).unwrap();
        fs::set_permissions(&top, fs::Permissions::from_mode(wanted)).unwrap();
        let mut folder = Folder::open(top.clone()).unwrap();
        folder.put_if_absent(&stream(OWN), 1, &[sealed(1)]).unwrap();
        folder.replace(&place(), OWN, b"head", Some(1)).unwrap();
        for made in ["s", "s/p", "s/p/heads"] {
            assert_eq!(mode(&top.join(made)), wanted, "{made}");
        }
        assert_eq!(mode(&top.join("s/p/heads").join(OWN)), 0o644);
    }
}

/// A hub of two devices beside a folder that is not part of it.
struct Beside {
    dir: tempfile::TempDir,
}

impl Beside {
    fn new() -> Beside {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        // Names that the transport reads, writes and removes, and names that are hexadecimal numbers.
        for name in [OWN, OTHER, "0000000000000001", "0000000000000002", "cafe", "heads", "s", "p"] {
            fs::create_dir_all(outside.join(name).join("0000000000000001")).unwrap();
            fs::write(outside.join(name).join("0000000000000002"), "theirs").unwrap();
            fs::write(outside.join(name).join("0000000000000001/0000000000000001"), "theirs").unwrap();
        }
        fs::write(outside.join(".bashrc"), "theirs").unwrap();
        fs::create_dir(dir.path().join("hub")).unwrap();
        let beside = Beside { dir };
        let mut folder = beside.open();
        for device in [OWN, OTHER] {
            folder.put_if_absent(&stream(device), 1, &[sealed(1), sealed(2)]).unwrap();
            folder.replace(&place(), device, b"head", Some(1)).unwrap();
        }
        beside
    }

    fn hub(&self) -> PathBuf {
        self.dir.path().join("hub")
    }

    fn open(&self) -> Folder {
        Folder::open(self.hub()).unwrap()
    }

    fn outside(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        all(&self.dir.path().join("outside"))
    }

    /// Everything that an exchange does. Returns what is said.
    fn use_it(&self) -> Vec<String> {
        let (mut folder, mut said) = (self.open(), Vec::new());
        let range = |device| Range { stream: stream(device), generation: 1, sequence: 0, limit: 5 };
        let questions = [OWN, OTHER].map(|device| Question::After(range(device)));
        let failed = |error: TransportError| error.to_string();
        said.extend(folder.ask(&questions).err().map(failed));
        said.extend(folder.heads(&place()).err().map(failed));
        said.extend(folder.ask(&[Question::Heads(place(), 9)]).err().map(failed));
        said.extend(folder.put_if_absent(&stream(OWN), 1, &[sealed(1), sealed(2), sealed(3)]).err().map(failed));
        said.extend(folder.put_if_absent(&stream(OWN), 2, &[sealed(1)]).err().map(failed));
        said.extend(folder.replace(&place(), OWN, b"new head", Some(2)).err().map(failed));
        said.extend(folder.oddities().iter().map(ToString::to_string));
        said
    }
}

/// Every file and folder below this one, and what files hold.
fn all(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let is_folder = entry.file_type().unwrap().is_dir();
        found.push((entry.path(), (!is_folder).then(|| fs::read(entry.path()).unwrap_or_default())));
        if is_folder {
            found.extend(all(&entry.path()));
        }
    }
    found.sort();
    found
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

#[test]
fn a_link_in_the_place_of_anything_is_not_followed_and_is_named() {
    let hub = Beside::new().hub();
    let paths: Vec<PathBuf> = all(&Beside::new().hub()).into_iter().map(|(path, _)| path).collect();
    assert!(paths.len() > 10, "{paths:?}");
    for path in paths {
        let name: PathBuf = path.iter().skip(hub.iter().count()).collect();
        for target in [".bashrc", "", "heads", OWN, "missing"] {
            let beside = Beside::new();
            let planted = beside.hub().join(&name);
            remove(&planted);
            symlink(beside.dir.path().join("outside").join(target), &planted).unwrap();
            let before = beside.outside();
            let said = beside.use_it();
            assert_eq!(beside.outside(), before, "{name:?} leads to {target:?}");
            let is_named = said.iter().any(|line| line.contains(&format!("{} is a symbolic link", name.display())));
            assert!(is_named, "{name:?} leads to {target:?}: {said:?}");
            // Our own head is ours to replace: the link, not what it leads to.
            let is_own_head = name.ends_with(format!("heads/{OWN}"));
            let is_link = fs::symlink_metadata(&planted).is_ok_and(|known| known.is_symlink());
            assert_eq!(is_link, !is_own_head, "{name:?}");
        }
    }
}

#[test]
fn a_link_for_a_name_that_will_be_written_is_not_followed() {
    let draft = |name: &str| format!(".{name}.{}.tmp", std::process::id());
    let batch = |sequence: u64| format!("{OWN}/0000000000000001/{}", number(sequence));
    let names = [
        batch(3),
        format!("{OWN}/0000000000000001/{}", draft(&number(3))),
        format!("{OWN}/0000000000000002"),
        format!("{OWN}/0000000000000002/{}", draft(&number(1))),
        format!("heads/{}", draft(OWN)),
    ];
    for name in &names {
        for is_hard in [false, true] {
            let beside = Beside::new();
            let planted = beside.hub().join("s/p").join(name);
            fs::create_dir_all(planted.parent().unwrap()).unwrap();
            let target = beside.dir.path().join("outside/.bashrc");
            if is_hard {
                fs::hard_link(&target, &planted).unwrap()
            } else {
                symlink(&target, &planted).unwrap()
            }
            let before = beside.outside();
            beside.use_it();
            assert_eq!(beside.outside(), before, "{name}");
        }
    }
}

#[test]
fn what_is_no_file_is_named_and_keeps_nobody_waiting() {
    for name in [format!("heads/{OTHER}"), format!("{OTHER}/0000000000000001/0000000000000002")] {
        let beside = Beside::new();
        let planted = beside.hub().join("s/p").join(&name);
        for what in ["neither a file nor a folder", "a folder", "larger than"] {
            remove(&planted);
            match what {
                "a folder" => fs::create_dir(&planted).unwrap(),
                "larger than" => fs::File::create(&planted).unwrap().set_len(64 * 1024 * 1024).unwrap(),
                _ => assert!(std::process::Command::new("mkfifo").arg(&planted).status().unwrap().success()),
            }
            let mut hub = beside.open();
            let question = Question::After(Range { stream: stream(OTHER), generation: 1, sequence: 0, limit: 5 });
            let answers = hub.ask(&[question, Question::Heads(place(), ALL)]).unwrap();
            let is_head = name.starts_with("heads");
            let lengths = (answers[0].len(), answers[1].len());
            assert_eq!(lengths, if is_head { (2, 1) } else { (1, 2) }, "{what}: the rest is read");
            let said = hub.oddities().iter().map(ToString::to_string).collect::<Vec<_>>();
            assert!(said.len() == 1 && said[0].contains(&name) && said[0].contains(what), "{said:?}");
            assert!(hub.oddities().is_empty(), "told once");
        }
    }
}

#[test]
fn only_what_we_make_is_removed() {
    let beside = Beside::new();
    let stream = beside.hub().join("s/p").join(OWN);
    let old = stream.join("0000000000000001");
    for folder in ["cafe", "1", "+000000000000001", "000000000000000A"] {
        fs::create_dir(stream.join(folder)).unwrap();
        fs::write(stream.join(folder).join("0000000000000001"), "theirs").unwrap();
    }
    fs::create_dir(old.join("0000000000000009")).unwrap();
    fs::write(old.join("notes.txt"), "theirs").unwrap();
    fs::write(old.join(".0000000000000003.4711.tmp"), "left by a killed process").unwrap();
    symlink(beside.dir.path().join("outside/.bashrc"), old.join("0000000000000008")).unwrap();
    symlink(beside.dir.path().join("outside/cafe"), stream.join("0000000000000000")).unwrap();
    let before = beside.outside();
    let said = beside.use_it();
    assert_eq!(beside.outside(), before);
    let left: Vec<String> = {
        let names = fs::read_dir(&old).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(left, ["0000000000000008", "0000000000000009", "notes.txt"]);
    assert_eq!(fs::read_dir(&stream).unwrap().count(), 7);
    for what in ["0000000000000001 holds something that Cerberus did not make", "0000000000000000 is a symbolic link"] {
        assert!(said.iter().any(|line| line.contains(what)), "{said:?}");
    }
    for name in ["notes.txt", "0000000000000008"] {
        fs::remove_file(old.join(name)).unwrap();
    }
    fs::remove_dir(old.join("0000000000000009")).unwrap();
    beside.use_it();
    assert!(!old.exists(), "empty and ours");
}

#[test]
fn the_folder_itself_may_be_a_link() {
    let beside = Beside::new();
    let link = beside.dir.path().join("link");
    symlink(beside.hub(), &link).unwrap();
    let mut folder = Folder::open(link).unwrap();
    assert_eq!(folder.heads(&place()).unwrap().len(), 2);
    folder.replace(&place(), OWN, b"newer", Some(2)).unwrap();
    assert_eq!(fs::read(beside.hub().join("s/p/heads").join(OWN)).unwrap(), b"newer");
    assert!(folder.oddities().is_empty());
}
