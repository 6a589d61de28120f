//! Search quality: long conversations with questions about them, against plain FTS5 BM25 on the same turns.
//!
//! You bring the conversations, in the format of the LoCoMo dataset (a JSON list, may be gzipped). Each turn is
//! imported as one memory, each conversation into its own home, and each question is asked in its own process of the
//! real binary. Recall at k is the share of the turns with the answer that are among the first k results; the mean is
//! over the questions that have such turns.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use cerberus_recall::search::query::is_stop_word;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::measure::{Target, say, table};
use crate::programs::Programs;
use crate::scratch::Scratch;

const FOUND_MAX: usize = 10;
/// The category of questions with a deliberately wrong premise.
const ADVERSARIAL: u8 = 5;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[derive(Deserialize)]
struct Sample {
    qa: Vec<Question>,
    conversation: Map<String, Value>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

struct Turn {
    id: String,
    speaker: String,
    text: String,
    at: Option<String>,
}

/// How a turn becomes a memory.
#[derive(Clone, Copy)]
enum Form {
    Named,
    TextOnly,
}

impl Form {
    fn content(self, turn: &Turn) -> String {
        match self {
            Form::Named => format!("{}: {}", turn.speaker, turn.text),
            Form::TextOnly => turn.text.clone(),
        }
    }
}

/// Recall at 5 and at 10, summed, with and without the adversarial questions.
#[derive(Default)]
struct Score {
    all: (f64, f64, usize),
    answerable: (f64, f64, usize),
}

impl Score {
    fn count(&mut self, category: u8, found: &[String], evidence: &[&str]) {
        let share = |first: usize| {
            let hit = |id: &&&str| found.iter().take(first).any(|found| found == **id);
            evidence.iter().filter(hit).count() as f64 / evidence.len() as f64
        };
        let sums = [Some(&mut self.all), Some(&mut self.answerable).filter(|_| category != ADVERSARIAL)];
        for sum in sums.into_iter().flatten() {
            *sum = (sum.0 + share(5), sum.1 + share(FOUND_MAX), sum.2 + 1);
        }
    }

    fn means(&self) -> [f64; 4] {
        let mean = |sum: f64, questions: usize| 100.0 * sum / questions.max(1) as f64;
        let (all, answerable) = (self.all, self.answerable);
        [mean(all.0, all.2), mean(all.1, all.2), mean(answerable.0, answerable.2), mean(answerable.1, answerable.2)]
    }

