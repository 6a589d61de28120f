//! Asks the transcripts of sessions who sent their prompts. Hooks do not say it.
//!
//! What a transcript says is recorded, so that a rebuilt view says the same. A session without a transcript, or whose
//! agent's transcripts do not say it, counts as typed.

use std::collections::{BTreeMap, HashMap, HashSet};

use cerberus_agents::install::Surroundings;
use cerberus_agents::transcripts::{self, Sender, senders};
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Record, UntypedPrompts};
use cerberus_record::id::fnv1a;
use cerberus_record::source::MemorySource;

use crate::import::ending;
use crate::journal::own_record;
use crate::memory::change::MemoryWriter;
use crate::view::{self, Store};

/// A prompt: its session's row, and the key of its event.
pub type PromptId = (i64, String);

/// What the transcripts say about some prompts.
#[derive(Default)]
pub struct Answers {
    /// Those that nobody typed, and the records that say so.
    pub untyped: HashMap<PromptId, MemorySource>,
    pub records: Vec<Record<'static>>,
    /// Prompts of sessions that go on, which the transcript does not have yet.
    pub unseen: HashSet<PromptId>,
}

/// Asks about these prompts.
pub fn ask(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &Store,
    prompts: &HashSet<PromptId>,
) -> view::Result<Answers> {
    let mut answers = Answers::default();
    let sessions: HashSet<i64> = prompts.iter().map(|(session, _)| *session).collect();
    for session in store.sessions_at(&Vec::from_iter(sessions), writer.clock.now)? {
        let Some((agent, bytes)) = ending::prompt_lines(surroundings, &session) else { continue };
        let Some(mut read) = transcripts::read(writer.home.cleaner(), agent, &bytes) else { continue };
        read.prompts.retain(|seen| *seen.session == *session.agent_session_id);
        let reported = store.prompt_keys(&session)?;
        let reported: Vec<&str> = reported.iter().map(String::as_str).collect();
        let mut untyped: BTreeMap<MemorySource, Vec<&str>> = BTreeMap::new();
        for (key, sender) in senders(&reported, &read.prompts) {
            let prompt = (session.row, key.to_string());
            match sender {
                _ if !prompts.contains(&prompt) => {}
                Sender::Untyped(source) => {
                    untyped.entry(source).or_default().push(key);
                    answers.untyped.insert(prompt, source);
                }
                Sender::Unseen if session.state.status.is_live() => drop(answers.unseen.insert(prompt)),
                Sender::Person | Sender::Unseen => {}
            }
        }
        answers.records.extend(untyped.into_iter().map(|(source, keys)| {
            let name = format!("untyped-{:016x}", fnv1a(keys.join("\n").as_bytes()));
            let clean = |key: &&str| writer.home.cleaner().clean(key.to_string(), Keep::NAME);
            let event = Event::Untyped(UntypedPrompts { source, prompts: keys.iter().map(clean).collect() });
            let (id, location) = (&session.agent_session_id, session.location());
            own_record(writer.home, writer.clock, agent, id, location, name, event)
        }));
    }
    Ok(answers)
}
