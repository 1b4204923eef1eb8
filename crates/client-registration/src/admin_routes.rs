//! Lists, approves, removes and exports dynamically registered clients, and creates and revokes
//! initial access tokens (`docs/client-registration.md`).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ReqData};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ClientRegistrations;
use super::error_codes;
use super::operator::{NewInitialToken, OperatorDecision};
use passerelle_admin::blocks::read_body;
use passerelle_admin::operators::{AdminRequester, validate_reason};
use passerelle_admin::responses::{AdminError, json_response, ok_response};
use passerelle_admin::{AdminApi, AdminEndpoint};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::json::parse_object;

/// Request body of `POST /admin/clients/{id}/approve`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegistrationApproval {
    /// The fingerprint of the registration as the operator saw it.
    pub fingerprint: String,
    /// Why, in 5 to 200 characters; the audit log records it.
    pub reason: String,
}

/// Request body of `POST /admin/clients/{id}/remove`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegistrationRemoval {
    /// Why, in 5 to 200 characters; the audit log records it.
    pub reason: String,
}

/// Response body of `GET /admin/clients/{id}`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExportedClient {
    /// The registration as the file of a service provider.
    pub file: String,
}

/// Response body of a change without another result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RegistrationChange {
    pub changed: bool,
}

pub(crate) fn find_registrations(admin: &AdminApi) -> Result<&ClientRegistrations, AdminError> {
    let fix = "client registration is off; add the table client_registration to passerelle.toml and restart the hub";
    admin.extension().ok_or_else(|| AdminError::new(ErrorCode::NotFound, fix))
}

/// The routes below `/admin`.
pub(crate) const ENDPOINTS: &[AdminEndpoint] = &[
    AdminEndpoint {
        path: "/clients",
        methods: "GET",
        add_handlers: |resource| resource.get(list_registrations),
    },
    AdminEndpoint {
        path: "/clients/{id}",
        methods: "GET",
        add_handlers: |resource| resource.get(export_registration),
    },
    AdminEndpoint {
        path: "/clients/{id}/approve",
        methods: "POST",
        add_handlers: |resource| resource.post(approve_registration),
    },
    AdminEndpoint {
        path: "/clients/{id}/remove",
        methods: "POST",
        add_handlers: |resource| resource.post(remove_registration),
    },
    AdminEndpoint {
        path: "/initial-access-tokens",
        methods: "POST",
        add_handlers: |resource| resource.post(create_initial_token),
    },
    AdminEndpoint {
        path: "/initial-access-tokens/{id}",
        methods: "DELETE",
        add_handlers: |resource| resource.delete(revoke_initial_token),
    },
];

async fn list_registrations(admin: Data<AdminApi>) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&find_registrations(&admin)?.list().await?))
}

async fn export_registration(
    admin: Data<AdminApi>,
    client_id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    let file = find_registrations(&admin)?.export(&client_id).await?;
    Ok(ok_response(&ExportedClient { file }))
}

async fn approve_registration(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    client_id: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let approval: RegistrationApproval = parse_body(payload).await?;
    approve(&admin, &by, &client_id, &approval).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

/// Lets a registered service provider sign users in.
///
/// # Errors
/// `ReasonMissing`, or that of [`ClientRegistrations::approve`].
pub(crate) async fn approve(
    admin: &AdminApi,
    by: &AdminRequester,
    client_id: &str,
    approval: &RegistrationApproval,
) -> Result<(), AdminError> {
    let reason = validate_reason(&approval.reason).ok_or(ErrorCode::ReasonMissing)?;
    let decision = OperatorDecision { operator: &by.operator.name, reason };
    Ok(find_registrations(admin)?.approve(client_id, &approval.fingerprint, decision).await?)
}

async fn remove_registration(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    client_id: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let removal: RegistrationRemoval = parse_body(payload).await?;
    remove(&admin, &by, &client_id, &removal).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

/// Refuses a registration that waits, or revokes one in use.
///
/// # Errors
/// `ReasonMissing`, or that of [`ClientRegistrations::remove`].
pub(crate) async fn remove(
    admin: &AdminApi,
    by: &AdminRequester,
    client_id: &str,
    removal: &RegistrationRemoval,
) -> Result<(), AdminError> {
    let reason = validate_reason(&removal.reason).ok_or(ErrorCode::ReasonMissing)?;
    let decision = OperatorDecision { operator: &by.operator.name, reason };
    Ok(find_registrations(admin)?.remove(client_id, decision).await?)
}

async fn create_initial_token(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let new: NewInitialToken = parse_body(payload).await?;
    let purpose = validate_reason(&new.purpose).ok_or(ErrorCode::ReasonMissing)?.to_owned();
    let new = NewInitialToken { purpose, ..new };
    let created = find_registrations(&admin)?.create_token(new, &by.operator.name).await?;
    Ok(json_response(StatusCode::CREATED, &created))
}

async fn revoke_initial_token(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    find_registrations(&admin)?.revoke_token(&id, &by.operator.name).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

async fn parse_body<T: DeserializeOwned>(payload: web::Payload) -> Result<T, AdminError> {
    let malformed =
        |detail: &str| AdminError::new(error_codes::REGISTRATION_REQUEST_MALFORMED, detail);
    let object = parse_object(&read_body(payload).await?)
        .map_err(|_| malformed("it must be one JSON object in which no member is named twice"))?;
    serde_json::from_value(Value::Object(object)).map_err(|error| malformed(&error.to_string()))
}
