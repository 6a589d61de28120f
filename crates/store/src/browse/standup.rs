//! What was asked, done, decided and committed in a period, and what is open now, by project. Nothing is composed: these
//! are titles, facts, and the agent's own closing words where no fact says what was done.

use std::collections::{BTreeMap, HashSet};

use cerberus_os::clock::Clock;
use cerberus_recall::brief::title::{self, Rank};
use cerberus_recall::brief::{Section, failing, open_items};
use cerberus_record::fact::FactKind;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;

use crate::view::{self, FactFilter, SessionRow, Store};

/// From the first time to before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Period {
    fn has(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.until
    }
}

/// What a text says was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoneEntry {
    /// An item of the agent's list, or something that was recorded.
    Item(String),
    /// The agent's own words at the end of a session that has no such item and committed nothing.
    Said(String),
}

/// One project in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectStandup {
    pub name: String,
    pub sessions: usize,
    /// How many files were edited.
    pub files: usize,
    pub asked: Vec<String>,
    pub done: Vec<DoneEntry>,
    pub decided: Vec<String>,
    pub committed: Vec<String>,
    /// Blockers and next steps of these sessions that nothing has settled since.
    pub open: Vec<String>,
}

/// The projects with something to say, those with most sessions first. `is_meant` chooses the sessions.
pub fn standup(
    store: &Store,
    clock: &Clock,
    period: Period,
    mut is_meant: impl FnMut(&SessionRow) -> bool,
) -> view::Result<Vec<ProjectStandup>> {
    let mut by_name: BTreeMap<String, Vec<SessionRow>> = BTreeMap::new();
    for session in store.sessions(&[], period.from, clock.now)? {
        if session.started_at < period.until && is_meant(&session) {
            by_name.entry(session.project_name.clone()).or_default().push(session);
        }
    }
    let mut found = Vec::new();
    for (name, sessions) in by_name {
        found.extend(of_project(store, clock, period, name, &sessions)?);
    }
    found.sort_by_key(|project| std::cmp::Reverse(project.sessions));
    Ok(found)
}

/// `None` if nothing happened in the period.
fn of_project(
    store: &Store,
    clock: &Clock,
    period: Period,
    name: String,
    sessions: &[SessionRow],
) -> view::Result<Option<ProjectStandup>> {
    let mut project = ProjectStandup { name, ..ProjectStandup::default() };
    let mut carried = store.carried(sessions, FactFilter::All, clock.now)?;
    let titles = store.titles(sessions, clock.now)?;
    let mut files = HashSet::new();
    let mut worked = 0;
    let mut all_done: Vec<(usize, DoneEntry)> = Vec::new();
    for session in sessions {
        let mine = || carried.facts.iter().filter(|known| known.session == session.id && period.has(known.at));
        let prompts: Vec<(Timestamp, String)> = store.asked(session, clock.now)?;
        let asked: Vec<&str> =
            prompts.iter().filter(|(at, _)| period.has(*at)).map(|(_, prompt)| prompt.as_str()).collect();
        if asked.is_empty() && mine().next().is_none() {
            continue;
        }
        worked += 1;
        let title = titles.get(&session.row).map(String::as_str).unwrap_or_default();
        add(&mut project.asked, request(session, period, &asked).unwrap_or_else(|| title.to_string()));
        let items = mine().filter(|known| known.fact.kind == FactKind::Done);
        let mut done: Vec<DoneEntry> = items.map(|known| DoneEntry::Item(known.fact.text.clone())).collect();
        if done.is_empty() && !mine().any(|known| known.fact.kind == FactKind::Commit) {
            let said = store.said(session, clock.now)?.into_iter().rfind(|(at, _)| period.has(*at));
            done.extend(said.and_then(|(_, message)| title::of_reply(&message)).map(DoneEntry::Said));
        }
        all_done.extend(done.into_iter().enumerate());
        for known in mine() {
            match known.fact.kind {
                FactKind::Decision => add(&mut project.decided, known.fact.text.clone()),
                FactKind::Commit => add(&mut project.committed, known.fact.text.clone()),
                FactKind::File => drop(known.fact.path.as_ref().map(|path| files.insert(path.clone()))),
                _ => {}
            }
        }
    }
    (project.sessions, project.files) = (worked, files.len());
    // The first of every session come first: a long list is cut.
    all_done.sort_by_key(|(at, _)| *at);
    all_done.into_iter().for_each(|(_, entry)| add(&mut project.done, entry));
    let runs = store.runs(sessions, clock.now)?;
    carried.add(failing::blockers(&runs, &carried.facts));
    let open = open_items(&carried.facts, &carried.settlements, &[], &mut Vec::new()).into_iter();
    let open = open.filter(|item| matches!(item.section, Section::Blockers | Section::Next));
    open.for_each(|item| add(&mut project.open, item.text));
    Ok((worked > 0).then_some(project))
}

/// What a session that began before the period was asked in it; what others were asked is in their titles.
fn request(session: &SessionRow, period: Period, asked: &[&str]) -> Option<String> {
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let requests = asked.iter().filter_map(|prompt| title::of_prompt(agent, prompt));
    let mut requests = requests.filter(|(rank, _)| *rank <= Rank::Vague);
    if period.has(session.started_at) { None } else { requests.next().map(|(_, request)| request) }
}

/// Adds what is not there yet.
fn add<T: PartialEq>(list: &mut Vec<T>, entry: T) {
    if !list.contains(&entry) {
        list.push(entry);
    }
}
