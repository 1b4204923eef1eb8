//! Removes the confirmed address of a person. An operator names the person by the support id of a login
//! (`docs/mail.md`).

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mailer::Mailer;
use passerelle_admin::blocks::read_body;
use passerelle_admin::operators::{AdminRequester, validate_reason};
use passerelle_admin::responses::{AdminError, ok_response};
use passerelle_admin::{AdminApi, AdminEndpoint};
use passerelle_audit::{Event, EventKind, ExtensionEvent};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::SupportId;
use passerelle_protocol::json::parse_object;

passerelle_protocol::error_codes! {
    MAIL_RESET_MALFORMED = "Y500130" 400 "invalid_request" Info Client Operator "error-bad-request" "The body is not a JSON object with support_id and reason.";
    MAIL_LOGIN_UNKNOWN = "Y500131" 404 "invalid_request" Info Client Operator "error-not-found" "No login of this support_id asked for a code by mail in the last 24 hours; let the person begin another login.";
    MAIL_RESET_UNRECORDED = "Y500132" 409 "invalid_request" Warn Client Operator "error-bad-request" "An address is only removed if the audit log records why: set audit.sink to file, and see in /readyz whether it can be written.";
}

/// Event of an operator's reset.
pub(crate) const MAIL_ADDRESS_RESET: EventKind = EventKind::Extension(&ExtensionEvent {
    name: "mail_address_reset",
    meaning: "An operator removed the confirmed mail address of the person of this login.",
    fields: &["idp", "support_id", "operator", "reason"],
    is_unauthenticated: false,
});

/// Request body of `POST /admin/mail-addresses/reset`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MailAddressReset {
    /// Support id of a login of the person, as the page shows it.
    pub support_id: String,
    /// Why, in 5 to 200 characters; the audit log records it.
    pub reason: String,
}

/// Response body of the reset.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MailAddressResetResult {
    /// Whether there was an address.
    pub removed: bool,
}

/// The routes below `/admin`.
pub(crate) const ENDPOINTS: &[AdminEndpoint] = &[AdminEndpoint {
    path: "/mail-addresses/reset",
    methods: "POST",
    add_handlers: |resource| resource.post(reset_address),
}];

async fn reset_address(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let off = "mail is off; add the table mail to passerelle.toml and restart the hub";
    let mailer: &Mailer =
        admin.extension().ok_or_else(|| AdminError::new(ErrorCode::NotFound, off))?;
    let malformed = |detail: &str| AdminError::new(MAIL_RESET_MALFORMED, detail);
    let object = parse_object(&read_body(payload).await?)
        .map_err(|_| malformed("it must be one JSON object in which no member is named twice"))?;
    let reset: MailAddressReset = serde_json::from_value(Value::Object(object))
        .map_err(|error| malformed(&error.to_string()))?;
    let reason = validate_reason(&reset.reason).ok_or(ErrorCode::ReasonMissing)?;
    let support_id = SupportId::parse(&reset.support_id).ok_or(ErrorCode::SupportIdMalformed)?;
    let found = mailer.find_login(&support_id).await.map_err(ErrorCode::from)?;
    let (connector, person) = found.ok_or(MAIL_LOGIN_UNKNOWN)?;
    let event = Event::new(MAIL_ADDRESS_RESET).idp(&connector).support_id(&support_id);
    if !mailer.audit().record_required(event.operator(&by.operator.name).reason(reason)) {
        return Err(MAIL_RESET_UNRECORDED.into());
    }
    let removed = mailer.reset_address(person).await.map_err(ErrorCode::from)?;
    Ok(ok_response(&MailAddressResetResult { removed }))
}
