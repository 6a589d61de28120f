//! The content of an agent's own guides, so that briefs do not repeat it.

use std::collections::HashSet;

use crate::clean::text::words;
use crate::extract::injected::{BLOCK_BEGIN, BLOCK_END};
use crate::language::meaning::Meaning;

/// A line says the same as a memory from this similarity on.
const SAME_MIN: f64 = 0.8;
/// Only lines that share this part of a memory's words are compared by meaning.
const SHARED_MIN: f64 = 0.5;

/// The lines of all guides, each with its words.
#[derive(Debug, Default)]
pub struct GuideLines {
    lines: Vec<GuideLine>,
}

#[derive(Debug)]
struct GuideLine {
    guide: String,
    text: String,
    words: HashSet<String>,
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
            let words: HashSet<String> = words(plain).collect();
            if !words.is_empty() {
                self.lines.push(GuideLine { guide: guide.to_string(), text: plain.to_string(), words });
            }
        }
    }

    /// The guide that already says this.
    pub fn find(&self, content: &str) -> Option<&str> {
        let wanted: HashSet<String> = words(content).collect();
        let meaning = std::cell::OnceCell::new();
        let says_it = |line: &&GuideLine| {
            let shared = wanted.intersection(&line.words).count() as f64;
            if shared < SHARED_MIN * wanted.len() as f64 || shared == 0.0 {
                return false;
            }
            let meaning = meaning.get_or_init(|| Meaning::of(content));
            meaning.similarity(&Meaning::of(&line.text)) >= SAME_MIN
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
            ("Use tabs.", Some("CLAUDE.md")),
            ("Never run cargo fmt before committing.", None),
            ("Use spaces, not tabs.", None),
            ("Write a changelog entry.", None),
        ] {
            assert_eq!(guides.find(content), guide, "{content}");
        }
    }
}
