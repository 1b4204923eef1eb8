//! Reads and checks connector files, each independently: an invalid file affects no other
//! connector.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::assurance::amr;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::acr::Level;

use super::acr_table::AcrTable;
use super::blocks::Block;
use super::diagnostic::Diagnostic;
use super::logo::Logo;
use super::model::{
    CONNECTOR_KINDS, ConnectorFile, ConnectorKind, ConnectorLimits, SecretRef, SubjectSource,
};
use super::quotas::check_rate;
use super::secret_rules::{SecretContext, SecretOwnerKind};
use super::settings::check_range;
use super::source_file::{SourceFile, file_diagnostic};
use super::{
    blocks, connector_diagnostics, ldap, list_toml_files, localized_text, mapping, oauth2, oidc,
    secrets,
};

/// A connector with a valid file.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfiguredConnector {
    /// The id: the file's name without `.toml`.
    pub id: ConnectorId,
    /// The file, with absolute paths.
    pub file: ConnectorFile,
    /// The hub's client secret or bind password at the identity provider; `None` for kinds without
    /// one.
    pub client_secret: Option<Secret<String>>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// The blocks of its `[[block]]` tables.
    pub blocks: Vec<Block>,
}

/// Whether `persona` connectors are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxMode {
    /// They are allowed.
    On,
    /// They are rejected.
    Off,
}

impl SandboxMode {
    /// Returns [`Self::On`] if `enabled`.
    #[must_use]
    pub const fn from_flag(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}

/// Maximum length of an `acr` value, which is usually a URI.
const MAX_ACR_BYTES: usize = 128;

/// Lists the files of the folder in order of name; the stem of each is a connector's id.
///
/// # Errors
/// Fails if the folder can't be read.
pub fn list_files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    list_toml_files(folder, "create it, with one .toml file for each identity provider")
}

/// Checks a parsed file.
///
/// # Errors
/// Returns every problem of the file.
pub fn check_source(
    source: &SourceFile,
    sandbox: SandboxMode,
    context: &SecretContext<'_>,
) -> Result<ConfiguredConnector, Vec<Diagnostic>> {
    let ConnectorDraft { id, file, client_secret, logo, blocks, problems, .. } =
        draft_from_source(source, sandbox, context);
    match file {
        Some(file) if problems.is_empty() => {
            Ok(ConfiguredConnector { id, file, client_secret, logo, blocks })
        }
        _ => Err(problems),
    }
}

/// The readable parts of a file, and all its problems.
#[derive(Clone, Debug)]
pub struct ConnectorDraft {
    /// The id: the file's name without `.toml`.
    pub id: ConnectorId,
    /// The file; `None` if it can't be deserialized.
    pub file: Option<ConnectorFile>,
    /// The hub's secret at the identity provider.
    pub client_secret: Option<Secret<String>>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// The valid blocks.
    pub blocks: Vec<Block>,
    /// Every problem of the file.
    pub problems: Vec<Diagnostic>,
    /// Set if the connector doesn't verify identities (`connector_diagnostics::check_identity`).
    pub unverified: Option<Diagnostic>,
}

/// Reads and checks one file, and returns its readable parts.
#[must_use]
pub fn read_draft(
    path: &Path,
    sandbox: SandboxMode,
    subject: SubjectSource,
    context: &SecretContext<'_>,
) -> ConnectorDraft {
    match SourceFile::read(path) {
        Ok(source) => {
            let draft = draft_from_source(&source, sandbox, context);
            let unverified = draft
                .file
                .as_ref()
                .and_then(|file| connector_diagnostics::check_identity(&source, file, subject));
            ConnectorDraft { unverified, ..draft }
        }
        Err(problem) => {
            let problems = check_file_name(path).into_iter().chain([problem]).collect();
            ConnectorDraft {
                id: connector_id(path),
                file: None,
                client_secret: None,
                logo: None,
                blocks: Vec::new(),
                problems,
                unverified: None,
            }
        }
    }
}

fn connector_id(path: &Path) -> ConnectorId {
    ConnectorId::from(path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default())
}

fn check_file_name(path: &Path) -> Option<Diagnostic> {
    let fix =
        "rename it: 1 to 64 characters of a-z, 0-9 and -, then .toml; the name confirm is reserved";
    let well_formed = ConnectorId::is_well_formed(connector_id(path).as_str());
    (!well_formed).then(|| file_diagnostic(path, "the file name is not a valid connector id", fix))
}

