//! The settings of a loop: `[loop]` in the home's settings, in the project's, and on the command line.
//!
//! Each of the three is a [`Layer`] in which everything is optional; later layers win. [`Settings`] is the result,
//! with all defaults filled in and contradictions rejected.

use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use super::preserve::{Preserve, PreserveLayer};
use cerberus_agents::headless::Headless;
use cerberus_agents::meter::redline::{OutOfOrder, Redline, RedlineLevel};
use cerberus_agents::stream::{self, StreamEvent, plain};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::id::Agent;
use cerberus_record::span::Span;
use cerberus_record::words;

/// Who does the work: an agent that runs headless, or any program that reads its task from standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker(Option<Agent>);

impl Worker {
    pub const COMMAND: Worker = Worker(None);
    const COMMAND_NAME: &str = "command";

    pub fn all() -> impl Iterator<Item = Worker> {
        let agents = cerberus_agents::ALL.iter().filter(|profile| profile.headless.is_some());
        agents.map(|profile| Worker(Some(profile.agent))).chain([Worker::COMMAND])
    }

    pub fn names() -> String {
        Worker::all().map(|worker| worker.name().to_string()).collect::<Vec<_>>().join(", ")
    }

    pub fn name(&self) -> &str {
        self.0.as_ref().map_or(Worker::COMMAND_NAME, Agent::name)
    }

    /// How to run it; `None` for a command.
    pub fn headless(self) -> Option<&'static Headless> {
        self.0.and_then(cerberus_agents::profile).and_then(|profile| profile.headless)
    }

    /// Parses one line of its output.
    pub fn read(self, line: &[u8]) -> Vec<StreamEvent> {
        stream::read(self.headless().map_or(plain::read, |headless| headless.read), line)
    }

    /// The agent under which its sessions are recorded.
    pub fn agent(self) -> Agent {
        self.0.unwrap_or(Agent::MANUAL)
    }
}

impl FromStr for Worker {
    type Err = String;

    fn from_str(text: &str) -> Result<Worker, String> {
        Worker::all().find(|worker| worker.name() == text).ok_or_else(|| format!("expected one of {}", Worker::names()))
    }
}

impl Serialize for Worker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Worker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Worker, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

macro_rules! layers {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// One layer of the loop's settings.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Layer {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            pub preserve: PreserveLayer,
            pub hooks: Hooks,
        }

        impl Layer {
            /// A copy that may be stored: values that contain a secret or a private passage are left out and must be
            /// given again.
            pub fn without_secrets(mut self, cleaner: &Cleaner) -> Layer {
                let is_open = |text: &String| *cleaner.clean(text.as_str(), Keep::words(text.len().max(1), 0)) == **text;
                let texts = [
                    &mut self.prompt,
                    &mut self.until,
                    &mut self.warm_up,
                    &mut self.notify,
                    &mut self.on_done,
                    &mut self.hooks.loop_start,
                    &mut self.hooks.loop_end,
                    &mut self.hooks.pre_iteration,
                    &mut self.hooks.post_iteration,
                    &mut self.hooks.pre_reboot,
                    &mut self.hooks.post_reboot,
                ];
                for text in texts {
                    *text = text.take().filter(is_open);
                }
                for args in [&mut self.agent_args, &mut self.fallback_args] {
                    *args = args.take().filter(|args| args.iter().all(is_open) && is_open(&args.join(" ")));
                }
                self
            }

            /// This layer's values, with `other` as the fallback. A task has two forms; either replaces both.
            pub fn over(self, mut other: Layer) -> Layer {
                if self.prompt.is_some() || self.prompt_file.is_some() {
                    (other.prompt, other.prompt_file) = (None, None);
                }
                Layer {
                    $($field: self.$field.or(other.$field),)*
                    preserve: self.preserve.over(other.preserve),
                    hooks: self.hooks.over(other.hooks),
                }
            }
        }
    };
}

