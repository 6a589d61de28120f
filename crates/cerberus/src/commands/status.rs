use std::collections::BTreeMap;

use cerberus_os::clock::Clock;
use cerberus_os::failures::{self, Failure};
use cerberus_record::clean::text;
use cerberus_record::memory::MemoryStatus;
use cerberus_record::session::{IDLE_AFTER, SessionStatus};
use cerberus_record::time::Timestamp;
use cerberus_store::brief::limit::{self, ReachedLimit};
use cerberus_store::browse::overview::{self, Overview};
use cerberus_store::browse::page::{self, Page};
use cerberus_store::config::StoreConfig;
use cerberus_store::erase::retention::{self, StoredAmount};
use cerberus_store::project::identity::Located;
use cerberus_store::project::privacy::{self, StorageBlock};
use cerberus_store::same_project::joined::joined;
use cerberus_store::sessions::sweep::derive_state;
use cerberus_store::view::{FactFilter, SessionRow, Store};
use serde_json::{Value, json};

use super::archive::ArchiveHoldings;
use super::log::ListedJson;
use super::pause::{self, storing};
use super::project::ProjectFolders;
use super::undo;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::page::page as page_of;
use crate::render::style::{Line, Screen, Style};
use crate::render::time::LocalTime;
use crate::render::words;

/// Show this project at a glance: sessions, facts, health
#[derive(clap::Args)]
pub struct StatusArgs {}

impl StatusArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.swept_store()?;
        let glance = Glance::of(context, &store)?;
        match context.json {
            true => render::json(&glance.json(context)),
            false => glance.print(context),
        }
        Ok(())
    }
}

/// The limit that keeps the newest session from going on.
fn limit_json(page: &Page) -> Option<Value> {
    let session = &page.listed.session;
    let ReachedLimit { command, until } = limit::reached(session)?;
    let until = until.map(|until| until.to_string());
    Some(json!({"session": session.id, "agent": session.agent, "until": until, "command": command}))
}

/// Everything that is shown.
struct Glance {
    located: Located,
    by_status: BTreeMap<&'static str, usize>,
    facts: BTreeMap<&'static str, usize>,
    /// Whether any session still carries over.
    has_recent: bool,
    last_activity: Option<Timestamp>,
    newest: Option<Page>,
    /// No session began after it.
    is_last: bool,
    /// What is known of other projects, if nothing is known of this one.
    elsewhere: Option<Overview>,
    approved: usize,
    proposed: usize,
    kept: KeptAmount,
    archive: ArchiveHoldings,
    folders: ProjectFolders,
    shut: Option<StorageBlock>,
    /// Whether the user's checks are enforced here; `None` if there are none.
    checks: Option<String>,
    /// What is kept of the files; `None` if there is nothing to say.
    undo: Option<String>,
    settings_problem: Option<String>,
    /// What `doctor` would say, as far as it is known without starting anything.
    problems: Vec<String>,
    failures: Vec<Failure>,
    sync: Vec<(&'static str, String)>,
    sync_json: Value,
}

impl Glance {
    fn of(context: &Context, store: &Store) -> Result<Glance> {
        let (located, now, clock) = (context.located(), context.clock.now, &context.clock);
        let projects = joined(store, &located, now)?.ids;
        let sessions = store.sessions(&projects, Timestamp::EPOCH, now)?;
        let sessions: Vec<_> = sessions.into_iter().map(|s| derive_state(s, clock, IDLE_AFTER).0).collect();
        let carrying: Vec<_> = sessions.iter().filter(|s| s.state.status.carries_over()).cloned().collect();
        let carried = store.carried(&carrying, FactFilter::All, now)?;
        let mut facts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut seen = std::collections::HashSet::new();
        for known in carried.facts.iter().filter(|known| seen.insert((known.fact.kind, &known.fact.code))) {
            *facts.entry(known.fact.kind.word()).or_default() += 1;
        }
        let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
        sessions.iter().for_each(|session| *by_status.entry(session.state.status.word()).or_default() += 1);
        let memories = store.memory_counts(now)?;
        let count = |wanted| memories.iter().filter(|(status, ..)| *status == wanted).map(|(.., n)| n).sum::<usize>();
        let newest = newest(store, clock, &sessions)?;
        let elsewhere = match sessions.is_empty() {
            true => Some(overview::overview(store, clock)?).filter(|overview| overview.sessions > 0),
            false => None,
        };
        Ok(Glance {
            by_status,
            facts,
            has_recent: !carrying.is_empty(),
            last_activity: sessions.iter().map(|session| session.last_activity).max(),
            is_last: newest.as_ref().map(|page| page.listed.session.row) == sessions.last().map(|last| last.row),
            newest,
            elsewhere,
            approved: count(MemoryStatus::Approved),
            proposed: count(MemoryStatus::Proposed),
            kept: KeptAmount::of(context, store)?,
            archive: ArchiveHoldings::of(context)?,
            folders: ProjectFolders::load(context, store, &located)?,
            shut: privacy::storage_block(&context.home, now, &located),
            checks: pause::checks(context),
            undo: undo::status_line(context, &located),
            settings_problem: context.settings_problem(),
            problems: super::doctor::problems(context, store),
            // Read last, to include failures from opening the view.
            failures: failures::recent(&context.home, context.now_again().clock.now),
            sync: super::sync::lines(context, store),
            sync_json: super::sync::json_of(context, store),
            located,
        })
    }

