//! Merges the facts of many sessions into one list of open items: duplicates merged, settled items removed, best
//! first.

use std::borrow::Cow;
use std::cmp::Reverse;

use cerberus_record::clean::text;
use cerberus_record::clean::text::words;
use cerberus_record::fact::{ClosedAs, ClosingTarget, Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;

use super::{BriefLine, DroppedLine, KnownFact, Section, Settlement};
use crate::extract::{INTERRUPTED, PASTED, RECORDED_BY_AGENT, RUN, SAID, TASK, TODO_LIST, is_recorded};

/// A done item settles an open one if it contains this share of its words.
const DONE_SHARE: f64 = 0.6;

/// Words that carry no meaning of their own.
const STOP_WORDS: &[&str] =
    &["the", "an", "to", "of", "in", "on", "for", "and", "with", "is", "it", "this", "that", "from", "into", "be"];

/// The open items by section, the most useful first.
pub fn open_items(
    facts: &[KnownFact],
    settlements: &[Settlement],
    worked: &[LastWork],
    dropped: &mut Vec<DroppedLine>,
) -> Vec<BriefLine> {
    merged(facts, settlements, worked, dropped).into_iter().map(MergedItem::into_item).collect()
}

/// Those that are decisions.
pub fn open_decisions(facts: &[KnownFact], settlements: &[Settlement]) -> Vec<BriefLine> {
    let mut open = merged(facts, settlements, &[], &mut Vec::new());
    open.retain(|item| item.section == Section::Decisions);
    open.into_iter().map(MergedItem::into_item).collect()
}

fn merged<'a>(
    facts: &'a [KnownFact],
    settlements: &'a [Settlement],
    worked: &[LastWork],
    dropped: &mut Vec<DroppedLine>,
) -> Vec<MergedItem<'a>> {
    let settled = SettledIndex { worked, ..SettledIndex::new(facts, settlements) };
    let mut merged: Vec<MergedItem> = Vec::new();
    let mut place: FastMap<(Section, &str), usize> = FastMap::default();
    let mut seen: FastSet<&str> = FastSet::default();
    for (order, known) in facts.iter().enumerate() {
        let Some(section) = Section::of(known.fact.kind) else {
            continue;
        };
        if let Some(reason) = settled.reason(known) {
            if seen.insert(&known.fact.code) {
                dropped.push(DroppedLine { code: known.fact.code.clone(), reason });
            }
            continue;
        }
        let identity = match (section, &known.fact.path) {
            (Section::Files, Some(path)) => path.as_str(),
            _ => known.fact.code.as_str(),
        };
        match place.get(&(section, identity)) {
            Some(index) => merged[*index].add(known),
            None => {
                place.insert((section, identity), merged.len());
                merged.push(MergedItem { section, order, last: known, kind: known.fact.kind, times: 1 });
            }
        }
    }
    merged.sort_by_key(MergedItem::priority);
    if !dropped.is_empty() {
        let open: FastSet<&str> = merged.iter().map(|open| open.last.fact.code.as_str()).collect();
        dropped.retain(|gone| !open.contains(gone.code.as_str()));
    }
    merged
}

/// Tasks that were completed by number only. The text of the open task becomes the text of the done one.
pub fn done_by_reference(facts: &[KnownFact], settlements: &[Settlement]) -> Vec<KnownFact> {
    let finished = settlements.iter().filter(|settlement| settlement.closing.outcome == ClosedAs::Done);
    let settled = settled_references(settlements);
    let own = own_references(facts, &settled);
    // Of several facts with the same reference, the last one counts.
    let mut by_session: FastMap<(&str, &str), &KnownFact> = FastMap::default();
    let mut by_reference: FastMap<&str, &KnownFact> = FastMap::default();
    for known in facts {
        let Some(reference) = known.fact.reference.as_deref().filter(|name| settled.contains(name)) else { continue };
        by_session.insert((known.session.as_str(), reference), known);
        by_reference.insert(reference, known);
    }
    let done = |settlement: &Settlement| {
        let ClosingTarget::Reference(reference) = &settlement.closing.target else { return None };
        let task = match is_shared_task(settlement, reference, &own) {
            true => by_reference.get(reference.as_str())?,
            false => by_session.get(&(settlement.session.as_str(), reference.as_str()))?,
        };
        let fact = Fact::words(FactKind::Done, &task.fact.text);
        Some(KnownFact { fact, session: settlement.session.clone(), at: settlement.at, event: settlement.event })
    };
    finished.filter_map(done).collect()
}

/// One item, merged from all facts that state it.
struct MergedItem<'a> {
    section: Section,
    /// The index of its first fact, to break ties.
    order: usize,
    last: &'a KnownFact,
    kind: FactKind,
    times: usize,
}

