//! The texts of an event in which something may have to be hidden. What must be hidden in a text is said by a function.

use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep};
use crate::event::{Event, Note, Task, ToolUse};
use crate::fact::FactKind;

/// Replaces a private path.
pub(super) const MARK: &str = "[private]";

/// How a text refers to files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    /// A command or its output: every path is a real path.
    Exact,
    /// A sentence, which may be about a kind of file.
    Spoken,
}

/// The text as it may be stored; `None` if nothing in it must be hidden.
pub(super) type HideText<'h> = &'h dyn Fn(&str, Keep, Speech) -> Option<Clean<'static>>;

/// The text with these words, each with its offset, hidden; `None` if there are none.
pub(super) fn without_words<'t>(
    cleaner: &Cleaner,
    text: &str,
    words: impl Iterator<Item = (usize, &'t str)>,
    keep: Keep,
) -> Option<Clean<'static>> {
    let mut out = String::new();
    let mut kept = 0;
    for (start, word) in words {
        out.push_str(&text[kept..start]);
        out.push_str(MARK);
        kept = start + word.len();
    }
    if kept == 0 {
        return None;
    }
    out.push_str(&text[kept..]);
    Some(cleaner.clean(out, keep))
}

/// An event in which something is said, as it may be stored; `None` for all others, and if nothing must be hidden.
pub(super) fn said<'a>(event: &Event<'a>, hide: HideText) -> Option<Event<'a>> {
    let spoken = |text: &Clean, keep| hide(text, keep, Speech::Spoken);
    Some(match event {
        Event::Prompt { text } => Event::Prompt { text: spoken(text, Keep::PROMPT)? },
        Event::Title { text, is_users } => Event::Title { text: spoken(text, Keep::SUBJECT)?, is_users: *is_users },
        Event::Stop { message } => Event::Stop { message: spoken(message, Keep::MESSAGE)? },
        Event::SubagentStop { message } => Event::SubagentStop { message: spoken(message, Keep::MESSAGE)? },
        Event::StopFailure { error } => Event::StopFailure { error: spoken(error, Keep::ERROR)? },
        Event::Compact { stage, summary: Some(summary) } => {
            Event::Compact { stage: *stage, summary: Some(spoken(summary, Keep::MESSAGE)?) }
        }
        Event::Task(task) => Event::Task(hidden_task(task, hide)?),
        Event::Note(note) => Event::Note(hidden_note(note, hide)?),
        Event::Quote(quotation) => {
            let mut kept = quotation.clone();
            change(&mut kept.text, Keep::PROMPT, Speech::Spoken, hide);
            kept.why.iter_mut().for_each(|why| change(why, Keep::SUBJECT, Speech::Spoken, hide));
            return (kept != *quotation).then_some(Event::Quote(kept));
        }
        Event::AgentNotes { text } => Event::AgentNotes { text: spoken(text, Keep::NOTES)? },
        _ => return None,
    })
}

/// What a tool use says beside its command and its output.
pub(super) fn said_in_use<'u, 'a>(used: &'u ToolUse<'a>) -> impl Iterator<Item = &'u Clean<'a>> {
    let tasks = used.todos.iter().flatten().chain(&used.task).chain(&used.tasks);
    let answers = used.answers.iter().flat_map(|(asked, given)| [asked, given]);
    used.plan.iter().chain(answers).chain(tasks.filter_map(|task| task.subject.as_ref()))
}

/// Hides parts of what a tool use says beside its command and its output.
pub(super) fn change_said_in_use(used: &mut ToolUse, hide: HideText) {
    used.plan.iter_mut().for_each(|plan| change(plan, Keep::MESSAGE, Speech::Spoken, hide));
    for (asked, given) in &mut used.answers {
        change(asked, Keep::SUBJECT, Speech::Spoken, hide);
        change(given, Keep::SUBJECT, Speech::Spoken, hide);
    }
    for task in used.todos.iter_mut().flatten().chain(&mut used.task).chain(&mut used.tasks) {
        task.subject.iter_mut().for_each(|subject| change(subject, Keep::SUBJECT, Speech::Spoken, hide));
    }
}

pub(super) fn change(text: &mut Clean, keep: Keep, speech: Speech, hide: HideText) {
    if let Some(hidden) = hide(text, keep, speech) {
        *text = hidden;
    }
}

fn hidden_task<'a>(task: &Task<'a>, hide: HideText) -> Option<Task<'a>> {
    let subject = hide(task.subject.as_ref()?, Keep::SUBJECT, Speech::Spoken)?;
    Some(Task { subject: Some(subject), ..task.clone() })
}

fn hidden_note<'a>(note: &Note<'a>, hide: HideText) -> Option<Note<'a>> {
    let speech = if note.kind == FactKind::File { Speech::Exact } else { Speech::Spoken };
    let mut kept = note.clone();
    change(&mut kept.text, Keep::SUBJECT, speech, hide);
    kept.why.iter_mut().for_each(|why| change(why, Keep::SUBJECT, Speech::Spoken, hide));
    (kept != *note).then_some(kept)
}
