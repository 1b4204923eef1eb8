//! Default values of keys.

use std::path::PathBuf;

/// Maximum and default of `choice.remember_days`.
pub const MAX_REMEMBER_DAYS: u64 = 180;

/// Returns true.
pub const fn yes() -> bool {
    true
}
/// Returns the default of `default_language`.
pub fn default_language() -> String {
    passerelle_localization::DEFAULT_LANGUAGE.into()
}
/// Returns the default of `cookie_prefix`.
pub fn cookie_prefix() -> String {
    "passerelle".into()
}
/// Returns the default of `amr_marker`.
pub fn amr_marker() -> String {
    "hub".into()
}
/// Returns the default of `home_country`.
pub fn home_country() -> String {
    "99100".into()
}
/// Returns the default of `keys`.
pub fn keys() -> PathBuf {
    "keys".into()
}
/// Returns the default of `connectors`.
pub fn connectors() -> PathBuf {
    "../connectors".into()
}
/// Returns the default of `state`.
pub fn state() -> PathBuf {
    "state".into()
}
