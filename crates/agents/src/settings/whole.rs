//! A file that is entirely ours, such as a plugin.
//!
//! It is recognised by its beginning. A foreign file with the same name is never overwritten.

use super::{SettingsError, WiredHook, Wiring, json};

/// The content of such a file.
#[derive(Debug)]
pub struct WholeFile {
    pub text: &'static str,
    /// How the text starts, in every version.
    pub mark: &'static str,
    /// The placeholder for the program, including quotes.
    pub placeholder: &'static str,
}

pub(super) fn install(file: &WholeFile, text: &str, command: &str) -> Result<String, SettingsError> {
    if !json::is_blank(text) && !is_ours(file, text) {
        return Err(SettingsError::Foreign);
    }
    Ok(file.text.replacen(file.placeholder, &quoted(command), 1))
}

pub(super) fn uninstall(file: &WholeFile, text: &str) -> String {
    if is_ours(file, text) { String::new() } else { text.to_owned() }
}

pub(super) fn installed(file: &WholeFile, text: &str, wiring: &mut Wiring) {
    let command = program(file, text);
    if command.as_ref().and_then(|command| install(file, text, command).ok()).as_deref() != Some(text) {
        wiring.missing.push("plugin");
    }
    if let Some(command) = command {
        let event = "plugin".to_owned();
        wiring.hooks.push(WiredHook {
            event,
            matcher: None,
            command,
            has_args: false,
            is_unknown: false,
            position: (0, 0),
        });
    }
}

fn is_ours(file: &WholeFile, text: &str) -> bool {
    text.starts_with(file.mark)
}

/// The program that the file runs: the string in place of the placeholder.
fn program(file: &WholeFile, text: &str) -> Option<String> {
    let mark = file.text.split_once(file.placeholder)?.0.lines().next_back()?;
    let rest = text.split_once(mark).filter(|_| is_ours(file, text))?.1;
    let mut strings = serde_json::Deserializer::from_slice(rest.as_bytes()).into_iter::<String>();
    // An older version may have it elsewhere: still ours, but the program is unknown.
    Some(strings.next().and_then(Result::ok).unwrap_or_default())
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{InstallTarget, Part, install, installed, uninstall};

    static FILE: WholeFile = WholeFile {
        text: "// Cerberus for an editor\nconst CERBERUS = \"cerberus\"\nrun(CERBERUS)\n",
        mark: "// Cerberus for",
        placeholder: "\"cerberus\"",
    };
    const PARTS: [Part; 1] = [Part::Whole(&FILE)];

    #[test]
    fn the_file_is_written_found_and_removed() {
        for command in ["/opt/cerberus", "/a \"b\"/cerberus"] {
            let after = install(&PARTS, "", &InstallTarget::program(command)).unwrap();
            assert!(after.contains(&format!("const CERBERUS = {}\n", quoted(command))), "{after}");
            assert_eq!(install(&PARTS, &after, &InstallTarget::program(command)).unwrap(), after);
            let wiring = installed(&PARTS, &after, None).unwrap();
            assert_eq!(
                (wiring.commands().into_iter().collect::<Vec<_>>(), &wiring.missing[..]),
                (vec![command], &[][..])
            );
            assert_eq!(uninstall(&PARTS, &after, None).unwrap(), "");
            assert_eq!(uninstall(&PARTS, &after, Some(" \n")).unwrap(), " \n");
        }
    }

    #[test]
    fn an_older_one_is_replaced_and_a_foreign_one_is_not() {
        let older = "// Cerberus for an editor\nrun(\"cerberus\")\n";
        assert_eq!(installed(&PARTS, older, None).unwrap().missing, ["plugin"]);
        assert!(install(&PARTS, older, &InstallTarget::program("/x/cerberus")).unwrap().contains("/x/cerberus"));
        let foreign = "// mine\nrun(\"cerberus\")\n";
        assert_eq!(install(&PARTS, foreign, &InstallTarget::program("/x/cerberus")), Err(SettingsError::Foreign));
        assert_eq!(uninstall(&PARTS, foreign, None).unwrap(), foreign);
        assert!(installed(&PARTS, foreign, None).unwrap().is_empty());
    }
}
