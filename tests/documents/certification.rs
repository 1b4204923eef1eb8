//! `docs/certification.md` and `certification/modules.md` against the code: the list has every module
//! of the OpenID Foundation's plans, and every test that it names exists.

mod dynamic_modules;
mod fapi_modules;
mod ida_modules;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::test_tables::{exists, page, reader, remarks, tests};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use passerelle_settings::Environment;
use serde_json::{Value, json};

/// Path from `docs/`.
const MODULES: &str = "../tests/documents/certification/modules.md";
const LOGOUT: &str = "RP-Initiated Logout OP";
const NOT_STATIC: &str = "not with static clients";

/// The plans, and their modules in the Foundation's names.
const PLANS: &[(&str, &[&str])] = &[
    (
        "Basic OP",
        &[
            "oidcc-server",
            "oidcc-response-type-missing",
            "oidcc-idtoken-signature",
            "oidcc-idtoken-unsigned",
            "oidcc-userinfo-get",
            "oidcc-userinfo-post-header",
            "oidcc-userinfo-post-body",
            "oidcc-ensure-request-without-nonce-succeeds-for-code-flow",
            "oidcc-scope-profile",
            "oidcc-scope-email",
            "oidcc-scope-address",
            "oidcc-scope-phone",
            "oidcc-scope-all",
            "oidcc-alternate-happy-flow",
            "oidcc-display-page",
            "oidcc-display-popup",
            "oidcc-prompt-login",
            "oidcc-prompt-none-not-logged-in",
            "oidcc-prompt-none-logged-in",
            "oidcc-max-age-1",
            "oidcc-max-age-10000",
            "oidcc-ensure-request-with-unknown-parameter-succeeds",
            "oidcc-id-token-hint",
            "oidcc-login-hint",
            "oidcc-ui-locales",
            "oidcc-claims-locales",
            "oidcc-ensure-request-with-acr-values-succeeds",
            "oidcc-codereuse",
            "oidcc-codereuse-30seconds",
            "oidcc-ensure-registered-redirect-uri",
            "oidcc-ensure-post-request-succeeds",
            "oidcc-server-client-secret-post",
            "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported",
            "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
            "oidcc-claims-essential",
            "oidcc-ensure-request-object-with-redirect-uri",
            "oidcc-refresh-token",
            "oidcc-ensure-request-with-valid-pkce-succeeds",
        ],
    ),
    ("Config OP", &["oidcc-discovery-endpoint-verification"]),
    ("Dynamic OP", dynamic_modules::DYNAMIC),
    ("Form Post OP", &["every module of Basic OP, with response_mode=form_post"]),
    (
        LOGOUT,
        &[
            "oidcc-rp-initiated-logout-discovery-endpoint-verification",
            "oidcc-rp-initiated-logout",
            "oidcc-rp-initiated-logout-bad-id-token-hint",
            "oidcc-rp-initiated-logout-modified-id-token-hint",
            "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-no-id-token-hint",
            "oidcc-rp-initiated-logout-no-params",
            "oidcc-rp-initiated-logout-no-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-no-state",
            "oidcc-rp-initiated-logout-only-state",
        ],
    ),
    ("FAPI 2.0 Security Profile OP", fapi_modules::SECURITY_PROFILE),
    ("FAPI 2.0 Message Signing OP", fapi_modules::MESSAGE_SIGNING),
    ("OpenID for IDA", ida_modules::IDA),
    (
        "Back-Channel Logout OP",
        &[
            "oidcc-backchannel-logout-discovery-endpoint-verification",
            "oidcc-backchannel-rp-initiated-logout",
        ],
    ),
    (
        "Back-Channel Logout RP (Basic)",
        &[
            "oidcc-client-test-rp-backchannel-rpinitlogout",
            "oidcc-client-test-rp-backchannel-rpinitlogout-alg-none",
            "oidcc-client-test-rp-backchannel-rpinitlogout-no-event",
            "oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss",
        ],
    ),
];

