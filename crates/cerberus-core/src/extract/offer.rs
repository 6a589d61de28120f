//! What an agent offered at the end of its message, and which part of it an answer accepts: "yes", "option 2", "B".

use super::assent;
use crate::clean::text::{clip_front, words};
use crate::language::outline;

/// An offer is at the end of a message.
const READ_BYTES_MAX: usize = 4000;
const QUESTION_LINES_MAX: usize = 6;
const CHOSEN_MAX: usize = 5;
/// Fewer words of this length say nothing.
const CONTENT_CHARS_MIN: usize = 4;
const CONTENT_WORDS_MIN: usize = 2;

/// How an agent offers to do something. What it offers comes after it.
const OPENINGS: &[&str] = &[
    "let me know if you want me to ",
    "let me know if you'd like me to ",
    "would you like me to ",
    "do you want me to ",
    "if you'd like, i can ",
    "if you like, i can ",
    "if you want, i can ",
    "would you like to ",
    "do you want to ",
    "want me to ",
    "shall i ",
    "should i ",
    "shall we ",
    "should we ",
    "may i ",
    "ready for me to ",
    "ready to ",
    "te gustaría que ",
    "tu veux que je ",
    "vous voulez que je ",
    "quieres que ",
    "querés que ",
    "quiere que ",
    "gostaria que eu ",
    "quer que eu ",
    "veux-tu que je ",
    "voulez-vous que je ",
    "souhaites-tu que je ",
    "souhaitez-vous que je ",
    "dois-je ",
    "soll ich ",
    "sollen wir ",
    "möchtest du, dass ich ",
    "vuoi che ",
    "devo ",
    "czy mam ",
    "chcesz, żebym ",
    "chcesz, abym ",
    "хочешь, чтобы я ",
    "хотите, чтобы я ",
    "мне ",
    "要我",
    "需要我",
];

/// Ordinals that name one of several options.
const ORDINALS: [(&str, &[&str]); 4] = [
    ("1", &["first", "primera", "primero", "primeira", "première", "premier", "erste", "ersten", "prima", "pierwsza"]),
    ("2", &["second", "segunda", "segundo", "deuxième", "seconde", "zweite", "zweiten", "seconda", "druga"]),
    ("3", &["third", "tercera", "terceira", "troisième", "dritte", "dritten", "terza", "trzecia"]),
    ("4", &["fourth", "cuarta", "quarta", "quatrième", "vierte", "vierten", "czwarta"]),
];
const ALL: &[&str] = &["both", "all", "ambas", "todas", "todo", "tous", "toutes", "beide", "alle", "entrambe", "tutte"];

/// What `answer` accepts of what `message` offered. Nothing if that cannot be told, or is only how to go on.
pub(super) fn accepted(answer: &str, message: &str) -> Vec<String> {
    let message = clip_front(message, READ_BYTES_MAX);
    let marks = marks(answer);
    let is_all = words(answer).any(|word| ALL.contains(&word.as_str()));
    let is_chosen = |mark: &String| marks.contains(mark) || (is_all && marks.is_empty());
    let mut chosen: Vec<String> =
        options(message).into_iter().filter(|(mark, _)| is_chosen(mark)).map(|(_, text)| text).collect();
    if chosen.is_empty() && marks.is_empty() {
        chosen.extend(asked(message));
    }
    chosen.retain(|text| says_something(text));
    chosen.truncate(CHOSEN_MAX);
    chosen
}

/// "3 is better", "5 seems like a good one": after a number, only these say something about an option.
const COPULAS: &[&str] = &[
    "is",
    "seems",
    "sounds",
    "looks",
    "would",
    "es",
    "parece",
    "suena",
    "é",
    "soa",
    "est",
    "semble",
    "paraît",
    "ist",
    "klingt",
    "scheint",
    "è",
    "sembra",
    "jest",
    "brzmi",
    "wygląda",
    "лучше",
    "звучит",
];

