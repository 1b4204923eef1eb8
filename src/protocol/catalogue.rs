//! Every error of the hub, one row each; codes are stable forever (`docs/design/errors.md`).
//!
//! `passerelle errors` prints this table, and `docs/errors.md` is generated from it. Codes are
//! never reused or renumbered. `description` is sent as `error_description`: printable ASCII
//! without `"` and `\` (RFC 6749 §4.1.2.1), never a value from a request or an identity provider.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Who caused an error. Determines metrics and alerts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorOrigin {
    /// The service provider's (or data provider's) software.
    Client,
    /// The identity provider, or the register.
    Upstream,
    /// The user, or their browser.
    User,
    /// A rule of the federation.
    Policy,
    /// This hub.
    Hub,
}

/// Who can fix an error; the error page names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponsibleParty {
    User,
    ServiceProvider,
    IdentityProvider,
    Operator,
}

/// Log level of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogSeverity {
    Info,
    Warn,
    Error,
}

/// One row of the catalogue.
#[derive(Debug)]
pub struct CatalogueEntry {
    /// `Y` and six digits.
    pub code: &'static str,
    /// HTTP status of a direct error response.
    pub status: u16,
    /// OAuth or OpenID Connect `error` for a service provider.
    pub oauth: &'static str,
    pub severity: LogSeverity,
    pub origin: ErrorOrigin,
    pub responsible: ResponsibleParty,
    /// Key of the public text in `locales/`: `error-…`.
    pub page_text: &'static str,
    /// `error_description`, and the developer's line on a 400 page.
    pub description: &'static str,
}

