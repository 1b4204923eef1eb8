//! Checks `[register.file]` and `[register.http]`, and reads the credentials of the latter.

use std::path::Path;

use super::address::{self, Http};
use super::references::read_pem;
use super::value_checks::check_range;
use crate::config::loading::{Diagnostic, SecretContext, SourceFile, secrets};
use crate::config::model::{HttpRegisterConfig, RegisterConfig};
use crate::ids::Secret;

/// Credentials for mutual authentication with an `http` register. Certificates and keys are PEM.
#[derive(Clone, Default, Debug)]
pub struct RegisterCredentials {
    /// The hub's certificate with its chain, followed by its key.
    pub identity: Option<Secret<String>>,
    /// The only certificate authorities trusted for the register; `None` for the system's.
    pub ca: Option<String>,
    /// Bearer token, a `b64token` (RFC 6750 §2.1).
    pub bearer: Option<Secret<String>>,
}

/// Checks the table and reads its credentials.
pub fn check_register(
    source: &SourceFile,
    configured: &RegisterConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> RegisterCredentials {
    if source.key_count("register") > 1 {
        problems.push(source.diagnostic(
            "register",
            "contains two registers",
            "keep one: [register.file] or [register.http]",
        ));
    }
    match configured {
        RegisterConfig::File(register) => {
            if !context.folder.join(&register.path).is_file() {
                let fix = "create the CSV file; the path is relative to the configuration folder";
                problems.push(source.diagnostic(
                    "register.file.path",
                    "names a file that is missing",
                    fix,
                ));
            }
            RegisterCredentials::default()
        }
        RegisterConfig::Http(register) => check_http_register(source, register, context, problems),
    }
}

fn check_http_register(
    source: &SourceFile,
    register: &HttpRegisterConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> RegisterCredentials {
    let http = if register.insecure_http { Http::Anywhere } else { Http::Nowhere };
    if let Err((message, fix)) = address::parse_url_without_query(&register.url, http) {
        problems.push(source.diagnostic("register.http.url", message, fix));
    }
    problems.extend(source.check_hosts("register.http.internal_hosts", &register.internal_hosts));
    check_range(
        source,
        "register.http.calls",
        u64::try_from(register.calls).unwrap_or(u64::MAX),
        (1, 65_536),
        problems,
    );
    let mut keep =
        |read: Result<String, Diagnostic>| read.map_err(|problem| problems.push(problem)).ok();
    let pem = |key: &str, file: &Path| read_pem(source, key, file, context.folder);
    let ca = register.ca.as_deref().and_then(|file| keep(pem("register.http.ca", file)));
    let certificate = register
        .client_certificate
        .as_deref()
        .and_then(|file| keep(pem("register.http.client_certificate", file)));
    let mut secret = |key: &str, reference: &Option<_>| {
        let reference = reference.as_ref()?;
        keep(secrets::resolve_secret(source, key, reference, context).map(Secret::into_inner))
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
        let fix = format!("add {missing}, or remove both");
        problems.push(source.diagnostic(
            &format!("register.http.{given}"),
            format!("is set without {missing}"),
            fix,
        ));
    }
    if bearer.as_ref().is_some_and(|bearer| !is_b64token(bearer)) {
        let fix = "write only the token there: letters, digits and -._~+/, without the word Bearer";
        problems.push(source.diagnostic(
            "register.http.bearer",
            "references a text that is not a bearer token",
            fix,
        ));
    }
    RegisterCredentials { identity, ca, bearer: bearer.map(Secret::new) }
}

/// Returns true for a `b64token` (RFC 6750 §2.1), which prevents header injection.
fn is_b64token(text: &str) -> bool {
    let token = text.trim_end_matches('=');
    !token.is_empty() && token.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._~+/".contains(&c))
}
