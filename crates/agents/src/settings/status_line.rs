//! Our status line in an agent's JSON file. A status line that the user already has is kept: ours runs it and prints its
//! output first.
//!
//! It is optional: installing without asking for it adds none, but keeps an existing one up to date.

use super::edit::{Editor, Json};
use super::json::{self, Node, expect_kind};
use super::program::{is_program, shell_line, shell_word, words};
use super::{JsonKind, SettingsError};

const KEY: &str = "statusLine";

/// The arguments that print the line, and the option before the user's own command.
const ARGS: [&str; 1] = ["statusline"];
const WRAP: &str = "--wrap";

/// Our line in a settings file.
struct Ours {
    /// The index of the status line in the file.
    index: usize,
    program: String,
    /// The user's own command, which ours runs.
    wrapped: Option<String>,
}

pub(super) fn install(is_wanted: bool, text: &str, program: &str) -> Result<String, SettingsError> {
    let ours = find(text)?;
    if ours.is_none() && !is_wanted || ours.as_ref().is_some_and(|ours| ours.program == program) {
        return Ok(text.to_owned());
    }
    let text = &json::or_empty_object(text);
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    match command_of(text, &root)? {
        Some(command) => {
            let own = match ours {
                Some(ours) => ours.wrapped,
                None => command.string(text),
            };
            editor.replace(command, &Json::Text(&line(program, own.as_deref())));
        }
        None => {
            let line = line(program, None);
            let ours = Json::Object(vec![("type", Json::Text("command")), ("command", Json::Text(&line))]);
            editor.append(&root, &Json::Object(vec![(KEY, ours)]));
        }
    }
    Ok(editor.finish())
}

pub(super) fn uninstall(text: &str) -> Result<String, SettingsError> {
    let Some(ours) = find(text)? else { return Ok(text.to_owned()) };
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    match (&ours.wrapped, command_of(text, &root)?) {
        (Some(own), Some(command)) => editor.replace(command, &Json::Text(own)),
        _ => editor.remove(&root, &[ours.index]),
    }
    Ok(editor.finish())
}

/// The program of our status line, if the file has one.
pub(super) fn program(text: &str) -> Result<Option<String>, SettingsError> {
    Ok(find(text)?.map(|ours| ours.program))
}

fn line(program: &str, own: Option<&str>) -> String {
    let line = shell_line(program, &ARGS);
    own.map_or(line.clone(), |own| format!("{line} {WRAP} {}", shell_word(own)))
}

fn find(text: &str) -> Result<Option<Ours>, SettingsError> {
    if json::is_blank(text) || !text.contains(KEY) {
        return Ok(None);
    }
    let root = json::parse(text)?;
    expect_kind(text, &root, "the file", JsonKind::Object)?;
    let Some((index, found)) = root.member(text, KEY)? else { return Ok(None) };
    let Some((_, command)) = found.value.member(text, "command")? else { return Ok(None) };
    let words = command.value.string(text).and_then(|line| words(&line)).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words[..] {
        [program, argument] if is_program(program) && argument == ARGS[0] => {
            Some(Ours { index, program: program.to_string(), wrapped: None })
        }
        [program, argument, WRAP, own] if is_program(program) && argument == ARGS[0] => {
            Some(Ours { index, program: program.to_string(), wrapped: Some(own.to_string()) })
        }
        _ => None,
    })
}

/// The command of the status line; an error if there is a line without one.
fn command_of<'a>(text: &str, root: &'a Node) -> Result<Option<&'a Node>, SettingsError> {
    expect_kind(text, root, "the file", JsonKind::Object)?;
    let Some((_, found)) = root.member(text, KEY)? else { return Ok(None) };
    let taken = || SettingsError::Taken { path: format!("`{KEY}`") };
    let (_, command) = found.value.member(text, "command")?.ok_or_else(taken)?;
    expect_kind(text, &command.value, &format!("`{KEY}.command`"), JsonKind::String)?;
    Ok(Some(&command.value))
}

#[cfg(test)]
mod tests {
    use super::super::{InstallTarget, Part, install as install_for, installed, uninstall as uninstall_all};
    use super::*;

    const WANTED: &[Part] = &[Part::StatusLine { is_wanted: true }];
    const OPTIONAL: &[Part] = &[Part::StatusLine { is_wanted: false }];
    const PROGRAM: &str = "/opt/my tools/cerberus";

    fn install_all(parts: &[Part], text: &str, command: &str) -> Result<String, SettingsError> {
        install_for(parts, text, &InstallTarget::program(command))
    }

    #[test]
    fn installing_and_removing_restores_every_byte() {
        for before in [
            "",
            "{}",
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n\t\"statusLine\": {\"type\": \"command\", \"command\": \"~/.claude/line.sh\", \"padding\": 0},\n\t\"a\": 1\n}",
            "{\"statusLine\":{\"command\":\"echo \\u0061 'it''s' \\\"x\\\" $HOME | cut -c1-9\",\"type\":\"command\"}}",
        ] {
            let after = install_all(WANTED, before, PROGRAM).unwrap();
            assert!(program(&after).unwrap().is_some(), "{after}");
            assert_eq!(install_all(WANTED, &after, PROGRAM).unwrap(), after, "twice equals once");
            assert_eq!(install_all(OPTIONAL, &after, PROGRAM).unwrap(), after, "it is kept");
            assert_eq!(uninstall_all(OPTIONAL, &after, Some(before)).unwrap(), before);
            let moved = install_all(OPTIONAL, &after, "/elsewhere/cerberus").unwrap();
            assert_eq!(install_all(OPTIONAL, &moved, PROGRAM).unwrap(), after, "the program is updated");
            let removed = uninstall_all(OPTIONAL, &after, None).unwrap();
            assert!(program(&removed).unwrap().is_none(), "{removed}");
            assert_eq!(install_all(OPTIONAL, before, PROGRAM).unwrap(), before, "only on request");
            assert!(installed(OPTIONAL, &after, None).unwrap().missing.is_empty());
        }
    }

    #[test]
    fn the_users_own_command_becomes_an_argument() {
        let before = r#"{"statusLine":{"type":"command","command":"echo 'a b'; date"}}"#;
        let after = install_all(WANTED, before, PROGRAM).unwrap();
        let line = r"'/opt/my tools/cerberus' statusline --wrap 'echo '\\''a b'\\''; date'";
        assert!(after.contains(line), "{after}");
        assert_eq!(uninstall_all(OPTIONAL, &after, None).unwrap(), before);
    }

    #[test]
    fn what_is_not_ours_stays() {
        for text in [
            r#"{"statusLine":{"type":"command","command":"cerberus statusline; date"}}"#,
            r#"{"statusLine":{"type":"command","command":"notify && cerberus statusline"}}"#,
            r#"{"other":{"command":"cerberus statusline"}}"#,
            r#"{"statusLine":3}"#,
        ] {
            assert_eq!(uninstall_all(OPTIONAL, text, None).unwrap(), text);
        }
        assert!(install_all(WANTED, r#"{"statusLine":3}"#, PROGRAM).is_err());
        assert!(install_all(WANTED, r#"{"statusLine":{"type":"other"}}"#, PROGRAM).is_err());
    }
}
