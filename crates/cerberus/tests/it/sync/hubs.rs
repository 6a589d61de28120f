//! Two machines and a team of three through every hub, each machine in a network namespace of its own that reaches
//! nothing but the hub.

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::hubs::git::{GitHttp, GitSsh, Repositories};
use cerberus_testkit::hubs::machine::Machine;
use cerberus_testkit::hubs::postgres::Database;
use cerberus_testkit::hubs::s3::Storage;
use cerberus_testkit::process::write_program;

use super::conversations::{SESSION, conversation, id, resumes, shown};
use super::{decide, decide_for_team};

/// A person's computer: a home, a clone of the project, and a network that has the hub alone.
struct Computer {
    env: TestEnv,
    machine: Machine,
    _dir: tempfile::TempDir,
}

impl Computer {
    fn new(hub: &dyn Reached) -> Computer {
        let port = hub.port();
        let mut machine = Machine::new();
        port.into_iter().for_each(|port| machine.reach(port));
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("cerberus");
        let inside = machine.command(env!("CARGO_BIN_EXE_cerberus"));
        let words: Vec<String> = std::iter::once(inside.get_program())
            .chain(inside.get_args())
            .map(|word| format!("'{}'", word.to_string_lossy()))
            .collect();
        write_program(&program, &format!("#!/bin/sh\n{}exec {} \"$@\"\n", hub.variables(), words.join(" ")));
        let mut env = TestEnv::new(&program);
        env.set_now(None);
        env.git(&env.project(), &["remote", "add", "origin", "https://git.example.com/acme/hydra.git"]);
        Computer { env, machine, _dir: dir }
    }
}

/// A hub as people reach it.
trait Reached {
    fn port(&self) -> Option<u16>;
    /// What a shell sets before the program starts.
    fn variables(&self) -> String {
        String::new()
    }
    /// The address that a person uses.
    fn address(&self, person: &str) -> String;
    /// What somebody who may do so types before a person can join a space.
    fn admit(&self, _space: &str, _owner: &str, _person: &str) {}
}

impl Reached for tempfile::TempDir {
    fn port(&self) -> Option<u16> {
        None
    }

    fn address(&self, _: &str) -> String {
        self.path().canonicalize().unwrap().display().to_string()
    }
}

impl Reached for GitHttp {
    fn port(&self) -> Option<u16> {
        Some(GitHttp::port(self))
    }

    fn address(&self, _: &str) -> String {
        self.hub()
    }
}

impl Reached for Repositories {
    fn port(&self) -> Option<u16> {
        None
    }

    fn address(&self, _: &str) -> String {
        self.file()
    }
}

/// A repository behind a real sshd.
struct OverSsh {
    server: GitSsh,
    repositories: Repositories,
}

impl Reached for OverSsh {
    fn port(&self) -> Option<u16> {
        Some(self.server.port())
    }

    fn variables(&self) -> String {
        format!("export GIT_SSH_COMMAND='{}'\n", self.server.command())
    }

    fn address(&self, _: &str) -> String {
        self.server.hub(&self.repositories)
    }
}

impl Reached for Storage {
    fn port(&self) -> Option<u16> {
        Some(Storage::port(self))
    }

    fn address(&self, _: &str) -> String {
        self.hub()
    }
}

impl Reached for Database {
    fn port(&self) -> Option<u16> {
        Some(Database::port(self))
    }

    fn address(&self, person: &str) -> String {
        self.hub(person)
    }

    fn admit(&self, space: &str, owner: &str, person: &str) {
        let sql = format!("INSERT INTO cerberus.member (space, person) VALUES ('{space}', '{person}')");
        self.sql_as(owner, &sql).unwrap();
    }
}

fn join(first: &Computer, other: &Computer, address: &str, name: &str, team: &[&str]) {
    let pair = first.env.json(&[&["sync", "pair", "--wait", "0"], team].concat());
    let (code, printed) = (pair["code"].as_str().unwrap(), pair["hub"].as_str().unwrap());
    let login =
        address.split_once("://").and_then(|(_, rest)| rest.split_once('@')).and_then(|one| one.0.split_once(':'));
    assert!(login.is_none_or(|(_, secret)| !printed.contains(secret)), "{printed}");
    assert!(team.is_empty() || !printed.contains("ann@"), "{printed}");
    other.env.ok(&["sync", "init", address, "--code", code, "--name", name, "--wait", "0"]);
    first.env.ok(&["sync"]);
    other.env.ok(&["sync"]);
    other.env.ok(&[&["share"], team].concat());
}

