use std::collections::HashSet;
use std::time::Duration;

use cerberus_agents::meter::price::PricedBy;
use cerberus_loop::history::{Iteration, RunState};
use cerberus_loop::run::list::{LastOutput, LoopRun};
use cerberus_loop::settings::Worker;
use cerberus_loop::totals::{AttemptEnd, Totals};
use cerberus_recall::brief::usage::EarlierWork;
use cerberus_record::clean::text::Clean;
use cerberus_record::fact::FactKind;
use cerberus_record::id::{MemoryId, ProjectId, SessionId};
use cerberus_record::memory::{Background, Memory, MemoryStatus, Scope, Uses};
use cerberus_record::session::{self, SessionStatus};
use cerberus_record::time::Timestamp;
use cerberus_store::browse::log::ListedSession;
use cerberus_store::browse::page::{FileWork, Page, SaidEntry, Tests, ToldLine};
use cerberus_store::browse::proposals::{ListedProposal, ListedQuote};
use cerberus_store::browse::told::ToldText;
use cerberus_store::view::{MemoryRow, SessionRow};
use vt100::Color;

use super::draw::draw;
use super::frame::TerminalFrame;
use super::state::{Dialog, LoadedSession, ScreenData, ScreenEffect, ScreenState, Tab};
use super::update::{KeyPress, update};
use crate::passages::FoundText;
use crate::render::time::LocalTime;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn project(name: &str) -> ProjectId {
    ProjectId::of_anchor(name.as_bytes())
}

fn listed(row: i64, title: &str, name: &str, started: &str, status: SessionStatus, files: usize) -> ListedSession {
    let started_at = at(started);
    let ended = (!matches!(status, SessionStatus::Active))
        .then(|| (started_at.plus(Duration::from_secs(2_880)), "exit".into()));
    let session = SessionRow {
        row,
        id: SessionId::new(format!("2026111{row}-090000")),
        agent: "codex".to_string(),
        agent_session_id: format!("s{row}"),
        project: project(name),
        project_name: name.to_string(),
        root: format!("/home/dev/{name}"),
        cwd: format!("/home/dev/{name}"),
        branch: Some("main".to_string()),
        phase: None,
        started_at,
        last_activity: started_at,
        process: None,
        transcript: None,
        device: None,
        state: session::SessionState { status, ended },
    };
    let active = session.state.ended.as_ref().map_or(Duration::ZERO, |(at, _)| at.since(started_at));
    ListedSession { session, title: title.to_string(), files, failing: 0, active }
}

fn sessions() -> Vec<ListedSession> {
    vec![
        listed(5, "Add retry with jitter to the uploader", "nimbus", "2026-11-15T14:02:00Z", SessionStatus::Active, 2),
        listed(4, "Split proxy.go in three files", "hydra", "2026-11-15T11:40:00Z", SessionStatus::Ended, 12),
        listed(3, "Fix the race in process.go", "hydra", "2026-11-15T09:15:00Z", SessionStatus::Crashed, 5),
        listed(2, "Investigate why CI failed on main", "atlas", "2026-11-14T16:20:00Z", SessionStatus::Ended, 3),
        listed(1, "Adopt the new evaluation contract", "atlas", "2026-11-10T10:05:00Z", SessionStatus::Archived, 27),
    ]
}

fn told(code: &str, memory: Option<&str>, is_broken: bool) -> ToldLine {
    let memory = memory.map(MemoryId::new);
    ToldLine { at: at("2026-11-15T11:40:00Z"), code: code.to_string(), memory, is_broken }
}

