//! Lists, publishes and removes notices to users.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::blocks::{parse_body, persistence_warning};
use super::console_act::{ActConfirmation, ActOutcome, ActRequest, ConsoleAct};
use super::operators::{AdminRequester, validate_reason};
use super::responses::{AdminError, json_response, ok_response};
use super::{AdminApi, resource};
use crate::console::{console_page, is_browser_request, pages};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::notices::{NoticeSeverity, NoticeTable};
use passerelle_hub::notices::{NoticeError, NoticeRow};
use passerelle_hub::runtime_entries::Persistence;
use passerelle_protocol::catalogue::ErrorCode;

/// Response body of `GET /admin/notices`.
#[derive(Debug, Serialize, Deserialize)]
pub struct NoticeList {
    pub notices: Vec<NoticeRow>,
}

/// Request body of `POST /admin/notices`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewNotice {
    #[serde(flatten)]
    pub notice: NoticeTable,
    /// Why, for operators.
    pub reason: String,
}

/// Response body of publishing or removing a notice. The change is in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct NoticeChange {
    pub notice: NoticeRow,
    /// Whether the change survives a restart.
    pub persisted: bool,
    /// Why it is not persisted, and how to fix that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[
    ConsoleAct {
        name: "publish-notice",
        confirm: Some(|act| Box::pin(async move { confirm_publication(act) })),
        perform: |act| {
            Box::pin(async move {
                let (table, reason) = (table_of_form(act), act.form.reason()?);
                let change = act.admin.publish_notice(act.by, table, reason).await?;
                Ok(describe_change("The notice is published.", &change))
            })
        },
    },
    ConsoleAct {
        name: "remove-notice",
        confirm: Some(|act| Box::pin(async move { confirm_removal(act) })),
        perform: |act| {
            Box::pin(async move {
                let (id, reason) = (act.form.field("id").unwrap_or_default(), act.form.reason()?);
                let change = act.admin.remove_notice(act.by, id, Some(reason)).await?;
                Ok(describe_change("The notice is removed.", &change))
            })
        },
    },
];

fn table_of_form(act: &ActRequest<'_>) -> NoticeTable {
    let form = act.form;
    NoticeTable {
        text: form.texts("text"),
        from: form.time("from"),
        until: form.time("until"),
        severity: match form.field("severity") {
            Some("warning") => NoticeSeverity::Warning,
            _ => NoticeSeverity::Info,
        },
        link: form.field("link").map(str::to_owned),
    }
}

fn confirm_publication(act: &ActRequest<'_>) -> Result<ActConfirmation, AdminError> {
    let (table, reason) = (table_of_form(act), act.form.reason()?);
    let notice = act.admin.console.notices.check(table)?;
    let mut facts = describe_notice(notice.to_table());
    facts.push(("Reason, for operators".to_owned(), reason.to_owned()));
    Ok(ActConfirmation {
        question: "Publish this notice?".to_owned(),
        facts,
        fields: Vec::new(),
        consequence: "From its beginning to its end, every user of every service sees it on the pages of all hubs.",
        button: "Publish it",
    })
}

fn confirm_removal(act: &ActRequest<'_>) -> Result<ActConfirmation, AdminError> {
    let (id, reason) = (act.form.field("id").unwrap_or_default(), act.form.reason()?);
    let mut all = act.admin.console.notices.rows().into_iter();
    let notice = all.find(|row| row.id.as_deref() == Some(id)).ok_or(ErrorCode::NoticeUnknown)?;
    let mut facts = describe_notice(notice.to_table());
    facts.push(("Reason for removing it".to_owned(), reason.to_owned()));
    Ok(ActConfirmation {
        question: "Remove this notice?".to_owned(),
        facts,
        fields: Vec::new(),
        consequence: "Pages no longer show it.",
        button: "Remove it",
    })
}

