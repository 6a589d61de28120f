//! Benchmarks. Each figure is a ratio to a baseline of the same run: machines are noisy, ratios less so.
//!
//! A figure never fails a run; only errors do (a program that cannot be built or run, a lost record). Everything
//! happens in a scratch folder that is removed at the end.

mod attack;
mod before;
mod brief;
mod checks;
mod compare;
mod continuity;
mod crash;
mod hook;
mod import;
mod journal;
mod lock;
mod locomo;
mod loops;
mod measure;
mod memories;
mod moments;
mod pairs;
mod passages;
mod payload;
mod peers;
mod programs;
mod quotes;
mod rank;
mod reader;
mod said;
mod scale;
mod scratch;
mod search;
mod secrets;
mod simulation;
mod status_line;
mod summary;
mod sync;
mod tasks;
mod told;
mod trace;
mod undo;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use measure::say;
use moments::MomentsOptions;
use programs::{Programs, Sizes};
use reader::{Answers, ReaderOptions};
use tasks::TaskOptions;

const HELP: &str = "\
Measures Cerberus against baselines of the same run.

Usage: cargo run --release -p cerberus-bench -- BENCHMARK [OPTION…]

Benchmarks:
  hook      one hook against the minimum of a durable process, node and python, also before a tool use; instructions,
            syncs, system calls
  brief     the start, save and clean-up of a session with ten sessions of facts; with --data, also brief, start and
            prompt after the largest chain of consecutive sessions
  journal   64 workers with 50 hooks each: records per second, and that none is lost
  lock      hooks while another process holds the view's write lock
  statusline  one status line with a session of facts, against the minimum of a durable process
  import    importing transcripts, against a plain JSON parse of the same lines
  crash     ten thousand processes killed with SIGKILL: nothing acknowledged is lost or duplicated
  loop      a hundred loops whose runner or guard is killed with SIGKILL: no iteration lost or repeated, no orphan;
            and scripted tasks, compared with a plain `while true; do AGENT; done`
  simulation  a thousand seeds of everything that can happen to a home: a rebuilt view equals the one that grew
  scale     brief and hook with 10 to 10,000 recorded sessions
  search    search over everything with 100 and 10,000 archived sessions, in a fresh process; with --data, whether a
            session is found by three words that were said or printed in it
  locomo    quality of memory search, on conversations with questions about them (--data)
  memories  import and search with 1,000 to 100,000 memories (--large: a million)
  said      which quotations of the user are proven, told or refused, on labelled prompts (--data; --answers FILE: what
            a model quoted)
  secrets   how many generated attacks pass (--seed), how well secrets are found on labelled texts and attacks
            (--data DIR), what is cut from the prompts and commands of transcripts (--sessions DIR), and the time per
            megabyte
  attack    every attack class through every door: tried and passed (--data: attacks of your own, as a file)
  pairs     prints the table of letter pairs by which random tokens are recognised (--data: from the sources in a folder)
  continuity  how many of the files that sessions edit were in their brief, on consecutive sessions (--data)
  checks    what likely rules would have stopped in real sessions (--data; CERBERUS_HITS=FILE lists every hit)
  moments   what would have been told in between, in real sessions: how often (--data; --sheet FILE: what is to be judged;
            --people FIRST..LAST: only some)
  told      how much of what matters a whole brief tells, on people left out (--data with gold.jsonl)
  quotes    fits which sentences a brief quotes, and scores them on people left out (--data with gold.jsonl)
  rank      fits which files a brief names first, and scores them on people left out (--data)
  reader    what a model knows that read a brief, nothing, or something else of the same length (--data with gold.jsonl,
            --endpoint URL; --model NAME; --gold FILE; --answers FILE keeps answers; --jobs N at once; --moments N: only
            so many, of as many people as possible; --peer DIR: texts of another program)
  tasks     what an agent gets done in twelve small tasks that are interrupted: without memory, with its own files, with
            Cerberus (--agent claude|codex|gemini and its key in the environment; --runs N; --task NAME; --model NAME, or
            `scripted` or `contrary` for a model that is none; --answers FILE keeps results)
  peers     other programs with hooks beside ours: time, processes left, tokens told (installs them from npm; --data DIR
            keeps them; --sessions DIR: transcripts that they read and search)
  summary   the end of a session with a provider that hangs; the overhead of a summary besides the model
  sync      push and pull of 10,000 records through every hub, at a round trip of 0 and 50 ms (dev/hubs installs them)
  undo      keeping a turn in a tree of 50,000 files with 20 changes, against `git stash create`: time and room
  all       run all benchmarks

