//! Checks the files of public clients: native and single-page applications, which have no secret
//! (RFC 6749 §2.1; RFC 8252; RFC 9700 §2.1).

use url::Url;

use crate::model::ServiceProviderFile;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::redirect_uri::private_use_scheme;
use passerelle_protocol::registration::{ClientType, ConsentRequirement};
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{FileCheck, ValueError};

/// Checks the settings that only a public client may have, and those that it must not have.
pub(crate) fn check_public_client(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    platform: Option<Platform>,
) {
    for (index, origin) in file.cors_origins.iter().enumerate() {
        check.accept(&format!("cors_origins[{index}]"), check_cors_origin(origin));
    }
    match file.client_type() {
        ClientType::Confidential => {
            let fix = "remove it, or write token_endpoint_auth_method = \"none\"";
            if !file.cors_origins.is_empty() {
                let message = "lets pages call the token endpoint, but a page can't keep a secret: only public clients have origins";
                check.report("cors_origins", message, fix);
            }
            if file.public_on_high {
                check.report("public_on_high", "applies to public clients only", fix);
            }
        }
        ClientType::Public => {
            if platform == Some(Platform::High) && !file.public_on_high {
                let message = "is \"none\", but the high platform accepts public clients only where the file says so";
                let fix = "register a confidential client; or write public_on_high = true, if the operator of the federation agrees";
                check.report("token_endpoint_auth_method", message, fix);
            }
            if platform == Some(Platform::Standard) && file.public_on_high {
                let message = "applies to the high platform only";
                check.report("public_on_high", message, "remove it");
            }
            if !file.secrets.is_empty() {
                let message = "contains secrets, but everyone who has a public client has its secret, so it proves nothing";
                let fix = "remove them, or write token_endpoint_auth_method = \"client_secret_post\" for a client on a server";
                check.report("secrets", message, fix);
            }
            if file.consent() == ConsentRequirement::None {
                let message = "is \"none\", but every login of a public client needs the user's interaction: another application can send requests in its name (RFC 8252 §8.6)";
                let fix = "remove it, or write consent = \"required\"";
                check.report("consent", message, fix);
            }
        }
    }
}

/// Checks that browsers send exactly this text as `Origin`: it is compared as a string.
fn check_cors_origin(origin: &str) -> Result<(), ValueError> {
    if origin.contains('*') {
        return Err(ValueError::new(
            "contains a *, but patterns are not supported",
            "list each origin",
        ));
    }
    let fix = "write scheme, host and port only, for example https://app.example.org";
    let url = Url::parse(origin).map_err(|_| ValueError::new("is not an origin", fix))?;
    match url.scheme() {
        "https" => {}
        "http" if address::is_loopback(&url) => {}
        "http" => {
            return Err(ValueError::new(
                "is plain http: anyone on the network could change the page",
                "use https:// (http:// for loopback only)",
            ));
        }
        _ => return Err(ValueError::new("is neither https nor http on loopback", fix)),
    }
    if url.origin().ascii_serialization() == origin {
        return Ok(());
    }
    Err(ValueError::new(
        "is not written as browsers send it, so it would never match",
        "write it in lower case, without path, trailing slash, user name and default port, for example https://app.example.org",
    ))
}

/// Checks a redirect URI of a client: as a URL, or, for a public client, by its private-use scheme.
///
/// # Errors
/// Returns the rule that the URI breaks.
pub(crate) fn check_redirect_uri(
    uri: &str,
    http: PlainHttp,
    client_type: ClientType,
) -> Result<(), ValueError> {
    let is_web = ["http:", "https:"].iter().any(|scheme| {
        uri.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if is_web || client_type == ClientType::Confidential {
        return match address::parse_absolute_url(uri, http) {
            Err(_) if !is_web && private_use_scheme(uri).is_some() => Err(ValueError::new(
                "has a private-use scheme, which only public clients can use",
                "start with https:// and a host name, or write token_endpoint_auth_method = \"none\" for an application without a server",
            )),
            checked => checked.map(drop),
        };
    }
    if !uri.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') || uri.contains('#') {
        return Err(ValueError::new(
            "contains a space, a backslash, a non-ASCII character or a fragment",
            "percent-encode the address and remove the # and what follows it",
        ));
    }
    let Some(scheme) = private_use_scheme(uri) else {
        return Err(ValueError::new(
            "has neither https nor a private-use scheme with a dot, so any application could register the same scheme (RFC 8252 §7.1)",
            "use https://, or the reversed name of a domain that you own: com.example.app:/callback",
        ));
    };
    if scheme.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(ValueError::new(
            "has a scheme with capital letters, which systems convert",
            "write the scheme in lower case",
        ));
    }
    let rest = uri.get(scheme.len()..).unwrap_or_default();
    if !rest.starts_with(":/") || rest.starts_with("://") {
        return Err(ValueError::new(
            "does not have exactly one slash after its private-use scheme (RFC 8252 §7.1)",
            "write com.example.app:/callback",
        ));
    }
    Ok(())
}
