//! What likely rules would have stopped in real sessions, per kind and per thousand tool uses.
//!
//! Reads transcripts from `--data DIR`, one folder per person, each session in its own project. `CERBERUS_HITS=FILE` also
//! writes every hit to a file, to be judged by hand: a hit is wrong if the rule's author would not have wanted it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cerberus_agents::{ALL, transcripts};
use cerberus_checks::replay::Replay;
use cerberus_checks::{Check, Rule};
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::path;
use cerberus_store::import::files;

use crate::measure::say;

/// Rules that people are likely to have, and whether they would block.
const RULES: &[(&str, bool)] = &[
    ("--forbid 'git push --force'", true),
    ("--forbid 'git reset --hard'", true),
    ("--forbid 'git commit --no-verify'", true),
    ("--forbid sudo", true),
    ("--forbid 'rm -rf'", false),
    ("--forbid npm --instead pnpm", false),
    ("--forbid yarn --instead pnpm", false),
    ("--forbid pip --instead uv", false),
    ("--forbid 'git add -A' --forbid 'git add .'", false),
    ("--forbid 'git stash'", false),
    ("--forbid 'git commit --amend'", false),
    ("--forbid grep --instead rg", false),
    ("--prefix 'uv run' --on pytest --on python", false),
    ("--protect '*.lock'", true),
    ("--protect package-lock.json", true),
    ("--protect vendor/", true),
    ("--protect .github/", false),
    ("--protect .env --only commit", true),
    ("--protect CLAUDE.md", false),
    ("--branch main --only commit", true),
    ("--branch main --only push", false),
    ("--branch master --only commit", false),
    (
        "--message-start feat --message-start fix --message-start docs --message-start refactor --message-start test --message-start chore --message-start perf --message-start ci --message-start build --message-start style",
        false,
    ),
    ("--message-max 72", false),
    ("--message-forbid Co-Authored-By", false),
    ("--before 'git commit' --need 'cargo test'", false),
    ("--before 'git commit' --need 'go test'", false),
    ("--before 'git commit' --need 'npm test'", false),
    ("--before 'git push' --need 'cargo fmt'", false),
    ("--before stop --need 'cargo test'", false),
    ("--before stop --need 'go test'", false),
];

/// An order or a stop only means something where its command itself is ever run.
fn is_foreign(rule: &Rule, commands: &[String]) -> bool {
    let need = match rule {
        Rule::Order { need, .. } | Rule::Stop { need } => need,
        _ => return false,
    };
    !need.iter().all(|need| commands.iter().any(|line| need.is_run_in(line)))
}

#[derive(Default)]
struct Sum {
    hits: usize,
    concerned: usize,
    uses: usize,
    block_hits: usize,
}

/// The transcripts of each person.
pub type People = BTreeMap<String, Vec<(Agent, Vec<u8>)>>;

/// Each person's transcripts are in a folder of their own.
pub fn people(dir: &Path) -> Result<People> {
    let mut people = People::new();
    for profile in ALL {
        for path in files::transcripts(profile.agent, dir).with_context(|| dir.display().to_string())? {
            let mut parts = path.strip_prefix(dir).unwrap_or(&path).components();
            // Files beside the folders are not transcripts.
            let (Some(person), Some(_)) = (parts.next(), parts.next()) else { continue };
            let person = person.as_os_str().to_string_lossy().into_owned();
            people.entry(person).or_default().push((profile.agent, files::read(&path)?));
        }
        // The same file is no transcript of two agents.
        if !people.is_empty() {
            break;
        }
    }
    Ok(people)
}

