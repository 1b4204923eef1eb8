//! Redirects to a service provider: a type that only the checks can create, and the responses that
//! it carries.
//!
//! Without a proven redirect the hub shows an error page, so that it is not an open redirector (RFC
//! 9700 §4.11).

use serde::{Deserialize, Serialize};

use super::is_default;
use crate::catalogue::ErrorCode;
use crate::ids::{ClientId, Secret};
use crate::registration::Registration;

/// A `redirect_uri` that is registered for the requesting `client_id`, with everything that a
/// response needs.
///
/// Created only by the checks. It deserializes only as part of a login record.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProvenRedirect {
    redirect_uri: String,
    /// Absent only if none was sent, or none that a response can carry.
    #[serde(default, with = "crate::ids::stored_secret")]
    state: Option<Secret<String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    mode: ResponseMode,
    issuer: String,
    /// The recipient of a signed response; absent in the other modes.
    client_id: Option<ClientId>,
}

/// How the response is returned (OAuth 2.0 Form Post Response Mode; Multiple Response Types §2.1;
/// JARM §2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    #[default]
    Query,
    FormPost,
    /// The response is a JWT, in the query.
    QueryJwt,
    FormPostJwt,
}

impl ResponseMode {
    /// The modes of every service provider.
    pub const PLAIN: &'static [Self] = &[Self::Query, Self::FormPost];

    /// The modes of those that registered `authorization_signed_response_alg`.
    pub const SIGNED: &'static [Self] = &[Self::QueryJwt, Self::FormPostJwt];

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::FormPost => "form_post",
            Self::QueryJwt => "query.jwt",
            Self::FormPostJwt => "form_post.jwt",
        }
    }

    /// Returns the mode with this name on the wire, if this service provider may ask for it. `jwt`
    /// is the default of its response type (JARM §2.3.4).
    pub fn parse(value: &str, registration: &Registration) -> Option<Self> {
        let named = |mode: &&Self| mode.as_str() == value;
        match Self::PLAIN.iter().find(named) {
            Some(_) if registration.protection.requires_signed_messages() => None,
            Some(mode) => Some(*mode),
            None if registration.protection.response_alg.is_none() => None,
            None if value == "jwt" => Some(Self::QueryJwt),
            None => Self::SIGNED.iter().copied().find(|mode| named(&mode)),
        }
    }

    /// Returns the mode of an error that is found before the mode of the request is known.
    pub fn default_for(registration: &Registration) -> Self {
        if registration.protection.requires_signed_messages() {
            Self::QueryJwt
        } else {
            Self::default()
        }
    }

    /// Returns true if the response is a JWT.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::QueryJwt | Self::FormPostJwt)
    }
}

