//! `cerberus check`: rules that hold. Only the user changes them; an agent may look.

pub mod replayed;
pub mod wire;

use cerberus_agents::settings::shell_word;
use cerberus_checks::derive::derive;
use cerberus_checks::enforce::{self, CheckRow, CheckTally, CheckWish};
use cerberus_checks::{Rule, RuleError};
use cerberus_record::check::CheckLevel;
use cerberus_record::clean::text::line;
use cerberus_record::memory::Scope;
use cerberus_store::project::guides;
use cerberus_store::view::{MemoryRow, Store};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use self::replayed::ReplayedCheck;
use super::memory::found::find;
use super::pause;
use crate::context::{self, Context};
use crate::failure::{Hint, Result};
use crate::render;

/// Make a rule hold: an agent that would break it is reminded, has to ask, or is stopped
///
/// A check belongs to a memory that you approved by hand. It is a reminder for an agent that means well, not a sandbox.
/// Only you can add, change or remove one; an agent that runs these commands is refused.
#[derive(clap::Args)]
pub struct CheckArgs {
    #[command(subcommand)]
    pub(super) command: CheckCommand,
}

commands! {
    pub(super) enum CheckCommand {
        Add(Box<CheckAddArgs>),
        List(CheckListArgs),
        Show(CheckShowArgs),
        Level(CheckSetLevelArgs),
        Remove(CheckRemoveArgs),
        AllowOnce(CheckAllowOnceArgs),
    }
}

impl CheckArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        // Whatever is asked for, hooks read a whole file afterwards.
        enforce::compile(&context.home, &context.store()?)?;
        self.command.run(context)
    }
}

fn levels() -> impl TypedValueParser<Value = CheckLevel> {
    PossibleValuesParser::new(CheckLevel::ALL.map(CheckLevel::word))
        .map(|word| CheckLevel::from_word(&word).unwrap_or(CheckLevel::Tell))
}

/// Give a memory a check
///
/// Without options, the check is read from the sentence, if that is clear. A sentence instead of an id is learned as a
/// memory of this project first. The level is tell until you raise it: remind denies the first try and lets the identical
/// retry pass, ask lets the agent ask you where it can, block always denies.
#[derive(clap::Args)]
pub struct CheckAddArgs {
    /// The id of the memory, the start of its id, or a sentence
    #[arg(value_name = "ID|SENTENCE")]
    memory: String,

    /// A command that may not be run: program, words, flags
    #[arg(long, value_name = "COMMAND")]
    forbid: Vec<String>,

    /// What to run instead of it
    #[arg(long, value_name = "COMMAND")]
    instead: Option<String>,

    /// Words that must come before a command
    #[arg(long, value_name = "WORDS")]
    prefix: Option<String>,

    /// The commands that need the prefix [default: all]
    #[arg(long, value_name = "COMMAND")]
    on: Vec<String>,

    /// Files that may not be edited or deleted
    #[arg(long, value_name = "GLOB")]
    protect: Option<String>,

    /// A branch to which nothing may be committed or pushed
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Forbid only this: edit, delete or commit (files); commit or push (a branch)
    #[arg(long, value_name = "ACT")]
    only: Option<String>,

    /// The command that needs others before it; stop is the end of a turn
    #[arg(long, value_name = "COMMAND")]
    before: Option<String>,

    /// A command that must have run since the last edit
    #[arg(long, value_name = "COMMAND")]
    need: Vec<String>,

    /// Text that a commit message may not contain
    #[arg(long, value_name = "TEXT")]
    message_forbid: Vec<String>,

    /// How a commit message must begin; # stands for digits
    #[arg(long, value_name = "TEXT")]
    message_start: Vec<String>,

    /// The most characters in the first line of a commit message
    #[arg(long, value_name = "NUMBER")]
    message_max: Option<String>,

    /// Text that may not be written into files
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// The files that the text is about [default: all]
    #[arg(long = "in", value_name = "GLOB")]
    files: Option<String>,

    /// How strict it is: tell, remind, ask, block
    #[arg(long, value_name = "LEVEL", default_value = "tell", hide_possible_values = true, value_parser = levels())]
    level: CheckLevel,
}

