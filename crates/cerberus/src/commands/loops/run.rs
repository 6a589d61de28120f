use std::sync::Arc;

use cerberus_agents::install::Profile;
use cerberus_agents::meter::redline::RedlineLevel;
use cerberus_loop::reset::UtcOffset;
use cerberus_loop::run::config as loop_config;
use cerberus_loop::run::interrupts::Interrupts;
use cerberus_loop::run::job::Job;
use cerberus_loop::run::ledger::LoopLedger;
use cerberus_loop::run::runner::LoopError;
use cerberus_loop::run::start::{self, Start};
use cerberus_loop::run::task::{LoopTask, TaskError};
use cerberus_loop::run::worktrees::LoopWorktree;
use cerberus_loop::settings::{Layer, Settings, Worker};
use cerberus_loop::stop::ANOTHER_RUNNER_EXIT_CODE;
use cerberus_os::platform::{self, running_program};
use cerberus_record::span::Span;
use cerberus_store::config;
use cerberus_store::project::identity;
use clap::error::ErrorKind;

use super::{detach, dry_run, fallback, worktree};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::platform::{SIGINT, Signals};
use crate::render;
use crate::render::loops::LoopScreen;

/// Run an agent on a task, one fresh context after another, until it is done or must stop
///
/// The agent runs headless and with your own settings. With the arguments after --, you decide what it may do without
/// asking. Options can also be set under [loop] in cerberus.toml at the project root, and in config.toml in the home;
/// the command line takes precedence.
///
/// Press Ctrl-C once to stop after the iteration, twice to stop immediately. Exit codes: 0 complete, 1 failed, 2 usage,
/// 3 limit reached, 4 no progress, 5 the agent needs your attention (login, permission, flag), 6 interrupted, 7 another
/// runner is active.
#[derive(clap::Args)]
pub struct LoopRunArgs {
    #[arg(long, value_name = "NAME")]
    #[arg(help = format!("{} (any program that reads its task from standard input)", Worker::names()))]
    agent: Option<Worker>,

    /// The agent's program, if it is not the one on PATH
    #[arg(long, value_name = "PATH", visible_alias = "agent-bin")]
    program: Option<String>,

    /// The agent that continues when the first one has reached its usage limit
    #[arg(long, value_name = "NAME")]
    fallback: Option<Worker>,

    /// The program of the fallback agent, if it is not the one on PATH
    #[arg(long, value_name = "PATH")]
    fallback_program: Option<String>,

    /// An argument for the fallback agent; can be repeated
    #[arg(long = "fallback-arg", value_name = "ARG", allow_hyphen_values = true)]
    fallback_args: Option<Vec<String>>,

    /// The task
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,

    /// A file with the task; it is read again for every context
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<String>,

    /// Continue the last run where it stopped or died, with its options; options given now take precedence
    #[arg(long)]
    resume: bool,

    /// Work in a worktree of its own, in a folder beside the repository and on a branch of this name; it is made if needed
    #[arg(long, value_name = "NAME")]
    worktree: Option<String>,

    /// Go on in a process of its own when this terminal closes; `cerberus loop attach` shows the loop
    #[arg(long, conflicts_with = "dry_run")]
    detach: bool,

    /// The process that --detach starts
    #[arg(long, hide = true)]
    detached: bool,

    /// Only show the first prompt, the command line and the limits, and run the --until command once
    #[arg(long)]
    dry_run: bool,

    /// Ask the session for its handoff when the context is this full: 70%, or 140000 tokens [default: 70%]
    #[arg(long, value_name = "FILL", help_heading = "Redline")]
    soft_redline: Option<RedlineLevel>,

    /// Stop the session when the context is this full [default: 85%]
    #[arg(long, value_name = "FILL", help_heading = "Redline")]
    hard_redline: Option<RedlineLevel>,

