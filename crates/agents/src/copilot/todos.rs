//! Copilot's todo list is a table that its model changes with SQL. This reads those statements, without a database.
//!
//! Only what a statement itself says is used: rows that are inserted, and changes of the state of tasks that are named
//! by their id. Anything else is skipped.

use std::borrow::Cow;

use cerberus_record::event::{Task, TaskState};

use crate::tool::{TODOS_MAX, Use, task};

const TABLE: &str = "todos";

/// The columns of the table, for an insert that does not name them.
const COLUMNS: [&str; 4] = ["id", "title", "description", "status"];

#[derive(Clone, Debug, PartialEq)]
enum TodoToken {
    /// A keyword, a name or a number, in lower case.
    Word(String),
    Text(String),
    Sign(char),
}

impl TodoToken {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, TodoToken::Word(found) if found == word)
    }
}

/// Adds the tasks that a query adds or changes.
pub(crate) fn changed(used: &mut Use<'_>, query: &str) {
    let tokens = tokens(query);
    let tasks: Vec<_> = tokens.split(|token| *token == TodoToken::Sign(';')).flat_map(statement).collect();
    let tasks = tasks.into_iter().take(TODOS_MAX);
    used.tasks = tasks.filter_map(|(id, title, state)| clean(used, id, title, state)).collect();
}

fn clean(used: &Use<'_>, id: Option<String>, title: Option<String>, state: TaskState) -> Option<Task<'static>> {
    task(used.cleaner, id.map(Cow::Owned), title.map(Cow::Owned), state)
}

type TodoChange = (Option<String>, Option<String>, TaskState);

fn statement(tokens: &[TodoToken]) -> Vec<TodoChange> {
    let Some(table) = tokens.iter().position(|token| token.is_word(TABLE)) else { return Vec::new() };
    let (before, after) = (&tokens[..table], &tokens[table + 1..]);
    match before {
        [first, .., last] if (first.is_word("insert") || first.is_word("replace")) && last.is_word("into") => {
            inserted(after)
        }
        [first] if first.is_word("update") => updated(after),
        [first, last] if first.is_word("delete") && last.is_word("from") => {
            named_ids(after).map(|id| (Some(id), None, TaskState::Dropped)).collect()
        }
        _ => Vec::new(),
    }
}

/// `(id, title) VALUES ('a', 'First'), ('b', 'Second')`
fn inserted(tokens: &[TodoToken]) -> Vec<TodoChange> {
    let Some(values) = tokens.iter().position(|token| token.is_word("values")) else { return Vec::new() };
    let named: Vec<&str> = tokens[..values].iter().filter_map(word).collect();
    let columns = if named.is_empty() { &COLUMNS[..] } else { &named[..] };
    let mut changes = Vec::new();
    for row in rows(&tokens[values + 1..]) {
        let value =
            |column: &str| columns.iter().position(|name| *name == column).and_then(|at| row.get(at).cloned()?);
        if let (id, Some(title)) = (value("id"), value("title")) {
            changes.push((id, Some(title), state(value("status").as_deref())));
        }
    }
    changes
}

/// The rows in parentheses; a value that is not a text is `None`.
fn rows(tokens: &[TodoToken]) -> Vec<Vec<Option<String>>> {
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    let mut depth = 0;
    for token in tokens {
        match token {
            TodoToken::Sign('(') => {
                depth += 1;
                if depth == 1 {
                    rows.push(vec![None]);
                }
            }
            TodoToken::Sign(')') => depth -= 1,
            TodoToken::Sign(',') if depth == 1 => rows.iter_mut().last().into_iter().for_each(|row| row.push(None)),
            TodoToken::Text(text) if depth == 1 => {
                if let Some(value) = rows.last_mut().and_then(|row| row.last_mut()) {
                    *value = Some(text.clone());
                }
            }
            // After the values comes what to do about a conflict.
            TodoToken::Word(_) if depth == 0 => break,
            _ => {}
        }
    }
    rows
}

/// `SET status = 'done' WHERE id = 'a'`
fn updated(tokens: &[TodoToken]) -> Vec<TodoChange> {
    let Some(condition) = tokens.iter().position(|token| token.is_word("where")) else { return Vec::new() };
    let (set, condition) = tokens.split_at(condition);
    let status = set.windows(3).find_map(|window| match window {
        [column, TodoToken::Sign('='), TodoToken::Text(status)] if column.is_word("status") => Some(status.as_str()),
        _ => None,
    });
    match status.map(|status| state(Some(status))) {
        None | Some(TaskState::Open) => Vec::new(),
        Some(state) => named_ids(condition).map(|id| (Some(id), None, state)).collect(),
    }
}

/// The ids in a condition: `id = 'a'` or `id IN ('a', 'b')`.
fn named_ids(condition: &[TodoToken]) -> impl Iterator<Item = String> {
    let start = condition.iter().position(|token| token.is_word("id")).map_or(condition.len(), |at| at + 1);
    let is_of_list =
        |token: &&TodoToken| matches!(token, TodoToken::Text(_) | TodoToken::Sign(_)) || token.is_word("in");
    let listed = condition[start..].iter().take_while(is_of_list);
    listed.filter_map(|token| if let TodoToken::Text(id) = token { Some(id.clone()) } else { None })
}

fn state(status: Option<&str>) -> TaskState {
    match status {
        Some("done" | "completed") => TaskState::Done,
        Some("cancelled" | "deleted") => TaskState::Dropped,
        _ => TaskState::Open,
    }
}

fn word(token: &TodoToken) -> Option<&str> {
    if let TodoToken::Word(word) = token { Some(word) } else { None }
}

fn tokens(query: &str) -> Vec<TodoToken> {
    let mut tokens = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => {
                let (text, length) = quoted(rest);
                tokens.push(TodoToken::Text(text));
                length
            }
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            _ if is_of_word(first) => {
                let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                tokens.push(TodoToken::Word(rest[..length].trim_matches(['"', '`']).to_lowercase()));
                length
            }
            _ => {
                tokens.push(TodoToken::Sign(first));
                first.len_utf8()
            }
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '"' | '`' | '.')
}

