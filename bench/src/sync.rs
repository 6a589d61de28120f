//! Push and pull of 10,000 records through every hub, at a round trip of 0 and 50 ms; what a container reads in a space
//! of 20 devices; what sync costs a hook; how a hub grows.
//!
//! The hubs are real servers on this machine (`dev/hubs` installs them); the round trip is added by a proxy. A folder has
//! no line: as on a network drive, every folder that is listed and every file that is read or written takes one round
//! trip, and what is read at the same time waits together.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cerberus_agents::claude_code;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Event;
use cerberus_record::id::Agent;
use cerberus_record::repository::Repository;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::identity::{Located, locate};
use cerberus_store::view::fold;
use cerberus_sync::exchange::Exchange;
use cerberus_sync::files::Files;
use cerberus_sync::local::Space;
use cerberus_sync::transport::at_once::AT_ONCE_MAX;
use cerberus_sync::transport::{
    self, Document, LocalMachine, Place, Put, Question, Sealed, Stream, TimeLimit, Transport, TransportError,
};
use cerberus_sync::{spaces, token};
use cerberus_testkit::hubs::delay::Delay;
use cerberus_testkit::hubs::git::{GitHttp, Repositories};
use cerberus_testkit::hubs::postgres::Database;
use cerberus_testkit::hubs::s3::Storage;

use crate::measure::{self, Contender, TIME_COLUMNS, Target, say, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, stored_records};
use crate::trace::{self, COUNT_COLUMNS, Counts};

const RECORDS: usize = 10_000;
/// The space that a container joins.
const OTHERS: usize = 18;
const RECORDS_OF_OTHERS: usize = 5_000;
/// What another device has written since the base. After about 1,000 there would be a new one.
const RECORDS_AFTER_BASE: usize = 900;
const ROUND_TRIP: Duration = Duration::from_millis(50);
const REQUEST_MAX: Duration = Duration::from_secs(60);
const CONTAINERS: usize = 5;
const TARGET_CONTAINER_S: Target = Target::AtMost(1.0);
const HOOK_RUNS: usize = 300;
/// Devices, and records of each a day, for the growth of a hub.
const DEVICES: f64 = 1_000.0;
const RECORDS_A_DAY: f64 = 1_000.0;

pub fn run(programs: &Programs) -> Result<()> {
    let mut rows = Vec::new();
    let mut sealed_bytes = 0;
    for name in ["folder", "git over HTTP", "PostgreSQL over TLS", "S3 API"] {
        for round_trip in [Duration::ZERO, ROUND_TRIP] {
            let measured = measure(programs, name, round_trip)?;
            sealed_bytes = measured.sealed_bytes.max(sealed_bytes);
            let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
            let row = vec![
                name.to_string(),
                format!("{}", round_trip.as_millis()),
                seconds(measured.push),
                seconds(measured.pull),
                measured.container.map_or_else(String::new, |time| {
                    format!("{}, {}", seconds(time), TARGET_CONTAINER_S.beside(time.as_secs_f64()))
                }),
            ];
            // All of them take minutes.
            say(&format!("measured: {}", row.join(" | ")))?;
            rows.push(row);
        }
    }
    say(&format!("{RECORDS} records, {:.2} MB sealed", sealed_bytes as f64 / 1e6))?;
    let devices = OTHERS + 2;
    say(&format!(
        "the container joins a space of {devices} devices with {RECORDS_OF_OTHERS} records each, or more; another has \
         written {RECORDS_AFTER_BASE} since the base"
    ))?;
    table(&["hub", "round trip ms", "push s", "pull s", "container s"], &rows)?;
    let each = sealed_bytes as f64 / RECORDS as f64;
    let year = DEVICES * RECORDS_A_DAY * 365.0 * each;
    say(&format!(
        "{each:.0} bytes a record; {DEVICES} devices with {RECORDS_A_DAY} records a day: {:.0} GB a year\n",
        year / 1e9
    ))?;
    hooks(programs)
}

