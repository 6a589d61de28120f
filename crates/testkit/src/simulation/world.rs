//! A home, its projects and its sessions, and the steps that can be taken.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_agents::install::Surroundings;
use cerberus_agents::transcripts;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::forget::ForgetRequest;
use cerberus_recall::summary::render::Format;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::glob::Glob;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Note, Record, StartSource};
use cerberus_record::fact::FactKind;
use cerberus_record::id::Agent;
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::repository::Repository;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;
use cerberus_store::brief::question::{Budget, Question};
use cerberus_store::brief::recall;
use cerberus_store::erase::forget;
use cerberus_store::hook::capture::CaptureResult;
use cerberus_store::hook::{answer, capture};
use cerberus_store::import::{Import, TakeForgotten};
use cerberus_store::journal;
use cerberus_store::memory::change::MemoryWriter;
use cerberus_store::memory::distill;
use cerberus_store::project::guides::UserFolders;
use cerberus_store::project::identity;
use cerberus_store::same_project::joined::{self, JoinedProject, joined};
use cerberus_store::same_project::repository::{self, Effort};
use cerberus_store::sessions::{lifecycle, recover, sweep};
use cerberus_store::view::recorder::Recorder;
use cerberus_store::view::{MemoryRow, Store, fold};

use super::agents::{AGENTS, CAPABILITIES, anything, check, start, transcript};
use super::random::Random;

/// A session of an agent, as the agent knows it.
#[derive(Clone, Debug)]
struct Session {
    agent: &'static str,
    name: String,
    project: usize,
}

pub struct World {
    random: Random,
    _root: tempfile::TempDir,
    home: Home,
    rebuilt: PathBuf,
    projects: Vec<PathBuf>,
    sessions: Vec<Session>,
    now: Timestamp,
    /// Differs from `now` where the machine's clock was changed.
    wall: Timestamp,
    /// Numbers everything that happens, so that nothing is the same by accident.
    number: usize,
    last_payload: Option<(&'static str, Vec<u8>)>,
    last_transcript: Option<Vec<u8>>,
}

/// Where repositories come from.
const ORIGINS: [&str; 3] = ["git.example/team/hydra", "git.example/team/lerna", "git.example/team/both"];

type Step = fn(&mut World) -> String;

/// Every step, with how often it is taken.
const STEPS: [(usize, Step); 21] = [
    (24, World::hook),
    (6, World::start),
    (8, World::wait),
    (2, World::change_clock),
    (4, World::deliver_again),
    (4, World::late_record),
    (3, World::import),
    (2, World::import_again),
    (2, World::forget_session),
    (1, World::forget_path),
    (1, World::forget_time),
    (2, World::forget_memory),
    (3, World::learn),
    (3, World::change_memory),
    (3, World::note),
    (3, World::sweep),
    (2, World::complete),
    (2, World::change_origin),
    (2, World::answer_about_projects),
    (2, World::late_project_record),
    (1, World::forget_project),
];

impl World {
    pub fn new(random: Random) -> World {
        // Nothing here must survive a power failure, and a disk in memory is many times faster.
        let memory = Path::new("/dev/shm");
        let root = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let root = root.expect("a folder can be made");
        let projects: Vec<PathBuf> = ["hydra", "lerna"].iter().map(|name| root.path().join(name)).collect();
        for project in &projects {
            fs::create_dir_all(project.join(".git")).expect("a folder can be made");
            fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file can be made");
        }
        let begun = Timestamp::from_millis(1_769_088_914_000);
        World {
            random,
            home: Home::new(root.path().join("home")),
            rebuilt: root.path().join("rebuilt"),
            _root: root,
            projects,
            sessions: Vec::new(),
            now: begun,
            wall: begun,
            number: 0,
            last_payload: None,
            last_transcript: None,
        }
    }

    pub fn grown_home(&self) -> &Path {
        self.home.root()
    }

    pub fn rebuilt_home(&self) -> &Path {
        &self.rebuilt
    }

