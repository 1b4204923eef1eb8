//! One row for each error code, in the order of the codes, and one for each parameter.

#![allow(clippy::doc_markdown, reason = "the descriptions are public texts")]

use super::{CatalogueEntry, ErrorOrigin, LogSeverity, ResponsibleParty};

catalogue! {
    // Endpoint, who can fix the error, and each parameter with its codes. `display` and
    // `claims_locales` are ignored, but must not be repeated; they are reported first.
    parameters {
        AUTHORIZATION ServiceProvider {
            Display "display" Repeated "Y032102";
            ClaimsLocales "claims_locales" Repeated "Y032202";
            ClientId "client_id" Repeated "Y030102" Missing "Y030101";
            RedirectUri "redirect_uri" Repeated "Y030202" Missing "Y030201";
            ResponseType "response_type" Repeated "Y030302" Missing "Y030301";
            Scope "scope" Repeated "Y030402" Missing "Y030401";
            AcrValues "acr_values" Repeated "Y030502" Missing "Y030501";
            State "state" Repeated "Y030602" Missing "Y030601";
            Nonce "nonce" Repeated "Y030702" Missing "Y030701";
            Claims "claims" Repeated "Y030802";
            Prompt "prompt" Repeated "Y030902";
            ResponseMode "response_mode" Repeated "Y031002";
            MaxAge "max_age" Repeated "Y031102";
            CodeChallenge "code_challenge" Repeated "Y031202";
            CodeChallengeMethod "code_challenge_method" Repeated "Y031302";
            Request "request" Repeated "Y031402";
            RequestUri "request_uri" Repeated "Y031502";
            Registration "registration" Repeated "Y031602";
            LoginHint "login_hint" Repeated "Y031702";
            IdTokenHint "id_token_hint" Repeated "Y031802";
            IdpHint "idp_hint" Repeated "Y031902";
            UiLocales "ui_locales" Repeated "Y032002";
            DpopJkt "dpop_jkt" Repeated "Y032902";
        }
        TOKEN ServiceProvider {
            TokenGrantType "grant_type" Repeated "Y040202" Missing "Y040201";
            TokenRedirectUri "redirect_uri" Repeated "Y040502" Missing "Y040501";
            TokenCode "code" Repeated "Y040602" Missing "Y040601";
            TokenCodeVerifier "code_verifier" Repeated "Y040702";
        }
        REFRESH ServiceProvider {
            RefreshToken "refresh_token" Repeated "Y042392" Missing "Y042391";
            RefreshScope "scope" Repeated "Y042393";
        }
        CLIENT_AUTHENTICATION ServiceProvider {
            TokenClientId "client_id" Repeated "Y040302" Missing "Y040301";
            TokenClientSecret "client_secret" Repeated "Y040402" Missing "Y040401";
            TokenClientAssertion "client_assertion" Repeated "Y040802" Missing "Y040851";
            TokenClientAssertionType "client_assertion_type" Repeated "Y040902" Missing "Y040951";
        }
        REVOCATION ServiceProvider {
            RevocationToken "token" Repeated "Y044002" Missing "Y044001";
        }
        LOGOUT ServiceProvider {
            LogoutUiLocales "ui_locales" Repeated "Y190502";
            LogoutHint "id_token_hint" Repeated "Y190102";
            PostLogoutUri "post_logout_redirect_uri" Repeated "Y190202";
            LogoutState "state" Repeated "Y190302";
            LogoutClientId "client_id" Repeated "Y190402";
        }
        UPSTREAM_LOGOUT IdentityProvider {
            UpstreamLogoutToken "logout_token" Repeated "Y190602" Missing "Y190601";
        }
        INTROSPECTION Operator {
            IntrospectionToken "token" Repeated "Y330011" Missing "Y330010";
        }
    }

    // Y000 + HTTP status: general HTTP errors.
    BadRequest = "Y000400" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The request is malformed.";
    NotFound = "Y000404" 404 "invalid_request" Info Client User "error-not-found" "There is nothing at this address.";
    MethodNotAllowed = "Y000405" 405 "invalid_request" Info Client ServiceProvider "error-method" "This address does not accept this method.";
    RequestTimeout = "Y000408" 408 "invalid_request" Info Client User "error-timeout" "The request took too long to arrive.";
    PayloadTooLarge = "Y000413" 413 "invalid_request" Info Client ServiceProvider "error-too-large" "The request is too large.";
    UnknownHost = "Y000421" 421 "invalid_request" Info Client ServiceProvider "error-unknown-host" "This host name is not served here.";
    TooManyFailures = "Y000429" 429 "temporarily_unavailable" Info Client ServiceProvider "error-bad-request" "Too many requests of this client have failed; try again after the time in Retry-After.";
    Internal = "Y000500" 500 "server_error" Error Hub Operator "error-internal" "The hub has an internal error.";
    Unavailable = "Y000503" 503 "temporarily_unavailable" Warn Hub Operator "error-unavailable" "The hub can't process the request now; try again shortly.";

    // Y01: the register, and the identity that it confirms.
    RegisterAnswer = "Y010000" 403 "access_denied" Info Policy IdentityProvider "error-register" "The identity could not be confirmed by the national register.";
    RegisterNotFound = "Y010001" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows no such person.";
    RegisterSeveral = "Y010002" 403 "access_denied" Info Policy IdentityProvider "error-register" "The national register knows several such persons.";
    RegisterDeceased = "Y010003" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterRefused = "Y010004" 403 "access_denied" Warn Policy Operator "error-register" "The identity could not be confirmed by the national register.";
    RegisterUnavailable = "Y010005" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register does not answer.";
    RegisterContract = "Y010006" 503 "temporarily_unavailable" Error Upstream Operator "error-register-unavailable" "The national register gave a response that breaks its contract.";
    RegisterBusy = "Y010007" 503 "temporarily_unavailable" Warn Upstream Operator "error-register-unavailable" "Too many logins wait for the national register.";
    RegisterIdentity = "Y010008" 502 "server_error" Error Upstream Operator "error-register" "The national register gave an identity that breaks the rules.";
    IdentityIncomplete = "Y010010" 403 "access_denied" Warn Upstream IdentityProvider "error-identity-incomplete" "The identity provider sent an identity that lacks a required claim.";
    IdentityMalformed = "Y010011" 403 "access_denied" Warn Upstream IdentityProvider "error-identity-malformed" "The identity provider sent an identity with a malformed claim.";

    // Y02: identity providers.
    IdpUnknown = "Y020001" 403 "access_denied" Info Policy User "error-idp-unavailable" "This identity provider is not known here.";
    IdpOff = "Y020002" 403 "access_denied" Info Policy User "error-idp-unavailable" "This identity provider is switched off.";
    IdpUnreachable = "Y020003" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider can't be reached.";
    IdpTimeout = "Y020004" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not answer in time.";
    IdpStatus = "Y020005" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider answered with an unexpected status.";
    IdpTooLarge = "Y020006" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is too large.";
    IdpAddressForbidden = "Y020007" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "The identity provider's address is one that the hub must not call.";
    IdpDiscovery = "Y020008" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's configuration document is unusable.";
    IdpIssuerMismatch = "Y020009" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's configuration document names another issuer.";
    IdpKeys = "Y020010" 502 "temporarily_unavailable" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's key set is unusable.";
    IdpBusy = "Y020011" 503 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-busy" "Too many logins wait for this identity provider.";
    IdpLimited = "Y020012" 503 "temporarily_unavailable" Warn Policy Operator "error-idp-busy" "The identity provider's limit of logins per minute is reached.";
    IdpCertificateTime = "Y020013" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's TLS certificate has expired or is not valid yet." DependsOnClock;
    IdpDenied = "Y020020" 403 "access_denied" Info User User "error-idp-denied" "The authentication was aborted at the identity provider.";
    IdpError = "Y020021" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider answered with an error.";
    IdpCallbackMalformed = "Y020022" 400 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's authorization response is malformed.";
    IdpIssMissing = "Y020023" 400 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's authorization response lacks the iss parameter that it announces.";
    IdpIssWrong = "Y020024" 400 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's authorization response names another issuer.";
    IdpCodeRefused = "Y020030" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused its own authorization code.";
    IdpTokenAnswer = "Y020031" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's token response is malformed.";
    IdTokenMissing = "Y020032" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider sent no ID token.";
    IdTokenMalformed = "Y020033" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is malformed.";
    IdTokenAlgorithm = "Y020034" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is signed with another algorithm than registered.";
    IdTokenKey = "Y020035" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is signed with an unknown key.";
    IdTokenSignature = "Y020036" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The signature of the identity provider's ID token is wrong.";
    IdTokenIssuer = "Y020037" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token names another issuer.";
    IdTokenAudience = "Y020038" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is meant for another audience.";
    IdTokenAzp = "Y020039" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token was issued to another client.";
    IdTokenNonce = "Y020040" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token carries another nonce.";
    IdTokenExpired = "Y020041" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token has expired." DependsOnClock;
    IdTokenFuture = "Y020042" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token was issued in the future." DependsOnClock;
    IdTokenNotYet = "Y020043" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is not valid yet." DependsOnClock;
    IdTokenAtHash = "Y020044" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token does not belong to its access token.";
    IdTokenSubject = "Y020045" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token has no subject.";
    IdTokenAuthTime = "Y020046" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token lacks the authentication time." DependsOnClock;
    ReauthenticationNotProven = "Y020047" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not authenticate the user again." DependsOnClock;
    IdTokenEncryption = "Y020048" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's ID token is encrypted where plain is registered.";
    UserinfoRefused = "Y020050" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused its own access token.";
    UserinfoMalformed = "Y020051" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is malformed.";
    UserinfoSubject = "Y020052" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is about another subject.";
    UserinfoSignature = "Y020053" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The signature of the identity provider's user information is wrong.";
    UserinfoAudience = "Y020054" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information names another issuer or audience.";
    UserinfoTime = "Y020055" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information has expired or is not valid yet." DependsOnClock;
    UserinfoKey = "Y020056" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is signed with an unknown key.";
    IdpCircuitOpen = "Y020100" 503 "temporarily_unavailable" Info Upstream IdentityProvider "error-idp-trouble" "The identity provider has failed several times; the hub does not call it for a moment.";
    // Token responses, and userinfo without an ID token.
    IdpAccessTokenMissing = "Y020120" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's token response has no access token.";
    IdpTokenType = "Y020121" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's access token is of a type that the hub does not know.";
    UserinfoSubjectMissing = "Y020122" 502 "server_error" Error Upstream Operator "error-idp-trouble" "The identity provider's user information lacks the claim that names its subject.";
    // LDAP directories.
    LdapTls = "Y020123" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "No TLS connection to the directory could be made.";
    LdapAccount = "Y020124" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "The directory refused the hub's own account.";
    LdapAnswer = "Y020125" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The directory answered with an error.";
    LdapSubject = "Y020126" 502 "server_error" Error Upstream Operator "error-idp-trouble" "The directory's entry lacks the attribute that names its subject.";
    PasswordChangeRequired = "Y020127" 403 "access_denied" Warn User User "error-password-change" "The directory accepts the password only to change it: it has expired, or was reset.";
    LdapAccountDisabled = "Y020128" 403 "access_denied" Warn User IdentityProvider "error-account-disabled" "The directory accepts the password, and the account is disabled or has expired.";
    LdapOutsideHours = "Y020129" 403 "access_denied" Warn User IdentityProvider "error-account-hours" "The directory accepts the password, but not at this time.";
    LdapSignInNotPermitted = "Y020130" 403 "access_denied" Warn User IdentityProvider "error-account-not-permitted" "The directory accepts the password, and a rule of the account forbids the sign-in.";
    LdapAccountRefused = "Y020131" 403 "access_denied" Warn User IdentityProvider "error-account-refused" "The directory refuses the account, whatever the password is: it is locked, disabled or restricted.";
    // Encrypted responses, both ID tokens and user information; the log line says which.
    JweMissing = "Y020140" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is only signed, and encryption is registered.";
    JweMalformed = "Y020141" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response is malformed.";
    JweAlgorithm = "Y020142" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is encrypted with another alg than registered.";
    JweContentEncryption = "Y020143" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is encrypted with another enc than registered.";
    JweCompressed = "Y020144" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response is compressed.";
    JweExtension = "Y020145" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response demands an extension that the hub does not know.";
    JweKey = "Y020146" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is encrypted to a key that is not, or no longer, the hub's.";
    JweDecryption = "Y020147" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response can't be decrypted with the hub's key.";
    JweUnsigned = "Y020148" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response contains unsigned claims.";
    JweNested = "Y020149" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's encrypted response contains another encrypted one.";
    // Blocks.
    IdpBlocked = "Y020150" 403 "access_denied" Info Policy User "error-idp-blocked" "This identity provider is blocked at the moment.";
    IdpBlockedForService = "Y020151" 403 "access_denied" Info Policy User "error-idp-blocked-for-service" "This identity provider is blocked for this client_id at the moment.";
    UserinfoEncryption = "Y020240" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider's user information is encrypted where plain is registered.";
    IdpClientRefused = "Y020241" 502 "server_error" Error Upstream Operator "error-idp-trouble" "The identity provider refused the hub's own client authentication." DependsOnClock;
    IdpAssertion = "Y020242" 502 "server_error" Error Hub Operator "error-idp-trouble" "The hub could not sign its client assertion for the identity provider.";
    IdpCodeMalformed = "Y020310" 400 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's code is longer than 4096 characters, or has characters other than printable ASCII.";
    IdpThrottled = "Y020311" 503 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider rejects the hub's requests because of a rate limit.";
    IdpPushRefused = "Y020312" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider refused the hub's pushed authorization request." DependsOnClock;
    IdpPushAnswer = "Y020313" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's response to the hub's pushed authorization request is malformed.";
    IdpResponseKey = "Y020314" 400 "server_error" Warn Upstream IdentityProvider "error-idp-answer" "No published key of the identity provider fits its signed authorization response.";
    IdpResponseUnproven = "Y020315" 400 "server_error" Warn Upstream IdentityProvider "error-idp-answer" "The identity provider's authorization response is not signed as registered.";
    IdpResponseClaims = "Y020316" 400 "server_error" Warn Upstream IdentityProvider "error-idp-answer" "The identity provider's signed authorization response has another iss, aud or state, or has expired." DependsOnClock;
    IdpDpopNonce = "Y020317" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider asks for another DPoP nonce although the hub sent the one that it gave.";
    IdpTokenUnbound = "Y020318" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The identity provider issued a bearer token where a token that is bound to the hub's key is demanded.";
    IdpResponseEncryption = "Y020319" 400 "server_error" Warn Upstream IdentityProvider "error-idp-answer" "The identity provider's authorization response is not encrypted as registered.";
    IdpReauthenticationUnproven = "Y020320" 403 "unmet_authentication_requirements" Info Policy User "error-idp-reauthentication" "This identity provider can't prove that the user has authenticated again, as the request demands.";
    IdpStateUnusable = "Y020330" 400 "server_error" Warn Upstream IdentityProvider "error-idp-answer" "The identity provider's authorization response carries no usable state: it is missing, empty or repeated.";
    IdpTemporarilyUnavailable = "Y020331" 503 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider answered that it is temporarily unavailable.";
    IdpEncoding = "Y020332" 502 "temporarily_unavailable" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider's response is compressed in a way that the hub can't decode.";
    PromptLoginIgnored = "Y020370" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The identity provider did not authenticate the user again although prompt=login asked it to." DependsOnClock;
    // Wallets.

    // Y03: the authorization request. Y03, parameter, rule; `parameters` has 01 and 02 of each.
    ClientIdUnknown = "Y030103" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id is not registered on this platform.";
    ClientIdInactive = "Y030104" 400 "invalid_request" Info Policy Operator "error-bad-request" "The service provider of this client_id is switched off.";
    RedirectUriNotRegistered = "Y030203" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The redirect_uri is not registered for this client_id; it must equal a registered one character for character.";
    ResponseTypeUnsupported = "Y030303" 400 "unsupported_response_type" Info Client ServiceProvider "error-bad-request" "The response_type must be code.";
    ScopeWithoutOpenid = "Y030403" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The scope must contain openid.";
    ScopeNotGranted = "Y030404" 400 "invalid_scope" Info Client ServiceProvider "error-bad-request" "The scope contains a value that is not granted to this client_id.";
    AcrValuesStandard = "Y030503" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "No value of acr_values, or of an essential acr in claims, is accepted here; the accepted value is eidas1.";
    AcrValuesHigh = "Y030504" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "No value of acr_values, or of an essential acr in claims, is accepted here; the accepted values are eidas2 and eidas3.";
    StateTooShortGet = "Y030603" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at least 22 characters when the request is sent by GET.";
    StateTooShortPost = "Y030604" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at least 32 characters when the request is sent by POST.";
    StateTooLong = "Y030605" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at most 4096 characters.";
    StateCharacters = "Y030606" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must consist of printable ASCII characters.";
    NonceTooShortGet = "Y030703" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at least 22 characters when the request is sent by GET.";
    NonceTooShortPost = "Y030704" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at least 32 characters when the request is sent by POST.";
    NonceTooLong = "Y030705" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must have at most 1024 characters.";
    NonceCharacters = "Y030706" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The nonce must consist of printable ASCII characters.";
    ClaimsMalformed = "Y030803" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The claims parameter must be one JSON object, at most 16 levels deep, in which no member is named twice.";
    ClaimsTooLarge = "Y030804" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The claims parameter must have at most 4096 bytes.";
    ClaimsMembers = "Y030805" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, id_token and userinfo must be JSON objects, and each claim in them null or a JSON object.";
    ClaimsSub = "Y030806" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, the value of id_token.sub must be a string.";
    ClaimsAcr = "Y030807" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "In claims, the value of id_token.acr must be a string, and its values an array of strings.";
    PromptUnknown = "Y030903" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The prompt contains an unknown value; known are none, login, consent and select_account.";
    PromptNoneWithOther = "Y030904" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The prompt value none can't be combined with another.";
    ResponseModeUnknown = "Y031003" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The response_mode must be query or form_post; query.jwt, form_post.jwt and jwt need a registered authorization_signed_response_alg.";
    ResponseModeUnsigned = "Y031004" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The response_mode must be jwt, query.jwt or form_post.jwt: this client_id gets signed responses only (profile fapi2-message-signing).";
    MaxAgeMalformed = "Y031103" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The max_age must be a whole number of seconds, from 0.";
    CodeChallengeMalformed = "Y031203" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge must be 43 base64url characters.";
    CodeChallengeRequired = "Y031204" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A code_challenge is required of this client_id.";
    CodeChallengeMethodMissing = "Y031303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge needs the code_challenge_method S256 beside it.";
    CodeChallengeMethodAlone = "Y031304" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A code_challenge_method was sent without a code_challenge.";
    CodeChallengeMethodUnsupported = "Y031305" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The code_challenge_method must be S256.";
    RequestNotSupported = "Y031403" 400 "request_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter request is not supported.";
    RequestObjectUnproven = "Y031404" 400 "invalid_request_object" Warn Client ServiceProvider "error-bad-request" "The request object is not a JWT signed with a key of this client_id, by its registered request_object_signing_alg.";
    RequestObjectTyp = "Y031405" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The typ of the request object must be oauth-authz-req+jwt or absent; JWT is accepted without a security profile.";
    RequestObjectClient = "Y031406" 400 "invalid_request_object" Warn Client ServiceProvider "error-bad-request" "The iss and the client_id of the request object must both be the client_id beside it.";
    RequestObjectAudience = "Y031407" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The aud of the request object must be the issuer of this hub.";
    RequestObjectExpired = "Y031408" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object has expired, or has no numeric exp.";
    RequestObjectTooLong = "Y031409" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object expires more than eleven minutes from now.";
    RequestObjectNotYet = "Y031410" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object is not valid yet, or was issued in the future.";
    RequestObjectJti = "Y031411" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object must have a jti of 1 to 255 characters; only a pushed one may have none.";
    RequestObjectReplayed = "Y031412" 400 "invalid_request_object" Warn Client ServiceProvider "error-bad-request" "The request object was used before, or was issued before the hub was restarted with an empty store; each needs a jti of its own.";
    RequestObjectNested = "Y031413" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object must not contain request or request_uri.";
    RequestObjectParameter = "Y031414" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "A parameter in the request object must be a string, or a number; claims may be an object.";
    RequestObjectDiffers = "Y031415" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The response_type beside the request object differs from the one in it.";
    RequestObjectRequired = "Y031416" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The requests of this client_id must be signed request objects, in the parameter request.";
    RequestObjectPeriod = "Y031417" 400 "invalid_request_object" Info Client ServiceProvider "error-bad-request" "The request object must have an nbf of the last sixty minutes and an exp at most sixty minutes after it: this client_id has the profile fapi2-message-signing.";
    RequestObjectSubject = "Y031418" 400 "invalid_request_object" Warn Client ServiceProvider "error-bad-request" "The sub of the request object must not be the client_id, as it is in a client assertion.";
    RequestUriNotSupported = "Y031503" 400 "request_uri_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter request_uri is not supported.";
    RequestUriUnknown = "Y031504" 400 "invalid_request_uri" Info Client ServiceProvider "error-bad-request" "The request_uri is unknown or has expired, or another client pushed the request; push a new one for each login.";
    RequestUriUsed = "Y031505" 400 "invalid_request_uri" Warn Client ServiceProvider "error-bad-request" "The request_uri was used before; push a new request for each login.";
    PushedRequestRequired = "Y031506" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The requests of this client_id must be pushed to the pushed_authorization_request_endpoint first.";
    RequestUriPushed = "Y031507" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A pushed request must not contain request_uri.";
    RequestObjectAndUri = "Y031508" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameters request and request_uri exclude each other.";
    TooManyPushedRequests = "Y031509" 429 "temporarily_unavailable" Warn Client ServiceProvider "error-bad-request" "This client_id has pushed more requests than the hub stores for one client; try again in a minute.";
    PushedRequestTooLarge = "Y031510" 413 "invalid_request" Info Client ServiceProvider "error-too-large" "The parameters of the pushed request are larger than 16 KiB.";
    RegistrationNotSupported = "Y031603" 400 "registration_not_supported" Info Client ServiceProvider "error-bad-request" "The parameter registration is not supported.";
    IdTokenHintInvalid = "Y031803" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint is not an ID token of this hub for this client_id.";
    DpopJktMalformed = "Y032903" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The dpop_jkt must be the SHA-256 thumbprint of a key: 43 base64url characters.";
    DpopJktMismatch = "Y032904" 400 "invalid_request" Warn Client ServiceProvider "error-bad-request" "The dpop_jkt must be the thumbprint of the key of the DPoP proof.";
    AuthorizeNotForm = "Y033001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must have the content type application/x-www-form-urlencoded.";
    AuthorizePostWithQuery = "Y033002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A POST must carry its parameters in the body, and none in the address.";

    // Y04: token, userinfo and revocation. Y04, parameter, rule, as Y03; then 10: client
    // authentication, 20: the code, 30: userinfo, 40: revocation.
    TokenNotForm = "Y040101" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The request must have the content type application/x-www-form-urlencoded.";
    TokenGrantTypeUnsupported = "Y040203" 400 "unsupported_grant_type" Info Client ServiceProvider "error-bad-request" "The grant_type must be authorization_code, or refresh_token for a service provider with refresh_tokens.";
    TokenGrantTypeUnauthorized = "Y040204" 400 "unauthorized_client" Info Client ServiceProvider "error-bad-request" "This client_id is not registered for refresh tokens.";
    TokenClientIdDiffers = "Y040303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id of the body differs from the one of the Authorization header or of the client assertion.";
    AssertionAudienceUnlisted = "Y040360" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The aud of the client assertion must name only audiences of the setting client_assertion_audiences of this client_id; its default is the issuer and the token endpoint of this hub.";
    AssertionTooLongOpenid = "Y040361" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion expires more than eleven minutes from now.";
    AssertionBeforeStart = "Y040362" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion may have been used before the hub was restarted with an empty store; send a new one with an iat.";
    AssertionReplayed = "Y040850" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion was used before; each needs a jti of its own.";
    AssertionUnproven = "Y040852" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    AssertionTyp = "Y040853" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The typ of the client assertion must be client-authentication+jwt, JWT or absent.";
    AssertionSubject = "Y040854" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The iss and sub of the client assertion must both be the client_id.";
    AssertionAudience = "Y040855" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The aud of the client assertion must be the issuer of this hub, as one string; the setting client_assertion_audiences of this client_id can allow others.";
    AssertionExpired = "Y040856" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion has expired, or has no numeric exp.";
    AssertionTooLong = "Y040857" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion expires more than five minutes from now.";
    AssertionNotYet = "Y040858" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion is not valid yet, or was issued in the future.";
    AssertionJti = "Y040859" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "The client assertion must have a jti of 1 to 255 characters.";
    TooManyAssertions = "Y040860" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "This client_id has used more client assertions than the hub stores for one client; send fewer, with an earlier exp.";
    TokenTwoMethods = "Y041001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client authenticated by more than one method; use the registered one alone.";
    ClientAuthentication = "Y041002" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientHeaderMalformed = "Y041003" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientUnknown = "Y041050" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientOtherMethod = "Y041051" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientSecretNotYet = "Y041052" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientSecretExpired = "Y041053" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientAssertionTypeUnsupported = "Y041054" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientKeysUnavailable = "Y041055" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "The keys at the jwks_uri of this client_id can't be fetched now; try again shortly.";
    ClientCertificateUntrusted = "Y041370" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    ClientCertificateNotRegistered = "Y041371" 401 "invalid_client" Warn Client ServiceProvider "error-bad-request" "Client authentication failed.";
    CodeUnknown = "Y042001" 400 "invalid_grant" Info Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    CodeReused = "Y042002" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code was used before; the tokens issued for it are revoked.";
    CodeOfOtherClient = "Y042003" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    CodeRedirectUri = "Y042004" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The redirect_uri differs from the one of the authorization request.";
    CodeVerifier = "Y042005" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code_verifier does not prove the code_challenge of the authorization request.";
    CodeGateClosed = "Y042006" 400 "invalid_grant" Info Policy Operator "error-bad-request" "The identity provider of this login can no longer be used for this service.";
    CodeRevoked = "Y042007" 400 "invalid_grant" Info User ServiceProvider "error-bad-request" "The session was revoked while the code was redeemed: the user signed out, or the code was used twice.";
    CodeRegistrationWithdrawn = "Y042320" 400 "invalid_grant" Warn Policy ServiceProvider "error-bad-request" "The redirect_uri or a scope of the authorization request is no longer registered for this client_id.";
    CodeRedeemedByOtherClient = "Y042360" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code is not valid for this client_id, or has expired.";
    CodeDpopKey = "Y042370" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The code is bound to a key by dpop_jkt, and no DPoP proof of that key was sent.";
    RefreshTokenUnknown = "Y042380" 400 "invalid_grant" Info Client ServiceProvider "error-bad-request" "The refresh token is not valid for this client_id, has expired, or was revoked.";
    RefreshTokenOfOtherClient = "Y042381" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The refresh token is not valid for this client_id, has expired, or was revoked.";
    RefreshTokenReused = "Y042382" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The refresh token was used before; it and all tokens issued with it are revoked.";
    RefreshTokenKey = "Y042383" 400 "invalid_grant" Warn Client ServiceProvider "error-bad-request" "The refresh token is bound to a key, which this request does not prove.";
    BearerMissing = "Y043001" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header with the access token is missing.";
    BearerTwice = "Y043002" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header was sent more than once.";
    BearerOtherScheme = "Y043003" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header must use the scheme Bearer, or DPoP for a token that is bound to a key.";
    BearerMalformed = "Y043004" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The Authorization header must be Bearer, a space and one access token.";
    BearerInQuery = "Y043005" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent in the Authorization header, never in the address.";
    BearerQueryMalformed = "Y043006" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The query is malformed.";
    BearerMultipleMethods = "Y043007" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent once, and in one way.";
    BearerInBody = "Y043008" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access token must be sent in the Authorization header, not in the body.";
    AccessTokenInvalid = "Y043010" 401 "invalid_token" Info Client ServiceProvider "error-bad-request" "The access token is unknown, expired or revoked.";


    // Y046: proofs of possession at the token and userinfo endpoints. 00: DPoP (RFC 9449); at
    // userinfo the status is 401 (§7.1).
    DpopProofRepeated = "Y046001" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The DPoP header was sent more than once.";
    DpopProofMissing = "Y046002" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The DPoP header with a proof is missing.";
    DpopProofMalformed = "Y046003" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The DPoP proof must be one compact JWS of at most 8 KiB, without crit and b64.";
    DpopProofTyp = "Y046004" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The typ of the DPoP proof must be dpop+jwt.";
    DpopProofAlgorithm = "Y046005" 400 "invalid_dpop_proof" Warn Client ServiceProvider "error-bad-request" "The alg of the DPoP proof must be one of dpop_signing_alg_values_supported.";
    DpopProofKey = "Y046006" 400 "invalid_dpop_proof" Warn Client ServiceProvider "error-bad-request" "The jwk of the DPoP proof must be a public key that fits its alg: EC on P-256, Ed25519, or RSA of 2048 to 4096 bits with the exponent 65537, without private members.";
    DpopProofSignature = "Y046007" 400 "invalid_dpop_proof" Warn Client ServiceProvider "error-bad-request" "The signature of the DPoP proof is wrong.";
    DpopProofMethod = "Y046008" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The htm of the DPoP proof must be the method of this request.";
    DpopProofUri = "Y046009" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The htu of the DPoP proof must be the public address of this endpoint, without query and fragment.";
    DpopProofTime = "Y046010" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The iat of the DPoP proof must be less than a minute before or after now; its exp and nbf, if present, must allow its use now.";
    DpopProofJti = "Y046011" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The DPoP proof must have a jti of 1 to 255 characters.";
    DpopProofReplayed = "Y046012" 400 "invalid_dpop_proof" Warn Client ServiceProvider "error-bad-request" "The DPoP proof was used before; each request needs one of its own.";
    DpopProofAccessToken = "Y046013" 400 "invalid_dpop_proof" Warn Client ServiceProvider "error-bad-request" "The ath of the DPoP proof must be the SHA-256 of the access token in base64url.";
    DpopNonceRequired = "Y046014" 400 "use_dpop_nonce" Info Client ServiceProvider "error-bad-request" "The DPoP proof must have the nonce of the DPoP-Nonce header of this response.";
    DpopProofProfile = "Y046015" 400 "invalid_dpop_proof" Info Client ServiceProvider "error-bad-request" "The alg of the DPoP proof must be PS256, ES256, EdDSA or Ed25519: this client_id has a FAPI 2.0 profile.";
    DpopKeyMismatch = "Y046020" 401 "invalid_token" Warn Client ServiceProvider "error-bad-request" "The access token is bound to another key than the one of the DPoP proof.";
    BoundTokenAsBearer = "Y046021" 401 "invalid_token" Warn Client ServiceProvider "error-bad-request" "The access token is bound to a key; send it with the scheme DPoP and a proof.";
    UnboundTokenAsDpop = "Y046022" 401 "invalid_token" Info Client ServiceProvider "error-bad-request" "The access token is not bound to a key; send it with the scheme Bearer.";
    TooManyDpopProofs = "Y046030" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "This client_id has used more DPoP proofs and client assertions than the hub stores for one client; send fewer.";

    // Y0461: client certificates (RFC 8705).
    ClientCertificateMalformed = "Y046101" 400 "invalid_request" Warn Client Operator "error-bad-request" "The proxy forwarded more than one client certificate, or one that is not a byte sequence of RFC 9440.";
    ClientCertificateMissing = "Y046102" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The access tokens of this client_id are bound to a client certificate, and the connection has none.";
    CertificateMismatch = "Y046103" 401 "invalid_token" Warn Client ServiceProvider "error-bad-request" "The access token is bound to a client certificate, which is not the one of this connection.";
    RefreshScopeExceeded = "Y047001" 400 "invalid_scope" Info Client ServiceProvider "error-bad-request" "The scope asks for more than was granted with the refresh token.";

    // Y10: assurance.
    AcrUnlisted = "Y100001" 403 "unmet_authentication_requirements" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned a level of assurance that is not configured for it.";
    AcrTooLow = "Y100002" 403 "unmet_authentication_requirements" Info Policy User "error-assurance" "The level of assurance reached is lower than the one requested.";
    AcrMissing = "Y100003" 403 "unmet_authentication_requirements" Warn Upstream IdentityProvider "error-assurance" "The identity provider returned no level of assurance.";
    AcrNotRequired = "Y100320" 403 "unmet_authentication_requirements" Info Policy User "error-assurance" "The level of assurance reached is none of the values of the essential acr claim.";

    // Y19: sessions. Y19, parameter, rule, as Y03: a logout request.
    LogoutHintMissing = "Y190101" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "A post_logout_redirect_uri was sent without the id_token_hint that must come with it.";
    LogoutHintInvalid = "Y190103" 400 "invalid_request" Warn Client ServiceProvider "error-bad-request" "The id_token_hint is not an ID token of this hub, or is signed with a key that was retired more than 30 days ago.";
    LogoutHintEncrypted = "Y190104" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint is encrypted, and not one that was issued in a live session of this browser; decrypt the ID token first, and send the signed token that is inside.";
    LogoutHintAudience = "Y190105" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The id_token_hint was issued to a client_id that is not, or no longer, active here.";
    PostLogoutUriMissing = "Y190201" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter post_logout_redirect_uri is missing or empty; a logout of this client_id must name a registered one.";
    PostLogoutUriNotRegistered = "Y190203" 400 "invalid_request" Warn Client ServiceProvider "error-bad-request" "The post_logout_redirect_uri is not registered for the client_id of the id_token_hint; they are compared character for character.";
    LogoutStateMissing = "Y190301" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The parameter state is missing or empty; a logout of this client_id must carry one of at least 32 characters.";
    LogoutStateTooShort = "Y190303" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state of a logout must have at least 32 characters.";
    LogoutStateTooLong = "Y190304" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must have at most 4096 characters.";
    LogoutStateCharacters = "Y190305" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The state must consist of printable ASCII characters.";
    LogoutClientIdDiffers = "Y190403" 400 "invalid_request" Info Client ServiceProvider "error-bad-request" "The client_id is not the one that the id_token_hint was issued to.";
    // Y1906: an identity provider's logout token. Y1907: the hub's to a service provider.
    LogoutTokenMalformed = "Y190603" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token is not a signed JWT with the required claims iss, aud, iat, exp, jti and events.";
    LogoutTokenUnproven = "Y190604" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token is not signed by a key of this identity provider, with the algorithm registered for its ID tokens.";
    LogoutTokenEncryption = "Y190605" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token is not encrypted as registered for the ID tokens of this identity provider.";
    LogoutTokenIssuer = "Y190606" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The iss of the logout_token is not this identity provider.";
    LogoutTokenAudience = "Y190607" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The aud of the logout_token is not the client_id of this hub.";
    LogoutTokenTime = "Y190608" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token has expired, is not valid yet, was issued in the future, or expires more than an hour from now." DependsOnClock;
    LogoutTokenEvent = "Y190609" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token is another kind of token: its typ must be logout+jwt, JWT or absent, and its events must have the back-channel logout event.";
    LogoutTokenNonce = "Y190610" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token has a nonce, which it must not have.";
    LogoutTokenSubject = "Y190611" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token has neither a sid nor a sub.";
    LogoutTokenReplayed = "Y190612" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout_token was used before; each needs a jti of its own.";
    LogoutTokenRejected = "Y190701" 502 "server_error" Warn Client ServiceProvider "error-bad-request" "The service provider refused a logout token.";
    LogoutTokenUndelivered = "Y190702" 502 "temporarily_unavailable" Warn Client ServiceProvider "error-bad-request" "The service provider did not accept a logout token in time, and the hub gave up.";
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
    DataProviderKeysMissing = "Y330020" 503 "temporarily_unavailable" Warn Client Operator "error-unavailable" "The hub has no key of this data provider to encrypt its responses with: its jwks_uri could not be read yet, or has no key for its registered algorithm.";

    // Y42: login steps.
    LoginUnknown = "Y420001" 404 "access_denied" Info User User "error-login-unknown" "This login is not known, or has expired.";
    LoginOtherBrowser = "Y420002" 403 "access_denied" Warn User User "error-login-other-browser" "This login was started in another browser.";
    StateUnknown = "Y420003" 400 "access_denied" Warn User User "error-login-order" "The identity provider's authorization response does not belong to the open attempt of this login.";
    StepOutOfOrder = "Y420004" 409 "access_denied" Info User User "error-login-order" "This step does not match the state of the login.";
    AlreadyDone = "Y420005" 409 "access_denied" Info User User "error-login-done" "This login is already finished.";
    LoginExpired = "Y420006" 410 "access_denied" Info User User "error-login-expired" "This login took too long and has expired.";
    TooManyLogins = "Y420007" 409 "access_denied" Info User User "error-login-too-many" "Too many logins are open in this browser; the oldest was closed.";
    GateClosed = "Y420008" 403 "access_denied" Info Policy User "error-gate" "This identity provider can't be used for this service.";
    Interrupted = "Y420009" 503 "temporarily_unavailable" Warn Hub User "error-login-interrupted" "The login was interrupted and can be tried again.";
    UserCancelled = "Y420010" 403 "access_denied" Info User User "error-cancelled" "The user's authentication was aborted.";
    UserRefusedConsent = "Y420011" 403 "access_denied" Info User User "error-refused" "The user refused to share the information.";
    LoginRequired = "Y420012" 403 "login_required" Info User User "error-login-required" "The user must authenticate, and prompt=none forbids asking.";
    ConsentRequired = "Y420013" 403 "consent_required" Info User User "error-consent-required" "The user must consent, and prompt=none forbids asking.";
    RepeatedCookie = "Y420040" 400 "invalid_request" Warn User User "error-repeated-cookie" "The browser sent the session cookie, or the cookie of one login, twice.";
    RedirectUriWithdrawn = "Y420320" 403 "access_denied" Warn Policy ServiceProvider "error-redirect-withdrawn" "The redirect_uri of this login is no longer registered for its client_id.";
    ScopeWithdrawn = "Y420321" 403 "invalid_scope" Warn Policy ServiceProvider "error-scope-withdrawn" "A scope of this login is no longer granted to its client_id.";
    OtherUser = "Y420330" 403 "login_required" Info User User "error-login-required" "The authenticated user is not the one that id_token_hint or claims ask for.";
    MailAddressMissing = "Y420401" 403 "access_denied" Warn Policy IdentityProvider "error-mail-address" "The service or the identity provider requires a code by mail, and the identity provider sent no address.";
    MailUnreadable = "Y420402" 403 "access_denied" Info User User "error-mail-unreadable" "The user can't read the mailbox that the code was sent to.";
    MailCodeWrong = "Y420403" 403 "access_denied" Warn User User "error-mail-code-wrong" "Five wrong codes were entered.";
    MailLimited = "Y420404" 429 "temporarily_unavailable" Warn User User "error-mail-limited" "Too many codes were sent to this person or address, or entered wrong; they can sign in later.";
    MailUnavailable = "Y420405" 503 "temporarily_unavailable" Error Hub Operator "error-mail-unavailable" "The hub can't send codes by mail now.";
    MailAddressUnusable = "Y420406" 403 "access_denied" Warn Policy IdentityProvider "error-mail-address-unusable" "The service or the identity provider requires a code by mail, and mail servers don't transport the address that the register or the identity provider has; for example, it is not ASCII.";

    // Y47: cross-site request forgery.
    CsrfMissing = "Y470001" 403 "access_denied" Warn User User "error-csrf" "The form was sent without its protection token.";
    CsrfWrong = "Y470002" 403 "access_denied" Warn User User "error-csrf" "The form's protection token does not match this login.";
    CsrfCrossSite = "Y470003" 403 "access_denied" Warn User User "error-csrf" "The form was sent by another site.";

    // Y50: the hub.
    StoreUnavailable = "Y500001" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The hub's store does not answer.";
    StoreFull = "Y500002" 503 "temporarily_unavailable" Error Hub Operator "error-busy" "The hub has reached the number of logins, sessions or other records that it can store.";
    Busy = "Y500003" 503 "temporarily_unavailable" Warn Hub Operator "error-busy" "The hub is too busy to take the request now.";
    SigningFailed = "Y500004" 500 "server_error" Error Hub Operator "error-internal" "The hub could not sign its response.";
    ShuttingDown = "Y500005" 503 "temporarily_unavailable" Info Hub User "error-unavailable" "The hub is restarting; try again shortly.";
    NetworkLimited = "Y500006" 429 "temporarily_unavailable" Info Client User "error-network-limited" "Too many logins were started from this network in a minute; try again after the time in Retry-After.";
    ServiceLimited = "Y500007" 429 "temporarily_unavailable" Warn Policy ServiceProvider "error-service-limited" "This service provider has exceeded its limit of logins per minute; try again after the time in Retry-After.";
    ClientKeysMissing = "Y500030" 503 "temporarily_unavailable" Warn Client ServiceProvider "error-unavailable" "The hub has no key of this service provider to encrypt its responses with: its jwks_uri could not be read yet, or has no key for its registered algorithm.";
    EncryptionFailed = "Y500031" 500 "server_error" Error Hub Operator "error-internal" "The hub could not encrypt its response.";
    KeyDeviceUnavailable = "Y500040" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The device that holds the hub's keys does not answer; try again shortly.";
    HubClock = "Y500050" 503 "temporarily_unavailable" Error Hub Operator "error-hub-clock" "The hub's clock is wrong, so that it can't verify the times of identity providers.";
    // The admin console on the private listener; no user's browser sees these.
    AdminOff = "Y500090" 404 "invalid_request" Info Client Operator "error-not-found" "The administration is off: set private.admin_token in passerelle.toml and restart the hub.";
    AdminToken = "Y500091" 401 "invalid_token" Warn Client Operator "error-bad-request" "The Authorization header must carry private.admin_token as a Bearer token.";
    AdminMalformed = "Y500092" 400 "invalid_request" Info Client Operator "error-bad-request" "The body is not the JSON object that this path takes.";
    BlockConnector = "Y500093" 422 "invalid_request" Info Client Operator "error-bad-request" "There is no such connector.";
    BlockServiceProvider = "Y500094" 422 "invalid_request" Info Client Operator "error-bad-request" "There is no service provider of this client_id.";
    BlockInvalid = "Y500095" 422 "invalid_request" Info Client Operator "error-bad-request" "The block is invalid.";
    BlockUnknown = "Y500096" 404 "invalid_request" Info Client Operator "error-not-found" "There is no block of this id that was set by command.";
    TooManyEntries = "Y500097" 409 "invalid_request" Warn Client Operator "error-bad-request" "There are too many blocks or published notices.";
    EntriesNotPersisted = "Y500098" 500 "server_error" Error Hub Operator "error-internal" "A block or notice was set or removed, but the change could not be saved: a restart reverts it.";
    SupportIdUnknown = "Y500100" 404 "invalid_request" Info Client Operator "error-not-found" "No login with this support id is in memory; the audit log may contain it.";
    SupportIdMalformed = "Y500101" 404 "invalid_request" Info Client Operator "error-not-found" "This is not a support id: twelve letters and digits, without I, L, O and U.";
    AdminRole = "Y500102" 403 "insufficient_scope" Warn Client Operator "error-bad-request" "This request changes the hub; the token's role may only read.";
    LoginSearchMalformed = "Y500103" 400 "invalid_request" Info Client Operator "error-bad-request" "The body is not a search: a JSON object of sub and reason. The reason, of 5 to 200 printable characters, is recorded in the audit log.";
    LoginSearchUnrecorded = "Y500104" 409 "invalid_request" Warn Client Operator "error-bad-request" "The logins of a person are only searched if the audit log records why: set audit.sink to file, and see in /readyz whether it can be written.";
    ReasonMissing = "Y500105" 400 "invalid_request" Info Client Operator "error-bad-request" "The change needs a reason of 5 to 200 printable characters, which the audit log records.";
    KeysNotRotated = "Y500106" 500 "server_error" Error Hub Operator "error-internal" "No new keys could be created in the key folder; the keys in use stay.";
    PeerToken = "Y500107" 401 "invalid_token" Warn Client Operator "error-bad-request" "The Authorization header must carry private.peer_token as a Bearer token.";
    SessionsNotIndexed = "Y500108" 409 "invalid_request" Info Client Operator "error-bad-request" "The sessions of a person can't be found: set index_sessions_by_sub = true, which finds those that begin from then on.";
    IdentityProviderNotProbed = "Y500109" 409 "invalid_request" Info Client Operator "error-bad-request" "The hub does not probe this identity provider.";
    AuditUnwritable = "Y500110" 503 "temporarily_unavailable" Error Hub Operator "error-unavailable" "The hub can't write its audit log, and accepts no new logins.";
    NoticeInvalid = "Y500111" 422 "invalid_request" Info Client Operator "error-bad-request" "The notice is invalid.";
    NoticeUnknown = "Y500112" 404 "invalid_request" Info Client Operator "error-not-found" "There is no notice of this id that was published on the running hub.";
    NetworkLoginsExceeded = "Y500330" 429 "temporarily_unavailable" Info Client User "error-network-limited" "Too many logins from this network wait for authentication while the hub is nearly full; try again after the time in Retry-After.";
    // Connection errors before a request exists; only the log shows these.
    HttpMalformed = "Y500340" 400 "invalid_request" Info Client Operator "error-bad-request" "The bytes received are not an HTTP/1.1 request.";
    FieldNameTooLong = "Y500341" 431 "invalid_request" Info Client Operator "error-bad-request" "A header field of the request has a name of more than 256 bytes.";
    ConnectionSlow = "Y500342" 408 "invalid_request" Info Client User "error-timeout" "Sending a request or reading a response took too long.";
    ConnectionsFull = "Y500343" 503 "temporarily_unavailable" Warn Hub Operator "error-busy" "The listener has reached its connection limit.";
    PeerConnectionsFull = "Y500344" 503 "temporarily_unavailable" Info Client User "error-busy" "A peer has reached its connection limit.";
    KeysUnreadable = "Y500350" 500 "server_error" Error Hub Operator "error-internal" "The key folder can't be read; the last good keys stay in use.";
    AuditLogChanged = "Y500360" 500 "server_error" Error Hub Operator "error-internal" "The audit log does not match its last signature: it was modified or truncated while the hub was down.";
}
