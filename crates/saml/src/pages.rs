//! The page that sends a request by a form (SAML V2.0 Bindings §3.5).

use passerelle_localization::OperatorText;
use passerelle_web::page_template;
use passerelle_web::pages::{HiddenField, PageMessages as _};

/// Sends a request to an identity provider: script submits the form; without script the user does.
#[derive(Clone, Debug)]
pub(crate) struct RequestPage {
    /// Name of the connector.
    pub provider: OperatorText,
    /// Address of the identity provider, from its metadata.
    pub action: String,
    pub fields: Vec<HiddenField>,
}

page_template!(RequestPage, "saml_request.html", |_, t| t.text("saml-send-title"));
