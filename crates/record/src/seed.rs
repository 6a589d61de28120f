//! The original tool's files, `active-{project}.json`: reads every form the tool ever wrote, writes the last one.
//!
//! There are three forms: codes by section with `metadata.expires_at`; the same with more metadata; and a summary with
//! `key_context` and a top-level `expires_at`. A file that cannot be read is an error that says why; nothing is
//! guessed.

use serde::Serialize;
use serde_json::Value;

use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep};
use crate::event::SeedCodes;
use crate::fact::{Fact, FactKind};
use crate::session::CARRY_OVER;
use crate::time::{NotATime, Timestamp};

/// The tool never wrote longer lists.
const CODES_MAX: usize = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("{0:?} is missing")]
    Missing(&'static str),
    #[error(transparent)]
    Time(#[from] NotATime),
}

/// One parsed file.
#[derive(Debug, PartialEq)]
pub struct SeedFile {
    pub session_id: String,
    pub project: String,
    /// The last activity: seven days before it expires.
    pub at: Timestamp,
    pub codes: SeedCodes<'static>,
}

pub fn parse(cleaner: &Cleaner, text: &str) -> Result<SeedFile, SeedError> {
    let value: Value = serde_json::from_slice(text.as_bytes())?;
    let word = |name: &'static str| match value[name].as_str().filter(|text| !text.is_empty()) {
        Some(text) => Ok(text),
        None => Err(SeedError::Missing(name)),
    };
    let expires = value["metadata"]["expires_at"].as_str().or_else(|| value["expires_at"].as_str());
    let at = match expires {
        Some(expires) => Timestamp::parse(expires)?.minus(CARRY_OVER),
        None => Timestamp::parse(word("timestamp")?)?,
    };
    Ok(SeedFile {
        session_id: word("session_id")?.to_string(),
        project: word("project")?.to_string(),
        at,
        codes: codes(cleaner, &value),
    })
}

fn codes(cleaner: &Cleaner, value: &Value) -> SeedCodes<'static> {
    let list = |name: &str| -> Vec<Clean<'static>> {
        value[name].as_array().into_iter().flatten().take(CODES_MAX).filter_map(|value| code(cleaner, value)).collect()
    };
    let mut codes = SeedCodes {
        files: list("files"),
        functions: list("functions"),
        decisions: list("decisions"),
        blockers: list("blockers"),
        next_actions: list("next_actions"),
        summary: value["summary"].as_str().map(|summary| cleaner.clean(summary, Keep::MESSAGE).into_owned()),
    };
    for code in list("key_context") {
        let section = match &*code {
            blocker if blocker.starts_with(FactKind::Blocker.prefix()) => &mut codes.blockers,
            decision if decision.starts_with(FactKind::Decision.prefix()) => &mut codes.decisions,
            next if next.starts_with(FactKind::Next.prefix()) => &mut codes.next_actions,
            file if names_a_file(file) => &mut codes.files,
            _ => &mut codes.functions,
        };
        section.push(code);
    }
    codes
}

/// A code is a string; decisions may also be `{"choice", "why"}`.
fn code(cleaner: &Cleaner, value: &Value) -> Option<Clean<'static>> {
    let text = match (value.as_str(), value["choice"].as_str(), value["why"].as_str()) {
        (Some(text), _, _) => text.to_string(),
        (None, Some(choice), why) => Fact::decision(choice, why).code,
        (None, None, _) => return None,
    };
    (!text.trim().is_empty()).then(|| cleaner.clean(text, Keep::SUBJECT))
}

/// `impl:proxy.go` is a file, `impl:supervisor.Process` is not; only the file extension tells them apart.
fn names_a_file(code: &str) -> bool {
    let name = code.strip_prefix(FactKind::File.prefix()).unwrap_or(code);
    match name.rsplit_once('.') {
        Some((_, ending)) => name.contains('/') || is_file_ending(ending),
        None => name.contains('/'),
    }
}

/// Is this the extension of a source file, without the dot?
pub fn is_file_ending(ending: &str) -> bool {
    ENDINGS.contains(&ending)
}

const ENDINGS: &[&str] = &[
    "bash", "c", "cc", "cfg", "cpp", "cs", "css", "csv", "cxx", "dart", "erl", "ex", "exs", "go", "h", "hpp", "hs",
    "html", "java", "jl", "js", "json", "jsx", "kt", "lock", "lua", "m", "md", "mjs", "ml", "php", "pl", "proto",
    "ps1", "py", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svg", "swift", "tf", "toml", "ts", "tsx",
    "txt", "vue", "xml", "yaml", "yml", "zig",
];

