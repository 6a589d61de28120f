//! The sections of the report that are not drawn by week.

use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::meter::redline::RedlineLevel;
use cerberus_store::browse::log::PAUSE_MAX;
use maud::{Markup, html};

use super::charts::{Bar, BarFill, Caption, WIDTH, bars, figure, hatch, legend, n, sample, table};
use super::words::{PromptsShown, UNKNOWN, count, hours};
use crate::render::time::{LocalTime, duration};
use crate::report::figures::ReportSession;
use crate::report::figures::context::{BARS_MAX, drawn};
use crate::report::figures::loops::ReportedRun;
use crate::report::figures::memories::{LISTED_MAX, by_source, most_used};
use crate::report::figures::scale::{part, short};
use crate::report::figures::shares::{ReportShare, Sum, shares};
use crate::report::gather::ReportData;

/// Time and tokens by project and by agent.
pub fn by_name(report: &ReportData) -> Markup {
    let by_project = shares(&report.sessions, |session| &session.project);
    let by_agent = shares(&report.sessions, |session| &session.agent);
    html! {
        p.soft {
            "Time is the time at work: pauses of more than " (PAUSE_MAX.as_secs() / 60) " minutes are not counted. Tokens are "
            "what transcripts report: everything the models read and wrote, cached text included. Where neither "
            "the transcript nor the archive has them, they are unknown."
        }
        div.charts {
            (minutes("Time by project", &by_project))
            (tokens("Tokens by project", &by_project))
            (minutes("Time by agent", &by_agent))
            (tokens("Tokens by agent", &by_agent))
        }
    }
}

fn minutes(title: &str, shares: &[ReportShare]) -> Markup {
    let bar = |share: &ReportShare| Bar {
        label: share.name.clone(),
        value: Some(share.minutes),
        fill: BarFill::Solid,
        text: format!(
            "{} · {}",
            hours(Duration::from_secs_f64(share.minutes.max(0.0) * 60.0)),
            count(share.sessions, "session")
        ),
    };
    let (drawing, height) = bars(&shares.iter().map(bar).collect::<Vec<_>>());
    let row =
        |share: &ReportShare| vec![share.name.clone(), share.sessions.to_string(), format!("{:.0}", share.minutes)];
    let table = table(&["name", "sessions", "minutes"], &shares.iter().map(row).collect::<Vec<_>>());
    let said = shares.first().map(|share| format!("Most time went to {}.", share.name)).unwrap_or_default();
    figure(&Caption { title, text: &said }, height, &drawing, &Markup::default(), &table)
}

fn tokens(title: &str, shares: &[ReportShare]) -> Markup {
    let bar = |share: &ReportShare| Bar {
        label: share.name.clone(),
        value: share.tokens.value().map(|tokens| tokens as f64),
        fill: BarFill::Solid,
        text: tokens_of(share.tokens),
    };
    let (drawing, height) = bars(&shares.iter().map(bar).collect::<Vec<_>>());
    let row = |share: &ReportShare| {
        let tokens = share.tokens.value().map_or(UNKNOWN.to_string(), |tokens| tokens.to_string());
        vec![share.name.clone(), tokens, share.tokens.unknown.to_string()]
    };
    let table = table(&["name", "tokens", "sessions unknown"], &shares.iter().map(row).collect::<Vec<_>>());
    let known = shares.iter().filter(|share| share.tokens.known > 0).count();
    let said = format!("Known for {known} of {}.", shares.len());
    let meaning = legend(&[(sample("bar"), "tokens"), (sample("unknown"), "unknown")]);
    figure(&Caption { title, text: &said }, height, &drawing, &meaning, &table)
}

/// `1.2 M`, `1.2 M · 3 sessions unknown`, `unknown`.
fn tokens_of(sum: Sum) -> String {
    match (sum.value(), sum.unknown) {
        (None, _) => UNKNOWN.to_string(),
        (Some(tokens), 0) => short(tokens),
        (Some(tokens), unknown) => format!("{} · {} unknown", short(tokens), count(unknown, "session")),
    }
}

const LEFT: f64 = 34.0;
const RIGHT: f64 = WIDTH - 24.0;
const PLOT: f64 = 110.0;
const BAR_MAX: f64 = 14.0;

