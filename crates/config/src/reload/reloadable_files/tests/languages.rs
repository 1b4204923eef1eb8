//! Tests of the messages of the pages.

use super::*;
use crate::changes::FileChange;

fn title(scene: &ReloadFixture, tag: &str) -> String {
    scene.files.build_federation().languages.find(tag).unwrap().text("choice-title")
}

#[test]
fn a_language_is_added_replaced_and_removed_while_the_hub_runs() {
    let mut scene = ReloadFixture::good();
    let before = scene.files.digest();
    assert!(scene.files.build_federation().languages.find("br").is_none());
    scene.put("locales/br.ftl", "choice-title = Dibabit ur gont\n");
    scene.put("locales/en/site.ftl", "# Ours.\nchoice-title = Pick one\n");
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(
        (title(&scene, "br").as_str(), title(&scene, "en").as_str()),
        ("Dibabit ur gont", "Pick one")
    );
    let added = scene.files.digest();
    let changes = before.changes_to(&added);
    assert_eq!(
        changes.report(),
        "locales/br.ftl: new; affects the pages in this language\n\
         locales/en/site.ftl: new; affects the pages in this language\n"
    );
    scene.put("locales/en/site.ftl", "choice-title = Choose\n");
    assert_eq!((scene.read().len(), title(&scene, "en").as_str()), (0, "Choose"));
    let changes = added.changes_to(&scene.files.digest());
    let fields = vec!["choice-title".to_owned()];
    assert_eq!(changes.languages["locales/en/site.ftl"], FileChange::Changed(fields));
    fs::remove_file(scene.path("locales/br.ftl")).unwrap();
    assert_eq!(scene.read(), [""; 0]);
    assert!(scene.files.build_federation().languages.find("br").is_none());
}

#[test]
fn a_bad_file_of_messages_keeps_its_last_good_version() {
    let mut scene = ReloadFixture::good();
    for (bad, expected) in [
        (
            "choice-none = x\nchoice-title Pick one\n",
            "locales/en.ftl:2 is not valid Fluent at this line; ",
        ),
        (
            "\nchoice-titel = x\n",
            "locales/en.ftl:2 choice-titel is not a message of the pages; did you mean `choice-title`?",
        ),
        (
            "choice-title = { $who }\n",
            "locales/en.ftl:1 choice-title uses the unknown variable $who; remove it",
        ),
        ("choice-title = a\n\nchoice-title = b\n", "locales/en.ftl:3 choice-title has two texts; "),
    ] {
        scene.put("locales/en.ftl", "choice-title = Pick one\n");
        assert_eq!((scene.read(), scene.files.bad_file_count(FileKind::Language)), (vec![], 0));
        scene.put("locales/en.ftl", bad);
        let findings = scene.read();
        assert!(
            matches!(findings.as_slice(), [line] if line.starts_with(expected)),
            "{findings:?}"
        );
        assert_eq!(title(&scene, "en"), "Pick one");
        assert_eq!(scene.files.bad_file_count(FileKind::Language), 1);
    }
    scene.put("locales/klingon.ftl", "choice-title = x\n");
    assert!(
        scene.read().iter().any(|line| line.starts_with("locales/klingon.ftl is not named by"))
    );
}

#[test]
fn html_in_a_message_is_text() {
    let folder = Folder::good().with("locales/en.ftl", "choice-title = <b>Pick</b>\n");
    let scene = ReloadFixture::from_folder(folder);
    assert_eq!(title(&scene, "en"), "<b>Pick</b>");
}

#[test]
fn a_start_names_a_bad_file_and_an_unknown_default_language() {
    let folder = Folder::good().with("locales/br.ftl", "choice-titel = x\n").edit(
        "passerelle.toml",
        "platform",
        "default_language = \"xx\"\nplatform",
    );
    let problems = folder.load().map(|_| ()).unwrap_err();
    let has = |text: &str| problems.iter().any(|one| one.to_single_line().contains(text));
    assert!(has("locales/br.ftl") && has("choice-titel"), "{problems:?}");
    assert!(has("default_language") && has("is not a language of the pages"), "{problems:?}");
    let folder = Folder::good().with("locales/br.ftl", "language-name = Brezhoneg\n").edit(
        "passerelle.toml",
        "platform",
        "default_language = \"br\"\nplatform",
    );
    let federation = folder.loaded().files.build_federation();
    assert_eq!(federation.languages.default_locale().tag(), "br");
}
