//! Reads what the screen shows, and makes the changes that the user decides. The same functions as those of
//! `log`, `show`, `search`, `stats`, `review` and `loop` do the work.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use cerberus_store::brief::usage;
use cerberus_store::browse::log::{self, LogFilter};
use cerberus_store::browse::{page, proposals, told};
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::{SessionRow, Store, fold};

use super::loop_runs;
use super::state::{Dialog, LoadedSession, ScreenData, ScreenEffect, ScreenState, Tab};
use crate::commands::brief::BriefArgs;
use crate::commands::memory::changed::changed;
use crate::commands::memory::found::find;
use crate::commands::stats::files_line;
use crate::commands::undo;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::passages;
use crate::render::time::LocalTime;
use crate::render::usage::session_cost;
use crate::usage::gather::{self, UsageSources};
use crate::usage::money::Spent;

/// How many sessions the first frame has.
const FIRST: usize = 200;
/// Even if nothing was recorded, active sessions become idle.
const AGE_EVERY: Duration = Duration::from_secs(30);
/// Shorter words would be found nearly everywhere.
const SEARCH_CHARS_MIN: usize = 3;

pub struct ScreenSource {
    context: Context,
    store: Store,
    /// The version of the view that is shown, and since when.
    shown: ((i64, u64), Instant),
}

impl ScreenSource {
    pub fn open(context: &Context) -> Result<ScreenSource> {
        let context = context.now_again();
        let store = context.view()?;
        let shown = (store.version()?, Instant::now());
        Ok(ScreenSource { context, store, shown })
    }

    pub fn local(&self) -> LocalTime {
        LocalTime::new(self.context.clock.now)
    }

    /// The ids and the name of the project of the current folder.
    pub fn here(&self) -> Result<(Vec<ProjectId>, String)> {
        let located = self.context.located();
        let ids = joined(&self.store, &located, self.context.clock.now)?.ids;
        Ok((ids, located.name))
    }

    /// Enough for the first frame.
    pub fn read_newest(&mut self, state: &mut ScreenState) -> Result<()> {
        let filter = LogFilter { limit: Some(FIRST), ..LogFilter::default() };
        let sessions = log::log(&mut self.store, &self.context.clock, &filter)?.sessions;
        state.take(ScreenData { sessions, ..ScreenData::default() });
        Ok(())
    }

    /// Finds out what became of open sessions, then reads everything.
    pub fn catch_up(&mut self, state: &mut ScreenState) -> Result<()> {
        self.store = self.context.swept_store()?;
        self.read(state)
    }

    /// Reads again if something has changed.
    pub fn look_again(&mut self, state: &mut ScreenState) {
        self.context = self.context.now_again();
        state.local = self.local();
        let looked = self.has_changed().and_then(|has_changed| match has_changed {
            true => self.read(state),
            false => self.read_loops(state),
        });
        let looked = looked.and_then(|()| self.read_cost(state));
        report(state, looked);
    }

    /// A transcript may be long, so it is read only when no key was pressed for a while.
    fn read_cost(&self, state: &mut ScreenState) -> Result<()> {
        let Some(session) = state.page().filter(|loaded| loaded.cost.is_none()).map(session_of) else { return Ok(()) };
        let (clock, surroundings) = (&self.context.clock, self.context.agent_surroundings());
        let sources = UsageSources { home: &self.context.home, store: &self.store, clock, surroundings: &surroundings };
        let used = gather::sessions(&sources, vec![session], |_, _| {})?;
        let prices = self.context.config()?.prices;
        let spent = Spent::of(used.iter().flat_map(|used| &used.calls), &prices);
        let cost = session_cost(&spent, !prices.is_empty()).unwrap_or_default();
        state.loaded.iter_mut().for_each(|loaded| loaded.cost = Some(cost.clone()));
        Ok(())
    }

    fn has_changed(&mut self) -> Result<bool> {
        fold::fold(&self.context.home, &mut self.store)?;
        let (version, since) = self.shown;
        Ok(self.store.version()? != version || since.elapsed() >= AGE_EVERY)
    }

