//! PostgreSQL: who reads and writes what, and how the server is trusted.

use cerberus_testkit::hubs::certificate::Certificates;
use cerberus_testkit::hubs::postgres::Database;

use super::*;

#[test]
fn a_database_is_a_hub() {
    if !Database::is_here() {
        return;
    }
    let database = Database::start();
    database.add_person("anna");
    conforms(&database.hub("anna"), true);
    let encrypted = "SELECT count(*) FROM pg_stat_ssl WHERE NOT ssl AND pid IN (SELECT pid FROM pg_stat_activity \
        WHERE application_name = 'cerberus')";
    assert_eq!(database.sql(encrypted).trim(), "0");
    let counts = cut_off(database.port(), &|port| {
        database.hub("anna").replace(&format!(":{}/", database.port()), &format!(":{port}/"))
    });
    assert_eq!(counts, [0, 0, 0], "a push that is cut off leaves nothing");
    all_at_once(&|_| database.hub("anna"));
}

#[test]
fn only_members_read_and_only_a_device_writes_its_stream() {
    if !Database::is_here() {
        return;
    }
    let database = Database::start();
    for person in ["anna", "ben", "mallory"] {
        database.add_person(person);
    }
    let dir = tempfile::tempdir().unwrap();
    let [mut anna, mut ben, mut mallory] =
        ["anna", "ben", "mallory"].map(|person| hub(&database.hub(person), dir.path()));
    let (own, space) = (stream("p", "de1"), "5pace");
    anna.put_if_absent(&own, 1, &[batch(1, "one")]).unwrap();
    anna.replace(&place("p"), "de1", b"head", Some(1)).unwrap();
    // Before ben is a member he is nobody, like mallory.
    for nobody in [&mut ben, &mut mallory] {
        assert_eq!(nobody.heads(&place("p")).unwrap(), []);
        assert_eq!(nobody.after(&own, 1, 0, 10).unwrap(), []);
        let (kind, said) = told(nobody.put_if_absent(&stream("p", "de2"), 1, &[batch(1, "x")]));
        assert!(kind == "refused" && said.contains("not a member"), "{said}");
        assert_eq!(told(nobody.replace(&place("p"), "de2", b"x", Some(1))).0, "refused");
        assert_eq!(told(nobody.replace(&place("p"), "members", b"x", None)).0, "refused");
    }
    let join = format!("INSERT INTO cerberus.member (space, person) VALUES ('{space}', 'ben')");
    assert!(database.sql_as("ben", &join).is_err(), "nobody admits himself");
    database.sql_as("anna", &join).unwrap();
    assert_eq!(ben.heads(&place("p")).unwrap().len(), 1);
    assert_eq!(ben.after(&own, 1, 0, 10).unwrap(), [batch(1, "one")]);
    assert_eq!(ben.put_if_absent(&stream("p", "de2"), 1, &[batch(1, "two")]).unwrap(), [Put::Stored]);
    ben.replace(&place("p"), "members", b"list", None).unwrap();
    // A member cannot write for another's device, here or in another project, nor take it over.
    for (forged, generation) in [("p", 1), ("p", 2), ("q", 1)] {
        let (kind, said) = told(ben.put_if_absent(&stream(forged, "de1"), generation, &[batch(2, "forged")]));
        assert_eq!(kind, "refused", "{said}");
    }
    assert_eq!(told(ben.replace(&place("p"), "de1", b"forged", Some(2))).0, "refused");
    assert_eq!(told(ben.replace(&place("p"), "de1", b"forged", None)).0, "refused");
    let row = format!("'{space}', 'p', 'de1', 1, 2, 'x'");
    for sql in [
        &format!("INSERT INTO cerberus.batch (space, project, device, generation, sequence, bytes) VALUES ({row})"),
        "UPDATE cerberus.batch SET bytes = 'x'",
        "SELECT * FROM cerberus.batch_0",
        "TRUNCATE cerberus.batch",
    ] {
        assert!(database.sql_as("ben", sql).is_err(), "{sql}");
    }
    for sql in [
        "DELETE FROM cerberus.batch WHERE device = 'de1'",
        "UPDATE cerberus.device SET owner = 'ben' WHERE device = 'de1'",
        "DELETE FROM cerberus.member WHERE person = 'anna'",
    ] {
        let _ = database.sql_as("ben", sql);
    }
    anna.replace(&place("space"), "request-aa", b"asked", None).unwrap();
    anna.replace(&place("space"), "chain", b"links", None).unwrap();
    let _ = database.sql_as("ben", "UPDATE cerberus.document SET bytes = 'x' WHERE name = 'request-aa'");
    let _ = ben.replace(&place("space"), "request-aa", b"other", None);
    let mut documents = anna.heads(&place("space")).unwrap().into_iter();
    let asked = documents.find(|document| document.name == "request-aa").unwrap();
    assert_eq!(asked.bytes, b"asked", "only its owner changes a document");
    // Whoever asks to be let in writes as that device from then on.
    assert_eq!(told(ben.put_if_absent(&stream("p", "aa"), 1, &[batch(1, "forged")])).0, "refused");
    ben.replace(&place("space"), "chain", b"more links", None).unwrap();
    // No row of his becomes one that he could not have added, here or in a space that he does not belong to.
    for sql in [
        "UPDATE cerberus.device SET device = 'chain' WHERE device = 'de2'",
        "UPDATE cerberus.device SET space = 'other' WHERE device = 'de2'",
        "UPDATE cerberus.document SET project = 'q', name = 'de1' WHERE name = 'members'",
        "UPDATE cerberus.document SET owner = 'ben' WHERE name = 'chain'",
    ] {
        assert!(database.sql_as("ben", sql).is_err(), "{sql}");
    }
    // Nor can he keep others from adding to the chain.
    let _ =
        database.sql_as("ben", "UPDATE cerberus.document SET generation = 9000000000000000000 WHERE name = 'chain'");
    let _ = ben.replace(&place("space"), "chain", b"more links", Some(u64::MAX));
    assert_eq!(anna.put_if_absent(&stream("space", "chain"), 1, &[batch(1, "link")]).unwrap(), [Put::Stored]);
    anna.replace(&place("space"), "chain", b"all links", None).unwrap();
    assert!(database.sql_as("ben", "DELETE FROM cerberus.batch").is_ok());
    assert_eq!(anna.after(&stream("space", "chain"), 1, 0, 10).unwrap(), [batch(1, "link")]);
    assert_eq!(anna.after(&own, 1, 0, 10).unwrap(), [batch(1, "one")]);
    assert_eq!(anna.put_if_absent(&own, 1, &[batch(2, "two")]).unwrap(), [Put::Stored]);
    assert!(anna.heads(&place("p")).unwrap().iter().any(|head| head.name == "de1" && head.bytes == b"head"));
    database
        .sql_as("anna", &format!("DELETE FROM cerberus.member WHERE space = '{space}' AND person = 'ben'"))
        .unwrap();
    assert_eq!(ben.heads(&place("p")).unwrap(), [], "a removed member reads nothing");
}

