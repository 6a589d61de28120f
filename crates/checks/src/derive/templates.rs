//! The templates. Each reads a whole sentence and returns the options of a rule, or nothing.

use super::reader::{At, forbid, need, options};
use super::tokens::RuleToken;

pub type Template = fn(&[RuleToken]) -> Option<Vec<String>>;

pub const ALL: &[Template] = &[
    forbidden,
    forbidden_then_instead,
    instead,
    instead_of_first,
    not_after,
    force_push,
    skipped_hooks,
    amended,
    on_branch,
    no_commits,
    protected,
    generated,
    read_only,
    before_gate,
    gate_first,
    not_without,
    must_pass,
    at_end,
    end_first,
    prefixed,
    run_with,
    message_start,
    conventional,
    message_length,
    not_in_message,
    not_in_code,
];

/// Never run `a` or `b`.
fn forbidden(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    let has_verb = at.any("use|run|call|execute|invoke");
    // Without a verb only a command in backquotes is clear.
    if !has_verb && !matches!(at.next(), Some(RuleToken::Code(_))) {
        return None;
    }
    let commands = at.commands()?;
    at.tail();
    at.end()?;
    Some(forbid(&commands, None))
}

/// Do not use `b`, use `a` instead.
fn forbidden_then_instead(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    at.must("use|run|call|execute")?;
    let commands = at.commands()?;
    at.tail();
    if !at.breaks() {
        return None;
    }
    at.any("always");
    at.must("use|run")?;
    let instead = at.command()?;
    at.any("instead");
    at.end()?;
    Some(forbid(&commands, Some(instead)))
}

/// Use `a`, not `b`; use `a` instead of `b`.
fn instead(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.any("please");
    at.any("we|you must|you should");
    at.any("always");
    let has_verb = at.any("use|run");
    let wanted = at.command()?;
    at.any(
        "for package management|for all package management|for packages|for dependencies|\
        for installing packages|for dependency management|for managing dependencies|as the package manager|\
        as package manager|for searching",
    );
    let has_break = at.breaks();
    let mut commands = match at.any("instead of|rather than|over") {
        true if has_verb => at.commands()?,
        true => return None,
        false => {
            at.any("and|but");
            at.must("not|never")?;
            at.any("use");
            if !has_break && !has_verb {
                return None;
            }
            at.commands()?
        }
    };
    at.tail();
    at.end()?;
    commands.retain(|command| *command != wanted);
    (!commands.is_empty()).then(|| forbid(&commands, Some(wanted)))
}

/// Instead of `b`, use `a`.
fn instead_of_first(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.must("instead of|rather than")?;
    let commands = at.commands()?;
    at.breaks();
    at.any("always");
    at.must("use|run")?;
    let instead = at.command()?;
    at.end()?;
    Some(forbid(&commands, Some(instead)))
}

/// `b` is forbidden.
fn not_after(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let commands = at.commands()?;
    at.must(
        "is forbidden|are forbidden|must never be used|must not be used|must never be run|must not be run|\
        is not allowed|are not allowed|is banned",
    )?;
    at.tail();
    at.end()?;
    Some(forbid(&commands, None))
}

fn force_push(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    at.must("force push|force-push|push with --force|push --force")?;
    at.tail();
    at.end()?;
    Some(forbid(&["git push --force".to_string()], None))
}

fn skipped_hooks(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    let is_flag = at.any("use --no-verify|pass --no-verify|commit with --no-verify") || {
        let mut named = at;
        let is_use = named.any("use|pass|commit with");
        let is_it = is_use && named.code() == Some("--no-verify");
        if is_it {
            at = named;
        }
        is_it
    };
    if !is_flag {
        at.must(
            "skip git hooks|skip the git hooks|skip hooks|skip pre-commit hooks|bypass git hooks|\
            bypass pre-commit hooks|bypass hooks",
        )?;
    }
    at.tail();
    at.end()?;
    Some(forbid(&["git commit --no-verify".to_string(), "git push --no-verify".to_string()], None))
}

fn amended(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    at.must("amend commits|amend existing commits|amend previous commits|amend a commit")?;
    at.tail();
    at.end()?;
    Some(forbid(&["git commit --amend".to_string()], None))
}

/// Never commit to main.
fn on_branch(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    let only = if at.any("commit or push|push or commit|commit and push") {
        None
    } else if at.any("commit") {
        Some("commit")
    } else {
        at.must("push")?;
        Some("push")
    };
    at.any("directly|straight|anything|code|changes");
    at.any("directly");
    at.must("to|on|onto|into")?;
    let name = at.branch()?;
    at.tail();
    at.end()?;
    Some(branch(name, only))
}

