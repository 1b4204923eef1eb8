//! The pages before and after an act of an operator.

use askama::Template;

use super::PageContext;
use crate::console_act::{ActConfirmation, ActOutcome};
use crate::logins::LoginSearch;
use crate::refresh_grants::RefreshGrantList;
use crate::responses::AdminError;
use passerelle_federation::validity::format_rfc3339;
use passerelle_grants::RefreshGrantSummary;
use passerelle_protocol::env::Timestamp;
use passerelle_web::pages::render_template;

/// Renders the page that says what an act will do. `fields` are sent again with the
/// confirmation.
pub(crate) fn confirmation_page(
    act: &str,
    confirmation: &ActConfirmation,
    fields: &[(&str, &str)],
    page: &PageContext,
) -> String {
    render_template(&ConfirmationTemplate { page, act, confirmation, fields })
}

/// Renders the page after an act.
pub(crate) fn done_page(outcome: &ActOutcome, page: &PageContext) -> String {
    render_template(&OutcomeTemplate { page, outcome: Some(outcome), error: None })
}

/// Renders the page after an act that was refused.
pub(crate) fn not_done_page(error: &AdminError, page: &PageContext) -> String {
    render_template(&OutcomeTemplate { page, outcome: None, error: Some(error) })
}

/// Renders the page of a request that was refused before its operator was known.
pub(crate) fn refused_page(error: &AdminError, nonce: &str) -> String {
    not_done_page(error, &PageContext::without_operator(nonce))
}

/// Renders the refresh tokens of a person.
pub(crate) fn grants_page(
    found: &RefreshGrantList,
    person: &LoginSearch,
    page: &PageContext,
) -> String {
    render_template(&GrantsTemplate { page, found, person })
}

#[derive(Template)]
#[template(path = "admin_confirmation.html")]
struct ConfirmationTemplate<'a> {
    page: &'a PageContext,
    act: &'a str,
    confirmation: &'a ActConfirmation,
    fields: &'a [(&'a str, &'a str)],
}

#[derive(Template)]
#[template(path = "admin_outcome.html")]
struct OutcomeTemplate<'a> {
    page: &'a PageContext,
    outcome: Option<&'a ActOutcome>,
    error: Option<&'a AdminError>,
}

#[derive(Template)]
#[template(path = "admin_grants.html")]
struct GrantsTemplate<'a> {
    page: &'a PageContext,
    found: &'a RefreshGrantList,
    person: &'a LoginSearch,
}

impl GrantsTemplate<'_> {
    #[expect(clippy::unused_self, reason = "a template calls a method of what it has")]
    fn ends_at(&self, grant: &RefreshGrantSummary) -> String {
        format_rfc3339(Timestamp::from_seconds(grant.ends_at.min(grant.expires_at)))
    }

    #[expect(clippy::unused_self, reason = "a template calls a method of what it has")]
    fn granted_at(&self, grant: &RefreshGrantSummary) -> String {
        format_rfc3339(Timestamp::from_seconds(grant.granted_at))
    }
}
