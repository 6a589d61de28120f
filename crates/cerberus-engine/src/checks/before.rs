//! What a hook answers before a tool use, and at the end of a turn.
//!
//! No SQLite: the rules are in one file, and what happened before is at the end of the journal. It is read only if a rule
//! is broken, or if a rule is about what happened before. Where nothing may be stored, nothing is enforced.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_core::agents::before::{self, Before, Refusal};
use cerberus_core::checks::action::{Action, Past, Place, Scene};
use cerberus_core::checks::decide::{decide, decide_stop};
use cerberus_core::checks::reason::reason;
use cerberus_core::checks::replay::note;
use cerberus_core::checks::{Check, Level, Rule};
use cerberus_core::clean::text::Keep;
use cerberus_core::model::check::{Decision, Verdict};
use cerberus_core::model::event::{Event, Record};
use cerberus_core::model::id::{Agent, fnv1a};
use cerberus_core::model::time::Timestamp;
use cerberus_core::project::config;

use super::file;
use crate::journal::{self, JournalError, own_record};
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::os::outside;
use crate::project::identity::{self, Located};
use crate::project::privacy;

/// How much of the journal is read for what a session did before.
const PAST_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long the user's permission for one violation holds.
const ALLOWED_MAX: Duration = Duration::from_secs(60 * 60);
const GIT_HOOK_BYTES_MAX: u64 = 256 * 1024;
const GIT_CONFIG_BYTES_MAX: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, thiserror::Error)]
pub enum RefuseError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {source}; any `cerberus check` command writes it again")]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

type Known = Vec<(Check, Option<Timestamp>)>;

/// The rules; `None` if there are none.
fn known(home: &Home) -> Result<Option<Known>, RefuseError> {
    let path = home.checks();
    match home.text(&path, file::BYTES_MAX) {
        Ok(text) => file::read(&text).map(Some).map_err(|source| RefuseError::Damaged { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RefuseError::Read { path, source }),
    }
}

/// The reply that refuses a tool use; `None` if it may happen. `variable` reads the environment.
pub fn before_tool(
    home: &Home,
    clock: &Clock,
    agent: Agent,
    payload: &[u8],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, RefuseError> {
    let Some(known) = known(home)? else { return Ok(None) };
    let Some(before) = before::before(agent, payload) else { return Ok(None) };
    let located = identity::locate(Path::new(&before.cwd));
    if privacy::storage_block(home, clock.now, &located).is_some() {
        return Ok(None);
    }
    let scene = Now::new(home, clock, &located, before.agent, &before.session);
    let (checks, allowed): (Vec<Check>, Vec<Option<Timestamp>>) = known.into_iter().unzip();
    let Some(hit) = decide(&checks, &before.action, &scene) else { return Ok(None) };
    let check = &checks[hit.check];
    let tried = format!("{:016x}", fnv1a(format!("{} {:?}", check.id, tried_text(&before)).as_bytes()));
    let earlier = Earlier::read(home, clock, &before.agent, &before.session, check)?;
    let level = match check.level {
        Level::Ask if !before::can_ask(before.agent, variable) => Level::Remind,
        level => level,
    };
    let verdict = earlier.verdict(
        level,
        allowed[hit.check].filter(|at| clock.now.since(*at) <= ALLOWED_MAX),
        &tried,
        &before.call,
    );
    let asker = Asker { home, clock, located: &located, agent: before.agent, session: &before.session };
    if !earlier.has(&tried, &before.call, verdict) {
        asker.record(check, verdict, tried, &before.call)?;
    }
    let refusal = match verdict {
        Verdict::Overridden | Verdict::Allowed => return Ok(None),
        Verdict::Asked => Refusal::Ask,
        Verdict::Denied => Refusal::Deny,
    };
    Ok(before::refuse(before.agent, refusal, &reason(check, &hit, level)))
}

/// The text that identifies what was tried.
fn tried_text(before: &Before) -> String {
    match &before.action {
        Action::Shell { line, folder } => format!("{line}\n{}", folder.as_deref().unwrap_or_default()),
        Action::Write(files) => format!("{files:?}"),
    }
}

/// The end of a turn that a hook reported.
pub struct Ending<'a> {
    pub agent: Agent,
    pub session: &'a str,
    pub located: &'a Located,
    pub payload: &'a [u8],
}

/// The reply that lets a turn go on; `None` if it may end. Once per turn.
pub fn at_stop(home: &Home, clock: &Clock, ending: &Ending) -> Result<Option<String>, RefuseError> {
    let Some(known) = known(home)? else { return Ok(None) };
    let is_about_it = |(check, _): &(Check, Option<Timestamp>)| matches!(check.rule, Rule::Stop { .. });
    let checks: Vec<Check> = known.into_iter().filter(is_about_it).map(|(check, _)| check).collect();
    if checks.is_empty() || before::is_stopped_again(ending.payload) {
        return Ok(None);
    }
    let Ending { agent, session, located, .. } = ending;
    let scene = Now::new(home, clock, located, *agent, session);
    let Some(hit) = decide_stop(&checks, &scene) else { return Ok(None) };
    let check = &checks[hit.check];
    let turn = scene.turn();
    let earlier = Earlier::read(home, clock, agent, session, check)?;
    let Some(reply) = before::refuse(*agent, Refusal::GoOn, &reason(check, &hit, check.level)) else { return Ok(None) };
    if earlier.has("stop", &turn, Verdict::Denied) {
        return Ok(None);
    }
    let asker = Asker { home, clock, located, agent: *agent, session };
    asker.record(check, Verdict::Denied, "stop".to_string(), &turn)?;
    Ok(Some(reply))
}

/// Who is about to do something, and where.
struct Asker<'a> {
    home: &'a Home,
    clock: &'a Clock,
    located: &'a Located,
    agent: Agent,
    session: &'a str,
}

