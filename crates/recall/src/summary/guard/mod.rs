//! Decides whether a model's sentence may be told: whether it reports, and whether the facts support it.
//!
//! The guard does not look for bad sentences. It asks for support: every verb, and most other words, must come from the
//! facts that a sentence of its kind may rest on. What is reported as done needs something that was done; what is
//! reported as decided needs a decision; what is reported as open needs an open item. An instruction must be one of the
//! recorded steps, word for word. Claims that no fact can support ("nothing is left") are never accepted.
//!
//! Limits: it compares words, not meanings. A false sentence that uses only the words of the right facts passes.

mod clause;
mod vocabulary;
mod word_class;

use std::collections::HashSet;

use cerberus_record::clean::instruction::is_instruction;
use cerberus_record::fact::FactKind;
use cerberus_record::ours::is_ours;
use cerberus_record::runs;
use cerberus_text::words::Set;
use clause::{Clause, ClauseWord, Sort, Stems, clauses, plain_words, stems};
use vocabulary::{ADDRESS, CHECKED, COMPLETE, GREEN, NONE, NOT, TROUBLE, WHOLE};

use super::check::Names;
use super::{SummaryMaterial, failing_kind, of_kind};
use crate::brief::BriefLine;

/// Why a sentence is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentenceRefusal {
    /// It is a question, or contains a tag, markup, a code or a part of a command that the facts do not contain.
    Form,
    /// It speaks to the reader.
    Address,
    /// It names a file or function, or a number, that no fact contains.
    Name,
    /// It claims a result that is not on record.
    Claim,
    /// It tells somebody to do something that no fact asks for.
    Instruction,
    /// Its words are not those of the facts.
    Unsupported,
}

/// Of this many words, one may be missing in the facts.
const UNSUPPORTED_SHARE: usize = 4;

/// Everything that sentences are compared with.
#[derive(Debug)]
pub struct Guard {
    names: Names,
    /// The words of the facts as they are written.
    verbatim: HashSet<String>,
    done: Stems,
    decided: Stems,
    open: Stems,
    /// The same, fact by fact.
    done_facts: Vec<Stems>,
    decided_facts: Vec<Stems>,
    open_facts: Vec<Stems>,
    /// The open items and decisions, whole and part by part, and whether each denies something.
    steps: Vec<(Stems, bool)>,
    /// The words of each decision, in their order.
    decisions: Vec<Vec<String>>,
    counts: HashSet<String>,
    /// Words for results that are on record.
    results: Stems,
    /// The blockers, and whether each denies something.
    blockers: Vec<(Stems, bool)>,
    failing: HashSet<runs::Kind>,
    passing: HashSet<runs::Kind>,
}

impl Guard {
    pub fn of(material: &SummaryMaterial) -> Guard {
        let mut guard = Guard {
            names: Names::of(material),
            verbatim: HashSet::new(),
            done: stems(material.project).collect(),
            decided: Stems::new(),
            open: Stems::new(),
            done_facts: material.done.iter().map(|done| stems(done).collect()).collect(),
            decided_facts: Vec::new(),
            open_facts: Vec::new(),
            steps: Vec::new(),
            decisions: of_kind(material.items, FactKind::Decision)
                .map(|item| plain_words(&item.text).collect())
                .collect(),
            counts: HashSet::new(),
            results: Stems::new(),
            blockers: Vec::new(),
            failing: material.items.iter().filter_map(failing_kind).collect(),
            passing: material.passing.iter().map(|(kind, _)| *kind).collect(),
        };
        material.items.iter().for_each(|item| guard.add(item));
        material.done.iter().for_each(|done| guard.done.extend(stems(done)));
        material.passing.iter().for_each(|(_, command)| guard.done.extend(stems(command)));
        guard.add_results(!material.done.is_empty());
        let texts = material.items.iter().flat_map(|item| [&item.text, &item.code]).chain(material.done);
        let texts = texts.chain(material.passing.iter().map(|(_, command)| command));
        guard.verbatim.extend(texts.flat_map(|text| text.split_whitespace()).map(str::to_lowercase));
        guard.count(material);
        guard
    }

    fn add(&mut self, item: &BriefLine) {
        let path = item.path.as_deref().unwrap_or_default();
        let words: Stems = stems(&item.text).chain(stems(&item.code)).chain(stems(path)).collect();
        if item.kind == FactKind::Blocker {
            self.blockers.push((words.clone(), has_negation(&item.text)));
        }
        if matches!(
            item.kind,
            FactKind::Decision | FactKind::Blocker | FactKind::Next | FactKind::Objective | FactKind::Note
        ) {
            self.steps.push((words.clone(), has_negation(&item.text)));
            let parts = item.text.split([',', ';']).map(|part| (stems(part).collect(), has_negation(part)));
            self.steps.extend(parts);
        }
        let (all, facts) = match item.kind {
            FactKind::Decision => (&mut self.decided, &mut self.decided_facts),
            FactKind::Blocker | FactKind::Next | FactKind::Objective | FactKind::Note => {
                (&mut self.open, &mut self.open_facts)
            }
            _ => (&mut self.done, &mut self.done_facts),
        };
        all.extend(words.iter().cloned());
        facts.push(words);
    }

