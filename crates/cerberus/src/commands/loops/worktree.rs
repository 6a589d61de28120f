//! `loop run --worktree`: the loop gets a worktree of its own, and ends with how to merge its work.

use cerberus_loop::run::worktrees::{self, LoopWorktree, WorktreeError};
use cerberus_store::project::identity::Located;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Finds or makes the worktree, and says where it is.
pub fn prepare(context: &Context, located: &Located, name: &str) -> Result<LoopWorktree> {
    let prepared = worktrees::prepare(located, name);
    let hint = match &prepared {
        Err(WorktreeError::NoGit(_)) => "run this in a git repository, or without --worktree",
        Err(WorktreeError::NoCommit) => "commit something first: a worktree starts from a commit",
        Err(WorktreeError::Name(_)) => "choose a short name of letters, digits, - and _",
        Err(WorktreeError::Taken(_)) => "choose another name, or move that folder away",
        _ => "fix what git complains about, then try again",
    };
    let made = prepared.hint(hint)?;
    let how = if made.is_new { "made from the current commit" } else { "used again" };
    if !context.json {
        render::talk(&format!("── worktree {} on branch {}, {how}", made.root.display(), made.branch));
        if made.is_new && made.root.join(".gitmodules").is_file() {
            render::talk("── its submodules are empty; `git submodule update --init` there fills them");
        }
    }
    Ok(made)
}

/// Says what the loop left in its worktree, and how to merge it.
pub fn report_end(context: &Context, made: &LoopWorktree) {
    let ahead = made.ahead();
    let commands = made.how_to_merge(ahead);
    if context.json {
        let (commits, uncommitted) = (ahead.map(|ahead| ahead.commits), ahead.map(|ahead| ahead.uncommitted));
        let line = json!({ "event": "worktree", "root": render::path(&made.root), "branch": made.branch, "commits": commits,
            "uncommitted_files": uncommitted, "merge": commands });
        render::json_text(&line.to_string());
        return;
    }
    let what = ahead.map_or("its work".to_string(), |ahead| {
        let (commits, files) = (render::count(ahead.commits, "commit"), render::count(ahead.uncommitted, "file"));
        format!("{commits} and {files} not committed")
    });
    render::talk(&format!("cerberus: {what} in {} on branch {}; to merge:", made.root.display(), made.branch));
    for command in commands {
        render::talk(&format!("          {command}"));
    }
}