fn two_machines(hub: &dyn Reached) {
    let (a, b) = (Computer::new(hub), Computer::new(hub));
    a.env.ok(&["sync", "init", &hub.address("ann"), "--name", "laptop"]);
    a.env.ok(&["share"]);
    join(&a, &b, &hub.address("ann"), "workstation", &[]);
    decide(&a.env, "use sqlite for the queue");
    a.env.ok(&["sync"]);
    b.env.ok(&["sync"]);
    assert!(b.env.brief().contains("sqlite"), "{}", b.env.brief());
    decide(&b.env, "ship on friday");
    b.env.ok(&["sync"]);
    a.env.ok(&["sync"]);
    assert!(a.env.brief().contains("friday"), "{}", a.env.brief());
    a.env.ok(&["learn", "Always use zanzibar"]);
    a.env.ok(&["sync"]);
    b.env.ok(&["sync"]);
    assert!(b.env.brief().contains("zanzibar"), "{}", b.env.brief());
    // Forgetting begins a new generation, and reaches the other machine.
    let id = a.env.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    a.env.ok(&["forget", "--memory", &id, "--yes"]);
    for computer in [&a, &b, &a] {
        computer.env.ok(&["sync"]);
    }
    assert!(!b.env.brief().contains("zanzibar"), "{}", b.env.brief());
    assert!(b.env.brief().contains("friday"), "{}", b.env.brief());
    conversations_of(&a.env, &b.env);
    if hub.port().is_some() && a.machine.is_isolated() {
        assert!(a.machine.connections() > 0 && b.machine.connections() > 0);
    }
}

/// A whole conversation is read and resumed on the other machine, until it is forgotten.
fn conversations_of(a: &TestEnv, b: &TestEnv) {
    conversation(a, SESSION, "a glockenspiel");
    a.ok(&["share", "--conversations"]);
    b.ok(&["sync"]);
    assert!(shown(b).contains("It waits for a glockenspiel."));
    resumes(b);
    let of_b = id(b, SESSION);
    a.ok(&["forget", "--yes", "--session", &id(a, SESSION)]);
    a.ok(&["sync"]);
    assert!(!b.run(&["show", &of_b, "--full"]).status.success(), "it left the hub");
}

fn team_of_three(hub: &dyn Reached) {
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|_| Computer::new(hub));
    ann.env.ok(&["sync", "init", &hub.address("ann"), "--team", "acme", "--name", "ann"]);
    ann.env.ok(&["share", "--team", "acme"]);
    let space = ann.env.json(&["sync", "status"])["spaces"][0]["space"].as_str().unwrap().to_string();
    for (computer, person) in [(&bob, "bob"), (&eve, "eve")] {
        hub.admit(&space, "ann", person);
        join(&ann, computer, &hub.address(person), person, &["--team", "acme"]);
    }
    decide_for_team(&ann.env, "use sqlite for the queue");
    ann.env.ok(&["sync"]);
    decide_for_team(&bob.env, "ship on friday");
    bob.env.ok(&["sync"]);
    for computer in [&ann, &eve] {
        computer.env.ok(&["sync"]);
        assert!(computer.env.brief().contains("friday (bob"), "{}", computer.env.brief());
    }
    assert!(eve.env.brief().contains("sqlite for the queue (ann"), "{}", eve.env.brief());
    ann.env.ok(&["sync", "remove", "eve", "--team", "acme", "--yes"]);
    decide_for_team(&ann.env, "without eve");
    ann.env.ok(&["sync"]);
    bob.env.ok(&["sync"]);
    assert!(bob.env.brief().contains("without eve"));
    assert!(!eve.env.run(&["sync"]).status.success());
}

#[test]
fn machines_and_a_team_share_through_a_folder() {
    two_machines(&tempfile::tempdir().unwrap());
    team_of_three(&tempfile::tempdir().unwrap());
}

#[test]
fn machines_and_a_team_share_through_git() {
    let repositories = Repositories::new();
    let hub = GitHttp::start(&repositories, None);
    two_machines(&hub);
    team_of_three(&hub);
}

#[test]
fn machines_and_a_team_share_through_a_repository_on_disk() {
    let hub = Repositories::new();
    two_machines(&hub);
    team_of_three(&hub);
}

#[test]
fn machines_and_a_team_share_through_git_over_ssh() {
    if !GitSsh::is_here() {
        return;
    }
    let hub = OverSsh { server: GitSsh::start(), repositories: Repositories::new() };
    two_machines(&hub);
    team_of_three(&hub);
}

#[test]
fn machines_and_a_team_share_through_postgresql() {
    if !Database::is_here() {
        return;
    }
    let hub = Database::start();
    ["ann", "bob", "eve"].iter().for_each(|person| hub.add_person(person));
    let unknown = Computer::new(&hub).env.run(&["sync", "init", &hub.url("ann", "sslmode=verify-full")]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("sslrootcert=FILE"), "{unknown:?}");
    two_machines(&hub);
    team_of_three(&hub);
}

#[test]
fn machines_and_a_team_share_through_object_storage() {
    if !Storage::is_here() {
        return;
    }
    let hub = Storage::start();
    two_machines(&hub);
    team_of_three(&hub);
}
