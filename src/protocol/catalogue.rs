//! Every error the hub can answer with: one row each, its code stable for ever (decisions 13).
//!
//! `passerelle errors` prints this table, and the documentation page is made from it. A code is never reused or
//! renumbered. `description` is what travels as `error_description`: fixed printable ASCII without `"` and `\`
//! (RFC 6749, 4.1.2.1), never a value from a request or an identity provider.

use serde::{Deserialize, Serialize};

/// Whose doing an error is. Decides metrics and who gets woken up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The service provider's (or data provider's) software.
    Client,
    /// The identity provider, or the register.
    Upstream,
    /// The person, or their browser.
    User,
    /// A rule of the federation said no.
    Policy,
    /// This hub.
    Hub,
}

/// Who can mend it; the error page tells the person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mender {
    User,
    ServiceProvider,
    IdentityProvider,
    Operator,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Info,
    Warn,
    Error,
}

/// One row of the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// `Y` and six digits.
    pub code: &'static str,
    /// HTTP status where the error is answered directly.
    pub status: u16,
    /// OAuth / OpenID Connect `error`, where it travels to a service provider.
    pub oauth: &'static str,
    pub severity: Severity,
    pub fault: Fault,
    pub mender: Mender,
    /// Key of the public text in `locales/`: `error-…`.
    pub text: &'static str,
    /// `error_description`, and the developer's line on a 400 page.
    pub description: &'static str,
}

macro_rules! catalogue {
    ($($variant:ident = $code:literal $status:literal $oauth:literal $severity:ident $fault:ident $mender:ident $text:literal $description:literal;)*) => {
        /// A row of the catalogue, by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum ErrorCode { $(#[doc = $description] $variant,)* }

        impl ErrorCode {
            /// Every code, in the catalogue's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$variant => &Entry {
                        code: $code, status: $status, oauth: $oauth, severity: Severity::$severity,
                        fault: Fault::$fault, mender: Mender::$mender, text: $text, description: $description,
                    },)*
                }
            }
        }
    };
}

