//! Decides whether this service provider may use this connector at this level now.
//!
//! Does not depend on where its input comes from, nor which page shows the answer. It is one
//! function, so that the choice page disables exactly what the callback, the token endpoint and
//! reuse would refuse.

use crate::assurance::AcrCheck;
use crate::blocks::BlockTarget;
use crate::connector_rules::AllowedConnectors;
use crate::{ConnectorProfile, Levels};
use passerelle_protocol::ids::ConnectorId;

/// What a connector can prove to a service provider that may use it now. Both change during a
/// login, so each check begins with [`permit_connector`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PermittedConnector {
    pub levels: Levels,
    /// Whether it proves, or its operator asserts, that the user authenticates again on demand.
    pub reauthenticates: bool,
}

/// Why a user can't choose an identity provider: the first reason in this order.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnavailableReason {
    /// It is disabled, or not registered.
    #[error("the service provider is not active")]
    ServiceProviderInactive,
    #[error("the connector does not exist")]
    ConnectorUnknown,
    #[error("the connector is disabled")]
    ConnectorDisabled,
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
    /// Its circuit is open. Only new logins are refused for it: the gate doesn't return it.
    #[error("the identity provider is down")]
    Down,
}

impl UnavailableReason {
    /// Returns whether an operator has blocked the connector.
    pub const fn is_block(self) -> bool {
        matches!(self, Self::ConnectorBlocked | Self::BlockedForServiceProvider)
    }
}

/// Checks everything but the level: whether the service provider may use the connector.
/// `allowed` is `None` if the service provider is not active, `block` is the block in force.
///
/// # Errors
/// The first reason against it.
pub fn permit_connector(
    allowed: Option<&AllowedConnectors>,
    id: &ConnectorId,
    connector: Option<&ConnectorProfile>,
    block: Option<&BlockTarget>,
) -> Result<PermittedConnector, UnavailableReason> {
    let allowed = allowed.ok_or(UnavailableReason::ServiceProviderInactive)?;
    let connector = connector.ok_or(UnavailableReason::ConnectorUnknown)?;
    if !connector.enabled {
        return Err(UnavailableReason::ConnectorDisabled);
    }
    if block == Some(&BlockTarget::Everyone) {
        return Err(UnavailableReason::ConnectorBlocked);
    }
    if !allowed.allows(id) {
        return Err(UnavailableReason::ExcludedByServiceProvider);
    }
    if block.is_some() {
        return Err(UnavailableReason::BlockedForServiceProvider);
    }
    let ConnectorProfile { levels, reauthenticates, .. } = *connector;
    Ok(PermittedConnector { levels, reauthenticates })
}

impl PermittedConnector {
    /// Checks whether the connector can be used at this level.
    ///
    /// # Errors
    /// The first reason against it. `LevelTooHigh` before the callback means that the connector's
    /// highest level is below the request.
    pub fn check_level(self, at: AcrCheck) -> Result<(), UnavailableReason> {
        let (level, reauthentication) = match at {
            AcrCheck::Requested(demand) => {
                (demand.level.max(self.levels.lowest), demand.reauthentication)
            }
            AcrCheck::Achieved(level) => (level, false),
        };
        if level > self.levels.highest {
            Err(UnavailableReason::LevelTooHigh)
        } else if level < self.levels.lowest {
            Err(UnavailableReason::LevelTooLow)
        } else if reauthentication && !self.reauthenticates {
            Err(UnavailableReason::ReauthenticationUnproven)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assurance::{AuthenticationRequirement, Level};
    use crate::testing::samples::connector_profile;
    use Level::{Eidas1, Eidas2, Eidas3};

    const SUBSTANTIAL: PermittedConnector = PermittedConnector {
        levels: Levels { lowest: Eidas2, highest: Eidas2 },
        reauthenticates: true,
    };

    #[test]
    fn permissions_by_table() {
        let all = AllowedConnectors::All;
        let excluding = AllowedConnectors::AllBut(["idp".into()].into());
        let on = connector_profile(SUBSTANTIAL.levels);
        let off = ConnectorProfile { enabled: false, ..on.clone() };
        let everyone = BlockTarget::Everyone;
        let one = BlockTarget::Only(["sp".into()].into());
        for (allowed, connector, block, answer) in [
            (Some(&all), Some(&on), None, Ok(SUBSTANTIAL)),
            (Some(&all), Some(&on), Some(&one), Err(UnavailableReason::BlockedForServiceProvider)),
            (Some(&excluding), Some(&on), None, Err(UnavailableReason::ExcludedByServiceProvider)),
            (
                Some(&excluding),
                Some(&on),
                Some(&one),
                Err(UnavailableReason::ExcludedByServiceProvider),
            ),
            (Some(&all), Some(&on), Some(&everyone), Err(UnavailableReason::ConnectorBlocked)),
            (
                Some(&excluding),
                Some(&on),
                Some(&everyone),
                Err(UnavailableReason::ConnectorBlocked),
            ),
            (Some(&all), Some(&off), None, Err(UnavailableReason::ConnectorDisabled)),
            (
                Some(&excluding),
                Some(&off),
                Some(&everyone),
                Err(UnavailableReason::ConnectorDisabled),
            ),
            (Some(&all), None, None, Err(UnavailableReason::ConnectorUnknown)),
            (None, Some(&on), None, Err(UnavailableReason::ServiceProviderInactive)),
            (None, Some(&on), Some(&everyone), Err(UnavailableReason::ServiceProviderInactive)),
            (None, None, None, Err(UnavailableReason::ServiceProviderInactive)),
        ] {
            assert_eq!(
                permit_connector(allowed, &"idp".into(), connector, block),
                answer,
                "{allowed:?} {block:?}"
            );
        }
    }

    #[test]
    fn a_connector_without_auth_time_is_refused_where_a_new_authentication_is_demanded() {
        let unproven = PermittedConnector { reauthenticates: false, ..SUBSTANTIAL };
        let requested = |reauthentication| {
            AcrCheck::Requested(AuthenticationRequirement { level: Eidas2, reauthentication })
        };
        for (connector, at, answer) in [
            (unproven, requested(true), Err(UnavailableReason::ReauthenticationUnproven)),
            (unproven, requested(false), Ok(())),
            (unproven, AcrCheck::Achieved(Eidas2), Ok(())),
            (SUBSTANTIAL, requested(true), Ok(())),
        ] {
            assert_eq!(connector.check_level(at), answer, "{connector:?} {at:?}");
        }
    }

    #[test]
    fn a_requested_level_is_raised_to_the_lowest_and_an_achieved_one_is_not() {
        let requested = |level| AcrCheck::Requested(AuthenticationRequirement::for_level(level));
        let wide = PermittedConnector {
            levels: Levels { lowest: Eidas1, highest: Eidas3 },
            ..SUBSTANTIAL
        };
        for (connector, at, answer) in [
            (SUBSTANTIAL, requested(Eidas1), Ok(())),
            (SUBSTANTIAL, requested(Eidas3), Err(UnavailableReason::LevelTooHigh)),
            (SUBSTANTIAL, AcrCheck::Achieved(Eidas1), Err(UnavailableReason::LevelTooLow)),
            (SUBSTANTIAL, AcrCheck::Achieved(Eidas2), Ok(())),
            (SUBSTANTIAL, AcrCheck::Achieved(Eidas3), Err(UnavailableReason::LevelTooHigh)),
            (wide, AcrCheck::Achieved(Eidas1), Ok(())),
            (wide, AcrCheck::Achieved(Eidas3), Ok(())),
        ] {
            assert_eq!(connector.check_level(at), answer, "{connector:?} {at:?}");
        }
    }
}