impl CheckAddArgs {
    fn words(&self) -> Vec<String> {
        let many = [
            ("--forbid", &self.forbid),
            ("--on", &self.on),
            ("--need", &self.need),
            ("--message-forbid", &self.message_forbid),
            ("--message-start", &self.message_start),
        ];
        let one = [
            ("--instead", &self.instead),
            ("--prefix", &self.prefix),
            ("--protect", &self.protect),
            ("--branch", &self.branch),
            ("--only", &self.only),
            ("--before", &self.before),
            ("--message-max", &self.message_max),
            ("--text", &self.text),
            ("--in", &self.files),
        ];
        let many = many.into_iter().flat_map(|(option, values)| values.iter().map(move |value| (option, value)));
        let one = one.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?)));
        many.chain(one).flat_map(|(option, value)| [option.to_string(), value.clone()]).collect()
    }

    fn run(self, context: &Context) -> Result<()> {
        let located = context.located();
        context.may_store(&located)?;
        let mut store = context.store()?;
        let given = self.words();
        // Nothing is learned from a sentence whose rule is wrong.
        let given = if given.is_empty() { None } else { Some(rule(Rule::parse(&given))?) };
        let row = match self.memory.trim().contains(' ') {
            false => find(&store, &self.memory, context.clock.now)?,
            true => {
                if given.is_none() && derive(&self.memory).is_none() {
                    return Err(not_clear());
                }
                let scope = Scope::Project(located.name.clone());
                let learned = context.keeper(&located).learn(&mut store, &self.memory, "rule", &scope)?;
                find(&store, learned.id.as_str(), context.clock.now)?
            }
        };
        fit(&row)?;
        let rule = match given {
            Some(rule) => rule,
            None => derive(&row.memory.content).ok_or_else(not_clear)?,
        };
        set(context, &mut store, &row, &rule, self.level)
    }
}

fn rule(parsed: std::result::Result<Rule, RuleError>) -> Result<Rule> {
    parsed.hint("`cerberus check add --help` lists the options")
}

fn not_clear() -> crate::failure::CommandFailure {
    crate::failure::CommandFailure {
        error: anyhow::anyhow!("this sentence does not clearly say what to check"),
        hint: "say it with options, such as --forbid npm --instead pnpm; `cerberus check add --help` lists them"
            .to_string(),
    }
}

/// Fails if the memory was not approved by hand.
fn fit(row: &MemoryRow) -> Result<()> {
    match enforce::unfit(row) {
        None => Ok(()),
        Some(enforce::Unfit::Imported | enforce::Unfit::NoProject) => {
            Err(anyhow::anyhow!("{} cannot have a check: you did not write it on this device", row.id))
                .hint(format!("learn it yourself: cerberus learn {}", shell_word(&line(&row.memory.content, 200))))
        }
        Some(why) => Err(anyhow::anyhow!("{} cannot have a check: {why}", row.id))
            .hint(format!("approve it first: cerberus memory approve {}", row.id)),
    }
}

/// Records the check and reports it, with what it would have stopped.
fn set(context: &Context, store: &mut Store, row: &MemoryRow, rule: &Rule, level: CheckLevel) -> Result<()> {
    if level > rule.level_max() {
        return Err(anyhow::anyhow!("a check of text goes no higher than {}", rule.level_max().word()))
            .hint(format!("use --level {}", rule.level_max().word()));
    }
    let said = CheckWish { memory: row, words: &rule.words(), level, allows_once: false };
    enforce::say(&context.home, &context.clock, store, &context.located(), &said)?;
    let check = one(context, store, row.id.as_str())?;
    let replayed = ReplayedCheck::of(context, store, &check)?;
    let wired = wire::rewire(context)?;
    if context.json {
        let mut value = as_json(&check, None);
        value["replay"] = replayed.json();
        value["files"] = json!(wired.iter().map(|one| render::path(&one.path)).collect::<Vec<_>>());
        render::json(&value);
        return Ok(());
    }
    render::line(&shown(&check));
    replayed.lines().iter().for_each(|line| render::line(line));
    wire::print(&wired);
    if level == CheckLevel::Tell {
        render::talk(&format!("to switch it on: cerberus check level {} remind", row.id));
    }
    Ok(())
}

/// List the checks, how often each was broken, and pauses that switched them off
#[derive(clap::Args)]
pub struct CheckListArgs {
    /// List memories and sentences of guides that a check can be read from instead
    #[arg(long)]
    possible: bool,
}

