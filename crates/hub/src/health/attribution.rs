//! Attributes the outcome of a call. Only the identity provider's own failures count, because an
//! open circuit affects all users.
//!
//! What a browser can cause at will (a forged callback or code, a changed authorization
//! request) does not count. This table can't know every server's answer to odd input, so counted
//! failures do not open a circuit alone: `login_failures` requires several networks, and the prober
//! decides.

use std::time::Duration;

use super::circuit::CallKind;
use passerelle_protocol::catalogue::{ErrorCode, ErrorOrigin};

/// Wait after a 429 without `Retry-After`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Wait after a directory has refused the hub's own account: each probe is a failed login there, and
/// directories lock an account after a few.
const REFUSED_ACCOUNT_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Effect of an outcome on the health of the identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribution {
    /// The identity provider answered correctly.
    Success,
    Failure(ErrorCode),
    /// Proves nothing: no call was made, a cache may have answered, or another party caused the
    /// outcome.
    Ignored,
}

/// Attributes the outcome of a call.
pub(crate) fn attribute_outcome(call: CallKind, outcome: Result<(), ErrorCode>) -> Attribution {
    match (outcome, call) {
        (Ok(()), CallKind::CompleteLogin | CallKind::SignIn | CallKind::Probe) => {
            Attribution::Success
        }
        // Mostly answered from a cache, which proves nothing.
        (Ok(()), CallKind::BeginLogin | CallKind::EndSession | CallKind::Preload) => {
            Attribution::Ignored
        }
        (Err(code), _) if is_idp_failure(code) => Attribution::Failure(code),
        (Err(_), _) => Attribution::Ignored,
    }
}

/// Returns how long no probe follows one that failed with this code, where the identity provider names
/// no time.
pub(crate) const fn pause_after_failed_probe(code: ErrorCode) -> Option<Duration> {
    match code {
        ErrorCode::IdpThrottled => Some(DEFAULT_RETRY_AFTER),
        ErrorCode::LdapAccount => Some(REFUSED_ACCOUNT_RETRY_AFTER),
        _ => None,
    }
}

/// Returns whether only the identity provider can have caused the failure.
pub(super) const fn is_idp_failure(code: ErrorCode) -> bool {
    match code.entry().origin {
        ErrorOrigin::User | ErrorOrigin::Client | ErrorOrigin::Policy | ErrorOrigin::Hub => false,
        ErrorOrigin::Upstream => !is_caused_elsewhere(code) && !can_be_caused_by_browser(code),
    }
}

/// Returns whether the catalogue attributes the code to upstream although the identity provider did
/// not fail: it was not called, asked the hub to wait, or rejected one account; or the register
/// failed, or anyone can have sent the logout token.
const fn is_caused_elsewhere(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::IdpBusy
            | E::IdpCircuitOpen
            | E::RegisterUnavailable
            | E::RegisterContract
            | E::RegisterBusy
            | E::RegisterIdentity
            | E::IdentityIncomplete
            | E::IdentityMalformed
            // It answers, and asks the hub to wait.
            | E::IdpThrottled
            // Concerns one account at the identity provider.
            | E::UserinfoSubjectMissing
            | E::LdapSubject
            // Anyone can send one.
            | E::LogoutTokenMalformed
            | E::LogoutTokenUnproven
            | E::LogoutTokenEncryption
            | E::LogoutTokenIssuer
            | E::LogoutTokenAudience
            | E::LogoutTokenTime
            | E::LogoutTokenEvent
            | E::LogoutTokenNonce
            | E::LogoutTokenSubject
            | E::LogoutTokenReplayed
    )
}

/// Returns whether a browser can cause the failure: authorization requests and callbacks travel
/// through it, and it may change any parameter.
const fn can_be_caused_by_browser(code: ErrorCode) -> bool {
    use ErrorCode as E;
    if let E::Extension(row) = code {
        return row.caused_by_browser;
    }
    matches!(
        code,
        // The browser sends the callback: any `error`, `iss` or `code` may be in it.
        E::IdpError | E::IdpTemporarilyUnavailable | E::IdpStateUnusable | E::IdpCallbackMalformed | E::IdpCodeMalformed | E::IdpIssMissing
            | E::IdpIssWrong | E::IdpCodeRefused
        // Another login's code, or `nonce`, `scope`, `prompt`, `max_age` or `acr_values` changed on
        // the way.
            | E::IdpResponseKey | E::IdpResponseUnproven | E::IdpResponseClaims | E::IdpResponseEncryption | E::IdpPushRefused
            | E::IdTokenNonce | E::IdTokenMissing | E::IdTokenAuthTime | E::ReauthenticationNotProven | E::PromptLoginIgnored
            | E::AcrUnlisted | E::AcrMissing | E::AcrTooLow | E::UserinfoRefused
    )
}
