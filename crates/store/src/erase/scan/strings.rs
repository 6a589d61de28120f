//! Cleans the strings in a JSON text; everything between them keeps its bytes.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::secret::kinds_of;

/// The fields of records and ledgers that hold words of people and programs. Random tokens are cut there too, as when
/// they were written; in ids and paths they are expected.
const WORDS: [&str; 21] = [
    "actions",
    "answers",
    "command",
    "content",
    "detail",
    "error",
    "evidence",
    "handoff",
    "in_flight",
    "message",
    "output",
    "plan",
    "prompt",
    "rationale",
    "reason",
    "subject",
    "summary",
    "text",
    "what",
    "why",
    "words",
];

/// The text with the secrets in its strings removed, and their kinds; `None` if it has none.
pub(super) fn cleaned(cleaner: &Cleaner, json: &str) -> Option<(String, Vec<String>)> {
    let mut out = String::new();
    let mut kept = 0;
    let mut kinds = Vec::new();
    let mut field = "";
    for (start, end) in strings(json) {
        if json[end..].trim_start().starts_with(':') {
            field = &json[start + 1..end - 1];
        }
        let Ok(said) = serde_json::from_slice::<String>(&json.as_bytes()[start..end]) else { continue };
        let redacted = if WORDS.contains(&field) { cleaner.redact_words(&said) } else { cleaner.redact(&said) };
        let found = kinds_of(&redacted, &said);
        if found.is_empty() {
            continue;
        }
        kinds.extend(found);
        out.push_str(&json[kept..start]);
        out.push_str(&serde_json::to_string(&*redacted).unwrap_or_else(|_| "\"\"".to_string()));
        kept = end;
    }
    if kinds.is_empty() {
        return None;
    }
    out.push_str(&json[kept..]);
    kinds.sort();
    Some((out, kinds))
}

/// The positions of the strings in a JSON text, quotes included. An unterminated string is ignored.
fn strings(json: &str) -> Vec<(usize, usize)> {
    let bytes = json.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = bytes[at..].iter().position(|&byte| byte == b'"').map(|open| at + open) {
        let mut end = open + 1;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            break;
        }
        found.push((open, end + 1));
        at = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    #[test]
    fn random_tokens_are_found_in_words_and_kept_in_ids() {
        let token = concat!("q7Hx2Lm9", "Vz4Tn8Rb1Kc6Wd3Y");
        let json = format!("{{\"session\":\"{token}\",\"text\":\"use {token} here\",\"path\":\"a/{token}\"}}");
        let (out, kinds) = cleaned(&BUILT_IN, &json).unwrap();
        assert_eq!(kinds, ["opaque-token"]);
        assert_eq!(out, json.replace(&format!("use {token}"), "use [redacted:opaque-token]"));
        assert_eq!(cleaned(&BUILT_IN, &out), None);
    }

    #[test]
    fn strings_are_cleaned_and_the_rest_keeps_its_bytes() {
        let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
        let json =
            format!("{{ \"a\" : \"x {key}\\n\", \"b\":[1, \"\\\"password\\\": \\\"hunter2!\\\"\"], \"c\":\"d\" }}");
        let (out, kinds) = cleaned(&BUILT_IN, &json).unwrap();
        assert_eq!(
            out,
            "{ \"a\" : \"x [redacted:github-token]\\n\", \"b\":[1, \"\\\"password\\\": \\\"[redacted:password]\\\"\"], \"c\":\"d\" }"
        );
        assert_eq!(kinds, ["github-token", "password"]);
        assert_eq!(cleaned(&BUILT_IN, &out), None);
        assert_eq!(cleaned(&BUILT_IN, "{\"a\": \"b\", \"c"), None);
    }
}
