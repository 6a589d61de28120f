//! How each agent is run without a terminal, in a home of its own.
//!
//! Of the environment it gets PATH, what a network may need, and the variables named here, which carry its key. Nothing
//! else of its user is read: no home, no settings, no stored login.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use cerberus_agents::headless::Headless;
use cerberus_agents::{ALL, Profile};

use super::Arm;
use crate::clients::claude_code::ClaudeCode;
use crate::clients::codex::Codex;
use crate::clients::gemini::Gemini;
use crate::clients::{Client, STUB_KEY};
use crate::scratch::Scratch;

/// Variables that any program may need to reach its server.
const NETWORK: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// An agent that can play a task.
#[derive(Debug)]
pub struct Player {
    pub profile: &'static Profile,
    pub headless: &'static Headless,
    runs: &'static Runs,
}

/// Its command line.
#[derive(Debug)]
struct Runs {
    agent: &'static str,
    /// How it acts for the scripted model.
    client: &'static dyn Client,
    /// Makes it ask the model server at this address.
    point: fn(&mut Command, url: &str),
    first: &'static [&'static str],
    /// Instead, if the last conversation goes on.
    next: &'static [&'static str],
    /// Before the prompt.
    before_prompt: &'static [&'static str],
    after_prompt: &'static [&'static str],
    /// The prompt that compacts the last conversation, if one does.
    compact: Option<&'static str>,
    /// Variables that are passed on if they are set.
    passed: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
    /// Without its own memory.
    forgetful: &'static [(&'static str, &'static str)],
    /// The file with instructions that it reads.
    guide: &'static str,
}

const RUNS: [Runs; 3] = [
    Runs {
        agent: "claude-code",
        client: &ClaudeCode,
        point: |command, url| {
            command.envs([("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", STUB_KEY)]);
        },
        first: &[],
        next: &["--continue"],
        before_prompt: &["-p"],
        after_prompt: &["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
        compact: Some("/compact"),
        passed: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"],
        settings: &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // It runs in a scratch folder, maybe as root.
            ("IS_SANDBOX", "1"),
            // The prompts are those of a person, who would type them: into an editor, which passes them on like this.
            ("CLAUDE_CODE_ENTRYPOINT", "claude-vscode"),
        ],
        forgetful: &[("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")],
        guide: "CLAUDE.md",
    },
    Runs {
        agent: "codex",
        client: &Codex,
        point: Codex::point,
        first: &["exec"],
        next: &["exec", "resume", "--last"],
        before_prompt: &["--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"],
        after_prompt: &[],
        compact: None,
        passed: &["CODEX_API_KEY"],
        settings: &[],
        forgetful: &[],
        guide: "AGENTS.md",
    },
    Runs {
        agent: "gemini",
        client: &Gemini,
        point: |command, url| {
            command.envs([("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_API_KEY", STUB_KEY)]);
        },
        first: &[],
        next: &["--resume", "latest"],
        before_prompt: &["-p"],
        after_prompt: &["-o", "stream-json", "--yolo"],
        compact: None,
        passed: &["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
        settings: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        forgetful: &[],
        guide: "GEMINI.md",
    },
];

/// What asks an agent to keep notes.
pub const GUIDE: &str = "# Notes\n\nKeep notes for your next session in this file: what was decided, what the user \
                         corrected, what is still to do.\nWrite them before you do anything else.\n";

/// The names of the agents that can play.
pub fn names() -> String {
    RUNS.map(|runs| runs.agent).join(", ")
}

impl Player {
    /// The agent with this name, which may be that of its program.
    pub fn find(name: &str) -> Option<Player> {
        let profile = ALL.into_iter().find(|profile| profile.agent.name() == name || profile.program == name)?;
        let runs = RUNS.iter().find(|runs| runs.agent == profile.agent.name())?;
        Some(Player { profile, headless: profile.headless?, runs })
    }

    /// The file in which it keeps notes if it is asked to.
    pub fn guide(&self) -> &'static str {
        self.runs.guide
    }

    pub fn client(&self) -> &'static dyn Client {
        self.runs.client
    }

    /// Makes it ask the model server at this address.
    pub(super) fn point(&self, command: &mut Command, url: &str) {
        (self.runs.point)(command, url);
    }

    /// The prompt that compacts its conversation, if there is one.
    pub fn compact(&self) -> Option<&'static str> {
        self.runs.compact
    }

    /// One turn, in a clean environment: a conversation begins, or the last one goes on.
    pub fn turn(&self, program: &Path, scratch: &Scratch, arm: Arm, goes_on: bool, prompt: &str) -> Command {
        let runs = self.runs;
        let tmp = scratch.root().join("tmp");
        std::fs::create_dir_all(&tmp).expect("makes a directory in a scratch folder");
        let mut command = Command::new(program);
        command.env_clear().current_dir(scratch.repo());
        command.env("PATH", path()).env("HOME", scratch.home()).env("TMPDIR", &tmp);
        command.envs([("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]).env("CLAUDE_CODE_TMPDIR", &tmp);
        for name in NETWORK.iter().chain(runs.passed) {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(runs.settings.iter().copied());
        if arm != Arm::OwnFiles {
            command.envs(runs.forgetful.iter().copied());
        }
        command.args(if goes_on { runs.next } else { runs.first });
        command.args(runs.before_prompt).arg(prompt).args(runs.after_prompt);
        command
    }
}

/// The user's PATH, before it the folder of the Rust compiler: rustup looks for it in a home that an agent does not have.
pub(super) fn path() -> OsString {
    let user = std::env::var_os("PATH").unwrap_or_default();
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output();
    let root = asked.ok().and_then(|said| String::from_utf8(said.stdout).ok()).unwrap_or_default();
    let compiler = Path::new(root.trim()).join("bin");
    let first = compiler.is_absolute().then_some(compiler);
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&user))).unwrap_or(user)
}
