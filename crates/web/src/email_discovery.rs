//! `POST /api/v2/interaction/{hash}/email`: finds the user's identity provider by the domain of an
//! e-mail address.
//!
//! The address is parsed and dropped: it is neither stored nor logged, and no identity provider is
//! asked. The domain alone decides, so no answer reveals whether an address exists.

use actix_web::{HttpResponse, web};

use super::csrf::FormPurpose;
use super::email_lookup::EmailLookup;
use super::last_choice::ChoiceQuery;
use super::login::{self, ResponseOrigin};
use super::login_request_check::{load_summary, verify_login_form};
use super::page_models::{self, LoginPageContext};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use passerelle_federation::login::LoginRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::email_domain::EmailDomain;

/// Handles `POST /api/v2/interaction/{hash}/email`.
pub(crate) async fn find_by_email(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (held, params) =
        verify_login_form(&context, &path, body, FormPurpose::FIND_BY_EMAIL).await?;
    let address =
        params.single("email").map_err(|_| Rejection::malformed(ErrorCode::BadRequest))?;
    let lookup = match address.and_then(EmailDomain::from_address) {
        Some(domain) => EmailLookup::Domain(domain),
        None => EmailLookup::Malformed,
    };
    if let EmailLookup::Domain(domain) = &lookup {
        let summary = load_summary(&context, &held.hash).await?;
        let page = LoginPageContext::new(&context, &held, &summary);
        if let Some(connector) = page_models::sole_connector_for_domain(&page, domain) {
            let choice = LoginRequest::Choose(connector);
            return login::answer_step(&context, &held, choice, ResponseOrigin::Form).await;
        }
    }
    let query = ChoiceQuery { lookup, ..ChoiceQuery::from_request(&context) };
    login::show_choice(&context, &held, &query).await
}
