//! Why logins fail.

use askama::Template;

use super::PageContext;
use crate::console::failure_views::FailureOverview;
use passerelle_web::pages::render_template;

/// Renders the failed logins of all hubs.
pub(in crate::console) fn failures_page(failures: &FailureOverview, page: &PageContext) -> String {
    render_template(&FailuresTemplate { page, failures })
}

#[derive(Template)]
#[template(path = "admin_failures.html")]
struct FailuresTemplate<'a> {
    page: &'a PageContext,
    failures: &'a FailureOverview,
}
