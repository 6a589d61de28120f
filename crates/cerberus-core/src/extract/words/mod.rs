//! Extracts decisions, blockers and next actions from prompts, agent messages and compaction summaries, and the steps
//! of a plan.
//!
//! Pure: it looks for cues at certain places in clauses, and for labels above lists. In prompts a small linear model,
//! which knows these cues and concepts of several languages, decides what is a decision or a blocker. It prefers missing
//! something to misreading it. It never reads code, logs, quotations or our own output, and every result is a single
//! line.

pub(crate) mod cues;
mod later;
pub mod model;
pub(crate) mod own;
mod prompt;
mod steps;
pub mod unit;

use std::sync::LazyLock;

pub use self::prompt::{Before, possible, user, user_by};
use crate::language::{outline, sentence};

use crate::clean::text::{clip, clip_front, line};
use crate::extract::injected::without_ours;
use crate::language::matcher::Set;
use crate::model::fact::Kind;

pub(crate) const TEXT_CHARS_MAX: usize = 300;
/// A message that says more than this contains nothing worth carrying over.
const STATEMENTS_MAX: usize = 10;
const STEPS_MAX: usize = 20;
/// How much of a text is read. A prompt and a plan begin with what matters, a message and a summary end with it.
pub(crate) const READ_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// `Decision`, `Blocker` or `Next`.
    pub kind: Kind,
    pub text: String,
}

/// Collects statements: each once, as one clean line, up to a maximum.
#[derive(Default)]
struct Statements(Vec<Statement>);

impl Statements {
    fn add(&mut self, kind: Kind, text: &str) {
        let Some(statement) = tidy(text).map(|text| Statement { kind, text }) else { return };
        if self.0.len() < STATEMENTS_MAX && !self.0.contains(&statement) {
            self.0.push(statement);
        }
    }
}

/// One clean line without leading and trailing punctuation; `None` if no words remain.
pub(crate) fn tidy(text: &str) -> Option<String> {
    let text = line(text, TEXT_CHARS_MAX);
    let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '-' | '–' | '—' | '*'));
    let text = text.trim_start_matches([')', ':', ' ']).trim_end_matches(['(', ' ']);
    (text.chars().filter(|c| c.is_alphabetic()).count() >= 2).then(|| text.to_string())
}

/// What the tables of cues find.
pub fn cued(prompt: &str) -> Vec<Statement> {
    let text = own::without_blocks(clip(prompt, READ_BYTES_MAX));
    let own = own::own(&text);
    let mut statements = Statements::default();
    let mut skip = 0;
    let lines: Vec<&str> = own.lines.iter().map(String::as_str).collect();
    for (at, line) in lines.iter().enumerate() {
        if at < skip {
            continue;
        }
        let listed = read_labelled_list(&lines[at..], &mut statements);
        if listed > 0 {
            skip = at + listed;
            continue;
        }
        let line = outline::item(line).map_or(*line, |item| item.text);
        read_sentences(line, &mut statements);
    }
    if statements.0.is_empty()
        && let Some(fault) = own.fault
        && is_call_for_help(&lines, fault)
    {
        statements.add(Kind::Blocker, fault);
    }
    statements.0
}

/// Reads the sentences of one line.
fn read_sentences(line: &str, statements: &mut Statements) {
    let mut before = None;
    sentence::sentences(line, |words| {
        let clauses = sentence::clauses(words);
        let antecedent = before.filter(|_| points_back(words));
        let is_question = words.last().is_some_and(|word| word.low == "?");
        before = (!is_question).then_some(words[0].start);
        if antecedent.is_none() && is_bare(words) {
            return;
        }
        for (kind, clause) in cues::expressed(words, &clauses) {
            let (start, end) = span(words, &clauses, clause);
            let start = antecedent.filter(|start| end - start <= TEXT_CHARS_MAX).unwrap_or(start);
            statements.add(kind, &line[start..end]);
        }
    });
}

/// The range of the sentence to quote for `clause`: without agreement before it and questions after it.
pub(crate) fn span(
    words: &[sentence::Word],
    clauses: &[sentence::Clause],
    clause: &sentence::Clause,
) -> (usize, usize) {
    let asked = clauses.iter().find(|later| later.start > clause.start && later.mood == sentence::Mood::Question);
    let last = asked.map_or(words.len(), |asked| asked.start) - 1;
    let is_long = words[last].end - words[0].start > TEXT_CHARS_MAX;
    let from = if is_long { clause.start } else { 0 };
    let assents = words[from..last].iter().take_while(|word| cues::ASSENTS.has(&word.low));
    (words[from + assents.count()].start, words[last].end)
}

/// A short sentence that only makes sense with the one before it: "let's remove this too".
pub(crate) fn points_back(words: &[sentence::Word]) -> bool {
    const WORDS_MAX: usize = 8;
    words.len() <= WORDS_MAX && cues::POINTING.has_any(words)
}

fn is_bare(words: &[sentence::Word]) -> bool {
    let rest = &words[sentence::fillers(words)..];
    cues::BARE_ASSENTS.iter().any(|pattern| pattern.match_len(rest).is_some())
}

