//! A sentence as words, code spans and the few marks that matter.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleToken {
    Word(String),
    /// In backquotes.
    Code(String),
    /// `,` or `;`
    Break,
    Open,
    Close,
}

/// More words than any sentence that a template covers.
const TOKENS_MAX: usize = 40;

/// The tokens of one sentence, without list marks, emphasis and a rationale after a dash. `None` if the text is more
/// than one sentence.
pub fn tokens(text: &str) -> Option<Vec<RuleToken>> {
    let text = text.trim().trim_start_matches(['-', '•', '+', '>', '#', ' ']).trim_start_matches("* ").trim_start();
    let text = text.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok()).map_or(text, |(_, rest)| rest);
    let text = text.trim().replace(['’', '‘'], "'");
    let mut tokens = Vec::new();
    let mut rest = text.trim_end_matches(['.', '!', ' ', '*']).trim_end_matches(['.', '!']);
    while !rest.is_empty() {
        if tokens.len() == TOKENS_MAX {
            return None;
        }
        if let Some(code) = rest.strip_prefix('`') {
            let (code, after) = code.split_once('`')?;
            tokens.push(RuleToken::Code(code.trim().to_string()));
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            rest = after;
            continue;
        }
        let first = rest.chars().next()?;
        let after = &rest[first.len_utf8()..];
        match first {
            ' ' => {
                let dashes = ["— ", "– ", "- ", "-- "];
                if dashes.iter().any(|dash| after.starts_with(dash)) {
                    return Some(tokens);
                }
                rest = after;
            }
            ',' | ';' => {
                tokens.push(RuleToken::Break);
                rest = after;
            }
            '(' => {
                tokens.push(RuleToken::Open);
                rest = after;
            }
            ')' => {
                tokens.push(RuleToken::Close);
                rest = after;
            }
            '\n' => return None,
            _ => {
                let end = rest.find([' ', ',', ';', '`', '(', ')', '\n']).unwrap_or(rest.len());
                let end = rest[..end].find("**").filter(|at| *at > 0 && !rest[..*at].ends_with('/')).unwrap_or(end);
                let (word, after) = rest.split_at(end);
                // The end of a sentence within the text.
                if word.ends_with(['.', '!', '?', ':']) && !after.is_empty() {
                    return None;
                }
                tokens.push(RuleToken::Word(word.trim_matches('"').to_string()));
                rest = after;
            }
        }
    }
    Some(tokens)
}
