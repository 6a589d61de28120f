//! Git: as a file, over HTTP and over ssh.

use cerberus_sync::transport::{ALL, Document, Question, Range};
use cerberus_testkit::answering::{Answer, Answering};
use cerberus_testkit::hubs::git::{GitHttp, GitSsh, Repositories};
use cerberus_testkit::process::write_program;

use super::*;

#[test]
fn a_repository_is_a_hub_as_a_file_and_over_http() {
    conforms(&Repositories::new().file(), true);
    let repositories = Repositories::new();
    let server = GitHttp::start(&repositories, None);
    conforms(&server.hub(), true);
    // Nothing but our own references; no branch, nothing to check out.
    let references = repositories.git(&["--git-dir=app.git", "for-each-ref", "--format=%(refname)"]);
    assert!(
        !references.is_empty() && references.lines().all(|name| name.starts_with("refs/cerberus/")),
        "{references}"
    );
}

#[test]
fn a_repository_is_a_hub_over_ssh_for_whoever_has_the_key() {
    if !GitSsh::is_here() {
        return;
    }
    let (repositories, server) = (Repositories::new(), GitSsh::start());
    let dir = tempfile::tempdir().unwrap();
    for (ssh, job, expected) in [
        (server.wrong_command(), "heads", "refused"),
        // A host that is not known is not asked about; nobody is there to answer.
        (server.command().replace("File=", "File=/none"), "heads", "refused"),
        (server.command(), "heads", "fine"),
        (server.command(), "batches", "1 passed"),
    ] {
        let mut command = other_process(job, &server.hub(&repositories), dir.path());
        let finished = Running::spawn(command.env("GIT_SSH_COMMAND", &ssh)).unwrap().wait(LIMIT).unwrap();
        assert!(finished.stdout.contains(expected), "{ssh}: {} {}", finished.stdout, finished.stderr);
    }
}

#[test]
fn a_place_costs_only_its_own_references() {
    let repositories = Repositories::new();
    let server = GitHttp::start(&repositories, None);
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&server.hub(), dir.path());
    hub.replace(&place("p"), "de1", b"head", Some(1)).unwrap();
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "one")]).unwrap();
    let mut reader = super::hub(&server.hub(), &dir.path().join("other"));
    reader.heads(&place("p")).unwrap();
    let mirror = std::fs::read_dir(dir.path().join("other")).unwrap().flatten().next().unwrap().path();
    let mirrored = |below: &str| mirror.join("refs/cerberus/5pace").join(below).exists();
    assert!(mirrored("p/documents/de1") && !mirrored("p/streams"), "nobody asked for batches");
    assert_eq!(reader.after(&stream("p", "de1"), 1, 0, 10).unwrap(), [batch(1, "one")]);
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(2, "two")]).unwrap();
    hub.put_if_absent(&stream("p", "de2"), 1, &[batch(1, "other")]).unwrap();
    let mut reader = super::hub(&server.hub(), &dir.path().join("other"));
    reader.heads(&place("p")).unwrap();
    let before = server.requests().len();
    assert_eq!(reader.after(&stream("p", "de1"), 1, 1, 10).unwrap(), [batch(2, "two")]);
    assert_eq!(server.requests().len(), before, "batches of a stream that was read before come with the heads");
    super::hub(&server.hub(), dir.path()).replace(&place("q"), "de1", b"head", None).unwrap();
    reader.heads(&place("p")).unwrap();
    assert!(!mirrored("q") && !mirrored("p/streams/de2"));
}

#[test]
fn several_questions_are_one_fetch() {
    let repositories = Repositories::new();
    let server = GitHttp::start(&repositories, None);
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut hub = hub(&server.hub(), dir.path());
    for device in ["de1", "de2"] {
        hub.replace(&place("p"), device, b"head", Some(1)).unwrap();
        hub.put_if_absent(&stream("p", device), 1, &[batch(1, device)]).unwrap();
    }
    let mut reader = super::hub(&server.hub(), other.path());
    let after =
        |device: &str| Question::After(Range { stream: stream("p", device), generation: 1, sequence: 0, limit: 1 });
    let before = server.requests().len();
    let questions =
        [Question::Heads(place("p"), ALL), Question::Heads(place("q"), ALL), after("de1"), after("de2"), after("de3")];
    let answers = reader.ask(&questions).unwrap();
    let first = |text: &str| vec![Document { name: "1".to_string(), bytes: text.as_bytes().to_vec() }];
    assert_eq!(answers[2..4], [first("de1"), first("de2")]);
    // The capabilities, the references, the objects.
    assert_eq!(server.requests().len() - before, 3);
}