/// A call for help of a few words about pasted text, or a tool's failure report with hardly any words around it.
fn is_call_for_help(lines: &[&str], fault: &str) -> bool {
    const WORDS_MAX: usize = 8;
    const REPORT_WORDS_MAX: usize = 16;
    static HELP_WORDS: LazyLock<Set> =
        LazyLock::new(|| Set::new("help|halp|fix|debug|broken|failing|fails|stuck|solve|resolve"));
    let words: Vec<String> = lines.iter().flat_map(|line| crate::clean::text::words(line)).collect();
    let asks_for_help = words.iter().any(|word| HELP_WORDS.has(word)) && !lines.iter().any(|line| line.ends_with('?'));
    (asks_for_help && words.len() <= WORDS_MAX) || (own::is_failure(fault) && words.len() <= REPORT_WORDS_MAX)
}

const NEXT_LABELS: &[&str] = &[
    "next",
    "next step",
    "next steps",
    "next up",
    "next actions",
    "next action",
    "next tasks",
    "remaining",
    "remaining work",
    "remaining tasks",
    "remaining items",
    "remaining steps",
    "remaining todos",
    "what remains",
    "what's remaining",
    "todo",
    "todos",
    "to do",
    "to-do",
    "to-dos",
    "what's left",
    "what is left",
    "whats left",
    "left to do",
    "still to do",
    "still todo",
    "still open",
    "still needed",
    "still pending",
    "still remaining",
    "follow-up",
    "follow-ups",
    "follow ups",
    "followups",
    "follow-up work",
    "follow-up items",
    "follow-up tasks",
    "open items",
    "open tasks",
    "outstanding",
    "outstanding items",
    "outstanding work",
    "outstanding tasks",
    "pending",
    "pending tasks",
    "pending items",
    "pending work",
    "not yet done",
    "not done yet",
    "what's next",
    "recommended next steps",
    "suggested next steps",
    "optional next step",
    "optional next steps",
    "immediate next steps",
    "proposed next steps",
    "possible next steps",
    "action items",
    "backlog",
    "not done",
    "not yet implemented",
];
const BLOCKER_LABELS: &[&str] =
    &["blocked", "blocker", "blockers", "blocked by", "blocked on", "current blockers", "current blocker"];
const DECISION_LABELS: &[&str] = &[
    "decision",
    "decisions",
    "key decisions",
    "design decisions",
    "decisions made",
    "key design decisions",
    "technical decisions",
    "architecture decisions",
    "architectural decisions",
    "user decisions",
    "important decisions",
    "key technical decisions",
    "decided",
];

/// The kind that a label announces: the label exactly, or followed by "for …", "in …" and the like.
fn announced(label: &str) -> Option<Kind> {
    const TAILS: &[&str] = &[" for ", " in ", " from ", " before ", " after ", " to ", " - ", " — ", " on "];
    const TAIL_CHARS_MAX: usize = 40;
    let head = TAILS
        .iter()
        .filter_map(|tail| label.find(tail))
        .filter(|at| label.len() - at <= TAIL_CHARS_MAX)
        .min()
        .map_or(label, |at| &label[..at]);
    let tables = [(Kind::Next, NEXT_LABELS), (Kind::Blocker, BLOCKER_LABELS), (Kind::Decision, DECISION_LABELS)];
    tables.into_iter().find(|(_, labels)| labels.contains(&label) || labels.contains(&head)).map(|(kind, _)| kind)
}

/// Reads the list that the first line announces. Returns how many lines were read, 0 if it announces none.
fn read_labelled_list(lines: &[&str], statements: &mut Statements) -> usize {
    let Some((first, rest)) = lines.split_first() else {
        return 0;
    };
    let Some((label, inline)) = outline::label(first) else {
        return 0;
    };
    let Some(kind) = announced(&label) else {
        return 0;
    };
    if !inline.is_empty() {
        add_item(kind, inline, statements);
        return 1;
    }
    // One sentence may introduce the list.
    let lead = rest.iter().take(4).take_while(|line| outline::item(line).is_none()).count();
    if rest[..lead].iter().flat_map(|line| line.split(". ")).any(outline::is_offer) {
        return 1 + lead;
    }
    let items = outline::items(&rest[lead..]);
    for item in &items {
        add_item(kind, item.text, statements);
    }
    1 + lead
}

/// Adds one item of a list, unless it is finished, an offer or "none".
fn add_item(kind: Kind, text: &str, statements: &mut Statements) {
    const NONE: &[&str] = &[
        "none",
        "nothing",
        "n/a",
        "not applicable",
        "everything",
        "no further",
        "no pending",
        "no next",
        "no explicit",
        "no remaining",
        "no open",
        "no blockers",
        "no additional",
        "no tasks",
        "no outstanding",
        "no specific",
        "all done",
        "all tasks",
        "all complete",
        "all requested",
        "all work",
        "all items",
    ];
    let plain = outline::plain(text);
    let low = plain.to_lowercase();
    let low = low.trim_start_matches(['(', '_', '*']);
    let is_none = low == "no" || NONE.iter().any(|none| low.starts_with(none));
    if !is_none && !outline::is_finished(text) && !outline::is_offer(&plain) {
        statements.add(kind, plain.trim_end_matches(':'));
    }
}

