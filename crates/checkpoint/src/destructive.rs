//! Which commands may destroy what nobody has committed.
//!
//! By the names of programs alone: whether a file is really lost does not matter, because keeping the files once more costs
//! little.

use cerberus_record::shell::{CommandLevel, commands, without_wrappers};

/// Programs that remove files, or replace what is in them.
const PROGRAMS: [&str; 8] = ["rm", "unlink", "shred", "truncate", "dd", "mv", "rsync", "rmdir"];

/// What git does to files that are not committed.
const OF_GIT: [&str; 11] =
    ["checkout", "reset", "clean", "stash", "rebase", "restore", "switch", "rm", "merge", "pull", "read-tree"];

/// Options of git, before the command, that are followed by a value.
const WITH_VALUE: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// The first command of a line that may destroy something, in two words at most.
pub fn destructive(line: &str) -> Option<String> {
    let here = commands(line).into_iter().filter(|command| command.level != CommandLevel::Remote);
    here.into_iter().find_map(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let words = without_wrappers(&words);
        let (program, arguments) = words.split_first()?;
        let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
        match program {
            "git" => of_git(arguments).map(|command| format!("git {command}")),
            "find" if arguments.iter().any(|word| *word == "-delete" || PROGRAMS.contains(word)) => {
                Some(program.to_string())
            }
            _ => PROGRAMS.contains(&program).then(|| program.to_string()),
        }
    })
}

fn of_git<'w>(mut words: &[&'w str]) -> Option<&'w str> {
    while let [first, rest @ ..] = words {
        words = match *first {
            option if WITH_VALUE.contains(&option) => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest,
            command => return OF_GIT.contains(&command).then_some(command),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_destroy_are_recognised() {
        for (line, expected) in [
            ("git checkout .", Some("git checkout")),
            ("cd x && git -C ../y -c a=b reset --hard", Some("git reset")),
            ("sudo /bin/rm -rf src", Some("rm")),
            ("bash -c 'rm -rf src'", Some("rm")),
            ("echo $(git stash drop)", Some("git stash")),
            ("git clean -fdx; ls", Some("git clean")),
            ("GIT_EDITOR=true git rebase -i HEAD~3", Some("git rebase")),
            ("find . -name '*.rs' -delete", Some("find")),
            ("ls | xargs rm", Some("rm")),
            ("find . -name x", None),
            ("git status && git log", None),
            ("git --no-pager diff", None),
            ("cargo test", None),
            ("ssh host 'rm -rf /'", None),
            ("echo rm -rf src", None),
            ("", None),
        ] {
            assert_eq!(destructive(line).as_deref(), expected, "{line}");
        }
    }
}
