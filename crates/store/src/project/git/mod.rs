//! What git says about a project's files: recent commits with their renames, and unmerged branches.
//!
//! Git runs with a time limit and is killed after it, so a huge, slow or broken repository causes no longer delay.
//! `command.rs` ensures that no program named by the repository is started. Without git, or outside a repository, there
//! are no results.

pub mod command;
pub mod references;

use std::time::Duration;

use cerberus_os::outside;
use cerberus_recall::brief::rank::Commit;
use cerberus_recall::brief::rank::weights::COMMITS_MAX;
use cerberus_record::clean::Cleaner;
use cerberus_record::time::Timestamp;

use self::command::{TIME_MAX, command, printed};
use self::references::{References, is_commit};
use crate::project::identity::Located;

const FILES_TIME_MAX: Duration = Duration::from_secs(30);

/// Finding the first commit means walking the whole history. In very large repositories it stays unknown.
const ROOT_TIME_MAX: Duration = Duration::from_secs(1);

/// Limit for each of the questions about a session that has ended. Nobody waits for the answers.
const PAST_TIME_MAX: Duration = Duration::from_secs(1);

/// Limit for the end of a reflog, and how many moves of HEAD a turn makes at most.
const REFLOG_BYTES_MAX: u64 = 16 * 1024;
const MOVES_MAX: usize = 50;

/// How far back a pull request is looked for that was merged.
const SUBJECTS_MAX: usize = 300;

/// Limit for the first line of a reflog.
const LOG_LINE_BYTES_MAX: u64 = 4 * 1024;

/// The commit that is checked out, read without git. `None` if the repository stores its references differently.
pub fn head(located: &Located) -> Option<String> {
    References::of(located).head()
}

/// The first commit of the current history, the smallest if there are several. Unknown for a shallow clone.
pub fn root_commit(located: &Located) -> Option<String> {
    if located.common_dir.as_ref()?.join("shallow").symlink_metadata().is_ok() {
        return None;
    }
    let mut command = command(&located.root);
    command.args(["rev-list", "--max-parents=0", "HEAD"]);
    let printed = printed(command, ROOT_TIME_MAX)?;
    printed.lines().filter(|line| is_commit(line)).min().map(str::to_string)
}

/// The initial commit of a repository that was created here, read from the reflog of HEAD without starting git. It may have
/// been amended since. Nothing for a clone, or if the beginning of the reflog has expired.
pub fn first_logged_commit(located: &Located) -> Option<String> {
    let log = outside::beginning(&located.common_dir.as_ref()?.join("logs/HEAD"), LOG_LINE_BYTES_MAX).ok()?;
    let log = String::from_utf8_lossy(&log);
    let (commits, what) = log.lines().next()?.split_once('\t')?;
    let mut commits = commits.split(' ');
    let (before, after) = (commits.next()?, commits.next()?);
    let is_first = before.bytes().all(|byte| byte == b'0') && what.starts_with("commit (initial)");
    Some(after.to_string()).filter(|name| is_first && is_commit(name))
}

/// Recent commits of what is checked out, as git prints them.
pub fn log(located: &Located) -> Option<String> {
    let count = COMMITS_MAX.to_string();
    let args = ["log", "-n", &count, "--format=%x01%ct %H", "--name-status", "-z", "-M", "--no-show-signature"];
    run(located, &[args.as_slice(), &["--no-ext-diff", "--no-textconv", "--no-color", "HEAD"]].concat())
}

/// The files of the commits that were made here within this time, as the reflog of HEAD tells. What came with a merge or
/// from another repository is not among them.
pub fn committed(located: &Located, from: Timestamp, until: Timestamp) -> Vec<String> {
    let log = moves(located);
    let (from, until) = (from.millis() / 1_000, until.millis() / 1_000);
    let is_made = |one: &HeadMove| is_commit_made(one.what) && (from..=until).contains(&one.secs);
    let made: Vec<&str> = head_moves(&log).take(MOVES_MAX).filter(is_made).map(|one| one.commit).collect();
    if made.is_empty() {
        return Vec::new();
    }
    let args = ["log", "--no-walk", "--format=", "--name-only", "-z", "--no-renames", "--no-show-signature"];
    let printed = run(located, &[args.as_slice(), &["--no-ext-diff", "--no-textconv", "--no-color"], &made].concat());
    let printed = printed.unwrap_or_default();
    let mut files: Vec<String> = printed.split(['\0', '\n']).map(str::to_string).collect();
    files.retain(|path| !path.is_empty());
    files.sort_unstable();
    files.dedup();
    files
}

