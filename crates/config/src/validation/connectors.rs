//! Reads and checks connector files, each independently: an invalid file affects no other
//! connector.

use std::path::{Path, PathBuf};

use super::declarations::Declarations;
use super::email_domains::check_email_domains;
use super::{connector_diagnostics, level_names};
use passerelle_connector::kind_settings::{KindCheck, SupportedKinds, connector_schema};
use passerelle_connector::level_rules::{check_methods, check_passed_methods};
use passerelle_connector::mapping::check_mapping;
use passerelle_connector::{ConfiguredConnector, ConnectorFile, ConnectorLimits};
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::logo::Logo;
use passerelle_federation::{blocks, localized_text};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::folder::list_toml_files;
use passerelle_settings::value_checks::{check_range, check_rate, is_category_id};
use passerelle_settings::{
    Diagnostic, SecretContext, SecretOwnerKind, SourceFile, file_diagnostic,
};

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
    kinds: SupportedKinds,
    declarations: &Declarations,
    context: &SecretContext<'_>,
) -> Result<ConfiguredConnector, Vec<Diagnostic>> {
    let ConnectorDraft { connector, problems, .. } =
        draft_from_source(source, kinds, declarations, context);
    connector.filter(|_| problems.is_empty()).ok_or(problems)
}

/// The readable parts of a file, and all its problems.
#[derive(Clone, Debug)]
pub struct ConnectorDraft {
    /// The id: the file's name without `.toml`.
    pub id: ConnectorId,
    /// The connector, with those parts that are valid; `None` if the file can't be deserialized.
    pub connector: Option<ConfiguredConnector>,
    /// Every problem of the file.
    pub problems: Vec<Diagnostic>,
    /// Set if the connector doesn't verify identities (`connector_diagnostics::check_identity`).
    pub unverified: Option<Diagnostic>,
}

/// Reads and checks one file, and returns its readable parts.
#[must_use]
pub fn read_draft(
    path: &Path,
    kinds: SupportedKinds,
    declarations: &Declarations,
    subject: SubjectSource,
    context: &SecretContext<'_>,
) -> ConnectorDraft {
    match SourceFile::read(path) {
        Ok(source) => {
            let draft = draft_from_source(&source, kinds, declarations, context);
            let check =
                |connector| connector_diagnostics::check_identity(&source, connector, subject);
            let unverified = draft.connector.as_ref().and_then(check);
            ConnectorDraft { unverified, ..draft }
        }
        Err(problem) => {
            let problems = check_file_name(path).into_iter().chain([problem]).collect();
            ConnectorDraft { id: connector_id(path), connector: None, problems, unverified: None }
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
    kinds: SupportedKinds,
    declarations: &Declarations,
    context: &SecretContext<'_>,
) -> ConnectorDraft {
    let id = connector_id(source.path());
    let context = &context.for_file(SecretOwnerKind::Connector, source.path());
    let mut problems: Vec<Diagnostic> = check_file_name(source.path()).into_iter().collect();
    let file = source.deserialize_at(&[], || connector_schema(kinds.formats), &mut problems);
    let kind = kinds.parse(source, context.folder, &mut problems);
    let connector = file.zip(kind).map(|(file, kind)| {
        check_file(source, &file, &mut problems);
        let mapping = check_mapping(
            source,
            &file,
            kind.protocol_claims(),
            &declarations.claims,
            &mut problems,
        );
        level_names::check_acr_names(source, &file, declarations, &mut problems);
        let mut check = KindCheck {
            source,
            name: kind.name,
            file: &file,
            context,
            problems: &mut problems,
            client_identity: None,
        };
        let client_secret = kinds.check(&kind, &mut check);
        let client_identity = check.client_identity;
        let logo = read_logo(source, &file, &mut problems);
        let blocks = blocks::parse_blocks(source, &id, &file.block, &mut problems);
        ConfiguredConnector {
            id: id.clone(),
            file,
            kind,
            client_secret,
            client_identity,
            logo,
            blocks,
            mapping,
        }
    });
    ConnectorDraft { id, connector, problems, unverified: None }
}

fn check_file(source: &SourceFile, file: &ConnectorFile, problems: &mut Vec<Diagnostic>) {
    localized_text::check_texts(source, "name", &file.name, problems);
    check_limits(source, file.limits, problems);
    check_email_domains(source, &file.email_domains, problems);
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
    check_passed_methods(source, &file.passed_amr, problems);
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
    problems: &mut Vec<Diagnostic>,
) -> Option<Logo> {
    let folder = source.path().parent().unwrap_or(Path::new(""));
    let read = file.logo.as_ref().map(|path| Logo::read_entry_logo(folder, path)).transpose();
    read.unwrap_or_else(|error| {
        problems.push(source.locate(error.at("logo")));
        None
    })
}
