//! Reads and writes `blocks.json`, the blocks in the hub's own folder.
//!
//! A reader always finds a whole version: a new one is written beside the file, synced and renamed,
//! and then the folder is synced.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OperatorBlock;
use passerelle_federation::blocks::{Block, BlockInput, BlockTarget};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::atomic_file;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::json::parse_object;
use passerelle_settings::FieldDiagnostic;

/// Name of the file.
pub(super) const FILE_NAME: &str = "blocks.json";

/// Version of the format. Another version was written by another program, whose blocks must not be
/// misread.
const FORMAT_VERSION: u64 = 1;

const NOTE: &str =
    "Written by the hub. Change it by `passerelle idp block` and `passerelle idp unblock`.";

/// Error of the file of blocks.
#[derive(thiserror::Error, Debug)]
pub enum BlocksFileError {
    #[error("{}: the blocks can't be read: {cause}; fix: let this user read the file and the folders above it", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{}: the blocks are invalid ({what}), and without them a blocked identity provider would be usable again; \
         fix: correct the file, or remove it and set the blocks again", .path.display()
    )]
    Damaged { path: PathBuf, what: String },
    #[error("{}: the blocks can't be written: {cause}; fix: let this user write to the folder (the setting `state`)", .path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockFile {
    version: u64,
    note: String,
    blocks: Vec<BlockRecord>,
}

/// A block as stored in the file and in the shared record.
#[serde_with::serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockRecord {
    id: String,
    set_at: Timestamp,
    connector: ConnectorId,
    #[serde(rename = "service_provider")]
    #[serde_as(as = "Option<serde_with::OneOrMany<_>>")]
    service_providers: Option<Vec<ClientId>>,
    reason: String,
    message: BTreeMap<String, String>,
    from: Option<String>,
    until: Option<String>,
}

/// Reads the blocks. A missing file holds none.
///
/// # Errors
/// `Unreadable` or `Damaged`.
pub(super) fn read(path: &Path) -> Result<Vec<OperatorBlock>, BlocksFileError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(BlocksFileError::Unreadable { path: path.into(), cause }),
    };
    let damaged = |what: String| BlocksFileError::Damaged { path: path.into(), what };
    let object =
        parse_object(&bytes).map_err(|_| damaged("it is not one whole JSON object".into()))?;
    // Checked first: unknown members of another version are not an error of the file.
    if object.get("version") != Some(&Value::from(FORMAT_VERSION)) {
        return Err(damaged(format!("its version is not {FORMAT_VERSION}")));
    }
    let file: BlockFile = serde_json::from_value(Value::Object(object))
        .map_err(|error| damaged(error.to_string()))?;
    file.blocks.into_iter().map(|row| row.into_block().map_err(damaged)).collect()
}

/// Writes the blocks.
///
/// # Errors
/// `Unwritable`.
pub(super) fn write(path: &Path, blocks: &[OperatorBlock]) -> Result<(), BlocksFileError> {
    let file = BlockFile {
        version: FORMAT_VERSION,
        note: NOTE.into(),
        blocks: blocks.iter().map(BlockRecord::from_block).collect(),
    };
    let unwritable = |cause| BlocksFileError::Unwritable { path: path.into(), cause };
    let bytes = serde_json::to_vec_pretty(&file).map_err(|error| unwritable(error.into()))?;
    atomic_file::replace_file(path, &bytes).map_err(unwritable)
}

impl BlockRecord {
    /// Returns the stored form of a block.
    pub(super) fn from_block(block: &OperatorBlock) -> Self {
        let OperatorBlock { id, set_at, block } = block;
        Self {
            id: id.clone(),
            set_at: *set_at,
            connector: block.connector.clone(),
            service_providers: match &block.target {
                BlockTarget::Everyone => None,
                BlockTarget::Only(some) => Some(some.iter().cloned().collect()),
            },
            reason: block.reason.clone(),
            message: BTreeMap::clone(&block.message),
            from: block.validity.not_before.map(format_rfc3339),
            until: block.validity.not_after.map(format_rfc3339),
        }
    }

    /// Returns the block.
    ///
    /// # Errors
    /// What is invalid, as text.
    pub(super) fn into_block(self) -> Result<OperatorBlock, String> {
        let target = BlockTarget::from_named(self.service_providers);
        let input = BlockInput {
            reason: &self.reason,
            message: &self.message,
            from: self.from.as_deref(),
            until: self.until.as_deref(),
        };
        let to_text = |diagnostics: Vec<FieldDiagnostic>| {
            diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let block = Block::new(self.connector, target, input).map_err(to_text)?;
        Ok(OperatorBlock { id: self.id, set_at: self.set_at, block })
    }
}
