//! Reads and checks connector files, each independently: an invalid file affects no other
//! connector.

use std::path::{Path, PathBuf};

use super::consistency::is_category_id;
use super::declarations::Declarations;
use super::email_domains::check_email_domains;
use super::{connector_diagnostics, level_names};
use passerelle_connector::kind_settings::{KindCheck, SupportedKinds, connector_schema};
use passerelle_connector::level_rules::{check_methods, check_passed_methods};
use passerelle_connector::mapping::check_mapping;
use passerelle_connector::{ConfiguredConnector, ConnectorFile};
use passerelle_federation::blocks;
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_federation::logo::Logo;
use passerelle_federation::provider_display::SearchQuery;
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::toml_folder::list_toml_files;
use passerelle_settings::{
    Diagnostic, FileCheck, SecretContext, SecretOwnerKind, SourceFile, file_diagnostic,
};

/// Search terms of a connector, at most.
const MAX_SEARCH_TERMS: usize = 32;

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
    let mut check = FileCheck::new(source, &mut problems);
    let file = source.deserialize_at(&[], || connector_schema(kinds.formats), check.problems);
    let kind = kinds.parse(&mut check, context.folder);
    let connector = file.zip(kind).map(|(file, kind)| {
        check_file(&mut check, &file);
        let mapping =
            check_mapping(&mut check, &file, kind.protocol_claims(), &declarations.claims);
        if let Some(mapping) = &mapping {
            declarations.check_verified_claims(&mut check, &id, mapping);
        }
        level_names::check_acr_names(&mut check, &file, declarations);
        declarations.check_mail_rule(&mut check, "mail_code", file.mail_code);
        let mut kind_check = KindCheck::new(check.table(""), kind.name, &file, context);
        let client_secret = kinds.check(&kind, &mut kind_check);
        let client_identity = kind_check.client_identity;
        let logo = read_logo(&mut check, &file);
        let blocks = blocks::parse_blocks(&mut check, &id, &file.block);
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

fn check_file(check: &mut FileCheck<'_>, file: &ConnectorFile) {
    localized_text::check_texts(check, "name", &file.name, MAX_NAME_CHARS);
    check_email_domains(check, &file.email_domains);
    check_search_terms(check, &file.search_terms);
    if file.category.as_deref().is_some_and(|category| !is_category_id(category)) {
        let fix = "use 1 to 32 characters of a-z, 0-9 and -, as [choice] categories in passerelle.toml does";
        check.report("category", "is not a valid category id", fix);
    }
    if file.levels.lowest > file.levels.highest {
        check.report("levels", "has a lowest level above the highest", "swap the two");
    }
    check_methods(check, "amr", &file.amr);
    check_methods(check, "mfa", &file.mfa);
    check_passed_methods(check, &file.passed_amr);
    if file.amr.iter().any(|name| name == "mfa") {
        let fix = "list the methods behind it, for example [\"pwd\", \"otp\"]; the hub derives mfa from them";
        check.report("amr", "contains mfa, which is not a single method", fix);
    }
    if file.mfa.iter().any(|name| name == "mfa") {
        check.report(
            "mfa",
            "defines mfa by itself",
            "list the methods behind it, for example [\"pwd\", \"otp\"]",
        );
    }
}

fn check_search_terms(check: &mut FileCheck<'_>, terms: &[String]) {
    if terms.len() > MAX_SEARCH_TERMS {
        let fix = format!("keep the {MAX_SEARCH_TERMS} that users type most");
        check.report("search_terms", "has too many entries", fix);
    }
    for (index, term) in terms.iter().enumerate() {
        if SearchQuery::parse(term).is_none() || term.chars().count() > MAX_NAME_CHARS {
            let fix = format!("write a word or a name of at most {MAX_NAME_CHARS} characters");
            check.report(&format!("search_terms[{index}]"), "is no text to search for", fix);
        }
    }
}

fn read_logo(check: &mut FileCheck<'_>, file: &ConnectorFile) -> Option<Logo> {
    let folder = check.source.path().parent().unwrap_or(Path::new(""));
    check.accept("logo", Logo::read_entry_logo(folder, file.logo.as_ref()?))
}