impl Asker<'_> {
    fn record(&self, check: &Check, verdict: Verdict, tried: String, call: &str) -> Result<(), JournalError> {
        let clean = |text: &str| self.home.cleaner().clean(text.to_string(), Keep::NAME);
        let own = if call.is_empty() {
            format!("{}-{}", self.clock.wall.millis(), std::process::id())
        } else {
            call.to_string()
        };
        let key = format!("decision-{}-{tried}-{own}", check.id);
        let decision = Decision { memory: clean(&check.id), verdict, tried: clean(&tried), call: clean(call) };
        let location = self.located.location(self.home.cleaner());
        let event = Event::Decision(decision);
        let record = own_record(self.home, self.clock, self.agent, self.session, location, key, event);
        journal::append(self.home, self.clock.wall, &record)
    }
}

/// Decisions about one check, from the end of the journal.
struct Earlier {
    /// In this session: what was tried, the call, the verdict.
    own: Vec<(String, String, Verdict)>,
    /// When the user's permission was last used, in any session.
    used_at: Option<Timestamp>,
}

impl Earlier {
    fn read(home: &Home, clock: &Clock, agent: &Agent, session: &str, check: &Check) -> Result<Earlier, JournalError> {
        let session = home.cleaner().clean(session, Keep::NAME);
        let mut earlier = Earlier { own: Vec::new(), used_at: None };
        each_record(home, clock, &mut |record| {
            let Event::Decision(decision) = &record.event else { return };
            if *decision.memory != *check.id {
                return;
            }
            if decision.verdict == Verdict::Allowed {
                earlier.used_at = earlier.used_at.max(Some(record.at));
            }
            if record.agent == *agent && record.session == session {
                earlier.own.push((decision.tried.to_string(), decision.call.to_string(), decision.verdict));
            }
        })?;
        Ok(earlier)
    }

    /// Whether another hook already reported the same try.
    fn has(&self, tried: &str, call: &str, verdict: Verdict) -> bool {
        !call.is_empty()
            && self.own.iter().any(|(what, id, decided)| what == tried && id == call && *decided == verdict)
    }

