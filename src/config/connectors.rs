//! The files of connectors, each on its own: a bad one harms no other (architecture, rules 4 and 9; decisions 8 to 10).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::assurance::amr;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::acr::Level;

use super::acr_table::AcrTable;
use super::blocks::Block;
use super::logo::Logo;
use super::model::{
    ConnectorFile, ConnectorKind, ConnectorLimits, KINDS, SecretRef, SubjectSource,
};
use super::problem::Problem;
use super::quotas::rate;
use super::secret_rules::{Context, OwnerKind};
use super::settings::within;
use super::source::{Source, problem_of_file};
use super::{blocks, connector_findings, ldap, mapping, oauth2, oidc, secrets, text, toml_files};

/// A connector whose file holds.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfiguredConnector {
    pub id: ConnectorId,
    /// With paths joined to the configuration folder.
    pub file: ConnectorFile,
    /// The hub's secret at the identity provider, or its account's password there; `None` for kinds that have none.
    pub client_secret: Option<Secret<String>>,
    pub logo: Option<Logo>,
    /// From its `[[block]]` tables.
    pub blocks: Vec<Block>,
}

/// Whether `persona` connectors are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    On,
    Off,
}

impl Sandbox {
    #[must_use]
    pub const fn of(switch: bool) -> Self {
        if switch { Self::On } else { Self::Off }
    }
}

/// The longest value of `acr` that anybody uses, with room; a URI mostly.
const LONGEST_ACR: usize = 128;

/// The files of the folder, in order of name; each stem is a connector's id.
///
/// # Errors
/// The folder itself can't be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    toml_files(folder, "create it; each identity provider is one .toml file there")
}

/// Reads and checks one file.
///
/// # Errors
/// Every problem of that file.
pub fn load_file(
    path: &Path,
    sandbox: Sandbox,
    context: &Context<'_>,
) -> Result<ConfiguredConnector, Vec<Problem>> {
    let source = Source::read(path).map_err(|problem| vec![problem])?;
    configured(&source, sandbox, context)
}

/// Checks one file that was read.
///
/// # Errors
/// Every problem of that file.
pub fn configured(
    source: &Source,
    sandbox: Sandbox,
    context: &Context<'_>,
) -> Result<ConfiguredConnector, Vec<Problem>> {
    let Draft { id, file, client_secret, logo, blocks, problems, .. } =
        draft(source, sandbox, context);
    match file {
        Some(file) if problems.is_empty() => {
            Ok(ConfiguredConnector { id, file, client_secret, logo, blocks })
        }
        _ => Err(problems),
    }
}

/// A file as far as it can be read, and all that is wrong with it.
#[derive(Clone, Debug)]
pub struct Draft {
    pub id: ConnectorId,
    /// `None` where it has not even the shape of a connector's file.
    pub file: Option<ConnectorFile>,
    pub client_secret: Option<Secret<String>>,
    pub logo: Option<Logo>,
    pub blocks: Vec<Block>,
    pub problems: Vec<Problem>,
    /// What `connector_findings::check_identity` says of it.
    pub refused: Option<Problem>,
}

/// Reads and checks one file, and gives what there is of it.
#[must_use]
pub fn read_file(
    path: &Path,
    sandbox: Sandbox,
    subject: SubjectSource,
    context: &Context<'_>,
) -> Draft {
    match Source::read(path) {
        Ok(source) => {
            let draft = draft(&source, sandbox, context);
            let refused = draft
                .file
                .as_ref()
                .and_then(|file| connector_findings::check_identity(&source, file, subject));
            Draft { refused, ..draft }
        }
        Err(problem) => {
            let problems = name_problem(path).into_iter().chain([problem]).collect();
            Draft {
                id: id_of(path),
                file: None,
                client_secret: None,
                logo: None,
                blocks: Vec::new(),
                problems,
                refused: None,
            }
        }
    }
}

fn id_of(path: &Path) -> ConnectorId {
    ConnectorId::from(path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default())
}

