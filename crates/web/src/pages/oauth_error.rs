//! The page about one OAuth error, to which `error_uri` of a token response leads (RFC 6749 §5.2).
//! It is the same for every cause: the precise one would reveal whether a client exists.

use super::Locale;
use super::locale::PageMessages as _;

/// The errors of the token endpoint, each with the key of the text that lists its causes, one a
/// line.
const ERRORS: &[(&str, &str)] = &[
    ("invalid_request", "oauth-error-invalid-request"),
    ("invalid_client", "oauth-error-invalid-client"),
    ("invalid_grant", "oauth-error-invalid-grant"),
    ("unsupported_grant_type", "oauth-error-unsupported-grant-type"),
    // Only refresh tokens: every client may redeem codes.
    ("unauthorized_client", "oauth-error-unsupported-grant-type"),
    ("temporarily_unavailable", "oauth-error-temporarily-unavailable"),
    ("server_error", "oauth-error-server-error"),
];

/// The page about one OAuth error.
#[derive(Clone, Debug)]
pub struct OauthErrorPage {
    error: &'static str,
    causes: &'static str,
    /// The operator's documentation for service providers.
    documentation: Option<String>,
}

impl OauthErrorPage {
    /// Returns the page about `error`; `None` if there is none.
    pub fn for_error(error: &str, documentation: Option<String>) -> Option<Self> {
        let (error, causes) = ERRORS.iter().find(|(known, _)| *known == error)?;
        Some(Self { error, causes, documentation })
    }

    fn causes(&self, t: &Locale) -> Vec<String> {
        t.text(self.causes).lines().map(str::to_owned).collect()
    }
}

page_template!(OauthErrorPage, "oauth_error.html", |page, t| t.text_with(
    "oauth-error-title",
    "error",
    page.error
));