    fn read(&mut self, state: &mut ScreenState) -> Result<()> {
        let now = self.context.clock.now;
        let sessions = log::log(&mut self.store, &self.context.clock, &LogFilter::default())?.sessions;
        let located = self.context.located();
        let (keeper, surroundings) = (self.context.keeper(&located), self.context.agent_surroundings());
        let proposals = proposals::proposals(&keeper, &surroundings, &mut self.store)?;
        let told: HashSet<i64> = self.store.told_sessions(now)?.into_iter().collect();
        let (loops, names) = loops(&self.context, &self.store)?;
        let usage = std::mem::take(&mut state.data.usage);
        state.take(ScreenData { sessions, told, proposals, loops, names, usage });
        state.filter.searched.clear();
        self.shown = (self.store.version()?, Instant::now());
        Ok(())
    }

    fn read_loops(&mut self, state: &mut ScreenState) -> Result<()> {
        let (loops, names) = loops(&self.context, &self.store)?;
        (state.data.loops, state.data.names) = (loops, names);
        state.keep_in_range();
        Ok(())
    }

    /// Reads what the state shows and does not have yet.
    pub fn complete(&mut self, state: &mut ScreenState) {
        let completed = self.try_complete(state);
        report(state, completed);
    }

    fn try_complete(&mut self, state: &mut ScreenState) -> Result<()> {
        let now = self.context.clock.now;
        let typed = state.filter.text.trim();
        if state.filter.searched != typed {
            state.filter.searched = typed.to_string();
            state.filter.found.clear();
            state.filter.passages.clear();
            if typed.chars().count() >= SEARCH_CHARS_MIN {
                self.store.index_entries(|_, _| {})?;
                state.filter.found = self.store.sessions_with(typed, None, now)?.into_iter().collect();
                state.filter.passages = passages::by_session(&self.context, &mut self.store, typed)?;
                state.filter.found.extend(state.filter.passages.keys());
            }
        }
        let missing = state.selected().filter(|_| state.page().is_none()).map(|listed| listed.session.clone());
        if let Some(session) = missing {
            let page = page::page(&self.store, &self.context.clock, session)?;
            let reasons = told::reasons(&self.store, &page)?;
            state.loaded = Some(LoadedSession { page, reasons, texts: None, turns: None, cost: None });
            state.keep_in_range();
        }
        // A brief is made again only where it is shown.
        if state.open.is_some() || state.tab == Tab::Told {
            self.read_texts(state)?;
        }
        // Git is asked only for a page that is open.
        if state.open.is_some()
            && let Some(session) = state.page().filter(|loaded| loaded.turns.is_none()).map(session_of)
        {
            let turns = undo::turns_of(&self.context, &session)?;
            if let Some(loaded) = &mut state.loaded {
                loaded.turns = Some(turns);
            }
        }
        if state.tab == Tab::Told && state.data.usage.is_empty() {
            state.data.usage = files_line(&usage::of_everything(&self.store, now)?.files);
        }
        if state.tab == Tab::Loops {
            let output = state.selected_loop().map(|run| loop_runs::last_output(&self.context.home, run));
            state.output = output.unwrap_or_default();
        }
        Ok(())
    }

    /// The words of what the selected session was told.
    fn read_texts(&self, state: &mut ScreenState) -> Result<()> {
        let Some(loaded) = state.page().filter(|loaded| loaded.texts.is_none()) else { return Ok(()) };
        let texts = self.context.told_texts(&self.store, &loaded.page)?;
        state.loaded.iter_mut().for_each(|loaded| loaded.texts = Some(texts.clone()));
        Ok(())
    }

    /// Does what the user decided. What fails is told on the screen.
    pub fn carry_out(&mut self, state: &mut ScreenState, effect: ScreenEffect) {
        let done = self.try_carry_out(state, effect);
        report(state, done);
    }

    fn try_carry_out(&mut self, state: &mut ScreenState, effect: ScreenEffect) -> Result<()> {
        self.context = self.context.now_again();
        let message = match effect {
            ScreenEffect::Approve { id, words, scope } => self.approve(state, id, words, scope)?,
            ScreenEffect::Reject(id) => self.reject(state, id)?,
            ScreenEffect::Undo(id) => self.undo(state, id)?,
            ScreenEffect::Brief(folder) => return self.brief(state, folder),
            ScreenEffect::Diffs => return self.diffs(state),
            ScreenEffect::Quit | ScreenEffect::Suspend | ScreenEffect::Resume(_) => return Ok(()),
        };
        self.read(state)?;
        state.message = Some(message);
        Ok(())
    }

