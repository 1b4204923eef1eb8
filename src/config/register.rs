//! The rules of `[register.file]` and `[register.http]`, and the credentials that the latter leads to (decisions 7).

use std::path::Path;

use crate::ids::Secret;

use super::address::{self, Http};
use super::model::{HttpRegister, RegisterConfig};
use super::problem::Problem;
use super::secret_rules::Context;
use super::secrets;
use super::settings::within;
use super::source::Source;

/// How the hub and an `http` register prove themselves to each other. Texts are PEM.
#[derive(Clone, Default, Debug)]
pub struct RegisterCredentials {
    /// The hub's certificate with its chain, then its key.
    pub identity: Option<Secret<String>>,
    /// The only authorities that the register's certificate may come from.
    pub ca: Option<String>,
    /// `b64token` (RFC 6750, 2.1).
    pub bearer: Option<Secret<String>>,
}

pub fn check(
    source: &Source,
    configured: &RegisterConfig,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> RegisterCredentials {
    if source.keys_of("register") > 1 {
        problems.push(source.problem(
            "register",
            "names two registers",
            "keep one: [register.file] or [register.http]",
        ));
    }
    match configured {
        RegisterConfig::File(register) => {
            if !context.folder.join(&register.path).is_file() {
                let mend = "put the CSV file there; the path counts from the configuration folder";
                problems.push(source.problem(
                    "register.file.path",
                    "names a file that is missing",
                    mend,
                ));
            }
            RegisterCredentials::default()
        }
        RegisterConfig::Http(register) => http(source, register, context, problems),
    }
}

fn http(
    source: &Source,
    register: &HttpRegister,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> RegisterCredentials {
    let http = if register.insecure_http { Http::Anywhere } else { Http::Nowhere };
    if let Err((what, mend)) = address::without_query(&register.url, http) {
        problems.push(source.problem("register.http.url", what, mend));
    }
    problems.extend(source.not_hosts("register.http.internal_hosts", &register.internal_hosts));
    within(
        source,
        "register.http.calls",
        u64::try_from(register.calls).unwrap_or(u64::MAX),
        (1, 65_536),
        problems,
    );
    let mut keep =
        |read: Result<String, Problem>| read.map_err(|problem| problems.push(problem)).ok();
    let pem = |key: &str, file: &Path| read_pem(source, key, file, context.folder);
    let ca = register.ca.as_deref().and_then(|file| keep(pem("register.http.ca", file)));
    let certificate = register
        .client_certificate
        .as_deref()
        .and_then(|file| keep(pem("register.http.client_certificate", file)));
    let mut secret = |key: &str, reference: &Option<_>| {
        let reference = reference.as_ref()?;
        keep(secrets::resolve(source, key, reference, context).map(Secret::into_inner))
    };
    let key = secret("register.http.client_key", &register.client_key);
    let bearer = secret("register.http.bearer", &register.bearer);
    let identity = certificate
        .zip(key)
        .map(|(certificate, key)| Secret::new(format!("{certificate}\n{key}\n")));
    let halves = [
        (register.client_certificate.is_some(), "client_certificate", "client_key"),
        (register.client_key.is_some(), "client_key", "client_certificate"),
    ];
    if let [(true, given, missing), (false, ..)] | [(false, ..), (true, given, missing)] = halves {
        let mend = format!("add {missing}, or remove both");
        problems.push(source.problem(
            &format!("register.http.{given}"),
            format!("is given without {missing}"),
            mend,
        ));
    }
    if bearer.as_ref().is_some_and(|bearer| !is_b64token(bearer)) {
        let mend =
            "put the bare token there: letters, digits and -._~+/ only, without the word Bearer";
        problems.push(source.problem(
            "register.http.bearer",
            "leads to text that is no bearer token",
            mend,
        ));
    }
    RegisterCredentials { identity, ca, bearer: bearer.map(Secret::new) }
}

pub(super) fn read_pem(
    source: &Source,
    key: &str,
    file: &Path,
    folder: &Path,
) -> Result<String, Problem> {
    let mend =
        "put a PEM file of certificates there; the path counts from the configuration folder";
    match std::fs::read_to_string(folder.join(file)) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => Ok(text),
        Ok(_) => Err(source.problem(key, "names a file without a certificate in PEM form", mend)),
        Err(error) => Err(source.problem(
            key,
            match error.kind() {
                std::io::ErrorKind::NotFound => "names a file that is missing",
                std::io::ErrorKind::InvalidData => "names a file that is not text",
                _ => "names a file that can't be read",
            },
            mend,
        )),
    }
}

/// RFC 6750, 2.1; anything else could not be a header's value, or would end it early.
fn is_b64token(text: &str) -> bool {
    let token = text.trim_end_matches('=');
    !token.is_empty() && token.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._~+/".contains(&c))
}
