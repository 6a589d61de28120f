//! A command failed as it failed before in another session.

use cerberus_recall::brief::base;
use cerberus_recall::moments::seen::{self, Remedy, Solved};
use cerberus_recall::moments::told;
use cerberus_record::time::Timestamp;

use crate::project::identity::Located;
use crate::same_project::joined::joined;
use crate::view::{self, FailureRow, SessionRow, StepRow, Store};

/// What is told about a failure, and the code of its receipt.
#[derive(Debug)]
pub struct Told {
    pub text: String,
    pub code: String,
}

/// What helped when this failed before. `None` if nothing is known to have helped, or the session was told already.
pub fn seen(
    store: &Store,
    located: &Located,
    session: &SessionRow,
    signature: &str,
    message: Option<&str>,
    now: Timestamp,
) -> view::Result<Option<Told>> {
    if store.told_codes(session, now)?.iter().any(|code| told::is_seen(code, signature)) {
        return Ok(None);
    }
    let failures = store.failures(signature, session, now)?;
    let ids = joined(store, located, now)?.ids;
    let is_here = failures.iter().any(|failure| ids.contains(&failure.project));
    let mut solved: Vec<(Remedy, StepRow)> = Vec::new();
    for failure in failures.iter().filter(|failure| !is_here || ids.contains(&failure.project)) {
        match remedy(store, session, failure, now)? {
            // What helped before does not help any more.
            None if solved.is_empty() => return Ok(None),
            // One that failed again before it passed is the same.
            Some((_, step)) if solved.iter().any(|(_, known)| known.event == step.event) => {}
            found => solved.extend(found),
        }
        if solved.len() == seen::SOLVED_MAX {
            break;
        }
    }
    let (remedies, steps): (Vec<Remedy>, Vec<StepRow>) = solved.into_iter().unzip();
    let is_named = |path: &str| {
        let name = base(path);
        message.is_none_or(|message| message.contains(name)) || failures.iter().any(|one| one.command.contains(name))
    };
    let Some((place, remedy)) = seen::agreed(&remedies, is_named) else { return Ok(None) };
    let Some(last) = steps.get(place) else { return Ok(None) };
    let message_then = store.message_after(last.session, last.event)?.unwrap_or_default();
    let solved = Solved { at: last.at, is_here, message: &message_then };
    let text = seen::told(message, &remedy, &solved, now);
    Ok(text.map(|text| Told { text, code: told::seen_code(&remedy.code(), signature) }))
}

/// What was done until the command passed, and the step in which it did.
fn remedy(
    store: &Store,
    session: &SessionRow,
    failure: &FailureRow,
    now: Timestamp,
) -> view::Result<Option<(Remedy, StepRow)>> {
    let mut steps = store.steps_after(failure.session, failure.event, now)?;
    if steps.len() < seen::STEPS_MAX
        && let Some(next) = store.next_session(failure.session, session)?
    {
        steps.extend(store.steps_after(next, failure.event, now)?);
    }
    let plain: Vec<_> = steps.iter().map(|row| row.step.clone()).collect();
    let Some(remedy) = seen::remedy(&failure.command, &plain) else { return Ok(None) };
    let last = remedy.steps.checked_sub(1).and_then(|place| steps.into_iter().nth(place));
    Ok(last.map(|last| (remedy, last)))
}
