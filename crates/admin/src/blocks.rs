//! Lists, sets and lifts blocks of identity providers by command.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operators::AdminRequester;
use super::responses::{AdminError, json_response, ok_response};
use super::{AdminApi, BODY_TIMEOUT, MAX_BODY_BYTES};
use passerelle_audit::{Event, EventKind};
use passerelle_hub::blocks::{BlockUpdateError, Persistence};
use passerelle_hub::registry::{BlockError, BlockRow, NewBlock};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::json::parse_object;

/// Response body of `GET /admin/blocks`.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockList {
    pub blocks: Vec<BlockRow>,
}

/// Response body of setting or lifting a block. The change is in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockChange {
    pub block: BlockRow,
    /// Whether the change survives a restart.
    pub persisted: bool,
    /// Why it is not persisted, and how to fix that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Handles `GET /admin/blocks`: lists the blocks that have not ended, from files and commands.
pub(super) async fn list_blocks(admin: Data<AdminApi>) -> HttpResponse {
    let connectors = &admin.console.connectors;
    let configured = connectors.overview().into_iter().flat_map(|row| row.blocks);
    ok_response(&BlockList { blocks: configured.chain(connectors.orphaned_blocks()).collect() })
}

/// Handles `POST /admin/blocks`: sets a block, logs it and records it in the audit log.
///
/// # Errors
/// Returns the error of an unreadable or invalid block, or of a failed update.
pub(super) async fn set_block(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let new = parse_block(payload).await?;
    Ok(json_response(StatusCode::CREATED, &admin.set_block(&request, &by, &new, None).await?))
}

/// Handles `DELETE /admin/blocks/{id}`: lifts a block, logs it and records it in the audit log.
///
/// # Errors
/// `BlockUnknown` if no block set by command has this id; otherwise the error of a failed update.
pub(super) async fn lift_block(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.lift_block(&request, &by, &id, None).await?))
}

impl AdminApi {
    /// Sets a block, logs it and records it in the audit log; with `reason` if the operator knows
    /// that the audit log records it.
    ///
    /// # Errors
    /// Returns the error of an invalid block, or of a failed update.
    pub(super) async fn set_block(
        &self,
        request: &HttpRequest,
        by: &AdminRequester,
        new: &NewBlock,
        reason: Option<&str>,
    ) -> Result<BlockChange, AdminError> {
        let (row, persistence) = self.console.connectors.block(new).await?;
        log_block_change(request, by, &row, "identity provider blocked");
        self.audit_block_change(EventKind::BlockSet, by, &row, reason);
        Ok(block_change(row, persistence))
    }

    /// Lifts a block, logs it and records it in the audit log.
    ///
    /// # Errors
    /// `BlockUnknown` if no block set by command has this id; otherwise the error of a failed
    /// update.
    pub(super) async fn lift_block(
        &self,
        request: &HttpRequest,
        by: &AdminRequester,
        id: &str,
        reason: Option<&str>,
    ) -> Result<BlockChange, AdminError> {
        let lifted = self.console.connectors.unblock(id).await?;
        let (row, persistence) = lifted.ok_or(ErrorCode::BlockUnknown)?;
        log_block_change(request, by, &row, "block of identity provider lifted");
        self.audit_block_change(EventKind::BlockLifted, by, &row, reason);
        Ok(block_change(row, persistence))
    }

    /// Records a change of a block. A block by command covers all service providers or one.
    fn audit_block_change(
        &self,
        kind: EventKind,
        by: &AdminRequester,
        row: &BlockRow,
        reason: Option<&str>,
    ) {
        self.console.core.audit.record(|| {
            let event = Event::new(kind)
                .idp(&row.connector)
                .block(row.id.as_deref().unwrap_or_default())
                .operator(&by.operator.name);
            let event = reason.into_iter().fold(event, Event::reason);
            row.service_providers.iter().flatten().take(1).fold(event, Event::sp)
        });
    }
}

/// Reads a request body within its limits of size and time.
///
/// # Errors
/// `RequestTimeout`, `PayloadTooLarge`, or `AdminMalformed` if the connection closes too early.
pub async fn read_body(payload: web::Payload) -> Result<web::Bytes, AdminError> {
    let body = tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(MAX_BODY_BYTES)).await;
    let body = body.map_err(|_| ErrorCode::RequestTimeout)?.map_err(|_| {
        let detail = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        AdminError::new(ErrorCode::PayloadTooLarge, &detail)
    })?;
    body.map_err(|_| {
        let detail = "the connection closed before the whole body arrived";
        AdminError::new(ErrorCode::AdminMalformed, detail)
    })
}

async fn parse_block(payload: web::Payload) -> Result<NewBlock, AdminError> {
    let malformed = |detail: &str| AdminError::new(ErrorCode::AdminMalformed, detail);
    let body = read_body(payload).await?;
    let object = parse_object(&body).map_err(|_| {
        malformed("the body must be one JSON object in which no member is named twice")
    })?;
    serde_json::from_value(Value::Object(object)).map_err(|error| malformed(&error.to_string()))
}

impl From<BlockError> for AdminError {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::UnknownConnector { known } => {
                let known: Vec<&str> = known.iter().map(ConnectorId::as_str).collect();
                Self::new(ErrorCode::BlockConnector, &format!("known: {}", known.join(", ")))
            }
            BlockError::UnknownServiceProvider => ErrorCode::BlockServiceProvider.into(),
            BlockError::Invalid(diagnostics) => Self {
                code: ErrorCode::BlockInvalid,
                details: diagnostics.iter().map(ToString::to_string).collect(),
            },
            BlockError::NotUpdated(error) => error.into(),
        }
    }
}

impl From<BlockUpdateError> for AdminError {
    fn from(error: BlockUpdateError) -> Self {
        match error {
            BlockUpdateError::TooMany(reason) => Self::new(
                ErrorCode::TooManyBlocks,
                &format!("{reason}; fix: lift blocks that are no longer needed"),
            ),
            BlockUpdateError::StoreUnavailable(reason) => {
                let fix = "fix: check `passerelle idp list` when the store is available again, and repeat missing changes";
                let detail = format!("nothing was changed: {reason}; {fix}");
                Self::new(ErrorCode::StoreUnavailable, &detail)
            }
            BlockUpdateError::Interrupted => ErrorCode::Internal.into(),
        }
    }
}

/// Logs a change of a block with its origin.
fn log_block_change(
    request: &HttpRequest,
    by: &AdminRequester,
    row: &BlockRow,
    message: &'static str,
) {
    let peer = request.peer_addr().map(|peer| peer.to_string());
    let service_providers = row
        .service_providers
        .as_ref()
        .map(|some| some.iter().map(ToString::to_string).collect::<Vec<_>>());
    tracing::warn!(
        operator = by.operator.name,
        peer,
        block = row.id,
        connector = %row.connector,
        service_provider = service_providers.map(|some| some.join(", ")),
        reason = row.reason,
        from = row.from,
        until = row.until,
        "{message}"
    );
}

fn block_change(block: BlockRow, persistence: Persistence) -> BlockChange {
    match persistence {
        Persistence::Persisted => BlockChange { block, persisted: true, warning: None },
        Persistence::NotPersisted(error) => {
            let code = ErrorCode::BlocksNotPersisted.entry().code;
            tracing::error!(code, block = block.id, %error, "block change is in force, but not persisted");
            let warning = format!("the change is in force, but a restart will undo it: {error}");
            BlockChange { block, persisted: false, warning: Some(warning) }
        }
    }
}