fn branch(name: String, only: Option<&str>) -> Vec<String> {
    let only: Vec<String> = only.map(str::to_string).into_iter().collect();
    [options("--branch", &[name]), options("--only", &only)].concat()
}

/// No direct commits to main.
fn no_commits(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.must("no")?;
    at.any("direct");
    let only = if at.any("commits") { "commit" } else { at.must("pushes").map(|()| "push")? };
    at.must("to|on")?;
    let name = at.branch()?;
    at.end()?;
    Some(branch(name, Some(only)))
}

/// Never edit `gen/` by hand.
fn protected(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    at.any("manually|directly");
    let edits = "edit or delete|modify or delete|edit|modify|change|touch|alter|write to|overwrite";
    let only = if at.any(edits) {
        None
    } else if at.any("delete|remove") {
        Some("delete")
    } else {
        at.must("commit|check in")?;
        Some("commit")
    };
    at.any("directly|manually");
    at.any(
        "any generated files|generated files|generated code|any files|any file|the files|files|anything|\
        everything|code|the generated files",
    );
    at.any("in|under|inside|within|below");
    at.any("the");
    let path = at.path()?;
    at.any("by hand|manually");
    at.tail();
    at.end()?;
    let only: Vec<String> = only.map(str::to_string).into_iter().collect();
    Some([options("--protect", &[path]), options("--only", &only)].concat())
}

/// `gen/` is generated, do not edit it.
fn generated(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.any("files in|everything in|everything under|anything in|code in|the|files under");
    let path = at.path()?;
    at.must("is generated|are generated|is auto-generated|are auto-generated|is autogenerated|are autogenerated")?;
    if !at.breaks() {
        at.must("and")?;
    }
    at.never()?;
    at.must("edit|modify|change|touch|be edited|be modified")?;
    at.any("it|them");
    at.any("by hand|manually|directly");
    at.end()?;
    Some(options("--protect", &[path]))
}

/// Treat `vendor/` as read-only.
fn read_only(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let is_treated = at.any("treat");
    at.any("files in|everything in|everything under|the");
    let path = at.path()?;
    at.must(if is_treated { "as read-only|as readonly" } else { "is read-only|are read-only|is readonly" })?;
    at.end()?;
    Some(options("--protect", &[path]))
}

/// Run `cargo test` before committing.
fn before_gate(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let needed = at.run()?;
    at.must("before")?;
    let gate = at.gate()?;
    at.end()?;
    Some(need(&gate, &needed))
}

/// Before committing, run `cargo test`.
fn gate_first(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.any("always");
    at.must("before")?;
    let gate = at.gate()?;
    at.breaks();
    let needed = at.run()?;
    at.end()?;
    Some(need(&gate, &needed))
}

/// Never commit without running `cargo test`.
fn not_without(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    let gate = if at.any("commit") { "git commit" } else { at.must("push").map(|()| "git push")? };
    at.any("code|changes|anything");
    let needed = if at.any("without running|without first running|before running") {
        at.commands()?
    } else {
        at.must("until|unless")?;
        let needed = at.commands()?;
        at.must("passes|pass|has passed|have passed|is green|succeeds")?;
        needed
    };
    at.any("first");
    at.end()?;
    Some(need(gate, &needed))
}

/// `cargo test` must pass before every commit; make sure `cargo test` passes before committing.
fn must_pass(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let is_asked = at.any(
        "always make sure that|always make sure|make sure that|make sure|ensure that|ensure|verify that|\
        verify|always verify",
    );
    let needed = at.commands()?;
    match is_asked {
        true => at.must("passes|pass|is green|succeeds|succeed|was run|has been run")?,
        false => at.must(
            "must pass|must be run|must succeed|must be green|has to pass|should pass|needs to pass|should be run",
        )?,
    }
    at.must("before")?;
    let gate = at.gate()?;
    at.end()?;
    Some(need(&gate, &needed))
}

/// Run `cargo test` after every change.
fn at_end(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let needed = at.run()?;
    at.finish().then_some(())?;
    at.end()?;
    Some(need(crate::STOP, &needed))
}

/// After making changes, run `cargo test`.
fn end_first(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.finish().then_some(())?;
    at.breaks();
    let needed = at.run()?;
    at.end()?;
    Some(need(crate::STOP, &needed))
}

/// Words that only run what follows them.
fn is_prefix(code: &str) -> bool {
    matches!(code, "npx" | "bunx" | "rtk" | "sudo" | "uvx") || code.ends_with(" run") || code.ends_with(" exec")
}