/// The options that a sentence of the prompt speaks for by their number.
pub(super) fn preferred(prompt: &str, message: &str) -> Vec<String> {
    let sentences = prompt.split_inclusive(['.', '!', '?', '？', '\n']).filter(|one| !one.ends_with(['?', '？']));
    let mark = |sentence: &str| {
        let mut words = sentence.split_whitespace();
        let mark = words.next().filter(|word| word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit()))?;
        words.next().filter(|word| COPULAS.contains(&word.to_lowercase().as_str()))?;
        Some(mark.to_string())
    };
    let marks: Vec<String> = sentences.filter_map(mark).collect();
    let options = if marks.is_empty() { Vec::new() } else { options(clip_front(message, READ_BYTES_MAX)) };
    let chosen = options.into_iter().filter(|(mark, _)| marks.contains(mark)).map(|(_, text)| text);
    chosen.filter(|text| says_something(text)).take(CHOSEN_MAX).collect()
}

fn says_something(text: &str) -> bool {
    let is_content = |word: &String| word.chars().count() >= CONTENT_CHARS_MIN || !word.is_ascii();
    let is_one_word = |text: &str| !text.is_ascii() && !text.contains(' ');
    (words(text).filter(is_content).count() >= CONTENT_WORDS_MIN || is_one_word(text)) && !assent::is_routine(text)
}

/// Every decision that an answer to this message could become.
pub(super) fn possible(message: &str) -> Vec<String> {
    let message = clip_front(message, READ_BYTES_MAX);
    options(message).into_iter().map(|(_, text)| text).chain(asked(message)).collect()
}

/// The numbers and letters in an answer.
fn marks(answer: &str) -> Vec<String> {
    let mut marks = Vec::new();
    let split = answer.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in split.map(str::to_lowercase) {
        let is_number = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_letter = word.len() == 1 && matches!(word.as_bytes()[0], b'a'..=b'h');
        if is_number || is_letter {
            marks.push(word);
        } else if let Some((mark, _)) = ORDINALS.iter().find(|(_, names)| names.contains(&word.as_str())) {
            marks.push(mark.to_string());
        }
    }
    // "a" is an article as well.
    if marks.len() > 1 {
        marks.retain(|mark| mark != "a");
    }
    marks
}

/// The numbered or lettered lines of a message; the last one of each mark.
fn options(message: &str) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    for (mark, text) in message.lines().filter_map(option) {
        options.retain(|(known, _)| *known != mark);
        options.push((mark, text));
    }
    options
}

/// `2. text`, `**Option B:** text`, `(c) text`, `| 4 | text |`.
fn option(line: &str) -> Option<(String, String)> {
    if let Some(row) = line.trim().strip_prefix('|') {
        let (mark, rest) = row.split_once('|').map(|(mark, rest)| (mark.trim(), rest))?;
        let text = outline::plain(rest.split('|').next()?);
        let is_mark = (1..=2).contains(&mark.len()) && mark.bytes().all(|byte| byte.is_ascii_digit());
        return (is_mark && !text.trim().is_empty()).then(|| (mark.to_string(), text.trim().to_string()));
    }
    let bare = line.trim_start_matches(['*', '#', '-', '•', ' ', '(', '_', '`']);
    let low = bare.to_ascii_lowercase();
    let word = ["option ", "opción ", "opção ", "variante ", "opzione ", "opcja ", "вариант ", "案"]
        .into_iter()
        .find(|word| low.starts_with(word));
    let rest = bare.get(word.map_or(0, str::len)..)?.trim_start_matches(['*', '(', '`']);
    let mark_len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mark_len =
        if mark_len == 0 { usize::from(rest.starts_with(|c: char| c.is_ascii_alphabetic())) } else { mark_len };
    let (mark, text) = rest.split_at_checked(mark_len).filter(|(mark, _)| (1..=2).contains(&mark.len()))?;
    let after = text.trim_start_matches(['*', '`', '_']);
    let closes = after.starts_with(['.', ')', ':']) || after.starts_with(" -") || after.starts_with(" —");
    let text = outline::plain(after.trim_start_matches(['.', ')', ':', '*', ' ', '-', '—', '`']));
    (closes && !text.trim().is_empty()).then(|| (mark.to_ascii_lowercase(), text.trim().to_string()))
}

/// A question that ends like this offers something in Japanese or Korean.
const ENDINGS: &[&str] = &["ますか？", "ましょうか？", "ますか?", "ましょうか?", "할까요?", "드릴까요?"];
/// After one of these comes the alternative: a "yes" means what is before it.
const ALTERNATIVES: &[&str] =
    &[", or ", " or should ", " or would ", " or do ", ", o ", ", ou ", ", oder ", "？それとも"];

