//! Explains which levels of assurance a login of one service provider through one connector uses
//! (`passerelle acr explain`; R003, R010, R038).
//!
//! Every decision comes from the functions that the running hub calls. Does not contain rules of
//! its own.

mod acr_values;

use std::fmt;

pub use self::acr_values::ExplainedAcr;
use passerelle_config::LoadedConfig;
use passerelle_federation::assurance::acr::{self, AcrPolicy, LevelError};
use passerelle_federation::assurance::{AcrCheck, AuthenticationRequirement};
use passerelle_federation::identity::scopes::ScopeTableError;
use passerelle_federation::session::gate::{PermittedConnector, UnavailableReason};
use passerelle_protocol::acr::{AcrRequest, Level, Platform};
use passerelle_protocol::authorize;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};

/// Explanation of one kind of request; its `Display` is the output of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    pub platform: Platform,
    pub service_provider: ClientId,
    pub connector: ConnectorId,
    pub acr_values: String,
    pub decision: LevelDecision,
}

/// Whether a login can take place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LevelDecision {
    /// The authorization request is rejected for any connector.
    Rejected(ErrorCode),
    /// The connector can't be used for this request.
    Unavailable(UnavailableReason),
    Allowed(LevelFlow),
}

/// Levels in each step of an allowed login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelFlow {
    pub requested: Level,
    /// Lowest level that the identity provider's response must prove.
    pub required: Level,
    pub sent: SentLevel,
    /// The requested values in order, if the service provider has level names. The first that is
    /// met is answered.
    pub values: Vec<ExplainedAcr>,
    /// For each `acr` that the identity provider may return: the `acr` that the service provider
    /// sees.
    pub answers: Vec<(ReturnedAcr, Result<Level, LevelError>)>,
    /// For each level of a session from this connector: the `acr` of a response from it, if it
    /// suffices.
    pub sessions: Vec<(Level, Option<Level>)>,
    /// Requests with `prompt=login` or `max_age` can use this connector too.
    pub reauthenticates: bool,
    /// The service provider or the connector has `mail_code = true`.
    pub mail_code: bool,
}

/// Level in the request to the identity provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentLevel {
    /// In `acr_values`.
    AcrValues(String),
    /// The connector's file has no value for this level.
    Nothing,
    /// The connector's file has `send = false` in `[acr]`.
    Disabled,
    /// In the address of the sandbox's page.
    SandboxLevel(String),
}

/// Value of `acr` in the identity provider's response.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::Display)]
pub enum ReturnedAcr {
    /// A value that the connector's file lists.
    #[display("acr \"{_0}\" in the response")]
    Listed(String),
    #[display("a response without acr")]
    Absent,
    /// Any value that it doesn't list.
    #[display("any other acr")]
    Other,
}

