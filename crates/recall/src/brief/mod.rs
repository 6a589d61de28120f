//! Composes briefs from facts of the project's recent sessions: merged, settled, ranked, named and fitted.
//!
//! The text is one code per line, below a line that says what it is; it is empty if there is nothing to say. It never exceeds its token
//! budget or the host's character limit, and the same input always gives the same bytes. Every line comes from a fact
//! and has a session and a reason.

pub mod digest;
pub mod failing;
mod fit;
mod gather;
pub mod ledger;
mod likely;
pub mod live;
pub mod memories;
mod notes;
pub mod notice;
mod prompted;
pub mod rank;
mod relevance;
pub mod repository;
mod shorten;
pub mod stopped;
mod team;
pub mod title;
mod told;
pub mod usage;

use std::collections::{HashMap, HashSet};

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text;
use cerberus_record::fact::{Closing, Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use crate::extract::{PASTED, SAID};
pub use cerberus_record::ours::FIRST_LINE;

pub(crate) use gather::BY_AGENT;
pub use gather::{LastWork, attributed, done_by_reference, open_items};
pub use live::LiveSession;
pub use memories::{GuideRule, MemoryItem};
pub use notes::{AgentNotes, kept};

pub use prompted::{PromptPosition, asked_files, on_prompt};
pub use shorten::base;
pub use team::TeamFact;

/// Budget of the session part, in tokens. The user may set another within [`BUDGET_TOKENS_RANGE`].
pub const BUDGET_TOKENS: usize = 885;
pub const BUDGET_TOKENS_RANGE: std::ops::RangeInclusive<usize> = 500..=1_500;

/// No brief is longer, whatever its host allows.
pub const CHARS_MAX: usize = 9_500;

/// A fact from a session.
#[derive(Clone, Debug)]
pub struct KnownFact {
    pub fact: Fact,
    pub session: SessionId,
    pub at: Timestamp,
    /// Its position in the journal, to order events with the same time.
    pub event: i64,
}

/// A settlement from a session.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub closing: Closing,
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
}

/// Input of a brief. Facts are in chronological order.
#[derive(Debug)]
pub struct BriefRequest<'a> {
    pub project: &'a str,
    pub facts: &'a [KnownFact],
    pub settlements: &'a [Settlement],
    pub likely: &'a Likely,
    pub now: Timestamp,
    /// `usize::MAX` for everything that is open, however much it is.
    pub budget_tokens: usize,
    pub chars_max: usize,
    /// The prompt the session is about to answer, if known.
    pub prompt: Option<&'a str>,
    /// Memories shown before this part.
    pub memories: &'a [MemoryItem],
    /// What this session already knows; `None` at a fresh start.
    pub known: Option<&'a AlreadyKnown>,
    /// The conversations of the last sessions, oldest first.
    pub turns: &'a [stopped::Quotable],
    /// Sessions that are at work now, in another window.
    pub live: &'a [LiveSession],
    /// The sessions that changed something; items that they passed over fade out.
    pub worked: &'a [LastWork],
}

/// What is known about the project's files and branches. It orders items and removes stale ones.
#[derive(Debug, Default)]
pub struct Likely {
    /// The likeliest to be worked on first. If empty, files stay in the order in which they were touched.
    pub files: Vec<rank::RankedFile>,
    /// Files that no longer exist.
    pub gone: FastSet<String>,
    /// Sessions whose work is on a branch that is not merged into the current one.
    pub unmerged: HashMap<SessionId, String>,
    pub repository: repository::GitFacts,
    pub ledger: ledger::BranchLedger,
    /// By the paths of the files that were edited last.
    pub lines: FastMap<String, FunctionLine>,
}

/// The function of a file that was edited last, and where it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionLine {
    pub function: String,
    pub line: u32,
}

/// What a session already has in its context.
#[derive(Debug, Default)]
pub struct AlreadyKnown {
    pub shown_codes: HashSet<String>,
    /// Its own session, and its parent if it was forked.
    pub own_sessions: HashSet<SessionId>,
    /// Files that it read or edited itself.
    pub own_files: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// The last session: what was asked and what came of it.
    Stopped,
    Git,
    Blockers,
    Next,
    Decisions,
    /// Quotes from sessions before the last one.
    Earlier,
    Files,
    Functions,
}

impl Section {
    /// In display order.
    pub const ALL: [Section; 8] = [
        Section::Stopped,
        Section::Git,
        Section::Blockers,
        Section::Next,
        Section::Decisions,
        Section::Earlier,
        Section::Files,
        Section::Functions,
    ];

    pub fn of(kind: FactKind) -> Option<Section> {
        match kind {
            FactKind::File | FactKind::Read => Some(Section::Files),
            FactKind::Function => Some(Section::Functions),
            FactKind::Decision => Some(Section::Decisions),
            FactKind::Blocker => Some(Section::Blockers),
            FactKind::Next | FactKind::Objective | FactKind::Note => Some(Section::Next),
            FactKind::Last | FactKind::Asked | FactKind::Said => Some(Section::Stopped),
            FactKind::Git | FactKind::Live => Some(Section::Git),
            FactKind::Done | FactKind::Test | FactKind::Commit | FactKind::PullRequest | FactKind::Step => None,
        }
    }
}

/// One line of a brief and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct BriefLine {
    pub section: Section,
    pub kind: FactKind,
    pub code: String,
    pub text: String,
    pub path: Option<String>,
    /// The last session that stated it; `None` for a file known only from git.
    pub session: Option<SessionId>,
    pub at: Timestamp,
    pub tokens: usize,
    /// How often it was stated.
    pub times: usize,
    /// Why a file has its rank, or why a sentence is quoted.
    pub place: Option<String>,
    /// What its fact is called by, such as the list it stands on.
    pub reference: Option<String>,
    /// The teammate who stated it. Its code then ends in the name and the age.
    pub author: Option<String>,
}

