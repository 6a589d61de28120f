//! The state of the repository in one line: branch, work that is not committed or not pushed, the last session's commits.

use std::cmp::Reverse;

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text;
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::map::FastSet;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use super::rank::{Commit, SessionWork};
use super::{BriefLine, KnownFact, LastWork, Section};

/// More names say no more.
const FILES_MAX: usize = 6;
const COMMITS_MAX: usize = 3;
const SUBJECT_CHARS_MAX: usize = 80;
/// Of the name of a commit.
const COMMIT_CHARS: usize = 7;

/// What the name of a file ends in that is not committed because it is gone.
pub const REMOVED: &str = " (removed)";

/// What git knows.
#[derive(Clone, Debug, Default)]
pub struct GitFacts {
    pub branch: Option<String>,
    /// The commit that is checked out without a branch.
    pub detached: Option<String>,
    /// What git was not finished with, such as `a merge`.
    pub unfinished: Option<&'static str>,
    /// Files that sessions edited and that differ from the last commit, the last edited first.
    pub uncommitted: Vec<String>,
    pub pushed: PushState,
    /// The last commits of what is checked out, by their full names. `None` if they are not known.
    pub history: Option<Vec<String>>,
}

impl GitFacts {
    /// Git was asked and did not answer: nothing is said that it would have to confirm.
    pub fn silent() -> GitFacts {
        GitFacts { history: Some(Vec::new()), ..GitFacts::default() }
    }

    /// A commit may have been reset, amended or made on another branch.
    fn has(&self, commit: &KnownFact) -> bool {
        let name = commit_name(commit);
        self.history.as_ref().is_none_or(|history| history.iter().any(|full| full.starts_with(name)))
    }
}

/// The files that the last sessions at work edited and nobody committed since, the last edited of the last session
/// first, as far as records tell: for a moment of which git cannot be asked.
pub fn left_uncommitted(sessions: &[SessionWork], commits: &[Commit], facts: &[KnownFact]) -> Vec<String> {
    let at_work = sessions.iter().filter(|worked| worked.touched.iter().any(|touched| touched.edits > 0));
    let mut seen: FastSet<String> = FastSet::default();
    let left = at_work.take(SESSIONS_MAX).flat_map(|worked| left_by(worked, commits, facts));
    left.filter(|path| seen.insert(path.clone())).collect()
}

/// What one session left. It may have committed on another branch: a commit of its own that is not among `commits`
/// counts as one of all files.
fn left_by(worked: &SessionWork, commits: &[Commit], facts: &[KnownFact]) -> Vec<String> {
    let is_listed =
        |at: Timestamp| commits.iter().any(|commit| (commit.at.millis() - at.millis()).abs() <= SAME_COMMIT_MILLIS);
    let elsewhere = facts.iter().filter(|known| known.fact.kind == FactKind::Commit && known.session == worked.session);
    let elsewhere = elsewhere.map(|known| known.at).filter(|at| !is_listed(*at)).max();
    // What was edited before the oldest commit that is known may have been committed.
    let oldest = commits.last().map(|commit| commit.at);
    let is_committed = |path: &str, edited: Timestamp| {
        oldest.is_none_or(|oldest| edited < oldest)
            || elsewhere.is_some_and(|at| at >= edited)
            || commits.iter().any(|commit| commit.at >= edited && commit.files.iter().any(|file| file == path))
    };
    let mut left: Vec<(Timestamp, &str)> = worked
        .touched
        .iter()
        .filter_map(|touched| Some((touched.last_edit?, touched.path.as_str())))
        .filter(|(edited, path)| !is_committed(path, *edited))
        .collect();
    left.sort_by_key(|(edited, path)| (Reverse(*edited), *path));
    left.into_iter().map(|(_, path)| path.to_string()).collect()
}

/// So many sessions at work are looked at.
const SESSIONS_MAX: usize = 6;

/// A commit that a session made and one that git lists at about the same time are the same.
const SAME_COMMIT_MILLIS: i64 = 120_000;

/// How the branch compares with its remote one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PushState {
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

/// The line, if there is something to say. The commits are those of the session that committed last, unless another
/// one of those that `worked` changed something since.
pub fn item(repository: &GitFacts, facts: &[KnownFact], worked: &[LastWork], now: Timestamp) -> Option<BriefLine> {
    let made = commits(repository, facts, worked);
    let mut parts: Vec<String> =
        repository.branch.iter().map(|branch| format!("on {}", harmless(branch, "a branch"))).collect();
    let commit = repository.detached.as_deref().and_then(|commit| commit.get(..COMMIT_CHARS));
    parts.extend(commit.map(|commit| format!("on no branch, at {commit}")));
    let branch_parts = repository.branch.iter().count();
    parts.extend(repository.unfinished.map(|what| format!("in the middle of {what}")));
    if !repository.uncommitted.is_empty() {
        parts.push(format!("not committed: {}", names(&repository.uncommitted)));
    }
    match repository.pushed {
        PushState::Never => parts.push("branch not pushed".to_string()),
        PushState::Compared { ahead, behind } => {
            let counted =
                |count: usize, what: &str| (count > 0).then(|| format!("{count} {} {what}", commits_word(count)));
            parts.extend(counted(ahead, "not pushed"));
            parts.extend(counted(behind, "not pulled"));
        }
        PushState::Unknown => {}
    }
    let is_plain = parts.len() <= branch_parts && made.is_empty();
    if is_plain {
        return None;
    }
    if !made.is_empty() {
        let subjects = made.iter().map(|known| subject(&commit_words(known)));
        parts.push(format!("committed: {}", subjects.collect::<Vec<_>>().join("; ")));
    }
    let last = made.last().map(|known| (&known.session, known.at));
    Some(git_item(&parts, last, "the state of the repository", now))
}

