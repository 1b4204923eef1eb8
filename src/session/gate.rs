//! The gate: may this service provider be served through this connector, at this level, now? (decisions 1)
//!
//! Owns: the answer. Must not know: where the facts come from, or which page shows the answer.
//! One function, so that the choice page greys exactly what the callback, the token endpoint and reuse would refuse.

use crate::assurance::{At, Level};

/// What is so at the moment of asking. Facts change while a login is under way, so they are read anew each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub service_provider: ServiceProvider,
    pub connector: Connector,
    pub pairing: Pairing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceProvider {
    Active,
    /// Switched off, or no longer registered.
    Inactive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connector {
    /// Its file is there and enabled: the lowest and the highest level that its identity provider can prove.
    On {
        lowest: Level,
        highest: Level,
        /// It proves, or its operator vouches, that the user authenticates again on demand.
        reauthenticates: bool,
    },
    Off,
    /// A kill switch is in force, for everybody.
    Blocked,
    /// No such connector (any more).
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing {
    Allowed,
    /// The service provider's file blocks this connector.
    Blocked,
    /// A kill switch is in force between the two.
    Suspended,
}

/// Why the gate says no; the first reason of this order.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Closed {
    #[error("the service provider is not active")]
    ServiceProviderInactive,
    #[error("the connector does not exist")]
    ConnectorUnknown,
    #[error("the connector is switched off")]
    ConnectorOff,
    #[error("the connector is blocked at the moment")]
    ConnectorBlocked,
    #[error("the connector is blocked for this service provider")]
    Blocked,
    #[error("the connector is blocked for this service provider at the moment")]
    Suspended,
    #[error("the level is higher than the connector's highest")]
    LevelTooHigh,
    #[error("the level is lower than the connector's lowest")]
    LevelTooLow,
    #[error(
        "the connector can't prove that the user has authenticated again, and the request asks for it"
    )]
    ReauthenticationUnproven,
}

impl Facts {
    /// Returns true unless the connector is on and can't prove when its user authenticated.
    #[must_use]
    pub const fn reauthenticates(&self) -> bool {
        !matches!(self.connector, Connector::On { reauthenticates: false, .. })
    }
}

/// # Errors
/// The first reason against it. `LevelTooHigh` before the callback means: this connector is too low for the request.
pub fn may(facts: &Facts, at: At) -> Result<(), Closed> {
    let (lowest, highest) = match (facts.service_provider, facts.connector) {
        (ServiceProvider::Inactive, _) => return Err(Closed::ServiceProviderInactive),
        (ServiceProvider::Active, Connector::Unknown) => return Err(Closed::ConnectorUnknown),
        (ServiceProvider::Active, Connector::Off) => return Err(Closed::ConnectorOff),
        (ServiceProvider::Active, Connector::Blocked) => return Err(Closed::ConnectorBlocked),
        (ServiceProvider::Active, Connector::On { lowest, highest, .. }) => (lowest, highest),
    };
    let level = match at {
        At::Asked(demand) => demand.level.max(lowest),
        At::Obtained(level) => level,
    };
    let is_unproven =
        matches!(at, At::Asked(demand) if demand.reauthentication) && !facts.reauthenticates();
    match facts.pairing {
        Pairing::Blocked => Err(Closed::Blocked),
        Pairing::Suspended => Err(Closed::Suspended),
        Pairing::Allowed if level > highest => Err(Closed::LevelTooHigh),
        Pairing::Allowed if level < lowest => Err(Closed::LevelTooLow),
        Pairing::Allowed if is_unproven => Err(Closed::ReauthenticationUnproven),
        Pairing::Allowed => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assurance::Demand;
    use Level::{Eidas1, Eidas2, Eidas3};

    const OPEN: Facts = Facts {
        service_provider: ServiceProvider::Active,
        connector: Connector::On { lowest: Eidas2, highest: Eidas2, reauthenticates: true },
        pairing: Pairing::Allowed,
    };

    #[test]
    fn the_gate_by_table() {
        let inactive = Facts { service_provider: ServiceProvider::Inactive, ..OPEN };
        let blocked = Facts { pairing: Pairing::Blocked, ..OPEN };
        for (facts, level, answer) in [
            (OPEN, Eidas2, Ok(())),
            (OPEN, Eidas3, Err(Closed::LevelTooHigh)),
            (OPEN, Eidas1, Err(Closed::LevelTooLow)),
            (
                Facts {
                    connector: Connector::On {
                        lowest: Eidas1,
                        highest: Eidas3,
                        reauthenticates: true,
                    },
                    ..OPEN
                },
                Eidas1,
                Ok(()),
            ),
            (
                Facts {
                    connector: Connector::On {
                        lowest: Eidas1,
                        highest: Eidas3,
                        reauthenticates: true,
                    },
                    ..OPEN
                },
                Eidas3,
                Ok(()),
            ),
            (blocked, Eidas2, Err(Closed::Blocked)),
            (blocked, Eidas3, Err(Closed::Blocked)),
            (Facts { pairing: Pairing::Suspended, ..OPEN }, Eidas2, Err(Closed::Suspended)),
            (
                Facts { connector: Connector::Blocked, ..OPEN },
                Eidas2,
                Err(Closed::ConnectorBlocked),
            ),
            (
                Facts { connector: Connector::Blocked, ..blocked },
                Eidas3,
                Err(Closed::ConnectorBlocked),
            ),
            (
                Facts { connector: Connector::Blocked, ..inactive },
                Eidas2,
                Err(Closed::ServiceProviderInactive),
            ),
            (Facts { connector: Connector::Off, ..OPEN }, Eidas2, Err(Closed::ConnectorOff)),
            (Facts { connector: Connector::Off, ..blocked }, Eidas2, Err(Closed::ConnectorOff)),
            (
                Facts { connector: Connector::Unknown, ..OPEN },
                Eidas2,
                Err(Closed::ConnectorUnknown),
            ),
            (inactive, Eidas2, Err(Closed::ServiceProviderInactive)),
            (
                Facts { connector: Connector::Unknown, ..inactive },
                Eidas2,
                Err(Closed::ServiceProviderInactive),
            ),
        ] {
            assert_eq!(may(&facts, At::Obtained(level)), answer, "{facts:?} at {level:?}");
        }
    }

    #[test]
    fn a_connector_without_auth_time_is_closed_to_requests_for_a_new_authentication() {
        let unproven = Connector::On { lowest: Eidas2, highest: Eidas2, reauthenticates: false };
        let asked = |reauthentication| At::Asked(Demand { level: Eidas2, reauthentication });
        for (connector, at, answer) in [
            (unproven, asked(true), Err(Closed::ReauthenticationUnproven)),
            (unproven, asked(false), Ok(())),
            (unproven, At::Obtained(Eidas2), Ok(())),
            (OPEN.connector, asked(true), Ok(())),
        ] {
            assert_eq!(may(&Facts { connector, ..OPEN }, at), answer, "{connector:?} {at:?}");
        }
    }

    #[test]
    fn a_request_is_lifted_to_the_lowest_level_and_a_proof_is_not() {
        assert_eq!(may(&OPEN, At::Asked(Demand::level(Eidas1))), Ok(()));
        assert_eq!(may(&OPEN, At::Obtained(Eidas1)), Err(Closed::LevelTooLow));
        for at in [At::Asked(Demand::level(Eidas3)), At::Obtained(Eidas3)] {
            assert_eq!(may(&OPEN, at), Err(Closed::LevelTooHigh));
        }
    }
}
