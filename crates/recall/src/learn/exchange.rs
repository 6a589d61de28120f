//! The lines of `memory export` and `memory import`: one memory per line, without loss in either direction.
//!
//! Only `content` is required. Missing fields get defaults; an invalid field is an error of its line.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::{Background, Evidence, Memory, MemoryStatus, Scope, Uses};
use cerberus_record::metadata::Metadata;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A longer text is not a memory.
pub const CONTENT_BYTES_MAX: usize = Keep::MEMORY.head_bytes;
/// The largest metadata of one memory.
const METADATA_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    content: String,
    #[serde(default = "MemoryLine::category")]
    category: String,
    #[serde(default = "MemoryLine::scope")]
    scope: String,
    #[serde(default = "MemoryLine::confidence")]
    confidence: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    #[serde(default = "MemoryLine::source")]
    source: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default = "MemoryLine::approved")]
    status: MemoryStatus,
    #[serde(default)]
    use_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    supersedes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rationale: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<EvidenceLine>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    automatic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

/// [`Evidence`] as it appears in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct EvidenceLine {
    text: String,
    agent: String,
    session: String,
    key: String,
}

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the content is empty")]
    Empty,
    #[error("the content has more than {CONTENT_BYTES_MAX} bytes")]
    TooLong,
    #[error("the metadata has more than {METADATA_BYTES_MAX} bytes")]
    TooMuch,
    #[error("the scope {0:?} is not universal, language:NAME or project:NAME")]
    Scope(String),
    #[error("{field} is not a time: {text:?}")]
    Time { field: &'static str, text: String },
    #[error("the confidence is not between 0 and 1")]
    Confidence,
}

impl MemoryLine {
    fn category() -> String {
        "note".to_string()
    }

    fn scope() -> String {
        Scope::Universal.to_string()
    }

    fn confidence() -> f64 {
        1.0
    }

    fn source() -> String {
        "import".to_string()
    }

    fn approved() -> MemoryStatus {
        MemoryStatus::Approved
    }

    pub fn content(&self) -> &str {
        &self.content
    }

    pub fn category_word(&self) -> &str {
        &self.category
    }

    /// Parses and checks one line of a file.
    pub fn parse(text: &str) -> Result<MemoryLine, LineError> {
        let line: MemoryLine = serde_json::from_slice(text.as_bytes())?;
        if line.content.trim().is_empty() {
            return Err(LineError::Empty);
        }
        if line.content.len() > CONTENT_BYTES_MAX {
            return Err(LineError::TooLong);
        }
        if line.metadata.json().len() > METADATA_BYTES_MAX {
            return Err(LineError::TooMuch);
        }
        if Scope::parse(&line.scope).is_none() {
            return Err(LineError::Scope(line.scope));
        }
        if !(0.0..=1.0).contains(&line.confidence) {
            return Err(LineError::Confidence);
        }
        let times =
            [("created_at", &line.created_at), ("updated_at", &line.updated_at), ("last_used", &line.last_used)];
        for (field, text) in times {
            if let Some(text) = text.as_ref().filter(|text| Timestamp::parse(text).is_err()) {
                return Err(LineError::Time { field, text: text.clone() });
            }
        }
        Ok(line)
    }

    /// The memory in this line. A line without an id gets one derived from its content.
    pub fn into_memory(
        self,
        cleaner: &Cleaner,
        now: Timestamp,
        project_of: impl Fn(&Scope) -> Option<ProjectId>,
    ) -> (MemoryId, Memory<'static>) {
        let time = |text: &Option<String>| text.as_ref().and_then(|text| Timestamp::parse(text).ok());
        let metadata = self.metadata.with_texts(|text| cleaner.clean(text, Keep::METADATA).to_string());
        let id = match self.id.filter(|id| !id.trim().is_empty()) {
            // An id is shown in terminals and typed back, so it is one line of limited length.
            Some(id) => MemoryId::new(cerberus_record::clean::text::line(&id, ID_CHARS_MAX)),
            None => {
                let created = self.created_at.as_deref().unwrap_or_default();
                MemoryId::of(&[&self.content, &self.category, &self.scope, created, &ordered(&metadata)])
            }
        };
        let scope = Scope::parse(&self.scope).unwrap_or(Scope::Universal);
        let created_at = time(&self.created_at).unwrap_or(now);
        let name = |text: String| cleaner.clean(text, Keep::NAME);
        let memory = Memory {
            status: self.status,
            content: cleaner.clean(self.content, Keep::MEMORY),
            category: cleaner.clean(self.category, Keep::SUBJECT),
            scope: name(scope.to_string()),
            project: self.project_id.map(ProjectId::from_stored).or_else(|| project_of(&scope)),
            confidence: self.confidence,
            created_at,
            updated_at: time(&self.updated_at).unwrap_or(created_at),
            source: cleaner.clean(self.source, Keep::SUBJECT),
            background: Background {
                rationale: self.rationale.map(|text| cleaner.clean(text, Keep::PROMPT)),
                evidence: self.evidence.into_iter().map(|line| line.into_evidence(cleaner)).collect(),
                supersedes: self.supersedes.into_iter().map(name).collect(),
                is_automatic: self.automatic,
                metadata,
                uses: Uses { count: self.use_count, last_at: time(&self.last_used) },
                author: self.author.map(|author| cleaner.clean(author, Keep::SUBJECT)),
                other_of: None,
                for_team: false,
            },
        };
        (id, memory)
    }

