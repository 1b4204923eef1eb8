//! The connector kinds of this program.

use super::{ldap, oauth2, oidc, persona};
use crate::config::connector_kind::ConnectorKindFormat;

/// Every kind, in the order of messages.
pub static KINDS: &[ConnectorKindFormat] = &[oidc::KIND, oauth2::KIND, ldap::KIND, persona::KIND];
