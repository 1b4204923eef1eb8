//! Loads and stores the record of a login.

use std::sync::Arc;
use std::time::Duration;

use crate::live_login_counter::LoginPosition;
use crate::login_services::LoginServices;
use crate::step_admission::StepPermit;
use crate::unauthenticated_logins::unread_expiry;
use passerelle_federation::login::Login;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::InteractionHash;
use passerelle_store::{
    LoadedRecord, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, StoreScope,
};

/// How long the record outlives the login, so that a repeated request can still be answered.
const RECORD_RETENTION: Duration = Duration::from_secs(60);

/// Poll interval while another hub processes the callback.
const CALLBACK_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of polls, which take 8 seconds.
const MAX_CALLBACK_POLLS: usize = 80;

/// A login as last stored.
pub(crate) struct CachedLogin {
    pub(crate) login: Login,
    pub(super) version: RecordVersion,
    /// When the record expires; the cache must not outlive it.
    pub(super) expires_at: Timestamp,
    /// Whether the last step sent the browser to the consent page, which it has not opened yet.
    pub(super) shows_consent_next: bool,
}

/// Returns the key of a login's record.
pub(crate) fn login_key(hash: &InteractionHash) -> RecordKey {
    RecordKey { kind: RecordKind::LOGIN, name: Arc::from(hash.as_str()) }
}

/// Error of one run of a step.
pub(super) enum RunStepError {
    /// Another hub has changed the login, or may have.
    Stale,
    Gone,
    Hub(ErrorCode),
}

/// Loads the login. Waits while another hub verifies the callback, so that a browser that repeats
/// the callback or reloads the page gets the outcome.
///
/// # Errors
/// Returns the error of the store, or `Internal` if the record is not JSON of a login.
pub(super) async fn load_after_verification(
    services: &LoginServices,
    hash: &InteractionHash,
    permit: &StepPermit,
) -> Result<Option<CachedLogin>, ErrorCode> {
    let mut found = load(services, hash).await?;
    if services.store.scope() == StoreScope::Process {
        return Ok(found);
    }
    for _ in 0..MAX_CALLBACK_POLLS {
        if !found
            .as_ref()
            .is_some_and(|cached| cached.login.is_being_verified(services.core.env.now()))
        {
            break;
        }
        permit.release_slot();
        tokio::time::sleep(CALLBACK_POLL_INTERVAL).await;
        found = load(services, hash).await?;
    }
    Ok(found)
}

async fn load(
    services: &LoginServices,
    hash: &InteractionHash,
) -> Result<Option<CachedLogin>, ErrorCode> {
    let found = services.store.load_and_extend(&login_key(hash), services.core.env.now()).await?;
    let Some(LoadedRecord { record, was_unread: is_first }) = found else {
        return Ok(None);
    };
    let login = Login::from_record(hash, &record.value).map_err(|_| ErrorCode::Internal)?;
    services.unauthenticated.update(hash, record.version, record.expires_at);
    if is_first {
        let (unread, read) = (unread_expiry(&login.context), login.context.expires_at);
        services.live_logins.move_expiry(unread, read, LoginPosition::from_login(&login));
    }
    let (version, expires_at) = (record.version, record.expires_at);
    Ok(Some(CachedLogin { login, version, expires_at, shows_consent_next: false }))
}

/// Stores the login. Returns the record's new version and expiry.
///
/// # Errors
/// `Stale` if the record has another version, `Gone` if it no longer exists, `Hub` if the store
/// fails.
pub(super) async fn save_login(
    services: &LoginServices,
    login: &Login,
    version: RecordVersion,
) -> Result<(RecordVersion, Timestamp), RunStepError> {
    let value = serde_json::to_vec(login).map_err(|_| RunStepError::Hub(ErrorCode::Internal))?;
    let now = services.core.env.now();
    let until = record_expiry(login, now);
    match services.store.replace(&login_key(&login.context.hash), version, value, until, now).await
    {
        Ok(ReplaceOutcome::Replaced(version)) => {
            services.unauthenticated.update(&login.context.hash, version, until);
            Ok((version, until))
        }
        Ok(ReplaceOutcome::Stale) => Err(RunStepError::Stale),
        Ok(ReplaceOutcome::Gone) => Err(RunStepError::Gone),
        Err(error) => Err(RunStepError::Hub(error.into())),
    }
}

/// Returns when the record expires: a minute after the login's completion or expiry.
pub(crate) fn record_expiry(login: &Login, now: Timestamp) -> Timestamp {
    let end = if login.is_completed() { now } else { login.context.expires_at };
    end + RECORD_RETENTION
}
