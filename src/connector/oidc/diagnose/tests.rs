//! What an operator is told of good and bad identity providers.

use serde_json::json;

use super::super::fake_idp::*;
use super::*;
use crate::connector::Connector as _;
use crate::connector::finding::Verdict;
use crate::egress::fake::{FakeServer, Told as Answered};
use crate::egress::guard::GuardFault;
use crate::env::{Env, Timestamp};
use crate::identity::Claim;

fn examination() -> Examination {
    Examination {
        redirect_uri: "https://hub.example/api/v2/callback/fake".into(),
        needed: vec![(Claim::FamilyName, vec!["sn".into()]), (Claim::Gender, vec![])],
    }
}

impl Script {
    fn drop_member(&mut self, name: &str) {
        self.discovery.as_object_mut().unwrap().remove(name);
    }
}

async fn findings(world: &World) -> Vec<Finding> {
    world.connector.examine(&examination()).await
}

fn refuses(error: &str) -> Option<Answered> {
    Some(Answered { status: 400, ..Answered::json(&json!({ "error": error })) })
}

#[track_caller]
fn named<'f>(findings: &'f [Finding], name: &str) -> &'f Finding {
    findings
        .iter()
        .find(|finding| finding.name == name)
        .unwrap_or_else(|| panic!("no {name}: {findings:#?}"))
}

#[tokio::test]
async fn a_good_identity_provider_has_no_fault() {
    let world = World::new().await;
    world.script().token = refuses("invalid_grant");
    world.script().discovery["code_challenge_methods_supported"] = json!(["S256"]);
    world.script().discovery["end_session_endpoint"] =
        json!(format!("{}/end", world.server.base()));
    world.script().discovery["token_endpoint_auth_methods_supported"] =
        json!(["client_secret_post"]);
    let found = findings(&world).await;
    let amiss: Vec<&str> = found
        .iter()
        .filter(|finding| finding.verdict != Verdict::Ok)
        .map(|finding| finding.name)
        .collect();
    assert_eq!(amiss, ["certificate"], "there is no TLS in this test: {found:#?}");
    assert!(named(&found, "client-authentication").what.contains("believes who we are"));
    let page = include_str!("../../../../docs/checking-a-connector.md");
    for Finding { name, .. } in &found {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
    }
}