/// How full contexts got, session by session.
pub fn context(report: &ReportData, local: &LocalTime) -> Markup {
    let drawn = drawn(&report.sessions);
    let known = drawn.iter().filter(|session| session.context.peak_percent.is_some()).count();
    let compacted = drawn.iter().filter(|session| session.compactions > 0).count();
    let step = ((RIGHT - LEFT) / drawn.len().max(1) as f64).min(BAR_MAX);
    let y = |percent: f64| 6.0 + PLOT * (1.0 - part(percent, 100.0));
    let drawing = html! {
        (hatch("compacted", "bar"))
        @for percent in [0.0, 50.0, 100.0] {
            text.s.e x=(n(LEFT - 4.0)) y=(n(y(percent) + 3.0)) { (percent) "%" }
            line.axis x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(y(percent))) y2=(n(y(percent))) {}
        }
        @for (number, session) in drawn.iter().enumerate() {
            @let x = LEFT + number as f64 * step;
            @match session.context.peak_percent {
                Some(percent) => {
                    rect class=[(session.compactions == 0).then_some("bar")] fill=[(session.compactions > 0).then_some("url(#compacted)")]
                        x=(n(x)) y=(n(y(percent))) width=(n(step - 1.0)) height=(n(y(0.0) - y(percent))) {
                        title { (local.when(session.started_at)) ": " (fill_of(session)) }
                    }
                }
                None => circle.ring cx=(n(x + step / 2.0 - 0.5)) cy=(n(y(0.0) - 5.0)) r="1.8" {},
            }
        }
        @for level in [report.redline.soft, report.redline.hard] {
            @if let RedlineLevel::Percent(percent) = level {
                line.redline x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(y(percent))) y2=(n(y(percent))) {}
                text.s.e x=(n(WIDTH)) y=(n(y(percent) + 3.0)) { (n(percent)) "%" }
            }
        }
        text.s x=(n(LEFT)) y=(n(PLOT + 16.0)) { "oldest" }
        text.s.e x=(n(RIGHT)) y=(n(PLOT + 16.0)) { "newest" }
    };
    let said = format!(
        "The fill is known for {known} of {}; {} compacted.",
        count(drawn.len(), "session"),
        if compacted == 1 { "1 was".to_string() } else { format!("{compacted} were") }
    );
    let ring = html! { circle.ring cx="7" cy="7" r="3" {} };
    let striped = html! { rect fill="url(#compacted)" x="1" y="1" width="12" height="12" {} };
    let line = html! { line.redline x1="0" x2="14" y1="7" y2="7" {} };
    let meaning = legend(&[
        (sample("bar"), "fullest point"),
        (striped, "compacted at least once"),
        (ring, "unknown"),
        (line, "redlines"),
    ]);
    let row = |session: &ReportSession| {
        vec![local.when(session.started_at), fill_of(session), session.compactions.to_string()]
    };
    let rows: Vec<Vec<String>> = drawn.iter().rev().map(row).collect();
    let table = table(&["session", "fullest", "compactions"], &rows);
    let caption = Caption { title: "How full contexts got", text: &said };
    html! {
        p.soft { (said) @if report.sessions.len() > BARS_MAX { " The last " (BARS_MAX) " sessions are drawn." } }
        (figure(&caption, PLOT + 20.0, &drawing, &meaning, &table))
    }
}

/// `71 %`, `about 71 %`, `unknown`.
fn fill_of(session: &ReportSession) -> String {
    match session.context.peak_percent {
        Some(percent) if session.context.is_estimated => format!("about {percent:.0} %"),
        Some(percent) => format!("{percent:.0} %"),
        None => UNKNOWN.to_string(),
    }
}

/// Memories by source and by use.
pub fn memories(report: &ReportData, prompts: PromptsShown) -> Markup {
    let sources = by_source(&report.memories);
    if sources.is_empty() {
        return html! { p.soft { "There are no memories yet." } };
    }
    let bar = |row: &crate::report::figures::memories::SourceRow| Bar {
        label: format!("from {}", row.source.word()),
        value: Some(row.count() as f64),
        fill: BarFill::Part(row.approved as f64),
        text: {
            let uses = count(usize::try_from(row.uses).unwrap_or(usize::MAX), "use");
            format!("{} kept, {} waiting, {} rejected · {uses}", row.approved, row.proposed, row.rejected)
        },
    };
    let (drawing, height) = bars(&sources.iter().map(bar).collect::<Vec<_>>());
    let row = |row: &crate::report::figures::memories::SourceRow| {
        let counts = [row.approved, row.proposed, row.rejected].map(|count| count.to_string());
        [&[row.source.word().to_string()], counts.as_slice(), &[row.uses.to_string()]].concat()
    };
    let by_source =
        table(&["source", "kept", "waiting", "rejected", "uses"], &sources.iter().map(row).collect::<Vec<_>>());
    let meaning = legend(&[(sample("bar"), "kept"), (sample("pale"), "waiting or rejected")]);
    let said = format!("{} from {}.", count(report.memories.len(), "memory"), count(sources.len(), "source"));
    let used = most_used(&report.memories);
    let kept = used.iter().map(|memory| vec![memory.content.clone(), memory.scope.clone(), memory.uses.to_string()]);
    html! {
        p.soft { "A use is a memory that was told to a session or found by a search." }
        (figure(&Caption { title: "Memories by source", text: &said }, height, &drawing, &meaning, &by_source))
        @if prompts == PromptsShown::Shown && !used.is_empty() {
            details {
                summary { "The most used" @if used.len() == LISTED_MAX { " (" (LISTED_MAX) " of all)" } }
                (table(&["memory", "scope", "uses"], &kept.collect::<Vec<_>>()))
            }
        }
    }
}

