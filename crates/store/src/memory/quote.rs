//! Words of the user that an agent quotes: found in a prompt of this project, and recorded with it.

use std::collections::HashSet;

use cerberus_agents::install::Surroundings;
use cerberus_recall::said::{self, QuoteRefusal};
use cerberus_record::clean::text::Keep;
use cerberus_record::event::QuoteKind;
use cerberus_record::memory::MemoryStatus;

use crate::memory::change::MemoryWriter;
use crate::memory::quotation::{RecordedQuote, record};
use crate::memory::{distill, senders};
use crate::same_project::joined::Projects;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;
use crate::view::{self, MemoryRow, PromptRow, Store};

/// Only this many of the project's last prompts are searched.
const PROMPTS_MAX: usize = 300;
const COMPARED_MAX: usize = 2_000;

/// What becomes of a quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuoteOutcome {
    /// It is told in the next session.
    Told,
    /// A rule waits for the user's decision.
    Waits,
    /// The user decided against it earlier.
    Rejected,
    Refused(QuoteRefusal),
}

/// A quotation as it is kept.
#[derive(Clone, Debug)]
pub struct KeptQuote {
    pub outcome: QuoteOutcome,
    /// The whole sentences; empty if it was refused.
    pub text: String,
}

/// Finds a quotation and records it.
pub fn quote(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
    kind: QuoteKind,
    quotation: &str,
    why: Option<&str>,
) -> Result<KeptQuote, FoldError> {
    let (prompt, text, is_pasted) = match find(writer, store, kind, quotation)? {
        Ok(found) => found,
        Err(refusal) => return Ok(KeptQuote { outcome: QuoteOutcome::Refused(refusal), text: String::new() }),
    };
    // A rule of a prompt that nobody typed waits for the user; anything else would be told as theirs.
    let answers = senders::ask(
        writer,
        surroundings,
        store,
        &HashSet::from([(prompt.origin.session, prompt.origin.key.clone())]),
    )?;
    if !answers.unseen.is_empty() && kind != QuoteKind::Rule {
        return Ok(KeptQuote { outcome: QuoteOutcome::Refused(QuoteRefusal::NotSeen), text: String::new() });
    }
    let is_untyped = prompt.is_untyped || !answers.untyped.is_empty();
    if is_untyped && kind != QuoteKind::Rule {
        return Ok(KeptQuote { outcome: QuoteOutcome::Refused(QuoteRefusal::NotTyped), text: String::new() });
    }
    let quoted = RecordedQuote { kind, text: &text, is_pasted, why };
    let new = record(writer, store, &prompt, &quoted)?;
    if !new.is_empty() {
        Recorder::journal(writer.home, writer.clock, store).record(&new)?;
    }
    if kind != QuoteKind::Rule {
        return Ok(KeptQuote { outcome: QuoteOutcome::Told, text });
    }
    distill::distill(writer, surroundings, store)?;
    let outcome = match memory_of(writer, store, &prompt, &text)?.map(|row| row.memory.status) {
        Some(MemoryStatus::Approved) => QuoteOutcome::Told,
        Some(MemoryStatus::Rejected) => QuoteOutcome::Rejected,
        Some(MemoryStatus::Proposed) | None => QuoteOutcome::Waits,
    };
    Ok(KeptQuote { outcome, text })
}

/// The newest prompt of the project that has these words, the whole sentences, and whether the user pasted them. Only
/// what blocks the work may have been pasted.
fn find(
    writer: &MemoryWriter,
    store: &Store,
    kind: QuoteKind,
    quotation: &str,
) -> view::Result<Result<(PromptRow, String, bool), QuoteRefusal>> {
    // What is stored was cleaned, so a quotation with a secret in it has to be cleaned too.
    let quotation = writer.home.cleaner().clean(quotation.to_string(), Keep::PROMPT);
    let projects = Projects::load(store, writer.clock.now)?;
    let mut refusal = QuoteRefusal::NotSaid;
    let here = projects.representative(&writer.located.project).clone();
    for prompt in store.prompts(PROMPTS_MAX, writer.clock.now, |one| *projects.representative(one) == here)? {
        let proof = said::prove(&quotation, &prompt.text);
        let is_pasted = kind == QuoteKind::Blocker && proof == Err(QuoteRefusal::Pasted);
        match if is_pasted { said::prove_pasted(&quotation, &prompt.text) } else { proof } {
            Ok(place) => {
                let text = prompt.text[place].to_string();
                return Ok(Ok((prompt, text, is_pasted)));
            }
            Err(other) => refusal = refusal.max(other),
        }
    }
    Ok(Err(refusal))
}

/// The memory that these words became.
fn memory_of(writer: &MemoryWriter, store: &Store, prompt: &PromptRow, text: &str) -> view::Result<Option<MemoryRow>> {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let wanted = folded(text);
    let is_it = |row: &MemoryRow| {
        let evidence = row.memory.background.evidence.iter();
        let is_here = evidence.clone().any(|said| prompt.origin.is_of(said) && folded(&said.text) == wanted);
        is_here || folded(&row.memory.content) == wanted
    };
    Ok(store.own_memories(COMPARED_MAX, writer.clock.now)?.into_iter().find(is_it))
}
