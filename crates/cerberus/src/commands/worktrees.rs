//! Folders that no longer exist and were worktrees of a repository: what `import` and `project same-as --gone` do with them.

use std::io::IsTerminal;

use cerberus_agents::settings::shell_word;
use cerberus_store::same_project::worktrees::{self, GoneRoot, GoneWorktrees, WorktreeAnswer};
use cerberus_store::view::Store;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Joins what is certain, and returns what else was found.
pub fn join_certain(context: &Context, store: &mut Store) -> Result<Vec<GoneWorktrees>> {
    let found = worktrees::gone(&context.home, store, context.clock.now)?;
    for GoneWorktrees { repository, certain, .. } in found.iter().filter(|one| !one.certain.is_empty()) {
        worktrees::answer(&context.home, &context.clock, store, repository, certain, WorktreeAnswer::Found)?;
    }
    Ok(found)
}

/// Joins with the project of this folder whatever looks like one of its worktrees.
pub fn join_here(context: &Context, store: &mut Store) -> Result<Vec<GoneRoot>> {
    let (here, mut joined) = (context.located().project, Vec::new());
    let found = worktrees::gone(&context.home, store, context.clock.now)?;
    for GoneWorktrees { repository, certain, likely } in found.into_iter().filter(|one| one.repository.project == here)
    {
        joined = [certain, likely].concat();
        worktrees::answer(&context.home, &context.clock, store, &repository, &joined, WorktreeAnswer::Same)?;
    }
    Ok(joined)
}

/// Says what was joined, and asks once about the rest. Where nobody can be asked, it says what joins it.
pub fn tell(context: &Context, store: &mut Store, found: &[GoneWorktrees]) -> Result<()> {
    for GoneWorktrees { repository, certain, likely } in found {
        let name = &repository.name;
        if let Some(GoneRoot { root, .. }) = certain.first() {
            let (what, word) = (sentence(certain, ["was", "were"], name), shell_word(root));
            render::talk(&format!(
                "cerberus: {what}: joined. In {name}, `cerberus project separate {word}` takes it back"
            ));
        }
        if likely.is_empty() {
            continue;
        }
        let what = sentence(likely, ["looks like", "look like"], name);
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            render::talk(&format!(
                "cerberus: {what}. In {name}, `cerberus project same-as --gone` joins {}",
                them(likely)
            ));
            continue;
        }
        let is_same = render::is_agreed(&format!("{what}. Join {}?", them(likely)));
        let answer = if is_same { WorktreeAnswer::Same } else { WorktreeAnswer::Other };
        worktrees::answer(&context.home, &context.clock, store, repository, likely, answer)?;
    }
    Ok(())
}

/// `3 folders that no longer exist were worktrees of hydra, such as /w/hydra-fix`.
fn sentence(folders: &[GoneRoot], verb: [&str; 2], name: &str) -> String {
    let example = folders.first().map_or("", |folder| folder.root.as_str());
    match folders.len() {
        1 => format!("{example} no longer exists and {} a worktree of {name}", verb[0]),
        many => format!("{many} folders that no longer exist {} worktrees of {name}, such as {example}", verb[1]),
    }
}

fn them(folders: &[GoneRoot]) -> &'static str {
    if folders.len() == 1 { "it" } else { "them" }
}

pub fn json(found: &[GoneWorktrees], of: fn(&GoneWorktrees) -> &[GoneRoot]) -> Value {
    let some = found.iter().filter(|one| !of(one).is_empty());
    let roots = |one| of(one).iter().map(|folder| folder.root.as_str()).collect::<Vec<_>>();
    some.map(|one| json!({"project": one.repository.name, "folders": roots(one)})).collect()
}
