//! Scripts: Codex may run its tools from JavaScript. A script that takes long becomes a cell, which later calls wait for.
//! A command that outlives its script becomes a session, which later scripts poll.

use std::borrow::Cow;

use serde::Deserialize;

use crate::loose::Text;

/// What the model was told about a script.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptAnswer<'a> {
    pub state: ScriptState<'a>,
    /// What the script printed.
    pub output: Cow<'a, str>,
    /// The exit code of its command, if the script printed it.
    pub exit: Option<i64>,
    /// The session of its command, if that still runs.
    pub session: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ScriptState<'a> {
    /// Under this name.
    Running(&'a str),
    Completed,
    Failed,
}

/// The result of a command, printed as it is.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ScriptPrinted<'a> {
    output: Text<'a>,
    exit_code: Text<'a>,
    session_id: Text<'a>,
}

/// Reads the answer to a script, or to a wait for one; `None` if it is another answer.
pub fn read(text: &str) -> Option<ScriptAnswer<'_>> {
    let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
    let state = match (head.trim_end(), head.strip_prefix("Script running with cell ID ")) {
        (_, Some(cell)) => ScriptState::Running(cell.trim()),
        ("Script completed", _) => ScriptState::Completed,
        ("Script failed" | "Script terminated", _) => ScriptState::Failed,
        _ => return None,
    };
    let output = rest.split_once("Output:\n").map_or("", |(_, output)| output).trim_start_matches('\n');
    if output.starts_with('{')
        && let Ok(ScriptPrinted { output, exit_code, session_id }) = serde_json::from_slice(output.as_bytes())
    {
        let exit = exit_code.0.and_then(|code| code.parse().ok());
        let session = session_id.0.map(Cow::into_owned);
        return Some(ScriptAnswer { state, output: output.0.unwrap_or_default(), exit, session });
    }
    // Models print these as they like.
    let value = |names: &[&str]| {
        let of = |line: &str| {
            let (name, value) = line.split_once(['=', ':'])?;
            let is_it = names.iter().any(|known| name.trim().eq_ignore_ascii_case(known));
            value.trim().parse::<i64>().ok().filter(|_| is_it)
        };
        output.lines().rev().find_map(of)
    };
    let (exit, session) = (value(&["exit", "exit_code"]), value(&["session_id"]).map(|id| id.to_string()));
    Some(ScriptAnswer { state, output: Cow::Borrowed(output), exit, session })
}

/// The session that a script polls, if it does nothing else.
pub fn polled(script: &str) -> Option<String> {
    let (_, call) = script.split_once("tools.write_stdin(")?;
    let (_, value) = call.split_once("session_id").filter(|_| !script.contains("tools.exec_command("))?;
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '"' | '\''));
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(value.len());
    (end > 0).then(|| value[..end].to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_scripts_are_read() {
        let answer = |state, output: &'static str, exit, session: Option<&str>| {
            Some(ScriptAnswer { state, output: Cow::Borrowed(output), exit, session: session.map(str::to_string) })
        };
        for (text, expected) in [
            (
                "Script running with cell ID 7\nWall time 10.0 seconds\nOutput:\n",
                answer(ScriptState::Running("7"), "", None, None),
            ),
            (
                "Script completed\nWall time 0.2 seconds\nOutput:\n\nok\n\nexit=0",
                answer(ScriptState::Completed, "ok\n\nexit=0", Some(0), None),
            ),
            (
                "Script completed\nWall time 0.2 seconds\nOutput:\n\nSESSION_ID=5\nexit=undefined",
                answer(ScriptState::Completed, "SESSION_ID=5\nexit=undefined", None, Some("5")),
            ),
            (
                "Script completed\nWall time 0.2 seconds\nOutput:\n\n{\"exit_code\":2,\"output\":\"a\\nb\"}",
                answer(ScriptState::Completed, "a\nb", Some(2), None),
            ),
            (
                "Script completed\nOutput:\n{\n  \"session_id\": 54507,\n  \"output\": \"\"\n}",
                answer(ScriptState::Completed, "", None, Some("54507")),
            ),
            ("Script failed\nWall time 0.0 seconds\nOutput:\nbad", answer(ScriptState::Failed, "bad", None, None)),
            ("Script completed", answer(ScriptState::Completed, "", None, None)),
            ("Exit code: 0\nOutput:\nScript completed", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_script_that_polls_names_its_session() {
        for (script, expected) in [
            ("const r = await tools.write_stdin({session_id:54507,chars:\"\"});", Some("54507")),
            ("tools.write_stdin({\n  \"session_id\": \"8\"})", Some("8")),
            ("tools.write_stdin({chars: \"\"})", None),
            ("tools.write_stdin({session_id: })", None),
            ("tools.exec_command({cmd: \"ls\"}); tools.write_stdin({session_id: 8})", None),
            ("tools.exec_command({cmd: \"ls\"})", None),
        ] {
            assert_eq!(polled(script).as_deref(), expected, "{script}");
        }
    }
}