/// Whether HEAD moved since then other than by a commit: `Some` with the branch that it left first, if that is known.
pub fn left_since(located: &Located, since: Timestamp) -> Option<Option<String>> {
    let log = moves(located);
    let is_later = |one: &HeadMove| one.secs > since.millis() / 1_000;
    let first = head_moves(&log).take_while(is_later).filter(|one| !is_commit_made(one.what)).last()?;
    let from = first.what.strip_prefix("checkout: moving from ").and_then(|words| words.split_once(" to "));
    Some(from.map(|(branch, _)| branch.to_string()))
}

/// The end of the reflog of HEAD.
fn moves(located: &Located) -> String {
    let log = located.git_dir.as_ref().map(|git_dir| git_dir.join("logs/HEAD"));
    let log = log.and_then(|log| outside::ending(&log, REFLOG_BYTES_MAX).ok()).unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}

struct HeadMove<'a> {
    commit: &'a str,
    secs: i64,
    what: &'a str,
}

/// Newest first.
fn head_moves(log: &str) -> impl Iterator<Item = HeadMove<'_>> {
    log.lines().rev().filter_map(|line| {
        let (moved, what) = line.split_once('\t')?;
        let (commit, secs) = (moved.split(' ').nth(1)?, moved.rsplit(' ').nth(1)?.parse().ok()?);
        is_commit(commit).then_some(HeadMove { commit, secs, what })
    })
}

fn is_commit_made(what: &str) -> bool {
    what.starts_with("commit") && !what.starts_with("commit (merge)")
}

/// When the last of these commits and of those before them were made, and their subjects, one per line.
pub fn subjects(located: &Located, tips: &[String]) -> Option<String> {
    let count = SUBJECTS_MAX.to_string();
    let args = ["log", "-n", &count, "--format=%ct %s", "--no-show-signature", "--no-color"];
    let tips: Vec<&str> = tips.iter().map(String::as_str).collect();
    run(located, &[args.as_slice(), &tips, &["--"]].concat())
}

/// The files that git tracked in what is checked out, as of its last commit before `at`. Empty if there was none.
pub fn tracked_at(located: &Located, at: Timestamp) -> Option<Vec<String>> {
    if located.git_dir.is_none() {
        return Some(Vec::new());
    }
    let before = format!("--before={}", at.millis().div_euclid(1_000));
    let commit = run_within(located, &["rev-list", "-n", "1", &before, "HEAD"], PAST_TIME_MAX)?;
    let commit = commit.trim();
    if !is_commit(commit) {
        return Some(Vec::new());
    }
    let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit];
    let printed = run_within(located, &args, PAST_TIME_MAX)?;
    Some(printed.split_terminator('\0').map(str::to_string).collect())
}

/// The commits in the output of `log`, newest first. Commits after `now` are ignored.
pub fn commits(printed: &str, now: Timestamp) -> Vec<Commit> {
    let commits = printed.split('\u{1}').filter_map(commit);
    commits.filter(|commit| commit.at <= now).collect()
}

/// The full names of the commits in the output of `log`.
pub fn names(printed: &str) -> Vec<String> {
    let heads = printed.split('\u{1}').filter_map(|commit| commit.split('\0').next()?.trim().split_once(' '));
    heads.map(|(_, name)| name.to_string()).filter(|name| is_commit(name)).collect()
}

/// The output of `log` without private files and without secrets in names.
pub fn without(cleaner: &Cleaner, printed: &str, is_private: impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(printed.len());
    for commit in printed.split('\u{1}').skip(1) {
        let mut fields = commit.split('\0').map(|field| field.trim_start_matches('\n'));
        let begin = kept.len();
        kept.push('\u{1}');
        kept.push_str(fields.next().unwrap_or_default());
        kept.push('\0');
        while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
            let names = if status.starts_with(['R', 'C']) { 2 } else { 1 };
            let paths: Vec<&str> = fields.by_ref().take(names).collect();
            if paths.len() < names {
                // The output ends in the middle of a commit.
                kept.truncate(begin);
                break;
            }
            if !paths.iter().any(|path| is_private(path)) {
                for field in std::iter::once(&status).chain(&paths) {
                    kept.push_str(&cleaner.redact(field));
                    kept.push('\0');
                }
            }
        }
    }
    kept
}

fn commit(printed: &str) -> Option<Commit> {
    let mut fields = printed.split('\0').map(|field| field.trim_start_matches('\n'));
    let secs: i64 = fields.next()?.split(' ').next()?.trim().parse().ok()?;
    let at = Timestamp::from_millis(secs.saturating_mul(1_000));
    let mut commit = Commit { at, files: Vec::new(), renamed: Vec::new(), deleted: Vec::new() };
    while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
        let path = fields.next()?.to_string();
        match status.as_bytes() {
            [b'R', ..] => {
                let new = fields.next()?.to_string();
                commit.files.push(new.clone());
                commit.renamed.push((path, new));
            }
            [b'C', ..] => commit.files.push(fields.next()?.to_string()),
            [b'D', ..] => commit.deleted.push(path),
            _ => commit.files.push(path),
        }
    }
    Some(commit)
}

