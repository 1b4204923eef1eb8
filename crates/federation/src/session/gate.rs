//! Decides whether this service provider may use this connector at this level now.
//!
//! Does not depend on where its input comes from, nor which page shows the answer. It is one
//! function, so that the choice page disables exactly what the callback, the token endpoint and
//! reuse would refuse.

use crate::assurance::{AcrCheck, Level};

/// Input of the gate. It changes during a login, so it is read again for each check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateInput {
    pub service_provider: ServiceProviderStatus,
    pub connector: ConnectorStatus,
    pub access: ConnectorAccess,
}

/// Whether the service provider is active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceProviderStatus {
    Active,
    /// Disabled, or not registered.
    Inactive,
}

/// Whether the connector can be used, and at which levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectorStatus {
    /// Configured and enabled, with the lowest and the highest level that its identity provider
    /// proves.
    On {
        lowest: Level,
        highest: Level,
        /// Whether it proves, or its operator asserts, that the user authenticates again on demand.
        reauthenticates: bool,
    },
    Off,
    /// An operator has blocked it for all service providers.
    Blocked,
    /// No such connector.
    Unknown,
}

/// Whether the service provider may use the connector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectorAccess {
    Allowed,
    /// The service provider's file excludes this connector.
    ExcludedByServiceProvider,
    /// An operator has blocked this connector for this service provider.
    BlockedByOperator,
}

/// Why the gate refuses: the first reason in this order.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnavailableReason {
    #[error("the service provider is not active")]
    ServiceProviderInactive,
    #[error("the connector does not exist")]
    ConnectorUnknown,
    #[error("the connector is disabled")]
    ConnectorOff,
    #[error("an operator has blocked the connector")]
    ConnectorBlocked,
    #[error("the service provider's file excludes the connector")]
    ExcludedByServiceProvider,
    #[error("an operator has blocked the connector for this service provider")]
    BlockedForServiceProvider,
    #[error("the level is higher than the connector's highest")]
    LevelTooHigh,
    #[error("the level is lower than the connector's lowest")]
    LevelTooLow,
    #[error("the request demands a new authentication, which the connector can't prove")]
    ReauthenticationUnproven,
}

impl UnavailableReason {
    /// Returns whether an operator has blocked the connector.
    #[must_use]
    pub const fn is_block(self) -> bool {
        matches!(self, Self::ConnectorBlocked | Self::BlockedForServiceProvider)
    }
}

impl GateInput {
    /// Returns whether the connector proves when its user authenticated; true if it is not enabled.
    #[must_use]
    pub const fn proves_reauthentication(&self) -> bool {
        !matches!(self.connector, ConnectorStatus::On { reauthenticates: false, .. })
    }
}

