//! Reduces words to the stem their forms share.
//!
//! Cruder than a linguistic stemmer and meant only for comparison: a stem is never shown.

/// Endings, longest first. The rest must still look like a word.
const ENDINGS: [&str; 7] = ["ings", "ions", "ing", "ion", "ed", "es", "s"];
const STEM_CHARS_MIN: usize = 2;

/// `committing`, `commits` and `committed` all become `commit`. The word must be lower case.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() || word.contains(|c: char| !c.is_ascii_alphabetic()) {
        return word.to_string();
    }
    let word = word.strip_suffix("ly").filter(|rest| rest.len() > 4).unwrap_or(word);
    let bare = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| is_stem(rest, ending)));
    let mut bare = bare.unwrap_or(word).to_string();
    if bare.len() > STEM_CHARS_MIN {
        let last = bare.pop().unwrap_or_default();
        match last {
            'e' => {}
            'y' => bare.push('i'),
            // "running", "pass": one of two equal consonants is enough.
            _ if bare.ends_with(last) && !is_vowel(last) => {}
            _ => bare.push(last),
        }
    }
    bare
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}

fn is_stem(rest: &str, ending: &str) -> bool {
    // "pass", "this", "exceed": these letters belong to the word.
    let is_own = match ending {
        "s" => rest.ends_with(['s', 'u', 'i']),
        "ed" => rest.ends_with('e'),
        _ => false,
    };
    rest.len() >= STEM_CHARS_MIN && rest.contains(is_vowel) && !is_own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            "commit commits committed committing",
            "validate validates validated validating validation",
            "handle handles handled handling",
            "test tests tested testing",
            "use uses used using",
            "space spaces",
            "summary summaries",
            "dependency dependencies",
            "pass passes passed passing",
            "name names named naming",
            "concise concisely",
            "exceed exceeds exceeded",
        ] {
            let stems: Vec<String> = forms.split(' ').map(stem).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{forms}: {stems:?}");
        }
        for apart in ["string strip", "test text", "to too", "over overly", "tab table", "this thin", "spec space"] {
            let (a, b) = apart.split_once(' ').unwrap();
            assert_ne!(stem(a), stem(b));
        }
        assert_eq!(stem("snake_case"), "snake_case");
        assert_eq!(stem("größe"), "größe");
    }
}
