//! Whose doing an outcome was. Only the identity provider's own counts, since an open circuit affects everybody.
//!
//! What a browser can bring about at will (a forged callback, a made-up code, a changed authorization request) counts for
//! nothing. This table can't know every answer of every server to odd input, so that even what counts does not open a
//! circuit by itself: `login_failures` demands several networks, and the prober decides.

use super::circuit::Call;
use crate::protocol::catalogue::{ErrorCode, Fault};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was asked, and answered as it should.
    Well,
    Ill(ErrorCode),
    /// Nothing was called, or it was somebody else's doing.
    Neither,
}

pub fn verdict(call: Call, outcome: Result<(), ErrorCode>) -> Verdict {
    match (outcome, call) {
        (Ok(()), Call::Complete | Call::SignIn | Call::Probe | Call::LoginProbe) => Verdict::Well,
        // Mostly answered from what is kept here: no proof of life.
        (Ok(()), Call::Begin | Call::End | Call::Warm) => Verdict::Neither,
        (Err(code), _) if is_the_providers(code) => Verdict::Ill(code),
        (Err(_), _) => Verdict::Neither,
    }
}

/// True for a failure that only the identity provider can have caused.
pub const fn is_the_providers(code: ErrorCode) -> bool {
    match code.entry().fault {
        Fault::User | Fault::Client | Fault::Policy | Fault::Hub => false,
        Fault::Upstream => !is_ours(code) && !a_browser_can_cause(code),
    }
}

/// The catalogue counts them as upstream's; yet nobody called the identity provider, or it was the register.
const fn is_ours(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::IdpBusy
            | E::IdpInTrouble
            | E::RegisterUnavailable
            | E::RegisterContract
            | E::RegisterBusy
            | E::RegisterIdentity
            | E::IdentityIncomplete
            | E::IdentityMalformed
            // It answers, and asks the hub to wait.
            | E::IdpThrottled
            // About one account there.
            | E::UserinfoSubjectMissing
            | E::LdapSubject
    )
}

/// Authorization requests and answers travel through the browser, which may change any of their parameters.
const fn a_browser_can_cause(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        // A callback is a request of the browser's: any `error`, `iss` or `code` may stand in it.
        E::IdpError | E::IdpStateUnusable | E::IdpCallbackMalformed | E::IdpCodeMalformed | E::IdpIssMissing
            | E::IdpIssWrong | E::IdpCodeRefused
        // Another login's code, or `nonce`, `scope`, `prompt`, `max_age` or `acr_values` changed on the way.
            | E::IdTokenNonce | E::IdTokenMissing | E::IdTokenAuthTime | E::ReauthenticationNotProven | E::PromptLoginIgnored
            | E::AcrUnlisted | E::AcrMissing | E::AcrTooLow | E::UserinfoRefused
    )
}
