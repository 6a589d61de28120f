//! Somebody else is at work in the same folder: their file is about to be edited, or a git command may take away what they
//! have not committed.

use cerberus_record::clean::text;
use cerberus_record::fact::FactKind;
use cerberus_record::shell::{self, CommandLevel, SimpleCommand};
use cerberus_record::time::Timestamp;

use crate::brief::repository::names;
use crate::brief::stopped::age;

/// The names that a line about them has room for.
const FILES_CHARS_MAX: usize = 160;

/// A git command that changes files which are not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSweep {
    /// The words that name the command: `git stash`.
    pub name: String,
    /// Where it runs, as seen from where the line begins; empty if it is the same.
    pub folder: String,
    /// The only paths that it changes, as seen from its folder; `None` for all.
    pub paths: Option<Vec<String>>,
}

/// The git commands in a line that change files which are not committed. Where it is not known where one runs, nobody can
/// say whose files those are.
pub fn sweeps(line: &str) -> Vec<GitSweep> {
    let is_here = |command: &&SimpleCommand| matches!(command.level, CommandLevel::Line | CommandLevel::Script);
    let found: Vec<GitSweep> = shell::commands(line).iter().filter(is_here).filter_map(sweep).collect();
    found.into_iter().filter(|sweep| !sweep.folder.contains('$') && !sweep.folder.starts_with('~')).collect()
}

fn sweep(command: &SimpleCommand) -> Option<GitSweep> {
    let texts: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let [program, rest @ ..] = shell::without_wrappers(&texts) else { return None };
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    let (folder, words) = with_folder(&command.folder, rest);
    let [sub, args @ ..] = words else { return None };
    let paths = swept(sub, args)?;
    Some(GitSweep { name: format!("git {sub}"), folder, paths })
}

/// The options before the sub-command say where git runs.
fn with_folder<'a, 'w>(folder: &str, mut words: &'a [&'w str]) -> (String, &'a [&'w str]) {
    let mut folder = folder.to_string();
    while let [first, rest @ ..] = words {
        words = match (*first, rest) {
            // The folder after `-C` is known already.
            ("-C" | "-c", [_, rest @ ..]) => rest,
            (option, rest) if option.starts_with('-') => {
                // It works on files elsewhere.
                if option.starts_with("--git-dir") || option.starts_with("--work-tree") {
                    folder = "$".to_string();
                }
                rest
            }
            _ => return (folder, words),
        };
    }
    (folder, words)
}

/// The paths that a sub-command changes: `None` if it changes nothing, `Some(None)` if perhaps everything.
fn swept(sub: &str, args: &[&str]) -> Option<Option<Vec<String>>> {
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(arg));
    let first = args.iter().find(|arg| !arg.starts_with('-')).copied();
    if has(&["-h", "--help"]) {
        return None;
    }
    let after_dashes = args.iter().position(|arg| *arg == "--").map(|at| owned(&args[at + 1..]));
    match sub {
        "stash" if matches!(first, None | Some("push" | "save")) => Some(after_dashes),
        "checkout" | "switch" => Some(after_dashes),
        "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => {
            Some(Some(after_dashes.unwrap_or_else(|| owned(args))))
        }
        "reset" if has(&["--hard", "--merge", "--keep"]) => Some(None),
        "clean" if !has(&["-n", "--dry-run"]) => Some(after_dashes),
        "rebase" if !has(&["--abort", "--continue", "--skip", "--quit", "--edit-todo"]) => Some(None),
        _ => None,
    }
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().filter(|arg| !arg.starts_with('-')).map(ToString::to_string).collect()
}

