//! The requests that the browser carries to the identity provider: authorization (OpenID Connect Core 1.0, 3.1.2.1) and
//! logout (RP-Initiated Logout 1.0, 2).
//!
//! Owns: what is sent along with the browser. Must not know: what comes back.

use std::borrow::Cow;
use std::time::Duration;

use openidconnect::core::{CoreAuthPrompt, CoreAuthenticationFlow};
use openidconnect::{
    AuthenticationContextClass, CsrfToken, LanguageTag, LoginHint, Nonce, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope,
};
use url::Url;

use super::metadata::Provider;
use crate::assurance::acr::Agreement;
use crate::config::model::{AuthTimeSource, OidcKind};
use crate::connector::ConnectorFault;
use crate::login::upstream::{Departure, Farewell};
use crate::protocol::catalogue::ErrorCode;

/// `amr`, asked for as a service provider of this hub does (OpenID Connect Core 1.0, 5.5).
const CLAIMS_AMR: &str = r#"{"id_token":{"amr":{"essential":true}}}"#;
const LONGEST_LOGIN_HINT: usize = 256;

/// Whether the identity provider must be told `prompt=login`: asked for; or it sends no `auth_time`, so that only a
/// fresh login has a known time; or an age is demanded of an identity provider that does not know `max_age`.
pub fn asks_login(kind: &OidcKind, reauthenticate: bool, max_age: Option<u64>) -> bool {
    reauthenticate
        || kind.auth_time == AuthTimeSource::Callback
        || (max_age.is_some() && !kind.max_age)
}

/// The URL for the browser.
///
/// # Errors
/// `Internal`, when what the hub itself made up is malformed.
pub fn url(
    provider: &Provider,
    kind: &OidcKind,
    agreement: &Agreement,
    departure: &Departure,
) -> Result<Url, ConnectorFault> {
    let internal = |why: &str| ConnectorFault::new(ErrorCode::Internal, why);
    let redirect_uri = RedirectUrl::new(departure.redirect_uri.clone())
        .map_err(|_| internal("the hub's own redirect_uri is not a URL"))?;
    // RFC 7636, 4.1. The crate panics on another length.
    if !(43..=128).contains(&departure.verifier.reveal().len()) {
        return Err(internal("the hub's own PKCE verifier has a wrong length"));
    }
    let verifier = PkceCodeVerifier::new(departure.verifier.reveal().clone());
    let (state, nonce) = (departure.state.clone(), departure.nonce.clone());
    let mut request = provider
        .client
        .authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            || CsrfToken::new(state),
            || Nonce::new(nonce),
        )
        .set_redirect_uri(Cow::Owned(redirect_uri))
        .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
    // The crate adds `openid` itself.
    for scope in kind.scopes.iter().filter(|scope| scope.as_str() != "openid") {
        request = request.add_scope(Scope::new(scope.as_str().to_owned()));
    }
    if let Some(acr) = agreement.to_send(agreement.to_ask(departure.level)) {
        request = request.add_auth_context_value(AuthenticationContextClass::new(acr.to_owned()));
    }
    if asks_login(kind, departure.reauthenticate, departure.max_age) {
        request = request.add_prompt(CoreAuthPrompt::Login);
    }
    if let Some(seconds) = departure.max_age.filter(|_| kind.max_age) {
        request = request.set_max_age(Duration::from_secs(seconds));
    }
    let hint = departure
        .login_hint
        .as_ref()
        .filter(|hint| kind.login_hint && hint.chars().count() <= LONGEST_LOGIN_HINT);
    if let Some(hint) = hint {
        request = request.set_login_hint(LoginHint::new(hint.clone()));
    }
    for locale in departure.ui_locales.iter().flat_map(|locales| locales.split_ascii_whitespace()) {
        request = request.add_ui_locale(LanguageTag::new(locale.to_owned()));
    }
    if kind.request_amr {
        request = request.add_extra_param("claims", CLAIMS_AMR);
    }
    for (name, value) in &kind.authorize_params {
        request = request.add_extra_param(name.clone(), value.clone());
    }
    Ok(request.url().0)
}

/// The logout request; what the endpoint's own query holds stays.
pub fn end_session_url(endpoint: &Url, farewell: &Farewell) -> Url {
    let mut url = endpoint.clone();
    url.query_pairs_mut()
        .append_pair("id_token_hint", farewell.id_token.reveal())
        .append_pair("post_logout_redirect_uri", &farewell.return_uri)
        .append_pair("state", &farewell.state);
    url
}
