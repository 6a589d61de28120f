//! The page of one session, as `cerberus show` prints it.

use super::row::{ScreenRow, rule};
use crate::render::style::{Line, Screen};
use crate::render::{counted, session_page};
use crate::tui::state::{ScreenState, Tab};

pub fn rows(state: &ScreenState, screen: &Screen, room: usize) -> Vec<ScreenRow> {
    let (at, of) = match state.tab {
        Tab::Told => (state.told_at, state.told_sessions().len()),
        _ => (state.log_at, state.sessions().len()),
    };
    let Some(loaded) = state.page() else { return Vec::new() };
    let place = format!(" {} > session {} of {of}", state.tab.name(), at + 1);
    let mut rows: Vec<ScreenRow> = vec![Line::new().faint(place).into(), rule(screen.columns).into()];
    let inside = Screen { columns: screen.columns - 2, ..*screen };
    let texts = loaded.texts.as_deref().unwrap_or_default();
    let mut lines = session_page::page(&inside, &state.local, &loaded.page, texts);
    let cost = loaded.cost.iter().filter(|cost| !cost.is_empty());
    lines.extend(cost.flat_map(|cost| inside.labelled("cost", cost)));
    let turns = loaded.turns.iter().flatten();
    lines.extend(turns.flat_map(|turn| inside.labelled("turn", &turn.line(&state.local))));
    let visible = room.saturating_sub(rows.len());
    let first = state.open.unwrap_or(0).min(lines.len().saturating_sub(visible));
    let below = lines.len().saturating_sub(first + visible);
    rows.extend(lines.into_iter().skip(first).take(visible).map(|line| Line::new().plain(" ").join(line).into()));
    if below > 0 {
        rows.pop();
        rows.push(Line::new().faint(format!(" {} below", counted(below + 1, "more line", "more lines"))).into());
    }
    rows
}