    /// The words for results that are on record.
    fn add_results(&mut self, has_done: bool) {
        if has_done {
            self.results.extend(stems("done completed finished"));
        }
        if self.passing.iter().any(|kind| !self.failing.contains(kind)) {
            self.results.extend(stems("pass succeed successfully green clean test build lint check suite"));
        }
        self.done.extend(self.results.iter().cloned());
        if !self.failing.is_empty() {
            let failing: Stems = stems("fail failure error test broken red").collect();
            self.open.extend(failing.iter().cloned());
            self.results.extend(failing);
        }
    }

    /// How many there are of each kind may be told.
    fn count(&mut self, material: &SummaryMaterial) {
        let of = |kind| material.items.iter().filter(|item| item.kind == kind).count();
        let kinds = [FactKind::File, FactKind::Function, FactKind::Decision, FactKind::Blocker, FactKind::Next];
        let failing = material.items.iter().filter(|item| failing_kind(item).is_some()).count();
        let counts = kinds.into_iter().map(of).chain([material.done.len(), failing]);
        self.counts = counts.filter(|count| *count > 0).map(|count| count.to_string()).collect();
    }

    /// Whether the sentence may be told.
    pub fn check(&self, sentence: &str) -> Result<(), SentenceRefusal> {
        if sentence.ends_with('?') || !self.has_harmless_form(sentence) {
            return Err(SentenceRefusal::Form);
        }
        if is_addressed(sentence) {
            return Err(SentenceRefusal::Address);
        }
        // It may forbid or demand something: that is what was decided.
        if self.decisions.contains(&plain_words(sentence).collect()) {
            return Ok(());
        }
        if !self.names.know(sentence) || !self.knows_numbers(sentence) {
            return Err(SentenceRefusal::Name);
        }
        if self.contradicts(sentence) {
            return Err(SentenceRefusal::Claim);
        }
        let clauses: Vec<Clause> = clauses(sentence).map(Clause::of).collect();
        // A name alone reports nothing.
        if let [Clause { words, .. }] = clauses.as_slice()
            && let [ClauseWord { is_name: true, .. }] = words.as_slice()
        {
            return Err(SentenceRefusal::Unsupported);
        }
        let mut has_content = false;
        for clause in &clauses {
            has_content |= self.check_clause(clause)?;
        }
        if has_content { Ok(()) } else { Err(SentenceRefusal::Unsupported) }
    }

    /// Whether it claims a result that is not on record. Nothing on record can show that nothing is left.
    pub fn contradicts(&self, text: &str) -> bool {
        let words: Vec<String> = plain_words(text).collect();
        let has = |set: &Set| words.iter().any(|word| set.has(word));
        let is_whole = has(&WHOLE) && has(&COMPLETE);
        let is_green = has(&CHECKED) && has(&GREEN) && !is_near(&words, &NOT, &GREEN, 2);
        denies_trouble(text) || is_whole || (is_green && !self.is_on_record(&words))
    }

    /// Whether the runs it speaks of were green.
    fn is_on_record(&self, words: &[String]) -> bool {
        let speaks_of = |names: &[&str]| words.iter().any(|word| names.iter().any(|name| word.starts_with(name)));
        let kinds = [
            (runs::Kind::Test, speaks_of(&["test", "suite", "everything", "ci", "pipeline"])),
            (runs::Kind::Build, speaks_of(&["build", "compil", "everything", "ci", "pipeline"])),
            (runs::Kind::Lint, speaks_of(&["lint", "clippy", "check", "typecheck", "everything", "ci", "pipeline"])),
        ];
        let is_green = |kind| self.passing.contains(kind) && !self.failing.contains(kind);
        kinds.iter().all(|(kind, is_meant)| !is_meant || is_green(kind))
    }

