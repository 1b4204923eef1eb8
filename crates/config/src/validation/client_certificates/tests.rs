//! Tests the settings of client certificates in the files.

use crate::tests::{Folder, service_with};
use passerelle_jose::testing::certificates::Authority;

const SERVICE: &str = "service-providers/sp.toml";
const SETTINGS: &str = "passerelle.toml";
const LISTEN: &str = "public.listen = \"127.0.0.1:8080\"";
const PROXY: &str = "public.trusted_proxies = [\"10.0.0.0/8\"]";
const CA: &str = "public.client_certificates.ca = \"ca.pem\"";

/// A folder whose settings have these lines more, and whose service provider has these.
fn folder(settings: &str, service: &str) -> Folder {
    Folder::good()
        .with("ca.pem", Authority::new("CA").pem())
        .edit(SETTINGS, LISTEN, &format!("{LISTEN}\n{settings}"))
        .with(SERVICE, service_with(service))
}

#[test]
fn a_service_provider_registers_one_name_of_its_certificate() {
    for name in [
        "tls_client_auth_subject_dn = \"CN=shop,O=Example\"",
        "tls_client_auth_san_dns = \"shop.example.org\"",
        "tls_client_auth_san_uri = \"https://shop.example.org\"",
        "tls_client_auth_san_ip = \"192.0.2.7\"",
        "tls_client_auth_san_email = \"shop@example.org\"",
    ] {
        let method = "token_endpoint_auth_method = \"tls_client_auth\"";
        folder(&format!("{PROXY}\n{CA}"), &format!("{method}\n{name}")).loaded();
        let bound = "tls_client_certificate_bound_access_tokens = true";
        folder(&format!("{PROXY}\n{CA}"), &format!("{method}\n{name}\n{bound}")).loaded();
    }
}

#[test]
fn each_mistake_in_a_service_providers_file_is_named_with_its_fix() {
    let method = "token_endpoint_auth_method";
    let tls = format!("{method} = \"tls_client_auth\"");
    let own = format!("{method} = \"self_signed_tls_client_auth\"");
    let name = "tls_client_auth_san_dns = \"shop.example.org\"";
    let bound = "tls_client_certificate_bound_access_tokens";
    let all = format!("{PROXY}\n{CA}");
    let header = format!("{PROXY}\npublic.client_certificates.header = \"x-cert\"");
    for (settings, service, key, word) in [
        (&all, tls.clone(), method, "exactly one name"),
        (&all, format!("{tls}\n{name}\ntls_client_auth_san_ip = \"::1\""), method, "exactly one"),
        (&all, format!("{tls}\ntls_client_auth_subject_dn = \"shop\""), method, "exactly one"),
        (
            &all,
            format!("{tls}\n{name}\nsecrets = [{{ env = \"SERVICE_PROVIDER_SP__SECRET\" }}]"),
            "secrets",
            "remove them",
        ),
        (&all, own, method, "add jwks"),
        (&header, format!("{tls}\n{name}"), method, "add ca"),
        (
            &String::new(),
            format!("{method} = \"none\"\n{bound} = true"),
            bound,
            "[public.client_certificates]",
        ),
        (
            &all,
            format!("{method} = \"none\"\n{name}"),
            "tls_client_auth_san_dns",
            "tls_client_auth",
        ),
        (
            &all,
            format!("{method} = \"none\"\n{bound} = true\ndpop_bound_access_tokens = true"),
            bound,
            "one of the two",
        ),
    ] {
        let (file, found, text) = folder(settings, &service).problem();
        assert_eq!((file.as_str(), found.as_str()), (SERVICE, key), "{service}");
        assert!(text.contains(word), "{service}: {text}");
    }
}

#[test]
fn each_mistake_in_the_settings_is_named_with_its_fix() {
    let at = "public.client_certificates";
    for (settings, key, word) in [
        (CA.to_owned(), at.to_owned(), "trusted_proxies"),
        (format!("{PROXY}\n{at}.ca = \"none.pem\""), format!("{at}.ca"), "in PEM"),
        (format!("{PROXY}\n{at}.ca = \"passerelle.toml\""), format!("{at}.ca"), "in PEM"),
        (format!("{PROXY}\n{at}.header = \"X-Cert\""), format!("{at}.header"), "a-z"),
        (
            format!("{PROXY}\n{at}.base_url = \"https://mtls.example/x\""),
            format!("{at}.base_url"),
            "only",
        ),
        (
            format!("{PROXY}\n{at}.base_url = \"http://mtls.example\""),
            format!("{at}.base_url"),
            "https",
        ),
    ] {
        let (file, found, text) =
            folder(&settings, "token_endpoint_auth_method = \"none\"").problem();
        assert_eq!((file.as_str(), found), (SETTINGS, key), "{settings}");
        assert!(text.contains(word), "{settings}: {text}");
    }
}
