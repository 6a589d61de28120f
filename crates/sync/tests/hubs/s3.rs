//! S3-compatible storage.

use cerberus_testkit::answering::{Answer, Answering};
use cerberus_testkit::hubs::s3::Storage;

use super::*;

#[test]
fn storage_is_a_hub() {
    if !Storage::is_here() {
        return;
    }
    let storage = Storage::start();
    conforms(&storage.hub(), true);
    let counts = cut_off(storage.port(), &|port| storage.hub_through(port));
    assert!(counts.iter().all(|count| *count < 20), "{counts:?}");
    all_at_once(&|_| storage.hub());
}

#[test]
fn more_names_than_a_page_has_are_listed() {
    if !Storage::is_here() {
        return;
    }
    let storage = Storage::start();
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&storage.hub(), dir.path());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (address, dir) = (storage.hub(), dir.path());
            scope.spawn(move || {
                let mut hub = super::hub(&address, dir);
                for number in 0..260 {
                    hub.replace(&place("p"), &format!("doc-{worker}-{number}"), b"x", None).unwrap();
                }
            });
        }
    });
    assert_eq!(hub.heads(&place("p")).unwrap().len(), 1040);
}

#[test]
fn an_object_that_is_too_large_is_named_and_everything_else_is_read() {
    if !Storage::is_here() {
        return;
    }
    let storage = Storage::start();
    let dir = tempfile::tempdir().unwrap();
    let mut hub = hub(&storage.hub(), dir.path());
    hub.replace(&place("p"), "de1", b"head", None).unwrap();
    hub.replace(&place("p"), "de2", &vec![0; 9 << 20], None).unwrap();
    let large = [Sealed { sequence: 1, bytes: vec![0; 9 << 20] }, batch(2, "two")];
    hub.put_if_absent(&stream("p", "de1"), 1, &large).unwrap();
    let names: Vec<String> = hub.heads(&place("p")).unwrap().into_iter().map(|document| document.name).collect();
    assert_eq!(names, ["de1"]);
    assert_eq!(hub.after(&stream("p", "de1"), 1, 0, 9).unwrap(), []);
    let said: Vec<String> = hub.oddities().iter().map(ToString::to_string).collect();
    assert!(said.len() == 2 && said.iter().all(|line| line.contains("is larger than 8 MiB")), "{said:?}");
}

#[test]
fn credentials_come_from_the_environment_too_and_must_be_right() {
    if !Storage::is_here() {
        return;
    }
    let storage = Storage::start();
    let dir = tempfile::tempdir().unwrap();
    let address = format!("s3+http://127.0.0.1:{}/bucket?region=eu-central-1", storage.port());
    let (key, secret) = storage.credentials();
    let variable = |name: &str| match name {
        "AWS_ACCESS_KEY_ID" => Some(key.to_string()),
        "AWS_SECRET_ACCESS_KEY" => Some(secret.to_string()),
        _ => None,
    };
    let local = LocalMachine { dir: dir.path(), variable: &variable, time: TimeLimit::of(LIMIT, LIMIT) };
    let Ok(mut right) = open(&address, &local) else { panic!("it opens") };
    right.replace(&place("p"), "de1", b"x", None).unwrap();
    assert_eq!(right.heads(&place("p")).unwrap().len(), 1);
    for (address, expected, said) in [
        (storage.hub().replace('@', "x@"), "refused", "403"),
        (storage.hub().replace("/bucket/", "/none/"), "refused", "NoSuchBucket"),
        (storage.hub_through(1), "unreachable", ""),
    ] {
        let (kind, text) = told(hub(&address, dir.path()).heads(&place("p")));
        assert!(kind == expected && text.contains(said), "{kind}: {text}");
        assert!(!text.contains(secret) && !text.contains(key), "no key: {text}");
    }
}

#[test]
fn answers_are_told_apart_and_redirects_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = Answering::start(vec![Answer::Say(200, Vec::new())]);
    let target = format!("{}/bucket", elsewhere.url());
    let full = b"<Error><Code>XMinioStorageFull</Code><Message>no space</Message></Error>".to_vec();
    for (answer, expected) in [
        (Answer::Elsewhere(target), "refused"),
        (Answer::Say(503, Vec::new()), "unreachable"),
        (Answer::Say(403, b"<Error><Code>AccessDenied</Code></Error>".to_vec()), "refused"),
        (Answer::Say(507, full.clone()), "full"),
        (Answer::Say(400, full), "full"),
        // It stores the probe twice: it does not know If-None-Match.
        (Answer::Say(200, Vec::new()), "refused"),
        (Answer::Raw(b"what?\r\n\r\n".to_vec()), "unexpected"),
    ] {
        let server = Answering::start(vec![answer.clone()]);
        let address = format!("{}/bucket", server.url().replace("http://", "s3+http://KEY:SECRET@"));
        let (kind, said) = told(hub(&address, dir.path()).put_if_absent(&stream("p", "de1"), 1, &[batch(1, "x")]));
        assert_eq!(kind, expected, "{answer:?}: {said}");
    }
    assert!(elsewhere.requests().is_empty());
}