pub fn run(data: Option<&Path>) -> Result<()> {
    let Some(dir) = data else {
        return say("needs a folder of transcripts: --data DIR");
    };
    let people = people(dir)?;
    ensure!(!people.is_empty(), "{} has no transcripts", dir.display());
    let mut sums: BTreeMap<&'static str, Sum> = BTreeMap::new();
    let mut hits = String::new();
    let mut uses = 0;
    for (person, transcripts) in &people {
        let records: Vec<Record> = transcripts.iter().flat_map(|(agent, bytes)| records(*agent, bytes)).collect();
        let tools =
            records.iter().filter_map(|record| if let Event::Tool(used) = &record.event { Some(used) } else { None });
        let commands: Vec<String> = tools.filter_map(|used| Some(used.command.as_ref()?.to_string())).collect();
        // The rules are those of the person's projects; they do not hold elsewhere.
        let mut projects: Vec<ProjectId> = records.iter().map(|record| record.location.project.clone()).collect();
        projects.sort();
        projects.dedup();
        let mut counted = 0;
        for (options, blocks) in RULES {
            let words = cerberus_record::shell::commands(options).remove(0).words;
            let rule = Rule::parse(&words)?;
            if is_foreign(&rule, &commands) {
                continue;
            }
            let kind = rule.kind();
            let level = rule.level_max();
            let projects = Some(projects.clone());
            let check = Check { id: String::new(), sentence: String::new(), level, rule, projects };
            let mut replay = Replay::new(check);
            records.iter().for_each(|record| replay.see(record, &()));
            counted = counted.max(replay.uses);
            let sum = sums.entry(kind).or_default();
            sum.hits += replay.stopped_cases.len();
            sum.concerned += replay.concerned;
            sum.uses += replay.uses;
            sum.block_hits += if *blocks { replay.stopped_cases.len() } else { 0 };
            for case in &replay.stopped_cases {
                let session: String = case.session.chars().take(8).collect();
                writeln!(hits, "{kind}\t{blocks}\t{person}\t{session}\t{options}\t{}", case.what)?;
            }
        }
        uses += counted;
    }
    say(&format!("{} people, {uses} shell and write tool uses, {} rules", people.len(), RULES.len()))?;
    say("kind     hits  of concerned  per 1,000 tool uses and rule")?;
    for (kind, sum) in &sums {
        let rate = 1000.0 * sum.hits as f64 / sum.uses.max(1) as f64;
        say(&format!("{kind:<8} {:>4}  {:>12}  {rate:.2}", sum.hits, sum.concerned))?;
    }
    let blocked: usize = sums.values().map(|sum| sum.block_hits).sum();
    say(&format!(
        "hits of rules that block: {blocked}, {:.2} per 1,000 tool uses",
        1000.0 * blocked as f64 / uses.max(1) as f64
    ))?;
    if let Some(file) = std::env::var_os("CERBERUS_HITS") {
        std::fs::write(file, hits)?;
    }
    Ok(())
}

/// The records that hooks would have written.
pub fn records(agent: Agent, bytes: &[u8]) -> Vec<Record<'static>> {
    let Some(read) = transcripts::read(&BUILT_IN, agent, bytes) else { return Vec::new() };
    let cwd = read.cwd.as_deref().unwrap_or("/project").to_string();
    let clean = |text: &str| BUILT_IN.clean(text.to_string(), Keep::NAME);
    let convert = |event: transcripts::TranscriptEvent| {
        let kept = match event.event {
            Event::Tool(used) => {
                let mut used = used.into_owned();
                for file in &mut used.files {
                    file.path = clean(&path::below(&cwd, &file.path).unwrap_or_else(|| file.path.to_string()));
                }
                Event::Tool(used)
            }
            Event::Prompt { text } => Event::Prompt { text: text.into_owned() },
            Event::Stop { message } => Event::Stop { message: message.into_owned() },
            _ => return None,
        };
        Some(Record {
            at: event.at,
            key: event.key.into_owned(),
            agent,
            imported: true,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: event.session.into_owned(),
            location: Location {
                project: ProjectId::of_anchor(cwd.as_bytes()),
                name: clean(""),
                root: clean(&cwd),
                cwd: clean(&cwd),
                branch: event.branch.map(|branch| branch.into_owned()),
            },
            event: kept,
        })
    };
    read.events.into_iter().filter_map(convert).collect()
}
