//! `cerberus doctor`: what is installed, what works, what failed recently, and how to fix it.
//!
//! It checks and measures. It changes nothing, except that `--rebuild` rebuilds the view and the index of
//! the archive.

mod agents;
mod health_check;
mod latency;
mod summary;

use std::io::ErrorKind;
use std::path::Path;

use cerberus_os::failures;
use cerberus_os::platform;
use cerberus_store::journal;
use cerberus_store::project::privacy::{self, StorageBlock};
use cerberus_store::view::fold;
use cerberus_store::view::{self, Store};
use serde_json::json;

use self::health_check::{HealthCheck, bad, good};
use super::archive::ArchiveHoldings;
use super::pause;
use super::project::ProjectFolders;
use crate::context::{Context, home_repair};
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::LocalTime;

/// Check what is installed, what works and what failed recently, and show how to fix it
///
/// Exits 1 if anything is BAD.
#[derive(clap::Args)]
pub struct DoctorArgs {
    /// Rebuild the view from the journal and the index of the archive first; no data is lost
    #[arg(long)]
    rebuild: bool,
}

impl DoctorArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        // The other checks would read settings and run programs that somebody else may have put there.
        let is_safe = context.home.unsafe_home().is_none();
        let checks = if is_safe { self.checks(context)? } else { vec![home(context)] };
        let failed = checks.iter().filter(|check| !check.ok).count();
        if context.json {
            render::json(&json!({"ok": failed == 0, "checks": checks}));
        } else {
            print(&checks);
        }
        match failed {
            0 => Ok(()),
            failed => Err(anyhow::anyhow!("{} failed", render::count(failed, "check")))
                .hint("each check marked BAD says what to do"),
        }
    }

    fn checks(&self, context: &Context) -> Result<Vec<HealthCheck>> {
        if self.rebuild {
            let mut store = context.store()?;
            fold::rebuild(&context.home, &mut store)
                .hint("no data was lost; try again when no other command is running")?;
            drop(store);
            cerberus_archive::erase::rebuild(&context.home)?;
        }
        let mut checks = vec![home(context), journal(context)];
        let (view, store) = view(context);
        checks.extend([view, settings(context), storing(context), summary::check(context, store.as_ref())]);
        checks.extend(checked(context, store.as_ref()));
        checks.push(archive(context));
        checks.push(leaves(context));
        checks.extend(store.as_ref().and_then(|store| project(context, store)));
        checks.extend(store.iter().flat_map(|store| sync(context, store)));
        checks.push(latency::check(context));
        checks.extend(agents::checks(context, store.as_ref()));
        checks.push(lately(context));
        Ok(checks)
    }
}

/// What is wrong here, found without starting anything and without measuring. `status` says it.
pub fn problems(context: &Context, store: &Store) -> Vec<String> {
    let mut checks = vec![home(context), journal(context), settings(context)];
    checks.extend(agents::problems(context));
    let failed = checks.into_iter().filter(|check| !check.ok);
    let said = |check: HealthCheck| match check.name {
        // Settings have said it with what it means.
        CONFIG => check.detail,
        name => format!("{name}: {}", check.detail),
    };
    // The lines of sync in `status` have said what is wrong with it.
    let is_sync_bad = sync(context, store).iter().any(|check| !check.ok);
    failed.map(said).chain(is_sync_bad.then(|| "sync: see above".to_string())).collect()
}

/// Whether sessions of any agent are recorded.
pub fn is_connected(context: &Context) -> bool {
    agents::is_connected(context)
}

const CONFIG: &str = "config";

/// The width of what stands in front of a detail.
const DETAIL_COLUMN: usize = 18;

