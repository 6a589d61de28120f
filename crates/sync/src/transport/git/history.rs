//! The lines of commits that streams are.

use std::collections::{BTreeMap, HashMap};

/// Commits with their first parent and their message, which is the sequence number of a batch.
#[derive(Debug, Default)]
pub struct History {
    commits: HashMap<String, (String, String)>,
}

impl History {
    /// Reads what `git log --format=%H,%P,%s` prints.
    pub fn read(printed: &[u8]) -> History {
        let commit = |line: &str| {
            let (commit, rest) = line.split_once(',')?;
            let (parents, message) = rest.split_once(',')?;
            let parent = parents.split(' ').next().unwrap_or_default();
            Some((commit.to_string(), (parent.to_string(), message.to_string())))
        };
        History { commits: String::from_utf8_lossy(printed).lines().filter_map(commit).collect() }
    }

    /// The commits that lead to this one, by sequence number. Of two with the same number the earlier one counts: later
    /// ones cannot replace it.
    pub fn line(&self, tip: &str) -> BTreeMap<u64, String> {
        let mut line = BTreeMap::new();
        let mut next = tip;
        // A remote cannot make a circle of commits, but no more steps than commits are ever needed.
        for _ in 0..self.commits.len() {
            let Some((parent, message)) = self.commits.get(next) else { break };
            if let Ok(sequence) = message.parse() {
                line.insert(sequence, next.to_string());
            }
            next = parent;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_read_from_one_log() {
        let history = History::read(b"c,b,3\nb,a,2\na,,1\ny,x,2\nx,,1\nf,c,2\nm,f x,word\n");
        let line = |tip| history.line(tip).into_iter().map(|(sequence, commit)| format!("{sequence}{commit}"));
        let line = |tip| line(tip).collect::<Vec<_>>();
        assert_eq!(line("c"), ["1a", "2b", "3c"]);
        assert_eq!(line("y"), ["1x", "2y"]);
        assert_eq!(line("f"), ["1a", "2b", "3c"], "a second batch with this number changes nothing");
        assert_eq!(line("m"), ["1a", "2b", "3c"]);
        assert!(line("unknown").is_empty());
    }

    #[test]
    fn commits_in_a_circle_end() {
        assert_eq!(History::read(b"a,b,1\nb,a,2\n").line("a").len(), 2);
    }
}
