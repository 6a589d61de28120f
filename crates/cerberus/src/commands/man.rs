use anyhow::anyhow;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Print the manual page of cerberus, or of one command
///
/// To read it: cerberus man | man -l -. To install it: cerberus man > ~/.local/share/man/man1/cerberus.1
#[derive(clap::Args)]
pub struct ManPageArgs {
    /// The command, for example: memory search
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Examples by command: what to type, and what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("cerberus install && cerberus import", "Set it up, and read the sessions that your agents kept."),
            ("cerberus log", "The last ten sessions of all projects."),
            ("cerberus search jitter", "Everything that was said or done about jitter."),
            ("cerberus brief --explain", "What the next session will be told, and why."),
        ],
    ),
    (
        "log",
        &[
            ("cerberus log --project . --since 7d", "This project's sessions of the last week."),
            ("cerberus log --file process.go --failing", "Sessions that edited process.go and left something failing."),
        ],
    ),
    (
        "show",
        &[
            ("cerberus show 20260122-13", "By the beginning of an id."),
            ("cerberus show checkpoint", "By a word of its title."),
        ],
    ),
    (
        "search",
        &[
            ("cerberus search \"write ahead log\"", "Words that appear together."),
            ("cerberus search retry --kind decision", "Only decisions."),
        ],
    ),
    ("resume", &[("cerberus resume 20260122-13 --print", "Only show the command.")]),
    ("record", &[("cerberus record decision \"use WAL\" --why \"readers must not wait\"", "Record a decision.")]),
    (
        "learn",
        &[
            ("cerberus learn \"use pnpm\"", "A rule for this project."),
            ("cerberus learn \"answer briefly\" --everywhere", "For all projects."),
        ],
    ),
    ("forget", &[("cerberus forget --path 'secrets/**' --dry-run", "Show what would be forgotten.")]),
    ("import", &[("cerberus import", "Everything that the agents on this machine keep.")]),
    ("pause", &[("cerberus pause --for 2h", "Store nothing for two hours.")]),
    ("loop run", &[("cerberus loop run --prompt-file TASK.md --until \"cargo test\"", "Until the tests pass.")]),
    ("session complete", &[("cerberus session complete --undo", "Take the last completion back.")]),
];

const FILES: &[(&str, &str)] = &[
    ("~/.cerberus/journal/", "All records, one file per day."),
    ("~/.cerberus/config.toml", "Your settings."),
    ("~/.cerberus/view-*.db", "A view of the journal. It can be deleted."),
    (".nocerberus", "An empty file at the root of a project: nothing of it is stored."),
    (".cerberus-project", "The name of a project, for a team."),
];

const EXITS: &[(&str, &str)] =
    &[("0", "Done."), ("1", "It failed; the message says what to do next."), ("2", "Wrong usage.")];
const LOOP_EXITS: &[(&str, &str)] = &[
    ("3", "A limit was reached."),
    ("4", "There was no progress."),
    ("5", "The agent needs your attention."),
    ("6", "It was interrupted."),
    ("7", "Another runner is active."),
];

impl ManPageArgs {
    pub fn run(self, context: &Context, mut program: clap::Command) -> Result<()> {
        const BUG: &str = "this is a bug; please report it";
        program.build();
        let mut command = &program;
        for name in &self.command {
            let missing = || anyhow!("there is no command {name:?}");
            command = command.find_subcommand(name).ok_or_else(missing).hint("`cerberus --help` lists the commands")?;
        }
        // The groups are for a terminal; a page lists all commands in their own section.
        let command = command.clone().after_long_help("").help_template("{about}");
        let mut page = Vec::new();
        Man::new(command).render(&mut page).hint(BUG)?;
        more(&self.command.join(" ")).to_writer(&mut page).hint(BUG)?;
        let page = String::from_utf8(page).hint(BUG)?;
        context.answer(&json!({"page": page}), || render::block(page.trim_end()))
    }
}

/// The sections after those that follow from the arguments.
fn more(name: &str) -> Roff {
    let mut roff = Roff::new();
    let mut section = |title: &str, entries: &mut dyn Iterator<Item = &(&str, &str)>| {
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            return;
        }
        roff.control("SH", [title]);
        for (word, text) in entries {
            roff.control("TP", []);
            roff.text([bold(*word)]);
            roff.text([roman(*text)]);
        }
    };
    let examples = EXAMPLES.iter().filter(|(of, _)| *of == name).flat_map(|(_, examples)| *examples);
    let general = [("cerberus --help", "All commands.")];
    match EXAMPLES.iter().any(|(of, _)| *of == name) {
        true => section("EXAMPLES", &mut examples.into_iter()),
        false => section("EXAMPLES", &mut general.iter()),
    }
    section("FILES", &mut FILES.iter());
    let of_loop = LOOP_EXITS.iter().filter(|_| name == "loop run");
    section("EXIT STATUS", &mut EXITS.iter().chain(of_loop));
    roff
}
