//! The state of the repository in one line: branch, work that is not committed or not pushed, the last session's commits.

use super::{Item, Known, Section, base};
use crate::clean::instruction::harmless;
use crate::clean::text;
use crate::language::tokens;
use crate::model::fact::Kind;
use crate::model::time::Timestamp;

/// More names say no more.
const FILES_MAX: usize = 3;
const COMMITS_MAX: usize = 3;
const SUBJECT_CHARS_MAX: usize = 100;

/// What git knows now.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    pub branch: Option<String>,
    /// Files that sessions edited and that differ from the last commit's index.
    pub changed: Vec<String>,
    pub pushed: Pushed,
}

/// How the branch compares with its remote one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pushed {
    /// There is no remote repository, or it was not asked.
    #[default]
    Unknown,
    /// The remote repository has no such branch.
    Never,
    Compared {
        ahead: usize,
        behind: usize,
    },
}

/// The line, if there is something to say. The commits are those of the session that committed last.
pub fn item(repository: &Repository, facts: &[Known], now: Timestamp) -> Option<Item> {
    let made = commits(facts);
    let mut parts: Vec<String> =
        repository.branch.iter().map(|branch| format!("on {}", harmless(branch, "a branch"))).collect();
    if !repository.changed.is_empty() {
        let names: Vec<_> =
            repository.changed.iter().take(FILES_MAX).map(|path| harmless(base(path), "a file")).collect();
        let more = repository.changed.len().saturating_sub(FILES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("not committed: {}{more}", names.join(", ")));
    }
    match repository.pushed {
        Pushed::Never => parts.push("branch not pushed".to_string()),
        Pushed::Compared { ahead, behind } => {
            let counted =
                |count: usize, what: &str| (count > 0).then(|| format!("{count} {} {what}", commits_word(count)));
            parts.extend(counted(ahead, "not pushed"));
            parts.extend(counted(behind, "not pulled"));
        }
        Pushed::Unknown => {}
    }
    let opened = opened(facts, &made);
    let is_plain = parts.len() <= 1 && made.is_empty() && opened.is_none();
    if is_plain {
        return None;
    }
    if !made.is_empty() {
        let subjects = made.iter().map(|known| text::line(&commit_words(known), SUBJECT_CHARS_MAX));
        parts.push(format!("committed: {}", subjects.collect::<Vec<_>>().join("; ")));
    }
    parts.extend(opened.map(|known| format!("opened: {}", known.fact.text)));
    let code = format!("{}{}", Kind::Git.prefix(), text::code(&parts.join("; ")));
    let last = made.last().copied().into_iter().chain(opened).max_by_key(|known| (known.at, known.event));
    Some(Item {
        section: Section::Git,
        kind: Kind::Git,
        tokens: tokens::line(&code),
        text: code.trim_start_matches(Kind::Git.prefix()).to_string(),
        code,
        path: None,
        session: last.map(|known| known.session.clone()),
        at: last.map_or(now, |known| known.at),
        times: 1,
        place: Some("the state of the repository".to_string()),
        reference: None,
    })
}

fn commits_word(count: usize) -> &'static str {
    if count == 1 { "commit" } else { "commits" }
}

/// The last commits of the session that committed last, oldest first.
fn commits(facts: &[Known]) -> Vec<&Known> {
    let all: Vec<&Known> = facts.iter().filter(|known| known.fact.kind == Kind::Commit).collect();
    let Some(last) = all.iter().max_by_key(|known| (known.at, known.event)) else { return Vec::new() };
    let mut made: Vec<&Known> = all.iter().copied().filter(|known| known.session == last.session).collect();
    made.dedup_by_key(|known| known.fact.code.clone());
    made.drain(..made.len().saturating_sub(COMMITS_MAX));
    made
}

/// The last pull request, unless it was opened before the session that committed last.
fn opened<'a>(facts: &'a [Known], made: &[&'a Known]) -> Option<&'a Known> {
    let last = facts.iter().filter(|known| known.fact.kind == Kind::PullRequest).max_by_key(|k| (k.at, k.event))?;
    let is_of_last = |commit: &&Known| commit.session == last.session || commit.at <= last.at;
    made.iter().all(is_of_last).then_some(last)
}

/// `1a2b3c4 store: open it once`.
fn commit_words(known: &Known) -> String {
    let hash = known.fact.code.trim_start_matches(Kind::Commit.prefix()).split(' ').next().unwrap_or_default();
    format!("{hash} {}", harmless(&known.fact.text, "a commit"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::git;
    use crate::model::id::SessionId;

    fn commit(session: &str, secs: i64, report: &str) -> Known {
        let fact = git::commits("git commit", report).pop().unwrap();
        Known { fact, session: SessionId::new(session), at: Timestamp::from_millis(secs * 1_000), event: secs }
    }

    fn line(repository: &Repository, facts: &[Known]) -> Option<String> {
        item(repository, facts, Timestamp::EPOCH).map(|item| item.code)
    }

    #[test]
    fn what_is_not_committed_or_pushed_is_told_and_what_was_committed_last() {
        let facts = [commit("a", 1, "[main 1111111] old work"), commit("b", 2, "[main 1a2b3c4] store: open it once")];
        let changed = ["src/a.rs", "src/b.rs", "c.rs", "d.rs"].map(str::to_string).to_vec();
        let pushed = Pushed::Compared { ahead: 1, behind: 2 };
        let repository = Repository { branch: Some("fix/x".to_string()), changed, pushed };
        assert_eq!(
            line(&repository, &facts).unwrap(),
            "git:on fix/x; not committed: a.rs, b.rs, c.rs and 1 more; 1 commit not pushed; 2 commits not pulled; \
             committed: 1a2b3c4 store: open it once"
        );
        let never = Repository { branch: Some("x".to_string()), pushed: Pushed::Never, ..Repository::default() };
        assert_eq!(line(&never, &[]).unwrap(), "git:on x; branch not pushed");
    }

    #[test]
    fn a_pull_request_is_told_until_later_sessions_commit() {
        let address = "https://github.com/o/r/pull/12";
        let fact = git::pull_requests("gh pr create", address).pop().unwrap();
        let opened = |session: &str, secs: i64| Known { fact: fact.clone(), ..commit(session, secs, "[x 1111111] x") };
        let repository = Repository { branch: Some("fix/x".to_string()), ..Repository::default() };
        let line = |facts: &[Known]| line(&repository, facts).unwrap();
        assert_eq!(line(&[opened("a", 1)]), format!("git:on fix/x; opened: {address}"));
        let made = |session: &str, secs: i64| commit(session, secs, "[x 1a2b3c4] store: open it once");
        let both = format!("git:on fix/x; committed: 1a2b3c4 store: open it once; opened: {address}");
        for facts in [[made("a", 1), opened("a", 2)], [made("a", 1), opened("b", 2)], [opened("a", 1), made("a", 2)]] {
            assert_eq!(line(&facts), both);
        }
        assert!(!line(&[opened("a", 1), made("b", 2)]).contains(address));
    }

    #[test]
    fn a_branch_alone_is_not_worth_a_line() {
        let branch = Repository { branch: Some("main".to_string()), ..Repository::default() };
        let in_step = Repository { pushed: Pushed::Compared { ahead: 0, behind: 0 }, ..branch.clone() };
        for repository in [Repository::default(), branch.clone(), in_step] {
            assert_eq!(line(&repository, &[]), None);
        }
        let made = [commit("a", 1, "[main 1111111] one")];
        assert_eq!(line(&branch, &made).unwrap(), "git:on main; committed: 1111111 one");
    }
}