impl<'a> MergedItem<'a> {
    fn add(&mut self, known: &'a KnownFact) {
        self.times += 1;
        // A file that was once edited stays `impl:`, even if it is read later.
        if self.kind == FactKind::Read {
            self.kind = known.fact.kind;
        }
        if known.at >= self.last.at {
            self.last = known;
        }
    }

    /// Newest first. Edited files come before read ones, the objective before next steps, notes after them.
    fn priority(&self) -> (Section, u8, Reverse<Timestamp>, usize) {
        (self.section, class(self.kind), Reverse(self.last.at), self.order)
    }

    /// Who said it: the agent by itself, or the user, in their own words and when.
    fn spoken(&self) -> Cow<'a, str> {
        let fact = &self.last.fact;
        let prefix = fact.kind.prefix();
        match fact.reference.as_deref() {
            Some(RECORDED_BY_AGENT) => {
                let words = fact.code.strip_prefix(prefix).unwrap_or(&fact.code);
                Cow::Owned(format!("{prefix}{BY_AGENT}{words}"))
            }
            Some(PASTED) => {
                let day = self.last.at.day_and_month();
                Cow::Owned(format!("{prefix}\"{}\" (pasted by you, {day})", fact.text))
            }
            Some(SAID) => Cow::Owned(format!("{prefix}{}", quoted(&fact.text, self.last.at))),
            _ => Cow::Borrowed(&fact.code),
        }
    }

    fn into_item(self) -> BriefLine {
        let fact = &self.last.fact;
        let code = match fact.path.as_deref().filter(|_| self.section == Section::Files) {
            Some(path) => [self.kind.prefix(), &text::code(path)].concat(),
            None => text::code(&self.spoken()).into_owned(),
        };
        BriefLine {
            section: self.section,
            kind: self.kind,
            // Counted when it is clear which items are told, and how.
            tokens: 0,
            code,
            text: fact.text.clone(),
            path: fact.path.clone(),
            session: Some(self.last.session.clone()),
            at: self.last.at,
            times: self.times,
            place: None,
            reference: fact.reference.clone(),
            author: None,
        }
    }
}

/// Marks what an agent stated by itself. It stands after the prefix of the kind.
pub(crate) const BY_AGENT: &str = "agent: ";

/// A fact's text, marked if an agent stated it by itself.
pub fn attributed(text: &str, reference: Option<&str>) -> String {
    let mark = if reference == Some(RECORDED_BY_AGENT) { BY_AGENT } else { "" };
    format!("{mark}{text}")
}

/// The user's own words: `"…" (you, 12 Nov)`.
pub(super) fn quoted(words: &str, at: Timestamp) -> String {
    format!("\"{words}\" (you, {})", at.day_and_month())
}

/// The order of kinds within a section.
pub fn class(kind: FactKind) -> u8 {
    match kind {
        FactKind::Objective => 0,
        FactKind::Read | FactKind::Note => 2,
        _ => 1,
    }
}

/// When something happened: the time, and the position in the journal to break ties.
type JournalPosition = (Timestamp, i64);

/// The references that something is settled by. Most facts have none of them.
fn settled_references(settlements: &[Settlement]) -> FastSet<&str> {
    let targets = settlements.iter().map(|settlement| &settlement.closing.target);
    targets.filter_map(ClosingTarget::reference).collect()
}

/// Which sessions stated something by which of these references.
fn own_references<'a>(facts: &'a [KnownFact], settled: &FastSet<&str>) -> FastSet<(&'a str, &'a str)> {
    let reference =
        |known: &'a KnownFact| known.fact.reference.as_deref().filter(|reference| settled.contains(reference));
    facts.iter().filter_map(|known| Some((known.session.as_str(), reference(known)?))).collect()
}

/// A session that settles a task it never stated works on the list of another: of a teammate, or of the session that
/// started it.
fn is_shared_task(settlement: &Settlement, reference: &str, own: &FastSet<(&str, &str)>) -> bool {
    reference.starts_with(TASK) && !own.contains(&(settlement.session.as_str(), reference))
}

/// What was settled, and by what.
struct SettledIndex<'a> {
    by_reference: FastMap<(&'a str, &'a str), JournalPosition>,
    /// Tasks that a session settled without having stated them.
    shared: FastMap<&'a str, JournalPosition>,
    by_code: Vec<(&'a Settlement, FactKind, &'a str)>,
    done: Vec<(&'a KnownFact, FastSet<String>)>,
    /// Evidence that a session did some work.
    work: Vec<&'a KnownFact>,
    /// The sessions that changed something, and when they last did.
    worked: &'a [LastWork],
}

/// When a session last changed a file.
#[derive(Clone, Debug)]
pub struct LastWork {
    pub session: SessionId,
    pub at: Timestamp,
}

