//! What would have been told with a session's first prompt, judged by what the session then edited.
//!
//! Some people's prompts say more about files than others'. Each ended session gives one [`Lesson`]; their sum decides
//! how much prompts count in the project ([`learned`](super::weights::learned)).

use cerberus_record::lesson::Lesson;
use cerberus_record::map::FastSet;

use super::order::{ScoredFile, order};
use super::weights::{FILES_MAX, PROMPT_DOUBLED};
use super::{Candidates, Commit, RankEvidence, RankedFile, Renames, Scoring, USUAL};

/// The files as they would have been ranked then. Nothing is known of what was on disk, so files that git no longer
/// tracked count as gone.
pub fn ranked(evidence: &RankEvidence) -> Vec<RankedFile> {
    let tracked: FastSet<&str> = evidence.tracked.iter().map(String::as_str).collect();
    let (mut sessions, mut commits) = (evidence.sessions.to_vec(), evidence.commits.to_vec());
    let renames = Renames::new(&commits, &tracked);
    renames.follow_work(&mut sessions);
    renames.follow_commits(&mut commits);
    let committed = |commit: &Commit| commit.files.iter().chain(&commit.deleted).cloned().collect::<Vec<_>>();
    let mut gone: FastSet<String> = commits.iter().flat_map(committed).collect();
    gone.retain(|path| !tracked.contains(path.as_str()));
    let evidence = RankEvidence { sessions: &sessions, commits: &commits, ..*evidence };
    Candidates::new(&evidence).ranked(&USUAL, &FastSet::default(), &gone)
}

/// What these files teach, given those that the session edited.
pub fn lesson(ranked: &[RankedFile], edited: &FastSet<String>) -> Lesson {
    let told = |by: &Scoring| {
        let scored: Vec<ScoredFile> = ranked.iter().map(|file| file.trace.scored(&by.weights)).collect();
        let told = order(&scored, by.hinted_max).into_iter().take(FILES_MAX);
        count(told.filter(|place| edited.contains(&ranked[*place].path)).count())
    };
    Lesson { edited: count(edited.len()), told: told(&USUAL), told_doubled: told(&PROMPT_DOUBLED) }
}

fn count(files: usize) -> u32 {
    u32::try_from(files).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use cerberus_record::id::SessionId;
    use cerberus_record::time::Timestamp;

    use super::super::{Feature, SessionWork, TouchedFile};
    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_millis(hour * 3_600_000)
    }

    fn worked(hour: i64, edited: &[String]) -> SessionWork {
        let touched = |path: &String| TouchedFile {
            path: path.clone(),
            edits: 1,
            reads: 0,
            last_at: at(hour),
            last_edit: Some(at(hour)),
            last_read: None,
        };
        let touched = edited.iter().map(touched).collect();
        SessionWork { session: SessionId::new("s"), touched, mentions: Vec::new(), prompts: Vec::new() }
    }

    fn busy() -> Vec<String> {
        (0..12).map(|number| format!("work/busy{number}.rs")).collect()
    }

    fn edited(paths: &[&str]) -> FastSet<String> {
        paths.iter().map(|path| path.to_string()).collect()
    }

    #[test]
    fn a_lesson_compares_what_would_have_been_told() {
        let sessions = [worked(9, &busy()), worked(8, &busy())];
        let tracked = [busy(), vec!["src/limiter_window.rs".to_string()]].concat();
        let learned = |prompt, files: &[&str]| {
            let evidence = RankEvidence {
                now: at(10),
                sessions: &sessions,
                commits: &[],
                tracked: &tracked,
                prompt: Some(prompt),
            };
            lesson(&ranked(&evidence), &edited(files))
        };
        let about = "Make the limiter stricter.";
        assert_eq!(learned(about, &["src/limiter_window.rs"]), Lesson { edited: 1, told: 0, told_doubled: 1 });
        assert_eq!(learned("Go on.", &["src/limiter_window.rs"]), Lesson { edited: 1, told: 0, told_doubled: 0 });
        // The last of ten gives way to the file that the prompt is about.
        let all = busy();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(learned(about, &all), Lesson { edited: 12, told: 10, told_doubled: 9 });
    }

    #[test]
    fn files_that_git_no_longer_tracked_would_not_have_been_told() {
        let commit = |hour, files: &[&str], renamed: &[(&str, &str)]| Commit {
            at: at(hour),
            files: files.iter().map(|path| path.to_string()).collect(),
            renamed: renamed.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect(),
            deleted: Vec::new(),
        };
        let commits = [commit(9, &["new.rs"], &[("old.rs", "new.rs")]), commit(8, &["old.rs", "gone.rs"], &[])];
        let sessions = [worked(8, &["old.rs".to_string(), "never_committed.rs".to_string()])];
        let tracked = ["new.rs".to_string()];
        let evidence =
            RankEvidence { now: at(10), sessions: &sessions, commits: &commits, tracked: &tracked, prompt: None };
        let found = ranked(&evidence);
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["new.rs", "never_committed.rs"]);
        assert!(found[0].trace.value(Feature::Committed) > 1.0, "its commits under the old name count");
    }
}
