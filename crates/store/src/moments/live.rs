//! Another session is at work in the same working tree.
//!
//! Nearly always there is none, and a hook before a tool must find that out without the view. So the start of a session
//! notes in a small file that it is not alone, by a hash of the folder; the first hook that finds nobody left removes it.

use std::io;
use std::path::Path;

use cerberus_agents::action::{Action, WrittenFile};
use cerberus_agents::before::Before;
use cerberus_os::home::Home;
use cerberus_recall::moments::live::{self, GitSweep, covers};
use cerberus_recall::moments::told;
use cerberus_record::fact::FactKind;
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::session::CARRY_OVER;
use cerberus_record::time::Timestamp;

use crate::project::git;
use crate::project::identity::{self, Located};
use crate::sessions::find::is_running;
use crate::view::{self, SessionRow, Store};

/// A line has 17 bytes; more folders are not remembered.
const SHARED_BYTES_MAX: u64 = 17 * 256;
/// Git compares each with every file that it tracks.
const ASKED_ABOUT_MAX: usize = 50;

/// The other sessions that run in the same working tree.
fn others(
    store: &Store,
    located: &Located,
    (agent, session): (Agent, &str),
    now: Timestamp,
) -> view::Result<Vec<SessionRow>> {
    let root = located.root.to_string_lossy();
    let is_own = |row: &SessionRow| row.agent == agent.name() && row.agent_session_id == session;
    let mut open = store.open_sessions(now.minus(CARRY_OVER), now)?;
    open.retain(|row| row.root == root && !is_own(row) && is_running(row, now));
    Ok(open)
}

/// Notes whether the session that starts is alone in its working tree.
pub fn note_shared(
    home: &Home,
    store: &Store,
    located: &Located,
    own: (Agent, &str),
    now: Timestamp,
) -> view::Result<()> {
    let is_shared = !others(store, located, own, now)?.is_empty();
    // Without the note, nothing is told: that is no reason to fail.
    let _ = SharedTrees::read(home).set(home, &located.root, is_shared);
    Ok(())
}

/// Whether any working tree is shared. All that most hooks ask.
pub fn is_any_shared(home: &Home) -> bool {
    home.shared().exists()
}

/// The hashes of the shared working trees.
struct SharedTrees(Vec<String>);

impl SharedTrees {
    fn read(home: &Home) -> SharedTrees {
        let text = home.text(&home.shared(), SHARED_BYTES_MAX).unwrap_or_default();
        SharedTrees(text.lines().map(str::to_string).collect())
    }

    fn hash(root: &Path) -> String {
        format!("{:016x}", fnv1a(root.as_os_str().as_encoded_bytes()))
    }

    fn has(&self, root: &Path) -> bool {
        self.0.contains(&SharedTrees::hash(root))
    }

    fn set(mut self, home: &Home, root: &Path, is_shared: bool) -> io::Result<()> {
        if self.has(root) == is_shared {
            return Ok(());
        }
        let hash = SharedTrees::hash(root);
        match is_shared {
            true => self.0.push(hash),
            false => self.0.retain(|known| *known != hash),
        }
        match self.0.is_empty() {
            true => std::fs::remove_file(home.shared()),
            false => {
                let newest = self.0.iter().rev().take(SHARED_BYTES_MAX as usize / 17);
                let text: String = newest.rev().map(|hash| format!("{hash}\n")).collect();
                home.replace(&home.shared(), text.as_bytes())
            }
        }
    }
}

/// What is told before a tool runs.
#[derive(Debug, PartialEq, Eq)]
pub struct LiveTold {
    pub text: String,
    /// How its receipt names it. What has a receipt is not told again.
    pub code: String,
    /// The tool must not run this time: what it would take away cannot be brought back afterwards.
    pub is_held: bool,
}

/// What a tool would do to the work of others.
#[derive(Debug)]
pub enum LiveRisk {
    /// It changes these files.
    Edit(Vec<String>),
    /// It changes what is not committed.
    Sweep(GitSweep, Box<Located>),
}