/// Whether a path that was given to git, as seen from the top of the project, covers a file.
pub fn covers(path: &str, file: &str) -> bool {
    let folder = path.trim_end_matches('/');
    let is_pattern = path.contains(['*', '?', '[', '$', ':']);
    is_pattern
        || matches!(folder, "" | ".")
        || file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is told about a file that another session has changed.
pub fn edit_told(agent: &str, file: &str, at: Timestamp, now: Timestamp) -> String {
    let when = age(at, now);
    let line = format!(
        "{}{agent} is at work in another window and changed {file} {when} ago. See that its change is not lost.",
        FactKind::Live.prefix()
    );
    text::code(&line).into_owned()
}

/// Why a command is held back, once.
pub fn sweep_told(agent: &str, files: &[String], name: &str) -> String {
    let files = text::line(&names(files), FILES_CHARS_MAX);
    let line = format!(
        "{}{agent} is at work in another window and has not committed {files}. Not run: `{name}` may take that away. \
         Leave it alone, or run the command again if your user wants that.",
        FactKind::Live.prefix()
    );
    text::code(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_record::ours;
    use cerberus_text::tokens;

    use super::*;

    fn sweep_of(line: &str) -> Option<(String, String, Option<Vec<String>>)> {
        sweeps(line).pop().map(|sweep| (sweep.name, sweep.folder, sweep.paths))
    }

    #[test]
    fn commands_that_change_uncommitted_files_are_known() {
        let all = |name: &str, folder: &str| Some((name.to_string(), folder.to_string(), None));
        for (line, expected) in [
            ("git stash", all("git stash", "")),
            ("git stash push -u -m wip", all("git stash", "")),
            ("cd web && git checkout main", all("git checkout", "web")),
            ("git -C web -c a.b=c reset --hard HEAD~1", all("git reset", "web")),
            ("sudo git clean -fdx", all("git clean", "")),
            ("git fetch; git rebase origin/main", all("git rebase", "")),
            ("git switch topic", all("git switch", "")),
            ("sh -c 'git stash'", all("git stash", "")),
        ] {
            assert_eq!(sweep_of(line), expected, "{line}");
        }
        let paths = |line: &str| sweep_of(line).and_then(|(_, _, paths)| paths).unwrap_or_default();
        assert_eq!(paths("git checkout HEAD -- a.rs src"), ["a.rs", "src"]);
        assert_eq!(paths("git restore a.rs"), ["a.rs"]);
        for line in [
            "git status",
            "git stash list",
            "git stash pop",
            "git reset",
            "git reset --soft HEAD~1",
            "git clean -n",
            "git rebase --abort",
            "git restore --staged a.rs",
            "git checkout --help",
            "git commit -m 'git stash'",
            "echo git stash",
            "ssh host 'git stash'",
            "cd $X && git stash",
            "git --git-dir=/x/.git checkout main",
        ] {
            assert_eq!(sweep_of(line), None, "{line}");
        }
    }

    #[test]
    fn a_path_covers_what_is_below_it() {
        for (path, file, expected) in [
            ("src", "src/a.rs", true),
            ("src/a.rs", "src/a.rs", true),
            (".", "src/a.rs", true),
            ("*.rs", "src/a.rs", true),
            ("sr", "src/a.rs", false),
            ("src/b.rs", "src/a.rs", false),
        ] {
            assert_eq!(covers(path, file), expected, "{path}");
        }
    }

    #[test]
    fn the_lines_are_ours_and_short() {
        let now = Timestamp::EPOCH.plus(Duration::from_secs(120));
        let edit = edit_told("codex", "src/parser.rs", Timestamp::EPOCH, now);
        assert!(
            edit.starts_with("live:codex is at work in another window and changed src/parser.rs 2m ago."),
            "{edit}"
        );
        let files: Vec<String> = (0..60).map(|number| format!("folder{number}/file{number}.rs")).collect();
        let sweep = sweep_told("codex", &files, "git stash");
        assert!([&edit, &sweep].iter().all(|line| ours::is_ours(line)), "{edit} {sweep}");
        assert!(tokens::estimate(&edit) <= 60 && tokens::estimate(&sweep) <= 120, "{edit} {sweep}");
    }
}
