//! Markdown as an agent writes it: headings, labels and the items of their lists.
//!
//! A list ends at the first line that belongs to neither the list nor one of its items. Finished items and offers are
//! not items.

/// One line of a list: its indentation and its text.
pub struct ListItem<'a> {
    pub indent: usize,
    pub numbered: bool,
    pub text: &'a str,
}

/// The lines outside code blocks.
pub fn prose(text: &str) -> Vec<&str> {
    text.lines().zip(in_code(text)).filter(|(_, is_code)| !is_code).map(|(line, _)| line).collect()
}

/// Whether each line is in a code block, with the marks around it.
pub fn in_code(text: &str) -> Vec<bool> {
    let marks: Vec<Option<char>> = text.lines().map(code_mark).collect();
    let mut ticks_left = marks.iter().filter(|mark| **mark == Some('`')).count();
    let mut open = None;
    let is_code = |(line, mark): (&str, &Option<char>)| {
        // A block may have begun or ended in what was left out. Afterwards, every mark has its partner.
        if line == LEFT_OUT {
            open = (ticks_left % 2 == 1).then_some('`');
        }
        ticks_left -= usize::from(*mark == Some('`'));
        let was_open = open.is_some();
        match (open, mark) {
            (None, Some(_)) => open = *mark,
            // The other mark is part of the code.
            (Some(opened), Some(mark)) if opened == *mark => open = None,
            _ => {}
        }
        was_open || open.is_some()
    };
    text.lines().zip(&marks).map(is_code).collect()
}

/// The line that stands for what was left out of a long text.
const LEFT_OUT: &str = "…";

/// The character of which a line makes a mark around code. `~~~~^~~` is how a compiler underlines.
fn code_mark(line: &str) -> Option<char> {
    let line = line.trim_start();
    match line {
        _ if line.starts_with("```") => Some('`'),
        _ if line.starts_with("~~~") && !line.contains('^') => Some('~'),
        _ => None,
    }
}

/// Parses `line` as an item with a bullet or number.
pub fn item(line: &str) -> Option<ListItem<'_>> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let bullet = text.strip_prefix(['-', '*', '•', '+', '–']).filter(|rest| rest.starts_with([' ', '\t']));
    if let Some(rest) = bullet {
        return Some(ListItem { indent, numbered: false, text: rest.trim() });
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].strip_prefix(['.', ')'])?;
    ((1..=3).contains(&digits) && rest.starts_with([' ', '\t'])).then(|| ListItem {
        indent,
        numbered: true,
        text: rest.trim(),
    })
}

/// The level and the text of a heading.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start();
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && line[level..].starts_with(' ')).then(|| (level, line[level..].trim()))
}

/// A line that names what follows: a heading, a bold label, a few words with a colon. Returns the label in lower case
/// and the rest of the line.
pub fn label(line: &str) -> Option<(String, &str)> {
    if let Some((_, title)) = heading(line) {
        return Some((plain_label(title), ""));
    }
    let text = line.trim();
    if let Some((bold, rest)) = text.strip_prefix("**").and_then(|text| text.split_once("**")) {
        let rest = rest.trim_start();
        let named = bold.trim_end().ends_with(':') || rest.is_empty() || rest.starts_with(':');
        return named.then(|| (plain_label(bold), rest.trim_start_matches(':').trim()));
    }
    let (name, rest) = text.split_once(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| (plain_label(name), rest.trim()))
}

/// `✅ 7. Next Steps (optional):` becomes `next steps`.
fn plain_label(text: &str) -> String {
    let text = text.split('(').next().unwrap_or_default();
    let text = text.trim_matches(|c: char| !c.is_alphabetic());
    text.to_lowercase().replace('’', "'")
}

/// An item that is checked, ticked or struck through.
pub fn is_finished(text: &str) -> bool {
    const MARKS: &[&str] = &["[x]", "[X]", "✅", "✓", "✔", "☑", "~~", "**~~", "(done)", "done:", "❌", "**✅"];
    let text = text.trim();
    let low = text.to_lowercase();
    MARKS.iter().any(|mark| text.starts_with(mark))
        || text.ends_with(['✅', '✓', '✔', '☑'])
        || ["(done)", "(completed)", "- done", "— done", "– done", "(complete)", "(fixed)"]
            .iter()
            .any(|end| low.trim_end_matches('.').ends_with(end))
}

