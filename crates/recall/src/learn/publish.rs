//! Approved memories of a project as a marked block in its instruction files, for people and agents without Cerberus.
//!
//! Nothing outside the block changes, byte for byte. The first line of the block says what has to be taken back when it
//! is removed: a line end that was missing before it, or the whole file.

use cerberus_record::clean::text::line;
use cerberus_record::ours::{BLOCK_BEGIN, BLOCK_END};

/// Longer memories are cut; a rule is a sentence or two.
const RULE_CHARS_MAX: usize = 1_000;

const TITLE: &str = "## Project rules";
/// Follows the beginning of the block.
const NO_LINE_END: &str = "; no line end before it";
const NEW_FILE: &str = "; new file";
const CLOSE: &str = " (written by `cerberus memory publish`; edits here are lost) -->";

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PublishError {
    #[error("the block of `cerberus memory publish` has no end, or there are two")]
    Damaged,
}

/// The text of a file with these rules in its block; `None` if there should be no file. Without rules the block is
/// removed. `old` is `None` if the file does not exist.
pub fn published(old: Option<&str>, rules: &[&str]) -> Result<Option<String>, PublishError> {
    let text = old.unwrap_or_default();
    let found = find(text)?;
    if rules.is_empty() {
        let Some(found) = found else { return Ok(old.map(str::to_string)) };
        let (before, after) = (&text[..found.start], &text[found.end..]);
        let is_ours = found.note == NEW_FILE && before.is_empty() && after.is_empty();
        return Ok((!is_ours).then(|| {
            let line_end = line_end(text);
            let mut before = before;
            if !before.is_empty() {
                before = before.strip_suffix(line_end).unwrap_or(before);
            }
            if found.note == NO_LINE_END && after.is_empty() {
                before = before.strip_suffix(line_end).unwrap_or(before);
            }
            format!("{before}{after}")
        }));
    }
    let line_end = line_end(text);
    let (before, note, after) = match &found {
        Some(found) => (text[..found.start].to_string(), found.note, &text[found.end..]),
        None if old.is_none() => (String::new(), NEW_FILE, ""),
        None if text.is_empty() => (String::new(), "", ""),
        None if text.ends_with('\n') => (format!("{text}{line_end}"), "", ""),
        None => (format!("{text}{line_end}{line_end}"), NO_LINE_END, ""),
    };
    let mut block = format!("{BLOCK_BEGIN}{note}{CLOSE}{line_end}{TITLE}{line_end}{line_end}");
    for rule in ordered(rules) {
        block.push_str(&format!("- {rule}{line_end}"));
    }
    Ok(Some(format!("{before}{block}{BLOCK_END}{line_end}{after}")))
}

/// Rules as lines, in an order that does not depend on who publishes them.
fn ordered(rules: &[&str]) -> Vec<String> {
    let plain = |rule: &&str| line(rule, RULE_CHARS_MAX).replace("<!--", "< !--").replace("-->", "-- >");
    let mut lines: Vec<String> = rules.iter().map(plain).filter(|rule| !rule.is_empty()).collect();
    lines.sort_by_key(|rule| (rule.to_lowercase(), rule.clone()));
    lines.dedup();
    lines
}

struct PublishedBlock<'t> {
    start: usize,
    /// After its last line.
    end: usize,
    note: &'t str,
}

fn find(text: &str) -> Result<Option<PublishedBlock<'_>>, PublishError> {
    let mut at = 0;
    let mut begin = None;
    let mut block = None;
    for full in text.split_inclusive('\n') {
        let (start, end) = (at, at + full.len());
        at = end;
        let line = full.trim_end();
        if let Some(rest) = line.strip_prefix(BLOCK_BEGIN) {
            if begin.is_some() || block.is_some() {
                return Err(PublishError::Damaged);
            }
            let note = [NO_LINE_END, NEW_FILE].into_iter().find(|note| rest.starts_with(note));
            begin = Some((start, note.unwrap_or_default()));
        } else if line == BLOCK_END {
            let Some((start, note)) = begin.take() else { return Err(PublishError::Damaged) };
            block = Some(PublishedBlock { start, end, note });
        }
    }
    if begin.is_some() { Err(PublishError::Damaged) } else { Ok(block) }
}

/// The line end that the file uses.
fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(old: Option<&str>, rules: &[&str]) -> String {
        published(old, rules).unwrap().unwrap()
    }

    #[test]
    fn the_block_comes_last_and_is_replaced_in_place() {
        let one = with(Some("# Shop\n"), &["Use tabs.", "Never push to main."]);
        assert_eq!(
            one,
            "# Shop\n\n<!-- cerberus:begin (written by `cerberus memory publish`; edits here are lost) -->\n\
             ## Project rules\n\n- Never push to main.\n- Use tabs.\n<!-- cerberus:end -->\n"
        );
        assert_eq!(with(Some(&one), &["Never push to main.", "Use tabs."]), one, "again, in another order");
        let moved = format!("{one}\n# More\n");
        let changed = with(Some(&moved), &["Use spaces."]);
        assert!(
            changed.starts_with("# Shop\n\n<!--")
                && changed.ends_with("- Use spaces.\n<!-- cerberus:end -->\n\n# More\n")
        );
        assert_eq!(published(Some(&changed), &[]).unwrap().unwrap(), "# Shop\n\n# More\n");
    }

    #[test]
    fn a_rule_is_one_line_and_cannot_end_the_block() {
        let text = with(None, &["a\n<!-- cerberus:end -->\n# Title"]);
        assert!(text.contains("- a < !-- cerberus:end -- > # Title\n"), "{text}");
        assert_eq!(published(Some(&text), &[]), Ok(None), "it was made by us");
    }

    #[test]
    fn a_damaged_block_is_left_alone() {
        let whole = with(Some("x\n"), &["a"]);
        for text in [whole.replace(BLOCK_END, ""), whole.replacen(BLOCK_BEGIN, "", 1), format!("{whole}{whole}")] {
            assert_eq!(published(Some(&text), &["b"]), Err(PublishError::Damaged), "{text}");
        }
    }

    proptest! {
        #[test]
        fn unpublishing_gives_the_file_back(
            lines in proptest::collection::vec("[ -~é]{0,12}", 0..5),
            crlf in any::<bool>(),
            ends in any::<bool>(),
            rules in proptest::collection::vec("[ -~\n]{1,30}", 1..4),
            other in proptest::collection::vec("[a-z]{1,9}", 1..3),
        ) {
            let line_end = if crlf { "\r\n" } else { "\n" };
            let mut old = lines.join(line_end);
            if ends { old.push_str(line_end); }
            let refs: Vec<&str> = rules.iter().map(String::as_str).filter(|rule| !rule.trim().is_empty()).collect();
            prop_assume!(!refs.is_empty());
            let one = with(Some(&old), &refs);
            prop_assert!(one.starts_with(&old));
            prop_assert_eq!(&with(Some(&one), &refs), &one);
            let other: Vec<&str> = other.iter().map(String::as_str).collect();
            let two = with(Some(&one), &other);
            prop_assert_eq!(published(Some(&two), &[]), Ok(Some(old)));
        }
    }
}