fn page_of(listed: ListedSession) -> LoadedSession {
    let path = ".github/workflows/ci.yml".to_string();
    let page = Page {
        listed,
        asked: vec![SaidEntry {
            at: at("2026-11-15T09:15:00Z"),
            text: "the supervisor test is flaky again".to_string(),
        }],
        said: Vec::new(),
        done: vec!["CI pins bun 1.3.11".to_string()],
        decided: vec!["a mutex per process".to_string()],
        left: vec!["Open a pull request that pins bun in mise.toml".to_string()],
        files: vec![FileWork { path, edits: 2, reads: 0, functions: Vec::new() }],
        tests: Tests { runs: vec![false, true], ..Tests::default() },
        commits: Vec::new(),
        told: vec![
            told("block:TestStopTwice fails with race", None, false),
            told("see:docs/process.md", None, false),
            told("asked:20261112-090000@2026-11-14T16:20:00Z", None, false),
            told("rule:Never hold a lock across Wait", Some("m-1"), true),
        ],
        corrected: Vec::new(),
        summary: None,
    };
    let earlier = |kind, hours: u64| {
        let last_at = at("2026-11-15T11:40:00Z").minus(Duration::from_secs(hours * 3_600));
        Some(EarlierWork { kind, code: String::new(), path: None, sessions: 3, last_at })
    };
    let whole = |text: &str| ToldText::Whole(text.to_string());
    let texts = vec![
        whole("TestStopTwice fails with race"),
        ToldText::Forgotten,
        whole("the supervisor test is flaky again, find the race"),
        whole("Never hold a lock across Wait"),
    ];
    let reasons = vec![earlier(FactKind::Blocker, 2), earlier(FactKind::Read, 500), None, None];
    LoadedSession {
        page,
        reasons,
        texts: Some(texts),
        turns: None,
        cost: Some("$1.20 (list prices of 2026-11-16), 3.4 M tokens".to_string()),
    }
}

fn proposal(id: &str, words: &str, scope: &str) -> ListedProposal {
    let memory = Memory {
        status: MemoryStatus::Proposed,
        content: Clean::from_stored(words.to_string()),
        category: Clean::word("rule"),
        scope: Clean::from_stored(scope.to_string()),
        project: None,
        confidence: 0.8,
        created_at: at("2026-11-15T09:52:00Z"),
        updated_at: at("2026-11-15T09:52:00Z"),
        source: Clean::word("prompt"),
        background: Background::default(),
    };
    let row = MemoryRow {
        row: 1,
        id: MemoryId::new(id),
        memory,
        is_imported: false,
        uses: Uses::default(),
        version: 1,
        version_key: String::new(),
        has_earlier: false,
        superseded_by: None,
    };
    let quote = ListedQuote {
        text: "no, never hold the lock while calling Wait".to_string(),
        at: Some(at("2026-11-15T09:52:00Z")),
        prompt: "look. no, never hold the lock while calling Wait".to_string(),
    };
    ListedProposal { row, quotes: vec![quote.clone(), quote.clone(), quote] }
}

fn running_loop() -> LoopRun {
    let started_at = at("2026-11-15T13:00:00Z");
    let mut totals = Totals::new(started_at);
    (totals.tokens, totals.cost_usd, totals.spent) = (1_900_000, Some(4.8), 4);
    let state = RunState {
        run: 1,
        worker: Worker::COMMAND,
        runner: None,
        token: String::new(),
        layer: toml_layer(),
        base: None,
        place: None,
        totals,
        memory: Default::default(),
        open: None,
        waiting: None,
        sessions: Vec::new(),
        stopped: None,
        last_at: at("2026-11-15T14:12:00Z"),
    };
    let iteration = |number, ended_at, how, fill_percent| Iteration {
        run: 1,
        iteration: number,
        attempts: 1,
        worker: Worker::COMMAND,
        started_at,
        ended_at,
        session_id: None,
        fill_percent,
        certainty: None,
        priced_by: None,
        tokens: None,
        cost_usd: Some(1.2),
        changed_files: None,
        how,
        failure: None,
        reboot: None,
        check: None,
        stop: None,
    };
    let ended = Some(started_at.plus(Duration::from_secs(1_080)));
    let by = PricedBy { date: "2026-11-16".to_string(), unknown: vec!["x-9".to_string()] };
    let unpriced = Iteration { priced_by: Some(by), ..iteration(2, None, None, None) };
    let iterations = vec![iteration(1, ended, Some(AttemptEnd::SoftRedline), Some(71.0)), unpriced];
    LoopRun { project: project("hydra"), worktree: None, is_running: true, state, iterations, started_at }
}