    pub fn projects(&self) -> &[PathBuf] {
        &self.projects
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn fold(&self) {
        drop(self.store());
    }

    /// Takes a step and says which.
    pub fn step(&mut self) -> String {
        self.number += 1;
        let all: usize = STEPS.iter().map(|(weight, _)| weight).sum();
        let mut at = self.random.below(all);
        for (weight, step) in STEPS {
            if at < weight {
                return step(self);
            }
            at -= weight;
        }
        unreachable!("a number below the sum of all weights is in one of them")
    }

    fn clock(&self) -> Clock {
        Clock { now: self.now, wall: self.wall, is_given: false }
    }

    fn store(&self) -> Store {
        fold::open(&self.home).expect("the view can be opened")
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.plus(time);
        self.wall = self.wall.plus(time);
    }

    /// A session that there is, or a new one.
    fn session(&mut self) -> Session {
        if self.sessions.is_empty() || self.random.once_in(4) {
            let agent = *self.random.pick(&AGENTS);
            let project = self.random.below(self.projects.len());
            self.sessions.push(Session { agent, name: format!("session-{}", self.sessions.len()), project });
        }
        self.random.pick(&self.sessions.clone()).clone()
    }

    /// What the agent's hook does: capture, and answer where one is asked for.
    fn deliver(&mut self, agent: &'static str, payload: Vec<u8>) {
        let (agent_id, clock) = (Agent::from_name(agent).expect("an agent"), self.clock());
        let waiting =
            capture::capture(&self.home, &clock, agent_id, &payload, &|_| None).expect("a payload is captured");
        if let CaptureResult::Pending(waiting) = waiting {
            let told =
                answer::answer(&self.home, &clock, &UserFolders::default(), &no_agents(), &waiting, CAPABILITIES)
                    .expect("an answer");
            if let Some(told) = told {
                answer::confirm(&self.home, &clock, &told).expect("a receipt");
            }
        }
        self.last_payload = Some((agent, payload));
    }

    fn hook(&mut self) -> String {
        self.pass(Duration::from_millis(1 + self.number as u64 % 7));
        let Session { agent, name, project } = self.session();
        let payload = anything(agent, &name, &self.projects[project].clone(), self.number, &mut self.random);
        self.deliver(agent, payload.json.to_string().into_bytes());
        format!("{agent} {name}: {}", payload.name)
    }

    fn start(&mut self) -> String {
        let Session { agent, name, project } = self.session();
        let source = *self.random.pick(&["startup", "resume", "clear", "compact"]);
        let payload = start(agent, &name, &self.projects[project], source, self.number);
        self.deliver(agent, payload.json.to_string().into_bytes());
        format!("{agent} {name}: {source}")
    }

    fn wait(&mut self) -> String {
        let secs = *self.random.pick(&[1, 30, 6 * 60, 40 * 60, 5 * 3600, 24 * 3600, 8 * 24 * 3600]);
        self.pass(Duration::from_secs(secs));
        format!("{secs} s pass")
    }

    /// Somebody sets the machine's clock, forward or back; sessions go on.
    fn change_clock(&mut self) -> String {
        let secs = *self.random.pick(&[1, 90, 7200, 2 * 24 * 3600]);
        let span = Duration::from_secs(secs);
        let is_back = self.random.once_in(2);
        self.wall = if is_back { self.wall.minus(span) } else { self.wall.plus(span) };
        if self.random.once_in(2) {
            self.now = self.wall;
        }
        format!("the clock goes {} by {secs} s", if is_back { "back" } else { "forward" })
    }

    fn deliver_again(&mut self) -> String {
        let Some((agent, payload)) = self.last_payload.clone() else { return "nothing to deliver again".to_string() };
        self.deliver(agent, payload);
        format!("{agent}: the same payload again")
    }

    /// A record that was written into the segment of another day, or with a time that has passed.
    fn late_record(&mut self) -> String {
        let Session { agent, name, project } = self.session();
        let back = Duration::from_secs(*self.random.pick(&[0, 1, 3600, 24 * 3600, 3 * 24 * 3600]));
        let located = identity::locate(&self.projects[project]);
        let number = self.number;
        let event = match self.random.below(4) {
            0 => Event::Prompt { text: clean(&format!("no, never do {number}"), Keep::PROMPT) },
            1 => Event::Stop { message: clean(&format!("Next: finish {number}"), Keep::MESSAGE) },
            2 => Event::Start { source: StartSource::Resume, transcript: None, phase: None, process: None },
            _ => Event::End { reason: Clean::word("other") },
        };
        let at = if self.random.once_in(2) { self.now } else { self.now.minus(back) };
        let record = self.record(agent, &name, &located, at, &format!("late-{number}"), event);
        journal::append(&self.home, self.wall.minus(back), &record).expect("a record");
        format!("{agent} {name}: a record {} s late", back.as_secs())
    }

    fn record<'a>(
        &self,
        agent: &str,
        session: &str,
        located: &identity::Located,
        at: Timestamp,
        key: &str,
        event: Event<'a>,
    ) -> Record<'a> {
        Record {
            at,
            key: clean(key, Keep::NAME),
            agent: Agent::from_name(agent).expect("an agent"),
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: clean(session, Keep::NAME),
            location: located.location(&BUILT_IN),
            event,
        }
    }

