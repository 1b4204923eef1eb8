//! Why a hub can't be put together.

use crate::connector;
use crate::store::memory::keeping::SnapshotFault;
use crate::store::redis::RedisFault;
use crate::token::keyfiles;

/// Why a program can't be put together; each says what to mend.
#[derive(thiserror::Error, Debug)]
pub enum BuildFault {
    #[error(transparent)]
    Keys(#[from] keyfiles::KeyFileFault),
    #[error("the signing keys can't be used for verification: {0}")]
    OwnKeys(#[from] crate::token::verify::OpenFault),
    #[error("the connector {id} can't work: {fault}")]
    Connector { id: String, fault: connector::ConnectorRefused },
    #[error(transparent)]
    Audit(#[from] crate::audit::AuditFault),
    #[error("traces can't be exported: {0}; mend [traces]")]
    Traces(String),
    #[error(transparent)]
    Blocks(#[from] crate::actor::blocks::BlocksFault),
    #[error(transparent)]
    Store(#[from] RedisFault),
    #[error(transparent)]
    Snapshot(#[from] SnapshotFault),
    #[error("the register can't be loaded: {0}")]
    Register(String),
    #[error(transparent)]
    SubjectKey(#[from] crate::identity::sub::SubjectKeyFault),
    #[error(transparent)]
    ClientKeys(#[from] crate::grant::client_keys::DirectoryFault),
    #[error(transparent)]
    Shell(#[from] crate::web::shell::ShellFault),
    #[error(transparent)]
    Telemetry(#[from] crate::telemetry::TelemetryFault),
    #[error("the discovery document can't be written: {0}")]
    Discovery(#[from] serde_json::Error),
    #[error("{}", lines(.0))]
    Several(Vec<Self>),
}

fn lines(faults: &[BuildFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
