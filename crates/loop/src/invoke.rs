//! How each agent is started for a fresh context, and its first prompt.
//!
//! None of the user's hooks, plugins, settings or permissions are switched off. Whatever else a headless agent needs,
//! the user passes after `--`.

use cerberus_agents::headless::{Headless, SessionNaming};

use super::settings::{Completion, Settings};

/// The command to start, and its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    pub input: String,
    pub stays_open: StaysOpen,
    /// Whether the agent uses our id for its session.
    pub is_named: bool,
}

/// Whether more input can be sent later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaysOpen {
    Yes,
    No,
}

/// The first prompt, and the one that follows a warm-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningPrompts {
    pub first: String,
    pub task: Option<String>,
}

impl OpeningPrompts {
    /// The handoff comes last if possible, because its last line says what to do.
    pub fn new(settings: &Settings, task: &str, handoff: Option<&str>) -> OpeningPrompts {
        let task = match claim(&settings.completion) {
            Some(how) => format!("{}\n\n{how}", task.trim_end()),
            None => task.trim_end().to_string(),
        };
        let joined = |parts: &[Option<&str>]| parts.iter().flatten().copied().collect::<Vec<_>>().join("\n\n");
        match settings.warm_up.as_ref().map(|warm_up| warm_up.prompt.as_str()) {
            Some(warm_up) if settings.worker.headless().is_some_and(Headless::stays_open) => {
                OpeningPrompts { first: joined(&[handoff, Some(warm_up)]), task: Some(task) }
            }
            warm_up => OpeningPrompts { first: joined(&[warm_up, Some(&task), handoff]), task: None },
        }
    }
}

/// How the agent reports that everything is done.
fn claim(completion: &Completion) -> Option<String> {
    let phrase = completion.phrase.as_deref()?;
    Some(format!(
        "When everything is done, and not before, end your last message with a line that contains only this: {phrase}"
    ))
}

/// A fresh context. If the agent accepts a session id, it gets `session`, which can be recorded before the start. If it
/// can limit its own cost, it gets `budget_usd`.
pub fn fresh(settings: &Settings, text: &str, session: Option<&str>, budget_usd: Option<f64>) -> Invocation {
    let Some(headless) = settings.worker.headless() else { return command(settings, text) };
    let is_users =
        |naming: &SessionNaming| settings.agent_args.iter().any(|arg| naming.users_own.contains(&arg.as_str()));
    let naming = headless.naming.as_ref().filter(|naming| !is_users(naming)).zip(session);
    let mut args = naming.map_or(Vec::new(), |(naming, session)| vec![naming.flag, session]);
    // Less than this cannot be written down, and zero may mean no limit.
    let budget = budget_usd.map(|usd| format!("{:.4}", usd.max(0.0001)));
    let is_set = |flag: &&str| settings.agent_args.iter().any(|arg| arg.split('=').next() == Some(*flag));
    let flag = headless.budget_flag.filter(|flag| !is_set(flag));
    args.extend(flag.zip(budget.as_deref()).into_iter().flat_map(|(flag, budget)| [flag, budget]));
    Invocation { is_named: naming.is_some(), ..agent(settings, headless, &args, text) }
}

/// One more turn of a stopped session, if the agent supports it.
pub fn resumed(settings: &Settings, session: &str, text: &str) -> Option<Invocation> {
    let headless = settings.worker.headless()?;
    Some(agent(settings, headless, &[headless.resume?, session], text))
}

/// `args` follow the user's own.
fn agent(settings: &Settings, headless: &Headless, args: &[&str], text: &str) -> Invocation {
    let standard = cerberus_agents::profile(settings.worker.agent()).map(|profile| profile.program.to_string());
    let users: Vec<&str> = settings.agent_args.iter().map(String::as_str).collect();
    let args = [headless.args, &users, args, headless.last_args].concat();
    Invocation {
        program: settings.program.clone().or(standard).unwrap_or_default(),
        args: args.into_iter().map(str::to_string).collect(),
        input: headless.message(text),
        stays_open: if headless.stays_open() { StaysOpen::Yes } else { StaysOpen::No },
        is_named: false,
    }
}

fn command(settings: &Settings, text: &str) -> Invocation {
    let mut args = settings.agent_args.clone();
    // Settings without a command are rejected earlier.
    let program = settings.program.clone().unwrap_or_else(|| args.drain(..1.min(args.len())).collect());
    Invocation { program, args, input: format!("{text}\n"), stays_open: StaysOpen::No, is_named: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Layer;

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
            let found = fresh(&settings(text), "go", Some("u-1"), None);
            assert_eq!([&[found.program], &found.args[..]].concat().join(" "), line);
        }
        let codex = settings("agent = \"codex\"");
        assert_eq!(resumed(&codex, "s1", "go").unwrap().args.join(" "), "exec --json resume s1 -");
        assert_eq!(resumed(&settings("agent = \"claude-code\""), "s1", "go"), None);
    }

    #[test]
    fn what_is_left_of_the_budget_is_the_agents_own_limit() {
        let args = |text: &str, usd| fresh(&settings(text), "go", None, usd).args.join(" ");
        assert!(args("agent = \"claude-code\"", Some(0.75)).ends_with(" --max-budget-usd 0.7500"));
        assert!(args("agent = \"claude-code\"", Some(1e-9)).ends_with(" --max-budget-usd 0.0001"));
        assert!(!args("agent = \"claude-code\"", None).contains("budget"));
        assert!(!args("agent = \"codex\"", Some(1.0)).contains("budget"));
        for users in ["[\"--max-budget-usd\", \"3\"]", "[\"--max-budget-usd=3\"]"] {
            let text = format!("agent = \"claude-code\"\nagent_args = {users}");
            assert!(!args(&text, Some(0.75)).contains("0.75"), "{users}");
        }
    }

    #[test]
    fn the_handoff_is_in_the_first_message() {
        for (text, first, task) in [
            ("agent = \"codex\"", "do it\n\nHANDOFF", None),
            ("agent = \"codex\"\nwarm_up = \"look\"", "look\n\ndo it\n\nHANDOFF", None),
            ("agent = \"claude-code\"\nwarm_up = \"look\"", "HANDOFF\n\nlook", Some("do it")),
        ] {
            let opening = OpeningPrompts::new(&settings(text), "do it\n", Some("HANDOFF"));
            assert_eq!((opening.first.as_str(), opening.task.as_deref()), (first, task), "{text}");
        }
        let claimed = settings("agent = \"codex\"\ncompletion_phrase = \"DONE\"");
        assert!(OpeningPrompts::new(&claimed, "do it", None).first.ends_with("contains only this: DONE"));
    }
}
