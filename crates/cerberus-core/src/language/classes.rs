//! Word classes shared by the cue tables: `@name` in a pattern matches any word of the class. Lists only.

/// Named classes of words.
pub(crate) const CLASSES: &[(&str, &str)] = &[
    (
        "thing",
        "i|you|we|they|he|she|it|this|that|these|those|there|the|a|an|our|my|your|all|any|everything|anything|someone",
    ),
    ("we", "i|we|i'm|we're|we've|i've|we'll|i'll|i'd|we'd|you|they"),
    ("lets", "let's|lets"),
    // Verbs that begin talk or work; they do not express a choice.
    (
        "talk",
        "discuss|look|see|talk|say|check|confirm|review|examine|verify|validate|proceed|continue|pause|wait|think|\
         summarize|summarise|assume|focus|understand|investigate|figure|find|know|compare|brainstorm|explore|plan|hold|\
         be|hope|consider|recap|chat|double|analyze|analyse|dig|step|walk|commit|push|resume|debug|ask|clarify|revisit|\
         imagine|pretend|suppose|not|give|hear|read|get|go|start|run|test|try|take|move",
    ),
    // Verbs of choosing and changing.
    (
        "act",
        "use|keep|drop|remove|replace|rename|switch|move|make|add|store|skip|avoid|stick|go|pick|choose|split|merge|\
         support|ship|leave|put|default|migrate|treat|call|name|write|do|have|build|delete|extract|return|show|allow|\
         disable|enable|hide|start|stay|simplify|expose|pin|upgrade|revert|change|fix|implement|create",
    ),
    // Verbs of choosing alone.
    (
        "choice",
        "use|keep|drop|stick|go|skip|avoid|switch|replace|remove|rename|pick|default|leave|revert|split|merge|move|choose|\
         adopt|target|ignore|hide|disable|delete|prefer|rely|stay",
    ),
    // Verbs for work to be done now.
    ("bare", "adjust|update|work|finish|tackle|log|file|open|raise"),
    ("fail", "failing|broken|crashing|hanging|flaky|stuck|erroring|red|failed"),
    ("fails", "fails|crashes|hangs|crashed|hung|broke"),
    ("notwork", "doesn't|don't|didn't|won't|isn't|aren't|not|never|stopped|cannot|can't|doesnt|dont|didnt|wont|isnt"),
    (
        "ticket",
        "issue|issues|ticket|tickets|todo|todos|to-do|task|tasks|story|follow-up|followup|backlog|card|reminder",
    ),
    // Function words: prepositions, conjunctions, adverbs.
    (
        "small",
        "to|of|in|on|at|by|for|from|with|without|into|over|under|after|before|about|as|than|then|if|when|while|until|and|or|\
         but|so|not|never|always|again|once|more|less|most|too|quite|very|really|actually|ever|already|yet|now|no|yes|ok",
    ),
    // How an instruction forbids something.
    ("not", "don't|dont|never"),
    // Verbs for an agent's own work, which no product does.
    (
        "labour",
        "run|rerun|commit|push|force-push|merge|rebase|squash|amend|test|lint|format|ask|read|follow|verify|review|document|\
         branch|install|answer|reply|respond|explain|edit|modify|touch|mock|assume|guess|deploy|bump|sign|name|confirm|\
         consult|refactor|rewrite|propose|hardcode|hard-code|hard-wrap|abbreviate|stage|stash|cherry-pick|speak|double-check",
    ),
    // The results of such work, in the plural: a sentence about all of them is a rule.
    (
        "works",
        "commits|prs|mrs|tests|branches|comments|functions|methods|modules|releases|migrations|imports|secrets|\
         dependencies|variables|constants|docs|docstrings|changelogs|messages|titles|descriptions|names|patches|fixtures|\
         mocks|snapshots|tags|reviews|refactors|refactorings|specs|classes|types|interfaces|filenames|identifiers",
    ),
    (
        "work",
        "commit|pr|mr|test|branch|comment|function|method|module|release|migration|change|feature|fix|patch|task|phase|step",
    ),
    ("place", "repo|repository|project|codebase|monorepo|workspace|team|company|org|house|package"),
    (
        "custom",
        "convention|conventions|guideline|guidelines|workflow|workflows|policy|policies|rules|standard|standards|practice|\
         practices|styleguide|conventions.md|methodology|tdd|instructions",
    ),
    // Where the rules are written.
    (
        "rulebook",
        "claude.md|@claude.md|agents.md|@agents.md|gemini.md|contributing.md|@contributing.md|conventions.md|style.md|\
         skill|skills|guidelines|guideline|conventions|convention|instructions|rules|styleguide|handbook|playbook|policy",
    ),
    // Files that every session reads.
    (
        "memoryfile",
        "claude.md|@claude.md|agents.md|@agents.md|gemini.md|@gemini.md|.cursorrules|copilot-instructions.md",
    ),
    // Programs that are chosen once per project.
    (
        "tool",
        "npm|pnpm|yarn|bun|deno|pip|uv|poetry|pipenv|conda|cargo|make|just|mise|nix|brew|docker|podman|pytest|unittest|jest|\
         vitest|mocha|playwright|cypress|rg|ripgrep|grep|fd|gh|glab|jq|tox|nox|ruff|black|isort|prettier|eslint|biome|gofmt|\
         rustfmt|clippy|gradle|maven|bazel|tsx|ts-node|zsh|bash|fish|rebase|worktrees|subagents|nextest|hatch|rye|asdf|nvm|volta",
    ),
    // How text and code look.
    (
        "looks",
        "spelling|tabs|spaces|indentation|snake_case|camelcase|pascalcase|kebab-case|semicolons|docstrings|emojis|emoji|\
         em-dashes|emdashes|abbreviations|acronyms|capitals|lowercase|uppercase|oxford|imperative|tense|quotes|bullets|prose|\
         hyphens|indents|american|british",
    ),
    (
        "answers",
        "answers|responses|replies|explanations|summaries|messages|descriptions|output|answer|response|reply|summary|reports",
    ),
    ("terse", "short|shorter|brief|briefer|concise|terse|succinct|crisp|minimal"),
];
