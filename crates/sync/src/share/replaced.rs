//! Words of a text that others stand for.

use std::borrow::Cow;

/// The text with other words for some of it. `told` says for a place how much is replaced there, and by what.
pub fn replaced<'t>(text: &'t str, told: impl Fn(usize) -> Option<(usize, String)>) -> Cow<'t, str> {
    let (mut out, mut copied) = (String::new(), 0);
    for (at, _) in text.char_indices() {
        if at >= copied
            && let Some((bytes, told)) = told(at)
        {
            out.push_str(&text[copied..at]);
            out.push_str(&told);
            copied = at + bytes;
        }
    }
    out.push_str(&text[copied..]);
    if copied == 0 { Cow::Borrowed(text) } else { Cow::Owned(out) }
}