fn toml_layer() -> cerberus_loop::settings::Layer {
    let mut layer = cerberus_loop::settings::Layer::default();
    (layer.prompt_file, layer.until) = (Some("TASK.md".to_string()), Some("cargo test".to_string()));
    layer
}

/// A home in which everything happened.
fn full() -> ScreenState {
    let local = LocalTime::utc(at("2026-11-15T15:00:00Z"));
    let mut state = ScreenState::new(local, (vec![project("hydra")], "hydra".to_string()), true, true);
    let names = [(project("hydra"), "hydra".to_string())].into();
    state.take(ScreenData {
        sessions: sessions(),
        told: HashSet::from([4, 3]),
        proposals: vec![
            proposal("m-1", "Never hold a lock while calling Wait", "project:hydra"),
            proposal("m-2", "Use pnpm", "universal"),
        ],
        loops: vec![running_loop()],
        names,
        usage: "96 of 123 files used".to_string(),
    });
    state.output = LastOutput {
        fill_percent: Some(52.0),
        lines: vec!["editing store/read.rs".to_string()],
        ..LastOutput::default()
    };
    state
}

fn empty() -> ScreenState {
    ScreenState::new(LocalTime::utc(at("2026-11-15T15:00:00Z")), (Vec::new(), "hydra".to_string()), true, true)
}

/// The state after these keys, with the session that is then selected, and what is to be done.
fn press(mut state: ScreenState, keys: &str) -> (ScreenState, Option<ScreenEffect>) {
    let mut effect = None;
    for key in keys.split(' ').filter(|key| !key.is_empty()) {
        let key = match key {
            "up" => KeyPress::Up,
            "down" => KeyPress::Down,
            "left" => KeyPress::Left,
            "right" => KeyPress::Right,
            "end" => KeyPress::End,
            "home" => KeyPress::Home,
            "enter" => KeyPress::Enter,
            "esc" => KeyPress::Esc,
            "tab" => KeyPress::Tab,
            "back" => KeyPress::Backspace,
            "^c" => KeyPress::Ctrl('c'),
            "^u" => KeyPress::Ctrl('u'),
            "^z" => KeyPress::Ctrl('z'),
            one => KeyPress::Char(one.chars().next().unwrap()),
        };
        (state, effect) = update(state, key);
        if let Some(listed) = state.selected().filter(|_| state.page().is_none()) {
            state.loaded = Some(page_of(listed.clone()));
        }
    }
    (state, effect)
}

fn drawn(state: &ScreenState, columns: u16, rows: u16) -> vt100::Screen {
    let mut terminal = vt100::Parser::new(rows, columns, 0);
    terminal.process(draw(state, (columns, rows)).instead_of(&TerminalFrame::default()).as_bytes());
    terminal.screen().clone()
}

fn cell(screen: &vt100::Screen, x: u16, y: u16) -> &vt100::Cell {
    screen.cell(y, x).unwrap()
}

fn cells(screen: &vt100::Screen) -> impl Iterator<Item = &vt100::Cell> {
    let (rows, columns) = screen.size();
    (0..rows).flat_map(move |y| (0..columns).map(move |x| cell(screen, x, y)))
}

