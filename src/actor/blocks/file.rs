//! The file that outlives the process: `blocks.json` in the hub's own folder.
//!
//! A reader finds a whole version, old or new, whatever happens while one is written: it is made beside its name, brought to
//! the disk and renamed, and then the name too is on the disk.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Commanded;
use crate::config::blocks::{Block, Reach, Words};
use crate::config::{Flaw, in_rfc3339};
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::json::parse_object;

pub(super) const NAME: &str = "blocks.json";

/// Of the format. Another one was written by another program, whose blocks must not be misread.
const VERSION: u64 = 1;

const NOTE: &str =
    "Written by the hub. Change it by `passerelle idp block` and `passerelle idp unblock`.";

/// Why the kept blocks can't be had, or not be kept.
#[derive(thiserror::Error, Debug)]
pub enum BlocksFault {
    #[error("{}: the blocks kept there can't be read: {cause}; mend: let this user read the file, and the folders above it", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{}: the blocks kept there make no sense ({what}), and without them an identity provider that was blocked would be open again; \
         mend: correct the file, or remove it and block anew what must be blocked", .path.display()
    )]
    Damaged { path: PathBuf, what: String },
    #[error("{}: the blocks can't be kept there: {cause}; mend: let this user write to the folder (the setting `state`)", .path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u64,
    note: String,
    blocks: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    id: String,
    set_at: Timestamp,
    connector: ConnectorId,
    service_provider: Option<ClientId>,
    reason: String,
    message: BTreeMap<String, String>,
    from: Option<String>,
    until: Option<String>,
}

/// A missing file holds no block.
pub(super) fn read(path: &Path) -> Result<Vec<Commanded>, BlocksFault> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(BlocksFault::Unreadable { path: path.into(), cause }),
    };
    let damaged = |what: String| BlocksFault::Damaged { path: path.into(), what };
    let object =
        parse_object(&bytes).map_err(|_| damaged("it is not one whole JSON object".into()))?;
    // Asked first: what another version has more, or less, is nothing to complain of.
    if object.get("version") != Some(&Value::from(VERSION)) {
        return Err(damaged(format!("its version is not {VERSION}")));
    }
    let kept: Kept = serde_json::from_value(Value::Object(object))
        .map_err(|error| damaged(error.to_string()))?;
    kept.blocks.into_iter().map(|row| row.read().map_err(damaged)).collect()
}

pub(super) fn write(path: &Path, blocks: &[Commanded]) -> Result<(), BlocksFault> {
    let kept =
        Kept { version: VERSION, note: NOTE.into(), blocks: blocks.iter().map(Row::of).collect() };
    let unwritable = |cause| BlocksFault::Unwritable { path: path.into(), cause };
    let bytes = serde_json::to_vec_pretty(&kept).map_err(|error| unwritable(error.into()))?;
    put(path, &bytes).map_err(unwritable)
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Made with mode 0600, under a name that nobody can foresee.
    let mut file = tempfile::Builder::new().prefix(".blocks-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|fault| fault.error)?;
    File::open(folder)?.sync_all()
}

impl Row {
    pub(super) fn of(commanded: &Commanded) -> Self {
        let Commanded { id, set_at, block } = commanded;
        Self {
            id: id.clone(),
            set_at: *set_at,
            connector: block.connector.clone(),
            // By command a block is for everyone or for one.
            service_provider: match &block.reach {
                Reach::Everyone => None,
                Reach::Only(some) => some.first().cloned(),
            },
            reason: block.reason.clone(),
            message: BTreeMap::clone(&block.message),
            from: block.window.not_before.map(in_rfc3339),
            until: block.window.not_after.map(in_rfc3339),
        }
    }

    pub(super) fn read(self) -> Result<Commanded, String> {
        let reach = self.service_provider.map_or(Reach::Everyone, |one| Reach::Only([one].into()));
        let words = Words {
            reason: &self.reason,
            message: &self.message,
            from: self.from.as_deref(),
            until: self.until.as_deref(),
        };
        let flaws =
            |flaws: Vec<Flaw>| flaws.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let block = Block::new(self.connector, reach, words).map_err(flaws)?;
        Ok(Commanded { id: self.id, set_at: self.set_at, block })
    }
}
