//! What a pull costs does not depend on how many others there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cerberus_agents::claude_code;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::identity;
use cerberus_store::view::fold;
use cerberus_sync::batch::{self, Entry, Position};
use cerberus_sync::chain::id_of;
use cerberus_sync::crypto::{self, Secrets, hex};
use cerberus_sync::document::{self, Head, Pass, Proof, Reach, VERSION};
use cerberus_sync::exchange::{Exchange, ExchangeReport};
use cerberus_sync::files::Files;
use cerberus_sync::listing::{RECENT_MAX, recent};
use cerberus_sync::local::{Listing, Shared, Space};
use cerberus_sync::share::{self, Sharing};
use cerberus_sync::transport::folder::Folder;
use cerberus_sync::transport::{Document, Place, Put, Question, Sealed, Stream, Transport, TransportError};
use cerberus_sync::{CONTAINER_RECORDS_MAX, token};
use cerberus_testkit::env::TestEnv;
use serde_json::Value;

use super::{Hub, decide, machine, pair, problems};

/// Counts what is asked of a hub, and how much it answers.
struct Counting {
    hub: Folder,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// How often somebody waits for an answer to questions.
    turns: usize,
    calls: usize,
    answered: usize,
    bytes: usize,
}

impl Transport for Counting {
    fn hub(&self) -> String {
        self.hub.hub()
    }

    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>, TransportError> {
        let answers = self.hub.ask(questions)?;
        self.counts.turns += 1;
        self.counts.calls += questions.len();
        for answer in &answers {
            self.counts.answered += answer.len();
            self.counts.bytes += answer.iter().map(|document| document.bytes.len()).sum::<usize>();
        }
        Ok(answers)
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>, TransportError> {
        self.counts.calls += 1;
        self.hub.put_if_absent(stream, generation, batches)
    }

    fn write(
        &mut self,
        place: &Place,
        name: &str,
        bytes: &[u8],
        generation: Option<u64>,
    ) -> Result<(), TransportError> {
        self.counts.calls += 1;
        self.hub.replace(place, name, bytes, generation)
    }
}

fn exchange(home: &Home, hub: &Hub, records_max: Option<usize>) -> (Counts, ExchangeReport) {
    let clock = Clock::new(None);
    let mut store = fold::open(home).unwrap();
    let mut counting = Counting { hub: Folder::open(hub.path()).unwrap(), counts: Counts::default() };
    let mut exchange = Exchange { home, clock: &clock, store: &mut store, only: None, records_max };
    let report = exchange.run(&mut counting, 0).unwrap();
    assert_eq!(report.problems, [""; 0]);
    (counting.counts, report)
}

fn pull(env: &TestEnv, hub: &Hub) -> (Counts, usize) {
    let (counts, report) = exchange(&Home::new(env.home()), hub, None);
    (counts, report.received)
}

#[test]
fn ten_thousand_streams_of_other_projects_cost_nothing() {
    let (hub, a, b) = pair();
    pull(&b, &hub);
    decide(&a, "first");
    a.ok(&["sync"]);
    let alone = pull(&b, &hub);
    assert!(alone.1 > 0);
    // Ten thousand devices with one batch each, in other projects of the same space.
    let space = fs::read_dir(hub.path()).unwrap().next().unwrap().unwrap().path();
    for project in 0..100 {
        for device in 0..100 {
            let name = format!("{:016x}", project * 1_000 + device);
            let place = space.join(format!("{project:032x}"));
            write(&place.join(&name).join(format!("{:016x}", 1)).join(format!("{:016x}", 1)), b"sealed");
            write(&place.join("heads").join(&name), b"signed");
        }
    }
    decide(&a, "other");
    a.ok(&["sync"]);
    let among = pull(&b, &hub);
    assert_eq!((among.0.calls, among.0.answered, among.1), (alone.0.calls, alone.0.answered, alone.1));
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Containers that wrote one batch of one record each.
struct Crowd {
    space: Space,
    shared: Shared,
    secret: Vec<u8>,
    json: String,
    now: Timestamp,
}

impl Crowd {
    fn new(env: &TestEnv, token: &str) -> Crowd {
        let home = Home::new(env.home());
        let space = Files::new(&home).spaces().unwrap().spaces.remove(0);
        let shared = space.projects.iter().find(|shared| !shared.is_space()).unwrap().clone();
        let token: Value =
            serde_json::from_slice(&hex::bytes(token.strip_prefix("cerberus1.").unwrap()).unwrap()).unwrap();
        let secret = hex::bytes(token["granted"]["secret"].as_str().unwrap()).unwrap();
        let clock = Clock::new(None);
        let location = identity::locate(&env.project()).location(home.cleaner());
        let record = own_record(&home, &clock, claude_code::AGENT, "crowd", location, "k".to_string(), Event::Pulse);
        let sharing = Sharing { space: share::ShareAudience::Me, ids: &[], names: &[], cleaner: home.cleaner() };
        let json = serde_json::to_string(&share::shared(&record, &sharing).unwrap()).unwrap();
        Crowd { space, shared, secret, json, now: clock.wall }
    }

    /// The files that container `number` has left, without what they say.
    fn add_unsigned(&self, hub: &Hub, number: u64) {
        let name = format!("{:016x}", 0xc000_0000 + number);
        let place = self.space.place(&self.shared.id);
        let dir = |place: &Place| hub.path().join(&place.space).join(&place.project);
        write(&dir(&place).join(&name).join(format!("{:016x}", 1)).join(format!("{:016x}", 1)), b"sealed");
        write(&dir(&place).join("heads").join(&name), b"signed");
        write(&dir(&recent(&place, 1 + number / RECENT_MAX as u64)).join("heads").join(&name), b"signed");
    }

    /// Makes a container write a base in which the device of `env` has decided something.
    fn add_base(&self, hub: &Hub, env: &TestEnv) {
        let own = Secrets::of(b"liar");
        let name = id_of(&own.sign_public().unwrap());
        let place = self.space.place(&format!("{}-base", self.shared.id));
        let stream = Stream { place: place.clone(), device: name.clone() };
        let victim = Files::new(&Home::new(env.home())).device().unwrap().id.to_string();
        let heads = Folder::open(hub.path()).unwrap().heads(&self.space.place(&self.shared.id)).unwrap();
        let head = heads.iter().find(|head| head.name == victim).unwrap();
        let covered = document::claimed::<Head>(&head.bytes).unwrap().reach;
        let note = self.json.replace(
            r#""event":"pulse""#,
            r#""event":{"note":{"kind":"decision","text":"forged decision","resolved":false}}"#,
        );
        assert_ne!(note, self.json, "the record has the form that is replaced here");
        let entry = Entry { seq: journal::micros(self.now), json: format!("{victim} {note}") };
        let position = Position { generation: 1, sequence: 1, previous: [0; 32] };
        let key = &self.space.project_keys(&self.shared.id)[0];
        let (bytes, _) = batch::seal(key, &stream, position, [7; 16], &[entry]).unwrap();
        let reach = Reach { generation: 1, sequence: 1, hash: crypto::hash(&bytes) };
        let head = self.head(&own, &place, reach, self.now, [(victim, covered)].into(), 0);
        let dir = hub.path().join(&place.space).join(&place.project);
        write(&dir.join(&name).join(format!("{:016x}", 1)).join(format!("{:016x}", 1)), &bytes);
        write(&dir.join("heads").join(&name), &head);
    }

    /// The signed head of a container.
    fn head(
        &self,
        own: &Secrets,
        place: &Place,
        reach: Reach,
        at: Timestamp,
        seen: BTreeMap<String, Reach>,
        era: u64,
    ) -> Vec<u8> {
        let sign = own.sign_public().unwrap();
        let name = id_of(&sign);
        let pass = Pass::new(&Secrets::of(&self.secret), &self.space.id, &self.shared.id, sign);
        let Proof { reach, signature } = Proof::new(own, place, &name, reach).unwrap();
        let head = Head { v: VERSION, reach, signature, at, seen, era, proofs: BTreeMap::new(), pass, is_kept: false };
        document::signed(own, place, &name, &head).unwrap()
    }

    /// Makes container `number` write, as it would: into its stream, the place, and the list of recent heads.
    fn add(&self, hub: &Hub, number: u64) {
        let own = Secrets::of(&number.to_be_bytes());
        let name = id_of(&own.sign_public().unwrap());
        let place = self.space.place(&self.shared.id);
        let stream = Stream { place: place.clone(), device: name.clone() };
        let position = Position { generation: 1, sequence: 1, previous: [0; 32] };
        let entry = Entry { seq: journal::micros(self.now), json: self.json.clone() };
        let key = &self.space.project_keys(&self.shared.id)[0];
        let (bytes, _) = batch::seal(key, &stream, position, [7; 16], &[entry]).unwrap();
        let era = 1 + number / RECENT_MAX as u64;
        let reach = Reach { generation: 1, sequence: 1, hash: crypto::hash(&bytes) };
        let at = self.now.plus(std::time::Duration::from_millis(number));
        let head = self.head(&own, &place, reach, at, Default::default(), era);
        let dir = |place: &Place| hub.path().join(&place.space).join(&place.project);
        write(&dir(&place).join(&name).join(format!("{:016x}", 1)).join(format!("{:016x}", 1)), &bytes);
        write(&dir(&place).join("heads").join(&name), &head);
        write(&dir(&recent(&place, era)).join("heads").join(&name), &head);
    }
}

#[test]
fn a_stream_of_many_small_batches_is_sealed_anew_and_everybody_still_has_it_once() {
    let (hub, a, b) = pair();
    let home = Home::new(a.home());
    let batches = || {
        let stream = Files::new(&home).state(&Files::new(&home).spaces().unwrap().spaces[0]).unwrap().streams;
        stream.values().map(|stream| (stream.sealed.sequence, stream.sealed.generation)).max().unwrap()
    };
    decide(&a, "made of glass");
    let mut most = 0;
    for session in 0..102 {
        super::containers::fill(&a, &format!("session-{session}"), 2);
        exchange(&home, &hub, None);
        most = most.max(batches().0);
        if session == 50 {
            b.ok(&["sync"]);
        }
    }
    assert_eq!(most, 101);
    assert!(batches().0 < 10 && batches().1 == 2, "{:?}", batches());
    assert!(hub.batches().len() < 30, "{:?}", hub.batches());
    b.ok(&["sync"]);
    assert_eq!(problems(&b), [""; 0]);
    assert!(b.brief().contains("made of glass"));
    let lines = journal_lines(&b);
    for session in [0, 50, 101] {
        assert_eq!(lines.matches(&format!("\"session-{session}\"")).count(), 2, "{session}");
    }
    // Nobody was asked to forget anything.
    assert_eq!(super::space(&a)["forget_confirmed"], Value::Null);
}

fn journal_lines(env: &TestEnv) -> String {
    let files = fs::read_dir(env.home().join("journal")).unwrap().flatten();
    files.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect()
}

#[test]
fn a_container_cannot_speak_for_a_device_in_a_base() {
    let (hub, a, b) = pair();
    decide(&a, "made by a device");
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    let token = super::containers::printed_key(&a);
    let crowd = Crowd::new(&b, &token);
    crowd.add_base(&hub, &b);
    let container = machine();
    let output = container.command().args(["sync", "--for-project"]).env("CERBERUS_SYNC", &token).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let brief = container.brief();
    assert!(brief.contains("made by a device") && !brief.contains("forged"), "{brief}");
}

/// What it costs among so many devices of the same project: a pull with nothing new, one with a new stream, and the
/// first pull of a container. If there are many, this device has listed the whole place before, and the old heads are
/// never looked at: they are not even signed.
fn costs(devices: u64) -> [Counts; 3] {
    let (hub, a, b) = pair();
    let token = super::containers::printed_key(&a);
    let crowd = Crowd::new(&b, &token);
    let home = Home::new(b.home());
    let signed_from = devices - SIGNED;
    (0..signed_from).for_each(|number| crowd.add_unsigned(&hub, number));
    (signed_from..devices).for_each(|number| crowd.add(&hub, number));
    if signed_from > 0 {
        let files = Files::new(&home);
        let mut state = files.state(&crowd.space).unwrap();
        let stream = state.streams.get_mut(&crowd.shared.number).unwrap();
        stream.listing = Listing { era: devices / RECENT_MAX as u64, whole_at: Some(crowd.now) };
        files.save_state(&crowd.space, &state).unwrap();
    }
    let (_, report) = exchange(&home, &hub, Some(0));
    assert_eq!(report.received, 0);
    super::containers::fill(&b, "long", 1_100);
    pull(&b, &hub);
    let (nothing, received) = pull(&b, &hub);
    assert_eq!(received, 0);
    crowd.add(&hub, devices);
    let (one, received) = pull(&b, &hub);
    assert_eq!(received, 1);
    let (joins, report) = join(&machine(), &token, &hub);
    assert!(report.received > 1_000, "{report:?}");
    [nothing, one, joins]
}

#[test]
fn a_container_starts_in_two_turns() {
    let (hub, a, b) = pair();
    let token = super::containers::printed_key(&a);
    super::containers::fill(&a, "long", 1_100);
    a.ok(&["sync"]);
    b.ok(&["sync"]);
    decide(&b, "after the base");
    b.ok(&["sync"]);
    let container = machine();
    let (counts, report) = join(&container, &token, &hub);
    assert!(report.received > 1_000, "{report:?}");
    assert!(container.brief().contains("after the base"));
    // The members, the bases and the heads; the newest base and what is newer.
    assert_eq!(counts.turns, 2, "{counts:?}");
}

/// The first pull of a container.
fn join(container: &TestEnv, token: &str, hub: &Hub) -> (Counts, ExchangeReport) {
    let (home, located) = (Home::new(container.home()), identity::locate(&container.project()));
    fs::create_dir_all(home.root()).unwrap();
    token::open(&home, token, &located.project, &located.root.to_string_lossy()).unwrap();
    exchange(&home, hub, Some(CONTAINER_RECORDS_MAX))
}

/// How many devices of a crowd are real: those of the last three lists.
const SIGNED: u64 = 3 * RECENT_MAX as u64;

#[test]
fn ten_thousand_devices_of_the_same_project_cost_no_more_than_three_hundred() {
    let (few, many) = (costs(SIGNED), costs(10_000));
    for (what, (few, many)) in ["nothing new", "one new", "container"].iter().zip(few.iter().zip(&many)) {
        assert_eq!((few.calls, few.turns), (many.calls, many.turns), "{what}");
        // The head of the device itself may be in one list or the next; numbers and names may be a little longer.
        assert!(many.answered <= few.answered + 1, "{what}: {few:?} {many:?}");
        assert!(many.bytes <= few.bytes + few.bytes / 10, "{what}: {few:?} {many:?}");
        assert!(many.answered <= 3 * RECENT_MAX, "{what}: {many:?}");
    }
    // The key was printed when the heads were few. Now the base says which are asked for.
    assert_eq!(many[2].turns, 3, "{many:?}");
}
