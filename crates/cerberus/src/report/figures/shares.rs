//! Time and tokens by project and by agent.

use std::collections::BTreeMap;

use super::ReportSession;

/// How many names are shown; the others are summed up.
pub const NAMES_MAX: usize = 8;

/// A sum over sessions, of which some may not say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub total: u64,
    pub known: usize,
    pub unknown: usize,
}

impl Sum {
    pub fn add(&mut self, value: Option<u64>) {
        match value {
            Some(value) => (self.total, self.known) = (self.total.saturating_add(value), self.known + 1),
            None => self.unknown += 1,
        }
    }

    fn merge(&mut self, other: Sum) {
        self.total = self.total.saturating_add(other.total);
        (self.known, self.unknown) = (self.known + other.known, self.unknown + other.unknown);
    }

    /// `None` if no session says anything.
    pub fn value(self) -> Option<u64> {
        (self.known > 0).then_some(self.total)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportShare {
    pub name: String,
    pub sessions: usize,
    pub minutes: f64,
    pub tokens: Sum,
}

/// The names with the most time first, then all others as one.
pub fn shares(sessions: &[ReportSession], name: impl Fn(&ReportSession) -> &str) -> Vec<ReportShare> {
    let mut by_name: BTreeMap<&str, ReportShare> = BTreeMap::new();
    for session in sessions {
        let name = name(session);
        let share =
            by_name.entry(name).or_insert_with(|| ReportShare { name: name.to_string(), ..ReportShare::default() });
        share.sessions += 1;
        share.minutes += session.minutes();
        share.tokens.add(session.context.tokens);
    }
    let mut all: Vec<ReportShare> = by_name.into_values().collect();
    all.sort_by(|a, b| b.minutes.total_cmp(&a.minutes));
    if all.len() > NAMES_MAX + 1 {
        let rest = all.split_off(NAMES_MAX);
        let mut others = ReportShare { name: format!("{} others", rest.len()), ..ReportShare::default() };
        for share in rest {
            others.sessions += share.sessions;
            others.minutes += share.minutes;
            others.tokens.merge(share.tokens);
        }
        all.push(others);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::session;

    #[test]
    fn unknown_tokens_are_not_zero() {
        let mut known = session(1);
        known.context.tokens = Some(500);
        let mut other = session(1);
        other.project = "nimbus".to_string();
        let found = shares(&[known, session(2), other], |session| &session.project);
        assert_eq!((found[0].name.as_str(), found[0].sessions, found[0].minutes), ("hydra", 2, 20.0));
        assert_eq!(found[0].tokens, Sum { total: 500, known: 1, unknown: 1 });
        assert_eq!((found[0].tokens.value(), found[1].tokens.value()), (Some(500), None));
    }

    #[test]
    fn many_names_are_summed_up() {
        let of = |count: i64| -> Vec<ReportShare> {
            let named = |number: i64| {
                let mut session = session(number);
                session.project = format!("p{number}");
                session.context.tokens = Some(1);
                session
            };
            shares(&(0..count).map(named).collect::<Vec<_>>(), |session| &session.project)
        };
        assert_eq!(of(9).len(), 9, "one other is shown by its name");
        let found = of(12);
        assert_eq!((found.len(), found[8].name.as_str(), found[8].sessions), (9, "4 others", 4));
        assert_eq!((found[8].minutes, found[8].tokens.value()), (40.0, Some(4)));
    }
}
