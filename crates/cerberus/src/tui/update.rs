//! What a key does. Pure: the state after it, and perhaps something to be done outside.

use cerberus_record::clean::text;
use cerberus_record::memory::Scope;

use super::state::{Dialog, Filter, ScreenEffect, ScreenState, Tab};
use crate::render::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    Char(char),
    Ctrl(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Esc,
    Tab,
    Backspace,
}

/// How far a page key goes.
const PAGE: usize = 10;
/// What is typed is limited to this.
const FILTER_CHARS_MAX: usize = 100;
const WORDS_CHARS_MAX: usize = 500;
/// The lines of the help on the narrowest screen.
const HELP_LINES: usize = 30;

pub fn update(mut state: ScreenState, key: KeyPress) -> (ScreenState, Option<ScreenEffect>) {
    state.message = None;
    let effect = match key {
        KeyPress::Ctrl('c' | 'd') => Some(ScreenEffect::Quit),
        KeyPress::Ctrl('z') => Some(ScreenEffect::Suspend),
        _ if state.dialog.is_some() => in_dialog(&mut state, key),
        _ if state.filter.is_typing => {
            in_filter(&mut state, key);
            None
        }
        _ => on_page(&mut state, key),
    };
    state.keep_in_range();
    (state, effect)
}

fn in_dialog(state: &mut ScreenState, key: KeyPress) -> Option<ScreenEffect> {
    match (state.dialog.take()?, key) {
        (Dialog::Ask { effect, .. }, KeyPress::Char('y')) => return Some(effect),
        (Dialog::Edit(words), KeyPress::Enter) => {
            let proposal = state.proposal()?;
            let (id, scope) = (proposal.row.id.clone(), chosen_scope(state));
            let words = Some(words.trim().to_string()).filter(|words| !words.is_empty());
            return Some(ScreenEffect::Approve { id, words, scope });
        }
        (Dialog::Edit(mut words), key) if key != KeyPress::Esc => {
            edit(&mut words, key, WORDS_CHARS_MAX);
            state.dialog = Some(Dialog::Edit(words));
        }
        (Dialog::Help { scroll }, key) => {
            state.dialog = moved(scroll, key, HELP_LINES).map(|scroll| Dialog::Help { scroll });
        }
        (Dialog::Text { title, lines, scroll }, key) => {
            if let Some(scroll) = moved(scroll, key, lines.len()) {
                state.dialog = Some(Dialog::Text { title, lines, scroll });
            }
        }
        _ => {}
    }
    None
}

/// Adds to a line that is being typed, or removes from it.
fn edit(line: &mut String, key: KeyPress, chars_max: usize) {
    match key {
        KeyPress::Char(c) if line.chars().count() < chars_max => line.push(c),
        KeyPress::Backspace => drop(line.pop()),
        KeyPress::Ctrl('u') => line.clear(),
        KeyPress::Ctrl('w') => {
            let end = line.trim_end().rfind(' ').map_or(0, |at| at + 1);
            line.truncate(end);
        }
        _ => {}
    }
}

fn in_filter(state: &mut ScreenState, key: KeyPress) {
    match key {
        KeyPress::Enter => state.filter.is_typing = false,
        KeyPress::Esc => state.filter = Filter::default(),
        KeyPress::Up | KeyPress::Down | KeyPress::PageUp | KeyPress::PageDown => {
            state.log_at = moved(state.log_at, key, state.sessions().len()).unwrap_or(state.log_at);
        }
        key => {
            edit(&mut state.filter.text, key, FILTER_CHARS_MAX);
            state.log_at = 0;
        }
    }
}

/// The position after a key that moves; `None` for any other key.
fn moved(at: usize, key: KeyPress, length: usize) -> Option<usize> {
    let last = length.saturating_sub(1);
    Some(match key {
        KeyPress::Up | KeyPress::Char('k') => at.saturating_sub(1),
        KeyPress::Down | KeyPress::Char('j') => (at + 1).min(last),
        KeyPress::PageUp => at.saturating_sub(PAGE),
        KeyPress::PageDown | KeyPress::Char(' ') => (at + PAGE).min(last),
        KeyPress::Home | KeyPress::Char('g') => 0,
        KeyPress::End | KeyPress::Char('G') => last,
        _ => return None,
    })
}

fn on_page(state: &mut ScreenState, key: KeyPress) -> Option<ScreenEffect> {
    match key {
        KeyPress::Char('q') => return Some(ScreenEffect::Quit),
        KeyPress::Char('?') => state.dialog = Some(Dialog::Help { scroll: 0 }),
        KeyPress::Char(digit @ '1'..='4') => go_to(state, Tab::ALL[digit as usize - '1' as usize]),
        KeyPress::Tab => go_to(state, Tab::ALL[(state.tab as usize + 1) % Tab::ALL.len()]),
        KeyPress::Char('/') => {
            go_to(state, Tab::Log);
            state.filter.is_typing = true;
        }
        KeyPress::Char('a') if state.tab != Tab::Review => {
            state.is_only_here = !state.is_only_here;
            (state.log_at, state.told_at, state.line_at, state.loop_at) = (0, 0, 0, 0);
        }
        KeyPress::Char('r') if state.selected().is_some() => {
            return state.selected().map(|listed| ScreenEffect::Resume(listed.session.id.to_string()));
        }
        KeyPress::Char('b') if state.selected().is_some() => {
            return state.selected().map(|listed| ScreenEffect::Brief(listed.session.cwd.clone()));
        }
        KeyPress::Char('d') if state.open.is_some() => return Some(ScreenEffect::Diffs),
        _ if state.open.is_some() => in_session(state, key),
        _ => match state.tab {
            Tab::Log => in_log(state, key),
            Tab::Told => in_told(state, key),
            Tab::Review => return in_review(state, key),
            Tab::Loops => state.loop_at = moved(state.loop_at, key, state.loops().len()).unwrap_or(state.loop_at),
        },
    }
    None
}

