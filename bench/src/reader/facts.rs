//! What a reader of a brief should be able to name: the exact facts in the gold standard, such as files, tests, commands,
//! branches and values. An answer has a fact or it has not; no model judges.

use std::collections::BTreeSet;

use serde::Deserialize;

/// What readers of the sessions wrote down at one moment.
#[derive(Deserialize)]
pub struct GoldMoment {
    pub boundary: String,
    stopped: GoldItem,
    open: Vec<GoldItem>,
    decisions: Vec<GoldItem>,
}

#[derive(Deserialize)]
struct GoldItem {
    #[serde(default)]
    what: String,
    #[serde(default)]
    kind: String,
}

pub const QUESTIONS: [&str; 5] = [
    "What was being done when the work stopped?",
    "Which files is the work in?",
    "What fails or blocks?",
    "What was decided?",
    "What is still to do?",
];

impl GoldMoment {
    pub fn person(&self) -> &str {
        self.boundary.rsplit_once('-').map_or(self.boundary.as_str(), |(person, _)| person)
    }

    /// The facts of each question.
    pub fn facts(&self) -> [BTreeSet<String>; QUESTIONS.len()] {
        let of = |items: &mut dyn Iterator<Item = &GoldItem>| -> BTreeSet<String> {
            items.flat_map(|item| exact(&item.what)).collect()
        };
        let is_blocker = |item: &&GoldItem| item.kind == "blocker";
        let everything = of(&mut std::iter::once(&self.stopped).chain(&self.open));
        [
            of(&mut std::iter::once(&self.stopped)),
            everything.into_iter().filter(|fact| is_file(fact)).collect(),
            of(&mut self.open.iter().filter(is_blocker)),
            of(&mut self.decisions.iter()),
            of(&mut self.open.iter().filter(|item| !is_blocker(item))),
        ]
    }
}

/// Words that nobody says by chance: with a sign or a digit inside, or a capital after a small letter.
fn exact(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_#@~$./:-".contains(c);
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', ':', '-', '/', '#']));
    words.filter(|word| word.chars().count() >= 3 && is_exact(word)).map(str::to_string).collect()
}

fn is_exact(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let pairs = || chars.windows(2);
    let has_capital_inside = pairs().any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let has_sign_inside = chars
        .windows(3)
        .any(|three| three[0].is_alphanumeric() && "./_:#".contains(three[1]) && three[2].is_alphanumeric());
    let is_mixed = word.contains(|c: char| c.is_ascii_digit()) && word.contains(char::is_alphabetic);
    has_capital_inside || has_sign_inside || is_mixed
}

fn is_file(fact: &str) -> bool {
    let ending = fact.rsplit_once('.').map_or("", |(_, ending)| ending);
    fact.contains('/') || ((1..=5).contains(&ending.len()) && ending.chars().all(char::is_lowercase))
}

/// Whether an answer names this fact. A file is named by its last part too.
pub fn names(answer: &str, fact: &str) -> bool {
    let answer = answer.to_lowercase();
    let fact = fact.to_lowercase();
    let last = match is_file(&fact) {
        true => fact.rsplit('/').next().unwrap_or(&fact),
        false => &fact,
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    answer.match_indices(last).any(|(at, found)| {
        let after = &answer[at + found.len()..];
        !answer[..at].ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_words_that_nobody_says_by_chance() {
        let found =
            exact("Removed `runEntireCmd` in src/a.rs; test:ci passes, 40-char hashes. See PR #2 and the e-mail.");
        let expected = ["40-char", "runEntireCmd", "src/a.rs", "test:ci"];
        assert_eq!(found, expected.map(str::to_string).into());
    }

    #[test]
    fn a_fact_is_named_as_a_word() {
        assert!(names("It was in a.rs.", "src/a.rs"));
        assert!(!names("It was in extra.rs", "src/a.rs"));
        assert!(!names("nothing here", "runEntireCmd"));
        assert!(names("call RUNENTIRECMD()", "runEntireCmd"));
    }

    #[test]
    fn each_question_has_its_own_facts() {
        let gold = r#"{"boundary":"dev01-005","stopped":{"what":"editing src/a.rs"},
            "open":[{"what":"TestRace fails in b_test.go","kind":"blocker"},{"what":"add useCache","kind":"next"}],
            "decisions":[{"what":"keep sqlite3"}]}"#;
        let gold: GoldMoment = serde_json::from_str(gold).unwrap();
        let [doing, files, fails, decided, next] = gold.facts();
        assert_eq!(gold.person(), "dev01");
        assert_eq!(doing, BTreeSet::from(["src/a.rs".to_string()]));
        assert_eq!(files, ["src/a.rs", "b_test.go"].map(str::to_string).into());
        assert_eq!(fails, ["TestRace", "b_test.go"].map(str::to_string).into());
        assert_eq!(decided, BTreeSet::from(["sqlite3".to_string()]));
        assert_eq!(next, BTreeSet::from(["useCache".to_string()]));
    }
}
