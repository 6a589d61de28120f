//! What git says of the repository: branch, work that is not committed, commits that are not pushed. Git is started only
//! when something that it looks at has changed; otherwise its last answer is in the view.

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::{Component, Path};

use cerberus_recall::brief::KnownFact;
use cerberus_recall::brief::rank::{Commit, SessionWork};
use cerberus_recall::brief::repository::{self, GitFacts, PushState, REMOVED};
use cerberus_record::id::fnv1a;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;

use crate::brief::subject::View;
use crate::project::git::references::{References, RemoteBranch};
use crate::project::git::{self, GitStatus};
use crate::project::identity::Located;
use crate::project::tracked::Stamp;
use crate::view;

/// How many of the last edited files git is asked about. It compares each with every file that it tracks.
const ASKED_ABOUT_MAX: usize = 50;

/// What git says now. If it does not answer, nothing.
pub(super) fn asked(view: &View, sessions: &[SessionWork], log: &str) -> view::Result<GitFacts> {
    let edited = edited(view, sessions);
    let Some(status) = status(view, &edited)? else { return Ok(GitFacts::silent()) };
    let differs: FastSet<&str> = status.uncommitted.iter().map(String::as_str).collect();
    let is_removed = |path: &str| view.located.root.join(path).symlink_metadata().is_err();
    let named = |path: &&str| if is_removed(path) { format!("{path}{REMOVED}") } else { path.to_string() };
    let uncommitted = edited.iter().filter(|path| differs.contains(*path)).map(named).collect();
    let branch = view.located.branch();
    let pushed = match (&branch, &status) {
        (None, _) => PushState::Unknown,
        (_, GitStatus { apart: Some((ahead, behind)), upstream: Some(upstream), .. })
            if References::of(view.located).upstream(upstream).is_some() =>
        {
            PushState::Compared { ahead: *ahead, behind: *behind }
        }
        // What it is compared with is gone, or is a local branch.
        (_, GitStatus { upstream: Some(_), .. }) => PushState::Unknown,
        (Some(branch), _) => pushed(view, branch)?,
    };
    let history = Some(git::names(log)).filter(|names| !names.is_empty());
    let detached = if branch.is_none() { git::head(view.located) } else { None };
    Ok(GitFacts { branch, detached, unfinished: unfinished(view.located), uncommitted, pushed, history })
}

/// What git keeps in its folder while it is not finished with something.
const UNFINISHED: [(&str, &str); 7] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply/applying", "git am"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

fn unfinished(located: &Located) -> Option<&'static str> {
    let git_dir = located.git_dir.as_ref()?;
    UNFINISHED.iter().find(|(name, _)| git_dir.join(name).exists()).map(|(_, what)| *what)
}

/// What was true at a moment in the past, as far as records tell. The files on disk are not those of then.
pub(super) fn recorded(
    view: &View,
    sessions: &[SessionWork],
    gone: &FastSet<String>,
    commits: &[Commit],
    changed: &FastSet<String>,
    facts: &[KnownFact],
) -> GitFacts {
    let mut uncommitted = repository::left_uncommitted(sessions, commits, facts);
    uncommitted.retain(|path| !changed.contains(path) && !gone.contains(path));
    let mut changed: Vec<String> = changed.iter().cloned().collect();
    changed.sort_unstable();
    uncommitted.extend(changed);
    // Git's own folder may hold worktrees; nothing in it is committed from here.
    uncommitted.retain(|path| !path.starts_with(".git/") && !view.store.privacy_rules().is_private(path));
    GitFacts { branch: view.located.branch(), uncommitted, ..GitFacts::default() }
}