/// Error returned when the service provider or the connector is unknown.
#[derive(thiserror::Error, Debug)]
pub enum ExplainError {
    #[error("there is no service provider {requested}; known: {known}")]
    ServiceProvider { requested: String, known: String },
    #[error("there is no connector {requested}; known: {known}")]
    Connector { requested: String, known: String },
    #[error(transparent)]
    Scopes(#[from] ScopeTableError),
}

/// Explains a request of `service_provider` through `connector`.
///
/// # Errors
/// Returns an error, with the known ids, if the service provider or the connector does not exist.
pub fn explain_levels(
    loaded: &LoadedConfig,
    service_provider: &str,
    connector: &str,
    acr_values: &str,
    claims: Option<&str>,
) -> Result<Explanation, ExplainError> {
    let (client_id, id) = (ClientId::from(service_provider), ConnectorId::from(connector));
    if !loaded.service_providers.contains_key(&client_id) {
        let known = join_names(loaded.service_providers.keys());
        return Err(ExplainError::ServiceProvider {
            requested: service_provider.to_owned(),
            known,
        });
    }
    let configured = loaded.connectors.get(&id).ok_or_else(|| ExplainError::Connector {
        requested: connector.to_owned(),
        known: join_names(loaded.connectors.keys()),
    })?;
    let platform = loaded.settings.platform;
    let federation = loaded.build_federation();
    let permitted = federation.permit_connector(&client_id, &id, None);
    let registration =
        federation.service_provider(&client_id).map(|service| service.registration.acr.clone());
    let request = authorize::evaluate_requested_acr(
        acr_values,
        claims,
        federation.rules_for(&client_id),
        &registration.unwrap_or_default(),
        platform,
    );
    let mut decision = evaluate_levels(
        platform,
        request,
        permitted,
        &configured.kind.acr_policy(&configured.file),
    );
    if let (LevelDecision::Allowed(flow), true) = (&mut decision, configured.kind.is_sandbox()) {
        flow.sent = SentLevel::SandboxLevel(flow.required.as_str().to_owned());
        // Its page offers nothing else.
        flow.answers.retain(|(returned, _)| matches!(returned, ReturnedAcr::Listed(_)));
    }
    if let LevelDecision::Allowed(flow) = &mut decision {
        flow.mail_code = federation.requires_mail_code(&client_id, &id);
    }
    Ok(Explanation {
        platform,
        service_provider: client_id,
        connector: id,
        acr_values: acr_values.to_owned(),
        decision,
    })
}

fn join_names<T: fmt::Display>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn evaluate_levels(
    platform: Platform,
    request: Result<AcrRequest, ErrorCode>,
    permitted: Result<PermittedConnector, UnavailableReason>,
    policy: &AcrPolicy,
) -> LevelDecision {
    // Nothing else of an inactive service provider's request is checked.
    if let Err(reason @ UnavailableReason::ServiceProviderInactive) = permitted {
        return LevelDecision::Unavailable(reason);
    }
    let request = match request {
        Ok(request) => request,
        Err(code) => return LevelDecision::Rejected(code),
    };
    let requested = request.level;
    let requirement = AuthenticationRequirement::for_level(requested);
    let checked = permitted.and_then(|permitted| {
        permitted.check_level(AcrCheck::Requested(requirement)).map(|()| permitted)
    });
    let permitted = match checked {
        Ok(permitted) => permitted,
        Err(reason) => return LevelDecision::Unavailable(reason),
    };
    let needed = policy.level_to_request(requested);
    let is_required = |level: &Level| request.accepts_level(*level);
    let acr_for = |returned: Option<&str>| {
        let achieved = policy.evaluate(returned, needed)?;
        if is_required(&achieved) {
            Ok(acr::id_token_level(achieved, platform))
        } else {
            Err(LevelError::NotRequired { achieved })
        }
    };
    let listed = policy
        .values
        .values()
        .flatten()
        .map(|value| (ReturnedAcr::Listed(value.clone()), acr_for(Some(value))));
    // An empty value is never listed.
    let unlisted = [(ReturnedAcr::Absent, acr_for(None)), (ReturnedAcr::Other, acr_for(Some("")))];
    let is_in_range = |level: &Level| (policy.lowest..=policy.highest).contains(level);
    let reuse = |level: Level| {
        let reusable = acr::level_if_reusable(level, requested, platform)
            .filter(is_required)
            .filter(|_| permitted.check_level(AcrCheck::Achieved(level)).is_ok());
        (level, reusable.map(|reusable| acr::id_token_level(reusable, platform)))
    };
    let names: Vec<_> = request.level_names().cloned().collect();
    let sent = policy.acr_values_to_send(&names, needed).join(" ");
    LevelDecision::Allowed(LevelFlow {
        requested,
        required: needed,
        sent: match sent.as_str() {
            "" if policy.sends_acr_values => SentLevel::Nothing,
            "" => SentLevel::Disabled,
            _ => SentLevel::AcrValues(sent),
        },
        values: acr_values::explain_values(&request, policy),
        answers: listed.chain(unlisted).collect(),
        sessions: Level::ALL.into_iter().filter(is_in_range).map(reuse).collect(),
        reauthenticates: permitted.reauthenticates,
        mail_code: false,
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = match self.platform {
            Platform::Standard => "standard",
            Platform::High => "high",
        };
        let Self { service_provider, connector, acr_values, .. } = self;
        writeln!(
            f,
            "{service_provider} requests acr_values \"{acr_values}\" on the {platform} platform through {connector}:"
        )?;
        match &self.decision {
            LevelDecision::Rejected(code) => {
                let entry = code.entry();
                writeln!(
                    f,
                    "- the request is rejected with {} ({}): {}",
                    entry.oauth, entry.code, entry.description
                )
            }
            LevelDecision::Unavailable(reason) => {
                writeln!(f, "- {reason}: {}", consequence(*reason))
            }
            LevelDecision::Allowed(flow) => flow.write(f),
        }
    }
}

const fn consequence(reason: UnavailableReason) -> &'static str {
    match reason {
        UnavailableReason::ServiceProviderInactive => {
            "each of its requests ends on an error page, without a response to it"
        }
        UnavailableReason::ConnectorUnknown
        | UnavailableReason::ConnectorDisabled
        | UnavailableReason::ConnectorBlocked
        | UnavailableReason::ExcludedByServiceProvider
        | UnavailableReason::BlockedForServiceProvider
        | UnavailableReason::LevelTooHigh
        | UnavailableReason::LevelTooLow
        | UnavailableReason::ReauthenticationUnproven
        | UnavailableReason::Down => {
            "it is disabled on the choice page, a hint to it is ignored, and a session from it is not reused"
        }
    }
}

/// Line about [`LevelFlow::mail_code`].
const MAIL_CODE: &str = "- the user enters a code by mail unless two categories or mail are proven: it adds mail to amr, and the level stays\n";

impl LevelFlow {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (requested, required) = (self.requested.as_str(), self.required.as_str());
        writeln!(f, "- requested: {requested}, the lowest level that the request accepts")?;
        if required != requested {
            writeln!(f, "- required: {required}, the connector's lowest level, which is higher")?;
        }
        let sent = match &self.sent {
            SentLevel::AcrValues(value) => {
                format!("to the identity provider: acr_values={value}")
            }
            SentLevel::Nothing => format!(
                "to the identity provider: no acr_values, because its file has no value for {required}"
            ),
            SentLevel::Disabled => {
                "to the identity provider: no acr_values, because its file has send = false in [acr]"
                    .to_owned()
            }
            SentLevel::SandboxLevel(level) => format!("to the sandbox's page: level={level}"),
        };
        writeln!(f, "- sent {sent}")?;
        acr_values::write_values(&self.values, f)?;
        let sees =
            if self.values.is_empty() { "the service provider sees acr" } else { "the level is" };
        for (returned, outcome) in &self.answers {
            match outcome {
                Ok(seen) => {
                    let seen = seen.as_str();
                    writeln!(f, "- {returned} is accepted: {sees} {seen}")?;
                }
                Err(error) => {
                    let code = error.code().entry().code;
                    writeln!(f, "- {returned} is rejected ({code}): {}", describe_error(*error))?;
                }
            }
        }
        if self.mail_code {
            f.write_str(MAIL_CODE)?;
        }
        if !self.reauthenticates {
            writeln!(
                f,
                "- with prompt=login or max_age it is disabled on the choice page: its file has no reauthenticates = true"
            )?;
        }
        writeln!(
            f,
            "- after a rejection the user returns to the choice page, which shows the reason; levels are never rounded"
        )?;
        let proving = if self.values.is_empty() { "" } else { ", if it meets a requested value" };
        for (achieved, seen) in &self.sessions {
            let reuse = match seen {
                Some(seen) => {
                    format!("reused unless prompt has login{proving}: {sees} {}", seen.as_str())
                }
                None => "not reused: the user authenticates again".to_owned(),
            };
            let achieved = achieved.as_str();
            writeln!(f, "- a session with {achieved} from this connector is {reuse}")?;
        }
        Ok(())
    }
}

fn describe_error(error: LevelError) -> String {
    match error {
        LevelError::Unlisted => {
            "the connector's file does not list it within its levels".to_owned()
        }
        LevelError::TooLow { achieved, needed } => {
            format!("it means {}, but {} is required", achieved.as_str(), needed.as_str())
        }
        LevelError::NotRequired { achieved } => {
            format!(
                "it means {}, which is not among the values of the essential acr claim",
                achieved.as_str()
            )
        }
        LevelError::Missing => "the connector's file has no assumed_level".to_owned(),
    }
}

#[cfg(test)]
mod tests;