    fn cells(&self, name: &str) -> Vec<String> {
        std::iter::once(name.to_string()).chain(self.means().iter().map(|mean| format!("{mean:.1}"))).collect()
    }
}

pub fn run(programs: &Programs) -> Result<()> {
    let Some(data) = programs.data.as_deref().filter(|data| data.is_file()) else {
        return say("needs conversations: --data FILE (LoCoMo JSON, may be gzipped)");
    };
    let bytes = cerberus_store::import::files::read(data).with_context(|| data.display().to_string())?;
    let samples: Vec<Sample> = serde_json::from_slice(&bytes).context("conversations with questions")?;
    let mut rows = Vec::new();
    for (form, name) in [(Form::Named, "Name: text"), (Form::TextOnly, "text only")] {
        let (mut ours, mut plain) = (Score::default(), Score::default());
        for sample in &samples {
            ask(programs, sample, form, &mut ours, &mut plain)?;
        }
        rows.push(plain.cells(&format!("{name}, plain BM25")));
        rows.push(ours.cells(&format!("{name}, cerberus")));
        let gain = ours.means()[1] - plain.means()[1];
        say(&format!("{name}: {} questions, @10 {gain:+.1}, {}", ours.all.2, Target::AtLeast(6.0).beside(gain)))?;
    }
    table(&["recall of the turns that answer, %", "@5", "@10", "@5 answerable", "@10 answerable"], &rows)
}

fn ask(programs: &Programs, sample: &Sample, form: Form, ours: &mut Score, plain: &mut Score) -> Result<()> {
    let turns = turns(&sample.conversation)?;
    let scratch = Scratch::new()?;
    let home = scratch.home("locomo");
    let line = |turn: &Turn| {
        let mut line = json!({"content": form.content(turn), "metadata": {"turn": turn.id}});
        if let Some(at) = &turn.at {
            line["created_at"] = json!(at);
        }
        line.to_string()
    };
    let lines = turns.iter().map(line).collect::<Vec<_>>().join("\n");
    let file = scratch.file("turns.jsonl", lines.as_bytes())?;
    let imported = scratch.json(programs, &home, &["memory", "import", &file.display().to_string()])?;
    ensure!(imported["imported"] == turns.len(), "not every turn was imported: {imported}");
    let baseline = Plain::new(&turns, form)?;
    for question in &sample.qa {
        let known = |id: &&str| turns.iter().any(|turn| turn.id == **id);
        let said = question.evidence.iter().flat_map(|ids| ids.split([' ', ';', ',']));
        let mut evidence: Vec<&str> = said.filter(known).collect();
        evidence.sort_unstable();
        evidence.dedup();
        if evidence.is_empty() {
            continue;
        }
        let found = scratch.json(programs, &home, &["memory", "search", "--limit", "10", &question.question])?;
        let id = |memory: &Value| memory["metadata"]["turn"].as_str().map(str::to_string);
        let found: Vec<String> = found.as_array().into_iter().flatten().filter_map(id).collect();
        ours.count(question.category, &found, &evidence);
        plain.count(question.category, &baseline.search(&question.question)?, &evidence);
    }
    Ok(())
}

/// The turns of all sessions, in order.
fn turns(conversation: &Map<String, Value>) -> Result<Vec<Turn>> {
    let mut turns = Vec::new();
    for session in (1..).take_while(|session| conversation.contains_key(&format!("session_{session}_date_time"))) {
        let at = conversation[&format!("session_{session}_date_time")].as_str().and_then(time);
        let said = conversation.get(&format!("session_{session}")).and_then(Value::as_array);
        for turn in said.into_iter().flatten() {
            let text =
                |key: &str| turn[key].as_str().map(str::to_string).with_context(|| format!("a turn without {key}"));
            turns.push(Turn { id: text("dia_id")?, speaker: text("speaker")?, text: text("text")?, at: at.clone() });
        }
    }
    Ok(turns)
}

/// `1:56 pm on 8 May, 2023` as RFC 3339.
fn time(text: &str) -> Option<String> {
    let (clock, date) = text.split_once(" on ")?;
    let (clock, half) = clock.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour = hour.parse::<u32>().ok()? % 12 + if half == "pm" { 12 } else { 0 };
    let mut date = date.split([' ', ',']).filter(|part| !part.is_empty());
    let (day, month, year) = (date.next()?.parse::<u32>().ok()?, date.next()?, date.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Some(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute}:00Z"))
}

/// Plain SQLite: any of the words of the question without stop words, ranked by BM25.
struct Plain {
    connection: Connection,
    ids: HashMap<i64, String>,
}

impl Plain {
    fn new(turns: &[Turn], form: Form) -> Result<Plain> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize='porter unicode61')")?;
        let mut ids = HashMap::new();
        for turn in turns {
            connection.execute("INSERT INTO turn (text) VALUES (?1)", [form.content(turn)])?;
            ids.insert(connection.last_insert_rowid(), turn.id.clone());
        }
        Ok(Plain { connection, ids })
    }

    fn search(&self, question: &str) -> Result<Vec<String>> {
        let words = question.split_whitespace().filter(|word| !is_stop_word(word));
        let words = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT rowid FROM turn WHERE turn MATCH ?1 ORDER BY rank LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map((words.join(" OR "), FOUND_MAX), |row| row.get::<_, i64>(0))?;
        Ok(rows.collect::<rusqlite::Result<Vec<i64>>>()?.iter().map(|row| self.ids[row].clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_times_are_read() {
        assert_eq!(time("1:56 pm on 8 May, 2023").as_deref(), Some("2023-05-08T13:56:00Z"));
        assert_eq!(time("12:09 am on 13 September, 2023").as_deref(), Some("2023-09-13T00:09:00Z"));
        assert_eq!(time("noon"), None);
    }

    #[test]
    fn recall_is_the_share_of_evidence_among_the_first() {
        let found: Vec<String> = (1..=10).map(|turn| format!("D1:{turn}")).collect();
        let mut score = Score::default();
        score.count(1, &found, &["D1:2", "D1:9"]);
        score.count(ADVERSARIAL, &found, &["D7:7"]);
        assert_eq!(score.means(), [25.0, 50.0, 50.0, 100.0]);
    }
}
