//! One exchange with the hub of a space: who belongs to it, then for every shared project what is new on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_store::project::{identity, privacy};
use cerberus_store::view::Store;

use super::ahead::Ahead;
use super::chain::{Chain, ChainState};
use super::document::SPACE_PLACE;
use super::files::Files;
use super::links;
use super::listing::{self, RECENT_MAX};
use super::local::{Device, Shared, Space, SpaceState, StreamState};
use super::membership::Membership;
use super::project::SharedProject;
use super::push::{self, Sent};
use super::reading::{PullLimits, PullReading};
use super::transport::{ALL, Question, Transport, TransportError};
use super::{CONTAINER_RECORDS_MAX, Result, SyncError, base, consent, names, pass, pull, spaces, unreadable};
use crate::open;

/// How many projects' heads are asked for together with the documents of the space.
const PROJECTS_AT_ONCE: usize = 8;

/// How often a stream begins again elsewhere because something else stands where it is written.
const ATTEMPTS_MAX: usize = 4;
/// How often an exchange begins again as another device.
const ROUNDS_MAX: usize = 2;

/// What an exchange did.
#[derive(Debug, Default)]
pub struct ExchangeReport {
    pub sent: usize,
    pub received: usize,
    /// Names of devices that were let in.
    pub let_in: Vec<String>,
    /// Projects whose sharing ended here, because they were opted out or made private.
    pub ended: Vec<String>,
    /// What is paused: nothing of it was sent or stored.
    pub paused: BTreeSet<String>,
    pub problems: Vec<String>,
    /// What others changed about who belongs to the space, and nobody was told here yet.
    pub news: Vec<String>,
    /// This home was a copy of another one and is now a device of its own.
    pub is_new_device: bool,
}

/// An exchange of this home.
pub struct Exchange<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub store: &'a mut Store,
    /// Only this project, named as on the hub.
    pub only: Option<String>,
    /// Read at most about so many records of each project.
    pub records_max: Option<usize>,
}

