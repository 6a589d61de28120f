//! What a session was told: each line in the words that the model got, and why it was told.

use cerberus_recall::brief::usage::EarlierWork;
use cerberus_record::fact::FactKind;
use cerberus_store::browse::page::ToldLine;
use cerberus_store::browse::told::ToldText;

use super::row::{ScreenRow, around, panes, rule, side_by_side, titled_rule};
use crate::render::session_page::{GlanceWriter, told_sign, told_words};
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::rough;
use crate::render::{count, words};
use crate::tui::state::{LoadedSession, ScreenState};

const STATE_WIDTH: usize = 10;
const LABEL_WIDTH: usize = 12;
/// Below this height only the lines are shown.
const DETAIL_ROOM: usize = 12;
/// How much of the selected line is shown below the list.
const TEXT_ROWS_MAX: usize = 4;

pub fn rows(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    let sessions = state.told_sessions();
    let Some(listed) = sessions.get(state.told_at) else { return nothing(screen) };
    let place = format!("session {} of {}", state.told_at + 1, sessions.len());
    let about = Line::new().plain(" ").add(Style::Project, listed.session.project_name.clone());
    let about = about.plain(format!(" · {} · ", state.local.when(listed.session.started_at)));
    let title = about.add(Style::Strong, listed.title.clone()).cut(screen.columns.saturating_sub(place.len() + 2));
    let mut rows: Vec<ScreenRow> = vec![title.pad(screen.columns - place.len() - 1).faint(place).into()];
    let Some(loaded) = state.page() else { return rows };
    rows.push(titled_rule(&count(loaded.page.told.len(), "line"), screen.columns).into());
    let mut end: Vec<ScreenRow> = Vec::new();
    if room >= DETAIL_ROOM && !state.data.usage.is_empty() {
        end.push(titled_rule("all projects", screen.columns).into());
        let texts = wrapped(&state.data.usage, screen.columns.saturating_sub(2));
        end.extend(texts.into_iter().take(2).map(|text| Line::new().faint(format!(" {text}")).into()));
    }
    if let Some((left, right)) = panes(screen.columns) {
        let room = room.saturating_sub(rows.len() + end.len());
        let list = around(table(state, left - 1, loaded), room);
        rows.extend(side_by_side(list, beside(state, &Screen { columns: right, ..*screen }, room), left, room));
        rows.extend(end);
        return rows;
    }
    if room >= DETAIL_ROOM {
        end.splice(0..0, chosen(state, screen));
    }
    let visible = room.saturating_sub(rows.len() + end.len());
    rows.extend(around(table(state, screen.columns, loaded), visible));
    rows.resize_with(room.saturating_sub(end.len()), || Line::new().into());
    rows.extend(end);
    rows
}

fn nothing(screen: &Screen) -> Vec<ScreenRow> {
    let text = "No session was told anything yet. A session is told what it needs when it starts: `cerberus install` \
        connects your agents, and b in the log shows what the next session would be told.";
    let lines = wrapped(text, screen.columns.saturating_sub(2));
    lines.into_iter().map(|line| Line::new().plain(format!(" {line}")).into()).collect()
}

fn table(state: &ScreenState, columns: usize, loaded: &LoadedSession) -> Vec<ScreenRow> {
    let screen = Screen { columns, is_bounded: true, rows: None, is_colored: true, is_utf8: state.is_utf8 };
    let row = |(at, line): (usize, &ToldLine)| {
        let is_chosen = at == state.line_at;
        let start = Line::new().plain(if is_chosen { ">" } else { " " });
        let start = start.join(told_sign(&screen, line)).pad(1 + STATE_WIDTH);
        let start = start.faint(words::told(&line.code)).pad(1 + STATE_WIDTH + LABEL_WIDTH);
        let (text, style) = text_of(loaded, at);
        ScreenRow::list(start.add(style, text).cut(columns), is_chosen)
    };
    loaded.page.told.iter().enumerate().map(row).collect()
}

/// The words of a line, and how they look.
fn text_of(loaded: &LoadedSession, at: usize) -> (String, Style) {
    let text = loaded.texts.as_ref().and_then(|texts| texts.get(at));
    text.map_or_else(|| (String::new(), Style::Faint), told_words)
}

/// What became of a line, in words; empty if nothing is known.
fn outcome(line: &ToldLine, text: Option<&ToldText>) -> &'static str {
    match line {
        _ if text == Some(&ToldText::Forgotten) => "forgotten since",
        line if line.is_broken => "you had to say it again in this session",
        _ => "",
    }
}

/// `edited 2 h before, in 3 sessions`.
fn why(loaded: &LoadedSession, at: usize) -> String {
    let Some(line) = loaded.page.told.get(at) else { return String::new() };
    if line.memory.is_some() {
        return "you want it remembered".to_string();
    }
    let Some(EarlierWork { kind, last_at, sessions, .. }) = loaded.reasons.get(at).and_then(Option::as_ref) else {
        return match line.code.split(':').next() {
            Some("asked" | "said" | "last") => "where the work stopped",
            Some("git") => "the state of the repository",
            Some("next" | "block") => "left open",
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
    format!("{did} {} before, in {}", rough(line.at.since(*last_at)), count(*sessions, "session"))
}

/// The selected line in full, beside the list.
fn beside(state: &ScreenState, screen: &Screen, room: usize) -> Vec<Line> {
    let (Some(line), Some(loaded)) = (state.told_line(), state.page()) else { return Vec::new() };
    let mut lines: Vec<Line> = vec![Line::of(Style::Heading, words::told(&line.code))];
    let (text, style) = text_of(loaded, state.line_at);
    lines.extend(wrapped(&text, screen.columns).into_iter().map(|text| Line::of(style, text)));
    lines.push(Line::new());
    let mut below = GlanceWriter::new(screen, &state.local);
    below.text("told", &state.local.when(line.at));
    let why = why(loaded, state.line_at);
    if !why.is_empty() {
        below.text("because", &why);
    }
    let text = loaded.texts.as_ref().and_then(|texts| texts.get(state.line_at));
    let outcome = outcome(line, text);
    if !outcome.is_empty() {
        below.text("then", outcome);
    }
    let below = below.finish(room);
    lines.truncate(room.saturating_sub(below.len() + 1));
    lines.push(Line::new());
    lines.extend(below);
    lines
}

/// The selected line in full, with its reason, below the list.
fn chosen(state: &ScreenState, screen: &Screen) -> Vec<ScreenRow> {
    let (Some(line), Some(loaded)) = (state.told_line(), state.page()) else { return Vec::new() };
    let mut rows: Vec<ScreenRow> = vec![rule(screen.columns).into()];
    let (text, style) = text_of(loaded, state.line_at);
    let texts = wrapped(&text, screen.columns.saturating_sub(2));
    rows.extend(texts.into_iter().take(TEXT_ROWS_MAX).map(|text| Line::new().plain(" ").add(style, text).into()));
    let text = loaded.texts.as_ref().and_then(|texts| texts.get(state.line_at));
    let about = [why(loaded, state.line_at), outcome(line, text).to_string()];
    let about = about.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    rows.push(Line::new().faint(format!(" {about}")).into());
    rows
}
