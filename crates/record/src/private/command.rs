//! Private files in commands, however they are spelled: after `cd`, in quotes, braces, variables and nested scripts.
//!
//! A command is only read as a shell would if its letters can spell a private path; nearly none can.

use std::ops::Range;

use super::{PrivacyRules, SPELLED, Speech};
use crate::shell;

/// Stands between the halves of a command that was too long to keep.
const GAP: &str = "\n…\n";

/// The private words of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PrivateWords {
    /// In order, not overlapping.
    pub(super) words: Vec<Range<usize>>,
    /// It works in a private folder or names a private file.
    pub(super) is_private: bool,
}

impl PrivacyRules {
    /// The words of a command that name private files, or anything in a private folder.
    pub(super) fn in_command(&self, command: &str) -> PrivateWords {
        if !self.may_be_spelled(command) {
            return PrivateWords::default();
        }
        let mut found = PrivateWords::default();
        let mut at = 0;
        for part in command.split(GAP) {
            for group in shell::groups(part) {
                self.in_group(&group, at, &mut found);
            }
            at += part.len() + GAP.len();
        }
        found.words.retain(|range| !self.is_plain(&command[range.clone()]));
        found.words.sort_by_key(|range| range.start);
        let mut end = 0;
        found.words.retain(|range| {
            let is_free = range.start >= end;
            end = end.max(range.end);
            is_free
        });
        found
    }

    fn in_group(&self, group: &shell::WordGroup, at: usize, found: &mut PrivateWords) {
        let holds_private = |path: &str| self.is_private(&format!("{path}/x"));
        let is_folder = |word: &shell::NamedPaths| word.paths.iter().any(|path| holds_private(path));
        let works_there = !group.folder.is_empty() && holds_private(&group.folder);
        let named = group.words.iter().position(|word| word.is_argument && is_folder(word));
        found.is_private |= works_there || named.is_some();
        for (index, word) in group.words.iter().enumerate() {
            let is_file = word.paths.iter().any(|path| self.is_private(path));
            // A name beside a private folder may be one inside it: `find secrets -name x`.
            let is_beside = word.is_argument && (works_there || named.is_some_and(|folder| folder != index));
            if is_file || is_beside {
                found.is_private = true;
                found.words.push(at + word.range.start..at + word.range.end);
            }
        }
    }

    /// Is the word a private path as it stands, behind nothing but a quote or `--name=`? It is then found in the text.
    fn is_plain(&self, word: &str) -> bool {
        let mut words = self.private_words(word, Speech::Exact);
        let (Some((start, path)), None) = (words.next(), words.next()) else { return false };
        let (before, after) = (&word[..start], &word[start + path.len()..]);
        let is_quote = |c: char| matches!(c, '\'' | '"');
        after.chars().all(is_quote)
            && (before.chars().all(is_quote) || before.starts_with('-') && before.ends_with('='))
    }

    /// Can the command name a private path? One pass over the bytes, without allocation.
    fn may_be_spelled(&self, command: &str) -> bool {
        let bytes = command.as_bytes();
        let has_own = !self.own_paths.is_empty() || !self.projects.is_empty();
        bytes.iter().enumerate().any(|(at, &byte)| match byte {
            b'.' | b'i' | b'I' | b's' | b'S' => SPELLED.iter().any(|word| is_spelled(&bytes[at..], word.as_bytes())),
            b'{' => is_brace(&bytes[at..]),
            b'$' => bytes.get(at + 1) == Some(&b'\'') || has_own,
            b'\'' | b'"' | b'\\' => has_own,
            b'c' => has_own && bytes[at..].starts_with(b"cd "),
            b'-' => has_own && bytes[at..].starts_with(b"-C"),
            _ => false,
        })
    }
}

