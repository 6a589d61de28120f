//! What is asked for, whatever is typed: never an error of the database, never more than was asked for.

use cerberus_os::home::Home;
use cerberus_recall::search::query::Query;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location, MemoryChange, Record};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::memory::{Background, Memory, MemoryStatus};
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::view::MemoryQuery;
use cerberus_store::view::fold;
use cerberus_text::terms;

use super::{Check, holds};

pub fn query() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        let (asked, content) = text.split_at(text.floor_char_boundary(text.len() / 2));
        let query = Query::parse(asked);
        query.has_phrases(content);
        let snippet = query.snippet(content);
        holds(!snippet.contains('\n'), "a snippet is one line", &snippet)?;
        terms::index_terms(content);
        terms::terms(asked).len();
        Ok(())
    }))
}

const CONTENTS: [&str; 6] = [
    "Always run the tests before every commit",
    "Use snake_case in src/store/mod.rs",
    "Größe zählt; NOT NULL OR \"quoted\" AND near*",
    "Errors are handled where they happen, never swallowed",
    "日本語 テスト",
    "x",
];

const LIMIT: usize = 5;

pub fn search() -> anyhow::Result<Check> {
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path().join("home"));
    let records: Vec<Record> = CONTENTS.iter().enumerate().map(|(number, content)| learnt(number, content)).collect();
    journal::append_all(&home, Timestamp::EPOCH, &records)?;
    let store = fold::open(&home)?;
    Ok(Box::new(move |input| {
        // The folder stays as long as it is searched.
        let _ = &dir;
        let text = String::from_utf8_lossy(input);
        let query = MemoryQuery { text: &text, limit: LIMIT, scopes: &[], category: None };
        let found = store.search(&query, Timestamp::LAST).map_err(|error| error.to_string())?;
        holds(found.len() <= LIMIT, "no more than was asked for", found.len())?;
        holds(found.iter().all(|one| one.score.is_finite()), "every score is a number", &found)
    }))
}

fn learnt(number: usize, content: &'static str) -> Record<'static> {
    let word = Clean::word;
    let at = Timestamp::from_millis(number as i64);
    let memory = Memory {
        status: MemoryStatus::Approved,
        content: word(content),
        category: word("rule"),
        scope: word("universal"),
        project: None,
        confidence: 1.0,
        created_at: at,
        updated_at: at,
        source: word("user"),
        background: Background::default(),
    };
    let id = BUILT_IN.clean(format!("m-{number:010}"), Keep::NAME);
    Record {
        at,
        key: BUILT_IN.clean(format!("m-{number:010}#0"), Keep::NAME),
        agent: Agent::MANUAL,
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: word("memories"),
        location: Location {
            project: ProjectId::of_anchor(b"/p"),
            name: word("p"),
            root: word("/p"),
            cwd: word("/p"),
            branch: None,
        },
        event: Event::Memory(MemoryChange { id, memory: Some(Box::new(memory)), based_on: None, parent: None }),
    }
}
