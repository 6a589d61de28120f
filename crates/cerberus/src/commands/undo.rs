use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_checkpoint::switch::{SwitchScope, UndoSwitch};
use cerberus_checkpoint::turns::{Turn, TurnReason, inside, is_below};
use cerberus_checkpoint::{ChangedFile, CheckpointError, Checkpoints, TurnMoment, TurnSession, detached, erase};
use cerberus_os::failures;
use cerberus_os::home::create_dir;
use cerberus_record::clean::text;
use cerberus_record::id::Agent;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity::{Located, locate};
use cerberus_store::sessions::caller::CalledBy;
use cerberus_store::sessions::sweep::derive_state;
use cerberus_store::view::{SessionRow, Store};
use serde_json::{Value, json};

use super::check::wire;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::room::room;
use crate::render::time::LocalTime;

/// Put files back as they were before a turn of an agent
///
/// Off until `cerberus undo --on`. While it is on, the files of a git repository are kept before and after every turn, and
/// before commands that may destroy them, as git objects of the repository itself. Ignored and private files, large files
/// and submodules are not kept. Without arguments, the turns are listed.
///
/// An undo shows what it will change and asks first. It keeps the files as they are before it changes them, so it can be
/// undone too. It never touches commits, the branch, the index or the stash. An agent cannot undo.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct UndoArgs {
    #[command(subcommand)]
    pub(super) command: Option<UndoCommand>,

    /// The number of a turn, to restore all files as they were before it; or a file or folder, with --at
    #[arg(value_name = "TURN|FILE")]
    pub(super) what: Option<String>,

    /// Restore the file or folder as it was before this turn
    #[arg(long, value_name = "TURN", requires = "what")]
    at: Option<u32>,

    /// The last turn, or whatever changed last
    #[arg(long, conflicts_with = "what")]
    pub(super) last: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Even while an agent is working on these files
    #[arg(long)]
    anyway: bool,

    /// Keep the files of every turn from now on, in all projects
    #[arg(long, conflicts_with_all = ["what", "last", "off"])]
    pub(super) on: bool,

    /// Stop keeping files; what is already kept stays
    #[arg(long, conflicts_with_all = ["what", "last"])]
    pub(super) off: bool,

    /// Switch it on or off in this project only
    #[arg(long)]
    here: bool,

    /// Keep the files now (called by hooks)
    #[arg(long, hide = true, value_name = "MOMENT", value_parser = moment, conflicts_with_all = ["what", "last", "on", "off"])]
    pub(super) keep: Option<TurnMoment>,

    #[arg(long, hide = true, requires = "keep")]
    agent: Option<String>,

    #[arg(long, hide = true, requires = "agent", allow_hyphen_values = true)]
    session: Option<String>,
}

#[derive(clap::Subcommand)]
pub enum UndoCommand {
    /// Show what a turn changed
    Diff {
        /// The number of the turn
        turn: u32,

        /// Only name the files
        #[arg(long)]
        stat: bool,
    },
}

fn moment(word: &str) -> std::result::Result<TurnMoment, String> {
    TurnMoment::from_word(word).ok_or_else(|| "it is not a moment at which files are kept".to_string())
}

const ON: &str = "`cerberus undo --on` keeps them from now on; --here for this project only";
const LISTED_MAX: usize = 20;
const TITLE_CHARS_MAX: usize = 60;
const NAMED_MAX: usize = 3;

impl UndoArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let located = context.located();
        match self {
            UndoArgs { keep: Some(moment), agent, session, .. } => {
                let session = agent.zip(session).map(|(agent, id)| TurnSession { agent, id });
                keep(context, &located, moment, session);
                Ok(())
            }
            UndoArgs { on: true, here, .. } => switch(context, &located, true, here),
            UndoArgs { off: true, here, .. } => switch(context, &located, false, here),
            UndoArgs { command: Some(UndoCommand::Diff { turn, stat }), .. } => diff(context, &located, turn, stat),
            UndoArgs { what: None, last: false, .. } => list(context, &located),
            UndoArgs { what, at, last, yes, anyway, .. } => {
                undo(context, &located, &Wanted::of(context, &located, what, at, last)?, yes, anyway)
            }
        }
    }
}

