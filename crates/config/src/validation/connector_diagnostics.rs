//! Reports problems and warnings about connectors with well-formed files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::model::Settings;
use passerelle_connector::ConfiguredConnector;
use passerelle_federation::identity::SubjectSource;
use passerelle_protocol::acr::{Level, Platform};
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::{Diagnostic, SourceFile, file_diagnostic};

/// Returns the warnings about settings and connectors that don't fit together.
pub(crate) fn settings_warnings(
    source: &SourceFile,
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    settings: &Settings,
) -> Vec<Diagnostic> {
    let mut warnings = unknown_category_warnings(connectors, settings);
    warnings.extend(early_signature_warning(source, connectors, settings));
    warnings
}

/// Returns a warning for each connector whose category has no heading.
fn unknown_category_warnings(
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    settings: &Settings,
) -> Vec<Diagnostic> {
    let known = |id: &str| settings.choice.categories.iter().any(|category| category.id == id);
    let unknown = connectors
        .values()
        .filter(|connector| connector.file.category.as_deref().is_some_and(|id| !known(id)));
    let warning = |connector: &ConfiguredConnector| {
        unknown_category_warning(&settings.connectors.join(format!("{}.toml", connector.id)))
    };
    unknown.map(warning).collect()
}

/// Returns a warning if the hub would sign with its next keys before identity providers have read them
/// in its metadata.
fn early_signature_warning(
    source: &SourceFile,
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    settings: &Settings,
) -> Option<Diagnostic> {
    const METADATA_READ_EVERY: Duration = Duration::from_secs(24 * 3600);
    settings.rotate_keys_every_days?;
    let mut active = connectors.values().filter(|connector| connector.file.enabled);
    let (connector, own_keys) = active.find_map(|one| Some((one, one.kind.own_keys_setting()?)))?;
    let key = "lifetimes.signing_key_lead_seconds";
    (settings.lifetimes.signing_key_lead() < METADATA_READ_EVERY).then(|| {
        let message = format!(
            "is less than a day, and rotate_keys_every_days is set: the identity provider {} reads the hub's next key in its metadata about once a day, and refuses what it signs before",
            connector.id
        );
        let fix = format!("write 172800, or {own_keys} in the connector's file, for keys that the hub does not rotate");
        source.diagnostic(key, message, fix)
    })
}

/// Returns a problem if `subject = "pivot"` and the connector doesn't declare that it verifies
/// identities.
///
/// With `subject = "pivot"` the identity provider's claims determine the user, with or without a
/// register. If its users could edit their own attributes, each of them could impersonate anyone.
/// Sandboxes are exempt.
pub(crate) fn check_identity(
    source: &SourceFile,
    connector: &ConfiguredConnector,
    subject: SubjectSource,
) -> Option<Diagnostic> {
    (subject == SubjectSource::Pivot && !connector.proves_identity()).then(|| {
        let message = "is missing, but subject = \"pivot\" identifies users by the claims of this identity provider: if its \
    users can edit them, any of them can sign in as anyone";
        let fix = "write identity = \"verified\" if it verifies names and birth data by documents or in person, remove this \
    connector, or set subject = \"provider\" in passerelle.toml";
        source.diagnostic("identity", message, fix)
    })
}

/// Creates the warning about a category without a heading.
pub(crate) fn unknown_category_warning(path: &Path) -> Diagnostic {
    let message = "is a category without a heading; the choice page shows this connector under the remaining ones";
    let fix = "add it to [choice] categories in passerelle.toml, or use the id of an existing one";
    Diagnostic { key: "category".into(), ..file_diagnostic(path, message, fix) }
}

/// Returns warnings about settings that are for tests only or have no effect on this platform.
pub(crate) fn connector_warnings(
    path: &Path,
    connector: &ConfiguredConnector,
    platform: Platform,
) -> Vec<Diagnostic> {
    let ConfiguredConnector { file, kind, .. } = connector;
    let mut warnings = Vec::new();
    let lowest = platform.levels().first().copied().unwrap_or(Level::Eidas1);
    let highest = platform.levels().last().copied().unwrap_or(Level::Eidas3);
    if file.levels.lowest > highest {
        let message =
            format!("is above {}, the highest level that this platform requests", highest.as_str());
        let fix = format!("write lowest = \"{}\", unless this is intended", highest.as_str());
        warnings.push(Diagnostic {
            key: "levels.lowest".into(),
            ..file_diagnostic(path, &message, &fix)
        });
    }
    // A level of [acr] above it can be the answer to a request for a lower one.
    let is_mapped = file.acr.levels().any(|(level, _)| level > highest);
    if file.levels.highest > highest && file.levels.lowest <= highest && !is_mapped {
        let message =
            format!("is above {}, the highest level that this platform requests", highest.as_str());
        let fix = format!("write highest = \"{}\"", highest.as_str());
        warnings.push(Diagnostic {
            key: "levels.highest".into(),
            ..file_diagnostic(path, &message, &fix)
        });
    }
    if file.levels.highest < lowest {
        let message = format!(
            "is below {}, the lowest level that this platform requests: no user can choose it",
            lowest.as_str()
        );
        let fix = "remove the file, or raise levels if the identity provider proves more";
        warnings.push(Diagnostic {
            key: "levels.highest".into(),
            ..file_diagnostic(path, &message, fix)
        });
    }
    let mut warn = |key: &str, message: &str, fix: &str| {
        let key = format!("kind.{}.{key}", kind.name);
        warnings.push(Diagnostic { key, ..file_diagnostic(path, message, fix) });
    };
    if !kind.reauthenticates() {
        let message = "doesn't prove when a user authenticated: requests with prompt=login, the default under federation rules, \
    and with max_age are not offered this identity provider";
        let fix = "set reauthenticates = true beside auth_time if you know that it authenticates the user each time";
        warn("auth_time", message, fix);
    }
    if let Some(key) = kind.insecure_key() {
        let message = "allows connections to this identity provider without TLS";
        warn(key, message, "never use it in production");
    }
    warnings
}

/// Warns about blocks for a `client_id` that no service provider has.
pub(crate) fn unknown_service_provider_warnings<'a>(
    folder: &Path,
    connectors: impl IntoIterator<Item = &'a ConfiguredConnector>,
    known: &BTreeSet<&ClientId>,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for connector in connectors {
        let file = folder.join(format!("{}.toml", connector.id));
        for (index, table) in connector.file.block.iter().enumerate() {
            for unknown in table
                .service_providers
                .iter()
                .flatten()
                .filter(|client_id| !known.contains(client_id))
            {
                let message = format!(
                    "names {unknown}, which is no service provider's client_id: this entry has no effect"
                );
                let warning = file_diagnostic(&file, &message, "correct it, or remove it");
                warnings.push(Diagnostic {
                    key: format!("block[{index}].service_providers"),
                    ..warning
                });
            }
        }
    }
    warnings
}