#[tokio::test]
async fn each_flaw_is_named_with_its_mend() {
    type Spoil = fn(&mut Script);
    let table: [(&str, Spoil, &str, Verdict, &str); 26] = [
        (
            "slash",
            |s| s.discovery["issuer"] = json!(format!("{}/", s.base)),
            "issuer",
            Verdict::Fault,
            "by a slash at its end",
        ),
        (
            "other",
            |s| s.discovery["issuer"] = json!("https://evil.example"),
            "issuer",
            Verdict::Fault,
            "https://evil.example",
        ),
        (
            "none",
            |s| s.discovery["issuer"] = json!(null),
            "issuer",
            Verdict::Fault,
            "names no issuer",
        ),
        ("array", |s| s.discovery = json!([]), "discovery", Verdict::Fault, "not a JSON object"),
        ("no jwks", |s| s.drop_member("jwks_uri"), "discovery", Verdict::Fault, "jwks_uri"),
        (
            "inside",
            |s| s.discovery["token_endpoint"] = json!("http://10.0.0.1/token"),
            "discovery",
            Verdict::Fault,
            "internal_hosts",
        ),
        (
            "no keys",
            |s| s.published = vec![],
            "keys",
            Verdict::Fault,
            "no key of the set can verify ES256",
        ),
        (
            "rsa, and ES256 is not announced",
            |s| {
                s.published = vec![rsa(2048)];
                s.discovery["id_token_signing_alg_values_supported"] = json!(["RS256"]);
            },
            "keys",
            Verdict::Fault,
            "RS256",
        ),
        (
            "Keycloak before its first ES256 signature",
            |s| s.published = vec![rsa(2048)],
            "keys",
            Verdict::Warning,
            "at the first signature",
        ),
        ("weak", |s| s.published.push(rsa(1024)), "weak-keys", Verdict::Warning, "1024 bits"),
        (
            "private",
            |s| {
                let mut jwk = serde_json::to_value(ec_key("k2").0).unwrap();
                jwk["kid"] = json!("k2");
                s.published.push(jwk);
            },
            "weak-keys",
            Verdict::Fault,
            "anyone can sign",
        ),
        (
            "twins",
            |s| s.published = vec![ec_key("k").1, ec_key("k").1],
            "key-ids",
            Verdict::Fault,
            "kid k",
        ),
        (
            "nameless",
            |s| {
                let mut jwk = ec_key("k").1;
                jwk.as_object_mut().unwrap().remove("kid");
                s.published.push(jwk);
            },
            "key-ids",
            Verdict::Warning,
            "1 keys have no kid",
        ),
        (
            "ten thousand keys",
            |s| {
                s.published =
                    (0..10_000).map(|n| json!({ "kty": "oct", "kid": n.to_string() })).collect()
            },
            "keys",
            Verdict::Fault,
            "10000 keys",
        ),
        ("no logout", |_| {}, "end-session", Verdict::Warning, "leaves"),
        (
            "pkce",
            |s| s.discovery["code_challenge_methods_supported"] = json!(["plain"]),
            "pkce",
            Verdict::Warning,
            "S256",
        ),
        (
            "modes",
            |s| s.discovery["response_modes_supported"] = json!(["fragment"]),
            "response-mode",
            Verdict::Fault,
            "query",
        ),
        (
            "acr",
            |s| s.discovery["acr_values_supported"] = json!(["low"]),
            "acr",
            Verdict::Warning,
            "substantial",
        ),
        (
            "scopes",
            |s| s.discovery["scopes_supported"] = json!(["openid"]),
            "scopes",
            Verdict::Fault,
            "identite_pivot",
        ),
        (
            "the scopes it has",
            |s| s.discovery["scopes_supported"] = json!(["openid", "prof\u{1b}ile", "web-origins"]),
            "scopes",
            Verdict::Fault,
            "it lists openid, prof?ile, web-origins",
        ),
        (
            "prompt",
            |s| s.discovery["prompt_values_supported"] = json!(["none"]),
            "prompt",
            Verdict::Warning,
            "Y020370",
        ),
        (
            "claims",
            |s| s.discovery["claims_supported"] = json!(["sub"]),
            "claims",
            Verdict::Warning,
            "sn (for family_name)",
        ),
        (
            "wrong secret",
            |s| s.token = refuses("invalid_client"),
            "client-authentication",
            Verdict::Fault,
            "client_secret and token_endpoint_auth_method",
        ),
        (
            "no codes",
            |s| s.token = refuses("unauthorized_client"),
            "client-authentication",
            Verdict::Fault,
            "authorization_code",
        ),
        (
            "odd",
            |s| s.token = refuses("invalid_request"),
            "client-authentication",
            Verdict::Warning,
            "error=invalid_request",
        ),
        ("believes anything", |_| {}, "client-authentication", Verdict::Fault, "nobody issued"),
    ];
    for (case, spoil, name, verdict, words) in table {
        let world = World::new().await;
        spoil(&mut world.script());
        let found = findings(&world).await;
        let finding =
            found.iter().find(|finding| finding.name == name && finding.verdict == verdict);
        let finding = finding.unwrap_or_else(|| panic!("{case}: {found:#?}"));
        let told = format!("{} {}", finding.what, finding.mend.as_deref().unwrap_or_default());
        assert!(told.contains(words), "{case}: {told}");
        assert!(finding.mend.is_some(), "{case}");
        for finding in &found {
            let told = format!("{finding:?}");
            assert!(!told.contains(SECRET) && !told.contains("at-1"), "{case}: {told}");
        }
    }
}

#[tokio::test]
async fn an_unlisted_acr_beside_assumed_level_is_warned_of_before_the_first_login() {
    let assumed =
        "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"";
    let acr = async |levels: &str, announced: &[(&str, Value)]| {
        let world = World::with_levels(levels, "").await;
        for (name, value) in announced {
            world.script().discovery[*name] = value.clone();
        }
        named(&findings(&world).await, "acr").clone()
    };
    let keycloak =
        [("acr_values_supported", json!(["0", "1"])), ("claims_supported", json!(["sub", "acr"]))];
    for announced in [&keycloak[..], &keycloak[1..]] {
        let finding = acr(assumed, announced).await;
        assert_eq!(finding.verdict, Verdict::Warning, "{finding:?}");
        assert!(finding.mend.unwrap().contains("ignore_acr = true"));
    }
    assert!(acr(assumed, &keycloak).await.what.contains("the acr values 0, 1"));
    for (levels, announced) in [
        (format!("{assumed}\nignore_acr = true"), &keycloak[..]),
        (format!("{assumed}\nacr = {{ eidas1 = [\"0\", \"1\"] }}"), &keycloak[..]),
        (assumed.to_owned(), &[]),
    ] {
        assert_eq!(acr(&levels, announced).await.verdict, Verdict::Ok, "{levels}");
    }
}

#[tokio::test]
async fn a_refused_assertion_leads_the_operator_to_client_assertion_audience() {
    for (more, other) in
        [("", "token_endpoint"), ("client_assertion_audience = \"token_endpoint\"", "issuer")]
    {
        let world =
            World::with(&format!("token_endpoint_auth_method = \"private_key_jwt\"\n{more}")).await;
        for error in ["invalid_client", "unauthorized_client", "invalid_request"] {
            world.script().token = refuses(error);
            let found = findings(&world).await;
            let mend = named(&found, "client-authentication").mend.clone().unwrap();
            assert!(
                mend.contains(&format!("client_assertion_audience = \"{other}\"")),
                "{error}: {mend}"
            );
        }
        world.script().token = refuses("invalid_client");
        let refused =
            world.connector.complete(world.attempt().await, world.arrival()).await.unwrap_err();
        assert!(
            refused.detail.contains("client_assertion_audience"),
            "the log names it too: {refused}"
        );
    }
}

