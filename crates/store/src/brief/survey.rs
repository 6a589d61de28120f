//! Collects the other input for ranking: all sessions of a project, its commits, its files on disk.
//!
//! For its log, git is started only when another commit is checked out; otherwise its last output is in the view.

use std::cell::{LazyCell, RefCell};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_recall::brief::ledger::{BranchLedger, KnownBranch, MergeState};
use cerberus_recall::brief::rank::weights::learned;
use cerberus_recall::brief::rank::{
    Candidates, Commit, RankEvidence, RankedFile, Renames, Scoring, SessionWork, USUAL,
};
use cerberus_recall::brief::{KnownFact, Likely};
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;

use crate::brief::subject::View;
use crate::brief::{merged, state};
use crate::project::git;
use crate::project::git::references::References;
use crate::project::identity::Located;
use crate::project::tracked::{self, Stamp, TrackedFiles};
use crate::view::{self, Asks, CarriedFacts, SessionRow, Store};

/// How many of the last edited files are compared with git.
const COMPARED_MAX: usize = 200;

/// Files further down never appear in a brief.
const RANKED_MAX: usize = 500;

/// The result of a survey.
#[derive(Debug, Default)]
pub struct Survey {
    pub likely: Likely,
    pub tracked: Vec<String>,
    pub sessions: Vec<SessionWork>,
}

/// Ranks the project's files as of now, by what all its sessions did, and says what git knows of it. Facts get the
/// current names of their files.
pub fn survey(
    view: &View,
    history: Vec<SessionWork>,
    carried: &mut CarriedFacts,
    sessions: &[SessionRow],
    prompt: Option<&str>,
    is_past: bool,
) -> view::Result<Survey> {
    let log = printed_log(view.store, view.located)?;
    let by = match prompt {
        Some(_) => learned(view.store.gain_of_doubling(&view.joined.ids, view.now)?),
        None => &USUAL,
    };
    let ranking = ranking(view, &log, history, &mut carried.facts, sessions, prompt, RankedSet::All(by));
    let UnrankedSurvey { mut survey, commits, changed } = ranking;
    survey.likely.repository = match is_past {
        true => state::recorded(view, &survey.sessions, &survey.likely.gone, &commits, &changed, &carried.facts),
        false => state::asked(view, &survey.sessions, &log)?,
    };
    (survey.likely.ledger, survey.likely.unmerged) = branches(view, carried, sessions)?;
    view.store.free((commits, changed));
    Ok(survey)
}

/// Ranks the files whose names a prompt mentions. It does not wait for another program.
pub fn for_prompt(
    view: &View,
    history: Vec<SessionWork>,
    carried: &mut CarriedFacts,
    sessions: &[SessionRow],
    prompt: &str,
) -> view::Result<Survey> {
    let (_, log) = kept_log(view.store, view.located)?;
    let ranking = ranking(view, &log, history, &mut carried.facts, sessions, Some(prompt), RankedSet::Mentioned);
    view.store.free(ranking.commits);
    Ok(ranking.survey)
}

/// A survey that knows nothing of the repository yet, and what else it was made of.
struct UnrankedSurvey {
    survey: Survey,
    commits: Vec<Commit>,
    changed: FastSet<String>,
}

/// Which files are ranked.
#[derive(Clone, Copy)]
enum RankedSet<'a> {
    All(&'a Scoring),
    /// Those whose names the prompt mentions. Besides them, few files are looked up on disk.
    Mentioned,
}

