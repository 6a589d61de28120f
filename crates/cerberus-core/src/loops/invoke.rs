//! How each agent is started for a fresh context, and what it is told first.
//!
//! Nothing of the user's is switched off: hooks, plugins, settings and permissions are as they are. What a headless agent
//! needs beyond that, the user says after `--`.

use super::settings::{Completion, Settings, Worker};
use crate::agents::claude_code::stream as claude_code;

/// What is started, and what is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    pub input: String,
    pub stays_open: StaysOpen,
    /// It calls its session what we say.
    pub is_named: bool,
}

/// Whether more can be said to it later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaysOpen {
    Yes,
    No,
}

/// What a fresh context is told: at once, and where it is warmed up first, when that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub first: String,
    pub task: Option<String>,
}

impl Opening {
    /// The handoff comes last where it can: its last line says what to do.
    pub fn new(settings: &Settings, task: &str, handoff: Option<&str>) -> Opening {
        let task = match claim(&settings.completion) {
            Some(how) => format!("{}\n\n{how}", task.trim_end()),
            None => task.trim_end().to_string(),
        };
        let joined = |parts: &[Option<&str>]| parts.iter().flatten().copied().collect::<Vec<_>>().join("\n\n");
        match settings.warm_up.as_ref().map(|warm_up| warm_up.prompt.as_str()) {
            Some(warm_up) if settings.worker == Worker::ClaudeCode => {
                Opening { first: joined(&[handoff, Some(warm_up)]), task: Some(task) }
            }
            warm_up => Opening { first: joined(&[warm_up, Some(&task), handoff]), task: None },
        }
    }
}

/// How the agent says that all is done.
fn claim(completion: &Completion) -> Option<String> {
    let phrase = completion.phrase.as_deref()?;
    Some(format!(
        "When all of it is done, and not before, end your last message with a line that holds only this: {phrase}"
    ))
}

/// Arguments of the user's that say which session it is.
const NAMING: [&str; 6] = ["--session-id", "--resume", "-r", "--continue", "-c", "--fork-session"];

/// A fresh context. Where the agent lets us name its session, it is called `session`, and can be written down before.
pub fn fresh(settings: &Settings, text: &str, session: Option<&str>) -> Invocation {
    let own: &[&str] = match settings.worker {
        Worker::ClaudeCode => &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
        Worker::Codex => &["exec", "--json"],
        Worker::Command => &[],
    };
    let mut args: Vec<String> = own.iter().map(|arg| arg.to_string()).collect();
    args.extend(settings.agent_args.iter().cloned());
    match settings.worker {
        Worker::ClaudeCode => {
            let named = session.filter(|_| !args.iter().any(|arg| NAMING.contains(&arg.as_str())));
            args.extend(named.iter().flat_map(|session| ["--session-id".to_string(), session.to_string()]));
            let program = settings.program.clone().unwrap_or_else(|| "claude".to_string());
            let is_named = named.is_some();
            Invocation { program, args, input: claude_code::prompt(text), stays_open: StaysOpen::Yes, is_named }
        }
        Worker::Codex => {
            args.push("-".to_string());
            let program = settings.program.clone().unwrap_or_else(|| "codex".to_string());
            Invocation { program, args, input: text.to_string(), stays_open: StaysOpen::No, is_named: false }
        }
        Worker::Command => {
            // Settings without a command are refused.
            let program = settings.program.clone().unwrap_or_else(|| args.drain(..1.min(args.len())).collect());
            Invocation { program, args, input: format!("{text}\n"), stays_open: StaysOpen::No, is_named: true }
        }
    }
}

/// One more turn of a session that was stopped, where the agent can do that.
pub fn resumed(settings: &Settings, session: &str, text: &str) -> Option<Invocation> {
    if settings.worker != Worker::Codex {
        return None;
    }
    let mut invocation = fresh(settings, text, None);
    invocation.args.pop();
    invocation.args.extend(["resume".to_string(), session.to_string(), "-".to_string()]);
    Some(invocation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::settings::Layer;

    fn settings(text: &str) -> Settings {
        Settings::new(toml::from_str::<Layer>(text).unwrap()).unwrap()
    }

    #[test]
    fn agents_are_started_headless_with_the_users_own_arguments() {
        for (text, line) in [
            (
                "agent = \"claude-code\"\nagent_args = [\"--model\", \"x\"]",
                "claude -p --input-format stream-json --output-format stream-json --verbose --model x --session-id u-1",
            ),
            (
                "agent = \"claude-code\"\nagent_args = [\"--session-id\", \"x\"]",
                "claude -p --input-format stream-json --output-format stream-json --verbose --session-id x",
            ),
            ("agent = \"codex\"\nagent_args = [\"--full-auto\"]", "codex exec --json --full-auto -"),
            ("agent = \"command\"\nagent_args = [\"./a\", \"b\"]", "./a b"),
            ("agent = \"command\"\nprogram = \"x\"\nagent_args = [\"b\"]", "x b"),
        ] {
            let found = fresh(&settings(text), "go", Some("u-1"));
            assert_eq!([&[found.program], &found.args[..]].concat().join(" "), line);
        }
        let codex = settings("agent = \"codex\"");
        assert_eq!(resumed(&codex, "s1", "go").unwrap().args.join(" "), "exec --json resume s1 -");
        assert_eq!(resumed(&settings("agent = \"claude-code\""), "s1", "go"), None);
    }

    #[test]
    fn the_handoff_is_in_the_first_message() {
        for (text, first, task) in [
            ("agent = \"codex\"", "do it\n\nHANDOFF", None),
            ("agent = \"codex\"\nwarm_up = \"look\"", "look\n\ndo it\n\nHANDOFF", None),
            ("agent = \"claude-code\"\nwarm_up = \"look\"", "HANDOFF\n\nlook", Some("do it")),
        ] {
            let opening = Opening::new(&settings(text), "do it\n", Some("HANDOFF"));
            assert_eq!((opening.first.as_str(), opening.task.as_deref()), (first, task), "{text}");
        }
        let claimed = settings("agent = \"codex\"\ncompletion_phrase = \"DONE\"");
        assert!(Opening::new(&claimed, "do it", None).first.ends_with("holds only this: DONE"));
    }
}
