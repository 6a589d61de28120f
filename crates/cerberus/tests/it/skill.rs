//! The skill of the plugin explains every code that agents are told, and older clients can read its head.

use cerberus_record::ours::told_prefixes;

use crate::style::workspace;

fn skill() -> String {
    std::fs::read_to_string(workspace().join("plugin/skills/cerberus/SKILL.md")).unwrap()
}

/// The lines between the first two `---`.
fn head(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("---"));
    lines.take_while(|line| *line != "---").collect()
}

#[test]
fn the_skill_explains_every_code() {
    let text = skill();
    let description = head(&text).into_iter().find(|line| line.starts_with("description:")).unwrap();
    for prefix in told_prefixes() {
        let is_explained = text.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{prefix}`")));
        assert!(is_explained, "no row of the table is about {prefix}");
        assert!(description.contains(prefix), "the description lacks {prefix}");
    }
}

/// A value without quotation marks must not look like something else.
#[test]
fn the_head_of_the_skill_is_valid_yaml() {
    let text = skill();
    assert!(head(&text).len() > 1 && text.matches("\n---\n").count() == 1);
    for line in head(&text) {
        assert!(is_valid(line), "{line}");
    }
    for (line, expected) in [
        ("name: cerberus", true),
        ("description: lines that begin with proj: and more", false),
        ("description: \"lines that begin with proj: and more\"", true),
        ("description: \"a \"word\" in it\"", false),
        ("description: a comment # begins", false),
        ("description: [list", false),
        ("no key", false),
    ] {
        assert_eq!(is_valid(line), expected, "{line}");
    }
}

fn is_valid(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else { return false };
    let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_value = match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) => !inside.contains(['"', '\\']),
        None => {
            let is_plain_start = value.starts_with(|c: char| c.is_alphanumeric());
            is_plain_start && !value.contains(": ") && !value.ends_with(':') && !value.contains(" #")
        }
    };
    is_key && is_value
}
