//! From a proven authentication to a person: identity rules, the register, `sub`, claims, methods (decisions 7, 9).

use std::time::Duration;

use super::audited;
use super::means::LoginServices;
use crate::assurance::amr::{Dropped, Evidence, Gathered};
use crate::audit::Name;
use crate::config::model::IdentitySource;
use crate::identity::Identity;
use crate::ids::{ClientId, Subject, SupportId};
use crate::login::upstream::Authentication;
use crate::login::{Login, Proven, Source, Unidentified};
use crate::protocol::catalogue::ErrorCode;
use crate::register::{self, Answer, Register, RegisterFault};
use crate::telemetry::trace::{self, Party};

/// The longest that anyone waits for the register's word: it keeps a limit of its own, and this is for one that hangs.
const PATIENCE: Duration = register::LIMIT.saturating_add(Duration::from_millis(500));

/// # Errors
/// The catalogue's Y01 codes: the person can't be identified, or the register can't be asked.
pub(super) async fn identify(
    means: &LoginServices,
    login: &Login,
    authentication: Authentication,
) -> Result<Proven, Unidentified> {
    let support_id = login.ticket.support_id.as_str();
    let pivot = Identity::from_claims(&authentication.claims, &means.identity_rules).map_err(|fault| {
        tracing::warn!(support_id, connector = %authentication.connector, %fault, "the identity breaks the rules");
        Unidentified { code: fault.code(), claim: Some(fault.claim) }
    })?;
    let (identity, source) = match means.identity_source {
        IdentitySource::Provider => (pivot, Source::Provider),
        IdentitySource::Register => {
            (confirm(means, login, &authentication, pivot).await?, Source::Register)
        }
    };
    let request = &login.ticket.request;
    let subject = subject(means, &request.client_id, &authentication, &identity)?;
    let claims = means.federation.load().claims(request, &identity);
    let evidence = evidence(means, support_id, &authentication)?;
    // What the identity provider said has served; from here on only what the rules and the register made of it.
    let authentication = Authentication { claims: serde_json::Map::new(), ..authentication };
    let level = authentication.level;
    Ok(Proven {
        authentication,
        level,
        identity,
        subject,
        source,
        evidence,
        claims,
        consented: false,
        session: None,
    })
}

/// What the methods that were told of are worth. What is dropped of them is an operator's concern, never the person's.
fn evidence(
    means: &LoginServices,
    support_id: &str,
    authentication: &Authentication,
) -> Result<Evidence, ErrorCode> {
    let connector = &authentication.connector;
    let federation = means.federation.load();
    let configured = federation.connector(connector).ok_or(ErrorCode::IdpUnknown)?;
    let Gathered { evidence, dropped, unknown } =
        Evidence::gather(&authentication.amr, &configured.amr, &configured.mfa);
    for (reason, count) in &dropped {
        means.metrics.amr_dropped(connector, reason.label(), *count);
    }
    let amr = evidence
        .stated(&means.grants.amr_marker)
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let told = dropped
        .iter()
        .map(|(reason, count)| format!("{} {count}", reason.label()))
        .collect::<Vec<_>>()
        .join(", ");
    tracing::debug!(support_id, %connector, amr, dropped = told, "the authentication's methods");
    // Every login would say the same again, and is counted: the first tells the operator.
    if let Ok(handle) = means.connectors.handle(connector) {
        let reasons = dropped
            .keys()
            .filter(|reason| **reason != Dropped::Unknown)
            .map(|reason| reason.label().to_owned());
        let texts =
            unknown.iter().map(|value| format!("unknown {}", printable(value))).chain(reasons);
        let news: Vec<_> = texts.filter(|text| handle.health().is_news(text)).collect();
        if !news.is_empty() {
            let dropped = news.join(", ");
            tracing::warn!(support_id, %connector, dropped, "not all that the identity provider says of its methods is believed");
        }
    }
    Ok(evidence)
}

/// A stranger's text for the log: printable ASCII, cut.
fn printable(text: &str) -> String {
    text.chars().take(64).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}

/// The register's own data is what the service provider gets, plus the contact data that only the IdP has.
async fn confirm(
    means: &LoginServices,
    login: &Login,
    authentication: &Authentication,
    pivot: Identity,
) -> Result<Identity, ErrorCode> {
    let (support_id, connector) = (&login.ticket.support_id, &authentication.connector);
    means.grants.audit.tell(|| audited::of(Name::RegisterAsked, login).idp(connector));
    let confirmed = look_up(means, support_id, pivot).await;
    means.grants.audit.tell(|| {
        let answered = audited::of(Name::RegisterAnswered, login).idp(connector);
        confirmed.as_ref().err().map_or(answered.clone(), |code| answered.code(*code))
    });
    confirmed
}

async fn look_up(
    means: &LoginServices,
    support_id: &SupportId,
    pivot: Identity,
) -> Result<Identity, ErrorCode> {
    let register = means.register.as_ref().ok_or(ErrorCode::RegisterUnavailable)?;
    let started = tokio::time::Instant::now();
    let mut span = trace::span("register lookup").to(Party::Register);
    let answer = span.run(ask(register.as_ref(), &pivot, support_id)).await;
    let outcome = answer.as_ref().map_or_else(RegisterFault::label, Answer::label);
    span.outcome(outcome);
    drop(span);
    match &answer {
        Err(fault) if !fault.was_asked() => means.metrics.register_spared(outcome),
        Ok(_) | Err(_) => means.metrics.register_answered(outcome, started.elapsed()),
    }
    let support_id = support_id.as_str();
    let answer = answer.map_err(|fault| {
        let code = fault.code();
        tracing::error!(support_id, code = code.entry().code, outcome, %fault, "the register gave no usable answer");
        code
    })?;
    let identity = answer.into_identity().inspect_err(|code| {
        tracing::warn!(
            support_id,
            code = code.entry().code,
            outcome,
            "the register did not confirm the identity"
        );
    })?;
    Ok(identity.with_contact_of(&pivot))
}

async fn ask(
    register: &dyn Register,
    pivot: &Identity,
    support_id: &SupportId,
) -> Result<Answer, RegisterFault> {
    let answer = tokio::time::timeout(PATIENCE, register.identify(pivot, support_id)).await;
    answer.unwrap_or_else(|_| Err(RegisterFault::Unavailable("no answer in time".to_owned())))
}

/// The person's `sub` at this service provider.
pub(super) fn subject(
    means: &LoginServices,
    client_id: &ClientId,
    authentication: &Authentication,
    identity: &Identity,
) -> Result<Subject, ErrorCode> {
    let federation = means.federation.load();
    let service = federation.active(client_id).ok_or(ErrorCode::GateClosed)?;
    means.grants.subjects.of(service.subject_key_version, &service.sector, authentication, identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::rules::{Required, Rules};

    struct Mute;

    #[async_trait::async_trait]
    impl Register for Mute {
        async fn identify(&self, _: &Identity, _: &SupportId) -> Result<Answer, RegisterFault> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_register_that_does_not_answer_is_given_up_on() {
        let rules = Rules { home_country: "99100".to_owned(), required: Required::SubjectOnly };
        let pivot = Identity::from_claims(&serde_json::Map::new(), &rules).unwrap();
        let fault = ask(&Mute, &pivot, &SupportId::new("0123456789AB")).await.unwrap_err();
        assert_eq!(fault.code(), ErrorCode::RegisterUnavailable);
    }
}
