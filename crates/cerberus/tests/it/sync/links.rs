//! Somebody who can write to a hub's folder puts links there. None is followed, whatever it replaces and whatever is done
//! then; each is named; everything else goes on.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::hubs::git::Repositories;

use super::{Hub, decide, join, machine, pair, problems};

/// A user's own folder, which must never change.
struct Outside {
    dir: tempfile::TempDir,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Outside {
    fn new(hub: &Hub) -> Outside {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".bashrc"), "alias ll='ls -l'\n").unwrap();
        // Every name of the hub is here too, in folders whose names are hexadecimal numbers.
        for (path, _) in hub.files() {
            let path = path.strip_prefix(hub.path()).unwrap();
            for cut in 0..path.iter().count() {
                let copy: PathBuf = path.iter().skip(cut).collect();
                let copy = dir.path().join(copy);
                if !copy.exists() {
                    fs::create_dir_all(copy.parent().unwrap()).unwrap();
                    fs::write(copy, "theirs").unwrap();
                }
            }
        }
        fs::create_dir_all(dir.path().join("cafe/0000000000000000")).unwrap();
        fs::write(dir.path().join("cafe/0000000000000000/0000000000000001"), "theirs").unwrap();
        let before = Outside::files(dir.path());
        Outside { dir, before }
    }

    fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        super::each_file(dir, &mut found);
        found.sort();
        found
    }

    fn is_as_before(&self, what: &str) {
        assert_eq!(Outside::files(self.dir.path()), self.before, "{what}");
    }
}

/// Every file and folder of the hub, by its path from the top.
fn entries(hub: &Hub) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for (path, _) in hub.files() {
        let path = path.strip_prefix(hub.path()).unwrap().to_path_buf();
        let above = path.ancestors().filter(|above| !above.as_os_str().is_empty()).map(Path::to_path_buf);
        found.extend(above);
    }
    found.sort();
    found.dedup();
    found
}

/// Puts a link in the place of a file or folder, which is moved aside. Returns a function that takes it back.
fn plant(hub: &Hub, name: &Path, target: &Path) -> impl FnOnce() + use<> {
    let (path, aside) = (hub.path().join(name), tempfile::tempdir().unwrap());
    let kept = aside.path().join("kept");
    fs::rename(&path, &kept).unwrap();
    symlink(target, &path).unwrap();
    move || {
        if fs::symlink_metadata(&path).is_ok_and(|known| known.is_symlink()) {
            fs::remove_file(&path).unwrap();
            fs::rename(&kept, &path).unwrap();
        }
        drop(aside);
    }
}

/// Work, exchanges and forgetting on both machines, whether they succeed or not. Returns everything that was said.
fn live(a: &TestEnv, b: &TestEnv, round: usize) -> String {
    let mut said = String::new();
    let mut sync = |env: &TestEnv| {
        let output = env.run(&["sync"]);
        said.push_str(&String::from_utf8_lossy(&output.stderr));
    };
    decide(a, &format!("decision number {round}"));
    a.ok(&["learn", &format!("Always use tool{round}")]);
    sync(a);
    sync(b);
    let id = a.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    a.ok(&["forget", "--memory", &id, "--yes"]);
    for env in [a, b, a, b] {
        sync(env);
    }
    said
}

#[test]
fn no_link_in_a_folder_is_followed_whatever_it_replaces() {
    let (hub, a, b) = pair();
    let outside = Outside::new(&hub);
    let (mut rounds, mut unnamed) = (0, Vec::new());
    for name in entries(&hub) {
        // What was forgotten since may have removed it.
        let Ok(known) = fs::symlink_metadata(hub.path().join(&name)) else { continue };
        let target = if known.is_dir() { outside.dir.path().to_path_buf() } else { outside.dir.path().join(".bashrc") };
        let restore = plant(&hub, &name, &target);
        rounds += 1;
        let said = live(&a, &b, rounds);
        outside.is_as_before(&format!("{}", name.display()));
        // Where a link of the chain stands that the document has, nothing is read or written.
        let is_read = !name.to_string_lossy().contains("/space/chain/");
        if is_read && !said.contains(&format!("{} is a symbolic link", name.display())) {
            unnamed.push((name, said));
        }
        restore();
    }
    assert!(unnamed.is_empty(), "{unnamed:?}");
    assert!(rounds > 8, "{rounds}");
    for env in [&a, &b, &a, &b] {
        env.ok(&["sync"]);
    }
    assert_eq!((problems(&a), problems(&b)), (Vec::<String>::new(), Vec::new()));
    let last = format!("decision number {rounds}");
    assert!(b.brief().contains(&last), "nothing is lost: {}", b.brief());
}

