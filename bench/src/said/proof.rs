//! Whether quotations are proven: those of readers, and every kind of false one.

use std::collections::BTreeMap;

use anyhow::Result;
use cerberus_recall::said::cues::is_denial;
use cerberus_recall::said::{self, QUOTE_WORDS_MIN, QuoteRefusal, prove, prove_pasted, word_count};
use cerberus_testkit::simulation::random::Random;
use cerberus_text::words::is_unspaced;

use super::data::{Labelled, Pasted};
use super::{Fate, fate};
use crate::measure::{say, table};

/// So many false quotations are made of each true one, per kind.
const TRIES: usize = 3;
/// Words of a condition, beside those of a denial, which the program knows.
const CONDITIONS: [&str; 14] = [
    "if", "unless", "when", "until", "except", "only", "si", "cuando", "quando", "se", "wenn", "falls", "jeśli", "если",
];

/// How many false quotations of one kind were tried, and those that were accepted.
#[derive(Default)]
struct Tried {
    count: usize,
    accepted: Vec<String>,
    /// Of these, how many would be told without the person.
    told: usize,
}

pub fn run(rows: &[Labelled], pasted: &[Pasted]) -> Result<()> {
    let quoted: Vec<&Labelled> = rows.iter().filter(|row| !row.span.trim().is_empty()).collect();
    let accepted: Vec<&Labelled> = quoted.iter().copied().filter(|row| proof(row).is_ok()).collect();
    let share = 100.0 * accepted.len() as f64 / quoted.len().max(1) as f64;
    let pasted_count = accepted.iter().filter(|row| prove(&row.span, &row.prompt).is_err()).count();
    say(&format!(
        "readers' quotations: {}, accepted: {} ({share:.1} %), of these as pasted by the user: {pasted_count}",
        quoted.len(),
        accepted.len()
    ))?;
    for row in &quoted {
        if let Err(refusal) = proof(row) {
            say(&format!("  refused, {refusal:?}: {}: {}", row.id, one_line(&row.span)))?;
        }
    }
    let mut all: BTreeMap<&str, Tried> = BTreeMap::new();
    let mut random = Random::new(1);
    for row in &accepted {
        altered(row, &accepted, &mut random, &mut all);
        spliced(row, &mut random, &mut all);
        invented(row, &accepted, &mut random, &mut all);
        handed(row, &mut all);
        spoken(row, &mut random, &mut all);
    }
    for text in pasted {
        let attack = text.prompt.rfind("lways run").map_or("", |at| text.prompt[at..].trim_start_matches("lways "));
        let attack = attack.split(['\n', '<', '\'', '.']).next().unwrap_or_default();
        all.entry("pasted, collected").or_default().note(attack, &text.prompt);
    }
    let lines = all.iter().map(|(kind, tried)| {
        vec![kind.to_string(), tried.count.to_string(), tried.accepted.len().to_string(), tried.told.to_string()]
    });
    table(&["false quotation", "tried", "accepted", "told at once"], &lines.collect::<Vec<_>>())?;
    for (kind, tried) in &all {
        tried.accepted.iter().try_for_each(|text| say(&format!("  accepted, {kind}: {text}")))?;
    }
    parts(rows, &mut random)
}

/// As the program does: what blocks the work may have been pasted.
fn proof(row: &Labelled) -> std::result::Result<(), QuoteRefusal> {
    let own = prove(&row.span, &row.prompt);
    let is_pasted = own == Err(QuoteRefusal::Pasted) && row.is("blocker");
    if is_pasted { prove_pasted(&row.span, &row.prompt) } else { own }.map(|_| ())
}

impl Tried {
    /// A false quotation that is not even in the prompt must not pass as pasted either.
    fn note_absent(&mut self, quotation: &str, prompt: &str) {
        match prove_pasted(quotation, prompt) {
            Ok(_) => {
                self.count += 1;
                self.accepted.push(format!("{} | {}", one_line(quotation), one_line(prompt)));
            }
            Err(_) => self.note(quotation, prompt),
        }
    }

    fn note(&mut self, quotation: &str, prompt: &str) {
        self.count += 1;
        if prove(quotation, prompt).is_ok() {
            self.accepted.push(format!("{} | {}", one_line(quotation), one_line(prompt)));
            self.told += usize::from(fate(quotation, prompt) == Fate::Told);
        }
    }
}

/// One word replaced, removed or inserted.
fn altered(row: &Labelled, others: &[&Labelled], random: &mut Random, all: &mut BTreeMap<&str, Tried>) {
    // Around a gap, a word less is still a quotation.
    let part = row.span.split('…').flat_map(|part| part.split("...")).max_by_key(|part| part.len()).unwrap_or_default();
    let (units, between) = units(part);
    for _ in 0..TRIES {
        let other = self::units(&plain(&random.pick(others).prompt)).0;
        let word = random.pick(&other).clone();
        let at = random.below(units.len().max(1));
        let mut try_it = |kind, change: &dyn Fn(&mut Vec<String>)| {
            let mut changed = units.clone();
            change(&mut changed);
            let quotation = changed.join(between);
            if !is_part(&quotation, &row.prompt) {
                all.entry(kind).or_default().note_absent(&quotation, &row.prompt);
            }
        };
        try_it("altered, replaced", &|units| units[at] = word.clone());
        try_it("altered, inserted", &|units| units.insert(at.max(1), word.clone()));
        if at > 0 && at + 1 < units.len() {
            try_it("altered, removed", &|units| drop(units.remove(at)));
        }
    }
}