    fn import(&mut self) -> String {
        let Session { name, project, .. } = self.session();
        let at = self.now.minus(Duration::from_secs(60)).to_string();
        let cwd = self.projects[project].clone();
        let transcript = transcript(&name, &cwd, &at, self.number, &mut self.random);
        self.take_over(&transcript);
        self.last_transcript = Some(transcript);
        format!("a transcript of {name} is imported")
    }

    fn import_again(&mut self) -> String {
        let Some(transcript) = self.last_transcript.clone() else { return "nothing to import again".to_string() };
        self.take_over(&transcript);
        "the last transcript is imported again".to_string()
    }

    fn take_over(&self, transcript: &[u8]) {
        let store = self.store();
        let (agent, forgotten) = (cerberus_agents::claude_code::AGENT, TakeForgotten::No);
        let (home, clock) = (&self.home, &self.clock());
        let transcript = transcripts::read(home.cleaner(), agent, transcript).expect("a transcript");
        let import = Import { home, clock, agent, project: None, forgotten, by_agent: false, user: None };
        import.read(&store, transcript).expect("an import");
    }

    fn forget_session(&mut self) -> String {
        let mut store = self.store();
        let sessions = store.sessions(&[], Timestamp::EPOCH, Timestamp::LAST).expect("sessions");
        if sessions.is_empty() {
            return "no session to forget".to_string();
        }
        let session = self.random.pick(&sessions).clone();
        let request = forget::of_sessions(std::slice::from_ref(&session));
        forget::forget(&self.home, &self.clock(), &mut store, &request, CAPABILITIES).expect("forgetting");
        format!("session {} is forgotten", session.agent_session_id)
    }

    fn forget_path(&mut self) -> String {
        let mut store = self.store();
        let located = identity::locate(&self.projects[self.number % self.projects.len()]);
        let glob = Glob::parse_exact("src/proxy.rs").expect("a pattern");
        let joined = joined(&store, &located, self.now).expect("the projects");
        let request = forget::of_paths(&store, &joined.ids, glob).expect("a request");
        forget::forget(&self.home, &self.clock(), &mut store, &request, CAPABILITIES).expect("forgetting");
        format!("src/proxy.rs of {} is forgotten", located.name)
    }

    fn forget_time(&mut self) -> String {
        let mut store = self.store();
        let request =
            ForgetRequest::Between(self.now.minus(Duration::from_secs(120)), self.now.plus(Duration::from_secs(1)));
        forget::forget(&self.home, &self.clock(), &mut store, &request, CAPABILITIES).expect("forgetting");
        "the last two minutes are forgotten".to_string()
    }

