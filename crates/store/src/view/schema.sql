CREATE TABLE IF NOT EXISTS segment (
    name TEXT PRIMARY KEY,
    folded_bytes INTEGER NOT NULL,
    stumps INTEGER NOT NULL,
    unknown INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS session (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    agent_session_id TEXT NOT NULL,
    project TEXT NOT NULL,
    project_name TEXT NOT NULL,
    root TEXT NOT NULL,
    cwd TEXT NOT NULL,
    branch TEXT,
    phase TEXT,
    started_at INTEGER NOT NULL,
    last_activity INTEGER NOT NULL,
    process TEXT,
    transcript TEXT,
    -- The end of the agent's last message.
    last_words TEXT NOT NULL DEFAULT '',
    -- No end of the session is known.
    is_open INTEGER NOT NULL DEFAULT 1,
    -- The id it would get if no other session began in the same second, and that second.
    wanted_id TEXT NOT NULL,
    second TEXT NOT NULL,
    -- The place of its last record in the journal's order, and the first segment that contains one.
    last_rank INTEGER NOT NULL,
    first_segment TEXT NOT NULL,
    -- The other device it was last active on; NULL for this one. Only that device decides what becomes of it.
    device TEXT,
    UNIQUE (agent, agent_session_id)
) STRICT;
-- Covers what a history asks for, because rows of sessions are long.
CREATE INDEX IF NOT EXISTS session_by_project ON session (project, last_activity, row, started_at, id);
CREATE INDEX IF NOT EXISTS session_by_second ON session (second);
CREATE INDEX IF NOT EXISTS session_by_activity ON session (last_activity);
CREATE INDEX IF NOT EXISTS session_open ON session (last_activity) WHERE is_open;

-- One row per event, so that a repeated event counts once. The row is its place in the journal's order; the row of
-- a session is the place of its first event. Neither depends on how the view was built.
CREATE TABLE IF NOT EXISTS event (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool TEXT,
    -- How the session began, for a start.
    start_source TEXT,
    -- The id of our process that reported it first.
    heard_by INTEGER,
    UNIQUE (session, key)
) STRICT;

CREATE TABLE IF NOT EXISTS mark (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    detail TEXT
) STRICT;
-- Covers the table, because every brief reads the marks of all recent sessions.
CREATE INDEX IF NOT EXISTS mark_by_session ON mark (session, at, row, what, detail);

CREATE TABLE IF NOT EXISTS fact (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    text TEXT NOT NULL,
    path TEXT,
    source TEXT NOT NULL,
    reference TEXT,
    severity TEXT,
    custom_key TEXT,
    -- The reason for a decision.
    why TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS fact_by_session ON fact (session, at);
-- Work on files is queried for all sessions of a project at once.
CREATE INDEX IF NOT EXISTS fact_files ON fact (session, path, kind, at) WHERE kind IN ('file', 'read');
-- A brief reads every other fact; there are few.
CREATE INDEX IF NOT EXISTS fact_said ON fact (session, at) WHERE kind NOT IN ('file', 'read');

-- Files outside the project of their session, which have a full path.
CREATE INDEX IF NOT EXISTS fact_outside ON fact (path, session, at) WHERE kind = 'file' AND path >= '/' AND path < '0';

-- In which files functions are.
CREATE INDEX IF NOT EXISTS fact_function ON fact (text, session, path, at) WHERE kind = 'function' AND path IS NOT NULL;

-- What tools reported of branches, however long ago.
CREATE INDEX IF NOT EXISTS fact_reported ON fact (at) WHERE kind IN ('pull_request', 'step');

-- Tests, builds and lints, with their results.
CREATE TABLE IF NOT EXISTS run (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    report TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS run_by_session ON run (session, at);

-- What a brief reads of a session, packed (`brief/digest.rs` in `recall`). Missing as long as the session goes on.
CREATE TABLE IF NOT EXISTS digest (
    session INTEGER PRIMARY KEY,
    -- No row of the session is later.
    until INTEGER NOT NULL,
    -- Its files and prompts.
    work BLOB NOT NULL,
    -- Before what is longer: SQLite reads a long row from its beginning.
    runs BLOB NOT NULL,
    -- Its other facts and what it settled.
    said BLOB NOT NULL,
    -- The sentences of its last turns.
    turns BLOB NOT NULL
) STRICT;
-- Which sessions have one, without reading them.
CREATE INDEX IF NOT EXISTS digest_made ON digest (session);

-- What ended sessions show about how much a prompt should count.
CREATE TABLE IF NOT EXISTS lesson (
    session INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    -- What counting it double would have gained, in thousandths of the session's files.
    gain INTEGER NOT NULL
) STRICT;

-- Possible paths in the last message of a turn, one per line.
CREATE TABLE IF NOT EXISTS mention (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    paths TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS mention_by_session ON mention (session, at);

-- The user's prompts, with their words and the possible paths in them, for comparing them with later ones. A long text
-- comes last, so that it need not be read for the rest.
CREATE TABLE IF NOT EXISTS prompt (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    terms TEXT NOT NULL,
    paths TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS prompt_by_session ON prompt (session, at);

-- The message with which the agent finished a turn.
CREATE TABLE IF NOT EXISTS message (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS message_by_session ON message (session, at);

-- What sessions are called, best first by rank (see `TitleRank` in `recall`): given titles, and the first request.
CREATE TABLE IF NOT EXISTS title (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS title_by_session ON title (session, rank);
-- Whether another session has the same.
CREATE INDEX IF NOT EXISTS title_by_text ON title (text);

-- The last activity of sessions whose transcript was searched for a title. Not from the journal.
CREATE TABLE IF NOT EXISTS title_asked (
    session INTEGER PRIMARY KEY,
    last_activity INTEGER NOT NULL
) STRICT;

-- Commands that the agent ran, for searching, and for knowing a failure again.
CREATE TABLE IF NOT EXISTS command (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    -- By which its failure is recognised.
    signature TEXT,
    -- NULL if nobody knows how it ended.
    passed INTEGER,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS command_by_session ON command (session, at);
CREATE INDEX IF NOT EXISTS command_failed ON command (signature, session) WHERE signature IS NOT NULL;
-- Those that may take changes of files back.
CREATE INDEX IF NOT EXISTS command_takes_back ON command (session, event)
    WHERE text LIKE '%git%checkout %-- %' OR text LIKE '%git%restore %';

-- Everything that can be searched, except memories. Filled when somebody searches, from the sessions in `unindexed`.
-- `source` is the row of the text in the table of its kind.
CREATE TABLE IF NOT EXISTS entry (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS entry_by_session ON entry (session);
CREATE VIRTUAL TABLE IF NOT EXISTS entry_terms
    USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii");

-- Sessions with records that the search index does not contain yet.
CREATE TABLE IF NOT EXISTS unindexed (
    session INTEGER PRIMARY KEY
) STRICT;

-- Where edits changed files: the first changed line.
CREATE TABLE IF NOT EXISTS edited_line (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    path TEXT NOT NULL,
    line INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS edited_line_by_session ON edited_line (session, at);

-- Settled facts: by the session's own reference, or by code in the whole project (then with a kind).
CREATE TABLE IF NOT EXISTS closing (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    target TEXT NOT NULL,
    kind TEXT,
    done INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS closing_by_session ON closing (session, at);

-- The user's corrections of the agent's work.
CREATE TABLE IF NOT EXISTS correction (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    -- Whether the user typed it, as far as its words show.
    source TEXT NOT NULL,
    -- Why the agent quoted it; NULL if it counts by itself.
    quoted TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS correction_by_session ON correction (session, at, event);

-- Prompts that nobody typed.
CREATE TABLE IF NOT EXISTS untyped (
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

-- What was turned into proposals: the number of corrections at the time, and the last prompt.
CREATE TABLE IF NOT EXISTS distilled (
    row INTEGER PRIMARY KEY,
    corrections INTEGER NOT NULL,
    last_event INTEGER NOT NULL
) STRICT;

-- The place of the last record about memories in the journal's order.
CREATE TABLE IF NOT EXISTS memory_progress (
    row INTEGER PRIMARY KEY,
    last_rank INTEGER NOT NULL
) STRICT;

-- Forgotten records, by their keyed hash. A later list (with a higher rank) may revoke an entry.
CREATE TABLE IF NOT EXISTS forgotten (
    name TEXT PRIMARY KEY,
    rank INTEGER NOT NULL,
    -- The one version of a record that is not forgotten.
    kept TEXT,
    -- For a session: nothing before this time may come back.
    until INTEGER,
    is_taken_back INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Lines of the journal that contain forgotten records and must be removed.
CREATE TABLE IF NOT EXISTS unwanted (
    segment TEXT NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (segment, offset)
) STRICT, WITHOUT ROWID;

-- Proposals and memories, one row per version. A version is current from `from_at` until `until_at`, if set.
CREATE TABLE IF NOT EXISTS memory (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    from_at INTEGER NOT NULL,
    until_at INTEGER,
    -- The version that is restored if this one is undone.
    before INTEGER,
    status TEXT NOT NULL,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    scope TEXT NOT NULL,
    project TEXT,
    confidence REAL NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    source TEXT NOT NULL,
    -- It came from a file; `source` is what the file said.
    is_imported INTEGER NOT NULL DEFAULT 0,
    supersedes TEXT,
    background TEXT,
    -- The key of the record that made this version, and the other device it came from.
    version TEXT NOT NULL,
    device TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS memory_by_id ON memory (id, row);
CREATE INDEX IF NOT EXISTS memory_by_scope ON memory (scope, updated_at) WHERE status = 'approved';
CREATE INDEX IF NOT EXISTS memory_superseding ON memory (row) WHERE supersedes IS NOT NULL;
CREATE INDEX IF NOT EXISTS memory_undecided ON memory (status, row) WHERE status <> 'approved';
CREATE INDEX IF NOT EXISTS memory_own ON memory (row) WHERE source <> 'import';

-- Which version contains which term. Nothing else is queried, so nothing else is stored.
CREATE VIRTUAL TABLE IF NOT EXISTS memory_terms
    USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii");

CREATE TABLE IF NOT EXISTS memory_use (
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (id, at, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memory_use_by_event ON memory_use (event);

CREATE TABLE IF NOT EXISTS receipt (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    -- How the session began; NULL if it was told on a prompt.
    source TEXT,
    codes TEXT NOT NULL,
    memories TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    -- Whether the user was told that the context passed the redline.
    redline INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS receipt_by_session ON receipt (session, at);

-- Summaries of sessions by a model; the newest counts.
CREATE TABLE IF NOT EXISTS summary (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    provider TEXT NOT NULL,
    text TEXT NOT NULL,
    key_context TEXT NOT NULL,
    next_actions TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS summary_by_session ON summary (session, at);

-- Every file of a project that a session ever named.
CREATE TABLE IF NOT EXISTS file (
    project TEXT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (project, path)
) STRICT, WITHOUT ROWID;

-- Git's output while this commit was checked out. Cached, because starting git takes longer than everything else.
CREATE TABLE IF NOT EXISTS git_log (
    root TEXT PRIMARY KEY,
    head TEXT NOT NULL,
    printed TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The state of a project's repository, one row per record. The last one by time and place counts.
CREATE TABLE IF NOT EXISTS repository (
    event INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The name of the project's folder, and the top of its worktree.
    project_name TEXT NOT NULL,
    root TEXT NOT NULL,
    folder TEXT NOT NULL,
    origin TEXT,
    root_commit TEXT,
    name TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS repository_by_project ON repository (project, at, event);

-- The user's answers about pairs of projects. The last one by time and place counts.
CREATE TABLE IF NOT EXISTS project_answer (
    event INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    project TEXT NOT NULL,
    other TEXT NOT NULL,
    is_same INTEGER NOT NULL,
    -- Nobody said it: it was recognised.
    is_found INTEGER NOT NULL
) STRICT;

-- What the user said about the checks of memories. Of each memory, the last row by time and place counts.
CREATE TABLE IF NOT EXISTS rule (
    event INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    memory TEXT NOT NULL,
    -- The options of the rule, as a list in JSON; an empty list if it was removed.
    words TEXT NOT NULL,
    level TEXT NOT NULL,
    -- A hash of the memory's words at that time.
    content TEXT NOT NULL,
    device TEXT NOT NULL,
    allows_once INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS rule_by_memory ON rule (memory, at, event);

-- When the user paused while checks were on, and when a pause was lifted.
CREATE TABLE IF NOT EXISTS pause (
    event INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    -- NULL for all projects.
    project TEXT,
    until INTEGER,
    is_lifted INTEGER NOT NULL
) STRICT;

-- What was decided about tool uses that broke a rule.
CREATE TABLE IF NOT EXISTS decision (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    memory TEXT NOT NULL,
    verdict TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS decision_by_session ON decision (session, at);

-- Lists of what is open in a project. The last one of a device by time and place counts. Teammates' have an author; our
-- own have neither author nor device.
CREATE TABLE IF NOT EXISTS open_list (
    event INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    project TEXT NOT NULL,
    project_name TEXT NOT NULL,
    device TEXT,
    author TEXT,
    facts TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS open_list_by_project ON open_list (project, at, event);

-- What agents wrote into their own memory about a project. The last of an agent on a device counts, by time and place.
CREATE TABLE IF NOT EXISTS agent_notes (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- The other device that it comes from; NULL for this one.
    device TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS agent_notes_by_project ON agent_notes (project, agent, at, event);
CREATE INDEX IF NOT EXISTS agent_notes_by_session ON agent_notes (session);

-- The commit that was checked out when git was last asked for the first commit, so that a long history is not walked
-- every time.
CREATE TABLE IF NOT EXISTS root_asked (
    project TEXT PRIMARY KEY,
    head TEXT NOT NULL
) STRICT, WITHOUT ROWID;
