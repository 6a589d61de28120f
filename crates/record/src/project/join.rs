//! Decides which projects are the same, from what is known about their repositories and from the user's answers.
//!
//! The result is a partition into groups. The user's last answer about a pair always holds. After that, evidence from the
//! repositories joins groups, unless that would join two projects that the user keeps apart. Ambiguous pairs are never
//! joined; the user is asked about them. A name in `.cerberus-project` never joins projects: otherwise a repository could
//! claim another project's memories by committing its name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use crate::id::ProjectId;

/// What is known about a project's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProject {
    pub project: ProjectId,
    /// The git directory shared by all worktrees, or the folder itself.
    pub folder: String,
    /// Whether the folder exists now.
    pub is_there: bool,
    /// Normalised by [`crate::project::origin`]; a local origin is an absolute path.
    pub origin: Option<String>,
    pub root_commit: Option<String>,
    /// The content of its `.cerberus-project`.
    pub name: Option<String>,
}

/// The user's answer about two projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinAnswer {
    pub one: ProjectId,
    pub other: ProjectId,
    pub is_same: bool,
    /// Nobody said it: one was recognised as a worktree of the other that is gone. Weighs as evidence does.
    pub is_found: bool,
}

words! {
    /// Why two projects are joined, strongest reason first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Reason {
        /// The user said so.
        User = "user",
        SameOrigin = "same_origin",
        /// One was cloned from the folder of the other.
        ClonedFrom = "cloned_from",
        /// They have the same first commit, and only one of them has an origin.
        SameRootCommit = "same_root_commit",
        /// They have the same first commit and no origin, and one of the folders no longer exists.
        Moved = "moved",
        /// One was a worktree of the other, and is gone.
        Worktree = "worktree",
    }
}

impl Reason {
    pub fn words(self) -> &'static str {
        match self {
            Reason::User => "you joined them",
            Reason::SameOrigin => "same origin",
            Reason::ClonedFrom => "one is a clone of the other",
            Reason::SameRootCommit => "same first commit",
            Reason::Moved => "the folder was moved",
            Reason::Worktree => "a worktree of it, by its name, branch and files",
        }
    }
}

/// The result of comparing two repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinVerdict {
    Same(Reason),
    MayBeSame,
    Different,
}

/// Compares two repositories. The result does not depend on their order.
pub fn compare(a: &KnownProject, b: &KnownProject) -> JoinVerdict {
    let is_same = |a: &Option<String>, b: &Option<String>| a.as_ref().zip(b.as_ref()).map(|(a, b)| a == b);
    let roots = is_same(&a.root_commit, &b.root_commit);
    let is_clone = is_cloned_from(a, b) || is_cloned_from(b, a);
    match (is_same(&a.origin, &b.origin), roots) {
        // The history was replaced, or the URL now belongs to someone else.
        (Some(true), Some(false)) => JoinVerdict::MayBeSame,
        (Some(true), _) => JoinVerdict::Same(Reason::SameOrigin),
        (_, Some(true)) if is_clone => JoinVerdict::Same(Reason::ClonedFrom),
        // A fork: same first commit, different origin.
        (Some(false), Some(true)) => JoinVerdict::MayBeSame,
        (None, Some(true)) if a.origin.is_some() || b.origin.is_some() => JoinVerdict::Same(Reason::SameRootCommit),
        (None, Some(true)) if a.is_there != b.is_there => JoinVerdict::Same(Reason::Moved),
        // A copy next to the original.
        (None, Some(true)) => JoinVerdict::MayBeSame,
        (_, None) if is_clone => JoinVerdict::MayBeSame,
        _ if is_same(&a.name, &b.name) == Some(true) => JoinVerdict::MayBeSame,
        _ => JoinVerdict::Different,
    }
}

fn is_cloned_from(clone: &KnownProject, source: &KnownProject) -> bool {
    let worktree = source.folder.strip_suffix("/.git").unwrap_or(&source.folder);
    clone.origin.as_deref().is_some_and(|origin| origin == worktree || origin == source.folder)
}