    fn memories(&self, store: &Store) -> Vec<MemoryRow> {
        let of = |status| store.memories(status, Timestamp::LAST).expect("memories");
        MemoryStatus::ALL.into_iter().flat_map(of).collect()
    }

    fn forget_memory(&mut self) -> String {
        let mut store = self.store();
        let all = self.memories(&store);
        if all.is_empty() {
            return "no memory to forget".to_string();
        }
        let one = self.random.pick(&all).clone();
        forget::memories(&self.home, &self.clock(), &mut store, std::slice::from_ref(&one), CAPABILITIES)
            .expect("forgetting");
        format!("memory {} is forgotten", one.id)
    }

    fn learn(&mut self) -> String {
        let mut store = self.store();
        let clock = self.clock();
        let located = identity::locate(&self.projects[0]);
        let keeper = MemoryWriter { home: &self.home, clock: &clock, located: &located };
        let scope = if self.random.once_in(2) { Scope::Universal } else { Scope::Project("hydra".to_string()) };
        let texts = ["Use pnpm", "Use npm", "Run the tests before every commit", "Never run the tests before a commit"];
        let text = *self.random.pick(&texts);
        keeper.learn(&mut store, text, "rule", &scope).expect("learning");
        format!("learned: {text}")
    }

    fn change_memory(&mut self) -> String {
        let mut store = self.store();
        let clock = self.clock();
        let located = identity::locate(&self.projects[0]);
        let keeper = MemoryWriter { home: &self.home, clock: &clock, located: &located };
        distill::distill(&keeper, &no_agents(), &mut store).expect("proposals");
        let all = self.memories(&store);
        if all.is_empty() {
            return "no memory to change".to_string();
        }
        let one = self.random.pick(&all).clone();
        let what = match self.random.below(3) {
            0 => keeper.undo(&mut store, &one).map(|_| "taken back"),
            1 => keeper.decide(&mut store, &one, MemoryStatus::Rejected).map(|_| "rejected"),
            _ => keeper.decide(&mut store, &one, MemoryStatus::Approved).map(|_| "approved"),
        };
        format!("memory {}: {}", one.id, what.unwrap_or("refused"))
    }

    fn note(&mut self) -> String {
        let Session { agent, name, project } = self.session();
        let kind = *self.random.pick(&[FactKind::Next, FactKind::Decision, FactKind::Blocker, FactKind::Done]);
        let text = clean(&format!("Note {}", self.number % 5), Keep::SUBJECT);
        let (why, sort, severity, custom_key, resolved) = (None, None, None, None, self.random.once_in(3));
        let note = Note { kind, text, why, sort, severity, custom_key, resolved, for_team: false };
        let located = identity::locate(&self.projects[project]);
        let key = format!("note-{}", self.number);
        let record = self.record(agent, &name, &located, self.now, &key, Event::Note(note));
        journal::append(&self.home, self.wall, &record).expect("a record");
        format!("{agent} {name}: {kind:?} recorded")
    }

    /// Sessions that idle end, those that died are noticed and recovered.
    fn sweep(&mut self) -> String {
        let mut store = self.store();
        let clock = self.clock();
        sweep::sweep(&self.home, &clock, &mut store, IDLE_AFTER).expect("a sweep");
        let crashed = sweep::crashed(&store, &clock).expect("sessions");
        let recorder = &mut Recorder::journal(&self.home, &clock, &mut store);
        recover::recover_project(recorder, &no_agents(), &crashed).expect("recovery");
        format!("a sweep; {} recovered", crashed.len())
    }

    fn complete(&mut self) -> String {
        let store = self.store();
        let clock = self.clock();
        let sessions = store.sessions(&[], Timestamp::EPOCH, Timestamp::LAST).expect("sessions");
        if sessions.is_empty() {
            return "no session to complete".to_string();
        }
        let one = self.random.pick(&sessions).clone();
        lifecycle::complete(&self.home, &clock, std::slice::from_ref(&one)).expect("a record");
        lifecycle::archive_expired(&self.home, &clock, &store).expect("records");
        format!("session {} is completed, what expired archived", one.agent_session_id)
    }

