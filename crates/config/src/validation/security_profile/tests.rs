use crate::tests::{Folder, service_with};
use passerelle_federation::client_assertions::AcceptedAudiences;
use passerelle_federation::{ClientAuthentication, ServiceProvider};
use passerelle_protocol::alg::{AcceptedAlgs, SigningAlg};
use passerelle_protocol::security_profile::SecurityProfile;

const FILE: &str = "service-providers/sp.toml";
const KEYS: &str = "jwks_uri = \"https://sp.example.org/jwks\"";
const SIGNS: &str = "token_endpoint_auth_method = \"private_key_jwt\"";
const PUSHED: &str = "pushed_authorization_requests = \"accepted\"\n";

/// A folder whose hub has these settings and whose service provider signs its assertions.
fn folder(settings: &str, more: &str) -> Folder {
    Folder::good()
        .edit("passerelle.toml", "platform =", &format!("{settings}\nplatform ="))
        .with(FILE, service_with(&format!("{more}\n{KEYS}")))
}

fn client(folder: &Folder) -> ServiceProvider {
    let federation = folder.loaded().build_federation();
    federation.active_service_provider(&"sp".into()).unwrap().as_ref().clone()
}

#[test]
fn a_file_with_the_profile_and_its_keys_needs_nothing_else() {
    for rules in ["", "rules = \"openid\""] {
        let client = client(&folder(PUSHED, &format!("profile = \"fapi2\"\n{SIGNS}\n{rules}")));
        let protection = client.registration.protection;
        assert_eq!(protection.profile, Some(SecurityProfile::Fapi2));
        assert!(protection.require_pushed && client.registration.needs_pkce());
        assert!(!protection.require_request_object && protection.response_alg.is_none());
        assert!(client.token_binding.dpop_required);
        assert_eq!(client.id_token_signed_response_alg, SigningAlg::ES256);
        let ClientAuthentication::PrivateKeyJwt(rules) = client.authentication else { panic!() };
        assert_eq!(rules.audiences, AcceptedAudiences::IssuerAlone);
    }
}

#[test]
fn under_a_profile_id_tokens_have_no_identity_claims() {
    let with = |more: &str| {
        folder(PUSHED, &format!("profile = \"fapi2\"\n{SIGNS}\nrules = \"openid\"\n{more}"))
    };
    assert!(!client(&with("")).id_token_claims);
    let (_, key, _) = with("id_token_claims = true").problem();
    assert_eq!(key, "id_token_claims");
}

#[test]
fn message_signing_adds_signed_requests_and_responses() {
    let more = format!("profile = \"fapi2-message-signing\"\n{SIGNS}");
    let protection = client(&folder(PUSHED, &more)).registration.protection;
    assert!(protection.requires_signed_messages() && protection.require_request_object);
    assert_eq!(protection.request_object_algs, Some(AcceptedAlgs::FAPI2));
    assert_eq!(protection.response_alg, Some(SigningAlg::ES256));
}

#[test]
fn the_profile_of_the_hub_holds_for_every_service_provider_and_a_file_can_only_add_to_it() {
    let hub = |profile: &str| {
        format!("pushed_authorization_requests = \"required\"\nprofile = \"{profile}\"\n")
    };
    let own = |settings: &str, more: &str| {
        client(&folder(settings, &format!("{more}\n{SIGNS}"))).registration.protection.profile
    };
    let (fapi, signing) = (SecurityProfile::Fapi2, SecurityProfile::Fapi2MessageSigning);
    assert_eq!(own(&hub("fapi2"), ""), Some(fapi));
    assert_eq!(own(&hub("fapi2"), "profile = \"fapi2-message-signing\""), Some(signing));
    assert_eq!(own(&hub("fapi2-message-signing"), "profile = \"fapi2\""), Some(signing));
    let secret = "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]";
    let (file, key, text) = folder(&hub("fapi2"), secret).problem();
    assert_eq!((file.as_str(), key.as_str()), (FILE, "token_endpoint_auth_method"));
    assert!(text.contains("profile = \"fapi2\" of passerelle.toml"), "{text}");
}

