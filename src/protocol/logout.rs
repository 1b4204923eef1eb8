//! The logout request (OpenID Connect RP-Initiated Logout 1.0, 2 and 3), judged from top to bottom: the first finding is
//! the answer, always a 400 page (decisions 12).
//!
//! Owns: which request is served, and the way back to a service provider. Must not know: HTTP libraries, how an ID token
//! is proven, sessions.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::authorize::append;
use super::catalogue::ErrorCode;
use super::params::{Params, Repeated, is_form_urlencoded};
use super::registration::{Directory, LogoutParameters, Registration};
use crate::ids::{ClientId, Secret, Subject};

/// Characters that a `state` must have under federation rules (R178), and may have at most.
const STATE_LEAST: usize = 32;
const STATE_MOST: usize = 1024;

/// A request that passed every check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogoutRequest {
    /// It names nobody, and asks for no way back.
    Unnamed,
    /// An ID token of ours names the user and the service provider; `back` is absent where none was asked for.
    Named { hint: Hint, back: Option<ProvenReturn> },
}

/// What a proven `id_token_hint` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    pub audience: ClientId,
    pub user: Subject,
}

/// A registered `post_logout_redirect_uri` of the hint's service provider, with the `state` to bring back.
///
/// It is built by [`check`] alone, so that no unproven address is ever redirected to (RFC 9700, 4.11); it deserializes
/// only so that a logout record can keep it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenReturn {
    uri: String,
    state: Option<Secret<String>>,
}

/// The state is the service provider's: it is not printed.
impl fmt::Debug for ProvenReturn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProvenReturn").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl ProvenReturn {
    /// The registered URI as it is, and the state as it came.
    #[must_use]
    pub fn location(&self) -> String {
        let state = self.state.iter().map(|state| ("state", state.reveal().clone()));
        append(&self.uri, &state.collect::<Vec<_>>())
    }
}

/// Whether a POST may be read at all: a form, with nothing in its address. `query` is what follows the `?`.
///
/// # Errors
/// The code for a 400 page.
pub fn admit_post(content_type: Option<&str>, query: &str) -> Result<(), ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(ErrorCode::LogoutNotForm);
    }
    if !query.is_empty() {
        return Err(ErrorCode::LogoutPostWithQuery);
    }
    Ok(())
}

/// Judges one request. `prove` opens a hint: an ID token of this hub, expired or not.
///
/// # Errors
/// The first finding, for a 400 page.
pub fn check(
    params: &Params,
    directory: &dyn Directory,
    prove: impl FnOnce(&str) -> Result<Hint, ErrorCode>,
) -> Result<LogoutRequest, ErrorCode> {
    let asked = Asked::read(params)?; // a parameter twice
    let Some(hint) = asked.hint else {
        return match asked.uri {
            // RP-Initiated Logout, 3: without a hint nobody has asked for this address.
            Some(_) => Err(ErrorCode::LogoutHintMissing),
            None => Ok(LogoutRequest::Unnamed),
        };
    };
    let hint = prove(hint)?;
    let audience = hint.audience.as_str();
    let registration = directory.registration(audience).filter(|registration| registration.active);
    let registration = registration.ok_or(ErrorCode::LogoutHintAudience)?;
    // RP-Initiated Logout, 2: both present must say the same.
    if asked.client_id.is_some_and(|client_id| client_id != audience) {
        return Err(ErrorCode::LogoutClientIdDiffers);
    }
    let back = back(&asked, registration)?;
    Ok(LogoutRequest::Named { hint, back })
}

fn back(asked: &Asked<'_>, registration: &Registration) -> Result<Option<ProvenReturn>, ErrorCode> {
    let is_required = registration.rules.at_logout() == LogoutParameters::Required;
    let uri = match asked.uri {
        None if is_required => return Err(ErrorCode::PostLogoutUriMissing),
        None => None,
        // Compared character for character (R174).
        Some(uri) => {
            let registered =
                registration.post_logout_redirect_uris.iter().find(|registered| *registered == uri);
            Some(registered.ok_or(ErrorCode::PostLogoutUriNotRegistered)?)
        }
    };
    let state = match asked.state {
        None if is_required => return Err(ErrorCode::LogoutStateMissing),
        None => None,
        Some(state) if state.len() > STATE_MOST => return Err(ErrorCode::LogoutStateTooLong),
        Some(state) if !state.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
            return Err(ErrorCode::LogoutStateCharacters);
        }
        Some(state) if is_required && state.len() < STATE_LEAST => {
            return Err(ErrorCode::LogoutStateTooShort);
        }
        Some(state) => Some(Secret::new(state.to_owned())),
    };
    Ok(uri.map(|uri| ProvenReturn { uri: uri.clone(), state }))
}