/// An authorization response, carried by the browser.
/// `Debug` prints only the kind: the response contains a code and the state.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub enum AuthorizationResponse {
    /// 303 to this absolute URL.
    #[debug("Redirect(***)")]
    Redirect { location: String },
    /// A page with a form that posts these fields to the registered URI. Both need HTML escaping.
    #[debug("FormPost(***)")]
    FormPost { action: String, fields: Vec<(&'static str, String)> },
    /// To be signed first.
    #[debug("Unsigned(***)")]
    Unsigned(UnsignedResponse),
}

/// A response that the hub signs, and may encrypt, before it travels (JARM §2).
#[derive(Clone, PartialEq, Eq)]
pub struct UnsignedResponse {
    pub client_id: ClientId,
    /// The claims besides `iss`, `aud` and `exp`.
    pub claims: Vec<(&'static str, String)>,
    redirect_uri: String,
    is_form_post: bool,
}

impl UnsignedResponse {
    /// Returns the response that carries these claims as a JWT.
    pub fn into_response(self, jwt: String) -> AuthorizationResponse {
        let fields = vec![("response", jwt)];
        if self.is_form_post {
            AuthorizationResponse::FormPost { action: self.redirect_uri, fields }
        } else {
            let location = append_params(&self.redirect_uri, &fields);
            AuthorizationResponse::Redirect { location }
        }
    }
}

impl ProvenRedirect {
    /// Creates a redirect; for the checks, once `client_id`, `redirect_uri` and `state` have
    /// passed.
    pub(super) fn new(
        redirect_uri: &str,
        state: Option<&str>,
        mode: ResponseMode,
        issuer: &str,
        client_id: &ClientId,
    ) -> Self {
        let state = state.map(|state| Secret::new(state.to_owned()));
        let client_id = mode.is_signed().then(|| client_id.clone());
        Self { redirect_uri: redirect_uri.into(), state, mode, issuer: issuer.into(), client_id }
    }

    /// Returns true if the response is a JWT.
    pub const fn is_signed(&self) -> bool {
        self.mode.is_signed()
    }

    /// Returns the registered URI, which the token request must repeat (RFC 6749 §4.1.3).
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns the response that carries a code (RFC 6749 §4.1.2).
    pub fn code_response(&self, code: &str) -> AuthorizationResponse {
        self.response(vec![("code", code.to_owned())])
    }

    /// Returns the response that carries an error (RFC 6749 §4.1.2.1).
    pub fn error_response(&self, code: ErrorCode) -> AuthorizationResponse {
        let entry = code.entry();
        self.response(vec![
            ("error", entry.oauth.to_owned()),
            ("error_description", entry.description.to_owned()),
        ])
    }

    fn response(&self, mut fields: Vec<(&'static str, String)>) -> AuthorizationResponse {
        fields.extend(self.state.as_ref().map(|state| ("state", state.reveal().clone())));
        if let Some(client_id) = &self.client_id {
            return AuthorizationResponse::Unsigned(UnsignedResponse {
                client_id: client_id.clone(),
                claims: fields,
                redirect_uri: self.redirect_uri.clone(),
                is_form_post: self.mode == ResponseMode::FormPostJwt,
            });
        }
        fields.push(("iss", self.issuer.clone())); // RFC 9207 §2
        match self.mode {
            ResponseMode::Query | ResponseMode::QueryJwt => AuthorizationResponse::Redirect {
                location: append_params(&self.redirect_uri, &fields),
            },
            ResponseMode::FormPost | ResponseMode::FormPostJwt => {
                AuthorizationResponse::FormPost { action: self.redirect_uri.clone(), fields }
            }
        }
    }
}

/// Appends parameters to a URI and leaves the rest unchanged, including its own query (RFC 6749
/// §3.1.2). Registered URIs have no fragment.
pub(crate) fn append_params(uri: &str, fields: &[(&'static str, String)]) -> String {
    let mut location = uri.to_owned();
    let mut separator = match uri.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    for (name, value) in fields {
        location.push_str(separator);
        location.push_str(name);
        location.push('=');
        location.push_str(&form_encode(value));
        separator = "&";
    }
    location
}

/// Form-encodes a value, with `%20` for a space: form decoders and plain percent-decoders both
/// restore it.
fn form_encode(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://hub.example/api/v2";
    const STATE: &str = "a b+c&d=%20#é-0123456789";

    fn proven_redirect(uri: &str, mode: ResponseMode) -> ProvenRedirect {
        ProvenRedirect::new(uri, Some(STATE), mode, ISSUER, &"sp".into())
    }

    #[test]
    fn parameters_follow_the_registered_uri_unaltered() {
        for (uri, begin) in [
            ("https://sp.example/cb", "https://sp.example/cb?code=C&state="),
            ("https://sp.example", "https://sp.example?code=C&state="),
            ("https://sp.example/cb?a=1", "https://sp.example/cb?a=1&code=C&state="),
            (
                "https://sp.example/cb?a=%2f&b=%C3%A9",
                "https://sp.example/cb?a=%2f&b=%C3%A9&code=C&state=",
            ),
            ("https://sp.example/cb?", "https://sp.example/cb?code=C&state="),
            ("https://sp.example/cb?a&", "https://sp.example/cb?a&code=C&state="),
            ("https://SP.example:443/a/../cb", "https://SP.example:443/a/../cb?code=C&state="),
        ] {
            let AuthorizationResponse::Redirect { location } =
                proven_redirect(uri, ResponseMode::Query).code_response("C")
            else {
                panic!()
            };
            assert!(location.starts_with(begin), "{location}");
        }
    }

    #[test]
    fn an_error_carries_its_name_its_sentence_the_state_and_the_issuer() {
        let redirect = proven_redirect("https://sp.example/cb", ResponseMode::FormPost);
        let AuthorizationResponse::FormPost { action, fields } =
            redirect.error_response(ErrorCode::UserCancelled)
        else {
            panic!()
        };
        assert_eq!(action, "https://sp.example/cb");
        let expected = [
            ("error", "access_denied"),
            ("error_description", "The user's authentication was aborted."),
            ("state", STATE),
            ("iss", "https://hub.example/api/v2"),
        ];
        assert_eq!(fields, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn a_value_can_not_break_out_of_its_parameter() {
        let AuthorizationResponse::Redirect { location } =
            proven_redirect("https://sp.example/cb", ResponseMode::Query).code_response("C")
        else {
            panic!()
        };
        let (_, query) = location.split_once('?').unwrap();
        assert!(!query.contains(['+', ' ', '#']), "{query}");
        let back: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        assert_eq!(back[1], ("state".to_owned(), STATE.to_owned()));
        assert_eq!(back.len(), 3);
    }

    #[test]
    fn an_absent_state_is_not_returned() {
        let redirect = ProvenRedirect::new(
            "https://sp.example/cb",
            None,
            ResponseMode::Query,
            ISSUER,
            &"sp".into(),
        );
        let AuthorizationResponse::Redirect { location } = redirect.code_response("C") else {
            panic!()
        };
        assert_eq!(
            location,
            "https://sp.example/cb?code=C&iss=https%3A%2F%2Fhub.example%2Fapi%2Fv2"
        );
    }

    #[test]
    fn a_signed_response_has_the_answer_as_claims_and_travels_as_one_parameter() {
        for (mode, is_form_post) in
            [(ResponseMode::QueryJwt, false), (ResponseMode::FormPostJwt, true)]
        {
            let answer = proven_redirect("https://sp.example/cb?a=1", mode).code_response("C");
            let AuthorizationResponse::Unsigned(unsigned) = answer else { panic!() };
            assert_eq!(unsigned.client_id.as_str(), "sp");
            let expected = [("code", "C"), ("state", STATE)];
            assert_eq!(
                unsigned.claims,
                expected.map(|(name, value)| (name, value.to_owned())),
                "iss is a claim of the JWT"
            );
            let expected = if is_form_post {
                AuthorizationResponse::FormPost {
                    action: "https://sp.example/cb?a=1".into(),
                    fields: vec![("response", "a.b.c".into())],
                }
            } else {
                let location = "https://sp.example/cb?a=1&response=a.b.c".into();
                AuthorizationResponse::Redirect { location }
            };
            assert_eq!(unsigned.into_response("a.b.c".into()), expected);
        }
    }

    #[test]
    fn neither_state_nor_code_is_printed() {
        let redirect = proven_redirect("https://sp.example/cb", ResponseMode::Query);
        assert!(!format!("{redirect:?} {:?}", redirect.code_response("topsecret")).contains(STATE));
        assert!(!format!("{:?}", redirect.code_response("topsecret")).contains("topsecret"));
        let signed = proven_redirect("https://sp.example/cb", ResponseMode::QueryJwt);
        assert!(!format!("{:?}", signed.code_response("topsecret")).contains("topsecret"));
    }
}
