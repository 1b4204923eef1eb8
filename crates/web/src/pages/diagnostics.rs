//! The pages for developers on a sandbox hub: what the hub does with an authorization request, and
//! why a token request failed. Findings are in English, as in the command `passerelle check`.

use super::Locale;
use super::locale::PageMessages as _;
use crate::pasted_request::PastedRequestError;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::authorize::explanation::{RequestExplanation, RequestOutcome};
use passerelle_protocol::catalogue::{CatalogueEntry, ErrorCode};
use passerelle_protocol::env::Timestamp;

/// The page that explains an authorization request.
#[derive(Clone, Debug)]
pub enum DiagnosticsPage {
    /// Only the form.
    Form,
    /// The submitted text is not a request.
    Unreadable(PastedRequestError),
    Explained(DiagnosedRequest),
}

/// An explained authorization request.
#[derive(Clone, Debug)]
pub struct DiagnosedRequest {
    pub explanation: RequestExplanation,
    /// The hub's authorization endpoint, if the request leads elsewhere.
    pub expected_endpoint: Option<String>,
}

impl DiagnosedRequest {
    fn is_accepted(&self) -> bool {
        self.explanation.outcome == RequestOutcome::Accepted
    }
}

page_template!(DiagnosticsPage, "diagnostics.html", |_, t| t.text("diagnostics-title"));

/// The page about one failed token request.
#[derive(Clone, Debug)]
pub struct TokenDiagnosticPage {
    pub code: ErrorCode,
    /// Only of a registered client.
    pub client_id: Option<String>,
    /// How the client must authenticate.
    pub registered_auth_methods: Option<String>,
    /// Details beyond the code.
    pub reason: Option<String>,
    pub at: Timestamp,
}

impl TokenDiagnosticPage {
    const fn entry(&self) -> &'static CatalogueEntry {
        self.code.entry()
    }

    /// Returns the precise cause, which the public description of some codes hides.
    fn cause(&self) -> &str {
        let public = self.entry().description;
        match self.code {
            ErrorCode::ClientHeaderMalformed => {
                "The Authorization header is not Basic with the form-encoded client_id and secret in base64."
            }
            ErrorCode::ClientAssertionTypeUnsupported => {
                "The client_assertion_type is not urn:ietf:params:oauth:client-assertion-type:jwt-bearer."
            }
            ErrorCode::CodeUnknown => {
                "The hub has no such code: it was never issued, or is older than the lifetime of codes."
            }
            ErrorCode::CodeOfOtherClient => "The code was issued to another client_id.",
            ErrorCode::CodeRedeemedByOtherClient => {
                "The code was issued to another client_id, and was used before."
            }
            _ => self.reason.as_deref().unwrap_or(public),
        }
    }

    const fn fix(&self) -> &'static str {
        match self.code {
            ErrorCode::ClientUnknown => {
                "Compare the client_id with the registration. The standard and the high platform are two hubs; the service provider may be switched off."
            }
            ErrorCode::ClientOtherMethod => {
                "Set the registered method in the OpenID Connect library."
            }
            ErrorCode::ClientAuthentication => {
                "Copy the secret again, without a line end or spaces. In the header, both client_id and secret are form-encoded before base64."
            }
            ErrorCode::ClientSecretNotYet | ErrorCode::ClientSecretExpired => {
                "Use the secret that is valid now, or ask the operator to change its dates."
            }
            ErrorCode::ClientHeaderMalformed => "Let the OpenID Connect library build the header.",
            ErrorCode::AssertionUnproven => {
                "Sign with the key that is registered, with its kid and with the registered algorithm."
            }
            ErrorCode::CodeUnknown => {
                "Redeem the code as soon as it arrives, and check that it was copied whole."
            }
            ErrorCode::CodeReused => {
                "Redeem each code once: a double click, a reloaded page or a retry redeems it again."
            }
            ErrorCode::CodeOfOtherClient | ErrorCode::CodeRedeemedByOtherClient => {
                "Redeem the code with the client_id of the authorization request."
            }
            ErrorCode::CodeRedirectUri => {
                "Send the redirect_uri of the authorization request again, character for character."
            }
            ErrorCode::CodeVerifier => {
                "Keep the code_verifier in the session of the browser that began the login; the challenge is base64url of its SHA-256, without padding."
            }
            _ => "Follow the description, or look the code up in the list of errors.",
        }
    }

    fn time(&self, t: &Locale) -> String {
        t.date_time(self.at)
    }

    fn datetime(&self) -> String {
        format_rfc3339(self.at)
    }
}

page_template!(TokenDiagnosticPage, "token_diagnostic.html", |_, t| t
    .text("token-diagnostic-title"));
