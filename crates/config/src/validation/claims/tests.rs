//! Tests declared claims: invalid declarations, and what may name a declared claim.

use crate::tests::Folder;
use passerelle_federation::identity::ClaimName;
use passerelle_settings::Diagnostic;

const SETTINGS: &str = "passerelle.toml";
const LAST: &str = "identity_source = \"provider\"\n";

fn with_claims(claims: &str) -> Folder {
    Folder::good().edit(SETTINGS, LAST, &format!("{LAST}{claims}\n"))
}

fn table(name: &str, more: &str) -> String {
    format!("[claims.{name}]\ntype = \"string\"\nlabel = {{ en = \"Label\" }}\n{more}\n")
}

fn siret() -> Folder {
    with_claims(&table("siret", ""))
}

#[test]
fn a_bad_declaration_is_refused_with_its_line_and_fix() {
    let [shoe, shoe_2] = [table("Shoe", ""), table("shoe", "")];
    for (claims, key, words) in [
        (table("email", ""), "claims.email", "use that claim"),
        (table("Address", ""), "claims.Address", "specification's claim address"),
        (table("sub", ""), "claims.sub", "specification's claim sub"),
        (table("acr", ""), "claims.acr", "reserved for the protocol's claim acr"),
        (table("_claim_sources", ""), "claims._claim_sources", "reserved"),
        (table("token_introspection", ""), "claims.token_introspection", "reserved"),
        (table("\"a b\"", ""), "claims.a b", "1 to 128 letters"),
        (format!("{shoe}{shoe_2}"), "claims.shoe", "differs from the claim Shoe"),
        (table("siret", "max_bytes = 0"), "claims.siret.max_bytes", "from 1 to 32768"),
        (table("siret", "size = 1"), "claims.siret.size", "use one of: type, label"),
        (
            "[claims.siret]\ntype = \"text\"\nlabel = { en = \"x\" }".into(),
            "claims.siret.type",
            "write one of: string, string_array, boolean, number, object",
        ),
        (
            "[claims.siret]\ntype = \"string\"\nlabel = {}".into(),
            "claims.siret.label",
            "no text in any language",
        ),
        (
            ["a", "b", "c"].map(|name| table(name, "max_bytes = 30000")).concat(),
            "claims.c.max_bytes",
            "at most 65536",
        ),
    ] {
        let folder = with_claims(&claims);
        let (file, _, text) = folder.problem_at(key);
        assert_eq!(file, SETTINGS, "{key}");
        assert!(text.contains(words), "{key}: {text}");
        let problems: Vec<Diagnostic> = folder.load().map(|_| ()).unwrap_err();
        assert!(problems.iter().all(|problem| problem.line.is_some()), "{problems:?}");
    }
}

#[test]
fn a_claim_declared_twice_is_refused() {
    let (file, _, text) = with_claims(&[table("siret", ""), table("siret", "")].concat()).problem();
    assert_eq!(file, SETTINGS, "{text}");
}

#[test]
fn an_undeclared_claim_names_the_declaration_that_it_lacks() {
    let scopes = "[scopes]\nopenid = [\"sub\"]\nagent = [\"siret\"]\nemail = [\"email\"]\n";
    let mapping = "[mapping]\nsiret = { from = \"org\" }\n[kind.oidc]";
    let edit = |folder: Folder| {
        folder.with("scopes.toml", scopes).edit("connectors/idp.toml", "[kind.oidc]", mapping).edit(
            "service-providers/sp.toml",
            "\"email\"",
            "\"email\", \"agent\"",
        )
    };
    let undeclared = edit(Folder::good());
    for (file, key) in [("scopes.toml", "scopes.agent"), ("connectors/idp.toml", "mapping.siret")] {
        let (found, _, text) = undeclared.problem_at(key);
        assert_eq!(found, file);
        assert!(text.contains("[claims.siret] in passerelle.toml"), "{text}");
    }
    let loaded = edit(siret()).loaded();
    let siret = ClaimName::from_name("siret");
    let federation = loaded.build_federation();
    assert!(federation.scopes.all_claim_names().contains(&siret));
    let mapping = loaded.connectors.get("idp").unwrap().mapping.as_ref().unwrap();
    assert!(mapping.rules.contains_key(&siret));
}

