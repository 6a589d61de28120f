//! Reads from transcripts how full contexts became. Only numbers are taken from them, no text.

use cerberus_agents::install::{Profile, Surroundings};
use cerberus_agents::meter::Windows;
use cerberus_agents::meter::windows;
use cerberus_agents::stream::StreamEvent;
use cerberus_os::home::Home;
use cerberus_record::id::Agent;
use cerberus_store::import::{ending, files};
use cerberus_store::view::SessionRow;

use crate::report::figures::context::{ContextUse, read};

/// A longer transcript is not read; its context is unknown.
const TRANSCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much is read for one report. What is left after that is unknown.
const ALL_TRANSCRIPTS_BYTES_MAX: u64 = 1024 * 1024 * 1024;

pub struct Transcripts<'a> {
    surroundings: &'a Surroundings<'a>,
    windows: Windows,
    bytes_left: u64,
}

impl<'a> Transcripts<'a> {
    pub fn new(home: &Home, surroundings: &'a Surroundings<'a>) -> Transcripts<'a> {
        Transcripts { surroundings, windows: windows::load(home), bytes_left: ALL_TRANSCRIPTS_BYTES_MAX }
    }

    /// Everything is unknown if the transcript is gone or does not say it.
    pub fn read(&mut self, session: &SessionRow) -> ContextUse {
        self.events(session).map(|events| read(&events, self.windows.clone())).unwrap_or_default()
    }

    fn events(&mut self, session: &SessionRow) -> Option<Vec<StreamEvent>> {
        let agent = Agent::from_name(&session.agent)?;
        let reader = cerberus_agents::context_reader(agent)?;
        let path = ending::path(self.surroundings, Profile::of(agent)?.transcripts?, session)?;
        let bytes = files::read_within(&path, TRANSCRIPT_BYTES_MAX.min(self.bytes_left)).ok()?;
        self.bytes_left -= bytes.len() as u64;
        Some(bytes.split(|byte| *byte == b'\n').flat_map(reader).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cerberus_record::session::SessionState;
    use cerberus_record::time::Timestamp;

    use super::*;

    fn session(transcript: &str) -> SessionRow {
        SessionRow {
            row: 1,
            id: cerberus_record::id::SessionId::new("s"),
            agent: "codex".to_string(),
            agent_session_id: "s".to_string(),
            project: cerberus_record::id::ProjectId::from_stored("p".to_string()),
            project_name: "hydra".to_string(),
            root: "/nowhere".to_string(),
            cwd: "/nowhere".to_string(),
            branch: None,
            phase: None,
            started_at: Timestamp::EPOCH,
            last_activity: Timestamp::EPOCH,
            process: None,
            transcript: Some(transcript.to_string()),
            device: None,
            state: SessionState::NEW,
        }
    }

    #[test]
    fn transcripts_are_read_until_the_limit_and_then_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        let line = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":900},"last_token_usage":{"total_tokens":400},"model_context_window":1000}}}"#;
        fs::write(&path, format!("not JSON\n{line}\n")).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        let surroundings = Surroundings::new(&|_| None, dir.path().to_path_buf());
        let home = Home::new(dir.path().join("home"));
        let mut transcripts = Transcripts::new(&home, &surroundings);
        let session = session(path.to_str().unwrap());
        let known = ContextUse { peak_percent: Some(40.0), is_estimated: false, tokens: Some(900) };
        assert_eq!(transcripts.read(&session), known);
        assert_eq!(transcripts.bytes_left, ALL_TRANSCRIPTS_BYTES_MAX - size);
        transcripts.bytes_left = size - 1;
        assert_eq!(transcripts.read(&session), ContextUse::default(), "too much was read already");
        fs::remove_file(&path).unwrap();
        assert_eq!(Transcripts::new(&home, &surroundings).read(&session), ContextUse::default(), "it is gone");
    }
}
