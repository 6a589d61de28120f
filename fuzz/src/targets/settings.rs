//! Agents' settings files: installing twice is once, uninstalling gives the very same bytes back, and a file that is not
//! understood is an error.

use std::ffi::OsString;
use std::path::PathBuf;

use cerberus_agents::install::{self, InstallScope, Profile, Surroundings};
use cerberus_agents::settings::{self, InstallTarget, Part, ProgramVersion};

use super::{Check, holds};

const TARGET: InstallTarget<'_> = InstallTarget {
    has_server: true,
    command: "/opt/bin/cerberus",
    client: Some(ProgramVersion(2, 1, 50)),
    home: Some("/h"),
    checks: true,
};

pub fn merger() -> anyhow::Result<Check> {
    let variable = |name: &str| (name == "HOME").then(|| OsString::from("/home/dev"));
    let surroundings = Surroundings::new(&variable, PathBuf::from("/p"));
    let of_agent = |profile: &'static Profile| {
        InstallScope::ALL
            .into_iter()
            .flat_map(|scope| (profile.files)(&surroundings, scope))
            .map(|file| file.parts)
            .collect::<Vec<_>>()
    };
    let files: Vec<&'static [Part]> = install::all().flat_map(of_agent).collect();
    Ok(Box::new(move |input| {
        let text = String::from_utf8_lossy(input);
        files.iter().try_for_each(|parts| merge(parts, &text))
    }))
}

fn merge(parts: &[Part], text: &str) -> Result<(), String> {
    let Ok(wired) = settings::install(parts, text, &TARGET) else { return Ok(()) };
    let again =
        settings::install(parts, &wired, &TARGET).map_err(|error| format!("installed, not understood: {error}"))?;
    holds(again == wired, "installing twice is once", (text, &wired, &again))?;
    let wiring = settings::installed(parts, &wired, TARGET.client).map_err(|error| error.to_string())?;
    holds(wiring.missing.is_empty(), "what is installed is found", &wiring)?;
    let was_there = !settings::installed(parts, text, None).map_err(|error| error.to_string())?.is_empty();
    let back = settings::uninstall(parts, &wired, Some(text)).map_err(|error| error.to_string())?;
    // With ours in it already, the text is not the one of before we came.
    holds(was_there || back == text, "uninstalling gives the same bytes back", (text, &wired, &back))?;
    let cleaned = settings::uninstall(parts, &wired, None).map_err(|error| error.to_string())?;
    let left =
        settings::installed(parts, &cleaned, None).map_err(|error| format!("cleaned, not understood: {error}"))?;
    holds(left.is_empty(), "nothing of ours is left", (&wired, &cleaned))
}
