//! Results of `passerelle check connector` and `check service-provider`: plain data, one
//! diagnostic per check.

use serde::Serialize;
use serde_json::{Map, Value};

use passerelle_egress::certificate_expiry::MIN_CERTIFICATE_DAYS;
use passerelle_federation::identity::Claim;
use passerelle_protocol::env::Timestamp;

/// Outcome of one check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticStatus {
    Ok,
    /// Logins work, but the operator should look into it.
    Warning,
    /// Logins fail, or are not secure.
    Error,
}

/// Outcome of one check of a connector, or of a service provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CheckDiagnostic {
    /// Stable name of the check, for scripts.
    pub name: &'static str,
    pub status: DiagnosticStatus,
    pub message: String,
    /// How to fix it; `None` if the check passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl CheckDiagnostic {
    /// Returns the diagnostic of a passed check.
    pub fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: DiagnosticStatus::Ok, message: message.into(), fix: None }
    }

    /// Returns a warning.
    pub fn warning(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            status: DiagnosticStatus::Warning,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    /// Returns an error.
    pub fn error(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            status: DiagnosticStatus::Error,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    /// Returns the diagnostic of what can be used until `end`: an error if that is over, a warning in
    /// the two weeks before.
    pub fn validity(name: &'static str, end: Timestamp, now: Timestamp, fix: &str) -> Self {
        if end <= now {
            return Self::error(name, "it has expired", fix);
        }
        let days = end.since(now).as_secs() / 86_400;
        let message = format!("it is valid for {days} days");
        if days < MIN_CERTIFICATE_DAYS.unsigned_abs() {
            Self::warning(name, message, fix)
        } else {
            Self::ok(name, message)
        }
    }
}

/// Outcome of a sample of what an identity provider sends.
#[derive(Clone, Debug)]
pub struct SampleVerification {
    pub diagnostics: Vec<CheckDiagnostic>,
    /// Its claims, as the mapping gets them; `None` if a login would be rejected.
    pub claims: Option<Map<String, Value>>,
}

impl SampleVerification {
    /// Returns the outcome of a sample that is rejected for this reason.
    pub fn rejected(reason: CheckDiagnostic) -> Self {
        Self { diagnostics: vec![reason], claims: None }
    }
}

/// Inputs of a connector's diagnosis.
#[derive(Clone, Debug)]
pub struct DiagnosisContext {
    /// Redirect URI of a login.
    pub redirect_uri: String,
    /// Claims that an identity requires, each with the identity provider's claims it is mapped
    /// from.
    pub required_claims: Vec<(Claim, Vec<String>)>,
}

/// The hub's endpoints for one identity provider.
#[derive(Clone, Debug)]
pub struct HubEndpoints {
    /// Redirect URI of a login.
    pub redirect_uri: String,
    /// Redirect URI after a logout.
    pub post_logout_redirect_uri: String,
    /// Where the identity provider sends its logout tokens.
    pub backchannel_logout_uri: String,
    /// URL of the hub's own keys.
    pub jwks_uri: String,
}

/// Parameter of the hub's registration at an identity provider (OpenID Connect Dynamic Client
/// Registration 1.0 §2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RegistrationParameter {
    pub name: &'static str,
    pub value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_an_error_when_it_is_over_and_a_warning_in_the_two_weeks_before() {
        use DiagnosticStatus::{Error, Ok, Warning};
        let day = |days: u64| Timestamp::from_seconds(days * 86_400);
        for (end, status, message) in [
            (100, Error, "it has expired"),
            (113, Warning, "it is valid for 13 days"),
            (114, Ok, "it is valid for 14 days"),
        ] {
            let found = CheckDiagnostic::validity("certificate", day(end), day(100), "renew it");
            assert_eq!((found.status, found.message.as_str()), (status, message));
            assert_eq!(found.fix.is_some(), status != Ok, "{end}");
        }
    }
}
