//! The sections of the report about what was spent: on getting started, and in money.

use cerberus_agents::meter::price::collected_on;
use maud::{Markup, html};

use super::charts::{Bar, BarFill, Caption, WIDTH, bars, figure, legend, n, sample, table};
use super::words::{UNKNOWN, count};
use crate::render::time::LocalTime;
use crate::report::figures::scale::{part, short};
use crate::report::gather::ReportData;
use crate::usage::compare::{Compared, SAMPLE_MIN};
use crate::usage::money::{Spent, SpentRow, first};
use crate::usage::started::{StartMeasure, Started};

/// How many pictures of single projects are drawn.
const PROJECTS_MAX: usize = 3;

const ROW: f64 = 36.0;

/// What getting started took, before Cerberus was installed and since.
pub fn started(report: &ReportData) -> Markup {
    let Some((all, single)) = report.started.split_first() else {
        return html! {
            p.soft { "Nothing to compare yet: no known session continued a project and changed something." }
        };
    };
    let few: Vec<String> = single.iter().filter(|one| !one.is_enough()).take(FEW_MAX).map(sizes).collect();
    html! {
        p.soft {
            "Until its first edit, or its first test, build, lint, commit or push: medians of your own sessions that continue "
            "a project, before Cerberus was installed (imported) and since. "
            @if !all.is_enough() {
                "Too few sessions to say anything: " (sizes(all)) ". " (SAMPLE_MIN) " are needed on each side. "
            }
            @if !few.is_empty() && all.is_enough() { "Too few: " (few.join("; ")) "." }
        }
        div.charts {
            (beginnings(all))
            @for one in single.iter().filter(|one| one.is_enough()).take(PROJECTS_MAX) { (beginnings(one)) }
        }
    }
}

const FEW_MAX: usize = 5;

/// `hydra with codex: 12 before, 3 since`.
fn sizes(one: &Started) -> String {
    let sizes = format!("{} before, {} since", one.before, one.since);
    one.of.as_ref().map_or(sizes.clone(), |(project, agent)| format!("{project} with {agent}: {sizes}"))
}

/// Two bars for every measure, each pair on its own scale.
fn beginnings(one: &Started) -> Markup {
    let drawing = html! {
        @for (row, (measure, compared)) in one.measures.iter().enumerate() {
            @let y = row as f64 * ROW;
            @let end = compared.before.unwrap_or_default().max(compared.since.unwrap_or_default());
            text x="0" y=(n(y + 10.0)) { (measure.words()) }
            text.s.e x=(n(WIDTH)) y=(n(y + 10.0)) { (medians(*measure, compared)) }
            (half(compared.before, end, "pale", y + 14.0))
            (half(compared.since, end, "bar", y + 22.0))
        }
    };
    let meaning = legend(&[(sample("pale"), "before"), (sample("bar"), "since"), (sample("unknown"), "unknown")]);
    let row = |(measure, compared): &(StartMeasure, Compared)| {
        let (before, since) = (measure.shown(compared.before), measure.shown(compared.since));
        vec![measure.words().to_string(), before, since, compared.verdict.words().to_string()]
    };
    let rows: Vec<Vec<String>> = one.measures.iter().map(row).collect();
    let name = one.of.as_ref().map_or("All sessions".to_string(), |(project, agent)| format!("{project} with {agent}"));
    let title = format!("{name}: {} before, {} since", one.before, one.since);
    let said: Vec<String> =
        one.measures.iter().map(|(measure, it)| format!("{}: {}", measure.words(), medians(*measure, it))).collect();
    let table = table(&["until it got started", "before", "since", "difference"], &rows);
    let caption = Caption { title: &title, text: &said.join("; ") };
    figure(&caption, one.measures.len() as f64 * ROW, &drawing, &meaning, &table)
}

