//! The report as one HTML file that needs nothing else: no script, no server, no other file.
//!
//! Every text is escaped by the templates. The policy in the file allows its own style sheet and nothing else, so a
//! browser would refuse to load anything.

mod charts;
pub mod figures;
pub mod gather;
mod list;
mod sections;
mod spending;
mod weekly;
mod words;

use cerberus_agents::meter::price::collected_on;
use cerberus_record::clean::text::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use words::PromptsShown;

use self::words::{UNKNOWN, count, hours};
use crate::render::time::LocalTime;
use crate::report::figures::scale::percent;
use crate::report::figures::weeks::WEEKS;
use crate::report::gather::ReportData;

const STYLE: &str = include_str!("style.css");
/// The hash of [`STYLE`]; a test says what it must be.
const POLICY: &str = "default-src 'none'; style-src 'sha256-ZTxFodMKkjNsys7xELRMERFp9rNMVU8acbNW9+Tlcrk='";

/// The whole file.
pub fn html(report: &ReportData, local: &LocalTime, prompts: PromptsShown) -> String {
    let sections: [(&str, &str, Markup); 10] = [
        ("started", "Getting started", spending::started(report)),
        ("when", "When", weekly::calendar(report, local)),
        ("context", "Context", sections::context(report, local)),
        ("time", "Time and tokens", sections::by_name(report)),
        ("cost", "Cost", spending::cost(report, local)),
        ("tests", "Tests", weekly::runs(report, local)),
        ("files", "Files", weekly::files(report, local)),
        ("memories", "Memories", sections::memories(report, prompts)),
        ("loops", "Loops", sections::loops(report, local)),
        ("sessions", "Sessions", list::sessions(report, local, prompts)),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "Cerberus report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (head(report, local)) nav { @for (id, name, _) in &sections { a href={ "#" (id) } { (name) } } } }
                main { @for (id, name, content) in &sections { section id=(id) { h2 { (name) } (content) } } }
                footer { (foot(prompts)) }
            }
        }
    };
    printable(&page.into_string()).into_owned()
}

fn head(report: &ReportData, local: &LocalTime) -> Markup {
    let sessions = &report.sessions;
    let time = sessions.iter().map(|session| session.duration).sum();
    let crashed = sessions.iter().filter(|session| session.has_crashed).count();
    let mut projects: Vec<&str> = sessions.iter().map(|session| session.project.as_str()).collect();
    projects.sort_unstable();
    projects.dedup();
    let runs = || sessions.iter().flat_map(|session| &session.runs);
    let green = percent(runs().filter(|is_green| **is_green).count(), runs().count());
    let priced = format!("at list prices of {}", collected_on());
    let tiles = [
        (sessions.len().to_string(), "sessions"),
        (hours(time), "at work"),
        (projects.len().to_string(), "projects"),
        (crashed.to_string(), "sessions crashed"),
        (green.unwrap_or("none seen".to_string()), "of test runs green"),
        (report.money.all.known_usd().map_or(UNKNOWN.to_string(), |cost| format!("${cost:.0}")), priced.as_str()),
    ];
    html! {
        h1 { "Cerberus report" }
        p.soft {
            (local.date_of(report.weeks.first_day)) " to " (local.date_of(report.today)) ", " (WEEKS) " weeks. "
            @if report.older > 0 { (count(report.older, "older session")) " not shown. " }
        }
        ul.tiles { @for (value, what) in &tiles { li { b { (value) } (what) } } }
    }
}

fn foot(prompts: PromptsShown) -> Markup {
    html! {
        p {
            "Made by Cerberus " (env!("CARGO_PKG_VERSION")) " from the records on this machine. This file loads nothing and "
            "contains no script. Private projects are not in it, and secrets were removed when they were recorded."
        }
        @if prompts == PromptsShown::Hidden {
            p { "Titles, requests, open points and memories were left out on request. Names of projects and files were not." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base64 of the SHA-256 of the style sheet, as a browser computes it.
    fn hash(text: &str) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let encoded: String = digest
            .as_ref()
            .chunks(3)
            .flat_map(|bytes| {
                let bits =
                    bytes.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
                (0..=bytes.len()).map(move |index| char::from(LETTERS[(bits >> (18 - 6 * index) & 63) as usize]))
            })
            .collect();
        format!("{encoded}=")
    }

    #[test]
    fn the_policy_allows_the_style_sheet_alone() {
        assert_eq!(POLICY, format!("default-src 'none'; style-src 'sha256-{}'", hash(STYLE)));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"), "the style sheet loads nothing");
        assert_eq!(printable(STYLE), STYLE, "it is written as it is");
    }
}
