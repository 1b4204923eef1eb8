//! Tests of whole folders: missing files, warnings, logos, the theme.

use super::*;

#[test]
fn references_to_missing_files_are_warnings() {
    let rules = "connectors = { deny = [\"later\"], order = [\"idp\", \"soon\"], idp_hint = [\"one-day\"] }\nclient_id";
    let loaded = Folder::good()
        .edit("service-providers/sp.toml", "client_id", rules)
        .edit("connectors/idp.toml", "[acr]", "category = \"health\"\n[acr]")
        .loaded();
    let keys: Vec<&str> = loaded.warnings.iter().map(|warning| warning.key.as_str()).collect();
    for key in ["connectors.deny[0]", "connectors.order[1]", "connectors.idp_hint[0]", "category"] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    assert!(!keys.contains(&"connectors.order[0]"));
    let known =
        "choice.categories = [{ id = \"health\", name = { en = \"Health\" } }]\nidentity_source";
    let loaded = Folder::good()
        .edit("passerelle.toml", "identity_source", known)
        .edit("connectors/idp.toml", "[acr]", "category = \"health\"\n[acr]")
        .loaded();
    assert!(loaded.warnings.iter().all(|warning| warning.key != "category"));
}

#[test]
fn logos_are_read_with_the_file_that_names_them() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
    let folder = |picture: &[u8]| {
        Folder::good()
            .with("connectors/idp.png", picture)
            .with("service-providers/sp.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
            .edit("connectors/idp.toml", "[acr]", "logo = \"idp.png\"\n[acr]")
            .edit("service-providers/sp.toml", "client_id", "logo = \"sp.svg\"\nclient_id")
    };
    let loaded = folder(PNG).loaded();
    let of_connector = loaded.connectors.get("idp").unwrap().logo.as_ref().unwrap();
    assert_eq!((of_connector.media_type, &*of_connector.bytes), ("image/png", PNG));
    let of_service =
        loaded.service_providers.get("sp").unwrap().service_provider.logo.as_ref().unwrap();
    assert_eq!(of_service.media_type, "image/svg+xml");
    assert!(of_service.version.len() == 16 && of_service.version != of_connector.version);
    let (_, key, text) = folder(&[PNG, &[0; 64 * 1024]].concat()).problem();
    assert!(key == "logo" && text.contains("over 64 KiB"), "{key}: {text}");
    let (_, key, text) = folder(b"GIF89a").problem();
    assert!(key == "logo" && text.contains("neither an SVG nor a PNG"), "{key}: {text}");
}

#[test]
fn missing_files_and_folders_are_reported() {
    let (file, _, text) = Folder::good().without("passerelle.toml").problem();
    assert_eq!((file.as_str(), text.starts_with("the file is missing")), ("passerelle.toml", true));
    let folder = Folder::good();
    fs::remove_dir_all(folder.root.path().join("service-providers")).unwrap();
    assert_eq!(folder.problem().0, "service-providers");
    let folder = Folder::good();
    fs::remove_dir_all(folder.root.path().join("connectors")).unwrap();
    assert_eq!(folder.problem().0, "connectors");
}

#[test]
fn without_connectors_the_hub_starts_and_warns() {
    let loaded = Folder::good().without("connectors/idp.toml").loaded();
    assert!(loaded.warnings.iter().any(|warning| warning.message.contains("no user can log in")));
}

#[test]
fn all_problems_are_reported_at_once() {
    let problems = Folder::good()
        .edit(
            "passerelle.toml",
            "platform",
            "typo_one = 1\ntypo_two = 2\nsandbox = \"no\"\nplatform",
        )
        .edit("service-providers/sp.toml", "https://sp.example.org/\"", "nowhere\"")
        .with("service-providers/broken.toml", "client_id = ")
        .with("theme.toml", "")
        .load()
        .unwrap_err();
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    for key in ["typo_one", "typo_two", "sandbox", "home_page", ""] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    assert_eq!(keys.len(), 5, "{problems:#?}");
    let line = |key: &str| problems.iter().find(|problem| problem.key == key).unwrap().line;
    assert_eq!((line("typo_two"), line("home_page")), (Some(3), Some(4)));
}

#[test]
fn a_low_contrast_accent_and_an_invalid_logo_are_rejected() {
    let theme = include_str!("../../../../config/theme.toml");
    let folder = || {
        Folder::good().edit(
            "passerelle.toml",
            "identity_source",
            "theme = \"theme.toml\"\nidentity_source",
        )
    };
    let pale = theme.replace("#0b4f8a", "#8aa0b0");
    let (file, key, text) = folder().with("theme.toml", pale).problem();
    assert_eq!((file.as_str(), key.as_str()), ("theme.toml", "accent.light"));
    assert!(text.contains("4.5"), "{text}");
    let logo = theme.replace("# logo", "logo");
    assert_eq!(folder().with("theme.toml", &logo).with("logo.svg", "<html>").problem().1, "logo");
    let loaded = folder()
        .with("theme.toml", &logo)
        .with("logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
        .loaded();
    assert_eq!(loaded.theme.logo.unwrap().media_type, "image/svg+xml");
}