/// The files, the likeliest first, and those that are gone.
fn ranking(
    view: &View,
    log: &str,
    mut history: Vec<SessionWork>,
    facts: &mut [KnownFact],
    sessions: &[SessionRow],
    prompt: Option<&str>,
    which: RankedSet,
) -> UnrankedSurvey {
    let tracked = view.located.git_dir.as_ref().map(|git_dir| tracked::read(git_dir)).unwrap_or_default();
    let mut commits = git::commits(log, view.now);
    let is_tracked: FastSet<&str> = tracked.paths.iter().map(String::as_str).collect();
    let renames = Renames::new(&commits, &is_tracked);
    renames.follow_facts(facts);
    renames.follow_work(&mut history);
    renames.follow_commits(&mut commits);
    let recent: FastSet<&SessionId> = sessions.iter().map(|session| &session.id).collect();
    let (recent, old): (Vec<&SessionWork>, Vec<&SessionWork>) =
        history.iter().partition(|worked| recent.contains(&worked.session));
    let disk = Disk { located: view.located, tracked: &is_tracked, looked_at: RefCell::default() };
    let evidence =
        RankEvidence { now: view.now, sessions: &history, commits: &commits, tracked: &tracked.paths, prompt };
    let mut candidates = Candidates::new(&evidence);
    let mut asked: FastSet<&str> = FastSet::default();
    let by = match which {
        RankedSet::All(by) => by,
        RankedSet::Mentioned => {
            candidates = candidates.mentioned();
            asked.extend(candidates.paths().chain(facts.iter().filter_map(|known| known.fact.path.as_deref())));
            &USUAL
        }
    };
    let is_asked = |path: &str| matches!(which, RankedSet::All(_)) || asked.contains(path);
    let gone = gone_files(&disk, &recent, &old, sessions, &commits, &is_asked);
    let changed = changed(&disk, &history, &tracked, &is_asked);
    let mut files = candidates.ranked(by, &changed, &gone);
    files.truncate(RANKED_MAX);
    files.retain(|ranked| !view.store.privacy_rules().is_private(&ranked.path));
    remove_deleted(&disk, &mut files);
    let likely = Likely { files, gone, ..Likely::default() };
    UnrankedSurvey { survey: Survey { likely, sessions: history, tracked: tracked.paths }, commits, changed }
}

/// Asks git now for what the next session start needs, so that the start need not wait.
pub fn ask_ahead(view: &View) -> view::Result<()> {
    let log = printed_log(view.store, view.located)?;
    if view.located.git_dir.is_none() {
        return Ok(());
    }
    let mut history = view.store.history(&view.joined.ids, Asks::Nothing, view.now)?;
    let tracked = view.located.git_dir.as_ref().map(|git_dir| tracked::paths(git_dir)).unwrap_or_default();
    let is_tracked: FastSet<&str> = tracked.iter().map(String::as_str).collect();
    Renames::new(&git::commits(&log, view.now), &is_tracked).follow_work(&mut history);
    state::asked(view, &history, &log).map(|_| ())
}

/// The commit for which git was last asked, and its log of recent commits then.
fn kept_log(store: &Store, located: &Located) -> view::Result<(String, String)> {
    Ok(store.git_log(&located.root.to_string_lossy())?.unwrap_or_default())
}

/// Git's log of recent commits: the cached one if the same commit is checked out, or if git does not answer.
pub(super) fn printed_log(store: &Store, located: &Located) -> view::Result<String> {
    let head = git::head(located);
    let (kept_head, kept) = kept_log(store, located)?;
    if head.as_ref() == Some(&kept_head) {
        return Ok(kept);
    }
    let Some(printed) = git::log(located) else { return Ok(kept) };
    let printed = git::without(store.cleaner(), &printed, |path| store.privacy_rules().is_private(path));
    if let Some(head) = head {
        store.cache_git_log(&located.root.to_string_lossy(), &head, &printed);
    }
    Ok(printed)
}

/// Where a file may be found: on disk, or in git's index.
struct Disk<'a> {
    located: &'a Located,
    tracked: &'a FastSet<&'a str>,
    /// What was asked before.
    looked_at: RefCell<FastMap<String, OnDisk>>,
}

/// What the file system has under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    Nothing,
    File(Stamp),
    Other,
}

impl Disk<'_> {
    /// What the file system says about a file, asked once.
    fn on_disk(&self, path: &str) -> OnDisk {
        let mut looked_at = self.looked_at.borrow_mut();
        if let Some(found) = looked_at.get(path) {
            return *found;
        }
        let found = match self.located.root.join(path).symlink_metadata() {
            Ok(found) => Stamp::of(&found).map_or(OnDisk::Other, OnDisk::File),
            Err(_) => OnDisk::Nothing,
        };
        looked_at.insert(path.to_string(), found);
        found
    }

    /// Whether the file is on disk, or left out of a sparse checkout.
    fn has(&self, path: &str) -> bool {
        let is_sparse = |git_dir: &PathBuf| git_dir.join("info/sparse-checkout").exists();
        self.on_disk(path) != OnDisk::Nothing
            || self.tracked.contains(path) && self.located.git_dir.as_ref().is_some_and(is_sparse)
    }
}

