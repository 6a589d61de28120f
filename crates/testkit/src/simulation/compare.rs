//! Compares two views of one journal: the one that grew with it, and one rebuilt from scratch.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use cerberus_os::home::Home;
use cerberus_store::view;
use cerberus_store::view::fold;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::world::World;

/// Where two views differ.
#[derive(Debug)]
pub struct Difference {
    pub what: String,
    pub grown: String,
    pub rebuilt: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} differs", self.what)?;
        for (a, b) in self.grown.lines().zip(self.rebuilt.lines()).filter(|(a, b)| a != b).take(5) {
            writeln!(f, "  grown:   {a}\n  rebuilt: {b}")?;
        }
        let (grown, rebuilt) = (self.grown.lines().count(), self.rebuilt.lines().count());
        write!(f, "  {grown} lines grown, {rebuilt} rebuilt")
    }
}

/// Compares everything derived from the two views.
pub fn views(world: &mut World) -> Result<(), Difference> {
    world.fold();
    let rebuilt = world.rebuilt_home().to_path_buf();
    copy_journal(world.grown_home(), &rebuilt);
    let home = Home::new(rebuilt.clone());
    drop(fold::open(&home).expect("a view can be made from nothing"));
    same("the view", dump(world.grown_home()), dump(&rebuilt))?;
    for project in world.projects() {
        for prompt in [None, Some("fix the failing test in src/lib.rs")] {
            let of = |root: &Path| world.brief(root, project, prompt);
            same("a brief", of(world.grown_home()), of(&rebuilt))?;
        }
    }
    Ok(())
}

/// The JSON output of every command that only reads, from the program itself.
pub fn outputs(world: &World, binary: &Path) -> Result<(), Difference> {
    const COMMANDS: [&[&str]; 14] = [
        &["brief"],
        &["brief", "--prompt", "fix the failing test in src/lib.rs", "--explain"],
        &["status"],
        &["project"],
        &["memory", "session-status", "--all"],
        &["memory", "session-history", "--days", "3650"],
        &["memory", "recover", "--list"],
        &["memory", "list"],
        &["memory", "stats"],
        &["memory", "search", "tests"],
        &["session", "export"],
        &["log"],
        &["show"],
        &["search", "tests"],
    ];
    for project in world.projects() {
        for command in COMMANDS {
            let of = |root: &Path| {
                let mut run = Command::new(binary);
                run.env_clear().env("HOME", root).env("CERBERUS_HOME", root).args(command);
                run.args(["--json", "--now", &world.now().to_string(), "--cwd"]).arg(project);
                let output = run.output().expect("the program runs");
                let text = String::from_utf8_lossy(&output.stdout).replace(&root.display().to_string(), "HOME");
                // The size of a view depends on its history, that of a journal also on when git answers: these commands
                // record which repository a folder belongs to.
                let is_size = |line: &&str| line.contains("\"view_bytes\"") || line.contains("\"journal_bytes\"");
                text.lines().filter(|line| !is_size(line)).collect::<Vec<_>>().join("\n")
            };
            same(&command.join(" "), of(world.grown_home()), of(world.rebuilt_home()))?;
        }
    }
    Ok(())
}

pub fn same(what: &str, grown: String, rebuilt: String) -> Result<(), Difference> {
    match grown == rebuilt {
        true => Ok(()),
        false => Err(Difference { what: what.to_string(), grown, rebuilt }),
    }
}

/// A home with the same journal and no view.
fn copy_journal(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to.join("journal")).expect("a folder can be made");
    for name in ["key", "device"] {
        let _ = fs::copy(from.join(name), to.join(name));
    }
    for entry in fs::read_dir(from.join("journal")).into_iter().flatten().flatten() {
        fs::copy(entry.path(), to.join("journal").join(entry.file_name())).expect("a segment can be copied");
    }
}

/// Columns that number rows in order of insertion. The order of the rows themselves covers their use.
const ROW_NUMBERS: [(&str, &str); 7] = [
    ("mark", "row"),
    ("fact", "row"),
    ("run", "row"),
    ("closing", "row"),
    ("correction", "row"),
    ("receipt", "row"),
    ("summary", "row"),
];

/// Tables that do not follow from the journal, or that are only temporary.
const NOT_FROM_THE_JOURNAL: [&str; 8] =
    ["digest", "distilled", "entry", "git_log", "root_asked", "title_asked", "unindexed", "unwanted"];

/// Every row of a view, table by table, sorted by content.
fn dump(root: &Path) -> String {
    let view = view::view_file(&Home::new(root.to_path_buf()));
    let view = Connection::open_with_flags(view, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the view can be opened");
    let mut tables = view
        .prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memory_terms%'
            AND name NOT LIKE 'entry_terms%' ORDER BY name",
        )
        .expect("tables");
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).expect("tables").collect::<Result<_, _>>().expect("names");
    let mut out = String::new();
    for table in tables.iter().filter(|table| !NOT_FROM_THE_JOURNAL.contains(&table.as_str())) {
        let mut rows = view.prepare(&format!("SELECT * FROM \"{table}\"")).expect("a table");
        let columns: Vec<String> = rows.column_names().map(str::to_string).collect();
        let kept: Vec<usize> =
            (0..columns.len()).filter(|at| !ROW_NUMBERS.contains(&(table.as_str(), columns[*at].as_str()))).collect();
        let mut lines = Vec::new();
        let mut found = rows.query([]).expect("rows");
        while let Some(row) = found.next().expect("a row") {
            let values: Vec<String> = kept
                .iter()
                .map(|at| format!("{}={}", columns[*at], value(row.get_ref(*at).expect("a value"))))
                .collect();
            lines.push(format!("{table}: {}", values.join(" ")));
        }
        lines.sort();
        out.push_str(&lines.join("\n"));
        out.push('\n');
    }
    out
}

fn value(value: ValueRef) -> String {
    match value {
        ValueRef::Null => "-".to_string(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => format!("{bytes:?}"),
    }
}