fn name_problem(path: &Path) -> Option<Problem> {
    let mend = "rename it: 1 to 64 characters of a-z, 0-9 and -, then .toml; confirm is taken";
    let well_formed = ConnectorId::is_well_formed(id_of(path).as_str());
    (!well_formed).then(|| problem_of_file(path, "the file's name is not a connector's id", mend))
}

fn draft(source: &Source, sandbox: Sandbox, context: &Context<'_>) -> Draft {
    let id = id_of(source.path());
    let context = &context.for_file(OwnerKind::Connector, source.path());
    let mut problems: Vec<Problem> = name_problem(source.path()).into_iter().collect();
    let Some(mut file) = source.shape::<ConnectorFile>(&mut problems) else {
        return Draft {
            id,
            file: None,
            client_secret: None,
            logo: None,
            blocks: Vec::new(),
            problems,
            refused: None,
        };
    };
    let client_secret = check(source, &file, sandbox, context, &mut problems);
    let path = match &mut file.kind {
        ConnectorKind::Persona(persona) => persona.persons.as_mut(),
        ConnectorKind::Ldap(kind) => kind.ca.as_mut(),
        ConnectorKind::Oidc(kind) => kind.ca.as_mut(),
        ConnectorKind::Oauth2(kind) => kind.ca.as_mut(),
    };
    if let Some(path) = path {
        *path = context.folder.join(&*path);
    }
    let logo = logo(source, &file, source.path().parent().unwrap_or(Path::new("")), &mut problems);
    let blocks = blocks::of_file(source, &id, &file.block, &mut problems);
    Draft { id, file: Some(file), client_secret, logo, blocks, problems, refused: None }
}

fn check(
    source: &Source,
    file: &ConnectorFile,
    sandbox: Sandbox,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Secret<String>> {
    if source.keys_of("kind") > 1 {
        let mend =
            format!("keep one of: {}", KINDS.map(|kind| format!("[kind.{kind}]")).join(", "));
        problems.push(source.problem("kind", "names two kinds", mend));
    }
    text::check(source, "name", &file.name, problems);
    limits(source, file.limits, problems);
    if file.category.as_deref().is_some_and(|category| !is_category(category)) {
        let mend = "use 1 to 32 characters of a-z, 0-9 and -, as [choice] categories in passerelle.toml does";
        problems.push(source.problem("category", "is not a category's id", mend));
    }
    if file.levels.lowest > file.levels.highest {
        problems.push(source.problem(
            "levels",
            "has a lowest level above its highest",
            "swap the two",
        ));
    }
    methods(source, "amr", &file.amr, problems);
    methods(source, "mfa", &file.mfa, problems);
    if file.amr.iter().any(|name| name == "mfa") {
        let mend =
            "name the methods behind it, as [\"pwd\", \"otp\"]; the hub concludes mfa from them";
        problems.push(source.problem(
            "amr",
            "counts on mfa, which is a conclusion and no method",
            mend,
        ));
    }
    if file.mfa.iter().any(|name| name == "mfa") {
        problems.push(source.problem(
            "mfa",
            "explains mfa by itself",
            "name the methods behind it, as [\"pwd\", \"otp\"]",
        ));
    }
    mapping::check(source, file, problems);
    match &file.kind {
        ConnectorKind::Oidc(kind) => {
            if file.levels.lowest <= file.levels.highest {
                levels(source, file, problems);
            }
            ignored_acr(source, file, problems);
            oidc::check(source, kind, context.folder, problems);
            oidc::check_encryption(source, kind, problems);
            oidc::client_secret(source, kind, context, problems)
        }
        ConnectorKind::Oauth2(kind) => {
            assumed_level_alone(source, file, problems);
            oauth2::check(source, kind, context.folder, problems);
            resolved(source, "kind.oauth2.client_secret", &kind.client_secret, context, problems)
        }
        ConnectorKind::Ldap(kind) => {
            assumed_level_alone(source, file, problems);
            ldap::check(source, kind, context.folder, problems);
            resolved(source, "kind.ldap.bind_password", &kind.bind_password, context, problems)
        }
        ConnectorKind::Persona(persona) => {
            if sandbox == Sandbox::Off {
                let what = "is a sandbox, where anyone signs in as anyone, and the sandbox is off";
                let mend = "remove this file, or set sandbox = true in passerelle.toml (never in production)";
                problems.push(source.problem("kind.persona", what, mend));
            }
            // Its own page offers the hub's levels by their names, so that a table of it would have no effect.
            let unused = [
                ("acr", file.acr != AcrTable::default()),
                ("assumed_level", file.assumed_level.is_some()),
                ("ignore_acr", file.ignore_acr),
            ];
            for (key, _) in unused.into_iter().filter(|(_, given)| *given) {
                let what = "has no effect on a sandbox, which proves any level within levels";
                problems.push(source.problem(key, what, "remove it"));
            }
            problems.extend(source.missing_file(
                "kind.persona.persons",
                context.folder,
                persona.persons.as_deref(),
            ));
            None
        }
    }
}

fn limits(source: &Source, limits: ConnectorLimits, problems: &mut Vec<Problem>) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    if let Some(calls) = limits.calls {
        within(source, "limits.calls", count(calls), (1, 65_536), problems);
    }
    within(source, "limits.queue", count(limits.queue), (0, 65_536), problems);
    rate(source, "limits.departures_per_minute", limits.departures_per_minute, problems);
    // Somebody waits for a page meanwhile.
    within(source, "limits.queue_ms", limits.queue_ms, (0, 5_000), problems);
}

