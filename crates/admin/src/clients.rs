//! Lists, approves, removes and exports dynamically registered clients, and creates and revokes
//! initial access tokens (`docs/client-registration.md`).

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ReqData};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blocks::read_body;
use super::operators::{AdminRequester, validate_reason};
use super::responses::{AdminError, json_response, ok_response};
use super::{AdminApi, resource};
use passerelle_grants::client_registration::{
    ClientRegistrations, NewInitialToken, OperatorDecision,
};
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::json::parse_object;

/// Request body of `POST /admin/clients/{id}/approve`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationApproval {
    /// The fingerprint of the registration as the operator saw it.
    pub fingerprint: String,
    /// Why, in 5 to 200 characters; the audit log records it.
    pub reason: String,
}

/// Request body of `POST /admin/clients/{id}/remove`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationRemoval {
    /// Why, in 5 to 200 characters; the audit log records it.
    pub reason: String,
}

/// Response body of `GET /admin/clients/{id}`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportedClient {
    /// The registration as the file of a service provider.
    pub file: String,
}

/// Response body of a change without another result.
#[derive(Debug, Serialize, Deserialize)]
pub struct RegistrationChange {
    pub changed: bool,
}

impl AdminApi {
    fn registrations(&self) -> Result<&Arc<ClientRegistrations>, AdminError> {
        let found = self.console.core.registrations.as_ref();
        let fix = "client registration is off; add the table client_registration to passerelle.toml and restart the hub";
        found.ok_or_else(|| AdminError::new(ErrorCode::NotFound, fix))
    }
}

impl From<GrantError> for AdminError {
    fn from(error: GrantError) -> Self {
        Self { code: error.code, details: error.reason.into_iter().collect() }
    }
}

/// Adds the routes.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config
        .service(resource("/clients", "GET").get(list_registrations))
        .service(resource("/clients/{id}", "GET").get(export_registration))
        .service(resource("/clients/{id}/approve", "POST").post(approve_registration))
        .service(resource("/clients/{id}/remove", "POST").post(remove_registration))
        .service(resource("/initial-access-tokens", "POST").post(create_initial_token))
        .service(resource("/initial-access-tokens/{id}", "DELETE").delete(revoke_initial_token));
}

async fn list_registrations(admin: Data<AdminApi>) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.registrations()?.list().await?))
}

async fn export_registration(
    admin: Data<AdminApi>,
    client_id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    let file = admin.registrations()?.export(&client_id).await?;
    Ok(ok_response(&ExportedClient { file }))
}

async fn approve_registration(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    client_id: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let approval: RegistrationApproval = parse_body(payload).await?;
    let reason = validate_reason(&approval.reason).ok_or(ErrorCode::ReasonMissing)?;
    let decision = OperatorDecision { operator: &by.operator.name, reason };
    admin.registrations()?.approve(&client_id, &approval.fingerprint, decision).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

async fn remove_registration(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    client_id: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let removal: RegistrationRemoval = parse_body(payload).await?;
    let reason = validate_reason(&removal.reason).ok_or(ErrorCode::ReasonMissing)?;
    let decision = OperatorDecision { operator: &by.operator.name, reason };
    admin.registrations()?.remove(&client_id, decision).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

async fn create_initial_token(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let new: NewInitialToken = parse_body(payload).await?;
    let purpose = validate_reason(&new.purpose).ok_or(ErrorCode::ReasonMissing)?.to_owned();
    let new = NewInitialToken { purpose, ..new };
    let created = admin.registrations()?.create_token(new, &by.operator.name).await?;
    Ok(json_response(StatusCode::CREATED, &created))
}

async fn revoke_initial_token(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    admin.registrations()?.revoke_token(&id, &by.operator.name).await?;
    Ok(ok_response(&RegistrationChange { changed: true }))
}

async fn parse_body<T: DeserializeOwned>(payload: web::Payload) -> Result<T, AdminError> {
    let malformed = |detail: &str| AdminError::new(ErrorCode::RegistrationRequestMalformed, detail);
    let object = parse_object(&read_body(payload).await?)
        .map_err(|_| malformed("it must be one JSON object in which no member is named twice"))?;
    serde_json::from_value(Value::Object(object)).map_err(|error| malformed(&error.to_string()))
}
