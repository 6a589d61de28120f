//! `cerberus doctor`: what is installed, what works, what failed recently, and how to fix it.
//!
//! It checks and measures. It changes nothing, except that `--rebuild` rebuilds the view.

mod agents;
mod latency;
mod summary;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cerberus_engine::os::failures;
use cerberus_engine::project::privacy;
use cerberus_engine::project::privacy::StorageBlock;
use cerberus_engine::store::fold;
use cerberus_engine::store::{self, Store};
use cerberus_engine::{config, journal};
use rustix::fs::Access;
use serde::Serialize;
use serde_json::json;

use super::project::Folders;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Check what is installed, what works and what failed recently, and show how to fix it
#[derive(clap::Args)]
pub struct Doctor {
    /// Rebuild the view from the journal first; no data is lost
    #[arg(long)]
    rebuild: bool,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

fn good(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, ok: true, detail: detail.into(), fix: None }
}

fn bad(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { name, ok: false, detail: detail.into(), fix: Some(fix.into()) }
}

impl Doctor {
    pub fn run(self, context: &Context) -> Result<()> {
        if self.rebuild {
            let mut store = context.store()?;
            fold::rebuild(&context.home, &mut store)
                .hint("no data was lost; try again when no other command is running")?;
        }
        let mut checks = vec![home(context), journal(context)];
        let (view, store) = view(context);
        checks.extend([view, settings(context), storing(context), summary::check(context, store.as_ref())]);
        checks.extend(store.as_ref().and_then(|store| project(context, store)));
        checks.push(latency::check(context));
        checks.extend(agents::checks(context, store.as_ref()));
        checks.push(lately(context));
        let ok = checks.iter().all(|check| check.ok);
        if context.json {
            render::json(&json!({"ok": ok, "checks": checks}));
        } else {
            for check in &checks {
                render::line(&format!("{}  {:12} {}", if check.ok { "ok " } else { "BAD" }, check.name, check.detail));
                check.fix.iter().for_each(|fix| render::line(&format!("     {:12} -> {fix}", "")));
            }
        }
        Ok(())
    }
}

fn home(context: &Context) -> Check {
    let root = context.home.root();
    let is_open = |path: &Path| path.metadata().is_ok_and(|known| known.permissions().mode() & 0o077 != 0);
    let inside = [context.home.journal_dir(), store::view_file(&context.home), context.home.backups_dir()];
    match root.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => good("home", "nothing captured yet"),
        Err(error) => bad("home", format!("{}: {error}", root.display()), "fix the folder's permissions"),
        Ok(_) => match [root.to_path_buf()].into_iter().chain(inside).find(|path| is_open(path)) {
            Some(open) => {
                let detail = format!("{} is accessible to other users", open.display());
                bad("home", detail, format!("chmod -R go= '{}'", root.display()))
            }
            None => good("home", root.display().to_string()),
        },
    }
}

fn journal(context: &Context) -> Check {
    const FIX: &str = "fix the folder's permissions";
    let dir = context.home.journal_dir();
    if dir.exists() && rustix::fs::access(&dir, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return bad("journal", format!("{} is not writable", dir.display()), FIX);
    }
    match journal::segments(&context.home) {
        Err(error) => bad("journal", error.to_string(), FIX),
        Ok(segments) => {
            let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
            good("journal", format!("{}, {bytes} bytes", render::count(segments.len(), "day")))
        }
    }
}

fn view(context: &Context) -> (Check, Option<Store>) {
    const REBUILD: &str = "cerberus doctor --rebuild";
    let store = match fold::open(&context.home) {
        Ok(store) => store,
        Err(error) => return (bad("view", error.to_string(), REBUILD), None),
    };
    let (checked, segments) = match (store.check(), store.segments()) {
        (Ok(checked), Ok(segments)) => (checked, segments),
        (Err(error), _) | (_, Err(error)) => return (bad("view", error.to_string(), REBUILD), None),
    };
    if checked != "ok" {
        return (bad("view", checked, REBUILD), None);
    }
    let torn: usize = segments.iter().map(|(_, _, torn, _)| torn).sum();
    let unknown: usize = segments.iter().map(|(_, _, _, unknown)| unknown).sum();
    let torn = render::count(torn, "torn record");
    let detail = format!("up to date; skipped {torn} and {unknown} of a newer version");
    (good("view", detail), Some(store))
}

fn settings(context: &Context) -> Check {
    match config::load(&context.home) {
        Ok(_) => good("config", "valid"),
        Err(error) => bad("config", error.to_string(), "fix or remove the file"),
    }
}

/// Whether hooks store anything here. This is the user's choice, so it is never a failure.
fn storing(context: &Context) -> Check {
    match privacy::storage_block(&context.home, context.clock.now, &context.located()) {
        Some(shut @ StorageBlock::Paused { .. }) => good("storing", format!("{shut}; `cerberus unpause` lifts it")),
        Some(shut) => good("storing", shut.to_string()),
        None => good("storing", "on"),
    }
}

/// Whether this project is in other folders too. An open question is not a failure.
fn project(context: &Context, store: &Store) -> Option<Check> {
    let folders = Folders::load(context, store, &context.located()).ok()?;
    let detail = match folders.questions().into_iter().next() {
        Some(question) => question,
        None => match folders.joined.len() {
            0 => "only in this folder".to_string(),
            count => format!("also in {}: `cerberus project` shows them", render::count(count, "other folder")),
        },
    };
    Some(good("project", detail))
}

fn lately(context: &Context) -> Check {
    // Read last, to include failures of the checks above.
    let failures = failures::recent(&context.home, context.now_again().clock.now);
    match failures.last() {
        None => good("failures", "none recently"),
        Some(last) => {
            let often = render::count(failures.len(), "failure");
            let detail = format!("{often} recently, the last at {}: {}: {}", last.at, last.what, last.detail);
            bad(
                "failures",
                detail,
                format!("see {}; delete the file when the problem is solved", context.home.failures().display()),
            )
        }
    }
}