/// Do the bytes begin with the word, if quotes and braces are left out?
fn is_spelled(bytes: &[u8], word: &[u8]) -> bool {
    let mut letters = word.iter();
    let mut wanted = letters.next();
    for &byte in bytes {
        match wanted {
            Some(letter) if byte.eq_ignore_ascii_case(letter) => wanted = letters.next(),
            Some(_) if matches!(byte, b'\'' | b'"' | b'\\' | b'{' | b'$') => {}
            Some(_) => return false,
            None => return true,
        }
    }
    wanted.is_none()
}

/// `{a,b}` without a blank or a quote in it.
fn is_brace(bytes: &[u8]) -> bool {
    let inside = bytes.iter().skip(1).take(64).take_while(|byte| !matches!(byte, b'}' | b' ' | b'"' | b'\n'));
    let (mut length, mut has_comma) = (0, false);
    for byte in inside {
        length += 1;
        has_comma |= *byte == b',';
    }
    has_comma && bytes.get(length + 1) == Some(&b'}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(rules: &PrivacyRules, command: &str) -> String {
        let mut out = command.to_string();
        for range in rules.in_command(command).words.into_iter().rev() {
            out.replace_range(range, "#");
        }
        out
    }

    #[test]
    fn private_names_are_found_however_they_are_spelled() {
        let rules = PrivacyRules::default();
        for (command, shown) in [
            ("cd secrets && cat NAME", "cd secrets && cat #"),
            ("cat secrets/a\"b\"c --key=.env.{a,b}", "cat # #"),
            ("(cd secrets; cat NAME); ls src", "(cd secrets; cat #); ls src"),
            ("c\"a\"t .en''v", "c\"a\"t #"),
            ("cat .e\\nv; ls", "cat #; ls"),
            ("cat $'\\x2eenv'", "cat #"),
            ("cat secrets/{a,b}.yaml", "cat #"),
            ("cat .{x,env}", "cat #"),
            ("git -C secrets show NAME", "git -C # # #"),
            ("D=secrets; cat $D/NAME", "D=secrets; cat #"),
            ("bash -c 'cd secrets && cat NAME'", "bash -c 'cd secrets && cat #'"),
            ("bash -c \"cd \\\"secrets\\\" && cat NAME\"", "bash -c #"),
            ("bash -c 'cat <<EOF > \"sec\"rets/NAME\nEOF'", "bash -c 'cat <<EOF > #\nEOF'"),
            ("find secrets -name NAME", "find secrets -name #"),
            ("echo $(cat \"secrets\"/NAME)", "echo $(cat #)"),
            ("cat < sec\"rets\"/NAME", "cat < #"),
            ("sudo env A=b cat id_'rsa'", "sudo env A=b cat #"),
            ("xargs cat < 's'ecrets/list", "xargs cat < #"),
        ] {
            assert_eq!(hidden(&rules, command), shown, "{command}");
            assert!(rules.in_command(command).is_private, "{command}");
        }
        assert!(rules.in_command("cd secrets && cargo test").is_private);
    }

    #[test]
    fn other_commands_are_not_read_and_stay_as_they_are() {
        let rules = PrivacyRules::default();
        for command in [
            "cargo test -p env && cat src/key.rs",
            "ls src/secrets.rs",
            "git commit -m \"it's done\"",
            "curl -d '{\"a\":1,\"b\":2}' x",
            "cp {a,b}.rs c",
            "cat src/environment.rs",
        ] {
            assert_eq!(rules.in_command(command), PrivateWords::default(), "{command}");
        }
        assert!(!rules.may_be_spelled("git commit -m \"it's done\" && cargo test 'x y' $HOME"));
    }

    #[test]
    fn own_patterns_hold_too() {
        let rules = PrivacyRules::read(&["ledgers/**".to_string()], &["/home/me/client".to_string()], None).unwrap();
        assert_eq!(hidden(&rules, "cd ledgers && cat NAME"), "cd ledgers && cat #");
        assert_eq!(hidden(&rules, "cd /home/me/client && cat NAME"), "cd /home/me/client && cat #");
        assert_eq!(hidden(&rules, "cat led\"gers\"/x"), "cat #");
    }
}
