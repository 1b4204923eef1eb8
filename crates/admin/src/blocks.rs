//! Lists, sets and lifts blocks of identity providers by command.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operators::AdminRequester;
use super::responses::{AdminError, json_response, ok_response};
use super::{AdminApi, BODY_TIMEOUT, MAX_BODY_BYTES};
use crate::console_act::{ActConfirmation, ActOutcome, ActRequest, ConsoleAct};
use passerelle_audit::{Event, EventKind};
use passerelle_hub::registry::{BlockError, BlockRow, NewBlock};
use passerelle_hub::runtime_entries::{EntryUpdateError, Persistence};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
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

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[
    ConsoleAct {
        name: "block",
        confirm: Some(|act| Box::pin(async move { confirm_block(act) })),
        perform: |act| {
            Box::pin(async move {
                let new = block_of_form(act)?;
                let reason = Some(new.reason.as_str());
                let change = act.admin.set_block(act.request, act.by, &new, reason).await?;
                Ok(describe_change(act, "The block is in force from its beginning", &change))
            })
        },
    },
    ConsoleAct {
        name: "unblock",
        confirm: Some(|act| Box::pin(async move { confirm_unblock(act) })),
        perform: |act| {
            Box::pin(async move {
                let reason = Some(act.form.reason()?);
                let id = act.form.field("id").unwrap_or_default();
                let change = act.admin.lift_block(act.request, act.by, id, reason).await?;
                Ok(describe_change(act, "The block is lifted", &change))
            })
        },
    },
];

fn block_of_form(act: &ActRequest<'_>) -> Result<NewBlock, AdminError> {
    let form = act.form;
    let named: Vec<ClientId> = form.lines("service_providers").map(ClientId::from).collect();
    Ok(NewBlock {
        connector: ConnectorId::new(form.field("connector").unwrap_or_default()),
        service_providers: (!named.is_empty()).then_some(named),
        reason: form.reason()?.to_owned(),
        message: form.texts("message"),
        from: form.time("from"),
        until: form.time("until"),
    })
}

fn confirm_block(act: &ActRequest<'_>) -> Result<ActConfirmation, AdminError> {
    let NewBlock { connector, service_providers, reason, message, from, until } =
        block_of_form(act)?;
    let mut facts = vec![
        ("Identity provider".to_owned(), act.admin.console.describe_connector(&connector)),
        ("Service providers".to_owned(), list_services(service_providers.as_ref())),
        ("Reason, for operators".to_owned(), reason),
    ];
    facts.extend(
        message.into_iter().map(|(language, text)| (format!("Message to users, {language}"), text)),
    );
    facts.push(("Begins".to_owned(), from.unwrap_or_else(|| "now".to_owned())));
    facts.push(("Ends".to_owned(), describe_end(until)));
    Ok(ActConfirmation {
        question: "Block this identity provider?".to_owned(),
        facts,
        fields: Vec::new(),
        consequence: "While the block is in force, no user of these services can sign in by this identity provider, also not in a login that has begun.",
        button: "Block it",
    })
}

fn confirm_unblock(act: &ActRequest<'_>) -> Result<ActConfirmation, AdminError> {
    let reason = act.form.reason()?.to_owned();
    let id = act.form.field("id").unwrap_or_default();
    let connectors = &act.admin.console.connectors;
    let current = connectors.overview().into_iter().flat_map(|row| row.blocks);
    let mut all = current.chain(connectors.orphaned_blocks());
    let block = all.find(|block| block.id.as_deref() == Some(id)).ok_or(ErrorCode::BlockUnknown)?;
    let name = act.admin.console.describe_connector(&block.connector);
    Ok(ActConfirmation {
        question: "Lift this block?".to_owned(),
        facts: vec![
            ("Identity provider".to_owned(), name),
            ("Service providers".to_owned(), list_services(block.service_providers.as_ref())),
            ("Reason of the block".to_owned(), block.reason),
            ("Ends".to_owned(), describe_end(block.until)),
            ("Reason for lifting it".to_owned(), reason),
        ],
        fields: Vec::new(),
        consequence: "Users may sign in by this identity provider at once, unless another block is in force.",
        button: "Lift it",
    })
}

