//! What other agents, and agents on other devices, noted about the project in their own memory.

use cerberus_agents::install::Profile;
use cerberus_recall::brief::{AgentNotes, MemoryItem};
use cerberus_recall::learn::guide::GuideLines;

use crate::brief::question::Question;
use crate::brief::subject::View;
use crate::project::guides;
use crate::view;

/// Their notes, and what need not be told of them; `None` if there is nothing to tell. An agent sees its own notes by
/// itself. If nobody knows who asks, all are told.
pub fn of_others(
    view: &View,
    memories: &[MemoryItem],
    question: &Question,
) -> view::Result<Option<(Vec<AgentNotes>, GuideLines)>> {
    if question.budget.memory_tokens == 0 {
        return Ok(None);
    }
    let found = view.store.agent_notes(&view.joined.ids, view.now)?.into_iter().map(|row| row.notes);
    let is_told = |notes: &AgentNotes| {
        !notes.text.is_empty() && (notes.is_of_other_device || question.agent() != Some(&*notes.agent))
    };
    let notes: Vec<AgentNotes> = found.filter(is_told).collect();
    if notes.is_empty() {
        return Ok(None);
    }
    let mut said = GuideLines::default();
    let has_notes = |profile: &Profile| question.agent() == Some(profile.agent.name());
    let guides = guides::read(view.located, question.folders, has_notes);
    guides.iter().for_each(|guide| said.add(&guide.name, &guide.text));
    memories.iter().for_each(|memory| said.add("a memory", &memory.text));
    Ok(Some((notes, said)))
}
