//! The user's trust in hooks, as an agent stores it in its TOML file: `[hooks.state."PATH:EVENT:ENTRY:HANDLER"]`.
//!
//! Only the agent and its user grant trust. Here it is read, and removed together with the hooks that it is about.

use super::SettingsError;
use super::toml_server::{extent, lines, parse};

/// The events for which the agent stores trust in hooks of the file at `path`. Only the agent knows whether it trusts
/// the current text of the hooks.
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

/// The text without the trust in the hooks that these keys name, and without a list of trust that becomes empty.
pub fn without_trust(text: &str, keys: &[String]) -> Result<String, SettingsError> {
    let root = parse(text)?;
    let hooks = root.get_ref().get("hooks").and_then(|hooks| hooks.get_ref().as_table());
    let Some((list_key, list)) = hooks.and_then(|hooks| hooks.iter().find(|(key, _)| key.get_ref() == "state")) else {
        return Ok(text.to_owned());
    };
    let Some(states) = list.get_ref().as_table() else { return Ok(text.to_owned()) };
    let (doomed, kept): (Vec<_>, Vec<_>) =
        states.iter().partition(|(key, _)| keys.iter().any(|doomed| doomed == key.get_ref()));
    if doomed.is_empty() {
        return Ok(text.to_owned());
    }
    let mut spans: Vec<_> = doomed.iter().map(|(key, state)| lines(text, extent(key.span(), state))).collect();
    // The header of the list, which the agent writes too.
    let header = lines(text, list_key.span());
    if kept.is_empty() && text[header.clone()].trim() == "[hooks.state]" {
        spans.push(header);
    }
    spans.sort_by_key(|span| span.start);
    let mut changed = text.to_owned();
    for span in spans.into_iter().rev() {
        changed.replace_range(span, "");
    }
    match is_without(text, &changed, keys) {
        true => Ok(changed),
        false => Err(SettingsError::Entangled { path: "`hooks.state`".to_owned() }),
    }
}

/// Whether nothing but the trust in these hooks differs.
fn is_without(text: &str, changed: &str, keys: &[String]) -> bool {
    let rest = |text: &str| -> Option<String> {
        let mut table: toml::Table = toml::from_str(text).ok()?;
        if let Some(hooks) = table.get_mut("hooks").and_then(toml::Value::as_table_mut) {
            if let Some(states) = hooks.get_mut("state").and_then(toml::Value::as_table_mut) {
                states.retain(|key, _| !keys.iter().any(|doomed| doomed == key));
                if states.is_empty() {
                    hooks.remove("state");
                }
            }
            if hooks.is_empty() {
                table.remove("hooks");
            }
        }
        // Compared as text, because NaN does not equal itself.
        Some(format!("{table:?}"))
    };
    let after = rest(changed);
    let is_gone = trust_keys(changed).is_ok_and(|left| !left.iter().any(|key| keys.contains(key)));
    is_gone && after.is_some() && rest(text) == after
}

fn trust_keys(text: &str) -> Result<Vec<String>, SettingsError> {
    let root = parse(text)?;
    let states = root.get_ref().get("hooks").and_then(|hooks| hooks.get_ref().get("state"));
    let states = states.and_then(|states| states.get_ref().as_table());
    Ok(states.into_iter().flatten().map(|(key, _)| key.get_ref().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_read_by_file_and_event() {
        let text = "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:a\"\n\
            [hooks.state.\"/h/hooks.json:session_start:1:0\"]\nenabled = false\ntrusted_hash = \"sha256:b\"\n\
            [hooks.state.\"/h/hooks.json:post_tool_use:0:0\"]\nenabled = true\n\
            [hooks.state.\"/other/hooks.json:session_end:0:0\"]\ntrusted_hash = \"sha256:c\"\n";
        assert_eq!(trusted_hooks(text, "/h/hooks.json").unwrap(), ["stop"]);
        assert!(trusted_hooks("hooks = 1", "/h/hooks.json").unwrap().is_empty());
    }

    /// As Codex 0.166.0 writes it.
    const STATES: &str = "[hooks.state]\n\n[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:a\"\n\n\
        [hooks.state.\"/h/hooks.json:stop:1:0\"]\ntrusted_hash = \"sha256:b\"\n";

    #[test]
    fn trust_in_our_hooks_is_removed_and_nothing_else() {
        let keys = |positions: &[&str]| -> Vec<String> {
            positions.iter().map(|position| format!("/h/hooks.json:stop:{position}")).collect()
        };
        let before = "model = \"m\" # mine\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
        let text = format!("{before}\n{STATES}");
        assert_eq!(without_trust(&text, &keys(&["0:0", "1:0"])).unwrap(), before);
        let first = without_trust(&text, &keys(&["1:0"])).unwrap();
        assert!(
            first.contains("stop:0:0") && !first.contains("stop:1:0") && first.contains("[hooks.state]\n"),
            "{first}"
        );
        let between = format!("{text}\n[tui]\na = 1\n");
        assert_eq!(without_trust(&between, &keys(&["0:0", "1:0"])).unwrap(), format!("{before}\n[tui]\na = 1\n"));
        for same in [&text[..], "", "hooks = 1", "[hooks]\nstate = 1\n", before] {
            assert_eq!(without_trust(same, &keys(&["7:0"])).unwrap(), same);
        }
        let inline = "hooks = {state = {\"/h/hooks.json:stop:0:0\" = {trusted_hash = \"a\"}, b = {}}}\n";
        assert!(matches!(without_trust(inline, &keys(&["0:0"])), Err(SettingsError::Entangled { .. })));
    }
}
