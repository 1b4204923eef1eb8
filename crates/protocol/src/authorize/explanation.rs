//! Explains an authorization request to the developer who sends it: what each parameter means to
//! the hub, and the outcome.
//!
//! Every decision comes from the checks of the authorization endpoint. Unlike the endpoint, which
//! answers with the first failure, an explanation names every failure. Values that identify a
//! person or that may be secret are shown as lengths.

mod displayable;
mod findings;
mod fixes;

use serde::{Serialize, Serializer};

use self::displayable::displayable;
use self::findings::ParameterCheck;
use super::parameter_source::{ParameterSource, reject_unresolved_request};
use super::{AuthorizationError, AuthorizationRequest, RequestMethod, checks, validate_request};
use crate::acr::{AuthenticationRequirement, Platform};
use crate::catalogue::{ErrorCode, Param};
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::params::Params;
use crate::registration::{ClientDirectory, ProtocolRules};

/// Maximum number of parameters outside the specification that are listed.
const MAX_OTHER_PARAMETERS: usize = 20;

/// The hub that explains a request.
#[derive(Clone, Copy)]
pub struct ExplanationContext<'a> {
    pub platform: Platform,
    pub issuer: &'a str,
    pub directory: &'a dyn ClientDirectory,
    /// Returns the claims that a scope releases.
    pub scope_claims: &'a dyn Fn(&Scope, ProtocolRules) -> Vec<String>,
    /// Returns why an identity provider can't be used for the request; `None` if it can.
    pub idp_unavailable_reason:
        &'a dyn Fn(&ClientId, &ConnectorId, AuthenticationRequirement) -> Option<String>,
}

/// What the hub would do with a request, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RequestExplanation {
    pub outcome: RequestOutcome,
    pub parameters: Vec<ParameterExplanation>,
}

/// The response of the authorization endpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum RequestOutcome {
    /// A login starts.
    Accepted,
    /// The parameters are in a request object or were pushed: an explanation opens neither.
    Unresolved,
    /// The browser shows an error page; nothing is sent to the service provider.
    ErrorPage(RejectionReason),
    /// The browser carries the error to the redirect URI.
    ErrorRedirect {
        redirect_uri: String,
        #[serde(flatten)]
        reason: RejectionReason,
    },
}

/// The first failed check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RejectionReason(pub ErrorCode);

impl Serialize for RejectionReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members {
            code: &'static str,
            error: &'static str,
            error_description: &'static str,
        }
        let entry = self.0.entry();
        let members =
            Members { code: entry.code, error: entry.oauth, error_description: entry.description };
        members.serialize(serializer)
    }
}

/// What one parameter means to the hub.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ParameterExplanation {
    pub name: String,
    /// The value, or its length; `None` if it was not sent.
    pub sent: Option<String>,
    pub status: ParameterStatus,
    pub message: String,
    pub code: Option<&'static str>,
    pub fix: Option<String>,
}

/// What the hub does with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterStatus {
    Accepted,
    /// It was not sent: a default applies.
    Default,
    Ignored,
    /// It is accepted, but should be changed.
    Warning,
    Rejected,
    /// It was not checked, because the client is unknown.
    Unchecked,
}

impl ParameterStatus {
    /// Returns the name, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Default => "default",
            Self::Ignored => "ignored",
            Self::Warning => "warning",
            Self::Rejected => "rejected",
            Self::Unchecked => "unchecked",
        }
    }
}

impl RequestExplanation {
    /// Returns true if any parameter has this status.
    pub fn has(&self, status: ParameterStatus) -> bool {
        self.parameters.iter().any(|parameter| parameter.status == status)
    }
}

impl RequestOutcome {
    fn from_result(result: &Result<AuthorizationRequest, AuthorizationError>) -> Self {
        match result {
            Ok(_) => Self::Accepted,
            Err(AuthorizationError::Page(code)) => Self::ErrorPage(RejectionReason(*code)),
            Err(AuthorizationError::Redirect(redirect, code)) => Self::ErrorRedirect {
                redirect_uri: redirect.redirect_uri().to_owned(),
                reason: RejectionReason(*code),
            },
        }
    }

    /// Returns what happens, in one or two sentences.
    pub fn summary(&self) -> String {
        match self {
            Self::Accepted => "The hub accepts the request and starts a login.".to_owned(),
            Self::Unresolved => "The hub reads the parameters from the request object, or from the pushed request. To check them, send the parameters of the object in an address without it; for a pushed request see the response of that endpoint.".to_owned(),
            Self::ErrorPage(RejectionReason(code)) => {
                let entry = code.entry();
                format!(
                    "The hub shows the user an error page with {}: {} The application receives nothing.",
                    entry.code, entry.description
                )
            }
            Self::ErrorRedirect { redirect_uri, reason: RejectionReason(code) } => {
                let entry = code.entry();
                format!(
                    "The hub sends the browser to {} with error={} ({}): {}",
                    displayable(redirect_uri),
                    entry.oauth,
                    entry.code,
                    entry.description
                )
            }
        }
    }
}