    fn verdict(&self, level: Level, allowed_at: Option<Timestamp>, tried: &str, call: &str) -> Verdict {
        // Two hooks may report one call; both answer the same.
        let same = self.own.iter().find(|(what, id, _)| what == tried && !call.is_empty() && id == call);
        if let Some((_, _, verdict)) = same {
            return *verdict;
        }
        if allowed_at.is_some_and(|at| self.used_at.is_none_or(|used| used < at)) {
            return Verdict::Allowed;
        }
        let was_denied = self.own.iter().any(|(what, _, verdict)| what == tried && *verdict == Verdict::Denied);
        match level {
            Level::Ask => Verdict::Asked,
            Level::Remind if was_denied => Verdict::Overridden,
            _ => Verdict::Denied,
        }
    }
}

/// The last records of yesterday and today.
fn each_record(home: &Home, clock: &Clock, look: &mut dyn FnMut(&Record)) -> Result<(), JournalError> {
    let yesterday = Timestamp::from_millis(clock.wall.millis() - DAY.as_millis() as i64);
    for day in [yesterday, clock.wall] {
        match journal::end_of_day(home, day, PAST_BYTES_MAX) {
            Ok(stretch) => stretch.records().for_each(|(_, record)| look(&record)),
            Err(JournalError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The surroundings of a session at this moment.
struct Now<'a> {
    home: &'a Home,
    clock: &'a Clock,
    located: &'a Located,
    agent: Agent,
    session: &'a str,
    /// What the session did, and the key of its last prompt.
    past: OnceCell<(Vec<Past>, String)>,
}

impl<'a> Now<'a> {
    fn new(home: &'a Home, clock: &'a Clock, located: &'a Located, agent: Agent, session: &'a str) -> Now<'a> {
        Now { home, clock, located, agent, session, past: OnceCell::new() }
    }

    fn known_past(&self) -> &(Vec<Past>, String) {
        self.past.get_or_init(|| {
            let session = self.home.cleaner().clean(self.session, Keep::NAME);
            let (mut past, mut turn) = (Vec::new(), String::new());
            // What cannot be read did not happen: in doubt, nothing is refused.
            let _ = each_record(self.home, self.clock, &mut |record| {
                if record.agent != self.agent || record.session != session {
                    return;
                }
                match &record.event {
                    Event::Prompt { .. } => {
                        past.push(Past::Prompt);
                        turn = record.key.to_string();
                    }
                    Event::StopFailure { .. } => past.push(Past::Interrupted),
                    Event::Tool(used) => note(&mut past, used),
                    _ => {}
                }
            });
            (past, turn)
        })
    }

    /// What identifies the current turn.
    fn turn(&self) -> String {
        self.known_past().1.clone()
    }
}

impl Scene for Now<'_> {
    fn place(&self, folder: &str) -> Option<Place> {
        if folder.starts_with('~') {
            return None;
        }
        let path = identity::normal(&self.located.cwd.join(folder));
        let found;
        let there = if folder.is_empty() {
            self.located
        } else {
            found = identity::locate(&path);
            &found
        };
        let inside = there.cwd.strip_prefix(&there.root).unwrap_or(Path::new(""));
        Some(Place {
            project: there.project.clone(),
            folder: inside.to_string_lossy().into_owned(),
            branch: there.branch(),
            is_scratch: is_temporary(&there.root) && there.project != self.located.project,
        })
    }

    fn past(&self) -> Vec<Past> {
        self.known_past().0.clone()
    }

    fn git_hook(&self, name: &str) -> Option<String> {
        git_hook(self.located, name)
    }
}

fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/private/var/folders"].iter().any(|at| path.starts_with(at))
}

/// The script that git runs at this point: in the hooks folder of the repository, or the one that it names.
pub fn git_hook(located: &Located, name: &str) -> Option<String> {
    let common = located.common_dir.as_ref()?;
    let named =
        outside::text(&common.join("config"), GIT_CONFIG_BYTES_MAX).ok().and_then(|text| config::hooks_path(&text));
    let folder = match named {
        // One tool keeps its own scripts below, and the user's beside them.
        Some(folder) => located.root.join(folder.trim_end_matches("/_")),
        None => common.join("hooks"),
    };
    outside::text(&folder.join(name), GIT_HOOK_BYTES_MAX).ok()
}