fn half(value: Option<f64>, end: f64, class: &str, y: f64) -> Markup {
    html! {
        @match value {
            Some(value) => {
                rect.track x="0" y=(n(y)) width=(n(WIDTH)) height="6" rx="2" {}
                rect class=(class) x="0" y=(n(y)) width=(n(WIDTH * part(value, end))) height="6" rx="2" {}
            }
            None => rect.unknown x="0.5" y=(n(y + 0.5)) width=(n(WIDTH - 1.0)) height="5" rx="2" {},
        }
    }
}

/// `14 → 9, less`.
fn medians(measure: StartMeasure, compared: &Compared) -> String {
    format!("{} → {}, {}", measure.shown(compared.before), measure.shown(compared.since), compared.verdict.words())
}

/// How many bars one figure has.
const BARS_MAX: usize = 8;
const WEEKS_MAX: usize = 12;

/// What the sessions cost, from four sides.
pub fn cost(report: &ReportData, local: &LocalTime) -> Markup {
    let money = &report.money;
    if money.sessions == 0 {
        return html! { p.soft { "No transcript of these weeks says how many tokens were spent." } };
    }
    let weeks = &money.by_week[money.by_week.len().saturating_sub(WEEKS_MAX)..];
    let week = |(monday, row): &(i64, SpentRow)| SpentRow {
        name: format!("week of {}", local.date_of(*monday)),
        ..row.clone()
    };
    let weeks: Vec<SpentRow> = weeks.iter().map(week).collect();
    html! {
        p.soft {
            (in_words(&money.all)) " in " (count(money.sessions, "session")) ": every call at the list price of its model, "
            "as collected on " (collected_on()) ", text from the cache at its own price. "
            @if report.has_own_prices { "Your own prices come first. " }
            "With a subscription you pay something else. "
            @if money.unknown_sessions > 0 {
                (count(money.unknown_sessions, "session")) " are unknown: neither a transcript nor the archive has their tokens."
            }
        }
        div.charts {
            (spent("Cost by project", &first(&money.by_project, BARS_MAX)))
            (spent("Cost by agent", &first(&money.by_agent, BARS_MAX)))
            (spent("Cost by model", &first(&money.by_model, BARS_MAX)))
            (spent("Cost by week", &weeks))
        }
    }
}

fn spent(title: &str, rows: &[SpentRow]) -> Markup {
    let bar = |row: &SpentRow| Bar {
        label: row.name.clone(),
        value: row.spent.known_usd(),
        fill: BarFill::Solid,
        text: in_words(&row.spent),
    };
    let (drawing, height) = bars(&rows.iter().map(bar).collect::<Vec<_>>());
    let row = |row: &SpentRow| {
        let cost = row.spent.known_usd().map_or(UNKNOWN.to_string(), |cost| format!("{cost:.2}"));
        let (tokens, unpriced) = (row.spent.tokens.to_string(), row.spent.unpriced_tokens.to_string());
        vec![row.name.clone(), row.sessions.to_string(), tokens, cost, unpriced]
    };
    let head = ["name", "sessions", "tokens", "dollars", "tokens without a price"];
    let table = table(&head, &rows.iter().map(row).collect::<Vec<_>>());
    let meaning = legend(&[(sample("bar"), "dollars"), (sample("unknown"), "price unknown")]);
    let said = rows.iter().map(|row| format!("{}: {}", row.name, in_words(&row.spent))).collect::<Vec<_>>().join("; ");
    figure(&Caption { title, text: &said }, height, &drawing, &meaning, &table)
}

/// `$2.31`, `$2.31 · 1.2 M tokens of unknown price`, `unknown: 1.2 M tokens`.
fn in_words(spent: &Spent) -> String {
    match (spent.known_usd(), spent.unpriced_tokens) {
        (None, _) => format!("price unknown: {} tokens", short(spent.tokens)),
        (Some(cost), 0) => format!("${cost:.2}"),
        (Some(cost), unpriced) => format!("${cost:.2} · {} tokens of unknown price", short(unpriced)),
    }
}
