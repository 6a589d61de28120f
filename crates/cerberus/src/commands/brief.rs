use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Context as _;
use cerberus_agents::install::Surroundings;
use cerberus_os::outside;
use cerberus_recall::brief::rank::weights::LEARNED_MIN;
use cerberus_recall::brief::usage::ToldFileUsage;
use cerberus_recall::brief::{BriefLine, CHARS_MAX, DroppedLine};
use cerberus_recall::summary::render::Format;
use cerberus_record::event::StartSource;
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_store::brief::in_between::MomentTold;
use cerberus_store::brief::question::{Budget, Question};
use cerberus_store::brief::recall::{self, Briefing, SummarizedSession};
use cerberus_store::brief::usage::{self, ToldSessions};
use cerberus_store::brief::work;
use cerberus_store::browse::told::moment_words;
use cerberus_store::same_project::joined::joined;
use cerberus_store::sessions::find::Recent;
use cerberus_store::sessions::{caller, recover};
use cerberus_store::view::{SessionRow, Store, StoreError};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde_json::json;

use super::stats;
use crate::context::{Context, user_folders};
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::LocalTime;
use crate::render::{page, words};

/// Show what the next session would be told
#[derive(clap::Args)]
pub struct BriefArgs {
    /// Rank the brief as if this prompt were already known
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,

    /// Like --prompt, but read the prompt from a file
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,

    /// How the session starts: startup, resume, clear, compact or fork
    #[arg(long, value_name = "SOURCE", default_value = "startup", value_parser = sources(), hide_possible_values = true)]
    source: StartSource,

    /// Maximum size of the whole brief in tokens, memories included [default: 2500, of which 870 for sessions, or
    /// `brief.session_tokens` in config.toml]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    budget: Option<u32>,

    /// Format of the session part: codes, summary (of the last session, written by a model) or both. If there is no
    /// summary, codes are used [default: `summary.format` in config.toml, else summary if a provider is set]
    #[arg(long, value_name = "FORMAT", value_parser = formats(), hide_possible_values = true)]
    format: Option<Format>,

    /// Show why each line was chosen and what it costs, and list what was left out
    #[arg(long)]
    explain: bool,
}
/// Far more than a prompt that was typed or pasted.
const PROMPT_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn sources() -> impl TypedValueParser<Value = StartSource> {
    PossibleValuesParser::new(StartSource::ALL.map(StartSource::word))
        .try_map(|name| StartSource::from_word(&name).ok_or(format!("{name:?} is not a source")))
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::word))
        .try_map(|name| Format::from_word(&name).ok_or(format!("{name:?} is not a format")))
}

impl BriefArgs {
    /// The brief of a session that starts with this prompt, or without one.
    pub fn for_start(prompt: Option<String>) -> BriefArgs {
        let (prompt_file, budget, format) = (None, None, None);
        BriefArgs { prompt, prompt_file, source: StartSource::Startup, budget, format, explain: false }
    }

