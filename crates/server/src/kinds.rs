//! The kinds of connectors of this program.

use passerelle_connector::kind_settings::ConnectorKindFormat;
use passerelle_connector::{oauth2, oidc, persona};
#[cfg(feature = "ldap")]
use passerelle_ldap as ldap;
#[cfg(feature = "openid4vp")]
use passerelle_openid4vp as openid4vp;

/// Every kind, in the order of messages.
pub(crate) const CONNECTORS: &[ConnectorKindFormat] = &[
    oidc::KIND,
    oauth2::KIND,
    #[cfg(feature = "ldap")]
    ldap::KIND,
    #[cfg(not(feature = "ldap"))]
    ConnectorKindFormat::missing("ldap"),
    #[cfg(feature = "openid4vp")]
    openid4vp::KIND,
    #[cfg(not(feature = "openid4vp"))]
    ConnectorKindFormat::missing("openid4vp"),
    persona::KIND,
];
