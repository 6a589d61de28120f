//! Commands inside a script: some agents run `tools.exec_command({cmd: "cargo test", workdir: "/p"})` in JavaScript.

const CALL: &str = "tools.exec_command(";
/// More commands than a script runs.
const COMMANDS_MAX: usize = 64;

/// The commands of a script, one per line, and the folder that all of them run in. `None` if the text is not such a
/// script.
pub(crate) fn commands(script: &str) -> Option<(String, Option<String>)> {
    let mut lines: Vec<String> = Vec::new();
    let mut folders: Vec<Option<String>> = Vec::new();
    for call in script.split(CALL).skip(1).take(COMMANDS_MAX) {
        let (mut command, mut folder) = (None, None);
        for (name, value) in fields(call) {
            match name.as_str() {
                "cmd" => command = Some(value),
                "workdir" => folder = Some(value),
                _ => {}
            }
        }
        if let Some(command) = command {
            lines.push(command);
            folders.push(folder);
        }
    }
    let first = folders.first()?.clone();
    let same = first.filter(|first| folders.iter().all(|folder| folder.as_ref() == Some(first)));
    Some((lines.join("\n"), same))
}

/// The fields of an object that are plain texts, up to its end or the first thing that is not understood.
fn fields(object: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(mut rest) = object.trim_start().strip_prefix('{') else { return found };
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let (name, after) = match text(rest) {
            Some(quoted) => quoted,
            None => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                (rest[..end].to_string(), &rest[end..])
            }
        };
        let Some(value) = after.trim_start().strip_prefix(':').map(str::trim_start).filter(|_| !name.is_empty()) else {
            return found;
        };
        match text(value) {
            Some((value, after)) => {
                found.push((name, value));
                rest = after;
            }
            // A number or a name.
            None => {
                let Some(end) = value.find([',', '}', '{', '[', '(']) else { return found };
                if !value[end..].starts_with(',') {
                    return found;
                }
                rest = &value[end..];
            }
        }
    }
}

/// A text in quotes at the beginning, and what follows it. A template with variables is none.
fn text(script: &str) -> Option<(String, &str)> {
    let quote = script.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut out = String::new();
    let mut chars = script.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '\n' => {}
                other => out.push(other),
            },
            '$' if quote == '`' && script[at..].starts_with("${") => return None,
            c if c == quote => return Some((out, &script[at + c.len_utf8()..])),
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_out_of_scripts() {
        for (script, expected) in [
            (
                "const r = await tools.exec_command({\n  cmd: \"go test ./...\",\n  workdir: \"/p\",\n  yield_time_ms: \
                 10000\n});\ntext(r.output);",
                Some(("go test ./...", Some("/p"))),
            ),
            (
                "tools.exec_command({\"cmd\":'echo \"a\\'b\"\\nls',\"workdir\":\"/p\"})",
                Some(("echo \"a'b\"\nls", Some("/p"))),
            ),
            (
                "[tools.exec_command({yield_time_ms: 5, cmd: `ls`}), tools.exec_command({cmd: \"pwd\", workdir: \"/q\"})]",
                Some(("ls\npwd", None)),
            ),
            ("tools.exec_command({cmd: `ls ${x}`})", None),
            ("tools.exec_command({cmd: build(), workdir: \"/p\"})", None),
            ("tools.exec_command(", None),
            ("tools.exec_command({cmd: \"ls", None),
            ("go test ./...", None),
            ("", None),
        ] {
            let found = commands(script);
            let found = found.as_ref().map(|(line, folder)| (line.as_str(), folder.as_deref()));
            assert_eq!(found, expected, "{script}");
        }
    }
}
