//! `cerberus loop run` against a plain `while true; do AGENT; done`, on scripted tasks.

use anyhow::{Result, bail};
use cerberus_testkit::comparison::{CONTEXTS_MAX, Outcome, TASKS, compare};
use cerberus_testkit::env::TestEnv;

use crate::measure::say;
use crate::programs::Programs;

pub fn run(programs: &Programs) -> Result<()> {
    say(&format!("{:44} {:>32}    {:>32}", "task", "while true; do AGENT; done", "cerberus loop run"))?;
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for task in &TASKS {
        let (before, after) = compare(|| TestEnv::new(&programs.cerberus), task);
        say(&format!("{:44} {:>32}    {:>32}", task.name, words(&before), words(&after)))?;
        plain.push(before);
        ours.push(after);
    }
    let total = |outcomes: &[Outcome]| {
        let finished = outcomes.iter().filter(|outcome| outcome.is_finished).count();
        let contexts: usize = outcomes.iter().map(|outcome| outcome.contexts).sum();
        let tokens: u64 = outcomes.iter().map(|outcome| outcome.tokens).sum();
        let again: usize = outcomes.iter().map(|outcome| outcome.repeated_mistakes).sum();
        (finished, contexts, tokens, again)
    };
    let (before, after) = (total(&plain), total(&ours));
    for (name, (finished, contexts, tokens, again)) in [("plain loop", before), ("cerberus", after)] {
        say(&format!(
            "{name}: {finished} of {} tasks finished, {contexts} contexts (at most {CONTEXTS_MAX} per task), {tokens} \
             tokens, {again} repeated mistakes",
            TASKS.len()
        ))?;
    }
    if after.0 < TASKS.len() || after.1 >= before.1 {
        bail!("ours must finish every task, with fewer contexts");
    }
    Ok(())
}

/// `done, 4 contexts, 90k, 0 again`.
fn words(outcome: &Outcome) -> String {
    let state = if outcome.is_finished { "done" } else { "not done" };
    let (contexts, tokens, again) = (outcome.contexts, outcome.tokens / 1_000, outcome.repeated_mistakes);
    format!("{state}, {contexts} contexts, {tokens}k, {again} again")
}