#[test]
fn rules_must_fit_the_declared_type() {
    let groups = "[claims.groups]\ntype = \"string_array\"\nlabel = { en = \"Groups\" }\n";
    let unit = "[claims.unit]\ntype = \"string\"\nlabel = { en = \"Unit\" }\npersonal = false\n";
    let staff =
        "[claims.staff]\ntype = \"boolean\"\nlabel = { en = \"Staff\" }\npersonal = false\n";
    let folder = |rule: &str| {
        with_claims(&format!("{}{groups}{unit}{staff}", table("siret", ""))).edit(
            "connectors/idp.toml",
            "[kind.oidc]",
            &format!("[mapping]\n{rule}\n[kind.oidc]"),
        )
    };
    for rule in [
        "groups = { from = \"roles\", split = \",\" }",
        "siret = { from = \"org\", split = \",\", part = 1 }",
        "unit = { value = \"Finance\" }",
        "staff = { value = true }",
        "staff = { from = \"type\", map = { staff = true }, otherwise = false }",
    ] {
        folder(rule).loaded();
    }
    for (rule, key, words) in [
        ("groups = { join = [\"a\", \"b\"] }", "mapping.groups.join", "not a text"),
        ("siret = { from = \"a\", split = \",\" }", "mapping.siret.split", "not a list"),
        ("siret = { from = \"a\", date = \"YYYY\" }", "mapping.siret.date", "birthdate only"),
        ("siret = { value = \"1\" }", "mapping.siret.value", "personal = false"),
        ("unit = { value = true }", "mapping.unit.value", "not a string"),
        ("staff = { value = \"yes\" }", "mapping.staff.value", "not a boolean"),
    ] {
        let (_, found, text) = folder(rule).problem();
        assert_eq!(found, key, "{text}");
        assert!(text.contains(words), "{rule}: {text}");
    }
}

#[test]
fn verified_claims_without_an_effect_or_a_name_are_refused() {
    const TABLE: &str = "[verified_claims]\ntrust_framework = ";
    let listed = "connectors = { idp = [\"family_name\"] }";
    for (rules, key) in [
        (format!("{TABLE}\"\"\n{listed}"), "verified_claims.trust_framework"),
        (
            format!("{TABLE}\"eidas\"\nassurance_level = \"\"\n{listed}"),
            "verified_claims.assurance_level",
        ),
        (format!("{TABLE}\"eidas\""), "verified_claims.connectors"),
        (
            format!("{TABLE}\"eidas\"\nconnectors = {{ idp = [\"shoe_size\"] }}"),
            "verified_claims.connectors.idp[0]",
        ),
    ] {
        assert_eq!(with_claims(&rules).problem().1, key, "{rules}");
    }
    let rules = with_claims(&format!("{TABLE}\"eidas\"\n{listed}"));
    assert!(rules.loaded().settings.verified_claims.is_some());
}

/// Attack: a constant of a connector's file passes for a claim that its identity provider verified.
#[test]
fn a_constant_is_not_listed_as_verified() {
    let rules =
        "[verified_claims]\ntrust_framework = \"eidas\"\nconnectors = { idp = [\"gender\"] }";
    let folder = |rule: &str| {
        let mapping = format!("[mapping]\n{rule}\n[kind.oidc]");
        with_claims(rules).edit("connectors/idp.toml", "[kind.oidc]", &mapping)
    };
    folder("gender = { from = \"sex\" }").loaded();
    folder("birthcountry = { value = \"99100\" }").loaded();
    let (_, key, text) = folder("gender = { value = \"unspecified\" }").problem();
    assert_eq!(key, "mapping.gender", "{text}");
    assert!(text.contains("verified_claims.connectors.idp"), "{text}");
}
