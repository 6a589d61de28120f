//! What every hub must do. The folder is the reference; the same test runs against each of the others.

use cerberus_sync::transport::folder::Folder;
use cerberus_sync::transport::{ALL, Document, Place, Put, Question, Range, Sealed, Stream, Transport};

fn place(space: &str, project: &str) -> Place {
    Place { space: space.to_string(), project: project.to_string() }
}

fn stream(place: &Place, device: &str) -> Stream {
    Stream { place: place.clone(), device: device.to_string() }
}

fn batch(sequence: u64, text: &str) -> Sealed {
    // Any byte may occur in a batch.
    Sealed { sequence, bytes: [text.as_bytes(), &[0, 255, b'\n', b'\r']].concat() }
}

fn document(name: &str, bytes: &[u8]) -> Document {
    Document { name: name.to_string(), bytes: bytes.to_vec() }
}

/// Checks a hub. `open` connects anew, as another process would; `space` must be unused. `removes` says whether the hub
/// can remove batches of earlier generations at once.
pub fn check(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str, removes: bool) {
    batches(open, space);
    documents(open, space);
    generations(open, space, removes);
    neighbours(open, space);
    together(open, space);
    large(open, space);
}

/// The first part of the check: enough where only the way to a hub differs.
pub fn batches(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str) {
    let place = place(space, "batches");
    let (a, b) = (stream(&place, "00000000000000aa"), stream(&place, "00000000000000bb"));
    let mut hub = open();
    assert_eq!(hub.after(&a, 1, 0, 10).unwrap(), [], "an unknown stream is empty");
    assert_eq!(hub.put_if_absent(&a, 1, &[batch(1, "one"), batch(2, "two")]).unwrap(), [Put::Stored, Put::Stored]);
    assert_eq!(hub.put_if_absent(&b, 1, &[batch(1, "other")]).unwrap(), [Put::Stored]);
    let mut hub = open();
    assert_eq!(hub.after(&a, 1, 0, 10).unwrap(), [batch(1, "one"), batch(2, "two")]);
    assert_eq!(hub.after(&a, 1, 1, 10).unwrap(), [batch(2, "two")]);
    assert_eq!(hub.after(&a, 1, 0, 1).unwrap(), [batch(1, "one")], "the limit holds");
    assert_eq!(hub.after(&a, 1, 2, 10).unwrap(), []);
    // A head may claim anything.
    assert_eq!(hub.after(&a, u64::MAX, u64::MAX, 10).unwrap(), []);
    assert_eq!(hub.after(&a, 1, u64::MAX, usize::MAX).unwrap(), []);
    // A retry sends the same bytes, perhaps with more.
    let again = [batch(1, "one"), batch(2, "two"), batch(3, "three")];
    assert_eq!(hub.put_if_absent(&a, 1, &again).unwrap(), [Put::Stored, Put::Stored, Put::Stored]);
    // Another writer of the same stream.
    let mut hub = open();
    assert_eq!(hub.put_if_absent(&a, 1, &[batch(3, "three"), batch(4, "four")]).unwrap(), [Put::Stored, Put::Stored]);
    let forked = [batch(3, "three"), batch(4, "forked"), batch(5, "five")];
    assert_eq!(hub.put_if_absent(&a, 1, &forked).unwrap(), [Put::Stored, Put::Other]);
    assert_eq!(open().after(&a, 1, 2, 10).unwrap(), [batch(3, "three"), batch(4, "four")]);
    assert_eq!(open().after(&b, 1, 0, 10).unwrap(), [batch(1, "other")], "streams do not mix");
    assert_eq!(hub.put_if_absent(&a, 1, &[]).unwrap(), []);
}

fn documents(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str) {
    let place = place(space, "documents");
    assert_eq!(open().heads(&place).unwrap(), []);
    let mut hub = open();
    hub.replace(&place, "00000000000000aa", b"first", None).unwrap();
    hub.replace(&place, "member-00000000000000bb", &[0, 1, 255], None).unwrap();
    hub.replace(&place, "00000000000000aa", b"second", Some(1)).unwrap();
    let mut found = open().heads(&place).unwrap();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(found, [document("00000000000000aa", b"second"), document("member-00000000000000bb", &[0, 1, 255])]);
    hub.replace(&place, "00000000000000aa", b"", None).unwrap();
    assert!(open().heads(&place).unwrap().contains(&document("00000000000000aa", b"")), "a document may be empty");
}

fn generations(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str, removes: bool) {
    let place = place(space, "generations");
    let (a, b) = (stream(&place, "00000000000000aa"), stream(&place, "00000000000000bb"));
    let mut hub = open();
    hub.put_if_absent(&a, 1, &[batch(1, "old")]).unwrap();
    hub.put_if_absent(&b, 1, &[batch(1, "kept")]).unwrap();
    hub.replace(&place, &a.device, b"head 1", Some(1)).unwrap();
    assert_eq!(hub.put_if_absent(&a, 2, &[batch(1, "new")]).unwrap(), [Put::Stored]);
    hub.replace(&place, &a.device, b"head 2", Some(2)).unwrap();
    let mut hub = open();
    assert_eq!(hub.after(&a, 2, 0, 10).unwrap(), [batch(1, "new")]);
    assert_eq!(hub.after(&b, 1, 0, 10).unwrap(), [batch(1, "kept")], "another device's batches stay");
    if removes {
        assert_eq!(hub.after(&a, 1, 0, 10).unwrap(), [], "batches of earlier generations are gone");
    }
}

