//! An attempt at a connector whose page the hub serves itself, such as a password form or a wallet
//! page.
//!
//! The page belongs to one login: only the browser that started the login sees it, and its forms
//! are bound to the login's cookie and to the attempt.

use actix_web::HttpRequest;

use super::cookies::HeldLogin;
use super::csrf::{self, FormPurpose};
use super::held_logins;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use passerelle_hub::{Connectors, LoginSummary};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// An attempt at a connector, for a login that this browser started.
pub struct PageAttempt {
    pub connector: ConnectorId,
    pub state: String,
    pub login: HeldLogin,
    pub summary: LoginSummary,
}

impl PageAttempt {
    /// Verifies that the connector has such a page and that this browser started the login.
    ///
    /// # Errors
    /// Returns the rejection to answer with.
    pub async fn verify(
        context: &RequestContext,
        connector: String,
        state: Option<&str>,
        has_page: fn(&Connectors, &ConnectorId) -> bool,
    ) -> Result<Self, Rejection> {
        let (hub, connector) = (&context.hub, ConnectorId::new(connector));
        if !has_page(&hub.connectors, &connector) {
            return Err(Rejection::OutsideLogin(ErrorCode::NotFound));
        }
        let state = state.ok_or(Rejection::malformed(ErrorCode::StateUnknown))?;
        let held = hub.cookies.held_logins(&context.request, None);
        let (login, summary) = held_logins::find_expecting(hub, &held, state).await?;
        // The login has ended, or the connector was blocked meanwhile: the login's page shows that.
        if !hub.connectors.login_may_use(&connector, &summary) {
            return Err(Rejection::OutdatedForm(login.hash));
        }
        Ok(Self { connector, state: state.to_owned(), login, summary })
    }

    /// Verifies that the hub's own page posted a form of this attempt.
    ///
    /// # Errors
    /// `InvalidForm`.
    pub fn verify_form(
        self,
        request: &HttpRequest,
        purpose: FormPurpose,
        token: Option<&str>,
    ) -> Result<Self, Rejection> {
        match csrf::verify_form(request, &self.login.secret, purpose, &self.state, token) {
            Ok(()) => Ok(self),
            Err(code) => {
                let Self { login, summary, .. } = self;
                Err(Rejection::InvalidForm { code, login, summary: Box::new(summary) })
            }
        }
    }
}
