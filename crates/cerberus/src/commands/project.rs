use cerberus_agents::settings::shell_word;
use cerberus_store::project::identity::Located;
use cerberus_store::same_project::joined::{self, Member, Projects};
use cerberus_store::same_project::repository::Effort;
use cerberus_store::view::Store;
use serde_json::{Value, json};

use super::worktrees;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Show which folders hold this project, and join or separate folders
///
/// A moved folder and a second clone are recognized as the same project, by the origin in the git configuration and by
/// the first commit. They share sessions and memories. If it is unclear, for example for a fork, `status` asks once.
/// Your last answer counts, and you can change it at any time.
#[derive(clap::Args)]
pub struct ProjectArgs {
    #[command(subcommand)]
    pub(super) command: Option<ProjectCommand>,
}

#[derive(clap::Subcommand)]
pub(super) enum ProjectCommand {
    /// Treat another folder as the same project
    SameAs {
        /// The other folder, which may no longer exist, or the id of its project
        #[arg(value_name = "PATH|ID", required_unless_present = "gone")]
        other: Option<String>,

        /// Every folder that no longer exists and looks like a worktree of this project
        #[arg(long, conflicts_with = "other")]
        gone: bool,
    },
    /// Treat another folder as a different project, even if it was joined automatically
    Separate {
        /// The other folder, which may no longer exist, or the id of its project
        #[arg(value_name = "PATH|ID")]
        other: String,
    },
}

impl ProjectArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        match self.command {
            None => show(context),
            Some(ProjectCommand::SameAs { other: Some(other), gone: _ }) => answer(context, &other, true),
            Some(ProjectCommand::SameAs { other: None, gone: _ }) => join_gone(context),
            Some(ProjectCommand::Separate { other }) => answer(context, &other, false),
        }
    }
}

fn show(context: &Context) -> Result<()> {
    let mut store = context.store()?;
    context.record_repository(&mut store, Effort::ForceGit)?;
    let located = context.located();
    let projects = Projects::load(&store, context.clock.now)?;
    let folders = ProjectFolders::of(&store, &projects, &located)?;
    let repository = projects.repository(&located.project);
    let known = |what: fn(&cerberus_store::view::RepositoryRow) -> Option<&String>| repository.and_then(what);
    let origin = known(|row| row.origin.as_ref());
    let root_commit = known(|row| row.root_commit.as_ref());
    let name = known(|row| row.name.as_ref());
    if context.json {
        let mut value = folders.json();
        value["project"] = json!({
            "id": located.project, "name": located.name, "root": render::path(&located.root),
            "origin": origin, "root_commit": root_commit, "given_name": name,
        });
        render::json(&value);
        return Ok(());
    }
    render::line(&format!("{}  ({})", located.name, located.root.display()));
    render::line(&format!("id        {}", located.project.as_str()));
    for (what, value) in [("origin", origin), ("commit", root_commit), ("name", name)] {
        value.iter().for_each(|value| render::line(&format!("{what:<8}  {value}")));
    }
    folders.lines().iter().for_each(|(label, text)| render::line(&format!("{label:<10}{text}")));
    Ok(())
}

fn answer(context: &Context, meant: &str, is_same: bool) -> Result<()> {
    let located = context.located();
    context.may_store(&located)?;
    let mut store = context.store()?;
    let found = joined::find(&store, &located.cwd, meant, context.clock.now)?;
    let missing = || anyhow::anyhow!("no project is known at {meant:?}");
    let other =
        found.ok_or_else(missing).hint("give an existing folder, or a folder in which a session was captured")?;
    if other == located.project {
        return Err(anyhow::anyhow!("{meant:?} is this project itself")).hint("give the folder of another project");
    }
    joined::answer(&context.home, &context.clock, &mut store, &located, &other, is_same)
        .hint("free disk space or fix the folder's permissions, then try again")?;
    let folders = ProjectFolders::load(context, &store, &located)?;
    context.answer(&folders.json(), || {
        let what = if is_same { "joined with" } else { "kept apart from" };
        render::line(&format!("{} is {what} {meant}", located.name));
        folders.lines().iter().for_each(|(label, text)| render::line(&format!("{label:<10}{text}")));
    })
}

fn join_gone(context: &Context) -> Result<()> {
    let located = context.located();
    context.may_store(&located)?;
    let mut store = context.store()?;
    let joined = worktrees::join_here(context, &mut store)?;
    let folders = ProjectFolders::load(context, &store, &located)?;
    context.answer(&folders.json(), || match joined.as_slice() {
        [] => render::line(&format!("no folder that is gone looks like a worktree of {}", located.name)),
        joined => {
            joined.iter().for_each(|folder| render::line(&format!("{} is joined with {}", located.name, folder.root)))
        }
    })
}

/// The other folders of a project, and folders that may hold the same project.
pub struct ProjectFolders {
    pub joined: Vec<Member>,
    questions: Vec<Member>,
}

impl ProjectFolders {
    pub fn load(context: &Context, store: &Store, located: &Located) -> Result<ProjectFolders> {
        ProjectFolders::of(store, &Projects::load(store, context.clock.now)?, located)
    }

    fn of(store: &Store, projects: &Projects, located: &Located) -> Result<ProjectFolders> {
        let joined = projects.joined(store, &located.project)?;
        let questions = projects.questions(store, &located.project)?;
        Ok(ProjectFolders { joined, questions })
    }

    pub fn json(&self) -> Value {
        let json = |member: &Member| {
            let mut value = json!({"id": member.project, "name": member.name, "root": member.root});
            if let Some(reason) = member.reason {
                value["reason"] = json!(reason.word());
            }
            value
        };
        let joined: Vec<Value> = self.joined.iter().map(json).collect();
        let questions: Vec<Value> = self.questions.iter().map(json).collect();
        json!({"joined": joined, "may_be_same": questions})
    }

    /// With a label each.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let why = |member: &Member| member.reason.map(|reason| format!(": {}", reason.words())).unwrap_or_default();
        let joined = self.joined.iter().map(|member| ("joined", format!("{}{}", path(member), why(member))));
        joined.chain(self.questions().into_iter().map(|question| ("asked", question))).collect()
    }

    /// One question per project that may be the same, until the user has answered.
    pub fn questions(&self) -> Vec<String> {
        let question = |member: &Member| {
            let (path, word) = (path(member), shell_word(path(member)));
            format!(
                "this may be the same project as {path}: `cerberus project same-as {word}` joins them, \
                 `cerberus project separate {word}` keeps them apart"
            )
        };
        self.questions.iter().map(question).collect()
    }
}

/// The folder of a project, or its id if the folder is not known.
pub fn path(member: &Member) -> &str {
    if member.root.is_empty() { member.project.as_str() } else { &member.root }
}
