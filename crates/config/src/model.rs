//! Defines the types of the configuration files, one file for each topic. The JSON Schemas are
//! generated from them.

mod confinement;
mod data_provider;
pub(crate) mod defaults;
mod key_files;
mod limits;
mod metrics;
mod pkcs11;
mod quotas;
mod register;
mod scopes;
mod service_provider;
mod settings;
mod store;
mod subject_key;
mod traces;
mod vault_transit;

pub use confinement::*;
pub use data_provider::*;
pub use key_files::*;
pub use limits::*;
pub use metrics::*;
pub use pkcs11::*;
pub use quotas::*;
pub use register::*;
pub use scopes::*;
pub use service_provider::*;
pub use settings::*;
pub use store::*;
pub use subject_key::*;
pub use traces::*;
pub use vault_transit::*;
