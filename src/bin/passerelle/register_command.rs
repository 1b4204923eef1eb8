//! `passerelle register`: fill the file register, and ask whichever register is configured about one person.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle::app;
use passerelle::config::model::RegisterConfig;
use passerelle::env::Env;
use passerelle::identity::rules::{Required, Rules};
use passerelle::identity::{Claim, Identity};
use passerelle::protocol::acr::Platform;
use passerelle::protocol::json::parse_object;
use passerelle::register::Answer;
use passerelle::register::file::import::{Keep, import};
use serde_json::{Map, Value};

use super::output::outln;
use super::{in_system, load};

#[derive(Subcommand)]
pub enum RegisterCommand {
    /// Check a CSV file and merge it into the register file: all of it, or, if one line is bad, nothing.
    Import {
        /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace, birthcountry, status.
        source: PathBuf,
        /// The register file; the configuration's `register.file.path` when absent.
        #[arg(long)]
        to: Option<PathBuf>,
        /// Drop who is not in the source.
        #[arg(long)]
        replace: bool,
        #[arg(long, default_value = "config")]
        config: PathBuf,
    },
    /// Ask the configured register about one person, given by options, or as a JSON object on standard input, where no
    /// list of processes shows it. Tells the outcome, and no data of the person.
    Lookup {
        #[arg(long, default_value = "config")]
        config: PathBuf,
        #[command(flatten)]
        person: Person,
    },
}

#[derive(Args)]
pub struct Person {
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
    pub fn run(self) -> Result<ExitCode, String> {
        match self {
            Self::Import { source, to, replace, config } => {
                let loaded = load(&config)?;
                let configured = match &loaded.settings.register {
                    Some(RegisterConfig::File(file)) => Some(file.path.clone()),
                    Some(RegisterConfig::Http(_)) | None => None,
                };
                let mend =
                    "the configuration has no [register.file]: name the file to write by --to";
                let target = to.or(configured).ok_or(mend)?;
                let keep = if replace { Keep::SourceOnly } else { Keep::Both };
                let done = import(&source, &target, &loaded.settings.home_country, keep)
                    .map_err(|fault| fault.to_string())?;
                outln!("{}: {done}", target.display());
                Ok(ExitCode::SUCCESS)
            }
            Self::Lookup { config, person } => lookup(&config, person),
        }
    }
}

fn lookup(config: &std::path::Path, person: Person) -> Result<ExitCode, String> {
    let loaded = load(config)?;
    if loaded.settings.platform == Platform::High {
        let what =
            "the high platform asks no register: identities are the identity providers' there";
        return Err(what.to_owned());
    }
    let claims = person.claims()?;
    let rules =
        Rules { home_country: loaded.settings.home_country.clone(), required: Required::Pivot };
    let pivot = Identity::from_claims(&claims, &rules)
        .map_err(|fault| format!("the person given: {}", in_own_words(&fault)))?;
    let asked = pivot.clone();
    let answer = in_system(async move {
        app::ask_register(&loaded, &Env::system(), &asked).await.map_err(|fault| fault.to_string())
    })?;
    let (told, code) = match answer {
        Ok(Answer::Found(_)) => {
            outln!("found");
            return Ok(ExitCode::SUCCESS);
        }
        Ok(Answer::Corrected(known)) => {
            outln!(
                "corrected: the register writes {} differently",
                differences(&pivot, &known).join(", ")
            );
            return Ok(ExitCode::SUCCESS);
        }
        Ok(no) => (no.label().to_owned(), no.into_identity().err()),
        Err(fault) => (format!("{}: {fault}", fault.label()), Some(fault.code())),
    };
    match code {
        Some(code) => outln!("{told}\na login of this person ends with {}", code.entry().code),
        None => outln!("{told}"),
    }
    Ok(ExitCode::FAILURE)
}

impl Person {
    /// As an identity provider would send them.
    fn claims(self) -> Result<Map<String, Value>, String> {
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
        let mut claims = parse_object(&text).map_err(|fault| {
            format!("standard input: {fault}; give options, or one object {form}")
        })?;
        if let Some(names) = claims.remove("given_names") {
            let claim = if names.is_array() { Claim::GivenNameArray } else { Claim::GivenName };
            claims.insert(claim.as_str().to_owned(), names);
        }
        Ok(claims)
    }
}

/// The member or option as it is called here.
fn in_own_words(fault: &passerelle::identity::rules::IdentityFault) -> String {
    match fault.claim {
        Claim::GivenName | Claim::GivenNameArray => format!("given_names: {}", fault.rule),
        _ => fault.to_string(),
    }
}

/// Names of what differs, never a value.
fn differences(asked: &Identity, known: &Identity) -> Vec<&'static str> {
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
