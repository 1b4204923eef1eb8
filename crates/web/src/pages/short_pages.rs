//! The short pages: the hub's root, the form post response, the confirmation of a logout, the end
//! of a logout.

use super::locale::PageMessages as _;
use super::{HiddenField, PageAction, PageChrome};
use crate::theme::support_url::SupportDetails;
use passerelle_localization::OperatorText;
use passerelle_protocol::discovery::path;

/// The page at the hub's root, for a user who opens its address.
#[derive(Clone, Copy, Debug)]
pub struct LandingPage;

page_template!(LandingPage, "landing.html", |_, t| t.text("landing-title"));

impl LandingPage {
    /// Returns the page that asks whether to sign out.
    const fn sign_out_url(self) -> &'static str {
        path::END_SESSION
    }

    fn support_link(self, chrome: &PageChrome<'_>) -> Option<String> {
        chrome.theme.support_link(&SupportDetails::default())
    }
}

/// The page of `response_mode=form_post`: script submits the form; without script the user does.
#[derive(Clone, Debug)]
pub struct FormPostPage {
    /// Registered redirect URI of the service provider.
    pub action: String,
    /// Parameters of the authorization response, in order.
    pub fields: Vec<HiddenField>,
    /// Name of the service provider.
    pub service: OperatorText,
}

page_template!(FormPostPage, "form_post.html", |_, t| t.text("return-title"));

/// The page that asks the user to confirm a logout.
#[derive(Clone, Debug)]
pub struct ConfirmLogOutPage {
    /// The CSRF token and the parameters of the request, which the form sends again.
    pub fields: Vec<HiddenField>,
    /// Name and registered home page of the service provider that requested the logout, if
    /// verified.
    pub service: Option<(OperatorText, String)>,
    /// Name of the session's identity provider; `None` if there is no session.
    pub provider: Option<OperatorText>,
}

page_template!(ConfirmLogOutPage, "log_out.html", |_, t| t.text("log-out-title"));

/// The page after a logout.
#[derive(Clone, Debug, Default)]
pub struct LoggedOutPage {
    /// Name of the service provider, if known.
    pub service: Option<OperatorText>,
    /// Return to the service provider, if known.
    pub action: Option<PageAction>,
    /// Name of the identity provider whose session has ended too.
    pub ended_provider: Option<OperatorText>,
    /// Name of the identity provider whose session could not be ended.
    pub unreached_provider: Option<OperatorText>,
    /// Name and registered home page of the service providers of the session, whose own sessions the
    /// hub does not end.
    pub services: Vec<(OperatorText, String)>,
}

page_template!(LoggedOutPage, "logged_out.html", |_, t| t.text("logged-out-title"));

impl LoggedOutPage {
    /// Returns whether the page knows no service provider that the user can go on to.
    const fn has_no_way_on(&self) -> bool {
        self.action.is_none() && self.services.is_empty()
    }

    fn support_link(&self, chrome: &PageChrome<'_>) -> Option<String> {
        chrome.theme.support_link(&SupportDetails {
            service: self.service.as_deref().unwrap_or_default(),
            identity_provider: self.unreached_provider.as_deref().unwrap_or_default(),
            ..SupportDetails::default()
        })
    }
}
