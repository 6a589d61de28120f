//! Parses JSON-escaped patches: which files they change, at which lines, and what they define.
//!
//! A unified diff has line numbers. The `apply_patch` format has none, only context; there the definitions shown
//! around a change take the place of line numbers.

use std::borrow::Cow;

use cerberus_record::event::{FileTouch, Touch};
use cerberus_record::names;

use super::loose::Escaped;
use super::tool::{self, RANGES_MAX, Use};

/// The ranges of new lines in a hunk that starts at line `number`. A deletion counts as the line where it happened.
pub(crate) fn changed_lines<'a>(
    mut number: u32,
    lines: impl Iterator<Item = Escaped<'a>>,
    ranges: &mut Vec<(u32, u32)>,
) {
    for line in lines {
        let sign = line.0.as_bytes().first();
        if matches!(sign, Some(b'+' | b'-')) {
            match ranges.last_mut() {
                Some((first, last)) if (*first..=last.saturating_add(1)).contains(&number) => *last = number.max(*last),
                _ => ranges.push((number, number)),
            }
        }
        if !matches!(sign, Some(b'-' | b'\\')) {
            number = number.saturating_add(1);
        }
    }
}

/// The ranges of new lines in a unified diff of one file; [`FileTouch::SOMEWHERE`] if it has no hunk.
pub(crate) fn unified(diff: Escaped<'_>) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    let mut lines = diff.lines().skip_while(|line| new_start(line.0).is_none()).peekable();
    while let Some(header) = lines.next() {
        let Some(start) = new_start(header.0) else { continue };
        let hunk = std::iter::from_fn(|| lines.next_if(|line| line.0.starts_with(['+', '-', ' ', '\\'])));
        changed_lines(start, hunk, &mut ranges);
        if ranges.len() >= RANGES_MAX {
            break;
        }
    }
    if ranges.is_empty() {
        ranges.push(FileTouch::SOMEWHERE);
    }
    ranges
}

/// `@@ -1,2 +8,3 @@` starts at line 8 of the new file. An empty file starts at line 0, which becomes 1.
fn new_start(header: &str) -> Option<u32> {
    let (_, new) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let digits = new.bytes().take_while(u8::is_ascii_digit).count();
    new[..digits].parse().ok().map(|start: u32| start.max(1))
}

/// The files and names in an `apply_patch` text, which may be anywhere in `text`.
pub(crate) fn apply_patch<'a>(used: &mut Use<'a>, text: Escaped<'a>) {
    // The last definition shown in the hunk; changes below it belong to it.
    let mut enclosing = "";
    for line in text.lines() {
        if let Some(header) = line.0.strip_prefix("*** ") {
            enclosing = "";
            begin_file(used, header);
        } else if let Some(context) = line.0.strip_prefix("@@") {
            enclosing = context.trim_start();
        } else if let Some(context) = line.0.strip_prefix(' ') {
            let mut found = Vec::new();
            names::scan(used.cleaner, context, 1, &mut found);
            if !found.is_empty() {
                enclosing = context;
            }
        } else if line.0.starts_with(['+', '-']) && !used.files.is_empty() {
            used.define(enclosing);
            if let Some(added) = line.0.strip_prefix('+') {
                used.define(added);
            }
        }
    }
}

/// The first file that an `apply_patch` text changes.
pub(crate) fn first_file(text: &str) -> Option<String> {
    let header = |line: &str| {
        let header = line.strip_prefix("*** ")?;
        let path =
            ["Add File: ", "Update File: ", "Delete File: "].iter().find_map(|what| header.strip_prefix(what))?;
        Some(path.trim_end().to_string())
    };
    text.lines().find_map(header)
}

fn begin_file<'a>(used: &mut Use<'a>, header: &'a str) {
    let path = |path: &'a str| -> Cow<'a, str> { Escaped(path.trim_end()).unescaped() };
    if let Some(added) = header.strip_prefix("Add File: ") {
        tool::push_file(used, path(added), Touch::Edited, Vec::new());
    } else if let Some(changed) = header.strip_prefix("Update File: ").or(header.strip_prefix("Delete File: ")) {
        tool::push_file(used, path(changed), Touch::Edited, vec![FileTouch::SOMEWHERE]);
    } else if let Some(target) = header.strip_prefix("Move to: ") {
        // The file was moved, so the old path is gone.
        used.files.pop();
        tool::push_file(used, path(target), Touch::Edited, vec![FileTouch::SOMEWHERE]);
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_string()
    }

    #[test]
    fn a_unified_diff_gives_its_new_lines() {
        for (diff, ranges) in [
            ("Index: a\n===\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n hello\n-world\n+there\n", vec![(2, 2)]),
            ("--- a\n+++ a\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n", vec![(1, 3)]),
            ("@@ -3,0 +8,1 @@ fn x\n+a\n c\n@@ -30,3 +40,2 @@\n b\n-gone\n c\n\\ No newline", vec![(8, 8), (41, 41)]),
            ("@@ -1,2 +0,0 @@\n-a\n-b\n", vec![(1, 1)]),
            ("no diff at all", vec![(0, 0)]),
            ("", vec![(0, 0)]),
        ] {
            assert_eq!(unified(Escaped(&escaped(diff))), ranges, "{diff}");
        }
    }

    #[test]
    fn a_patch_gives_files_and_enclosing_definitions() {
        let patch = "*** Begin Patch\n*** Update File: src/größe \"x\".rs\n@@ impl Store\n fn open() {\n-    a\n+    b\n }\n \
            fn untouched() {\n@@\n+fn added() {}\n*** Add File: b.py\n+class B:\n+\tdef m(self):\n+        pass\n\
            *** Delete File: c.go\n*** Update File: d.rs\n*** Move to: e/d.rs\n@@\n-x\n+y\n*** End Patch\n";
        let text = escaped(patch);
        let mut used = Use::new(&BUILT_IN);
        apply_patch(&mut used, Escaped(&text));
        let files: Vec<_> = used.files.iter().map(|file| (&*file.path, file.lines.len())).collect();
        assert_eq!(files, [("src/größe \"x\".rs", 1), ("b.py", 0), ("c.go", 1), ("e/d.rs", 1)]);
        let names: Vec<&str> = used.names.iter().map(|name| &**name).collect();
        assert_eq!(names, ["open", "added", "B", "m"]);
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "\\PC{0,80}|(@@ -1 \\+[0-9]{1,12} @@\\\\n|[+ -]x\\\\n|\\*\\*\\* (Add|Update) File: a\\\\n){0,20}") {
            let _ = unified(Escaped(&text));
            apply_patch(&mut Use::new(&BUILT_IN), Escaped(&text));
        }
    }
}