catalogue! {
    // Y000 + HTTP status: the protocol's surface.
    BadRequest = "Y000400" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The request is malformed.";
    NotFound = "Y000404" 404 "invalid_request" Info Client User "error-not-found" "There is nothing at this address.";
    MethodNotAllowed = "Y000405" 405 "invalid_request" Info Client ServiceProvider "error-method" "This address does not accept this method.";
    RequestTimeout = "Y000408" 408 "invalid_request" Info Client User "error-timeout" "The request took too long to arrive.";
    PayloadTooLarge = "Y000413" 413 "invalid_request" Info Client ServiceProvider "error-too-large" "The request is too large.";
    UnknownHost = "Y000421" 421 "invalid_request" Info Client ServiceProvider "error-unknown-host" "This host name is not served here.";
    Internal = "Y000500" 500 "server_error" Error Hub Operator "error-internal" "The hub met an internal error.";
    Unavailable = "Y000503" 503 "temporarily_unavailable" Warn Hub Operator "error-unavailable" "The hub can not take the request now; try again in a moment.";

    // Y01: the register, and the identity it is asked about.
    RegisterAnswer = "Y010000" 403 "access_denied" Info Policy IdentityProvider "error-register" "The identity could not be confirmed by the national register.";
    RegisterNotFound = "Y010001" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows no such person.";
    RegisterSeveral = "Y010002" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows several such persons.";
    RegisterDeceased = "Y010003" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterRefused = "Y010004" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterUnavailable = "Y010005" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register does not answer.";
    RegisterContract = "Y010006" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register gave an answer that breaks its contract.";
    IdentityIncomplete = "Y010010" 403 "access_denied" Warn Upstream IdentityProvider "error-identity-incomplete" "The identity provider sent an identity that lacks a required claim.";
    IdentityMalformed = "Y010011" 403 "access_denied" Warn Upstream IdentityProvider "error-identity-malformed" "The identity provider sent an identity with a malformed claim.";

    // Y02: identity providers.
    IdpUnknown = "Y020001" 403 "access_denied" Info Policy User "error-idp-unavailable" "This identity provider is not known here.";
    IdpOff = "Y020002" 403 "access_denied" Info Policy User "error-idp-unavailable" "This identity provider is switched off.";
    IdpUnreachable = "Y020003" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider can not be reached.";
    IdpTimeout = "Y020004" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not answer in time.";
    IdpStatus = "Y020005" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider answered with an unexpected status.";
    IdpTooLarge = "Y020006" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is too large.";
    IdpAddressForbidden = "Y020007" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "The identity provider's address is one that the hub must not call.";
    IdpDiscovery = "Y020008" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's configuration document is unusable.";
    IdpIssuerMismatch = "Y020009" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's configuration document names another issuer.";
    IdpKeys = "Y020010" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's key set is unusable.";
    IdpBusy = "Y020011" 503 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-busy" "Too many logins wait for this identity provider.";
    IdpDenied = "Y020020" 403 "access_denied" Info User User "error-idp-denied" "The authentication was aborted at the identity provider.";
    IdpError = "Y020021" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider answered with an error.";
    IdpCallbackMalformed = "Y020022" 400 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is malformed.";
    IdpIssMissing = "Y020023" 400 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer lacks the iss parameter that it announces.";
    IdpIssWrong = "Y020024" 400 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer names another issuer.";
    IdpCodeRefused = "Y020030" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused its own authorization code.";
    IdpTokenAnswer = "Y020031" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's token answer is malformed.";
    IdTokenMissing = "Y020032" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider sent no ID token.";
    IdTokenMalformed = "Y020033" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is malformed.";
    IdTokenAlgorithm = "Y020034" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is signed with another algorithm than registered.";
    IdTokenKey = "Y020035" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is signed with an unknown key.";
    IdTokenSignature = "Y020036" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The signature of the identity provider's ID token is wrong.";
    IdTokenIssuer = "Y020037" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token names another issuer.";
    IdTokenAudience = "Y020038" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is meant for another audience.";
    IdTokenAzp = "Y020039" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token was issued to another client.";
    IdTokenNonce = "Y020040" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token carries another nonce.";
    IdTokenExpired = "Y020041" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token has expired.";
    IdTokenFuture = "Y020042" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token was issued in the future.";
    IdTokenNotYet = "Y020043" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is not valid yet.";
    IdTokenAtHash = "Y020044" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token does not belong to its access token.";
    IdTokenSubject = "Y020045" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token has no subject.";
    IdTokenAuthTime = "Y020046" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token lacks the authentication time.";
    ReauthenticationNotProven = "Y020047" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not authenticate the user again.";
    IdTokenEncryption = "Y020048" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is encrypted where plain is registered, or the other way round.";
    UserinfoRefused = "Y020050" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused its own access token.";
    UserinfoMalformed = "Y020051" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is malformed.";
    UserinfoSubject = "Y020052" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is about another subject.";
    UserinfoSignature = "Y020053" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The signature of the identity provider's user information is wrong.";
    UserinfoAudience = "Y020054" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information names another issuer or audience.";
    UserinfoTime = "Y020055" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information has expired or is not valid yet.";

    // Y10: assurance.
    AcrUnlisted = "Y100001" 403 "access_denied" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned a level of assurance that is not agreed with it.";
    AcrTooLow = "Y100002" 403 "access_denied" Info Policy User "error-assurance" "The level of assurance reached is lower than the one asked.";
    AcrMissing = "Y100003" 403 "access_denied" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned no level of assurance.";

    // Y42: the steps of a login.
    LoginUnknown = "Y420001" 404 "access_denied" Info User User "error-login-unknown" "This login is not known, or has expired.";
    LoginOtherBrowser = "Y420002" 403 "access_denied" Warn User User "error-login-other-browser" "This login was begun in another browser.";
    StateUnknown = "Y420003" 400 "access_denied" Warn User User "error-login-state" "The answer does not belong to a step of this login.";
    StepOutOfOrder = "Y420004" 409 "access_denied" Info User User "error-login-order" "This step does not fit where the login stands.";
    AlreadyDone = "Y420005" 409 "access_denied" Info User User "error-login-done" "This login is already finished.";
    LoginExpired = "Y420006" 410 "access_denied" Info User User "error-login-expired" "This login took too long and has expired.";
    TooManyLogins = "Y420007" 409 "access_denied" Info User User "error-login-too-many" "Too many logins are open in this browser; the oldest was closed.";
    GateClosed = "Y420008" 403 "access_denied" Info Policy User "error-gate" "This identity provider can not be used for this service.";
    Interrupted = "Y420009" 503 "temporarily_unavailable" Warn Hub User "error-login-interrupted" "The login was interrupted and can be tried again.";
    UserCancelled = "Y420010" 403 "access_denied" Info User User "error-cancelled" "The user's authentication was aborted.";
    UserRefusedConsent = "Y420011" 403 "access_denied" Info User User "error-refused" "The user refused to share the information.";
    LoginRequired = "Y420012" 403 "login_required" Info User User "error-login-required" "The user must authenticate, and prompt=none forbids to ask.";
    ConsentRequired = "Y420013" 403 "consent_required" Info User User "error-consent-required" "The user must consent, and prompt=none forbids to ask.";

    // Y47: cross-site request forgery.
    CsrfMissing = "Y470001" 403 "access_denied" Warn User User "error-csrf" "The form was sent without its protection token.";
    CsrfWrong = "Y470002" 403 "access_denied" Warn User User "error-csrf" "The form's protection token does not fit this login.";
    CsrfCrossSite = "Y470003" 403 "access_denied" Warn User User "error-csrf" "The form was sent by another site.";

    // Y50: the hub.
    StoreUnavailable = "Y500001" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The hub's store does not answer.";
    StoreFull = "Y500002" 503 "temporarily_unavailable" Error Hub Operator "error-busy" "The hub has reached the number of logins that it can hold.";
    Busy = "Y500003" 503 "temporarily_unavailable" Warn Hub Operator "error-busy" "The hub is too busy to take the request now.";
    SigningFailed = "Y500004" 500 "server_error" Error Hub Operator "error-internal" "The hub could not sign its answer.";
    ShuttingDown = "Y500005" 503 "temporarily_unavailable" Info Hub User "error-unavailable" "The hub is being restarted; try again in a moment.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = HashSet::new();
        for code in ErrorCode::ALL {
            let entry = code.entry();
            assert!(seen.insert(entry.code), "{} twice", entry.code);
            assert!(entry.code.len() == 7 && entry.code.starts_with('Y') && entry.code[1..].bytes().all(|c| c.is_ascii_digit()));
            assert!(entry.description.bytes().all(|c| (0x20..0x7f).contains(&c) && c != b'"' && c != b'\\'), "{}", entry.code);
            assert!((400..600).contains(&entry.status));
        }
    }
}
