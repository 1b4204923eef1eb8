//! `docs/fapi-identity-providers.md` and the modules of the Foundation's plans for relying parties
//! against the code: every module is listed, and every test that the pages name exists.

use crate::test_tables::{exists, page, reader, tests};

const PREFIX: &str = "fapi2-security-profile-final-client-test-";

/// The modules for ordinary profiles, in the Foundation's names without their common beginning.
const MODULES: &[&str] = &[
    "happy-path",
    "happy-path-no-dpop-nonce",
    "discovery-issuer-mismatch",
    "invalid-iss",
    "invalid-aud",
    "invalid-secondary-aud",
    "valid-aud-as-array",
    "invalid-null-alg",
    "invalid-alternate-alg",
    "invalid-expired-exp",
    "invalid-missing-exp",
    "invalid-missing-aud",
    "invalid-missing-iss",
    "invalid-nonce",
    "invalid-missing-nonce",
    "invalid-authorization-response-iss",
    "remove-authorization-response-iss",
    "ensure-authorization-response-with-invalid-state-fails",
    "ensure-authorization-response-with-invalid-missing-state-fails",
    "token-endpoint-response-without-expires_in",
    "token-type-case-insensitivity",
    "rs-dpop-auth-scheme-case-insensitivity",
    "ensure-jarm-without-iss-fails",
    "ensure-jarm-with-invalid-iss-fails",
    "ensure-jarm-without-aud-fails",
    "ensure-jarm-with-invalid-aud-fails",
    "ensure-jarm-without-exp-fails",
    "ensure-jarm-with-expired-exp-fails",
    "ensure-jarm-with-invalid-sig-fails",
    "ensure-jarm-signature-is-not-none",
];

/// Returns the tables' rows that name tests: the first and the last cell.
fn rows(page: &str) -> Vec<(&str, &str)> {
    page.lines()
        .filter(|line| line.contains("::"))
        .map(|line| {
            let row = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
            let cells: Vec<&str> =
                row.unwrap_or_else(|| panic!("no row: {line}")).split(" | ").collect();
            (cells[0], cells[cells.len() - 1])
        })
        .collect()
}

fn faults(page: &str) -> Vec<String> {
    let (rows, mut read) = (rows(page), reader());
    let listed: Vec<&str> =
        rows.iter().filter_map(|(first, _)| first.strip_prefix(PREFIX)).collect();
    let missing = MODULES.iter().filter(|module| !listed.contains(*module));
    let mut faults: Vec<String> = missing.map(|module| format!("{module} is missing")).collect();
    faults.extend(
        listed.iter().filter(|module| !MODULES.contains(*module)).map(|name| format!("{name}?")),
    );
    for (first, last) in rows {
        let named = tests(last);
        if named.is_empty() {
            faults.push(format!("{first}: no test"));
        }
        let absent = named.into_iter().filter(|test| !exists(test, &mut read));
        faults.extend(absent.map(|test| format!("{first}: there is no test {test}")));
    }
    faults
}

fn pages() -> String {
    page("fapi-identity-providers.md")
        + &page("../tests/documents/certification/relying-party-modules.md")
}

#[test]
fn every_requirement_and_module_has_tests_that_exist() {
    let faults = faults(&pages());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn forged_rows_are_detected() {
    let pages = pages();
    for (from, to) in
        [("::a_bearer_token", "::a_bear_token"), ("test-happy-path |", "test-happy |")]
    {
        assert!(!faults(&pages.replacen(from, to, 1)).is_empty(), "{from}");
    }
}
