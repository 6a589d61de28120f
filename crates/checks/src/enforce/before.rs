//! What a hook answers before a tool use, and at the end of a turn.
//!
//! No SQLite: the rules are in one file, what was denied lately in another, and what happened before is at the end of the
//! journal. That is read only if a rule is about what happened before, or if the user let a violation pass. Where nothing
//! may be stored, nothing is enforced, unless somebody else said so: a `.nocerberus` that was committed leaves the checks
//! on until the user confirms it.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_agents::action::Action;
use cerberus_agents::before::{self, Before, HookRefusal};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_record::check::{CheckDecision, CheckVerdict};
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Record};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::project::config;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::{self, JournalError, own_record};
use cerberus_store::project::identity::{self, Located};
use cerberus_store::project::privacy;
use memchr::{memchr, memmem, memrchr};

use super::denied::{DeniedCall, EarlierDenial};
use super::file;
use crate::decide::{decide, decide_stop};
use crate::reason::reason;
use crate::replay::note;
use crate::scene::{Past, Scene, SceneFolder, Sources};
use crate::{Check, CheckLevel, Rule};

/// How much of the journal is read for what a session did before.
const PAST_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long the user's permission for one violation holds.
const ALLOWED_MAX: Duration = Duration::from_secs(60 * 60);
const GIT_HOOK_BYTES_MAX: u64 = 256 * 1024;
/// A file with the tasks of a project.
const TASKS_BYTES_MAX: u64 = 256 * 1024;
const GIT_CONFIG_BYTES_MAX: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, thiserror::Error)]
pub enum RefuseError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {source}; any `cerberus check` command writes it again")]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

type DatedChecks = Vec<(Check, Option<Timestamp>)>;

/// The rules; `None` if there are none.
fn known(home: &Home) -> Result<Option<DatedChecks>, RefuseError> {
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
    let is_recorded = privacy::storage_block(home, clock.now, &located).is_none();
    let is_others_wish = || {
        privacy::unconfirmed_opt_out(home, &located).is_some()
            && privacy::paused_here(home, clock.now, &located).is_none()
    };
    if !is_recorded && !is_others_wish() {
        return Ok(None);
    }
    let known = known.into_iter().filter(|(check, _)| is_recorded || !check.rule.needs_past());
    let scene = Now { user_home: variable("HOME"), ..Now::new(home, clock, &located, before.agent, &before.session) };
    let (checks, allowed): (Vec<Check>, Vec<Option<Timestamp>>) = known.unzip();
    let Some(hit) = decide(&checks, &before.action, &scene) else { return Ok(None) };
    let check = &checks[hit.check];
    let tried = format!("{:016x}", fnv1a(format!("{} {:?}", check.id, tried_text(&before)).as_bytes()));
    let asker = Asker { home, clock, located: &located, agent: before.agent, session: &before.session, is_recorded };
    let attempt = DeniedCall::new(before.agent.name(), &before.session, &tried, &before.call);
    let denied = attempt.denied(home);
    let permission = allowed[hit.check].filter(|at| clock.now.since(*at) <= ALLOWED_MAX);
    if let Some(at) = permission.filter(|_| denied != Some(EarlierDenial::ThisCall))
        && asker.is_allowed(check, at, &tried, &before.call)?
    {
        return Ok(None);
    }
    let level = match check.level {
        CheckLevel::Ask if !before::can_ask(before.agent, variable) => CheckLevel::Remind,
        level => level,
    };
    let verdict = match level {
        CheckLevel::Ask => CheckVerdict::Asked,
        CheckLevel::Remind if denied == Some(EarlierDenial::Before) => CheckVerdict::Overridden,
        _ => CheckVerdict::Denied,
    };
    if denied != Some(EarlierDenial::ThisCall) {
        if verdict == CheckVerdict::Denied {
            let remembered = attempt.deny(home);
            // A reminder that is not remembered would never end; a block is not meant to.
            if level != CheckLevel::Block {
                remembered.map_err(|source| RefuseError::Write { path: home.denied(), source })?;
            }
        }
        asker.record(check, verdict, tried, &before.call)?;
    }
    let refusal = match verdict {
        CheckVerdict::Overridden | CheckVerdict::Allowed => return Ok(None),
        CheckVerdict::Asked => HookRefusal::Ask,
        CheckVerdict::Denied => HookRefusal::Deny,
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
pub struct TurnEnding<'a> {
    pub agent: Agent,
    pub session: &'a str,
    pub located: &'a Located,
    pub payload: &'a [u8],
}

/// The reply that lets a turn go on; `None` if it may end. Once per turn.
pub fn at_stop(home: &Home, clock: &Clock, ending: &TurnEnding) -> Result<Option<String>, RefuseError> {
    let Some(known) = known(home)? else { return Ok(None) };
    let is_about_it = |(check, _): &(Check, Option<Timestamp>)| matches!(check.rule, Rule::Stop { .. });
    let checks: Vec<Check> = known.into_iter().filter(is_about_it).map(|(check, _)| check).collect();
    if checks.is_empty() || before::is_stopped_again(ending.payload) {
        return Ok(None);
    }
    let TurnEnding { agent, session, located, .. } = ending;
    let scene = Now::new(home, clock, located, *agent, session);
    let Some(hit) = decide_stop(&checks, &scene) else { return Ok(None) };
    let check = &checks[hit.check];
    let turn = scene.turn();
    let earlier = EarlierDecisions::read(home, clock, agent, session, check)?;
    let Some(reply) = before::refuse(*agent, HookRefusal::GoOn, &reason(check, &hit, check.level)) else {
        return Ok(None);
    };
    if earlier.has("stop", &turn, CheckVerdict::Denied) {
        return Ok(None);
    }
    let asker = Asker { home, clock, located, agent: *agent, session, is_recorded: true };
    asker.record(check, CheckVerdict::Denied, "stop".to_string(), &turn)?;
    Ok(Some(reply))
}

/// Who is about to do something, and where.
struct Asker<'a> {
    home: &'a Home,
    clock: &'a Clock,
    located: &'a Located,
    agent: Agent,
    session: &'a str,
    /// Whether anything may be stored here.
    is_recorded: bool,
}

