use std::path::PathBuf;
use std::sync::Arc;

use cerberus_core::loops::redline::Level;
use cerberus_core::loops::settings::{Layer, Settings, Worker};
use cerberus_core::loops::stop::ANOTHER_RUNNER_EXIT_CODE;
use cerberus_core::model::span::Span;
use cerberus_engine::agents::Profile;
use cerberus_engine::config;
use cerberus_engine::loops::interrupts::Interrupts;
use cerberus_engine::loops::runner::{Job, LoopError};
use cerberus_engine::loops::start::{self, Start};
use cerberus_engine::os::outside;
use clap::error::ErrorKind;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::ledger;
use crate::commands::install::surroundings;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::loops::Screen;

/// Run an agent on a task, one fresh context after another, until it is done or there is a reason to stop
///
/// The agent runs headless and with your own settings: what it may do without asking is for you to say, after --. Settings
/// may also stand in cerberus.toml at the project's top, and in config.toml in the home, under [loop]; options win.
///
/// Ctrl-C once finishes the iteration, twice stops at once. Exit codes: 0 complete, 1 failed, 2 usage, 3 a limit was
/// reached, 4 no progress, 5 the agent needs mending (login, permission, flag), 6 interrupted, 7 another runner is at work.
#[derive(clap::Args)]
pub struct Run {
    #[arg(long, value_name = "NAME")]
    #[arg(help = format!("{} (any program that takes its task on standard input)", Worker::names()))]
    agent: Option<Worker>,

    /// The agent's program, where it is not the one on PATH
    #[arg(long, value_name = "PATH", visible_alias = "agent-bin")]
    program: Option<String>,

    /// The task
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,

    /// A file that holds the task; it is read anew for every run
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<String>,

    /// Take up the last run where it stopped or died; what it was told holds, options given now win
    #[arg(long)]
    resume: bool,

    /// At this fill the session is asked for its handoff: 70%, or 140000 tokens [default: 70%]
    #[arg(long, value_name = "FILL", help_heading = "Redline")]
    soft_redline: Option<Level>,

    /// At this fill it is stopped [default: 85%]
    #[arg(long, value_name = "FILL", help_heading = "Redline")]
    hard_redline: Option<Level>,

    /// How many tokens fit into a context, where the agent does not say
    #[arg(long, value_name = "TOKENS", help_heading = "Redline")]
    context_window: Option<u64>,

    /// How long a session may take to write its handoff [default: 3m]
    #[arg(long, value_name = "SPAN", help_heading = "Redline")]
    handoff_time_limit: Option<Span>,

    /// A fresh context after so many answers of the model
    #[arg(long, value_name = "N", help_heading = "Other reasons for a fresh context")]
    reboot_after_turns: Option<u32>,

    /// A fresh context after this long
    #[arg(long, value_name = "SPAN", help_heading = "Other reasons for a fresh context")]
    reboot_after: Option<Span>,

    /// A fresh context after so many failed tools in a row
    #[arg(long, value_name = "N", help_heading = "Other reasons for a fresh context")]
    reboot_after_tool_failures: Option<u32>,

    /// A fresh context when the agent says this
    #[arg(long, value_name = "TEXT", help_heading = "Other reasons for a fresh context")]
    reboot_on_output: Option<String>,

    /// Nothing heard for so long is a stall: the agent is stopped, a fresh context follows [default: 15m]
    #[arg(long, value_name = "SPAN", help_heading = "Other reasons for a fresh context")]
    stall: Option<Span>,

    /// How long an agent may stay after its last word [default: 20s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    linger: Option<Span>,

    /// At least so long from one context's start to the next [default: 5s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    min_interval: Option<Span>,

    /// At most so many contexts in an hour [default: 30]
    #[arg(long, value_name = "N", help_heading = "Pace")]
    max_reboots_per_hour: Option<u32>,

    /// Wait so long after a failure, twice as long after the next [default: 5s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    backoff: Option<Span>,

    /// Wait no longer than this after a failure [default: 5m]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    backoff_max: Option<Span>,

    /// Done when this command succeeds; one that tests nothing does not count
    #[arg(long, value_name = "CMD", help_heading = "When to stop")]
    until: Option<String>,

    /// How long that command may take [default: 10m]
    #[arg(long, value_name = "SPAN", help_heading = "When to stop")]
    until_time_limit: Option<Span>,

    /// The agent says this when it is done: a claim, which --until confirms, or else a second context that changes nothing
    #[arg(long, value_name = "TEXT", help_heading = "When to stop")]
    completion_phrase: Option<String>,

    /// [default: 100]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_iterations: Option<u32>,

    /// [default: 4h]
    #[arg(long, value_name = "SPAN", help_heading = "When to stop")]
    max_duration: Option<Span>,

    /// Of all contexts together, cached ones included
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_tokens: Option<u64>,

    /// Of all contexts together; only for an agent that tells its price
    #[arg(long, value_name = "USD", help_heading = "When to stop")]
    max_cost_usd: Option<f64>,

    /// After so many iterations without a commit, a changed file or a finished task [default: 3]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    no_progress: Option<u32>,

    /// After the same failure so many times in a row [default: 3]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    same_failure: Option<u32>,

    /// After so many failures in a row [default: 5]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_failures: Option<u32>,

    /// After the iteration, when this file is there
    #[arg(long, value_name = "FILE", help_heading = "When to stop")]
    stop_file: Option<String>,

    /// Said to a fresh context before its task
    #[arg(long, value_name = "TEXT", help_heading = "Warm-up")]
    warm_up: Option<String>,

    /// How long after that the task follows [default: 2s]
    #[arg(long, value_name = "SPAN", help_heading = "Warm-up")]
    warm_up_delay: Option<Span>,