fn draft_from_source(
    source: &SourceFile,
    sandbox: SandboxMode,
    context: &SecretContext<'_>,
) -> ConnectorDraft {
    let id = connector_id(source.path());
    let context = &context.for_file(SecretOwnerKind::Connector, source.path());
    let mut problems: Vec<Diagnostic> = check_file_name(source.path()).into_iter().collect();
    let Some(mut file) = source.deserialize::<ConnectorFile>(&mut problems) else {
        return ConnectorDraft {
            id,
            file: None,
            client_secret: None,
            logo: None,
            blocks: Vec::new(),
            problems,
            unverified: None,
        };
    };
    let client_secret = check_file(source, &file, sandbox, context, &mut problems);
    let path = match &mut file.kind {
        ConnectorKind::Persona(persona) => persona.persons.as_mut(),
        ConnectorKind::Ldap(kind) => kind.ca.as_mut(),
        ConnectorKind::Oidc(kind) => kind.ca.as_mut(),
        ConnectorKind::Oauth2(kind) => kind.ca.as_mut(),
    };
    if let Some(path) = path {
        *path = context.folder.join(&*path);
    }
    let logo =
        read_logo(source, &file, source.path().parent().unwrap_or(Path::new("")), &mut problems);
    let blocks = blocks::parse_blocks(source, &id, &file.block, &mut problems);
    ConnectorDraft { id, file: Some(file), client_secret, logo, blocks, problems, unverified: None }
}

fn check_file(
    source: &SourceFile,
    file: &ConnectorFile,
    sandbox: SandboxMode,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Secret<String>> {
    if source.key_count("kind") > 1 {
        let fix = format!(
            "keep one of: {}",
            CONNECTOR_KINDS.map(|kind| format!("[kind.{kind}]")).join(", ")
        );
        problems.push(source.diagnostic("kind", "contains more than one kind", fix));
    }
    localized_text::check_texts(source, "name", &file.name, problems);
    check_limits(source, file.limits, problems);
    if file.category.as_deref().is_some_and(|category| !is_category_id(category)) {
        let fix = "use 1 to 32 characters of a-z, 0-9 and -, as [choice] categories in passerelle.toml does";
        problems.push(source.diagnostic("category", "is not a valid category id", fix));
    }
    if file.levels.lowest > file.levels.highest {
        problems.push(source.diagnostic(
            "levels",
            "has a lowest level above the highest",
            "swap the two",
        ));
    }
    check_methods(source, "amr", &file.amr, problems);
    check_methods(source, "mfa", &file.mfa, problems);
    if file.amr.iter().any(|name| name == "mfa") {
        let fix = "list the methods behind it, for example [\"pwd\", \"otp\"]; the hub derives mfa from them";
        problems.push(source.diagnostic("amr", "contains mfa, which is not a single method", fix));
    }
    if file.mfa.iter().any(|name| name == "mfa") {
        problems.push(source.diagnostic(
            "mfa",
            "defines mfa by itself",
            "list the methods behind it, for example [\"pwd\", \"otp\"]",
        ));
    }
    mapping::check_mapping(source, file, problems);
    match &file.kind {
        ConnectorKind::Oidc(kind) => {
            if file.levels.lowest <= file.levels.highest {
                check_levels(source, file, problems);
            }
            check_ignore_acr(source, file, problems);
            oidc::check_oidc(source, kind, context.folder, problems);
            oidc::check_encryption(source, kind, problems);
            oidc::resolve_client_secret(source, kind, context, problems)
        }
        ConnectorKind::Oauth2(kind) => {
            check_levels_without_acr(source, file, problems);
            oauth2::check_oauth2(source, kind, context.folder, problems);
            resolve_or_report(
                source,
                "kind.oauth2.client_secret",
                &kind.client_secret,
                context,
                problems,
            )
        }
        ConnectorKind::Ldap(kind) => {
            check_levels_without_acr(source, file, problems);
            ldap::check_ldap(source, kind, context.folder, problems);
            resolve_or_report(
                source,
                "kind.ldap.bind_password",
                &kind.bind_password,
                context,
                problems,
            )
        }
        ConnectorKind::Persona(persona) => {
            if sandbox == SandboxMode::Off {
                let message =
                    "is a sandbox, where anyone can sign in as anyone, but sandbox is off";
                let fix = "remove this file, or set sandbox = true in passerelle.toml (never in production)";
                problems.push(source.diagnostic("kind.persona", message, fix));
            }
            // The persona page offers the hub's own levels, so these keys would have no effect.
            let unused = [
                ("acr", file.acr != AcrTable::default()),
                ("assumed_level", file.assumed_level.is_some()),
                ("ignore_acr", file.ignore_acr),
            ];
            for (key, _) in unused.into_iter().filter(|(_, given)| *given) {
                let message = "has no effect on a sandbox, which returns any level within levels";
                problems.push(source.diagnostic(key, message, "remove it"));
            }
            problems.extend(source.check_file_exists(
                "kind.persona.persons",
                context.folder,
                persona.persons.as_deref(),
            ));
            None
        }
    }
}

fn check_limits(source: &SourceFile, limits: ConnectorLimits, problems: &mut Vec<Diagnostic>) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    if let Some(calls) = limits.calls {
        check_range(source, "limits.calls", count(calls), (1, 65_536), problems);
    }
    check_range(source, "limits.queue", count(limits.queue), (0, 65_536), problems);
    check_rate(source, "limits.redirects_per_minute", limits.redirects_per_minute, problems);
    // A user waits for the page meanwhile.
    check_range(source, "limits.queue_ms", limits.queue_ms, (0, 5_000), problems);
}