    /// No tags, no markup, no codes, and no part of a command that the facts do not contain.
    fn has_harmless_form(&self, sentence: &str) -> bool {
        let is_command = |word: &str| {
            let is_option = word.starts_with('-') && word.chars().any(char::is_alphabetic);
            is_option || matches!(word, "/" | "~" | "." | "*" | "&&" | "||" | ">" | ">>" | "|" | "sudo" | "rm")
        };
        let is_odd = |word: &str| {
            word.contains(['<', '>', '{', '}', '$', '|', '\\', '~', '=', '[', ']', '#'])
                || word.contains("://")
                || word.contains("&&")
        };
        sentence.split_whitespace().all(|word| {
            let trimmed = word.trim_matches(['"', '\'', '`', '(', ')', ',', ';', '.', '!', '?']);
            let is_known = || self.verbatim.contains(&trimmed.to_lowercase());
            !has_tag(word) && !is_ours(trimmed) && ((!is_command(trimmed) && !is_odd(word)) || is_known())
        })
    }

    fn knows_numbers(&self, sentence: &str) -> bool {
        let numbers = sentence.split(|c: char| !c.is_alphanumeric() && c != '.').map(|word| word.trim_matches('.'));
        let mut numbers = numbers.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        numbers.all(|number| {
            let is_in = |set: &Stems| set.contains(&number.to_lowercase());
            self.counts.contains(number)
                || is_in(&self.done)
                || is_in(&self.decided)
                || is_in(&self.open)
                || self.verbatim.contains(number)
        })
    }

    /// Whether a clause has content; an error if it is not supported.
    fn check_clause(&self, clause: &Clause) -> Result<bool, SentenceRefusal> {
        let content: Vec<&ClauseWord> = clause.words.iter().filter(|word| word.has_content).collect();
        if content.is_empty() {
            return Ok(false);
        }
        if clause.is_directive {
            let is_recorded = self.is_made_of_steps(clause, &content);
            return if is_recorded { Ok(true) } else { Err(SentenceRefusal::Instruction) };
        }
        if self.repeats_blocker(clause, &content) {
            return Ok(true);
        }
        if clause.sort == Sort::Denial && !content.iter().any(|word| word.is_verb) {
            return Err(SentenceRefusal::Claim);
        }
        let basis = self.basis(clause);
        let is_supported = |word: &ClauseWord| word.is_in(&basis.nouns) || (word.is_edit && basis.allows_edits);
        let supported = content.iter().filter(|word| is_supported(word)).count();
        let rests = content.iter().any(|word| word.is_in(&basis.subject));
        let is_borne_out = |verb: &ClauseWord| {
            let says = |fact: &&Stems| verb.is_in(&[fact]) && content.iter().all(|word| word.is_verb);
            let says_of_it =
                |fact: &Stems| verb.is_in(&[fact]) && content.iter().any(|word| !word.is_verb && word.is_in(&[fact]));
            basis.facts.iter().any(|fact| says_of_it(fact) || says(fact))
        };
        let verbs_hold = content
            .iter()
            .filter(|word| word.is_verb)
            .all(|word| (word.is_edit && basis.allows_edits) || word.is_in(&[&self.results]) || is_borne_out(word));
        let begins_well = clause.words.first().is_none_or(|first| !first.has_content || is_supported(first));
        let contradicts =
            content.iter().any(|word| basis.excluded.is_some_and(|open| word.is_in(&[open]) && !is_supported(word)));
        let is_enough =
            (content.len() - supported) * UNSUPPORTED_SHARE <= if clause.is_english { content.len() } else { 0 };
        let is_still_open = clause.sort == Sort::Done && !clause.is_in_progress && self.is_open_step(&content);
        let holds = rests && verbs_hold && begins_well && is_enough && !contradicts && !is_still_open;
        if holds { Ok(true) } else { Err(SentenceRefusal::Unsupported) }
    }

    /// Whether an instruction repeats recorded steps or decisions, one after another, and forbids what they forbid. Names
    /// of files and functions are known and may be added.
    fn is_made_of_steps(&self, clause: &Clause, content: &[&ClauseWord]) -> bool {
        let is_denial = clause.sort == Sort::Denial || clause.has_none;
        let words: Vec<&ClauseWord> = content.iter().copied().filter(|word| !word.is_name).collect();
        let mut rest = &words[..];
        while !rest.is_empty() {
            let steps = self.steps.iter().filter(|(_, denies)| *denies == is_denial);
            let longest = steps.map(|(step, _)| rest.iter().take_while(|word| word.is_in(&[step])).count()).max();
            let longest = longest.unwrap_or(0);
            // A single word of a step is no step.
            if longest == 0 || (longest == 1 && words.len() > 1) {
                return false;
            }
            rest = &rest[longest..];
        }
        !words.is_empty()
    }

    /// Whether a clause says what a blocker says, with or without a negation as in it.
    fn repeats_blocker(&self, clause: &Clause, content: &[&ClauseWord]) -> bool {
        let is_denial = clause.sort == Sort::Denial || clause.has_none;
        let says =
            |(words, denies): &(Stems, bool)| *denies == is_denial && content.iter().all(|word| word.is_in(&[words]));
        !content.iter().any(|word| word.is_verb) && self.blockers.iter().any(says)
    }

