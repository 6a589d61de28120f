//! The content of an agent's own guides, so that briefs do not repeat it.

use std::cell::OnceCell;

use cerberus_record::ours::{BLOCK_BEGIN, BLOCK_END};

use super::same::ComparedSentence;

/// A line says the same as a memory if it has this share of its words.
const SAID_MIN: f64 = 0.8;
/// A longer line says something else as well: it may be the exception.
const LONGER_MAX: f64 = 2.0;

/// The lines of all guides, each with its words.
#[derive(Debug, Default)]
pub struct GuideLines {
    /// Each with the name of its guide.
    lines: Vec<(String, String)>,
    /// Made when something is looked for: most projects have no memories.
    said: OnceCell<Vec<ComparedSentence>>,
}

impl GuideLines {
    /// Adds a guide, sentence by sentence and list item by list item. A published memory is one item.
    pub fn add(&mut self, guide: &str, text: &str) {
        self.said.take();
        let mut in_block = false;
        let parts = text.lines().flat_map(|line| {
            in_block = (in_block || line.starts_with(BLOCK_BEGIN)) && line != BLOCK_END;
            if in_block { vec![line] } else { line.split_inclusive(". ").collect() }
        });
        for line in parts {
            let plain = line.trim().trim_start_matches(['-', '*', '+', '#', '>', ' ']);
            if !plain.is_empty() {
                self.lines.push((guide.to_string(), plain.to_string()));
            }
        }
    }

    /// The guide that already says this.
    pub fn find(&self, content: &str) -> Option<&str> {
        let wanted = ComparedSentence::of(content);
        let says_it = |said: &ComparedSentence| {
            let is_longer = said.words.len() as f64 > LONGER_MAX * wanted.words.len() as f64;
            let is_told = said.is_denial == wanted.is_denial && !is_longer;
            is_told && wanted.words.in_order_in(&said.words) >= SAID_MIN
        };
        let said = self.said.get_or_init(|| self.lines.iter().map(|(_, text)| ComparedSentence::of(text)).collect());
        said.iter().position(says_it).map(|at| self.lines[at].0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::publish::published;

    #[test]
    fn a_published_memory_is_found_though_it_has_several_sentences() {
        let rule = "Use uv for everything. Never call pip directly. Lock files are committed.";
        let mut guides = GuideLines::default();
        guides.add("x.md", rule);
        assert_eq!(guides.find(rule), None, "elsewhere every sentence stands alone");
        guides.add("AGENTS.md", &published(None, &[rule]).unwrap().unwrap());
        assert_eq!(guides.find(rule), Some("AGENTS.md"));
    }

    #[test]
    fn a_guide_is_recognised_in_other_words_too() {
        let mut guides = GuideLines::default();
        guides.add(
            "CLAUDE.md",
            "# Style\n- Always run `cargo fmt` before committing. Ask first.\n* Use tabs, not spaces\n",
        );
        for (content, guide) in [
            ("Run cargo fmt before committing.", Some("CLAUDE.md")),
            ("Always run cargo fmt before every commit.", Some("CLAUDE.md")),
            ("Never run cargo fmt before committing.", None),
            ("Use spaces, not tabs.", None),
            ("Write a changelog entry.", None),
        ] {
            assert_eq!(guides.find(content), guide, "{content}");
        }
    }
}
