//! Our MCP server in an agent's JSON file.
//!
//! It is listed under our name. A server with that name that runs something else belongs to the user; that is an
//! error, and it is never overwritten. If ours has another name, it keeps it.

use super::edit::{Editor, Json};
use super::json::{self, Node, expect_kind};
use super::program::is_program;
use super::{InstallTarget, JsonKind, SettingsError, WiredServer, Wiring};

/// What the wiring calls a server that is missing.
pub const MCP: &str = "mcp";

/// The name of our server in the list.
pub const NAME: &str = "cerberus";

/// The arguments that start the server.
pub const ARGS: [&str; 1] = ["mcp"];

/// The environment variable that names the data folder.
pub const HOME_VARIABLE: &str = "CERBERUS_HOME";

/// How an agent writes servers.
#[derive(Debug)]
pub struct ServerStyle {
    /// The key of the list of servers.
    pub list: &'static str,
    pub form: ServerForm,
    /// The key of a server's environment variables.
    pub env: &'static str,
    /// Builds the entry that runs this program.
    pub server: for<'a> fn(&'a str) -> Json<'a>,
}

impl ServerStyle {
    /// As in most agents.
    pub const DEFAULT: ServerStyle = ServerStyle {
        list: "mcpServers",
        form: ServerForm::CommandAndArgs,
        env: "env",
        server: |program| Json::Object(command_and_args(program).to_vec()),
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerForm {
    /// `command` is the program, `args` are its arguments.
    CommandAndArgs,
    /// `command` is a list of the program and its arguments.
    CommandList,
}

/// `"command": program, "args": […]`, as in most agents.
pub fn command_and_args(program: &str) -> [(&'static str, Json<'_>); 2] {
    [("command", Json::Text(program)), ("args", Json::Array(ARGS.map(Json::Text).to_vec()))]
}

pub(super) fn install(style: &ServerStyle, text: &str, target: &InstallTarget<'_>) -> Result<String, SettingsError> {
    let text = &json::or_empty_object(text);
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    match list_of(style, text, &root)? {
        None => editor.append(&root, &Json::Object(vec![(style.list, new_server(style, target))])),
        Some((_, list)) => {
            let ours = find_ours(style, text, list)?;
            for server in &ours {
                if server.program.string(text).as_deref() != Some(target.command) {
                    editor.replace(server.program, &Json::Text(target.command));
                }
            }
            if ours.is_empty() {
                if list.member(text, NAME)?.is_some() {
                    return Err(SettingsError::Taken { path: format!("`{}.{NAME}`", style.list) });
                }
                editor.append(list, &new_server(style, target));
            }
        }
    }
    with_home(style, &editor.finish(), target.home)
}

fn new_server<'a>(style: &ServerStyle, target: &InstallTarget<'a>) -> Json<'a> {
    let mut server = (style.server)(target.command);
    if let (Some(home), Json::Object(members)) = (target.home, &mut server) {
        members.push((style.env, home_variable(home)));
    }
    Json::Object(vec![(NAME, server)])
}

fn home_variable(home: &str) -> Json<'_> {
    Json::Object(vec![(HOME_VARIABLE, Json::Text(home))])
}