impl Exchange<'_> {
    /// Exchanges everything of the space with this number. The caller holds the lock. If the hub is full or refuses, that
    /// is remembered for `status` and `doctor` until an exchange succeeds.
    pub fn run(&mut self, hub: &mut dyn Transport, number: u32) -> Result<ExchangeReport> {
        let exchanged = self.exchange(hub, number).map_err(|error| match error {
            // Something else stands where the space should be.
            SyncError::UnknownSpace { .. } => hub.oddities().into_iter().next().map_or(error, SyncError::from),
            error => error,
        });
        exchanged.inspect_err(|error| note_refusal(self.home, number, error))
    }

    fn exchange(&mut self, hub: &mut dyn Transport, number: u32) -> Result<ExchangeReport> {
        let files = Files::new(self.home);
        let mut spaces = files.spaces()?;
        let mut report = ExchangeReport::default();
        consent::end_sharing(self.home, self.store, &mut spaces, number)?;
        let hub = &mut Ahead::new(hub);
        let known = links::known(&files, spaces.numbered(number)?)?;
        hub.prepare(self.first_questions(&files, spaces.numbered(number)?, known.as_ref())?)?;
        let mut chain = self.membership(hub, number, known, &mut report)?;
        // Another round as another device, if this home turns out to be a copy.
        for _ in 0..ROUNDS_MAX {
            let device = files.device()?;
            let space = files.spaces()?.numbered(number)?.clone();
            let mut state = files.state(&space)?;
            state.names = names::told(&space, &chain.state);
            names::note_news(&space, &chain, &device.id.to_string(), &mut state);
            report.news.clone_from(&state.news);
            let skipped = self.skipped(&files, &space)?;
            if !self.projects(hub, &device, &space, &chain.state, &skipped, &mut state, &mut report)? {
                report.problems.extend(hub.oddities().iter().map(ToString::to_string));
                (state.problems, state.refused) = (report.problems.clone(), None);
                files.save_state(&space, &state)?;
                return Ok(report);
            }
            spaces = files.spaces()?;
            spaces::become_another(&files, &mut spaces)?;
            chain = self.membership(hub, number, Some(chain), &mut report)?;
            report.is_new_device = true;
        }
        Err(unreadable("another home writes on the hub as this device"))
    }

    fn membership(
        &self,
        hub: &mut dyn Transport,
        number: u32,
        known: Option<Chain>,
        report: &mut ExchangeReport,
    ) -> Result<Chain> {
        let mut membership = Membership::open(self.home, self.clock.wall, hub, number)?;
        let chain = membership.settle(known)?;
        report.problems.append(&mut membership.problems);
        report.let_in.append(&mut membership.let_in);
        Ok(chain)
    }

    /// What is asked before anything is known: who belongs to the space, and the heads of the first projects. A container
    /// that reads a base learns from it which heads it needs, unless they were few when its key was printed.
    fn first_questions(&self, files: &Files, space: &Space, known: Option<&Chain>) -> Result<Vec<Question>> {
        let state = files.state(space)?;
        let mut questions = vec![Question::Heads(space.place(SPACE_PLACE), ALL)];
        questions.extend(known.map(|chain| Question::After(links::newer(space, chain))));
        let is_pulled = |shared: &&Shared| self.is_wanted(shared) && !shared.is_ending && !shared.is_over();
        let pulled = space.projects.iter().filter(is_pulled);
        for shared in pulled.take(PROJECTS_AT_ONCE) {
            let stream = state.streams.get(&shared.number).cloned().unwrap_or_default();
            let place = space.place(&shared.id);
            if pull::needs_base(space, &stream) {
                questions.push(Question::Heads(base::place(SharedProject { home: self.home, space, shared }), ALL));
                questions.extend(space.is_small.then_some(Question::Heads(place, RECENT_MAX)));
            } else {
                questions.extend(listing::first_questions(&place, &stream.listing, self.clock.wall));
            }
        }
        Ok(questions)
    }

    fn is_wanted(&self, shared: &Shared) -> bool {
        self.only.as_ref().is_none_or(|only| *only == shared.id)
    }

    /// Devices of the user are read in the user's own space, not in a team's.
    fn skipped(&self, files: &Files, space: &Space) -> Result<BTreeSet<String>> {
        let mut skipped = BTreeSet::new();
        if space.team.is_some() {
            for own in files.spaces()?.spaces.iter().filter(|own| own.team.is_none() && !own.is_container()) {
                skipped.extend(files.state(own)?.names.into_keys());
            }
            skipped.remove(&files.device()?.id.to_string());
        }
        Ok(skipped)
    }

    /// Exchanges every project. Returns whether this home turned out to be a copy; then it stops there.
    #[expect(clippy::too_many_arguments, reason = "one call; each is used by every project")]
    fn projects(
        &mut self,
        hub: &mut Ahead,
        device: &Device,
        space: &Space,
        trust: &ChainState,
        skipped: &BTreeSet<String>,
        state: &mut SpaceState,
        report: &mut ExchangeReport,
    ) -> Result<bool> {
        let files = Files::new(self.home);
        state.hub_keeps = !hub.removes();
        let (names, mut limits) = (state.names.clone(), PullLimits::default());
        for shared in space.projects.clone() {
            if !self.is_wanted(&shared) || shared.is_over() {
                continue;
            }
            let project = SharedProject { home: self.home, space, shared: &shared };
            if !shared.is_ending
                && let Some(line) = self.paused(&shared)?
            {
                report.paused.insert(line);
                continue;
            }
            let mut stream = state.streams.remove(&shared.number).unwrap_or_default();
            let records_max = self.records_max.or(space.is_container().then_some(CONTAINER_RECORDS_MAX));
            let wall = self.clock.wall;
            limits.elsewhere = elsewhere(state);
            let limits = &limits;
            let reading = PullReading { project, wall, device, trust, names: &names, skipped, records_max, limits };
            let exchanged = self.project(hub, &reading, &mut stream, report);
            state.streams.insert(shared.number, stream);
            files.save_state(space, state)?;
            match exchanged {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                // The other projects go on.
                Err(SyncError::Transport(error @ TransportError::InTheWay { .. })) => {
                    report.problems.push(error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            }
            if let Some(stream) = state.streams.get(&shared.number) {
                push::forget_sent(project, stream)?;
            }
            if shared.is_ending {
                self.end(project, state)?;
                report.ended.extend(consent::ended_line(space, &shared));
            }
        }
        if privacy::paused_everywhere(self.home, self.clock.now).is_none() {
            state.pulled_at = Some(self.clock.wall);
            state.pushed_at = Some(self.clock.wall);
        }
        Ok(false)
    }

    fn project(
        &mut self,
        hub: &mut Ahead,
        reading: &PullReading,
        stream: &mut StreamState,
        report: &mut ExchangeReport,
    ) -> Result<bool> {
        let (project, device) = (reading.project, reading.device);
        let SharedProject { home, space, shared } = project;
        if !shared.is_ending {
            let pulled = reading.pull(hub, self.store, stream)?;
            report.received += pulled.records;
            report.problems.extend(pulled.problems);
            if pulled.is_forked {
                return Ok(true);
            }
            if space.team.is_some() && self.may_store(shared) {
                open::record(home, self.clock, self.store, &identity::locate(Path::new(&shared.root)))?;
            }
        }
        stream.base.is_outdated |= stream.lists != self.store.forgotten_mark()? || shared.is_ending;
        for _ in 0..ATTEMPTS_MAX {
            let sealed = push::seal_new(project, self.store, device, stream)?;
            project.files().save_stream(space, shared, stream)?;
            pass(home, "sync-sealed")?;
            if push::send(project, hub, device, stream)? == Sent::All {
                report.sent += sealed;
                stream.base.since += sealed as u64;
                base::keep_up(hub, reading, self.store, stream)?;
                listing::publish_head(hub, reading, stream)?;
                pass(home, "sync-published")?;
                return Ok(false);
            }
            // Nothing signed says that another home writes as this device. The stream begins again elsewhere.
            stream.is_to_rewrite = true;
        }
        let of = if shared.is_space() { String::new() } else { format!(" of {}", shared.name) };
        let what = format!("something else where this device writes{of}");
        Err(TransportError::InTheWay { hub: hub.hub(), what }.into())
    }

    /// Whether the project's folder is there and its user lets us record anything about it.
    fn may_store(&self, shared: &Shared) -> bool {
        let root = Path::new(&shared.root);
        root.is_dir() && privacy::storage_block(self.home, self.clock.now, &identity::locate(root)).is_none()
    }

    /// Why nothing of a project is exchanged now, for people.
    fn paused(&self, shared: &Shared) -> Result<Option<String>> {
        let found = consent::pause(self.home, self.clock.now, self.store, shared)?;
        let is_everywhere = privacy::paused_everywhere(self.home, self.clock.now).is_some();
        Ok(found.map(|block| if is_everywhere { block.to_string() } else { format!("{}: {block}", shared.name) }))
    }

    /// The stream of a project that is no longer shared is empty now. After `unshare`, nothing of it is kept here either;
    /// of a project that was opted out or made private, what was stored before stays.
    fn end(&mut self, project: SharedProject, state: &mut SpaceState) -> Result<()> {
        let (files, SharedProject { space, shared, .. }) = (project.files(), project);
        let is_kept = shared.ended.is_some();
        if !is_kept {
            project.drop_all(self.store)?;
            state.streams.remove(&shared.number);
        } else if let Some(stream) = state.streams.get_mut(&shared.number) {
            stream.forgotten_in = None;
        }
        files.save_state(space, state)?;
        project.clear_sent()?;
        let mut spaces = files.spaces()?;
        let projects = &mut spaces.numbered(space.number)?.projects;
        projects.retain(|one| one.number != shared.number || is_kept);
        let over = projects.iter_mut().filter(|one| one.number == shared.number);
        over.for_each(|one| one.is_ending = false);
        files.save_spaces(&spaces)
    }
}

/// How much text is held of each device.
fn elsewhere(state: &SpaceState) -> BTreeMap<String, u64> {
    let mut held = BTreeMap::new();
    for (device, seen) in state.streams.values().flat_map(|stream| &stream.seen) {
        *held.entry(device.clone()).or_default() += seen.bytes;
    }
    held
}

/// Remembers that the hub of a space is full or refused, until an exchange succeeds.
pub fn note_refusal(home: &Home, number: u32, error: &SyncError) {
    use TransportError::{Full, InTheWay, Refused};
    let SyncError::Transport(error @ (Full { .. } | Refused { .. } | InTheWay { .. })) = error else { return };
    let note = || -> Result<()> {
        let files = Files::new(home);
        let space = files.spaces()?.numbered(number)?.clone();
        let mut state = files.state(&space)?;
        state.refused = Some(error.to_string());
        files.save_state(&space, &state)
    };
    // Whoever exchanges is told in any case.
    let _ = note();
}