fn logo(
    source: &Source,
    file: &ConnectorFile,
    folder: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Logo> {
    let read = file.logo.as_ref().map(|path| Logo::of_entry(folder, path)).transpose();
    read.unwrap_or_else(|(what, mend)| {
        problems.push(source.problem("logo", what, mend));
        None
    })
}

/// True for what may be a category's id.
pub fn is_category(id: &str) -> bool {
    let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=32).contains(&id.len()) && id.bytes().all(charset)
}

/// The table between the hub's levels and the identity provider's values (decisions 8).
fn levels(source: &Source, file: &ConnectorFile, problems: &mut Vec<Problem>) {
    let within = file.levels.lowest..=file.levels.highest;
    let mut seen: BTreeMap<&str, Level> = BTreeMap::new();
    for (level, values) in file.acr.levels() {
        let key = format!("acr.{}", level.as_str());
        if !within.contains(&level) {
            problems.push(source.problem(
                &key,
                "is outside this connector's levels",
                "remove it, or widen levels",
            ));
        }
        if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
            problems.push(source.problem(
                &key,
                "holds no value, or an empty one",
                "write the identity provider's own acr value",
            ));
        }
        // They travel as `acr_values`, which are separated by spaces (OpenID Connect Core 1.0, 3.1.2.1).
        if values
            .iter()
            .any(|value| !value.trim().is_empty() && value.contains(char::is_whitespace))
        {
            problems.push(source.problem(
                &key,
                "holds a value with a space",
                "write one acr value in each pair of quotes",
            ));
        }
        // They travel in an address, and are compared with what a token says.
        let odd =
            |value: &String| value.len() > LONGEST_ACR || value.chars().any(|c| c.is_control());
        if values.iter().any(odd) {
            let mend = format!(
                "write it as the identity provider does, in at most {LONGEST_ACR} bytes and without control characters"
            );
            problems.push(source.problem(
                &key,
                "holds a value that is too long, or can't be printed",
                mend,
            ));
        }
        for value in values {
            if seen.insert(value, level).is_some_and(|other| other != level) {
                let mend = "give each value one level only";
                problems.push(source.problem(
                    &key,
                    "holds a value that another level has too",
                    mend,
                ));
            }
        }
    }
    match file.assumed_level {
        // Nothing above the lowest level may be believed without a word from the identity provider.
        Some(Level::Eidas2 | Level::Eidas3) => {
            let mend = "write assumed_level = \"eidas1\", or remove it";
            problems.push(source.problem(
                "assumed_level",
                "is above eidas1, the only level that may be assumed",
                mend,
            ));
        }
        Some(Level::Eidas1) if file.levels.lowest > Level::Eidas1 => {
            problems.push(source.problem(
                "assumed_level",
                "is below levels.lowest, so that it could never be used",
                "remove it",
            ));
        }
        Some(Level::Eidas1) => {}
        None if file.acr.lists_nothing() => {
            let mend = "add an [acr] table, or assumed_level = \"eidas1\" if the identity provider returns no acr";
            problems.push(source.problem(
                "acr",
                "is missing, so that every answer would be refused",
                mend,
            ));
        }
        None => {}
    }
    let mapped = |level: &Level| {
        file.acr.levels().any(|(listed, _)| listed == *level) || file.assumed_level == Some(*level)
    };
    let missing = Level::ALL.into_iter().find(|level| within.contains(level) && !mapped(level));
    if let (Some(level), false) =
        (missing, file.acr.lists_nothing() && file.assumed_level.is_none())
    {
        let what = format!("does not say what the identity provider calls {}", level.as_str());
        problems.push(source.problem(
            "acr",
            what,
            format!("add {} = [\"…\"], or narrow levels", level.as_str()),
        ));
    }
}