/// A hook in a home with sync and in one without.
fn hooks(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let content = payload::rust_code(0, 200);
    let session = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let said = payload::write(&scratch.repo(), session, "toolu_01", "src/ledger.rs", &content);
    let hub = scratch.path("hub");
    std::fs::create_dir_all(&hub)?;
    let (plain, synced) = (machine(&scratch, "plain")?, machine(&scratch, "synced")?);
    let mut open = synced.open(&hub.to_string_lossy())?;
    let (space, _) = spaces::init(&synced.home, open.as_mut(), &hub.to_string_lossy(), None, "bench")?;
    synced.share(&space)?;
    let line = Line { address: hub.to_string_lossy().into_owned(), slow: None };
    synced.exchange(&line, None)?;
    let payload = scratch.file("payload.json", &said)?;
    for machine in [&plain, &synced] {
        scratch.heard(programs, machine.home.root(), None, &said)?;
    }
    let hook = |machine: &Machine| scratch.hook(programs, machine.home.root());
    let times = measure::interleave(vec![
        Contender::program("hook without sync", HOOK_RUNS, hook(&plain), &payload),
        Contender::program("hook with sync", HOOK_RUNS, hook(&synced), &payload),
    ])?;
    for machine in [&plain, &synced] {
        ensure!(stored_records(machine.home.root())? >= HOOK_RUNS, "hooks stored too few records");
    }
    let rows: Vec<Vec<String>> = times.iter().map(|one| one.cells(&times[0])).collect();
    table(&TIME_COLUMNS, &rows)?;
    let count = |machine: &Machine| Counts::of(&scratch, || Ok(hook(machine)), &payload);
    table(&COUNT_COLUMNS, &[count(&plain)?.cells("without sync"), count(&synced)?.cells("with sync")])?;
    trace::print_missing()
}

struct Measured {
    push: Duration,
    pull: Duration,
    /// Measured with a round trip only.
    container: Option<Duration>,
    sealed_bytes: u64,
}

/// A way to a hub. `slow` is a folder's round trip.
#[derive(Clone)]
struct Line {
    address: String,
    slow: Option<Duration>,
}

/// A hub that runs, with the way that is measured and a fast one.
struct Running {
    line: Line,
    direct: Line,
    _servers: Vec<Box<dyn std::any::Any>>,
}

fn start(name: &str, scratch: &Scratch, round_trip: Duration) -> Result<Running> {
    let through = |port: u16| (round_trip > Duration::ZERO).then(|| Delay::new(port, round_trip));
    let fast = |address: String| Line { address, slow: None };
    Ok(match name {
        "folder" => {
            let folder = scratch.path("hub");
            std::fs::create_dir_all(&folder)?;
            let direct = fast(folder.to_string_lossy().into_owned());
            let slow = Some(round_trip).filter(|round_trip| *round_trip > Duration::ZERO);
            Running { line: Line { slow, ..direct.clone() }, direct, _servers: Vec::new() }
        }
        "git over HTTP" => {
            let repositories = Repositories::new();
            let server = GitHttp::start(&repositories, None);
            let delay = through(server.port());
            let line = fast(at(&server.hub(), server.port(), delay.as_ref()));
            let direct = fast(server.hub());
            Running { line, direct, _servers: vec![Box::new(server), Box::new(repositories), Box::new(delay)] }
        }
        "S3 API" => {
            let server = Storage::start();
            let delay = through(server.port());
            let line = fast(delay.as_ref().map_or_else(|| server.hub(), |delay| server.hub_through(delay.port())));
            let direct = fast(server.hub());
            Running { line, direct, _servers: vec![Box::new(server), Box::new(delay)] }
        }
        _ => {
            let server = Database::start();
            server.add_person("bench");
            let delay = through(server.port());
            let line = fast(at(&server.hub("bench"), server.port(), delay.as_ref()));
            let direct = fast(server.hub("bench"));
            Running { line, direct, _servers: vec![Box::new(server), Box::new(delay)] }
        }
    })
}

/// The same address through the slow line.
fn at(address: &str, port: u16, delay: Option<&Delay>) -> String {
    match delay {
        Some(delay) => address.replace(&format!(":{port}"), &format!(":{}", delay.port())),
        None => address.to_string(),
    }
}

