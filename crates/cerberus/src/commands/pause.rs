use std::time::Duration;

use cerberus_checks::enforce;
use cerberus_record::check::PauseChange;
use cerberus_record::span::{NotASpan, Span};
use cerberus_store::project::privacy::{self, PauseScope, StorageBlock};
use cerberus_store::view::PauseRow;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::time::{LocalTime, duration};

/// Stop storing anything and briefing sessions for a while
///
/// During a pause, hooks store nothing and tell the agent nothing, and agents cannot record anything. A pause applies
/// to all projects, survives a restart, and lasts until it is lifted or its time is over; `status` and `doctor` show
/// it. The agents still write their own transcripts, so a later `import` can include that time. Checks are off during a
/// pause, and if any are on, the pause itself is recorded. An agent cannot pause.
#[derive(clap::Args)]
pub struct PauseArgs {
    /// How long: 30m, 2h, 1d [default: until `cerberus unpause`]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    span: Option<Duration>,

    /// Pause only this project; confirms, for good, a `.nocerberus` that somebody committed
    #[arg(long)]
    project: bool,
}

/// Lift a pause: store and brief again
///
/// Lifts all pauses; with --project, only the pause of this project.
#[derive(clap::Args)]
pub struct UnpauseArgs {
    /// Lift only the pause of this project
    #[arg(long)]
    project: bool,
}

fn span(text: &str) -> std::result::Result<Duration, String> {
    if text.trim().bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.trim();
        return Err(format!("{number} of what? write {number}m, {number}h or {number}d"));
    }
    let Span(span) = text.parse().map_err(|wrong: NotASpan| wrong.to_string())?;
    if span.is_zero() { Err("the duration must be more than zero".to_string()) } else { Ok(span) }
}

fn reach(is_project: bool) -> PauseScope {
    if is_project { PauseScope::Project } else { PauseScope::Everywhere }
}

const RETRY: &str = "free disk space or fix the folder's permissions, then try again";

impl PauseArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let (now, located) = (context.clock.now, context.located());
        let until = self.span.map(|span| now.plus(span));
        let change = PauseChange { everywhere: !self.project, until, is_lifted: false };
        enforce::record_pause(&context.home, &context.clock, &located, change).hint(RETRY)?;
        if self.project {
            privacy::confirm_opt_out(&context.home, &located).hint(RETRY)?;
        }
        privacy::pause(&context.home, now, &located, reach(self.project), until).hint(RETRY)?;
        print_state(context)
    }
}

impl UnpauseArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let (now, located) = (context.clock.now, context.located());
        let was_paused = context.home.paused().exists();
        privacy::unpause(&context.home, now, &located, reach(self.project)).hint(RETRY)?;
        if was_paused {
            let change = PauseChange { everywhere: !self.project, until: None, is_lifted: true };
            enforce::record_pause(&context.home, &context.clock, &located, change).hint(RETRY)?;
        }
        print_state(context)
    }
}

/// Why nothing is stored, with the local time at which that ends.
pub fn storing(context: &Context, shut: &StorageBlock) -> String {
    match shut {
        StorageBlock::Paused { scope, until: Some(until) } => {
            let (local, forever) =
                (LocalTime::new(context.clock.now), StorageBlock::Paused { scope: *scope, until: None });
            let left = duration(until.since(context.clock.now));
            format!("{forever} until {} ({left})", local.when(*until))
        }
        shut => shut.to_string(),
    }
}

/// Whether hooks enforce the checks here and now; `None` if there are none.
pub fn checks(context: &Context) -> Option<String> {
    let (home, now, located) = (&context.home, context.clock.now, context.located());
    if !enforce::are_on(home) {
        return None;
    }
    let is_paused = || privacy::paused_here(home, now, &located).is_some();
    Some(match (privacy::users_block(home, &located), privacy::unconfirmed_opt_out(home, &located)) {
        (Some(_), _) => "off in this project".to_string(),
        _ if is_paused() => "off while paused".to_string(),
        (None, None) => CHECKS_ON.to_string(),
        (None, Some(file)) => {
            format!("on: somebody committed {}; if you agree with it: cerberus pause --project", file.display())
        }
    })
}

pub const CHECKS_ON: &str = "on";

/// `paused 16 Nov 10:00 in all projects`.
pub fn line(context: &Context, pause: &PauseRow) -> String {
    let local = LocalTime::new(context.clock.now);
    let place = match &pause.project {
        None => "in all projects".to_string(),
        Some(project) if *project == context.located().project => "in this project".to_string(),
        Some(project) => format!("in project {}", project.as_str()),
    };
    let until = pause.until.map_or_else(String::new, |until| format!(" until {}", local.when(until)));
    format!("{} {} {place}{until}", if pause.is_lifted { "unpaused" } else { "paused" }, local.when(pause.at))
}

fn print_state(context: &Context) -> Result<()> {
    let shut = privacy::storage_block(&context.home, context.clock.now, &context.located());
    match (context.json, shut) {
        (true, shut) => render::json(&json!({"stores_nothing": shut.map(|shut| shut.to_string())})),
        (false, Some(shut)) => render::sentence(&storing(context, &shut)),
        (false, None) => render::line("storing again"),
    }
    Ok(())
}