fn go_to(state: &mut ScreenState, tab: Tab) {
    state.tab = tab;
    state.open = None;
}

fn in_log(state: &mut ScreenState, key: KeyPress) {
    match key {
        KeyPress::Enter | KeyPress::Right | KeyPress::Char('l') => state.open = Some(0),
        KeyPress::Esc => state.filter = Filter::default(),
        key => state.log_at = moved(state.log_at, key, state.sessions().len()).unwrap_or(state.log_at),
    }
}

/// The page of a session: scrolls, goes to its neighbours, or back.
fn in_session(state: &mut ScreenState, key: KeyPress) {
    let neighbour = |at: usize| match key {
        KeyPress::Left | KeyPress::Char('h') => at.saturating_sub(1),
        _ => at + 1,
    };
    match key {
        KeyPress::Esc | KeyPress::Backspace => state.open = None,
        KeyPress::Left | KeyPress::Right | KeyPress::Char('h' | 'l') => {
            state.open = Some(0);
            match state.tab {
                Tab::Told => state.told_at = neighbour(state.told_at),
                _ => state.log_at = neighbour(state.log_at),
            }
        }
        // What is behind the end is known when the page is drawn.
        key => state.open = state.open.and_then(|at| moved(at, key, SCROLL_MAX)).or(state.open),
    }
}

/// No page of a session is longer.
const SCROLL_MAX: usize = 10_000;

fn in_told(state: &mut ScreenState, key: KeyPress) {
    let lines = state.page().map_or(0, |loaded| loaded.page.told.len());
    match key {
        KeyPress::Left | KeyPress::Char('h') => (state.told_at, state.line_at) = (state.told_at.saturating_sub(1), 0),
        KeyPress::Right | KeyPress::Char('l') => (state.told_at, state.line_at) = (state.told_at + 1, 0),
        KeyPress::Enter => state.open = Some(0),
        KeyPress::Char('x') => never_again(state),
        key => state.line_at = moved(state.line_at, key, lines).unwrap_or(state.line_at),
    }
}

/// Asks whether a memory shall never be told again. Other lines end by themselves.
fn never_again(state: &mut ScreenState) {
    let Some(line) = state.told_line() else { return };
    match &line.memory {
        Some(id) => {
            let words = text::line(words::without_code(&line.code), 60);
            let question = format!("Reject \"{words}\", so that it is never told again?");
            state.dialog = Some(Dialog::Ask { question, effect: ScreenEffect::Reject(id.clone()) });
        }
        None => {
            let why = match line.code.split(':').next() {
                Some("next" | "block") => "it is told until it is done; `cerberus record done TEXT` settles it",
                Some("impl" | "see") => {
                    "files are told while sessions work on them; [private] in config.toml hides one"
                }
                _ => "only rules and preferences can be rejected",
            };
            state.message = Some(why.to_string());
        }
    }
}

fn in_review(state: &mut ScreenState, key: KeyPress) -> Option<ScreenEffect> {
    if let (KeyPress::Char('u'), Some(id)) = (key, state.decided.last()) {
        return Some(ScreenEffect::Undo(id.clone()));
    }
    let proposal = state.proposal()?;
    let id = proposal.row.id.clone();
    match key {
        KeyPress::Char('a' | 'y') => {
            return Some(ScreenEffect::Approve { id, words: None, scope: chosen_scope(state) });
        }
        KeyPress::Char('r' | 'n') => return Some(ScreenEffect::Reject(id)),
        KeyPress::Char('e') => state.dialog = Some(Dialog::Edit(proposal.row.memory.content.to_string())),
        KeyPress::Char('s') => state.is_for_all = !state.is_for_all,
        KeyPress::Right | KeyPress::Char('l') | KeyPress::Enter => go_to_proposal(state, state.review_at + 1),
        KeyPress::Left | KeyPress::Char('h') => go_to_proposal(state, state.review_at.saturating_sub(1)),
        key => {
            if let Some(at) = moved(state.review_at, key, state.data.proposals.len()) {
                go_to_proposal(state, at);
            }
        }
    }
    None
}

fn go_to_proposal(state: &mut ScreenState, at: usize) {
    let at = at.min(state.data.proposals.len().saturating_sub(1));
    if at != state.review_at {
        (state.review_at, state.is_for_all) = (at, false);
    }
}

/// The scope that the user chose, if it is another than the proposal's own.
fn chosen_scope(state: &ScreenState) -> Option<Scope> {
    let own = state.proposal()?.row.scope();
    (state.is_for_all && own != Scope::Universal).then_some(Scope::Universal)
}