impl CheckListArgs {
    fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        if self.possible {
            return list_possible(context, &store);
        }
        let rows = enforce::all(&context.home, &store, context.clock.now)?;
        let tallies = enforce::tallies(&store, context.clock.now)?;
        let pauses = store.pauses(context.clock.now)?;
        let tally = |row: &CheckRow| tallies.iter().find(|(id, _)| id == row.id().as_str()).map(|(_, tally)| *tally);
        if context.json {
            let listed: Vec<Value> = rows.iter().map(|row| as_json(row, tally(row))).collect();
            let pauses = pauses.iter().map(|pause| {
                json!({ "at": pause.at.to_string(), "project": pause.project, "lifted": pause.is_lifted,
                    "until": pause.until.map(|until| until.to_string()) })
            });
            render::json(&json!({ "checks": listed, "pauses": pauses.collect::<Vec<_>>() }));
            return Ok(());
        }
        if rows.is_empty() {
            render::sentence(NO_CHECKS);
        }
        for row in &rows {
            render::line(&shown(row));
            tally(row).iter().for_each(|tally| render::line(&format!("  {}", counted(tally))));
        }
        let newest = pauses.iter().skip(pauses.len().saturating_sub(PAUSES_MAX));
        newest.for_each(|pause| render::line(&pause::line(context, pause)));
        Ok(())
    }
}

/// What to do before there is a check.
const NO_CHECKS: &str =
    "no checks; `cerberus check list --possible` lists the rules that could have one, `cerberus check add` adds it";

/// How many of the pauses are listed for people.
const PAUSES_MAX: usize = 5;

/// What a check could be read from.
fn list_possible(context: &Context, store: &Store) -> Result<()> {
    let known = enforce::all(&context.home, store, context.clock.now)?;
    let mut found: Vec<(String, String, Rule)> = Vec::new();
    let memories = store.memories(cerberus_record::memory::MemoryStatus::Approved, context.clock.now)?;
    for row in memories.iter().filter(|row| known.iter().all(|check| *check.id() != row.id)) {
        let rule = derive(&row.memory.content);
        found.extend(rule.map(|rule| (row.id.as_str().to_string(), row.memory.content.to_string(), rule)));
    }
    for guide in guides::read(&context.located(), &context::user_folders(), |_| true) {
        let sentences = guide.text.lines().filter_map(|line| Some((line.trim(), derive(line)?)));
        found.extend(sentences.map(|(line, rule)| {
            let plain = line.trim_start_matches(['-', '*', '+', ' ']).to_string();
            (guide.name.clone(), plain, rule)
        }));
    }
    if context.json {
        let listed = found
            .iter()
            .map(|(from, sentence, rule)| json!({"from": from, "sentence": sentence, "rule": rule.to_string()}));
        render::json(&json!({ "possible": listed.collect::<Vec<_>>() }));
        return Ok(());
    }
    if found.is_empty() {
        render::sentence("no memory and no sentence of a guide clearly says what to check");
    }
    for (from, sentence, rule) in found {
        render::line(&format!("{from}  {}", line(&sentence, 120)));
        render::line(&format!("  {rule}"));
    }
    Ok(())
}

/// Show a check, and what it would have stopped so far
#[derive(clap::Args)]
pub struct CheckShowArgs {
    /// The id of the memory, or the start of its id
    id: String,
}

impl CheckShowArgs {
    fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let row = find(&store, &self.id, context.clock.now)?;
        let check = one(context, &store, row.id.as_str())?;
        let tallies = enforce::tallies(&store, context.clock.now)?;
        let tally = tallies.iter().find(|(id, _)| id == row.id.as_str()).map(|(_, tally)| *tally);
        let replayed = ReplayedCheck::of(context, &store, &check)?;
        if context.json {
            let mut value = as_json(&check, tally);
            value["replay"] = replayed.json();
            render::json(&value);
            return Ok(());
        }
        render::line(&shown(&check));
        tally.iter().for_each(|tally| render::line(&format!("  {}", counted(tally))));
        replayed.lines().iter().for_each(|line| render::line(line));
        Ok(())
    }
}

/// Change how strict a check is: tell, remind, ask, block
#[derive(clap::Args)]
pub struct CheckSetLevelArgs {
    /// The id of the memory, or the start of its id
    id: String,

    /// tell switches it off
    #[arg(value_name = "LEVEL", hide_possible_values = true, value_parser = levels())]
    level: CheckLevel,
}

