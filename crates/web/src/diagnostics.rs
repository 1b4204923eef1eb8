//! Diagnostics for developers on a sandbox hub: the explanation of an authorization request
//! (`/api/v2/diagnostics`), and of one failed token request (`/api/v2/diagnostics/{id}`).
//!
//! Served only if the sandbox is enabled: the precise cause of a failure reveals which clients
//! exist, and which part of their credentials is wrong.

use actix_web::{HttpResponse, web};

use super::form::{self, FormError};
use super::hub::{Hub, SandboxRoutes};
use super::oauth_errors;
use super::pages::{DiagnosedRequest, DiagnosticsPage, TokenDiagnosticPage};
use super::pasted_request::{HubIdentity, PastedRequest, PastedRequestError};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::landing_page_response;
use super::token_diagnostics::FailedTokenRequest;
use passerelle_federation::ClientAuthentication;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::ids::ClientId;

/// Path of the form for an authorization request.
pub(crate) const DIAGNOSTICS_PATH: &str = "/api/v2/diagnostics";

/// Returns the `error_uri` of a failed token request: on a sandbox hub, for the errors whose
/// description hides the cause, the address of a new diagnostic; else of the page about the error.
pub(crate) fn token_error_uri(hub: &Hub, error: &GrantError) -> Option<String> {
    let issuer = &hub.core.issuer;
    let is_diagnosed = matches!(error.code.entry().oauth, "invalid_client" | "invalid_grant");
    if hub.sandbox == SandboxRoutes::Off || !is_diagnosed {
        return oauth_errors::error_uri(issuer, error.code);
    }
    let id = hub.token_diagnostics.insert(error.clone(), &hub.core.env);
    Some(format!("{issuer}/diagnostics/{id}"))
}

/// Shows the form for an authorization request.
pub(crate) async fn show_form(context: RequestContext) -> Result<HttpResponse, Rejection> {
    Ok(diagnostics_page(&context, 200, DiagnosticsPage::Form))
}

/// Explains the submitted authorization request. It is not stored, and the page doesn't repeat it.
pub(crate) async fn explain_request(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let client = hub.proxies.client_address(&context.request);
    hub.core.rate_limits.check_request(client).map_err(|over| Rejection::RateLimited {
        code: ErrorCode::NetworkLimited,
        over,
        client_id: None,
    })?;
    let parsed = form::parse_body(&context.request, body)
        .await
        .map_err(|error| match error {
            FormError::TooLarge => PastedRequestError::TooLarge,
            FormError::NotForm | FormError::Interrupted => PastedRequestError::NotForm,
        })
        .and_then(|params| PastedRequest::parse(params.get("url").unwrap_or_default()));
    let request = match parsed {
        Ok(request) => request,
        Err(error) => {
            return Ok(diagnostics_page(&context, 400, DiagnosticsPage::Unreadable(error)));
        }
    };
    let issuer = &hub.core.issuer;
    let identity = HubIdentity { platform: hub.core.platform, issuer };
    let permit =
        |client_id: &_, connector: &_| hub.connectors.permit_connector(client_id, connector);
    let explained = DiagnosticsPage::Explained(DiagnosedRequest {
        explanation: request.explain(identity, hub.core.federation.load().as_ref(), &permit),
        expected_endpoint: request.expected_endpoint(issuer),
    });
    Ok(diagnostics_page(&context, 200, explained))
}

fn diagnostics_page(context: &RequestContext, status: u16, page: DiagnosticsPage) -> HttpResponse {
    let locale = context.locale(&[]).with_default_return_path(DIAGNOSTICS_PATH.to_owned());
    landing_page_response(&context.hub, status, &locale, |chrome| page.render(chrome))
}

/// Shows why one token request failed.
///
/// # Errors
/// Returns the rejection to answer with: also for a diagnostic that has expired.
pub(crate) async fn show_token_diagnostic(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let diagnostic = hub.token_diagnostics.open(&path, hub.core.env.now());
    let FailedTokenRequest { error, at } =
        diagnostic.ok_or(Rejection::OutsideLogin(ErrorCode::NotFound))?;
    let registered_auth_methods =
        error.client_id.as_ref().map(|client_id| registered_auth_methods(hub, client_id));
    let page = TokenDiagnosticPage {
        code: error.code,
        client_id: error.client_id.as_ref().map(ToString::to_string),
        registered_auth_methods: registered_auth_methods.flatten(),
        reason: error.reason,
        at,
    };
    let locale = &context.locale(&[]);
    Ok(landing_page_response(hub, 200, locale, |chrome| page.render(chrome)))
}

/// Returns the registered methods of a client; `None` if it is not registered.
fn registered_auth_methods(hub: &Hub, client_id: &ClientId) -> Option<String> {
    let federation = hub.core.federation.load();
    let service = federation.service_provider(client_id)?;
    let names: &[AuthMethod] = match &service.authentication {
        ClientAuthentication::SecretPost(_) => &[AuthMethod::ClientSecretPost],
        ClientAuthentication::SecretBasic(_) => &[AuthMethod::ClientSecretBasic],
        ClientAuthentication::Secret(_) => {
            &[AuthMethod::ClientSecretPost, AuthMethod::ClientSecretBasic]
        }
        ClientAuthentication::PrivateKeyJwt(_) => &[AuthMethod::PrivateKeyJwt],
        ClientAuthentication::TlsCertificate(_) => &[AuthMethod::TlsClientAuth],
        ClientAuthentication::SelfSignedCertificate => &[AuthMethod::SelfSignedTlsClientAuth],
        ClientAuthentication::Public => &[AuthMethod::None],
    };
    Some(names.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(", "))
}
