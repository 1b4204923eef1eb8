//! Validates logout requests (OpenID Connect RP-Initiated Logout 1.0 §2 and §3;
//! `docs/logout.md`).
//!
//! The checks run from top to bottom; the first failure is the result, always a 400 page. Does not
//! know HTTP libraries, how an ID token is verified, or sessions.

use serde::{Deserialize, Serialize};

use super::authorize::append_params;
use super::catalogue::{ErrorCode, Param};
use super::params::Params;
use super::redirect_uri::match_redirect_uri;
use super::registration::{ClientDirectory, LogoutParameters, Registration};
use crate::ids::{ClientId, Secret, Subject};

/// Minimum length of a `state` under federation rules (R178), and the maximum under all rules, which
/// is that of authorization requests.
const MIN_STATE_CHARS: usize = 32;
const MAX_STATE_CHARS: usize = 4096;

/// A validated logout request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogoutRequest {
    /// Without a hint and without a redirect.
    Anonymous,
    /// An ID token of this hub names the user and the service provider; `return_to` is absent if
    /// none was requested.
    Named { hint: LogoutHint, return_to: Option<ProvenPostLogoutRedirect> },
}

/// Content of a verified `id_token_hint`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogoutHint {
    pub audience: ClientId,
    pub user: Subject,
}

/// A registered `post_logout_redirect_uri` of the hint's service provider, with the `state` to
/// return.
///
/// Created only by [`validate_request`], so that no unproven address is redirected to (RFC 9700
/// §4.11). It deserializes only as part of a logout record.
/// `Debug` omits the state, which belongs to the service provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("ProvenPostLogoutRedirect {{ uri: {uri:?}, .. }}")]
pub struct ProvenPostLogoutRedirect {
    uri: String,
    #[serde(default, with = "crate::ids::stored_secret")]
    state: Option<Secret<String>>,
}

impl ProvenPostLogoutRedirect {
    /// Returns the registered URI with the unchanged state.
    pub fn location(&self) -> String {
        let state = self.state.iter().map(|state| ("state", state.reveal().clone()));
        append_params(&self.uri, &state.collect::<Vec<_>>())
    }

    /// Returns whether the URI is still registered.
    pub fn is_registered(&self, registration: &Registration) -> bool {
        let uris = &registration.post_logout_redirect_uris;
        match_redirect_uri(uris, &self.uri, registration.client_type).is_some()
    }
}

/// Validates a logout request. `verify_hint` verifies a hint: an ID token of this hub, expired or
/// not.
///
/// # Errors
/// The first failed check, for a 400 page.
pub fn validate_request(
    params: &Params,
    directory: &dyn ClientDirectory,
    verify_hint: impl FnOnce(&str) -> Result<LogoutHint, ErrorCode>,
) -> Result<LogoutRequest, ErrorCode> {
    params.check_repeated(Param::LOGOUT)?;
    let Some(hint) = params.once(Param::LogoutHint)? else {
        return match params.once(Param::PostLogoutUri)? {
            // RP-Initiated Logout §3: without a hint, no authenticated party requested this
            // address.
            Some(_) => Err(ErrorCode::LogoutHintMissing),
            None => Ok(LogoutRequest::Anonymous),
        };
    };
    let hint = verify_hint(hint)?;
    let audience = hint.audience.as_str();
    let registration = directory.registration(audience).filter(|registration| registration.active);
    let registration = registration.ok_or(ErrorCode::LogoutHintAudience)?;
    // RP-Initiated Logout §2: if both are present, they must match.
    if params.once(Param::LogoutClientId)?.is_some_and(|client_id| client_id != audience) {
        return Err(ErrorCode::LogoutClientIdDiffers);
    }
    let back = validate_return(params, registration)?;
    Ok(LogoutRequest::Named { hint, return_to: back })
}