/// Explains a request. Checks that need the browser's session or the hub's store (rate limits, the
/// signature of `id_token_hint`) are not made.
pub fn explain_request(
    params: &Params,
    method: RequestMethod,
    context: &ExplanationContext<'_>,
) -> RequestExplanation {
    let ExplanationContext { platform, issuer, directory, .. } = *context;
    let client = checks::find_client(params, directory);
    let source = client.map_or(Ok(ParameterSource::Request), |registration| {
        ParameterSource::find(params, registration.protection)
    });
    let result = match source {
        Err(code) => Err(reject_unresolved_request(params, method, issuer, directory, code)),
        Ok(ParameterSource::Request) => {
            validate_request(params, method, platform, issuer, directory)
        }
        Ok(ParameterSource::Object(..) | ParameterSource::Pushed(_)) => {
            let parameters = parameters_beside_source(params);
            return RequestExplanation { outcome: RequestOutcome::Unresolved, parameters };
        }
    };
    let mut parameters = match client {
        Ok(registration) => {
            let request = result.as_ref().ok();
            let check = ParameterCheck { params, method, context, registration, request };
            Param::AUTHORIZATION.iter().filter_map(|param| check.explain(*param)).collect()
        }
        Err(code) => parameters_of_unknown_client(params, code),
    };
    parameters.sort_by_key(|parameter| display_position(&parameter.name));
    parameters.extend(other_parameters(params, directory.forwarded_params()));
    RequestExplanation { outcome: RequestOutcome::from_result(&result), parameters }
}

/// Explains the parameters outside a request object, or beside a `request_uri` of the hub.
fn parameters_beside_source(params: &Params) -> Vec<ParameterExplanation> {
    let sent = Param::AUTHORIZATION.iter().filter(|param| params.contains(param.name()));
    let explain = |param: &Param| {
        let (status, message) = match param {
            Param::ClientId => (ParameterStatus::Accepted, "is registered"),
            Param::Request | Param::RequestUri => {
                (ParameterStatus::Accepted, "contains or references the parameters")
            }
            _ => (
                ParameterStatus::Ignored,
                "is ignored: the parameters are in the request object or the pushed request",
            ),
        };
        ParameterExplanation {
            name: param.name().to_owned(),
            sent: findings::sent_value(*param, params),
            status,
            message: message.to_owned(),
            code: None,
            fix: None,
        }
    };
    sent.map(explain).collect()
}

/// The order of reading differs from the order of checks.
fn display_position(name: &str) -> usize {
    const FIRST: &[&str] =
        &["client_id", "redirect_uri", "response_type", "response_mode", "scope", "acr_values"];
    FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len())
}

fn parameters_of_unknown_client(params: &Params, code: ErrorCode) -> Vec<ParameterExplanation> {
    let was_sent = |param: &&Param| **param == Param::ClientId || params.contains(param.name());
    let explain = |param: &Param| {
        if *param == Param::ClientId {
            return findings::rejected(*param, params, code, None);
        }
        ParameterExplanation {
            name: param.name().to_owned(),
            sent: findings::sent_value(*param, params),
            status: ParameterStatus::Unchecked,
            message: "not checked: the rules depend on the client_id".to_owned(),
            code: None,
            fix: None,
        }
    };
    Param::AUTHORIZATION.iter().filter(was_sent).map(explain).collect()
}

/// Explains parameters that the endpoint doesn't know, up to a bound.
fn other_parameters(params: &Params, forwarded: &[String]) -> Vec<ParameterExplanation> {
    /// Parameters of other endpoints that must never be in an address.
    const SECRETS: &[&str] =
        &["client_secret", "client_assertion", "code_verifier", "code", "access_token", "password"];
    let is_known = |name: &str| Param::AUTHORIZATION.iter().any(|param| param.name() == name);
    let others = params.pairs().iter().filter(|(name, _)| !is_known(name));
    let explain = |(name, _): &(String, String)| {
        let (status, message, fix) = if SECRETS.contains(&name.as_str()) {
            let message = "does not belong in an authorization request: addresses are kept in browser histories and logs";
            let fix = "remove it; if the value was a real secret, replace the secret";
            (ParameterStatus::Warning, message, Some(fix.to_owned()))
        } else if forwarded.contains(name) {
            (ParameterStatus::Accepted, "is for identity providers whose files name it", None)
        } else {
            (ParameterStatus::Ignored, "the hub does not know this parameter", None)
        };
        let (message, code) = (message.to_owned(), None);
        ParameterExplanation { name: displayable(name), sent: None, status, message, code, fix }
    };
    others.take(MAX_OTHER_PARAMETERS).map(explain).collect()
}

#[cfg(test)]
mod tests;
