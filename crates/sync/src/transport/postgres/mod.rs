//! A hub in PostgreSQL, for organisations. `hub.sql` makes its tables; row-level security decides who reads and writes.
//!
//! A push is one turn and one transaction, so it arrives whole or not at all. The row of the writing device is locked
//! meanwhile: two writers of one stream follow each other, and the second sees what the first stored.

mod connection;

use std::sync::Arc;

use bytes::BytesMut;
use cerberus_store::authorities;
use postgres_protocol::IsNull;
use postgres_protocol::types::{ArrayDimension, array_to_sql};
use rustls::{ClientConfig, RootCertStore};

use self::connection::{Connection, DatabaseError, Login, Row, Statement};
use super::address::{Address, AddressError};
use super::reason::first_line;
use super::{
    CHAIN, Document, Place, Put, Question, REQUEST, Range, Result, SPACE_PLACE, Sealed, Stream, TimeLimit, Transport,
    TransportError, roots, until_other,
};

/// What an administrator applies to the database once.
pub const HUB_SQL: &str = include_str!("hub.sql");

/// The documents of a place, if there are at most `$3`. No more than that are counted.
const FEW: &str = "SELECT name, bytes FROM cerberus.document WHERE space = $1::text AND project = $2::text \
    AND $3::bigint >= (SELECT count(*) FROM (SELECT 1 FROM cerberus.document \
        WHERE space = $1::text AND project = $2::text LIMIT $3::bigint + 1) AS counted) ORDER BY name";

const AFTER: &str = "SELECT sequence::text, bytes FROM cerberus.batch WHERE space = $1::text AND project = $2::text \
    AND device = $3::text AND generation = $4::bigint AND sequence > $5::bigint ORDER BY batch.sequence LIMIT $6::bigint";

/// A space that nobody has is ours.
const FOUND: &str = "INSERT INTO cerberus.space (space, owner) VALUES ($1::text, current_user) ON CONFLICT DO NOTHING";

const JOIN: &str = "INSERT INTO cerberus.member (space, person) SELECT space, current_user FROM cerberus.space \
    WHERE space = $1::text AND owner = current_user ON CONFLICT DO NOTHING";

/// Registers the device, and locks it: its writers follow each other.
const DEVICE: &str = "INSERT INTO cerberus.device (space, device, owner) VALUES ($1::text, $2::text, current_user) \
    ON CONFLICT (space, device) DO UPDATE SET owner = excluded.owner";

/// Stores what is new, up to the first batch that another writer stored differently.
const PUT: &str = "WITH given AS (SELECT * FROM unnest($5::bigint[], $6::bytea[]) WITH ORDINALITY \
        AS given (sequence, bytes, position)) \
    INSERT INTO cerberus.batch (space, project, device, generation, sequence, bytes) \
    SELECT $1::text, $2::text, $3::text, $4::bigint, given.sequence, given.bytes FROM given \
    WHERE NOT EXISTS (SELECT 1 FROM given earlier JOIN cerberus.batch stored ON stored.space = $1::text \
        AND stored.project = $2::text AND stored.device = $3::text AND stored.generation = $4::bigint \
        AND stored.sequence = earlier.sequence AND stored.bytes <> earlier.bytes \
        WHERE earlier.position <= given.position) \
    ON CONFLICT DO NOTHING";

/// Which of the batches are stored, and whether with these bytes.
const COMPARE: &str = "SELECT given.sequence, stored.bytes = given.bytes \
    FROM unnest($5::bigint[], $6::bytea[]) AS given (sequence, bytes) JOIN cerberus.batch stored \
    ON stored.space = $1::text AND stored.project = $2::text AND stored.device = $3::text \
    AND stored.generation = $4::bigint AND stored.sequence = given.sequence";

const REPLACE: &str = "INSERT INTO cerberus.document (space, project, name, generation, bytes) \
    VALUES ($1::text, $2::text, $3::text, $4::bigint, $5::bytea) ON CONFLICT (space, project, name) \
    DO UPDATE SET bytes = excluded.bytes, generation = coalesce(excluded.generation, document.generation) \
    WHERE document.generation IS NULL OR excluded.generation IS NULL OR document.generation <= excluded.generation \
    RETURNING name";

const REMOVE: &str = "DELETE FROM cerberus.batch WHERE space = $1::text AND project = $2::text AND device = $3::text \
    AND generation < $4::bigint";

/// More documents than any place has.
const MANY: u64 = 1 << 40;

/// The types of array elements, by PostgreSQL's fixed numbers.
const BIGINT: u32 = 20;
const BYTEA: u32 = 17;

