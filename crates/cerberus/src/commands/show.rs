use cerberus_store::browse::page::{self, Page};
use serde_json::{Value, json};

use super::log::ListedJson;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::style::Screen;
use crate::render::time::LocalTime;
use crate::render::{page as pager, sessions};

/// Show one session: asked, done, decided, left, files, tests
///
/// Also its commits, what it had been told, and what of that it used.
#[derive(clap::Args)]
pub struct ShowArgs {
    /// The session: the beginning of its id, or words of its title [default: the newest session of this project]
    #[arg(value_name = "ID")]
    id: Vec<String>,
}

impl ShowArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.swept_store()?;
        let session = context.session_or_newest(&mut store, &self.id.join(" "))?;
        let page = page::page(&store, &context.clock, session)?;
        if context.json {
            render::json(&as_json(&page));
            return Ok(());
        }
        let screen = Screen::of_stdout();
        pager::page(&screen, &sessions::page(&screen, &LocalTime::new(context.clock.now), &page));
        Ok(())
    }
}

fn as_json(page: &Page) -> Value {
    let files = page
        .files
        .iter()
        .map(|work| json!({"path": work.path, "edits": work.edits, "reads": work.reads, "functions": work.functions}));
    let (listed, tests) = (&page.listed, &page.tests);
    let texts = |said: &[page::SaidEntry]| said.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
    let told = |is_meant: fn(&page::ToldLine) -> bool| {
        page.told.iter().filter(|line| is_meant(line)).map(|line| line.code.clone()).collect::<Vec<_>>()
    };
    let mut value = json!(ListedJson::of(listed));
    let more = json!({
        "asked": texts(&page.asked), "done": page.done, "decided": page.decided, "left": page.left,
        "files": files.collect::<Vec<_>>(),
        "tests": {"passing": tests.passing, "failing": tests.failing, "fixed": tests.fixed,
            "regressed": tests.regressed},
        "commits": page.commits, "told": told(|_| true), "used": told(|line| line.is_used),
        "said": texts(&page.said), "corrected": texts(&page.corrected), "summary": page.summary,
        "branch": listed.session.branch, "cwd": listed.session.cwd,
        "agent_session_id": listed.session.agent_session_id,
    });
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}
