//! Single sign-on: may the session that came with this step answer the login? (decisions 5, Reuse)

use super::identify;
use super::means::LoginServices;
use crate::assurance::At;
use crate::assurance::amr::Told;
use crate::config::model::IdentitySource;
use crate::digest;
use crate::grant::Gate as _;
use crate::grant::session::shown;
use crate::ids::Secret;
use crate::login::upstream::Authentication;
use crate::login::{Login, Proven, Source, State};
use crate::session::{self, Asked, PromptLogin, Session};

/// What the session proves, if every condition holds. Whatever fails on the way means: authenticate.
pub(super) async fn reusable(
    means: &LoginServices,
    login: &Login,
    cookie: Option<&Secret<String>>,
) -> Option<Proven> {
    let State::Choosing(choosing) = &login.state else {
        return None;
    };
    // Most requests ask for a new authentication: then there is nothing to look up.
    let prompt = &login.ticket.request.prompt;
    let cookie =
        cookie.filter(|_| !prompt.login && !prompt.select_account && choosing.banner.is_none())?;
    let session = means.grants.session(cookie).await.ok()??;
    let request = &login.ticket.request;
    let authentication = authentication_of(&session);
    let holder = identify::subject(
        means,
        &login.ticket.request.client_id,
        &authentication,
        &session.identity,
    )
    .ok()?;
    let hint = request.idp_hint.clone().filter(|hint| {
        means.connectors.may(&request.client_id, hint, At::Asked(request.demand())).is_ok()
    });
    let asked = Asked {
        platform: means.platform,
        prompt_login: if request.prompt.login { PromptLogin::Asked } else { PromptLogin::NotAsked },
        max_age: request.max_age,
        level: request.level,
        idp_hint: hint,
        wanted: login.ticket.wanted.clone(),
        holder: holder.clone(),
    };
    let facts = means.connectors.facts(&request.client_id, &session.connector);
    let level = session::reuse(&session, &asked, &means.session_limits, &facts, means.env.now())
        .inspect_err(|reason| tracing::debug!(support_id = %login.ticket.support_id, %reason, "the session is not reused"))
        .ok()
        .filter(|level| request.accepts_acr(*level))?;
    let claims = means.federation.load().claims(request, &session.identity);
    let consented = session.consented(&request.client_id, &shown(&claims));
    Some(Proven {
        authentication,
        level,
        identity: session.identity,
        subject: holder,
        source: match means.identity_source {
            IdentitySource::Register => Source::Register,
            IdentitySource::Provider => Source::Provider,
        },
        evidence: session.evidence,
        claims,
        consented,
        session: Some(digest::fingerprint(cookie.reveal())),
    })
}

pub(super) fn authentication_of(session: &Session) -> Authentication {
    Authentication {
        connector: session.connector.clone(),
        upstream_subject: session.upstream_subject.clone(),
        level: session.level,
        amr: Told::Nothing,
        auth_time: session.auth_time,
        claims: serde_json::Map::new(),
        id_token: session.id_token.clone(),
    }
}