/// "Would you like me to …" is a question; nothing is planned yet.
pub fn is_offer(text: &str) -> bool {
    const OPENINGS: &str = "would you|let me know|want me|do you want|should i|shall i|if you'd like|if you want|if you would|\
        happy to|i can |feel free|you can |you might|you could|you may|just say|just let|say the word|tell me|\
        ready when";
    let low = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
    text.trim_end_matches(['*', '_', ' ']).ends_with('?') || OPENINGS.split('|').any(|opening| low.starts_with(opening))
}

/// The text of an item, without emphasis marks and empty boxes; of a link, what is read. Two underscores are part of a
/// name, such as `__init__.py`.
pub fn plain(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix("[ ]").or_else(|| text.strip_prefix('☐')).unwrap_or(text);
    let text = text.trim_start().replace("**", "");
    if text.contains("](") { without_targets(&text) } else { text }
}

/// `[text](target)` → `text`, outside code: `handlers[name](event)` is none.
fn without_targets(text: &str) -> String {
    let (mut read, mut rest, mut is_code) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once("](") {
        is_code ^= before.matches('`').count() % 2 == 1;
        let is_call = |c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']');
        let label = before.rsplit_once('[').filter(|(left, label)| !label.contains(']') && !left.ends_with(is_call));
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, ')' | '[' | ']'));
        match (label, end.and_then(|end| after[end..].strip_prefix(')'))) {
            (Some((left, label)), Some(after)) if !is_code => {
                read.push_str(left);
                read.push_str(label);
                rest = after;
            }
            _ => {
                read.push_str(before);
                read.push_str("](");
                rest = after;
            }
        }
    }
    read + rest
}

/// The top-level items of the list that `lines` begins with. Blank lines may separate them.
pub fn items<'a>(lines: &[&'a str]) -> Vec<ListItem<'a>> {
    let mut items: Vec<ListItem> = Vec::new();
    let mut blank = false;
    for line in lines {
        if line.trim().is_empty() {
            blank = true;
            continue;
        }
        let depth = items.first().map(|first: &ListItem| first.indent);
        match (item(line), depth) {
            (Some(item), None) => items.push(item),
            (Some(item), Some(depth)) if item.indent <= depth + 1 => {
                let first = items.first().map(|first| first.numbered);
                // A list of the other type after a blank line is another list.
                if blank && first != Some(item.numbered) {
                    break;
                }
                items.push(item);
            }
            // Deeper items explain their parent.
            (Some(_), Some(_)) => {}
            (None, Some(depth)) if line.len() - line.trim_start().len() > depth => {}
            (None, _) => break,
        }
        blank = false;
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_of_a_line_is_left() {
        for (line, expected) in [
            ("**Fixed** in [b.rs](src/b.rs:12), see [#3](https://x.org/3).", "Fixed in b.rs, see #3."),
            ("a[0] and f[1](x y) of __init__.py", "a[0] and f[1](x y) of __init__.py"),
            ("handlers[name](event), `see [a](b)` and [`c`](d)", "handlers[name](event), `see [a](b)` and `c`"),
            ("[ ] [a] is not [b](c", "[a] is not [b](c"),
        ] {
            assert_eq!(plain(line), expected);
        }
    }

    #[test]
    fn code_is_told_apart_from_prose() {
        assert_eq!(prose("a\n```rust\nlet x;\n```\nb\n~~~\nc\n~~~"), ["a", "b"]);
        assert_eq!(prose("a\n```\nnever closed"), ["a"]);
    }

    #[test]
    fn a_text_that_was_cut_in_a_code_block_ends_with_prose() {
        assert_eq!(prose("a\n```rust\nlet x;\n…\nb\n```\nc\n```\nd"), ["a", "…", "b", "d"], "it was closed in between");
        assert_eq!(prose("a\n…\nlet y;\n```\nb"), ["a", "b"], "it was opened in between");
        assert_eq!(prose("a\n```\nb\n…\nc\n```\nd"), ["a", "d"], "one block from end to end");
        assert_eq!(prose("a\n```\nf(x)\n  ~~~~\n```\nb"), ["a", "b"], "another mark is code");
        assert_eq!(prose("a\n~~~\n```\n~~~\nb"), ["a", "b"]);
        assert_eq!(prose("a\n  ~~~^~~\nb"), ["a", "  ~~~^~~", "b"], "a compiler's underline");
    }
}
