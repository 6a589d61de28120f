//! The content of an agent's own guides, so that briefs do not repeat it.

use super::same::Compared;
use crate::said::ours::{BLOCK_BEGIN, BLOCK_END};

/// A line says the same as a memory if it has this share of its words.
const SAID_MIN: f64 = 0.8;
/// A longer line says something else as well: it may be the exception.
const LONGER_MAX: f64 = 2.0;

/// The lines of all guides, each with its words.
#[derive(Debug, Default)]
pub struct GuideLines {
    lines: Vec<GuideLine>,
}

#[derive(Debug)]
struct GuideLine {
    guide: String,
    said: Compared,
}

impl GuideLines {
    /// Adds a guide, sentence by sentence and list item by list item. A published memory is one item.
    pub fn add(&mut self, guide: &str, text: &str) {
        let mut in_block = false;
        let parts = text.lines().flat_map(|line| {
            in_block = (in_block || line.starts_with(BLOCK_BEGIN)) && line != BLOCK_END;
            if in_block { vec![line] } else { line.split_inclusive(". ").collect() }
        });
        for line in parts {
            let plain = line.trim().trim_start_matches(['-', '*', '+', '#', '>', ' ']);
            let said = Compared::of(plain);
            if !said.words.is_empty() {
                self.lines.push(GuideLine { guide: guide.to_string(), said });
            }
        }
    }

    /// The guide that already says this.
    pub fn find(&self, content: &str) -> Option<&str> {
        let wanted = Compared::of(content);
        let says_it = |line: &&GuideLine| {
            let is_longer = line.said.words.len() as f64 > LONGER_MAX * wanted.words.len() as f64;
            let is_told = line.said.is_denial == wanted.is_denial && !is_longer;
            is_told && (wanted.words.in_order_in(&line.said.words) >= SAID_MIN)
        };
        self.lines.iter().find(says_it).map(|line| line.guide.as_str())
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
