//! Decides whether a login needs a code by mail and where it goes, and does what the code's page asks
//! for (docs/mail.md).

use super::login_services::LoginServices;
use super::mail_codes::{MailCode, MailCodeError, MailUser};
use passerelle_federation::identity::Claim;
use passerelle_federation::login::{
    IdentificationError, IdentifiedUser, Login, MailAction, MailEffect, MailLanguage,
    MailRequirement,
};
use passerelle_grants::subjects::UpstreamAccount;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Secret};

/// Sector of the keyed digest of a person. No service provider can have a sector with this
/// character, so that none gets the digest as `sub`.
const MAIL_SECTOR: &str = "\0mail";

/// Returns true if the service provider or the connector requires a code unless the user proves two
/// factors or `mail`.
pub(super) fn is_required(
    services: &LoginServices,
    login: &Login,
    connector: &ConnectorId,
) -> bool {
    let federation = services.core.federation.load();
    federation.requires_mail_code(&login.context.request.client_id, connector)
}

/// Stores the verified address of an authentication, if none is stored and the register has none
/// (`register_address`): whether this login asks for a code or not, so that a thief of the account
/// who changes the address later gains nothing. Makes the same call whether one is stored or not, so
/// that the time does not reveal it. A failure does not end the login.
pub(super) async fn store_verified_address(
    services: &LoginServices,
    login: &Login,
    user: &IdentifiedUser,
    register_address: Option<&str>,
) {
    let Some(mail_codes) = &services.mail_codes else { return };
    let is_verified = user.identity.standard.get(&Claim::EmailVerified);
    let is_verified = is_verified.and_then(serde_json::Value::as_bool) == Some(true);
    let address = user.identity.email.clone().filter(|_| is_verified && register_address.is_none());
    let Some(address) = address.map(Secret::new) else { return };
    // One that no mail can be sent to would lock the user out.
    if mail_codes.check_address(&address).is_err() {
        return;
    }
    let stored = match mail_user(services, user) {
        Ok(mail_user) => mail_codes.store_address(&mail_user, &address).await.map_err(error_code),
        Err(code) => Err(code),
    };
    if let Err(code) = stored {
        let support_id = login.context.support_id.as_str();
        tracing::debug!(support_id, code = code.entry().code, "the verified address is not stored");
    }
}

/// Returns what the addresses of a user are stored by.
fn mail_user(services: &LoginServices, user: &IdentifiedUser) -> Result<MailUser, ErrorCode> {
    let connector = &user.authentication.connector;
    let subjects = &services.subjects;
    let account = UpstreamAccount { connector, subject: &user.authentication.upstream_subject };
    let version = subjects.keys.oldest_version();
    let person = subjects.derive(version, MAIL_SECTOR, account, &user.identity)?;
    Ok(MailUser { connector: connector.clone(), person })
}

/// Returns the code that the user must still enter; `None` if no rule asks for one, or the user has
/// proven enough. A level name asks only if an address is known that mail can be sent to.
/// `register_address` is the register's.
///
/// # Errors
/// `MailAddressMissing` or `MailAddressUnusable` if a required code can't be sent;
/// `MailUnavailable`.
pub(super) async fn mail_requirement(
    services: &LoginServices,
    login: &Login,
    user: &IdentifiedUser,
    register_address: Option<String>,
) -> Result<Option<Box<MailRequirement>>, IdentificationError> {
    let connector = &user.authentication.connector;
    let is_required = is_required(services, login, connector);
    let request = &login.context.request;
    let proof = user.evidence.acr_proof(user.level);
    if !user.evidence.is_without_second_step()
        || !(is_required || request.is_answered_better_with_mail(&proof))
    {
        return Ok(None);
    }
    // The check of the configuration refuses such rules.
    let mail_codes = services.mail_codes.as_ref().ok_or(ErrorCode::MailUnavailable)?;
    let mail_user = mail_user(services, user)?;
    let (address, source) = if let Some(address) = register_address {
        (Some(Secret::new(address)), "register")
    } else {
        let stored = mail_codes.stored_address(&mail_user).await.map_err(error_code)?;
        let asserted = || user.identity.email.clone().map(Secret::new);
        (stored.or_else(asserted), "identity provider")
    };
    let Some(address) = address else {
        return if is_required { Err(ErrorCode::MailAddressMissing.into()) } else { Ok(None) };
    };
    if let Err(error) = mail_codes.check_address(&address) {
        let support_id = login.context.support_id.as_str();
        tracing::warn!(%error, support_id, "the address of the {source} must be corrected there");
        return if is_required { Err(error_code(error).into()) } else { Ok(None) };
    }
    Ok(Some(Box::new(MailRequirement { person: mail_user.person, address })))
}

/// Sends a code, counts a wrong one, or confirms the address.
///
/// # Errors
/// `MailLimited`, `MailAddressUnusable` or `MailUnavailable`.
pub(super) async fn perform_mail_effect(
    services: &LoginServices,
    login: &Login,
    effect: MailEffect,
) -> Result<(), ErrorCode> {
    let mail_codes = services.mail_codes.as_ref().ok_or(ErrorCode::MailUnavailable)?;
    let MailEffect { connector, person, action } = effect;
    let user = MailUser { connector, person };
    let performed = match action {
        MailAction::Send { address, code, language, expires_at } => {
            let (language, service) = language_and_service(services, login, &language);
            let support_id = login.context.support_id.clone();
            let code = MailCode { user, address, code, language, service, expires_at, support_id };
            mail_codes.send_code(code).await
        }
        MailAction::RecordWrongCode => mail_codes.record_wrong_code(&user).await,
        MailAction::ConfirmAddress(address) => mail_codes.confirm_address(&user, &address).await,
    };
    performed.map_err(|error| {
        let code = error_code(error);
        let support_id = login.context.support_id.as_str();
        tracing::warn!(support_id, code = code.entry().code, "code by mail failed");
        code
    })
}

/// Returns the tag of the mail's language, and the service provider's name in it.
fn language_and_service(
    services: &LoginServices,
    login: &Login,
    language: &MailLanguage,
) -> (String, String) {
    let MailLanguage { chosen, accepted } = language;
    let (federation, request) = (services.core.federation.load(), &login.context.request);
    let locale =
        federation.languages.negotiate(chosen.as_deref(), &request.ui_locales, accepted.as_deref());
    let service = federation.service_provider(&request.client_id);
    let name = service.map(|service| String::from(&*locale.localize(&service.name)));
    (locale.tag().to_owned(), name.unwrap_or_default())
}

const fn error_code(error: MailCodeError) -> ErrorCode {
    match error {
        MailCodeError::Limited => ErrorCode::MailLimited,
        MailCodeError::AddressUnusable => ErrorCode::MailAddressUnusable,
        MailCodeError::Unavailable => ErrorCode::MailUnavailable,
    }
}