/// Files that sessions or commits mention and that no longer exist, of those that are asked about.
fn gone_files(
    disk: &Disk,
    recent: &[&SessionWork],
    old: &[&SessionWork],
    sessions: &[SessionRow],
    commits: &[Commit],
    is_asked: &dyn Fn(&str) -> bool,
) -> FastSet<String> {
    // If no file of a recent session is here, it worked somewhere else; its files are not counted as gone, unless they are
    // in another worktree.
    let is_in_worktree = |worked: &SessionWork| {
        let session = sessions.iter().find(|session| session.id == worked.session && session.device.is_none());
        let root = session.map(|session| Path::new(&session.root)).filter(|root| *root != disk.located.root);
        root.is_some_and(|root| worked.touched.iter().any(|touched| root.join(&touched.path).exists()))
    };
    let is_here = |worked: &SessionWork| worked.touched.iter().any(|touched| disk.has(&touched.path));
    let (found, elsewhere): (Vec<&SessionWork>, Vec<&SessionWork>) =
        recent.iter().partition(|worked| is_here(worked) || is_in_worktree(worked));
    let lately = touched(&found).filter(|path| is_asked(path) && !disk.has(path));
    // Checking every file that was ever touched would take longer than everything else. For older ones, git's index is
    // enough.
    let before = touched(old).filter(|path| is_asked(path) && !disk.tracked.contains(path) && !disk.has(path));
    let mut gone: FastSet<&str> = lately.chain(before).collect();
    if !disk.tracked.is_empty() {
        let is_touched: LazyCell<FastSet<&str>, _> = LazyCell::new(|| touched(recent).chain(touched(old)).collect());
        let committed = commits.iter().flat_map(|commit| commit.files.iter().chain(&commit.deleted));
        let untracked = committed.map(String::as_str).filter(|path| is_asked(path) && !disk.tracked.contains(path));
        gone.extend(untracked.filter(|path| !is_touched.contains(path) || !disk.has(path)));
    }
    touched(&elsewhere).for_each(|path| _ = gone.remove(path));
    gone.into_iter().map(str::to_string).collect()
}

/// So many files, the first ones, are looked up on disk, if git's index has them: they may have been deleted without it.
const LOOKED_UP_MAX: usize = 40;

fn remove_deleted(disk: &Disk, files: &mut Vec<RankedFile>) {
    let mut at = 0..;
    files.retain(|ranked| {
        at.next() >= Some(LOOKED_UP_MAX) || !disk.tracked.contains(ranked.path.as_str()) || disk.has(&ranked.path)
    });
}

/// Files that sessions edited and that differ from git's index, of those that are asked about: unfinished work, by
/// whichever session.
fn changed(
    disk: &Disk,
    history: &[SessionWork],
    tracked: &TrackedFiles,
    is_asked: &dyn Fn(&str) -> bool,
) -> FastSet<String> {
    let edited = history.iter().flat_map(|worked| &worked.touched).filter(|touched| touched.edits > 0);
    let mut wanted: FastSet<&str> = FastSet::default();
    for touched in edited {
        if wanted.len() == COMPARED_MAX {
            break;
        }
        wanted.insert(&touched.path);
    }
    wanted.retain(|path| is_asked(path));
    let indexed = tracked.paths.iter().enumerate().filter(|(_, path)| wanted.contains(path.as_str()));
    let is_changed = |(index, path): &(usize, &String)| match disk.on_disk(path) {
        OnDisk::File(stamp) => tracked.is_changed(*index, stamp),
        OnDisk::Nothing | OnDisk::Other => false,
    };
    indexed.filter(is_changed).map(|(_, path)| path.clone()).collect()
}

fn touched<'a>(worked: &[&'a SessionWork]) -> impl Iterator<Item = &'a str> {
    worked.iter().flat_map(|worked| &worked.touched).map(|touched| touched.path.as_str())
}