/// The runs of loops.
pub fn loops(report: &ReportData, local: &LocalTime) -> Markup {
    if report.loops.is_empty() {
        return html! { p.soft { "No loop ran in these weeks." } };
    }
    let newest: Vec<&ReportedRun> = report.loops.iter().rev().take(LOOPS_MAX).collect();
    let bar = |run: &&ReportedRun| Bar {
        label: format!("{} run {} · {}", run.project, run.number, local.when(run.started_at)),
        value: run.cost_usd,
        fill: BarFill::Solid,
        text: cost_of(run),
    };
    let (drawing, height) = bars(&newest.iter().map(bar).collect::<Vec<_>>());
    let meaning = legend(&[(sample("bar"), "cost"), (sample("unknown"), "unknown")]);
    let total: f64 = report.loops.iter().filter_map(|run| run.cost_usd).sum();
    let priced_by = report.loops.iter().fold(None, |by, run| PricedBy::and(by, run.priced_by.clone()));
    let total = dollars(total, priced_by.as_ref());
    let known = report.loops.iter().filter(|run| run.cost_usd.is_some()).count();
    let said = match known {
        0 => format!("{}; the cost of none is known.", count(report.loops.len(), "run")),
        _ => format!("{}; {total} for the {known} whose cost is known.", count(report.loops.len(), "run")),
    };
    let row = |run: &&ReportedRun| {
        let fill = run.peak_percent.map_or(UNKNOWN.to_string(), |percent| format!("{percent:.0} %"));
        let name = format!("{} run {}, {}", run.project, run.number, run.agent);
        let end = run.end.unwrap_or("not ended").to_string();
        let (contexts, time) = (count(run.contexts, "context"), duration(run.duration));
        vec![
            name,
            end,
            contexts,
            time,
            format!("fullest {fill}"),
            format!("{} tokens", tokens_of(run.tokens)),
            cost_of(run),
        ]
    };
    let head = ["run", "end", "contexts", "time", "context", "tokens", "cost"];
    let table = html! { div.loops { (table(&head, &newest.iter().map(row).collect::<Vec<_>>())) } };
    html! {
        p.soft {
            (said) " Costs are as the agent said them"
            @if let Some(by) = &priced_by { ", otherwise by the prices of " (by.date) }
            "."
        }
        (figure(&Caption { title: "Cost of loops", text: &said }, height, &drawing, &meaning, &table))
    }
}

/// How many runs are shown.
const LOOPS_MAX: usize = 20;

/// `$2.31`, `$2.31 · 2 contexts unknown`, `at most $2.31 · price of x-9 unknown`, `unknown`.
fn cost_of(run: &ReportedRun) -> String {
    let Some(cost) = run.cost_usd else { return UNKNOWN.to_string() };
    let mut parts = vec![dollars(cost, run.priced_by.as_ref())];
    parts.extend((run.without_cost > 0).then(|| format!("{} unknown", count(run.without_cost, "context"))));
    let unknown = run.priced_by.as_ref().map(|by| by.unknown.join(", ")).filter(|models| !models.is_empty());
    parts.extend(unknown.map(|models| format!("price of {models} unknown")));
    parts.join(" · ")
}

/// A model of unknown price is counted at the highest price of its vendor.
fn dollars(cost: f64, priced_by: Option<&PricedBy>) -> String {
    let is_most = priced_by.is_some_and(|by| !by.unknown.is_empty());
    format!("{}${cost:.2}", if is_most { "at most " } else { "" })
}
