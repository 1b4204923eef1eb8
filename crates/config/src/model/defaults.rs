//! Default values of keys.

use std::path::PathBuf;

/// Maximum and default of `choice.remember_days`.
pub(crate) const MAX_REMEMBER_DAYS: u64 = 180;

/// Returns true.
pub(crate) const fn yes() -> bool {
    true
}
/// Returns the default of `default_language`.
pub(crate) fn default_language() -> String {
    passerelle_localization::DEFAULT_LANGUAGE.into()
}
/// Returns the default of `cookie_prefix`.
pub(crate) fn cookie_prefix() -> String {
    "passerelle".into()
}
/// Returns the default of `amr_marker`.
pub(crate) fn amr_marker() -> String {
    "hub".into()
}
/// Returns the default of `home_country`.
pub(crate) fn home_country() -> String {
    "99100".into()
}
/// Returns the default of `keys`.
pub(crate) fn keys() -> PathBuf {
    "keys".into()
}
/// Returns the default of `connectors`.
pub(crate) fn connectors() -> PathBuf {
    "../connectors".into()
}
/// Returns the default of `state`.
pub(crate) fn state() -> PathBuf {
    "state".into()
}
