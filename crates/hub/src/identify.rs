//! Identifies the user of a verified authentication: identity rules, register, `sub`, claims,
//! methods (docs/integrate/scopes-and-claims.md).

use std::time::Duration;

use super::login_services::LoginServices;
use super::mail_step;
use super::step_audit;
use passerelle_audit::EventKind;
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_federation::Federation;
use passerelle_federation::assurance::amr::{AmrEvidence, DropReason, GatheredEvidence};
use passerelle_federation::identity::{
    ClaimName, DeclaredValues, Identity, IdentitySource, describe_type,
};
use passerelle_federation::login::upstream::Authentication;
use passerelle_federation::login::{ClaimsSource, IdentificationError, IdentifiedUser, Login};
use passerelle_grants::subjects::UpstreamAccount;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject, SupportId};
use passerelle_register::{ANSWER_TIMEOUT, Register, RegisterAnswer, RegisterError};
use passerelle_telemetry::printable_ascii;
use passerelle_telemetry::trace::{self, TracePeer};

/// Timeout for a register that does not apply its own timeout.
const REGISTER_TIMEOUT: Duration = ANSWER_TIMEOUT.saturating_add(Duration::from_millis(500));

/// Identifies the user.
///
/// # Errors
/// A `Y01` code if the register can't be queried, or the register or the identity rules reject the
/// identity; `GateClosed`, `IdpUnknown`, `IdTokenSubject` or `Internal` if no `sub` can be derived.
pub(super) async fn identify_user(
    services: &LoginServices,
    login: &Login,
    authentication: Authentication,
) -> Result<IdentifiedUser, IdentificationError> {
    let support_id = login.context.support_id.as_str();
    let read = Identity::with_dropped_claims(&authentication.claims, &services.identity_rules);
    let (pivot, dropped) = read.map_err(|error| {
        tracing::warn!(support_id, connector = %authentication.connector, %error, "identity rejected by the identity rules");
        let unmapped = error.claims().iter().copied().map(ClaimName::from);
        match unmapped.clone().find(|claim| authentication.unmapped_claims.contains(claim)) {
            Some(claim) => malformed(claim),
            None => IdentificationError { code: error.code(), claim: Some(error.claim.into()) },
        }
    })?;
    for dropped in dropped {
        let row = DroppedClaimRow {
            claim: dropped.claim.to_string(),
            problem: dropped.to_string(),
            fix: dropped.fix(),
        };
        let reason = dropped.rule.label();
        report_dropped_claim(services, support_id, &authentication.connector, reason, row);
    }
    let declared = read_declared_claims(services, support_id, &authentication)?;
    let pivot = Identity { declared, ..pivot };
    let (identity, source, register_address) = match services.identity_source {
        IdentitySource::Provider => (pivot, ClaimsSource::Provider, None),
        IdentitySource::Register => {
            let confirmed = confirm_with_register(services, login, &authentication, &pivot).await?;
            let address = confirmed.email.clone();
            (confirmed.with_contact_claims_from(&pivot), ClaimsSource::Register, address)
        }
    };
    let request = &login.context.request;
    let subject = subject_for(services, &request.client_id, &authentication, &identity)?;
    let federation = services.core.federation.load();
    let claims = federation.released_claim_values(request, &identity);
    let confirmed_at = (source == ClaimsSource::Register && federation.verified_claims.is_some())
        .then(|| services.core.env.now());
    let evidence = gather_evidence(services, support_id, &authentication)?;
    let authentication = drop_unused(authentication, source, &federation);
    let level = authentication.level;
    let mut user = IdentifiedUser {
        authentication,
        level,
        identity,
        subject,
        source,
        confirmed_at,
        evidence,
        claims,
        consented: false,
        informed: false,
        session: None,
        mail: None,
    };
    mail_step::store_verified_address(services, login, &user, register_address.as_deref()).await;
    user.mail = mail_step::mail_requirement(services, login, &user, register_address).await?;
    Ok(user)
}

/// Drops the identity provider's claims and `acr`: the session stores only the identity and the
/// evidence. Records remain if verified claims may name them: not for the register's identity, which
/// they do not prove.
fn drop_unused(
    authentication: Authentication,
    source: ClaimsSource,
    federation: &Federation,
) -> Authentication {
    let is_evidence = source == ClaimsSource::Provider
        && federation.lists_verified_claims(&authentication.connector);
    let electronic_records =
        if is_evidence { authentication.electronic_records } else { Vec::new() };
    let claims = serde_json::Map::new();
    Authentication { claims, acr: None, electronic_records, ..authentication }
}

