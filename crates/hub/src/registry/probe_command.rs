//! Probes an identity provider at once, because an operator asks for it.

use std::sync::atomic::Ordering;

use super::Connectors;
use crate::health::Health;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// Why an identity provider was not probed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotProbedError {
    #[error("there is no such connector")]
    UnknownConnector,
    #[error("its file has enabled = false, so the hub does not call it")]
    Disabled,
    #[error("the hub makes no calls to an identity provider of this kind")]
    NotRemote,
    #[error("its file has probe = false, so the hub calls it for logins only")]
    ProbesOff,
    /// It asked for it, or the next failed login of the hub's own account could lock that.
    #[error(
        "after its last answer the hub does not call it before {}; if you have corrected something, touch its connector's file",
        format_rfc3339(*(.until))
    )]
    Paused { until: Timestamp },
}

impl Connectors {
    /// Probes an identity provider, records the outcome, and returns why it failed; `None` if it
    /// works. If it works and another hub of the same store probes, that hub probes again within
    /// seconds: its outcome counts for all. `record` is called before the probe, so that a probe
    /// whose hub or whose request ends is recorded too.
    ///
    /// # Errors
    /// [`NotProbedError`]; then `record` is not called.
    pub async fn probe(
        &self,
        id: &ConnectorId,
        record: impl FnOnce(),
    ) -> Result<Option<ErrorCode>, NotProbedError> {
        let federation = self.federation.load();
        let metadata = federation.connector(id).ok_or(NotProbedError::UnknownConnector)?;
        if !metadata.enabled {
            return Err(NotProbedError::Disabled);
        }
        let remote = self.remote_connectors().into_iter().find(|(remote_id, ..)| remote_id == id);
        let (_, handle, is_probed) = remote.ok_or(NotProbedError::NotRemote)?;
        if !is_probed {
            return Err(NotProbedError::ProbesOff);
        }
        let health = handle.health();
        if let Some(until) = health.documents.paused_until(self.blocks.now()) {
            return Err(NotProbedError::Paused { until });
        }
        record();
        let error = handle.probe().await.err();
        if error.is_none() && self.is_probed_elsewhere.load(Ordering::Relaxed) {
            handle.post_health_update(Health::request_probe);
        }
        Ok(error)
    }
}
