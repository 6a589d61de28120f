-- A hub for Cerberus in PostgreSQL 13 or later, or an engine that understands the same SQL. Apply it as the owner of an
-- empty database; applying it again changes nothing:
--
--     cerberus sync hub-sql | psql --set ON_ERROR_STOP=1 postgres://ADMIN@HOST/DATABASE
--
-- The hub holds sealed bytes only. A person is a database role; all devices of a person use the same role.
--
--     CREATE ROLE anna LOGIN PASSWORD '…' IN ROLE cerberus_member;
--
-- The role that first writes to a space owns it, and decides who else is a member:
--
--     INSERT INTO cerberus.member (space, person) VALUES ('SPACE', 'ben');
--     DELETE FROM cerberus.member WHERE space = 'SPACE' AND person = 'ben';
--
-- Everybody else reads no rows of the space and writes none.

SET client_min_messages = warning;

CREATE SCHEMA IF NOT EXISTS cerberus;

DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'cerberus_member') THEN
        CREATE ROLE cerberus_member NOLOGIN;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS cerberus.space (
    space text NOT NULL CHECK (space ~ '^[a-z0-9-]{1,64}$'),
    owner text NOT NULL,
    PRIMARY KEY (space)
);

CREATE TABLE IF NOT EXISTS cerberus.member (
    space text NOT NULL REFERENCES cerberus.space,
    person text NOT NULL,
    PRIMARY KEY (space, person)
);

-- Whose device it is: the role that wrote it first.
CREATE TABLE IF NOT EXISTS cerberus.device (
    space text NOT NULL,
    device text NOT NULL CHECK (device ~ '^[a-z0-9-]{1,64}$'),
    owner text NOT NULL,
    PRIMARY KEY (space, device)
);

-- The head of a device has the device's name, and says which generation is valid.
CREATE TABLE IF NOT EXISTS cerberus.document (
    space text NOT NULL,
    project text NOT NULL CHECK (project ~ '^[a-z0-9-]{1,64}$'),
    name text NOT NULL CHECK (name ~ '^[a-z0-9-]{1,64}$'),
    generation bigint,
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 4194304),
    owner text NOT NULL DEFAULT current_user,
    PRIMARY KEY (space, project, name)
);

CREATE TABLE IF NOT EXISTS cerberus.batch (
    space text NOT NULL,
    project text NOT NULL CHECK (project ~ '^[a-z0-9-]{1,64}$'),
    device text NOT NULL,
    generation bigint NOT NULL CHECK (generation >= 0),
    sequence bigint NOT NULL CHECK (sequence >= 0),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 2097152),
    PRIMARY KEY (space, project, device, generation, sequence)
) PARTITION BY HASH (space, project);

CREATE TABLE IF NOT EXISTS cerberus.batch_0 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE IF NOT EXISTS cerberus.batch_1 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE IF NOT EXISTS cerberus.batch_2 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE IF NOT EXISTS cerberus.batch_3 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE IF NOT EXISTS cerberus.batch_4 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE IF NOT EXISTS cerberus.batch_5 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE IF NOT EXISTS cerberus.batch_6 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE IF NOT EXISTS cerberus.batch_7 PARTITION OF cerberus.batch FOR VALUES WITH (MODULUS 8, REMAINDER 7);

-- Row-level security applies to whoever uses a table by its name here; nobody is granted the partitions themselves.
ALTER TABLE cerberus.space ENABLE ROW LEVEL SECURITY;
ALTER TABLE cerberus.member ENABLE ROW LEVEL SECURITY;
ALTER TABLE cerberus.device ENABLE ROW LEVEL SECURITY;
ALTER TABLE cerberus.document ENABLE ROW LEVEL SECURITY;
ALTER TABLE cerberus.batch ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA cerberus TO cerberus_member;
GRANT SELECT, INSERT ON cerberus.space TO cerberus_member;
GRANT SELECT, INSERT, DELETE ON cerberus.member TO cerberus_member;
-- What names a row never changes: it would become another one, which the policies for new rows have not seen.
REVOKE UPDATE ON cerberus.device, cerberus.document FROM cerberus_member;
GRANT SELECT, INSERT, UPDATE (owner) ON cerberus.device TO cerberus_member;
GRANT SELECT, INSERT, UPDATE (bytes, generation) ON cerberus.document TO cerberus_member;
GRANT SELECT, INSERT, DELETE ON cerberus.batch TO cerberus_member;

