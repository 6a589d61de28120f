//! What a sentence really says: decisions, blockers and next actions in the words of the user, of the agent, of a
//! compaction summary, and the steps of a plan.
//!
//! Pure and without a model: cues at places in clauses, labels over lists. It rather misses something than takes a
//! word for what it does not say. It never reads code, logs, quotations or what we wrote ourselves, and nothing it
//! gives is longer than a line.

mod cues;
mod outline;
mod own;
mod sentence;

use crate::fact::Kind;
use crate::injected::without_ours;
use crate::text::line;

const TEXT_CHARS_MAX: usize = 300;
/// One message that says more than this says nothing worth carrying over.
const SAID_MAX: usize = 10;
const STEPS_MAX: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// `Decision`, `Blocker` or `Next`.
    pub kind: Kind,
    pub text: String,
}

/// A list of what was said: each thing once, one clean line, not too many.
#[derive(Default)]
struct Heard(Vec<Said>);

impl Heard {
    fn add(&mut self, kind: Kind, text: &str) {
        let text = line(text, TEXT_CHARS_MAX);
        let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '-' | '–' | '—' | '*'));
        let says_something = text.chars().filter(|c| c.is_alphabetic()).count() >= 2;
        let said = Said {
            kind,
            text: text.to_string(),
        };
        if says_something && self.0.len() < SAID_MAX && !self.0.contains(&said) {
            self.0.push(said);
        }
    }
}

/// What the user decided, is blocked by or wants next, in their own words.
pub fn user(prompt: &str) -> Vec<Said> {
    let text = own::without_blocks(prompt);
    let own = own::own(&text);
    let mut heard = Heard::default();
    let mut skip = 0;
    let lines: Vec<&str> = own.lines.iter().map(String::as_str).collect();
    for (at, line) in lines.iter().enumerate() {
        if at < skip {
            continue;
        }
        let listed = labelled(&lines[at..], &mut heard);
        if listed > 0 {
            skip = at + listed;
            continue;
        }
        let line = outline::item(line).map_or(*line, |item| item.text);
        spoken(line, &mut heard);
    }
    if heard.0.is_empty()
        && let Some(fault) = own.fault
        && is_cry(&lines)
    {
        heard.add(Kind::Blocker, fault);
    }
    heard.0
}

/// What the sentences of one line say.
fn spoken(line: &str, heard: &mut Heard) {
    sentence::sentences(line, |words| {
        let clauses = sentence::clauses(words);
        for (kind, clause) in cues::said(words, &clauses) {
            // What is asked after it is not part of it.
            let asked = clauses
                .iter()
                .find(|later| later.start > clause.start && later.mood == sentence::Mood::Question);
            let last = asked.map_or(words.len(), |asked| asked.start) - 1;
            let from = if words[last].end - words[0].start > TEXT_CHARS_MAX { clause.start } else { 0 };
            let from = (from + sentence::fillers(&words[from..clause.start.max(from)])).min(clause.start);
            heard.add(kind, &line[words[from].start..words[last].end]);
        }
    });
}

/// A few words that call for help with what was pasted.
fn is_cry(lines: &[&str]) -> bool {
    const WORDS_MAX: usize = 8;
    const CRIES: &str = "help|halp|fix|debug|broken|failing|fails|stuck|solve|resolve";
    let words: Vec<String> = lines.iter().flat_map(|line| crate::text::words(line)).collect();
    (1..=WORDS_MAX).contains(&words.len())
        && words.iter().any(|word| cues::is_one_of(word, CRIES))
        && !lines.iter().any(|line| line.trim_end().ends_with('?'))
}

const NEXT_LABELS: &[&str] = &[
    "next", "next step", "next steps", "next up", "next actions", "next action", "next tasks", "remaining", "remaining work",
    "remaining tasks", "remaining items", "remaining steps", "remaining todos", "what remains", "what's remaining", "todo", "todos", "to do",
    "to-do", "to-dos", "what's left", "what is left", "whats left", "left to do", "still to do", "still todo", "still open",
    "still needed", "still pending", "still remaining", "follow-up", "follow-ups", "follow ups", "followups", "follow-up work",
    "follow-up items", "follow-up tasks", "open items", "open tasks", "outstanding", "outstanding items", "outstanding work",
    "outstanding tasks", "pending", "pending tasks", "pending items", "pending work", "not yet done", "not done yet", "what's next",
    "recommended next steps", "suggested next steps", "optional next step", "optional next steps", "immediate next steps", "later",
    "proposed next steps", "possible next steps", "action items", "backlog", "not done", "not yet implemented",
];
const BLOCKER_LABELS: &[&str] = &["blocked", "blocker", "blockers", "blocked by", "blocked on", "current blockers", "current blocker"];
const DECISION_LABELS: &[&str] = &[
    "decision", "decisions", "key decisions", "design decisions", "decisions made", "key design decisions", "technical decisions",
    "architecture decisions", "architectural decisions", "user decisions", "important decisions", "key technical decisions", "decided",
];

