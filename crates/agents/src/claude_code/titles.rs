//! The titles in a transcript, and the best of them.

/// More summaries than a transcript has.
const SUMMARIES_MAX: usize = 200;

/// What the session is called. Lines with titles have no time.
#[derive(Default)]
pub(super) struct Titles {
    pub(super) users: Option<String>,
    pub(super) agents: Option<String>,
    summaries: Vec<TitleSummary>,
}

/// They come before the messages.
struct TitleSummary {
    text: String,
    /// The message it goes up to.
    leaf: String,
    /// That message is in this transcript.
    is_own: bool,
}

impl Titles {
    pub(super) fn summary(&mut self, text: String, leaf: String) {
        if self.summaries.len() < SUMMARIES_MAX {
            self.summaries.push(TitleSummary { text, leaf, is_own: false });
        }
    }

    pub(super) fn message(&mut self, uuid: &str) {
        self.summaries.iter_mut().filter(|summary| summary.leaf == uuid).for_each(|summary| summary.is_own = true);
    }

    /// The best title, and whether it is the user's. A summary of this conversation is better than one of the
    /// conversation that it continues.
    pub(super) fn best(self) -> Option<(String, bool)> {
        let Titles { users, agents, mut summaries } = self;
        let own = summaries.iter().rposition(|summary| summary.is_own);
        let summary = own.map(|at| summaries.swap_remove(at)).or_else(|| summaries.pop());
        let other = agents.or(summary.map(|summary| summary.text));
        users.map(|title| (title, true)).or(other.map(|title| (title, false)))
    }
}
