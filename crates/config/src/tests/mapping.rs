//! Tests valid and invalid `[mapping]` tables.

use crate::tests::Folder;

const FILE: &str = "connectors/idp.toml";

fn with(mapping: &str) -> Folder {
    Folder::good().edit(FILE, "[kind.oidc]", &format!("[mapping]\n{mapping}\n[kind.oidc]"))
}

#[test]
fn a_mapping_that_can_not_work_is_refused_by_key() {
    for (mapping, key, word) in [
        ("surname = { from = \"sn\" }", "mapping.surname", "family_name"),
        ("sub = { from = \"id\" }", "mapping.sub", "its own sub"),
        ("gender = {}", "mapping.gender", "add from"),
        ("gender = { from = \"a\", value = \"male\" }", "mapping.gender", "keep one"),
        ("gender = { form = \"a\" }", "mapping.gender.form", "did you mean `from`?"),
        ("gender = \"a\"", "mapping.gender", "must be a table"),
        ("name = { from = \"\" }", "mapping.name.from", "is empty"),
        ("name = { from = \"/a~2\" }", "mapping.name.from", "~"),
        ("name = { from = \"acr\" }", "mapping.name.from", "protocol"),
        ("name = { from = \"/sub/x\" }", "mapping.name.from", "protocol"),
        ("name = { join = [] }", "mapping.name.join", "1 to 16"),
        ("name = { join = [\"a\", \"\"] }", "mapping.name.join[1]", "is empty"),
        ("name = { join = [\"a\"], with = \"\\n\" }", "mapping.name.with", "control"),
        ("name = { from = \"a\", with = \"-\" }", "mapping.name.with", "nothing is joined"),
        ("given_name_array = { join = [\"a\"] }", "mapping.given_name_array.join", "given_name"),
        ("family_name = { value = \"X\" }", "mapping.family_name.value", "same for every user"),
        ("birthcountry = { value = \"FR\" }", "mapping.birthcountry.value", "geographic code"),
        ("birthcountry = { value = 99100 }", "mapping.birthcountry.value", "form"),
        ("email_verified = { value = \"true\" }", "mapping.email_verified.value", "true or false"),
        (
            "gender = { value = \"male\", map = { M = \"male\" } }",
            "mapping.gender.value",
            "the final value",
        ),
        ("gender = { from = \"a\", map = {} }", "mapping.gender.map", "1 to 1000"),
        (
            "gender = { from = \"a\", map = { M = \"man\" } }",
            "mapping.gender.map.M",
            "male, female",
        ),
        (
            "gender = { from = \"a\", map = { M = \"male\" }, otherwise = \"x\" }",
            "mapping.gender.otherwise",
            "male, female",
        ),
        (
            "gender = { from = \"a\", otherwise = \"male\" }",
            "mapping.gender.otherwise",
            "without map",
        ),
        (
            "address = { from = \"a\", map = { M = \"male\" } }",
            "mapping.address.map.M",
            "must be an object",
        ),
        ("birthdate = { from = \"a\", date = \"DD/MM/YY\" }", "mapping.birthdate.date", "century"),
        (
            "birthdate = { from = \"a\", date = \"YYYY\", case = \"upper\" }",
            "mapping.birthdate",
            "keep one",
        ),
        ("locale = { from = \"a\", date = \"YYYY\" }", "mapping.locale.date", "birthdate only"),
        (
            "given_name_array = { from = \"a\", split = \"\" }",
            "mapping.given_name_array.split",
            "is empty",
        ),
        (
            "given_name_array = { from = \"a\", split = \" \", part = 0 }",
            "mapping.given_name_array",
            "returns a text",
        ),
        ("family_name = { from = \"a\", split = \" \" }", "mapping.family_name.split", "part = 0"),
        (
            "family_name = { from = \"a\", part = 0 }",
            "mapping.family_name.part",
            "nothing is split",
        ),
        (
            "family_name = { from = \"a\", case = \"title\" }",
            "mapping.family_name.case",
            "upper, lower",
        ),
        (
            "email_verified = { from = \"a\", case = \"lower\" }",
            "mapping.email_verified.case",
            "returns a text",
        ),
    ] {
        let (file, at, text) = with(mapping).problem();
        assert_eq!((file.as_str(), at.as_str()), (FILE, key), "{mapping}");
        assert!(text.contains(word), "{mapping}: {text}");
    }
}

#[test]
fn a_list_claim_may_be_mapped_by_rows_and_by_case() {
    for rule in ["case = \"upper\"", "map = { \"cn=admins\" = \"Admin\" }"] {
        with(&format!("given_name_array = {{ from = \"memberOf\", {rule} }}")).loaded();
    }
}

#[test]
fn a_mapping_that_drops_everything_is_refused() {
    let folder = Folder::good().edit(FILE, "[acr]", "unmapped_claims = \"drop\"\n[acr]");
    let (_, key, text) = folder.problem();
    assert!(key == "unmapped_claims" && text.contains("[mapping]"), "{key} {text}");
}

#[test]
fn no_value_of_a_mapping_is_repeated_in_a_message() {
    let rule = "gender = { from = \"a\", map = { x = \"topsecret\" } }";
    let (_, _, text) = with(rule).problem();
    assert!(!text.contains("topsecret"), "{text}");
}

#[test]
fn the_example_of_the_documentation_is_a_mapping() {
    let loaded =
        with("gender = { from = \"sex\", map = { \"1\" = \"male\", \"2\" = \"female\" }, otherwise = \"unspecified\" }").loaded();
    let connector = loaded.connectors.values().next().unwrap();
    assert_eq!(connector.mapping.as_ref().unwrap().rules.len(), 1);
}