#[test]
fn a_hub_whose_settings_contradict_its_profile_is_refused() {
    for (settings, key, words) in [
        ("profile = \"fapi2\"", "pushed_authorization_requests", "\"required\""),
        (
            "profile = \"fapi2\"\npushed_authorization_requests = \"accepted\"",
            "pushed_authorization_requests",
            "\"required\"",
        ),
        (
            "profile = \"fapi2\"\npushed_authorization_requests = \"required\"\nlifetimes.code_seconds = 61",
            "lifetimes.code_seconds",
            "at most 60",
        ),
    ] {
        let (file, found, text) = folder(settings, SIGNS).problem();
        assert_eq!((file.as_str(), found.as_str()), ("passerelle.toml", key), "{settings}");
        assert!(text.contains(words), "{text}");
    }
}

/// Every setting that would allow an attack that the profile stops.
#[test]
fn a_file_that_contradicts_the_profile_is_refused_with_the_setting_and_its_correction() {
    let secret = "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]";
    let signs = |more: &str| format!("{SIGNS}\n{more}");
    let alg = |key: &str| signs(&format!("{key} = \"RS256\""));
    let signing = "profile = \"fapi2-message-signing\"";
    for (settings, profile, more, key, words) in [
        (PUSHED, "", secret.to_owned(), "token_endpoint_auth_method", "private_key_jwt"),
        (
            PUSHED,
            "",
            format!("token_endpoint_auth_method = \"client_secret_basic\"\n{secret}"),
            "token_endpoint_auth_method",
            "client secret",
        ),
        (
            PUSHED,
            "",
            "token_endpoint_auth_method = \"none\"".to_owned(),
            "token_endpoint_auth_method",
            "public client",
        ),
        (
            PUSHED,
            "",
            alg("token_endpoint_auth_signing_alg"),
            "token_endpoint_auth_signing_alg",
            "ES256",
        ),
        (PUSHED, "", alg("id_token_signed_response_alg"), "id_token_signed_response_alg", "ES256"),
        (PUSHED, "", alg("userinfo_signed_response_alg"), "userinfo_signed_response_alg", "ES256"),
        (PUSHED, "", alg("request_object_signing_alg"), "request_object_signing_alg", "ES256"),
        (
            PUSHED,
            "",
            alg("authorization_signed_response_alg"),
            "authorization_signed_response_alg",
            "ES256",
        ),
        (PUSHED, "", signs("require_pkce = false"), "require_pkce", "remove it"),
        (
            PUSHED,
            "",
            signs("require_pushed_authorization_requests = false"),
            "require_pushed_authorization_requests",
            "remove it",
        ),
        (
            PUSHED,
            "",
            signs("dpop_bound_access_tokens = false"),
            "dpop_bound_access_tokens",
            "tls_client_certificate_bound_access_tokens",
        ),
        (
            PUSHED,
            signing,
            signs("require_signed_request_object = false"),
            "require_signed_request_object",
            "remove it",
        ),
        (
            PUSHED,
            "",
            signs("client_assertion_audiences = [\"issuer\", \"token_endpoint\"]"),
            "client_assertion_audiences",
            "one string",
        ),
        (PUSHED, "", signs("insecure_http = true"), "insecure_http", "https://"),
        ("", "", SIGNS.to_owned(), "profile", "pushed_authorization_requests = \"accepted\""),
        (
            "pushed_authorization_requests = \"accepted\"\nlifetimes.code_seconds = 61\n",
            "",
            SIGNS.to_owned(),
            "profile",
            "lifetimes.code_seconds = 60",
        ),
    ] {
        let profile = if profile.is_empty() { "profile = \"fapi2\"" } else { profile };
        let (file, found, text) = folder(settings, &format!("{profile}\n{more}")).problem_at(key);
        assert_eq!((file.as_str(), found.as_str()), (FILE, key), "{more}");
        assert!(text.contains(words), "{more}: {text}");
    }
}

#[test]
fn tokens_may_be_bound_to_a_certificate_instead() {
    let settings = format!(
        "{PUSHED}public.trusted_proxies = [\"10.0.0.0/8\"]\npublic.client_certificates = {{}}\n"
    );
    let more =
        format!("profile = \"fapi2\"\n{SIGNS}\ntls_client_certificate_bound_access_tokens = true");
    let binding = client(&folder(&settings, &more)).token_binding;
    assert!(binding.certificate_required && !binding.dpop_required);
}
