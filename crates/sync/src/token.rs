//! Keys for containers: one project of one space, in one line that fits an environment variable.
//!
//! Every container is a device of its own, vouched for by the key. Removing the key removes all of them.

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use serde::{Deserialize, Serialize};

use super::crypto::{self, Key, Secrets, hex};
use super::document::{self, CARD, Card, SPACE_PLACE, VERSION};
use super::listing::Listing;
use super::local::{Device, Files, Shared, Space, SpaceKey, random};
use super::spaces::{self, unreadable};
use super::transport::Transport;
use super::{Result, SyncError};

const PREFIX: &str = "cerberus1.";
const TOKEN_CHARS_MAX: usize = 16 * 1024;

#[derive(Serialize, Deserialize)]
struct Token {
    v: u32,
    hub: String,
    space: String,
    team: Option<String>,
    founder: String,
    #[serde(with = "hex")]
    founder_sign: Key,
    project: String,
    name: String,
    keys: Vec<SpaceKey>,
    #[serde(with = "hex")]
    secret: Key,
    /// There were few heads when the key was printed.
    #[serde(default)]
    is_small: bool,
}

/// Makes a key for containers of one project.
pub fn make(
    hub: &mut dyn Transport,
    device: &Device,
    space: &Space,
    shared: &Shared,
    listing: &Listing,
) -> Result<String> {
    let secret: Key = random()?;
    let secrets = Secrets::of(&secret);
    let id = spaces::key_device(&secret);
    let newest = space.key().ok_or(SyncError::Waiting)?.key;
    let card = Card {
        name: spaces::sealed_name(&space.id, &newest, &id, &format!("containers of {}", shared.name))?,
        project: Some(shared.id.clone()),
        is_key: true,
        ..spaces::card(&id, &secrets, &device.id.to_string())?
    };
    let card = card.certified(&space.id, &device.secrets).ok_or(SyncError::NoRandomBytes)?;
    let place = space.place(SPACE_PLACE);
    let name = format!("{CARD}{id}");
    let bytes = document::signed(&secrets, &place, &name, &spaces::papers(card)).ok_or(SyncError::NoRandomBytes)?;
    hub.replace(&place, &name, &bytes, None)?;
    let keys = space.project_keys(&shared.id).into_iter().map(|key| SpaceKey { epoch: key.epoch, key: key.key });
    let token = Token {
        v: VERSION,
        hub: space.hub.clone(),
        space: space.id.clone(),
        team: space.team.clone(),
        founder: space.founder.clone(),
        founder_sign: space.founder_sign,
        project: shared.id.clone(),
        name: shared.name.clone(),
        keys: keys.collect(),
        secret,
        is_small: listing.is_small(),
    };
    let text = serde_json::to_vec(&token).map_err(unreadable)?;
    Ok(format!("{PREFIX}{}", hex::text(&text)))
}

/// The space that a token opens, for the project in this folder. Made once for a home; later calls find it again.
pub fn open(home: &Home, token: &str, project: &ProjectId, root: &str) -> Result<Space> {
    let read = |token: &str| -> Option<Token> {
        let hex = token.trim().strip_prefix(PREFIX).filter(|hex| hex.len() <= TOKEN_CHARS_MAX)?;
        serde_json::from_slice(&hex::bytes(hex)?).ok()
    };
    let token = read(token).filter(|token| token.v <= VERSION).ok_or(SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces()?;
    if let Some(known) = spaces.spaces.iter_mut().find(|known| known.id == token.space) {
        if known.is_container() && known.scoped != token.keys {
            known.scoped = token.keys;
            let known = known.clone();
            files.save_spaces(&spaces)?;
            return Ok(known);
        }
        return Ok(known.clone());
    }
    let device = files.device()?;
    let own = device.id.to_string();
    let name = format!("container {}", &own[..4]);
    let mut space = spaces::new_space(&mut spaces, &token.space, token.team.as_deref(), &token.hub, &name);
    (space.founder, space.founder_sign) = (token.founder, token.founder_sign);
    space.scoped = token.keys;
    (space.is_inline, space.is_small) = (true, token.is_small);
    let by = spaces::key_device(&token.secret);
    let card = Card { project: Some(token.project.clone()), ..spaces::card(&own, &device.secrets, &by)? };
    let card = card.certified(&space.id, &Secrets::of(&token.secret)).ok_or(SyncError::NoRandomBytes)?;
    space.card = Some(card);
    space.add_project(&token.project, project, &token.name, root);
    spaces.spaces.push(space.clone());
    files.save_spaces(&spaces)?;
    Ok(space)
}

/// Whether a text is a token, without reading it.
pub fn is_token(text: &str) -> bool {
    text.trim().starts_with(PREFIX)
}

/// What identifies a token, for messages: never the token itself.
pub fn shown(text: &str) -> String {
    hex::text(&crypto::hash(text.trim().as_bytes())[..4])
}
