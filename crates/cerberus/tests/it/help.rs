//! The help of every command, hidden ones too, against `snapshots/help.txt`; `UPDATE_SNAPSHOTS=1` rewrites that file.
//! Completions and the manual offer whatever the help lists.

use std::collections::BTreeMap;
use std::path::Path;

use cerberus_testkit::env::TestEnv;

use crate::env;

/// The words after `cerberus` that name a command; none for the program itself.
type Name = Vec<String>;

/// Every command of the binary, hidden ones too, as its completions for bash know them: `parent_id,name)` on one line
/// and `cmd="child_id"` on the next.
pub fn all_commands(env: &TestEnv) -> Vec<Name> {
    let script = env.ok(&["completions", "bash"]);
    let lines: Vec<&str> = script.lines().map(str::trim).collect();
    let mut children: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for pair in lines.windows(2) {
        let parent_and_name = pair[0].strip_suffix(')').and_then(|case| case.split_once(','));
        let id = pair[1].strip_prefix("cmd=\"").and_then(|rest| rest.strip_suffix('"'));
        if let (Some((parent, name)), Some(id)) = (parent_and_name, id) {
            children.entry(parent).or_default().push((name, id));
        }
    }
    let mut found = vec![(Name::new(), "cerberus")];
    let mut next = 0;
    while let Some((name, id)) = found.get(next).cloned() {
        for (child, child_id) in children.get(id).into_iter().flatten().filter(|(child, _)| *child != "help") {
            found.push(([name.as_slice(), &[child.to_string()]].concat(), child_id));
        }
        next += 1;
    }
    let mut names: Vec<Name> = found.into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

fn help(env: &TestEnv, name: &[String]) -> String {
    let words: Vec<&str> = name.iter().map(String::as_str).chain(["--help"]).collect();
    env.ok(&words)
}

/// The commands that a help lists, without `help` itself.
fn listed(help: &str) -> Vec<&str> {
    // The program's own help lists them in groups.
    let is_group = |line: &&str| !line.starts_with(' ') && line.ends_with(':') && *line != "Options:";
    let usage = help.lines().skip_while(|line| !line.starts_with("Usage:")).skip(1);
    let commands = usage
        .take_while(|line| *line != "Options:" && *line != "Arguments:")
        .filter(|line| !line.is_empty() && !is_group(line));
    let has_commands = help.lines().any(|line| line == "Commands:" || line == "Look around:");
    let commands = commands.filter(|_| has_commands);
    // A description that goes on in the next line is indented further.
    let names = commands.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect()
}

/// Every command that a user can find by reading help, from the top.
fn visible_commands(env: &TestEnv) -> Vec<Name> {
    let mut found = vec![Name::new()];
    let mut next = 0;
    while let Some(name) = found.get(next).cloned() {
        let help = help(env, &name);
        found.extend(listed(&help).into_iter().map(|child| [name.as_slice(), &[child.to_string()]].concat()));
        next += 1;
    }
    found.retain(|name| !name.is_empty());
    found
}

#[cfg(all(feature = "loop", feature = "sync"))]
#[test]
fn the_help_of_every_command_is_as_committed() {
    let env = env();
    let commands = all_commands(&env);
    let sections = commands.iter().map(|name| {
        let title = [&["cerberus".to_string()], name.as_slice()].concat().join(" ");
        format!("=== {title}\n\n{}\n", help(&env, name))
    });
    let printed: String = sections.collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots/help.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    if printed != committed {
        let differing = printed.lines().zip(committed.lines()).position(|(now, before)| now != before);
        let at = differing.unwrap_or_else(|| printed.lines().count().min(committed.lines().count()));
        let (now, before) = (printed.lines().nth(at), committed.lines().nth(at));
        panic!(
            "help differs from {} in line {}\n    now: {now:?}\n    before: {before:?}\n\
             if this is meant, run the test with UPDATE_SNAPSHOTS=1 and commit the file",
            file.display(),
            at + 1
        );
    }
}

#[cfg(feature = "loop")]
#[test]
fn the_tree_holds_what_is_hidden_and_what_is_nested() {
    let env = env();
    let (all, visible) = (all_commands(&env), visible_commands(&env));
    let named = |words: &str| words.split(' ').map(str::to_string).collect::<Name>();
    for words in ["loop", "loop run", "loop status", "loop stop", "loop history", "loop restore", "memory list"] {
        assert!(visible.contains(&named(words)), "{words} in {visible:?}");
    }
    // What has another place stays an alias of the specification.
    for words in ["memory search", "memory learn", "memory review", "memory session-status"] {
        assert!(all.contains(&named(words)) && !visible.contains(&named(words)), "{words}");
    }
    for name in &visible {
        let ordinary = help(&env, name);
        assert!(!ordinary.contains("--now <") && !ordinary.contains("--cwd <"), "{name:?}: {ordinary}");
    }
    assert!(all.contains(&named("loop guard")) && !visible.contains(&named("loop guard")), "{all:?}");
    assert!(visible.iter().all(|name| all.contains(name)), "{visible:?} in {all:?}");
}

#[test]
fn every_command_says_what_it_does() {
    let env = env();
    for name in all_commands(&env) {
        let own = help(&env, &name);
        assert!(own.lines().next().is_some_and(|first| first.len() > 20), "{name:?}: {own}");
    }
}

/// Whether a shell offers `child` after `parent`.
fn offered(shell: &str, script: &str, parent: &[String], child: &str) -> bool {
    let mut lines = script.lines();
    let id: String = parent.iter().map(|word| format!("__subcmd__{word}")).collect();
    match shell {
        "bash" => {
            let label = format!("        cerberus{id})");
            let options = lines.skip_while(|line| *line != label).find_map(|line| line.trim().strip_prefix("opts=\""));
            options.is_some_and(|options| options.trim_end_matches('"').split(' ').any(|option| option == child))
        }
        "zsh" => {
            let function = format!("_cerberus{id}_commands() {{");
            let body = lines.skip_while(|line| *line != function).take_while(|line| *line != "}");
            body.into_iter().any(|line| line.starts_with(&format!("'{child}:")))
        }
        "fish" => {
            let condition = match parent.last() {
                None => "\"__fish_cerberus_needs_command\"".to_string(),
                Some(word) => format!("\"__fish_cerberus_using_subcommand {word}; and not"),
            };
            lines.any(|line| line.contains(&condition) && line.contains(&format!(" -a \"{child}\" ")))
        }
        other => panic!("no completions of {other} are read here"),
    }
}

#[test]
fn completions_and_the_manual_offer_every_command_that_help_lists() {
    let env = env();
    let visible = visible_commands(&env);
    for shell in ["bash", "zsh", "fish"] {
        let script = env.ok(&["completions", shell]);
        for name in &visible {
            let (child, parent) = name.split_last().unwrap();
            assert!(offered(shell, &script, parent, child), "{name:?} for {shell}");
            assert!(!offered(shell, &script, parent, "no-such-command"), "{shell}");
        }
    }
    for name in &visible {
        let (_, parent) = name.split_last().unwrap();
        let page = |name: &[String]| {
            let words: Vec<&str> = ["man"].into_iter().chain(name.iter().map(String::as_str)).collect();
            env.ok(&words)
        };
        let title = name.join("-").replace('-', "\\-");
        assert!(page(parent).contains(&format!("\ncerberus\\-{title}(1)\n")), "{name:?} in the page of {parent:?}");
        let own = page(name);
        assert!(own.contains(&format!("\n.TH cerberus-{} 1 ", name.join("-"))), "{name:?}: {own}");
        assert!(own.contains(".SH DESCRIPTION"), "{name:?}: {own}");
    }
}

#[test]
fn completions_are_scripts_and_unknown_names_are_errors() {
    let env = env();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.ok(&["completions", shell]);
        assert!(script.lines().count() > 100, "a script of {shell} has lines: {script}");
    }
    let script = env.root().join("completions.bash");
    std::fs::write(&script, env.ok(&["completions", "bash"])).unwrap();
    assert!(std::process::Command::new("bash").arg("-n").arg(&script).status().unwrap().success());
    assert_eq!(env.run(&["completions", "tcsh"]).status.code(), Some(2));
    assert!(env.ok(&["man"]).lines().any(|line| line.starts_with(".TH cerberus 1")));
    assert_eq!(env.run(&["man", "no-such-command"]).status.code(), Some(1));
}

