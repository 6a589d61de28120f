//! What every command needs: the home, the time, the folder.

use std::env;
use std::path::PathBuf;
use std::process::Child;

use anyhow::Context as _;
use cerberus_agents::install;
use cerberus_os::clock::Clock;
use cerberus_os::home::{Home, UnsafeHome};
use cerberus_os::platform::USER_FOLDER;
use cerberus_record::clean::Cleaner;
use cerberus_record::session::{IDLE_AFTER, SessionStatus};
use cerberus_record::time::{NotATime, Timestamp};
use cerberus_store::browse::find;
use cerberus_store::browse::page::Page;
use cerberus_store::browse::told::{self, BriefSettings, ToldText};
use cerberus_store::config::{self, ApiKey, Config, ConfigError};
use cerberus_store::erase::retention;
use cerberus_store::memory::change::MemoryWriter;
use cerberus_store::memory::distill;
use cerberus_store::project::guides::UserFolders;
use cerberus_store::project::identity::{self, Located};
use cerberus_store::project::privacy;
use cerberus_store::same_project::joined::joined;
use cerberus_store::same_project::repository::{self, Effort};
use cerberus_store::sessions::caller::{self, CalledBy, is_below_a_loop};
use cerberus_store::sessions::sweep;
use cerberus_store::sessions::upkeep::{Upkeep, UpkeepOccasion};
use cerberus_store::summary::detached;
use cerberus_store::summary::provider::Environment;
use cerberus_store::view::fold;
use cerberus_store::view::{SessionRow, Store};
use serde::Serialize;

use crate::capabilities;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;

pub struct Context {
    pub home: Home,
    pub clock: Clock,
    pub cwd: PathBuf,
    pub json: bool,
    /// The user asks about another moment than this one.
    pub is_past: bool,
    /// Why the privacy rules cannot be read. While this is set, nothing may be stored.
    privacy_rules_unknown: Option<String>,
}

impl Context {
    pub fn new(now: Option<Timestamp>, cwd: Option<PathBuf>, json: bool) -> Result<Context> {
        let home = home().context("no home folder was found").hint("set CERBERUS_HOME to a folder for the data")?;
        let (home, privacy_rules_unknown) = match home.unsafe_home() {
            Some(problem) => (home, Some(problem.to_string())),
            None => match with_privacy_rules(home.clone()) {
                Ok(home) => (home, None),
                Err(error) => (home, Some(error.to_string())),
            },
        };
        let given = given_now().hint("unset CERBERUS_NOW, or set it to a time like 2026-01-22T13:35:14Z")?;
        let here =
            env::current_dir().context("the current folder does not exist").hint("change into another folder")?;
        let cwd = cwd.map_or_else(|| here.clone(), |cwd| here.join(cwd));
        if !cwd.is_dir() {
            return Err(anyhow::anyhow!("{} is not a folder", cwd.display())).hint("pass an existing folder to --cwd");
        }
        let is_past = now.is_some();
        Ok(Context { home, clock: Clock::new(now.or(given)), cwd, json, is_past, privacy_rules_unknown })
    }

    /// The same context at the current time, for commands that run for a long time.
    pub fn now_again(&self) -> Context {
        let given = self.clock.is_given.then_some(self.clock.now);
        let privacy_rules_unknown = self.privacy_rules_unknown.clone();
        let (home, cwd) = (self.home.clone(), self.cwd.clone());
        let (json, is_past) = (self.json, self.is_past);
        Context { home, clock: Clock::new(given), cwd, json, is_past, privacy_rules_unknown }
    }

    /// Prints what a command did: as JSON if the user wants that, else in words.
    pub fn answer(&self, json: &impl Serialize, words: impl FnOnce()) -> Result<()> {
        match self.json {
            true => render::json(json),
            false => words(),
        }
        Ok(())
    }

    /// Fails if somebody else can write to the home, or owns it.
    pub fn require_safe_home(&self) -> Result<()> {
        match self.home.unsafe_home() {
            Some(problem) => {
                Err(anyhow::anyhow!("{problem}, so nothing is stored, read or run")).hint(home_repair(&problem))
            }
            None => Ok(()),
        }
    }

