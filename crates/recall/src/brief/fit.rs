//! Fits items into the budget. Each section keeps a minimum while other sections have more than theirs.

use cerberus_record::fact::FactKind;
use cerberus_text::tokens;

use super::gather::class;
use super::{BriefLine, BriefRequest, DroppedLine, Section};
use crate::extract::INTERRUPTED;

/// The tokens a section keeps, scaled from a budget of 1000, while another section has more than its share.
fn floor_tokens(section: Section, budget_tokens: usize) -> usize {
    let of_thousand = match section {
        Section::Files => 300,
        Section::Stopped => 250,
        Section::Functions | Section::Decisions => 200,
        Section::Blockers | Section::Next => 100,
        Section::Git => 50,
        Section::Earlier => 0,
    };
    budget_tokens.saturating_mul(of_thousand) / 1_000
}

/// The order in which sections lose items.
const DROP_ORDER: [Section; 8] = [
    Section::Functions,
    Section::Earlier,
    Section::Files,
    Section::Decisions,
    Section::Next,
    Section::Blockers,
    Section::Git,
    Section::Stopped,
];

/// `items` are ordered by usefulness within each section. What does not fit goes to `dropped`.
pub fn fit(header: &str, items: Vec<BriefLine>, room: &RoomLeft, dropped: &mut Vec<DroppedLine>) -> Vec<BriefLine> {
    let mut kept: [Vec<BriefLine>; 8] = Default::default();
    for item in items {
        kept[item.section as usize].push(item);
    }
    let mut size = FittedSize::of(header);
    kept.iter().flatten().for_each(|item| size.add(item));
    for floors_hold in [true, false] {
        for section in DROP_ORDER {
            let floor = if floors_hold { floor_tokens(section, room.tokens) } else { 0 };
            let list = &mut kept[section as usize];
            let mut own_tokens: usize = list.iter().map(|item| item.tokens).sum();
            while size.exceeds(room) && own_tokens > floor {
                let Some(item) = list.pop() else { break };
                own_tokens -= item.tokens;
                size.remove(&item);
                dropped.push(over(item, room.budget_tokens));
            }
        }
    }
    let mut kept_items: Vec<BriefLine> = kept.into_iter().flat_map(in_display_order).collect();
    // Interrupted work comes first.
    kept_items.sort_by_key(|item| !is_interrupted(item));
    kept_items
}

/// The first items, as many as there is room for.
pub fn first(mut items: Vec<BriefLine>, room: &RoomLeft, dropped: &mut Vec<DroppedLine>) -> Vec<BriefLine> {
    let mut tokens = 0;
    let mut fits = |item: &BriefLine| {
        tokens += item.tokens;
        tokens <= room.tokens
    };
    let count = items.iter().take_while(|item| fits(item)).count();
    dropped.extend(items.drain(count..).map(|item| over(item, room.budget_tokens)));
    items
}

/// Takes out the item that is given up next.
pub fn least(items: &mut Vec<BriefLine>) -> Option<BriefLine> {
    let last = |section: &Section| items.iter().rposition(|item| item.section == *section);
    let at = DROP_ORDER.iter().find_map(last)?;
    Some(items.remove(at))
}

pub fn over(item: BriefLine, budget_tokens: usize) -> DroppedLine {
    DroppedLine { code: item.code, reason: format!("over the budget of {budget_tokens} tokens") }
}

pub fn is_interrupted(item: &BriefLine) -> bool {
    let text = item.code.strip_prefix(FactKind::Next.prefix());
    text.and_then(|text| text.strip_prefix(INTERRUPTED)).is_some_and(|what| what.starts_with(':'))
}

/// Files keep their rank, and a conversation is told as it went; other items come in chronological order, the newest
/// session first.
fn in_display_order(mut items: Vec<BriefLine>) -> Vec<BriefLine> {
    let section = items.first().map(|item| item.section);
    if matches!(section, Some(Section::Stopped | Section::Earlier)) {
        items.sort_by_key(|item| (item.at, item.kind == FactKind::Said));
    } else if section != Some(Section::Files) {
        let mut sessions: Vec<_> = items.iter().map(|item| (item.at, item.session.clone())).collect();
        sessions.sort_by(|a, b| b.cmp(a));
        let recency = |item: &BriefLine| sessions.iter().position(|(_, session)| *session == item.session);
        items.sort_by_cached_key(|item| (class(item.kind), recency(item), item.at));
    }
    items
}

/// What is left of a budget.
#[derive(Clone, Copy)]
pub struct RoomLeft {
    pub tokens: usize,
    chars: usize,
    /// The whole budget.
    budget_tokens: usize,
}

impl RoomLeft {
    pub fn of(request: &BriefRequest) -> RoomLeft {
        let BriefRequest { budget_tokens, chars_max, .. } = *request;
        RoomLeft { tokens: budget_tokens, chars: chars_max, budget_tokens }
    }

    pub fn less(self, tokens: usize) -> RoomLeft {
        RoomLeft { tokens: self.tokens.saturating_sub(tokens), ..self }
    }

    pub fn without(self, header: &str, items: &[BriefLine]) -> RoomLeft {
        let mut size = FittedSize::of(header);
        items.iter().for_each(|item| size.add(item));
        RoomLeft { chars: self.chars.saturating_sub(size.chars), ..self.less(size.tokens) }
    }
}

struct FittedSize {
    tokens: usize,
    chars: usize,
}

impl FittedSize {
    fn of(header: &str) -> FittedSize {
        FittedSize { tokens: tokens::line(header), chars: header.chars().count() }
    }

    fn add(&mut self, item: &BriefLine) {
        self.tokens += item.tokens;
        self.chars += item.told().chars().count() + 1;
    }

    fn remove(&mut self, item: &BriefLine) {
        self.tokens -= item.tokens;
        self.chars -= item.told().chars().count() + 1;
    }

    fn exceeds(&self, room: &RoomLeft) -> bool {
        self.tokens > room.tokens || self.chars > room.chars
    }
}
