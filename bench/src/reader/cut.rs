//! Texts of the same length: as many tokens, as a brief counts them.

use cerberus_text::tokens;

/// The beginning of a text, with so many tokens at most.
pub fn beginning(text: &str, tokens_max: usize) -> String {
    let mut left = tokens_max;
    let mut kept = Vec::new();
    for line in text.lines() {
        let (part, is_whole) = part_of(line, left, |line, end| &line[..end]);
        kept.extend(part);
        if !is_whole {
            break;
        }
        left -= tokens::line(line);
    }
    kept.join("\n")
}

/// The end of a text, with so many tokens at most.
pub fn end(text: &str, tokens_max: usize) -> String {
    let mut left = tokens_max;
    let mut kept = Vec::new();
    for line in text.lines().rev() {
        let (part, is_whole) = part_of(line, left, |line, cut| &line[line.len() - cut..]);
        kept.extend(part);
        if !is_whole {
            break;
        }
        left -= tokens::line(line);
    }
    kept.reverse();
    kept.join("\n")
}

/// As much of a line as costs no more than this, and whether that is all of it.
fn part_of<'a>(line: &'a str, tokens_max: usize, cut: fn(&'a str, usize) -> &'a str) -> (Option<&'a str>, bool) {
    if tokens::line(line) <= tokens_max {
        return (Some(line), true);
    }
    let is_boundary = |length: &usize| line.is_char_boundary(*length) && line.is_char_boundary(line.len() - length);
    let lengths: Vec<usize> = (1..line.len()).filter(is_boundary).collect();
    let fits = |length: usize| tokens::line(cut(line, length)) <= tokens_max;
    // A longer part may cost a token less than a shorter one: what was found is looked at again.
    let mut found = lengths.partition_point(|length| fits(*length));
    while found > 0 && !fits(lengths[found - 1]) {
        found -= 1;
    }
    (found.checked_sub(1).map(|last| cut(line, lengths[last])), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_tokens_from_either_end() {
        let text = "first line of words\nsecond line of words\nthe third and last line of this text";
        assert_eq!(beginning(text, tokens::estimate(text)), text);
        assert_eq!(end(text, tokens::estimate(text)), text);
        for tokens_max in 1..tokens::estimate(text) {
            let (start, rest) = (beginning(text, tokens_max), end(text, tokens_max));
            assert!(text.starts_with(&start) && text.ends_with(&rest), "{start:?} {rest:?}");
            for part in [start, rest] {
                let cost = tokens::estimate(&part);
                assert!(cost <= tokens_max && cost + 2 >= tokens_max, "{tokens_max}: {part:?} costs {cost}");
            }
        }
    }

    #[test]
    fn a_long_line_is_cut_inside_a_word_and_never_inside_a_sign() {
        let text = "größe ".repeat(100_000);
        for part in [beginning(&text, 50), end(&text, 50)] {
            assert!((45..=50).contains(&tokens::estimate(&part)), "{part:?}");
        }
        assert_eq!((beginning("", 5), end("a b c", 0)), (String::new(), String::new()));
    }
}