    /// The same context in another folder.
    pub fn in_folder(&self, cwd: PathBuf) -> Context {
        Context { cwd, ..self.now_again() }
    }

    /// Fails while the privacy rules cannot be read: nothing may be stored then.
    pub fn require_privacy_rules(&self) -> Result<()> {
        match &self.privacy_rules_unknown {
            Some(problem) => {
                Err(anyhow::anyhow!("{problem}")).hint("fix the file first: it says what must be kept private")
            }
            None => Ok(()),
        }
    }

    /// Fails if nothing of this project may be stored. For commands that store something.
    pub fn may_store(&self, located: &Located) -> Result<()> {
        self.require_privacy_rules()?;
        match privacy::permanent_block(&self.home, located) {
            Some(shut) => Err(anyhow::anyhow!("{shut}")).hint("change that setting, or work in another project"),
            None => Ok(()),
        }
    }

    /// Like `may_store`, for an agent: a pause applies to agents too.
    pub fn may_agent_store(&self) -> Result<()> {
        let located = self.located();
        self.may_store(&located)?;
        match privacy::storage_block(&self.home, self.clock.now, &located) {
            Some(shut) => Err(anyhow::anyhow!("{shut}")).hint("the user can lift the pause with `cerberus unpause`"),
            None => Ok(()),
        }
    }

    /// Who runs this command. Everything that a loop's agent starts is an agent's.
    pub fn called_by(&self, store: &Store) -> Result<CalledBy> {
        match is_below_a_loop() {
            true => Ok(CalledBy::Agent),
            false => caller::called_by(store, &variable).map_err(CommandFailure::from),
        }
    }

    /// The same, where no view is open. Without a home no session is known, and none is made for the question.
    pub fn caller(&self) -> Result<CalledBy> {
        match () {
            () if is_below_a_loop() || caller::is_marked(&variable) => Ok(CalledBy::Agent),
            () if !self.home.journal_dir().exists() => Ok(CalledBy::Person),
            () => self.called_by(&self.view()?),
        }
    }

    /// Fails if an agent runs this command. `what` completes "only the user can …"; `command` is what they can type.
    pub fn require_person(&self, store: &Store, what: &str, command: &str) -> Result<()> {
        match self.called_by(store)? {
            CalledBy::Person => Ok(()),
            CalledBy::Agent => Err(only_the_user(what, command)),
        }
    }

    /// The session with this id. The beginning of an id is enough if no other id begins with it.
    pub fn session(&self, store: &Store, id: &str) -> Result<SessionRow> {
        the_one(find::by_id(store, &self.clock, id)?, id)
    }

    /// Like `session`, but words of a title are accepted too, and nothing means the newest session of this project.
    pub fn session_or_newest(&self, store: &mut Store, text: &str) -> Result<SessionRow> {
        if !text.trim().is_empty() {
            return the_one(find::by_id_or_title(store, &self.clock, text)?, text);
        }
        let projects = joined(store, &self.located(), self.clock.now)?.ids;
        let newest = store.sessions(&projects, Timestamp::EPOCH, self.clock.now)?.pop();
        let missing = || anyhow::anyhow!("no session of this project is known");
        let newest = newest.ok_or_else(missing).hint("give the id of a session; `cerberus log` lists them")?;
        Ok(sweep::derive_state(newest, &self.clock, IDLE_AFTER).0)
    }

    pub fn located(&self) -> Located {
        identity::locate(&self.cwd)
    }

    /// The folded view without any further upkeep, for questions that must be answered quickly.
    pub fn view(&self) -> Result<Store> {
        fold::open(&self.home).map_err(CommandFailure::from)
    }

    /// For changes to memories in this project at this time.
    pub fn keeper<'a>(&'a self, located: &'a Located) -> MemoryWriter<'a> {
        MemoryWriter { home: &self.home, clock: &self.clock, located }
    }

