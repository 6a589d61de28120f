//! Reduces words to the stem their forms share, and measures how similar two words look.
//!
//! Cruder than a linguistic stemmer and meant only for comparison: a stem is never shown.

/// Endings, longest first. The rest must still look like a word.
const ENDINGS: [&str; 7] = ["ings", "ions", "ing", "ion", "ed", "es", "s"];
const STEM_CHARS_MIN: usize = 2;

/// `committing`, `commits` and `committed` all become `commit`. The word must be lower case.
pub(crate) fn stem(word: &str) -> String {
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

/// Shorter words are too similar to each other.
pub(crate) const SHAPED_CHARS_MIN: usize = 6;

/// The spelling of a word: its groups of three letters, sorted.
pub(crate) struct Shape {
    initial: char,
    pub(crate) triples: Vec<[char; 3]>,
}

impl Shape {
    pub fn of(word: &str) -> Shape {
        let chars: Vec<char> = std::iter::once('^').chain(word.chars()).chain(std::iter::once('$')).collect();
        let mut triples: Vec<[char; 3]> = chars.windows(3).map(|three| [three[0], three[1], three[2]]).collect();
        triples.sort_unstable();
        triples.dedup();
        Shape { initial: chars[1], triples }
    }

    pub fn initial(&self) -> char {
        self.initial
    }

    /// Whether a word is long enough to be recognized by its shape.
    pub fn is_telling(word: &str) -> bool {
        word.chars().count() >= SHAPED_CHARS_MIN && word.chars().all(char::is_alphabetic)
    }

    /// How similar two words look, from 0 to 1: the share of triples they have in common.
    pub fn likeness(&self, other: &Shape) -> f64 {
        self.shared(other.triples.iter().copied())
    }

    /// The same with a word whose triples are written in a row.
    pub fn likeness_to_written(&self, other: &str) -> f64 {
        let mut chars = other.chars();
        self.shared(std::iter::from_fn(|| Some([chars.next()?, chars.next()?, chars.next()?])))
    }

    /// Both are sorted.
    fn shared(&self, other: impl Iterator<Item = [char; 3]>) -> f64 {
        let (mut shared, mut count, mut own) = (0, 0, self.triples.as_slice());
        for triple in other {
            count += 1;
            while let [first, rest @ ..] = own
                && *first <= triple
            {
                shared += usize::from(*first == triple);
                own = rest;
            }
        }
        2.0 * shared as f64 / (self.triples.len() + count).max(1) as f64
    }
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

    fn likeness(a: &str, b: &str) -> f64 {
        let (a, b) = (Shape::of(a), Shape::of(b));
        assert_eq!(a.likeness(&b), a.likeness_to_written(&b.triples.iter().flatten().collect::<String>()));
        a.likeness(&b)
    }

    #[test]
    fn likeness_is_one_for_the_same_word_and_small_for_others() {
        assert_eq!(likeness("concise", "concise"), 1.0);
        assert!(likeness("consise", "concise") > 0.55);
        assert!(likeness("commit", "comment") < 0.55);
        assert!(likeness("", "x") == 0.0);
    }
}
