//! Opens the register of persons, whatever its kind, and refreshes it.

use std::sync::Arc;
use std::time::Duration;

use super::build_error::BuildError;
use super::from_settings::identity_source;
use passerelle_config::LoadedConfig;
use passerelle_federation::identity::{Identity, IdentitySource};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::SupportId;
use passerelle_register::kind::{OpenRegisterError, RegisterContext, RegisterSettings};
use passerelle_register::{Register, RegisterAnswer, RegisterError};
use passerelle_settings::Diagnostic;
use passerelle_telemetry::Metrics;

/// Returns the settings of the register, if one is configured.
///
/// # Errors
/// Returns an error if the kind is not that of a register.
pub fn register_settings(
    loaded: &LoadedConfig,
) -> Result<Option<&dyn RegisterSettings>, OpenRegisterError> {
    let Some(configured) = &loaded.register else { return Ok(None) };
    let settings = configured.settings::<Box<dyn RegisterSettings>>().map(Box::as_ref);
    settings.map(Some).ok_or_else(|| OpenRegisterError(format!("{configured:?} is not a register")))
}

/// Returns a warning if identities come from a register without persons.
pub(super) fn empty_register_warning(loaded: &LoadedConfig) -> Option<Diagnostic> {
    let is_used = identity_source(loaded) == IdentitySource::Register;
    let settings = register_settings(loaded).ok()?.filter(|_| is_used)?;
    Some(Diagnostic {
        file: settings.file_without_persons()?.display().to_string(),
        line: None,
        key: String::new(),
        message: "contains no person, so no user can log in".into(),
        fix: "add persons with `passerelle register import FILE.csv`; no restart is needed".into(),
    })
}

/// Opens the configured register.
///
/// # Errors
/// Returns an error if the register can't be used as it is configured.
pub(super) fn open_register(
    loaded: &LoadedConfig,
    metrics: &Arc<Metrics>,
    now: Timestamp,
) -> Result<Option<Arc<dyn Register>>, BuildError> {
    let Some(settings) = register_settings(loaded)? else { return Ok(None) };
    let home_country = loaded.settings.home_country.clone();
    let context = RegisterContext { home_country, metrics: Arc::clone(metrics), now };
    Ok(Some(settings.open(context)?))
}

/// Refreshes the register at each interval. Must be called inside an actix system.
pub(super) fn start_refresh(register: Option<&Arc<dyn Register>>, interval: Duration) {
    let Some(register) = register.map(Arc::downgrade) else { return };
    actix::spawn(async move {
        let mut interval = tokio::time::interval(interval);
        interval.tick().await;
        loop {
            interval.tick().await;
            let Some(register) = register.upgrade() else { return };
            register.refresh().await;
        }
    });
}

/// Queries the configured register about one person (`passerelle register lookup`).
///
/// # Errors
/// Returns an error if the register can't be built. The inner result is that of the query.
pub async fn query_register(
    loaded: &LoadedConfig,
    env: &Env,
    pivot: &Identity,
) -> Result<Result<RegisterAnswer, RegisterError>, BuildError> {
    let metrics = Arc::new(Metrics::new()?);
    let register = open_register(loaded, &metrics, env.now())?
        .ok_or_else(|| BuildError::Register("none is configured: add [register.…]".into()))?;
    let id = SupportId::generate(env.entropy());
    Ok(register.identify(pivot, &id).await)
}