/// The risk, if the working tree is shared.
pub fn risk(home: &Home, before: &Before, located: &Located) -> Option<LiveRisk> {
    let shared = SharedTrees::read(home);
    match &before.action {
        Action::Write(files) => {
            let inside = |file: &WrittenFile| identity::relative(located, Path::new(&before.cwd), &file.path);
            shared.has(&located.root).then(|| LiveRisk::Edit(files.iter().map(inside).collect()))
        }
        Action::Shell { line, folder } => {
            let base = located.cwd.join(folder.as_deref().unwrap_or_default());
            let swept = live::sweeps(line).into_iter().map(|sweep| {
                let there = identity::locate(&identity::normal(&base.join(&sweep.folder)));
                (sweep, there)
            });
            let (sweep, there) = { swept }.find(|(_, there)| shared.has(&there.root))?;
            Some(LiveRisk::Sweep(sweep, Box::new(there)))
        }
    }
}

/// What the session is told about it, once. `None` if nobody is at work there, or nothing of theirs is touched.
pub fn told(
    home: &Home,
    store: &Store,
    located: &Located,
    session: &SessionRow,
    agent: Agent,
    risk: &LiveRisk,
    now: Timestamp,
) -> view::Result<Option<LiveTold>> {
    let there = match risk {
        LiveRisk::Edit(_) => located,
        LiveRisk::Sweep(_, there) => there,
    };
    let others = others(store, there, (agent, &session.agent_session_id), now)?;
    if others.is_empty() {
        let _ = SharedTrees::read(home).set(home, &there.root, false);
        return Ok(None);
    }
    let known = store.told_codes(session, now)?;
    for other in others {
        let found = match risk {
            LiveRisk::Edit(files) => edited(store, session, &other, files, now)?,
            LiveRisk::Sweep(sweep, there) => swept(store, &other, sweep, there, now)?,
        };
        if let Some(told) = found.filter(|told| !known.contains(&told.code)) {
            return Ok(Some(told));
        }
    }
    Ok(None)
}

/// The first of these files that the other session has changed since this one last saw it.
fn edited(
    store: &Store,
    own: &SessionRow,
    other: &SessionRow,
    files: &[String],
    now: Timestamp,
) -> view::Result<Option<LiveTold>> {
    for file in files {
        let Some(changed) = store.last_touch(other, file, &[FactKind::File], now)? else { continue };
        let seen = store.last_touch(own, file, &[FactKind::File, FactKind::Read], now)?;
        if seen.is_none_or(|seen| seen < changed) {
            let text = live::edit_told(&other.agent, file, changed, now);
            let code = told::changed_code(other.id.as_str(), file);
            return Ok(Some(LiveTold { text, code, is_held: false }));
        }
    }
    Ok(None)
}

/// The files that the other session changed and nobody committed, if the command touches any.
fn swept(
    store: &Store,
    other: &SessionRow,
    sweep: &GitSweep,
    there: &Located,
    now: Timestamp,
) -> view::Result<Option<LiveTold>> {
    let mut files = store.edited_files(other, now)?;
    files.retain(|file| {
        !Path::new(file).is_absolute() && !file.starts_with("..") && !store.privacy_rules().is_private(file)
    });
    if let Some(paths) = &sweep.paths {
        let paths: Vec<String> = paths.iter().map(|path| identity::relative(there, &there.cwd, path)).collect();
        files.retain(|file| paths.iter().any(|path| covers(path, file)));
    }
    files.truncate(ASKED_ABOUT_MAX);
    if files.is_empty() {
        return Ok(None);
    }
    let asked: Vec<&str> = files.iter().map(String::as_str).collect();
    let Some(printed) = git::status(there, &asked) else { return Ok(None) };
    let uncommitted = git::read_status(&printed).uncommitted;
    files.retain(|file| uncommitted.contains(file));
    Ok((!files.is_empty()).then(|| LiveTold {
        text: live::sweep_told(&other.agent, &files, &sweep.name),
        code: told::held_code(other.id.as_str()),
        is_held: true,
    }))
}