/// Those of these branches that have commits which are not in what is checked out. Git compares them only when one of
/// them or what is checked out moved.
fn unmerged(view: &View, references: &References, tips: &FastMap<&str, String>) -> view::Result<FastSet<String>> {
    if tips.is_empty() {
        return Ok(FastSet::default());
    }
    let key = format!("{}\0unmerged", view.located.root.to_string_lossy());
    let mut asked: Vec<String> = tips.iter().map(|(name, commit)| format!("{name} {commit}")).collect();
    asked.sort_unstable();
    let asked = format!("{}\n{}", references.head().unwrap_or_default(), asked.join("\n"));
    if let Some((_, kept)) = view.store.git_log(&key)?.filter(|(kept_asked, _)| *kept_asked == asked) {
        return Ok(kept.lines().map(str::to_string).collect());
    }
    let Some(found) = git::unmerged(view.located, |branch| tips.contains_key(branch)) else {
        return Ok(FastSet::default());
    };
    view.store.cache_git_log(&key, &asked, &found.join("\n"));
    Ok(found.into_iter().collect())
}

/// Older reports say nothing about now.
const REPORTS_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What tools reported about this project's branches, and the sessions that made decisions on a branch that is not
/// merged into what is checked out.
fn branches(
    view: &View,
    carried: &CarriedFacts,
    sessions: &[SessionRow],
) -> view::Result<(BranchLedger, HashMap<SessionId, String>)> {
    let here = view.located.branch();
    let reports = view.store.reports(&view.joined.ids, view.now.minus(REPORTS_AGE), view.now)?;
    let worked: FastSet<&SessionId> = carried.facts.iter().map(|known| &known.session).collect();
    let mut sessions: Vec<&SessionRow> = sessions.iter().filter(|session| worked.contains(&session.id)).collect();
    sessions.sort_by_key(|session| Reverse((session.last_activity, session.row)));
    let last = sessions.first().and_then(|session| session.branch.clone());
    let seen = sessions.iter().map(|session| (session.branch.as_deref(), session.last_activity));
    let seen = seen.chain(reports.iter().map(|report| (report.branch.as_deref(), report.at)));
    let mut others: Vec<(&str, Timestamp)> = Vec::new();
    for (branch, at) in seen.filter_map(|(branch, at)| Some((branch?, at))) {
        if Some(branch) != here.as_deref() && !others.iter().any(|(other, _)| *other == branch) {
            others.push((branch, at));
        }
    }
    let references = References::of(view.located);
    let tips = others.iter().filter_map(|(branch, _)| Some((*branch, references.branch(branch)?))).collect();
    let unmerged = unmerged(view, &references, &tips)?;
    let state = |branch: &str| match tips.contains_key(branch) {
        _ if unmerged.contains(branch) => MergeState::Unmerged,
        true => MergeState::Merged,
        false => MergeState::Missing,
    };
    let worktree = sessions
        .first()
        .filter(|session| session.device.is_none())
        .map(|session| Path::new(&session.root))
        .filter(|root| *root != view.located.root && root.join(".git").is_file());
    let branch = |(name, last_activity): (&str, Timestamp)| KnownBranch {
        name: name.to_string(),
        last_activity,
        state: state(name),
        remote: merged::remote(&references, name),
        folder: worktree.filter(|_| last.as_deref() == Some(name)).map(|root| root.to_string_lossy().into_owned()),
    };
    let branches = others.into_iter().map(branch).collect();
    let decisions = carried.facts.iter().filter(|known| known.fact.kind == FactKind::Decision);
    let deciding: FastSet<&SessionId> = decisions.map(|known| &known.session).collect();
    let of_one = sessions.iter().filter(|session| deciding.contains(&session.id));
    let of_one = of_one.filter_map(|session| Some((session.id.clone(), session.branch.clone()?)));
    let elsewhere = of_one.filter(|(_, branch)| unmerged.contains(branch)).collect();
    let remote_here = here.as_deref().map(|name| merged::remote(&references, name)).unwrap_or_default();
    let landed = merged::landed(view, &references, &reports)?;
    Ok((BranchLedger { here, remote_here, landed, last, branches, reports, checked: None }, elsewhere))
}