macro_rules! catalogue {
    ($($(#[$attribute:meta])* $variant:ident = $code:literal $status:literal $oauth:literal $severity:ident $origin:ident $responsible:ident $text:literal $description:literal;)*) => {
        /// An error code of the catalogue.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum ErrorCode { $(#[doc = $description] $(#[$attribute])* $variant,)* }

        impl ErrorCode {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the row of this code.
            #[must_use]
            pub const fn entry(self) -> &'static CatalogueEntry {
                match self {
                    $(Self::$variant => &CatalogueEntry {
                        code: $code, status: $status, oauth: $oauth, severity: LogSeverity::$severity,
                        origin: ErrorOrigin::$origin, responsible: ResponsibleParty::$responsible,
                        page_text: $text, description: $description,
                    },)*
                }
            }
        }
    };
}

catalogue! {
    // Y000 + HTTP status: general HTTP errors.
    BadRequest = "Y000400" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The request is malformed.";
    NotFound = "Y000404" 404 "invalid_request" Info Client User "error-not-found" "There is nothing at this address.";
    MethodNotAllowed = "Y000405" 405 "invalid_request" Info Client ServiceProvider "error-method" "This address does not accept this method.";
    RequestTimeout = "Y000408" 408 "invalid_request" Info Client User "error-timeout" "The request took too long to arrive.";
    PayloadTooLarge = "Y000413" 413 "invalid_request" Info Client ServiceProvider "error-too-large" "The request is too large.";
    UnknownHost = "Y000421" 421 "invalid_request" Info Client ServiceProvider "error-unknown-host" "This host name is not served here.";
    #[serde(rename = "TooManyMistakes")]
    TooManyFailures = "Y000429" 429 "temporarily_unavailable" Info Client ServiceProvider "error-bad-request" "Too many requests of this client have failed; try again after the time in Retry-After.";
    Internal = "Y000500" 500 "server_error" Error Hub Operator "error-internal" "The hub met an internal error.";
    Unavailable = "Y000503" 503 "temporarily_unavailable" Warn Hub Operator "error-unavailable" "The hub can not process the request now; try again shortly.";

    // Y01: the register, and the identity that it confirms.
    RegisterAnswer = "Y010000" 403 "access_denied" Info Policy IdentityProvider "error-register" "The identity could not be confirmed by the national register.";
    RegisterNotFound = "Y010001" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows no such person.";
    RegisterSeveral = "Y010002" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows several such persons.";
    RegisterDeceased = "Y010003" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterRefused = "Y010004" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterUnavailable = "Y010005" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register does not answer.";
    RegisterContract = "Y010006" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register gave an answer that breaks its contract.";
    RegisterBusy = "Y010007" 503 "temporarily_unavailable" Warn Upstream Operator "error-register-unavailable" "Too many logins wait for the national register.";
    RegisterIdentity = "Y010008" 502 "server_error" Error Upstream Operator "error-register" "The national register gave an identity that breaks the rules.";
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
    IdpLimited = "Y020012" 503 "temporarily_unavailable" Warn Policy Operator "error-idp-busy" "The identity provider's limit of logins per minute is reached.";
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
    IdTokenEncryption = "Y020048" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is encrypted where plain is registered.";
    UserinfoRefused = "Y020050" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused its own access token.";
    UserinfoMalformed = "Y020051" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is malformed.";
    UserinfoSubject = "Y020052" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is about another subject.";
    UserinfoSignature = "Y020053" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The signature of the identity provider's user information is wrong.";
    UserinfoAudience = "Y020054" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information names another issuer or audience.";
    UserinfoTime = "Y020055" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information has expired or is not valid yet.";
    UserinfoKey = "Y020056" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is signed with an unknown key.";
    IdpInTrouble = "Y020100" 503 "temporarily_unavailable" Info Upstream IdentityProvider "error-idp-trouble" "The identity provider has failed several times; the hub does not call it for a moment.";
    IdpKeysTooMany = "Y020101" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's key set holds too many keys.";
    // Token responses, and userinfo without an ID token.
    IdpAccessTokenMissing = "Y020120" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's token answer has no access token.";
    IdpTokenType = "Y020121" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's access token is of a type that the hub does not know.";
    UserinfoSubjectMissing = "Y020122" 502 "access_denied" Error Upstream Operator "error-idp-trouble" "The identity provider's user information lacks the claim that names its subject.";
    // LDAP directories.
    LdapTls = "Y020123" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "No TLS connection to the directory could be made.";
    LdapAccount = "Y020124" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "The directory refused the hub's own account.";
    LdapAnswer = "Y020125" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The directory answered with an error.";
    LdapSubject = "Y020126" 502 "access_denied" Error Upstream Operator "error-idp-trouble" "The directory's entry lacks the attribute that names its subject.";
    // Encrypted responses, both ID tokens and user information; the log line says which.
    #[serde(rename = "SealMissing")]
    JweMissing = "Y020140" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is only signed, and encryption is registered.";
    #[serde(rename = "SealMalformed")]
    JweMalformed = "Y020141" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer is malformed.";
    #[serde(rename = "SealAlgorithm")]
    JweAlgorithm = "Y020142" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is encrypted with another alg than registered.";
    #[serde(rename = "SealContentEncryption")]
    JweContentEncryption = "Y020143" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is encrypted with another enc than registered.";
    #[serde(rename = "SealCompressed")]
    JweCompressed = "Y020144" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer is compressed.";
    #[serde(rename = "SealExtension")]
    JweExtension = "Y020145" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer demands an extension that the hub does not know.";
    #[serde(rename = "SealKey")]
    JweKey = "Y020146" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's answer is encrypted to a key that is not, or no longer, the hub's.";
    #[serde(rename = "SealBroken")]
    JweDecryption = "Y020147" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer can not be decrypted with the hub's key.";
    #[serde(rename = "SealUnsigned")]
    JweUnsigned = "Y020148" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer contains unsigned claims.";
    #[serde(rename = "SealNested")]
    JweNested = "Y020149" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted answer contains another encrypted one.";
    // Blocks.
    IdpBlocked = "Y020150" 403 "access_denied" Info Policy User "error-idp-blocked" "This identity provider is blocked at the moment.";
    IdpBlockedForService = "Y020151" 403 "access_denied" Info Policy User "error-idp-blocked-for-service" "This identity provider is blocked for this client_id at the moment.";
    UserinfoEncryption = "Y020240" 502 "access_denied" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is encrypted where plain is registered.";
    IdpClientRefused = "Y020241" 502 "access_denied" Error Upstream Operator "error-idp-trouble" "The identity provider refused the hub's own client authentication.";
    IdpAssertion = "Y020242" 502 "access_denied" Error Hub Operator "error-idp-trouble" "The hub could not sign its client assertion for the identity provider.";
    IdpCodeMalformed = "Y020310" 400 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's code is longer than 4096 characters, or has characters other than printable ASCII.";
    IdpThrottled = "Y020311" 503 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider rejects the hub's requests because of a rate limit.";
    IdpReauthenticationUnproven = "Y020320" 403 "access_denied" Info Policy User "error-idp-reauthentication" "This identity provider can not prove that the user has authenticated again, as the request demands.";
    IdpStateUnusable = "Y020330" 400 "access_denied" Warn Upstream IdentityProvider "error-idp-answer" "The identity provider's answer carries no usable state: it is missing, empty or repeated.";
    PromptLoginIgnored = "Y020370" 502 "access_denied" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not authenticate the user again although prompt=login asked it to.";

    // Y03: the authorization request. Y03, parameter, rule: 01 is missing, 02 is twice.
    ClientIdMissing = "Y030101" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_id is missing or empty.";
    ClientIdTwice = "Y030102" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_id was sent more than once.";
    ClientIdUnknown = "Y030103" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id is not registered on this platform.";
    ClientIdInactive = "Y030104" 400 "invalid_request" Info Policy Operator "error-bad-request" "The service provider of this client_id is switched off.";
    RedirectUriMissing = "Y030201" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter redirect_uri is missing or empty.";
    RedirectUriTwice = "Y030202" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter redirect_uri was sent more than once.";
    RedirectUriNotRegistered = "Y030203" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The redirect_uri is not registered for this client_id; it must equal a registered one character for character.";
    ResponseTypeMissing = "Y030301" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter response_type is missing or empty.";
    ResponseTypeTwice = "Y030302" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter response_type was sent more than once.";
    ResponseTypeUnsupported = "Y030303" 400 "unsupported_response_type" Info Client ServiceProvider "error-bad-request" "The response_type must be code.";
    ScopeMissing = "Y030401" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter scope is missing or empty.";
    ScopeTwice = "Y030402" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter scope was sent more than once.";
    ScopeWithoutOpenid = "Y030403" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The scope must contain openid.";
    ScopeNotGranted = "Y030404" 400 "invalid_scope" Info Client ServiceProvider "error-bad-request" "The scope contains a value that is not granted to this client_id.";
    AcrValuesMissing = "Y030501" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter acr_values is missing or empty.";
    AcrValuesTwice = "Y030502" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter acr_values was sent more than once.";
    AcrValuesStandard = "Y030503" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "No value of acr_values, or of an essential acr in claims, is accepted here; the accepted value is eidas1.";
    AcrValuesHigh = "Y030504" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "No value of acr_values, or of an essential acr in claims, is accepted here; the accepted values are eidas2 and eidas3.";
    StateMissing = "Y030601" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter state is missing or empty.";
    StateTwice = "Y030602" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter state was sent more than once.";
    StateTooShortGet = "Y030603" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at least 22 characters when the request is sent by GET.";
    StateTooShortPost = "Y030604" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at least 32 characters when the request is sent by POST.";
    StateTooLong = "Y030605" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at most 1024 characters.";
    StateCharacters = "Y030606" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must consist of printable ASCII characters.";
    NonceMissing = "Y030701" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter nonce is missing or empty.";
    NonceTwice = "Y030702" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter nonce was sent more than once.";
    NonceTooShortGet = "Y030703" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at least 22 characters when the request is sent by GET.";
    NonceTooShortPost = "Y030704" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at least 32 characters when the request is sent by POST.";
    NonceTooLong = "Y030705" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at most 1024 characters.";
    NonceCharacters = "Y030706" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must consist of printable ASCII characters.";
    ClaimsTwice = "Y030802" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter claims was sent more than once.";
    ClaimsMalformed = "Y030803" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The claims parameter must be one JSON object, at most 16 levels deep, in which no member is named twice.";
    ClaimsTooLarge = "Y030804" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The claims parameter must have at most 4096 bytes.";
    ClaimsMembers = "Y030805" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, id_token and userinfo must be JSON objects, and each claim in them null or a JSON object.";
    ClaimsSub = "Y030806" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, the value of id_token.sub must be a string.";
    ClaimsAcr = "Y030807" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, the value of id_token.acr must be a string, and its values an array of strings.";
    PromptTwice = "Y030902" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter prompt was sent more than once.";
    PromptUnknown = "Y030903" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The prompt contains an unknown value; known are none, login, consent and select_account.";
    PromptNoneWithOther = "Y030904" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The prompt value none can not be combined with another.";
    ResponseModeTwice = "Y031002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter response_mode was sent more than once.";
    ResponseModeUnknown = "Y031003" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The response_mode must be query or form_post.";
    MaxAgeTwice = "Y031102" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter max_age was sent more than once.";
    MaxAgeMalformed = "Y031103" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The max_age must be a whole number of seconds, from 0.";
    CodeChallengeTwice = "Y031202" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter code_challenge was sent more than once.";
    CodeChallengeMalformed = "Y031203" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge must be 43 base64url characters.";
    CodeChallengeRequired = "Y031204" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A code_challenge is required of this client_id.";
    CodeChallengeMethodTwice = "Y031302" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter code_challenge_method was sent more than once.";
    CodeChallengeMethodMissing = "Y031303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge needs the code_challenge_method S256 beside it.";
    CodeChallengeMethodAlone = "Y031304" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A code_challenge_method was sent without a code_challenge.";
    CodeChallengeMethodUnsupported = "Y031305" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge_method must be S256.";
    RequestTwice = "Y031402" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter request was sent more than once.";
    RequestNotSupported = "Y031403" 400 "request_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter request is not supported.";
    RequestUriTwice = "Y031502" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter request_uri was sent more than once.";
    RequestUriNotSupported = "Y031503" 400 "request_uri_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter request_uri is not supported.";
    RegistrationTwice = "Y031602" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter registration was sent more than once.";
    RegistrationNotSupported = "Y031603" 400 "registration_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter registration is not supported.";
    LoginHintTwice = "Y031702" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter login_hint was sent more than once.";
    IdTokenHintTwice = "Y031802" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter id_token_hint was sent more than once.";
    IdTokenHintInvalid = "Y031803" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint is not an ID token of this hub for this client_id.";
    IdpHintTwice = "Y031902" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter idp_hint was sent more than once.";
    UiLocalesTwice = "Y032002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter ui_locales was sent more than once.";
    DisplayTwice = "Y032102" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter display was sent more than once.";
    ClaimsLocalesTwice = "Y032202" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter claims_locales was sent more than once.";
    AuthorizeNotForm = "Y033001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must have the content type application/x-www-form-urlencoded.";
    AuthorizePostWithQuery = "Y033002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must carry its parameters in the body, and none in the address.";

    // Y04: token, userinfo and revocation. Y04, parameter, rule, as Y03; then 10: client
    // authentication, 20: the code, 30: userinfo, 40: revocation.
    TokenNotForm = "Y040101" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The request must have the content type application/x-www-form-urlencoded.";
    TokenGrantTypeMissing = "Y040201" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter grant_type is missing or empty.";
    TokenGrantTypeTwice = "Y040202" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter grant_type was sent more than once.";
    TokenGrantTypeUnsupported = "Y040203" 400 "unsupported_grant_type" Info Client ServiceProvider "error-bad-request" "The grant_type must be authorization_code.";
    TokenClientIdMissing = "Y040301" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_id is missing or empty.";
    TokenClientIdTwice = "Y040302" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_id was sent more than once.";
    TokenClientIdDiffers = "Y040303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id of the body differs from the one of the Authorization header.";
    TokenClientSecretMissing = "Y040401" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_secret is missing or empty.";
    TokenClientSecretTwice = "Y040402" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_secret was sent more than once.";
    TokenRedirectUriMissing = "Y040501" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter redirect_uri is missing or empty.";
    TokenRedirectUriTwice = "Y040502" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter redirect_uri was sent more than once.";
    TokenCodeMissing = "Y040601" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter code is missing or empty.";
    TokenCodeTwice = "Y040602" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter code was sent more than once.";
    TokenCodeVerifierTwice = "Y040702" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter code_verifier was sent more than once.";
    TokenClientAssertionTwice = "Y040802" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_assertion was sent more than once.";
    TokenClientAssertionMissing = "Y040851" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_assertion is missing or empty.";
    AssertionUnproven = "Y040852" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    AssertionTyp = "Y040853" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The typ of the client assertion must be client-authentication+jwt, JWT or absent.";
    AssertionSubject = "Y040854" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The iss and sub of the client assertion must both be the client_id.";
    AssertionAudience = "Y040855" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The aud of the client assertion must be the issuer of this hub, as one string; the setting client_assertion_audiences of this client_id can allow others.";
    AssertionExpired = "Y040856" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion has expired, or has no numeric exp.";
    AssertionTooLong = "Y040857" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion expires more than five minutes from now.";
    AssertionNotYet = "Y040858" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion is not valid yet, or was issued in the future.";
    AssertionJti = "Y040859" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion must have a jti of 1 to 255 characters.";
    AssertionReplayed = "Y040850" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion was used before; each needs a jti of its own.";
    #[serde(rename = "AssertionsCrowding")]
    TooManyAssertions = "Y040860" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "This client_id has used more client assertions than the hub stores for one client; send fewer, with an earlier exp.";
    TokenClientAssertionTypeTwice = "Y040902" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_assertion_type was sent more than once.";
    TokenClientAssertionTypeMissing = "Y040951" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_assertion_type is missing or empty.";
    TokenTwoMethods = "Y041001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client authenticated by more than one method; use the registered one alone.";
    ClientAuthentication = "Y041002" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientHeaderMalformed = "Y041003" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientUnknown = "Y041050" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientOtherMethod = "Y041051" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientSecretNotYet = "Y041052" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientSecretExpired = "Y041053" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientAssertionTypeUnsupported = "Y041054" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientKeysUnavailable = "Y041055" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "The keys at the jwks_uri of this client_id can not be fetched now; try again shortly.";
    CodeUnknown = "Y042001" 400 "invalid_grant" Info Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    CodeReused = "Y042002" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code was used before; the tokens issued for it are revoked.";
    CodeOfAnother = "Y042003" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    CodeRedirectUri = "Y042004" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The redirect_uri differs from the one of the authorization request.";
    CodeVerifier = "Y042005" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code_verifier does not prove the code_challenge of the authorization request.";
    CodeGateClosed = "Y042006" 400 "invalid_grant" Info Policy Operator "error-bad-request" "The identity provider of this login can no longer be used for this service.";
    CodeRevoked = "Y042007" 400 "invalid_grant" Info User ServiceProvider "error-bad-request" "The session was revoked while the code was redeemed: the user signed out, or the code was used twice.";
    CodeRegistrationWithdrawn = "Y042320" 400 "invalid_grant" Warn Policy ServiceProvider "error-bad-request" "The redirect_uri or a scope of the authorization request is no longer registered for this client_id.";
    BearerMissing = "Y043001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header with the access token is missing.";
    BearerTwice = "Y043002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header was sent more than once.";
    BearerOtherScheme = "Y043003" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header must use the scheme Bearer.";
    BearerMalformed = "Y043004" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header must be Bearer, a space and one access token.";
    BearerInQuery = "Y043005" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent in the Authorization header, never in the address.";
    BearerQueryMalformed = "Y043006" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The query is malformed.";
    BearerManyWays = "Y043007" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent once, and in one way.";
    BearerInBody = "Y043008" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent in the Authorization header, not in the body.";
    AccessTokenInvalid = "Y043010" 401 "invalid_token" Info Client ServiceProvider "error-bad-request" "The access token is unknown, expired or revoked.";
    RevocationTokenMissing = "Y044001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter token is missing or empty.";
    RevocationTokenTwice = "Y044002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter token was sent more than once.";
    CodeSpentByAnother = "Y042360" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    AssertionAudienceUnlisted = "Y040360" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The aud of the client assertion must name only audiences of the setting client_assertion_audiences of this client_id; its default is the issuer and the token endpoint of this hub.";
    AssertionTooLongOpenid = "Y040361" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion expires more than eleven minutes from now.";
    AssertionBeforeStart = "Y040362" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion may have been used before the hub was restarted with an empty store; send a new one with an iat.";

    // Y10: assurance.
    AcrUnlisted = "Y100001" 403 "access_denied" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned a level of assurance that is not configured for it.";
    AcrTooLow = "Y100002" 403 "access_denied" Info Policy User "error-assurance" "The level of assurance reached is lower than the one requested.";
    AcrMissing = "Y100003" 403 "access_denied" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned no level of assurance.";
    AcrNotRequired = "Y100320" 403 "access_denied" Info Policy User "error-assurance" "The level of assurance reached is none of the values of the essential acr claim.";

    // Y19: sessions. Y19, parameter, rule, as Y03: a logout request.
    LogoutHintMissing = "Y190101" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A post_logout_redirect_uri was sent without the id_token_hint that must come with it.";
    LogoutHintTwice = "Y190102" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter id_token_hint was sent more than once.";
    LogoutHintInvalid = "Y190103" 400 "invalid_request" Warn Client ServiceProvider "error-bad-request" "The id_token_hint is not an ID token of this hub, or is signed with a key that was retired more than 30 days ago.";
    LogoutHintEncrypted = "Y190104" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint is encrypted, and not one that was issued in a live session of this browser; decrypt the ID token first, and send the signed token that is inside.";
    LogoutHintAudience = "Y190105" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint was issued to a client_id that is not, or no longer, active here.";
    PostLogoutUriMissing = "Y190201" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter post_logout_redirect_uri is missing or empty; a logout of this client_id must name a registered one.";
    PostLogoutUriTwice = "Y190202" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter post_logout_redirect_uri was sent more than once.";
    PostLogoutUriNotRegistered = "Y190203" 400 "invalid_request" Warn Client ServiceProvider "error-bad-request" "The post_logout_redirect_uri is not registered for the client_id of the id_token_hint; they are compared character for character.";
    LogoutStateMissing = "Y190301" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter state is missing or empty; a logout of this client_id must carry one of at least 32 characters.";
    LogoutStateTwice = "Y190302" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter state was sent more than once.";
    LogoutStateTooShort = "Y190303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state of a logout must have at least 32 characters.";
    LogoutStateTooLong = "Y190304" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at most 1024 characters.";
    LogoutStateCharacters = "Y190305" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must consist of printable ASCII characters.";
    LogoutClientIdTwice = "Y190402" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter client_id was sent more than once.";
    LogoutClientIdDiffers = "Y190403" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id is not the one that the id_token_hint was issued to.";
    LogoutUiLocalesTwice = "Y190502" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter ui_locales was sent more than once.";
    LogoutNotForm = "Y193001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must have the content type application/x-www-form-urlencoded.";
    LogoutPostWithQuery = "Y193002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must carry its parameters in the body, and none in the address.";

    // Y33: data providers. All authentication failures read the same (R206).
    DataProviderUnknown = "Y330001" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderCredentials = "Y330002" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderHeader = "Y330003" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderSecret = "Y330004" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderSecretNotYet = "Y330005" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderSecretExpired = "Y330006" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    DataProviderIsServiceProvider = "Y330007" 401 "invalid_client" Warn Client Operator "error-bad-request" "Client authentication failed.";
    IntrospectionTokenMissing = "Y330010" 400 "invalid_request" Info Client Operator "error-bad-request" "The parameter token is missing or empty.";
    IntrospectionTokenTwice = "Y330011" 400 "invalid_request" Info Client Operator "error-bad-request" "The parameter token was sent more than once.";
    DataProviderKeysMissing = "Y330020" 503 "temporarily_unavailable" Warn Client Operator "error-unavailable" "The hub has no key of this data provider to encrypt its answers with: its jwks_uri could not be read yet, or has no key for its registered algorithm.";

    // Y42: login steps.
    LoginUnknown = "Y420001" 404 "access_denied" Info User User "error-login-unknown" "This login is not known, or has expired.";
    LoginOtherBrowser = "Y420002" 403 "access_denied" Warn User User "error-login-other-browser" "This login was started in another browser.";
    StateUnknown = "Y420003" 400 "access_denied" Warn User IdentityProvider "error-idp-answer" "The identity provider's answer does not belong to the open attempt of this login.";
    StepOutOfOrder = "Y420004" 409 "access_denied" Info User User "error-login-order" "This step does not match the state of the login.";
    AlreadyDone = "Y420005" 409 "access_denied" Info User User "error-login-done" "This login is already finished.";
    LoginExpired = "Y420006" 410 "access_denied" Info User User "error-login-expired" "This login took too long and has expired.";
    TooManyLogins = "Y420007" 409 "access_denied" Info User User "error-login-too-many" "Too many logins are open in this browser; the oldest was closed.";
    GateClosed = "Y420008" 403 "access_denied" Info Policy User "error-gate" "This identity provider can not be used for this service.";
    Interrupted = "Y420009" 503 "temporarily_unavailable" Warn Hub User "error-login-interrupted" "The login was interrupted and can be tried again.";
    UserCancelled = "Y420010" 403 "access_denied" Info User User "error-cancelled" "The user's authentication was aborted.";
    UserRefusedConsent = "Y420011" 403 "access_denied" Info User User "error-refused" "The user refused to share the information.";
    LoginRequired = "Y420012" 403 "login_required" Info User User "error-login-required" "The user must authenticate, and prompt=none forbids asking.";
    ConsentRequired = "Y420013" 403 "consent_required" Info User User "error-consent-required" "The user must consent, and prompt=none forbids asking.";
    RedirectUriWithdrawn = "Y420320" 403 "access_denied" Warn Policy ServiceProvider "error-redirect-withdrawn" "The redirect_uri of this login is no longer registered for its client_id.";
    ScopeWithdrawn = "Y420321" 403 "invalid_scope" Warn Policy ServiceProvider "error-scope-withdrawn" "A scope of this login is no longer granted to its client_id.";
    OtherUser = "Y420330" 403 "login_required" Info User User "error-login-required" "The authenticated user is not the one that id_token_hint or claims ask for.";

    // Y47: cross-site request forgery.
    CsrfMissing = "Y470001" 403 "access_denied" Warn User User "error-csrf" "The form was sent without its protection token.";
    CsrfWrong = "Y470002" 403 "access_denied" Warn User User "error-csrf" "The form's protection token does not match this login.";
    CsrfCrossSite = "Y470003" 403 "access_denied" Warn User User "error-csrf" "The form was sent by another site.";

    // Y50: the hub.
    StoreUnavailable = "Y500001" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The hub's store does not answer.";
    StoreFull = "Y500002" 503 "temporarily_unavailable" Error Hub Operator "error-busy" "The hub has reached the number of logins that it can hold.";
    Busy = "Y500003" 503 "temporarily_unavailable" Warn Hub Operator "error-busy" "The hub is too busy to take the request now.";
    SigningFailed = "Y500004" 500 "server_error" Error Hub Operator "error-internal" "The hub could not sign its answer.";
    ShuttingDown = "Y500005" 503 "temporarily_unavailable" Info Hub User "error-unavailable" "The hub is restarting; try again shortly.";
    NetworkLimited = "Y500006" 429 "temporarily_unavailable" Info Client User "error-network-limited" "Too many logins were started from this network in a minute; try again after the time in Retry-After.";
    ServiceLimited = "Y500007" 429 "temporarily_unavailable" Warn Policy ServiceProvider "error-service-limited" "This service provider has exceeded its limit of logins per minute; try again after the time in Retry-After.";
    ClientKeysMissing = "Y500030" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "The hub has no key of this service provider to encrypt its answers with: its jwks_uri could not be read yet, or has no key for its registered algorithm.";
    #[serde(rename = "SealingFailed")]
    EncryptionFailed = "Y500031" 500 "server_error" Error Hub Operator "error-internal" "The hub could not encrypt its answer.";
    NetworkCrowded = "Y500330" 429 "temporarily_unavailable" Info Client User "error-network-limited" "Too many logins from this network wait for authentication while the hub is nearly full; try again after the time in Retry-After.";
    // The operator console on the private listener; no user's browser sees these.
    AdminOff = "Y500090" 404 "invalid_request" Info Client Operator "error-not-found" "The administration is off: set private.admin_token in passerelle.toml and restart the hub.";
    AdminToken = "Y500091" 401 "invalid_token" Warn Client Operator "error-bad-request" "The Authorization header must carry private.admin_token as a Bearer token.";
    AdminMalformed = "Y500092" 400 "invalid_request" Info Client Operator "error-bad-request" "The body is not a block: a JSON object of connector, reason, and optionally service_provider, message, from, until.";
    BlockConnector = "Y500093" 422 "invalid_request" Info Client Operator "error-bad-request" "There is no such connector.";
    BlockServiceProvider = "Y500094" 422 "invalid_request" Info Client Operator "error-bad-request" "There is no service provider of this client_id.";
    #[serde(rename = "BlockFlawed")]
    BlockInvalid = "Y500095" 422 "invalid_request" Info Client Operator "error-bad-request" "The block is invalid.";
    BlockUnknown = "Y500096" 404 "invalid_request" Info Client Operator "error-not-found" "There is no block of this id that was set by command.";
    TooManyBlocks = "Y500097" 409 "invalid_request" Warn Client Operator "error-bad-request" "There are too many blocks.";
    #[serde(rename = "BlocksNotKept")]
    BlocksNotPersisted = "Y500098" 500 "server_error" Error Hub Operator "error-internal" "A block was set or removed, but the change could not be saved: a restart reverts it.";
    SupportIdUnknown = "Y500100" 404 "invalid_request" Info Client Operator "error-not-found" "No login with this support id is in memory; the audit log may contain it.";
    SupportIdMalformed = "Y500101" 404 "invalid_request" Info Client Operator "error-not-found" "This is not a support id: twelve letters and digits, without I, L, O and U.";
    AuditUnwritable = "Y500110" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The hub can not write its audit log, and accepts no new logins.";
    // Connection errors before a request exists; only the log shows these.
    HttpMalformed = "Y500340" 400 "invalid_request" Info Client Operator "error-bad-request" "The bytes received are not an HTTP/1.1 request.";
    FieldNameTooLong = "Y500341" 431 "invalid_request" Info Client Operator "error-bad-request" "A header field of the request has a name of more than 256 bytes.";
    ConnectionSlow = "Y500342" 408 "invalid_request" Info Client User "error-timeout" "Sending a request or reading a response took too long.";
    ConnectionsFull = "Y500343" 503 "temporarily_unavailable" Warn Hub Operator "error-busy" "The listener has reached its connection limit.";
    PeerConnectionsFull = "Y500344" 503 "temporarily_unavailable" Info Client User "error-busy" "A peer has reached its connection limit.";
    KeysUnreadable = "Y500350" 500 "server_error" Error Hub Operator "error-internal" "The key folder can not be read; the last good keys stay in use.";
    AuditLogChanged = "Y500360" 500 "server_error" Error Hub Operator "error-internal" "The audit log does not match its last signature: it was modified or truncated while the hub was down.";
}

/// Families by code prefix.
const FAMILIES: &[(&str, &str)] = &[
    ("Y000", "general HTTP errors: Y000 and the HTTP status"),
    ("Y01", "the register, and the identity that it confirms"),
    ("Y02", "identity providers"),
    ("Y03", "the authorization request"),
    ("Y04", "token, userinfo and revocation"),
    ("Y10", "assurance"),
    ("Y19", "sessions"),
    ("Y33", "data providers"),
    ("Y42", "login steps"),
    ("Y47", "cross-site request forgery"),
    ("Y50", "the hub"),
];

/// Renders the catalogue as the Markdown page `docs/errors.md`.
#[must_use]
pub fn render_markdown() -> String {
    let mut page = String::from(
        "# Error codes\n\n\
         Generated from the program's catalogue, as `passerelle errors` prints it; do not edit. Codes are never reused or\n\
         renumbered. *Status* is the HTTP status of a direct error response; *error* and *description* are what a\n\
         service provider receives as `error` and `error_description`. *Origin* is who caused the error, *fixed by* who can\n\
         fix it, *log* its log level.\n",
    );
    for (prefix, title) in FAMILIES {
        let rows: Vec<_> = ErrorCode::ALL
            .iter()
            .map(|code| code.entry())
            .filter(|entry| entry.code.starts_with(prefix))
            .collect();
        if rows.is_empty() {
            continue;
        }
        // Writing to a String can't fail.
        let _ = writeln!(page, "\n## {prefix}: {title}\n");
        page.push_str("| code | status | error | description | origin | fixed by | log |\n|---|---|---|---|---|---|---|\n");
        for CatalogueEntry {
            code,
            status,
            oauth,
            severity,
            origin,
            responsible,
            description,
            ..
        } in rows
        {
            let (origin, responsible, severity) =
                (origin.as_str(), responsible.as_str(), severity.as_str());
            let _ = writeln!(
                page,
                "| {code} | {status} | `{oauth}` | {description} | {origin} | {responsible} | {severity} |"
            );
        }
    }
    page
}

/// Renders the catalogue as aligned text, for `passerelle errors`.
#[must_use]
pub fn render_table() -> String {
    let mut text = String::new();
    for code in ErrorCode::ALL {
        let CatalogueEntry { code, status, oauth, responsible, description, .. } = code.entry();
        let _ = writeln!(
            text,
            "{code}  {status}  {oauth:<27}  {:<17}  {description}",
            responsible.as_str()
        );
    }
    text
}

impl ErrorOrigin {
    /// Returns the name in the printed catalogue.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::User => "user",
            Self::Policy => "policy",
            Self::Hub => "hub",
        }
    }
}