#[test]
fn a_host_that_refuses_is_told_from_one_that_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let repositories = Repositories::new();
    let locked = GitHttp::start(&repositories, Some("YW5uYTpzZWNyZXQ="));
    let elsewhere = GitHttp::start(&repositories, None);
    let says = |status: u16| Answering::start(vec![Answer::Say(status, Vec::new())]);
    let (down, full) = (says(503), says(413));
    let redirect = format!("http://127.0.0.1:{}/app.git/info/refs?service=git-upload-pack", elsewhere.port());
    let redirects = Answering::start(vec![Answer::Elsewhere(redirect)]);
    let at = |server: &Answering| format!("git+{}/app.git", server.url());
    for (address, expected) in [
        ("git+http://127.0.0.1:1/app.git".to_string(), "unreachable"),
        (at(&down), "unreachable"),
        (at(&full), "full"),
        (locked.hub(), "refused"),
        (format!("git+file://{}/none.git", repositories.dir().display()), "refused"),
        (format!("git+http://127.0.0.1:{}/none.git", elsewhere.port()), "refused"),
    ] {
        let (kind, said) = told(hub(&address, dir.path()).heads(&place("p")));
        assert_eq!(kind, expected, "{address}: {said}");
    }
    let before = elsewhere.requests().len();
    let (kind, said) = told(hub(&at(&redirects), dir.path()).heads(&place("p")));
    assert_ne!(kind, "fine", "{said}");
    assert_eq!(elsewhere.requests().len(), before, "a redirect is not followed");
}

#[test]
fn a_host_decides_what_it_takes_and_what_it_deletes() {
    let repositories = Repositories::new();
    let hook = repositories.dir().join("app.git/hooks/update");
    // Deletes nothing, and takes nothing from one device.
    let script = "#!/bin/sh\ncase $1 in *de66*) exit 1;; esac\ncase $3 in 0000*) exit 1;; esac\n";
    write_program(&hook, script);
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&repositories.file(), dir.path());
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "old")]).unwrap();
    hub.replace(&place("p"), "de1", b"head", Some(2)).unwrap();
    assert_eq!(hub.heads(&place("p")).unwrap().len(), 1, "the head was replaced all the same");
    assert!(!hub.removes());
    let (kind, said) = told(hub.put_if_absent(&stream("p", "de66"), 1, &[batch(1, "x")]));
    assert_eq!(kind, "refused", "{said}");
}

#[test]
fn programs_that_a_repository_names_are_not_started() {
    let repositories = Repositories::new();
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&repositories.file(), dir.path());
    hub.heads(&place("p")).unwrap();
    let mirror = std::fs::read_dir(dir.path()).unwrap().flatten().next().unwrap().path();
    let (program, mark) = (dir.path().join("program"), dir.path().join("mark"));
    write_program(&program, &format!("#!/bin/sh\ntouch '{}'\n", mark.display()));
    for name in ["pre-push", "reference-transaction", "post-update"] {
        std::fs::create_dir_all(mirror.join("hooks")).unwrap();
        std::fs::copy(&program, mirror.join("hooks").join(name)).unwrap();
    }
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "one")]).unwrap();
    hub.replace(&place("p"), "de1", b"head", Some(1)).unwrap();
    hub.heads(&place("p")).unwrap();
    assert!(!mark.exists());
}

#[test]
fn a_remote_that_lost_its_data_gets_it_again() {
    let repositories = Repositories::new();
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&repositories.file(), dir.path());
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "one")]).unwrap();
    let name = "refs/cerberus/5pace/p/streams/de1/1";
    repositories.git(&["--git-dir=app.git", "update-ref", "-d", name]);
    hub.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "one")]).unwrap();
    let mut other = super::hub(&repositories.file(), &dir.path().join("other"));
    assert_eq!(other.after(&stream("p", "de1"), 1, 0, 10).unwrap(), [batch(1, "one")]);
}

#[test]
fn what_was_forgotten_is_in_no_mirror() {
    for filters in ["false", "true"] {
        forgotten_in_no_mirror(filters);
    }
}

