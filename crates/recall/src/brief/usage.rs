//! Did it help? The files that sessions were told about, compared with the files they then worked on.
//!
//! A receipt contains codes, not paths: a file is known by the end of its path, as it was shown.

use std::collections::{HashMap, HashSet};

use cerberus_record::fact::FactKind;
use cerberus_record::time::Timestamp;

use super::base;
use super::shorten::ends_with_path;

/// What came of telling sessions about files.
#[derive(Debug, Default)]
pub struct ToldFileUsage {
    /// Sessions that were told something and worked on files.
    pub sessions: usize,
    pub told: usize,
    pub touched: usize,
    /// Told files that were then touched. A short name may stand for several.
    pub used: usize,
    /// Touched files that had been told.
    pub foreseen: usize,
    by_name: HashMap<String, FileUsage>,
}

/// How many sessions were told about a file, and how many of them touched it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileUsage {
    pub told: usize,
    pub used: usize,
}

impl ToldFileUsage {
    /// Adds a session: the codes it was told, and the files it edited or read. `bases` are the last components of all
    /// files of the project: other codes are functions.
    pub fn add(&mut self, codes: &[String], touched: &[&str], bases: &HashSet<&str>) {
        let names: HashSet<&str> = codes.iter().filter_map(|code| file_name(code, bases)).collect();
        if names.is_empty() || touched.is_empty() {
            return;
        }
        self.sessions += 1;
        self.told += names.len();
        self.touched += touched.len();
        self.foreseen += touched.iter().filter(|path| names.iter().any(|name| ends_with_path(path, name))).count();
        for name in names {
            let is_used = usize::from(touched.iter().any(|path| ends_with_path(path, name)));
            self.used += is_used;
            let file = self.by_name.entry(name.to_string()).or_default();
            (file.told, file.used) = (file.told + 1, file.used + is_used);
        }
    }

    pub fn of_file(&self, path: &str) -> FileUsage {
        let named = self.by_name.iter().filter(|(name, _)| ends_with_path(path, name));
        named.fold(FileUsage::default(), |sum, (_, file)| FileUsage {
            told: sum.told + file.told,
            used: sum.used + file.used,
        })
    }

    pub fn merge(&mut self, other: ToldFileUsage) {
        self.sessions += other.sessions;
        self.told += other.told;
        self.touched += other.touched;
        self.used += other.used;
        self.foreseen += other.foreseen;
        for (name, file) in other.by_name {
            let sum = self.by_name.entry(name).or_default();
            (sum.told, sum.used) = (sum.told + file.told, sum.used + file.used);
        }
    }
}

/// What sessions had done before a line was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierWork {
    pub kind: FactKind,
    pub code: String,
    pub path: Option<String>,
    pub sessions: usize,
    pub last_at: Timestamp,
}

/// What led to a line: the work on its file or function, or the fact itself. `None` if the work is not known any more.
pub fn reason<'a>(code: &str, earlier: &'a [EarlierWork]) -> Option<&'a EarlierWork> {
    let named = [FactKind::File, FactKind::Read].into_iter().find(|kind| code.starts_with(kind.prefix()));
    let Some(kind) = named else {
        return earlier.iter().find(|fact| fact.code == code);
    };
    let name = code[kind.prefix().len()..].split(' ').next().unwrap_or_default();
    let is_on = |fact: &&EarlierWork| {
        let is_path = fact.path.as_deref().is_some_and(|path| ends_with_path(path, name));
        matches!(fact.kind, FactKind::File | FactKind::Read) && is_path || fact.code == code
    };
    // An edit says more than a read.
    earlier.iter().filter(is_on).max_by_key(|fact| (fact.kind != FactKind::Read, fact.last_at))
}

fn file_name<'a>(code: &'a str, bases: &HashSet<&str>) -> Option<&'a str> {
    let name = [FactKind::File, FactKind::Read].into_iter().find_map(|kind| code.strip_prefix(kind.prefix()))?;
    bases.contains(base(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_compared_with_what_was_touched() {
        let bases: HashSet<&str> = ["a.rs", "mod.rs", "b.rs"].into();
        let codes = |codes: &[&str]| -> Vec<String> { codes.iter().map(|code| code.to_string()).collect() };
        let mut usage = ToldFileUsage::default();
        usage.add(
            &codes(&["impl:a.rs", "see:store/mod.rs", "impl:open", "next:write a.rs", "impl:a.rs"]),
            &["src/a.rs", "src/other/mod.rs", "src/b.rs"],
            &bases,
        );
        assert_eq!((usage.sessions, usage.told, usage.touched, usage.used, usage.foreseen), (1, 2, 3, 1, 1));
        usage.add(&codes(&["next:go on"]), &["src/a.rs"], &bases);
        usage.add(&codes(&["impl:a.rs"]), &[], &bases);
        assert_eq!(usage.sessions, 1, "a session that was told no file, or touched none, says nothing");
        let mut other = ToldFileUsage::default();
        other.add(&codes(&["impl:a.rs"]), &["lib/a.rs", "src/a.rs"], &bases);
        usage.merge(other);
        assert_eq!((usage.sessions, usage.told, usage.touched, usage.used, usage.foreseen), (2, 3, 5, 2, 3));
        assert_eq!(usage.of_file("src/a.rs"), FileUsage { told: 2, used: 2 });
        assert_eq!(usage.of_file("src/store/mod.rs"), FileUsage { told: 1, used: 0 });
        assert_eq!(usage.of_file("src/b.rs"), FileUsage::default());
    }

    #[test]
    fn a_line_has_the_work_that_led_to_it() {
        let earlier = |kind, code: &str, path: Option<&str>, sessions, at| EarlierWork {
            kind,
            code: code.to_string(),
            path: path.map(str::to_string),
            sessions,
            last_at: Timestamp::from_millis(at),
        };
        let known = [
            earlier(FactKind::Read, "see:src/a.rs", Some("src/a.rs"), 5, 90),
            earlier(FactKind::File, "impl:src/a.rs", Some("src/a.rs"), 2, 50),
            earlier(FactKind::Next, "next:Add a mutex", None, 1, 60),
            earlier(FactKind::Function, "impl:Stop", Some("src/b.rs"), 1, 70),
        ];
        let of = |code: &str| reason(code, &known).map(|fact| (fact.kind, fact.sessions));
        assert_eq!(of("impl:a.rs Stop"), Some((FactKind::File, 2)));
        assert_eq!(of("impl:Stop"), Some((FactKind::Function, 1)));
        assert_eq!(of("next:Add a mutex"), Some((FactKind::Next, 1)));
        assert_eq!((of("impl:c.rs"), of("said:a.rs is done")), (None, None));
    }
}