    /// Size of the context window in tokens, if the agent does not report it
    #[arg(long, value_name = "TOKENS", help_heading = "Redline")]
    context_window: Option<u64>,

    /// Time limit for a session to write its handoff [default: 3m]
    #[arg(long, value_name = "SPAN", help_heading = "Redline")]
    handoff_time_limit: Option<Span>,

    /// Start a fresh context after this many answers of the model
    #[arg(long, value_name = "N", help_heading = "Other reasons for a fresh context")]
    reboot_after_turns: Option<u32>,

    /// Start a fresh context after this time
    #[arg(long, value_name = "SPAN", help_heading = "Other reasons for a fresh context")]
    reboot_after: Option<Span>,

    /// Start a fresh context after this many failed tool calls in a row
    #[arg(long, value_name = "N", help_heading = "Other reasons for a fresh context")]
    reboot_after_tool_failures: Option<u32>,

    /// Start a fresh context when the agent's output contains this text
    #[arg(long, value_name = "TEXT", help_heading = "Other reasons for a fresh context")]
    reboot_on_output: Option<String>,

    /// Stop the agent and start a fresh context after this long without output [default: 15m]
    #[arg(long, value_name = "SPAN", help_heading = "Other reasons for a fresh context")]
    stall: Option<Span>,

    /// How long an agent may keep running after its final message [default: 20s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    linger: Option<Span>,

    /// Minimum time between the starts of two contexts [default: 5s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    min_interval: Option<Span>,

    /// Maximum number of contexts per hour [default: 30]
    #[arg(long, value_name = "N", help_heading = "Pace")]
    max_reboots_per_hour: Option<u32>,

    /// Wait this long after a failure, and twice as long after each further one [default: 5s]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    backoff: Option<Span>,

    /// Maximum wait after a failure [default: 5m]
    #[arg(long, value_name = "SPAN", help_heading = "Pace")]
    backoff_max: Option<Span>,

    /// The task is complete when this command succeeds; a check that ran zero tests does not count
    #[arg(long, value_name = "CMD", help_heading = "When to stop")]
    until: Option<String>,

    /// Time limit for the --until command [default: 10m]
    #[arg(long, value_name = "SPAN", help_heading = "When to stop")]
    until_time_limit: Option<Span>,

    /// Let the --until command count even if its own files change during the loop
    #[arg(long, help_heading = "When to stop")]
    allow_check_change: bool,

    /// Text with which the agent claims completion; --until must confirm it, or else a second context that changes
    /// nothing
    #[arg(long, value_name = "TEXT", help_heading = "When to stop")]
    completion_phrase: Option<String>,

    /// Maximum number of iterations [default: 100]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_iterations: Option<u32>,

    /// Maximum duration of the loop, without the time it waits for the model's server [default: 4h]
    #[arg(long, value_name = "SPAN", help_heading = "When to stop")]
    max_duration: Option<Span>,

    /// How long to wait for a server that is limited, overloaded or out of reach [default: 6h]
    #[arg(long, value_name = "SPAN", help_heading = "When to stop")]
    max_wait: Option<Span>,

    /// Maximum number of tokens of all contexts together, including cached ones
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_tokens: Option<u64>,

    /// Maximum cost of all contexts together; where the agent reports none, by its tokens and the list of prices
    #[arg(long, value_name = "USD", help_heading = "When to stop")]
    max_cost_usd: Option<f64>,

    /// Stop after this many iterations without a commit, a changed file or a finished task [default: 3]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    no_progress: Option<u32>,

    /// Stop after the same failure this many times in a row [default: 3]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    same_failure: Option<u32>,

    /// Stop after this many failures in a row [default: 5]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    max_failures: Option<u32>,

    /// Stop after the iteration if this file exists
    #[arg(long, value_name = "FILE", help_heading = "When to stop")]
    stop_file: Option<String>,

    /// At the end, notify: `desktop`, or a command that gets the result as JSON on standard input
    #[arg(long, value_name = "HOW", help_heading = "When to stop")]
    notify: Option<String>,

