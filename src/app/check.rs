//! Whether a hub would start, and whether its identity and service providers answer, without starting it.

pub mod connector;
mod sample;

use std::sync::Arc;

use super::codes::Codes;
use super::prepare::{connector_means, plan, prepare};
use super::{BuildFault, Keys, identity_source, register};
use crate::audit::file;
use crate::config::audit::AuditSink;
use crate::config::model::{IdentitySource, RegisterConfig, StoreConfig};
use crate::config::{Federation, Loaded};
use crate::env::Env;
use crate::grant::client_keys::{FetchFault, KeyDirectory};
use crate::ids::ClientId;
use crate::register::Register as _;
use crate::store::memory::keeping::Snapshots;
use crate::telemetry::Metrics;

/// Everything that would keep `serve` from starting, each with its mend; empty when nothing does.
#[must_use]
pub fn check(loaded: &Loaded, env: &Env) -> Vec<BuildFault> {
    let mut faults = prepare(loaded, env, Keys::Folder).err().unwrap_or_default();
    let audit = &loaded.settings.audit;
    if audit.sink == AuditSink::File {
        faults.extend(file::examine(&audit.path).err().map(BuildFault::from));
    }
    if let Some(StoreConfig::Memory(memory)) = &loaded.settings.store {
        faults.extend(Snapshots::examine(&memory.snapshot).err().map(BuildFault::from));
    }
    faults
}

/// What `check --online` found at each identity provider, and at the register where one is asked over a network.
pub type Findings = Vec<(String, Result<(), String>)>;

/// Asks every identity provider for its metadata and keys, and the register for its health, as the hub would.
///
/// # Errors
/// A connector or the register can't be built.
pub async fn probe(loaded: &Loaded, env: &Env) -> Result<Findings, BuildFault> {
    // Metadata and keys are public: nothing is proven to, or opened of, an identity provider here.
    let means = connector_means(loaded, env, None, &Codes::default());
    let mut findings = Vec::new();
    for (configured, fields) in loaded.files.connectors().values() {
        let plan = plan(configured, fields, &means)?;
        findings.push((
            plan.id.to_string(),
            plan.connector.warm().await.map_err(|fault| fault.to_string()),
        ));
    }
    // R009: on the high platform it is never asked, so whether it is well is nothing to fail over.
    let asked = identity_source(loaded) == IdentitySource::Register;
    if asked && matches!(loaded.settings.register, Some(RegisterConfig::Http(_))) {
        let metrics = Arc::new(Metrics::new(env.now())?);
        if let register::Read::Http(register) = register::read(loaded, &metrics, env.now())? {
            findings.push((
                "register".to_owned(),
                register.probe().await.map_err(|fault| fault.to_string()),
            ));
        }
    }
    Ok(findings)
}

/// Asks every service provider with a `jwks_uri` for its keys, as the hub would.
///
/// # Errors
/// An address that must not be called, or a federation that can't be had.
pub async fn probe_client_keys(
    loaded: &Loaded,
    env: &Env,
) -> Result<Vec<(ClientId, Result<(), FetchFault>)>, BuildFault> {
    let federation = Federation::of(loaded);
    let metrics = Arc::new(Metrics::new(env.now())?);
    Ok(KeyDirectory::new(&federation, &metrics)?.probe(&federation).await)
}