    /// To be called after sessions ended. Turns corrections into proposals, and the most certain of them into memories.
    /// If a provider is set, starts a background process per session that writes its summary.
    pub fn ended(&self, sessions: &[SessionRow]) -> Result<Vec<Child>> {
        let mut store = self.view()?;
        distill::distill(&self.keeper(&self.located()), &self.agent_surroundings(), &mut store)?;
        self.record_repository(&mut store, Effort::WithGit)?;
        Ok(self.begin_summaries(sessions))
    }

    /// Does nothing if no provider is set. Settings that cannot be read are reported by `doctor`.
    fn begin_summaries(&self, sessions: &[SessionRow]) -> Vec<Child> {
        match config::load(&self.home) {
            Ok(config) if config.summary.provider.is_some() => {
                detached::start_each(&self.home, &self.clock, sessions.iter())
            }
            _ => Vec::new(),
        }
    }

    /// The user's settings.
    pub fn config(&self) -> Result<Config> {
        config::load(&self.home).hint("fix or remove the line; `cerberus doctor` says when the file is valid")
    }

    /// Why the settings cannot be used, and what that means until they are fixed.
    pub fn settings_problem(&self) -> Option<String> {
        let Some(error) = config::load(&self.home).err() else { return self.loop_settings_problem() };
        let meanwhile = match self.privacy_rules_unknown {
            Some(_) => "hooks store nothing, because it may say what is private",
            None => "sessions are captured but told nothing",
        };
        Some(format!("{error}; until it is fixed, {meanwhile}"))
    }

    #[cfg(feature = "loop")]
    fn loop_settings_problem(&self) -> Option<String> {
        let error = cerberus_loop::run::config::of_user(&self.home).err()?;
        Some(format!("{error}; until it is fixed, no loop starts"))
    }

    #[cfg(not(feature = "loop"))]
    fn loop_settings_problem(&self) -> Option<String> {
        None
    }

    /// The view, up to date.
    pub fn store(&self) -> Result<Store> {
        self.upkept(UpkeepOccasion::Command).map(|(store, _)| store)
    }

    /// The view, up to date, and the sessions that were found to be over.
    pub fn upkept(&self, occasion: UpkeepOccasion) -> Result<(Store, Vec<SessionRow>)> {
        let mut store = self.view()?;
        let (located, surroundings) = (self.located(), self.agent_surroundings());
        let upkeep = Upkeep {
            home: &self.home,
            clock: &self.clock,
            surroundings: &surroundings,
            located: &located,
            may_store: self.may_record(&located),
        };
        let over = upkeep.run(&mut store, occasion)?;
        Ok((store, over))
    }

    /// Records the state of the current repository if it has changed. With `--now`, nothing is recorded.
    pub fn record_repository(&self, store: &mut Store, look: Effort) -> Result<()> {
        let located = self.located();
        match self.may_record(&located) {
            true => {
                repository::record_changes(&self.home, &self.clock, store, &located, look).map_err(CommandFailure::from)
            }
            false => Ok(()),
        }
    }

    fn may_record(&self, located: &Located) -> bool {
        !self.clock.is_given
            && self.privacy_rules_unknown.is_none()
            && privacy::storage_block(&self.home, self.clock.now, located).is_none()
    }

    /// The view, after ending idle sessions and detecting crashed ones. With `--now`, nothing is changed.
    pub fn swept_store(&self) -> Result<Store> {
        if self.clock.is_given {
            return self.store();
        }
        let (mut store, mut over) = self.upkept(UpkeepOccasion::Sessions { idle_after: IDLE_AFTER })?;
        // Crashed sessions are summarized when they are recovered.
        over.retain(|session| session.state.status == SessionStatus::Ended);
        if !over.is_empty() {
            self.begin_summaries(&over);
        }
        // If the settings cannot be read, nothing is deleted.
        let kept = self.config().map(|config| config.store).unwrap_or_default();
        retention::apply_daily(&self.home, &self.clock, &mut store, kept, capabilities::ALL)?;
        Ok(store)
    }
}

