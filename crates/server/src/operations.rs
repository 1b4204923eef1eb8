//! Operations that an operator starts in the running hub: reload, rotation of keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::keys::SharedKeys;
use super::reload::Reload;
use passerelle_admin::{HubOperations, NewKey};
use passerelle_federation::validity::format_rfc3339;
use passerelle_hub::Connectors;
use passerelle_jose::keyfiles::{self, CreatedKey};
use passerelle_protocol::env::Env;
use passerelle_register::Register;
use passerelle_telemetry::CheckFinding;

/// Operations on this hub.
pub(super) struct LocalHubOperations {
    pub reload: Reload,
    pub connectors: Connectors,
    pub register: Option<Arc<dyn Register>>,
    pub keys: SharedKeys,
    pub key_folder: PathBuf,
    /// Time from a signing key's publication to its first use.
    pub signing_key_lead: Duration,
    pub env: Env,
}

#[async_trait]
impl HubOperations for LocalHubOperations {
    async fn reload(&self) -> Vec<CheckFinding> {
        self.reload.reload_now().await;
        self.connectors.probe_failing_now();
        let mut findings = self.reload.findings();
        findings.extend(self.keys.finding());
        if let Some(register) = &self.register {
            register.refresh().await;
            findings.extend(register.warning());
        }
        findings
    }

    async fn rotate_keys(&self) -> Result<Vec<NewKey>, String> {
        let (folder, env, lead) =
            (self.key_folder.clone(), self.env.clone(), self.signing_key_lead);
        let devices = self.keys.devices.clone();
        let rotation = tokio::task::spawn_blocking(move || {
            keyfiles::rotate_keys(devices.key_folder(&folder), &env, lead)
        })
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
        self.keys.reload().await?;
        let new_key = |CreatedKey { purpose, kid, from }: CreatedKey| NewKey {
            kid,
            purpose: purpose.as_str().to_owned(),
            from: format_rfc3339(from),
        };
        Ok(rotation.added.into_iter().map(new_key).collect())
    }

    async fn reload_keys(&self) -> Result<Vec<String>, String> {
        self.keys.reload().await
    }
}
