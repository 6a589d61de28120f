//! The line that the user sees when a session was told something.

use super::Brief;

/// `cerberus: 9 items, 412 tokens · 2 rules to review`; `None` if nothing was told.
pub fn notice(brief: &Brief, proposals: usize) -> Option<String> {
    if brief.text.is_empty() {
        return None;
    }
    let items = counted(brief.items.len() + brief.memories.len(), "item");
    let told = format!("cerberus: {items}, {}", counted(brief.tokens, "token"));
    Some(match proposals {
        0 => told,
        _ => format!("{told} · {} to review", counted(proposals, "rule")),
    })
}

fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_one_short_line() {
        let brief = |tokens: usize, text: &str| Brief { text: text.to_string(), tokens, ..Brief::default() };
        for (brief, proposals, expected) in [
            (brief(0, ""), 3, None),
            (brief(412, "proj:x"), 0, Some("cerberus: 0 items, 412 tokens")),
            (brief(1, "proj:x"), 1, Some("cerberus: 0 items, 1 token · 1 rule to review")),
            (brief(412, "proj:x"), 2, Some("cerberus: 0 items, 412 tokens · 2 rules to review")),
        ] {
            assert_eq!(notice(&brief, proposals).as_deref(), expected);
        }
    }
}
