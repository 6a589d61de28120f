//! One proposal: the words, the prompts they are from, why the agent quoted them, and what approving it means.

use cerberus_record::clean::text;
use cerberus_record::memory::Scope;
use cerberus_store::browse::proposals::{ListedProposal, ListedQuote};
use cerberus_text::tokens;

use super::row::{ScreenRow, rule};
use crate::render::count;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::words::scope as scope_words;
use crate::tui::state::ScreenState;

/// How many of the user's words are shown, and how much of each.
const QUOTES_MAX: usize = 4;
const QUOTE_LINES_MAX: usize = 3;
const PROMPT_LINES_MAX: usize = 3;
const PROMPT_CHARS_MAX: usize = 400;
const INDENT: usize = 15;

pub fn rows(state: &ScreenState, screen: &Screen) -> Vec<ScreenRow> {
    let Some(proposal) = state.proposal() else {
        let more = if state.decided.is_empty() { "" } else { " u undoes the last decision." };
        let text = format!(
            "Nothing to review.{more} A rule is proposed when an agent quotes you, or when you type the same wish again."
        );
        let lines = wrapped(&text, screen.columns.saturating_sub(2));
        return lines.into_iter().map(|line| Line::new().plain(format!(" {line}")).into()).collect();
    };
    let memory = &proposal.row.memory;
    let place = format!(" proposal {} of {}", state.review_at + 1, state.data.proposals.len());
    let about = format!("a {} · {} ", &*memory.category, scope_words(&proposal.row.scope()));
    let about = Line::new().faint(about);
    let line = Line::new().plain(place).pad(screen.columns.saturating_sub(about.width()));
    let mut rows: Vec<ScreenRow> = vec![line.join(about).into(), rule(screen.columns).into()];
    let words = wrapped(&memory.content, screen.columns.saturating_sub(4));
    rows.extend(words.into_iter().map(|text| Line::of(Style::Strong, format!("   {text}")).into()));
    rows.push(Line::new().into());
    rows.extend(said(state, screen, proposal));
    rows.push(Line::new().into());
    rows.push(if_approved(state, proposal).into());
    rows
}

fn said(state: &ScreenState, screen: &Screen, proposal: &ListedProposal) -> Vec<ScreenRow> {
    let is_users = proposal.row.origin().is_users();
    let heading = match (is_users, proposal.quotes.len()) {
        (_, 0) => format!(" {}", proposal.row.origin().title()),
        (true, 1) => " You said it once".to_string(),
        (true, times) => format!(" You said it {times} times"),
        (false, _) => format!(" The words ({})", proposal.row.origin().title()),
    };
    let mut rows: Vec<ScreenRow> = vec![Line::of(Style::Heading, heading).into()];
    // What says the same is shown once, with its last time.
    let mut shown: Vec<String> = Vec::new();
    for quote in proposal.quotes.iter().rev() {
        let words = quote.text.trim().to_lowercase();
        if shown.len() < QUOTES_MAX && !shown.contains(&words) {
            shown.push(words);
            rows.extend(quoted(state, screen, quote));
        }
    }
    if let Some(why) = &proposal.row.memory.background.rationale {
        let lines = wrapped(why, screen.columns.saturating_sub(INDENT + 1).max(20));
        for (at, text) in lines.into_iter().take(QUOTE_LINES_MAX).enumerate() {
            let start = Line::new().faint(if at == 0 { "        why" } else { "" }).pad(INDENT);
            rows.push(ScreenRow::from(start.add(Style::Faint, text)));
        }
    }
    rows
}

fn quoted(state: &ScreenState, screen: &Screen, quote: &ListedQuote) -> Vec<ScreenRow> {
    let columns = screen.columns.saturating_sub(INDENT + 1).max(20);
    let when = quote.at.map(|at| state.local.when(at)).unwrap_or_default();
    let mut rows = Vec::new();
    let mut add = |label: &str, text: String, style: Style, lines_max: usize| {
        for (at, text) in wrapped(&text, columns).into_iter().take(lines_max).enumerate() {
            let start = Line::new().faint(if at == 0 { format!(" {label}") } else { String::new() }).pad(INDENT);
            rows.push(ScreenRow::from(start.add(style, text)));
        }
    };
    add(&when, format!("“{}”", quote.text.trim()), Style::Plain, QUOTE_LINES_MAX);
    let prompt = text::line(&quote.prompt, PROMPT_CHARS_MAX);
    if prompt.chars().count() > quote.text.chars().count() {
        add("     prompt", format!("“{prompt}”"), Style::Faint, PROMPT_LINES_MAX);
    }
    rows
}

fn if_approved(state: &ScreenState, proposal: &ListedProposal) -> Line {
    let own = proposal.row.scope();
    let scope = if state.is_for_all { Scope::Universal } else { own.clone() };
    let tokens = tokens::estimate(&proposal.row.memory.content);
    let place = match &scope {
        Scope::Universal => "in every project".to_string(),
        Scope::Language(name) => format!("in projects in {name}"),
        Scope::Project(name) => format!("in {name}"),
    };
    let line = Line::new().plain(format!(" If approved: told at every start {place}, {}", count(tokens, "token")));
    match (&own, state.is_for_all) {
        (Scope::Universal, _) => line,
        (own, true) => line.faint(format!("   s: {}", scope_words(own))),
        (_, false) => line.faint("   s: all projects"),
    }
}