/// Prefix all commands with `rtk`.
fn prefixed(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.always();
    at.must("prefix")?;
    let on = match at.any("all shell commands|all commands|every command|every shell command|shell commands|commands") {
        true => Vec::new(),
        false => at.commands()?,
    };
    at.must("with")?;
    let prefix = at.code().filter(|code| is_prefix(code))?.to_string();
    at.end()?;
    Some([options("--prefix", &[prefix]), options("--on", &on)].concat())
}

/// Run `pytest` with `uv run`.
fn run_with(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.always();
    at.must("run")?;
    let on = at.commands()?;
    at.must("with|through|via|using")?;
    let prefix = at.code().filter(|code| is_prefix(code))?.to_string();
    at.end()?;
    Some([options("--prefix", &[prefix]), options("--on", &on)].concat())
}

/// Commit messages must start with `feat:`.
fn message_start(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.any("all|every");
    let is_list = at.any("commit messages|commit message|commit subjects|commits|commit titles");
    if is_list {
        at.must("must|should|always|have to|must always")?;
        at.must("start with|begin with|starts with|begins with")?;
    } else {
        at.must(
            "start commit messages with|begin commit messages with|prefix commit messages with|\
            always start commit messages with|start every commit message with|\
            prefix every commit message with",
        )?;
    }
    at.any("one of|either");
    let mut starts = vec![start(at.code()?)];
    while !at.is_end() {
        let has_break = at.breaks();
        let has_word = at.any("or");
        if !has_break && !has_word {
            return None;
        }
        starts.push(start(at.code()?));
    }
    Some(options("--message-start", &starts))
}

/// `PROJ-123` is an example of a number.
fn start(code: &str) -> String {
    let digits = code.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_ticket =
        digits.len() < code.len() && digits.ends_with('-') && digits.starts_with(|c: char| c.is_ascii_uppercase());
    if is_ticket { format!("{digits}#") } else { code.to_string() }
}

const CONVENTIONAL: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

fn conventional(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.any("always");
    if at.any("use|follow|we use|we follow") {
        at.must(
            "conventional commits|the conventional commits format|conventional commit messages|\
            the conventional commits specification",
        )?;
        at.any("for commit messages|for all commits|for commits|for all commit messages");
    } else {
        at.must("commit messages|commits|all commits")?;
        at.must("must follow|should follow|follow|must use|use")?;
        at.must("conventional commits|the conventional commits format|the conventional commits specification")?;
    }
    at.end()?;
    Some(options("--message-start", &CONVENTIONAL.map(str::to_string)))
}

/// Keep commit subjects under 72 characters.
fn message_length(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    let is_kept = at.any("keep|limit|always keep");
    at.any("the");
    at.must(
        "commit subjects|commit subject lines|commit messages|commit titles|subject line of commits|\
        commit message subjects|first line of commit messages",
    )?;
    if !is_kept {
        at.must("must be|should be|must stay|must have|may have")?;
    }
    at.must("under|below|within|to|at most|to at most|no longer than|shorter than")?;
    let Some(RuleToken::Word(number)) = at.next() else { return None };
    let number = number.parse::<usize>().ok().filter(|number| (20..=200).contains(number))?;
    at.at += 1;
    at.must("characters|chars")?;
    at.end()?;
    Some(options("--message-max", &[number.to_string()]))
}

/// Do not add `Co-Authored-By` to commit messages.
fn not_in_message(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    if at.never().is_some() {
        at.must("add|include|put|use|mention|write")?;
    } else {
        at.must("no")?;
    }
    at.any("a|any|the");
    let text = match at.next()? {
        RuleToken::Code(text) => text.clone(),
        RuleToken::Word(word) if word.eq_ignore_ascii_case("co-authored-by") => "Co-Authored-By".to_string(),
        _ => return None,
    };
    at.at += 1;
    at.any("lines|line|trailers|trailer|footers|footer");
    at.must("in|to")?;
    at.any("your|the|any");
    at.must("commit messages|commit message|commits")?;
    at.end()?;
    Some(options("--message-forbid", &[text]))
}

/// Do not leave `console.log` in code.
fn not_in_code(tokens: &[RuleToken]) -> Option<Vec<String>> {
    let mut at = At::new(tokens);
    at.never()?;
    at.must("leave|write|add")?;
    let text = at.code().filter(|text| text.len() > 3 && !text.starts_with('-'))?.to_string();
    at.any("calls|statements");
    at.must("in")?;
    at.any("the|new|production|committed");
    at.must("code|source|source files|source code")?;
    at.end()?;
    Some(options("--text", &[text]))
}