/// The sections in the order in which a brief lists them.
pub fn sections<'b, 'a>(codes: &'b SeedCodes<'a>) -> [(FactKind, &'b [Clean<'a>]); 5] {
    [
        (FactKind::File, &codes.files),
        (FactKind::Function, &codes.functions),
        (FactKind::Decision, &codes.decisions),
        (FactKind::Blocker, &codes.blockers),
        (FactKind::Next, &codes.next_actions),
    ]
}

/// The fact for a code. The code itself is kept as written.
pub fn fact(kind: FactKind, code: &str) -> Fact {
    let name = code.strip_prefix(kind.prefix()).unwrap_or(code);
    match kind {
        FactKind::File => Fact::file(kind, name),
        FactKind::Function => Fact::function(name, None),
        kind => Fact::words(kind, &format!("{}{name}", kind.prefix())),
    }
}

/// What a project carries over, in the original tool's form.
#[derive(Debug, Serialize)]
pub struct SeedExport {
    pub session_id: String,
    pub project: String,
    pub timestamp: String,
    pub files: Vec<String>,
    pub functions: Vec<String>,
    pub decisions: Vec<String>,
    pub blockers: Vec<String>,
    pub next_actions: Vec<String>,
    pub metadata: SeedMetadata,
}

#[derive(Debug, Serialize)]
pub struct SeedMetadata {
    pub expires_at: String,
}

/// A summary in the original tool's form.
#[derive(Debug, Serialize)]
pub struct SeedSummary {
    pub session_id: String,
    pub project: String,
    pub summary: String,
    pub key_context: Vec<String>,
    pub next_actions: Vec<String>,
    pub token_estimate: usize,
    pub timestamp: String,
    pub expires_at: String,
}

/// When something last touched at `at` expires.
pub fn expiry(at: Timestamp) -> Timestamp {
    at.plus(CARRY_OVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::BUILT_IN;

    fn listed(codes: &[Clean]) -> Vec<String> {
        codes.iter().map(|code| code.to_string()).collect()
    }

    #[test]
    fn all_three_forms_are_read() {
        let sections = r#"{"session_id": "20260122-133514", "project": "hydra", "timestamp": "2026-01-22T13:35:14Z",
            "files": ["impl:proxy.go"], "functions": ["impl:supervisor.Process"],
            "decisions": ["dec:split-proxy-3-files", {"choice": "threshold=0.75", "why": "precision"}],
            "blockers": ["block:race:line-712"], "next_actions": ["next:rerun", 5, ""],
            "metadata": {"expires_at": "2026-01-29T13:35:14Z", "phase": "x"}}"#;
        let file = parse(&BUILT_IN, sections).unwrap();
        assert_eq!((file.session_id.as_str(), file.project.as_str()), ("20260122-133514", "hydra"));
        assert_eq!(file.at.to_string(), "2026-01-22T13:35:14Z");
        assert_eq!(listed(&file.codes.decisions), ["dec:split-proxy-3-files", "dec:threshold=0.75 - precision"]);
        assert_eq!(listed(&file.codes.next_actions), ["next:rerun"]);

        let summary = r#"{"session_id": "s", "project": "p", "summary": "Split proxy.go.", "token_estimate": 9,
            "key_context": ["block:test:race", "dec:x", "impl:proxy.go", "impl:src/a", "impl:supervisor.Process"],
            "next_actions": ["fix race"], "timestamp": "2026-01-22T13:35:14.123456", "expires_at": "2026-01-30T00:00:00"}"#;
        let file = parse(&BUILT_IN, summary).unwrap();
        assert_eq!(file.at.to_string(), "2026-01-23T00:00:00Z");
        assert_eq!(listed(&file.codes.files), ["impl:proxy.go", "impl:src/a"]);
        assert_eq!(listed(&file.codes.functions), ["impl:supervisor.Process"]);
        assert_eq!(file.codes.summary.as_deref(), Some("Split proxy.go."));
        assert_eq!(fact(FactKind::Next, &file.codes.next_actions[0]).code, "next:fix race");
    }

    #[test]
    fn an_unreadable_file_is_an_error_with_a_reason() {
        for (text, why) in [
            ("{\"session_id\": ", "not JSON: EOF while parsing a value at line 1 column 15"),
            ("[]", "\"timestamp\" is missing"),
            (r#"{"timestamp": "2026-01-22T13:35:14Z", "project": "x"}"#, "\"session_id\" is missing"),
            (
                r#"{"timestamp": "soon", "project": "x", "session_id": "y"}"#,
                "\"soon\" is not a time; write it as 2026-01-22T13:35:14Z",
            ),
        ] {
            assert_eq!(parse(&BUILT_IN, text).unwrap_err().to_string(), why, "{text}");
        }
    }
}