    fn json(&self, context: &Context) -> Value {
        let located = &self.located;
        let failed: Vec<_> =
            self.failures.iter().map(|f| json!({"at": f.at.to_string(), "what": f.what, "detail": f.detail})).collect();
        let elsewhere =
            |overview: &Overview| json!({"sessions": overview.sessions, "projects": overview.projects.len()});
        json!({
            "project": {"name": located.name, "root": render::path(&located.root), "branch": located.branch()},
            "sessions": self.by_status, "facts": self.facts,
            "last_activity": self.last_activity.map(|at| at.to_string()),
            "last": self.newest.as_ref().map(|page| ListedJson::of(&page.listed)),
            "left": self.newest.as_ref().map(|page| page.left.clone()).unwrap_or_default(),
            "limit": self.newest.as_ref().and_then(limit_json),
            "elsewhere": self.elsewhere.as_ref().map(elsewhere),
            "memories": {"approved": self.approved, "proposed": self.proposed},
            "home": render::path(context.home.root()), "failures": failed,
            "stores_nothing": self.shut.as_ref().map(ToString::to_string), "settings_problem": self.settings_problem,
            "checks": self.checks, "undo": self.undo,
            "store": self.kept.json(), "archive": self.archive.json(), "folders": self.folders.json(), "sync": self.sync_json,
        })
    }

    fn print(&self, context: &Context) {
        let (screen, local) = (Screen::of_stdout(), LocalTime::new(context.clock.now));
        let branch = self.located.branch().map(|branch| format!(" on {branch}")).unwrap_or_default();
        let head = Line::of(Style::Strong, format!("{}{branch}", self.located.name));
        let mut lines = vec![head.faint(format!("  ({})", self.located.root.display()))];
        let mention = self.undo.is_none().then(|| undo::mention(context, &self.located)).flatten();
        for (label, text) in
            self.folders.lines().into_iter().chain(self.work(&local)).chain(self.upkeep(context, &local)).chain(mention)
        {
            lines.extend(screen.labelled(label, &text));
        }
        page_of(&screen, &lines);
    }

    /// What was worked on, here or elsewhere.
    fn work(&self, local: &LocalTime) -> Vec<(&'static str, String)> {
        // That a session is too old for a brief says nothing about how it went.
        let mut by_state: BTreeMap<&str, usize> = BTreeMap::new();
        for (word, number) in &self.by_status {
            let is_old = *word == SessionStatus::Archived.word();
            *by_state.entry(if is_old { SessionStatus::Ended.word() } else { word }).or_default() += number;
        }
        let mut lines = vec![("sessions", words::counts(by_state))];
        if let Some(page) = &self.newest {
            let ago = local.ago(page.listed.session.last_activity);
            let id = if self.is_last { String::new() } else { format!(" {}", page.listed.session.id) };
            lines.push(("last", format!("{} ({ago}; `cerberus show{id}`)", page.listed.title)));
            lines.extend(page.left.iter().take(LEFT_MAX).map(|item| ("left", text::line(item, LEFT_CHARS_MAX))));
            if let Some(ReachedLimit { command, until }) = limit::reached(&page.listed.session) {
                let until = until.map(|until| format!(" until {}", local.when(until))).unwrap_or_default();
                lines.push((
                    "limit",
                    format!("its agent has reached its usage limit{until}: `{command}` goes on in another one"),
                ));
            }
        }
        if let Some(overview) = &self.elsewhere {
            let sessions = render::count(overview.sessions, "session");
            let projects = render::count(overview.projects.len(), "other project");
            lines.push(("elsewhere", format!("{sessions} in {projects}: `cerberus log` lists them")));
            let last = overview.projects.iter().take(LEFT_MAX);
            lines.extend(last.map(|work| {
                let ago = local.ago(work.last.session.last_activity);
                ("", format!("{}: {} ({ago})", work.name, work.last.title))
            }));
        }
        let facts = match self.newest.is_some() && !self.has_recent {
            true => "none of the last seven days; `cerberus log --project .` lists older sessions".to_string(),
            false => words::counts(self.facts.iter().map(|(word, number)| (*word, *number))),
        };
        lines.push(("noted", facts));
        lines
    }