#[test]
fn the_short_help_is_for_people() {
    let env = env();
    let (short, long) = (env.ok(&["-h"]), env.ok(&["--help"]));
    assert!(short.lines().count() <= 53, "{short}");
    let groups = || short.lines().skip_while(|line| *line != "Look around:").take_while(|line| *line != "Options:");
    assert!(groups().all(|line| line.chars().count() <= 80), "{short}");
    let has = |help: &str, name: &str| help.lines().any(|line| line.starts_with(&format!("  {name} ")));
    for name in "status log show search resume brief review learn record forget stats loop import install doctor pause
        uninstall try handoff project"
        .split_whitespace()
    {
        assert!(has(&short, name), "{name}: {short}");
    }
    for name in "hook mcp watch scan man completions statusline".split(' ') {
        assert!(!has(&short, name), "{name}: {short}");
        assert!(has(&long, name), "{name}: {long}");
    }
    for name in all_commands(&env).iter().filter(|name| name.len() == 1) {
        assert!(has(&long, &name[0]), "{name:?}: {long}");
    }
}

#[test]
fn a_misspelled_command_suggests_the_right_one() {
    let env = env();
    for (typed, meant) in [("serch", "search"), ("stauts", "status"), ("history", "log"), ("recover", "memory recover")]
    {
        let output = env.run(&[typed]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains(&format!("'{meant}'")) && !said.contains("watch"), "{typed}: {said}");
    }
    let said = String::from_utf8_lossy(&env.run(&["memory", "serch"]).stderr).into_owned();
    assert!(said.contains("'search'"), "{said}");
}

