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
    -- Nothing is known to have ended it.
    is_open INTEGER NOT NULL DEFAULT 1,
    UNIQUE (agent, agent_session_id)
) STRICT;
CREATE INDEX IF NOT EXISTS session_by_project ON session (project, last_activity);
CREATE INDEX IF NOT EXISTS session_by_activity ON session (last_activity);
CREATE INDEX IF NOT EXISTS session_open ON session (last_activity) WHERE is_open;

-- One row an event, so that the same event twice counts once.
CREATE TABLE IF NOT EXISTS event (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool TEXT,
    UNIQUE (session, key)
) STRICT;

CREATE TABLE IF NOT EXISTS mark (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    detail TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS mark_by_session ON mark (session, at);

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
    custom_key TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS fact_by_session ON fact (session, at);

-- Tests, builds and lints, with what came of them.
CREATE TABLE IF NOT EXISTS run (
    row INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    report TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS run_by_session ON run (session, at);

-- What the user said.
CREATE TABLE IF NOT EXISTS prompt (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS prompt_by_session ON prompt (session, at);

-- Edits whose file was not looked at yet.
CREATE TABLE IF NOT EXISTS unnamed (
    event INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    lines TEXT NOT NULL
) STRICT;

-- What was settled: by the session's own reference, or by code in the whole project (then with a kind).
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

CREATE TABLE IF NOT EXISTS receipt (
    row INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    codes TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS receipt_by_session ON receipt (session, at);

-- Every file of a project that a session ever named, for telling names apart.
CREATE TABLE IF NOT EXISTS file (
    project TEXT NOT NULL,
    base TEXT NOT NULL,
    path TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    PRIMARY KEY (project, base, path)
) STRICT, WITHOUT ROWID;
