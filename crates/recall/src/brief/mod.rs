//! Composes briefs from facts of the project's recent sessions: merged, settled, ranked, named and fitted.
//!
//! The text is one code per line, below a line that says what it is; it is empty if there is nothing to say. It never exceeds its token
//! budget or the host's character limit, and the same input always gives the same bytes. Every line comes from a fact
//! and has a session and a reason.

mod composed;
pub mod digest;
mod evidence;
pub mod failing;
mod fit;
mod gather;
mod known;
pub mod ledger;
mod likely;
mod line;
pub mod live;
pub mod memories;
mod notes;
pub mod notice;
mod prompted;
pub mod rank;
mod relevance;
pub mod repository;
mod request;
mod shorten;
pub mod stopped;
mod team;
pub mod title;
mod told;
pub mod usage;

use cerberus_record::fact::FactKind;
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;
pub(crate) use composed::RULE;
use composed::header;

pub use cerberus_record::ours::FIRST_LINE;

pub(crate) use gather::BY_AGENT;
pub use gather::{LastWork, attributed, done_by_reference, open_decisions, open_items};
pub use live::LiveSession;
pub use notes::{AgentNotes, kept};

pub use composed::{Brief, EndRoom, GuideRule, MemoryItem};
pub use evidence::{FunctionLine, Likely};
pub use known::{KnownFact, Settlement};
pub use line::{BriefLine, DroppedLine, Section};
pub use prompted::{PromptPosition, asked_files, on_prompt};
pub use request::{AlreadyKnown, BriefRequest};
pub use shorten::base;
pub use team::TeamFact;

/// Budget of the session part, in tokens. The user may set another within [`BUDGET_TOKENS_RANGE`].
pub const BUDGET_TOKENS: usize = 870;
pub const BUDGET_TOKENS_RANGE: std::ops::RangeInclusive<usize> = 500..=1_500;

/// No brief is longer, whatever its host allows.
pub const CHARS_MAX: usize = 9_500;

/// Composes a brief.
pub fn compose(request: &BriefRequest) -> Brief {
    let mut dropped = Vec::new();
    let mut items = gather::open_items(request.facts, request.settlements, request.worked, &mut dropped);
    items.retain(|item| !is_covered_by_memory(item, request.memories, &mut dropped));
    if let Some(known) = request.known {
        items.retain(|item| !item.session.as_ref().is_some_and(|session| known.own_sessions.contains(session)));
    }
    if let Some(prompt) = request.prompt {
        relevance::put_first(&mut items, prompt);
    }
    likely::remove_stale(&mut items, request.likely, &mut dropped);
    likely::place_files(&mut items, request, &mut dropped);
    let is_brief = request.budget_tokens < usize::MAX;
    if is_brief {
        likely::trim_functions(&mut items, request.likely, &mut dropped);
    }
    shorten::name_files(&mut items);
    if is_brief && request.worked.len() > 1 {
        likely::trim_statements(&mut items, &mut dropped);
    }
    items.extend(repository::item(&request.likely.repository, request.facts, request.worked, request.now));
    items.extend(ledger::item(&request.likely.ledger, request.now));
    items.extend(request.live.iter().map(|session| live::item(session, request.now)));
    let is_known =
        |item: &BriefLine| request.known.is_some_and(|known| known.shown_codes.contains(&item.receipt_code()));
    items.retain(|item| !is_known(item));
    told::count(&mut items);
    let header = header(request.project);
    let turns = turns(request);
    let quotable: usize = turns.iter().map(stopped::Quotable::tokens).sum();
    // Quotes keep their share, and have what the others leave.
    let kept_for_quotes = quotable.min(request.budget_tokens / QUOTES_SHARE);
    let room = fit::RoomLeft::of(request).less(kept_for_quotes);
    // Names of functions have what quotes leave.
    let is_held_back = |item: &BriefLine| item.section == Section::Functions && !turns.is_empty();
    let (functions, items) = items.into_iter().partition(is_held_back);
    let mut items = fit::fit(&header, items, &room, &mut dropped);
    let room = fit::RoomLeft::of(request).without(&header, &items);
    items.extend(quotes(request, &turns, &items, room.tokens, &mut dropped));
    items.retain(|item| !is_known(item));
    told::count(&mut items);
    let room = fit::RoomLeft::of(request).without(&header, &items);
    items.extend(fit::first(functions, &room, &mut dropped));
    let mut items = fit::fit(&header, items, &fit::RoomLeft::of(request), &mut dropped);
    let end = EndRoom { budget_tokens: request.budget_tokens, chars_max: request.chars_max, now: request.now };
    // Functions that stand on the line of their file can cost more than they were counted for.
    let text = fitting(&header, &mut items, &request.likely.lines, &end, &mut dropped);
    Brief { tokens: tokens::estimate(&text), text, items, dropped, ..Brief::default() }
}

