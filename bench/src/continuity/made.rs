//! Synthetic sessions that each leave open todos and an answered question: is all of it in the next brief?
//!
//! Few real sessions leave a todo list, and those of some people never do. These go through the real hook, one after
//! the other in one project, and nothing that they leave open is ever completed.

use anyhow::Result;
use serde_json::{Value, json};

use super::open_items::Carried;
use super::replay::Told;
use crate::payload::{payload, tool, write};
use crate::programs::Programs;
use crate::scratch::Scratch;

const SESSIONS: usize = 12;
const TODOS: usize = 6;

const VERBS: [&str; TODOS] = ["Write", "Measure", "Rename", "Document", "Retry", "Split"];
const THINGS: [&str; SESSIONS] = [
    "invoice parser",
    "login form",
    "search index",
    "export job",
    "retry queue",
    "mail template",
    "price table",
    "upload limit",
    "audit log",
    "date picker",
    "cache key",
    "release notes",
];

/// Adds how much of what these sessions left is in the next briefs.
pub fn score(programs: &Programs, carried: &mut Carried) -> Result<()> {
    let scratch = Scratch::new()?;
    let (repo, home) = (scratch.repo(), scratch.home("made"));
    for (number, thing) in THINGS.iter().enumerate() {
        let session = format!("made-{number}");
        let now = |minute: usize| format!("2026-01-22T{:02}:{minute:02}:00Z", number + 1);
        let list: Vec<(String, bool)> =
            VERBS.iter().enumerate().map(|(place, verb)| (format!("{verb} the {thing}"), place < number % 4)).collect();
        let shown = |(text, is_done): &(String, bool)| -> Value {
            json!({"content": text, "activeForm": text, "status": if *is_done { "completed" } else { "pending" }})
        };
        let todos: Vec<Value> = list.iter().map(shown).collect();
        let (question, answer) = (format!("Who may change the {thing}?"), format!("Only the owner of the {thing}"));
        let asked = json!({"questions": [{"question": question, "header": "Rights", "options": [{"label": answer}]}]});
        let answers = json!({"questions": [], "answers": {question: answer.as_str()}});
        let todos = json!({"todos": todos});
        for (minute, said) in [
            payload(&repo, &session, "SessionStart", json!({"source": "startup"})),
            write(&repo, &session, "t1", &format!("src/{}.rs", thing.replace(' ', "_")), "fn main() {}\n"),
            tool(
                &repo,
                &session,
                "t2",
                "TodoWrite",
                todos.clone(),
                json!({"oldTodos": [], "newTodos": todos["todos"]}),
            ),
            tool(&repo, &session, "t3", "AskUserQuestion", asked, answers),
            payload(&repo, &session, "SessionEnd", json!({"reason": "exit"})),
        ]
        .into_iter()
        .enumerate()
        {
            scratch.heard(programs, &home, Some(&now(minute)), &said)?;
        }
        let told: Told = serde_json::from_value(scratch.json(programs, &home, &["brief", "--now", &now(30)])?)?;
        let open: Vec<String> = list.into_iter().filter(|(_, is_done)| !is_done).map(|(text, _)| text).collect();
        carried.count(&open, &[answer], &told.text);
    }
    Ok(())
}
