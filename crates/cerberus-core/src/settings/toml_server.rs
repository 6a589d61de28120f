//! Our MCP server in an agent's TOML file.
//!
//! The parser only gives positions; the text is changed by removing and adding whole lines, so the rest keeps its
//! bytes. Every result is parsed again and discarded if anything but our server changed. So no spelling of TOML has
//! to be anticipated.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::json::{self, BOM};
use super::program::is_program;
use super::servers::{ARGS, NAME};
use super::{SettingsError, TEXT_MAX_BYTES, Wiring};

pub(super) fn install(list: &str, text: &str, program: &str) -> Result<String, SettingsError> {
    let root = parse(text)?;
    let ours = find_ours(list, root.get_ref());
    let mut changed = text.to_owned();
    for server in ours.iter().rev().filter(|server| server.program != program) {
        changed.replace_range(server.program_span.clone(), &quoted(program));
    }
    if ours.is_empty() {
        if servers(list, root.get_ref()).is_some_and(|servers| servers.contains_key(NAME)) {
            return Err(SettingsError::Taken { path: format!("`{list}.{NAME}`") });
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        if !text.trim_start_matches(BOM).is_empty() {
            changed.push_str(if text.ends_with('\n') { "" } else { newline });
            changed.push_str(newline);
        }
        let args = ARGS.map(quoted).join(", ");
        for line in [format!("[{list}.{NAME}]"), format!("command = {}", quoted(program)), format!("args = [{args}]")] {
            changed.push_str(&line);
            changed.push_str(newline);
        }
    }
    checked(list, text, changed)
}

pub(super) fn uninstall(list: &str, text: &str) -> Result<String, SettingsError> {
    let root = parse(text)?;
    let mut changed = text.to_owned();
    let mut ours = find_ours(list, root.get_ref());
    ours.sort_by_key(|server| server.span.start);
    for server in ours.into_iter().rev() {
        changed.replace_range(lines(text, server.span), "");
    }
    checked(list, text, changed)
}

pub(super) fn installed(list: &str, text: &str, wiring: &mut Wiring) -> Result<(), SettingsError> {
    let ours = find_ours(list, parse(text)?.get_ref());
    if ours.is_empty() {
        wiring.missing.push("mcp");
    }
    wiring.servers.extend(ours.into_iter().map(|server| server.program));
    Ok(())
}

/// The events for which the agent stores trust in hooks of the file at `path`: `[hooks.state."PATH:EVENT:…"]`. Only
/// the agent knows whether it trusts the current text of the hooks.
pub fn trusted_hooks(text: &str, path: &str) -> Result<Vec<String>, SettingsError> {
    let root = parse(text)?;
    let states = root.get_ref().get("hooks").and_then(|hooks| hooks.get_ref().get("state"));
    let Some(states) = states.and_then(|states| states.get_ref().as_table()) else {
        return Ok(Vec::new());
    };
    let mut events: Vec<String> = Vec::new();
    for (key, state) in states {
        let is_trusted = state.get_ref().get("trusted_hash").is_some()
            && state.get_ref().get("enabled").and_then(|enabled| enabled.get_ref().as_bool()) != Some(false);
        let event = key.get_ref().strip_prefix(path).and_then(|rest| rest.strip_prefix(':')?.split(':').next());
        if let Some(event) = event.filter(|event| is_trusted && !events.iter().any(|known| known == event)) {
            events.push(event.to_owned());
        }
    }
    Ok(events)
}

/// One of our servers: its whole range, and that of its program.
struct OurServer {
    span: Range<usize>,
    program: String,
    program_span: Range<usize>,
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, SettingsError> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(SettingsError::TooLarge { bytes: text.len() });
    }
    DeTable::parse(text).map_err(|error| {
        let at = json::position(text, error.span().map_or(0, |span| text.floor_char_boundary(span.start)));
        SettingsError::Toml { at, problem: error.message().to_owned() }
    })
}

fn servers<'a, 'i>(list: &str, root: &'a DeTable<'i>) -> Option<&'a DeTable<'i>> {
    root.get(list)?.get_ref().as_table()
}

fn find_ours(list: &str, root: &DeTable<'_>) -> Vec<OurServer> {
    let mut found = Vec::new();
    for (name, server) in servers(list, root).into_iter().flatten() {
        let Some(table) = server.get_ref().as_table() else { continue };
        let (Some(command), Some(args)) = (table.get("command"), table.get("args")) else { continue };
        let (Some(program), Some(args)) = (command.get_ref().as_str(), args.get_ref().as_array()) else { continue };
        if is_program(program) && args.iter().map(|arg| arg.get_ref().as_str()).eq(ARGS.map(Some)) {
            let span = extent(name.span(), server);
            found.push(OurServer { span, program: program.to_owned(), program_span: command.span() });
        }
    }
    found
}

