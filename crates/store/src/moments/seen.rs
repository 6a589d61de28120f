//! A command failed as it failed before in another session.

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
    // Here, the newest counts, solved or not: if it was not, what helped before does not help any more.
    let here = failures.iter().find(|failure| ids.contains(&failure.project));
    let Some(failure) = here.or(failures.first()) else { return Ok(None) };
    let Some((remedy, last)) = solved(store, session, failure, now)? else { return Ok(None) };
    let message_then = store.message_after(last.session, last.event)?.unwrap_or_default();
    let solved = Solved { at: last.at, is_here: here.is_some(), message: &message_then };
    let text = seen::told(message, &remedy, &solved, now);
    Ok(text.map(|text| Told { text, code: told::seen_code(&remedy.code(), signature) }))
}

/// The remedy, and the step that shows that it was one.
fn solved(
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
    let found = seen::remedy(&failure.command, &plain);
    let Some(remedy) = found else { return Ok(None) };
    let last = remedy.steps.checked_sub(1).and_then(|place| steps.into_iter().nth(place));
    Ok(last.map(|last| (remedy, last)))
}