    /// After a finished task, run this command, with CERBERUS_BRANCH, CERBERUS_TITLE and CERBERUS_SUMMARY set
    #[arg(long, value_name = "CMD", help_heading = "When to stop")]
    on_done: Option<String>,

    /// A message sent to each fresh context before its task
    #[arg(long, value_name = "TEXT", help_heading = "Warm-up")]
    warm_up: Option<String>,

    /// Delay between the warm-up message and the task [default: 2s]
    #[arg(long, value_name = "SPAN", help_heading = "Warm-up")]
    warm_up_delay: Option<Span>,

    /// Maximum size of a handoff in bytes, at least 500 [default: 50000]
    #[arg(long, value_name = "BYTES", help_heading = "Handoff")]
    max_state_size: Option<usize>,

    /// Include the text of this file in the handoff; may be repeated
    #[arg(long = "include-file", value_name = "FILE", help_heading = "Handoff")]
    include_files: Option<Vec<String>>,

    /// Arguments for the agent; with --agent command, the command itself
    #[arg(last = true, value_name = "ARGS")]
    agent_args: Option<Vec<String>>,
}

impl LoopRunArgs {
    /// Does not return if a loop has run: the exit code says how it ended.
    pub fn run(self, context: &Context) -> Result<()> {
        if context.clock.is_given {
            usage("a loop always uses the current time: remove --now and CERBERUS_NOW");
        }
        if self.detach && !self.detached {
            return detach::start(context);
        }
        let is_detached = self.detached;
        if is_detached {
            platform::leave_terminal();
        }
        let start = if self.resume { Start::Resume } else { Start::Fresh };
        let (dry_run, named) = (self.dry_run, self.worktree.clone());
        let (job, worktree) = self.job(context, start)?;
        let interrupts = Arc::new(Interrupts::default());
        listen(&interrupts)?;
        if dry_run {
            return dry_run::show(context, &job, named.as_deref(), &interrupts);
        }
        let fallback = match fallback::job(context, &job) {
            Ok(fallback) => fallback,
            Err(wrong) => usage(&format!("the fallback agent: {wrong}; see `cerberus loop run --help`")),
        };
        let jobs: Vec<Job> = [Some(job), fallback].into_iter().flatten().collect();
        let ended = match is_detached {
            true => detach::run(context, &jobs, start, &interrupts),
            false => {
                let mut screen = LoopScreen::new(context.json);
                let ended = start::run(&jobs, start, &mut screen, &interrupts);
                screen.clear();
                ended
            }
        };
        let code = match ended {
            Ok(stop) => {
                context.now_again().ended(&[])?;
                worktree.iter().for_each(|made| worktree::report_end(context, made));
                stop.class().exit_code()
            }
            Err(LoopError::AnotherRunner) => {
                render::talk("cerberus: another runner is active in this project");
                render::talk("          `cerberus loop status` shows it, `cerberus loop stop` ends it");
                ANOTHER_RUNNER_EXIT_CODE
            }
            Err(error @ LoopError::Check(_)) => usage(&format!("{error}; give --until a command that can be run")),
            Err(error @ LoopError::NothingToResume(_)) => return Err(error).hint("start a new run without --resume"),
            Err(error) => {
                let hint = "free disk space or fix the folder's permissions, then run `cerberus loop run --resume`";
                return Err(error).hint(hint);
            }
        };
        std::process::exit(i32::from(code))
    }

