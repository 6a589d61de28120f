//! What a session was told: each line, whether it was used, and why it was told.

use cerberus_recall::brief::usage::EarlierWork;
use cerberus_record::fact::FactKind;
use cerberus_store::browse::page::ToldLine;

use super::{ScreenRow, around, rule, signs, titled_rule};
use crate::render::count;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::rough;
use crate::tui::state::{LoadedSession, ScreenState};

/// Below this width the reasons are left out.
const WHY_COLUMNS: usize = 70;
const WHY_WIDTH: usize = 26;
const STATE_WIDTH: usize = 13;
/// Below this height only the lines are shown.
const DETAIL_ROOM: usize = 12;

pub fn rows(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    let sessions = state.told_sessions();
    let Some(listed) = sessions.get(state.told_at) else {
        let text = " No session was told anything yet. A session is told what it needs when it starts.";
        let lines = wrapped(text, screen.columns.saturating_sub(1));
        return lines.into_iter().map(|line| Line::new().plain(format!(" {line}")).into()).collect();
    };
    let place = format!("session {} of {}", state.told_at + 1, sessions.len());
    let about = format!(" {} · {} · ", listed.session.project_name, state.local.when(listed.session.started_at));
    let title = Line::new().plain(about).add(Style::Strong, listed.title.clone());
    let title = title.cut(screen.columns.saturating_sub(place.len() + 2));
    let mut rows: Vec<ScreenRow> = vec![title.pad(screen.columns - place.len() - 1).faint(place).into()];
    let Some(loaded) = state.page() else { return rows };
    let used = loaded.page.told.iter().filter(|line| line.is_used).count();
    let lines = format!("{}, {used} used", count(loaded.page.told.len(), "line"));
    rows.push(titled_rule(&lines, screen.columns).into());
    let mut end: Vec<ScreenRow> = if room >= DETAIL_ROOM { chosen(state, screen) } else { Vec::new() };
    if room >= DETAIL_ROOM && !state.data.usage.is_empty() {
        end.push(titled_rule("all projects", screen.columns).into());
        let texts = wrapped(&state.data.usage, screen.columns.saturating_sub(2));
        end.extend(texts.into_iter().take(2).map(|text| Line::new().faint(format!(" {text}")).into()));
    }
    let visible = room.saturating_sub(rows.len() + end.len());
    rows.extend(around(table(state, screen, loaded), visible));
    rows.resize_with(room.saturating_sub(end.len()), || Line::new().into());
    rows.extend(end);
    rows
}

fn table(state: &ScreenState, screen: &Screen, loaded: &LoadedSession) -> Vec<ScreenRow> {
    let has_why = screen.columns >= WHY_COLUMNS;
    let code = screen.columns.saturating_sub(2 + STATE_WIDTH + if has_why { WHY_WIDTH } else { 0 });
    let lines = loaded.page.told.iter().enumerate();
    let row = |(at, line): (usize, &ToldLine)| {
        let is_chosen = at == state.line_at;
        let start = Line::new().plain(if is_chosen { ">" } else { " " });
        let start = start.join(used(state, line).pad(STATE_WIDTH));
        let row = start.join(Line::new().plain(readable(state, &line.code)).cut(code)).pad(1 + STATE_WIDTH + code + 1);
        let why = if has_why { why(loaded, at) } else { String::new() };
        ScreenRow { line: row.faint(why), is_chosen }
    };
    lines.map(row).collect()
}

fn used(state: &ScreenState, line: &ToldLine) -> Line {
    let (yes, no, unknown) = signs(state);
    match line {
        line if line.is_broken => Line::of(Style::Bad, format!("{no} said again")),
        line if line.is_used => Line::new().plain(format!("{yes} used")),
        line if line.memory.is_some() => Line::new().faint(format!("{unknown} a rule")),
        _ => Line::new().faint(format!("{unknown} not seen")),
    }
}

/// `edited 2 h before`.
fn why(loaded: &LoadedSession, at: usize) -> String {
    let Some(line) = loaded.page.told.get(at) else { return String::new() };
    if line.memory.is_some() {
        return "you want it remembered".to_string();
    }
    let Some(EarlierWork { kind, last_at, .. }) = loaded.reasons.get(at).and_then(Option::as_ref) else {
        return match line.code.split(':').next() {
            Some("asked" | "said" | "last") => "where the work stopped",
            Some("git") => "the state of the repository",
            _ => "",
        }
        .to_string();
    };
    let did = match kind {
        FactKind::File | FactKind::Function => "edited",
        FactKind::Read => "read",
        FactKind::Next | FactKind::Blocker => "left open",
        FactKind::Decision => "decided",
        _ => "recorded",
    };
    format!("{did} {} before", rough(line.at.since(*last_at)))
}

/// The line as a person reads it. A quotation is stored as its session and time, never as its words.
fn readable(state: &ScreenState, code: &str) -> String {
    let quotation = code.split_once(':').and_then(|(kind, rest)| Some((kind, rest.split_once('@')?.0)));
    let (whose, id) = match quotation {
        Some(("asked", id)) => ("your words", id),
        Some(("last", id)) => ("your last words", id),
        Some(("said", id)) => ("the agent's words", id),
        _ => return code.to_string(),
    };
    match state.data.sessions.iter().find(|listed| listed.session.id.as_str() == id) {
        Some(listed) => format!("{whose} in “{}”", listed.title),
        None => format!("{whose} in session {id}"),
    }
}

/// The selected line in full, with its reason.
fn chosen(state: &ScreenState, screen: &Screen) -> Vec<ScreenRow> {
    let (Some(line), Some(loaded)) = (state.told_line(), state.page()) else { return Vec::new() };
    let mut rows: Vec<ScreenRow> = vec![rule(screen.columns).into()];
    let texts = wrapped(&readable(state, &line.code), screen.columns.saturating_sub(2));
    rows.extend(texts.into_iter().take(2).map(|text| Line::new().plain(format!(" {text}")).into()));
    let reason = loaded.reasons.get(state.line_at).and_then(Option::as_ref);
    let sessions = reason.map(|reason| format!(", in {}", count(reason.sessions, "session"))).unwrap_or_default();
    rows.push(Line::new().faint(format!(" {}{sessions}", why(loaded, state.line_at))).into());
    rows
}