/// What is to be put back.
struct Wanted {
    /// `None` for the last one.
    turn: Option<u32>,
    /// As checkpoints name it; `None` for all files.
    path: Option<String>,
}

impl Wanted {
    fn of(context: &Context, located: &Located, what: Option<String>, at: Option<u32>, last: bool) -> Result<Wanted> {
        let Some(what) = what.filter(|_| !last) else { return Ok(Wanted { turn: None, path: None }) };
        match (what.parse(), at) {
            (Ok(turn), None) => Ok(Wanted { turn: Some(turn), path: None }),
            (Err(_), None) => Err(anyhow::anyhow!("which turn? {what} is not the number of a turn"))
                .hint("add --at TURN for a file; `cerberus undo` lists the turns"),
            (_, Some(turn)) => {
                let path = inside(&located.root, &located.cwd, &PathBuf::from(&what))
                    .or_else(|| inside(&located.root, &context.cwd, &PathBuf::from(&what)));
                let outside = || anyhow::anyhow!("{what} is not in {}", located.root.display());
                Ok(Wanted {
                    turn: Some(turn),
                    path: Some(path.ok_or_else(outside).hint("name a file of this project")?),
                })
            }
        }
    }
}

/// Called by hooks, after which nobody looks: what fails is noted.
fn keep(context: &Context, located: &Located, moment: TurnMoment, session: Option<TurnSession>) {
    if context.require_privacy_rules().is_err() {
        return;
    }
    if let Err(error) = detached::keep(&context.home, &context.clock, located, moment, session) {
        failures::note(&context.home, context.clock.now, detached::FAILURE, &error);
    }
}

fn checkpoints<'a>(context: &'a Context, located: &'a Located) -> Result<Checkpoints<'a>> {
    context.config()?;
    Checkpoints::new(&context.home, located).hint("files are kept in git repositories only; `git init` makes one")
}

fn switch(context: &Context, located: &Located, is_on: bool, here: bool) -> Result<()> {
    const AGAIN: &str = "free disk space or fix the folder's permissions, then try again";
    context.require_privacy_rules()?;
    let scope = if here { SwitchScope::Project(&located.project) } else { SwitchScope::Everywhere };
    if is_on && here {
        checkpoints(context, located)?;
    }
    UndoSwitch::read(&context.home).unwrap_or_default().with(scope, is_on).write(&context.home).hint(AGAIN)?;
    wire::print(&wire::rewire(context)?);
    let is_on_here = UndoSwitch::read(&context.home).hint(AGAIN)?.is_on(&located.project);
    let has_git = located.git_dir.is_some();
    if is_on_here && has_git {
        // So that the first turn has something before it.
        detached::keep(&context.home, &context.clock, located, TurnMoment::Before, None)
            .hint("it is on; turns are kept as soon as this is fixed")?;
    }
    context.answer(&json!({ "on": is_on_here && has_git, "git": has_git }), || {
        let place = if here { "in this project" } else { "in all projects" };
        match is_on {
            true => {
                render::sentence(&format!(
                    "files are kept before and after every turn {place}, as git objects of the repository"
                ));
                if !has_git {
                    render::sentence("nothing is kept in this folder: it is not in a git repository");
                }
            }
            false => render::sentence(&format!("nothing more is kept {place}; what is already kept stays")),
        }
    })
}

/// A turn, and what it changed.
#[derive(Clone, Debug)]
pub struct KeptTurn {
    turn: Turn,
    /// The state before it.
    before: String,
    files: Vec<ChangedFile>,
    title: String,
}

impl KeptTurn {
    fn json(&self) -> Value {
        let files = self.files.iter().map(changed_json).collect::<Vec<_>>();
        let session = self.turn.saved.session.as_ref();
        json!({ "turn": self.turn.number, "at": self.turn.at.to_string(), "moment": self.turn.moment().word(),
            "title": self.title, "agent": session.map(|of| &of.agent), "session": session.map(|of| &of.id),
            "files": files, "left_out": self.turn.saved.left_out })
    }

    /// `12  today 11:40  3 files  +10 −4  Fix the parser  (src/a.rs, src/b.rs)`
    pub fn line(&self, local: &LocalTime) -> String {
        let [added, removed] = sums(&self.files);
        let named: Vec<&str> = self.files.iter().take(NAMED_MAX).map(|file| file.path.as_str()).collect();
        let more = self.files.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "{:>4}  {:<16} {:>8}  {:<12} {}  ({}{more})",
            self.turn.number,
            local.when(self.turn.at),
            render::count(self.files.len(), "file"),
            format!("+{added} −{removed}"),
            self.title,
            named.join(", "),
        )
    }
}