impl Context {
    /// The words of what the session of a page was told.
    pub fn told_texts(&self, store: &Store, page: &Page) -> Result<Vec<ToldText>> {
        let config = self.config().unwrap_or_default();
        let settings = BriefSettings {
            session_tokens: config.brief.session_tokens,
            format: config.summary.format(),
            reminder: config.brief.reminder,
            folders: &user_folders(),
        };
        Ok(told::texts(store, page, &settings, self.clock.now)?)
    }
}

/// The only session of a list; `text` is what was asked for.
pub fn the_one(mut found: Vec<SessionRow>, text: &str) -> Result<SessionRow> {
    match (found.pop(), found.as_slice()) {
        (Some(one), []) => Ok(one),
        (None, _) => {
            Err(anyhow::anyhow!("there is no session {text:?}")).hint("`cerberus log` lists the sessions and their ids")
        }
        (Some(last), others) => {
            let ids: Vec<&str> = others.iter().chain([&last]).take(5).map(|session| session.id.as_str()).collect();
            Err(anyhow::anyhow!("{text:?} may mean several sessions: {}", ids.join(", ")))
                .hint("give more of the id; `cerberus log` lists the sessions")
        }
    }
}

/// The failure of an agent that tries to do what only the user may do.
pub fn only_the_user(what: &str, command: &str) -> CommandFailure {
    CommandFailure {
        error: anyhow::anyhow!("only the user can {what}, and this command was run by an agent; nothing was changed"),
        hint: format!("the user can type this in a terminal of their own: {command}"),
    }
}

/// How the user makes an unsafe home safe.
pub fn home_repair(problem: &UnsafeHome) -> String {
    match problem {
        UnsafeHome::Foreign { root, .. } => {
            format!(
                "if it is yours, run `sudo chown -R $(id -u) '{}'`; otherwise set CERBERUS_HOME to a folder of yours",
                root.display()
            )
        }
        UnsafeHome::Writable { root, .. } => {
            format!("check that config.toml in it is as you wrote it, then run `chmod -R go= '{}'`", root.display())
        }
    }
}

impl Context {
    /// This process's environment, and the project it is in.
    pub fn agent_surroundings(&self) -> install::Surroundings<'static> {
        install::Surroundings::new(&|name| env::var_os(name), self.located().root)
    }
}

/// The folders with the user's own instructions for agents.
pub fn user_folders() -> UserFolders {
    UserFolders::of(&install::Surroundings::new(&|name| env::var_os(name), PathBuf::new()))
}

/// What the environment configures about providers of summaries. Where sessions are sent is no part of it: what runs after
/// a session has the environment of an agent, which chooses its variables.
pub fn surroundings() -> Environment {
    let key = |name: &str| ApiKey::new(env::var(name).ok()?);
    Environment { anthropic_key: key("ANTHROPIC_API_KEY"), openai_key: key("OPENAI_API_KEY"), ollama_host: None }
}

/// The same for what only the user can run.
pub fn users_surroundings() -> Environment {
    Environment { ollama_host: env::var("OLLAMA_HOST").ok(), ..surroundings() }
}

fn variable(name: &str) -> Option<String> {
    Some(env::var_os(name)?.to_string_lossy().into_owned())
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The home with the user's own rules for secrets and privacy.
pub fn with_privacy_rules(home: Home) -> std::result::Result<Home, ConfigError> {
    match config::privacy_rules(&home, set(USER_FOLDER).as_deref())? {
        Some((own, privacy_rules)) => Ok(home.with_privacy_rules(Cleaner::with(own), privacy_rules)),
        None => Ok(home),
    }
}

/// `CERBERUS_HOME`, or `~/.cerberus`.
pub fn home() -> Option<Home> {
    let root = set("CERBERUS_HOME").or_else(|| Some(set(USER_FOLDER)?.join(".cerberus")))?;
    Some(Home::new(if root.is_absolute() { root } else { env::current_dir().ok()?.join(root) }))
}

/// `CERBERUS_NOW`, if it is set.
pub fn given_now() -> std::result::Result<Option<Timestamp>, NotATime> {
    match env::var_os("CERBERUS_NOW").filter(|value| !value.is_empty()) {
        Some(text) => Timestamp::parse(&text.to_string_lossy()).map(Some),
        None => Ok(None),
    }
}
