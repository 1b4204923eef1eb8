//! `passerelle acr explain`: what a login of one service provider by one connector does with levels, in words.
//!
//! Owns: the words. Every decision is asked of the functions that the running hub asks, so that what is said here is
//! what happens there; must not know a rule of its own (decisions 3 and 8; R003, R010, R038).

use std::fmt;

use crate::actor::registry::gate_facts;
use crate::assurance::acr::{self, Agreement, LevelFault};
use crate::assurance::{At, Demand};
use crate::config::model::ConnectorKind;
use crate::config::{Federation, Loaded};
use crate::connector;
use crate::identity::scopes::ScopeTableFault;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::acr::{Level, Platform};
use crate::protocol::authorize;
use crate::protocol::catalogue::ErrorCode;
use crate::session::gate::{self, Closed};

/// What becomes of one kind of request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    pub platform: Platform,
    pub service_provider: ClientId,
    pub connector: ConnectorId,
    pub acr_values: String,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The authorization request is refused, whatever the connector.
    Refused(ErrorCode),
    /// The connector can't be used for it.
    Closed(Closed),
    Open(Way),
}

/// The way of a login that may take place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    pub asked: Level,
    /// The least that the identity provider's answer must prove.
    pub needed: Level,
    pub sent: Sent,
    /// By what the identity provider returns: the `acr` that the service provider sees.
    pub answers: Vec<(Returned, Result<Level, LevelFault>)>,
    /// By the level of an earlier authentication at this connector: the `acr` of an answer from it, if it suffices.
    pub sessions: Vec<(Level, Option<Level>)>,
    /// Requests with `prompt=login` or `max_age` are offered this connector too.
    pub reauthenticates: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sent {
    /// As `acr_values`.
    AcrValues(String),
    /// Nothing is agreed for this level.
    Nothing,
    /// The connector's file says `send = false` in `[acr]`.
    Disabled,
    /// To the sandbox's own page.
    SandboxLevel(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Returned {
    /// A value that the connector's file lists.
    Listed(String),
    Absent,
    /// Any value that it doesn't list.
    Other,
}

/// Nothing can be explained: the names that there are.
#[derive(thiserror::Error, Debug)]
pub enum Unknown {
    #[error("there is no service provider {asked}; known: {known}")]
    ServiceProvider { asked: String, known: String },
    #[error("there is no connector {asked}; known: {known}")]
    Connector { asked: String, known: String },
    #[error(transparent)]
    Scopes(#[from] ScopeTableFault),
}

/// # Errors
/// A service provider or a connector that doesn't exist, with those that do.
pub fn explain(
    loaded: &Loaded,
    service_provider: &str,
    connector: &str,
    acr_values: &str,
    claims: Option<&str>,
) -> Result<Explanation, Unknown> {
    let (client_id, id) = (ClientId::from(service_provider), ConnectorId::from(connector));
    if !loaded.service_providers.contains_key(&client_id) {
        let known = listed(loaded.service_providers.keys());
        return Err(Unknown::ServiceProvider { asked: service_provider.to_owned(), known });
    }
    let configured = loaded.connectors.get(&id).ok_or_else(|| Unknown::Connector {
        asked: connector.to_owned(),
        known: listed(loaded.connectors.keys()),
    })?;
    let platform = loaded.settings.platform;
    let federation = Federation::of(loaded);
    let facts = gate_facts(&federation, &client_id, &id);
    let asked = authorize::level_asked(acr_values, claims, federation.rules(&client_id), platform);
    let mut verdict = judge(platform, asked, &facts, &connector::agreement(&configured.file));
    if let (Verdict::Open(way), ConnectorKind::Persona(_)) = (&mut verdict, &configured.file.kind) {
        way.sent = Sent::SandboxLevel(way.needed.as_str().to_owned());
        // Its page offers nothing else.
        way.answers.retain(|(returned, _)| matches!(returned, Returned::Listed(_)));
    }
    Ok(Explanation {
        platform,
        service_provider: client_id,
        connector: id,
        acr_values: acr_values.to_owned(),
        verdict,
    })
}

fn listed<T: fmt::Display>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn judge(
    platform: Platform,
    asked: Result<(Level, Vec<Level>), ErrorCode>,
    facts: &gate::Facts,
    agreement: &Agreement,
) -> Verdict {
    // An inactive service provider's request isn't looked at any further.
    if facts.service_provider == gate::ServiceProvider::Inactive {
        return Verdict::Closed(Closed::ServiceProviderInactive);
    }
    let (asked, required) = match asked {
        Ok(asked) => asked,
        Err(code) => return Verdict::Refused(code),
    };
    if let Err(closed) = gate::may(facts, At::Asked(Demand::level(asked))) {
        return Verdict::Closed(closed);
    }
    let needed = agreement.to_ask(asked);
    let is_required = |level: &Level| required.is_empty() || required.contains(level);
    let seen = |returned: Option<&str>| {
        let obtained = agreement.judge(returned, needed)?;
        if is_required(&obtained) {
            Ok(acr::in_id_token(obtained, platform))
        } else {
            Err(LevelFault::NotRequired { obtained })
        }
    };
    let listed = agreement
        .values
        .values()
        .flatten()
        .map(|value| (Returned::Listed(value.clone()), seen(Some(value))));
    // An empty value is never listed.
    let unlisted = [(Returned::Absent, seen(None)), (Returned::Other, seen(Some("")))];
    let held = |level: &Level| (agreement.lowest..=agreement.highest).contains(level);
    let again = |level: Level| {
        let held = acr::reused(level, asked, platform)
            .filter(is_required)
            .filter(|_| gate::may(facts, At::Obtained(level)).is_ok());
        (level, held.map(|held| acr::in_id_token(held, platform)))
    };
    Verdict::Open(Way {
        asked,
        needed,
        sent: match agreement.to_send(needed) {
            Some(value) => Sent::AcrValues(value.to_owned()),
            None if agreement.sends_acr_values => Sent::Nothing,
            None => Sent::Disabled,
        },
        answers: listed.chain(unlisted).collect(),
        sessions: Level::ALL.into_iter().filter(held).map(again).collect(),
        reauthenticates: facts.reauthenticates(),
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
            "{service_provider} asks for acr_values \"{acr_values}\", on the {platform} platform, by {connector}:"
        )?;
        match &self.verdict {
            Verdict::Refused(code) => {
                let entry = code.entry();
                writeln!(
                    f,
                    "- the request is refused with {} ({}): {}",
                    entry.oauth, entry.code, entry.description
                )
            }
            Verdict::Closed(closed) => writeln!(f, "- {closed}: {}", consequence(*closed)),
            Verdict::Open(way) => way.write(f),
        }
    }
}

const fn consequence(closed: Closed) -> &'static str {
    match closed {
        Closed::ServiceProviderInactive => {
            "every request of it ends on a page, and it hears nothing"
        }
        Closed::ConnectorUnknown
        | Closed::ConnectorOff
        | Closed::ConnectorBlocked
        | Closed::Blocked
        | Closed::Suspended
        | Closed::LevelTooHigh
        | Closed::LevelTooLow
        | Closed::ReauthenticationUnproven => {
            "it is greyed on the choice page, a hint to it is ignored, and a session that began there is not reused"
        }
    }
}

impl Way {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asked, needed) = (self.asked.as_str(), self.needed.as_str());
        writeln!(f, "- asked: {asked}, the lowest level that the request accepts")?;
        if needed != asked {
            writeln!(f, "- needed: {needed}, the connector's lowest level, for it is higher")?;
        }
        match &self.sent {
            Sent::AcrValues(value) => {
                writeln!(f, "- sent to the identity provider: acr_values={value}")?
            }
            Sent::Nothing => writeln!(
                f,
                "- sent to the identity provider: no acr_values, for its file has no value for {needed}"
            )?,
            Sent::Disabled => {
                writeln!(
                    f,
                    "- sent to the identity provider: no acr_values, for its file says send = false in [acr]"
                )?;
            }
            Sent::SandboxLevel(level) => {
                writeln!(f, "- sent to the sandbox's page: level={level}")?
            }
        }
        for (returned, outcome) in &self.answers {
            match outcome {
                Ok(seen) => writeln!(
                    f,
                    "- {returned} is accepted: the service provider sees acr {}",
                    seen.as_str()
                )?,
                Err(fault) => writeln!(
                    f,
                    "- {returned} is refused ({}): {}",
                    fault.code().entry().code,
                    why(*fault)
                )?,
            }
        }
        if !self.reauthenticates {
            writeln!(
                f,
                "- with prompt=login or max_age it is greyed on the choice page: its file has no reauthenticates = true"
            )?;
        }
        writeln!(
            f,
            "- a refusal leads back to the choice page, which says so; no level is ever rounded"
        )?;
        for (obtained, seen) in &self.sessions {
            let obtained = obtained.as_str();
            match seen {
                Some(seen) => writeln!(
                    f,
                    "- a session with {obtained} from there answers, where prompt has no login: the service provider sees acr {}",
                    seen.as_str()
                )?,
                None => writeln!(
                    f,
                    "- a session with {obtained} from there does not answer: the person authenticates again"
                )?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(value) => write!(f, "acr \"{value}\" in the answer"),
            Self::Absent => f.write_str("an answer without acr"),
            Self::Other => f.write_str("any other acr"),
        }
    }
}

fn why(fault: LevelFault) -> String {
    match fault {
        LevelFault::Unlisted => {
            "the connector's file does not list it within its levels".to_owned()
        }
        LevelFault::TooLow { obtained, needed } => {
            format!("it stands for {}, and {} is needed", obtained.as_str(), needed.as_str())
        }
        LevelFault::NotRequired { obtained } => {
            format!(
                "it stands for {}, which is none of the essential acr claim's values",
                obtained.as_str()
            )
        }
        LevelFault::Missing => "the connector's file has no assumed_level".to_owned(),
    }
}

#[cfg(test)]
mod tests;