impl Asker<'_> {
    /// Whether the permission that the user gave at a time lets this call pass. If so, it is used up.
    fn is_allowed(&self, check: &Check, at: Timestamp, tried: &str, call: &str) -> Result<bool, JournalError> {
        let earlier = EarlierDecisions::read(self.home, self.clock, &self.agent, self.session, check)?;
        // Two hooks may report one call; both answer the same.
        if earlier.has(tried, call, CheckVerdict::Allowed) {
            return Ok(true);
        }
        let is_unused = earlier.used_at.is_none_or(|used| used < at);
        if is_unused {
            self.record(check, CheckVerdict::Allowed, tried.to_string(), call)?;
        }
        Ok(is_unused)
    }

    fn record(&self, check: &Check, verdict: CheckVerdict, tried: String, call: &str) -> Result<(), JournalError> {
        if !self.is_recorded {
            return Ok(());
        }
        let clean = |text: &str| self.home.cleaner().clean(text.to_string(), Keep::NAME);
        let own = if call.is_empty() {
            format!("{}-{}", self.clock.wall.millis(), std::process::id())
        } else {
            call.to_string()
        };
        let key = format!("decision-{}-{tried}-{own}", check.id);
        let decision = CheckDecision { memory: clean(&check.id), verdict, tried: clean(&tried), call: clean(call) };
        let location = self.located.location(self.home.cleaner());
        let event = Event::Decision(decision);
        let record = own_record(self.home, self.clock, self.agent, self.session, location, key, event);
        journal::append(self.home, self.clock.wall, &record)
    }
}

/// Decisions about one check, from the end of the journal.
struct EarlierDecisions {
    /// In this session: what was tried, the call, the verdict.
    own: Vec<(String, String, CheckVerdict)>,
    /// When the user's permission was last used, in any session.
    used_at: Option<Timestamp>,
}

impl EarlierDecisions {
    fn read(
        home: &Home,
        clock: &Clock,
        agent: &Agent,
        session: &str,
        check: &Check,
    ) -> Result<EarlierDecisions, JournalError> {
        let session = home.cleaner().clean(session, Keep::NAME);
        let mut earlier = EarlierDecisions { own: Vec::new(), used_at: None };
        each_record(home, clock, &check.id, &mut |record| {
            let Event::Decision(decision) = &record.event else { return };
            if *decision.memory != *check.id {
                return;
            }
            if decision.verdict == CheckVerdict::Allowed {
                earlier.used_at = earlier.used_at.max(Some(record.at));
            }
            if record.agent == *agent && record.session == session {
                earlier.own.push((decision.tried.to_string(), decision.call.to_string(), decision.verdict));
            }
        })?;
        Ok(earlier)
    }

    /// Whether another hook already reported the same try.
    fn has(&self, tried: &str, call: &str, verdict: CheckVerdict) -> bool {
        !call.is_empty()
            && self.own.iter().any(|(what, id, decided)| what == tried && id == call && *decided == verdict)
    }
}

