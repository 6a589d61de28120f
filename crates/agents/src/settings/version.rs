//! The version of an agent, as its program prints it.

use std::fmt;

/// Three numbers; anything after them is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first `1.2.3` in what a program printed.
    pub fn find(printed: &str) -> Option<Version> {
        printed.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut numbers = word.split('.').map(|number| number.parse().ok());
            Some(Version(numbers.next()??, numbers.next()??, numbers.next()??))
        })
    }
}

impl fmt::Display for Version {
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
            ("2.1.50 (Claude Code)\n", Some(Version(2, 1, 50))),
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("v1.2.3-beta.4", Some(Version(1, 2, 3))),
            ("error 7: see 10.2 and 3.4.5.6", Some(Version(3, 4, 5))),
            ("99999999999.1.1", None),
            ("2.1", None),
            ("", None),
            ("no version", None),
        ] {
            assert_eq!(Version::find(printed), expected, "{printed}");
        }
        assert!(Version(2, 1, 101) > Version(2, 1, 50) && Version(2, 0, 77) < Version(2, 1, 0));
        assert_eq!(Version(2, 1, 50).to_string(), "2.1.50");
    }
}
