//! Commands that have the words of a pattern, but do not do what it is about: dry runs, questions, narrow forms.

use super::args::{Args, Opt, OptName};

/// A command that only says what it would do.
pub fn is_dry(program: &str, args: &Args) -> bool {
    let is_it = |option: &Opt| match option.name {
        OptName::Long(name) => {
            // git accepts the beginning of an option.
            let is_named = name == "dry-run" || program == "git" && name.len() > 2 && "dry-run".starts_with(name);
            is_named && !matches!(option.value, Some("none" | "false"))
        }
        // For other sub-commands of git the letter means something else.
        OptName::Short('n') => {
            program == "git" && matches!(args.sub(), "add" | "stage" | "rm" | "mv" | "clean" | "push")
        }
        OptName::Short(_) => false,
    };
    args.options.iter().any(is_it)
}

/// A sub-command of git in a form that only lists or shows.
pub fn only_shows(args: &Args) -> bool {
    let named = args.words.get(1).map(|(_, word)| *word);
    let has = |names: &[&str]| names.iter().any(|name| args.has(name, None));
    let has_letter = |letters: &str| letters.chars().any(|letter| args.has("", Some(letter)));
    if has(&["help"]) || has_letter("h") {
        return true;
    }
    match args.sub() {
        "stash" => matches!(named, Some("list" | "show")),
        "worktree" => named == Some("list"),
        "remote" => matches!(named, None | Some("show" | "get-url")),
        "submodule" => matches!(named, None | Some("status" | "summary")),
        "notes" => matches!(named, None | Some("list" | "show")),
        "branch" => {
            let changes = has(&["delete", "move", "copy", "set-upstream-to", "unset-upstream", "edit-description"])
                || has_letter("dDmMcCu");
            let lists = has(&["list", "show-current", "contains", "no-contains", "merged", "no-merged", "points-at"]);
            !changes && (named.is_none() || lists || has_letter("l"))
        }
        "tag" => named.is_none() || has(&["list", "contains", "merged", "points-at"]) || has_letter("l"),
        "config" => {
            has(&["get", "get-all", "get-regexp", "list"]) || has_letter("l") || matches!(named, Some("get" | "list"))
        }
        "apply" => has(&["check", "stat", "numstat", "summary"]) && !has(&["apply"]),
        _ => false,
    }
}

/// A path of `git add` that means all files.
pub fn is_everything(path: &str) -> bool {
    matches!(path, "." | "./" | ":/" | ":" | "*" | "./*" | "..")
}

/// A `git add` that stages less than everything: some paths, some changes, or nothing new.
pub fn is_narrow_add(args: &Args) -> bool {
    let paths = args.words.get(1..).unwrap_or_default();
    let is_partial = args.has("renormalize", None)
        || args.has("refresh", None)
        || args.has("update", Some('u'))
        || args.has("intent-to-add", Some('N'))
        || args.has("patch", Some('p'));
    is_partial || !paths.is_empty() && !paths.iter().any(|(_, path)| is_everything(path))
}

/// A question about what a package manager has installed. Another manager would give another answer.
pub fn asks_what_is_installed(program: &str, args: &Args) -> bool {
    match program {
        "pip" | "pip3" => matches!(args.sub(), "show" | "list"),
        "npm" | "pnpm" | "yarn" | "bun" => {
            args.has("global", Some('g'))
                && matches!(args.sub(), "list" | "ls" | "ll" | "la" | "root" | "bin" | "prefix")
        }
        _ => false,
    }
}