#[test]
fn old_spellings_mean_the_same() {
    let env = env();
    env.ok(&["memory", "learn", "Use tabs"]);
    env.ok(&["learn", "Sign every commit"]);
    assert_eq!(env.json(&["memory", "search", "commit"])[0]["content"], "Sign every commit");
    assert_eq!(env.json(&["memory", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(env.json(&["review"]), env.json(&["memory", "review"]));
    assert_eq!(env.json(&["memory", "session-history"]), serde_json::json!([]));
}

#[test]
fn completions_know_kinds_sources_and_ids() {
    let env = env();
    env.ok(&["record", "next", "measure it"]);
    let id = env.json(&["log"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["learn", "Use tabs"]);
    let memory = env.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_string();
    let script = env.root().join("completions.bash");
    std::fs::write(&script, env.ok(&["completions", "bash"])).unwrap();
    let completed = |words: &str| -> Vec<String> {
        let ask = format!(
            "source {}; COMP_WORDS=({words} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _cerberus_or_ids \"${{COMP_WORDS[0]}}\" '' \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let binary = env!("CARGO_BIN_EXE_cerberus");
        let output = env.command_for("bash").args(["-c", &ask.replace("(cerberus", &format!("({binary}"))]).output();
        String::from_utf8_lossy(&output.unwrap().stdout).lines().map(str::to_string).collect()
    };
    assert!(completed("cerberus record").contains(&"blocker".to_string()), "{:?}", completed("cerberus record"));
    assert!(completed("cerberus memory list --source").contains(&"mcp".to_string()));
    assert!(completed("cerberus search --kind").contains(&"decision".to_string()));
    for words in ["cerberus show", "cerberus resume", "cerberus memory show"] {
        let offered = completed(words);
        assert!(offered.contains(&id) && offered.contains(&memory), "{words}: {offered:?}");
    }
    let zsh = env.ok(&["completions", "zsh"]);
    assert!(zsh.starts_with("#compdef") && zsh.contains(":_cerberus_ids'"));
    assert!(env.ok(&["completions", "fish"]).contains("completions --ids"));
}

#[cfg(feature = "loop")]
#[test]
fn manual_pages_have_examples_files_and_exit_codes() {
    let env = env();
    for name in all_commands(&env) {
        let words: Vec<&str> = ["man"].into_iter().chain(name.iter().map(String::as_str)).collect();
        let page = env.ok(&words);
        for section in [".SH EXAMPLES", ".SH FILES", ".SH \"EXIT STATUS\""] {
            assert!(page.lines().any(|line| line == section), "{section} in {name:?}: {page}");
        }
    }
    assert!(env.ok(&["man", "loop", "run"]).contains("Another runner is active"));
    assert!(env.ok(&["man", "log"]).contains("cerberus log"));
}