/// The text of these lines, without the least important ones where there is no room.
fn fitting(
    header: &str,
    items: &mut Vec<BriefLine>,
    lines: &FastMap<String, FunctionLine>,
    room: &EndRoom,
    dropped: &mut Vec<DroppedLine>,
) -> String {
    let mut text = render(header, items, lines);
    while tokens::estimate(&text) > room.budget_tokens || text.chars().count() > room.chars_max {
        let Some(item) = fit::least(items) else { break };
        dropped.push(fit::over(item, room.budget_tokens));
        text = render(header, items, lines);
    }
    text
}

/// Everything that these facts leave open, however much it is: no budget, no ranking, no quotes.
pub fn everything(project: &str, facts: &[KnownFact], settlements: &[Settlement], now: Timestamp) -> Brief {
    compose(&BriefRequest {
        project,
        facts,
        settlements,
        likely: &Likely::default(),
        now,
        budget_tokens: usize::MAX,
        chars_max: usize::MAX,
        prompt: None,
        memories: &[],
        known: None,
        turns: &[],
        live: &[],
        worked: &[],
    })
}

/// What a reminder may quote.
const REMINDER_TOKENS: usize = 120;

/// A few lines for a project that nobody worked on for long: where it stopped, the state of the repository, and the
/// files that are likely to be worked on.
pub fn remind(project: &str, turn: &stopped::Quotable, likely: &Likely, facts: &[KnownFact], room: &EndRoom) -> Brief {
    let (now, mut dropped) = (room.now, Vec::new());
    let mut items = stopped::items(
        std::slice::from_ref(turn),
        now,
        REMINDER_TOKENS,
        &stopped::ToldElsewhere::default(),
        &mut Vec::new(),
    );
    items.retain(|item| matches!(item.kind, FactKind::Last | FactKind::Said));
    if !items.is_empty() {
        items.extend(repository::item(&likely.repository, facts, &[], now));
        items.extend(ledger::item(&likely.ledger, now));
        items.extend(likely.files.iter().take(rank::weights::FILES_MAX).map(|ranked| likely::seen(ranked, now)));
    }
    shorten::name_files(&mut items);
    told::count(&mut items);
    let text = fitting(&header(project), &mut items, &likely.lines, room, &mut dropped);
    Brief { tokens: tokens::estimate(&text), text, items, dropped, ..Brief::default() }
}

/// Quotes keep one of this many parts of a brief.
const QUOTES_SHARE: usize = 2;

/// The turns of other sessions.
fn turns(request: &BriefRequest) -> Vec<stopped::Quotable> {
    let is_others =
        |turn: &&stopped::Quotable| request.known.is_none_or(|known| !known.own_sessions.contains(&turn.session));
    request.turns.iter().filter(is_others).cloned().collect()
}

/// What the last sessions said, beside what `items` tell.
fn quotes(
    request: &BriefRequest,
    turns: &[stopped::Quotable],
    items: &[BriefLine],
    budget_tokens: usize,
    dropped: &mut Vec<DroppedLine>,
) -> Vec<BriefLine> {
    let interrupted = items.iter().filter(|item| fit::is_interrupted(item));
    let interrupted = interrupted.map(|item| (item.session.as_ref(), item.told())).collect();
    let open = items.iter().filter(|item| item.section == Section::Next).map(|item| item.text.as_str()).collect();
    let told = stopped::ToldElsewhere { interrupted, open };
    stopped::items(turns, request.now, budget_tokens, &told, dropped)
}

/// A decision that has become a memory is shown only once, as the memory.
fn is_covered_by_memory(item: &BriefLine, memories: &[MemoryItem], dropped: &mut Vec<DroppedLine>) -> bool {
    let quotes_it = |memory: &&MemoryItem| memory.evidence.iter().any(|quote| quote.contains(&item.text));
    let Some(memory) = memories.iter().find(quotes_it).filter(|_| item.kind == FactKind::Decision) else {
        return false;
    };
    dropped.push(DroppedLine { code: item.code.clone(), reason: format!("included as {}", memory.code) });
    true
}

fn render(header: &str, items: &[BriefLine], lines: &FastMap<String, FunctionLine>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut text = header.to_string();
    for item in items.iter().filter(|item| !is_behind_its_file(items, item)) {
        text.push('\n');
        text.push_str(&item.told());
        let of_file = |other: &&BriefLine| other.section == Section::Functions && other.path == item.path;
        let functions = items.iter().filter(of_file).filter(|_| item.section == Section::Files && item.path.is_some());
        let mut functions: Vec<&BriefLine> = functions.collect();
        let found = item.path.as_ref().and_then(|path| lines.get(path));
        if let Some((found, at)) = found
            .and_then(|found| Some((found, functions.iter().position(|function| function.text == found.function)?)))
        {
            text.push_str(&format!(":{}", found.line));
            functions[..=at].rotate_right(1);
        }
        for (at, function) in functions.into_iter().enumerate() {
            text.push_str(if at == 0 { " " } else { ", " });
            text.push_str(function.told().trim_start_matches(FactKind::Function.prefix()));
        }
    }
    text
}

/// A function stands on the line of its file, if that is told.
fn is_behind_its_file(items: &[BriefLine], item: &BriefLine) -> bool {
    item.section == Section::Functions
        && item.path.is_some()
        && items.iter().any(|file| file.section == Section::Files && file.path == item.path)
}

#[cfg(test)]
mod tests;
