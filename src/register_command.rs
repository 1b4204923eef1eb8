//! `passerelle register`: imports a file into the register, and queries the configured register.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_federation::identity::{Claim, Identity};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Env;
use passerelle_protocol::json::parse_object;
use passerelle_register::RegisterAnswer;
use passerelle_register::file::import::{ImportMode, import};
use serde_json::{Map, Value};

use super::output::outln;
use super::progress::ImportProgress;
use super::{CommandResult, block_on, load_config};

#[derive(Subcommand)]
pub(crate) enum RegisterCommand {
    /// Check a CSV file and merge it into the register file; if one line is invalid, nothing is
    /// imported.
    Import {
        /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace,
        /// birthcountry, status.
        source: PathBuf,
        /// The register file. Default: `register.file.path` of the configuration.
        #[arg(long)]
        to: Option<PathBuf>,
        /// Remove persons that are not in the source.
        #[arg(long)]
        replace: bool,
        #[arg(long, default_value = "config")]
        config: PathBuf,
    },
    /// Query the configured register about one person, given by options or, hidden from process
    /// lists, as a JSON object on standard input. Prints the outcome, and no data of the person.
    Lookup {
        #[arg(long, default_value = "config")]
        config: PathBuf,
        #[command(flatten)]
        person: PersonOptions,
    },
}

#[derive(Args)]
pub(crate) struct PersonOptions {
    /// Separated by spaces.
    #[arg(long)]
    given_names: Option<String>,
    #[arg(long)]
    family_name: Option<String>,
    /// YYYY-MM-DD, YYYY-MM-00 or YYYY-00-00.
    #[arg(long)]
    birthdate: Option<String>,
    /// male, female or unspecified.
    #[arg(long)]
    gender: Option<String>,
    /// Five-character geographic code.
    #[arg(long)]
    birthplace: Option<String>,
    /// Five-character geographic code.
    #[arg(long)]
    birthcountry: Option<String>,
}

impl RegisterCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) fn run(self) -> CommandResult {
        match self {
            Self::Import { source, to, replace, config } => {
                let loaded = load_config(&config)?;
                let register = passerelle_server::register_settings(&loaded)
                    .map_err(|error| error.to_string())?;
                let configured = register.and_then(|settings| settings.import_target());
                let fix =
                    "the configuration has no [register.file]: give the file to write with --to";
                let target = to.as_deref().or(configured).ok_or(fix)?;
                let keep = if replace { ImportMode::Replace } else { ImportMode::Merge };
                let progress = ImportProgress::new();
                let done = import(&source, target, &loaded.settings.home_country, keep, &progress);
                drop(progress);
                let done = done?;
                outln!("{}: {done}", target.display());
                Ok(ExitCode::SUCCESS)
            }
            Self::Lookup { config, person } => look_up_person(&config, person),
        }
    }
}

fn look_up_person(config: &std::path::Path, person: PersonOptions) -> CommandResult {
    let loaded = load_config(config)?;
    if loaded.settings.platform == Platform::High {
        let what =
            "the high platform has no register: its identities come from the identity providers";
        return Err(what.into());
    }
    let claims = person.into_claims()?;
    let rules = IdentityRules {
        home_country: loaded.settings.home_country.clone(),
        required: RequiredClaims::Pivot,
    };
    let pivot = Identity::from_claims(&claims, &rules)
        .map_err(|error| format!("invalid person: {}", describe_error(&error)))?;
    let answer = block_on(passerelle_server::query_register(&loaded, &Env::system(), &pivot))?;
    let (text, code) = match answer {
        Ok(RegisterAnswer::Found(_)) => {
            outln!("found");
            return Ok(ExitCode::SUCCESS);
        }
        Ok(RegisterAnswer::Corrected(known)) => {
            outln!(
                "corrected: the register writes {} differently",
                differing_claims(&pivot, &known).join(", ")
            );
            return Ok(ExitCode::SUCCESS);
        }
        Ok(no) => (no.label().to_owned(), no.into_identity().err()),
        Err(error) => (format!("{}: {error}", error.label()), Some(error.code())),
    };
    match code {
        Some(code) => outln!("{text}\na login of this person ends with {}", code.entry().code),
        None => outln!("{text}"),
    }
    Ok(ExitCode::FAILURE)
}

impl PersonOptions {
    /// Returns the claims as an identity provider would send them.
    fn into_claims(self) -> Result<Map<String, Value>, String> {
        let Self { given_names, family_name, birthdate, gender, birthplace, birthcountry } = self;
        let given = [
            (Claim::GivenName, given_names),
            (Claim::FamilyName, family_name),
            (Claim::Birthdate, birthdate),
            (Claim::Gender, gender),
            (Claim::Birthplace, birthplace),
            (Claim::Birthcountry, birthcountry),
        ];
        if given.iter().any(|(_, value)| value.is_some()) {
            let there = given.into_iter().filter_map(|(claim, value)| {
                Some((claim.as_str().to_owned(), Value::from(value?)))
            });
            return Ok(there.collect());
        }
        let mut text = Vec::new();
        std::io::stdin()
            .read_to_end(&mut text)
            .map_err(|error| format!("standard input can not be read: {error}"))?;
        let form = r#"{"given_names": ["…"], "family_name": "…", "birthdate": "…", "gender": "…", "birthplace": "…", "birthcountry": "…"}"#;
        let mut claims = parse_object(&text).map_err(|error| {
            format!("standard input: {error}; give options, or one object {form}")
        })?;
        if let Some(names) = claims.remove("given_names") {
            let claim = if names.is_array() { Claim::GivenNameArray } else { Claim::GivenName };
            claims.insert(claim.as_str().to_owned(), names);
        }
        Ok(claims)
    }
}

/// Describes an error with the names of this command.
fn describe_error(error: &passerelle_federation::identity::IdentityError) -> String {
    match error.claim {
        Claim::GivenName | Claim::GivenNameArray => format!("given_names: {}", error.rule),
        _ => error.to_string(),
    }
}

/// Returns the names of the claims that differ, never a value.
fn differing_claims(asked: &Identity, known: &Identity) -> Vec<&'static str> {
    let pairs = [
        ("given_names", asked.given_name() != known.given_name()),
        ("family_name", asked.family_name != known.family_name),
        ("birthdate", asked.birthdate != known.birthdate),
        ("gender", asked.gender != known.gender),
        ("birthplace", asked.birthplace != known.birthplace),
        ("birthcountry", asked.birthcountry != known.birthcountry),
    ];
    pairs.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}
