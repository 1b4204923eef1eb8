//! The short pages: the form post response, the confirmation of a logout, the end of a logout.

use super::{HiddenField, PageAction};

/// The page of `response_mode=form_post`: script submits the form; without script the user does.
#[derive(Clone, Debug)]
pub struct FormPostPage {
    /// Registered redirect URI of the service provider.
    pub action: String,
    /// Parameters of the authorization response, in order.
    pub fields: Vec<HiddenField>,
    /// Name of the service provider.
    pub service: String,
}

page_template!(FormPostPage, "form_post.html", |_, t| t.text("return-title"));

/// The page that asks the user to confirm a logout.
#[derive(Clone, Debug)]
pub struct ConfirmLogOutPage {
    /// The CSRF token and the parameters of the request, which the form sends again.
    pub fields: Vec<HiddenField>,
    /// Name and registered home page of the service provider that requested the logout, if
    /// verified.
    pub service: Option<(String, String)>,
    /// Name of the session's identity provider; `None` if there is no session.
    pub provider: Option<String>,
}

page_template!(ConfirmLogOutPage, "log_out.html", |_, t| t.text("log-out-title"));

/// The page after a logout.
#[derive(Clone, Debug, Default)]
pub struct LoggedOutPage {
    /// Name of the service provider, if known.
    pub service: Option<String>,
    /// Return to the service provider, if known.
    pub action: Option<PageAction>,
    /// Name of the identity provider whose session could not be ended.
    pub unreached_provider: Option<String>,
}

page_template!(LoggedOutPage, "logged_out.html", |_, t| t.text("logged-out-title"));