-- A space belongs to the role that wrote to it first.
DROP POLICY IF EXISTS read ON cerberus.space;
CREATE POLICY read ON cerberus.space FOR SELECT USING (owner = current_user);
DROP POLICY IF EXISTS found ON cerberus.space;
CREATE POLICY found ON cerberus.space FOR INSERT WITH CHECK (owner = current_user);

-- Members know of themselves; the owner knows all, and admits and removes them.
DROP POLICY IF EXISTS read ON cerberus.member;
CREATE POLICY read ON cerberus.member FOR SELECT USING (
    person = current_user
    OR EXISTS (SELECT 1 FROM cerberus.space s WHERE s.space = member.space AND s.owner = current_user));
DROP POLICY IF EXISTS admit ON cerberus.member;
CREATE POLICY admit ON cerberus.member FOR INSERT WITH CHECK (
    EXISTS (SELECT 1 FROM cerberus.space s WHERE s.space = member.space AND s.owner = current_user));
DROP POLICY IF EXISTS remove ON cerberus.member;
CREATE POLICY remove ON cerberus.member FOR DELETE USING (
    EXISTS (SELECT 1 FROM cerberus.space s WHERE s.space = member.space AND s.owner = current_user));

-- A member adds devices of its own, and cannot take another's.
DROP POLICY IF EXISTS read ON cerberus.device;
CREATE POLICY read ON cerberus.device FOR SELECT USING (
    EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = device.space AND m.person = current_user));
DROP POLICY IF EXISTS add ON cerberus.device;
CREATE POLICY add ON cerberus.device FOR INSERT WITH CHECK (
    owner = current_user
    AND device <> 'chain'
    AND EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = device.space AND m.person = current_user));
DROP POLICY IF EXISTS keep ON cerberus.device;
CREATE POLICY keep ON cerberus.device FOR UPDATE USING (owner = current_user) WITH CHECK (owner = current_user);

-- Members read all documents, add some that are not named after others' devices, and change their own. The documents with
-- the space's chain belong to nobody.
DROP POLICY IF EXISTS read ON cerberus.document;
CREATE POLICY read ON cerberus.document FOR SELECT USING (
    EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = document.space AND m.person = current_user));
DROP POLICY IF EXISTS add ON cerberus.document;
CREATE POLICY add ON cerberus.document FOR INSERT WITH CHECK (
    owner = current_user
    AND EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = document.space AND m.person = current_user)
    AND NOT EXISTS (
        SELECT 1 FROM cerberus.device d
        WHERE d.space = document.space AND d.device = document.name AND d.owner <> current_user));
DROP POLICY IF EXISTS change ON cerberus.document;
CREATE POLICY change ON cerberus.document FOR UPDATE USING (
    (owner = current_user OR name = 'chain')
    AND EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = document.space AND m.person = current_user));

-- Members read all batches, add batches of their own devices to a generation that is valid, and remove their own. The
-- links of the space's chain belong to no device: every member adds some, whatever generation somebody gives the document
-- of that name, and nobody removes any.
DROP POLICY IF EXISTS read ON cerberus.batch;
CREATE POLICY read ON cerberus.batch FOR SELECT USING (
    EXISTS (SELECT 1 FROM cerberus.member m WHERE m.space = batch.space AND m.person = current_user));
DROP POLICY IF EXISTS add ON cerberus.batch;
CREATE POLICY add ON cerberus.batch FOR INSERT WITH CHECK (
    batch.project = 'space' AND batch.device = 'chain' AND EXISTS (
        SELECT 1 FROM cerberus.member m WHERE m.space = batch.space AND m.person = current_user)
    OR EXISTS (
        SELECT 1 FROM cerberus.device d
        WHERE d.space = batch.space AND d.device = batch.device AND d.owner = current_user)
    AND NOT EXISTS (
        SELECT 1 FROM cerberus.document h
        WHERE h.space = batch.space AND h.project = batch.project AND h.name = batch.device
            AND h.generation > batch.generation));
DROP POLICY IF EXISTS remove ON cerberus.batch;
CREATE POLICY remove ON cerberus.batch FOR DELETE USING (
    EXISTS (
        SELECT 1 FROM cerberus.device d
        WHERE d.space = batch.space AND d.device = batch.device AND d.owner = current_user));