    /// How many bytes a handoff may have, at least 500 [default: 50000]
    #[arg(long, value_name = "BYTES", help_heading = "Handoff")]
    max_state_size: Option<usize>,

    /// Put this file's text into the handoff; may be given several times
    #[arg(long = "include-file", value_name = "FILE", help_heading = "Handoff")]
    include_files: Option<Vec<String>>,

    /// Arguments for the agent, or the command itself
    #[arg(last = true, value_name = "ARGS")]
    agent_args: Option<Vec<String>>,
}

impl Run {
    /// Does not return when a loop has run: its exit code says how it ended.
    pub fn run(self, context: &Context) -> Result<()> {
        if context.clock.is_given {
            usage("a loop runs now: leave out --now and CERBERUS_NOW");
        }
        let start = if self.resume { Start::Resume } else { Start::Fresh };
        let job = self.job(context, start)?;
        let interrupts = Arc::new(Interrupts::default());
        listen(&interrupts)?;
        let mut screen = Screen::new(context.json);
        let ended = start::run(&job, start, &mut screen, &interrupts);
        screen.clear();
        let code = match ended {
            Ok(stop) => {
                context.now_again().ended(&[])?;
                stop.class().exit_code()
            }
            Err(LoopError::AnotherRunner) => {
                render::talk("cerberus: another runner is at work in this project");
                render::talk("          `cerberus loop status` shows it, `cerberus loop stop` ends it");
                ANOTHER_RUNNER_EXIT_CODE
            }
            Err(error @ LoopError::NothingToResume(_)) => return Err(error).hint("start one: leave out --resume"),
            Err(error) => {
                let hint = "make room or mend the folder's permissions, then `cerberus loop run --resume`";
                return Err(error).hint(hint);
            }
        };
        std::process::exit(i32::from(code))
    }

    fn job(self, context: &Context, start: Start) -> Result<Job> {
        const MEND: &str = "mend the file; `cerberus loop run --help` names what can be set";
        let located = context.located();
        context.may_store(&located)?;
        let home = config::load(&context.home).hint(MEND)?.loops;
        let project = config::project_loops(&located.root).hint(MEND)?;
        let earlier = match start {
            Start::Resume => {
                let run_state = start::resumable(&ledger(context));
                run_state.hint("start one: leave out --resume")?.layer
            }
            Start::Fresh => Layer::default(),
        };
        let layer = self.layer().over(earlier).over(project).over(home);
        let settings = match Settings::new(layer.clone()) {
            Ok(settings) => settings,
            Err(wrong) => usage(&format!("{wrong}; see `cerberus loop run --help`")),
        };
        let task = task(&settings, &located.cwd)?;
        // The running program, even when another was put in its place meanwhile.
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => std::env::current_exe().hint("start it by its full path")?,
        };
        let surroundings = surroundings(context);
        let agent_dir = Profile::of(settings.worker.agent()).and_then(|profile| (profile.dir)(&surroundings));
        Ok(Job { home: context.home.clone(), located, settings, layer, task, program, agent_dir })
    }

    fn layer(self) -> Layer {
        let mut layer = Layer {
            agent: self.agent,
            program: self.program,
            agent_args: self.agent_args,
            prompt: self.prompt,
            prompt_file: self.prompt_file,
            soft_redline: self.soft_redline,
            hard_redline: self.hard_redline,
            context_window: self.context_window,
            handoff_time_limit: self.handoff_time_limit,
            reboot_after_turns: self.reboot_after_turns,
            reboot_after: self.reboot_after,
            reboot_after_tool_failures: self.reboot_after_tool_failures,
            reboot_on_output: self.reboot_on_output,
            stall: self.stall,
            linger: self.linger,
            min_interval: self.min_interval,
            max_reboots_per_hour: self.max_reboots_per_hour,
            max_failures: self.max_failures,
            same_failure: self.same_failure,
            backoff: self.backoff,
            backoff_max: self.backoff_max,
            max_iterations: self.max_iterations,
            max_duration: self.max_duration,
            max_tokens: self.max_tokens,
            max_cost_usd: self.max_cost_usd,
            until: self.until,
            until_time_limit: self.until_time_limit,
            completion_phrase: self.completion_phrase,
            no_progress: self.no_progress,
            stop_file: self.stop_file,
            warm_up: self.warm_up,
            warm_up_delay: self.warm_up_delay,
            ..Layer::default()
        };
        layer.preserve.max_state_size = self.max_state_size;
        layer.preserve.include_files = self.include_files;
        layer
    }
}

/// Longer than any task is; a context has to hold it.
const TASK_BYTES_MAX: u64 = 1024 * 1024;

fn task(settings: &Settings, cwd: &std::path::Path) -> Result<String> {
    let task = match (&settings.prompt, &settings.prompt_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(file)) => {
            let read = outside::text(&cwd.join(file), TASK_BYTES_MAX);
            let read = read.map_err(|error| anyhow::anyhow!("cannot read the task in {file}: {error}"));
            read.hint("give --prompt-file a text file that exists")?
        }
        (None, None) => usage("no task is given: say it with --prompt TEXT or --prompt-file FILE"),
    };
    match task.trim().is_empty() {
        true => usage("the task is empty"),
        false => Ok(task),
    }
}

fn usage(words: &str) -> ! {
    clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{words}\n")).exit()
}

/// Ctrl-C is a wish; whoever ends us means it.
fn listen(interrupts: &Arc<Interrupts>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).hint("the system refused; try again")?;
    let interrupts = Arc::clone(interrupts);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGINT if !interrupts.is_asked() => {
                    render::talk("cerberus: the iteration is finished first; Ctrl-C again stops at once");
                    interrupts.ask();
                }
                SIGINT => interrupts.ask(),
                _ => interrupts.ask_now(),
            }
        }
    });
    Ok(())
}