fn measure(programs: &Programs, name: &str, round_trip: Duration) -> Result<Measured> {
    let scratch = Scratch::new()?;
    let Running { line, direct, _servers } = start(name, &scratch, round_trip)?;
    let (first, second) = (machine(&scratch, "a")?, machine(&scratch, "b")?);
    fill(&first, RECORDS)?;
    let mut hub = first.open(&direct.address)?;
    let (space, code) = spaces::init(&first.home, hub.as_mut(), &line.address, None, "a")?;
    first.share(&space)?;
    let push = first.exchange(&line, None)?;
    ensure!(push.1 >= RECORDS, "only {} records were sent", push.1);
    second.join(&direct, &code)?;
    let pull = second.exchange(&line, None)?;
    ensure!(pull.2 >= RECORDS, "only {} records were read", pull.2);
    let sealed_bytes = sealed_bytes(&first, &direct)?;
    if round_trip == Duration::ZERO {
        return Ok(Measured { push: push.0, pull: pull.0, container: None, sealed_bytes });
    }
    for number in 0..OTHERS {
        let other = machine(&scratch, &format!("other-{number}"))?;
        fill(&other, RECORDS_OF_OTHERS)?;
        other.join(&direct, &code)?;
        // It reads nothing: that would take most of the time.
        other.exchange(&direct, Some(0))?;
    }
    second.exchange(&direct, None)?;
    let late = machine(&scratch, "late")?;
    fill(&late, RECORDS_AFTER_BASE)?;
    late.join(&direct, &code)?;
    late.exchange(&direct, Some(0))?;
    let files = Files::new(&first.home);
    let space = files.spaces()?.spaces.remove(0);
    let shared = space.projects.iter().find(|shared| !shared.is_space()).context("a project is shared")?;
    let stream = files.state(&space)?.streams.remove(&shared.number).context("it was exchanged")?;
    let mut hub = first.open(&direct.address)?;
    let key = token::make(&files, hub.as_mut(), &files.device()?, &space, shared, &stream.listing)?;
    let mut times = (0..CONTAINERS)
        .map(|number| container(programs, &scratch, &format!("container-{number}"), &key, &line))
        .collect::<Result<Vec<Duration>>>()?;
    times.sort();
    Ok(Measured { push: push.0, pull: pull.0, container: Some(times[CONTAINERS / 2]), sealed_bytes })
}

/// How long `cerberus sync --for-project` takes in an empty home. A slow folder is only known to this process.
fn container(programs: &Programs, scratch: &Scratch, name: &str, key: &str, line: &Line) -> Result<Duration> {
    if line.slow.is_some() {
        let machine = machine(scratch, name)?;
        let begun = Instant::now();
        let located = &machine.located;
        token::open(&machine.home, key, &located.project, &located.root.to_string_lossy())?;
        machine.exchange(line, Some(cerberus_sync::CONTAINER_RECORDS_MAX))?;
        return Ok(begun.elapsed());
    }
    let home = scratch.home(name);
    let mut command = scratch.cerberus(programs, &home, &["sync", "--for-project", "--json"]);
    command.env("CERBERUS_SYNC", key).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let begun = Instant::now();
    let output = command.output()?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    ensure!(said["spaces"][0]["received"].as_u64() > Some(0), "a container read nothing: {said}");
    Ok(took)
}

/// A folder on a network drive: every file takes a round trip. As many wait together as the folder reads at once.
struct Slow {
    hub: Box<dyn Transport>,
    round_trip: Duration,
}

impl Slow {
    fn wait(&self, files: usize) {
        std::thread::sleep(self.round_trip * u32::try_from(files).unwrap_or(u32::MAX));
    }

    /// Files or folders that are read at the same time.
    fn wait_together(&self, files: usize) {
        self.wait(files.div_ceil(AT_ONCE_MAX));
    }
}

impl Transport for Slow {
    fn hub(&self) -> String {
        self.hub.hub()
    }

    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>, TransportError> {
        let answers = self.hub.ask(questions)?;
        let is_list = |question: &&Question| !matches!(question, Question::After(_));
        // A batch that is not there is looked for, too.
        let files = |(question, answer): (&Question, &Vec<Document>)| match question {
            Question::Heads(..) => answer.len(),
            Question::After(_) => answer.len().max(1),
        };
        self.wait_together(questions.iter().filter(is_list).count());
        self.wait_together(questions.iter().zip(&answers).map(files).sum());
        Ok(answers)
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>, TransportError> {
        self.wait(batches.len());
        self.hub.put_if_absent(stream, generation, batches)
    }

    fn write(
        &mut self,
        place: &Place,
        name: &str,
        bytes: &[u8],
        generation: Option<u64>,
    ) -> Result<(), TransportError> {
        self.wait(1);
        self.hub.replace(place, name, bytes, generation)
    }
}

/// What the batches of a stream hold, sealed again into a folder to be counted.
fn sealed_bytes(machine: &Machine, line: &Line) -> Result<u64> {
    let files = Files::new(&machine.home);
    let space = files.spaces()?.spaces.remove(0);
    let device = files.device()?;
    let mut total = 0;
    for shared in &space.projects {
        let mut hub = machine.open(&line.address)?;
        let mut at = 0;
        loop {
            let batches = hub.after(&space.stream(&shared.id, device.id), 1, at, 64)?;
            let Some(last) = batches.last() else { break };
            at = last.sequence;
            total += batches.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
        }
    }
    Ok(total)
}

struct Machine {
    name: String,
    home: Home,
    located: Located,
    dir: PathBuf,
}

fn machine(scratch: &Scratch, name: &str) -> Result<Machine> {
    let home = Home::new(scratch.home(name));
    std::fs::create_dir_all(home.root())?;
    let located = locate(&scratch.repo());
    let dir = home.root().join("sync/hub");
    let machine = Machine { name: name.to_string(), home, located, dir };
    let repository = Repository {
        folder: machine.text("/p/.git", Keep::NAME),
        origin: Some(machine.text("git.example.com/acme/hydra", Keep::NAME)),
        root_commit: None,
        name: None,
    };
    machine.append(&[("repository".to_string(), Event::Repository(repository))])?;
    Ok(machine)
}

impl Machine {
    fn text(&self, text: &str, keep: Keep) -> cerberus_record::clean::text::Clean<'static> {
        self.home.cleaner().clean(text.to_string(), keep)
    }

