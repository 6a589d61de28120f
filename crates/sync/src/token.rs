//! Keys for containers: one project of one space, in one line that fits an environment variable.
//!
//! A container is not a member of the space. The key is that of a grant: it vouches for containers of one project. Removing
//! the grant removes all of them.

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use serde::{Deserialize, Serialize};

use super::chain::ChainChange;
use super::crypto::{self, Key, Secrets, hex};
use super::document::{self, VERSION};
use super::files::Files;
use super::links::{self, ChainHub};
use super::local::{Device, Granted, Listing, Shared, Space, SpaceKey};
use super::transport::Transport;
use super::{Result, SyncError, keys, random, spaces, unreadable};

/// By this a key is recognized and redacted in any text.
const PREFIX: &str = "cerberus1.";
const TOKEN_CHARS_MAX: usize = 16 * 1024;

#[derive(Serialize, Deserialize)]
struct Token {
    v: u32,
    hub: String,
    space: String,
    team: Option<String>,
    project: String,
    name: String,
    keys: Vec<SpaceKey>,
    granted: Granted,
    /// There were few heads when the key was printed.
    #[serde(default)]
    is_small: bool,
}

/// Makes a key for containers of one project.
pub fn make(
    files: &Files,
    hub: &mut dyn Transport,
    device: &Device,
    space: &Space,
    shared: &Shared,
    listing: &Listing,
) -> Result<String> {
    let secret: Key = random()?;
    let sign = keys::public(&Secrets::of(&secret))?.sign;
    let mut chain = links::known(files, space)?.ok_or(SyncError::Waiting)?;
    let name = format!("containers of {}", shared.name);
    ChainHub::of(hub, files, space, device).append(&mut chain, |state, keys| {
        let key = keys::newest(space, state, keys)?.key;
        Ok(Some(ChainChange::Grant(keys::grant(&space.id, &key, sign, &shared.id, &name)?)))
    })?;
    let keys = space.project_keys(&shared.id).into_iter().map(|key| SpaceKey { epoch: key.epoch, key: key.key });
    let token = Token {
        v: VERSION,
        hub: space.hub.clone(),
        space: space.id.clone(),
        team: space.team.clone(),
        project: shared.id.clone(),
        name: shared.name.clone(),
        keys: keys.collect(),
        granted: Granted { secret, number: chain.state.number, head: chain.state.head },
        is_small: listing.is_small(),
    };
    let text = serde_json::to_vec(&token).map_err(unreadable)?;
    Ok(format!("{PREFIX}{}", hex::text(&text)))
}

/// The space that a token opens, for the project in this folder. Made once for a home; later calls find it again.
pub fn open(home: &Home, token: &str, project: &ProjectId, root: &str) -> Result<Space> {
    let hex = token.trim().strip_prefix(PREFIX).filter(|hex| hex.len() <= TOKEN_CHARS_MAX);
    let bytes = hex.and_then(hex::bytes).ok_or(SyncError::WrongCode)?;
    if document::version(&bytes).ok_or(SyncError::WrongCode)? < VERSION {
        return Err(SyncError::EarlierFormat);
    }
    let token: Token = serde_json::from_slice(&bytes).map_err(|_| SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces_to_extend()?;
    if let Some(known) = spaces.spaces.iter_mut().find(|known| known.id == token.space) {
        if known.is_container() && known.scoped != token.keys {
            (known.scoped, known.granted) = (token.keys, Some(token.granted));
            let known = known.clone();
            files.save_spaces(&spaces)?;
            return Ok(known);
        }
        return Ok(known.clone());
    }
    let own = files.device()?.id.to_string();
    let name = format!("container {}", &own[..4]);
    let mut space = spaces::new_space(&mut spaces, &token.space, token.team.as_deref(), &token.hub, &name);
    (space.scoped, space.granted, space.is_small) = (token.keys, Some(token.granted), token.is_small);
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
