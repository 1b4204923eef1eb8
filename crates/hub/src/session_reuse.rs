//! Decides whether the session that came with a request answers the login (single sign-on).

use super::identify;
use super::login_services::LoginServices;
use super::mail_step;
use passerelle_federation::assurance::AcrCheck;
use passerelle_federation::identity::IdentitySource;
use passerelle_federation::login::upstream::Authentication;
use passerelle_federation::login::{ClaimsSource, IdentifiedUser, Login, LoginState};
use passerelle_federation::session::{self, PromptLogin, ReuseRequest, Session};
use passerelle_grants::Gate as _;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ConnectorId, Secret, Subject};

/// Returns the user of the session, if every condition holds; otherwise the user authenticates.
///
/// # Errors
/// The session can't be loaded.
pub(super) async fn find_reusable_user(
    services: &LoginServices,
    login: &Login,
    cookie: Option<&Secret<String>>,
) -> Result<Option<IdentifiedUser>, ErrorCode> {
    let LoginState::Choosing(choosing) = &login.state else {
        return Ok(None);
    };
    // Most requests demand a new authentication, so nothing is loaded for them.
    let prompt = &login.context.request.prompt;
    let may_reuse = !prompt.login && !prompt.select_account && choosing.banner.is_none();
    let Some(cookie) = cookie.filter(|_| may_reuse) else { return Ok(None) };
    let session = services.sessions.find(cookie).await?;
    let user = session.and_then(|session| reusable_user(services, login, cookie, session));
    let Some(mut user) = user else { return Ok(None) };
    let Ok(mail) = mail_step::mail_requirement(services, login, &user, None).await else {
        // After a new authentication, the page says why.
        return Ok(None);
    };
    // `prompt=none` allows no page.
    if mail.is_some() && prompt.none {
        if mail_step::is_required(services, login, &user.authentication.connector) {
            return Ok(None);
        }
    } else {
        user.mail = mail;
    }
    Ok(Some(user).filter(|user| session_satisfies_request(&login.context.request, user)))
}

fn reusable_user(
    services: &LoginServices,
    login: &Login,
    cookie: &Secret<String>,
    session: Session,
) -> Option<IdentifiedUser> {
    let request = &login.context.request;
    if request.needs_auth_time() && session.login.auth_time.is_none() {
        return None;
    }
    let authentication = session_authentication(&session);
    let subject = identify::subject_for(
        services,
        &login.context.request.client_id,
        &authentication,
        &session.login.identity,
    )
    .ok()?;
    let reuse_request = reuse_request(services, login, subject.clone());
    let connector =
        services.connectors.permit_connector(&request.client_id, &session.login.connector);
    let level = session::check_reuse(&session, &reuse_request, &services.core.session_limits, connector, services.core.env.now())
        .inspect_err(|reason| tracing::debug!(support_id = %login.context.support_id, %reason, "session not reused"))
        .ok()?;
    let federation = services.core.federation.load();
    let claims = federation.released_claim_values(request, &session.login.identity);
    let shown = federation.consent_claims(&claims);
    let (client_id, scopes) = (&request.client_id, &request.scopes);
    let consented = session.has_consented(client_id, scopes, &shown);
    let informed = consented || session.has_been_informed(client_id, scopes, &shown);
    Some(IdentifiedUser {
        authentication,
        level,
        identity: session.login.identity,
        subject,
        source: match services.identity_source {
            IdentitySource::Register => ClaimsSource::Register,
            IdentitySource::Provider => ClaimsSource::Provider,
        },
        confirmed_at: session.login.confirmed_at,
        evidence: session.login.evidence,
        claims,
        consented,
        informed,
        session: Some(digest::sha256_base64url(cookie.reveal())),
        mail: None,
    })
}

/// Returns true if the session satisfies an essential `acr`. One that meets none of the requested
/// values is not reused either, so that the user can prove more, unless no page may be shown.
fn session_satisfies_request(request: &AuthorizationRequest, user: &IdentifiedUser) -> bool {
    let proof = user.acr_proof();
    request.accepts_acr(&proof) && (request.prompt.none || request.meets_requested_acr(&proof))
}

/// Returns what the login demands of a session whose user has this `sub`.
fn reuse_request(
    services: &LoginServices,
    login: &Login,
    session_subject: Subject,
) -> ReuseRequest {
    let request = &login.context.request;
    let at = AcrCheck::Requested(request.requirement());
    let is_allowed =
        |hint: &ConnectorId| services.connectors.check_access(&request.client_id, hint, at).is_ok();
    ReuseRequest {
        platform: services.core.platform,
        prompt_login: if request.prompt.login {
            PromptLogin::Requested
        } else {
            PromptLogin::NotRequested
        },
        max_age: request.max_age,
        level: request.level,
        idp_hints: request.idp_hints.iter().filter(|hint| is_allowed(hint)).cloned().collect(),
        required_subjects: login.context.required_subjects.clone(),
        session_subject,
    }
}

/// Returns the authentication that a session records.
pub(super) fn session_authentication(session: &Session) -> Authentication {
    let login = &session.login;
    let (connector, subject) = (login.connector.clone(), login.upstream_subject.clone());
    Authentication {
        auth_time: login.auth_time,
        session_ends_at: login.session_ends_at,
        electronic_records: login.electronic_records.clone(),
        session_hint: login.session_hint.clone(),
        ..Authentication::new(connector, subject, login.level)
    }
}