fn print(checks: &[HealthCheck]) {
    let screen = Screen::of_stdout();
    let columns = screen.room().saturating_sub(DETAIL_COLUMN);
    let (missing, shown): (Vec<&HealthCheck>, Vec<&HealthCheck>) =
        checks.iter().partition(|check| check.ok && check.detail == agents::NOT_FOUND);
    for check in shown {
        let (sign, style) = if check.ok { ("ok ", Style::Plain) } else { ("BAD", Style::Bad) };
        let mut start = Line::of(style, sign).plain(format!("  {:12} ", check.name));
        let detail = wrapped(&check.detail, columns).into_iter();
        for text in detail.chain(check.fix.iter().flat_map(|fix| wrapped(&format!("-> {fix}"), columns))) {
            render::styled(&screen, start.pad(DETAIL_COLUMN).plain(text));
            start = Line::new();
        }
    }
    let names: Vec<&str> = missing.iter().map(|check| check.name).collect();
    if !names.is_empty() {
        let text = match names.len() == cerberus_agents::ALL.len() {
            true => format!(
                "{} on this machine: {}. Install one of them, then run `cerberus install`",
                NO_AGENT,
                names.join(", ")
            ),
            false => format!("not found on this machine: {}", names.join(", ")),
        };
        let mut start = Line::new().plain("     agents");
        for text in wrapped(&text, columns) {
            render::styled(&screen, start.pad(DETAIL_COLUMN).plain(text));
            start = Line::new();
        }
    }
}

const NO_AGENT: &str = "no agent was found";

fn home(context: &Context) -> HealthCheck {
    let root = context.home.root();
    let is_open = |path: &Path| path.metadata().is_ok_and(|known| platform::mode(&known) & 0o077 != 0);
    let inside = [context.home.journal_dir(), view::view_file(&context.home), context.home.backups_dir()];
    if let Some(problem) = context.home.unsafe_home() {
        return bad("home", format!("{problem}, so hooks store and run nothing"), home_repair(&problem));
    }
    match root.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => good("home", "nothing captured yet"),
        Err(error) => bad("home", format!("{}: {error}", root.display()), WRITABLE),
        Ok(known) if !known.is_dir() => {
            let fix = format!("move {} away, or set CERBERUS_HOME to a folder", root.display());
            bad("home", format!("{} is not a folder, so nothing is stored", root.display()), fix)
        }
        Ok(_) if !platform::may_create_in(root) => {
            let detail = format!("{} is read-only, so nothing is stored", root.display());
            bad("home", detail, WRITABLE)
        }
        Ok(_) => match [root.to_path_buf()].into_iter().chain(inside).find(|path| is_open(path)) {
            Some(open) => {
                let detail = format!("{} is accessible to other users", open.display());
                bad("home", detail, format!("chmod -R go= '{}'", root.display()))
            }
            None => good("home", root.display().to_string()),
        },
    }
}

const WRITABLE: &str = "make it readable and writable for you, or set CERBERUS_HOME to a folder that is";

fn journal(context: &Context) -> HealthCheck {
    let dir = context.home.journal_dir();
    if dir.exists() && !platform::may_create_in(&dir) {
        return bad("journal", format!("{} is not writable", dir.display()), WRITABLE);
    }
    match journal::segments(&context.home) {
        Err(error) => bad("journal", error.to_string(), WRITABLE),
        Ok(segments) => {
            let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
            good("journal", format!("{}, {}", render::count(segments.len(), "file"), render::bytes(bytes)))
        }
    }
}

fn view(context: &Context) -> (HealthCheck, Option<Store>) {
    // Rebuilding needs a folder that can be written.
    let root = context.home.root();
    let is_read_only = root.exists() && !platform::may_create_in(root);
    let rebuild = if is_read_only { WRITABLE } else { "cerberus doctor --rebuild" };
    let store = match fold::open(&context.home) {
        Ok(store) => store,
        Err(error) => return (bad("view", error.to_string(), rebuild), None),
    };
    let (checked, segments) = match (store.check(), store.segments()) {
        (Ok(checked), Ok(segments)) => (checked, segments),
        (Err(error), _) | (_, Err(error)) => return (bad("view", error.to_string(), rebuild), None),
    };
    if checked != "ok" {
        return (bad("view", checked, rebuild), None);
    }
    if is_read_only {
        return (bad("view", "can be read, but not updated", rebuild), Some(store));
    }
    let torn: usize = segments.iter().map(|(_, _, torn, _)| torn).sum();
    let unknown: usize = segments.iter().map(|(_, _, _, unknown)| unknown).sum();
    let mut detail = "up to date".to_string();
    if torn + unknown > 0 {
        let torn = render::count(torn, "torn record");
        detail.push_str(&format!("; skipped {torn} and {unknown} of a newer version"));
    }
    (good("view", detail), Some(store))
}