/// How a run of a module ends, by the suite's sources, where it does not end as `passed`.
const OTHER_ENDS: &[(&str, &str)] = &[
    // `@VariantNotApplicable` for static clients.
    ("oidcc-idtoken-unsigned", "not offered"),
    // A placeholder for a screenshot.
    ("oidcc-prompt-login", "review"),
    ("oidcc-max-age-1", "review"),
    ("oidcc-ensure-registered-redirect-uri", "review"),
    ("oidcc-ensure-request-object-with-redirect-uri", "review"),
    ("oidcc-rp-initiated-logout-bad-id-token-hint", "review"),
    ("oidcc-rp-initiated-logout-modified-id-token-hint", "review"),
    ("oidcc-rp-initiated-logout-bad-post-logout-redirect-uri", "review"),
    ("oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri", "review"),
    ("oidcc-rp-initiated-logout-no-id-token-hint", "review"),
    ("oidcc-rp-initiated-logout-no-params", "review"),
    ("oidcc-rp-initiated-logout-no-post-logout-redirect-uri", "review"),
    ("oidcc-rp-initiated-logout-only-state", "review"),
    // `fireTestSkipped` upon what this hub answers.
    ("oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported", "skipped"),
    ("oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported", "skipped"),
    ("oidcc-refresh-token", "skipped"),
    ("every module of Basic OP, with response_mode=form_post", "as there"),
];

fn expected_end(module: &str) -> &'static str {
    let shown = [
        fapi_modules::SECURITY_PROFILE,
        fapi_modules::MESSAGE_SIGNING,
        dynamic_modules::DYNAMIC,
        ida_modules::IDA,
    ];
    let is_shown = shown.iter().any(|modules| modules.contains(&module));
    let otherwise = if is_shown { "shown" } else { "passed" };
    OTHER_ENDS
        .iter()
        .chain(dynamic_modules::ENDS)
        .find(|(named, _)| *named == module)
        .map_or(otherwise, |(_, end)| end)
}

struct Row {
    plan: String,
    module: String,
    end: String,
    tests: String,
}

fn rows(page: &str) -> Vec<Row> {
    let table = page.lines().skip_while(|line| !line.starts_with("| plan |")).skip(2);
    let read = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [plan, module, _, end, tests] = cells[..] else { panic!("five cells: {line}") };
        Some(Row { plan: plan.into(), module: module.into(), end: end.into(), tests: tests.into() })
    };
    table.filter_map(read).collect()
}

fn faults(page: &str, read: &mut impl FnMut(&str) -> Option<String>) -> Vec<String> {
    let rows = rows(page);
    let mut faults = Vec::new();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in &rows {
        *seen.entry((&row.plan, &row.module)).or_default() += 1;
        let mut report = |fault: String| faults.push(format!("{}: {fault}", row.module));
        let expected = expected_end(&row.module);
        if row.end != expected {
            report(format!("it ends as {expected}"));
        }
        for test in tests(&row.tests) {
            if !exists(test, read) {
                report(format!("there is no test {test}"));
            }
        }
        let remarks = remarks(&row.tests);
        if tests(&row.tests).is_empty() && remarks.is_empty() {
            report("a cell is empty".into());
        }
        for remark in remarks {
            if remark != NOT_STATIC {
                report(format!("{remark:?} is not allowed"));
            }
        }
    }
    let wanted =
        PLANS.iter().flat_map(|(plan, modules)| modules.iter().map(move |module| (*plan, *module)));
    let wanted: Vec<(&str, &str)> = wanted.collect();
    let missing = wanted.iter().filter(|module| seen.get(*module) != Some(&1));
    faults.extend(
        missing.map(|(plan, module)| format!("{module} does not occur exactly once, under {plan}")),
    );
    faults.extend(
        seen.keys()
            .filter(|row| !wanted.contains(row))
            .map(|(_, module)| format!("{module} is no module")),
    );
    faults
}