/// The range of everything that belongs to this value.
fn extent(key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Range<usize> {
    let own = key.start.min(value.span().start)..key.end.max(value.span().end);
    let inner = value.get_ref().as_table().into_iter().flatten().map(|(key, value)| extent(key.span(), value));
    inner.fold(own, |all, part| all.start.min(part.start)..all.end.max(part.end))
}

/// The whole lines of a span, and one blank line before them.
fn lines(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(if text.starts_with(BOM) { BOM.len() } else { 0 }, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    let before = &text[..start];
    let blank = ["\r\n", "\n"].iter().find(|newline| before.strip_suffix(**newline).is_some_and(|b| b.ends_with('\n')));
    start - blank.map_or(0, |newline| newline.len())..end
}

/// The changed text, if nothing but our server differs from the old one.
fn checked(list: &str, text: &str, changed: String) -> Result<String, SettingsError> {
    let entangled = || SettingsError::Entangled { path: format!("`{list}`") };
    let rest = |text: &str| -> Option<String> {
        let mut table: Table = toml::from_str(text).ok()?;
        let servers = table.get_mut(list).and_then(Value::as_table_mut);
        if let Some(servers) = servers {
            servers.retain(|_, server| !is_ours(server));
            if servers.is_empty() {
                table.remove(list);
            }
        }
        // Compared as text, because NaN does not equal itself.
        Some(format!("{table:?}"))
    };
    match (rest(text), rest(&changed)) {
        (Some(before), Some(after)) if before == after => Ok(changed),
        _ => Err(entangled()),
    }
}

fn is_ours(server: &Value) -> bool {
    let program = server.get("command").and_then(Value::as_str);
    let args = server.get("args").and_then(Value::as_array);
    program.is_some_and(is_program) && args.is_some_and(|args| args.iter().map(Value::as_str).eq(ARGS.map(Some)))
}

/// A TOML basic string: the same escapes as JSON, with one exception.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;
    use crate::settings::{Part, Position, install, installed, uninstall};

    const COMMAND: &str = "/opt/bin/cerberus";
    const PARTS: [Part; 1] = [Part::TomlServer("mcp_servers")];
    const BLOCK: &str = "[mcp_servers.cerberus]\ncommand = \"/opt/bin/cerberus\"\nargs = [\"mcp\"]\n";

    const FOREIGN: &[&str] = &[
        "",
        "\u{feff}",
        "\n",
        "# only a comment",
        "model = \"m\"",
        "model = \"m\"\r\n\r\n[a]\r\nb = 1 # c\r\n",
        "\u{feff}model = \"m\"\n",
        "[mcp_servers.other]\ncommand = \"x\" # cerberus\n\n[z]\n",
        "[mcp_servers]\n\n[mcp_servers.other]\ncommand=\"cerberus\"\n",
        "mcp_servers.other.command = \"x\"\n",
        "s = \"\"\"\n[mcp_servers.cerberus]\ncommand = \"/x/cerberus\"\nargs = [\"mcp\"]\n\"\"\"\n",
        "a = [\n  1,\n  nan, # two\n]\n\n\n",
        "[mcp_servers.cerb]\ncommand = \"cerberus\"\nargs = [\"serve\"]\n",
        "[\"mcp_servers\".\"x y\"]\nurl = 'u'\n[[list]]\n[[list]]\n",
    ];

    #[test]
    fn foreign_files_come_back_byte_for_byte() {
        for &text in FOREIGN {
            let after = install(&PARTS, text, COMMAND).unwrap();
            assert!(after.starts_with(text) && after.replace("\r\n", "\n").ends_with(BLOCK), "{after}");
            assert_eq!(install(&PARTS, &after, COMMAND).unwrap(), after, "installing twice into {text:?}");
            assert_eq!(installed(&PARTS, &after).unwrap().servers, [COMMAND]);
            assert_eq!(uninstall(&PARTS, &after, Some(text)).unwrap(), text);
            let without = uninstall(&PARTS, &after, None).unwrap();
            assert_eq!(without.trim_end_matches(['\r', '\n']), text.trim_end_matches(['\r', '\n']), "{text:?}");
            assert!(text.is_empty() || !text.ends_with('\n') || without == text, "{text:?} became {without:?}");
            assert_eq!(uninstall(&PARTS, text, None).unwrap(), text, "nothing of ours in {text:?}");
        }
    }

    #[test]
    fn later_changes_by_others_stay() {
        let after = format!("a = 1\n\n{BLOCK}\n[hooks.state.x]\ntrusted_hash = \"h\"\n");
        assert_eq!(
            uninstall(&PARTS, &after, Some("a = 1\n")).unwrap(),
            "a = 1\n\n[hooks.state.x]\ntrusted_hash = \"h\"\n"
        );
        let more = format!("{BLOCK}enabled = true # mine\n[mcp_servers.cerberus.env]\nA = \"b\"\n[z]\n");
        assert_eq!(uninstall(&PARTS, &more, None).unwrap(), "[z]\n");
    }

    #[test]
    fn our_server_with_another_path_is_updated_in_place() {
        for (text, expected) in [
            (
                "[mcp_servers.memory]\nargs = ['mcp']\ncommand = '/old/cerberus' # c\nstartup_timeout_sec = 3\n[z]\n",
                "[mcp_servers.memory]\nargs = ['mcp']\ncommand = \"/opt/bin/cerberus\" # c\nstartup_timeout_sec = 3\n[z]\n",
            ),
            (
                "mcp_servers = {cerberus = {command = \"cerberus\", args = [\"mcp\"]}, o = {url = \"u\"}}\n",
                "mcp_servers = {cerberus = {command = \"/opt/bin/cerberus\", args = [\"mcp\"]}, o = {url = \"u\"}}\n",
            ),
        ] {
            assert_eq!(install(&PARTS, text, COMMAND).unwrap(), expected);
        }
        let one_line = "[mcp_servers]\ncerberus = {command = \"cerberus\", args = [\"mcp\"]}\nb = {}\n";
        assert_eq!(uninstall(&PARTS, one_line, None).unwrap(), "[mcp_servers]\nb = {}\n");
    }

    #[test]
    fn unsafe_changes_are_rejected() {
        let entangled = SettingsError::Entangled { path: "`mcp_servers`".to_owned() };
        let inline = "mcp_servers = {o = {url = \"u\"}}\n";
        assert_eq!(install(&PARTS, inline, COMMAND), Err(entangled.clone()));
        let apart = format!("{BLOCK}[z]\na = 1\n[mcp_servers.cerberus.env]\nA = \"b\"\n");
        assert_eq!(uninstall(&PARTS, &apart, None), Err(entangled.clone()));
        let beside = "mcp_servers = {cerberus = {command = \"cerberus\", args = [\"mcp\"]}, o = {url = \"u\"}}\n";
        assert_eq!(uninstall(&PARTS, beside, None), Err(entangled));
        let taken = "[mcp_servers.cerberus]\nurl = \"u\"\n";
        assert_eq!(
            install(&PARTS, taken, COMMAND),
            Err(SettingsError::Taken { path: "`mcp_servers.cerberus`".to_owned() })
        );
        for (text, line) in [("a = 1\nb = = 2\n", 2), ("[a]\n[a]\n", 2), ("\u{e9} = \n", 1), ("a = \"x", 1)] {
            match install(&PARTS, text, COMMAND) {
                Err(SettingsError::Toml { at: Position { line: found, .. }, .. }) => assert_eq!(found, line, "{text}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn trust_is_read_by_file_and_event() {
        let text = "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:a\"\n\
            [hooks.state.\"/h/hooks.json:session_start:1:0\"]\nenabled = false\ntrusted_hash = \"sha256:b\"\n\
            [hooks.state.\"/h/hooks.json:post_tool_use:0:0\"]\nenabled = true\n\
            [hooks.state.\"/other/hooks.json:session_end:0:0\"]\ntrusted_hash = \"sha256:c\"\n";
        assert_eq!(trusted_hooks(text, "/h/hooks.json").unwrap(), ["stop"]);
        assert!(trusted_hooks("hooks = 1", "/h/hooks.json").unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn only_our_server_is_changed(text in "([ab=\\[\\]\"'{}#., 1\r\n]|mcp_servers|cerberus){0,24}") {
            if let Ok(after) = install(&PARTS, &text, COMMAND) {
                prop_assert_eq!(install(&PARTS, &after, COMMAND).unwrap(), after.clone());
                prop_assert_eq!(uninstall(&PARTS, &after, Some(&text)).unwrap(), text);
            }
        }
    }
}
