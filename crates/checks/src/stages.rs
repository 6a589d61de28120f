//! What one simple command runs: the command itself, and what it passes on to, such as `npm i` in `sudo -E npm i`.

use cerberus_record::shell::{SimpleCommand, is_assignment};

use super::args::base;

/// The commands inside a simple command, from the outside in. Each begins with its program.
pub fn stages(command: &SimpleCommand) -> Vec<Vec<&str>> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut rest = without_keywords(&words);
    while !rest.is_empty() && found.len() < 8 {
        found.push(rest.to_vec());
        rest = match inner(rest) {
            Some(inside) => without_keywords(inside),
            None => break,
        };
    }
    found
}

/// Removes keywords and assignments at the beginning.
fn without_keywords<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        let is_keyword = matches!(*first, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{");
        if !is_keyword && !is_assignment(first) {
            break;
        }
        words = rest;
    }
    words
}

/// What the program at the beginning runs in turn.
fn inner<'a, 'w>(words: &'a [&'w str]) -> Option<&'a [&'w str]> {
    let (program, rest) = words.split_first()?;
    Some(match base(program) {
        // With -v it only says where the program is.
        "command" if rest.first().is_some_and(|word| matches!(*word, "-v" | "-V")) => return None,
        "time" | "command" | "builtin" | "nohup" | "setsid" | "unbuffer" | "doas" | "chronic" | "caffeinate"
        | "busybox" | "corepack" | "rtk" => skipped(rest, &[]),
        "mise" if matches!(rest.first(), Some(&("exec" | "x"))) => {
            rest.get(rest.iter().position(|word| *word == "--")? + 1..)?
        }
        "direnv" if rest.first() == Some(&"exec") => rest.get(2..)?,
        "nix" if matches!(rest.first(), Some(&("develop" | "shell"))) => {
            rest.get(rest.iter().position(|word| matches!(*word, "-c" | "--command"))? + 1..)?
        }
        "exec" => skipped(rest, &["-a"]),
        "env" => skipped(rest, &["-u", "--unset", "-C", "--chdir"]),
        "sudo" => {
            skipped(rest, &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"])
        }
        "nice" => skipped(rest, &["-n", "--adjustment"]),
        "ionice" => skipped(rest, &["-c", "-n"]),
        "stdbuf" => skipped(rest, &["-i", "-o", "-e"]),
        "xargs" => skipped(rest, &["-n", "-I", "-P", "-L", "-d", "-s", "-E", "-a"]),
        "parallel" => skipped(rest, &["-j", "-n", "--jobs"]),
        "watch" => skipped(rest, &["-n", "--interval"]),
        "timeout" | "gtimeout" => skipped(rest, &["-s", "--signal", "-k", "--kill-after"]).get(1..)?,
        "flock" => skipped(rest, &["-w", "-E", "--timeout"]).get(1..)?,
        "strace" | "ltrace" => skipped(rest, &["-e", "-o", "-s"]),
        "xvfb-run" => skipped(rest, &["-s", "-n", "-e"]),
        "python" | "python3" if rest.first() == Some(&"-m") => rest.get(1..)?,
        "find" => {
            let at = rest.iter().position(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir"))?;
            let inside = rest.get(at + 1..)?;
            let end = inside.iter().position(|word| matches!(*word, ";" | "+")).unwrap_or(inside.len());
            &inside[..end]
        }
        _ => return None,
    })
}

/// Skips options, and the values of those that take one.
fn skipped<'a, 'w>(mut words: &'a [&'w str], with_value: &[&str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        words = match *first {
            "--" => return rest,
            option if with_value.contains(&option) => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') && option.len() > 1 => rest,
            _ => return words,
        };
    }
    words
}