fn shown(state: &ScreenState, columns: u16, rows: u16) -> String {
    let screen = drawn(state, columns, rows);
    screen.rows(0, columns).map(|row| row.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// The screen after these keys has all of these texts.
fn shows(keys: &str, (columns, rows): (u16, u16), texts: &[&str]) {
    let screen = shown(&press(full(), keys).0, columns, rows);
    for text in texts {
        assert!(screen.contains(text), "{text:?} after {keys:?}:\n{screen}");
    }
}

#[test]
fn the_log_fills_an_ordinary_terminal() {
    let rule = "─".repeat(80);
    let screen = shown(&press(full(), "down down down").0, 80, 24);
    let expected = format!(
        " cerberus   1 Log   2 Told   3 Review 2   4 Loops 1                     ? help
 all projects   5 sessions   / search
{rule}
 Today
 ● active   Add retry with jitter to the uploader  nimbus  14:02  2 files
 ✓ ended    Split proxy.go in three files          hydra   11:40  12 files
 ✗ crashed  Fix the race in process.go             hydra   09:15  5 files
 Yesterday
>✓ ended    Investigate why CI failed on main      atlas   16:20  3 files
 Tue 10 Nov
 ✓ ended    Adopt the new evaluation contract      atlas   10:05  27 files
"
    );
    assert!(screen.starts_with(&expected), "{screen}");
    let expected = format!(
        "{rule}
 Investigate why CI failed on main   codex  48 min  main
 done   CI pins bun 1.3.11
 left   Open a pull request that pins bun in mise.toml
 work   ✗✓ .github/workflows/ci.yml
{rule}
 ↑↓ move  Enter open  / search  r resume  b brief  a project  ? help  q quit"
    );
    assert!(screen.ends_with(&expected), "{screen}");
}

#[test]
fn every_page_fits_every_size() {
    for (columns, rows) in [(80, 24), (120, 40), (42, 20), (40, 10), (200, 60)] {
        let size = (columns, rows);
        shows("", size, &["1 Log", ">● ", "Add retry"]);
        shows("enter", size, &["Log > session 1 of 5", "codex"]);
        shows("2", size, &["session 1 of 2", "✗ again", "TestStopTwice"]);
        shows("3", size, &["proposal 1 of 2", "Never hold a lock"]);
        shows("4", size, &["● running", "hydra", "TASK.md"]);
        shows("?", size, &["Keys", "Enter, Esc"]);
        // What does not fit is left out, never the key that shows all of them.
        for keys in ["", "enter", "2", "3", "4"] {
            let screen = shown(&press(full(), keys).0, columns, rows);
            let footer = screen.lines().last().unwrap();
            assert!(footer.ends_with("? help  q quit") && !footer.contains('…'), "{keys:?}: {footer}");
        }
        let help = shown(&press(full(), "?").0, columns, rows);
        assert!(!help.contains('…'), "it is wrapped, and every tab is there: {help}");
    }
    shows("?", (80, 24), &["recovered or archived"]);
    shows(&format!("?{}", " j".repeat(40)), (40, 12), &["recovered or archived"]);
    shows("", (119, 40), &["2 files · under 1 min · codex · main"]);
    // From here on, the session stands beside the list.
    let pane = [
        "│ Add retry with jitter",
        "│ ● active · today 14:02 · under 1 min",
        "│ nimbus · codex · main",
        "│ asked   the superv",
        "│ done    CI pins bun",
        "│ left    Open a pull",
        "│ tests   ✗✓",
        "│ files   .github/workflows/ci.yml  2 edits",
        "│ cost    $1.20 (list prices of",
    ];
    shows("home", (120, 40), &pane);
    shows("home", (200, 60), &pane);
    shows("2", (120, 40), &["│ blocker", "│ TestStopTwice fails with race", "│ because left open 2 h before"]);
    shows("2 j j j", (120, 40), &["│ rule", "│ because you want it remembered", "│ then    you had to say it again"]);
    let narrow = shown(&full(), 42, 20);
    assert!(!narrow.contains("ended") && !narrow.contains("cerberus"), "{narrow}");
    assert_eq!(shown(&full(), 30, 8).trim_end(), "40x10 is needed, this is 30x8\nq quits");
    let tiny = shown(&full(), 1, 1);
    assert_eq!(tiny, "…");
}

#[test]
fn a_title_has_its_room_at_every_width() {
    let title = "Make the uploader retry with jitter and resume after the network was gone, then measure it";
    let name = "a-project-with-a-long-name";
    let wide = "修复上传程序在网络断开之后丢失最后一部分的错误";
    let mut state = full();
    let sessions = vec![
        listed(2, title, name, "2026-11-15T14:02:00Z", SessionStatus::Crashed, 12),
        listed(1, wide, name, "2026-11-15T13:02:00Z", SessionStatus::Ended, 1),
    ];
    state.take(ScreenData { sessions, ..ScreenData::default() });
    for columns in 40..=200_u16 {
        let screen = shown(&state, columns, 24);
        let row = screen.lines().nth(4).unwrap();
        // Beside the list, the title is shown in whole.
        let room = if columns < 120 { 50 } else { 36 };
        let readable = usize::from(columns).saturating_sub(3).min(room) - 1;
        assert!(row.contains(title[..readable].trim_end()), "{columns}: {row}");
    }
    let screen = shown(&state, 200, 24);
    let row = screen.lines().nth(4).unwrap();
    assert!([&title[..55], name, "crashed", "12 files"].iter().all(|text| row.contains(text)), "{row}");
    assert!(screen.contains("codex · main"), "{screen}");
    let row = shown(&state, 40, 24).lines().nth(5).unwrap().replace(' ', "");
    assert!(row.starts_with("✓修复上传程序在网络断开之后丢失最") && row.ends_with('…'), "{row}");
}

#[test]
fn an_empty_home_says_what_to_do() {
    for (keys, text) in [
        ("", "cerberus import"),
        ("2", "No session was told anything yet"),
        ("3", "Nothing to review"),
        ("4", "cerberus loop run"),
    ] {
        let (state, _) = press(empty(), keys);
        let screen = shown(&state, 80, 24);
        assert!(screen.contains(text), "{text}:\n{screen}");
        // No key does anything bad where there is nothing.
        for key in "enter down up end x y e s n u r b left right esc".split(' ') {
            let (state, effect) = press(state.clone(), key);
            assert_eq!(effect, None, "{key}");
            shown(&state, 80, 24);
        }
    }
}

#[test]
fn keys_move_and_open() {
    let after = |keys: &str| press(full(), keys).0;
    for (keys, selected) in
        [("", 0), ("j", 1), ("down down k", 1), ("up", 0), ("G", 4), ("end home", 0), ("end down", 4), ("j 2 1", 1)]
    {
        assert_eq!(after(keys).log_at, selected, "{keys}");
    }
    assert_eq!(after("down enter").open, Some(0));
    assert_eq!(after("down enter down j").open, Some(2));
    assert_eq!((after("down enter right").log_at, after("down enter left left").log_at), (2, 0));
    assert_eq!(after("enter esc").open, None);
    assert_eq!(after("enter 2").open, None);
    for (keys, tab) in
        [("2", Tab::Told), ("tab tab", Tab::Review), ("4", Tab::Loops), ("4 tab", Tab::Log), ("3 /", Tab::Log)]
    {
        assert_eq!(after(keys).tab, tab, "{keys}");
    }
    assert_eq!((after("2 right").told_at, after("2 right right").told_at, after("2 right left").told_at), (1, 1, 0));
    assert_eq!((after("2 j j").line_at, after("2 end down").line_at, after("2 j right").line_at), (2, 3, 0));
    assert_eq!(after("?").dialog, Some(Dialog::Help { scroll: 0 }));
    assert_eq!(after("? j").dialog, Some(Dialog::Help { scroll: 1 }));
    assert_eq!(after("? x").dialog, None);
}

#[test]
fn the_log_is_filtered_while_typing() {
    let titles =
        |keys: &str| -> Vec<i64> { press(full(), keys).0.sessions().iter().map(|one| one.session.row).collect() };
    assert_eq!(titles("/ p r x y"), [4]);
    assert_eq!(titles("/ h y d r a"), [4, 3]);
    assert_eq!(titles("/ z z z"), [0; 0]);
    assert_eq!(titles("/ p r x y back back back back").len(), 5);
    assert_eq!(titles("/ z z ^u a").len(), 5, "letters are typed, not pressed");
    assert_eq!(titles("/ p r x y esc").len(), 5);
    assert_eq!(titles("/ p r x y enter"), [4]);
    assert_eq!(titles("/ p r x y enter esc").len(), 5);
    assert_eq!(titles("/ 2 0 2 6 1 1 1 2"), [2], "the beginning of an id");
    assert_eq!(titles("a"), [4, 3], "only this project");
    assert_eq!(titles("a a").len(), 5);
    // What the index found counts too.
    let (mut state, _) = press(full(), "/ b u n");
    assert!(state.sessions().is_empty());
    state.filter.found = HashSet::from([2]);
    assert_eq!(state.sessions()[0].session.row, 2);
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("1 of 5 sessions   / bun") && screen.ends_with(" / bun"), "{screen}");
}

#[test]
fn a_session_is_resumed_and_the_screen_is_left() {
    let effect = |keys: &str| press(full(), keys).1;
    assert_eq!(effect("j r"), Some(ScreenEffect::Resume("20261114-090000".to_string())));
    assert_eq!(effect("2 right r"), Some(ScreenEffect::Resume("20261113-090000".to_string())));
    assert_eq!(effect("j b"), Some(ScreenEffect::Brief("/home/dev/hydra".to_string())));
    assert_eq!(
        (effect("q"), effect("? ^c"), effect("/ ^c")),
        (Some(ScreenEffect::Quit), Some(ScreenEffect::Quit), Some(ScreenEffect::Quit))
    );
    assert_eq!((effect("/ q"), effect("^z")), (None, Some(ScreenEffect::Suspend)));
}

#[test]
fn what_was_told_has_its_reason() {
    shows(
        "2",
        (80, 24),
        &[
            "hydra · today 11:40 · Split proxy.go in three files",
            "─ 4 lines ─",
            ">          blocker     TestStopTwice fails with race",
            "           read        forgotten since",
            "           asked       the supervisor test is flaky again, find the race",
            "  ✗ again  rule        Never hold a lock across Wait",
            "left open 2 h before, in 3 sessions\n",
            "96 of 123 files used",
        ],
    );
}

#[test]
fn a_rule_is_rejected_only_after_a_question() {
    let (state, effect) = press(full(), "2 end x");
    assert_eq!(effect, None);
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("Reject \"Never hold a lock across Wait\", so that it is never told again?"), "{screen}");
    assert_eq!(press(full(), "2 end x n").1, None);
    assert_eq!(press(full(), "2 end x n").0.dialog, None);
    assert_eq!(press(full(), "2 end x y").1, Some(ScreenEffect::Reject(MemoryId::new("m-1"))));
    let (state, effect) = press(full(), "2 x");
    assert_eq!((effect, state.dialog.clone()), (None, None));
    assert!(state.message.is_some_and(|message| message.contains("until it is done")));
}