    /// As for a session whose context was cleared.
    #[cfg(feature = "loop")]
    pub fn after_clear() -> BriefArgs {
        BriefArgs { source: StartSource::Clear, ..BriefArgs::for_start(None) }
    }

    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?.short_lived();
        let (briefing, budget) = self.briefing_from(&store, context)?;
        store.close();
        if context.json {
            render::json(&as_json(&briefing, budget.both_tokens));
        } else if self.explain {
            explain(context, &briefing, budget.both_tokens, self.has_prompt())?;
        } else if briefing.brief.text.is_empty() {
            render::talk(&self.nothing(&briefing));
        } else {
            render::block(&briefing.brief.text);
            self.tell_left_out(&briefing);
        }
        Ok(())
    }

    /// Why nothing would be told.
    fn nothing(&self, briefing: &Briefing) -> String {
        match self.budget.filter(|_| !briefing.brief.dropped.is_empty()) {
            Some(tokens) => format!("nothing fits into {tokens} tokens; leave out --budget"),
            None => format!(
                "a session in {} would be told nothing yet: `cerberus import` reads past sessions, `cerberus record` and \
                 `cerberus learn` add what it should know",
                briefing.project
            ),
        }
    }

    /// A budget that somebody chose may be too small.
    fn tell_left_out(&self, briefing: &Briefing) {
        let is_over = |line: &&DroppedLine| line.reason.contains("budget");
        let count = briefing.brief.dropped.iter().filter(is_over).count();
        if let Some(tokens) = self.budget.filter(|_| count > 0) {
            let lines = render::counted(count, "line does", "lines do");
            render::talk(&format!("{lines} not fit into {tokens} tokens; --explain lists what was left out"));
        }
    }

    pub fn briefing(&self, context: &Context) -> Result<Briefing> {
        Ok(self.briefing_from(&context.store()?, context)?.0)
    }

    fn briefing_from(&self, store: &Store, context: &Context) -> Result<(Briefing, Budget)> {
        let config = context.config()?;
        let prompt = self.prompt_text()?;
        let budget = match self.budget {
            Some(tokens) => Budget::of_all(tokens as usize),
            None => Budget::of_session(config.brief.session_tokens),
        };
        let own = self.asking(store, context)?;
        let question = Question {
            now: context.clock.now,
            is_past: context.is_past,
            source: self.source,
            budget,
            chars_max: CHARS_MAX,
            prompt: prompt.as_deref(),
            folders: &user_folders(),
            format: self.format.unwrap_or(config.summary.format()),
            reminder: config.brief.reminder,
            session: own.as_ref(),
        };
        let located = context.located();
        let now = context.clock.now;
        let read = |store: &Store, recent| {
            let mut briefing = recall::brief(store, &located, &question, recent)?;
            let unread = work::unread(store, &briefing.read, now)?;
            briefing.brief.dropped.extend(unread);
            Ok::<_, StoreError>(briefing)
        };
        let recent = Recent::read(store, &located, now)?;
        store.make_digests(&recent.joined.ids);
        let surroundings = Surroundings::new(&|name| std::env::var_os(name), located.root.clone());
        let briefing = recover::with_recovered(&context.home, &context.clock, store, &surroundings, recent, read)?;
        Ok((briefing?, budget))
    }

    /// The session whose agent asks, which is in the middle of a turn. An emptied context is told of itself.
    fn asking(&self, store: &Store, context: &Context) -> Result<Option<SessionRow>> {
        let now = context.clock.now;
        let Some(row) = caller::own_session(store)?.filter(|_| self.source != StartSource::Clear) else {
            return Ok(None);
        };
        let Some(own) = store.sessions_at(&[row], now)?.pop() else { return Ok(None) };
        Ok(store.unanswered_prompt(&own, now)?.map(|_| own))
    }

    fn has_prompt(&self) -> bool {
        self.prompt.is_some() || self.prompt_file.is_some()
    }

    fn prompt_text(&self) -> Result<Option<String>> {
        let Some(path) = &self.prompt_file else { return Ok(self.prompt.clone()) };
        let file = std::fs::File::open(path).and_then(|file| outside::whole(file, PROMPT_FILE_BYTES_MAX));
        let read = file.with_context(|| format!("cannot read {}", path.display()));
        Ok(Some(String::from_utf8_lossy(&read.hint("pass an existing text file to --prompt-file")?).into_owned()))
    }
}

#[derive(Serialize)]
struct ItemJson<'a> {
    kind: &'a str,
    code: Cow<'a, str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    at: String,
    tokens: usize,
    why: String,
    /// The teammate it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
}

fn as_json(briefing: &Briefing, budget_tokens: usize) -> serde_json::Value {
    let brief = &briefing.brief;
    let memories = brief.memories.iter().map(|item| ItemJson {
        kind: &item.category,
        code: Cow::Borrowed(&item.code),
        text: &item.text,
        path: None,
        // A memory belongs to no session; its id is shown instead.
        session: Some(item.id.as_str()),
        at: item.at.to_string(),
        tokens: item.tokens,
        why: item.why.clone(),
        author: None,
    });
    let rules = brief.rules.iter().map(|rule| ItemJson {
        kind: "rule",
        code: Cow::Borrowed(&rule.code),
        text: &rule.sentence,
        path: Some(&rule.guide),
        session: None,
        at: String::new(),
        tokens: rule.tokens,
        why: "told again after a compaction".to_string(),
        author: None,
    });
    let items: Vec<ItemJson> = rules
        .chain(memories)
        .chain(brief.items.iter().map(|item| ItemJson {
            kind: item.kind.word(),
            code: item.told(),
            text: &item.text,
            path: item.path.as_deref(),
            session: item.session.as_ref().map(SessionId::as_str),
            at: item.at.to_string(),
            tokens: item.tokens,
            why: item.why(),
            author: item.author.as_deref(),
        }))
        .collect();
    let dropped: Vec<_> = brief.dropped.iter().map(|d| json!({"code": d.code, "reason": d.reason})).collect();
    let mut value = json!({
        "text": brief.text, "tokens": brief.tokens, "chars": brief.text.chars().count(), "budget": budget_tokens,
        "project": briefing.project, "items": items, "dropped": dropped,
    });
    if let Some(SummarizedSession { session, row }) = &briefing.summary {
        let (text, at, provider) = (&row.text, row.at.to_string(), &row.provider);
        value["summary"] = json!({"session": session, "text": text, "at": at, "provider": provider});
    }
    if let (Some(session), Some(expires)) = (&briefing.session_id, briefing.expires_at) {
        value["session_id"] = json!(session);
        value["expires_at"] = json!(expires.to_string());
    }
    value
}

