//! Turns that the user took back with `/rewind`, or with Esc before an answer came. Hooks do not report it.
//!
//! The transcript keeps the lines. What is sent next follows the same line that the first undone prompt followed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What the lines with the user's words follow.
#[derive(Default)]
pub(super) struct Rewinds {
    /// How many prompts there were before the first line that follows this one.
    first: HashMap<Option<String>, usize>,
    prompts: HashSet<String>,
}

impl Rewinds {
    /// Notes a line and returns the prompts that it undoes, as places in the list of all prompts, of which there were
    /// `count` before it. A line that does not say what it follows undoes nothing.
    pub fn follow(&mut self, uuid: &str, parent: Option<Option<&str>>, count: usize, is_prompt: bool) -> Range<usize> {
        if is_prompt {
            self.prompts.insert(uuid.to_string());
        }
        // What follows another prompt directly was sent along with it.
        let parent = parent.filter(|parent| parent.is_none_or(|parent| !self.prompts.contains(parent)));
        let Some(parent) = parent else { return 0..0 };
        *self.first.entry(parent.map(str::to_string)).or_insert(count)..count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_same_line_again_undoes_what_came_between() {
        let mut rewinds = Rewinds::default();
        let mut follow =
            |uuid: &'static str, parent: Option<Option<&'static str>>, count| rewinds.follow(uuid, parent, count, true);
        assert_eq!(follow("a", Some(None), 0), 0..0);
        assert_eq!(follow("b", Some(Some("end of a")), 1), 1..1);
        assert_eq!(follow("c", Some(Some("end of b")), 2), 2..2);
        assert_eq!(follow("d", Some(Some("end of a")), 3), 1..3, "two turns at once");
        assert_eq!(follow("e", Some(Some("end of d")), 4), 4..4);
        assert_eq!(follow("f", Some(Some("d")), 5), 0..0, "queued behind it");
        assert_eq!(follow("g", Some(Some("d")), 6), 0..0);
        assert_eq!(follow("h", None, 7), 0..0, "unknown");
        assert_eq!(follow("i", Some(None), 8), 0..8, "from the very beginning");
    }
}
