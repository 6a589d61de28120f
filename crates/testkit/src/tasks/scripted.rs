//! A model that a task's file describes, so that the harness can be checked without a real one. What it does depends only
//! on whether certain words are in what it reads. It says nothing about what a real model would do.

use std::path::Path;

use super::agents::{GUIDE, Player};
use super::{Task, TaskSessionEnd, TaskStep, TaskTurn};
use crate::model_server::{ModelServer, Reply};

/// What it does with what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mind {
    /// What was asked for.
    Heeds,
    /// The opposite: it does better if it is told nothing.
    Defies,
}

/// What it says when its conversation is compacted: nothing that helps.
const SUMMARY: &str = "<summary>The user asked for something.</summary>";

/// The model for one turn.
pub(super) fn turn(player: &Player, mind: Mind, repo: &Path, task: &Task, at: (usize, usize)) -> ModelServer {
    let (session, turn) = (&task.sessions[at.0], &task.sessions[at.0].turns[at.1]);
    let is_last = at.1 + 1 == session.turns.len();
    let mut script: Vec<Reply> = note(player, repo, turn).into_iter().collect();
    let reply = |step: &TaskStep| match step {
        TaskStep::Write(path, text) => player.client().write(&repo.join(path), text),
        TaskStep::Run(line) => player.client().run(line),
    };
    if let Some(words) = &turn.told {
        let steps = if mind == Mind::Heeds { &turn.does_if_told } else { &turn.does };
        script.extend(steps.iter().map(|step| reply(step).to(words)));
        // What is left for others is not for this one.
        script.push(Reply::text("Done.").to(words));
    }
    let is_plain = turn.told.is_none() || mind == Mind::Heeds;
    script.extend(if is_plain { &turn.does } else { &turn.does_if_told }.iter().map(reply));
    if is_last && matches!(session.end, TaskSessionEnd::KillAfter(_)) {
        script.push(Reply::hang());
    }
    ModelServer::start(script)
}

/// The model that compacts a conversation.
pub(super) fn compaction() -> ModelServer {
    ModelServer::start([Reply::text(SUMMARY)])
}

/// It keeps notes if it reads that it should.
fn note(player: &Player, repo: &Path, turn: &TaskTurn) -> Option<Reply> {
    let asked = GUIDE.lines().last()?;
    let file = repo.join(player.guide());
    let line = format!("printf '%s\\n' '- {}' >> '{}'", turn.note.as_ref()?, file.display());
    Some(player.client().run(&line).to(asked))
}