/// The parameters as they came; an empty one counts as absent, an unknown one isn't looked at.
struct Asked<'a> {
    hint: Option<&'a str>,
    uri: Option<&'a str>,
    state: Option<&'a str>,
    client_id: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn read(params: &'a Params) -> Result<Self, ErrorCode> {
        let one = |name: &str, twice: ErrorCode| params.one(name).map_err(|Repeated| twice);
        one("ui_locales", ErrorCode::LogoutUiLocalesTwice)?;
        Ok(Self {
            hint: one("id_token_hint", ErrorCode::LogoutHintTwice)?,
            uri: one("post_logout_redirect_uri", ErrorCode::PostLogoutUriTwice)?,
            state: one("state", ErrorCode::LogoutStateTwice)?,
            client_id: one("client_id", ErrorCode::LogoutClientIdTwice)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::registration::{Consent, Hints, Rules};
    use proptest::prelude::*;

    const URI: &str = "https://sp.example/out?tenant=7";
    const STATE: &str = "a state of thirty-two characters";

    struct Book(Vec<Registration>);

    impl Directory for Book {
        fn registration(&self, client_id: &str) -> Option<&Registration> {
            self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
        }
        fn scope_is_known(&self, _: &str, _: Rules) -> bool {
            false
        }
    }

    fn book() -> Book {
        let sp = Registration {
            client_id: "sp".into(),
            active: true,
            redirect_uris: vec!["https://sp.example/callback".into()],
            post_logout_redirect_uris: vec!["https://sp.example/other".into(), URI.into()],
            granted_scopes: vec!["openid".into()],
            require_pkce: false,
            hints: Hints::default(),
            home_page: "https://sp.example/".into(),
            consent: Consent::Information,
            rules: Rules::Federation,
        };
        let off = Registration { client_id: "off".into(), active: false, ..sp.clone() };
        let plain = Registration { client_id: "plain".into(), rules: Rules::Openid, ..sp.clone() };
        Book(vec![sp, off, plain])
    }

    /// A hint is the id of its audience here, or a code that its proof ends with.
    fn ask(pairs: &[(&str, &str)]) -> Result<LogoutRequest, ErrorCode> {
        let params = Params::new(
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        );
        check(&params, &book(), |hint| match hint {
            "bad" => Err(ErrorCode::LogoutHintInvalid),
            audience => Ok(Hint { audience: audience.into(), user: "angela".into() }),
        })
    }

    fn whole<'a>(hint: &'a str, more: &[(&'a str, &'a str)]) -> Result<LogoutRequest, ErrorCode> {
        let mut pairs =
            vec![("id_token_hint", hint), ("post_logout_redirect_uri", URI), ("state", STATE)];
        for (name, value) in more {
            pairs.retain(|(known, _)| known != name);
            pairs.push((name, value));
        }
        ask(&pairs)
    }

    fn location(asked: Result<LogoutRequest, ErrorCode>) -> Option<String> {
        let LogoutRequest::Named { back, .. } = asked.unwrap() else { panic!("it names nobody") };
        back.map(|back| back.location())
    }

    // R170, R203
    #[test]
    fn a_whole_request_is_read() {
        let expected = format!("{URI}&state={}", STATE.replace(' ', "%20"));
        assert_eq!(location(whole("sp", &[])), Some(expected.clone()));
        assert_eq!(
            location(whole(
                "sp",
                &[("client_id", "sp"), ("logout_hint", "x"), ("ui_locales", "fr")]
            )),
            Some(expected)
        );
        assert_eq!(ask(&[]), Ok(LogoutRequest::Unnamed));
        assert_eq!(
            ask(&[("state", "s"), ("client_id", "sp"), ("post_logout_redirect_uri", "")]),
            Ok(LogoutRequest::Unnamed)
        );
    }

    // R174, R178, R221
    #[test]
    fn findings_by_table() {
        let long = "s".repeat(1025);
        for (case, asked, code) in [
            (
                "a URI without a hint",
                ask(&[("post_logout_redirect_uri", URI)]),
                ErrorCode::LogoutHintMissing,
            ),
            ("a bad hint", whole("bad", &[]), ErrorCode::LogoutHintInvalid),
            ("a hint for nobody", whole("nobody", &[]), ErrorCode::LogoutHintAudience),
            ("a hint for one switched off", whole("off", &[]), ErrorCode::LogoutHintAudience),
            (
                "another client_id",
                whole("sp", &[("client_id", "plain")]),
                ErrorCode::LogoutClientIdDiffers,
            ),
            (
                "no URI",
                whole("sp", &[("post_logout_redirect_uri", "")]),
                ErrorCode::PostLogoutUriMissing,
            ),
            ("no state", whole("sp", &[("state", "")]), ErrorCode::LogoutStateMissing),
            (
                "31 characters",
                whole("sp", &[("state", &STATE[1..])]),
                ErrorCode::LogoutStateTooShort,
            ),
            ("1025 characters", whole("sp", &[("state", &long)]), ErrorCode::LogoutStateTooLong),
            (
                "no ASCII",
                whole("sp", &[("state", "état de plus de trente-deux caractères")]),
                ErrorCode::LogoutStateCharacters,
            ),
            (
                "a line end",
                whole("sp", &[("state", "a state of thirty-two characters\r\nx")]),
                ErrorCode::LogoutStateCharacters,
            ),
            (
                "a bad hint goes first",
                whole("bad", &[("state", ""), ("client_id", "x")]),
                ErrorCode::LogoutHintInvalid,
            ),
        ] {
            assert_eq!(asked, Err(code), "{case}");
        }
        for (name, code) in [
            ("id_token_hint", ErrorCode::LogoutHintTwice),
            ("post_logout_redirect_uri", ErrorCode::PostLogoutUriTwice),
            ("state", ErrorCode::LogoutStateTwice),
            ("client_id", ErrorCode::LogoutClientIdTwice),
            ("ui_locales", ErrorCode::LogoutUiLocalesTwice),
        ] {
            assert_eq!(ask(&[(name, "a"), (name, "a")]), Err(code), "{name}");
        }
        assert!(whole("sp", &[("state", &long[1..])]).is_ok());
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
            let asked = whole("sp", &[("post_logout_redirect_uri", uri)]);
            assert_eq!(asked, Err(ErrorCode::PostLogoutUriNotRegistered), "{uri}");
        }
    }

    #[test]
    fn where_they_are_optional_what_is_sent_is_still_checked() {
        assert_eq!(location(ask(&[("id_token_hint", "plain")])), None);
        assert_eq!(location(ask(&[("id_token_hint", "plain"), ("state", "s")])), None);
        let short = [("id_token_hint", "plain"), ("post_logout_redirect_uri", URI), ("state", "s")];
        assert_eq!(location(ask(&short)), Some(format!("{URI}&state=s")));
        assert_eq!(location(ask(&short[..2])), Some(URI.to_owned()));
        let foreign = ask(&[
            ("id_token_hint", "plain"),
            ("post_logout_redirect_uri", "https://evil.example/"),
        ]);
        assert_eq!(foreign, Err(ErrorCode::PostLogoutUriNotRegistered));
    }

    #[test]
    fn post_is_a_form_without_a_query() {
        let form = Some("application/x-www-form-urlencoded");
        assert_eq!(admit_post(form, ""), Ok(()));
        assert_eq!(admit_post(Some("application/json"), ""), Err(ErrorCode::LogoutNotForm));
        assert_eq!(admit_post(form, "state=1"), Err(ErrorCode::LogoutPostWithQuery));
    }

    proptest! {
        // R172
        #[test]
        fn state_comes_back_character_for_character(state in "[ -~]{32,128}") {
            let location = location(whole("sp", &[("state", &state)])).unwrap();
            let url = url::Url::parse(&location).unwrap();
            let values: Vec<_> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(values, vec![("tenant".to_owned(), "7".to_owned()), ("state".to_owned(), state)]);
        }
    }
}
