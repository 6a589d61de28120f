//! The record of a quotation: words of the user that an agent passed on, or wrote into an instruction file.

use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Quotation, QuoteKind, Record};
use cerberus_record::id::{Agent, fnv1a};

use crate::journal::own_record;
use crate::memory::change::MemoryWriter;
use crate::view::{self, PromptRow, Store};

/// What is recorded of a quotation.
pub(super) struct RecordedQuote<'a> {
    pub kind: QuoteKind,
    pub text: &'a str,
    pub is_pasted: bool,
    pub why: Option<&'a str>,
}

/// The record of a quotation; none if it is known.
pub(super) fn record(
    writer: &MemoryWriter,
    store: &Store,
    prompt: &PromptRow,
    words: &RecordedQuote,
) -> view::Result<Vec<Record<'static>>> {
    let RecordedQuote { kind, text, is_pasted, why } = *words;
    let name = format!("quote-{:016x}", fnv1a(format!("{}\n{}\n{text}", prompt.origin.key, kind.word()).as_bytes()));
    let session = store.sessions_at(&[prompt.origin.session], writer.clock.now)?.into_iter().next();
    let (Some(session), Some(agent)) = (session, Agent::from_name(&prompt.origin.agent)) else { return Ok(Vec::new()) };
    if store.has_event(agent, &prompt.origin.agent_session_id, &name)? {
        return Ok(Vec::new());
    }
    let clean = |text: &str, keep| writer.home.cleaner().clean(text.to_string(), keep);
    let event = Event::Quote(Quotation {
        kind,
        text: clean(text, Keep::PROMPT),
        prompt: clean(&prompt.origin.key, Keep::NAME),
        why: why.map(|why| clean(why, Keep::SUBJECT)),
        is_pasted,
    });
    let (id, location) = (&prompt.origin.agent_session_id, session.location());
    let record = own_record(writer.home, writer.clock, agent, id, location, name, event);
    Ok(vec![Record { by_agent: true, ..record }])
}
