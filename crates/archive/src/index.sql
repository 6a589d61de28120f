-- The index of the archive. It follows from the segments.
CREATE TABLE IF NOT EXISTS segment(number INTEGER PRIMARY KEY, indexed_to INTEGER NOT NULL, damaged INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS conversation(id INTEGER PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL,
    project TEXT NOT NULL, root TEXT NOT NULL, UNIQUE(agent, session));
CREATE TABLE IF NOT EXISTS block(id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, start INTEGER NOT NULL,
    bytes INTEGER NOT NULL, conversation INTEGER NOT NULL, source TEXT NOT NULL, is_main INTEGER NOT NULL,
    read_to INTEGER NOT NULL, first_at INTEGER, last_at INTEGER, text_bytes INTEGER NOT NULL,
    passages_from INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS block_of ON block(conversation);
CREATE TABLE IF NOT EXISTS line(hash INTEGER PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS passage(id INTEGER PRIMARY KEY, place INTEGER NOT NULL, part INTEGER NOT NULL,
    start INTEGER NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS file(path TEXT NOT NULL, conversation INTEGER NOT NULL, PRIMARY KEY(path, conversation))
    WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='', columnsize=0, detail='none', tokenize='ascii');