Options:
  --binary PATH   measure this cerberus instead of building one
  --data PATH     your own labelled prompts, or a folder of transcripts, labelled texts or consecutive sessions
  --answers PATH  what a model quoted, for `said`; where answers and results are kept, for `reader` and `tasks`
  --sessions PATH a folder of transcripts, for `secrets` and `peers`
  --endpoint URL, --gold FILE, --peer DIR, --jobs NUMBER, --moments NUMBER   for `reader`
  --agent NAME, --runs NUMBER, --task NAME  for `tasks`
  --model NAME    for `reader` and `tasks`
  --seed NUMBER   another set of generated attacks, for `secrets`; another sample, for the sheet of `moments`
  --large         also run the largest sizes
  --floor PATH    measure against this floor instead of building one
  --help          print this help

The scratch folder is created in TMPDIR, whose disk determines the cost of a sync.";

type Benchmark = fn(&Programs) -> Result<()>;

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("hook", hook::run),
    ("brief", brief::run),
    ("journal", journal::run),
    ("lock", lock::run),
    ("statusline", status_line::run),
    ("import", import::run),
    ("crash", crash::run),
    ("scale", scale::run),
    ("search", search::run),
    ("simulation", simulation::run),
    ("loop", loops::run),
    ("locomo", locomo::run),
    ("memories", memories::run),
    ("quotes", quotes::run),
    ("told", told::run),
    ("rank", rank::run),
    ("said", |programs| said::run(programs.data.as_deref(), None)),
    ("attack", attack::run),
    ("secrets", |programs| secrets::run(programs.data.as_deref(), None, 0)),
    ("pairs", |programs| pairs::run(programs.data.as_deref())),
    ("continuity", continuity::run),
    ("checks", |programs| checks::run(programs.data.as_deref())),
    ("moments", |programs| moments::run(programs.data.as_deref(), &MomentsOptions::default())),
    ("summary", summary::run),
    ("sync", sync::run),
    ("undo", undo::run),
];

