//! Reads the transcripts of sessions, or what the archive has of them. Only numbers are taken from them, no text.

use std::path::PathBuf;

use cerberus_agents::context_reader;
use cerberus_agents::install::Surroundings;
use cerberus_agents::meter::Windows;
use cerberus_agents::meter::windows;
use cerberus_agents::model_calls::{self, ModelCall};
use cerberus_archive as archive;
use cerberus_os::home::Home;
use cerberus_record::id::Agent;
use cerberus_store::import::ending::{self, transcripts_of};
use cerberus_store::import::files;
use cerberus_store::view::SessionRow;

use super::beginning::{self, Beginning, KnownFiles};
use crate::report::figures::ContextUse;
use crate::report::figures::context;

/// A longer transcript is not read; what it says is unknown.
const TRANSCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much is read at once. What is left after that is unknown.
const ALL_TRANSCRIPTS_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

pub struct Transcripts<'a> {
    home: &'a Home,
    surroundings: &'a Surroundings<'a>,
    windows: Windows,
    bytes_left: u64,
}

/// What a transcript says. Everything is unknown if it is gone.
#[derive(Debug, Default, PartialEq)]
pub struct ReadTranscript {
    pub context: ContextUse,
    pub calls: Vec<ModelCall>,
    pub beginning: Option<Beginning>,
}

impl<'a> Transcripts<'a> {
    pub fn new(home: &'a Home, surroundings: &'a Surroundings<'a>) -> Transcripts<'a> {
        Transcripts { home, surroundings, windows: windows::load(home), bytes_left: ALL_TRANSCRIPTS_BYTES_MAX }
    }

    /// `before` are the files of the session before, if there was one.
    pub fn read(&mut self, session: &SessionRow, before: Option<&KnownFiles>) -> ReadTranscript {
        let Some((agent, texts)) = self.texts(session) else { return ReadTranscript::default() };
        let Some(own) = texts.first() else { return ReadTranscript::default() };
        let context = context_reader(agent).map(|reader| {
            let events: Vec<_> = own.split(|byte| *byte == b'\n').flat_map(reader).collect();
            context::read(&events, self.windows.clone())
        });
        let calls: Vec<ModelCall> = texts.iter().flat_map(|text| model_calls::read(text)).collect();
        let beginning = before.and_then(|before| beginning::read(own, &calls, before));
        ReadTranscript { context: context.unwrap_or_default(), calls, beginning }
    }

    /// The session's own transcript, then those of its subagents.
    fn texts(&mut self, session: &SessionRow) -> Option<(Agent, Vec<Vec<u8>>)> {
        let (agent, kept) = transcripts_of(session)?;
        let Some(path) = ending::path(self.surroundings, kept, session) else {
            return Some((agent, self.archived(agent, session)?));
        };
        let mut texts = vec![self.within(|max| files::read_within(&path, max).ok())?];
        for path in ending::of_subagents(agent, kept, &path, &session.agent_session_id) {
            texts.extend(self.within(|max| files::read_within(&path, max).ok()));
        }
        Some((agent, texts))
    }

    fn archived(&mut self, agent: Agent, session: &SessionRow) -> Option<Vec<Vec<u8>>> {
        let found = archive::find(self.home, agent, &session.agent_session_id).ok()??;
        let home = self.home;
        let read = |subagent: Option<&PathBuf>, max: u64| {
            let mut text: Vec<u8> = Vec::new();
            let mut take = |line: &str| {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            };
            match subagent {
                None => archive::lines(home, &found, &mut take),
                Some(source) => archive::lines_of(home, &found, source, &mut take),
            }
            .ok()?;
            Some(text).filter(|text| text.len() as u64 <= max)
        };
        let subagents = found.subagent_sources.iter().map(Some);
        std::iter::once(None).chain(subagents).map(|source| self.within(|max| read(source, max))).collect()
    }

    fn within(&mut self, read: impl FnOnce(u64) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let text = read(TRANSCRIPT_BYTES_MAX.min(self.bytes_left))?;
        self.bytes_left -= text.len() as u64;
        Some(text)
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
        assert_eq!(transcripts.read(&session, None).context, known);
        assert_eq!(transcripts.bytes_left, ALL_TRANSCRIPTS_BYTES_MAX - size);
        transcripts.bytes_left = size - 1;
        assert_eq!(transcripts.read(&session, None), ReadTranscript::default(), "too much was read already");
        fs::remove_file(&path).unwrap();
        let gone = Transcripts::new(&home, &surroundings).read(&session, None);
        assert_eq!(gone, ReadTranscript::default(), "it is gone");
    }
}