/// What the agent's last message leaves open: the items in its lists of next steps, and blockers.
pub fn agent(message: &str) -> Vec<Statement> {
    let text = without_ours(clip_front(message, READ_BYTES_MAX));
    let lines = outline::prose(&text);
    let mut statements = Statements::default();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_start().starts_with('>')) {
        match outline::label(line).and_then(|(label, _)| announced(&label)) {
            // Decisions of the agent are part of the finished work.
            Some(Kind::Decision) => {}
            Some(_) => {
                read_labelled_list(&lines[at..], &mut statements);
            }
            None => blocked(line, &mut statements),
        }
    }
    statements.0
}

/// Only the agent's "blocked by …" and "blocked on …", nothing weaker.
fn blocked(line: &str, statements: &mut Statements) {
    let is_blocked = |text: &str| {
        let low = text.to_lowercase();
        low.contains("blocked by") || low.contains("blocked on")
    };
    // Few lines contain these words; skip the others early.
    if !is_blocked(line) {
        return;
    }
    let mut found = Statements::default();
    read_sentences(line, &mut found);
    for statement in found.0 {
        if statement.kind == Kind::Blocker && is_blocked(&statement.text) {
            statements.add(statement.kind, &outline::plain(&statement.text));
        }
    }
}

/// What a compaction summary leaves open: pending tasks, the next step, and decisions if a section lists them.
pub fn summary(summary: &str) -> Vec<Statement> {
    let text = without_ours(clip_front(summary, READ_BYTES_MAX));
    // The reasoning before the summary is repeated in it.
    let from = ["<summary>", "\nSummary:"].iter().filter_map(|mark| text.find(mark).map(|at| at + mark.len())).min();
    let lines = outline::prose(&text[from.unwrap_or(0)..]);
    let mut statements = Statements::default();
    for (at, line) in lines.iter().enumerate() {
        if let Some((kind, label)) = section(line) {
            let body = &lines[at + 1..];
            let end = body.iter().position(|line| ends_section(line)).unwrap_or(body.len());
            section_items(kind, &label, &body[..end], &mut statements);
        }
    }
    statements.0
}

/// The kind and the label of the section that `line` opens: "7. Pending Tasks:".
fn section(line: &str) -> Option<(Kind, String)> {
    let title = match outline::item(line) {
        Some(item) if item.numbered && item.indent == 0 => item.text,
        None if !line.starts_with(char::is_whitespace) => line,
        _ => return None,
    };
    let (label, inline) = outline::label(title)?;
    let kind = announced(&label).filter(|_| inline.is_empty())?;
    Some((kind, label))
}

/// What the client appends to the summary.
const AFTERWORDS: &[&str] = &["<", "If you need specific details", "Please continue", "Continue the conversation"];

fn ends_section(line: &str) -> bool {
    let is_next = outline::item(line).is_some_and(|item| item.numbered && item.indent == 0 && item.text.ends_with(':'));
    is_next || outline::heading(line).is_some() || AFTERWORDS.iter().any(|after| line.starts_with(after))
}

/// The items of a section, or its first sentence. A next step is one sentence; its items only explain it.
fn section_items(kind: Kind, label: &str, body: &[&str], statements: &mut Statements) {
    let first = body.iter().find(|line| !line.trim().is_empty());
    let lead = first.filter(|line| {
        outline::item(line).is_none() && (!line.trim_end().ends_with(':') || label.ends_with("next step"))
    });
    if let Some(lead) = lead {
        let step = first_sentence(lead).trim_end_matches(':');
        return add_item(kind, step.strip_suffix(" by").unwrap_or(step), statements);
    }
    let list = body.iter().position(|line| outline::item(line).is_some()).unwrap_or(body.len());
    for item in outline::items(&body[list..]) {
        add_item(kind, item.text, statements);
    }
}

fn first_sentence(line: &str) -> &str {
    // Anything shorter is an abbreviation or a list number.
    const SENTENCE_BYTES_MIN: usize = 8;
    let line = line.trim();
    let end = line.match_indices(". ").map(|(at, _)| at).find(|at| *at > SENTENCE_BYTES_MIN);
    line[..end.unwrap_or(line.len())].trim()
}

/// The steps of a plan in order, one line each.
pub fn plan(plan: &str) -> Vec<String> {
    let text = without_ours(clip(plan, READ_BYTES_MAX));
    let steps = steps::steps(&text);
    let mut plain: Vec<String> = Vec::new();
    for step in steps {
        let step = line(&outline::plain(step), TEXT_CHARS_MAX);
        let step = step.trim_end_matches(':').trim();
        if !step.is_empty() && !plain.iter().any(|known| known == step) {
            plain.push(step.to_string());
        }
    }
    plain.truncate(STEPS_MAX);
    plain
}

#[cfg(test)]
mod tests;