#[test]
fn proposals_are_decided_by_one_key() {
    let id = || MemoryId::new("m-1");
    let effect = |keys: &str| press(full(), keys).1;
    let keep =
        |words: Option<&str>, scope| Some(ScreenEffect::Approve { id: id(), words: words.map(str::to_string), scope });
    assert_eq!((effect("3 a"), effect("3 y")), (keep(None, None), keep(None, None)));
    assert_eq!(effect("3 s y"), keep(None, Some(Scope::Universal)));
    assert_eq!(effect("3 s s y"), keep(None, None));
    assert_eq!(effect("3 e ^u a b back enter"), keep(Some("a"), None));
    assert_eq!(effect("3 e ^u enter"), keep(None, None), "empty words change nothing");
    assert_eq!((effect("3 e esc"), effect("3 e y")), (None, None));
    assert_eq!((effect("3 r"), effect("3 n")), (Some(ScreenEffect::Reject(id())), Some(ScreenEffect::Reject(id()))));
    assert_eq!(effect("3 right n"), Some(ScreenEffect::Reject(MemoryId::new("m-2"))));
    assert_eq!((press(full(), "3 l").0.review_at, press(full(), "3 right right left").0.review_at), (1, 0));
    assert_eq!(effect("3 u"), None);
    let mut state = full();
    state.decided.push(MemoryId::new("m-9"));
    assert_eq!(press(state, "3 u").1, Some(ScreenEffect::Undo(MemoryId::new("m-9"))));
    shows(
        "3",
        (80, 24),
        &[
            "a rule · hydra only",
            "You said it 3 times",
            "today 09:52   “no, never hold the lock while calling Wait”",
            "“look. no, never hold the lock while calling Wait”",
            "If approved: told at every start in hydra, ",
        ],
    );
    shows("3 s", (80, 24), &["told at every start in every project", "s: hydra only"]);
    shows("3 e", (80, 24), &[" Edit: Never hold a lock while calling Wait"]);
}

