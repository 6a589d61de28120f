//! What Claude Code passes to the command of a status line. Everything may be missing; the fill is null until the first
//! answer.

use std::borrow::Cow;

use serde::Deserialize;

use crate::loose::{Object, RawJson, Text};
use crate::status::AgentStatus;

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ClaudeStatusPayload<'a> {
    session_id: Text<'a>,
    cwd: Text<'a>,
    workspace: Object<Workspace<'a>>,
    context_window: Object<Window<'a>>,
    cost: Object<Cost<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Workspace<'a> {
    project_dir: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Window<'a> {
    used_percentage: RawJson<'a>,
    context_window_size: RawJson<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Cost<'a> {
    total_cost_usd: RawJson<'a>,
}

pub(crate) fn read(payload: &[u8]) -> Option<AgentStatus> {
    let Object(ClaudeStatusPayload { session_id, cwd, workspace, context_window, cost }) =
        serde_json::from_slice(payload).ok()?;
    let number = |raw: RawJson<'_>| raw.0.parse::<f64>().ok().filter(|number| number.is_finite());
    Some(AgentStatus {
        session: Some(session_id.0?.into_owned()),
        // The hooks' folder follows the agent; the project's does not.
        cwd: workspace.0.project_dir.0.or(cwd.0).map(Cow::into_owned),
        percent: number(context_window.0.used_percentage),
        window: number(context_window.0.context_window_size).map(|tokens| tokens as u64),
        cost_usd: number(cost.0.total_cost_usd),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_is_there_is_read() {
        let whole = json!({"session_id": "s1", "cwd": "/p/src", "workspace": {"project_dir": "/p"}, "model": {"id": "m"},
            "context_window": {"used_percentage": 38.4, "context_window_size": 200_000}, "cost": {"total_cost_usd": 0.42}});
        let read_of = |value: &serde_json::Value| read(value.to_string().as_bytes());
        let status = read_of(&whole).unwrap();
        assert_eq!((status.session.as_deref(), status.cwd.as_deref()), (Some("s1"), Some("/p")));
        assert_eq!((status.percent, status.window, status.cost_usd), (Some(38.4), Some(200_000), Some(0.42)));
        let early = json!({"session_id": "s1", "cwd": "/p", "context_window": {"used_percentage": null}, "cost": 3});
        let status = read_of(&early).unwrap();
        assert_eq!((status.cwd.as_deref(), status.percent, status.cost_usd), (Some("/p"), None, None));
        assert!(read(b"no JSON").is_none() && read(b"").is_none());
    }
}
