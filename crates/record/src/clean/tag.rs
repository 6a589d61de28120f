//! Removes `<private>…</private>` and everything in it from a text. An unclosed tag extends to the end.
//!
//! Tags may nest, in any case, with blanks or attributes. One pass; text without a tag is borrowed.

use std::borrow::Cow;

use memchr::memchr;

const NAME: &[u8] = b"private";
/// Anything longer is not a tag.
const TAG_BYTES_MAX: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Opens,
    Closes,
}

pub fn without_private(text: &str) -> Cow<'_, str> {
    Passages::default().outside(text)
}

/// Text that arrives line by line, in which a passage may extend over lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passages {
    /// How many tags are open.
    depth: usize,
}

impl Passages {
    /// Whether a passage goes on in the next part of the text.
    pub fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// What is outside of passages in the next part of the text.
    pub fn outside<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        cut(text, &mut self.depth)
    }
}

fn cut<'t>(text: &'t str, depth: &mut usize) -> Cow<'t, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    let mut is_cut = *depth > 0;
    while let Some(found) = memchr(b'<', &bytes[at..]) {
        let start = at + found;
        at = start + 1;
        let Some((tag, end)) = tag_at(bytes, start) else { continue };
        at = end;
        match (tag, *depth) {
            (Tag::Opens, 0) => {
                out.push_str(&text[kept..start]);
                (*depth, is_cut) = (1, true);
            }
            (Tag::Opens, _) => *depth += 1,
            // Closes nothing, so the text is about tags.
            (Tag::Closes, 0) => {}
            (Tag::Closes, _) => *depth -= 1,
        }
        kept = if *depth == 0 && is_cut && tag == Tag::Closes { end } else { kept };
    }
    if !is_cut {
        return Cow::Borrowed(text);
    }
    if *depth == 0 {
        out.push_str(&text[kept..]);
    }
    Cow::Owned(out)
}

/// The tag that begins at `start`, and its end.
fn tag_at(bytes: &[u8], start: usize) -> Option<(Tag, usize)> {
    let window = &bytes[start + 1..bytes.len().min(start + TAG_BYTES_MAX)];
    let blanks = |from: usize| window[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = blanks(0);
    let tag = if window.get(at) == Some(&b'/') { Tag::Closes } else { Tag::Opens };
    if tag == Tag::Closes {
        at += 1 + blanks(at + 1);
    }
    let name = window.get(at..at + NAME.len())?;
    at += NAME.len();
    let ends = matches!(window.get(at), Some(b'>' | b'/')) || window.get(at).is_some_and(u8::is_ascii_whitespace);
    if !name.eq_ignore_ascii_case(NAME) || !ends {
        return None;
    }
    let close = window[at..].iter().position(|&byte| byte == b'>')?;
    Some((tag, start + 1 + at + close + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn private_text_is_removed_and_the_rest_is_kept() {
        for (text, rest) in [
            ("a <private>b</private> c", "a  c"),
            ("<private>all of it</private>", ""),
            ("a <PRIVATE>\nb\n</Private>\nc", "a \nc"),
            ("a <private>never closed\nb", "a "),
            ("<private>a<private>b</private>c</private>d", "d"),
            ("<private>a<private>b</private>c", ""),
            ("a< private why=\"x\" >b</ private >c", "ac"),
            ("x <private>1</private> y <private>2</private> z", "x  y  z"),
        ] {
            assert_eq!(without_private(text), rest, "{text}");
        }
        for text in ["a < b", "<privateer>x", "</private> alone", "Vec<Private<T>>", "<priv", "private", ""] {
            assert!(matches!(without_private(text), Cow::Borrowed(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_between_the_tags_survives(
            before in "[a-z \n<>/]{0,20}", after in "[a-z \n<>]{0,20}", inner in "[A-Z0-9 \n<>/]{1,40}",
            open in prop_oneof![Just("<private>"), Just("<Private a='b'>"), Just("< PRIVATE>")],
        ) {
            let text = format!("{before}{open}QZX{inner}</private>{after}");
            prop_assert!(!without_private(&text).contains("QZX"), "{}", text);
            let unclosed = format!("{before}{open}QZX{inner}");
            prop_assert!(!without_private(&unclosed).contains("QZX"), "{}", unclosed);
            let once = without_private(&text).into_owned();
            prop_assert_eq!(without_private(&once), once.as_str());
        }
    }
}
