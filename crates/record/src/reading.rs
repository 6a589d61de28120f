//! Whether a line only looks at something: it lists, prints, searches or compares. Every program that is not known to do
//! no more than that does something.

use crate::shell::{Simple, read, without_wrappers};

const READERS: &str = " [ ag awk basename bat cat cd cerberus cmp column comm cut date df diff dirname du echo egrep env fd \
    fgrep file find grep head jq less ls lsof man more nl od pgrep printenv printf ps pwd readlink realpath rg sed sleep \
    sort stat strings tail test tr tree true type uname uniq wc where whereis which whoami xxd ";
/// Sub-commands of git and gh.
const GIT_READERS: &str = " blame cat-file describe diff grep log ls-files ls-remote ls-tree merge-base name-rev reflog \
    rev-list rev-parse shortlog show show-ref status ";
/// Without a name they list.
const GIT_LISTS: &str = " branch remote tag worktree ";
const HUB_READERS: &str = " checks diff list status view ";
/// Options by which a reader writes or starts something.
const WRITING: [&str; 8] = ["-delete", "-exec", "-execdir", "-ok", "-okdir", "--in-place", "--exec", "--output"];

/// Whether every command of the line only reads. An empty line does nothing.
pub fn only_reads(line: &str) -> bool {
    read(line).simples.iter().filter(|simple| !simple.words.is_empty()).all(is_reader)
}

fn is_reader(simple: &Simple) -> bool {
    let texts = simple.texts();
    let words = without_wrappers(&texts);
    let Some((first, rest)) = words.split_first() else { return true };
    if simple.outputs.iter().any(|file| file.text != "/dev/null") {
        return false;
    }
    let is_in = |list: &str, word: &str| list.contains(&format!(" {word} "));
    let rest = if let ["-C" | "-c", _, rest @ ..] = rest { rest } else { rest };
    let mut plain = rest.iter().filter(|word| !word.starts_with('-')).copied();
    match first.rsplit('/').next().unwrap_or_default() {
        "git" => match plain.next() {
            Some("stash") => matches!(plain.next(), Some("list" | "show")),
            Some(sub) if is_in(GIT_LISTS, sub) => plain.next().is_none_or(|name| matches!(name, "list" | "show")),
            sub => sub.is_some_and(|sub| is_in(GIT_READERS, sub)),
        },
        "gh" | "glab" => plain.nth(1).is_some_and(|sub| is_in(HUB_READERS, sub)),
        "sed" if rest.iter().any(|word| word.starts_with("-i")) => false,
        program => is_in(READERS, program) && !rest.iter().any(|word| WRITING.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_is_told_apart_from_what_does_something() {
        for line in [
            "",
            "ls -la && cat README.md | head -20",
            "cd src && rg -n 'fn main' . 2>/dev/null",
            "git -P log --oneline | wc -l",
            "git -C ../other log",
            "git status; git diff HEAD~1; git branch -a; git stash list",
            "sed -n 10,20p src/a.rs",
            "find . -name '*.rs' | xargs grep -l x",
            "gh pr view 12",
        ] {
            assert!(only_reads(line), "{line}");
        }
        for line in [
            "psql -c 'select 1'",
            "kubectl rollout restart deploy/x",
            "npm install",
            "cargo build",
            "cat a > b",
            "echo x | tee b",
            "sed -i s/a/b/ src/a.rs",
            "find . -name '*.o' -delete",
            "git commit -m x",
            "git branch new",
            "git stash",
            "ls && make",
            "gh pr merge 12",
        ] {
            assert!(!only_reads(line), "{line}");
        }
    }
}
