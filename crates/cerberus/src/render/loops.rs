//! Shows a loop: the agent's messages on standard output, everything else on standard error, with a status line at the
//! bottom of a terminal. With `--json`, every report is one line of JSON.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::stream::{Finish, StreamEvent};
use cerberus_loop::run::audience::{AttemptSummary, Audience, LoopEvent, LoopStatus};
use cerberus_loop::settings::LoopLimits;
use cerberus_loop::totals::EndedAttempt;
use cerberus_os::clock::Clock;
use cerberus_record::clean::text::printable;
use cerberus_record::span::Span;
use cerberus_record::time::Timestamp;
use serde_json::{Value, json};

use super::time::{LocalTime, rough};
use super::{block, count, json_text, talk};
use crate::platform::{self, StandardStream};

pub struct LoopScreen {
    json: bool,
    has_status: bool,
    is_colored: bool,
    /// A status line is shown at the bottom.
    is_dirty: bool,
    last: String,
    /// The last status that was printed as JSON.
    last_status: Option<Value>,
}

impl LoopScreen {
    pub fn new(json: bool) -> LoopScreen {
        let is_colored = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        LoopScreen {
            json,
            has_status: std::io::stderr().is_terminal(),
            is_colored,
            is_dirty: false,
            last: String::new(),
            last_status: None,
        }
    }

    fn clock(&self, at: Timestamp) -> String {
        LocalTime::new(Clock::new(None).wall).when(at)
    }

    /// Removes the status line.
    pub fn clear(&mut self) {
        if self.is_dirty {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
            self.is_dirty = false;
            self.last.clear();
        }
    }

