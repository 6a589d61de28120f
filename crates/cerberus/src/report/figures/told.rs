//! What sessions were told, against what they used, by kind of line.

use cerberus_record::fact::FactKind;

use super::ReportSession;

/// The lines of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldKind {
    pub name: &'static str,
    pub told: usize,
    /// `None` if the use of such a line cannot be seen.
    pub used: Option<usize>,
}

/// The kinds in the order they are shown. Only files, steps and blockers are seen to be used.
const KINDS: [(&str, bool, &[&str]); 6] = [
    ("files to change", true, &[FactKind::File.prefix()]),
    ("files to read", true, &[FactKind::Read.prefix()]),
    ("next steps", true, &[FactKind::Next.prefix()]),
    ("blockers", true, &[FactKind::Blocker.prefix()]),
    ("rules and preferences", false, &["rule:", "pref:"]),
    ("requests, decisions, state", false, &[]),
];

/// Kinds that nobody was told are left out.
pub fn by_kind(sessions: &[ReportSession]) -> Vec<ToldKind> {
    let mut counts = [(0, 0); KINDS.len()];
    for (code, is_used) in sessions.iter().flat_map(|session| &session.told) {
        let kind = KINDS.iter().position(|(_, _, prefixes)| prefixes.iter().any(|prefix| code.starts_with(prefix)));
        let (told, used) = &mut counts[kind.unwrap_or(KINDS.len() - 1)];
        *told += 1;
        *used += usize::from(*is_used);
    }
    let counted = KINDS.iter().zip(counts).filter(|(_, (told, _))| *told > 0);
    counted.map(|((name, is_seen, _), (told, used))| ToldKind { name, told, used: is_seen.then_some(used) }).collect()
}

/// How many lines whose use can be seen were told and used.
pub fn seen(kinds: &[ToldKind]) -> (usize, usize) {
    kinds.iter().fold((0, 0), |(told, used), kind| match kind.used {
        Some(more) => (told + kind.told, used + more),
        None => (told, used),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::session;

    #[test]
    fn use_that_cannot_be_seen_is_unknown_and_not_zero() {
        let mut one = session(1);
        one.told = ["impl:a.rs", "impl:b.rs", "next:Add a mutex", "rule:Use pnpm", "said:It works", "dec:x"]
            .into_iter()
            .map(|code| (code.to_string(), code == "impl:a.rs"))
            .collect();
        let kinds = by_kind(&[one, session(2)]);
        let kind = |name, told, used| ToldKind { name, told, used };
        assert_eq!(
            kinds,
            [
                kind("files to change", 2, Some(1)),
                kind("next steps", 1, Some(0)),
                kind("rules and preferences", 1, None),
                kind("requests, decisions, state", 2, None),
            ]
        );
        assert_eq!(seen(&kinds), (3, 1));
        assert_eq!(by_kind(&[session(1)]), []);
    }
}
