//! The way back to a service provider: a type that only the checks can build, and the answers that travel by it.
//!
//! Owns: how an answer is written into the registered URI or a form. Must not know: HTTP libraries, pages.
//! Without a proven redirect an error page is all there is: no open redirector (RFC 9700, 4.11).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;

/// A `redirect_uri` that is registered for the `client_id` that asked, with all an answer needs.
///
/// It is built by the checks alone; it deserializes only so that a login record can keep it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProvenRedirect {
    redirect_uri: String,
    /// Absent only where none was sent, or none that can go into an answer.
    state: Option<Secret<String>>,
    mode: ResponseMode,
    issuer: String,
}

/// How the answer travels (OAuth 2.0 Form Post Response Mode; Multiple Response Types, 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    #[default]
    Query,
    FormPost,
}

impl ResponseMode {
    /// Every mode, by the name it has on the wire.
    pub const ALL: &'static [Self] = &[Self::Query, Self::FormPost];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::FormPost => "form_post",
        }
    }

    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == value)
    }
}

/// An answer on its way to the service provider, carried by the browser.
#[derive(Clone, PartialEq, Eq)]
pub enum SpAnswer {
    /// 303 to this absolute URL.
    Redirect { location: String },
    /// A page whose form posts these fields to the registered URI; both need escaping in HTML.
    FormPost { action: String, fields: Vec<(&'static str, String)> },
}

/// An answer holds a code and the state: only its kind is printed.
impl fmt::Debug for SpAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect { .. } => "Redirect(***)",
            Self::FormPost { .. } => "FormPost(***)",
        })
    }
}

impl ProvenRedirect {
    /// For the checks, once `client_id`, `redirect_uri` and `state` have passed.
    pub(super) fn new(
        redirect_uri: &str,
        state: Option<&str>,
        mode: ResponseMode,
        issuer: &str,
    ) -> Self {
        let state = state.map(|state| Secret::new(state.to_owned()));
        Self { redirect_uri: redirect_uri.into(), state, mode, issuer: issuer.into() }
    }

    /// The registered URI, as the token request must repeat it (RFC 6749, 4.1.3).
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// The answer that carries a code (RFC 6749, 4.1.2).
    #[must_use]
    pub fn code(&self, code: &str) -> SpAnswer {
        self.answer(vec![("code", code.to_owned())])
    }

    /// The answer that carries an error (RFC 6749, 4.1.2.1).
    #[must_use]
    pub fn error(&self, code: ErrorCode) -> SpAnswer {
        let entry = code.entry();
        self.answer(vec![
            ("error", entry.oauth.to_owned()),
            ("error_description", entry.description.to_owned()),
        ])
    }

    fn answer(&self, mut fields: Vec<(&'static str, String)>) -> SpAnswer {
        fields.extend(self.state.as_ref().map(|state| ("state", state.reveal().clone())));
        fields.push(("iss", self.issuer.clone())); // RFC 9207, 2
        match self.mode {
            ResponseMode::Query => {
                SpAnswer::Redirect { location: append(&self.redirect_uri, &fields) }
            }
            ResponseMode::FormPost => {
                SpAnswer::FormPost { action: self.redirect_uri.clone(), fields }
            }
        }
    }
}

/// Appends parameters to a URI and leaves what is there as it is, its own query included (RFC 6749, 3.1.2).
/// Registered URIs have no fragment.
pub(in crate::protocol) fn append(uri: &str, fields: &[(&'static str, String)]) -> String {
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
        location.push_str(&encode(value));
        separator = "&";
    }
    location
}

/// Form encoding, but a space is `%20`: a reader of forms and a reader of plain percent-encoding then both get it back.
fn encode(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "a b+c&d=%20#é-0123456789";

    fn proven(uri: &str, mode: ResponseMode) -> ProvenRedirect {
        ProvenRedirect::new(uri, Some(STATE), mode, "https://hub.example/api/v2")
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
            let SpAnswer::Redirect { location } = proven(uri, ResponseMode::Query).code("C") else {
                panic!()
            };
            assert!(location.starts_with(begin), "{location}");
        }
    }

    #[test]
    fn an_error_carries_its_name_its_sentence_the_state_and_the_issuer() {
        let redirect = proven("https://sp.example/cb", ResponseMode::FormPost);
        let SpAnswer::FormPost { action, fields } = redirect.error(ErrorCode::UserCancelled) else {
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
        let SpAnswer::Redirect { location } =
            proven("https://sp.example/cb", ResponseMode::Query).code("C")
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
    fn what_was_not_sent_is_not_answered() {
        let redirect = ProvenRedirect::new(
            "https://sp.example/cb",
            None,
            ResponseMode::Query,
            "https://hub.example/api/v2",
        );
        let SpAnswer::Redirect { location } = redirect.code("C") else { panic!() };
        assert_eq!(
            location,
            "https://sp.example/cb?code=C&iss=https%3A%2F%2Fhub.example%2Fapi%2Fv2"
        );
    }

    #[test]
    fn neither_state_nor_code_is_printed() {
        let redirect = proven("https://sp.example/cb", ResponseMode::Query);
        assert!(!format!("{redirect:?} {:?}", redirect.code("topsecret")).contains(STATE));
        assert!(!format!("{:?}", redirect.code("topsecret")).contains("topsecret"));
    }
}
