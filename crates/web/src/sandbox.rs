//! The sandbox identity provider's form, `/sandbox/{connector}`. It is served only if the sandbox
//! is enabled.

use actix_web::{HttpResponse, web};

use super::form;
use super::pages::{HiddenField, Locale, SandboxOption, SandboxPage};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{BASE_PATH, page_response, see_other};
use crate::pages::PageMessages as _;
use passerelle_hub::{SandboxError, SandboxOffer, SandboxUser};
use passerelle_localization::OperatorText;
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// Shows the form to choose a test user.
///
/// # Errors
/// Returns the rejection to answer with.
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
    let person = query.single("person").ok().flatten();
    let request = SandboxRequest { state, level: level.copied(), person };
    let locale = &context.locale(&[]);
    let name = hub.provider_name(&id, locale).unwrap_or_default();
    let sandbox = sandbox_page(locale, &id, name, request, &offer);
    Ok(page_response(hub, 200, locale, |chrome| sandbox.render(chrome)))
}

/// Handles the submitted form. The result returns to the hub's callback through the browser, like
/// any identity provider's response.
///
/// # Errors
/// Returns the rejection to answer with.
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

/// What a login asks of the sandbox.
#[derive(Clone, Copy)]
struct SandboxRequest<'a> {
    state: &'a str,
    level: Option<Level>,
    /// Id of the person that `login_hint` names.
    person: Option<&'a str>,
}

/// Builds the form. The requested level and person are selected, and lower levels carry a hint that
/// they are too low.
fn sandbox_page(
    locale: &Locale,
    id: &ConnectorId,
    provider: OperatorText,
    request: SandboxRequest<'_>,
    offer: &SandboxOffer,
) -> SandboxPage {
    let requested = request.level.or(offer.levels.first().copied());
    let option = |id: &str, label: String, is_selected| SandboxOption {
        id: id.to_owned(),
        label,
        value: None,
        hint: None,
        is_selected,
    };
    let failure = |id: &&str| option(id, locale.sandbox_failure_label(id), false);
    let level = |level: &Level| SandboxOption {
        hint: (Some(*level) < requested).then(|| locale.sandbox_level_too_low().into()),
        ..option(level.as_str(), locale.sandbox_level_label(*level), Some(*level) == requested)
    };
    let hinted = offer.users.iter().find(|user| Some(user.id.as_str()) == request.person);
    let selected = hinted.or(offer.users.first()).map(|user| &user.id);
    let person = |person: &SandboxUser| SandboxOption {
        hint: Some(locale.localize(&person.hint).into())
            .filter(|hint: &OperatorText| !hint.is_empty()),
        ..option(&person.id, person.label.clone(), selected == Some(&person.id))
    };
    let method = |method: &&str| SandboxOption {
        value: Some((*method).to_owned()),
        ..option(method, locale.method_label(method).unwrap_or_default(), *method == "pwd")
    };
    SandboxPage {
        provider,
        action: format!("/sandbox/{id}"),
        hidden: vec![HiddenField::new("state", request.state)],
        persons: offer.users.iter().map(person).collect(),
        levels: offer.levels.iter().map(level).collect(),
        methods: offer.methods.iter().map(method).collect(),
        failures: std::iter::once(option("", locale.sandbox_failure_label("none"), true))
            .chain(offer.failures.iter().map(failure))
            .collect(),
    }
}