fn sums(files: &[ChangedFile]) -> [u64; 2] {
    [files.iter().filter_map(|file| file.added).sum(), files.iter().filter_map(|file| file.removed).sum()]
}

fn changed_json(file: &ChangedFile) -> Value {
    json!({ "path": file.path, "added": file.added, "removed": file.removed })
}

/// The turns that changed something, newest first. The oldest state has nothing before it to compare with.
fn kept(context: &Context, checkpoints: &Checkpoints, is_meant: impl Fn(&Turn) -> bool) -> Result<Vec<KeptTurn>> {
    let turns = checkpoints.turns()?;
    let store = context.view()?;
    let mut titles = TurnTitles { store: &store, now: context.clock.now, asked: HashMap::new() };
    let mut found = Vec::new();
    for pair in turns.windows(2).rev().filter(|pair| is_meant(&pair[1])).take(LISTED_MAX) {
        let files = checkpoints.changed_lines(&pair[0].object, &pair[1].object)?;
        let (turn, before) = (pair[1].clone(), pair[0].object.clone());
        found.push(KeptTurn { title: titles.of(&turn)?, turn, before, files });
    }
    Ok(found)
}

/// The turns of one session, for its page.
pub fn turns_of(context: &Context, session: &SessionRow) -> Result<Vec<KeptTurn>> {
    let located = locate(Path::new(&session.root));
    match Checkpoints::new(&context.home, &located) {
        Ok(checkpoints) if session.device.is_none() && erase::may_have_references(&located) => {
            let is_of = |of: &TurnSession| of.agent == session.agent && of.id == session.agent_session_id;
            kept(context, &checkpoints, |turn| turn.saved.session.as_ref().is_some_and(is_of))
        }
        _ => Ok(Vec::new()),
    }
}

/// What the turns of a session changed, as lines.
pub fn diffs_of(context: &Context, session: &SessionRow) -> Result<Vec<String>> {
    let located = locate(Path::new(&session.root));
    let mut lines = Vec::new();
    for turn in turns_of(context, session)? {
        let checkpoints = checkpoints(context, &located)?;
        lines.push(format!("turn {}: {}", turn.turn.number, turn.title));
        let patch = checkpoints.patch(&turn.before, &turn.turn.object)?;
        lines.extend(patch.lines().map(|line| line.replace('\t', "    ")));
    }
    Ok(lines)
}

fn list(context: &Context, located: &Located) -> Result<()> {
    let checkpoints = checkpoints(context, located)?;
    let is_on = cerberus_checkpoint::switch::is_on(&context.home, &located.project);
    if is_on && context.require_privacy_rules().is_ok() {
        let found = TurnReason::of(TurnMoment::Found);
        let kept = checkpoints
            .keep(found, context.clock.now)
            .hint("until this is fixed, what was kept before cannot be listed")?;
        checkpoints.prune(kept.as_ref(), &context.clock)?;
    }
    let listed = kept(context, &checkpoints, |_| true)?;
    let turns: Vec<Value> = listed.iter().map(KeptTurn::json).collect();
    context.answer(&json!({ "on": is_on, "turns": turns }), || {
        let local = LocalTime::new(context.clock.now);
        listed.iter().for_each(|turn| render::line(&turn.line(&local)));
        match (is_on, listed.is_empty()) {
            (false, _) => render::sentence(&format!("files are not kept here; {ON}")),
            (true, true) => render::sentence("`undo` is on, but no turn has changed a file yet"),
            (true, false) => {
                render::talk(
                    "`cerberus undo TURN` puts all files back as they were before that turn; `cerberus undo diff TURN` shows what it changed",
                );
            }
        }
        for turn in listed.iter().take(1).filter(|turn| !turn.turn.saved.left_out.is_empty()) {
            render::line(&format!(
                "not kept, because too large or being written: {}",
                turn.turn.saved.left_out.join(", ")
            ));
        }
    })
}

/// What turns are called: by the request before them.
struct TurnTitles<'s> {
    store: &'s Store,
    now: Timestamp,
    asked: HashMap<(String, String), Vec<(Timestamp, String)>>,
}