/// Counts a malformed claim that the login left out. The log names the claim, the reason and the fix,
/// never the value: as a warning once for each reason and connector, because every login of the
/// identity provider has it.
fn report_dropped_claim(
    services: &LoginServices,
    support_id: &str,
    connector: &ConnectorId,
    reason: &'static str,
    row: DroppedClaimRow,
) {
    services.core.metrics.record_dropped_claim(connector, &row.claim, reason);
    let DroppedClaimRow { claim, problem, fix } = row.clone();
    let handle = services.connectors.handle(connector);
    if handle.is_ok_and(|handle| handle.published_health().dropped_claims.record(row)) {
        tracing::warn!(support_id, %connector, claim, problem, fix, "claim left out");
    } else {
        tracing::debug!(support_id, %connector, claim, problem, "claim left out");
    }
}

/// Returns the valid values of declared claims. Others are left out and reported.
fn read_declared_claims(
    services: &LoginServices,
    support_id: &str,
    authentication: &Authentication,
) -> Result<DeclaredValues, IdentificationError> {
    let (connector, federation) = (&authentication.connector, services.core.federation.load());
    let (values, rejected) = federation.declared_claims.read_values(&authentication.claims);
    let mut left_out = authentication.unmapped_claims.clone();
    for (claim, error) in rejected {
        let found = authentication.claims.get(&*claim).map_or("absent", describe_type);
        let row = DroppedClaimRow {
            claim: claim.to_string(),
            problem: format!("{}; it is {found}", error.to_string().trim_start_matches("it ")),
            fix: format!(
                "make the identity provider send it as [claims.{claim}] declares, or map it: [mapping] {claim} = {{ … }}"
            ),
        };
        report_dropped_claim(services, support_id, connector, error.label(), row);
        left_out.push(claim.into());
    }
    match federation.declared_claims.missing_required(&values) {
        Some(claim) if left_out.contains(&claim) => {
            tracing::warn!(support_id, %connector, %claim, "required claim malformed");
            Err(malformed(claim))
        }
        Some(claim) => {
            tracing::warn!(support_id, %connector, %claim, "required claim missing");
            Err(IdentificationError { code: ErrorCode::IdentityIncomplete, claim: Some(claim) })
        }
        None => Ok(values),
    }
}

/// The identity provider sent the claim, and the hub can't use its value.
const fn malformed(claim: ClaimName) -> IdentificationError {
    IdentificationError { code: ErrorCode::IdentityMalformed, claim: Some(claim) }
}

/// Returns the methods that are proven. Dropped methods are logged for the operator; the user is
/// not informed.
fn gather_evidence(
    services: &LoginServices,
    support_id: &str,
    authentication: &Authentication,
) -> Result<AmrEvidence, ErrorCode> {
    let connector = &authentication.connector;
    let federation = services.core.federation.load();
    let configured = federation.connector(connector).ok_or(ErrorCode::IdpUnknown)?;
    let GatheredEvidence { evidence, dropped, unknown } = AmrEvidence::gather(
        &authentication.amr,
        &configured.amr,
        &configured.mfa,
        &configured.passed_amr,
    );
    for (reason, count) in &dropped {
        services.core.metrics.record_dropped_amr_values(connector, reason.label(), *count);
    }
    // Evaluated only where the line is logged.
    tracing::debug!(
        support_id,
        %connector,
        amr = evidence
            .amr_values(&services.core.amr_marker)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        dropped = dropped
            .iter()
            .map(|(reason, count)| format!("{} {count}", reason.label()))
            .collect::<Vec<_>>()
            .join(", "),
        "authentication methods evaluated"
    );
    // Logs each dropped method once per connector; all are counted.
    if !dropped.is_empty()
        && let Ok(handle) = services.connectors.handle(connector)
    {
        let reasons = dropped
            .keys()
            .filter(|reason| **reason != DropReason::Unknown)
            .map(|reason| reason.label().to_owned());
        let texts = unknown
            .iter()
            .map(|value| format!("unknown {}", printable_ascii(value, 64)))
            .chain(reasons);
        let news: Vec<_> =
            texts.filter(|text| handle.published_health().is_new_anomaly(text)).collect();
        if !news.is_empty() {
            let dropped = news.join(", ");
            tracing::warn!(support_id, %connector, dropped, "some authentication methods of the identity provider are ignored");
        }
    }
    Ok(evidence.with_returned_acr(authentication.acr.as_deref(), &configured.acr_names))
}