#[test]
fn loops_show_their_contexts_cost_and_output() {
    shows(
        "4",
        (80, 24),
        &[
            ">● running         hydra         command      today 13:00",
            "until    cargo test",
            "context  ██████████░░░░░░░░░░ 52% full",
            "cost     $4.80   1,900,000 tokens   4 contexts   1 h 12 min",
            "   1  ✓ soft-redline     71%  18 min       $1.20",
            "   2  running             ?%  1 h 12 min   at most $1.20",
            "editing store/read.rs",
        ],
    );
}

#[test]
fn without_colour_everything_has_a_sign() {
    let keys = ["", "enter", "2", "3", "4", "?"];
    let colours = |state: &ScreenState| -> HashSet<Option<u8>> {
        let screen = drawn(state, 80, 24);
        assert!(cells(&screen).all(|cell| cell.bgcolor() == Color::Default), "no background colours");
        let number = |color: Color| match color {
            Color::Default => None,
            Color::Idx(number) => Some(number),
            Color::Rgb(..) => panic!("a colour that the user cannot choose"),
        };
        cells(&screen).map(|cell| number(cell.fgcolor())).collect()
    };
    for keys in keys {
        let (mut state, _) = press(full(), keys);
        let [red, green, magenta, cyan] = [1, 2, 5, 6].map(Some);
        let meant = HashSet::from([None, red, green, magenta, cyan]);
        assert!(colours(&state).is_subset(&meant));
        state.is_colored = false;
        assert_eq!(colours(&state), HashSet::from([None]), "{keys}");
    }
    let mut state = full();
    state.is_colored = false;
    let screen = drawn(&state, 80, 24);
    let is_reversed = |y: u16| (0..80).all(|x| cell(&screen, x, y).inverse());
    assert!(is_reversed(4) && !is_reversed(5), "the selected row");
}

