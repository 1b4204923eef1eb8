//! The connector kinds of this program.

use super::kind_settings::ConnectorKindFormat;
#[cfg(feature = "ldap")]
use super::ldap;
#[cfg(feature = "openid4vp")]
use super::openid4vp;
use super::{oauth2, oidc, persona};

/// Every kind, in the order of messages.
pub const KINDS: &[ConnectorKindFormat] = &[
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