#[derive(Debug)]
pub struct Postgres {
    hub: String,
    login: Login,
    connection: Option<Connection>,
}

impl Postgres {
    /// `variable` reads the environment: a password that is not part of the address comes from `PGPASSWORD`.
    pub fn open(
        address: &Address,
        variable: &dyn Fn(&str) -> Option<String>,
        time: TimeLimit,
    ) -> Result<Postgres, AddressError> {
        address.only_settings(&["sslmode", "sslrootcert"], "PostgreSQL")?;
        if address.host.is_empty() {
            return Err(AddressError::Missing("host"));
        }
        let database = address.path.trim_matches('/').to_string();
        if database.is_empty() {
            return Err(AddressError::Missing("database, as in postgres://USER@HOST/DATABASE"));
        }
        let tls = match address.setting("sslmode").unwrap_or("verify-full") {
            "verify-full" => Some(tls(address.setting("sslrootcert"))?),
            "disable" if address.is_loopback() => None,
            _ => return Err(AddressError::Insecure("sslmode must be verify-full, except on this machine")),
        };
        let login = Login {
            host: address.host.clone(),
            port: address.port.unwrap_or(5432),
            user: address.user.clone().ok_or(AddressError::Missing("user, as in postgres://USER@HOST/DATABASE"))?,
            password: address.password.clone().or_else(|| variable("PGPASSWORD")),
            database,
            tls,
            time,
        };
        Ok(Postgres { hub: address.redacted(), login, connection: None })
    }

    /// Runs statements together. After a failure of the connection the next call makes a new one.
    fn run(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        let connection = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.login),
        };
        let ran = connection.and_then(|mut connection| {
            let ran = connection.run(statements);
            if matches!(ran, Ok(_) | Err(DatabaseError::Refused { .. })) {
                self.connection = Some(connection);
            }
            ran
        });
        ran.map_err(|error| self.problem(error))
    }

    fn problem(&self, error: DatabaseError) -> TransportError {
        let hub = self.hub.clone();
        match error {
            DatabaseError::Io(error) => TransportError::Unreachable { hub, reason: first_line(&error.to_string()) },
            DatabaseError::Login(reason) => TransportError::Refused { hub, reason: first_line(&reason) },
            DatabaseError::Answer(_) => TransportError::Unexpected { hub, reason: error.to_string() },
            DatabaseError::Refused { code, message } => {
                let reason = first_line(&format!("{message} ({code})"));
                match code.as_str() {
                    "42P01" | "3F000" => {
                        TransportError::Refused { hub, reason: format!("hub.sql was not applied: {reason}") }
                    }
                    "42501" => TransportError::Refused { hub, reason: self.not_allowed(&reason) },
                    "53100" | "54000" => TransportError::Full { hub, reason },
                    // No disk, memory or connection left for now; shutting down; starting; a lock that took too long.
                    code if code.starts_with("53") || code.starts_with("57") || code.starts_with("40") => {
                        TransportError::Unreachable { hub, reason }
                    }
                    code if ["28", "3D", "42", "23"].iter().any(|class| code.starts_with(class)) => {
                        TransportError::Refused { hub, reason }
                    }
                    _ => TransportError::Unexpected { hub, reason },
                }
            }
        }
    }

    /// Row-level security says no more than this.
    fn not_allowed(&self, reason: &str) -> String {
        let user = &self.login.user;
        format!(
            "{user} is not a member of this space, or the device is not {user}'s, or its generation is over: {reason}"
        )
    }

    /// Runs statements that write in a space, as this device.
    fn write_as(&mut self, space: &str, device: Option<&str>, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>> {
        let mut all = vec![Statement::new(FOUND, vec![text(space)]), Statement::new(JOIN, vec![text(space)])];
        all.extend(device.map(|device| Statement::new(DEVICE, vec![text(space), text(device)])));
        let before = all.len();
        all.extend(statements);
        Ok(self.run(&all)?.split_off(before))
    }
}