#[test]
fn beside_the_list_the_selection_ends_with_it() {
    for is_colored in [true, false] {
        let mut state = full();
        state.is_colored = is_colored;
        let screen = drawn(&state, 120, 24);
        let is_reversed = |x: u16, y: u16| cell(&screen, x, y).inverse();
        let colour = |x: u16, y: u16| cell(&screen, x, y).fgcolor();
        assert!((0..72).all(|x| is_reversed(x, 4) && !is_reversed(x, 5)), "the selected row");
        assert!((72..120).all(|x| !is_reversed(x, 4)), "what is beside it");
        assert!((0..72).all(|x| colour(x, 4) == Color::Default), "its colours would be hard to read");
        let project = (0..72).any(|x| colour(x, 5) == Color::Idx(5));
        assert_eq!(project, is_colored, "another row has them");
    }
}

#[test]
fn what_a_search_found_stands_beside_the_list() {
    let (mut state, _) = press(full(), "/ m u t e x enter");
    state.filter.found = HashSet::from([4]);
    state.filter.searched = "mutex".to_string();
    let text = "Every process has a mutex of its own, and Wait never holds it.".to_string();
    let found = FoundText { kind: "said".to_string(), text, at: at("2026-11-15T11:44:00Z") };
    state.filter.passages.insert(4, found);
    let drawn = drawn(&state, 120, 24);
    let screen = shown(&state, 120, 24);
    assert!(screen.contains("│ found   said, today 11:44") && screen.contains("has a mutex of"), "{screen}");
    let marked: String =
        cells(&drawn).skip(3 * 120).filter(|cell| cell.underline()).map(|cell| cell.contents()).collect();
    assert_eq!(marked, "mutex", "{screen}");
    // Without a passage, the words of its own page are searched.
    state.filter.passages.clear();
    state.loaded = Some(page_of(sessions().remove(1)));
    (state.filter.text, state.filter.searched) = ("flaky".to_string(), "flaky".to_string());
    assert!(shown(&state, 120, 24).contains("│ found   prompt, today 09:15"));
    assert!(shown(&state, 80, 24).contains(" found  the supervisor test is flaky again"));
}