    /// A repository gets another origin, which may be that of the other one.
    fn change_origin(&mut self) -> String {
        let project = self.random.pick(&self.projects).clone();
        let origin = *self.random.pick(&ORIGINS);
        let config = format!("[remote \"origin\"]\n\turl = https://{origin}.git\n");
        fs::write(project.join(".git/config"), config).expect("a file can be made");
        let (mut store, clock) = (self.store(), self.clock());
        let located = identity::locate(&project);
        repository::record_changes(&self.home, &clock, &mut store, &located, Effort::WithGit).expect("a record");
        format!("{} comes from {origin}", located.name)
    }

    fn answer_about_projects(&mut self) -> String {
        let (mut store, clock) = (self.store(), self.clock());
        let [one, other] = [0, 1].map(|at| identity::locate(&self.projects[at]));
        let is_same = self.random.once_in(2);
        joined::answer(&self.home, &clock, &mut store, &one, &other.project, is_same).expect("a record");
        format!("the projects are {}", if is_same { "the same" } else { "different" })
    }

    /// A record about projects that was written into the segment of another day, or with a time that has passed.
    fn late_project_record(&mut self) -> String {
        let back = Duration::from_secs(*self.random.pick(&[0, 1, 3600, 24 * 3600, 3 * 24 * 3600]));
        let [one, other] = [0, 1].map(|at| identity::locate(&self.projects[at]));
        let event = match self.random.below(4) {
            3 => Event::Check(check(&mut self.random)),
            0 => Event::SameProject { other: other.project, is_found: back.is_zero() },
            1 => Event::SeparateProject { other: other.project },
            _ => Event::Repository(Repository {
                folder: clean(&one.root.join(".git").to_string_lossy(), Keep::NAME),
                origin: Some(clean(self.random.pick::<&str>(&ORIGINS), Keep::NAME)),
                ..Repository::default()
            }),
        };
        let at = if self.random.once_in(2) { self.now } else { self.now.minus(back) };
        let record = self.record("manual", "", &one, at, &format!("late-project-{}", self.number), event);
        journal::append(&self.home, self.wall.minus(back), &record).expect("a record");
        format!("a record about {} {} s late", one.name, back.as_secs())
    }

    fn forget_project(&mut self) -> String {
        let mut store = self.store();
        let located = identity::locate(&self.projects[self.number % self.projects.len()]);
        let JoinedProject { ids, names } = joined(&store, &located, self.now).expect("the projects");
        let request = ForgetRequest::Projects { ids: ids.into_iter().collect(), names: names.into_iter().collect() };
        forget::forget(&self.home, &self.clock(), &mut store, &request, CAPABILITIES).expect("forgetting");
        format!("project {} is forgotten", located.name)
    }

    /// What a session that starts in this project would be told.
    pub fn brief(&self, root: &Path, project: &Path, prompt: Option<&str>) -> String {
        let store = fold::open(&Home::new(root.to_path_buf())).expect("the view can be opened");
        let question = Question {
            now: self.now,
            is_past: true,
            source: StartSource::Startup,
            budget: Budget::of_session(1_000),
            chars_max: 9_500,
            prompt,
            folders: &UserFolders::default(),
            format: Format::Codes,
            reminder: true,
            session: None,
        };
        format!("{:#?}", recall::brief(&store, &identity::locate(project), &question, None).expect("a brief"))
    }
}

/// No agent keeps a transcript in this world.
fn no_agents() -> Surroundings<'static> {
    Surroundings::new(&|_| None, PathBuf::new())
}

fn clean(text: &str, keep: Keep) -> Clean<'static> {
    BUILT_IN.clean(text.to_string(), keep)
}
