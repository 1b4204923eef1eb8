//! Operations on a running hub: reload, rotation of keys, drain. Each is one line of the audit log.

use actix_web::HttpResponse;
use actix_web::web::{Data, ReqData, ServiceConfig};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::console_act::{ActConfirmation, ActOutcome, ConsoleAct};
use super::operators::AdminRequester;
use super::responses::{AdminError, ok_response};
use super::{AdminApi, resource};
use passerelle_audit::{Event, EventKind};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_telemetry::CheckFinding;

/// What an operator can make a running hub do.
#[async_trait]
pub trait HubOperations: Send + Sync {
    /// Reads the configuration files, the register's file and the keys, and returns their problems.
    async fn reload(&self) -> Vec<CheckFinding>;

    /// Creates the next keys in the key folder, and loads them.
    ///
    /// # Errors
    /// The reason why no key was created.
    async fn rotate_keys(&self) -> Result<Vec<NewKey>, String>;

    /// Reads the key folder at once, and returns the ids of the keys in use.
    ///
    /// # Errors
    /// The reason why the folder can't be read; the former keys stay in use.
    async fn reload_keys(&self) -> Result<Vec<String>, String>;
}

/// A key that a rotation created.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NewKey {
    pub kid: String,
    /// `tokens`, `assertion` or `encryption`.
    pub purpose: String,
    /// When it begins to sign, or is published for encryption, in RFC 3339.
    pub from: String,
}

/// Response body of `POST /admin/reload`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReloadOutcome {
    /// Problems of the files and the keys; empty if all are in use, and `passerelle.toml` does not
    /// prevent the next start.
    pub findings: Vec<CheckFinding>,
}

/// Response body of `POST /admin/keys/rotate`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RotationOutcome {
    pub keys: Vec<NewKey>,
}

/// Response body of `POST` and `DELETE /admin/drain`.
#[derive(Debug, Serialize, Deserialize)]
pub struct DrainState {
    pub draining: bool,
}

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[
    ConsoleAct {
        name: "reload",
        confirm: None,
        perform: |act| {
            Box::pin(async move {
                let problems = act.admin.reload(act.by).await.findings.len();
                let message = match problems {
                    0 => "The files and the keys were read. All of them are in use.".to_owned(),
                    problems => format!(
                        "The files and the keys were read. Problems: {problems}; see the check config."
                    ),
                };
                Ok(ActOutcome::new(message))
            })
        },
    },
    ConsoleAct {
        name: "rotate-keys",
        confirm: Some(|act| {
            Box::pin(async move {
                Ok(ActConfirmation {
                    question: "Create the next keys?".to_owned(),
                    facts: vec![("Hub".to_owned(), act.admin.console.node.clone())],
                    fields: Vec::new(),
                    consequence: "The next signing keys are published at once and sign later. If the other hubs have key folders of their own, copy the new files there before that time.",
                    button: "Create them",
                })
            })
        }),
        perform: |act| {
            Box::pin(async move {
                let keys = act.admin.rotate(act.by).await?.keys;
                let listed = keys
                    .iter()
                    .map(|key| format!("{} ({}) from {}", key.kid, key.purpose, key.from));
                Ok(ActOutcome::new(format!(
                    "New keys: {}. If the other hubs have key folders of their own, copy the files there before that time.",
                    listed.collect::<Vec<_>>().join("; ")
                )))
            })
        },
    },
    ConsoleAct {
        name: "drain",
        confirm: Some(|act| {
            Box::pin(async move {
                Ok(ActConfirmation {
                    question: "Drain this hub?".to_owned(),
                    facts: vec![("Hub".to_owned(), act.admin.console.node.clone())],
                    fields: Vec::new(),
                    consequence: "The hub reports that it is not ready, so that the load balancer sends requests elsewhere. It still serves what reaches it. A restart ends this.",
                    button: "Drain it",
                })
            })
        }),
        perform: |act| {
            Box::pin(async move {
                act.admin.set_drained(true, act.by);
                Ok(ActOutcome::new(
                    "This hub is not ready now: the load balancer sends its requests elsewhere."
                        .to_owned(),
                ))
            })
        },
    },
    ConsoleAct {
        name: "resume",
        confirm: None,
        perform: |act| {
            Box::pin(async move {
                act.admin.set_drained(false, act.by);
                Ok(ActOutcome::new("This hub takes requests again.".to_owned()))
            })
        },
    },
];

impl AdminApi {
    /// Reads files and keys at once.
    pub(super) async fn reload(&self, by: &AdminRequester) -> ReloadOutcome {
        self.record_operation(EventKind::ReloadRequested, by);
        ReloadOutcome { findings: self.operations.reload().await }
    }

    /// Creates and loads new keys.
    ///
    /// # Errors
    /// `KeysNotRotated` with the reason; `NotFound` where the hub has no operations.
    pub(super) async fn rotate(&self, by: &AdminRequester) -> Result<RotationOutcome, AdminError> {
        self.record_operation(EventKind::KeyRotationRequested, by);
        let rotated = self.operations.rotate_keys().await;
        let keys = rotated.map_err(|reason| AdminError::new(ErrorCode::KeysNotRotated, &reason))?;
        Ok(RotationOutcome { keys })
    }

    /// Makes the hub not ready, or ready again.
    ///
    /// # Errors
    /// `NotFound` where the hub has no operations.
    pub(super) fn set_drained(&self, draining: bool, by: &AdminRequester) -> DrainState {
        let kind = if draining { EventKind::HubDrained } else { EventKind::HubResumed };
        self.record_operation(kind, by);
        self.console.readiness.set_drained(draining);
        DrainState { draining }
    }

    fn record_operation(&self, kind: EventKind, by: &AdminRequester) {
        tracing::warn!(
            operator = by.operator.name,
            operation = kind.as_str(),
            "operator's request"
        );
        self.console.core.audit.record(|| Event::new(kind).operator(&by.operator.name));
    }
}

/// Adds the routes of the operations.
pub(super) fn configure_routes(config: &mut ServiceConfig) {
    config
        .service(resource("/reload", "POST").post(reload))
        .service(resource("/keys/rotate", "POST").post(rotate_keys))
        .service(resource("/drain", "POST, DELETE").post(drain).delete(resume));
}

async fn reload(admin: Data<AdminApi>, by: ReqData<AdminRequester>) -> HttpResponse {
    ok_response(&admin.reload(&by).await)
}

async fn rotate_keys(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.rotate(&by).await?))
}

async fn drain(admin: Data<AdminApi>, by: ReqData<AdminRequester>) -> HttpResponse {
    ok_response(&admin.set_drained(true, &by))
}

async fn resume(admin: Data<AdminApi>, by: ReqData<AdminRequester>) -> HttpResponse {
    ok_response(&admin.set_drained(false, &by))
}
