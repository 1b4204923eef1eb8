//! Defines the types of the configuration files, one file for each topic. The JSON Schemas are
//! generated from them.

mod acr_table;
mod audit;
mod claim_rule;
mod connector;
mod connector_rules;
mod data_provider;
pub(crate) mod defaults;
mod limits;
mod metrics;
mod notices;
mod private_listener;
mod public_listener;
mod quotas;
mod register;
mod scopes;
mod secret_ref;
mod service_provider;
mod settings;
mod store;
mod theme;
mod traces;

pub use crate::identity::mapping::UnmappedClaims;
pub use crate::protocol::client_auth::AuthMethod;
pub use crate::protocol::registration::{ConsentRequirement, ProtocolRules};
pub use acr_table::*;
pub use audit::*;
pub use claim_rule::*;
pub use connector::*;
pub use connector_rules::*;
pub use data_provider::*;
pub use limits::*;
pub use metrics::*;
pub use notices::*;
pub use private_listener::*;
pub use public_listener::*;
pub use quotas::*;
pub use register::*;
pub use scopes::*;
pub use secret_ref::*;
pub use service_provider::*;
pub use settings::*;
pub use store::*;
pub use theme::*;
pub use traces::*;
