//! Reads a rule from a sentence, by strict templates.
//!
//! A template must use up the whole sentence; only a rationale after a dash may remain. A permission, a condition, an
//! exception or a word too many gives no rule. So a rule is never the opposite of what was said, and most sentences give
//! none. Only programs that are known to be programs are read as commands.

mod reader;
mod templates;
mod tokens;

use self::tokens::tokens;
use super::Rule;

/// The rule that a sentence states; `None` if it is not certain.
pub fn derive(sentence: &str) -> Option<Rule> {
    let tokens = tokens(sentence)?;
    let words = templates::ALL.iter().find_map(|template| template(&tokens))?;
    Rule::parse(&words).ok()
}
