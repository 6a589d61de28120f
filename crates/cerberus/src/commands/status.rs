use std::collections::BTreeMap;

use cerberus_core::model::memory::Status as MemoryStatus;
use cerberus_core::model::session::IDLE_AFTER;
use cerberus_core::model::time::Timestamp;
use cerberus_engine::config::StoreConfig;
use cerberus_engine::erase::retention;
use cerberus_engine::erase::retention::Stored;
use cerberus_engine::os::failures;
use cerberus_engine::project::privacy;
use cerberus_engine::same_project::joined::joined;
use cerberus_engine::sessions::sweep::derive_state;
use cerberus_engine::store::{FactFilter, Store};
use serde_json::{Value, json};

use super::project::Folders;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Show this project at a glance: sessions, facts, health
#[derive(clap::Args)]
pub struct Status {}

impl Status {
    pub fn run(self, context: &Context) -> Result<()> {
        const DOCTOR: &str = "run `cerberus doctor` to see what is wrong";
        let store = context.swept_store()?;
        let located = context.located();
        let now = context.clock.now;
        let sessions =
            store.sessions(&joined(&store, &located, now).hint(DOCTOR)?.ids, Timestamp::EPOCH, now).hint(DOCTOR)?;
        let sessions: Vec<_> = sessions.into_iter().map(|s| derive_state(s, &context.clock, IDLE_AFTER).0).collect();
        let carrying: Vec<_> = sessions.iter().filter(|s| s.state.status.carries_over()).cloned().collect();
        let carried = store.carried(&carrying, FactFilter::All, now).hint(DOCTOR)?;
        let mut facts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut seen = std::collections::HashSet::new();
        for known in carried.facts.iter().filter(|known| seen.insert((known.fact.kind, &known.fact.code))) {
            *facts.entry(known.fact.kind.word()).or_default() += 1;
        }
        let memories = store.memory_counts(now).hint(DOCTOR)?;
        let count_of =
            |wanted| memories.iter().filter(|(status, ..)| *status == wanted).map(|(.., n)| n).sum::<usize>();
        let (remembered, proposed) = (count_of(MemoryStatus::Approved), count_of(MemoryStatus::Proposed));
        // Read last, to include failures from opening the view.
        let failures = failures::recent(&context.home, context.now_again().clock.now);
        let kept = Kept::of(context, &store)?;
        let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
        sessions.iter().for_each(|session| *by_status.entry(session.state.status.word()).or_default() += 1);
        let last = sessions.iter().map(|session| session.last_activity).max();
        let shut = privacy::storage_block(&context.home, now, &located).map(|shut| shut.to_string());
        let folders = Folders::load(context, &store, &located)?;
        if context.json {
            let failed: Vec<_> =
                failures.iter().map(|f| json!({"at": f.at.to_string(), "what": f.what, "detail": f.detail})).collect();
            render::json(&json!({
                "project": {"name": located.name, "root": render::path(&located.root), "branch": located.branch()},
                "sessions": by_status, "facts": facts, "last_activity": last.map(|at| at.to_string()),
                "memories": {"approved": remembered, "proposed": proposed}, "home": render::path(context.home.root()), "failures": failed,
                "stores_nothing": shut,
                "store": kept.json(), "folders": folders.json(),
            }));
            return Ok(());
        }
        let branch = located.branch().map(|branch| format!(" on {branch}")).unwrap_or_default();
        render::line(&format!("{}{branch}  ({})", located.name, located.root.display()));
        folders.print();
        render::line(&format!("sessions  {}", listed(&by_status)));
        render::line(&format!("facts     {}", listed(&facts)));
        let waiting =
            if proposed > 0 { format!(", {proposed} proposed: `cerberus memory review`") } else { String::new() };
        render::line(&format!("memories  {remembered}{waiting}"));
        render::line(&format!("stored    {}", kept.line()));
        if let Some(last) = last {
            render::line(&format!("active    {last}"));
        }
        let health = match failures.last() {
            None => "good".to_string(),
            Some(last) => {
                let often = render::count(failures.len(), "failure");
                format!("{often} recently, the last at {}: {}: {}", last.at, last.what, last.detail)
            }
        };
        render::line(&format!("health    {health}"));
        if let Some(shut) = shut {
            render::line(&format!("storing   {shut}"));
        }
        Ok(())
    }
}

/// How much is stored, for how long, and how many sessions are due for deletion.
struct Kept {
    stored: Stored,
    config: StoreConfig,
    /// Why the settings cannot be read.
    problem: Option<String>,
    due: usize,
}

impl Kept {
    fn of(context: &Context, store: &Store) -> Result<Kept> {
        const DOCTOR: &str = "run `cerberus doctor` to see what is wrong";
        let (config, problem) = match context.config() {
            Ok(config) => (config.store, None),
            Err(failure) => (StoreConfig::default(), Some(failure.error.to_string())),
        };
        let due = retention::due(&context.home, store, config, context.clock.now).hint(DOCTOR)?.len();
        Ok(Kept { stored: retention::stored(&context.home).hint(DOCTOR)?, config, problem, due })
    }

    fn json(&self) -> Value {
        json!({
            "journal_bytes": self.stored.journal_bytes, "view_bytes": self.stored.view_bytes,
            "retention_days": self.config.retention.map(|age| age.0.as_secs() / 86_400),
            "max_bytes": self.config.max_size.map(|size| size.bytes), "sessions_due": self.due,
        })
    }

    fn line(&self) -> String {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let Stored { journal_bytes, view_bytes } = self.stored;
        let mut parts = vec![format!("journal {}, view {}", mib(journal_bytes), mib(view_bytes))];
        match (self.config.retention, self.config.max_size) {
            (None, None) => parts.push("everything is kept".to_string()),
            (age, size) => {
                parts.extend(age.map(|age| format!("kept for {} days", age.0.as_secs() / 86_400)));
                parts.extend(size.map(|size| format!("at most {}", mib(size.bytes))));
            }
        }
        if self.due > 0 {
            let due = render::count(self.due, "session");
            parts.push(format!("{due} due for deletion: `cerberus memory session-cleanup`"));
        }
        parts.extend(self.problem.clone());
        parts.join("; ")
    }
}

fn listed(counts: &BTreeMap<&str, usize>) -> String {
    match counts.is_empty() {
        true => "none yet".to_string(),
        false => counts.iter().map(|(word, number)| format!("{number} {word}")).collect::<Vec<_>>().join(", "),
    }
}
