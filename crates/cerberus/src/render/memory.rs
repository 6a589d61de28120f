//! How proposals and memories are printed.

use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use cerberus_store::view::MemoryRow;
use serde_json::{Value, json};

use super::words;

/// Everything known about a memory.
pub fn whole(row: &MemoryRow, now: Timestamp) -> Value {
    let (memory, background) = (&row.memory, &row.memory.background);
    let mut value = json!({
        "id": row.id, "content": memory.content, "category": memory.category, "scope": memory.scope,
        "status": memory.status, "confidence": memory.confidence, "source": row.origin().word(),
        "created_at": memory.created_at.to_string(), "updated_at": memory.updated_at.to_string(),
        "last_used": row.uses.last_at.map(|at| at.to_string()), "use_count": row.uses.count,
        "supersedes": background.supersedes, "superseded_by": row.superseded_by,
        "stale": row.is_stale(now),
        "automatic": background.is_automatic, "metadata": background.metadata.shown(),
    });
    if !background.evidence.is_empty() {
        value["evidence"] = json!(evidence(row));
    }
    if background.rationale.is_some() {
        value["rationale"] = json!(background.rationale);
    }
    if background.author.is_some() {
        value["author"] = json!(background.author);
    }
    if background.other_of.is_some() {
        value["other_of"] = json!(background.other_of);
    }
    // What the imported file said about its source.
    if row.origin() == MemorySource::Import && &*memory.source != MemorySource::Import.word() {
        value["imported_source"] = json!(memory.source);
    }
    value
}

/// A proposal: what is suggested, and why.
pub fn proposal(row: &MemoryRow) -> Value {
    let (memory, background) = (&row.memory, &row.memory.background);
    let mut value = json!({
        "id": row.id, "content": memory.content, "category": memory.category, "scope": memory.scope,
        "rationale": memory.background.rationale.as_deref().unwrap_or_default(), "confidence": memory.confidence,
        "evidence": evidence(row), "status": memory.status, "automatic": memory.background.is_automatic,
        "source": row.origin().word(),
    });
    if background.author.is_some() {
        value["author"] = json!(background.author);
    }
    if background.other_of.is_some() {
        value["other_of"] = json!(background.other_of);
    }
    value
}

fn evidence(row: &MemoryRow) -> Vec<&str> {
    row.memory.background.evidence.iter().map(|said| &*said.text).collect()
}

/// One line: id, category, scope, content and notable states.
pub fn line(row: &MemoryRow, now: Timestamp) -> String {
    let memory = &row.memory;
    let mut marks = Vec::new();
    if let Some(newer) = &row.superseded_by {
        marks.push(format!("superseded by {newer}"));
    }
    if row.is_stale(now) {
        marks.push("stale".to_string());
    }
    if !row.origin().is_users() {
        marks.push(row.origin_title());
    }
    if memory.background.is_automatic {
        marks.push("approved automatically".to_string());
    }
    let marks = if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) };
    let content = cerberus_record::clean::text::line(&memory.content, LINE_CHARS_MAX);
    format!("{}  {:<10}  {}  {content}{marks}", row.id, &*memory.category, words::scope(&row.scope()))
}

const LINE_CHARS_MAX: usize = 160;