impl TurnTitles<'_> {
    fn of(&mut self, turn: &Turn) -> Result<String> {
        // Git counts in seconds.
        let until = turn.at.plus(Duration::from_millis(999));
        let asked = match &turn.saved.session {
            Some(TurnSession { agent, id }) => self.asked(agent, id)?.iter().rev().find(|(at, _)| *at <= until),
            None => None,
        };
        let asked = asked.map(|(_, asked)| text::line(asked, TITLE_CHARS_MAX));
        Ok(match (turn.moment(), asked) {
            (TurnMoment::Before | TurnMoment::Found, _) => "changed by hand, or by a turn that did not end".to_string(),
            (TurnMoment::Undo, _) => text::line(&turn.saved.title, TITLE_CHARS_MAX),
            (TurnMoment::Command, Some(asked)) => format!("{asked} (up to a command that may destroy files)"),
            (TurnMoment::Turn, Some(asked)) => asked,
            (TurnMoment::Command | TurnMoment::Turn, None) => "a turn".to_string(),
        })
    }

    fn asked(&mut self, agent: &str, id: &str) -> Result<&[(Timestamp, String)]> {
        let key = (agent.to_string(), id.to_string());
        if !self.asked.contains_key(&key) {
            let session = match Agent::from_name(agent) {
                Some(agent) => self.store.agent_session(agent, id, self.now)?,
                None => None,
            };
            let asked = session.map(|session| self.store.asked(&session, self.now)).transpose()?;
            self.asked.insert(key.clone(), asked.unwrap_or_default());
        }
        Ok(self.asked.get(&key).map_or(&[], Vec::as_slice))
    }
}

fn diff(context: &Context, located: &Located, number: u32, stat: bool) -> Result<()> {
    let checkpoints = checkpoints(context, located)?;
    let turns = checkpoints.turns()?;
    let before = checkpoints.before(&turns, number).hint("`cerberus undo` lists the turns")?;
    let missing = CheckpointError::NoTurn(number);
    let turn = turns.iter().find(|turn| turn.number == number).ok_or(missing)?;
    let files = checkpoints.changed_lines(&before.object, &turn.object)?;
    let patch = if stat { None } else { checkpoints.patch(&before.object, &turn.object).ok() };
    let listed: Vec<Value> = files.iter().map(changed_json).collect();
    context.answer(&json!({ "turn": number, "files": listed, "patch": patch }), || print_diff(&files, patch.as_deref()))
}

fn print_diff(files: &[ChangedFile], patch: Option<&str>) {
    for file in files {
        let lines = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!("+{added} −{removed}"),
            _ => "binary".to_string(),
        };
        render::line(&format!("{lines:>12}  {}", file.path));
    }
    if let Some(patch) = patch.filter(|patch| !patch.is_empty()) {
        render::block(&format!("\n{}", patch.replace('\t', "    ")));
    }
}

fn undo(context: &Context, located: &Located, wanted: &Wanted, yes: bool, anyway: bool) -> Result<()> {
    const LIST: &str = "`cerberus undo` lists the turns";
    context.require_privacy_rules()?;
    let checkpoints = checkpoints(context, located)?;
    if !anyway {
        refuse_while_working(context, located)?;
    }
    if checkpoints.turns()?.is_empty() {
        return Err(anyhow::anyhow!("no files are kept in this project")).hint(ON);
    }
    checkpoints
        .keep(TurnReason::of(TurnMoment::Found), context.clock.now)
        .hint("nothing was changed; the files must be kept as they are before anything is put back")?;
    let turns = checkpoints.turns()?;
    let missing = || anyhow::anyhow!("no files are kept in this project");
    let found = turns.last().ok_or_else(missing).hint(ON)?;
    let number = wanted.turn.unwrap_or(found.number);
    let before = checkpoints.before(&turns, number).hint(LIST)?;
    let is_meant = |path: &str| wanted.path.as_deref().is_none_or(|wanted| is_below(path, wanted));
    let mut files = checkpoints.changed_lines(&found.object, &before.object)?;
    files.retain(|file| is_meant(&file.path));
    if files.is_empty() {
        return context.answer(&json!({ "turn": number, "written": [], "removed": [], "kept": [] }), || {
            render::sentence(&format!("nothing to do: the files are as they were before turn {number}"));
        });
    }
    if !context.json {
        let patch = checkpoints.patch_of(&found.object, &before.object, wanted.path.as_deref()).ok();
        print_diff(&files, patch.as_deref().filter(|_| !yes));
    }
    let question = format!("Put {} back to before turn {number}?", render::count(files.len(), "file"));
    render::confirm(&question, yes)?;
    put_back(context, &checkpoints, found, before, wanted, number)
}