fn rsa(bits: u32) -> Value {
    let mut jwk = serde_json::to_value(
        josekit::jwk::Jwk::generate_rsa_key(bits).unwrap().to_public_key().unwrap(),
    )
    .unwrap();
    jwk["kid"] = json!(format!("rsa-{bits}"));
    jwk
}

#[tokio::test]
async fn what_is_no_configuration_document_is_told_in_words() {
    type Answer = fn() -> Answered;
    let table: [(Answer, &str, &str); 6] = [
        (
            || Answered {
                status: 200,
                headers: vec![("content-type", "text/html".into())],
                body: b"hello".to_vec(),
            },
            "discovery",
            "web page (HTML)",
        ),
        (
            || Answered { status: 200, headers: vec![], body: b" <!doctype html>".to_vec() },
            "discovery",
            "web page (HTML)",
        ),
        (
            || Answered { status: 200, headers: vec![], body: vec![b' '; 50 << 20] },
            "reachable",
            "larger than 1 MiB",
        ),
        (|| Answered::status(404), "discovery", "status 404"),
        (
            || Answered {
                status: 302,
                headers: vec![("location", "http://169.254.169.254/latest".into())],
                body: vec![],
            },
            "discovery",
            "169.254.169.254, which the hub must not call",
        ),
        (
            || Answered {
                status: 301,
                headers: vec![("location", "http://www.example.org/x".into())],
                body: vec![],
            },
            "discovery",
            "a redirect to www.example.org",
        ),
    ];
    for (answer, name, words) in table {
        let server = FakeServer::start(move |_| answer()).await;
        let env = Env::new(
            std::sync::Arc::new(crate::env::HandClock::at(Timestamp::from_seconds(NOW))),
            std::sync::Arc::new(crate::env::SeededEntropy::new(3)),
        );
        let connector =
            connector(&server.base(), "", "internal_hosts = [\"127.0.0.1\"]", env).unwrap();
        let found = connector.examine(&examination()).await;
        let finding = named(&found, name);
        assert!(
            finding.verdict == Verdict::Fault && finding.what.contains(words),
            "{words}: {found:#?}"
        );
    }
}

#[test]
fn a_call_without_an_answer_is_told_in_words() {
    let unreachable =
        |why: &str| GuardFault::Unreachable { host: "idp.example".into(), why: why.into() };
    for (fault, name, word) in [
        (unreachable("Connection refused (os error 111)"), "reachable", "firewall|call it"),
        (
            unreachable(
                "invalid peer certificate: certificate expired: verification time 2 (UNIX)",
            ),
            "certificate",
            "must renew it",
        ),
        (unreachable("invalid peer certificate: UnknownIssuer"), "certificate", "whole chain"),
        (
            unreachable("invalid peer certificate: certificate not valid for name \"idp.example\""),
            "certificate",
            "another host's",
        ),
        (unreachable("invalid peer certificate: BadEncoding"), "certificate", "show these words"),
        (GuardFault::Timeout("idp.example".into()), "reachable", "as long"),
        (GuardFault::AddressForbidden("10.0.0.1: private".into()), "reachable", "internal_hosts"),
        (
            GuardFault::TooLarge { host: "idp.example".into(), limit: 1 },
            "reachable",
            "few kilobytes",
        ),
    ] {
        let finding = unreached("reachable", "its configuration document", &fault);
        let mend = finding.mend.unwrap();
        assert_eq!((finding.name, finding.verdict), (name, Verdict::Fault));
        assert!(word.split('|').any(|word| mend.contains(word)), "{mend}");
    }
}

#[tokio::test]
async fn the_acr_values_that_an_identity_provider_announces_are_listed() {
    let world = World::new().await;
    world.script().discovery["acr_values_supported"] = json!(["urn:loa:1", "\u{1b}[31mred"]);
    let found = findings(&world).await;
    let acr = named(&found, "acr");
    let mend = acr.mend.as_deref().unwrap_or_default();
    assert!(
        acr.what.contains("not announced: low") && mend.contains("it announces: urn:loa:1, "),
        "{acr:?}"
    );
    assert!(!mend.contains('\u{1b}'), "what a terminal would obey is not shown: {acr:?}");
    world.script().discovery["acr_values_supported"] = json!(["low", "substantial", "more"]);
    assert!(
        named(&findings(&world).await, "acr")
            .what
            .contains("announced are: low, substantial, more")
    );
}