/// The subject of a commit; what is left out of a long one shows.
fn subject(words: &str) -> String {
    match text::excerpt(words, SUBJECT_CHARS_MAX) {
        Some(whole) => text::phrase(&whole, SUBJECT_CHARS_MAX),
        None => format!("{}…", text::phrase(words, SUBJECT_CHARS_MAX)),
    }
}

/// A line of these parts. `last` is the newest session and time that it is from, if it is not only from git.
pub(super) fn git_item(
    parts: &[String],
    last: Option<(&SessionId, Timestamp)>,
    place: &str,
    now: Timestamp,
) -> BriefLine {
    let code = format!("{}{}", FactKind::Git.prefix(), text::code(&parts.join("; ")));
    BriefLine {
        section: Section::Git,
        kind: FactKind::Git,
        tokens: tokens::line(&code),
        text: code.trim_start_matches(FactKind::Git.prefix()).to_string(),
        code,
        path: None,
        session: last.map(|(session, _)| session.clone()),
        at: last.map_or(now, |(_, at)| at),
        times: 1,
        place: Some(place.to_string()),
        reference: None,
        author: None,
    }
}

/// `src/{a.rs, b/c.rs}, d.rs and 2 more`: a folder that several in a row are in is told once.
pub(crate) fn names(paths: &[String]) -> String {
    let told = &paths[..paths.len().min(FILES_MAX)];
    let top = |path: &String| path.split_once('/').map(|(folder, _)| folder.to_string());
    let groups = told.chunk_by(|a, b| top(a).is_some() && top(a) == top(b));
    let names: Vec<String> = groups.map(grouped).collect();
    let more = paths.len() - told.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Files below one folder, which is told once.
fn grouped(paths: &[String]) -> String {
    let [first, rest @ ..] = paths else { return String::new() };
    let common = rest.iter().fold(first.as_str(), |common, path| {
        let same = common.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        &common[..common.as_bytes()[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)]
    });
    if rest.is_empty() {
        return harmless(first, "a file").into_owned();
    }
    let names: Vec<_> = paths.iter().map(|path| harmless(&path[common.len()..], "a file")).collect();
    format!("{}{{{}}}", harmless(common, "a folder"), names.join(", "))
}

fn commits_word(count: usize) -> &'static str {
    if count == 1 { "commit" } else { "commits" }
}

/// The last commits of the session that committed last, oldest first.
fn commits<'a>(repository: &GitFacts, facts: &'a [KnownFact], worked: &[LastWork]) -> Vec<&'a KnownFact> {
    let commits = facts.iter().filter(|known| known.fact.kind == FactKind::Commit);
    let all: Vec<&KnownFact> = commits.filter(|known| repository.has(known)).collect();
    let Some(last) = all.iter().max_by_key(|known| (known.at, known.event)) else { return Vec::new() };
    if worked.iter().any(|worked| worked.session != last.session && worked.at > last.at) {
        return Vec::new();
    }
    let mut made: Vec<&KnownFact> = all.iter().copied().filter(|known| known.session == last.session).collect();
    made.dedup_by_key(|known| known.fact.code.clone());
    made.drain(..made.len().saturating_sub(COMMITS_MAX));
    made
}

/// `1a2b3c4 store: open it once`.
fn commit_words(known: &KnownFact) -> String {
    format!("{} {}", commit_name(known), harmless(&known.fact.text, "a commit"))
}