fn list_services<'a>(some: Option<impl IntoIterator<Item = &'a ClientId>>) -> String {
    some.map_or_else(
        || "all".to_owned(),
        |some| some.into_iter().map(ClientId::as_str).collect::<Vec<_>>().join(", "),
    )
}

fn describe_end(until: Option<String>) -> String {
    until.unwrap_or_else(|| "when it is lifted".to_owned())
}

fn describe_change(act: &ActRequest<'_>, what: &str, change: &BlockChange) -> ActOutcome {
    let id = &change.block.connector;
    let warning = change.warning.as_ref().map(|warning| format!(" Warning: {warning}"));
    ActOutcome {
        message: format!("{what}: {id}.{}", warning.unwrap_or_default()),
        // The connector of a block may have no file any more.
        see: act
            .admin
            .console
            .connectors
            .display_name(id)
            .map(|_| (format!("/admin/identity-providers/{id}"), id.to_string())),
    }
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
    let new = parse_body(payload).await?;
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

    /// Records a change of a block, in one line for each service provider that it names.
    fn audit_block_change(
        &self,
        kind: EventKind,
        by: &AdminRequester,
        row: &BlockRow,
        reason: Option<&str>,
    ) {
        let event = || {
            let event = Event::new(kind)
                .idp(&row.connector)
                .block(row.id.as_deref().unwrap_or_default())
                .operator(&by.operator.name);
            reason.into_iter().fold(event, Event::reason)
        };
        match &row.service_providers {
            None => self.console.core.audit.record(event),
            Some(some) => {
                for id in some {
                    self.console.core.audit.record(|| event().sp(id));
                }
            }
        }
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

/// Reads a request body that is a JSON object.
///
/// # Errors
/// Those of [`read_body`], and `AdminMalformed`.
pub(super) async fn parse_body<T: DeserializeOwned>(
    payload: web::Payload,
) -> Result<T, AdminError> {
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
            BlockError::UnknownServiceProvider(id) => {
                let detail = format!("service_provider: {id} is not the client_id of one");
                Self::new(ErrorCode::BlockServiceProvider, &detail)
            }
            BlockError::Invalid(diagnostics) => Self {
                code: ErrorCode::BlockInvalid,
                details: diagnostics.iter().map(ToString::to_string).collect(),
            },
            BlockError::NotUpdated(error) => error.into(),
        }
    }
}

impl From<EntryUpdateError> for AdminError {
    fn from(error: EntryUpdateError) -> Self {
        let (code, effect, fix) = match error {
            EntryUpdateError::TooMany { .. } => (
                ErrorCode::TooManyEntries,
                "nothing was changed",
                "remove those that are no longer needed",
            ),
            EntryUpdateError::StoreUnavailable(_) => (
                ErrorCode::StoreUnavailable,
                "the change may have taken effect",
                "when the store is available again, check by `passerelle idp list` or `passerelle notice list`, and repeat missing changes",
            ),
            EntryUpdateError::Interrupted => return ErrorCode::Internal.into(),
        };
        Self::new(code, &format!("{effect}: {error}; fix: {fix}"))
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
    let warning = persistence_warning(block.id.as_deref(), persistence);
    BlockChange { persisted: warning.is_none(), block, warning }
}

/// Logs that a change of a block or notice is not persisted, and returns the warning for the
/// operator.
pub(super) fn persistence_warning(id: Option<&str>, persistence: Persistence) -> Option<String> {
    let Persistence::NotPersisted(error) = persistence else { return None };
    let code = ErrorCode::EntriesNotPersisted.entry().code;
    tracing::error!(code, id, %error, "a change of an operator is in force, but not persisted");
    Some(format!("the change is in force, but a restart will undo it: {error}"))
}