/// The branch, and those of these files that differ from the last commit, as git prints it.
pub fn status(located: &Located, paths: &[&str]) -> Option<String> {
    located.git_dir.as_ref()?;
    let mut command = command::on_files(&located.root)?;
    command.args(["--literal-pathspecs", "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"]);
    command.args(["--no-renames", "--ignore-submodules=all", "--"]);
    // Without a path, git would look at every file. It has none in its own folder.
    command.args(if paths.is_empty() { &[".git"] } else { paths });
    printed(command, TIME_MAX)
}

/// The same for every file that differs from the last commit, tracked or not.
pub fn changed(located: &Located) -> Option<String> {
    located.git_dir.as_ref()?;
    let mut command = command::on_files(&located.root)?;
    command.args(["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]);
    command.arg("--ignore-submodules=all");
    printed(command, TIME_MAX)
}

/// What [`status`] printed.
#[derive(Debug, Default, PartialEq)]
pub struct GitStatus {
    /// The branch that this one is compared with, like `origin/main`. It may be gone.
    pub upstream: Option<String>,
    /// How many commits this branch and the other one have alone.
    pub apart: Option<(usize, usize)>,
    pub uncommitted: Vec<String>,
}

pub fn read_status(printed: &str) -> GitStatus {
    let mut status = GitStatus::default();
    for line in printed.split('\0') {
        let (sort, rest) = line.split_once(' ').unwrap_or_default();
        // How many fields are before the path.
        let fields = match sort {
            "?" => 0,
            "1" => 7,
            "u" => 9,
            "#" => {
                match rest.split_once(' ') {
                    Some(("branch.upstream", name)) => status.upstream = Some(name.to_string()),
                    Some(("branch.ab", counts)) => status.apart = apart(counts),
                    _ => {}
                }
                continue;
            }
            _ => continue,
        };
        status.uncommitted.extend(rest.splitn(fields + 1, ' ').nth(fields).map(str::to_string));
    }
    status
}

/// `+2 -1`.
fn apart(counts: &str) -> Option<(usize, usize)> {
    let (ahead, behind) = counts.split_once(' ')?;
    Some((ahead.strip_prefix('+')?.parse().ok()?, behind.strip_prefix('-')?.parse().ok()?))
}

/// How many commits each side of `one...other` has alone, as git prints it.
pub fn count_apart(located: &Located, both: &str) -> Option<String> {
    run(located, &["rev-list", "--count", "--left-right", both])
}

/// What [`count_apart`] printed.
pub fn counts(printed: &str) -> Option<(usize, usize)> {
    let (left, right) = printed.trim().split_once('\t')?;
    Some((left.parse().ok()?, right.parse().ok()?))
}

/// Those of these branches that have commits which are not in what is checked out. `None` if git does not answer.
pub fn unmerged(located: &Located, is_asked: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let printed = run(located, &["for-each-ref", "--no-merged=HEAD", "--format=%(refname)", "refs/heads"])?;
    let found = printed.lines().filter_map(|line| line.strip_prefix("refs/heads/"));
    Some(found.filter(|branch| is_asked(branch)).map(str::to_string).collect())
}

/// Every file that git tracks or would track, separated by NUL. No session waits for this.
pub fn files(located: &Located) -> Option<String> {
    let mut command = command::on_files(&located.root)?;
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    printed(command, FILES_TIME_MAX)
}

/// Runs git for history and references.
fn run(located: &Located, args: &[&str]) -> Option<String> {
    run_within(located, args, TIME_MAX)
}

fn run_within(located: &Located, args: &[&str], time_max: Duration) -> Option<String> {
    located.git_dir.as_ref()?;
    let mut command = command(&located.root);
    command.args(args);
    printed(command, time_max)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use cerberus_record::clean::BUILT_IN;

    use super::*;
    use crate::project::git::references::RemoteBranch;
    use crate::project::identity::locate;

    fn git(dir: &Path, args: &[&str]) {
        let run = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_COMMITTER_DATE", "2026-01-22T12:00:00Z")
            .output()
            .unwrap();
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }

    fn write(dir: &Path, path: &str, text: &str) {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), text).unwrap();
    }

    #[test]
    fn commits_with_their_renames_and_only_those_before_now() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        let located = locate(dir.path());
        assert_eq!((head(&located), log(&located)), (None, None), "nothing is committed yet");
        let long = "a line of text\n".repeat(20);
        write(dir.path(), "src/old name.rs", &long);
        write(dir.path(), "gone.rs", "x");
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qm", "one"]);
        git(dir.path(), &["mv", "src/old name.rs", "src/ümlaut.rs"]);
        git(dir.path(), &["rm", "-q", "gone.rs"]);
        git(dir.path(), &["commit", "-qm", "two"]);
        let printed = log(&located).unwrap();
        let at = Timestamp::parse("2026-01-22T12:00:00Z").unwrap();
        let found = commits(&printed, at);
        let owned = |list: &[&str]| list.iter().map(|path| path.to_string()).collect::<Vec<_>>();
        let renamed = vec![("src/old name.rs".to_string(), "src/ümlaut.rs".to_string())];
        let newest = Commit { at, files: owned(&["src/ümlaut.rs"]), renamed, deleted: owned(&["gone.rs"]) };
        let oldest = Commit { at, files: owned(&["gone.rs", "src/old name.rs"]), renamed: vec![], deleted: vec![] };
        assert_eq!(found, [newest, oldest]);
        assert_eq!(commits(&printed, at.minus(Duration::from_secs(1))), []);
        let name = head(&located).unwrap();
        git(dir.path(), &["pack-refs", "--all"]);
        assert_eq!(head(&located), Some(name));
    }

    #[test]
    fn a_status_has_the_files_that_differ_and_how_far_the_branch_is_apart() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        let located = locate(dir.path());
        let of = |paths: &[&str]| read_status(&status(&located, paths).unwrap());
        write(dir.path(), "a b.rs", "x");
        write(dir.path(), ".gitignore", "*.log\n");
        write(dir.path(), "out.log", "x");
        assert_eq!(of(&["a b.rs", "out.log", "none.rs"]).uncommitted, ["a b.rs"], "nothing is committed yet");
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qm", "one"]);
        assert_eq!(of(&["a b.rs", ".gitignore"]), GitStatus::default());
        write(dir.path(), "a b.rs", "xy");
        write(dir.path(), ".gitignore", "");
        assert_eq!(of(&["a b.rs"]).uncommitted, ["a b.rs"], "only what was asked about");
        assert_eq!(of(&[]).uncommitted, [""; 0]);
        git(dir.path(), &["update-ref", "refs/remotes/fork/x", "HEAD"]);
        git(dir.path(), &["commit", "-qam", "two"]);
        for (name, value) in [("remote.fork.url", "."), ("remote.fork.fetch", "+refs/heads/*:refs/remotes/fork/*")] {
            git(dir.path(), &["config", name, value]);
        }
        git(dir.path(), &["branch", "--set-upstream-to=fork/x"]);
        let found = of(&["a b.rs"]);
        assert_eq!((found.upstream.as_deref(), found.apart), (Some("fork/x"), Some((1, 0))));
        let references = References::of(&located);
        assert!(references.upstream("fork/x").is_some() && references.upstream("main").is_none());
        assert!(matches!(references.remote_branch("x"), RemoteBranch::At(_)));
        assert!(matches!(references.remote_branch("main"), RemoteBranch::Missing));
        assert_eq!(names(&log(&located).unwrap()).first(), head(&located).as_ref());
    }

    #[test]
    fn only_existing_branches_with_more_commits_are_unmerged() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        git(dir.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(dir.path(), &["branch", "merged"]);
        git(dir.path(), &["checkout", "-q", "-b", "side/open"]);
        git(dir.path(), &["commit", "-q", "--allow-empty", "-m", "y"]);
        git(dir.path(), &["checkout", "-q", "main"]);
        let located = locate(dir.path());
        assert_eq!(unmerged(&located, |branch| branch != "main").unwrap(), ["side/open"]);
        assert_eq!(unmerged(&located, |branch| branch == "merged").unwrap(), [""; 0]);
    }

    #[test]
    fn incomplete_output_of_git_is_handled() {
        let printed = "\u{1}1769083200\0\nM\0a.rs\0R100\0b.rs\0c.rs\0\u{1}x\0\u{1}1769083100\0\nR090\0only";
        let files: Vec<_> =
            commits(printed, Timestamp::from_millis(i64::MAX)).into_iter().map(|one| one.files).collect();
        assert_eq!(files, [["a.rs", "c.rs"]]);
        let names = |private: &str| -> Vec<Vec<String>> {
            let kept = without(&BUILT_IN, printed, |path| path == private);
            commits(&kept, Timestamp::from_millis(i64::MAX)).into_iter().map(|one| one.files).collect()
        };
        assert_eq!((names(""), names("a.rs")), (vec![vec!["a.rs".into(), "c.rs".into()]], vec![vec!["c.rs".into()]]));
        assert_eq!(names("b.rs"), [["a.rs"]], "neither is the new name");
    }
}
