//! Probes an identity provider at once (`docs/identity-provider-health.md`).

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};

use super::console_act::{ActOutcome, ConsoleAct};
use super::operators::AdminRequester;
use super::responses::{AdminError, ok_response};
use super::{AdminApi, resource};
use passerelle_audit::{Event, EventKind};
use passerelle_hub::registry::NotProbedError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// Response body of `POST /admin/connectors/{id}/probe`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OperatorProbeOutcome {
    pub connector: ConnectorId,
    /// Whether it works: the hub fetched its documents, or connected to it.
    pub works: bool,
    /// Why it does not: `Y` and six digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl OperatorProbeOutcome {
    /// Returns the outcome as a sentence.
    pub fn sentence(&self) -> String {
        match (&self.code, &self.reason) {
            (Some(code), Some(reason)) => format!("{} fails: {code} {reason}", self.connector),
            _ => format!(
                "{} works. If failed logins had disabled it, users may choose it again within a minute.",
                self.connector
            ),
        }
    }
}

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[ConsoleAct {
    name: "probe",
    confirm: None,
    perform: |act| {
        Box::pin(async move {
            let id = ConnectorId::new(act.form.field("connector").unwrap_or_default());
            let outcome = act.admin.probe(act.by, &id).await?;
            Ok(ActOutcome {
                message: outcome.sentence(),
                see: Some((format!("/admin/identity-providers/{id}"), id.to_string())),
            })
        })
    },
}];

impl AdminApi {
    /// Probes an identity provider at once, and records who asked for it.
    ///
    /// # Errors
    /// `BlockConnector` if there is none of this id; `IdentityProviderNotProbed` with the reason.
    pub(super) async fn probe(
        &self,
        by: &AdminRequester,
        id: &ConnectorId,
    ) -> Result<OperatorProbeOutcome, AdminError> {
        let (console, operator) = (&self.console, &by.operator.name);
        let record = || {
            tracing::warn!(operator, connector = %id, "operator probes an identity provider");
            console
                .core
                .audit
                .record(|| Event::new(EventKind::ProbeRequested).idp(id).operator(operator));
        };
        let error = console.connectors.probe(id, record).await?;
        let entry = error.map(ErrorCode::entry);
        Ok(OperatorProbeOutcome {
            connector: id.clone(),
            works: entry.is_none(),
            code: entry.map(|entry| entry.code.to_owned()),
            reason: entry.map(|entry| entry.description.to_owned()),
        })
    }
}

impl From<NotProbedError> for AdminError {
    fn from(error: NotProbedError) -> Self {
        match error {
            NotProbedError::UnknownConnector => ErrorCode::BlockConnector.into(),
            NotProbedError::Disabled
            | NotProbedError::NotRemote
            | NotProbedError::ProbesOff
            | NotProbedError::Paused { .. } => {
                Self::new(ErrorCode::IdentityProviderNotProbed, &error.to_string())
            }
        }
    }
}

/// Adds the route.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config.service(resource("/connectors/{id}/probe", "POST").post(probe));
}

async fn probe(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.probe(&by, &ConnectorId::new(id.into_inner())).await?))
}
