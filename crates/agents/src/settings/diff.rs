//! A unified line diff, to show what an installation would change.
//!
//! Hunks only, without file headers: the caller knows the name. Invariant: applying the hunks to `before` gives
//! `after`. The diff is minimal unless that would take longer than [`TIME_MAX`]. It never colours or truncates lines.

use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;
use similar::udiff::UnifiedHunkHeader;

const CONTEXT_LINES: usize = 3;

/// Real files take less than a millisecond. One that was rewritten as a whole need not be compared to the end.
const TIME_MAX: Duration = Duration::from_millis(200);

/// The changes from `before` to `after`; empty if they are equal.
pub fn diff(before: &str, after: &str) -> String {
    // The library would also end lines at a lone carriage return.
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_slices(&old, &new);
    let mut out = String::new();
    for hunk in diff.grouped_ops(CONTEXT_LINES) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", UnifiedHunkHeader::new(&hunk));
        for change in hunk.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let _ = write!(out, "{}{}", change.tag(), change.value());
            if !change.value().ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    /// What `patch` would do, but without tolerance for mismatched context.
    fn apply(before: &str, patch: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let mut at = 0;
        let mut out = String::new();
        let mut body = patch.split_inclusive('\n').peekable();
        while let Some(line) = body.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let range = header.split(' ').next().unwrap();
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                let first = start.parse::<usize>().unwrap() - usize::from(count != "0");
                out.extend(old[at..first].iter().copied());
                at = first;
                continue;
            }
            let last = body.next_if(|next| next.starts_with('\\')).is_some();
            let content = if last { line[1..].strip_suffix('\n').unwrap() } else { &line[1..] };
            match &line[..1] {
                "+" => out.push_str(content),
                sign => {
                    assert_eq!(old[at], content);
                    at += 1;
                    if sign == " " {
                        out.push_str(content);
                    }
                }
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    #[test]
    fn shows_changes_with_three_lines_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let after = "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n13\n14";
        let expected = "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n\
                        @@ -11,3 +11,4 @@\n 11\n 12\n 13\n+14\n\\ No newline at end of file\n";
        assert_eq!(diff(before, after), expected);
        assert_eq!(diff(before, before), "");
        assert_eq!(diff("", "{}\n"), "@@ -0,0 +1 @@\n+{}\n");
        assert_eq!(diff("{}\n", ""), "@@ -1 +0,0 @@\n-{}\n");
        assert_eq!(diff("a\r\n", "a\n"), "@@ -1 +1 @@\n-a\r\n+a\n");
    }

    #[test]
    fn a_file_too_large_to_compare_is_replaced_in_a_moment() {
        let before: String = (0..100_000).map(|line| format!("{line}\n")).collect();
        let after: String = (100_000..200_000).map(|line| format!("{line}\n")).collect();
        assert_eq!(apply(&before, &diff(&before, &after)), after);
    }

    proptest! {
        #[test]
        fn applying_the_diff_gives_the_new_text(before in "[ab\r\n]{0,40}", after in "[ab\r\n]{0,40}") {
            prop_assert_eq!(apply(&before, &diff(&before, &after)), after);
        }

        #[test]
        fn nothing_is_shown_for_equal_texts(text in any::<String>()) {
            prop_assert_eq!(diff(&text, &text), "");
        }
    }
}
