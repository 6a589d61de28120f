//! Tables of what sessions used: what getting started took, and what was spent.

use cerberus_agents::meter::price::collected_on;

use super::count;
use super::style::{Line, Screen, Style, wrapped};
use super::time::LocalTime;
use crate::report::figures::scale::short;
use crate::report::figures::weeks::WEEKS;
use crate::usage::compare::SAMPLE_MIN;
use crate::usage::money::{Money, Spent, SpentRow, first};
use crate::usage::started::Started;

/// How wide the column of names is, and each column of numbers.
const NAME: usize = 36;
const NUMBER: usize = 12;

/// How many projects and agents are shown one by one.
const ROWS_MAX: usize = 8;
const WEEKS_MAX: usize = 8;

fn row(indent: usize, name: &str, numbers: &[String], after: &str) -> Line {
    let name = Line::new().plain(format!("{}{name}", " ".repeat(indent))).cut(NAME).pad(NAME);
    let numbers = numbers.iter().map(|number| format!("{number:>NUMBER$}"));
    name.plain(numbers.collect::<String>()).faint(if after.is_empty() { String::new() } else { format!("  {after}") })
}

/// A text in as many lines as it needs.
pub fn texts(screen: &Screen, indent: usize, text: &str) -> Vec<Line> {
    let line = |text: String| Line::new().faint(format!("{}{text}", " ".repeat(indent)));
    wrapped(text, screen.room().saturating_sub(indent)).into_iter().map(line).collect()
}

/// What getting started took, before and since.
pub fn started(screen: &Screen, all: &[Started]) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::Strong, "getting started".to_string())];
    if all.is_empty() {
        let nothing = "nothing to compare yet: no session is known that continues a project and came to change something; \
            `cerberus import` reads the past ones";
        lines.extend(texts(screen, 2, nothing));
        return lines;
    }
    let meaning = "what a session that continues a project takes until its first edit, or its first test, build, lint, \
        commit or push: medians of your own sessions, before Cerberus was installed (imported) and since";
    lines.extend(texts(screen, 2, meaning));
    lines.push(row(0, "", &["before".to_string(), "since".to_string()], ""));
    let (shown, few): (Vec<&Started>, Vec<&Started>) = all.iter().partition(|one| one.of.is_none() || one.is_enough());
    for one in shown.into_iter().take(ROWS_MAX + 1) {
        let name =
            one.of.as_ref().map_or("all sessions".to_string(), |(project, agent)| format!("{project} with {agent}"));
        lines.push(row(2, &name, &[one.before.to_string(), one.since.to_string()], "sessions"));
        for (measure, compared) in &one.measures {
            let medians = [measure.shown(compared.before), measure.shown(compared.since)];
            lines.push(row(4, measure.words(), &medians, compared.verdict.words()));
        }
    }
    if let Some((one, rest)) = few.split_first() {
        let name = |one: &&Started| {
            one.of.as_ref().map_or(String::new(), |(project, agent)| format!("{project} with {agent}"))
        };
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {}", count(more, "other")),
        };
        lines.extend(texts(
            screen,
            2,
            &format!(
                "too few to compare, {SAMPLE_MIN} on each side are needed: {} ({} before, {} since){more}",
                name(one),
                one.before,
                one.since
            ),
        ));
    }
    lines
}

/// What was spent, from four sides.
pub fn money(screen: &Screen, local: &LocalTime, money: &Money, has_own_prices: bool) -> Vec<Line> {
    let own = if has_own_prices { ", your own first" } else { "" };
    let title = format!("cost, last {WEEKS} weeks, list prices of {}{own}", collected_on());
    let mut lines = vec![Line::of(Style::Strong, title)];
    if money.sessions == 0 {
        lines.extend(texts(screen, 2, "no transcript says how many tokens were spent"));
        return lines;
    }
    lines.push(row(0, "", &["sessions".to_string(), "tokens".to_string(), "cost".to_string()], ""));
    lines.push(spent(2, "all", money.sessions, &money.all));
    for (title, rows) in [("project", &money.by_project), ("agent", &money.by_agent), ("model", &money.by_model)] {
        lines.push(Line::new().faint(format!("  by {title}")));
        lines.extend(first(rows, ROWS_MAX).iter().map(|row| spent(4, &row.name, row.sessions, &row.spent)));
    }
    lines.push(Line::new().faint("  by week".to_string()));
    for (monday, SpentRow { sessions, spent: of, .. }) in money.by_week.iter().rev().take(WEEKS_MAX) {
        lines.push(spent(4, &format!("from {}", local.date_of(*monday)), *sessions, of));
    }
    if money.all.unpriced_tokens > 0 {
        let unpriced = format!(
            "+ {} tokens of models whose price is not known; give it in [prices] of config.toml",
            short(money.all.unpriced_tokens)
        );
        lines.extend(texts(screen, 2, &unpriced));
    }
    if money.unknown_sessions > 0 {
        let unknown = format!(
            "{} not counted: neither a transcript nor the archive says what was spent",
            count(money.unknown_sessions, "session")
        );
        lines.extend(texts(screen, 2, &unknown));
    }
    lines
}

/// What one session cost, such as `$1.20 (list prices of 2026-11-16), 3.4 M tokens`. `None` if no tokens are known.
pub fn session_cost(spent: &Spent, has_own_prices: bool) -> Option<String> {
    let own = if has_own_prices { ", your own first" } else { "" };
    let tokens = (spent.tokens > 0).then(|| format!("{} tokens", short(spent.tokens)))?;
    Some(match spent.known_usd() {
        None => format!("price unknown, {tokens}"),
        Some(cost) => {
            let more = if spent.unpriced_tokens == 0 { "" } else { " and what has no known price" };
            format!("${cost:.2}{more} (list prices of {}{own}), {tokens}", collected_on())
        }
    })
}

fn spent(indent: usize, name: &str, sessions: usize, spent: &Spent) -> Line {
    let cost = match (spent.known_usd(), spent.unpriced_tokens) {
        (None, _) => "unknown".to_string(),
        (Some(cost), 0) => format!("${cost:.2}"),
        (Some(cost), _) => format!("${cost:.2} +"),
    };
    row(indent, name, &[sessions.to_string(), short(spent.tokens), cost], "")
}