fn read_logo(
    source: &SourceFile,
    file: &ConnectorFile,
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Option<Logo> {
    let read = file.logo.as_ref().map(|path| Logo::read_entry_logo(folder, path)).transpose();
    read.unwrap_or_else(|(message, fix)| {
        problems.push(source.diagnostic("logo", message, fix));
        None
    })
}

/// Returns true if the text is a valid category id.
pub fn is_category_id(id: &str) -> bool {
    let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=32).contains(&id.len()) && id.bytes().all(charset)
}

/// Checks the mapping between the hub's levels and the identity provider's `acr` values.
fn check_levels(source: &SourceFile, file: &ConnectorFile, problems: &mut Vec<Diagnostic>) {
    let within = file.levels.lowest..=file.levels.highest;
    let mut seen: BTreeMap<&str, Level> = BTreeMap::new();
    for (level, values) in file.acr.levels() {
        let key = format!("acr.{}", level.as_str());
        if !within.contains(&level) {
            problems.push(source.diagnostic(
                &key,
                "is outside this connector's levels",
                "remove it, or widen levels",
            ));
        }
        if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
            problems.push(source.diagnostic(
                &key,
                "is empty or contains an empty value",
                "write the identity provider's acr value",
            ));
        }
        // `acr_values` are separated by spaces (OpenID Connect Core 1.0 §3.1.2.1).
        if values
            .iter()
            .any(|value| !value.trim().is_empty() && value.contains(char::is_whitespace))
        {
            problems.push(source.diagnostic(
                &key,
                "contains a value with a space",
                "write one acr value in each pair of quotes",
            ));
        }
        // The values are part of a URL and are compared with a token's `acr`.
        let is_invalid =
            |value: &String| value.len() > MAX_ACR_BYTES || value.chars().any(|c| c.is_control());
        if values.iter().any(is_invalid) {
            let fix = format!(
                "write the identity provider's value, in at most {MAX_ACR_BYTES} bytes and without control characters"
            );
            problems.push(source.diagnostic(
                &key,
                "contains a value that is too long or has control characters",
                fix,
            ));
        }
        for value in values {
            if seen.insert(value, level).is_some_and(|other| other != level) {
                let fix = "list each value under one level only";
                problems.push(source.diagnostic(
                    &key,
                    "contains a value that another level has too",
                    fix,
                ));
            }
        }
    }
    match file.assumed_level {
        // A level above the lowest requires a statement of the identity provider.
        Some(Level::Eidas2 | Level::Eidas3) => {
            let fix = "write assumed_level = \"eidas1\", or remove it";
            problems.push(source.diagnostic(
                "assumed_level",
                "is above eidas1, the only level that may be assumed",
                fix,
            ));
        }
        Some(Level::Eidas1) if file.levels.lowest > Level::Eidas1 => {
            problems.push(source.diagnostic(
                "assumed_level",
                "is below levels.lowest, so it can never apply",
                "remove it",
            ));
        }
        Some(Level::Eidas1) => {}
        None if file.acr.is_empty() => {
            let fix = "add an [acr] table, or assumed_level = \"eidas1\" if the identity provider returns no acr";
            problems.push(source.diagnostic(
                "acr",
                "is missing, so every login would be rejected",
                fix,
            ));
        }
        None => {}
    }
    let mapped = |level: &Level| {
        file.acr.levels().any(|(listed, _)| listed == *level) || file.assumed_level == Some(*level)
    };
    let missing = Level::ALL.into_iter().find(|level| within.contains(level) && !mapped(level));
    if let (Some(level), false) = (missing, file.acr.is_empty() && file.assumed_level.is_none()) {
        let message = format!("has no value for {}", level.as_str());
        problems.push(source.diagnostic(
            "acr",
            message,
            format!("add {} = [\"…\"], or narrow levels", level.as_str()),
        ));
    }
}

