//! What a hub answers: batches, documents, codes. Anything may be in them; nothing of it is believed, and nothing panics.

use cerberus_sync::batch::{self, Entry, Position, ProjectKey};
use cerberus_sync::chain::{Chain, Link, ShownLink};
use cerberus_sync::code::Code;
use cerberus_sync::document::{self, Head};
use cerberus_sync::transport::{Place, Stream};

use super::{Check, holds};

fn stream() -> Stream {
    let place = Place { space: "s".to_string(), project: "p".to_string() };
    Stream { place, device: "00000000000000aa".to_string() }
}

pub fn sync() -> anyhow::Result<Check> {
    let key = ProjectKey::of(&[7; 32], 1, "s", "p");
    Ok(Box::new(move |input| {
        let keys = std::slice::from_ref(&key);
        holds(batch::open(keys, &stream(), input).is_err(), "nothing is sealed by chance", input.len())?;
        let with_header = [b"CBB\x02{".as_slice(), input].concat();
        holds(batch::open(keys, &stream(), &with_header).is_err(), "nothing is sealed by chance", input.len())?;
        let _ = batch::inflated(input);
        let _ = document::claimed::<Head>(input);
        if let Ok(link) = document::claimed::<Link>(&[input, &[0; 64]].concat()) {
            let shown = ShownLink { link, hash: [0; 32], bytes: input.to_vec() };
            let _ = Chain::read(vec![shown.clone(), shown], &|_, _| true);
        }
        let text = String::from_utf8_lossy(input);
        if let Some(code) = Code::read(&text) {
            let again = code.written().and_then(|written| Code::read(&written));
            holds(again.as_ref() == Some(&code), "a code is read back", &code.space)?;
        }
        // Whatever a record says, it arrives as it was sent.
        let entry = Entry { seq: input.len() as u64, json: text.replace(['\n', '\r'], " ") };
        let position = Position { generation: 1, sequence: 1, previous: [0; 32] };
        if let Some((bytes, _)) = batch::seal(&key, &stream(), position, [1; 16], std::slice::from_ref(&entry)) {
            let opened = batch::open(keys, &stream(), &bytes).map(|(_, entries)| entries);
            holds(opened == Ok(vec![entry]), "a batch is read back", bytes.len())?;
        }
        Ok(())
    }))
}
