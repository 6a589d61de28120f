//! Who belongs to a space, in an exchange: the chain is compared with the hub's, others are let in, new keys are taken.

use std::collections::BTreeSet;

use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::journal::forgotten;

use super::chain::{Chain, ChainChange, ChainState, ChainVerdict, ShownLink, id_of};
use super::crypto::{self, Key, hex};
use super::document::{REQUEST, SPACE_PLACE, Secret};
use super::files::Files;
use super::links::{self, ChainHub, ShownChain};
use super::local::{Device, Pending, Space, Spaces};
use super::spaces::{self, JoinRequest};
use super::transport::{Document, Transport, TransportError, redacted};
use super::{Result, SyncError, keys, random};

/// What is found out, and done, about the members of one space.
pub struct Membership<'a> {
    home: &'a Home,
    files: Files<'a>,
    wall: Timestamp,
    hub: &'a mut dyn Transport,
    device: Device,
    spaces: Spaces,
    number: u32,
    documents: Vec<Document>,
    pub problems: Vec<String>,
    /// Names of devices that were let in.
    pub let_in: Vec<String>,
}

impl<'a> Membership<'a> {
    /// Asks the hub.
    pub fn open(home: &'a Home, wall: Timestamp, hub: &'a mut dyn Transport, number: u32) -> Result<Membership<'a>> {
        let files = Files::new(home);
        let (device, mut spaces) = (files.device()?, files.spaces()?);
        let documents = hub.heads(&spaces.numbered(number)?.place(SPACE_PLACE))?;
        let (problems, let_in) = (Vec::new(), Vec::new());
        Ok(Membership { home, files, wall, hub, device, spaces, number, documents, problems, let_in })
    }

    fn space(&mut self) -> Result<&mut Space> {
        self.spaces.numbered(self.number)
    }

    /// Finds out who belongs to the space, lets others in, and takes new keys. Nothing was sent before.
    pub fn settle(&mut self, known: Option<Chain>) -> Result<Chain> {
        let mut space = self.space()?.clone();
        let mut chain = match &known {
            None => first_of(&space, &self.device, links::first(self.hub, &space, &self.documents)?)?,
            Some(known) => self.compared(&mut space, known)?,
        };
        // Before the chain: keys that it does not know would be taken for wrong ones.
        self.save(&space)?;
        if known.as_ref() != Some(&chain) {
            self.files.save_chain(&space, &chain)?;
        }
        self.replace_former(&mut space, &mut chain)?;
        let own = self.device.id.to_string();
        let is_in = match &space.granted {
            Some(granted) => chain.state.grants.contains_key(&keys::grant_id(granted)?),
            None => chain.state.members.contains_key(&own),
        };
        if !is_in {
            return Err(SyncError::Removed(space.label()));
        }
        let is_welcomed = space.asked_with.take().is_some();
        if !space.is_container() {
            self.rotate_if_due(&space, &mut chain)?;
            self.learn(&mut space, &chain.state)?;
        }
        self.save(&space)?;
        if !space.is_container() {
            let published = links::keep_published(self.hub, &space, &self.documents, &chain);
            self.unless_in_the_way(published)?;
            self.tend(&mut chain)?;
        }
        if is_welcomed {
            self.hub.replace(&space.place(SPACE_PLACE), &format!("{REQUEST}{own}"), b"", None)?;
        }
        Ok(chain)
    }

    /// Saves what changed about the space.
    fn save(&mut self, space: &Space) -> Result<()> {
        let known = self.space()?;
        if known == space {
            return Ok(());
        }
        *known = space.clone();
        self.files.save_spaces(&self.spaces)
    }

    /// The chain that counts from now on: the one that is known, with what the hub has more.
    fn compared(&mut self, space: &mut Space, known: &Chain) -> Result<Chain> {
        let shown = ShownChain::read(self.hub, space, &self.documents, &known.links)?;
        let verdict = links::believing(space, |is_signed| known.judged(shown.links.clone(), is_signed));
        let is_older = verdict == ChainVerdict::Older;
        let chain = match verdict {
            ChainVerdict::Longer(chain) => chain,
            ChainVerdict::Forked(number) => return Err(links::forked(space, number)),
            ChainVerdict::Recovered(chain) => {
                space.follow(known, &chain.state);
                self.files.send_again(space)?;
                self.problems.push("who belongs to this space was decided with the recovery code".to_string());
                chain
            }
            ChainVerdict::Older | ChainVerdict::Same => links::extended(self.hub, space, known.clone())?,
        };
        shown.check_version(space, &chain)?;
        if shown.has_other(&chain) {
            self.problems.push("somebody wrote a link that is not valid; it was ignored".to_string());
        }
        // The document alone may be old because two devices wrote it at once.
        if is_older && !links::has_newest(self.hub, space, &chain)? {
            let older = "the hub shows an older state of who belongs to this space than before (rollback)";
            self.problems.push(older.to_string());
            if !space.is_container() {
                let done = links::put_back(self.hub, space, &chain);
                self.unless_in_the_way(done)?;
            }
        }
        Ok(chain)
    }

    /// This home knows the chain. What somebody put in its place on the hub is told, and stops nobody.
    fn unless_in_the_way(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(SyncError::Transport(error @ TransportError::InTheWay { .. })) => {
                self.problems.push(error.to_string());
                Ok(())
            }
            done => done,
        }
    }

    /// After this home became another device: its former keys let the new one in.
    fn replace_former(&mut self, space: &mut Space, chain: &mut Chain) -> Result<()> {
        let Some(former) = space.former.take() else { return Ok(()) };
        let former = Device::of(former)?;
        let id = former.id.to_string();
        if space.is_container() || !chain.state.members.contains_key(&id) {
            return Ok(());
        }
        links::take_keys(&self.files, space, &chain.state, &former)?;
        let (own, own_id) = (keys::public(&self.device.secrets)?, self.device.id.to_string());
        ChainHub::of(self.hub, &self.files, space, &former).append(chain, |state, keys| {
            match state.members.contains_key(&own_id) {
                true => Ok(None),
                false => spaces::add(space, state, keys, own.clone(), &space.name, &[], String::new()).map(Some),
            }
        })?;
        Ok(())
    }

    /// Begins a new key if somebody left, with the keys that this device has: whoever left may have kept the one in use.
    fn rotate_if_due(&mut self, space: &Space, chain: &mut Chain) -> Result<()> {
        let checks: BTreeSet<Key> = chain.state.epochs.iter().map(|epoch| epoch.check).collect();
        let is_right = space.keys.iter().all(|key| checks.contains(&key.check(&space.id)));
        if !is_right {
            return Err(keys::wrong_key(space));
        }
        if !chain.state.is_rotation_due {
            return Ok(());
        }
        let key = random()?;
        let mut hub = ChainHub::of(self.hub, &self.files, space, &self.device);
        hub.append(chain, |state, keys| match state.is_rotation_due {
            true => Ok(Some(ChainChange::Rotate(keys::next_epoch(space, state, keys, key, &BTreeSet::new())?))),
            false => Ok(None),
        })?;
        Ok(())
    }

    /// Takes from the chain what this device needs to know.
    fn learn(&self, space: &mut Space, state: &ChainState) -> Result<()> {
        links::take_keys(&self.files, space, state, &self.device)?;
        let Secret { team, names } = keys::opened_secret(space, state).ok_or_else(|| keys::wrong_key(space))?;
        space.team = team;
        if space.team.is_none() {
            forgotten::adopt(self.home, names)?;
            forgotten::learn(self.home, &keys::opened_names(space, state))?;
        }
        Ok(())
    }

    /// What a member does for the space: it lets in whoever has a code, and removes again whom the recovery key let in.
    fn tend(&mut self, chain: &mut Chain) -> Result<()> {
        self.admit(chain)?;
        let mut space = self.space()?.clone();
        let due = space.removals_due.clone();
        if due.iter().any(|id| chain.state.members.contains_key(id) || chain.state.grants.contains_key(id)) {
            links::remove(self.hub, &self.files, &mut space, chain, &self.device, &due)?;
        }
        self.save(&space)
    }

    /// Lets in whoever asks with a code that this device printed. A code lets in one device.
    fn admit(&mut self, chain: &mut Chain) -> Result<()> {
        let (mut space, wall) = (self.space()?.clone(), self.wall);
        space.codes.retain(|code| code.until > wall);
        self.save(&space)?;
        for Document { name, bytes } in self.documents.clone() {
            let Some(asking) = name.strip_prefix(REQUEST).filter(|asking| !chain.state.is_known(asking)) else {
                continue;
            };
            let read = |code: &Pending| request(&space.id, code, asking, &bytes);
            let found = space.codes.iter().enumerate().find_map(|(at, code)| Some((at, read(code)?)));
            let Some((at, (secret, request))) = found else { continue };
            // Whatever happens, a code is used once.
            space.codes.remove(at);
            self.save(&space)?;
            links::take_keys(&self.files, &mut space, &chain.state, &self.device)?;
            self.save(&space)?;
            let names: &[String] = if space.team.is_none() { &request.names } else { &[] };
            let mut hub = ChainHub::of(self.hub, &self.files, &space, &self.device);
            hub.append(chain, |state, keys| {
                let welcome = keys::welcome(&space.id, &secret, &state.head, &request.keys);
                spaces::add(&space, state, keys, request.keys.clone(), &request.name, names, welcome).map(Some)
            })?;
            self.let_in.push(keys::shown_name(&request.name));
        }
        Ok(())
    }
}