/// The text in single quotes at the start, and its length with the quotes. A quote in it is doubled.
fn quoted(text: &str) -> (String, usize) {
    let mut read = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            read.push(c);
        } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
            read.push('\'');
        } else {
            return (read, at + 1);
        }
    }
    (read, text.len())
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    fn read(query: &str) -> Vec<(String, String, TaskState)> {
        let mut used = Use::new(&BUILT_IN);
        changed(&mut used, query);
        let text = |text: &Option<cerberus_record::clean::text::Clean>| text.as_deref().unwrap_or_default().to_string();
        used.tasks.iter().map(|task| (text(&task.id), text(&task.subject), task.state)).collect()
    }

    #[test]
    fn statements_that_change_the_list_are_read() {
        use TaskState::{Done, Dropped, Open};
        for (query, expected) in [
            (
                "INSERT INTO todos (id, title, description) VALUES\n ('docs', 'Write it''s docs; all', 'x'), ('b', 'Test', 'y(1), z')",
                &[("docs", "Write it's docs; all", Open), ("b", "Test", Open)][..],
            ),
            ("insert or ignore into todos values ('a', 'First', NULL, 'done');", &[("a", "First", Done)]),
            ("INSERT INTO todos (title, status) VALUES ('Only a title', 'pending')", &[("", "Only a title", Open)]),
            (
                "INSERT INTO todos (id, title) VALUES ('a', 'First') ON CONFLICT(id) DO UPDATE SET title = 'other'",
                &[("a", "First", Open)],
            ),
            ("UPDATE todos SET status = 'done' WHERE id = 'a'", &[("a", "", Done)]),
            (
                "UPDATE \"todos\" SET updated_at = datetime('now'), status='done' WHERE id IN ('a', 'b') AND status = 'x';",
                &[("a", "", Done), ("b", "", Done)],
            ),
            ("UPDATE todos SET status = 'in_progress' WHERE id = 'a'", &[]),
            ("UPDATE todos SET status = 'done' WHERE title LIKE '%x%'", &[]),
            ("UPDATE todos SET status = 'done'", &[]),
            ("DELETE FROM todos WHERE id = 'a'", &[("a", "", Dropped)]),
            (
                "-- 'first'\nUPDATE todos SET status = 'done' WHERE id = 'a'; INSERT INTO todos (id, title) VALUES ('c', 'Next')",
                &[("a", "", Done), ("c", "Next", Open)],
            ),
            ("SELECT * FROM todos WHERE id = 'a'", &[]),
            ("INSERT INTO todo_deps (todo_id, depends_on) VALUES ('a', 'b')", &[]),
            ("INSERT INTO notes (id, title) VALUES ('a', 'todos')", &[]),
            ("INSERT INTO todos (id, title) VALUES ('a', 'never closed", &[("a", "never closed", Open)]),
            ("INSERT INTO todos (id, title) SELECT 'a', 'b'", &[]),
            ("'", &[]),
            ("", &[]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|(id, title, state)| (id.to_string(), title.to_string(), *state)).collect();
            assert_eq!(read(query), expected, "{query}");
        }
    }

    #[test]
    fn the_number_of_tasks_is_limited() {
        let rows: Vec<String> = (0..3 * TODOS_MAX).map(|number| format!("('{number}', 'task {number}')")).collect();
        assert_eq!(read(&format!("INSERT INTO todos (id, title) VALUES {}", rows.join(","))).len(), TODOS_MAX);
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(query in "(?s)[ \\PC]{0,80}|(INSERT INTO todos|UPDATE todos SET status = |VALUES|'|\\(|\\)|,|id|WHERE| ){0,20}") {
            read(&query);
        }
    }
}