#[test]
fn names_of_projects_fill_what_would_stay_empty() {
    let wide = "修復登錄頁面的項目";
    let mut state = full();
    let short = |row, name: &str| listed(row, "Fix it", name, "2026-11-15T14:02:00Z", SessionStatus::Ended, 1);
    state.take(ScreenData {
        sessions: vec![short(2, wide), short(1, "a-project-with-a-long-name")],
        ..ScreenData::default()
    });
    for columns in [80, 120] {
        let screen = shown(&state, columns, 24);
        assert!(screen.contains("a-project-with-a-long-name") && screen.replace(' ', "").contains(wide), "{screen}");
        // A wide letter has two cells.
        let drawn = drawn(&state, columns, 24);
        let clock = |y: u16| (0..columns).find(|x| cell(&drawn, *x, y).contents() == ":").unwrap();
        assert_eq!(clock(4), clock(5), "{screen}");
    }
}

#[test]
fn without_utf_8_everything_is_ascii() {
    for keys in ["", "enter", "2", "3", "4", "?", "/ ü"] {
        let (mut state, _) = press(full(), keys);
        state.is_utf8 = false;
        let screen = shown(&state, 80, 24);
        assert!(screen.is_ascii(), "{keys}:\n{screen}");
    }
    let mut state = full();
    state.is_utf8 = false;
    let screen = shown(&state, 80, 24);
    for row in [">* active ", " + ended ", " x crashed ", " + ended    Adopt"] {
        assert!(screen.contains(row), "{row}:\n{screen}");
    }
}

#[test]
fn hostile_text_cannot_draw() {
    let mut data = full().data;
    data.sessions[0].title = "a\u{1b}[2Jb\u{202e}c\td\u{200b}\u{7}".to_string();
    let mut state = full();
    state.take(data);
    let screen = shown(&press(state, "enter esc").0, 80, 24);
    assert!(screen.contains("a?[2Jb?c d??"), "{screen}");
    assert!(!screen.contains(['\u{1b}', '\u{202e}', '\t', '\u{200b}', '\u{7}']));
}

#[test]
fn what_is_selected_stays_selected_when_something_new_comes() {
    let (mut state, _) = press(full(), "3 right 1 down");
    let mut data = full().data;
    data.sessions.insert(0, listed(6, "New", "hydra", "2026-11-15T14:59:00Z", SessionStatus::Active, 0));
    data.proposals.remove(0);
    state.take(data);
    assert_eq!((state.log_at, state.review_at), (2, 0));
    assert_eq!(state.selected().unwrap().session.row, 4);
    let (mut state, _) = press(full(), "end enter");
    state.take(ScreenData::default());
    assert_eq!((state.log_at, state.open), (0, None), "everything was forgotten");
    shown(&state, 80, 24);
}