/// The kind that a label announces: exactly its words, or with "for …", "in …" after them.
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
    tables
        .into_iter()
        .find(|(_, labels)| labels.contains(&label) || labels.contains(&head))
        .map(|(kind, _)| kind)
}

/// Hears the list that the first line announces; gives how many lines were read, 0 when it announces none.
fn labelled(lines: &[&str], heard: &mut Heard) -> usize {
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
        listed(kind, inline, heard);
        return 1;
    }
    // One sentence may introduce the list.
    let lead = rest.iter().take(4).take_while(|line| outline::item(line).is_none()).count();
    if rest[..lead].iter().any(|line| outline::is_offer(line)) {
        return 1 + lead;
    }
    let items = outline::items(&rest[lead..]);
    for item in &items {
        listed(kind, item.text, heard);
    }
    1 + lead
}

/// One item of a list, unless it is finished, offered or denied.
fn listed(kind: Kind, text: &str, heard: &mut Heard) {
    const NONE: &[&str] = &["none", "no ", "nothing", "n/a", "all ", "not applicable", "everything"];
    let plain = outline::plain(text);
    let low = plain.to_lowercase();
    let is_none = NONE.iter().any(|none| low.trim_start_matches(['(', '_', '*']).starts_with(none));
    if !is_none && !outline::is_finished(text) && !outline::is_offer(&plain) {
        heard.add(kind, plain.trim_end_matches(':'));
    }
}

/// What the agent's last message leaves open: the items of its lists of next steps, and what it is blocked by.
pub fn agent(message: &str) -> Vec<Said> {
    let text = without_ours(message);
    let lines: Vec<&str> = text.lines().collect();
    let mut heard = Heard::default();
    let mut fenced = false;
    for (at, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.trim_start().starts_with('>') {
            continue;
        }
        if outline::label(line).is_some_and(|(label, _)| announced(&label).is_some_and(|kind| kind != Kind::Decision)) {
            labelled(&lines[at..], &mut heard);
        } else {
            blocked(line, &mut heard);
        }
    }
    heard.0
}

/// The agent's "blocked by …" and "blocked on …", nothing softer.
fn blocked(line: &str, heard: &mut Heard) {
    let mut found = Heard::default();
    spoken(line, &mut found);
    for said in found.0 {
        let low = said.text.to_lowercase();
        if said.kind == Kind::Blocker && (low.contains("blocked by") || low.contains("blocked on")) {
            heard.add(said.kind, &outline::plain(&said.text));
        }
    }
}

/// What a compaction summary leaves open: pending tasks, the next step, and decisions where a section names them.
pub fn summary(summary: &str) -> Vec<Said> {
    let text = without_ours(summary);
    // What was thought before the summary is repeated in it.
    let from = ["<summary>", "\nSummary:"].iter().filter_map(|mark| text.find(mark).map(|at| at + mark.len())).min();
    let lines: Vec<&str> = text[from.unwrap_or(0)..].lines().collect();
    let mut heard = Heard::default();
    for (at, line) in lines.iter().enumerate() {
        if let Some(kind) = section(line) {
            let body = &lines[at + 1..];
            let end = body.iter().position(|line| ends_section(line)).unwrap_or(body.len());
            section_items(kind, &body[..end], &mut heard);
        }
    }
    heard.0
}

/// The kind of the section that `line` opens: "7. Pending Tasks:".
fn section(line: &str) -> Option<Kind> {
    let title = match outline::item(line) {
        Some(item) if item.numbered && item.indent == 0 => item.text,
        Some(_) => return None,
        None => line,
    };
    outline::label(title).filter(|(_, inline)| inline.is_empty()).and_then(|(label, _)| announced(&label))
}

fn ends_section(line: &str) -> bool {
    let numbered = outline::item(line).is_some_and(|item| item.numbered && item.indent == 0 && item.text.ends_with(':'));
    numbered
        || outline::heading(line).is_some()
        || line.starts_with('<')
        || line.starts_with("If you need specific details")
        || line.starts_with("Please continue")
        || line.starts_with("Continue the conversation")
}

/// The items of a section, or its first sentence when it has none.
fn section_items(kind: Kind, body: &[&str], heard: &mut Heard) {
    let prose = body.iter().find(|line| !line.trim().is_empty());
    let Some(first) = body.iter().position(|line| outline::item(line).is_some()) else {
        if let Some(prose) = prose {
            listed(kind, first_sentence(prose), heard);
        }
        return;
    };
    if let Some(prose) = prose.filter(|line| outline::item(line).is_none() && !line.trim_end().ends_with(':')) {
        return listed(kind, first_sentence(prose), heard);
    }
    for item in outline::items(&body[first..]) {
        listed(kind, item.text, heard);
    }
}

fn first_sentence(line: &str) -> &str {
    let end = line.match_indices(". ").map(|(at, _)| at).find(|at| *at > 20);
    line[..end.unwrap_or(line.len())].trim()
}

/// The steps of an accepted plan, in its order, one line each.
pub fn plan(plan: &str) -> Vec<String> {
    let _ = plan;
    let _ = STEPS_MAX;
    Vec::new()
}
