//! Where the transcript of a session is, and whether its agent would find it there. Not for hooks: every name in an agent's
//! folders may be read.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cerberus_agents::install::transcripts::Mend;
use cerberus_agents::install::{Profile, Surroundings};
use cerberus_record::id::Agent;

use super::{ending, files};
use crate::view::SessionRow;

#[derive(Debug, PartialEq, Eq)]
pub enum TranscriptPlace {
    /// The agent finds it.
    Found,
    /// The agent looks in another place.
    Elsewhere { lies: PathBuf, looked_for: PathBuf },
    /// It is not on this machine. `looked_for` is where the agent would find it, if a file is enough.
    Gone { looked_for: Option<PathBuf> },
}

/// `None` for a session of an agent whose transcripts we cannot read.
pub fn transcript_place(surroundings: &Surroundings, session: &SessionRow) -> Option<TranscriptPlace> {
    let agent = Agent::from_name(&session.agent)?;
    let kept = Profile::of(agent)?.transcripts?;
    let (roots, query) = ((kept.roots)(surroundings), ending::query(session)?);
    let is_found = match kept.open {
        Some(open) => roots.iter().any(|path| ending::exported(open, path, query.id).is_some()),
        None => ending::find(kept, &roots, session).is_some(),
    };
    if is_found {
        return Some(TranscriptPlace::Found);
    }
    let looked_for = kept.restoring.zip(roots.first()).map(|(restoring, root)| (restoring.place)(root, &query));
    let recorded = ending::path(surroundings, kept, session).filter(|_| session.device.is_none());
    let anywhere = || {
        let all = roots.iter().flat_map(|root| files::transcripts(agent, root).unwrap_or_default());
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(query.id));
        all.into_iter().find(is_it)
    };
    Some(match (recorded.or_else(anywhere), looked_for) {
        (Some(lies), Some(looked_for)) => TranscriptPlace::Elsewhere { lies, looked_for },
        (Some(_), None) => TranscriptPlace::Found,
        (None, looked_for) => TranscriptPlace::Gone { looked_for },
    })
}

/// Where a transcript that is gone is put back: where it was, if that is below the agent's own folder, because the agent may
/// have noted its path; else where the agent looks for it.
pub fn places<'a>(
    surroundings: &Surroundings,
    agent: Agent,
    was: &'a [PathBuf],
    looked_for: &'a Path,
) -> Vec<&'a Path> {
    let kept = Profile::of(agent).and_then(|profile| profile.transcripts);
    let roots = kept.map(|kept| (kept.roots)(surroundings)).unwrap_or_default();
    let was = was.first().filter(|was| roots.iter().any(|root| was.starts_with(root)));
    was.map(PathBuf::as_path).into_iter().chain([looked_for]).collect()
}

/// What mends the transcript of an agent that is put back, if one can be.
pub fn mend(agent: Agent) -> Option<Mend> {
    Some((Profile::of(agent)?.transcripts?.restoring?.mend)())
}

/// Writes a transcript where its agent looks for it. Nothing is overwritten.
pub fn put_transcript(place: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create_new(place)?;
    let written = write(&mut file).and_then(|()| file.flush());
    if written.is_err() {
        // Half a transcript would be resumed as if it were whole.
        let _ = fs::remove_file(place);
    }
    written
}
