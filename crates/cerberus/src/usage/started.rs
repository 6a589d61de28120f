//! What getting started took before Cerberus was installed, and since: medians of the person's own sessions.

use std::collections::BTreeMap;

use super::beginning::Beginning;
use super::compare::{Compared, Group, SAMPLE_MIN, compare};
use super::{Side, UsedSession};
use crate::report::figures::scale::short;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartMeasure {
    Calls,
    Reread,
    Git,
    Questions,
    Tokens,
}

impl StartMeasure {
    const ALL: [StartMeasure; 5] =
        [StartMeasure::Calls, StartMeasure::Reread, StartMeasure::Git, StartMeasure::Questions, StartMeasure::Tokens];

    pub fn words(self) -> &'static str {
        match self {
            StartMeasure::Calls => "tool calls",
            StartMeasure::Reread => "files read again",
            StartMeasure::Git => "git status, log, diff",
            StartMeasure::Questions => "questions to you",
            StartMeasure::Tokens => "tokens",
        }
    }

    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            StartMeasure::Calls => "tool_calls",
            StartMeasure::Reread => "files_read_again",
            StartMeasure::Git => "git_looks",
            StartMeasure::Questions => "questions",
            StartMeasure::Tokens => "tokens",
        }
    }

    /// A median, as people read it.
    pub fn shown(self, median: Option<f64>) -> String {
        match (median, self) {
            (None, _) => "–".to_string(),
            (Some(median), StartMeasure::Tokens) => short(median as u64),
            (Some(median), _) => format!("{median}"),
        }
    }

    fn of(self, beginning: &Beginning) -> Option<f64> {
        let count = match self {
            StartMeasure::Calls => beginning.calls as u64,
            StartMeasure::Reread => beginning.reread as u64,
            StartMeasure::Git => beginning.git as u64,
            StartMeasure::Questions => beginning.questions as u64,
            StartMeasure::Tokens => beginning.tokens?,
        };
        Some(count as f64)
    }
}

/// The sessions of a project with an agent, or all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// Project and agent; `None` stands for all that have sessions on both sides.
    pub of: Option<(String, String)>,
    pub before: usize,
    pub since: usize,
    pub measures: Vec<(StartMeasure, Compared)>,
}

impl Started {
    fn new(of: Option<(String, String)>, groups: &[&[(Side, Beginning)]]) -> Started {
        let count = |wanted| groups.iter().copied().flatten().filter(|(side, _)| *side == wanted).count();
        let measures = StartMeasure::ALL.iter().map(|measure| {
            let numbers = |group: &[(Side, Beginning)], wanted| {
                group.iter().filter(|(side, _)| *side == wanted).filter_map(|(_, found)| measure.of(found)).collect()
            };
            let group = |group| Group { before: numbers(group, Side::Before), since: numbers(group, Side::Since) };
            (*measure, compare(&groups.iter().map(|one| group(one)).collect::<Vec<_>>()))
        });
        Started { of, before: count(Side::Before), since: count(Side::Since), measures: measures.collect() }
    }

    /// Whether there are enough sessions on both sides to say anything.
    pub fn is_enough(&self) -> bool {
        self.before.min(self.since) >= SAMPLE_MIN
    }
}

/// All sessions that have their like on the other side, then every project with every agent, those with most sessions
/// first. Empty if none is known.
pub fn started(sessions: &[UsedSession]) -> Vec<Started> {
    let mut by_name: BTreeMap<(String, String), Vec<(Side, Beginning)>> = BTreeMap::new();
    for session in sessions {
        let Some(counted) = session.side.zip(session.beginning) else { continue };
        by_name.entry((session.project.clone(), session.row.agent.clone())).or_default().push(counted);
    }
    if by_name.is_empty() {
        return Vec::new();
    }
    let has = |group: &[(Side, Beginning)], wanted| group.iter().any(|(side, _)| *side == wanted);
    let groups = by_name.values().map(Vec::as_slice);
    let alike: Vec<&[(Side, Beginning)]> =
        groups.clone().filter(|group| has(group, Side::Before) && has(group, Side::Since)).collect();
    let all = Started::new(None, &if alike.is_empty() { groups.collect() } else { alike });
    let mut found: Vec<Started> =
        by_name.iter().map(|(of, sessions)| Started::new(Some(of.clone()), &[sessions])).collect();
    found.sort_by_key(|one| std::cmp::Reverse((one.before.min(one.since), one.before + one.since)));
    found.insert(0, all);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::compare::Verdict;
    use crate::usage::gather::tests::used;

    #[test]
    fn each_project_and_agent_is_compared_and_all_together() {
        let mut sessions = Vec::new();
        for number in 0..44 {
            let mut session = used(&format!("s{number}"), number);
            let is_since = number % 2 == 1;
            session.project = if number < 40 { "hydra" } else { "nimbus" }.to_string();
            session.side = (number != 43).then_some(if is_since { Side::Since } else { Side::Before });
            let calls = if is_since { 3 } else { 9 } + number as usize % 3;
            let tokens = (number % 4 == 0).then_some(number as u64);
            session.beginning = Some(Beginning { calls, tokens, ..Beginning::default() });
            sessions.push(session);
        }
        sessions.push(used("did nothing", 50));
        let found = started(&sessions);
        let of = |one: &Started| one.of.as_ref().map(|(project, _)| project.clone());
        let sizes: Vec<_> = found.iter().map(|one| (of(one), one.before, one.since, one.is_enough())).collect();
        assert_eq!(
            sizes,
            [
                (None, 22, 21, true),
                (Some("hydra".to_string()), 20, 20, true),
                (Some("nimbus".to_string()), 2, 1, false)
            ]
        );
        let verdicts: Vec<Verdict> = found[1].measures.iter().map(|(_, compared)| compared.verdict).collect();
        use Verdict::{Less, Same, TooFew};
        assert_eq!(verdicts, [Less, Same, Same, Same, TooFew], "tokens are known of few");
        assert_eq!(started(&[]), []);
    }
}
