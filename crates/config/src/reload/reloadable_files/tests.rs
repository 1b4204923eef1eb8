mod conflicts;
mod languages;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::tests::{Folder, with_own_variables};
use passerelle_protocol::ids::ClientId;

/// The reloadable files of a hub, in a real folder.
struct ReloadFixture {
    folder: Folder,
    files: ReloadableFiles,
}

impl ReloadFixture {
    fn good() -> Self {
        Self::from_folder(Folder::good())
    }

    fn from_folder(folder: Folder) -> Self {
        let files = folder.loaded().files;
        Self { folder, files }
    }

    fn put(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, with_own_variables(file, text.as_ref())).unwrap();
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// Adds a service provider like `sp` with these additional lines.
    fn service(&self, id: &str, more: &str) {
        let text = self.text("service-providers/sp.toml").replacen(
            "client_id = \"sp\"",
            &format!("client_id = \"{id}\"\n{more}"),
            1,
        );
        assert!(text.contains(id));
        self.put(&format!("service-providers/{id}.toml"), text);
    }

    fn connector(&self, id: &str) {
        self.put(&format!("connectors/{id}.toml"), self.text("connectors/idp.toml"));
    }

    fn read(&mut self) -> Vec<String> {
        assert_eq!(self.files.rescan(&|_| Ok(())), ScanOutcome::Complete);
        let root = format!("{}/", self.folder.path().display());
        self.files
            .diagnostics()
            .iter()
            .map(|problem| problem.to_single_line().replace(&root, ""))
            .collect()
    }

    /// Returns the active connectors and service providers.
    fn counts(&self) -> (Vec<String>, Vec<String>) {
        let federation = self.files.build_federation();
        let connectors = federation.connectors().keys().map(ToString::to_string).collect();
        (
            connectors,
            federation
                .service_providers()
                .map(|service| service.registration.client_id.to_string())
                .collect(),
        )
    }

    fn name(&self, id: &str) -> String {
        self.files.build_federation().connector(&id.into()).unwrap().name["en"].clone()
    }
}

#[test]
fn added_and_removed_files_take_effect_at_once() {
    let mut scene = ReloadFixture::good();
    scene.connector("new");
    scene.service("more", "");
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(
        scene.counts(),
        (vec!["idp".into(), "new".into()], vec!["more".into(), "sp".into()])
    );
    fs::remove_file(scene.path("connectors/idp.toml")).unwrap();
    fs::remove_file(scene.path("service-providers/sp.toml")).unwrap();
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(scene.counts(), (vec!["new".into()], vec!["more".into()]));
}

#[test]
fn removing_the_last_connector_is_reported() {
    let mut scene = ReloadFixture::good();
    fs::remove_file(scene.path("connectors/idp.toml")).unwrap();
    let findings = scene.read();
    let [line] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(
        line.starts_with("connectors contains no connector, so no user can log in; add "),
        "{line}"
    );
    assert_eq!(scene.counts().0, [""; 0]);
    scene.put("connectors/idp.toml", "name = 3");
    assert!(scene.read().iter().all(|line| line.starts_with("connectors/idp.toml")));
}