fn neighbours(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str) {
    let (one, other) = (place(space, "near"), place(space, "near-by"));
    let mut hub = open();
    hub.replace(&one, "00000000000000aa", b"one", None).unwrap();
    hub.replace(&other, "00000000000000aa", b"other", None).unwrap();
    hub.put_if_absent(&stream(&one, "00000000000000aa"), 1, &[batch(1, "one")]).unwrap();
    assert_eq!(open().heads(&one).unwrap(), [document("00000000000000aa", b"one")]);
    assert_eq!(open().after(&stream(&other, "00000000000000aa"), 1, 0, 10).unwrap(), []);
}

/// Several questions at once have the answers that each has alone, also where there is nothing.
fn together(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str) {
    let (one, other, empty) = (place(space, "one"), place(space, "one-base"), place(space, "empty"));
    let devices = ["00000000000000aa", "00000000000000bb", "00000000000000cc"];
    let mut hub = open();
    for (number, device) in devices.iter().enumerate() {
        hub.replace(&one, device, device.as_bytes(), None).unwrap();
        let batches: Vec<Sealed> = (1..=number as u64).map(|sequence| batch(sequence, device)).collect();
        hub.put_if_absent(&stream(&one, device), 1, &batches).unwrap();
    }
    hub.replace(&other, devices[0], b"other", None).unwrap();
    hub.put_if_absent(&stream(&other, devices[0]), 7, &[batch(1, "other")]).unwrap();
    let after = |place: &Place, device: &str, generation, sequence, limit| {
        Question::After(Range { stream: stream(place, device), generation, sequence, limit })
    };
    let questions = [
        Question::Heads(one.clone(), ALL),
        after(&one, devices[2], 1, 0, 10),
        Question::Heads(empty.clone(), ALL),
        after(&one, devices[0], 1, 0, 10),
        after(&other, devices[0], 7, 0, 1),
        after(&one, devices[1], 1, 0, 1),
        after(&one, devices[1], 2, 0, 1),
        after(&one, devices[2], 1, 1, 1),
        after(&empty, devices[0], 1, 0, 10),
        Question::Heads(other, ALL),
        Question::Heads(one.clone(), devices.len()),
        Question::Heads(one.clone(), devices.len() - 1),
        Question::Heads(empty.clone(), 0),
    ];
    let heads: Vec<Document> = devices.iter().map(|device| document(device, device.as_bytes())).collect();
    let named = |batch: Sealed| document(&batch.sequence.to_string(), &batch.bytes);
    let expected = [
        heads.clone(),
        vec![named(batch(1, devices[2])), named(batch(2, devices[2]))],
        Vec::new(),
        Vec::new(),
        vec![named(batch(1, "other"))],
        vec![named(batch(1, devices[1]))],
        Vec::new(),
        vec![named(batch(2, devices[2]))],
        Vec::new(),
        vec![document(devices[0], b"other")],
        heads,
        Vec::new(),
        Vec::new(),
    ];
    for hub in [&mut hub, &mut open()] {
        assert_eq!(hub.ask(&questions).unwrap(), expected);
        assert_eq!(hub.ask(&questions).unwrap(), expected, "asked again");
        assert!(hub.ask(&[]).unwrap().is_empty());
    }
}

fn large(open: &mut dyn FnMut() -> Box<dyn Transport>, space: &str) {
    let place = place(space, "large");
    let stream = stream(&place, "00000000000000aa");
    let sealed = Sealed { sequence: 1, bytes: vec![0xa5; 1024 * 1024] };
    let mut hub = open();
    assert_eq!(hub.put_if_absent(&stream, 1, std::slice::from_ref(&sealed)).unwrap(), [Put::Stored]);
    assert_eq!(hub.put_if_absent(&stream, 1, std::slice::from_ref(&sealed)).unwrap(), [Put::Stored]);
    assert_eq!(open().after(&stream, 1, 0, 10).unwrap(), [sealed]);
    // Many at once, in order, more than one page of any listing.
    let many: Vec<Sealed> = (2..=40).map(|sequence| batch(sequence, &format!("batch {sequence}"))).collect();
    assert!(hub.put_if_absent(&stream, 1, &many).unwrap().iter().all(|put| *put == Put::Stored));
    let mut read = vec![batch(1, "")];
    while let more = open().after(&stream, 1, read.len() as u64, 100).unwrap()
        && !more.is_empty()
    {
        read.extend(more);
    }
    assert_eq!(read[1..], many);
    // A gap ends the answer.
    assert_eq!(hub.put_if_absent(&stream, 1, &[batch(50, "far")]).unwrap(), [Put::Stored]);
    assert_eq!(open().after(&stream, 1, 39, 100).unwrap(), [batch(40, "batch 40")]);
}

#[test]
fn a_folder_is_a_hub() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_path_buf();
    check(&mut || Box::new(Folder::open(root.clone()).unwrap()), "space", true);
}
