//! What the user's own devices see of an event.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{
    CheckDecision, Event, FileTouch, Location, MemoryChange, NamedSymbols, Note, Quotation, Recovery, SeedCodes,
    Summary, SummaryItem, Task, ToolUse, UntypedPrompts,
};
use cerberus_record::id::ProjectId;
use cerberus_record::memory::{Background, Evidence, Memory, Scope};

use super::outgoing::{Arrival, HERE, OutgoingText};

/// The event without what belongs to this machine; `None` if nothing of it is for others.
pub fn for_me(event: &Event, words: &OutgoingText) -> Option<Event<'static>> {
    Some(match event {
        Event::Start { source, transcript: _, phase, process: _ } => {
            Event::Start { source: *source, transcript: None, phase: words.option(phase), process: None }
        }
        Event::Pulse => Event::Pulse,
        Event::Prompt { text } => Event::Prompt { text: words.text(text) },
        Event::Tool(used) => Event::Tool(tool(used, words)),
        Event::Stop { message } => Event::Stop { message: words.text(message) },
        Event::SubagentStop { message } => Event::SubagentStop { message: words.text(message) },
        Event::StopFailure { error } => Event::StopFailure { error: words.text(error) },
        Event::Compact { stage, summary } => Event::Compact { stage: *stage, summary: words.option(summary) },
        Event::Task(one) => Event::Task(task(one, words)),
        Event::End { reason } => Event::End { reason: words.text(reason) },
        Event::Note(one) => Event::Note(note(one, words)),
        Event::Quote(Quotation { kind, text, prompt, why, is_pasted }) => Event::Quote(Quotation {
            kind: *kind,
            text: words.text(text),
            prompt: words.name(prompt),
            why: words.option(why),
            is_pasted: *is_pasted,
        }),
        Event::AgentNotes { text } => Event::AgentNotes { text: words.text(text) },
        Event::Named(NamedSymbols { path, names, edits }) => {
            let path = words.path(path)?;
            Event::Named(NamedSymbols { path, names: words.texts(names), edits: words.texts(edits) })
        }
        Event::Memory(change) => Event::Memory(memory_change(change, words)),
        Event::Crash { evidence } => Event::Crash { evidence: words.text(evidence) },
        Event::Recover(Recovery { actions, in_flight, is_automatic }) => Event::Recover(Recovery {
            actions: words.texts(actions),
            in_flight: words.texts(in_flight),
            is_automatic: *is_automatic,
        }),
        Event::Summary(one) => Event::Summary(summary(one, words)),
        Event::Title { text, is_users } => Event::Title { text: words.text(text), is_users: *is_users },
        Event::Lesson(lesson) => Event::Lesson(*lesson),
        Event::Complete => Event::Complete,
        Event::Reopen => Event::Reopen,
        Event::Archive => Event::Archive,
        Event::Seed(codes) => Event::Seed(seed(codes, words)),
        Event::Decision(CheckDecision { memory, verdict, tried, call }) => {
            let (memory, tried, call) = (words.name(memory), words.name(tried), words.name(call));
            Event::Decision(CheckDecision { memory, verdict: *verdict, tried, call })
        }
        Event::Untyped(UntypedPrompts { source, prompts }) => Event::Untyped(UntypedPrompts {
            source: *source,
            prompts: prompts.iter().map(|key| words.name(key)).collect(),
        }),
        Event::Undone { prompts } => Event::Undone { prompts: prompts.iter().map(|key| words.name(key)).collect() },
        // What was told and looked up here concerns this device only.
        Event::Receipt { .. } | Event::Used { .. } => return None,
        // It is exchanged by names that every device of the space can compute.
        Event::Forgotten(_) => return None,
        // Which projects are the same is decided by each device for its own folders.
        Event::Repository(_) | Event::SameProject { .. } | Event::SeparateProject { .. } => return None,
        // A check binds only on the device where the user set it, and is paused there alone.
        Event::Check(_) | Event::Pause(_) => return None,
        // Other devices of the user have the sessions themselves.
        Event::Open(_) => return None,
    })
}

fn tool(used: &ToolUse, words: &OutgoingText) -> ToolUse<'static> {
    let ToolUse {
        tool,
        outcome,
        files,
        names,
        command,
        error,
        failure: _,
        output,
        answers,
        plan,
        todos,
        task: one,
        tasks,
        folder: _,
    } = used;
    let touched = |file: &FileTouch| {
        let path = words.path(&file.path)?;
        Some(FileTouch { path, how: file.how, lines: file.lines.clone() })
    };
    let kept: Vec<FileTouch> = files.iter().filter_map(touched).collect();
    // Of a file that is not told, nothing is told.
    let names = if kept.len() == files.len() { words.texts(names) } else { Vec::new() };
    let list = |tasks: &[Task]| tasks.iter().map(|one| task(one, words)).collect();
    ToolUse {
        tool: words.name(tool),
        outcome: *outcome,
        files: kept,
        names,
        command: words.option(command),
        error: words.option(error),
        // What helped is told only where it was done.
        failure: None,
        output: words.option(output),
        answers: answers.iter().map(|(asked, given)| (words.text(asked), words.text(given))).collect(),
        plan: words.option(plan),
        todos: todos.as_ref().map(|todos| list(todos)),
        task: one.as_ref().map(|one| task(one, words)),
        tasks: list(tasks),
        folder: None,
    }
}

