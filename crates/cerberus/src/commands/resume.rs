use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cerberus_agents::conversation::reduce::NOT_KEPT;
use cerberus_agents::settings::shell_word;
use cerberus_archive::Conversation;
use cerberus_record::id::Agent;
use cerberus_store::import::files;
use cerberus_store::import::place::{TranscriptPlace, mend, places, put_transcript, transcript_place};
use cerberus_store::view::{SessionRow, Store};
use serde_json::{Value, json};

use super::agent_start::AgentStart;
use super::archive::HeldConversation;
#[cfg(feature = "loop")]
use super::resume_in::OtherAgentArgs;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// How much of a transcript is read to see whose it is.
const BEGINNING_BYTES: u64 = 64 * 1024;

/// Continue a session, in its own agent or in another one
///
/// Starts the agent in the folder of the session, with the flag that resumes it. If the agent would not find the
/// transcript of the session, it is put where the agent looks for it.
///
/// With --in, another agent starts with a handoff: what was asked and decided, what is open, the state of the files and
/// the last turns.
#[derive(clap::Args)]
pub struct ResumeArgs {
    /// The session: the beginning of its id, or words of its title [default: the newest session of this project]
    #[arg(value_name = "ID")]
    id: Vec<String>,

    #[cfg(feature = "loop")]
    #[command(flatten)]
    other: OtherAgentArgs,

    /// Only print the command
    #[arg(long)]
    print: bool,
}

impl ResumeArgs {
    pub fn of(id: String) -> ResumeArgs {
        ResumeArgs {
            id: vec![id],
            #[cfg(feature = "loop")]
            other: OtherAgentArgs::default(),
            print: false,
        }
    }

    /// Does not return if the agent was started.
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.swept_store()?;
        let session = context.session_or_newest(&mut store, &self.id.join(" "))?;
        #[cfg(feature = "loop")]
        let other = self.other.start(context, &store, &session)?;
        #[cfg(not(feature = "loop"))]
        let other = None;
        let start = match other {
            Some(start) => start,
            None => in_its_own(context, &store, &session, self.is_run(context))?,
        };
        drop(store);
        let words: Vec<String> = start.words.iter().map(|word| shell_word(word).to_string()).collect();
        let line = format!("cd {} && {}", shell_word(&start.cwd), words.join(" "));
        if context.json {
            render::json(&json!({"id": session.id, "cwd": start.cwd, "command": start.words, "line": line}));
            return Ok(());
        }
        if self.print {
            render::line(&line);
            return Ok(());
        }
        start.run(&line)
    }

    /// Whether the agent is started.
    fn is_run(&self, context: &Context) -> bool {
        !self.print && !context.json
    }
}

fn in_its_own(context: &Context, store: &Store, session: &SessionRow, is_run: bool) -> Result<AgentStart> {
    let words = cerberus_agents::resume_command(&session.agent, &session.agent_session_id);
    let missing = || anyhow::anyhow!("session {} was not run by an agent that can resume it", session.id);
    let words = words.ok_or_else(missing).hint(format!("`cerberus show {}` shows it", session.id))?;
    let program = &words[0];
    let place = match transcript_place(&context.agent_surroundings(), session) {
        Some(TranscriptPlace::Gone { looked_for: Some(looked_for) }) => Some(match imported_from(context, session)? {
            Some(lies) => TranscriptPlace::Elsewhere { lies, looked_for },
            None => TranscriptPlace::Gone { looked_for: Some(looked_for) },
        }),
        // The session went on in a copy that is gone.
        Some(TranscriptPlace::Elsewhere { lies, looked_for }) if is_outdated(context, session, &lies)? => {
            Some(TranscriptPlace::Gone { looked_for: Some(looked_for) })
        }
        place => place,
    };
    match place {
        None | Some(TranscriptPlace::Found) => {}
        Some(TranscriptPlace::Elsewhere { lies, looked_for }) if is_run => {
            let copied = files::reader(&lies)
                .and_then(|mut from| put_transcript(&looked_for, |to| io::copy(&mut from, to).map(drop)));
            copied.with_context(|| format!("cannot copy the transcript to {}", looked_for.display())).hint(format!(
                "`cerberus resume {} --in AGENT` starts a new session with what is known of it",
                session.id
            ))?;
            render::talk(&format!("cerberus: copied its transcript to {}", looked_for.display()));
        }
        Some(TranscriptPlace::Elsewhere { lies, .. }) => render::talk(&format!(
            "cerberus: its transcript is {}; without --print it is copied to where {program} looks",
            lies.display()
        )),
        Some(TranscriptPlace::Gone { looked_for }) => {
            match restored(context, store, session, looked_for.as_deref(), is_run)? {
                Some(done) => render::talk(&done),
                None => {
                    let id = &session.id;
                    let is_archived = looked_for.is_none() && archived(context, session)?.is_some();
                    let why = match is_archived {
                        true => format!(
                            "is gone, and cannot be put back where {program} keeps it; `cerberus show {id} --full` prints it"
                        ),
                        false => format!("is not on this machine, so {program} may not find it"),
                    };
                    render::talk(&format!(
                        "cerberus: the transcript of session {id} {why}; `cerberus resume {id} --in AGENT` starts a new \
                         session with what is known of it"
                    ));
                }
            }
        }
    }
    Ok(AgentStart { words, cwd: session.cwd.clone(), has_handoff: false })
}