impl Transport for Postgres {
    fn hub(&self) -> String {
        self.hub.clone()
    }

    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        let document = |mut row: Row| {
            let bytes = row.pop().flatten()?;
            Some(Document { name: String::from_utf8(row.pop().flatten()?).ok()?, bytes })
        };
        let answers = self.run(&questions.iter().map(statement).collect::<Vec<_>>())?;
        let documents = answers.into_iter().map(|rows| rows.into_iter().map(document).collect());
        let documents: Option<Vec<Vec<Document>>> = documents.collect();
        let incomplete = || "a row is incomplete".to_string();
        documents.ok_or_else(|| TransportError::Unexpected { hub: self.hub.clone(), reason: incomplete() })
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>> {
        let Stream { place, device } = stream;
        let sequences: Vec<Vec<u8>> = batches.iter().flat_map(|batch| number(batch.sequence)).collect();
        let parameters = vec![
            text(&place.space),
            text(&place.project),
            text(device),
            number(generation),
            array(BIGINT, sequences.iter().map(Vec::as_slice)),
            array(BYTEA, batches.iter().map(|batch| batch.bytes.as_slice())),
        ];
        // Everybody adds links to the chain of a space.
        let is_chain = (place.project.as_str(), device.as_str()) == (SPACE_PLACE, CHAIN);
        let device = (!is_chain).then_some(device.as_str());
        let statements = vec![Statement::new(PUT, parameters.clone()), Statement::new(COMPARE, parameters)];
        let answers = self.write_as(&place.space, device, statements)?;
        let is_same = |row: &Row, sequence| as_number(row, 0) == Some(sequence) && row.get(1) == Some(&Some(vec![1]));
        let is_there = |batch: &Sealed| answers.iter().skip(1).flatten().any(|row| is_same(row, batch.sequence));
        until_other(batches.iter().map(|batch| Ok(Put::of(is_there(batch)))))
    }

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()> {
        let generation = generation.and_then(number);
        let key = || vec![text(&place.space), text(&place.project), text(name)];
        let replaced = [key(), vec![generation.clone(), Some(bytes.to_vec())]].concat();
        let mut statements = vec![Statement::new(REPLACE, replaced)];
        // Whoever asks to be let in owns its device from then on, so that nobody else takes it.
        let device = generation.as_ref().map(|_| name).or_else(|| name.strip_prefix(REQUEST));
        if generation.is_some() {
            statements.push(Statement::new(REMOVE, [key(), vec![generation]].concat()));
        }
        let answers = self.write_as(&place.space, device, statements)?;
        if answers.first().is_some_and(|rows| rows.len() == 1) {
            return Ok(());
        }
        let reason = "the hub has a later generation of this device".to_string();
        Err(TransportError::Refused { hub: self.hub.clone(), reason })
    }
}

/// TLS that trusts the authorities of the system, or those in a file.
fn tls(file: Option<&str>) -> Result<Arc<ClientConfig>, AddressError> {
    let mut store = RootCertStore::empty();
    match (file, authorities::of_system()) {
        (Some(file), _) => {
            for certificate in roots::read(file)? {
                let added = store.add(certificate.der().to_vec().into());
                added.map_err(|error| AddressError::Certificate(file.to_string(), error.to_string()))?;
            }
        }
        // A system may have some that are no longer valid.
        (None, Some(found)) => {
            store.add_parsable_certificates(found.iter().map(|found| found.der().to_vec().into()));
        }
        (None, None) => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| AddressError::Insecure("TLS is not available"))?;
    Ok(Arc::new(builder.with_root_certificates(store).with_no_client_auth()))
}

fn statement(question: &Question) -> Statement {
    match question {
        Question::Heads(place, max) => {
            let max = number(MANY.min(*max as u64));
            Statement::new(FEW, vec![text(&place.space), text(&place.project), max])
        }
        Question::After(Range { stream: Stream { place, device }, generation, sequence, limit }) => {
            let mut parameters = vec![text(&place.space), text(&place.project), text(device)];
            parameters.extend([number(*generation), number(*sequence), number(*limit as u64)]);
            Statement::new(AFTER, parameters)
        }
    }
}

/// Nothing has a larger number than PostgreSQL counts to, whatever somebody claims.
fn number(number: u64) -> Option<Vec<u8>> {
    Some(i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes().to_vec())
}

fn text(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

fn as_number(row: &Row, column: usize) -> Option<u64> {
    let bytes = row.get(column)?.as_deref()?;
    u64::try_from(i64::from_be_bytes(bytes.try_into().ok()?)).ok()
}

/// An array of one dimension in PostgreSQL's binary form.
fn array<'a>(element: u32, values: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let values: Vec<&[u8]> = values.collect();
    let dimension = ArrayDimension { len: i32::try_from(values.len()).ok()?, lower_bound: 1 };
    let mut out = BytesMut::new();
    let write = |value: &[u8], out: &mut BytesMut| {
        out.extend_from_slice(value);
        Ok(IsNull::No)
    };
    array_to_sql([dimension], element, values, write, &mut out).ok()?;
    Some(out.to_vec())
}