    fn approve(
        &mut self,
        state: &mut ScreenState,
        id: MemoryId,
        words: Option<String>,
        scope: Option<Scope>,
    ) -> Result<String> {
        self.require_person(&id)?;
        let row = find(&self.store, id.as_str(), self.context.clock.now)?;
        let mut memory = row.memory.clone();
        memory.status = MemoryStatus::Approved;
        memory.background.is_automatic = false;
        let clean = |text: String, keep| self.context.home.cleaner().clean(text, keep);
        if let Some(words) = words.filter(|words| *words != *row.memory.content) {
            memory.content = clean(words, Keep::MEMORY);
            // Further evidence must not replace the user's own words.
            memory.source = Clean::word(MemorySource::User.word());
        }
        let located = self.context.located();
        let keeper = self.context.keeper(&located);
        if let Some(scope) = scope {
            memory.project = keeper.project_of(&scope);
            memory.scope = clean(scope.to_string(), Keep::NAME);
        }
        let superseded = changed(keeper.revise(&mut self.store, &row, memory))?;
        state.decided.push(id);
        Ok(match superseded.len() {
            0 => "approved; u undoes it".to_string(),
            count => {
                format!("approved; it replaces {}; u undoes it", crate::render::counted(count, "memory", "memories"))
            }
        })
    }

    fn reject(&mut self, state: &mut ScreenState, id: MemoryId) -> Result<String> {
        self.require_person(&id)?;
        let row = find(&self.store, id.as_str(), self.context.clock.now)?;
        let located = self.context.located();
        changed(self.context.keeper(&located).decide(&mut self.store, &row, MemoryStatus::Rejected))?;
        state.decided.push(id);
        Ok("rejected: it is never told again; u in Review undoes it".to_string())
    }

    fn undo(&mut self, state: &mut ScreenState, id: MemoryId) -> Result<String> {
        self.require_person(&id)?;
        let row = find(&self.store, id.as_str(), self.context.clock.now)?;
        let located = self.context.located();
        changed(self.context.keeper(&located).undo(&mut self.store, &row))?;
        state.decided.pop();
        self.read(state)?;
        let at = state.data.proposals.iter().position(|proposal| proposal.row.id == id);
        state.review_at = at.unwrap_or(state.review_at);
        Ok(format!("undone: {}", cerberus_record::clean::text::line(&row.memory.content, 60)))
    }

    fn require_person(&self, id: &MemoryId) -> Result<()> {
        self.context.require_person(&self.store, "decide about memories", &format!("cerberus memory show {id}"))
    }

    fn diffs(&mut self, state: &mut ScreenState) -> Result<()> {
        let Some(session) = state.page().map(session_of) else { return Ok(()) };
        let lines = undo::diffs_of(&self.context, &session)?;
        match lines.is_empty() {
            true => {
                state.message = Some("no turn of this session is kept; `cerberus undo --on` keeps them".to_string())
            }
            false => {
                let title = "what the turns of this session changed".to_string();
                state.dialog = Some(Dialog::Text { title, lines, scroll: 0 });
            }
        }
        Ok(())
    }

    fn brief(&mut self, state: &mut ScreenState, folder: String) -> Result<()> {
        let folder = PathBuf::from(folder);
        if !folder.is_dir() {
            return Err(anyhow::anyhow!("{} does not exist any more", folder.display()))
                .hint("it was moved or removed");
        }
        let briefing = BriefArgs::for_start(None).briefing(&self.context.in_folder(folder))?;
        let title = format!("the next session in {} is told", briefing.project);
        let mut lines: Vec<String> = briefing.brief.text.lines().map(str::to_string).collect();
        if lines.is_empty() {
            lines.push("nothing yet".to_string());
        }
        state.dialog = Some(Dialog::Text { title, lines, scroll: 0 });
        Ok(())
    }
}

type Loops = (Vec<loop_runs::LoopRun>, HashMap<ProjectId, String>);

fn loops(context: &Context, store: &Store) -> Result<Loops> {
    let now: Timestamp = context.clock.now;
    let loops = loop_runs::runs(&context.home, context.clock.until())?;
    let mut names = HashMap::new();
    for run in &loops {
        if let Some(name) = store.project_name(&run.project, now)? {
            names.insert(run.project.clone(), name);
        }
    }
    Ok((loops, names))
}

fn report(state: &mut ScreenState, result: Result<()>) {
    if let Err(failure) = result {
        state.message = Some(format!("{:#}; {}", failure.error, failure.hint));
    }
}

fn session_of(loaded: &LoadedSession) -> SessionRow {
    loaded.page.listed.session.clone()
}