/// The files that sessions edited, the last edited first.
fn edited<'a>(view: &View, sessions: &'a [SessionWork]) -> Vec<&'a str> {
    let mut last: FastMap<&str, Timestamp> = FastMap::default();
    for touched in sessions.iter().flat_map(|worked| &worked.touched) {
        let Some(at) = touched.last_edit else { continue };
        last.entry(&touched.path).and_modify(|last| *last = at.max(*last)).or_insert(at);
    }
    let is_inside = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let mut edited: Vec<(&str, Timestamp)> = last.into_iter().filter(|(path, _)| is_inside(path)).collect();
    edited.sort_unstable_by_key(|(path, at)| (Reverse(*at), *path));
    let edited = edited.into_iter().map(|(path, _)| path);
    edited.filter(|path| !view.store.privacy_rules().is_private(path)).take(ASKED_ABOUT_MAX).collect()
}

/// Git's answer: the last one if nothing changed since.
fn status(view: &View, paths: &[&str]) -> view::Result<Option<GitStatus>> {
    let key = format!("{}\0status", view.located.root.to_string_lossy());
    if let Some((looked_at, kept)) = view.store.git_log(&key)? {
        let kept = git::read_status(&kept);
        if looks(view.located, paths, kept.upstream.as_deref()).is_some_and(|looks| looks == looked_at) {
            return Ok(Some(kept));
        }
    }
    // What is written while git looks must count as a change.
    let before = looks(view.located, paths, None);
    let Some(printed) = git::status(view.located, paths) else { return Ok(None) };
    let status = git::read_status(&printed);
    if before.is_some()
        && before == looks(view.located, paths, None)
        && let Some(looks) = looks(view.located, paths, status.upstream.as_deref())
    {
        view.store.cache_git_log(&key, &looks, &printed);
    }
    Ok(Some(status))
}

/// Everything that git's answer about these files depends on, as one number. `None` if it cannot be seen.
fn looks(located: &Located, paths: &[&str], upstream: Option<&str>) -> Option<String> {
    let (git_dir, common_dir) = (located.git_dir.as_ref()?, located.common_dir.as_ref()?);
    let references = References::of(located);
    let mut seen = format!("{} {:?}", references.head()?, located.branch());
    if let Some(upstream) = upstream {
        let _ = write!(seen, " {upstream} {:?}", references.upstream(upstream));
    }
    let mut look = |path: &Path| {
        let stamp = path.symlink_metadata().ok().map(|found| (Stamp::of(&found), found.is_dir()));
        let _ = write!(seen, "\0{stamp:?}");
    };
    [git_dir.join("index"), common_dir.join("config"), common_dir.join("info/exclude")].iter().for_each(|at| look(at));
    let mut folders: FastSet<&Path> = FastSet::default();
    for path in paths {
        look(&located.root.join(path));
        for folder in Path::new(path).ancestors().skip(1) {
            if folders.insert(folder) {
                look(&located.root.join(folder).join(".gitignore"));
            }
        }
    }
    for path in paths {
        let _ = write!(seen, "\0{path}");
    }
    Some(format!("{:016x}", fnv1a(seen.as_bytes())))
}

/// How a branch compares with the remote one of the same name, if it is not set which one it belongs to. Git counts the
/// commits only when one of them moved.
fn pushed(view: &View, branch: &str) -> view::Result<PushState> {
    let references = References::of(view.located);
    let Some(head) = references.head() else { return Ok(PushState::Unknown) };
    let remote = match references.remote_branch(branch) {
        RemoteBranch::NoRemote => return Ok(PushState::Unknown),
        RemoteBranch::Missing => return Ok(PushState::Never),
        RemoteBranch::At(commit) if commit == head => return Ok(PushState::Compared { ahead: 0, behind: 0 }),
        RemoteBranch::At(commit) => commit,
    };
    let key = format!("{}\0{branch}", view.located.root.to_string_lossy());
    let both = format!("{remote}...{head}");
    let kept = view.store.git_log(&key)?.filter(|(kept_both, _)| *kept_both == both).map(|(_, printed)| printed);
    let is_kept = kept.is_some();
    let printed = kept.or_else(|| git::count_apart(view.located, &both));
    let Some((behind, ahead)) = printed.as_deref().and_then(git::counts) else { return Ok(PushState::Unknown) };
    if !is_kept {
        view.store.cache_git_log(&key, &both, printed.as_deref().unwrap_or_default());
    }
    Ok(PushState::Compared { ahead, behind })
}