impl BriefLine {
    /// What is written down about having told it. A quote is known by where it comes from: its words are kept only once,
    /// in the record they were said in.
    pub fn receipt_code(&self) -> String {
        if let Some(author) = &self.author {
            return format!("{} ({author})", self.text);
        }
        let is_quote =
            matches!(self.kind, FactKind::Last | FactKind::Asked | FactKind::Said | FactKind::Git | FactKind::Live);
        if !is_quote && !matches!(self.reference.as_deref(), Some(stopped::QUOTED | SAID | PASTED | notes::NOTED)) {
            return self.code.clone();
        }
        let session = self.session.as_ref().map_or("git", SessionId::as_str);
        format!("{}{session}@{}", self.kind.prefix(), self.at)
    }

    /// Why it is in the brief.
    pub fn why(&self) -> String {
        if let Some(place) = &self.place {
            return place.clone();
        }
        let verb = match self.kind {
            FactKind::File | FactKind::Function => "changed",
            FactKind::Read => "read",
            FactKind::Decision => "decided",
            _ => "open",
        };
        let often = if self.times > 1 { format!(", {} times", self.times) } else { String::new() };
        let session = self.session.as_ref().map_or("git", SessionId::as_str);
        format!("{verb} {} in {session}{often}", self.at)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DroppedLine {
    pub code: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brief {
    pub text: String,
    pub tokens: usize,
    pub rules: Vec<GuideRule>,
    pub memories: Vec<MemoryItem>,
    pub items: Vec<BriefLine>,
    pub dropped: Vec<DroppedLine>,
}

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
        likely::trim_functions(&mut items, &mut dropped);
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
    let lines = &request.likely.lines;
    let mut text = render(&header, &items, lines);
    // Functions that stand on the line of their file can cost more than they were counted for.
    while tokens::estimate(&text) > request.budget_tokens || text.chars().count() > request.chars_max {
        let Some(item) = fit::least(&mut items) else { break };
        dropped.push(fit::over(item, request.budget_tokens));
        text = render(&header, &items, lines);
    }
    Brief { tokens: tokens::estimate(&text), text, items, dropped, ..Brief::default() }
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
pub fn remind(project: &str, turn: &stopped::Quotable, likely: &Likely, facts: &[KnownFact], now: Timestamp) -> Brief {
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
    let text = render(&header(project), &items, &likely.lines);
    Brief { tokens: tokens::estimate(&text), text, items, ..Brief::default() }
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
    let of =
        |is: fn(&BriefLine) -> bool| items.iter().filter(move |item| is(item)).map(|item| item.text.as_str()).collect();
    let told =
        stopped::ToldElsewhere { interrupted: of(fit::is_interrupted), open: of(|item| item.section == Section::Next) };
    stopped::items(turns, request.now, budget_tokens, &told, dropped)
}

impl Brief {
    /// The tokens that these memories leave for the session part, which they are put before with a blank line.
    pub fn tokens_after(memories: &[MemoryItem], budget_tokens: usize) -> usize {
        let used: usize = memories.iter().map(|item| item.tokens).sum();
        let blank_line = if memories.is_empty() { 0 } else { tokens::line("") };
        budget_tokens.saturating_sub(used + blank_line)
    }

    /// Says first what the text is. An empty brief stays empty.
    pub fn introduced(mut self, first_line: &str) -> Brief {
        if !self.text.is_empty() && !first_line.is_empty() {
            self.text = format!("{first_line}\n{}", self.text);
            self.tokens = tokens::estimate(&self.text);
        }
        self
    }

    /// Adds a line that has a budget of its own.
    pub fn add_line(&mut self, line: &str) {
        let parts = [std::mem::take(&mut self.text), line.to_string()];
        self.text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        self.tokens = tokens::estimate(&self.text);
    }

    /// Puts memories before the session part, separated by a blank line.
    pub fn after(self, memories: Vec<MemoryItem>, mut dropped: Vec<DroppedLine>) -> Brief {
        let lines: Vec<&str> = memories.iter().map(|item| item.code.as_str()).collect();
        let parts = [lines.join("\n"), self.text];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        dropped.extend(self.dropped);
        Brief { tokens: tokens::estimate(&text), text, rules: self.rules, memories, items: self.items, dropped }
    }
}

/// How much may be added at the end of a session part.
#[derive(Clone, Copy, Debug)]
pub struct EndRoom {
    /// The budget of the whole session part.
    pub budget_tokens: usize,
    pub chars_max: usize,
    pub now: Timestamp,
}

impl Brief {
    /// Adds a line at the end, or says why there is no room for it.
    fn add_last(
        &mut self,
        project: &str,
        above: Option<&str>,
        item: BriefLine,
        room: &EndRoom,
    ) -> Option<&'static str> {
        let code = above.map_or_else(|| item.code.clone(), |above| format!("{above}\n{}", item.code));
        let line = match self.text.is_empty() {
            true => format!("{}\n{code}", header(project)),
            false => format!("\n{code}"),
        };
        if self.tokens + tokens::estimate(line.trim_start_matches('\n')) > room.budget_tokens {
            return Some("over the budget");
        }
        if self.text.chars().count() + line.chars().count() > room.chars_max {
            return Some("over the limit of the agent");
        }
        self.text.push_str(&line);
        self.tokens = tokens::estimate(&self.text);
        self.items.push(item);
        None
    }
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

/// The line that every session part begins with.
fn header(project: &str) -> String {
    format!("proj:{}", text::code(&harmless(project, "a project")))
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
