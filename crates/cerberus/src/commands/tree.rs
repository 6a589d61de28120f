//! How the commands are grouped in the short help, and which command a misspelled one may mean.

use cerberus_text::terms::misspelling;
use clap::Command;

/// The groups of the short help, with what each command does. Every visible command is in exactly one.
pub const GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "Look around",
        &[
            ("status", "This project at a glance"),
            ("log", "Sessions of all projects, newest first"),
            ("show", "One session: asked, done, decided, left, files, tests"),
            ("search", "Search everything that was kept"),
            ("resume", "Continue a session, also in another agent"),
            ("stats", "What sessions cost, and what they used of their briefs"),
            ("report", "The last 26 weeks as one HTML file"),
        ],
    ),
    (
        "Teach it",
        &[
            ("brief", "What the next session will be told, and why"),
            ("review", "Decide which of your sentences become rules"),
            ("quote", "Keep the user's own words, as agents do"),
            ("learn", "Remember a rule or a preference"),
            ("check", "Make a rule hold"),
            ("record", "Record a decision, a blocker, a next step"),
            ("undo", "Put files back as they were before a turn"),
            ("forget", "Delete captured data for good"),
        ],
    ),
    (
        "Set it up",
        &[
            ("install", "Add Cerberus to the agents on this machine"),
            ("import", "Read the past sessions that your agents keep"),
            ("sync", "One memory on every machine: exchange what is new"),
            ("share", "Share this project with your devices, or with a team"),
            ("doctor", "What works, what failed, how to fix it"),
            ("try", "See it work in a sandbox"),
        ],
    ),
    (
        "Let it run",
        &[
            ("loop", "Let an agent work in one fresh context after another"),
            ("run", "Run any program as a session"),
            ("handoff", "Write a handoff, so that the context can be cleared"),
        ],
    ),
    (
        "More",
        &[
            ("memory", "List, edit, export and import memories"),
            ("session", "Complete, export or import what carries over"),
            ("project", "Which folders hold this project"),
            ("summarize", "Have a model summarize a session"),
            ("pause", "Store and tell nothing for a while"),
            ("unpause", "Lift a pause"),
            ("uninstall", "Remove Cerberus from the agents"),
        ],
    ),
];

/// Other words for a command.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("log", &["history", "sessions", "list", "ls", "timeline", "session-history"]),
    ("show", &["view", "open", "cat", "details", "session-status"]),
    ("search", &["find", "grep", "query", "lookup"]),
    ("report", &["html", "chart", "charts", "dashboard", "draw"]),
    ("resume", &["continue", "reopen", "attach"]),
    ("learn", &["remember", "add", "teach", "memorize"]),
    ("forget", &["delete", "remove", "rm", "erase", "purge"]),
    ("review", &["proposals", "pending", "approve", "reject"]),
    ("brief", &["context", "summary", "next"]),
    ("record", &["note", "done", "decision", "blocker", "todo"]),
    ("install", &["setup", "init", "enable"]),
    ("uninstall", &["disable", "teardown"]),
    ("doctor", &["check-health", "health", "diagnose", "fix"]),
    ("import", &["load", "ingest"]),
    ("memory list", &["memories", "rules"]),
    ("memory recover", &["recover", "restore"]),
    ("session complete", &["complete", "finish"]),
];

/// The longest name has as many letters.
const NAME_COLUMNS: usize = 11;

/// The names of all visible commands.
fn visible() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter().map(|(name, _)| *name))
}

/// The program with a help that groups its commands. What only programs call is left out of the short help.
pub fn grouped(program: Command) -> Command {
    let mut groups = String::new();
    for (title, commands) in GROUPS {
        groups.push_str(&format!("{title}:\n"));
        for (name, what) in *commands {
            groups.push_str(&format!("  {name:NAME_COLUMNS$}  {what}\n"));
        }
        groups.push('\n');
    }
    let mut called = String::from("Called by other programs, or rarely:\n");
    for command in program.get_subcommands().filter(|command| command.is_hide_set()) {
        let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
        let about = about.split(['(', ':']).next().unwrap_or_default().trim_end();
        called.push_str(&format!("  {name:NAME_COLUMNS$}  {about}\n"));
    }
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}");
    called.push_str(OPTIONS);
    program.help_template(template).after_long_help(called.trim_end().to_string())
}

/// The options that every command has and few people need.
const OPTIONS: &str = "
Every command also takes:
  --cwd DIR    As if it were called in this folder
  --now TIME   As of this time (RFC 3339): what was recorded later is ignored
";

/// The commands that somebody who typed `typed` may mean, best first.
pub fn meant(typed: &str) -> Vec<&'static str> {
    let typed = typed.to_lowercase();
    let synonyms = SYNONYMS.iter().filter(|(_, others)| others.contains(&typed.as_str())).map(|(name, _)| *name);
    let found: Vec<&str> = synonyms.collect();
    if !found.is_empty() {
        return found;
    }
    let near = visible().filter_map(|name| Some((misspelling(name, &typed)?, name.len().abs_diff(typed.len()), name)));
    let mut near: Vec<(usize, usize, &str)> = near.collect();
    near.sort_unstable();
    if near.is_empty() && typed.len() >= BEGINNING_MIN {
        near.extend(visible().filter(|name| name.starts_with(&typed)).map(|name| (0, 0, name)));
    }
    near.into_iter().map(|(.., name)| name).collect()
}

/// A shorter beginning may mean anything.
const BEGINNING_MIN: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_and_other_words_are_understood() {
        for (typed, command) in [
            ("serch", "search"),
            ("saerch", "search"),
            ("instal", "install"),
            ("stauts", "status"),
            ("Log", "log"),
            ("logs", "log"),
            ("history", "log"),
            ("find", "search"),
            ("recover", "memory recover"),
            ("res", "resume"),
        ] {
            assert_eq!(meant(typed).first(), Some(&command), "{typed}");
        }
        for typed in ["zzz", "s", "watching", "x"] {
            assert_eq!(meant(typed), [""; 0], "{typed}");
        }
    }

    #[test]
    fn a_synonym_is_not_a_command_itself() {
        let known: Vec<&str> = visible().collect();
        for (command, others) in SYNONYMS {
            assert!(known.contains(&command.split(' ').next().unwrap_or_default()), "{command}");
            assert!(others.iter().all(|other| !known.contains(other)), "{command}");
        }
    }
}