#[test]
fn a_bad_file_keeps_its_last_good_version_and_affects_nothing_else() {
    type BreakFiles = fn(&ReloadFixture, &Path);
    let table: [(&str, BreakFiles, &str); 9] = [
        (
            "half written",
            |scene, file| fs::write(file, &scene.text("connectors/idp.toml")[..60]).unwrap(),
            "is not valid TOML",
        ),
        ("empty", |_, file| fs::write(file, "").unwrap(), "is missing"),
        (
            "an unknown key",
            |scene, file| {
                fs::write(file, format!("unheard_of = 3\n{}", scene.text("connectors/idp.toml")))
                    .unwrap()
            },
            ":1 unheard_of",
        ),
        ("not UTF-8", |_, file| fs::write(file, b"name = \"\xff\"").unwrap(), "not UTF-8"),
        (
            "over 1 MiB",
            |_, file| fs::write(file, vec![b'#'; 1024 * 1024 + 1]).unwrap(),
            "larger than 1 MiB",
        ),
        ("a folder", |_, file| fs::create_dir(file).unwrap(), "is a folder"),
        // Opening a pipe would wait for a writer forever.
        (
            "a pipe",
            |_, file| {
                assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success())
            },
            "is a pipe, a socket or a device",
        ),
        (
            "a link out of the folder",
            |_, file| symlink("../passerelle.toml", file).unwrap(),
            "a link out of its folder",
        ),
        ("a link to nowhere", |_, file| symlink("nowhere", file).unwrap(), "dangling link"),
    ];
    for (message, change, expected) in table {
        let mut scene = ReloadFixture::good();
        scene.connector("other");
        scene.connector("aside");
        scene.read();
        for file in ["other", "never"] {
            let path = scene.path(&format!("connectors/{file}.toml"));
            let _absent = fs::remove_file(&path);
            change(&scene, &path);
        }
        let aside = scene.text("connectors/idp.toml").replace("Provider", "Another name");
        scene.put("connectors/aside.toml", aside);
        let findings = scene.read();
        assert!(findings.iter().all(|line| line.starts_with("connectors/never.toml")
            || line.starts_with("connectors/other.toml")));
        assert!(
            findings.iter().any(|line| line.contains(expected) && line.contains("; ")),
            "{message}: {findings:?}"
        );
        let (connectors, _) = scene.counts();
        assert_eq!(connectors, ["aside", "idp", "other"], "{message}");
        assert_eq!(
            (scene.name("aside").as_str(), scene.name("other").as_str()),
            ("Another name", "Provider"),
            "{message}"
        );
        assert_eq!(scene.files.bad_file_count(FileKind::Connector), 2, "{message}");
        // And fixed again.
        for file in ["other", "never"] {
            let path = scene.path(&format!("connectors/{file}.toml"));
            if path.is_dir() {
                fs::remove_dir(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            scene.connector(file);
        }
        assert_eq!(
            (scene.read().len(), scene.files.bad_file_count(FileKind::Connector)),
            (0, 0),
            "{message}"
        );
        assert_eq!(scene.counts().0.len(), 4);
    }
}

#[test]
fn a_kubernetes_swap_of_the_data_link_is_a_change_of_every_file() {
    let folder = Folder::good();
    let connectors = folder.path().join("connectors");
    let text = fs::read_to_string(connectors.join("idp.toml")).unwrap();
    fs::remove_file(connectors.join("idp.toml")).unwrap();
    for (version, name) in [("..1", "First"), ("..2", "Second")] {
        fs::create_dir(connectors.join(version)).unwrap();
        fs::write(connectors.join(version).join("idp.toml"), text.replace("Provider", name))
            .unwrap();
    }
    symlink("..1", connectors.join("..data")).unwrap();
    symlink("..data/idp.toml", connectors.join("idp.toml")).unwrap();
    let mut scene = ReloadFixture::from_folder(folder);
    assert_eq!((scene.read().len(), scene.name("idp").as_str()), (0, "First"));
    symlink("..2", connectors.join("..new")).unwrap();
    fs::rename(connectors.join("..new"), connectors.join("..data")).unwrap();
    assert_eq!((scene.read().len(), scene.name("idp").as_str()), (0, "Second"));
}

#[test]
fn an_invalid_connector_does_not_delay_another() {
    let mut scene = ReloadFixture::from_folder(Folder::good().edit("passerelle.toml", "\"standard\"", "\"high\"").edit(
        "service-providers/sp.toml",
        "client_id",
        "jwks = { keys = [{ kty = \"EC\", crv = \"P-256\", kid = \"e\", use = \"enc\", \
         x = \"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\", y = \"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\" }] }\n\
         id_token_encrypted_response_alg = \"ECDH-ES\"\nclient_id",
    ));
    let lower = "name = { en = \"Lower\" }\nidentity = \"verified\"\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"\n";
    let kind = "[kind.oidc]\nissuer = \"https://idp.example.org\"\nclient_id = \"hub\"\nclient_secret = { env = \"CONNECTOR_IDP__SECRET\" }\n";
    scene.put("connectors/idp.toml", format!("{lower}{kind}"));
    scene.put("connectors/zz.toml", format!("{lower}{kind}"));
    let findings = scene.read();
    assert!(
        findings
            .iter()
            .all(|line| line
                .starts_with("connectors/idp.toml conflicts with service-providers/sp.toml")),
        "{findings:?}"
    );
    assert_eq!(
        (scene.name("idp").as_str(), scene.counts().0),
        ("Provider", vec!["idp".into(), "zz".into()])
    );
}

#[test]
fn an_unreadable_folder_changes_nothing_and_an_emptied_one_removes_everything() {
    let mut scene = ReloadFixture::good();
    let (folder, aside) = (scene.path("connectors"), scene.path("aside"));
    fs::rename(&folder, &aside).unwrap();
    let findings = scene.read();
    assert!(
        matches!(findings.as_slice(), [line] if line.starts_with("connectors the folder is missing")),
        "{findings:?}"
    );
    assert_eq!(
        (scene.counts().0, scene.files.bad_file_count(FileKind::Connector)),
        (vec!["idp".to_owned()], 1)
    );
    fs::create_dir(&folder).unwrap();
    let findings = scene.read();
    assert!(
        matches!(findings.as_slice(), [line] if line.starts_with("connectors contains no connector")),
        "{findings:?}"
    );
    assert_eq!(scene.counts().0, [""; 0]);
}

#[test]
fn the_data_providers_folder_may_be_added_later_and_its_removal_is_reported() {
    let mut scene = ReloadFixture::good();
    let file = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"openid\", \"profile\"]\nsecrets = [{ env = \"DATA_PROVIDER_ARCHIVE__SECRET\" }]\n";
    scene.put("data-providers/archive.toml", file);
    assert_eq!(scene.read(), [""; 0]);
    let archive = ClientId::from("archive");
    assert!(scene.files.build_federation().data_provider(&archive).is_some());
    fs::remove_dir_all(scene.path("data-providers")).unwrap();
    assert_eq!(scene.read().len(), 1);
    assert!(scene.files.build_federation().data_provider(&archive).is_some());
}

#[test]
fn a_changed_referenced_file_is_a_change() {
    let secret = "a client secret of more than 32 characters";
    let folder = Folder::good().with("sp.secret", secret).edit(
        "service-providers/sp.toml",
        "env = \"SERVICE_PROVIDER_SP__SECRET\"",
        "file = \"sp.secret\"",
    );
    let mut scene = ReloadFixture::from_folder(folder);
    let hash = |scene: &ReloadFixture| match &scene
        .files
        .build_federation()
        .service_provider(&"sp".into())
        .unwrap()
        .authentication
    {
        passerelle_federation::ClientAuthentication::SecretPost(secrets) => secrets[0].sha256,
        _ => panic!(),
    };
    let before = hash(&scene);
    scene.put("sp.secret", format!("{secret}, another one"));
    assert_eq!(scene.read(), [""; 0]);
    assert_ne!(hash(&scene), before);
    let after = hash(&scene);
    fs::remove_file(scene.path("sp.secret")).unwrap();
    assert!(scene.read()[0].contains("references a file that is missing"));
    assert_eq!(hash(&scene), after, "the last valid one");
}

#[test]
fn an_unchanged_file_is_not_parsed_again() {
    let mut scene = ReloadFixture::good();
    scene.read();
    let before = Arc::clone(scene.files.build_federation().service_provider(&"sp".into()).unwrap());
    let connector = Arc::clone(&scene.files.connectors()[&ConnectorId::from("idp")].0);
    scene.service("more", "");
    // The same text, in a new file.
    let text = scene.text("service-providers/sp.toml");
    fs::remove_file(scene.path("service-providers/sp.toml")).unwrap();
    scene.put("service-providers/sp.toml", text);
    assert_eq!(scene.read(), [""; 0]);
    assert!(Arc::ptr_eq(
        &before,
        scene.files.build_federation().service_provider(&"sp".into()).unwrap()
    ));
    assert!(Arc::ptr_eq(&connector, &scene.files.connectors()[&ConnectorId::from("idp")].0));
}

/// An operator who has corrected the identity provider touches its file, so that it is probed at once.
#[test]
fn a_touched_connector_file_is_returned_once() {
    let mut scene = ReloadFixture::good();
    scene.connector("other");
    for reason in ["no earlier version is known", "nothing was written"] {
        assert_eq!(scene.read(), [""; 0]);
        assert_eq!(scene.files.take_written_connectors(), [], "{reason}");
    }
    let file = fs::File::options().write(true).open(scene.path("connectors/idp.toml")).unwrap();
    let later = file.metadata().unwrap().modified().unwrap() + Duration::from_secs(1);
    file.set_modified(later).unwrap();
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(scene.files.take_written_connectors(), [ConnectorId::from("idp")]);
    assert_eq!(scene.files.take_written_connectors(), []);
}

#[test]
fn a_connector_that_can_not_be_built_is_a_bad_file() {
    let mut scene = ReloadFixture::good();
    scene.connector("zz");
    scene.files.rescan(&|configured| match configured.id.as_str() {
        "zz" => Err(FieldDiagnostic::new(
            "kind.oidc.issuer",
            "makes the connector unusable",
            "write another one",
        )),
        _ => Ok(()),
    });
    assert_eq!(scene.counts().0, ["idp"]);
    assert!(
        scene.files.diagnostics()[0]
            .to_single_line()
            .contains("kind.oidc.issuer makes the connector unusable; write another one")
    );
}
