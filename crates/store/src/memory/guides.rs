//! Finds what the user said in what an agent then wrote into an instruction file: the agent took it for a rule.
//!
//! The files are read when the words of a session are processed. What they repeat of the prompt is recorded as a
//! quotation, so that a rebuilt view says the same.

use cerberus_agents::install::{self, Surroundings};
use cerberus_recall::learn::guide::GuideLines;
use cerberus_recall::said;
use cerberus_record::event::{QuoteKind, Record};

use crate::memory::change::MemoryWriter;
use crate::memory::quotation::{self, RecordedQuote};
use crate::project::guides::{self, UserFolders};
use crate::view::{self, Store};

/// Only this many of the last turns that changed such a file are looked at.
const TURNS_MAX: usize = 50;
/// The folder of an agent's own memory.
const OWN_MEMORY: &str = "/memory/";

/// A quotation for each sentence of a prompt that the agent wrote into an instruction file in the same turn.
pub fn quotations(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &Store,
) -> view::Result<Vec<Record<'static>>> {
    let root = writer.located.root.display().to_string();
    let mut turns = store.turns_that_changed(is_guide, &root, TURNS_MAX, writer.clock.now)?;
    turns.retain(|(prompt, _)| said::sentences(&prompt.text).iter().any(|sentence| says_enough(sentence)));
    if turns.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = GuideLines::default();
    let read = guides::read(writer.located, &UserFolders::of(surroundings), |_| true);
    read.iter().for_each(|guide| lines.add(&guide.name, &guide.text));
    let mut found = Vec::new();
    for (prompt, path) in &turns {
        for sentence in said::sentences(&prompt.text).iter().filter(|sentence| says_enough(sentence)) {
            if lines.find(sentence).is_none() {
                continue;
            }
            let Ok(place) = said::prove(sentence, &prompt.text) else { continue };
            let why = format!("written into {path}");
            let text = &prompt.text[place];
            let words = RecordedQuote { kind: QuoteKind::Rule, text, is_pasted: false, why: Some(&why) };
            found.extend(quotation::record(writer, store, prompt, &words)?);
        }
    }
    Ok(found)
}

fn says_enough(sentence: &str) -> bool {
    said::word_count(sentence) >= said::QUOTE_WORDS_MIN
}

fn is_guide(path: &str) -> bool {
    let names = install::all().flat_map(|profile| profile.guides);
    names.into_iter().any(|name| path == *name) || path.contains(OWN_MEMORY) && path.ends_with(".md")
}