impl ResponsibleParty {
    /// Returns the name in the printed catalogue.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ServiceProvider => "service provider",
            Self::IdentityProvider => "identity provider",
            Self::Operator => "operator",
        }
    }
}

impl LogSeverity {
    /// Returns the name in the printed catalogue.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
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
            assert!(
                entry.code.len() == 7
                    && entry.code.starts_with('Y')
                    && entry.code[1..].bytes().all(|c| c.is_ascii_digit())
            );
            assert!(
                entry
                    .description
                    .bytes()
                    .all(|c| (0x20..0x7f).contains(&c) && c != b'"' && c != b'\\'),
                "{}",
                entry.code
            );
            assert!((400..600).contains(&entry.status));
        }
    }

    #[test]
    fn every_code_is_on_the_page_and_in_the_table_once() {
        let (page, table) = (render_markdown(), render_table());
        for code in ErrorCode::ALL {
            let code = code.entry().code;
            assert_eq!(
                page.matches(&format!("\n| {code} |")).count(),
                1,
                "{code}: is its family in FAMILIES?"
            );
            assert_eq!(table.matches(code).count(), 1, "{code}");
        }
        assert_eq!(table.lines().count(), ErrorCode::ALL.len());
    }

    #[test]
    fn the_committed_page_is_current() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == render_markdown(),
            "docs/errors.md is stale: cargo run -- errors --markdown > docs/errors.md"
        );
    }
}
