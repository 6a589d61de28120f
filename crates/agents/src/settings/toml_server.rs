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
use super::servers::{ARGS, HOME_VARIABLE, MCP, NAME};
use super::{InstallTarget, SettingsError, TEXT_MAX_BYTES, WiredServer, Wiring};

const ENV: &str = "env";

pub(super) fn install(list: &str, text: &str, target: &InstallTarget<'_>) -> Result<String, SettingsError> {
    let root = parse(text)?;
    let program = target.command;
    let mut ours = find_ours(list, root.get_ref());
    ours.sort_by_key(|server| server.program_span.start);
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
        let lines = [format!("[{list}.{NAME}]"), format!("command = {}", quoted(program)), format!("args = [{args}]")];
        for line in lines.into_iter().chain(target.home.map(env_line)) {
            changed.push_str(&line);
            changed.push_str(newline);
        }
    }
    let changed = checked(list, text, changed)?;
    checked(list, text, with_home(list, changed, target.home)?)
}

fn env_line(home: &str) -> String {
    format!("{ENV} = {{ {} }}", home_variable(home))
}

fn home_variable(home: &str) -> String {
    format!("{HOME_VARIABLE} = {}", quoted(home))
}

/// Gives our servers this data folder, or the default one.
fn with_home(list: &str, mut text: String, home: Option<&str>) -> Result<String, SettingsError> {
    let entangled = || SettingsError::Entangled { path: format!("`{list}.{NAME}.{ENV}`") };
    let differing = |text: &str| -> Result<Option<HomeChange>, SettingsError> {
        let root = parse(text)?;
        let mut ours = find_ours(list, root.get_ref()).into_iter();
        ours.find(|server| server.home.as_deref() != home).map_or(Ok(None), |server| {
            let change = home_change(text, list, root.get_ref(), &server, home);
            change.map(Some).ok_or_else(entangled)
        })
    };
    let count = find_ours(list, parse(&text)?.get_ref()).len();
    for _ in 0..count {
        match differing(&text)? {
            None => break,
            Some((span, new)) => text.replace_range(span, &new),
        }
    }
    match differing(&text) {
        Ok(None) => Ok(text),
        _ => Err(entangled()),
    }
}

/// A range and what replaces it.
type HomeChange = (Range<usize>, String);

/// `None` if the environment is written in an unusual way.
fn home_change(
    text: &str,
    list: &str,
    root: &DeTable<'_>,
    server: &OurServer,
    home: Option<&str>,
) -> Option<HomeChange> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (_, table) = servers(list, root)?.iter().find(|(name, _)| name.span() == server.name_span)?;
    let is_inline = text[table.span()].starts_with('{');
    let Some((env_key, env)) = table.get_ref().as_table()?.iter().find(|(key, _)| key.get_ref() == ENV) else {
        let line = env_line(home?);
        return match is_inline {
            true => Some((server.args_span.end..server.args_span.end, format!(", {line}"))),
            false => {
                let at = text[server.args_span.end..].find('\n').map(|at| server.args_span.end + at + 1);
                let separator = if at.is_none() { newline } else { "" };
                let at = at.unwrap_or(text.len());
                Some((at..at, format!("{separator}{line}{newline}")))
            }
        };
    };
    let members = env.get_ref().as_table()?;
    let is_env_inline = text[env.span()].starts_with('{');
    let found = members.iter().find(|(key, _)| key.get_ref() == HOME_VARIABLE);
    match (found, home) {
        (Some((_, value)), Some(home)) => Some((value.span(), quoted(home))),
        // Before the first variable.
        (None, Some(home)) => match members.iter().map(|(key, _)| key.span().start).min() {
            Some(at) if is_env_inline => Some((at..at, format!("{}, ", home_variable(home)))),
            Some(at) => Some((at..at, format!("{}{newline}", home_variable(home)))),
            None if is_env_inline => Some((env.span(), format!("{{ {} }}", home_variable(home)))),
            None => None,
        },
        (Some((key, value)), None) => match is_env_inline {
            false => Some((lines(text, key.span().start..value.span().end), String::new())),
            true if members.len() == 1 && !is_inline => {
                Some((lines(text, env_key.span().start..env.span().end), String::new()))
            }
            true => {
                // The comma before or after it goes too.
                let end = value.span().end;
                let rest = &text[end..env.span().end];
                let start = text[..key.span().start].trim_end();
                match rest.trim_start().strip_prefix(',') {
                    Some(next) => Some((key.span().start..env.span().end - next.trim_start().len(), String::new())),
                    None => Some((start.strip_suffix(',').unwrap_or(start).len()..end, String::new())),
                }
            }
        },
        (None, None) => None,
    }
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
        wiring.missing.push(MCP);
    }
    let wired = |server: OurServer| WiredServer { command: server.program, home: server.home };
    wiring.servers.extend(ours.into_iter().map(wired));
    Ok(())
}

