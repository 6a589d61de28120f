//! Finds the URL of `origin`, the worktree and the folder of hooks in the text of a `.git/config`.
//!
//! No other setting has any effect, includes are not followed, and malformed lines are skipped.

use std::iter::Peekable;
use std::str::Chars;

/// The first `url` of `[remote "origin"]`, which is the one that git fetches from.
pub fn origin_url(config: &str) -> Option<String> {
    values(config, is_remote_origin, "url").into_iter().next()
}

/// The folder whose files the repository manages, as the repository itself says: the last `worktree` of `[core]`.
pub fn worktree(config: &str) -> Option<String> {
    values(config, |header| header.eq_ignore_ascii_case("core"), "worktree").pop()
}

/// The folder with the hooks of the repository, if it is not the usual one: the last `hooksPath` of `[core]`.
pub fn hooks_path(config: &str) -> Option<String> {
    values(config, |header| header.eq_ignore_ascii_case("core"), "hookspath").pop()
}

/// All values of a key, in the sections whose header is meant.
fn values(config: &str, is_meant: impl Fn(&str) -> bool, wanted: &str) -> Vec<String> {
    let mut rest = config.trim_start_matches('\u{feff}').chars().peekable();
    let mut is_inside = false;
    let mut found = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '[' => is_inside = header(&mut rest).is_some_and(|header| is_meant(&header)),
            c if c.is_ascii_alphabetic() => {
                let value = setting(&mut rest, c).filter(|(key, _)| is_inside && key == wanted);
                found.extend(value.map(|(_, value)| value));
            }
            _ => skip_line(&mut rest),
        }
    }
    found
}

/// The text between the brackets, or nothing if they are not closed on the same line.
fn header(rest: &mut Peekable<Chars>) -> Option<String> {
    let mut header = String::new();
    let mut is_quoted = false;
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            ']' if !is_quoted => return Some(header),
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => header.extend(rest.next_if(|c| *c != '\n')),
            c => header.push(c),
        }
    }
    None
}

/// `[remote "origin"]`, or `[remote.origin]` as old versions wrote it.
fn is_remote_origin(header: &str) -> bool {
    let Some((section, name)) = header.split_once([' ', '\t', '.']) else { return false };
    section.eq_ignore_ascii_case("remote") && name.trim_start() == "origin"
}

/// A key in lower case with its value. Keys without a value are ignored.
fn setting(rest: &mut Peekable<Chars>, first: char) -> Option<(String, String)> {
    let mut key = first.to_ascii_lowercase().to_string();
    while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
        key.push(c.to_ascii_lowercase());
    }
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    match rest.next_if_eq(&'=') {
        Some(_) => Some((key, value(rest))),
        None => {
            skip_line(rest);
            None
        }
    }
}

/// A value up to the end of its line, without quotes, comment and surrounding blanks.
fn value(rest: &mut Peekable<Chars>) -> String {
    let mut value = String::new();
    let mut kept_bytes = 0;
    let mut is_quoted = false;
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                skip_line(rest);
                break;
            }
            '\\' => match rest.next() {
                // The value continues on the next line.
                None | Some('\n') => continue,
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(c) => value.push(c),
            },
            c if c.is_whitespace() && !is_quoted && value.is_empty() => {}
            c => value.push(c),
        }
        if is_quoted || !c.is_whitespace() {
            kept_bytes = value.len();
        }
    }
    value.truncate(kept_bytes);
    value
}

fn skip_line(rest: &mut Peekable<Chars>) {
    while rest.next_if(|c| *c != '\n').is_some() {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_the_same_url_as_git() {
        for (config, expected) in [
            ("[remote \"origin\"]\n\turl = https://a.example/b\n", Some("https://a.example/b")),
            ("[core]\n\tbare = false\n[remote \"origin\"]\n\tfetch = +x\n\turl=b\n", Some("b")),
            ("[Remote \"origin\"]\nURL = b", Some("b")),
            ("[remote.origin]\nurl = b", Some("b")),
            ("[remote \"origin\"] url = b", Some("b")),
            ("\u{feff}[remote \"origin\"]\r\n\turl = b\r\n", Some("b")),
            ("[remote \"origin\"]\nurl = first\nurl = second", Some("first")),
            ("[remote \"origin\"]\nurl = b # a comment", Some("b")),
            ("[remote \"origin\"]\nurl = \"b # c\" ; a comment", Some("b # c")),
            ("[remote \"origin\"]\nurl = \"a \"b", Some("a b")),
            ("[remote \"origin\"]\nurl = a\\\nb", Some("ab")),
            ("[remote \"origin\"]\nurl = a\\\\b\\\"c", Some("a\\b\"c")),
            ("[remote \"origin\"]\nurl\nurl = b", Some("b")),
            ("[remote \"origin\"]\n# url = a\n; url = a\nurl = b", Some("b")),
            ("[remote \"origin\"]\n= odd\nurl = b", Some("b")),
            ("[remote \"ori\\gin\"]\nurl = b", Some("b")),
            ("[remote \"Origin\"]\nurl = b", None),
            ("[remote \"upstream\"]\nurl = b", None),
            ("[remote \"origin\"]\npushurl = b", None),
            ("[remote \"origin\"]\n[branch \"main\"]\nurl = b", None),
            ("[remote \"origin\nurl = b", None),
            ("[branch \"x]\"]\nremote = origin\n[include]\npath = /etc/passwd", None),
            ("url = b", None),
            ("", None),
        ] {
            assert_eq!(origin_url(config).as_deref(), expected, "{config:?}");
        }
    }

    #[test]
    fn finds_the_worktree_that_git_uses() {
        for (config, expected) in [
            ("[core]\n\tbare = false\n\tworktree = ../../../sub\n", Some("../../../sub")),
            ("[Core]\nWorkTree = \"/a b\"", Some("/a b")),
            ("[core]\nworktree = a\n[x]\n[core]\nworktree = b", Some("b")),
            ("[core \"x\"]\nworktree = a", None),
            ("[remote \"origin\"]\nworktree = a", None),
            ("[core]\nbare = false", None),
        ] {
            assert_eq!(worktree(config).as_deref(), expected, "{config:?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(text in "(\\PC|[\\[\\]\"\\\\=#;\\n\\t ]|url|origin|remote){0,60}") {
            origin_url(&text);
        }

        #[test]
        fn quoted_values_round_trip(url in "[a-z:/ #;@\\\\\"]{0,30}") {
            let quoted = url.replace('\\', "\\\\").replace('"', "\\\"");
            let read = origin_url(&format!("[x]\ny = 1\n[remote \"origin\"]\n\turl = \"{quoted}\"\n"));
            prop_assert_eq!(read, Some(url));
        }
    }
}