fn put_back(
    context: &Context,
    checkpoints: &Checkpoints,
    found: &Turn,
    before: &Turn,
    wanted: &Wanted,
    number: u32,
) -> Result<()> {
    let restored = checkpoints.undo(found, before, wanted.path.as_deref());
    let hint = match &restored {
        Err(CheckpointError::InTheWay(_)) => "nothing was changed; move these files away and try again",
        Err(CheckpointError::Changed(_)) => "nothing was changed; try again when nothing else writes these files",
        Err(CheckpointError::Lost(_)) => "nothing was changed; `cerberus undo` lists other turns",
        _ => "no files were lost; fix the problem and try again",
    };
    let restored = restored.hint(hint)?;
    let reason = TurnReason { title: format!("undo of turn {number}"), ..TurnReason::of(TurnMoment::Undo) };
    let undone = checkpoints
        .keep(reason, context.clock.now)
        .hint("the files are put back, but this undo could not be added to the list")?;
    let undone = undone.map_or(found.number, |turn| turn.number);
    let (written, removed) = (restored.written.len(), restored.removed.len());
    let answer = json!({ "turn": number, "written": restored.written, "removed": restored.removed,
        "kept": restored.kept, "undo": undone });
    context.answer(&answer, || {
        let files = render::count(written, "file");
        render::sentence(&format!("{files} put back, {removed} removed; `cerberus undo {undone}` takes this back"));
        if !restored.kept.is_empty() {
            render::line(&format!("not kept, so left as they are: {}", restored.kept.join(", ")));
        }
    })
}

/// An agent that has not answered its last prompt may be changing files at this moment.
fn refuse_while_working(context: &Context, located: &Located) -> Result<()> {
    let store = context.view()?;
    let now = context.clock.now;
    for session in store.open_sessions(now.minus(IDLE_AFTER), now)? {
        let (session, _) = derive_state(session, &context.clock, IDLE_AFTER);
        let is_here = Path::new(&session.root) == located.root && session.device.is_none();
        if is_here && session.state.status.is_live() && store.unanswered_prompt(&session, now)?.is_some() {
            return Err(anyhow::anyhow!("{} is working on these files in session {}", session.agent, session.id))
                .hint("wait for the end of its turn, interrupt it, or go ahead with --anyway");
        }
    }
    Ok(())
}

/// One line about it for `status`; `None` if there is nothing to say.
pub fn status_line(context: &Context, located: &Located) -> Option<String> {
    let is_on = cerberus_checkpoint::switch::is_on(&context.home, &located.project);
    let checkpoints = Checkpoints::new(&context.home, located);
    let Ok(checkpoints) = checkpoints else {
        return is_on.then(|| "off here: not a git repository".to_string());
    };
    if !is_on && !erase::may_have_references(located) {
        return None;
    }
    let turns = checkpoints.turns().ok()?;
    if !is_on && turns.is_empty() {
        return None;
    }
    let room = checkpoints.room().map_or(String::new(), |taken| format!("; {}", room(&taken, context.clock.now)));
    let is_on = if is_on { "on" } else { "off" };
    Some(format!("{is_on}; {} kept{room}", render::count(turns.len(), "state")))
}

/// A line for `status` while it is off, for people and only once.
pub fn mention(context: &Context, located: &Located) -> Option<(&'static str, String)> {
    let mark = context.home.checkpoints_dir().join("mentioned");
    let is_for_people = std::io::stdout().is_terminal() && context.caller().is_ok_and(|by| by == CalledBy::Person);
    if located.git_dir.is_none() || !is_for_people || mark.exists() {
        return None;
    }
    create_dir(&context.home.checkpoints_dir()).and_then(|()| context.home.replace(&mark, b"")).ok()?;
    Some(("undo", "off; `cerberus undo --on` keeps your files before and after every turn".to_string()))
}
