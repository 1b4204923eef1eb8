//! Checks the `[secrets]` table.

use passerelle_settings::{Diagnostic, SecretLocations, SourceFile, environment};

/// Checks `[secrets]`.
pub fn check_locations(
    source: &SourceFile,
    places: &SecretLocations,
    problems: &mut Vec<Diagnostic>,
) {
    let prefix = &places.environment_prefix;
    if !prefix.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
        || prefix.starts_with(|c: char| c.is_ascii_digit())
    {
        let fix =
            "use capital letters, digits and _, starting with a letter, for example \"LOGIN_\"";
        problems.push(source.diagnostic(
            "secrets.environment_prefix",
            "is not a valid prefix of a variable name",
            fix,
        ));
    }
    if prefix.starts_with(environment::PREFIX) {
        let message = "starts with PASSERELLE_, the prefix of variables that set keys of this file";
        problems.push(source.diagnostic(
            "secrets.environment_prefix",
            message,
            "choose another prefix, for example \"LOGIN_\"",
        ));
    }
    if places.folder.as_os_str().is_empty() {
        problems.push(source.diagnostic(
            "secrets.folder",
            "is empty",
            "write the path of a folder, for example \"secrets\"",
        ));
    }
}
