//! Brings everything up to date before somebody is told what is known: what earlier versions left, the state of the
//! repository, and the sessions that ended or crashed.

use std::time::Duration;

use cerberus_agents::install::Surroundings;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::session::{IDLE_AFTER, SessionStatus};

use crate::memory::notes;
use crate::project::identity::Located;
use crate::same_project::repository::{self, Effort};
use crate::sessions::{legacy, sweep, title, unreported};
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;
use crate::view::{SessionRow, Store, old_views};

/// For what everything is brought up to date.
#[derive(Clone, Copy, Debug)]
pub enum UpkeepOccasion {
    /// A session begins. Its agent waits, so what takes long is left to others.
    SessionStart,
    /// A command reads the view. The state of sessions is left alone.
    Command,
    /// A command tells the state of sessions. Those without activity for this long have ended.
    Sessions { idle_after: Duration },
}

impl UpkeepOccasion {
    fn effort(self) -> Effort {
        match self {
            UpkeepOccasion::SessionStart => Effort::FilesOnly,
            UpkeepOccasion::Command | UpkeepOccasion::Sessions { .. } => Effort::WithGit,
        }
    }

    fn idle_after(self) -> Option<Duration> {
        match self {
            UpkeepOccasion::SessionStart => Some(IDLE_AFTER),
            UpkeepOccasion::Command => None,
            UpkeepOccasion::Sessions { idle_after } => Some(idle_after),
        }
    }
}

/// Where and when it happens.
pub struct Upkeep<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub surroundings: &'a Surroundings<'a>,
    pub located: &'a Located,
    /// Something of this project may be stored.
    pub may_store: bool,
}

impl Upkeep<'_> {
    /// Returns the sessions that were found to have ended or crashed.
    pub fn run(&self, store: &mut Store, occasion: UpkeepOccasion) -> Result<Vec<SessionRow>, FoldError> {
        let (home, clock) = (self.home, self.clock);
        old_views::remove_old_views(home, store, clock.wall)?;
        if self.may_store {
            repository::record_changes(home, clock, store, self.located, occasion.effort())?;
        }
        legacy::import_all(home, clock, store)?;
        let Some(idle_after) = occasion.idle_after() else { return Ok(Vec::new()) };
        let swept = sweep::sweep(home, clock, store, idle_after)?;
        let is_over = |session: &&SessionRow| self.may_store && session.state.status == SessionStatus::Ended;
        for ended in swept.iter().filter(is_over) {
            self.complete(store, ended)?;
        }
        if let UpkeepOccasion::Sessions { .. } = occasion {
            title::read_titles(home, clock, store, self.surroundings)?;
        }
        Ok(swept)
    }

    /// Adds what no hook reported of a session that is over.
    fn complete(&self, store: &mut Store, ended: &SessionRow) -> Result<(), FoldError> {
        let mut recorder = Recorder::journal(self.home, self.clock, store);
        notes::record(&mut recorder, self.surroundings, ended)?;
        unreported::record(&mut recorder, self.surroundings, ended)
    }
}
