use cerberus_store::browse::page::{self, Page};
use cerberus_store::browse::told::ToldText;
use cerberus_store::view::{SessionRow, Store};
use serde_json::{Value, json};

use super::archive::HeldConversation;
use super::log::ListedJson;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::conversation::{self, Turn, TurnReader};
use crate::render::style::Screen;
use crate::render::time::LocalTime;
use crate::render::{page as pager, session_page};

/// Show one session: asked, done, decided, left, files, tests
///
/// Also its commits, and what it had been told. With --full the conversation itself, from the
/// archive: prompts, messages, commands and what they printed.
#[derive(clap::Args)]
pub struct ShowArgs {
    /// The session: the beginning of its id, or words of its title [default: the newest session of this project]
    #[arg(value_name = "ID")]
    id: Vec<String>,

    /// The whole conversation, with long outputs folded
    #[arg(long)]
    full: bool,

    /// The whole conversation as Markdown, with nothing folded
    #[arg(long, conflicts_with = "json")]
    markdown: bool,

    /// Only the turn with this number; the first is 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    turn: Option<u32>,
}

impl ShowArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.swept_store()?;
        let session = context.session_or_newest(&mut store, &self.id.join(" "))?;
        if self.full || self.markdown || self.turn.is_some() {
            return self.conversation(context, &store, &session);
        }
        let page = page::page(&store, &context.clock, session)?;
        let texts = context.told_texts(&store, &page)?;
        if context.json {
            render::json(&as_json(&page, &texts));
            return Ok(());
        }
        let screen = Screen::of_stdout();
        pager::page(&screen, &session_page::page(&screen, &LocalTime::new(context.clock.now), &page, &texts));
        Ok(())
    }

    fn conversation(&self, context: &Context, store: &Store, session: &SessionRow) -> Result<()> {
        let Some(kept) = HeldConversation::find(context, store, session)? else {
            let next = match session.device {
                None => "`cerberus archive` archives what transcripts there are; `cerberus show ID` shows the rest",
                Some(_) => {
                    "it is on another device, which sends it after `cerberus share --conversations` and `cerberus sync`"
                }
            };
            return Err(anyhow::anyhow!("the archive has nothing of session {}", session.id)).hint(next);
        };
        let title = store.titles(std::slice::from_ref(session), context.clock.now)?.remove(&session.row);
        let title = title.unwrap_or_else(|| session.id.to_string());
        let local = LocalTime::new(context.clock.now);
        if context.json {
            let mut shown: Vec<Value> = Vec::new();
            self.each_turn(context, &kept, &mut |turn| shown.push(json!({"turn": turn.number, "parts": turn.parts})))?;
            render::json(&json!({
                "session": session.id, "agent": session.agent, "agent_session_id": session.agent_session_id,
                "project": session.project_name, "title": title, "turns": shown,
            }));
            return Ok(());
        }
        if self.markdown {
            // Printed turn by turn: it may be long.
            let mut title = Some(conversation::title_markdown(&title));
            return self.each_turn(context, &kept, &mut |turn| {
                title.take().iter().for_each(|title| render::block(title));
                render::block(&conversation::markdown(&local, &turn));
            });
        }
        let screen = Screen::of_stdout();
        let mut lines = vec![conversation::title_line(&title)];
        self.each_turn(context, &kept, &mut |turn| {
            lines.extend(conversation::lines(&screen, &local, &turn));
            if screen.rows.is_none() {
                pager::page(&screen, &std::mem::take(&mut lines));
            }
        })?;
        pager::page(&screen, &lines);
        Ok(())
    }

    /// Passes on the turns that are meant, one at a time.
    fn each_turn(&self, context: &Context, kept: &HeldConversation, take: &mut dyn FnMut(Turn)) -> Result<()> {
        let (mut reader, mut all, mut is_any) = (TurnReader::default(), 0, self.turn.is_none());
        let mut take = |turn: Turn| {
            all += 1;
            if self.turn.is_none_or(|number| turn.number == number as usize) {
                is_any = true;
                take(turn);
            }
        };
        kept.each_part(context, &mut |part| reader.push(part).into_iter().for_each(&mut take))?;
        reader.finish().into_iter().for_each(&mut take);
        if is_any {
            return Ok(());
        }
        Err(anyhow::anyhow!("the conversation has {}", render::count(all, "turn")))
            .hint("give the number of one of them to --turn")
    }
}

/// The lines that it was told, each with its words. `text` is null if they are not kept, or forgotten.
fn told_lines(page: &Page, texts: &[ToldText]) -> Vec<Value> {
    let line = |(line, text): (&page::ToldLine, &ToldText)| {
        let words = match text {
            ToldText::Whole(text) | ToldText::Turn(text) => Some(text),
            ToldText::NotKept | ToldText::Forgotten => None,
        };
        json!({"at": line.at.to_string(), "code": line.code, "text": words,
            "forgotten": *text == ToldText::Forgotten})
    };
    page.told.iter().zip(texts).map(line).collect()
}

fn as_json(page: &Page, told_texts: &[ToldText]) -> Value {
    let files = page
        .files
        .iter()
        .map(|work| json!({"path": work.path, "edits": work.edits, "reads": work.reads, "functions": work.functions}));
    let (listed, tests) = (&page.listed, &page.tests);
    let texts = |said: &[page::SaidEntry]| said.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
    let told = page.told.iter().filter(|line| line.code != page::FORGOTTEN_RULE);
    let told: Vec<&str> = told.map(|line| line.code.as_str()).collect();
    let mut value = json!(ListedJson::of(listed));
    let told_lines = told_lines(page, told_texts);
    let more = json!({
        "asked": texts(&page.asked), "done": page.done, "decided": page.decided, "left": page.left,
        "files": files.collect::<Vec<_>>(),
        "tests": {"passing": tests.passing, "failing": tests.failing, "fixed": tests.fixed,
            "regressed": tests.regressed},
        "commits": page.commits, "told": told, "told_lines": told_lines,
        "said": texts(&page.said), "corrected": texts(&page.corrected), "summary": page.summary,
        "branch": listed.session.branch, "cwd": listed.session.cwd,
        "agent_session_id": listed.session.agent_session_id,
    });
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}