/// How useful a file was to the sessions that were told about it.
fn usefulness(usage: &ToldFileUsage, item: &BriefLine) -> String {
    let file = item.path.as_deref().filter(|_| matches!(item.kind, FactKind::File | FactKind::Read));
    match file.map(|path| usage.of_file(path)).filter(|file| file.told > 0) {
        Some(file) => format!("; told to {}, {} of them touched it", render::count(file.told, "session"), file.used),
        None => String::new(),
    }
}

/// The lines in words, each with why it is told.
fn explain(context: &Context, briefing: &Briefing, budget_tokens: usize, has_prompt: bool) -> Result<()> {
    let brief = &briefing.brief;
    let (store, located) = (context.store()?, context.located());
    let projects = joined(&store, &located, context.clock.now)?.ids;
    let ToldSessions { files: usage, mut in_between, .. } = usage::of_projects(&store, &projects, context.clock.now)?;
    let sessions: HashSet<_> = brief.items.iter().filter_map(|item| item.session.as_ref()).collect();
    let (screen, local) = (Screen::of_stdout(), LocalTime::new(context.clock.now));
    let mut page = ExplainedLines { screen: &screen, local: &local, lines: Vec::new() };
    let summary = format!("{} of {budget_tokens} tokens, {}", brief.tokens, render::count(sessions.len(), "session"));
    page.lines.push(Line::of(Style::Project, briefing.project.clone()).faint(format!("  ({summary})")));
    if has_prompt && store.gain_of_doubling(&projects, context.clock.now)? >= LEARNED_MIN {
        let doubled =
            "The prompt counts double: past sessions would have been told more of the files that they edited.";
        page.text(doubled, Style::Plain);
    }
    for rule in &brief.rules {
        page.told(&rule.code, rule.tokens, "told again after a compaction");
    }
    for item in &brief.memories {
        page.told(&item.code, item.tokens, &format!("{} ({})", item.why, item.id));
    }
    if let Some(SummarizedSession { session, row }) = &briefing.summary {
        page.text(&row.text, Style::Plain);
        page.text(&format!("summary of {session}, written {} by {}", local.when(row.at), row.provider), Style::Faint);
    }
    for item in &brief.items {
        page.told(&item.told(), item.tokens, &format!("{}{}", item.why(), usefulness(&usage, item)));
    }
    if !brief.dropped.is_empty() {
        page.lines.push(Line::new());
        page.lines.push(Line::of(Style::Heading, format!("Left out ({})", brief.dropped.len())));
        brief.dropped.iter().for_each(|dropped| page.dropped(&dropped.code, &dropped.reason));
    }
    in_between.sort_by_key(|told| Reverse(told.at));
    page.in_between(&in_between);
    if usage.told > 0 {
        page.lines.push(Line::new());
        page.text(&stats::files_line(&usage), Style::Plain);
    }
    page::page(&screen, &page.lines);
    Ok(())
}

/// What is printed of an explained brief.
struct ExplainedLines<'a> {
    screen: &'a Screen,
    local: &'a LocalTime,
    lines: Vec<Line>,
}

const LABEL_COLUMNS: usize = 12;
/// Older ones are on the pages of their sessions.
const IN_BETWEEN_MAX: usize = 10;

impl ExplainedLines<'_> {
    fn told(&mut self, line: &str, tokens: usize, why: &str) {
        self.labelled(words::told(line), words::without_code(line), Style::Plain);
        let why = format!("{}, {}", render::count(tokens, "token"), self.local.in_words(&words::reason(why)));
        self.labelled("", why.trim_end_matches(", "), Style::Faint);
    }

    fn dropped(&mut self, line: &str, reason: &str) {
        let text = format!("{}: {}", words::without_code(line), self.local.in_words(reason));
        self.labelled(words::told(line), &text, Style::Faint);
    }

    /// What earlier sessions were told besides a brief.
    fn in_between(&mut self, newest_first: &[MomentTold]) {
        if newest_first.is_empty() {
            return;
        }
        let count = newest_first.len();
        self.lines.push(Line::new());
        self.lines
            .push(Line::of(Style::Heading, format!("Told in between ({} of {count})", count.min(IN_BETWEEN_MAX))));
        for told in newest_first.iter().take(IN_BETWEEN_MAX) {
            self.labelled(words::told(&told.code), &moment_words(&told.code).unwrap_or_default(), Style::Plain);
            self.labelled("", &format!("{}, in {}", self.local.when(told.at), told.session), Style::Faint);
        }
    }

    fn labelled(&mut self, label: &str, text: &str, style: Style) {
        // The name of a project may have line breaks.
        let texts = wrapped(&text.replace('\n', " "), self.screen.room().saturating_sub(LABEL_COLUMNS));
        for (at, text) in texts.into_iter().enumerate() {
            let start = Line::of(Style::Heading, if at == 0 { label } else { "" }).pad(LABEL_COLUMNS);
            self.lines.push(start.add(style, text));
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        let lines = wrapped(text, self.screen.room()).into_iter();
        self.lines.extend(lines.map(|text| Line::of(style, text)));
    }
}