    fn status(&mut self, status: &LoopStatus) {
        if !self.has_status {
            return;
        }
        let of = status.iterations_max.map(|max| format!("/{max}")).unwrap_or_default();
        let fill = match (status.fill_percent, status.certainty) {
            (Some(percent), Some(certainty)) => format!("context {percent:.0} % ({})", certainty.word()),
            _ => "context unknown".to_string(),
        };
        let (tokens, cost, took) =
            (thousands(status.tokens), money(status.cost_usd, status.priced_by.as_ref()), duration(status.elapsed));
        let until = status.waiting_until.map(|until| format!(" until {}", self.clock(until))).unwrap_or_default();
        let (iteration, phase) = (status.iteration, format!("{}{until}", status.phase));
        let text = format!("iteration {iteration}{of} {phase} · {fill} · {tokens} tokens{cost} · {took}");
        // A line that wraps could not be removed again.
        let text: String = text.chars().take(columns().saturating_sub(1)).collect();
        if text != self.last {
            let (dim, plain) = if self.is_colored { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{dim}{}{plain}", printable(&text));
            let _ = std::io::stderr().flush();
            (self.last, self.is_dirty) = (text, true);
        }
    }

    /// Printed when something changed that a person would notice.
    fn status_json(&mut self, status: &LoopStatus) {
        let rounded = |number: f64, steps: f64| (number * steps).round() / steps;
        let value = json!({"event": "status", "iteration": status.iteration, "phase": status.phase,
            "fill_percent": status.fill_percent.map(|percent| rounded(percent, 1.0)),
            "fill_certainty": status.certainty, "cost_usd": status.cost_usd.map(|usd| rounded(usd, 100.0)),
            "tokens": status.tokens, "until": status.waiting_until.map(|until| until.to_string())});
        if self.last_status.as_ref() != Some(&value) {
            json_text(&value.to_string());
            self.last_status = Some(value);
        }
    }

    fn say(&mut self, said: &StreamEvent) {
        match said {
            StreamEvent::Text(text) => block(&text.replace('\t', "    ")),
            StreamEvent::Tool { name, what } => talk(&format!("  · {name} {what}")),
            StreamEvent::Compacted => talk("  · the context was compacted"),
            StreamEvent::Waiting { fault, .. } => {
                let words = if fault.words.is_empty() { &fault.kind } else { &fault.words };
                talk(&format!("  · the model cannot be reached: {words}"));
            }
            StreamEvent::Finished(Finish::Failed(fault)) => {
                talk(&format!("  · it failed: {} {}", fault.kind, fault.words))
            }
            _ => {}
        }
    }
}

impl Audience for LoopScreen {
    fn report(&mut self, report: &LoopEvent) {
        if let LoopEvent::Status(status) = report {
            match self.json {
                true => self.status_json(status),
                false => self.status(status),
            }
            return;
        }
        self.clear();
        if self.json {
            as_json(report).iter().for_each(|value| json_text(&value.to_string()));
            return;
        }
        match report {
            LoopEvent::Limits(set) => talk(&format!("── limits: {}", limits(set))),
            LoopEvent::Begun { iteration, attempt: 1 } => talk(&format!("── iteration {iteration}")),
            LoopEvent::Begun { iteration, attempt } => talk(&format!("── iteration {iteration}, attempt {attempt}")),
            LoopEvent::Said(said) => self.say(said),
            LoopEvent::Error(text) => talk(&format!("  ! {text}")),
            LoopEvent::Checking(command) => talk(&format!("── check: {command}")),
            LoopEvent::Message(words) => talk(&format!("── {words}")),
            LoopEvent::Waiting { until, reason } => {
                let now = Clock::new(None).wall;
                talk(&format!("── waiting until {} (in {}): {reason}", self.clock(*until), rough(until.since(now))));
            }
            LoopEvent::Ended(ended, summary) => talk(&format!("── {}", end_words(ended, summary))),
            LoopEvent::Stopped(stop) => {
                talk(&format!("cerberus: {}: {}", stop.class().word(), stop.words()));
                talk(&format!("          {}", stop.hint()));
            }
            LoopEvent::Session(_) | LoopEvent::Status(_) => {}
        }
    }
}

fn columns() -> usize {
    usable_columns(platform::terminal_size(StandardStream::Error).map(|size| size.columns))
}

/// A terminal that does not know its size says 0.
fn usable_columns(reported: Option<u16>) -> usize {
    const USUAL: usize = 80;
    const LEAST: usize = 20;
    reported.filter(|columns| *columns > 0).map_or(USUAL, usize::from).max(LEAST)
}

/// A report as JSON. None for reports that only matter on a screen.
fn as_json(report: &LoopEvent) -> Option<Value> {
    Some(match report {
        LoopEvent::Begun { iteration, attempt } => {
            json!({"event": "begun", "iteration": iteration, "attempt": attempt})
        }
        LoopEvent::Session(id) => json!({"event": "session", "session_id": id}),
        LoopEvent::Said(StreamEvent::Text(text)) => json!({"event": "text", "text": text}),
        LoopEvent::Said(StreamEvent::Tool { name, what }) => json!({"event": "tool", "name": name, "what": what}),
        LoopEvent::Said(_) | LoopEvent::Status(_) | LoopEvent::Limits(_) => return None,
        LoopEvent::Error(text) => json!({"event": "error", "text": text}),
        LoopEvent::Checking(command) => json!({"event": "check", "command": command}),
        LoopEvent::Message(words) => json!({"event": "told", "text": words}),
        LoopEvent::Waiting { until, reason } => {
            json!({"event": "waiting", "until": until.to_string(), "reason": reason})
        }
        LoopEvent::Ended(ended, summary) => json!({"event": "ended", "ended": ended, "iteration": summary.iteration,
            "took_ms": summary.took.as_millis() as u64, "changed_files": summary.changed_files,
            "check": summary.check}),
        LoopEvent::Stopped(stop) => {
            json!({"event": "stopped", "class": stop.class(), "reason": stop.words(), "hint": stop.hint()})
        }
    })
}

/// `iteration 3 ended: iteration-end · 4m 05s · context 63 % · 120,000 tokens, $0.42 · 5 files changed · check passed`
fn end_words(ended: &EndedAttempt, summary: &AttemptSummary) -> String {
    let failure = ended.failure.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    let parts = [
        Some(format!("iteration {} ended: {}{failure}", summary.iteration, ended.how.word())),
        Some(duration(summary.took)),
        ended.fill_percent.map(|percent| format!("context {percent:.0} %")),
        (ended.tokens > 0)
            .then(|| format!("{} tokens{}", thousands(ended.tokens), money(ended.cost_usd, ended.priced_by.as_ref()))),
        summary.changed_files.map(|files| format!("{} changed", count(files, "file"))),
        summary.check.as_ref().map(|words| format!("check {words}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What ends a loop at the latest: `100 iterations, 4h at work, 6h of waiting; none on tokens or cost`
pub fn limits(limits: &LoopLimits) -> String {
    let set = [
        limits.iterations.map(|number| count(number as usize, "iteration")),
        limits.duration.map(|span| format!("{} at work", Span(span))),
        limits.wait.map(|span| format!("{} of waiting", Span(span))),
        limits.tokens.map(|number| format!("{} tokens", thousands(number))),
        limits.cost_usd.map(|usd| format!("${usd:.2}")),
    ];
    let none = match (limits.tokens, limits.cost_usd) {
        (None, None) => "; none on tokens or cost",
        (None, Some(_)) => "; none on tokens",
        (Some(_), None) => "; none on cost",
        (Some(_), Some(_)) => "",
    };
    format!("{}{none}", set.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

pub fn limits_json(limits: &LoopLimits) -> Value {
    let millis = |span: Option<Duration>| span.map(|span| span.as_millis() as u64);
    json!({ "iterations": limits.iterations, "duration_ms": millis(limits.duration), "wait_ms": millis(limits.wait),
        "tokens": limits.tokens, "cost_usd": limits.cost_usd, "no_progress": limits.no_progress })
}

/// `1,234,567`
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `, $1.20`, if the cost is known. What was not reported carries the day of its prices.
pub fn money(cost_usd: Option<f64>, priced_by: Option<&PricedBy>) -> String {
    let Some(cost) = cost_usd else { return String::new() };
    match priced_by {
        None => format!(", ${cost:.2}"),
        Some(PricedBy { date, unknown }) if unknown.is_empty() => format!(", ${cost:.2} by prices of {date}"),
        Some(PricedBy { date, unknown }) => {
            format!(", at most ${cost:.2}: the price of {} is unknown (prices of {date})", unknown.join(", "))
        }
    }
}

/// `2h 03m`, `3m 05s`, `12s`
pub fn duration(span: Duration) -> String {
    let secs = span.as_secs();
    match secs {
        0..60 => format!("{secs}s"),
        60..3600 => format!("{}m {:02}s", secs / 60, secs % 60),
        _ => format!("{}h {:02}m", secs / 3600, secs % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_a_size_is_taken_for_a_usual_one() {
        assert_eq!([None, Some(0), Some(5), Some(132)].map(usable_columns), [80, 80, 20, 132]);
    }

    #[test]
    fn a_cost_carries_the_day_of_its_prices() {
        let by = |unknown: &[&str]| PricedBy {
            date: "2026-11-16".to_string(),
            unknown: unknown.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(money(Some(1.2), None), ", $1.20");
        assert_eq!(money(Some(1.2), Some(&by(&[]))), ", $1.20 by prices of 2026-11-16");
        let unknown = ", at most $1.20: the price of x-9 is unknown (prices of 2026-11-16)";
        assert_eq!(money(Some(1.2), Some(&by(&["x-9"]))), unknown);
        assert_eq!(money(None, Some(&by(&[]))), "");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([5, 65, 7_380].map(|secs| duration(Duration::from_secs(secs))), ["5s", "1m 05s", "2h 03m"]);
    }
}