#[derive(Debug, Default)]
struct Arguments {
    benchmark: Option<String>,
    binary: Option<PathBuf>,
    floor: Option<PathBuf>,
    data: Option<PathBuf>,
    reader: ReaderOptions,
    tasks: TaskOptions,
    sessions: Option<PathBuf>,
    moments: MomentsOptions,
    seed: u64,
    sizes: Sizes,
    help: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cerberus-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments = arguments(std::env::args().skip(1))?;
    let wanted = match arguments.benchmark.as_deref() {
        Some(wanted) if !arguments.help => wanted,
        _ => {
            return say(HELP);
        }
    };
    let chosen: Vec<_> = BENCHMARKS.iter().filter(|(name, _)| wanted == *name || wanted == "all").collect();
    if chosen.is_empty() && !["peers", "reader", "tasks"].contains(&wanted) {
        bail!("no benchmark is called {wanted:?}; --help lists them");
    }
    // These measure only what is linked into this program.
    if wanted == "pairs" {
        return pairs::run(arguments.data.as_deref());
    }
    if wanted == "said" {
        return said::run(arguments.data.as_deref(), arguments.reader.answers.as_deref());
    }
    if wanted == "checks" {
        return checks::run(arguments.data.as_deref());
    }
    if wanted == "moments" {
        return moments::run(arguments.data.as_deref(), &arguments.moments);
    }
    if wanted == "secrets" {
        return secrets::run(arguments.data.as_deref(), arguments.sessions.as_deref(), arguments.seed);
    }
    // This is not part of `all`: it downloads programs of others.
    if wanted == "peers" {
        let cerberus = programs::cerberus(arguments.binary)?;
        return peers::run(&cerberus, arguments.data.as_deref(), arguments.sessions.as_deref());
    }
    // Nor is this: it asks a model, with the user's key.
    if wanted == "tasks" {
        let answers = Answers::open(arguments.reader.answers.as_deref())?;
        let cerberus = programs::cerberus(arguments.binary)?;
        return tasks::run(cerberus, &arguments.tasks, arguments.reader.model.as_deref(), answers);
    }
    let programs = Programs::find_or_build(arguments.binary, arguments.floor, arguments.data, arguments.sizes)?;
    // Nor is this: it asks a model for hours.
    if wanted == "reader" {
        return reader::run(&programs, &arguments.reader);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    say(&format!("{cores} cores; {}", scratch::where_it_is()?))?;
    for (name, benchmark) in chosen {
        say(&format!("\n# {name}\n"))?;
        benchmark(&programs).with_context(|| name.to_string())?;
    }
    Ok(())
}

fn arguments(given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    let mut given = given;
    while let Some(argument) = given.next() {
        let mut path = || given.next().map(PathBuf::from).context("a path is missing at the end");
        match argument.as_str() {
            "--help" | "-h" => arguments.help = true,
            "--binary" => arguments.binary = Some(path()?),
            "--floor" => arguments.floor = Some(path()?),
            "--large" => arguments.sizes = Sizes::Large,
            "--data" => arguments.data = Some(path()?),
            "--answers" => arguments.reader.answers = Some(path()?),
            "--gold" => arguments.reader.gold = Some(path()?),
            "--peer" => arguments.reader.peer = Some(path()?),
            "--jobs" => {
                let jobs = path()?;
                arguments.reader.jobs = Some(jobs.to_string_lossy().parse().context("--jobs needs a number")?);
            }
            "--moments" => {
                let moments = path()?;
                arguments.reader.moments = Some(moments.to_string_lossy().parse().context("--moments needs a number")?);
            }
            "--endpoint" => arguments.reader.endpoint = Some(path()?.to_string_lossy().into_owned()),
            "--model" => arguments.reader.model = Some(path()?.to_string_lossy().into_owned()),
            "--agent" => arguments.tasks.agent = Some(path()?.to_string_lossy().into_owned()),
            "--task" => arguments.tasks.task = Some(path()?.to_string_lossy().into_owned()),
            "--runs" => {
                let runs = path()?;
                arguments.tasks.runs = Some(runs.to_string_lossy().parse().context("--runs needs a number")?);
            }
            "--sessions" => arguments.sessions = Some(path()?),
            "--seed" => {
                let seed = path()?;
                arguments.seed = seed.to_string_lossy().parse().context("--seed needs a number")?;
                arguments.moments.seed = arguments.seed;
            }
            "--sheet" => arguments.moments.sheet = Some(path()?),
            "--people" => {
                let people = path()?.to_string_lossy().into_owned();
                let (first, last) = people.split_once("..").context("--people needs FIRST..LAST")?;
                arguments.moments.people = Some((first.to_string(), last.to_string()));
            }
            option if option.starts_with('-') => bail!("no option is called {option:?}; --help lists them"),
            _ if arguments.benchmark.is_some() => bail!("one benchmark at a time, or `all`"),
            _ => arguments.benchmark = Some(argument),
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(given: &[&str]) -> Result<Arguments> {
        arguments(given.iter().map(|argument| argument.to_string()))
    }

    #[test]
    fn arguments_are_taken_in_any_order_and_unknown_ones_refused() {
        let given = parsed(&["--binary", "/c", "hook", "--floor", "/f"]).unwrap();
        assert_eq!(given.benchmark.as_deref(), Some("hook"));
        assert_eq!((given.binary, given.floor), (Some(PathBuf::from("/c")), Some(PathBuf::from("/f"))));
        for wrong in [&["--binary"][..], &["--fast"], &["hook", "brief"]] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_benchmark_is_in_the_help() {
        for (name, _) in BENCHMARKS {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