impl CheckSetLevelArgs {
    fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let row = find(&store, &self.id, context.clock.now)?;
        let check = one(context, &store, row.id.as_str())?;
        if self.level != CheckLevel::Tell {
            fit(&row)?;
        }
        set(context, &mut store, &row, &check.rule, self.level)
    }
}

/// Remove the check of a memory; the memory stays
#[derive(clap::Args)]
pub struct CheckRemoveArgs {
    /// The id of the memory, or the start of its id
    id: String,
}

impl CheckRemoveArgs {
    fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let row = find(&store, &self.id, context.clock.now)?;
        let check = one(context, &store, row.id.as_str())?;
        let said = CheckWish { memory: &check.memory, words: &[], level: CheckLevel::Tell, allows_once: false };
        enforce::say(&context.home, &context.clock, &mut store, &context.located(), &said)?;
        let wired = wire::rewire(context)?;
        context.answer(&json!({"id": row.id, "removed": true}), || {
            render::line(&format!("removed the check of {}", row.id));
            wire::print(&wired);
        })
    }
}

/// Let the next violation of a check pass, within an hour
#[derive(clap::Args)]
pub struct CheckAllowOnceArgs {
    /// The id of the memory, or the start of its id
    id: String,
}

impl CheckAllowOnceArgs {
    fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let row = find(&store, &self.id, context.clock.now)?;
        let check = one(context, &store, row.id.as_str())?;
        let words = check.rule.words();
        let said = CheckWish { memory: &check.memory, words: &words, level: check.level, allows_once: true };
        enforce::say(&context.home, &context.clock, &mut store, &context.located(), &said)?;
        context.answer(&json!({"id": row.id, "allowed_once": true}), || {
            render::line(&format!("the next violation of {} passes, within an hour", row.id))
        })
    }
}

/// Brings what hooks enforce in line with the memories, after those may have changed.
pub fn follow_memories(context: &Context) -> Result<()> {
    let store = context.view()?;
    enforce::compile(&context.home, &store)?;
    if !wire::is_enforcing(context) {
        wire::rewire(context)?;
    }
    Ok(())
}

/// The check of a memory.
fn one(context: &Context, store: &Store, id: &str) -> Result<CheckRow> {
    let rows = enforce::all(&context.home, store, context.clock.now)?;
    let found = rows.into_iter().find(|row| row.id().as_str() == id);
    found
        .ok_or_else(|| anyhow::anyhow!("{id} has no check"))
        .hint(format!("give it one with `cerberus check add {id}`"))
}

/// `m-12ab  remind  Use pnpm, not npm  (--forbid npm --instead pnpm)`.
fn shown(row: &CheckRow) -> String {
    let sentence = line(&row.memory.memory.content, 100);
    let idle =
        row.idle.filter(|_| row.level != CheckLevel::Tell).map_or_else(String::new, |why| format!("  off: {why}"));
    format!("{}  {}  {sentence}  ({}){idle}", row.id(), row.level.word(), row.rule)
}

/// `prevented 3, overridden 1, obeyed afterwards in 2 of 3 sessions`.
pub fn counted(tally: &CheckTally) -> String {
    let allowed = if tally.allowed > 0 { format!(", allowed {}", tally.allowed) } else { String::new() };
    format!(
        "prevented {}, overridden {}{allowed}, obeyed afterwards in {} of {}",
        tally.prevented,
        tally.overridden,
        tally.obeyed,
        render::count(tally.sessions, "session"),
    )
}

pub fn tally_json(tally: &CheckTally) -> Value {
    json!({
        "prevented": tally.prevented, "overridden": tally.overridden, "allowed": tally.allowed,
        "sessions": tally.sessions, "obeyed": tally.obeyed,
    })
}

fn as_json(row: &CheckRow, tally: Option<CheckTally>) -> Value {
    let mut value = json!({
        "id": row.id(), "sentence": &*row.memory.memory.content, "scope": &*row.memory.memory.scope,
        "kind": row.rule.kind(), "rule": row.rule.to_string(), "level": row.level.word(), "on": row.is_on(),
        "since": row.at.to_string(),
    });
    if let Some(why) = row.idle {
        value["off_because"] = why.to_string().into();
    }
    if let Some(tally) = tally {
        value["decisions"] = tally_json(&tally);
    }
    value
}
