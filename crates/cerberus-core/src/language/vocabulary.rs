//! The words of instructions, as tables: which mean the same, which invert a sentence, which carry no meaning.
//!
//! Words are written in their usual form and compared by stem, so one form of each is enough. A word is in one table
//! only. The build script includes this file and sorts the words, so that nothing is built when the program starts.

/// The area a concept belongs to. It decides the scope of an instruction about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// How the agent communicates.
    Talk,
    /// How the agent works in general.
    Work,
    /// What code looks like.
    Code,
    /// What is specific to one project.
    Project,
}

/// The function of a word, or of several in a row, in a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    /// Has no meaning of its own.
    Silent,
    /// Has no meaning, and begins an instruction: "use", "keep".
    Verb,
    /// Inverts the meaning.
    Negation,
    /// "not", "no": inverts what follows, if something came before it.
    Contrast,
    /// "instead of": what follows is not wanted.
    Against,
    /// "too long": inverts, unless something else does.
    Excess,
    /// "before", "when".
    When,
    /// "without", "unless": with a negation, what came before is the condition.
    Unless,
    Action(&'static str),
    Concept(&'static Concept),
    /// The opposite of a concept: "verbose".
    Opposite(&'static Concept),
}

/// Words with the same meaning.
#[derive(Debug, PartialEq)]
pub(crate) struct Concept {
    pub name: &'static str,
    pub field: Field,
    /// How much sharing it indicates that two sentences are similar.
    pub weight: f64,
    words: &'static str,
    opposites: &'static str,
}

const fn concept(name: &'static str, field: Field, words: &'static str) -> Concept {
    Concept { name, field, weight: 1.0, words, opposites: "" }
}

const fn opposed(name: &'static str, field: Field, words: &'static str, opposites: &'static str) -> Concept {
    Concept { name, field, weight: 1.0, words, opposites }
}

/// A topic of nearly every instruction of its kind, so sharing it means little.
const fn faint(name: &'static str, field: Field, words: &'static str) -> Concept {
    Concept { name, field, weight: 0.35, words, opposites: "" }
}

use Field::{Code, Project, Talk, Work};

pub(crate) static CONCEPTS: [Concept; 81] = [
    // How to communicate.
    faint("talk", Talk, "output|response|respond|answer|reply|message|wording|writing style|chat|speak"),
    opposed(
        "concise",
        Talk,
        "concise|short|shorter|terse|brief|succinct|to the point|compact|shorten|laconic|crisp|get to the point",
        "verbose|long|longer|wordy|lengthy|rambling|ramble|chatty|verbosity|long winded|bloated|too much text|walls of text|wall of text|fluff|filler|detailed|in detail",
    ),
    concept("explain", Talk, "explain|explanation|elaborate|elaboration|justify|justification|rationale"),
    concept("summary", Talk, "summary|summaries|summarize|summarise|recap|wrap up|overview"),
    concept("emoji", Talk, "emoji|emojis|emoticon|smiley"),
    concept("apology", Talk, "apologize|apologise|apology|apologies|sorry"),
    concept("praise", Talk, "praise|flattery|flatter|compliment|sycophantic|absolutely right|great question"),
    concept("spelling", Talk, "spelling|spell"),
    concept("english", Talk, "english"),
    concept("british", Talk, "british|uk english"),
    concept("american", Talk, "american|us english"),
    concept("german", Talk, "german"),
    concept("french", Talk, "french"),
    concept("spanish", Talk, "spanish"),
    concept("bullet", Talk, "bullet|bullet point|bullet list"),
    concept("prose", Talk, "prose|paragraph|full sentence"),
    concept("plain", Talk, "plain|jargon free|simple language|plain language"),
    // How to work.
    concept(
        "ask",
        Work,
        "ask|ask me|ask first|confirm|confirmation|permission|approval|approve|check with me|consult|okay from me|my ok|\
         clear it with me|run it by me|sign off|double check with me",
    ),
    concept("assume", Work, "assume|assumption|guess|speculate|make up|invent|hallucinate|made up"),
    concept("plan", Work, "plan|planning|step by step|think first|outline first"),
    concept("verify", Work, "verify|verification|double check|prove|make certain"),
    concept("test", Work, "test|spec|test case|test suite"),
    concept("unit", Work, "unit"),
    concept("integration", Work, "integration|e2e|end to end"),
    concept("tdd", Work, "tdd|test driven|test first|tests first|failing test first"),
    concept("commit", Work, "commit"),
    concept("push", Work, "push|force push"),
    concept("branch", Work, "branch"),
    concept("pull request", Work, "pull request|pr|merge request"),
    concept("worktree", Work, "worktree"),
    concept("subagent", Work, "subagent|sub agent"),
    concept("scope", Work, "what i asked|what was asked|asked for|out of scope|unrelated|in scope"),
    concept("progress", Work, "progress|status update"),
    concept("pass", Work, "pass|green|succeed"),
    concept("build", Work, "build|compile"),
    concept("root cause", Work, "root cause|underlying cause|real cause"),
    concept("task", Work, "task|step|phase|todo|piece of work"),
    concept("bug", Work, "bug|issue|regression|fix"),
    concept("finish", Work, "finish|end|finally"),
    concept("alongside", Work, "alongside|as you go|along the way"),
    concept("review", Work, "review|code review"),
    concept("wait", Work, "wait|hold off"),
    concept("parallel", Work, "parallel|concurrently|in parallel"),
    // What code looks like.
    concept("comment", Code, "comment|inline comment|code comment"),
    concept("document", Code, "document|documentation|docs"),
    concept("hardcode", Code, "hardcode|hard code"),
    concept("secret", Code, "secret|credential|password|api key"),
    concept("docstring", Code, "docstring|doc comment|jsdoc|docblock"),
    opposed(
        "simple",
        Work,
        "simple|simpler|simplicity|minimal|minimalist|minimalistic|simplify|kiss|yagni|straightforward|lean",
        "over engineer|overengineer|overengineered|complicate|overcomplicate|over complicate|complicated|complex|fancy|clever",
    ),
    concept("abstraction", Code, "abstraction|abstract|indirection"),
    concept("type hint", Code, "type hint|type annotation|typehint|annotate|annotation|type hinting"),
    concept("error", Code, "error|exception|failure"),
    Concept { name: "handle", field: Code, weight: 0.6, words: "handle|handling", opposites: "" },
    concept("format", Code, "format|formatter|formatting|reformat|prettify"),
    concept("lint", Code, "lint|linter|linting"),
    concept("name", Code, "name|naming|identifier|rename"),
    concept("descriptive", Code, "descriptive|meaningful|expressive|self explanatory|telling name"),
    concept("function", Code, "function|method|func|routine"),
    concept("variable", Code, "variable"),
    concept("global", Code, "global|globals|global variable|global state"),
    concept("code", Code, "code"),
    concept("file", Code, "file"),
    concept("line", Code, "line|loc|long line|lines of code"),
    opposed(
        "limit",
        Code,
        "under|below|at most|no more than|up to|max|maximum|limit|within|less than|fewer than|no longer than|cap|not more than",
        "exceed|over|more than|above|longer than|beyond|bigger than|larger than",
    ),
    concept("validate", Code, "validate|validation|sanitize|sanitise"),
    concept("input", Code, "input"),
    concept("duplicate", Code, "duplicate|duplication|dry|copy paste|repeat yourself"),
    concept("indent", Code, "indent|indentation"),
    concept("tab", Code, "tab"),
    concept("space", Code, "space"),
    concept("single quote", Code, "single quote"),
    concept("double quote", Code, "double quote"),
    concept("pascalcase", Code, "pascalcase|pascal case"),
    concept("kebabcase", Code, "kebabcase|kebab case"),
    concept("postgres", Code, "postgres|postgresql|psql"),
    concept("camelcase", Code, "camelcase|camel case"),
    concept("snake_case", Code, "snake_case|snake case"),
    concept("dependency", Code, "dependency|dependencies|library|libraries|third party|package"),
    concept("log", Code, "log|logger|logging"),
    // What is specific to one project.
    concept("deploy", Project, "deploy|deployment|release|rollout|ship it"),
    concept("migration", Project, "migration|migrate"),
];

pub(crate) const REMOVE: &str = "remove";

const VERBS: &str = "use|keep|make|be|do|prefer|favour|favor|ensure|make sure|always|just|stick to|go with|stick with|follow|\
    have|put|include|give|stay|set|only|please|instead use|try|choose|switch to|leave";

const SILENT: &str = "a|an|the|this|that|these|those|it|its|it's|i|i'm|i'd|i'll|i've|me|my|mine|we|we're|our|ours|you|you're|your|\
    yours|he|she|they|them|their|is|are|was|were|am|been|will|would|should|shall|could|can|may|might|must|did|has|had|to|of|in|on|at|for|from|by|with|as|into|onto|and|or|so|then|also|too much|too many|there|here|now|again|ok|okay|yes|yeah|\
    hey|hi|hello|well|pls|thanks|thank|really|very|quite|properly|proper|correctly|carefully|nicely|good|better|best|every|each|any|all|\
    some|much|many|more|most|bit|little|lot|thing|stuff|need|want|like|would like|i'd like|think|know|see|say|said|tell|told|remember|\
    ever|never ever|about|what|which|who|how|than|other|own|both|such|that's|there's|let's|let us|let me|going forward|from now on|in the future|\
    in future|next time|of course|actually|basically|simply put|rather|unnecessary|needless|needlessly|unneeded|useless|at least|at all|by default|\
    in general|generally|normally|necessary|needed|required|require|still|already|even|sure|not only|not just|you never|you forgot|you forget|\
    don't forget|do not forget|never forget|dont forget|you didn't|you didnt|you did not|why didn't you|why don't you|why didnt you|why dont you|\
    user|kind of|sort of|way|stop and|default|per|via|etc|i said|as i said|i told you|yourself|yours|myself|directly|instead|go|get|im|ive|id|nor";

const NEGATIONS: &str = "don't|dont|do not|never|doesn't|didn't|isn't|aren't|won't|shouldn't|shouldnt|mustn't|can't|cannot|can not|\
    cant|should not|must not|is not|are not|be not|avoid|stop|skip|omit|refrain|forbid|forbidden|ban|banned|hate|dislike|\
    less|fewer|no longer|no need|you keep|you always|why do you|why did you|why are you|forget|without any|drop|get rid of|neither|enough with";

/// The lists that do not belong to a concept.
const OTHERS: [(&str, Entry); 13] = [
    ("write|add|create|implement|generate|introduce", Entry::Action("make")),
    ("run|rerun|execute|launch", Entry::Action("run")),
    ("change|edit|modify|update|touch|alter", Entry::Action("change")),
    ("read|look at|open", Entry::Action("read")),
    // Also inverts: removing a thing means not wanting it.
    ("remove|delete|strip", Entry::Action(REMOVE)),
    (NEGATIONS, Entry::Negation),
    ("not|no|non", Entry::Contrast),
    ("instead of|rather than|as opposed to", Entry::Against),
    ("too|overly|excessively", Entry::Excess),
    ("when|whenever|before|after|if|once|while|every time|each time|afterwards|as soon as", Entry::When),
    ("without|unless|until|till", Entry::Unless),
    (VERBS, Entry::Verb),
    (SILENT, Entry::Silent),
];

/// The list of words in this place, and their function. Every concept has two lists.
pub(crate) fn table(place: usize) -> Option<(&'static str, Entry)> {
    match CONCEPTS.get(place / 2) {
        Some(concept) if place.is_multiple_of(2) => Some((concept.words, Entry::Concept(concept))),
        Some(concept) => Some((concept.opposites, Entry::Opposite(concept))),
        None => OTHERS.get(place - 2 * CONCEPTS.len()).copied(),
    }
}
