//! Reads and checks connector files, each independently: an invalid file affects no other
//! connector.

use std::path::{Path, PathBuf};

use super::blocks::{self, Block};
use super::configured_connector::{ConfiguredConnector, SandboxMode};
use super::levels::{check_ignore_acr, check_levels, check_levels_without_acr, check_methods};
use super::logo::Logo;
use super::references::resolve_or_report;
use super::value_checks::{check_range, check_rate, is_category_id};
use super::{connector_diagnostics, ldap, localized_text, mapping, oauth2, oidc};
use crate::config::loading::folder::list_toml_files;
use crate::config::loading::{
    Diagnostic, SecretContext, SecretOwnerKind, SourceFile, file_diagnostic,
};
use crate::config::model::{
    AcrTable, CONNECTOR_KINDS, ConnectorFile, ConnectorKind, ConnectorLimits, SubjectSource,
};
use crate::ids::{ConnectorId, Secret};

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