fn commit_name(known: &KnownFact) -> &str {
    known.fact.code.trim_start_matches(FactKind::Commit.prefix()).split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::slice;

    use cerberus_record::git_report;

    use super::*;
    use crate::brief::rank::TouchedFile;

    fn commit(session: &str, secs: i64, report: &str) -> KnownFact {
        let fact = git_report::commits("git commit", report).pop().unwrap();
        KnownFact { fact, session: SessionId::new(session), at: Timestamp::from_millis(secs * 1_000), event: secs }
    }

    fn line(repository: &GitFacts, facts: &[KnownFact]) -> Option<String> {
        item(repository, facts, &[], Timestamp::EPOCH).map(|item| item.code)
    }

    #[test]
    fn what_is_not_committed_or_pushed_is_told_and_what_was_committed_last() {
        let facts = [commit("a", 1, "[main 1111111] old work"), commit("b", 2, "[main 1a2b3c4] store: open it once")];
        let uncommitted =
            ["src/a.rs", "src/b/c.rs", "src/d.rs", "src/e.rs", "src/f.rs", "g.rs", "h.rs"].map(str::to_string).to_vec();
        let pushed = PushState::Compared { ahead: 1, behind: 2 };
        let repository = GitFacts { branch: Some("fix/x".to_string()), uncommitted, pushed, ..GitFacts::default() };
        assert_eq!(
            line(&repository, &facts).unwrap(),
            "git:on fix/x; not committed: src/{a.rs, b/c.rs, d.rs, e.rs, f.rs}, g.rs and 1 more; 1 commit not pushed; 2 commits not pulled; \
             committed: 1a2b3c4 store: open it once"
        );
        let never = GitFacts { branch: Some("x".to_string()), pushed: PushState::Never, ..GitFacts::default() };
        assert_eq!(line(&never, &[]).unwrap(), "git:on x; branch not pushed");
    }

    #[test]
    fn commits_are_not_told_once_a_later_session_worked() {
        let facts = [commit("a", 1, "[main 1111111] one")];
        let repository = GitFacts { branch: Some("main".to_string()), ..GitFacts::default() };
        let told = |session: &str, secs: i64| {
            let worked = LastWork { session: SessionId::new(session), at: Timestamp::from_millis(secs * 1_000) };
            item(&repository, &facts, &[worked], Timestamp::EPOCH).is_some()
        };
        assert!(told("a", 2) && told("b", 0));
        assert!(!told("b", 2));
    }

    #[test]
    fn a_commit_that_is_not_in_what_is_checked_out_is_not_told() {
        let facts = [commit("a", 1, "[main 1111111] one"), commit("a", 2, "[main 2222222] two")];
        let told = |full: &[&str]| {
            let history = Some(full.iter().map(|name| name.to_string()).collect());
            line(&GitFacts { branch: Some("main".to_string()), history, ..GitFacts::default() }, &facts)
        };
        assert_eq!(told(&["1111111abc", "0"]).unwrap(), "git:on main; committed: 1111111 one");
        assert_eq!(told(&["3333333abc"]), None);
        assert_eq!(line(&GitFacts::silent(), &facts), None);
    }

    fn edited(session: &str, files: &[(&str, i64)]) -> SessionWork {
        let touched = files.iter().map(|(path, secs)| {
            let at = Timestamp::from_millis(secs * 1_000);
            let path = path.to_string();
            TouchedFile { path, edits: 1, reads: 0, last_at: at, last_edit: Some(at), last_read: None }
        });
        let session = SessionId::new(session);
        SessionWork { session, touched: touched.collect(), mentions: Vec::new(), prompts: Vec::new() }
    }

    fn listed(secs: i64, files: &[&str]) -> Commit {
        let files = files.iter().map(|path| path.to_string()).collect();
        Commit { at: Timestamp::from_millis(secs * 1_000), files, renamed: Vec::new(), deleted: Vec::new() }
    }

    #[test]
    fn what_sessions_edited_and_nobody_committed_since_was_left() {
        let read_only = SessionWork { touched: Vec::new(), ..edited("c", &[]) };
        let last = edited("b", &[("a.rs", 1_000), ("b.rs", 2_000), ("c.rs", 3_000)]);
        let sessions = [read_only, last, edited("a", &[("old.rs", 900)])];
        let before = listed(500, &["a.rs", "b.rs", "c.rs"]);
        let left = |commits: &[Commit], facts: &[KnownFact]| left_uncommitted(&sessions, commits, facts);
        assert_eq!(left(slice::from_ref(&before), &[]), ["c.rs", "b.rs", "a.rs", "old.rs"]);
        assert_eq!(left(&[listed(2_500, &["b.rs", "c.rs"]), before.clone()], &[]), ["c.rs", "a.rs", "old.rs"]);
        // A commit that git does not list here was made elsewhere, of files that nobody knows.
        let own = |secs: i64| [commit("b", secs, "[fix 1111111] one")];
        assert_eq!(left(slice::from_ref(&before), &own(2_500)), ["c.rs", "old.rs"]);
        assert_eq!(left(&[listed(2_500, &["b.rs"]), before.clone()], &own(2_510)), ["c.rs", "a.rs", "old.rs"]);
        // What happened before the oldest commit is not known.
        assert_eq!(left(&[listed(1_500, &["x.rs"])], &[]), ["c.rs", "b.rs"]);
        assert_eq!(left(&[], &[]), [""; 0]);
    }

    #[test]
    fn a_branch_alone_is_not_worth_a_line() {
        let branch = GitFacts { branch: Some("main".to_string()), ..GitFacts::default() };
        let in_step = GitFacts { pushed: PushState::Compared { ahead: 0, behind: 0 }, ..branch.clone() };
        for repository in [GitFacts::default(), branch.clone(), in_step] {
            assert_eq!(line(&repository, &[]), None);
        }
        let made = [commit("a", 1, "[main 1111111] one")];
        assert_eq!(line(&branch, &made).unwrap(), "git:on main; committed: 1111111 one");
    }
}
