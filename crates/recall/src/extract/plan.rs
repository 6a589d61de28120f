//! Finds the steps of a plan: numbered headings, else the list under a heading that announces steps, else the numbered
//! or bulleted lists that are not under a heading that announces something else.

use cerberus_record::clean::text::{clip, line};
use cerberus_record::ours::without_ours;
use cerberus_record::words::is_one_of;
use cerberus_text::outline::{ListItem, heading, is_finished, item, items, plain, prose};

const STEP_CHARS_MAX: usize = 300;
const STEPS_MAX: usize = 20;
/// A plan begins with what matters.
const READ_BYTES_MAX: usize = 64 * 1024;

/// Words of headings that announce steps.
const STEP_SECTIONS: &str = "steps implementation changes tasks approach todo work plan phases order proposal solution";
/// Words of headings that announce something else.
const OTHER_SECTIONS: &str = "context background problem goal goals overview summary verification verify risks risk notes \
    references files file decisions scope edge questions assumptions stays structure related testing test \
    cost requirements alternatives non-goals current findings analysis why key critical";

/// The steps of a plan in order, one line each.
pub fn plan(plan: &str) -> Vec<String> {
    let text = without_ours(clip(plan, READ_BYTES_MAX));
    let mut found: Vec<String> = Vec::new();
    for step in steps(&text) {
        let step = line(&plain(step), STEP_CHARS_MAX);
        let step = step.trim_end_matches(':').trim();
        if !step.is_empty() && !found.iter().any(|known| known == step) {
            found.push(step.to_string());
        }
    }
    found.truncate(STEPS_MAX);
    found
}

fn steps(plan: &str) -> Vec<&str> {
    let lines = prose(plan);
    let numbered: Vec<&str> =
        lines.iter().filter_map(|line| heading(line)).filter_map(|(_, title)| step_title(title)).collect();
    if numbered.len() > 1 {
        return numbered;
    }
    let promised = listed(&lines, |title| has_word(title, STEP_SECTIONS) && !has_word(title, OTHER_SECTIONS), |_| true);
    if !promised.is_empty() {
        return promised;
    }
    let ordered = listed(&lines, |title| !has_word(title, OTHER_SECTIONS), |item| item.numbered);
    if !ordered.is_empty() {
        return ordered;
    }
    listed(&lines, |title| !has_word(title, OTHER_SECTIONS), |_| true)
}

/// The top-level items of the lists under headings that `is_wanted` accepts. Before the first heading the title is "".
fn listed<'a>(
    lines: &[&'a str],
    is_wanted: impl Fn(&str) -> bool,
    is_step: impl Fn(&ListItem) -> bool,
) -> Vec<&'a str> {
    let mut steps = Vec::new();
    let mut wanted = is_wanted("");
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let list = if heading(line).is_none() && item(line).is_some() { items(&lines[at..]) } else { Vec::new() };
        if let Some((_, title)) = heading(line) {
            wanted = is_wanted(title);
        } else if wanted {
            steps.extend(list.iter().filter(|item| is_step(item) && !is_finished(item.text)).map(|item| item.text));
        }
        at += items_len(&lines[at..], &list).max(1);
    }
    steps
}

/// How many lines `list` takes, up to and including its last item.
fn items_len(lines: &[&str], list: &[ListItem]) -> usize {
    let Some(last) = list.last() else {
        return 1;
    };
    lines
        .iter()
        .position(|line| item(line).is_some_and(|item| std::ptr::eq(item.text, last.text)))
        .map_or(1, |at| at + 1)
}

fn has_word(title: &str, list: &str) -> bool {
    title.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| is_one_of(&word.to_lowercase(), list))
}

/// `1. Title`, `Step 2: Title`, `Phase 3 — Title`.
fn step_title(title: &str) -> Option<&str> {
    let title = title.trim_start_matches(['*', '_', ' ']);
    let (first, rest) = title.split_once(' ').unwrap_or((title, ""));
    let is_named = ["step", "phase", "task", "part", "stage"].contains(&first.to_lowercase().as_str());
    let numbered = if is_named { rest } else { title };
    let after = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_mark = after.starts_with(['.', ')', ':']) || (is_named && after.starts_with([' ', '—', '-']));
    let name = after.trim_start_matches(['.', ')', ':', ' ', '—', '–', '-']).trim();
    (after.len() < numbered.len() && has_mark && !name.is_empty() && !is_finished(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_plan() {
        for (text, expected) in [
            (
                "# P\n## Context\n- why\n## Changes\n### 1. Types\n- a\n### 2. `Engine`:\n## Verification\n1. test",
                vec!["Types", "`Engine`"],
            ),
            ("## Step 1: Do a\n## Step 2 — Do b\n### Notes", vec!["Do a", "Do b"]),
            ("# Plan\n## Steps\n1. Do a\n   - how\n2. Do **b**\n\n## Risks\n1. none", vec!["Do a", "Do b"]),
            ("- one\n- two\n", vec!["one", "two"]),
            ("Some prose\n\n1. one\n\n2. two\n\n- aside", vec!["one", "two"]),
            ("```\n1. code\n```\nprose", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(plan(text), expected, "{text}");
        }
        let many: String = (0..50).map(|n| format!("{n}. step {n}\n")).collect();
        assert_eq!(plan(&many).len(), STEPS_MAX);
    }
}
