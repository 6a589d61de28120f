//! `loop run --fallback`: the agent that works while the usage limit of the first one lasts.

use cerberus_agents::install::Profile;
use cerberus_loop::run::job::Job;
use cerberus_loop::settings::{Contradiction, Settings};
use cerberus_store::project::identity;

use crate::context::Context;

/// The same job for the other agent, if one is set.
pub fn job(context: &Context, first: &Job) -> Result<Option<Job>, Contradiction> {
    let Some(layer) = first.layer.fallback() else { return Ok(None) };
    let settings = Settings::new(layer.clone())?;
    let surroundings = context.agent_surroundings();
    let agent_dir = Profile::of(settings.worker.agent()).and_then(|profile| (profile.dir)(&surroundings));
    Ok(Some(Job {
        home: first.home.clone(),
        located: identity::locate(&first.located.cwd),
        settings,
        layer,
        task: first.task.clone(),
        program: first.program.clone(),
        agent_dir,
        utc_offset: first.utc_offset,
        prices: first.prices.clone(),
    }))
}
