//! The sandbox identity provider's form, `/sandbox/{connector}`. It is served only if the sandbox
//! is enabled.

use actix_web::{HttpResponse, web};

use super::form;
use super::pages::{HiddenField, SandboxPage};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{BASE_PATH, page_response, see_other};
use passerelle_hub::SandboxError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// Shows the form to choose a test user.
pub(crate) async fn show_form(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let (hub, id) = (&context.hub, ConnectorId::new(path.into_inner()));
    let not_found = Rejection::OutsideLogin(ErrorCode::NotFound);
    let offer = hub.connectors.sandbox_offer(&id).ok_or(not_found)?;
    let query = context.query().unwrap_or_default();
    let Ok(Some(state)) = query.single("state") else {
        return Err(Rejection::malformed(ErrorCode::StateUnknown));
    };
    let level = query.single("level").ok().flatten();
    let level = level.and_then(|level| offer.levels.iter().find(|one| one.as_str() == level));
    let locale = &context.locale(&[]);
    let name = hub.provider_name(&id, locale).unwrap_or_default();
    let mut sandbox = SandboxPage {
        action: format!("/sandbox/{id}"),
        hidden: vec![HiddenField::new("state", state)],
        ..SandboxPage::new(locale, name, level.copied(), &offer)
    };
    if let Some(person) = query.single("person").ok().flatten() {
        sandbox.select_person(person);
    }
    Ok(page_response(hub, 200, locale, |chrome| sandbox.render(chrome)))
}

/// Handles the submitted form. The result returns to the hub's callback through the browser, like
/// any identity provider's response.
pub(crate) async fn submit_form(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let id = ConnectorId::new(path.into_inner());
    let params = form::parse_body(&context.request, body)
        .await
        .map_err(|_| Rejection::malformed(ErrorCode::BadRequest))?;
    let query = context.hub.connectors.choose_sandbox_user(&id, params.pairs()).await?;
    Ok(see_other(&format!("{BASE_PATH}/callback/{id}?{query}")))
}

impl From<SandboxError> for Rejection {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unknown => Self::OutsideLogin(ErrorCode::NotFound),
            SandboxError::NotSaved => Self::OutsideLogin(ErrorCode::StoreUnavailable),
            SandboxError::Full => Self::OutsideLogin(ErrorCode::Busy),
            SandboxError::Malformed => Self::malformed(ErrorCode::BadRequest),
        }
    }
}
