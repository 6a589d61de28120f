//! A unified line diff, to show what an installation would change.
//!
//! Hunks only, without file headers: the caller knows the name. Invariant: applying the hunks to `before` gives
//! `after`. The diff is minimal unless the differing middle exceeds [`CELLS_MAX`]; then the middle is replaced as a
//! whole. It never colours or truncates lines.

use std::fmt::Write as _;

const CONTEXT_LINES: usize = 3;

/// Limits the table of the longest common subsequence, and so memory and time.
const CELLS_MAX: usize = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Kept,
    Removed,
    Added,
}

type DiffLine<'a> = (Change, &'a str);

/// The changes from `before` to `after`; empty if they are equal.
pub fn diff(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let lines = compare(&old, &new);
    let mut out = String::new();
    let (mut old_line, mut new_line, mut at) = (1, 1, 0);
    for hunk in hunks(&lines) {
        let skipped = hunk.start - at;
        (old_line, new_line) = (old_line + skipped, new_line + skipped);
        at = hunk.end;
        let lines = &lines[hunk];
        let old_count = lines.iter().filter(|(change, _)| *change != Change::Added).count();
        let new_count = lines.iter().filter(|(change, _)| *change != Change::Removed).count();
        // An empty range is named after the line before it, as in diff and patch.
        let old_start = old_line - usize::from(old_count == 0);
        let new_start = new_line - usize::from(new_count == 0);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "@@ -{old_start},{old_count} +{new_start},{new_count} @@");
        lines.iter().for_each(|line| push_line(&mut out, line));
        (old_line, new_line) = (old_line + old_count, new_line + new_count);
    }
    out
}

fn push_line(out: &mut String, (change, line): &DiffLine<'_>) {
    out.push(match change {
        Change::Kept => ' ',
        Change::Removed => '-',
        Change::Added => '+',
    });
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut lines: Vec<DiffLine<'a>> = old[..prefix].iter().map(|&line| (Change::Kept, line)).collect();
    middle(&mut lines, &old_rest[..old_rest.len() - suffix], &new_rest[..new_rest.len() - suffix]);
    lines.extend(old[old.len() - suffix..].iter().map(|&line| (Change::Kept, line)));
    lines
}

/// Compares by longest common subsequence, or replaces everything if that is too expensive.
fn middle<'a>(lines: &mut Vec<DiffLine<'a>>, old: &[&'a str], new: &[&'a str]) {
    let width = new.len() + 1;
    let (mut i, mut j) = (0, 0);
    if (old.len() + 1).saturating_mul(width) <= CELLS_MAX {
        // common[i * width + j]: length of the longest common subsequence of old[i..] and new[j..].
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for (i, j) in (0..old.len()).rev().flat_map(|i| (0..new.len()).rev().map(move |j| (i, j))) {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
        while i < old.len() && j < new.len() {
            if old[i] == new[j] {
                lines.push((Change::Kept, old[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.push((Change::Removed, old[i]));
                i += 1;
            } else {
                lines.push((Change::Added, new[j]));
                j += 1;
            }
        }
    }
    lines.extend(old[i..].iter().map(|&line| (Change::Removed, line)));
    lines.extend(new[j..].iter().map(|&line| (Change::Added, line)));
}

/// The changed lines with their context, as ranges that do not touch.
fn hunks(lines: &[DiffLine<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in lines.iter().enumerate().filter(|(_, (change, _))| *change != Change::Kept) {
        let start = index.saturating_sub(CONTEXT_LINES);
        let end = (index + 1 + CONTEXT_LINES).min(lines.len());
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
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
                let (start, rest) = header.split_once(',').unwrap();
                let (start, count) = (start.parse::<usize>().unwrap(), rest.split(' ').next().unwrap());
                let first = if count == "0" { start } else { start - 1 };
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
        assert_eq!(diff("", "{}\n"), "@@ -0,0 +1,1 @@\n+{}\n");
        assert_eq!(diff("{}\n", ""), "@@ -1,1 +0,0 @@\n-{}\n");
        assert_eq!(diff("a\r\n", "a\n"), "@@ -1,1 +1,1 @@\n-a\r\n+a\n");
    }

    #[test]
    fn a_middle_too_large_to_compare_is_replaced_whole() {
        let before: String = (0..2_000).map(|line| format!("{line}\n")).collect();
        let after: String = (1..2_001).rev().map(|line| format!("{line}\n")).collect();
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
