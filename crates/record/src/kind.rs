//! The kinds of events, the names the view stores them under, and what each implies for its session.

use super::event::Event;

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventKind {
        Start = "start",
        Prompt = "prompt",
        /// A prompt that nobody typed.
        Notification = "notification",
        Tool = "tool",
        Stop = "stop",
        /// The turn goes on.
        SubagentStop = "subagent_stop",
        Compact = "compact",
        Task = "task",
        End = "end",
        Note = "note",
        Named = "named",
        Receipt = "receipt",
        Memory = "memory",
        Used = "used",
        Forgotten = "forgotten",
        Pulse = "pulse",
        Crash = "crash",
        Recover = "recover",
        Summary = "summary",
        Title = "title",
        Lesson = "lesson",
        Untyped = "untyped",
        Undone = "undone",
        Quote = "quote",
        AgentNotes = "agent_notes",
        Complete = "complete",
        Reopen = "reopen",
        Archive = "archive",
        Seed = "seed",
        Repository = "repository",
        SameProject = "same_project",
        SeparateProject = "separate_project",
        Check = "check",
        Pause = "pause",
        Decision = "decision",
        Open = "open",
    }
}

impl EventKind {
    pub fn of(event: &Event) -> EventKind {
        match event {
            Event::Start { .. } => EventKind::Start,
            // Notifications of background work arrive as prompts.
            Event::Prompt { text } if text.starts_with("<task-notification>") => EventKind::Notification,
            Event::Prompt { .. } => EventKind::Prompt,
            Event::Tool(_) => EventKind::Tool,
            Event::Stop { .. } | Event::StopFailure { .. } => EventKind::Stop,
            Event::SubagentStop { .. } => EventKind::SubagentStop,
            Event::Compact { .. } => EventKind::Compact,
            Event::Task(_) => EventKind::Task,
            Event::End { .. } => EventKind::End,
            Event::Note(_) => EventKind::Note,
            Event::Named(_) => EventKind::Named,
            Event::Receipt { .. } => EventKind::Receipt,
            Event::Memory(_) => EventKind::Memory,
            Event::Used { .. } => EventKind::Used,
            Event::Forgotten(_) => EventKind::Forgotten,
            Event::Pulse => EventKind::Pulse,
            Event::Crash { .. } => EventKind::Crash,
            Event::Recover(_) => EventKind::Recover,
            Event::Summary(_) => EventKind::Summary,
            Event::Title { .. } => EventKind::Title,
            Event::Lesson(_) => EventKind::Lesson,
            Event::Untyped(_) => EventKind::Untyped,
            Event::Undone { .. } => EventKind::Undone,
            Event::Quote(_) => EventKind::Quote,
            Event::AgentNotes { .. } => EventKind::AgentNotes,
            Event::Complete => EventKind::Complete,
            Event::Reopen => EventKind::Reopen,
            Event::Archive => EventKind::Archive,
            Event::Seed(_) => EventKind::Seed,
            Event::Repository(_) => EventKind::Repository,
            Event::SameProject { .. } => EventKind::SameProject,
            Event::SeparateProject { .. } => EventKind::SeparateProject,
            Event::Check(_) => EventKind::Check,
            Event::Pause(_) => EventKind::Pause,
            Event::Decision(_) => EventKind::Decision,
            Event::Open(_) => EventKind::Open,
        }
    }

    /// Records that we write about a session on our own initiative.
    fn is_ours(self) -> bool {
        use EventKind::{AgentNotes, Crash, Decision, Lesson, Named, Quote, Receipt};
        use EventKind::{Recover, Summary, Title, Undone, Untyped};
        matches!(
            self,
            Receipt
                | Named
                | Crash
                | Recover
                | Summary
                | Title
                | Lesson
                | Untyped
                | Undone
                | Quote
                | AgentNotes
                | Decision
        )
    }

    /// Does it show that the session is active? What is done to a session is not activity of the session.
    pub fn is_activity(self) -> bool {
        !self.is_ours() && !matches!(self, EventKind::Complete | EventKind::Reopen | EventKind::Archive)
    }

    /// Is a start or an end after this event a new one, rather than an echo of an earlier one?
    pub fn separates_echoes(self) -> bool {
        !self.is_ours() && !matches!(self, EventKind::Start | EventKind::End)
    }

    /// Memories, their checks and pauses belong to no session, nor do lists of what was forgotten and records about projects.
    pub fn is_of_a_session(self) -> bool {
        use EventKind::{Check, Forgotten, Memory, Open, Pause, Repository, SameProject, SeparateProject, Used};
        !matches!(self, Memory | Used | Forgotten | Repository | SameProject | SeparateProject | Check | Pause | Open)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn words(is_meant: fn(EventKind) -> bool) -> Vec<&'static str> {
        EventKind::ALL.iter().filter(|kind| is_meant(**kind)).map(|kind| kind.word()).collect()
    }

    #[test]
    fn each_kind_has_its_own_word() {
        let words: HashSet<&str> = EventKind::ALL.iter().map(|kind| kind.word()).collect();
        assert_eq!(words.len(), EventKind::ALL.len());
    }

    #[test]
    fn our_own_records_are_not_activity_of_the_session() {
        let ours = ["named", "receipt", "crash", "recover", "summary", "title", "lesson", "untyped"];
        let ours = [&ours[..], &["undone", "quote", "agent_notes", "decision"]].concat();
        assert_eq!(words(EventKind::is_ours), ours);
        let others = |is_meant: fn(EventKind) -> bool| -> Vec<&str> {
            words(is_meant).into_iter().filter(|word| !ours.contains(word)).collect()
        };
        assert_eq!(others(|kind| !kind.is_activity()), ["complete", "reopen", "archive"]);
        assert_eq!(others(|kind| !kind.separates_echoes()), ["start", "end"]);
        assert!(EventKind::ALL.iter().all(|kind| !kind.is_ours() || !kind.is_activity() && !kind.separates_echoes()));
        let of_none = words(|kind| !kind.is_of_a_session());
        assert_eq!(
            of_none,
            ["memory", "used", "forgotten", "repository", "same_project", "separate_project", "check", "pause", "open"]
        );
    }
}