layers! {
    agent: Worker,
    /// The agent's program, if it is not the one on PATH.
    program: String,
    /// Passed to the agent unchanged.
    agent_args: Vec<String>,
    prompt: String,
    prompt_file: String,
    soft_redline: RedlineLevel,
    hard_redline: RedlineLevel,
    /// The context window, if the agent does not report it.
    context_window: u64,
    /// How long a session may take to write its handoff.
    handoff_time_limit: Span,
    reboot_after_turns: u32,
    reboot_after: Span,
    reboot_after_tool_failures: u32,
    reboot_on_output: String,
    stall: Span,
    /// How long an agent may keep running after its last output, and after being asked to stop.
    linger: Span,
    min_interval: Span,
    max_reboots_per_hour: u32,
    max_failures: u32,
    same_failure: u32,
    backoff: Span,
    backoff_max: Span,
    max_iterations: u32,
    /// Waiting for the model's server does not count.
    max_duration: Span,
    /// How long to wait for a server that is limited, overloaded or out of reach, without a context that works between.
    max_wait: Span,
    max_tokens: u64,
    max_cost_usd: f64,
    until: String,
    until_time_limit: Span,
    allow_check_change: bool,
    completion_phrase: String,
    no_progress: u32,
    stop_file: String,
    warm_up: String,
    warm_up_delay: Span,
    /// At the end: `desktop`, or a command that gets the result as JSON on standard input.
    notify: String,
    /// A command after a finished task; it gets branch, title and summary as variables.
    on_done: String,
    /// The agent that works while the usage limit of the first one lasts.
    fallback: Worker,
    fallback_program: String,
    fallback_args: Vec<String>,
}

/// The user's commands at certain points of the loop. Each gets the loop's state as JSON on standard input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    pub loop_start: Option<String>,
    pub loop_end: Option<String>,
    pub pre_iteration: Option<String>,
    pub post_iteration: Option<String>,
    pub pre_reboot: Option<String>,
    pub post_reboot: Option<String>,
    pub time_limit: Option<Span>,
}

words! {
    /// A point of the loop at which a user command may run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HookPoint {
        LoopStart = "loop_start",
        LoopEnd = "loop_end",
        PreIteration = "pre_iteration",
        PostIteration = "post_iteration",
        PreReboot = "pre_reboot",
        PostReboot = "post_reboot",
    }
}

impl Hooks {
    const TIME_LIMIT: Span = Span::secs(30);

    fn over(self, other: Hooks) -> Hooks {
        Hooks {
            loop_start: self.loop_start.or(other.loop_start),
            loop_end: self.loop_end.or(other.loop_end),
            pre_iteration: self.pre_iteration.or(other.pre_iteration),
            post_iteration: self.post_iteration.or(other.post_iteration),
            pre_reboot: self.pre_reboot.or(other.pre_reboot),
            post_reboot: self.post_reboot.or(other.post_reboot),
            time_limit: self.time_limit.or(other.time_limit),
        }
    }

    pub fn at(&self, point: HookPoint) -> Option<&str> {
        let command = match point {
            HookPoint::LoopStart => &self.loop_start,
            HookPoint::LoopEnd => &self.loop_end,
            HookPoint::PreIteration => &self.pre_iteration,
            HookPoint::PostIteration => &self.post_iteration,
            HookPoint::PreReboot => &self.pre_reboot,
            HookPoint::PostReboot => &self.post_reboot,
        };
        command.as_deref().filter(|command| !command.trim().is_empty())
    }

    pub fn time_limit(&self) -> Duration {
        self.time_limit.unwrap_or(Hooks::TIME_LIMIT).0
    }
}

/// Reasons to replace a context other than its fill.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triggers {
    pub turns: Option<u32>,
    pub age: Option<Duration>,
    pub tool_failures: Option<u32>,
    /// The agent prints this.
    pub output: Option<String>,
}

/// How fast contexts may follow each other, and how often they may fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    pub min_interval: Duration,
    pub per_hour: u32,
    pub failures_max: u32,
    pub same_failure_max: u32,
    pub backoff: Duration,
    pub backoff_max: Duration,
}

/// Reasons to end the loop other than completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopLimits {
    pub iterations: Option<u32>,
    pub duration: Option<Duration>,
    /// Waiting for the model's server, in a row.
    pub wait: Option<Duration>,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub no_progress: Option<u32>,
}