fn task(task: &Task, words: &OutgoingText) -> Task<'static> {
    let Task { id, subject, state } = task;
    Task { id: words.option(id), subject: words.option(subject), state: *state }
}

fn note(note: &Note, words: &OutgoingText) -> Note<'static> {
    let Note { kind, text, why, sort, severity, custom_key, resolved, for_team } = note;
    Note {
        kind: *kind,
        text: words.text(text),
        why: words.option(why),
        sort: words.option(sort),
        severity: *severity,
        custom_key: words.option(custom_key),
        resolved: *resolved,
        for_team: *for_team,
    }
}

fn summary(summary: &Summary, words: &OutgoingText) -> Summary<'static> {
    let Summary { text, provider, key_context, next_actions, items } = summary;
    let item = |item: &SummaryItem| SummaryItem {
        sort: item.sort,
        text: words.text(&item.text),
        quote: words.text(&item.quote),
    };
    Summary {
        text: words.text(text),
        provider: words.name(provider),
        key_context: words.texts(key_context),
        next_actions: words.texts(next_actions),
        items: items.iter().map(item).collect(),
    }
}

fn seed(codes: &SeedCodes, words: &OutgoingText) -> SeedCodes<'static> {
    let SeedCodes { files, functions, decisions, blockers, next_actions, summary } = codes;
    SeedCodes {
        files: words.texts(files),
        functions: words.texts(functions),
        decisions: words.texts(decisions),
        blockers: words.texts(blockers),
        next_actions: words.texts(next_actions),
        summary: words.option(summary),
    }
}

fn memory_change(change: &MemoryChange, words: &OutgoingText) -> MemoryChange<'static> {
    let MemoryChange { id, memory, based_on, parent } = change;
    let memory = memory.as_ref().map(|memory| Box::new(self::memory(memory, words)));
    let parent = parent.as_ref().map(|parent| words.name(parent));
    MemoryChange { id: words.name(id), memory, based_on: *based_on, parent }
}

fn memory(memory: &Memory, words: &OutgoingText) -> Memory<'static> {
    let Memory { status, content, category, scope, project, confidence, created_at, updated_at, source, background } =
        memory;
    Memory {
        status: *status,
        content: words.text(content),
        category: words.text(category),
        scope: words.name(scope),
        project: words.is_here(project.as_ref()).then(|| ProjectId::from_stored(HERE.to_string())),
        confidence: *confidence,
        created_at: *created_at,
        updated_at: *updated_at,
        source: words.name(source),
        background: self::background(background, words),
    }
}

fn background(background: &Background, words: &OutgoingText) -> Background<'static> {
    let Background { rationale, evidence, supersedes, is_automatic, metadata, uses, author, other_of, for_team } =
        background;
    let evidence = evidence.iter().map(|one: &Evidence| Evidence {
        text: words.text(&one.text),
        agent: words.name(&one.agent),
        session: words.name(&one.session),
        key: words.name(&one.key),
    });
    Background {
        rationale: words.option(rationale),
        evidence: evidence.collect(),
        supersedes: supersedes.iter().map(|id| words.name(id)).collect(),
        is_automatic: *is_automatic,
        metadata: metadata.with_texts(|text| words.text(&text).to_string()),
        uses: *uses,
        author: author.as_ref().map(|author| words.name(author)),
        other_of: other_of.as_ref().map(|id| words.name(id)),
        for_team: *for_team,
    }
}

/// A memory of the stream's project belongs to the project here, whatever its folder is called elsewhere.
pub fn here(mut event: Event<'static>, location: &Location, arrival: &Arrival) -> Event<'static> {
    if let Event::Memory(MemoryChange { memory: Some(memory), .. }) = &mut event {
        memory.created_at = arrival.time(memory.created_at);
        memory.updated_at = arrival.time(memory.updated_at);
        if memory.project.is_some() {
            memory.project = Some(location.project.clone());
            memory.scope = own_scope(location, arrival.cleaner);
        }
    }
    event
}

/// The scope of the project here.
pub fn own_scope(location: &Location, cleaner: &Cleaner) -> Clean<'static> {
    cleaner.clean(Scope::Project(location.name.to_string()).to_string(), Keep::NAME)
}