    fn job(self, context: &Context, start: Start) -> Result<(Job, Option<LoopWorktree>)> {
        const FIX: &str = "fix the file; `cerberus loop run --help` lists the settings";
        let here = context.located();
        context.may_store(&here)?;
        let wanted = self.worktree.as_deref().filter(|_| !self.dry_run);
        let worktree = wanted.map(|name| worktree::prepare(context, &here, name)).transpose()?;
        // A repository's settings and a task's file are those of the folder in which the command was given.
        let (root, cwd) = (here.root.clone(), here.cwd.clone());
        let located = worktree.as_ref().map(|made| identity::locate(&made.folder(&here))).unwrap_or(here);
        let prices = config::load(&context.home).hint(FIX)?.prices;
        let user = loop_config::of_user(&context.home).hint(FIX)?;
        let project = loop_config::of_project(&root).hint(FIX)?;
        let earlier = match start {
            Start::Resume => {
                let run_state = start::resumable(&LoopLedger::at(&context.home, &located));
                run_state.hint("start a new run without --resume")?.layer
            }
            Start::Fresh => Layer::default(),
        };
        let mut layer = self.layer().over(earlier).over(project).over(user);
        if worktree.is_some() {
            layer.prompt_file = layer.prompt_file.map(|file| cwd.join(file).to_string_lossy().into_owned());
        }
        let settings = match Settings::new(layer.clone()) {
            Ok(settings) => settings,
            Err(wrong) => usage(&format!("{wrong}; see `cerberus loop run --help`")),
        };
        let task = task(&settings, &located.cwd)?;
        // The running program, even if its file has been replaced since.
        let program = running_program().hint("run cerberus by its full path")?;
        let surroundings = context.agent_surroundings();
        let agent_dir = Profile::of(settings.worker.agent()).and_then(|profile| (profile.dir)(&surroundings));
        let utc_offset = UtcOffset { seconds: jiff::Zoned::now().offset().seconds() };
        let home = context.home.clone();
        let job = Job { home, located, settings, layer, task, program, agent_dir, utc_offset, prices };
        Ok((job, worktree))
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
            max_wait: self.max_wait,
            max_tokens: self.max_tokens,
            max_cost_usd: self.max_cost_usd,
            until: self.until,
            until_time_limit: self.until_time_limit,
            allow_check_change: self.allow_check_change.then_some(true),
            completion_phrase: self.completion_phrase,
            no_progress: self.no_progress,
            stop_file: self.stop_file,
            warm_up: self.warm_up,
            warm_up_delay: self.warm_up_delay,
            notify: self.notify,
            on_done: self.on_done,
            fallback: self.fallback,
            fallback_program: self.fallback_program,
            fallback_args: self.fallback_args,
            ..Layer::default()
        };
        layer.preserve.max_state_size = self.max_state_size;
        layer.preserve.include_files = self.include_files;
        layer
    }
}

fn task(settings: &Settings, cwd: &std::path::Path) -> Result<LoopTask> {
    let task = match (&settings.prompt, &settings.prompt_file) {
        (Some(prompt), _) => LoopTask::Text(prompt.clone()),
        (None, Some(file)) => LoopTask::File(cwd.join(file)),
        (None, None) => usage("no task given: use --prompt TEXT or --prompt-file FILE"),
    };
    match task.read() {
        Ok(_) => Ok(task),
        Err(error @ TaskError::Empty) => usage(&error.to_string()),
        Err(error) => Err(error).hint("pass an existing text file to --prompt-file"),
    }
}

fn usage(words: &str) -> ! {
    clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{words}\n")).exit()
}

/// Ctrl-C asks to stop after the iteration. Other signals stop immediately.
fn listen(interrupts: &Arc<Interrupts>) -> Result<()> {
    let signals = Signals::catch().hint("the signal handlers could not be installed; try again")?;
    let interrupts = Arc::clone(interrupts);
    std::thread::spawn(move || {
        signals.each(|signal| {
            match signal {
                SIGINT if !interrupts.is_asked() => {
                    render::talk("cerberus: stopping after this iteration; press Ctrl-C again to stop immediately");
                    interrupts.ask();
                }
                SIGINT => interrupts.ask(),
                _ => interrupts.ask_now(),
            }
            true
        });
    });
    Ok(())
}
