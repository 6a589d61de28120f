//! Patches as agents write them: Codex's own envelope, and unified diffs. Only what they tell is kept: which files,
//! which new lines, which names.

/// No line has the number zero: it changed, nobody said where, and what a scan of the new text saw stands.
pub const SOMEWHERE: (u32, u32) = (0, 0);

/// One file of an `apply_patch` envelope.
#[derive(Debug, Default, PartialEq)]
pub struct PatchedFile {
    /// Its name after the patch.
    pub path: String,
    /// The new lines, without their signs.
    pub added: String,
    pub is_new: bool,
}

/// The files of a patch between `*** Begin Patch` and `*** End Patch`, wherever it stands in the text.
pub fn files(text: &str) -> Vec<PatchedFile> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let Some((_, body)) = text.split_once("*** Begin Patch") else { return files };
    for line in body.lines() {
        if line.starts_with("*** End Patch") {
            break;
        }
        let new = line.strip_prefix("*** Add File: ");
        let known = line.strip_prefix("*** Update File: ").or(line.strip_prefix("*** Delete File: "));
        if let Some(path) = new.or(known) {
            files.push(PatchedFile { path: path.trim().to_string(), added: String::new(), is_new: new.is_some() });
        } else if let Some(file) = files.last_mut() {
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                file.path = path.trim().to_string();
            } else if let Some(added) = line.strip_prefix('+') {
                file.added.push_str(added);
                file.added.push('\n');
            }
        }
    }
    files.retain(|file| !file.path.is_empty());
    files
}

/// The ranges of new lines in a unified diff of one file; a deletion counts as the line it happened at. [`SOMEWHERE`]
/// when it tells none.
pub fn changed_lines(diff: &str, ranges_max: usize) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut number: Option<u32> = None;
    for line in diff.lines() {
        if let Some(start) = hunk_start(line) {
            number = Some(start);
            continue;
        }
        let Some(at) = number.as_mut() else { continue };
        let sign = line.as_bytes().first();
        if matches!(sign, Some(b'+' | b'-')) {
            let is_full = ranges.len() == ranges_max;
            match ranges.last_mut() {
                Some((first, last)) if (*first..=last.saturating_add(1)).contains(at) => *last = (*at).max(*last),
                _ if is_full => break,
                _ => ranges.push((*at, *at)),
            }
        }
        if !matches!(sign, Some(b'-' | b'\\')) {
            *at = at.saturating_add(1);
        }
    }
    if ranges.is_empty() {
        ranges.push(SOMEWHERE);
    }
    ranges
}

/// The new lines of a unified diff, without their signs.
pub fn added_lines(diff: &str) -> String {
    let mut added = String::new();
    let body = diff.lines().skip_while(|line| hunk_start(line).is_none());
    for line in body.filter_map(|line| line.strip_prefix('+')) {
        added.push_str(line);
        added.push('\n');
    }
    added
}

/// `@@ -1,2 +8,3 @@` begins at the eighth line of the new file.
fn hunk_start(line: &str) -> Option<u32> {
    let (_, new) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let digits = new.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_names_its_files_and_their_new_lines() {
        let text = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a.rs\n+fn a() {}\n+\n*** Update File: old/b.rs\n\
            *** Move to: new/b.rs\n@@ fn b\n context\n-gone\n+fn c() {}\n*** Delete File: d.rs\n*** Update File: \n+x\n\
            *** End Patch\n+after\nE";
        let files = files(text);
        let shown: Vec<(&str, &str)> = files.iter().map(|file| (&*file.path, &*file.added)).collect();
        assert_eq!(shown, [("a.rs", "fn a() {}\n\n"), ("new/b.rs", "fn c() {}\n"), ("d.rs", "")]);
        assert_eq!(super::files("*** Update File: a.rs"), []);
    }

    #[test]
    fn a_diff_names_its_new_lines() {
        let head = "--- a/x\n+++ b/x\n";
        for (diff, lines, added) in [
            ("@@ -1,5 +8,6 @@\n a\n-b\n+c\n+d\n e\n f\n-g\n h\n", vec![(9, 10), (13, 13)], "c\nd\n"),
            (
                "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n@@ -9,0 +20,2 @@ fn\n+c\n+d",
                vec![(1, 1), (20, 21)],
                "b\nc\nd\n",
            ),
            ("@@ -0,0 +1,1 @@\n+a\n", vec![(1, 1)], "a\n"),
            ("no diff\n+at all", vec![SOMEWHERE], ""),
            ("@@ -1 +99999999999 @@\n+a", vec![SOMEWHERE], ""),
        ] {
            for diff in [diff.to_string(), format!("{head}{diff}")] {
                assert_eq!(changed_lines(&diff, 64), lines, "{diff}");
                assert_eq!(added_lines(&diff), added, "{diff}");
            }
        }
        assert_eq!(changed_lines("@@ -1 +1 @@\n+a\n b\n+c\n d\n+e", 2), [(1, 1), (3, 3)]);
    }
}