/// A partition of projects into groups of the same project.
#[derive(Debug, Default)]
pub struct Groups {
    /// All known projects, sorted.
    projects: Vec<ProjectId>,
    /// The group of each project, as the index of one of its members.
    group: Vec<usize>,
    /// Joined pairs, with the reason.
    same: Vec<(usize, usize, Reason)>,
    /// Ambiguous pairs.
    unsure: Vec<(usize, usize)>,
    /// Pairs that the user has answered about.
    answered: HashSet<(usize, usize)>,
    /// Indexes of the projects whose folder exists.
    there: HashSet<usize>,
}

/// Computes the groups. `answers` are sorted from oldest to newest.
pub fn groups(known: &[KnownProject], answers: &[JoinAnswer]) -> Groups {
    let mentioned = answers.iter().flat_map(|answer| [&answer.one, &answer.other]);
    let projects: BTreeSet<&ProjectId> = known.iter().map(|known| &known.project).chain(mentioned).collect();
    let projects: Vec<ProjectId> = projects.into_iter().cloned().collect();
    let mut groups = Groups { group: (0..projects.len()).collect(), projects, ..Groups::default() };
    let mut apart: Vec<(usize, usize)> = Vec::new();
    // Newest first, so that an older answer cannot override a newer one.
    let mut found = Vec::new();
    for answer in answers.iter().rev() {
        let (Some(one), Some(other)) = (groups.place(&answer.one), groups.place(&answer.other)) else { continue };
        if one == other {
            continue;
        }
        if answer.is_found {
            found.push((Reason::Worktree, pair(one, other)));
            continue;
        }
        if !groups.answered.insert(pair(one, other)) {
            continue;
        }
        match answer.is_same {
            true => groups.join(one, other, Reason::User, &apart),
            false if groups.group[one] != groups.group[other] => apart.push((one, other)),
            false => {}
        }
    }
    for (a, b) in alike(known) {
        let (Some(one), Some(other)) = (groups.place(&known[a].project), groups.place(&known[b].project)) else {
            continue;
        };
        match compare(&known[a], &known[b]) {
            JoinVerdict::Same(reason) => found.push((reason, pair(one, other))),
            JoinVerdict::MayBeSame => groups.unsure.push(pair(one, other)),
            JoinVerdict::Different => {}
        }
    }
    // The order only matters when a project has evidence for two others that the user keeps apart.
    found.sort_unstable();
    for (reason, (one, other)) in found {
        groups.join(one, other, reason, &apart);
    }
    groups.unsure.sort_unstable();
    groups.there =
        known.iter().filter(|known| known.is_there).filter_map(|known| groups.place(&known.project)).collect();
    groups
}

/// Pairs that share an origin, first commit, name or path. All other pairs are different.
fn alike(known: &[KnownProject]) -> BTreeSet<(usize, usize)> {
    let mut by_trait: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (place, one) in known.iter().enumerate() {
        let worktree = one.folder.strip_suffix("/.git").unwrap_or(&one.folder);
        let mut traits = vec![("origin", worktree), ("origin", one.folder.as_str())];
        traits.extend(one.origin.as_deref().map(|origin| ("origin", origin)));
        traits.extend(one.root_commit.as_deref().map(|commit| ("root commit", commit)));
        traits.extend(one.name.as_deref().map(|name| ("name", name)));
        traits.into_iter().for_each(|found| by_trait.entry(found).or_default().push(place));
    }
    let pairs = by_trait
        .values()
        .flat_map(|places| places.iter().enumerate().flat_map(|(at, a)| places[at + 1..].iter().map(|b| pair(*a, *b))));
    pairs.filter(|(a, b)| a != b).collect()
}

