use cerberus_os::failures;
use cerberus_record::time::Timestamp;
use cerberus_store::config::{ProviderReads, SummaryConfig};
use cerberus_store::same_project::joined::joined;
use cerberus_store::summary::provider::Provider;
use cerberus_store::summary::{self, FAILURE, RecordedSummary, SessionFacts, SummaryError, detached};
use cerberus_store::view::{SessionRow, Store};
use cerberus_text::tokens;
use serde_json::json;

use crate::context::{Context, surroundings, users_surroundings};
use crate::failure::{Hint, Result};
use crate::render;

/// Have a model summarize a session in two or three sentences for the next session
///
/// Needs `[summary] provider` in config.toml: ollama, anthropic, openai (or any compatible server), or command. If a
/// provider is set, every session is also summarized in the background when it ends. The provider receives the
/// session's facts, with secrets redacted and without words of prompts; its summary is checked against them. With
/// `reads = "conversation"` it also receives prompts, closing messages and what tools did, and returns what is open,
/// settled and decided, each with a quotation that must occur in them.
#[derive(clap::Args)]
pub struct SummarizeArgs {
    /// The session [default: the last session of this project with captured facts]
    #[arg(value_name = "SESSION")]
    pub(super) id: Option<String>,

    /// Run as after the end of a session: once for the same facts, silently, within a time limit
    #[arg(long, hide = true, requires = "id")]
    pub(super) detached: bool,
}
const SETTINGS: &str = "set [summary] in config.toml, for example provider = \"ollama\" and model = \"llama3.2\"";

impl SummarizeArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let config = context.config()?.summary;
        match &self.id {
            Some(id) if self.detached => in_background(context, &config, id),
            id => in_foreground(context, &config, id.as_deref()),
        }
    }
}

fn in_foreground(context: &Context, config: &SummaryConfig, id: Option<&str>) -> Result<()> {
    let missing = || anyhow::anyhow!("no provider for summaries is set");
    let provider = Provider::new(config, &users_surroundings()).hint(SETTINGS)?.ok_or_else(missing).hint(SETTINGS)?;
    let mut store = context.store()?;
    let session = match id {
        Some(id) => context.session(&store, id)?,
        None => last(context, &store, provider.reads())?,
    };
    let written = match summary::write(&context.home, &context.clock, &mut store, &session, &provider) {
        Err(SummaryError::Nothing) => {
            return Err(anyhow::anyhow!("session {} has nothing to summarize", session.id))
                .hint("`cerberus memory session-status --all` shows what was captured from sessions");
        }
        Err(SummaryError::Provider(error)) => {
            return Err(error).hint("until then, briefs use codes; run `cerberus doctor` for details");
        }
        written => written?,
    };
    // Claimed, so that the same summary is not written again when the session ends. Writing it twice does no harm.
    if let Ok(left) = SessionFacts::of(&context.home, &store, &session, provider.reads(), context.clock.now) {
        let _ = detached::claim(&context.home, &session, &left);
    }
    show(context, &session, &written);
    Ok(())
}

fn show(context: &Context, session: &SessionRow, written: &RecordedSummary) {
    let RecordedSummary { row: written, items } = written;
    if context.json {
        let items: Vec<_> =
            items.iter().map(|item| json!({"sort": item.sort, "text": item.text, "quote": item.quote})).collect();
        render::json(&json!({
            "session_id": session.id, "project": session.project_name, "summary": written.text,
            "key_context": written.key_context, "next_actions": written.next_actions,
            "tokens": tokens::estimate(&written.text), "provider": written.provider, "at": written.at.to_string(),
            "items": items,
        }));
        return;
    }
    render::line(&written.text);
    written.key_context.iter().for_each(|code| render::line(&format!("  {code}")));
    written.next_actions.iter().for_each(|action| render::line(&format!("  next: {action}")));
    items.iter().for_each(|item| render::line(&format!("  {}: {}", item.sort.word(), &*item.text)));
}

/// Nobody sees the output, so failures are noted for `doctor`.
fn in_background(context: &Context, config: &SummaryConfig, id: &str) -> Result<()> {
    detached::end_in_time(config.limit());
    detached::drop_old_claims(&context.home);
    if let Err(failure) = write_once(context, config, id) {
        let detail = format!("session {id}: {:#}; briefs use codes instead", failure.error);
        failures::note(&context.home, context.clock.now, FAILURE, &detail);
    }
    Ok(())
}

fn write_once(context: &Context, config: &SummaryConfig, id: &str) -> Result<()> {
    let Some(provider) = Provider::new(config, &surroundings()).hint(SETTINGS)? else { return Ok(()) };
    let mut store = context.store()?;
    let session = context.session(&store, id)?;
    let left = SessionFacts::of(&context.home, &store, &session, provider.reads(), context.clock.now)?;
    if !left.is_empty() && detached::claim(&context.home, &session, &left)? {
        summary::write(&context.home, &context.clock, &mut store, &session, &provider)?;
    }
    Ok(())
}

/// The project's newest session with anything to summarize.
fn last(context: &Context, store: &Store, reads: ProviderReads) -> Result<SessionRow> {
    let joined = joined(store, &context.located(), context.clock.now)?;
    let mut sessions = store.sessions(&joined.ids, Timestamp::EPOCH, context.clock.now)?;
    sessions.sort_by_key(|session| (session.last_activity, session.row));
    for session in sessions.into_iter().rev() {
        if !SessionFacts::of(&context.home, store, &session, reads, context.clock.now)?.is_empty() {
            return Ok(session);
        }
    }
    Err(anyhow::anyhow!("no session of this project has anything to summarize"))
        .hint("`cerberus memory session-status --all` shows what was captured from sessions")
}