/// Checks whether the service provider may use the connector at this level.
///
/// # Errors
/// The first reason against it. `LevelTooHigh` before the callback means that the connector's
/// highest level is below the request.
pub fn check_gate(input: &GateInput, at: AcrCheck) -> Result<(), UnavailableReason> {
    let (lowest, highest) = match (input.service_provider, input.connector) {
        (ServiceProviderStatus::Inactive, _) => {
            return Err(UnavailableReason::ServiceProviderInactive);
        }
        (ServiceProviderStatus::Active, ConnectorStatus::Unknown) => {
            return Err(UnavailableReason::ConnectorUnknown);
        }
        (ServiceProviderStatus::Active, ConnectorStatus::Off) => {
            return Err(UnavailableReason::ConnectorOff);
        }
        (ServiceProviderStatus::Active, ConnectorStatus::Blocked) => {
            return Err(UnavailableReason::ConnectorBlocked);
        }
        (ServiceProviderStatus::Active, ConnectorStatus::On { lowest, highest, .. }) => {
            (lowest, highest)
        }
    };
    let level = match at {
        AcrCheck::Requested(demand) => demand.level.max(lowest),
        AcrCheck::Achieved(level) => level,
    };
    let is_unproven = matches!(at, AcrCheck::Requested(demand) if demand.reauthentication)
        && !input.proves_reauthentication();
    match input.access {
        ConnectorAccess::ExcludedByServiceProvider => {
            Err(UnavailableReason::ExcludedByServiceProvider)
        }
        ConnectorAccess::BlockedByOperator => Err(UnavailableReason::BlockedForServiceProvider),
        ConnectorAccess::Allowed if level > highest => Err(UnavailableReason::LevelTooHigh),
        ConnectorAccess::Allowed if level < lowest => Err(UnavailableReason::LevelTooLow),
        ConnectorAccess::Allowed if is_unproven => Err(UnavailableReason::ReauthenticationUnproven),
        ConnectorAccess::Allowed => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assurance::AuthenticationRequirement;
    use Level::{Eidas1, Eidas2, Eidas3};

    const OPEN: GateInput = GateInput {
        service_provider: ServiceProviderStatus::Active,
        connector: ConnectorStatus::On { lowest: Eidas2, highest: Eidas2, reauthenticates: true },
        access: ConnectorAccess::Allowed,
    };

    #[test]
    fn refusals_by_table() {
        let inactive = GateInput { service_provider: ServiceProviderStatus::Inactive, ..OPEN };
        let blocked = GateInput { access: ConnectorAccess::ExcludedByServiceProvider, ..OPEN };
        for (input, level, answer) in [
            (OPEN, Eidas2, Ok(())),
            (OPEN, Eidas3, Err(UnavailableReason::LevelTooHigh)),
            (OPEN, Eidas1, Err(UnavailableReason::LevelTooLow)),
            (
                GateInput {
                    connector: ConnectorStatus::On {
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
                GateInput {
                    connector: ConnectorStatus::On {
                        lowest: Eidas1,
                        highest: Eidas3,
                        reauthenticates: true,
                    },
                    ..OPEN
                },
                Eidas3,
                Ok(()),
            ),
            (blocked, Eidas2, Err(UnavailableReason::ExcludedByServiceProvider)),
            (blocked, Eidas3, Err(UnavailableReason::ExcludedByServiceProvider)),
            (
                GateInput { access: ConnectorAccess::BlockedByOperator, ..OPEN },
                Eidas2,
                Err(UnavailableReason::BlockedForServiceProvider),
            ),
            (
                GateInput { connector: ConnectorStatus::Blocked, ..OPEN },
                Eidas2,
                Err(UnavailableReason::ConnectorBlocked),
            ),
            (
                GateInput { connector: ConnectorStatus::Blocked, ..blocked },
                Eidas3,
                Err(UnavailableReason::ConnectorBlocked),
            ),
            (
                GateInput { connector: ConnectorStatus::Blocked, ..inactive },
                Eidas2,
                Err(UnavailableReason::ServiceProviderInactive),
            ),
            (
                GateInput { connector: ConnectorStatus::Off, ..OPEN },
                Eidas2,
                Err(UnavailableReason::ConnectorOff),
            ),
            (
                GateInput { connector: ConnectorStatus::Off, ..blocked },
                Eidas2,
                Err(UnavailableReason::ConnectorOff),
            ),
            (
                GateInput { connector: ConnectorStatus::Unknown, ..OPEN },
                Eidas2,
                Err(UnavailableReason::ConnectorUnknown),
            ),
            (inactive, Eidas2, Err(UnavailableReason::ServiceProviderInactive)),
            (
                GateInput { connector: ConnectorStatus::Unknown, ..inactive },
                Eidas2,
                Err(UnavailableReason::ServiceProviderInactive),
            ),
        ] {
            assert_eq!(
                check_gate(&input, AcrCheck::Achieved(level)),
                answer,
                "{input:?} at {level:?}"
            );
        }
    }

    #[test]
    fn a_connector_without_auth_time_is_refused_where_a_new_authentication_is_demanded() {
        let unproven =
            ConnectorStatus::On { lowest: Eidas2, highest: Eidas2, reauthenticates: false };
        let requested = |reauthentication| {
            AcrCheck::Requested(AuthenticationRequirement { level: Eidas2, reauthentication })
        };
        for (connector, at, answer) in [
            (unproven, requested(true), Err(UnavailableReason::ReauthenticationUnproven)),
            (unproven, requested(false), Ok(())),
            (unproven, AcrCheck::Achieved(Eidas2), Ok(())),
            (OPEN.connector, requested(true), Ok(())),
        ] {
            assert_eq!(
                check_gate(&GateInput { connector, ..OPEN }, at),
                answer,
                "{connector:?} {at:?}"
            );
        }
    }

    #[test]
    fn a_requested_level_is_raised_to_the_lowest_and_an_achieved_one_is_not() {
        assert_eq!(
            check_gate(&OPEN, AcrCheck::Requested(AuthenticationRequirement::for_level(Eidas1))),
            Ok(())
        );
        assert_eq!(
            check_gate(&OPEN, AcrCheck::Achieved(Eidas1)),
            Err(UnavailableReason::LevelTooLow)
        );
        for at in [
            AcrCheck::Requested(AuthenticationRequirement::for_level(Eidas3)),
            AcrCheck::Achieved(Eidas3),
        ] {
            assert_eq!(check_gate(&OPEN, at), Err(UnavailableReason::LevelTooHigh));
        }
    }
}
