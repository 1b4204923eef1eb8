//! Checks the `[secrets]` table.

use passerelle_settings::{FileCheck, SecretLocations, environment};

/// Checks `[secrets]`.
pub(crate) fn check_locations(check: &mut FileCheck<'_>, places: &SecretLocations) {
    let prefix = &places.environment_prefix;
    if !prefix.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
        || prefix.starts_with(|c: char| c.is_ascii_digit())
    {
        let fix =
            "use capital letters, digits and _, starting with a letter, for example \"LOGIN_\"";
        check.report("secrets.environment_prefix", "is not a valid prefix of a variable name", fix);
    }
    if prefix.starts_with(environment::PREFIX) {
        let message = "starts with PASSERELLE_, the prefix of variables that set keys of this file";
        check.report(
            "secrets.environment_prefix",
            message,
            "choose another prefix, for example \"LOGIN_\"",
        );
    }
    if places.folder.as_os_str().is_empty() {
        check.report(
            "secrets.folder",
            "is empty",
            "write the path of a folder, for example \"secrets\"",
        );
    }
}