fn archive(context: &Context) -> HealthCheck {
    match cerberus_archive::erase::damage(&context.home) {
        Err(error) => bad("archive", error.to_string(), "cerberus doctor --rebuild"),
        Ok((0, 0)) => match ArchiveHoldings::of(context) {
            Ok(held) => good("archive", held.line()),
            Err(failure) => bad("archive", failure.error.to_string(), "cerberus doctor --rebuild"),
        },
        Ok((0, aside)) => good(
            "archive",
            format!("{} with damage set aside; what could be read was kept", render::count(aside, "segment")),
        ),
        Ok((bytes, _)) => {
            bad("archive", format!("{} cannot be read", render::bytes(bytes)), "cerberus doctor --rebuild")
        }
    }
}

fn settings(context: &Context) -> HealthCheck {
    match context.settings_problem() {
        None => good(CONFIG, "valid"),
        Some(problem) => bad(CONFIG, problem, "fix or remove the file"),
    }
}

/// Whether hooks store anything here. This is the user's choice, so it is never a failure.
fn storing(context: &Context) -> HealthCheck {
    match privacy::storage_block(&context.home, context.clock.now, &context.located()) {
        Some(shut @ StorageBlock::Paused { .. }) => {
            good("storing", format!("{}; `cerberus unpause` lifts it", pause::storing(context, &shut)))
        }
        Some(shut) => good("storing", shut.to_string()),
        None => good("storing", "on"),
    }
}

/// Whether the user's checks are enforced here, and how often a pause switched them off.
fn checked(context: &Context, store: Option<&Store>) -> Option<HealthCheck> {
    let mut detail = pause::checks(context)?;
    let pauses = store.and_then(|store| store.pauses(context.clock.now).ok()).unwrap_or_default();
    let begun: Vec<_> = pauses.iter().filter(|pause| !pause.is_lifted).collect();
    if let Some(last) = begun.last() {
        let times = render::count(begun.len(), "time");
        let last = LocalTime::new(context.clock.now).when(last.at);
        detail.push_str(&format!("; switched off by a pause {times}, the last {last}"));
    }
    Some(good("checks", detail))
}

/// Everything that leaves this machine, and where it goes. The user wants it, so it is never a failure.
fn leaves(context: &Context) -> HealthCheck {
    let destinations: Vec<String> =
        super::sync::destinations(context).into_iter().chain(summary::destination(context)).collect();
    match destinations.is_empty() {
        true => good("leaves", "nothing leaves this machine"),
        false => good("leaves", destinations.join("; ")),
    }
}

/// Whether this project is in other folders too. An open question is not a failure.
fn project(context: &Context, store: &Store) -> Option<HealthCheck> {
    let located = context.located();
    if let Some(git_dir) = &located.disowned_by {
        let (root, git_dir) = (located.root.display(), git_dir.display());
        let detail =
            format!("{root}/.git leads to {git_dir}, which does not point back, so this is a project of its own");
        return Some(good("project", format!("{detail}; if it is yours: git config core.worktree '{root}'")));
    }
    let folders = ProjectFolders::load(context, store, &located).ok()?;
    let detail = match folders.questions().into_iter().next() {
        Some(question) => question,
        None => match folders.joined.len() {
            0 => "only in this folder".to_string(),
            count => format!("also in {}: `cerberus project` shows them", render::count(count, "other folder")),
        },
    };
    Some(good("project", detail))
}

/// Each space that this home takes part in.
fn sync(context: &Context, store: &Store) -> Vec<HealthCheck> {
    let one = |(is_good, detail, fix): (bool, String, &str)| match is_good {
        true => good("sync", detail),
        false => bad("sync", detail, fix),
    };
    super::sync::checks(context, store).into_iter().map(one).collect()
}

fn lately(context: &Context) -> HealthCheck {
    // Read last, to include failures of the checks above.
    let failures = failures::recent(&context.home, context.now_again().clock.now);
    match failures.last() {
        None => good("failures", "none recently"),
        Some(last) => {
            let often = render::count(failures.len(), "failure");
            let ago = LocalTime::new(context.clock.now).ago(last.at);
            let detail = format!("{often} recently, the last {ago}: {}: {}", last.what, last.detail);
            bad(
                "failures",
                detail,
                format!("see {}; delete the file when the problem is solved", context.home.failures().display()),
            )
        }
    }
}
