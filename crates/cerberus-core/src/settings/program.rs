//! How our program is written in a settings file, and how it is recognised there again.
//!
//! Ours are known by what they run, in any folder and any spelling. It never takes a longer command for ours: removing
//! `notify && cerberus …` would take somebody's own command along.

const PROGRAM: &str = "cerberus";

/// What stays as it is in a shell.
const PLAIN: &str = "/._-+@%:,=";

/// Whether the file name is ours, in any folder of any system, quoted or not.
pub(super) fn is_program(command: &str) -> bool {
    let name = command.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.trim_matches(['"', '\'']).to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name) == PROGRAM
}

/// The line that makes a shell run `program` with `args`. The same in every version: some agents trust a hook by its text.
pub(super) fn shell_line(program: &str, args: &[&str]) -> String {
    [&[shell_word(program).as_str()], args].concat().join(" ")
}

/// Quotes a text as one word of a shell command, if needed.
pub fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || PLAIN.contains(character);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The program of a shell line that is ours and nothing else, without its quotes.
pub(super) fn shell_program(line: &str, args: &[&str]) -> Option<String> {
    let mut rest = line.trim();
    for argument in args.iter().rev() {
        let before = rest.strip_suffix(argument)?;
        rest = before.trim_end();
        if rest.len() == before.len() {
            return None;
        }
    }
    one_word(rest).filter(|_| is_program(rest))
}

/// The word that a shell would read here; `None` when it would read several, or do something with them.
fn one_word(text: &str) -> Option<String> {
    let mut quote = None;
    let mut word = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.push(character),
            (None, '"' | '\'') => quote = Some(character),
            (None, '\\') => word.extend(characters.next()),
            (None, _) if character.is_whitespace() || ";&|<>()`".contains(character) => return None,
            (None, _) => word.push(character),
        }
    }
    quote.is_none().then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_for_a_shell_is_read_back() {
        for (program, line) in [
            ("/opt/bin/cerberus", "/opt/bin/cerberus hook codex"),
            ("/a b/cerberus", "'/a b/cerberus' hook codex"),
            ("/it's/$x/cerberus", r"'/it'\''s/$x/cerberus' hook codex"),
            ("/\u{e9};rm/cerberus", "'/\u{e9};rm/cerberus' hook codex"),
        ] {
            assert_eq!(shell_line(program, &["hook", "codex"]), line);
            assert_eq!(shell_program(line, &["hook", "codex"]).as_deref(), Some(program));
            assert_eq!(shell_program(line, &["hook", "gemini"]), None);
        }
    }
}