/// `ignore_acr` needs a level to count instead, and leaves no use for a table of values.
fn ignored_acr(source: &Source, file: &ConnectorFile, problems: &mut Vec<Problem>) {
    if !file.ignore_acr {
        return;
    }
    if file.assumed_level.is_none() {
        let what = "leaves no level, for there is no assumed_level";
        problems.push(source.problem(
            "ignore_acr",
            what,
            "add assumed_level = \"eidas1\", or remove ignore_acr",
        ));
    } else if !file.acr.lists_nothing() {
        let what = "lists values, and ignore_acr disregards whatever is returned";
        problems.push(source.problem("acr", what, "remove the [acr] table, or ignore_acr"));
    }
}

/// For a kind that returns no `acr`: nothing above eidas1 may be believed without a word from the identity provider.
fn assumed_level_alone(source: &Source, file: &ConnectorFile, problems: &mut Vec<Problem>) {
    if file.ignore_acr {
        problems.push(source.problem(
            "ignore_acr",
            "has no effect: this kind of identity provider returns no acr",
            "remove it",
        ));
    }
    if file.acr != AcrTable::default() {
        let mend = "remove the table, and write assumed_level = \"eidas1\"";
        problems.push(source.problem(
            "acr",
            "is given, and this kind of identity provider returns no acr",
            mend,
        ));
    }
    match file.assumed_level {
        None => {
            let mend = "write assumed_level = \"eidas1\"";
            problems.push(source.problem(
                "assumed_level",
                "is missing, and this kind of identity provider returns no acr",
                mend,
            ));
        }
        Some(Level::Eidas1) => {}
        Some(Level::Eidas2 | Level::Eidas3) => {
            let mend = "write assumed_level = \"eidas1\"";
            problems.push(source.problem(
                "assumed_level",
                "is above eidas1, the only level that may be assumed",
                mend,
            ));
        }
    }
    if file.levels.highest > Level::Eidas1 {
        let what = "is above eidas1, all that can be assumed of this kind of identity provider";
        problems.push(source.problem(
            "levels.highest",
            what,
            "write levels = { lowest = \"eidas1\", highest = \"eidas1\" }",
        ));
    }
}

fn methods(source: &Source, key: &str, names: &[String], problems: &mut Vec<Problem>) {
    for (index, _) in names.iter().enumerate().filter(|(_, name)| !amr::registered(name)) {
        let mend = format!("use the names of RFC 8176, or mail: {}", amr::METHODS.join(", "));
        problems.push(source.problem(
            &format!("{key}[{index}]"),
            "is not a registered authentication method",
            mend,
        ));
    }
}

/// What a reference leads to; `None` where it leads nowhere, which is told.
pub(super) fn resolved(
    source: &Source,
    key: &str,
    reference: &SecretRef,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Secret<String>> {
    secrets::resolve(source, key, reference, context).map_err(|problem| problems.push(problem)).ok()
}