/// One of our servers: its whole range, and that of its program.
struct OurServer {
    span: Range<usize>,
    name_span: Range<usize>,
    program: String,
    program_span: Range<usize>,
    args_span: Range<usize>,
    home: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, SettingsError> {
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
        let args_span = args.span();
        let (Some(program), Some(args)) = (command.get_ref().as_str(), args.get_ref().as_array()) else { continue };
        if is_program(program) && args.iter().map(|arg| arg.get_ref().as_str()).eq(ARGS.map(Some)) {
            let env = table.get(ENV).and_then(|env| env.get_ref().as_table());
            let home = env.and_then(|env| env.get(HOME_VARIABLE)).and_then(|home| home.get_ref().as_str());
            found.push(OurServer {
                span: extent(name.span(), server),
                name_span: name.span(),
                program: program.to_owned(),
                program_span: command.span(),
                args_span,
                home: home.map(str::to_owned),
            });
        }
    }
    found
}

/// The range of everything that belongs to this value.
pub(super) fn extent(key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Range<usize> {
    let own = key.start.min(value.span().start)..key.end.max(value.span().end);
    let inner = value.get_ref().as_table().into_iter().flatten().map(|(key, value)| extent(key.span(), value));
    inner.fold(own, |all, part| all.start.min(part.start)..all.end.max(part.end))
}

/// The whole lines of a span, and one blank line before them.
pub(super) fn lines(text: &str, span: Range<usize>) -> Range<usize> {
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
    use crate::settings::{EditorPosition, InstallTarget, Part, WiredServer, install, installed, uninstall};

    const COMMAND: InstallTarget<'_> =
        InstallTarget { command: "/opt/bin/cerberus", client: None, home: None, checks: false, has_server: true };
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
            let after = install(&PARTS, text, &COMMAND).unwrap();
            assert!(after.starts_with(text) && after.replace("\r\n", "\n").ends_with(BLOCK), "{after}");
            assert_eq!(install(&PARTS, &after, &COMMAND).unwrap(), after, "installing twice into {text:?}");
            assert_eq!(installed(&PARTS, &after, None).unwrap().commands(), [COMMAND.command].into());
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
            assert_eq!(install(&PARTS, text, &COMMAND).unwrap(), expected);
        }
        let one_line = "[mcp_servers]\ncerberus = {command = \"cerberus\", args = [\"mcp\"]}\nb = {}\n";
        assert_eq!(uninstall(&PARTS, one_line, None).unwrap(), "[mcp_servers]\nb = {}\n");
    }

    #[test]
    fn unsafe_changes_are_rejected() {
        let entangled = SettingsError::Entangled { path: "`mcp_servers`".to_owned() };
        let inline = "mcp_servers = {o = {url = \"u\"}}\n";
        assert_eq!(install(&PARTS, inline, &COMMAND), Err(entangled.clone()));
        let apart = format!("{BLOCK}[z]\na = 1\n[mcp_servers.cerberus.env]\nA = \"b\"\n");
        assert_eq!(uninstall(&PARTS, &apart, None), Err(entangled.clone()));
        let beside = "mcp_servers = {cerberus = {command = \"cerberus\", args = [\"mcp\"]}, o = {url = \"u\"}}\n";
        assert_eq!(uninstall(&PARTS, beside, None), Err(entangled));
        let taken = "[mcp_servers.cerberus]\nurl = \"u\"\n";
        assert_eq!(
            install(&PARTS, taken, &COMMAND),
            Err(SettingsError::Taken { path: "`mcp_servers.cerberus`".to_owned() })
        );
        for (text, line) in [("a = 1\nb = = 2\n", 2), ("[a]\n[a]\n", 2), ("\u{e9} = \n", 1), ("a = \"x", 1)] {
            match install(&PARTS, text, &COMMAND) {
                Err(SettingsError::Toml { at: EditorPosition { line: found, .. }, .. }) => {
                    assert_eq!(found, line, "{text}")
                }
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn the_data_folder_is_written_updated_and_removed() {
        let at = |home| InstallTarget { home, ..COMMAND };
        let with = |home: &str| format!("{BLOCK}env = {{ CERBERUS_HOME = \"{home}\" }}\n");
        let own = "[mcp_servers.cerberus]\nargs = [\"mcp\"]\ncommand = \"/opt/bin/cerberus\"\n";
        let inline = "mcp_servers = {cerberus = {command = \"/opt/bin/cerberus\", args = [\"mcp\"]}}\n";
        let home = "CERBERUS_HOME = \"/h\"";
        for (text, home, expected) in [
            ("", Some("/h"), with("/h")),
            (BLOCK, Some("/h"), with("/h")),
            (BLOCK.trim_end(), Some("/h"), with("/h")),
            (&with("/old"), Some("/h"), with("/h")),
            (&with("/old"), None, BLOCK.to_owned()),
            (&format!("{BLOCK}[z]\n"), Some("/h"), format!("{}[z]\n", with("/h"))),
            (&format!("{BLOCK}env = {{A = \"b\"}}\n"), Some("/h"), format!("{BLOCK}env = {{{home}, A = \"b\"}}\n")),
            (&format!("{BLOCK}env = {{{home}, A = \"b\"}}\n"), None, format!("{BLOCK}env = {{A = \"b\"}}\n")),
            (&format!("{BLOCK}env = {{A = \"b\", {home}}}\n"), None, format!("{BLOCK}env = {{A = \"b\"}}\n")),
            (&format!("{BLOCK}env = {{}}\n"), Some("/h"), with("/h")),
            (
                &format!("{BLOCK}\n[mcp_servers.cerberus.env]\nA = \"b\"\n"),
                Some("/h"),
                format!("{BLOCK}\n[mcp_servers.cerberus.env]\n{home}\nA = \"b\"\n"),
            ),
            (
                &format!("{BLOCK}\n[mcp_servers.cerberus.env]\n{home}\nA = \"b\"\n"),
                None,
                format!("{BLOCK}\n[mcp_servers.cerberus.env]\nA = \"b\"\n"),
            ),
            (own, Some("/h"), own.replace("]\nc", &format!("]\nenv = {{ {home} }}\nc"))),
            (inline, Some("/h"), inline.replace("]}", &format!("], env = {{ {home} }}}}"))),
        ] {
            let after = install(&PARTS, text, &at(home)).unwrap();
            assert_eq!(after, expected, "{text:?}");
            let wired = installed(&PARTS, &after, None).unwrap().servers;
            assert_eq!(wired, [WiredServer { command: COMMAND.command.to_owned(), home: home.map(str::to_owned) }]);
            assert_eq!(install(&PARTS, &after, &at(home)).unwrap(), after);
            assert!(installed(&PARTS, &uninstall(&PARTS, &after, None).unwrap(), None).unwrap().is_empty());
        }
        let before = "model = \"m\"\n";
        let after = install(&PARTS, before, &at(Some("/h"))).unwrap();
        assert_eq!(uninstall(&PARTS, &after, Some(before)).unwrap(), before);
        let strange = format!("{BLOCK}env = 5\n");
        assert!(matches!(install(&PARTS, &strange, &at(Some("/h"))), Err(SettingsError::Entangled { .. })));
    }

    proptest! {
        #[test]
        fn only_our_server_is_changed(text in "([ab=\\[\\]\"'{}#., 1\r\n]|mcp_servers|cerberus){0,24}") {
            if let Ok(after) = install(&PARTS, &text, &COMMAND) {
                prop_assert_eq!(install(&PARTS, &after, &COMMAND).unwrap(), after.clone());
                prop_assert_eq!(uninstall(&PARTS, &after, Some(&text)).unwrap(), text);
            }
        }
    }
}