    /// Whether the change that a clause reports is one of the open steps: the same verb, and another word of it.
    fn is_open_step(&self, content: &[&ClauseWord]) -> bool {
        let edits = content.iter().filter(|word| word.is_edit).flat_map(|word| &word.stems);
        let has_edit = |step: &Stems| edits.clone().any(|edit| step.contains(edit));
        let has_object = |step: &Stems| content.iter().any(|word| !word.is_edit && word.is_in(&[step]));
        self.open_facts.iter().any(|step| has_edit(step) && has_object(step))
    }

    /// The facts that a clause of this kind may rest on.
    fn basis<'a>(&'a self, clause: &Clause) -> Basis<'a> {
        let (done, decided, open) = (&self.done, &self.decided, &self.open);
        let of = |facts: &[&'a [Stems]]| facts.iter().flat_map(|facts| facts.iter()).collect();
        let (done_facts, decided_facts) = (&*self.done_facts, &*self.decided_facts);
        let open_basis = Basis {
            subject: vec![open],
            nouns: vec![open, done, decided],
            facts: of(&[&self.open_facts]),
            excluded: None,
            allows_edits: false,
        };
        match clause.sort {
            Sort::Open => open_basis,
            Sort::Denial => Basis { nouns: vec![open], ..open_basis },
            Sort::Decided => {
                Basis { subject: vec![decided], nouns: vec![decided, done], facts: of(&[decided_facts]), ..open_basis }
            }
            Sort::Done => Basis {
                subject: vec![done, decided],
                nouns: vec![done, decided],
                facts: of(&[done_facts, decided_facts]),
                excluded: Some(open).filter(|_| !clause.is_in_progress),
                allows_edits: clause.words.iter().any(|word| word.is_name),
            },
        }
    }
}

/// Whether it says that there is no trouble, or none left.
fn denies_trouble(text: &str) -> bool {
    text.split([',', ';']).any(|part| {
        let words: Vec<String> = plain_words(part).collect();
        is_near(&words, &NONE, &TROUBLE, 6) || is_near(&words, &TROUBLE, &NONE, 1) || is_near(&words, &NOT, &TROUBLE, 2)
    })
}

/// Whether a word of `then` is among the next few words after one of `first`.
fn is_near(words: &[String], first: &Set, then: &Set, words_max: usize) -> bool {
    let starts = (0..words.len()).filter(|at| first.has(&words[*at]));
    starts.into_iter().any(|at| words[at + 1..].iter().take(words_max).any(|word| then.has(word)))
}

/// What supports a clause: at least one word of `subject`, most words from `nouns`, and for each verb a fact that
/// contains it and another word of the clause.
struct Basis<'a> {
    subject: Vec<&'a Stems>,
    nouns: Vec<&'a Stems>,
    facts: Vec<&'a Stems>,
    /// Words of open items: what is open was not done.
    excluded: Option<&'a Stems>,
    /// Whether the edit of a file or function bears out that something was changed.
    allows_edits: bool,
}

/// Whether a text contains something like `<tag>` or `</tag`.
pub(super) fn has_tag(text: &str) -> bool {
    text.match_indices('<')
        .any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!')))
}

/// Whether all words of a text that mean something occur in another text.
pub(super) fn words_are_in(text: &str, other: &str) -> bool {
    let known: Stems = stems(other).collect();
    let mut words =
        clauses(text).flat_map(|clause| Clause::of(clause).words).filter(|word| word.has_content).peekable();
    words.peek().is_some() && words.all(|word| word.is_in(&[&known]))
}

/// Whether a text denies something.
pub(super) fn has_negation(text: &str) -> bool {
    plain_words(text).any(|word| NOT.has(&word) || NONE.has(&word))
}

/// Whether a text speaks of something that is open or not the case.
pub(super) fn speaks_of_open(text: &str) -> bool {
    clauses(text).any(|clause| matches!(Clause::of(clause).sort, Sort::Open | Sort::Denial))
}

/// Whether a text speaks to its reader.
pub(super) fn is_addressed(text: &str) -> bool {
    let is_cjk = |word: &str| ["你", "您", "あなた", "당신"].iter().any(|you| word.contains(you));
    is_instruction(text) || plain_words(text).any(|word| ADDRESS.has(&word) || is_cjk(&word))
}

/// Whether a sentence says that something must be.
pub(crate) fn obliges(sentence: &str) -> bool {
    clause::obliges(sentence)
}

/// Whether a sentence may tell somebody to do something, by its form.
pub(crate) fn orders(sentence: &str) -> bool {
    clause::orders(sentence)
}

#[cfg(test)]
mod tests;
