//! Does the next brief contain what a session left open, and what its user answered?

use std::collections::HashSet;

use anyhow::Result;
use cerberus_record::fact::{Fact, FactKind};

use super::session::Session;
use crate::measure::{Target, say};

/// How many items the previous session left, and how many of them the next brief contains.
#[derive(Default)]
pub struct Carried {
    todos: (usize, usize),
    answers: (usize, usize),
}

impl Carried {
    /// Only the open items of the most recent session count.
    pub fn score(&mut self, past: &[Session], start: &str, text: &str) {
        let last = past.iter().filter_map(|session| Some((session.before(start).next_back()?.at.as_str(), session)));
        let Some((_, session)) = last.max_by_key(|(at, _)| *at) else { return };
        let todos = session.todos.iter().rfind(|left| left.at.as_str() < start).map(|list| list.open.as_slice());
        let answers = session.answers.iter().filter(|left| left.at.as_str() < start);
        let answers: Vec<String> = answers.flat_map(|left| left.open.iter().cloned()).collect();
        self.count(todos.unwrap_or_default(), &answers, text);
    }

    /// How many of these the text contains.
    pub fn count(&mut self, todos: &[String], answers: &[String], text: &str) {
        let told: HashSet<&str> = text.lines().collect();
        for todo in todos {
            self.todos.0 += 1;
            self.todos.1 += usize::from(told.contains(Fact::words(FactKind::Next, todo).code.as_str()));
        }
        for answer in answers {
            let code = Fact::words(FactKind::Decision, answer).code;
            self.answers.0 += 1;
            self.answers.1 += usize::from(told.iter().any(|line| line.starts_with(&code)));
        }
    }

    pub fn print(&self, whose: &str) -> Result<()> {
        for (what, (left, told)) in [("open todos", self.todos), ("answered questions", self.answers)] {
            if left == 0 {
                say(&format!("{whose}: {what}: the previous session left none"))?;
                continue;
            }
            let share = told as f64 / left.max(1) as f64;
            say(&format!(
                "{whose}: {what} told in the next brief: {told} of {left}, {share:.2}, {}",
                Target::AtLeast(0.9).beside(share)
            ))?;
        }
        Ok(())
    }
}