/// What the last offer of a message is. Any other question cannot be accepted.
fn asked(message: &str) -> Option<String> {
    let lines = message.lines().rev().filter(|line| !line.trim().is_empty()).take(QUESTION_LINES_MAX);
    for line in lines {
        let plain = outline::plain(line);
        let sentences: Vec<&str> = plain.split_inclusive(['?', '？', '.', '!', '。']).collect();
        if let Some(offered) = sentences.into_iter().rev().find_map(|sentence| offered(sentence.trim())) {
            return Some(offered);
        }
    }
    None
}

fn offered(sentence: &str) -> Option<String> {
    let low = sentence.to_lowercase();
    let opening = OPENINGS.iter().filter_map(|opening| low.find(opening).map(|at| at + opening.len())).min();
    let start = opening.or_else(|| ENDINGS.iter().any(|ending| sentence.ends_with(ending)).then_some(0))?;
    // In lower case a character may have another length.
    let text = sentence.get(start..).filter(|_| low.len() == sentence.len())?;
    let end = ALTERNATIVES.iter().filter_map(|other| text.find(other)).min().unwrap_or(text.len());
    let text = text[..end].trim_end_matches(['?', '？', '.', '!', ' ']).trim();
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str =
        "Two ways:\n\n**Option A: Token bucket**\n2) Keep the fixed window\n3. Drop limits\n\nWhich do you prefer?";

    #[test]
    fn a_sentence_speaks_for_an_option_by_its_number() {
        const TABLE: &str = "| # | Todo |\n|---|---|\n| 4 | Review the tokens | auth |\n| 5 | Fix the rename on SMB backends |\n\nReply with a number.";
        for (prompt, message, accepts) in [
            ("5 seems like a great one to tackle", TABLE, &["Fix the rename on SMB backends"][..]),
            ("The tests are wrong then. 2 is correct", OPTIONS, &["Keep the fixed window"]),
            ("3 ist besser, mach es so", OPTIONS, &["Drop limits"]),
            ("is 2 better?", OPTIONS, &[]),
            ("2 is better?", OPTIONS, &[]),
            ("2 tests fail", OPTIONS, &[]),
            ("7 is better", OPTIONS, &[]),
        ] {
            assert_eq!(preferred(prompt, message), accepts, "{prompt}");
        }
    }

    #[test]
    fn an_answer_names_one_of_the_options() {
        let fixed = "Keep the fixed window";
        for (answer, accepts) in [
            ("A", &["Token bucket"][..]),
            ("let's go with option a", &["Token bucket"]),
            ("option 2", &[fixed]),
            ("the second one please", &[fixed]),
            ("2 and 3", &[fixed, "Drop limits"]),
            ("la segunda", &[fixed]),
            ("option 7", &[]),
        ] {
            assert_eq!(accepted(answer, OPTIONS), accepts, "{answer}");
        }
    }

    #[test]
    fn a_yes_accepts_what_was_offered() {
        for (message, accepts) in [
            ("Done. Shall I add retries to the importer?", "add retries to the importer"),
            ("All green.\n\nWould you like me to also cache the **lookup table**?", "also cache the lookup table"),
            ("Let me know if you want me to split the module.", "split the module"),
            ("Soll ich den Parser aufteilen?", "den Parser aufteilen"),
            ("¿Quieres que agregue el filtro por fecha?", "agregue el filtro por fecha"),
            ("ログイン画面も追加しますか？", "ログイン画面も追加しますか"),
        ] {
            assert_eq!(accepted("yes", message), [accepts], "{message}");
        }
        assert_eq!(accepted("go", "Want me to cache the lookups, or leave it to you?"), ["cache the lookups"]);
        for message in
            ["All tests pass.", "", "Shall I continue?", "Ready to commit and push?", "Does this match what you need?"]
        {
            assert_eq!(accepted("yes", message), [""; 0], "{message}");
        }
    }

    #[test]
    fn every_accepted_text_is_possible() {
        for answer in ["a", "2", "3", "yes"] {
            let possible = possible(OPTIONS);
            assert!(accepted(answer, OPTIONS).iter().all(|text| possible.contains(text)), "{answer}");
        }
    }
}