/// An item fades out when this many later sessions worked on something else.
const FADES_AFTER_SESSIONS: usize = 2;
/// What was only said fades out sooner than what stands on a list or was seen failing.
const WORDS_FADE_AFTER_SESSIONS: usize = 1;

impl<'a> SettledIndex<'a> {
    fn new(facts: &'a [KnownFact], settlements: &'a [Settlement]) -> SettledIndex<'a> {
        let is_work = |known: &&KnownFact| {
            matches!(known.fact.kind, FactKind::File | FactKind::Test | FactKind::Commit | FactKind::Done)
        };
        let work = facts.iter().filter(is_work).collect();
        let own = own_references(facts, &settled_references(settlements));
        let mut index = SettledIndex {
            by_reference: FastMap::default(),
            shared: FastMap::default(),
            by_code: Vec::new(),
            done: Vec::new(),
            work,
            worked: &[],
        };
        for settlement in settlements {
            match &settlement.closing.target {
                ClosingTarget::Reference(reference) => {
                    let position = (settlement.at, settlement.event);
                    let latest = match is_shared_task(settlement, reference, &own) {
                        true => index.shared.entry(reference).or_insert(position),
                        false => {
                            let key = (settlement.session.as_str(), reference.as_str());
                            index.by_reference.entry(key).or_insert(position)
                        }
                    };
                    *latest = position.max(*latest);
                }
                ClosingTarget::Code(kind, code) => index.by_code.push((settlement, *kind, code)),
            }
        }
        let done = facts.iter().filter(|known| known.fact.kind == FactKind::Done);
        index.done = done.map(|known| (known, significant_words(&known.fact.code))).collect();
        index
    }

    fn reason(&self, known: &KnownFact) -> Option<String> {
        let fact = &known.fact;
        // An event never settles its own items: a new todo list replaces the old one and adds items at once.
        let since = (known.at, known.event);
        if let Some(reference) = fact.reference.as_deref() {
            let own = self.by_reference.get(&(known.session.as_str(), reference));
            if own.into_iter().chain(self.shared.get(reference)).any(|at| *at > since) {
                return Some("settled by the agent".to_string());
            }
        }
        if fact.reference.as_deref() == Some(INTERRUPTED) {
            let continued =
                self.work.iter().find(|other| other.session != known.session && (other.at, other.event) > since);
            return continued.map(|other| format!("continued by {}", other.session));
        }
        for (settlement, kind, code) in &self.by_code {
            if (settlement.at, settlement.event) > since && *kind == fact.kind && same_thing(code, &fact.code) {
                let verb = if settlement.closing.outcome == ClosedAs::Done { "resolved" } else { "dropped" };
                return Some(format!("{verb} {}", settlement.at));
            }
        }
        if let Some(reason) = self.faded(known) {
            return Some(reason);
        }
        if fact.kind != FactKind::Next {
            return None;
        }
        let wanted = significant_words(&fact.code);
        let done = self.done.iter().find(|(done, words)| (done.at, done.event) > since && covers(words, &wanted));
        done.map(|(done, _)| format!("done {}", done.at))
    }

    /// Work went on without it. What somebody recorded by hand stays.
    fn faded(&self, known: &KnownFact) -> Option<String> {
        let fact = &known.fact;
        if !matches!(fact.kind, FactKind::Next | FactKind::Blocker) || is_recorded(fact.reference.as_deref()) {
            return None;
        }
        let later = self.worked.iter().filter(|worked| worked.session != known.session && worked.at > known.at).count();
        let limit = if is_listed(fact) { FADES_AFTER_SESSIONS } else { WORDS_FADE_AFTER_SESSIONS };
        (later >= limit).then(|| {
            let sessions = if later == 1 { "session" } else { "sessions" };
            format!("not taken up by {later} later {sessions}")
        })
    }
}

/// It stands on a list that the agent keeps up to date, or a command showed it. A plan is not kept up to date: the next
/// session that works carries it out.
fn is_listed(fact: &Fact) -> bool {
    let reference = fact.reference.as_deref().unwrap_or_default();
    matches!(reference, TODO_LIST | RUN) || reference.starts_with(TASK)
}

fn same_thing(settled: &str, open: &str) -> bool {
    settled == open || covers(&significant_words(settled), &significant_words(open))
}

/// The significant words of a code, without its prefix.
fn significant_words(code: &str) -> FastSet<String> {
    let text = code.split_once(':').map_or(code, |(_, text)| text);
    words(text).filter(|word| !STOP_WORDS.contains(&word.as_str())).collect()
}

/// Whether `done` has enough of the words of `wanted`.
fn covers(done: &FastSet<String>, wanted: &FastSet<String>) -> bool {
    !wanted.is_empty() && wanted.intersection(done).count() as f64 >= DONE_SHARE * wanted.len() as f64
}