    fn append(&self, events: &[(String, Event<'static>)]) -> Result<()> {
        let clock = Clock::new(None);
        let location = || self.located.location(self.home.cleaner());
        let records: Vec<_> = events
            .iter()
            .enumerate()
            .map(|(number, (key, event))| {
                let agent = if key == "repository" { Agent::MANUAL } else { claude_code::AGENT };
                let session = format!("session-{}-{}", self.name, number / 200);
                let record = own_record(&self.home, &clock, agent, &session, location(), key.clone(), event.clone());
                cerberus_record::event::Record { at: later(clock.now, number), ..record }
            })
            .collect();
        Ok(journal::append_all(&self.home, clock.wall, &records)?)
    }

    fn open(&self, address: &str) -> Result<Box<dyn Transport>> {
        let variable = |name: &str| std::env::var(name).ok();
        let local = LocalMachine {
            dir: Path::new(&self.dir),
            variable: &variable,
            time: TimeLimit::of(REQUEST_MAX, REQUEST_MAX * 60),
        };
        Ok(transport::open(address, &local)?)
    }

    fn share(&self, space: &Space) -> Result<()> {
        let files = Files::new(&self.home);
        let mut all = files.spaces()?;
        let store = fold::open(&self.home)?;
        let known = all.spaces.iter_mut().find(|one| one.id == space.id).context("the space is known")?;
        let root = self.located.root.to_string_lossy();
        spaces::share(None, &store, known, &self.located.project, &self.located.name, &root)?;
        Ok(files.save_spaces(&all)?)
    }

    fn join(&self, line: &Line, code: &str) -> Result<()> {
        let mut hub = self.open(&line.address)?;
        let (space, _) = spaces::recover(&self.home, hub.as_mut(), &line.address, code, "device")?;
        self.share(&space)
    }

    /// How long it took, and how many records were sent and received.
    fn exchange(&self, line: &Line, records_max: Option<usize>) -> Result<(Duration, usize, usize)> {
        let clock = Clock::new(None);
        let mut store = fold::open(&self.home)?;
        let begun = Instant::now();
        let mut hub = self.open(&line.address)?;
        if let Some(round_trip) = line.slow {
            hub = Box::new(Slow { hub, round_trip });
        }
        let mut exchange = Exchange { home: &self.home, clock: &clock, store: &mut store, only: None, records_max };
        let report = exchange.run(hub.as_mut(), 0)?;
        ensure!(report.problems.is_empty(), "{:?}", report.problems);
        Ok((begun.elapsed(), report.sent, report.received))
    }
}

fn later(now: Timestamp, number: usize) -> Timestamp {
    now.minus(Duration::from_secs(3_600)).plus(Duration::from_millis(number as u64))
}

/// Records of the usual length: prompts, and what the agent answered.
fn fill(machine: &Machine, count: usize) -> Result<()> {
    let words = ["queue", "retry", "journal", "parser", "socket", "window", "schema", "ledger", "render", "budget"];
    let sentence = |number: usize, length: usize| -> String {
        let word = |at: usize| format!("{}{}", words[(number * 7 + at * 13) % words.len()], (number * 31 + at) % 997);
        (0..length).map(word).collect::<Vec<_>>().join(" ")
    };
    let event = |number: usize| match number % 2 {
        0 => Event::Prompt { text: machine.text(&format!("Please change {}", sentence(number, 30)), Keep::PROMPT) },
        _ => Event::Stop { message: machine.text(&format!("I changed {}", sentence(number, 32)), Keep::PROMPT) },
    };
    let events: Vec<_> = (0..count).map(|number| (format!("key-{number}"), event(number))).collect();
    machine.append(&events)
}