    /// The line for a memory.
    pub fn of(id: &MemoryId, memory: &Memory, uses: Uses) -> MemoryLine {
        let background = memory.background.clone().into_owned();
        MemoryLine {
            id: Some(id.to_string()),
            content: memory.content.to_string(),
            category: memory.category.to_string(),
            scope: memory.scope.to_string(),
            confidence: memory.confidence,
            created_at: Some(memory.created_at.to_string()),
            updated_at: Some(memory.updated_at.to_string()),
            source: memory.source.to_string(),
            metadata: background.metadata,
            status: memory.status,
            use_count: uses.count,
            last_used: uses.last_at.map(|at| at.to_string()),
            supersedes: background.supersedes.iter().map(|id| id.to_string()).collect(),
            project_id: memory.project.as_ref().map(|project| project.as_str().to_string()),
            rationale: background.rationale.map(|text| text.to_string()),
            evidence: background.evidence.iter().map(EvidenceLine::of).collect(),
            automatic: background.is_automatic,
            author: background.author.map(|author| author.to_string()),
        }
    }
}

const ID_CHARS_MAX: usize = 100;

impl EvidenceLine {
    fn of(evidence: &Evidence) -> EvidenceLine {
        let Evidence { text, agent, session, key } = evidence;
        EvidenceLine {
            text: text.to_string(),
            agent: agent.to_string(),
            session: session.to_string(),
            key: key.to_string(),
        }
    }

    fn into_evidence(self, cleaner: &Cleaner) -> Evidence<'static> {
        let name = |text| cleaner.clean(text, Keep::NAME);
        let text = cleaner.clean(self.text, Keep::PROMPT);
        Evidence { text, agent: name(self.agent), session: name(self.session), key: name(self.key) }
    }
}

/// The metadata with ordered keys, which ids are made from: the order in a file does not matter.
fn ordered(metadata: &Metadata) -> String {
    let ordered = serde_json::from_slice::<Map<String, Value>>(metadata.json().as_bytes());
    ordered.map_or_else(|_| metadata.json().to_string(), |ordered| Value::Object(ordered).to_string())
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn memory(line: &str) -> (MemoryId, Memory<'static>) {
        MemoryLine::parse(line).unwrap().into_memory(&BUILT_IN, at("2026-01-22T13:00:00Z"), |_| None)
    }

    #[test]
    fn only_content_is_required() {
        let (id, plain) = memory(r#"{"content":"Use tabs."}"#);
        assert_eq!((&*plain.content, &*plain.category, &*plain.scope), ("Use tabs.", "note", "universal"));
        assert_eq!((plain.created_at, plain.updated_at), (at("2026-01-22T13:00:00Z"), at("2026-01-22T13:00:00Z")));
        assert_eq!((plain.confidence, &*plain.source), (1.0, "import"));
        assert_eq!(memory(r#"{"content":"Use tabs."}"#).0, id, "the same words make the same id");
        assert_ne!(memory(r#"{"content":"Use tabs.","metadata":{"turn":2}}"#).0, id);
    }

    #[test]
    fn export_and_import_lose_nothing() {
        let whole = json!({
            "id": "m-1", "content": "Never commit to main.", "category": "rule", "scope": "project:hydra",
            "confidence": 0.95, "created_at": "2026-01-20T10:00:00Z", "updated_at": "2026-01-21T10:00:00Z",
            "source": "corrections", "metadata": {"turn": "D1:3", "deep": {"list": [1, 2.5, null, true, "x"]}},
            "status": "proposed", "use_count": 3, "last_used": "2026-01-21T11:00:00Z", "supersedes": ["m-0"],
            "project_id": "abc", "rationale": "said twice", "automatic": true, "author": "Ana",
            "evidence": [{"text": "never commit to main", "agent": "claude-code", "session": "s", "key": "k"}],
        });
        let (id, memory) = memory(&whole.to_string());
        let back = serde_json::to_value(MemoryLine::of(&id, &memory, memory.background.uses)).unwrap();
        assert_eq!(back, whole);
    }

    #[test]
    fn numbers_in_metadata_are_not_changed() {
        let line =
            r#"{"content":"x","metadata":{"z":0.30000000000000004,"big":123456789012345678901234567890,"a":1e400}}"#;
        let (id, memory) = memory(line);
        let stored = serde_json::to_string(&memory).unwrap();
        let memory: Memory = serde_json::from_slice(stored.as_bytes()).unwrap();
        let back = serde_json::to_string(&MemoryLine::of(&id, &memory, Uses::default())).unwrap();
        let metadata = &line[line.find("\"metadata\"").unwrap()..line.len() - 1];
        assert!(back.contains(metadata), "{back}");
    }

    #[test]
    fn errors_name_the_problem() {
        for (line, problem) in [
            ("{", "EOF"),
            (r#"{"category":"rule"}"#, "missing field `content`"),
            (r#"{"content":"  "}"#, "empty"),
            (r#"{"content":"x","scope":"galaxy"}"#, "galaxy"),
            (r#"{"content":"x","confidence":2}"#, "confidence"),
            (r#"{"content":"x","created_at":"yesterday"}"#, "created_at"),
            (r#"{"content":"x","metadata":[1]}"#, "metadata is not an object"),
        ] {
            let error = MemoryLine::parse(line).unwrap_err().to_string();
            assert!(error.contains(problem), "{line}: {error}");
        }
        assert!(matches!(
            MemoryLine::parse(&json!({"content": "x".repeat(70_000)}).to_string()),
            Err(LineError::TooLong)
        ));
    }

    #[test]
    fn secrets_are_removed_from_metadata_too() {
        let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
        let line = json!({"content": format!("token {key}"), "metadata": {"note": [{"k": format!("use {key}")}]}});
        let (_, memory) = memory(&line.to_string());
        let json = serde_json::to_string(&memory).unwrap();
        assert!(!json.contains(key), "{json}");
    }
}