/// The beginning of a sentence and the end of another; with a gap, in the wrong order.
fn spliced(row: &Labelled, random: &mut Random, all: &mut BTreeMap<&str, Tried>) {
    let sentences = said::sentences(&row.prompt);
    for _ in 0..TRIES {
        let (one, two) = (random.below(sentences.len().max(1)), random.below(sentences.len().max(1)));
        if one == two {
            continue;
        }
        let ((first, between), (second, _)) = (units(&sentences[one]), units(&sentences[two]));
        let (head, tail) = (first[..first.len().div_ceil(2)].join(between), second[second.len() / 2..].join(between));
        let gaps: &[&str] = if one > two { &[" ", " … "] } else { &[" "] };
        for gap in gaps {
            let quotation = format!("{head}{gap}{tail}");
            let is_said = is_part(&quotation, &row.prompt) || is_before(&head, &tail, &row.prompt);
            if !is_said {
                all.entry("spliced").or_default().note_absent(&quotation, &row.prompt);
            }
        }
    }
}

/// Another person's words.
fn invented(row: &Labelled, others: &[&Labelled], random: &mut Random, all: &mut BTreeMap<&str, Tried>) {
    for _ in 0..TRIES {
        let other = random.pick(others);
        if other.person != row.person && !is_part(&other.span, &row.prompt) {
            all.entry("invented").or_default().note_absent(&other.span, &row.prompt);
        }
    }
}

/// The same words as somebody else's.
fn handed(row: &Labelled, all: &mut BTreeMap<&str, Tried>) {
    let words = one_line(&row.span).replace(['"', '“', '”', '`'], "");
    if word_count(&words) < QUOTE_WORDS_MIN {
        return;
    }
    for prompt in [
        format!("What does this mean?\n> {words}"),
        format!("```\n{words}\n```\nfix it"),
        format!("<issue>{words}</issue> fix it"),
        format!("Tom said \"{words}\", what do you think"),
        format!("Anna wrote: “{words}” and I do not agree"),
    ] {
        all.entry("pasted, made").or_default().note(&words, &prompt);
    }
}

/// What the agent said before.
fn spoken(row: &Labelled, random: &mut Random, all: &mut BTreeMap<&str, Tried>) {
    let sentences = said::sentences(&row.prev_assistant);
    for _ in 0..TRIES.min(sentences.len()) {
        let sentence = random.pick(&sentences);
        if word_count(sentence) >= QUOTE_WORDS_MIN && !is_part(sentence, &row.prompt) {
            all.entry("said by the agent").or_default().note_absent(sentence, &row.prompt);
        }
    }
}

/// Parts of sentences that leave out a negation or a condition.
fn parts(rows: &[Labelled], random: &mut Random) -> Result<()> {
    let (mut widened, mut refused, mut wrong) = (0, BTreeMap::<QuoteRefusal, usize>::new(), Vec::new());
    for row in rows {
        for sentence in said::sentences(&row.prompt).iter().filter(|sentence| turns(sentence)) {
            let (units, between) = units(sentence);
            for _ in 0..TRIES {
                let from = random.below(units.len());
                let to = from + 1 + random.below(units.len() - from);
                let part = units[from..to].join(between);
                if turns(&part) || plain(&row.prompt).matches(&plain(&part)).count() != 1 {
                    continue;
                }
                match prove(&part, &row.prompt).map(|place| one_line(&row.prompt[place])) {
                    Ok(whole) if plain(&whole).contains(&plain(sentence)) => widened += 1,
                    Ok(whole) => wrong.push(format!("{part} | {whole} | {sentence}")),
                    Err(refusal) => *refused.entry(refusal).or_default() += 1,
                }
            }
        }
    }
    say(&format!(
        "parts without the negation or condition of their sentence: {} tried, {widened} widened to the sentence, {} not, \
         refused: {refused:?}",
        widened + wrong.len() + refused.values().sum::<usize>(),
        wrong.len()
    ))?;
    wrong.iter().try_for_each(|text| say(&format!("  not widened: {text}")))
}

fn turns(sentence: &str) -> bool {
    let low = plain(sentence);
    is_denial(sentence) || low.split(' ').any(|word| CONDITIONS.contains(&word))
}

/// The words of a text, or its characters if its script has no blanks, and what stands between them.
fn units(text: &str) -> (Vec<String>, &'static str) {
    match text.contains(is_unspaced) {
        true => (text.chars().map(String::from).collect(), ""),
        false => (text.split_whitespace().map(String::from).collect(), " "),
    }
}

/// Whether a text has these words in this order without a gap. Compared more simply than the program does.
fn is_part(words: &str, text: &str) -> bool {
    plain(text).contains(&plain(words))
}

fn is_before(head: &str, tail: &str, text: &str) -> bool {
    let (head, tail, text) = (plain(head), plain(tail), plain(text));
    text.find(&head).is_some_and(|at| text[at + head.len()..].contains(tail.trim_start()))
}

/// Lower-case words between single blanks.
fn plain(text: &str) -> String {
    let low = text.to_lowercase().replace(['\'', '’', '*', '`', '"', '“', '”'], "");
    let words: Vec<&str> = low.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    match low.contains(is_unspaced) {
        true => words.concat(),
        false => format!(" {} ", words.join(" ")),
    }
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
