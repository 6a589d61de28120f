use std::os::unix::fs::PermissionsExt;

use cerberus_engine::agents::claude_code;
use cerberus_engine::{config, failures, fold, journal};
use serde::Serialize;
use serde_json::json;

use super::install::{claude_dir, on_path};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Say what is wired, what works, what failed lately, and how to mend it
#[derive(clap::Args)]
pub struct Doctor {
    /// Make the view anew from the journal; nothing is lost
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
            fold::rebuild(&context.home, &mut store).hint("nothing is lost; try again when no other command runs")?;
        }
        let checks =
            [home(context), journal(context), view(context), settings(context), claude_code(), lately(context)];
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
    match std::fs::metadata(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => good("home", "nothing captured yet"),
        Err(error) => bad("home", format!("{}: {error}", root.display()), "mend the folder's permissions"),
        Ok(known) if known.permissions().mode() & 0o077 != 0 => {
            let detail = format!("{} can be read by others", root.display());
            bad("home", detail, format!("chmod 700 {}", root.display()))
        }
        Ok(_) => good("home", root.display().to_string()),
    }
}

fn journal(context: &Context) -> Check {
    match journal::segments(&context.home) {
        Err(error) => bad("journal", error.to_string(), "mend the folder's permissions"),
        Ok(segments) => {
            let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
            good("journal", format!("{}, {bytes} bytes", render::count(segments.len(), "day")))
        }
    }
}

fn view(context: &Context) -> Check {
    const REBUILD: &str = "cerberus doctor --rebuild";
    let store = match fold::open(&context.home) {
        Ok(store) => store,
        Err(error) => return bad("view", error.to_string(), REBUILD),
    };
    let (checked, segments) = match (store.check(), store.segments()) {
        (Ok(checked), Ok(segments)) => (checked, segments),
        (Err(error), _) | (_, Err(error)) => return bad("view", error.to_string(), REBUILD),
    };
    if checked != "ok" {
        return bad("view", checked, REBUILD);
    }
    let stumps: usize = segments.iter().map(|(_, _, stumps, _)| stumps).sum();
    let unknown: usize = segments.iter().map(|(_, _, _, unknown)| unknown).sum();
    let stumps = render::count(stumps, "torn record");
    good("view", format!("up to date; {stumps} and {unknown} of a newer version skipped"))
}

fn settings(context: &Context) -> Check {
    match config::load(&context.home) {
        Ok(_) => good("config", "fine"),
        Err(error) => bad("config", error.to_string(), "correct or remove the file"),
    }
}

fn claude_code() -> Check {
    const NAME: &str = "claude-code";
    const INSTALL: &str = "cerberus install --agent claude-code";
    let Some(dir) = claude_dir() else {
        return good(NAME, "no home folder to look in");
    };
    if !dir.is_dir() && on_path("claude").is_none() {
        return good(NAME, "not found on this machine");
    }
    let wiring = match claude_code::wiring(&dir.join("settings.json")) {
        Ok(wiring) => wiring,
        Err(error) => return bad(NAME, error.to_string(), "correct the file"),
    };
    let commands = wiring.commands();
    let gone = commands.iter().find(|command| !std::path::Path::new(command).is_file());
    match (wiring.hooks.is_empty(), wiring.missing_events().as_slice(), gone) {
        (true, ..) => bad(NAME, "found, but not wired", INSTALL),
        (_, _, Some(gone)) => bad(NAME, format!("wired to {gone}, which is gone"), INSTALL),
        (_, [], _) => good(NAME, format!("wired: {}", commands.into_iter().collect::<Vec<_>>().join(", "))),
        (_, missing, _) => bad(NAME, format!("not wired for {}", missing.join(", ")), INSTALL),
    }
}

fn lately(context: &Context) -> Check {
    let failures = failures::lately(&context.home, context.clock.now);
    match failures.last() {
        None => good("failures", "none lately"),
        Some(last) => {
            let often = render::count(failures.len(), "failure");
            let detail = format!("{often}, the last {}: {}: {}", last.at, last.what, last.detail);
            bad("failures", detail, format!("look into {}; delete it when settled", context.home.failures().display()))
        }
    }
}
