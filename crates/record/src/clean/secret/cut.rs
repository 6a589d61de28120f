//! What is cut out of a text, and the mark that takes its place.

/// A secret: the rule that found it and its byte range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) name: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What replaces a secret, up to its kind.
pub(super) const MARK: &str = "[redacted:";

/// The maximum distance that is looked at, except by looks that end in a cut.
pub(super) const AROUND_BYTES: usize = 1024;

pub(super) fn covered<'t>(text: &'t str, cut: &Cut) -> &'t str {
    &text[text.floor_char_boundary(cut.start)..text.ceil_char_boundary(cut.end)]
}

/// The text with every cut replaced by a mark.
pub(super) fn replaced(text: &str, cuts: impl Iterator<Item = Cut>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for cut in cuts {
        // A cut that extends beyond its range may overlap the next.
        if cut.start < kept {
            continue;
        }
        // Cuts end at ASCII bytes, except where a limit ended the look ahead.
        out.push_str(&text[kept..text.floor_char_boundary(cut.start).max(kept)]);
        out.push_str(MARK);
        out.push_str(cut.name);
        out.push(']');
        kept = text.ceil_char_boundary(cut.end);
    }
    out.push_str(&text[kept..]);
    out
}