#[test]
fn every_module_has_tests_that_exist() {
    let faults = faults(&page(MODULES), &mut reader());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn forged_pages_are_detected() {
    let page = page(MODULES);
    for (from, to, fault) in [
        ("::prompt_none_is_answered", "::prompt_none_was_answered", "there is no test"),
        ("flow/openid.rs::", "flow/none.rs::", "there is no test"),
        ("| oidcc-server |", "| oidcc-servers |", "oidcc-server does not occur exactly once"),
        ("| oidcc-server |", "| oidcc-servers |", "oidcc-servers is no module"),
        ("| Config OP |", "| Basic OP |", "does not occur exactly once, under Config OP"),
        ("| skipped |", "| passed |", "it ends as skipped"),
        ("| review |", "| passed |", "it ends as review"),
        ("| not with static clients |", "| not yet: logout |", "is not allowed"),
    ] {
        assert!(page.contains(from), "{from}");
        // In the table alone: the text above it has some of these words.
        let start = page.find("| plan |").unwrap();
        let (text, table) = page.split_at(start);
        let found = faults(&format!("{text}{}", table.replacen(from, to, 1)), &mut reader());
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}

const CLIENT_SECRETS: [&str; 3] = [
    "SERVICE_PROVIDER_CLIENT__SECRET",
    "SERVICE_PROVIDER_CLIENT2__SECRET",
    "SERVICE_PROVIDER_POST__SECRET",
];

/// Folder of the set-up's files.
const SETUP: &str = "tests/documents/certification/setup";

#[test]
fn the_set_up_for_a_run_loads_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.replace("HOST", "login.example.org");
        fs::write(path, text.replace("UPSTREAM\"", "idp.example.org\"")).unwrap();
    };
    let read = |name: &str| fs::read_to_string(Path::new(SETUP).join(name)).unwrap();
    for name in [
        "passerelle.toml",
        "connectors/upstream.toml",
        "service-providers/client.toml",
        "service-providers/client2.toml",
        "service-providers/post.toml",
        "service-providers/fapi.toml",
        "service-providers/fapi2.toml",
    ] {
        write(name, &read(name));
    }
    for name in ["fapi.jwks", "fapi2.jwks"] {
        let key = Jwk::generate_ec_key(EcCurve::P256).unwrap().to_public_key().unwrap();
        write(name, &json!({ "keys": [key] }).to_string());
    }
    let secret = "a-secret-of-at-least-thirty-two-characters";
    let environment: Environment = ["SUBJECT_KEY", "CONNECTOR_UPSTREAM__SECRET"]
        .into_iter()
        .chain(CLIENT_SECRETS)
        .map(|name| (name, secret))
        .collect();
    let loaded = passerelle_server::load_config(folder.path(), &environment);
    assert!(
        loaded.is_ok(),
        "{}",
        passerelle_config::render_check_output(
            &loaded,
            passerelle_protocol::env::Timestamp::default()
        )
    );
    // The suite knows the clients of the files, and each has what its modules ask for.
    for (suite, clients) in [
        (
            "suite.json",
            [("client", "client"), ("client2", "client2"), ("client_secret_post", "post")]
                .as_slice(),
        ),
        ("suite-fapi.json", &[("client", "fapi"), ("client2", "fapi2")]),
    ] {
        let suite: Value = serde_json::from_str(&read(suite)).unwrap();
        for (member, id) in clients {
            assert_eq!(suite[member]["client_id"], *id);
            let file = read(&format!("service-providers/{id}.toml"));
            assert!(file.contains(&format!("client_id = \"{id}\"")), "{id}");
            assert!(file.contains("/test/a/ALIAS/callback"), "{id}");
            assert!(file.contains(r#"["openid", "profile", "email", "address", "phone"]"#), "{id}");
        }
    }
}
