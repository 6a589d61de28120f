//! How our program is written in a settings file, and how it is recognised again.
//!
//! Our entries are recognised by the program they run, in any folder and spelling. A longer command is never taken
//! for ours: removing `notify && cerberus …` would remove the user's own command too.

const PROGRAM: &str = "cerberus";

/// Characters that need no quoting in a shell.
const PLAIN: &str = "/._-+@%:,=";

/// Whether the file name is ours, in any folder of any system, quoted or not.
pub(super) fn is_program(command: &str) -> bool {
    let name = command.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.trim_matches(['"', '\'']).to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name) == PROGRAM
}

/// The shell line that runs `program` with `args`. It is the same in every version, because some agents trust a hook
/// by its text.
pub(super) fn shell_line(program: &str, args: &[&str]) -> String {
    let program = if is_windows_path(program) { windows_word(program) } else { shell_word(program) };
    [&[program.as_str()], args].concat().join(" ")
}

/// What some functions of Windows put before a path.
const VERBATIM: &str = r"\\?\";

/// `C:\folder\file`, in any spelling.
fn is_windows_path(path: &str) -> bool {
    let path = path.strip_prefix(VERBATIM).unwrap_or(path);
    matches!(path.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// A path of Windows as agents' shells there read it: Git Bash, `cmd` and PowerShell all accept slashes. A path that needs
/// quotes does not work in PowerShell, which takes a quoted word for a text; `install` gives one without blanks if it can.
fn windows_word(path: &str) -> String {
    let path = path.strip_prefix(VERBATIM).unwrap_or(path).replace('\\', "/");
    let is_plain = |character: char| character.is_alphanumeric() || PLAIN.contains(character);
    if path.chars().all(is_plain) { path } else { format!("\"{path}\"") }
}

/// Quotes a text as one word of a shell command, if needed.
pub fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || PLAIN.contains(character);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The unquoted program of a shell line that runs only our program.
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

/// The words of a shell line that runs one program; `None` if it does more than that, or needs expansion.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let end = word_end(rest);
        words.push(one_word(&rest[..end])?);
        rest = rest[end..].trim_start();
    }
    Some(words)
}

/// Where the first word ends: at the first space outside quotes.
fn word_end(text: &str) -> usize {
    let mut quote = None;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '\\') => drop(characters.next()),
            (None, _) if character.is_whitespace() => return at,
            (None, _) => {}
        }
    }
    text.len()
}

/// The word that a shell would read here; `None` if it is several words or needs expansion.
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
    fn shell_lines_are_read_back() {
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

    #[test]
    fn paths_of_windows_are_written_for_all_its_shells() {
        for (program, line, read) in [
            (r"C:\bin\cerberus.exe", "C:/bin/cerberus.exe hook codex", "C:/bin/cerberus.exe"),
            (r"\\?\D:\é\cerberus.exe", "D:/é/cerberus.exe hook codex", "D:/é/cerberus.exe"),
            (r"C:\a b\cerberus.exe", "\"C:/a b/cerberus.exe\" hook codex", "C:/a b/cerberus.exe"),
        ] {
            assert_eq!(shell_line(program, &["hook", "codex"]), line);
            assert_eq!(shell_program(line, &["hook", "codex"]).as_deref(), Some(read));
        }
        assert!(!is_windows_path("/c:/x") && !is_windows_path("c:x") && !is_windows_path("cc:/x"));
    }
}