fn pair(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl Groups {
    fn place(&self, project: &ProjectId) -> Option<usize> {
        self.projects.binary_search(project).ok()
    }

    /// Joins the groups of two projects, unless that would join two projects that must stay apart.
    fn join(&mut self, one: usize, other: usize, reason: Reason, apart: &[(usize, usize)]) {
        let (kept, gone) = pair(self.group[one], self.group[other]);
        let is_apart = |(a, b): &(usize, usize)| pair(self.group[*a], self.group[*b]) == (kept, gone);
        if kept != gone && apart.iter().any(is_apart) {
            return;
        }
        self.group.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
        self.same.push((one, other, reason));
    }

    /// The other projects in the group of this one, sorted, each with the reason.
    pub fn joined(&self, project: &ProjectId) -> Vec<(&ProjectId, Reason)> {
        let Some(start) = self.place(project) else { return Vec::new() };
        let mut links: BTreeMap<usize, Vec<(Reason, usize)>> = BTreeMap::new();
        for (one, other, reason) in &self.same {
            links.entry(*one).or_default().push((*reason, *other));
            links.entry(*other).or_default().push((*reason, *one));
        }
        let mut reasons: BTreeMap<usize, Reason> = BTreeMap::new();
        let mut ahead = VecDeque::from([start]);
        while let Some(at) = ahead.pop_front() {
            let next = links.get_mut(&at).map(std::mem::take).unwrap_or_default();
            for (reason, next) in next {
                if next != start && !reasons.contains_key(&next) {
                    reasons.insert(next, reason);
                    ahead.push_back(next);
                }
            }
        }
        reasons.into_iter().map(|(place, reason)| (&self.projects[place], reason)).collect()
    }

    /// One fixed member of the project's group, the same for all members.
    pub fn representative<'a>(&'a self, project: &'a ProjectId) -> &'a ProjectId {
        self.place(project).map_or(project, |place| &self.projects[self.group[place]])
    }

    /// Projects that may be the same as this one and that the user has not answered about. One project per group,
    /// preferably one whose folder exists.
    pub fn questions(&self, project: &ProjectId) -> Vec<&ProjectId> {
        let Some(here) = self.place(project).map(|place| self.group[place]) else { return Vec::new() };
        let groups = |(a, b): &(usize, usize)| pair(self.group[*a], self.group[*b]);
        let settled: HashSet<(usize, usize)> = self.answered.iter().map(groups).collect();
        let mut asked: BTreeMap<usize, (bool, usize)> = BTreeMap::new();
        for unsure in self.unsure.iter().filter(|unsure| !settled.contains(&groups(unsure))) {
            let other = match (self.group[unsure.0] == here, self.group[unsure.1] == here) {
                (true, false) => unsure.1,
                (false, true) => unsure.0,
                _ => continue,
            };
            let found = (!self.there.contains(&other), other);
            let best = asked.entry(self.group[other]).or_insert(found);
            *best = (*best).min(found);
        }
        asked.into_values().map(|(_, place)| &self.projects[place]).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(name: &str) -> ProjectId {
        ProjectId::from_stored(name.to_string())
    }

    /// `folder origin root name`, each but the first may be `-`; a folder that ends in `!` is gone.
    fn known(written: &str) -> KnownProject {
        let words: Vec<&str> = written.split_whitespace().collect();
        let word = |at: usize| words.get(at).filter(|word| **word != "-").map(|word| word.to_string());
        let folder = words[0].trim_end_matches('!');
        KnownProject {
            project: id(folder),
            folder: format!("/{folder}/.git"),
            is_there: !words[0].ends_with('!'),
            origin: word(1),
            root_commit: word(2),
            name: word(3),
        }
    }

    #[test]
    fn repositories_are_compared_by_origin_first_commit_and_name() {
        use JoinVerdict::*;
        use Reason::*;
        for (a, b, expected, what) in [
            ("a h/x", "b h/x", Same(SameOrigin), "two clones"),
            ("a h/x r1", "b h/x r1", Same(SameOrigin), "two full clones"),
            ("a h/x r1", "b h/x", Same(SameOrigin), "a full and a shallow clone"),
            ("a h/x r1", "b h/x r2", MayBeSame, "the same address with another history"),
            ("a h/x r1", "b h/y r2", Different, "unrelated"),
            ("a h/x", "b h/y", Different, "unrelated, roots unknown"),
            ("a h/x", "b - r1", Different, "nothing in common"),
            ("a h/x r1", "b h/y r1", MayBeSame, "a fork"),
            ("a h/x r1", "b - r1", Same(SameRootCommit), "a copy without the remote"),
            ("a - r1", "b /a r1", Same(ClonedFrom), "a clone of the folder"),
            ("a h/x r1", "b /a r1", Same(ClonedFrom), "a clone of a clone"),
            ("a - r1", "b /a/.git r1", Same(ClonedFrom), "a clone of the git directory"),
            ("a! - r1", "b /a r1", Same(ClonedFrom), "a clone of a folder that is gone"),
            ("a h/x r1", "b /a", MayBeSame, "a shallow clone of the folder"),
            ("a h/x r1", "b /a r2", Different, "another repository at the path of the origin"),
            ("a! - r1", "b - r1", Same(Moved), "a moved folder"),
            ("a - r1", "b - r1", MayBeSame, "a copy of the folder"),
            ("a! - r1", "b! - r1", MayBeSame, "both are gone"),
            ("a! - r1", "b - r2", Different, "another repository after one that is gone"),
            ("a! -", "b -", Different, "nothing known"),
            ("a - r1 n", "b - r2 n", MayBeSame, "a name alone"),
            ("a h/x r1 n", "b h/y r2 n", MayBeSame, "a name against everything else"),
            ("a h/x - n", "b - - n", MayBeSame, "a name, and little known"),
            ("a h/x r1 n", "b h/y r1 n", MayBeSame, "a fork with its name"),
            ("a h/x - n", "b h/x - m", Same(SameOrigin), "names do not separate"),
            ("a - - n", "b - - m", Different, "two names"),
        ] {
            assert_eq!(compare(&known(a), &known(b)), expected, "{what}");
            assert_eq!(compare(&known(b), &known(a)), expected, "{what}, the other way round");
        }
    }

    fn answers(written: &[&str]) -> Vec<JoinAnswer> {
        let answer = |text: &&str| {
            let is_found = text.contains('~');
            let (pair, is_same) = match text.split_once(['=', '~']) {
                Some(pair) => (pair, true),
                None => (text.split_once('|').unwrap(), false),
            };
            JoinAnswer { one: id(pair.0), other: id(pair.1), is_same, is_found }
        };
        written.iter().map(answer).collect()
    }

    #[test]
    fn a_worktree_that_was_recognised_is_joined_until_the_user_says_no() {
        let repositories = ["hydra h/x r1", "nimbus h/y r2"];
        for (said, joined) in [
            (&["hydra~gone"][..], "gone"),
            (&["hydra~gone", "hydra~other"], "gone other"),
            (&["hydra~gone", "hydra|gone"], ""),
            (&["hydra|gone", "hydra~gone"], ""),
            (&["hydra|gone", "hydra=gone"], "gone"),
        ] {
            assert_eq!(told(&repositories, said, "hydra").0, joined, "{said:?}");
        }
        let known: Vec<KnownProject> = repositories.iter().map(|written| known(written)).collect();
        let groups = groups(&known, &answers(&["hydra~gone"]));
        assert_eq!(groups.joined(&id("hydra")), [(&id("gone"), Reason::Worktree)]);
    }

    fn told(repositories: &[&str], said: &[&str], project: &str) -> (String, String) {
        let known: Vec<KnownProject> = repositories.iter().map(|written| known(written)).collect();
        let groups = groups(&known, &answers(said));
        let joined = groups.joined(&id(project)).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(" ");
        let asked = groups.questions(&id(project)).iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" ");
        (joined, asked)
    }

    #[test]
    fn the_last_answer_wins_over_evidence() {
        let clones = ["a h/x r1", "b h/x r1", "c h/x r1"];
        let fork = ["a h/x r1", "b h/y r1", "c h/y r1"];
        for (repositories, said, joined, asked) in [
            (clones.as_slice(), [].as_slice(), "b c", ""),
            (&clones, &["a|b"], "c", ""),
            (&clones, &["a|b", "b|c"], "c", ""),
            (&clones, &["a|b", "a|c"], "", ""),
            (&clones, &["a|b", "b=c"], "", ""),
            (&clones, &["b=c", "a=c", "a|b"], "c", ""),
            (&clones, &["a|b", "a=b"], "b c", ""),
            (&clones, &["b|a", "a=b", "a|b"], "c", ""),
            (&fork, &[], "", "b"),
            (&fork, &["a|b"], "", ""),
            (&fork, &["c|a"], "", ""),
            (&fork, &["a=c"], "b c", ""),
            (&fork, &["a=c", "a|c"], "", ""),
            (&["a", "b"], &["a=b"], "b", ""),
            (&[], &["a=b", "b=c"], "b c", ""),
            (&[], &["a=a"], "", ""),
            (&["a! - r1", "b - r1", "c - r1"], &[], "b c", ""),
            (&["a - r1", "b! h/x r1", "c h/x r1"], &[], "b c", ""),
            (&["a - r1 n", "b! - r2 n", "c - r3 n"], &[], "", "b c"),
        ] {
            let expected = (joined.to_string(), asked.to_string());
            assert_eq!(told(repositories, said, "a"), expected, "{repositories:?} {said:?}");
        }
    }

    #[test]
    fn each_group_is_asked_about_once_by_a_folder_that_exists() {
        let repositories = ["a h/x r1", "b! h/y r1", "c h/y r1"];
        assert_eq!(told(&repositories, &[], "a"), (String::new(), "c".to_string()));
        assert_eq!(told(&repositories, &[], "c"), ("b".to_string(), "a".to_string()));
        assert_eq!(told(&repositories, &[], "unknown"), (String::new(), String::new()));
    }

    fn any_known() -> impl Strategy<Value = Vec<KnownProject>> {
        let one = (0..2_u8, 0..3_u8, 0..3_u8, 0..3_u8);
        prop::collection::vec(one, 0..7).prop_map(|found| {
            let some = |what: &str, number: u8| (number > 0).then(|| format!("{what}{number}"));
            let known = |(at, (there, origin, root, name)): (usize, (u8, u8, u8, u8))| KnownProject {
                project: id(&format!("p{at}")),
                folder: format!("/p{at}/.git"),
                is_there: there > 0,
                origin: some("h/", origin),
                root_commit: some("r", root),
                name: some("n", name),
            };
            found.into_iter().enumerate().map(known).collect()
        })
    }

    fn any_answers() -> impl Strategy<Value = Vec<JoinAnswer>> {
        let one = (0..7_u8, 0..7_u8, any::<bool>(), any::<bool>());
        prop::collection::vec(one, 0..6).prop_map(|found| {
            let answer = |(one, other, is_same, is_found): (u8, u8, bool, bool)| JoinAnswer {
                one: id(&format!("p{one}")),
                other: id(&format!("p{other}")),
                is_same,
                is_found: is_same && is_found,
            };
            found.into_iter().map(answer).collect()
        })
    }

    proptest! {
        #[test]
        fn groups_form_a_partition(known in any_known(), answers in any_answers()) {
            let groups = groups(&known, &answers);
            for one in &groups.projects {
                for (other, _) in groups.joined(one) {
                    prop_assert!(groups.joined(other).iter().any(|(back, _)| *back == one), "{one:?} {other:?}");
                    prop_assert_eq!(groups.representative(one), groups.representative(other));
                    prop_assert!(!groups.questions(one).contains(&other), "what is joined is not asked about");
                }
                let members = groups.projects.iter().filter(|other| groups.representative(other) == groups.representative(one));
                prop_assert_eq!(groups.joined(one).len() + 1, members.count());
            }
        }

        #[test]
        fn the_last_answer_holds_and_is_not_asked_again(known in any_known(), answers in any_answers()) {
            let groups = groups(&known, &answers);
            if let Some(last) = answers.iter().rfind(|last| !last.is_found && last.one != last.other) {
                let is_joined = groups.representative(&last.one) == groups.representative(&last.other);
                prop_assert_eq!(is_joined, last.is_same);
            }
            for answer in answers.iter().filter(|answer| !answer.is_found) {
                prop_assert!(!groups.questions(&answer.one).contains(&&answer.other));
            }
        }

        #[test]
        fn the_order_of_repositories_does_not_matter(
            known in any_known(), answers in any_answers(), turn in 0..7_usize,
        ) {
            let mut turned = known.clone();
            turned.reverse();
            let len = turned.len().max(1);
            turned.rotate_left(turn % len);
            let (one, other) = (groups(&known, &answers), groups(&turned, &answers));
            for project in &one.projects {
                prop_assert_eq!(one.joined(project), other.joined(project));
                prop_assert_eq!(one.questions(project), other.questions(project));
            }
        }

        #[test]
        fn a_name_alone_never_joins(mut known in any_known()) {
            for (at, one) in known.iter_mut().enumerate() {
                (one.origin, one.root_commit) = (None, Some(format!("own{at}")));
            }
            let groups = groups(&known, &[]);
            prop_assert!(known.iter().all(|one| groups.joined(&one.project).is_empty()));
        }
    }
}
