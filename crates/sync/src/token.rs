//! Keys for containers: one project of one space, in one line that fits an environment variable.
//!
//! A container is not a member of the space. The key is that of a grant: it vouches for containers of one project. Removing
//! the grant removes all of them.

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use serde::{Deserialize, Serialize};

use super::chain::ChainChange;
use super::crypto::{Key, Secrets, hex};
use super::document::{self, VERSION};
use super::files::Files;
use super::links::{self, ChainHub};
use super::local::{Device, Granted, Listing, Shared, Space, SpaceKey};
use super::transport::Transport;
use super::{Result, SyncError, keys, random, spaces, unreadable};

/// By this a key is recognized and redacted in any text.
const PREFIX: &str = "cerberus1.";
/// A key of a later form has another number.
const ANY: &str = "cerberus";
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
    let newer = || unreadable("this key was printed by a newer version of Cerberus; update this one");
    let hex = token.trim().strip_prefix(PREFIX).ok_or_else(newer)?;
    let bytes =
        Some(hex).filter(|hex| hex.len() <= TOKEN_CHARS_MAX).and_then(hex::bytes).ok_or(SyncError::WrongCode)?;
    match document::version(&bytes).ok_or(SyncError::WrongCode)? {
        VERSION => {}
        ..VERSION => return Err(SyncError::EarlierFormat),
        _ => return Err(newer()),
    }
    let token: Token = serde_json::from_slice(&bytes).map_err(|_| SyncError::WrongCode)?;
    let files = Files::new(home);
    let mut spaces = files.spaces_to_extend()?;
    // A key opens one project: a container of two has the space twice.
    let is_for = |known: &Space| {
        let is_open = !known.is_container() || known.projects.iter().any(|shared| shared.id == token.project);
        known.id == token.space && is_open
    };
    if let Some(known) = spaces.spaces.iter_mut().find(|known| is_for(known)) {
        if known.is_container() && known.scoped != token.keys {
            (known.scoped, known.granted, known.hub) = (token.keys, Some(token.granted), token.hub);
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
    let number = text.trim().strip_prefix(ANY).and_then(|rest| rest.split_once('.')).map(|(number, _)| number);
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}