#[test]
fn an_old_generation_takes_nothing_more() {
    if !Database::is_here() {
        return;
    }
    let database = Database::start();
    database.add_person("anna");
    let dir = tempfile::tempdir().unwrap();
    let mut anna = hub(&database.hub("anna"), dir.path());
    let own = stream("p", "de1");
    anna.put_if_absent(&own, 1, &[batch(1, "forgotten")]).unwrap();
    anna.put_if_absent(&own, 2, &[batch(1, "kept")]).unwrap();
    anna.replace(&place("p"), "de1", b"head", Some(2)).unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM cerberus.batch WHERE generation = 1").trim(), "0");
    let (kind, said) = told(anna.put_if_absent(&own, 1, &[batch(1, "forgotten")]));
    assert_eq!(kind, "refused", "{said}");
    let (kind, said) = told(anna.replace(&place("p"), "de1", b"older", Some(1)));
    assert_eq!(kind, "refused", "{said}");
    assert_eq!(anna.put_if_absent(&own, 2, &[batch(2, "more")]).unwrap(), [Put::Stored]);
    assert_eq!(
        anna.put_if_absent(&stream("q", "de1"), 1, &[batch(1, "x")]).unwrap(),
        [Put::Stored],
        "in another project"
    );
}

#[test]
fn a_server_is_trusted_by_its_certificate_and_its_answers_are_told_apart() {
    if !Database::is_here() {
        return;
    }
    let database = Database::start_empty();
    let dir = tempfile::tempdir().unwrap();
    let stranger = tempfile::tempdir().unwrap();
    let wrong = Certificates::new(stranger.path()).authority();
    let right = format!("sslmode=verify-full&sslrootcert={}", database.authority().display());
    let admin = database.url("admin", &right);
    for (address, expected, said) in [
        (database.url("admin", &format!("sslrootcert={}", wrong.display())), "refused", "certificate"),
        (database.url("admin", ""), "refused", "certificate"),
        (admin.replace("p%25ss", "wrong"), "refused", "password"),
        (database.url("nobody", &right), "refused", "password"),
        (admin.replace("/postgres?", "/none?"), "refused", "does not exist"),
        (admin.clone(), "refused", "hub.sql"),
        (admin.replace(&format!(":{}/", database.port()), ":1/"), "unreachable", "refused"),
    ] {
        let (kind, text) = told(hub(&address, dir.path()).heads(&place("p")));
        assert!(kind == expected && text.contains(said), "{said}: {kind}: {text}");
        assert!(!text.contains("ss:w") && !text.contains("p%25ss"), "no password: {text}");
    }
    // The address names another host than the certificate: `localhost` is in it, this address is not.
    let other = admin.replace("127.0.0.1", "127.0.0.2");
    assert_ne!(told(hub(&other, dir.path()).heads(&place("p"))).0, "fine");
}