/// A transcript that a session was imported from, if it is still there and has the end of it.
fn imported_from(context: &Context, session: &SessionRow) -> Result<Option<PathBuf>> {
    let name = session.agent_session_id.as_bytes();
    let is_of_session = |path: &PathBuf| {
        let mut beginning = Vec::new();
        let read = files::reader(path).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut beginning));
        read.is_ok() && !name.is_empty() && beginning.windows(name.len()).any(|found| found == name)
    };
    let complete = |kept: Conversation| kept.own_sources.into_iter().take(kept.complete_sources).find(is_of_session);
    Ok(archived(context, session)?.and_then(complete))
}

/// Whether the archive has more of the session than a transcript that it was read from.
fn is_outdated(context: &Context, session: &SessionRow, transcript: &Path) -> Result<bool> {
    let is_older =
        |kept: Conversation| kept.own_sources.iter().skip(kept.complete_sources).any(|one| one == transcript);
    Ok(archived(context, session)?.is_some_and(is_older))
}

fn archived(context: &Context, session: &SessionRow) -> Result<Option<Conversation>> {
    let Some(agent) = Agent::from_name(&session.agent) else { return Ok(None) };
    Ok(cerberus_archive::find(&context.home, agent, &session.agent_session_id)?)
}

/// Puts a transcript that is gone back from the archive, and says so; `None` if the archive does not have it.
fn restored(
    context: &Context,
    store: &Store,
    session: &SessionRow,
    place: Option<&Path>,
    is_run: bool,
) -> Result<Option<String>> {
    let (Some(agent), Some(place)) = (Agent::from_name(&session.agent), place) else { return Ok(None) };
    if !is_run && session.device.is_some() {
        let away =
            "cerberus: its transcript is on another device; without --print it is fetched, if that device sends it";
        return Ok(Some(away.to_string()));
    }
    let Some(kept) = HeldConversation::find(context, store, session)? else { return Ok(None) };
    let from = match kept {
        HeldConversation::Here(_) => "from the archive",
        HeldConversation::Fetched(_) => "from another device",
    };
    if !is_run {
        return Ok(Some(format!("cerberus: its transcript is not here; without --print it is put back {from}")));
    }
    let surroundings = context.agent_surroundings();
    let mut missing = 0;
    for place in places(&surroundings, agent, kept.sources(), place) {
        missing = put_back(context, agent, &kept, place)
            .with_context(|| format!("cannot put the transcript back to {}", place.display()))
            .hint(format!("`cerberus show {} --full` prints it", session.id))?;
        if transcript_place(&surroundings, session) == Some(TranscriptPlace::Found) {
            break;
        }
    }
    let missing = match missing {
        0 => String::new(),
        missing => format!("; what tools read and wrote is missing in {}", render::count(missing, "place")),
    };
    Ok(Some(format!("cerberus: put its transcript back {from}{missing}")))
}

/// Writes the transcript; in how many places something is missing in it.
fn put_back(context: &Context, agent: Agent, kept: &HeldConversation, place: &Path) -> std::io::Result<usize> {
    let Some(mut mend) = mend(agent) else { return Ok(0) };
    let mut missing = 0;
    put_transcript(place, |file| {
        let mut written = Ok(());
        let mut write = |line: &str| {
            missing += line.matches(NOT_KEPT).count();
            let mut value: Value = serde_json::from_str(line)?;
            if mend(&mut value) { writeln!(file, "{value}") } else { Ok(()) }
        };
        let read = kept.lines(context, &mut |line| {
            if written.is_ok() {
                written = write(line);
            }
        });
        read.map_err(std::io::Error::other).and(written)
    })?;
    Ok(missing)
}