fn forgotten_in_no_mirror(filters: &str) {
    let repositories = Repositories::new();
    repositories.git(&["--git-dir=app.git", "config", "uploadpack.allowFilter", filters]);
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut owner, mut reader) = (hub(&repositories.file(), dir.path()), hub(&repositories.file(), other.path()));
    owner.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "forgotten")]).unwrap();
    reader.after(&stream("p", "de1"), 1, 0, 10).unwrap();
    let commit = repositories.git(&["--git-dir=app.git", "rev-parse", "refs/cerberus/5pace/p/streams/de1/1"]);
    let has_it = |dir: &Path| {
        let mirror = std::fs::read_dir(dir).unwrap().flatten().next().unwrap().path();
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(mirror).args(["cat-file", "-e", commit.trim()]);
        git.stderr(std::process::Stdio::null()).status().unwrap().success()
    };
    assert!(has_it(dir.path()) && has_it(other.path()));
    owner.put_if_absent(&stream("p", "de1"), 2, &[batch(1, "kept")]).unwrap();
    owner.replace(&place("p"), "de1", b"head", Some(2)).unwrap();
    reader.heads(&place("p")).unwrap();
    assert!(!has_it(dir.path()) && !has_it(other.path()));
    assert_eq!(reader.after(&stream("p", "de1"), 2, 0, 10).unwrap(), [batch(1, "kept")]);
}

#[test]
fn what_is_far_too_large_is_not_even_fetched() {
    let repositories = Repositories::new();
    repositories.git(&["--git-dir=app.git", "config", "uploadpack.allowFilter", "true"]);
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut owner = hub(&repositories.file(), dir.path());
    owner.put_if_absent(&stream("p", "de1"), 1, &[batch(1, "one")]).unwrap();
    // Somebody who can push has put something else into a stream of the same place.
    let large: Vec<u8> = large_push().into_iter().flat_map(|one| one.bytes).cycle().take(8 << 20).collect();
    let file = repositories.dir().join("large");
    std::fs::write(&file, large).unwrap();
    let of = |args: &[&str]| repositories.git(&[&["--git-dir=app.git"], args].concat()).trim().to_string();
    let blob = of(&["hash-object", "-w", "large"]);
    of(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},batch")]);
    let tree = of(&["write-tree"]);
    let commit = of(&["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", &tree, "-m", "1"]);
    of(&["update-ref", "refs/cerberus/5pace/p/streams/de2/1", &commit]);
    let mut reader = hub(&repositories.file(), other.path());
    let mirror = || std::fs::read_dir(other.path()).unwrap().flatten().next().unwrap().path();
    assert_eq!(reader.after(&stream("p", "de2"), 1, 0, 10).unwrap(), []);
    let mirrored = Command::new("git").arg("--git-dir").arg(mirror()).args(["count-objects", "-v"]).output().unwrap();
    let mirrored = String::from_utf8(mirrored.stdout).unwrap();
    let kib: Vec<u64> = mirrored
        .lines()
        .filter_map(|line| line.strip_prefix("size: ").or(line.strip_prefix("size-pack: "))?.parse().ok())
        .collect();
    assert!(kib.iter().sum::<u64>() < 1024, "{mirrored}");
    assert_eq!(reader.after(&stream("p", "de1"), 1, 0, 10).unwrap(), [batch(1, "one")], "the others are read");
    // What is forgotten leaves the mirror all the same.
    owner.put_if_absent(&stream("p", "de1"), 2, &[batch(1, "kept")]).unwrap();
    owner.replace(&place("p"), "de1", b"head", Some(2)).unwrap();
    reader.heads(&place("p")).unwrap();
    assert_eq!(reader.after(&stream("p", "de1"), 1, 0, 10).unwrap(), []);
    assert_eq!(reader.after(&stream("p", "de1"), 2, 0, 10).unwrap(), [batch(1, "kept")]);
}

#[test]
fn an_earlier_generation_is_removed_even_if_the_mirror_was_deleted() {
    let repositories = Repositories::new();
    let dir = tempfile::tempdir().unwrap();
    let references = || repositories.git(&["--git-dir=app.git", "for-each-ref", "--format=%(refname)"]);
    hub(&repositories.file(), dir.path()).put_if_absent(&stream("p", "de1"), 1, &[batch(1, "forgotten")]).unwrap();
    std::fs::remove_dir_all(dir.path()).unwrap();
    let mut owner = hub(&repositories.file(), dir.path());
    owner.put_if_absent(&stream("p", "de1"), 2, &[batch(1, "kept")]).unwrap();
    assert!(references().contains("streams/de1/1"), "it is still there");
    owner.replace(&place("p"), "de1", b"head", Some(2)).unwrap();
    assert!(references().contains("streams/de1/2") && !references().contains("streams/de1/1"));
}

#[test]
fn a_push_that_is_cut_off_leaves_nothing() {
    let repositories = Repositories::new();
    let server = GitHttp::start(&repositories, None);
    let counts = cut_off(server.port(), &|port| format!("git+http://127.0.0.1:{port}/app.git"));
    assert_eq!(counts, [0, 0, 0]);
}

#[test]
fn devices_push_at_once() {
    let repositories = Repositories::new();
    all_at_once(&|_| repositories.file());
}