/// The last records of yesterday and today that may contain this word. The others are not decoded: there may be
/// thousands.
fn each_record(home: &Home, clock: &Clock, word: &str, look: &mut dyn FnMut(&Record)) -> Result<(), JournalError> {
    let yesterday = Timestamp::from_millis(clock.wall.millis() - DAY.as_millis() as i64);
    for day in [yesterday, clock.wall] {
        match journal::end_of_day(home, day, PAST_BYTES_MAX) {
            Ok(stretch) => {
                for sealed in lines_with(&stretch.bytes, word).filter_map(journal::decode) {
                    sealed.record().iter().for_each(&mut *look);
                }
            }
            Err(JournalError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The lines that contain a word. If its characters may be written in another way, all lines.
fn lines_with<'b>(bytes: &'b [u8], word: &str) -> impl Iterator<Item = &'b [u8]> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let finder = memmem::Finder::new(if is_plain { word } else { "" }).into_owned();
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let found = finder.find(rest).filter(|_| !rest.is_empty())?;
        let begin = memrchr(b'\n', &rest[..found]).map_or(0, |at| at + 1);
        let end = memchr(b'\n', &rest[found..]).map_or(rest.len(), |at| found + at);
        let line = &rest[begin..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

/// The surroundings of a session at this moment.
struct Now<'a> {
    home: &'a Home,
    clock: &'a Clock,
    located: &'a Located,
    agent: Agent,
    session: &'a str,
    /// What `~` stands for.
    user_home: Option<String>,
    /// What the session did, and the key of its last prompt.
    past: OnceCell<(Vec<Past>, String)>,
}

impl<'a> Now<'a> {
    fn new(home: &'a Home, clock: &'a Clock, located: &'a Located, agent: Agent, session: &'a str) -> Now<'a> {
        Now { home, clock, located, agent, session, user_home: None, past: OnceCell::new() }
    }

    fn known_past(&self) -> &(Vec<Past>, String) {
        self.past.get_or_init(|| {
            let session = self.home.cleaner().clean(self.session, Keep::NAME);
            let (mut past, mut turn) = (Vec::new(), String::new());
            // What cannot be read did not happen: in doubt, nothing is refused.
            let _ = each_record(self.home, self.clock, &session, &mut |record| {
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
    fn place(&self, folder: &str) -> Option<SceneFolder> {
        let path = match folder.strip_prefix('~') {
            None => self.located.cwd.join(folder),
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Path::new(self.user_home.as_ref()?).join(rest.trim_start_matches('/'))
            }
            Some(_) => return None,
        };
        let path = identity::normal(&path);
        let found;
        let there = if folder.is_empty() {
            self.located
        } else {
            found = identity::locate(&path);
            &found
        };
        let inside = there.cwd.strip_prefix(&there.root).unwrap_or(Path::new(""));
        Some(SceneFolder {
            project: there.project.clone(),
            folder: inside.to_string_lossy().into_owned(),
            branch: there.branch(),
            is_scratch: is_temporary(&there.root) && there.project != self.located.project,
        })
    }

    fn past(&self) -> Vec<Past> {
        self.known_past().0.clone()
    }
}

impl Sources for Now<'_> {
    fn git_hook(&self, name: &str) -> Option<String> {
        self.located.git_hook(name)
    }

    fn file(&self, folder: &str, name: &str) -> Option<String> {
        self.located.file(folder, name)
    }
}

/// A project as it is now.
impl Sources for Located {
    /// In the hooks folder of the repository, or the one that it names.
    fn git_hook(&self, name: &str) -> Option<String> {
        let common = self.common_dir.as_ref()?;
        let named =
            outside::text(&common.join("config"), GIT_CONFIG_BYTES_MAX).ok().and_then(|text| config::hooks_path(&text));
        let folder = match named {
            // One tool keeps its own scripts below, and the user's beside them.
            Some(folder) => self.root.join(folder.trim_end_matches("/_")),
            None => common.join("hooks"),
        };
        outside::text(&folder.join(name), GIT_HOOK_BYTES_MAX).ok()
    }

    fn file(&self, folder: &str, name: &str) -> Option<String> {
        let there = identity::normal(&self.cwd.join(folder));
        let is_inside = there.starts_with(&self.root) && !folder.starts_with('~');
        let mut folders = is_inside.then_some(there.as_path()).into_iter().chain([self.root.as_path()]);
        folders.find_map(|folder| outside::text(&folder.join(name), TASKS_BYTES_MAX).ok())
    }
}

fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/private/var/folders"].iter().any(|at| path.starts_with(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_the_word_are_looked_at() {
        let text = b"\n{a s-1}\n\n{b s-2 s-1}\n{c s-2}\n{d s-1";
        let lines = |word: &str| lines_with(text, word).map(|line| str::from_utf8(line).unwrap()).collect::<Vec<_>>();
        assert_eq!(lines("s-1"), ["{a s-1}", "{b s-2 s-1}", "{d s-1"]);
        assert_eq!(lines("s-2"), ["{b s-2 s-1}", "{c s-2}"]);
        assert_eq!(lines("s-3"), [""; 0]);
        assert_eq!(lines("s \"x\""), ["", "{a s-1}", "", "{b s-2 s-1}", "{c s-2}", "{d s-1"]);
        assert_eq!(lines_with(b"", "x").count() + lines_with(b"", "").count(), 0);
    }
}