/// Reads a request that was made with this code, and the code's secret.
fn request(space: &str, code: &Pending, asking: &str, bytes: &[u8]) -> Option<(Vec<u8>, JoinRequest)> {
    let secret = hex::bytes(&code.secret)?;
    let key = crypto::derive(&secret, b"", &[b"pair"]);
    let opened = crypto::open_with(&key, &[b"request", space.as_bytes(), asking.as_bytes()], bytes)?;
    let request: JoinRequest = serde_json::from_slice(&opened).ok()?;
    (id_of(&request.keys.sign) == asking).then_some((secret, request))
}

/// The first chain that this home sees, if it is the one that its code or its key means.
fn first_of(space: &Space, device: &Device, chain: Chain) -> Result<Chain> {
    if let Some(granted) = &space.granted {
        let at = usize::try_from(granted.number).ok().and_then(|number| number.checked_sub(1));
        if at.and_then(|at| chain.links.get(at)).is_some_and(|shown| shown.hash == granted.head) {
            return Ok(chain);
        }
        let reason = "it is not the one that the key of this container names".to_string();
        return Err(SyncError::NotBelieved { hub: redacted(&space.hub), reason });
    }
    let secret = space.asked_with.as_deref().and_then(hex::bytes).ok_or(SyncError::Waiting)?;
    let own = keys::public(&device.secrets)?;
    let is_welcome = |shown: &ShownLink| match &shown.link.change {
        ChainChange::Add { device, welcome, .. } => {
            device.keys == own && *welcome == keys::welcome(&space.id, &secret, &shown.link.previous, &own)
        }
        _ => false,
    };
    if chain.links.iter().any(is_welcome) { Ok(chain) } else { Err(SyncError::Waiting) }
}
