//! Tests of files of sandboxes.

use crate::tests::Folder;

#[test]
fn a_persona_connector_needs_the_sandbox() {
    let persona = "name = { en = \"Persons\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n[kind.persona]\n";
    let folder = Folder::good().with("connectors/persons.toml", persona);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("connectors/persons.toml", "kind.persona"));
    assert!(text.contains("sandbox = true"));
    let sandbox = "sandbox = true\nsandbox_public = true\nidentity_source";
    assert!(
        folder
            .edit("passerelle.toml", "identity_source", sandbox)
            .loaded()
            .warnings
            .iter()
            .any(|w| w.key == "sandbox")
    );
}

#[test]
fn levels_that_a_sandbox_would_ignore_are_refused() {
    let sandbox = "sandbox = true\nsandbox_public = true\nidentity_source";
    for (key, line) in
        [("acr", "acr = { eidas1 = [\"low\"] }"), ("assumed_level", "assumed_level = \"eidas1\"")]
    {
        let persona = format!(
            "name = {{ en = \"Persons\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n{line}\n[kind.persona]\n"
        );
        let folder = Folder::good().with("connectors/persons.toml", &persona).edit(
            "passerelle.toml",
            "identity_source",
            sandbox,
        );
        let (file, found, text) = folder.problem();
        assert_eq!((file.as_str(), found.as_str()), ("connectors/persons.toml", key));
        assert!(text.contains("remove it"), "{text}");
    }
}