/// Returns the register's identity.
async fn confirm_with_register(
    services: &LoginServices,
    login: &Login,
    authentication: &Authentication,
    pivot: &Identity,
) -> Result<Identity, ErrorCode> {
    let (support_id, connector) = (&login.context.support_id, &authentication.connector);
    services
        .core
        .audit
        .record(|| step_audit::login_event(EventKind::RegisterQueried, login).idp(connector));
    let confirmed = query_register(services, support_id, pivot).await;
    services.core.audit.record(|| {
        let answered = step_audit::login_event(EventKind::RegisterAnswered, login).idp(connector);
        confirmed.as_ref().err().map_or(answered.clone(), |code| answered.code(*code))
    });
    confirmed
}

async fn query_register(
    services: &LoginServices,
    support_id: &SupportId,
    pivot: &Identity,
) -> Result<Identity, ErrorCode> {
    let register = services.register.as_ref().ok_or(ErrorCode::RegisterUnavailable)?;
    let started = tokio::time::Instant::now();
    let mut span = trace::start_span("register lookup").with_peer(TracePeer::Register);
    let answer = span.run(query_with_timeout(register.as_ref(), pivot, support_id)).await;
    let outcome = answer.as_ref().map_or_else(RegisterError::label, RegisterAnswer::label);
    span.set_outcome(outcome);
    drop(span);
    match &answer {
        Err(error) if !error.was_sent() => {
            services.core.metrics.record_skipped_register_lookup(outcome);
        }
        Ok(_) | Err(_) => services.core.metrics.record_register_lookup(outcome, started.elapsed()),
    }
    let support_id = support_id.as_str();
    let answer = answer.map_err(|error| {
        let code = error.code();
        tracing::error!(support_id, code = code.entry().code, outcome, %error, "register query failed");
        code
    })?;
    answer.into_identity().inspect_err(|code| {
        tracing::warn!(
            support_id,
            code = code.entry().code,
            outcome,
            "register did not confirm the identity"
        );
    })
}

async fn query_with_timeout(
    register: &dyn Register,
    pivot: &Identity,
    support_id: &SupportId,
) -> Result<RegisterAnswer, RegisterError> {
    let answer = tokio::time::timeout(REGISTER_TIMEOUT, register.identify(pivot, support_id)).await;
    answer.unwrap_or_else(|_| Err(RegisterError::Unavailable("timeout".to_owned())))
}

/// Returns the user's `sub` at this service provider.
///
/// # Errors
/// `GateClosed` if the service provider is not active.
pub(super) fn subject_for(
    services: &LoginServices,
    client_id: &ClientId,
    authentication: &Authentication,
    identity: &Identity,
) -> Result<Subject, ErrorCode> {
    let federation = services.core.federation.load();
    let service = federation.active_service_provider(client_id).ok_or(ErrorCode::GateClosed)?;
    services.subjects.derive(
        service.subject_key_version,
        &service.sector,
        UpstreamAccount {
            connector: &authentication.connector,
            subject: &authentication.upstream_subject,
        },
        identity,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};

    struct FakeHangingRegister;

    #[async_trait::async_trait]
    impl Register for FakeHangingRegister {
        async fn identify(
            &self,
            _: &Identity,
            _: &SupportId,
        ) -> Result<RegisterAnswer, RegisterError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_register_that_does_not_answer_times_out() {
        let rules = IdentityRules {
            home_country: "99100".to_owned(),
            required: RequiredClaims::SubjectOnly,
        };
        let pivot = Identity::from_claims(&serde_json::Map::new(), &rules).unwrap();
        let error =
            query_with_timeout(&FakeHangingRegister, &pivot, &SupportId::new("0123456789AB"))
                .await
                .unwrap_err();
        assert_eq!(error.code(), ErrorCode::RegisterUnavailable);
    }
}