#[test]
fn a_link_does_not_keep_other_devices_and_projects_from_exchanging() {
    let (hub, a, b) = pair();
    let c = machine();
    join(&a, &c, &hub, "tablet", &[]);
    for env in [&a, &b, &c] {
        env.ok(&["sync"]);
    }
    let outside = Outside::new(&hub);
    // The stream of b leads elsewhere: what a and c write is still exchanged, and b is told why nothing of its own is.
    let device = super::space(&b)["device"].as_str().unwrap().to_string();
    let own = |path: &PathBuf| path.ends_with(&device) && !path.iter().any(|part| part == "heads" || part == "space");
    let name = entries(&hub).into_iter().find(own);
    decide(&b, "made by b");
    b.ok(&["sync"]);
    let name = name.or_else(|| entries(&hub).into_iter().find(own)).unwrap();
    let restore = plant(&hub, &name, outside.dir.path());
    decide(&a, "made by a");
    decide(&b, "made later by b");
    a.ok(&["sync"]);
    let said = b.run(&["sync"]);
    assert!(said.status.success(), "{said:?}");
    c.ok(&["sync"]);
    assert!(b.brief().contains("made by a") && c.brief().contains("made by a"), "{}", b.brief());
    assert!(problems(&b).iter().any(|problem| problem.contains("is a symbolic link")), "{:?}", problems(&b));
    assert!(b.doctor().to_string().contains("is a symbolic link"));
    a.ok(&["sync", "remove", "tablet", "--yes"]);
    outside.is_as_before("a stream");
    restore();
    for env in [&a, &b, &a] {
        env.ok(&["sync"]);
    }
    assert!(a.brief().contains("made later by b"), "{}", a.brief());
    assert_eq!(problems(&b), [""; 0]);
}

#[test]
fn a_link_in_the_tree_of_a_git_hub_is_its_text() {
    let (repositories, a) = (Repositories::new(), machine());
    a.ok(&["sync", "init", &repositories.file(), "--name", "laptop"]);
    a.ok(&["share"]);
    decide(&a, "made by a");
    a.ok(&["sync"]);
    let outside = tempfile::tempdir().unwrap();
    let (target, text) = (outside.path().join(".bashrc"), outside.path().join("text"));
    fs::write(&target, "theirs").unwrap();
    fs::write(&text, target.to_str().unwrap()).unwrap();
    let git = |args: &[&str]| repositories.git(&[&["--git-dir=app.git"], args].concat()).trim().to_string();
    let blob = git(&["hash-object", "-w", text.to_str().unwrap()]);
    for name in ["document", "batch"] {
        git(&["update-index", "--add", "--cacheinfo", &format!("120000,{blob},{name}")]);
    }
    let author = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
    let commit = git(&[&author[..], &["commit-tree", "-m", "1", &git(&["write-tree"])]].concat());
    let references = git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/cerberus"]);
    assert!(references.lines().count() > 3, "{references}");
    for (reference, genuine) in references.lines().filter_map(|line| line.split_once(' ')) {
        git(&["update-ref", reference, &commit]);
        // A mirror that has nothing yet reads all of it.
        fs::remove_dir_all(a.home().join("sync/hub")).unwrap();
        a.run(&["sync"]);
        assert_eq!(fs::read(&target).unwrap(), b"theirs", "{reference}");
        let mut files = Vec::new();
        super::each_file(&a.home(), &mut files);
        for (path, bytes) in files {
            assert!(!fs::symlink_metadata(&path).unwrap().is_symlink(), "{}", path.display());
            assert!(!bytes.windows(6).any(|window| window == b"theirs"), "{}", path.display());
        }
        git(&["update-ref", reference, genuine]);
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 2);
}
