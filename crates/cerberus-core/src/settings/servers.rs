//! Our MCP server in an agent's JSON file.
//!
//! It is listed under our name. A server with that name that runs something else belongs to the user; that is an
//! error, and it is never overwritten. If ours has another name, it keeps it.

use super::edit::{Editor, Json};
use super::json::{self, Node, expect_kind};
use super::program::is_program;
use super::{Kind, SettingsError, Wiring};

/// The name of our server in the list.
pub const NAME: &str = "cerberus";

/// The arguments that start the server.
pub const ARGS: [&str; 1] = ["mcp"];

/// How an agent writes servers.
#[derive(Debug)]
pub struct ServerStyle {
    /// The key of the list of servers.
    pub list: &'static str,
    pub form: Form,
    /// Builds the entry that runs this program.
    pub server: for<'a> fn(&'a str) -> Json<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `command` is the program, `args` are its arguments.
    CommandAndArgs,
    /// `command` is a list of the program and its arguments.
    CommandList,
}

/// `"command": program, "args": […]`, as in most agents.
pub fn command_and_args(program: &str) -> [(&'static str, Json<'_>); 2] {
    [("command", Json::Text(program)), ("args", Json::Array(ARGS.map(Json::Text).to_vec()))]
}

pub(super) fn install(style: &ServerStyle, text: &str, program: &str) -> Result<String, SettingsError> {
    let text = &json::or_empty_object(text);
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    let server = || Json::Object(vec![(NAME, (style.server)(program))]);
    match list_of(style, text, &root)? {
        None => editor.append(&root, &Json::Object(vec![(style.list, server())])),
        Some((_, list)) => {
            let ours = find_ours(style, text, list)?;
            for (_, found) in &ours {
                if found.string(text).as_deref() != Some(program) {
                    editor.replace(found, &Json::Text(program));
                }
            }
            if ours.is_empty() {
                if list.member(text, NAME)?.is_some() {
                    return Err(SettingsError::Taken { path: format!("`{}.{NAME}`", style.list) });
                }
                editor.append(list, &server());
            }
        }
    }
    Ok(editor.finish())
}

pub(super) fn uninstall(style: &ServerStyle, text: &str) -> Result<String, SettingsError> {
    if json::is_blank(text) {
        return Ok(text.to_owned());
    }
    let root = json::parse(text)?;
    let Some((list_index, list)) = list_of(style, text, &root)? else {
        return Ok(text.to_owned());
    };
    let ours: Vec<usize> = find_ours(style, text, list)?.into_iter().map(|(index, _)| index).collect();
    let mut editor = Editor::new(text, &root);
    if !ours.is_empty() && ours.len() == list.items.len() && !list.has_comments {
        editor.remove(&root, &[list_index]);
    } else {
        editor.remove(list, &ours);
    }
    Ok(editor.finish())
}

pub(super) fn installed(style: &ServerStyle, text: &str, wiring: &mut Wiring) -> Result<(), SettingsError> {
    let mut programs = Vec::new();
    if !json::is_blank(text) {
        let root = json::parse(text)?;
        if let Some((_, list)) = list_of(style, text, &root)? {
            programs.extend(find_ours(style, text, list)?.into_iter().filter_map(|(_, found)| found.string(text)));
        }
    }
    if programs.is_empty() {
        wiring.missing.push("mcp");
    }
    wiring.servers.extend(programs);
    Ok(())
}

/// The object with the servers, and its index in the root.
fn list_of<'a>(style: &ServerStyle, text: &str, root: &'a Node) -> Result<Option<(usize, &'a Node)>, SettingsError> {
    expect_kind(text, root, "the file", Kind::Object)?;
    let Some((index, list)) = root.member(text, style.list)? else {
        return Ok(None);
    };
    expect_kind(text, &list.value, &format!("`{}`", style.list), Kind::Object)?;
    Ok(Some((index, &list.value)))
}

/// The servers that run our program, each with its index and the node of its program.
fn find_ours<'a>(style: &ServerStyle, text: &str, list: &'a Node) -> Result<Vec<(usize, &'a Node)>, SettingsError> {
    let mut found = Vec::new();
    for (index, server) in list.items.iter().enumerate() {
        let Some((_, command)) = server.value.member(text, "command")? else {
            continue;
        };
        let command = &command.value;
        let (program, args) = match style.form {
            Form::CommandAndArgs => {
                (Some(command), server.value.member(text, "args")?.map(|(_, args)| &args.value.items[..]))
            }
            Form::CommandList => match command.items.split_first() {
                Some((first, rest)) => (Some(&first.value), Some(rest)),
                None => (None, None),
            },
        };
        let (Some(program), Some(args)) = (program, args) else { continue };
        let is_ours = program.string(text).is_some_and(|program| is_program(&program))
            && args.iter().map(|arg| arg.value.string(text)).eq(ARGS.map(|arg| Some(arg.to_owned())));
        if is_ours {
            found.push((index, program));
        }
    }
    Ok(found)
}