fn validate_return(
    params: &Params,
    registration: &Registration,
) -> Result<Option<ProvenPostLogoutRedirect>, ErrorCode> {
    let is_required = registration.rules.logout_parameters() == LogoutParameters::Required;
    let uri = match params.once(Param::PostLogoutUri)? {
        None if is_required => return Err(ErrorCode::PostLogoutUriMissing),
        None => None,
        // R174
        Some(uri) => {
            let uris = &registration.post_logout_redirect_uris;
            let registered = match_redirect_uri(uris, uri, registration.client_type);
            Some(registered.ok_or(ErrorCode::PostLogoutUriNotRegistered)?)
        }
    };
    let state = match params.once(Param::LogoutState)? {
        None if is_required => return Err(ErrorCode::LogoutStateMissing),
        None => None,
        Some(state) if state.len() > MAX_STATE_CHARS => return Err(ErrorCode::LogoutStateTooLong),
        Some(state) if !state.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
            return Err(ErrorCode::LogoutStateCharacters);
        }
        Some(state) if is_required && state.len() < MIN_STATE_CHARS => {
            return Err(ErrorCode::LogoutStateTooShort);
        }
        Some(state) => Some(Secret::new(state.to_owned())),
    };
    Ok(uri.map(|uri| ProvenPostLogoutRedirect { uri: uri.into_owned(), state }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::{ClientType, ConsentRequirement, IdpHintPolicy, ProtocolRules};
    use proptest::prelude::*;

    const URI: &str = "https://sp.example/out?tenant=7";
    const STATE: &str = "a state of thirty-two characters";

    struct FakeDirectory(Vec<Registration>);

    impl ClientDirectory for FakeDirectory {
        fn registration(&self, client_id: &str) -> Option<&Registration> {
            self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
        }
        fn is_known_scope(&self, _: &str, _: ProtocolRules) -> bool {
            false
        }
    }

    fn directory() -> FakeDirectory {
        let sp = Registration {
            client_id: "sp".into(),
            active: true,
            client_type: ClientType::Confidential,
            redirect_uris: vec!["https://sp.example/callback".into()],
            post_logout_redirect_uris: vec!["https://sp.example/other".into(), URI.into()],
            granted_scopes: vec!["openid".into()],
            require_pkce: false,
            hints: IdpHintPolicy::default(),
            acr: Default::default(),
            protection: Default::default(),
            home_page: "https://sp.example/".into(),
            consent: ConsentRequirement::Information,
            rules: ProtocolRules::Federation,
            require_auth_time: true,
        };
        let off = Registration { client_id: "off".into(), active: false, ..sp.clone() };
        let plain =
            Registration { client_id: "plain".into(), rules: ProtocolRules::Openid, ..sp.clone() };
        FakeDirectory(vec![sp, off, plain])
    }

    /// Here, a hint is the id of its audience, or `bad`.
    fn validate_pairs(pairs: &[(&str, &str)]) -> Result<LogoutRequest, ErrorCode> {
        let params = Params::new(
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        );
        validate_request(&params, &directory(), |hint| match hint {
            "bad" => Err(ErrorCode::LogoutHintInvalid),
            audience => Ok(LogoutHint { audience: audience.into(), user: "angela".into() }),
        })
    }

    fn validate_complete<'a>(
        hint: &'a str,
        more: &[(&'a str, &'a str)],
    ) -> Result<LogoutRequest, ErrorCode> {
        let mut pairs =
            vec![("id_token_hint", hint), ("post_logout_redirect_uri", URI), ("state", STATE)];
        for (name, value) in more {
            pairs.retain(|(known, _)| known != name);
            pairs.push((name, value));
        }
        validate_pairs(&pairs)
    }

    fn location(outcome: Result<LogoutRequest, ErrorCode>) -> Option<String> {
        let LogoutRequest::Named { return_to, .. } = outcome.unwrap() else {
            panic!("it has no hint")
        };
        return_to.map(|redirect| redirect.location())
    }

    // R170, R203
    #[test]
    fn a_whole_request_is_read() {
        let expected = format!("{URI}&state={}", STATE.replace(' ', "%20"));
        assert_eq!(location(validate_complete("sp", &[])), Some(expected.clone()));
        assert_eq!(
            location(validate_complete(
                "sp",
                &[("client_id", "sp"), ("logout_hint", "x"), ("ui_locales", "fr")]
            )),
            Some(expected)
        );
        assert_eq!(validate_pairs(&[]), Ok(LogoutRequest::Anonymous));
        assert_eq!(
            validate_pairs(&[
                ("state", "s"),
                ("client_id", "sp"),
                ("post_logout_redirect_uri", "")
            ]),
            Ok(LogoutRequest::Anonymous)
        );
    }

    // R174, R178, R221
    #[test]
    fn failures_by_table() {
        let long = "s".repeat(4097);
        for (case, asked, code) in [
            (
                "a URI without a hint",
                validate_pairs(&[("post_logout_redirect_uri", URI)]),
                ErrorCode::LogoutHintMissing,
            ),
            ("a bad hint", validate_complete("bad", &[]), ErrorCode::LogoutHintInvalid),
            (
                "a hint for an unknown client",
                validate_complete("unknown", &[]),
                ErrorCode::LogoutHintAudience,
            ),
            (
                "a hint for one switched off",
                validate_complete("off", &[]),
                ErrorCode::LogoutHintAudience,
            ),
            (
                "another client_id",
                validate_complete("sp", &[("client_id", "plain")]),
                ErrorCode::LogoutClientIdDiffers,
            ),
            (
                "no URI",
                validate_complete("sp", &[("post_logout_redirect_uri", "")]),
                ErrorCode::PostLogoutUriMissing,
            ),
            ("no state", validate_complete("sp", &[("state", "")]), ErrorCode::LogoutStateMissing),
            (
                "31 characters",
                validate_complete("sp", &[("state", &STATE[1..])]),
                ErrorCode::LogoutStateTooShort,
            ),
            (
                "4097 characters",
                validate_complete("sp", &[("state", &long)]),
                ErrorCode::LogoutStateTooLong,
            ),
            (
                "no ASCII",
                validate_complete("sp", &[("state", "état de plus de trente-deux caractères")]),
                ErrorCode::LogoutStateCharacters,
            ),
            (
                "a line end",
                validate_complete("sp", &[("state", "a state of thirty-two characters\r\nx")]),
                ErrorCode::LogoutStateCharacters,
            ),
            (
                "a bad hint goes first",
                validate_complete("bad", &[("state", ""), ("client_id", "x")]),
                ErrorCode::LogoutHintInvalid,
            ),
        ] {
            assert_eq!(asked, Err(code), "{case}");
        }
        for (name, code) in [
            ("id_token_hint", ErrorCode::Repeated(Param::LogoutHint)),
            ("post_logout_redirect_uri", ErrorCode::Repeated(Param::PostLogoutUri)),
            ("state", ErrorCode::Repeated(Param::LogoutState)),
            ("client_id", ErrorCode::Repeated(Param::LogoutClientId)),
            ("ui_locales", ErrorCode::Repeated(Param::LogoutUiLocales)),
        ] {
            assert_eq!(validate_pairs(&[(name, "a"), (name, "a")]), Err(code), "{name}");
        }
        assert!(validate_complete("sp", &[("state", &long[1..])]).is_ok());
    }

    #[test]
    fn an_open_redirect_one_byte_off_is_not_registered() {
        for uri in [
            "https://sp.example/out?tenant=8",
            "https://sp.example/out?tenant=7/",
            "https://sp.example/out?tenant=7#",
            "https://sp.example/out?tenant=",
            "https://SP.example/out?tenant=7",
            "https://sp.example./out?tenant=7",
            "http://sp.example/out?tenant=7",
            " https://sp.example/out?tenant=7",
            "https://sp.example@evil.example/out?tenant=7",
            "https://evil.example/",
        ] {
            let asked = validate_complete("sp", &[("post_logout_redirect_uri", uri)]);
            assert_eq!(asked, Err(ErrorCode::PostLogoutUriNotRegistered), "{uri}");
        }
    }

    #[test]
    fn where_they_are_optional_what_is_sent_is_still_checked() {
        assert_eq!(location(validate_pairs(&[("id_token_hint", "plain")])), None);
        assert_eq!(location(validate_pairs(&[("id_token_hint", "plain"), ("state", "s")])), None);
        let short = [("id_token_hint", "plain"), ("post_logout_redirect_uri", URI), ("state", "s")];
        assert_eq!(location(validate_pairs(&short)), Some(format!("{URI}&state=s")));
        assert_eq!(location(validate_pairs(&short[..2])), Some(URI.to_owned()));
        let foreign = validate_pairs(&[
            ("id_token_hint", "plain"),
            ("post_logout_redirect_uri", "https://evil.example/"),
        ]);
        assert_eq!(foreign, Err(ErrorCode::PostLogoutUriNotRegistered));
    }

    proptest! {
        // R172
        #[test]
        fn state_is_returned_character_for_character(state in "[ -~]{32,128}") {
            let location = location(validate_complete("sp", &[("state", &state)])).unwrap();
            let url = url::Url::parse(&location).unwrap();
            let values: Vec<_> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(values, vec![("tenant".to_owned(), "7".to_owned()), ("state".to_owned(), state)]);
        }
    }
}