/// How the loop determines that its task is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub check: Option<String>,
    pub check_time_limit: Duration,
    pub phrase: Option<String>,
    /// The check counts even if the agent changed it.
    pub allow_check_change: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WarmUp {
    pub prompt: String,
    pub delay: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub worker: Worker,
    pub program: Option<String>,
    pub agent_args: Vec<String>,
    pub prompt: Option<String>,
    pub prompt_file: Option<String>,
    pub redline: Redline,
    pub context_window: Option<u64>,
    pub handoff_time_limit: Duration,
    pub triggers: Triggers,
    pub stall: Duration,
    pub linger: Duration,
    pub pace: Pace,
    pub limits: LoopLimits,
    pub completion: Completion,
    pub stop_file: Option<String>,
    pub warm_up: Option<WarmUp>,
    pub notify: Option<String>,
    pub on_done: Option<String>,
    pub fallback: Option<Worker>,
    pub preserve: Preserve,
    pub hooks: Hooks,
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Contradiction {
    #[error(transparent)]
    Redline(#[from] OutOfOrder),
    #[error("no agent given: use --agent")]
    NoAgent,
    #[error("no command given: add it after --")]
    NoCommand,
    #[error("both a prompt and a prompt file are given")]
    TwoPrompts,
    #[error("the check is empty: give --until a command, or leave it out")]
    EmptyCheck,
    #[error("{0} must be more than zero")]
    Zero(&'static str),
    #[error("the cost limit must be greater than zero")]
    Cost,
    #[error("the cost of a command is unknown; limit its tokens instead")]
    CostUnknown,
}

impl Pace {
    fn new(layer: &Layer) -> Result<Pace, Contradiction> {
        let span = |given: Option<Span>, standard: u64| given.unwrap_or(Span::secs(standard)).0;
        Ok(Pace {
            min_interval: span(layer.min_interval, 5),
            per_hour: at_least_one(layer.max_reboots_per_hour.unwrap_or(30), "max_reboots_per_hour")?,
            failures_max: at_least_one(layer.max_failures.unwrap_or(5), "max_failures")?,
            same_failure_max: at_least_one(layer.same_failure.unwrap_or(3), "same_failure")?,
            backoff: span(layer.backoff, 5),
            backoff_max: span(layer.backoff_max, 300),
        })
    }
}

impl LoopLimits {
    pub fn new(layer: &Layer, worker: Worker) -> Result<LoopLimits, Contradiction> {
        let limits = LoopLimits {
            iterations: Some(at_least_one(layer.max_iterations.unwrap_or(100), "max_iterations")?),
            duration: Some(layer.max_duration.unwrap_or(Span::secs(4 * 60 * 60)).0),
            wait: Some(layer.max_wait.unwrap_or(Span::secs(6 * 60 * 60)).0),
            tokens: layer.max_tokens,
            cost_usd: layer.max_cost_usd,
            no_progress: Some(at_least_one(layer.no_progress.unwrap_or(3), "no_progress")?),
        };
        if limits.cost_usd.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
            return Err(Contradiction::Cost);
        }
        // A limit that is never checked is no limit.
        if limits.cost_usd.is_some() && worker == Worker::COMMAND {
            return Err(Contradiction::CostUnknown);
        }
        Ok(limits)
    }
}

impl Settings {
    pub fn new(layer: Layer) -> Result<Settings, Contradiction> {
        let standard = Redline::default();
        let redline =
            Redline::new(layer.soft_redline.unwrap_or(standard.soft), layer.hard_redline.unwrap_or(standard.hard))?;
        if layer.prompt.is_some() && layer.prompt_file.is_some() {
            return Err(Contradiction::TwoPrompts);
        }
        let worker = layer.agent.ok_or(Contradiction::NoAgent)?;
        let has_command = layer.program.is_some() || layer.agent_args.as_ref().is_some_and(|args| !args.is_empty());
        if worker == Worker::COMMAND && !has_command {
            return Err(Contradiction::NoCommand);
        }
        if layer.until.as_ref().is_some_and(|check| check.trim().is_empty()) {
            return Err(Contradiction::EmptyCheck);
        }
        let span = |given: Option<Span>, standard: u64| given.unwrap_or(Span::secs(standard)).0;
        let words = |given: Option<String>| given.filter(|text| !text.trim().is_empty());
        let pace = Pace::new(&layer)?;
        let limits = LoopLimits::new(&layer, worker)?;
        let triggers = Triggers {
            turns: layer.reboot_after_turns.map(|turns| at_least_one(turns, "reboot_after_turns")).transpose()?,
            age: layer.reboot_after.map(|span| span.0),
            tool_failures: layer
                .reboot_after_tool_failures
                .map(|failures| at_least_one(failures, "reboot_after_tool_failures"))
                .transpose()?,
            output: words(layer.reboot_on_output),
        };
        let completion = Completion {
            check: words(layer.until),
            check_time_limit: span(layer.until_time_limit, 600),
            phrase: words(layer.completion_phrase),
            allow_check_change: layer.allow_check_change.unwrap_or(false),
        };
        let warm_up = words(layer.warm_up).map(|prompt| WarmUp { prompt, delay: span(layer.warm_up_delay, 2) });
        Ok(Settings {
            worker,
            program: words(layer.program),
            agent_args: layer.agent_args.unwrap_or_default(),
            prompt: layer.prompt,
            prompt_file: layer.prompt_file,
            redline,
            context_window: layer.context_window,
            handoff_time_limit: span(layer.handoff_time_limit, 180),
            triggers,
            stall: span(layer.stall, 900),
            linger: span(layer.linger, 20),
            pace,
            limits,
            completion,
            stop_file: words(layer.stop_file),
            warm_up,
            notify: words(layer.notify),
            on_done: words(layer.on_done),
            fallback: layer.fallback,
            preserve: layer.preserve.into(),
            hooks: layer.hooks,
        })
    }
}

fn at_least_one(number: u32, name: &'static str) -> Result<u32, Contradiction> {
    if number == 0 { Err(Contradiction::Zero(name)) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    fn layer(text: &str) -> Layer {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_later_layer_wins_and_the_rest_is_kept() {
        let project =
            layer("agent = \"codex\"\nmax_iterations = 7\n[preserve]\nmax_state_size = 900\n[hooks]\nloop_end = \"x\"");
        let flags = layer("max_iterations = 9\nsoft_redline = \"50k\"\n[hooks]\npre_reboot = \"y\"");
        let settings = Settings::new(flags.over(project)).unwrap();
        assert_eq!(settings.worker.name(), "codex");
        assert_eq!(settings.limits.iterations, Some(9));
        assert_eq!(settings.redline.soft, RedlineLevel::Tokens(50_000));
        assert_eq!(settings.preserve.max_state_bytes, 900);
        assert_eq!(settings.hooks.at(HookPoint::LoopEnd), Some("x"));
        assert_eq!(settings.hooks.at(HookPoint::PreReboot), Some("y"));
        assert_eq!(settings.stall, Duration::from_secs(900));
    }

    #[test]
    fn worker_names_are_stable() {
        assert_eq!(Worker::names(), "claude-code, codex, gemini, opencode, command");
        for worker in Worker::all() {
            let text = serde_json::to_string(&worker).unwrap();
            assert_eq!(text, format!("\"{}\"", worker.name()));
            assert_eq!(serde_json::from_str::<Worker>(&text).unwrap(), worker);
        }
        assert_eq!(Worker::COMMAND.agent(), Agent::MANUAL);
    }

    #[test]
    fn secrets_are_not_stored() {
        let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
        let text = format!("agent_args = [\"--key\", \"{key}\"]\nuntil = \"x\"\n[hooks]\nloop_end = \"send {key}\"");
        let kept = layer(&text).without_secrets(&BUILT_IN);
        assert_eq!((kept.agent_args, kept.until.as_deref(), kept.hooks.loop_end), (None, Some("x"), None));
        let random = concat!("q7Hx2Lm9Vz4T", "n8Rb1Kc6Wd3Y");
        for prompt in [format!("use {random}"), "fix <private>the harbour</private>".to_string()] {
            let kept = layer(&format!("prompt = \"{prompt}\"")).without_secrets(&BUILT_IN);
            assert_eq!(kept.prompt, None, "{prompt}");
        }
    }

    #[test]
    fn contradictions_are_rejected() {
        for wrong in [
            "",
            "agent = \"codex\"\nsoft_redline = \"90%\"",
            "agent = \"codex\"\nprompt = \"a\"\nprompt_file = \"b\"",
            "agent = \"codex\"\nmax_iterations = 0",
            "agent = \"claude-code\"\nmax_cost_usd = -1.0",
            "agent = \"command\"\nprogram = \"x\"\nmax_cost_usd = 1.0",
            "agent = \"codex\"\nmax_failures = 0",
            "agent = \"codex\"\nuntil = \" \"",
            "agent = \"command\"",
        ] {
            assert!(Settings::new(layer(wrong)).is_err(), "{wrong}");
        }
        for unread in ["agnet = \"codex\"", "agent = \"vim\"", "stall = \"soon\"", "[preserve]\nkind = []"] {
            assert!(toml::from_str::<Layer>(unread).is_err(), "{unread}");
        }
    }
}
