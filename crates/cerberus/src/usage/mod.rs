//! What sessions used: tokens and what they cost, and what it took to get started.
//!
//! It is counted from the agents' transcripts, and from the archive where a transcript is gone, in the same way for sessions
//! before Cerberus was installed and since. Only numbers and names of models are taken from them, no text.

pub mod beginning;
pub mod compare;
pub mod gather;
pub mod money;
pub mod started;
mod transcripts;

use cerberus_agents::model_calls::ModelCall;
use cerberus_store::view::SessionRow;

use self::beginning::Beginning;
use crate::report::figures::ContextUse;

/// On which side of the installation a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is known from its transcript alone, and began before the first session of its agent that a hook heard.
    Before,
    /// A hook heard it start.
    Since,
}

/// A session, and what its transcript says of it.
#[derive(Clone, Debug)]
pub struct UsedSession {
    pub row: SessionRow,
    /// The name of its project, the same for all folders of one project.
    pub project: String,
    pub context: ContextUse,
    /// The calls of models that no earlier session has; a fork repeats those of the session it began from.
    pub calls: Vec<ModelCall>,
    /// Known for a session that continues a project and came to do something.
    pub beginning: Option<Beginning>,
    /// `None` if it belongs to neither: no hook heard it, though its agent had hooks by then.
    pub side: Option<Side>,
}