    fn upkeep(&self, context: &Context, local: &LocalTime) -> Vec<(&'static str, String)> {
        let waiting = match self.proposed {
            0 => String::new(),
            proposed => format!(", {proposed} proposed: `cerberus review`"),
        };
        let failed = self.failures.last().map(|last| {
            let often = render::count(self.failures.len(), "failure");
            format!("{often} recently, the last {}: {}: {}", local.ago(last.at), last.what, last.detail)
        });
        let mut health: Vec<String> = self.problems.iter().cloned().chain(failed).collect();
        if health.is_empty() {
            health.push("good".to_string());
        } else {
            health.push("`cerberus doctor` says what to do".to_string());
        }
        let health = health.join("; ");
        let mut lines = vec![("memories", format!("{}{waiting}", self.approved)), ("stored", self.kept.line())];
        lines.push(("archive", self.archive.line()));
        lines.extend(self.undo.iter().map(|state| ("undo", state.clone())));
        lines.extend(self.sync.iter().cloned());
        lines.push(("health", health));
        if !super::doctor::is_connected(context) {
            let next = "no agent is connected, so no session is recorded: `cerberus install` connects the agents on this machine";
            lines.push(("next", next.to_string()));
        }
        lines.extend(self.shut.as_ref().map(|shut| ("storing", storing(context, shut))));
        lines.extend(
            self.checks.iter().filter(|state| *state != pause::CHECKS_ON).map(|state| ("checks", state.clone())),
        );
        lines
    }
}

/// How much of what the last session left is shown.
const LEFT_MAX: usize = 3;
const LEFT_CHARS_MAX: usize = 100;

/// How much is stored, for how long, and how many sessions are due for deletion.
struct KeptAmount {
    stored: StoredAmount,
    config: StoreConfig,
    due: usize,
}

impl KeptAmount {
    fn of(context: &Context, store: &Store) -> Result<KeptAmount> {
        let config = context.config().map(|config| config.store).unwrap_or_default();
        let due = retention::due(&context.home, store, config, context.clock.now)?.len();
        Ok(KeptAmount { stored: retention::stored(&context.home)?, config, due })
    }

    fn json(&self) -> Value {
        json!({
            "journal_bytes": self.stored.journal_bytes, "view_bytes": self.stored.view_bytes,
            "retention_days": self.config.retention.map(|age| age.0.as_secs() / 86_400),
            "max_bytes": self.config.max_size.map(|size| size.bytes), "sessions_due": self.due,
        })
    }

    fn line(&self) -> String {
        let mib = render::bytes;
        let StoredAmount { journal_bytes, view_bytes } = self.stored;
        let mut parts = vec![format!("journal {}, view {}", mib(journal_bytes), mib(view_bytes))];
        match (self.config.retention, self.config.max_size) {
            (None, None) => parts.push("everything is kept".to_string()),
            (age, size) => {
                parts.extend(age.map(|age| format!("kept for {} days", age.0.as_secs() / 86_400)));
                parts.extend(size.map(|size| format!("at most {}", mib(size.bytes))));
            }
        }
        if self.due > 0 {
            let due = render::count(self.due, "session");
            parts.push(format!("{due} due for deletion: `cerberus memory session-cleanup`"));
        }
        parts.join("; ")
    }
}

/// So many sessions in which nothing happened may follow the last one that is shown.
const EMPTY_MAX: usize = 20;

/// The last session in which something happened; otherwise the last one.
fn newest(store: &Store, clock: &Clock, sessions: &[SessionRow]) -> Result<Option<Page>> {
    let mut last = None;
    for session in sessions.iter().rev().take(EMPTY_MAX) {
        let page = page::page(store, clock, session.clone())?;
        if !page.is_empty() {
            return Ok(Some(page));
        }
        last = last.or(Some(page));
    }
    Ok(last)
}
