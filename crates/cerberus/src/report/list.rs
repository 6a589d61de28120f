//! The list of sessions, newest first, each with its details.

use cerberus_record::clean::text::line;
use maud::{Markup, html};

use super::words::{PromptsShown, UNKNOWN, count};
use crate::render::time::{LocalTime, duration};
use crate::report::figures::ReportSession;
use crate::report::figures::scale::short;
use crate::report::gather::ReportData;

/// How many sessions are listed, so that the file stays small.
const SESSIONS_MAX: usize = 500;
const ASKED_MAX: usize = 3;
const LEFT_MAX: usize = 3;
const FILES_MAX: usize = 8;
const TEXT_CHARS_MAX: usize = 200;

pub fn sessions(report: &ReportData, local: &LocalTime, prompts: PromptsShown) -> Markup {
    let all = report.sessions.len();
    if all == 0 {
        return html! {
            p.soft { "No session is known in these weeks. " code { "cerberus import" } " reads the transcripts that your agents keep." }
        };
    }
    html! {
        @if all > SESSIONS_MAX { p.soft { "The newest " (SESSIONS_MAX) " of " (all) " are listed." } }
        @for session in report.sessions.iter().rev().take(SESSIONS_MAX) { (one(session, local, prompts)) }
    }
}

fn one(session: &ReportSession, local: &LocalTime, prompts: PromptsShown) -> Markup {
    let title = match prompts {
        PromptsShown::Shown if !session.title.is_empty() => session.title.clone(),
        _ => format!("{}, {}", session.project, local.when(session.started_at)),
    };
    html! {
        details.session {
            summary {
                (line(&title, TEXT_CHARS_MAX))
                span.meta { (meta(session, local)) }
            }
            p { (numbers(session)) }
            @if prompts == PromptsShown::Shown {
                (texts("Asked", &session.asked, ASKED_MAX))
                (texts("Left open", &session.left, LEFT_MAX))
            }
            @let files: Vec<String> = session.edited.iter().map(|(path, edits)| format!("{path} ({edits})")).collect();
            (texts("Files", &files, FILES_MAX))
            @if session.is_archived && prompts == PromptsShown::Shown {
                p.soft { "To read the whole conversation: " code { "cerberus show " (session.id) " --full" } }
            }
        }
    }
}

/// `today 11:40 · 2 h · hydra · claude-code · ✗ crashed`.
fn meta(session: &ReportSession, local: &LocalTime) -> String {
    let mut parts = vec![
        local.when(session.started_at),
        duration(session.duration),
        session.project.clone(),
        session.agent.clone(),
    ];
    if session.has_crashed {
        parts.push("✗ crashed".to_string());
    } else if session.status.is_live() {
        parts.push(session.status.word().to_string());
    }
    if session.failing > 0 {
        parts.push(format!("✗ {} failing", session.failing));
    }
    parts.join(" · ")
}

fn numbers(session: &ReportSession) -> String {
    let green = session.runs.iter().filter(|is_green| **is_green).count();
    let fill = session.context.peak_percent.map_or(UNKNOWN.to_string(), |percent| format!("{percent:.0} %"));
    let tokens = session.context.tokens.map_or(UNKNOWN.to_string(), short);
    let cost = session.cost_usd.map_or(UNKNOWN.to_string(), |cost| format!("${cost:.2}"));
    format!(
        "{} edited · {green} green and {} red runs · context {fill} · {} · tokens {tokens} · cost {cost} · {} told · \
         id {}",
        count(session.edited.len(), "file"),
        session.runs.len() - green,
        count(session.compactions, "compaction"),
        count(session.told, "line"),
        session.id,
    )
}

fn texts(name: &str, texts: &[String], max: usize) -> Markup {
    html! {
        @if !texts.is_empty() {
            p { (name) }
            ul {
                @for text in texts.iter().take(max) { li { (line(text, TEXT_CHARS_MAX)) } }
                @if texts.len() > max { li.soft { "and " (texts.len() - max) " more" } }
            }
        }
    }
}
