//! The version of an agent, as its program prints it.

use std::fmt;

/// Three numbers; anything after them is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramVersion(pub u32, pub u32, pub u32);

impl ProgramVersion {
    /// The first `1.2.3` in what a program printed.
    pub fn find(printed: &str) -> Option<ProgramVersion> {
        printed.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut numbers = word.split('.').map(|number| number.parse().ok());
            Some(ProgramVersion(numbers.next()??, numbers.next()??, numbers.next()??))
        })
    }
}

impl fmt::Display for ProgramVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_in_what_programs_print() {
        for (printed, expected) in [
            ("2.1.50 (Claude Code)\n", Some(ProgramVersion(2, 1, 50))),
            ("codex-cli 0.166.0", Some(ProgramVersion(0, 166, 0))),
            ("v1.2.3-beta.4", Some(ProgramVersion(1, 2, 3))),
            ("error 7: see 10.2 and 3.4.5.6", Some(ProgramVersion(3, 4, 5))),
            ("99999999999.1.1", None),
            ("2.1", None),
            ("", None),
            ("no version", None),
        ] {
            assert_eq!(ProgramVersion::find(printed), expected, "{printed}");
        }
        assert!(
            ProgramVersion(2, 1, 101) > ProgramVersion(2, 1, 50) && ProgramVersion(2, 0, 77) < ProgramVersion(2, 1, 0)
        );
        assert_eq!(ProgramVersion(2, 1, 50).to_string(), "2.1.50");
    }
}