fn describe_notice(notice: NoticeTable) -> Vec<(String, String)> {
    let NoticeTable { text, from, until, severity, link } = notice;
    let texts = text.into_iter().map(|(language, text)| (format!("Text, {language}"), text));
    let severity = match severity {
        NoticeSeverity::Info => "information",
        NoticeSeverity::Warning => "warning",
    };
    let more = [
        ("Kind", severity.to_owned()),
        ("Link", link.unwrap_or_else(|| "none".to_owned())),
        ("Begins", from.unwrap_or_else(|| "now".to_owned())),
        ("Ends", until.unwrap_or_else(|| "when it is removed".to_owned())),
    ];
    texts.chain(more.map(|(name, value)| (name.to_owned(), value))).collect()
}

fn describe_change(what: &str, change: &NoticeChange) -> ActOutcome {
    let warning = change.warning.as_ref().map(|warning| format!(" Warning: {warning}"));
    ActOutcome {
        message: format!("{what}{}", warning.unwrap_or_default()),
        see: Some(("/admin/notices".to_owned(), "the notices".to_owned())),
    }
}

/// Adds the routes.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config
        .service(resource("/notices", "GET, POST").get(list_notices).post(publish_notice))
        .service(resource("/notices/{id}", "DELETE").delete(remove_notice));
}

async fn list_notices(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> HttpResponse {
    let notices = admin.console.notices.rows();
    if is_browser_request(request.headers()) {
        let render = |page: &_| pages::notices_page(&notices, page);
        return console_page(&admin.console, Some(&by), 200, render);
    }
    ok_response(&NoticeList { notices })
}

async fn publish_notice(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let NewNotice { notice, reason } = parse_body(payload).await?;
    let reason = validate_reason(&reason).ok_or(ErrorCode::ReasonMissing)?;
    Ok(json_response(StatusCode::CREATED, &admin.publish_notice(&by, notice, reason).await?))
}

async fn remove_notice(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.remove_notice(&by, &id, None).await?))
}

impl AdminApi {
    /// Publishes a notice, logs it and records it in the audit log.
    async fn publish_notice(
        &self,
        by: &AdminRequester,
        table: NoticeTable,
        reason: &str,
    ) -> Result<NoticeChange, AdminError> {
        let published = self.console.notices.publish(table).await?;
        Ok(self.record_notice_change(EventKind::NoticePublished, by, published, Some(reason)))
    }

    /// Removes a published notice, logs it and records it in the audit log.
    async fn remove_notice(
        &self,
        by: &AdminRequester,
        id: &str,
        reason: Option<&str>,
    ) -> Result<NoticeChange, AdminError> {
        let removed = self.console.notices.remove(id).await?.ok_or(ErrorCode::NoticeUnknown)?;
        Ok(self.record_notice_change(EventKind::NoticeRemoved, by, removed, reason))
    }

    fn record_notice_change(
        &self,
        kind: EventKind,
        by: &AdminRequester,
        (notice, persistence): (NoticeRow, Persistence),
        reason: Option<&str>,
    ) -> NoticeChange {
        tracing::warn!(
            operator = by.operator.name,
            operation = kind.as_str(),
            notice = notice.id,
            reason,
            text = ?notice.text,
            from = notice.from,
            until = notice.until,
            "operator's notice to users"
        );
        self.console.core.audit.record(|| {
            let event = Event::new(kind)
                .notice(notice.id.as_deref().unwrap_or_default(), notice.to_table())
                .operator(&by.operator.name);
            reason.into_iter().fold(event, Event::reason)
        });
        let warning = persistence_warning(notice.id.as_deref(), persistence);
        NoticeChange { persisted: warning.is_none(), notice, warning }
    }
}

impl From<NoticeError> for AdminError {
    fn from(error: NoticeError) -> Self {
        match error {
            NoticeError::Invalid(diagnostics) => Self {
                code: ErrorCode::NoticeInvalid,
                details: diagnostics.iter().map(ToString::to_string).collect(),
            },
            NoticeError::NotUpdated(error) => error.into(),
        }
    }
}