/// Checks that `ignore_acr` comes with an `assumed_level` and without an `acr` table.
fn check_ignore_acr(source: &SourceFile, file: &ConnectorFile, problems: &mut Vec<Diagnostic>) {
    if !file.ignore_acr {
        return;
    }
    if file.assumed_level.is_none() {
        let message = "requires assumed_level, which is missing";
        problems.push(source.diagnostic(
            "ignore_acr",
            message,
            "add assumed_level = \"eidas1\", or remove ignore_acr",
        ));
    } else if !file.acr.is_empty() {
        let message = "contains values, but ignore_acr ignores the returned acr";
        problems.push(source.diagnostic("acr", message, "remove the [acr] table, or ignore_acr"));
    }
}

/// Checks the levels of a kind that returns no `acr`, which can only have eidas1.
fn check_levels_without_acr(
    source: &SourceFile,
    file: &ConnectorFile,
    problems: &mut Vec<Diagnostic>,
) {
    if file.ignore_acr {
        problems.push(source.diagnostic(
            "ignore_acr",
            "has no effect, since this kind of identity provider returns no acr",
            "remove it",
        ));
    }
    if file.acr != AcrTable::default() {
        let fix = "remove the table, and write assumed_level = \"eidas1\"";
        problems.push(source.diagnostic(
            "acr",
            "is set, but this kind of identity provider returns no acr",
            fix,
        ));
    }
    match file.assumed_level {
        None => {
            let fix = "write assumed_level = \"eidas1\"";
            problems.push(source.diagnostic(
                "assumed_level",
                "is missing, but this kind of identity provider returns no acr",
                fix,
            ));
        }
        Some(Level::Eidas1) => {}
        Some(Level::Eidas2 | Level::Eidas3) => {
            let fix = "write assumed_level = \"eidas1\"";
            problems.push(source.diagnostic(
                "assumed_level",
                "is above eidas1, the only level that may be assumed",
                fix,
            ));
        }
    }
    if file.levels.highest > Level::Eidas1 {
        let message = "is above eidas1, the only level of this kind of identity provider";
        problems.push(source.diagnostic(
            "levels.highest",
            message,
            "write levels = { lowest = \"eidas1\", highest = \"eidas1\" }",
        ));
    }
}

fn check_methods(source: &SourceFile, key: &str, names: &[String], problems: &mut Vec<Diagnostic>) {
    for (index, _) in names.iter().enumerate().filter(|(_, name)| !amr::is_known_method(name)) {
        let fix = format!("use a name from RFC 8176, or mail: {}", amr::METHODS.join(", "));
        problems.push(source.diagnostic(
            &format!("{key}[{index}]"),
            "is not a registered authentication method",
            fix,
        ));
    }
}

/// Resolves a reference to a secret. Returns `None` and reports a problem if that fails.
pub(super) fn resolve_or_report(
    source: &SourceFile,
    key: &str,
    reference: &SecretRef,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Secret<String>> {
    secrets::resolve_secret(source, key, reference, context)
        .map_err(|problem| problems.push(problem))
        .ok()
}
