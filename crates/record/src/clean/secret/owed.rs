//! A bound on the work where secrets stand one after the other: the list is cut as a whole.

use super::cut::Cut;
use super::text::Text;

/// What finding a secret and looking around it costs, in bytes of text, and how much of this may be owed.
const CUT_BYTES: usize = 160;
const OWED_BYTES: usize = 64 * 1024;
/// How far the line is read in which a list of secrets ends.
const LINE_BYTES: usize = 4096;

/// How far the work on all secrets so far would reach. Where many hundreds of them stand closer together than in any
/// ordinary text, the work is not worth it: what is owed is cut with the last one, up to the end of a line.
#[derive(Default)]
pub(super) struct Owed {
    reach: usize,
}

impl Owed {
    /// The cut, or a longer one. `looked` is how far the looks since the last cut would reach.
    pub(super) fn settled(&mut self, text: &Text, cut: Cut, looked: usize) -> Cut {
        self.reach = self.reach.max(cut.start) + CUT_BYTES + looked.saturating_sub(cut.start);
        if self.reach <= cut.end + OWED_BYTES {
            return cut;
        }
        let end = text.scan(self.reach.min(text.bytes.len()), LINE_BYTES, |byte| byte != b'\n');
        Cut { end, ..cut }
    }
}