/// Gives our servers this data folder, or the default one.
fn with_home(style: &ServerStyle, text: &str, home: Option<&str>) -> Result<String, SettingsError> {
    let root = json::parse(text)?;
    let mut editor = Editor::new(text, &root);
    let Some((_, list)) = list_of(style, text, &root)? else { return Ok(text.to_owned()) };
    for server in find_ours(style, text, list)?.into_iter().filter(|server| server.home(text).as_deref() != home) {
        let Some((env_index, env)) = server.env else {
            let variables = home.map(|home| (style.env, home_variable(home)));
            editor.append(server.node, &Json::Object(Vec::from_iter(variables)));
            continue;
        };
        expect_kind(text, env, &format!("`{}.{NAME}.{}`", style.list, style.env), JsonKind::Object)?;
        match (server.home_item, home) {
            (Some((_, item)), Some(home)) => editor.replace(item, &Json::Text(home)),
            (None, Some(home)) => editor.append(env, &home_variable(home)),
            (Some(_), None) if env.items.len() == 1 && !env.has_comments => editor.remove(server.node, &[env_index]),
            (Some((index, _)), None) => editor.remove(env, &[index]),
            (None, None) => {}
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
    let ours: Vec<usize> = find_ours(style, text, list)?.into_iter().map(|server| server.index).collect();
    let mut editor = Editor::new(text, &root);
    if !ours.is_empty() && ours.len() == list.items.len() && !list.has_comments {
        editor.remove(&root, &[list_index]);
    } else {
        editor.remove(list, &ours);
    }
    Ok(editor.finish())
}

pub(super) fn installed(style: &ServerStyle, text: &str, wiring: &mut Wiring) -> Result<(), SettingsError> {
    let mut servers = Vec::new();
    if !json::is_blank(text) {
        let root = json::parse(text)?;
        if let Some((_, list)) = list_of(style, text, &root)? {
            let wired = |server: OurServer<'_>| WiredServer {
                command: server.program.string(text).unwrap_or_default(),
                home: server.home(text),
            };
            servers.extend(find_ours(style, text, list)?.into_iter().map(wired));
        }
    }
    if servers.is_empty() {
        wiring.missing.push(MCP);
    }
    wiring.servers.extend(servers);
    Ok(())
}

/// The object with the servers, and its index in the root.
fn list_of<'a>(style: &ServerStyle, text: &str, root: &'a Node) -> Result<Option<(usize, &'a Node)>, SettingsError> {
    expect_kind(text, root, "the file", JsonKind::Object)?;
    let Some((index, list)) = root.member(text, style.list)? else {
        return Ok(None);
    };
    expect_kind(text, &list.value, &format!("`{}`", style.list), JsonKind::Object)?;
    Ok(Some((index, &list.value)))
}

/// One of our servers and its index in the list.
struct OurServer<'a> {
    index: usize,
    node: &'a Node,
    program: &'a Node,
    /// Its environment variables and their index in the server.
    env: Option<(usize, &'a Node)>,
    /// The value of our variable and its index in the environment.
    home_item: Option<(usize, &'a Node)>,
}

impl OurServer<'_> {
    fn home(&self, text: &str) -> Option<String> {
        self.home_item.and_then(|(_, value)| value.string(text))
    }
}

/// The servers that run our program.
fn find_ours<'a>(style: &ServerStyle, text: &str, list: &'a Node) -> Result<Vec<OurServer<'a>>, SettingsError> {
    let mut found = Vec::new();
    for (index, server) in list.items.iter().enumerate() {
        let node = &server.value;
        let Some((_, command)) = node.member(text, "command")? else {
            continue;
        };
        let command = &command.value;
        let (program, args) = match style.form {
            ServerForm::CommandAndArgs => {
                (Some(command), node.member(text, "args")?.map(|(_, args)| &args.value.items[..]))
            }
            ServerForm::CommandList => match command.items.split_first() {
                Some((first, rest)) => (Some(&first.value), Some(rest)),
                None => (None, None),
            },
        };
        let (Some(program), Some(args)) = (program, args) else { continue };
        let is_ours = program.string(text).is_some_and(|program| is_program(&program))
            && args.iter().map(|arg| arg.value.string(text)).eq(ARGS.map(|arg| Some(arg.to_owned())));
        if is_ours {
            let env = node.member(text, style.env)?.map(|(index, env)| (index, &env.value));
            let home_item = match env {
                Some((_, env)) => env.member(text, HOME_VARIABLE)?.map(|(index, item)| (index, &item.value)),
                None => None,
            };
            found.push(OurServer { index, node, program, env, home_item });
        }
    }
    Ok(found)
}
