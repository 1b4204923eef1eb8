use crate::tests::Folder;
use crate::tests::KINDS;
use crate::{LoadedConfig, load_usable_config};
use passerelle_settings::Diagnostic;

fn usable(folder: &Folder) -> Result<LoadedConfig, Vec<Diagnostic>> {
    load_usable_config(folder.path(), &folder.environment(), KINDS)
}

/// Returns the names of what the hub starts with, and the problems that it reports.
fn started(folder: &Folder) -> (Vec<String>, String) {
    let loaded = usable(folder).expect("the hub starts");
    let clients = loaded.service_providers.keys().chain(loaded.data_providers.keys());
    let mut names: Vec<String> = clients.map(ToString::to_string).collect();
    names.extend(loaded.connectors.keys().map(ToString::to_string));
    let federation = loaded.files.build_federation();
    let registered = federation.service_providers().count();
    assert_eq!(
        (registered, federation.connectors().len()),
        (loaded.service_providers.len(), loaded.connectors.len())
    );
    let problems = loaded.files.diagnostics();
    let problems =
        problems.iter().chain(&loaded.startup_diagnostics).map(Diagnostic::to_single_line);
    (names, problems.collect::<Vec<_>>().join("\n"))
}

/// A folder with two service providers, two connectors and a data provider.
fn wide() -> Folder {
    let folder = Folder::good();
    let text = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let service = text("service-providers/sp.toml").replace("\"sp\"", "\"other\"");
    let connector = text("connectors/idp.toml");
    let data = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"identite_pivot\"]\nsecrets = [{ env = \"DATA_PROVIDER_ARCHIVE__SECRET\" }]\n";
    folder
        .with("service-providers/other.toml", service)
        .with("connectors/second.toml", connector)
        .with("data-providers/archive.toml", data)
}

#[test]
fn a_bad_file_of_each_kind_does_not_stop_a_start_and_is_reported() {
    let whole = started(&wide());
    assert_eq!(
        whole,
        (["other", "sp", "archive", "idp", "second"].map(str::to_owned).to_vec(), String::new())
    );
    let rows: [(&str, &str, &[&str]); 6] = [
        ("connectors/idp.toml", "name = 3", &["other", "sp", "archive", "second"]),
        ("connectors/idp.toml", "this is not TOML", &["other", "sp", "archive", "second"]),
        ("service-providers/sp.toml", "client_id = \"sp\"", &["other", "archive", "idp", "second"]),
        ("data-providers/archive.toml", "x = 1", &["other", "sp", "idp", "second"]),
        ("notices.toml", "[[notice]]\ntext = 3", &["other", "sp", "archive", "idp", "second"]),
        ("theme.toml", "name = 3", &["other", "sp", "archive", "idp", "second"]),
    ];
    for (file, content, names) in rows {
        let folder = wide().edit("passerelle.toml", "platform", "theme = \"theme.toml\"\nplatform");
        let theme = include_str!("../../../../../config/theme.toml");
        let folder = folder.with("theme.toml", theme).with(file, content);
        let (found, problems) = started(&folder);
        assert_eq!(found, names, "{file}: {problems}");
        assert!(problems.contains(file), "{file}: {problems}");
        assert!(folder.load().is_err(), "`passerelle check` rejects {file}");
    }
}

#[test]
fn a_missing_secret_leaves_out_only_its_file() {
    let (names, problems) = started(&wide().variable("CONNECTOR_IDP__SECRET", ""));
    assert_eq!(names, ["other", "sp", "archive", "second"], "{problems}");
}

#[test]
fn settings_and_scopes_that_are_wrong_stop_the_start() {
    let stops = [
        wide().edit("passerelle.toml", "subject_key = { env = \"SUBJECT_KEY\" }", ""),
        wide().edit("passerelle.toml", "platform = \"standard\"", "platform = \"low\""),
        wide().with("scopes.toml", "[scopes]\nopenid = [\"unheard of\"]\n"),
        wide().without("passerelle.toml"),
    ];
    for (row, folder) in stops.iter().enumerate() {
        assert!(usable(folder).is_err(), "{row}");
    }
    // Beside them, every other problem is reported too.
    let folder =
        wide().edit("passerelle.toml", "standard", "low").with("data-providers/archive.toml", "x");
    let problems = usable(&folder).map(|_| ()).unwrap_err();
    assert!(problems.iter().any(|problem| problem.file.ends_with("archive.toml")), "{problems:?}");
}

/// Attack: a typing error in a block reopens the identity provider at the next start.
#[test]
fn a_typing_error_in_a_block_does_not_lift_it_at_a_start() {
    let block = "\n[[block]]\nreason = \"keys leaked\"\nuntil = 2099-01-01T00:00:00Z\n";
    let text = std::fs::read_to_string(wide().path().join("connectors/idp.toml")).unwrap();
    let good = wide().with("connectors/idp.toml", format!("{text}{block}"));
    assert_eq!(usable(&good).unwrap().connectors["idp"].blocks.len(), 1);
    for (from, to) in [
        ("until", "untill"),
        ("[[block]]", "[[blok]]"),
        ("\"keys leaked\"", "\"\""),
        ("2099-01-01", "2099-13-01"),
    ] {
        let text = format!("{text}{}", block.replace(from, to));
        let folder = wide().with("connectors/idp.toml", text);
        let (names, problems) = started(&folder);
        assert!(!names.contains(&"idp".to_owned()), "{to}: {problems}");
    }
}

/// Attack: a copied file with a forgotten `client_id` lifts what the original denies.
#[test]
fn two_new_files_with_one_client_id_are_both_rejected_so_that_no_denial_is_lifted() {
    let folder = wide();
    let text = std::fs::read_to_string(folder.path().join("service-providers/sp.toml")).unwrap();
    let denied = format!("active = false\n{text}");
    let folder =
        folder.with("service-providers/sp.toml", denied).with("service-providers/aa.toml", text);
    let (names, problems) = started(&folder);
    assert_eq!(names, ["other", "archive", "idp", "second"], "{problems}");
    // No later reading accepts one of them either.
    let mut loaded = usable(&folder).unwrap();
    for _ in 0..3 {
        loaded.files.rescan(&|_| Ok(()));
        let federation = loaded.files.build_federation();
        assert!(federation.service_provider(&"sp".into()).is_none());
    }
}

/// Asserts that the hub does not accept `taker` beside a `broken` file, and that the
/// message names the broken file.
#[track_caller]
fn assert_not_taken_over(folder: Folder, broken: &str, taker: &str) {
    let good = std::fs::read_to_string(folder.path().join(broken)).unwrap();
    let folder = folder.with(broken, format!("{good}\nthis is not TOML\n"));
    let mut loaded = usable(&folder).expect("the hub starts");
    let named = |loaded: &LoadedConfig| {
        let problems = loaded.files.diagnostics();
        problems
            .iter()
            .any(|problem| problem.file.ends_with(taker) && problem.message.contains(broken))
    };
    assert!(named(&loaded), "{:?}", loaded.files.diagnostics());
    loaded.files.rescan(&|_| Ok(()));
    assert!(named(&loaded), "{:?}", loaded.files.diagnostics());
}

#[test]
fn a_copy_does_not_lift_what_a_file_with_a_typing_error_denies() {
    let folder = wide();
    let text = std::fs::read_to_string(folder.path().join("service-providers/sp.toml")).unwrap();
    let denied = format!("active = false\n{text}");
    let folder =
        folder.with("service-providers/sp.toml", denied).with("service-providers/aa.toml", text);
    assert_not_taken_over(folder, "service-providers/sp.toml", "service-providers/aa.toml");
}

#[test]
fn a_connector_does_not_get_the_secret_of_a_service_provider_with_a_typing_error() {
    let folder = wide().with("sp.secret", "the service provider's").edit(
        "service-providers/sp.toml",
        "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
        "{ file = \"sp.secret\" }",
    );
    let connector = std::fs::read_to_string(folder.path().join("connectors/idp.toml")).unwrap();
    let connector =
        connector.replace("{ env = \"CONNECTOR_IDP__SECRET\" }", "{ file = \"sp.secret\" }");
    let folder = folder.with("connectors/sp.toml", connector);
    assert_not_taken_over(folder, "service-providers/sp.toml", "connectors/sp.toml");
}

#[test]
fn a_file_does_not_share_the_sub_of_a_service_provider_with_a_typing_error() {
    let folder = wide();
    let file = folder.path().join("service-providers/other.toml");
    let other = std::fs::read_to_string(file).unwrap();
    let folder = folder.with("service-providers/other.toml", format!("sector = \"sp\"\n{other}"));
    assert_not_taken_over(folder, "service-providers/sp.toml", "service-providers/other.toml");
}

#[test]
fn a_service_provider_left_without_a_connector_stays_registered() {
    let folder = wide();
    let text = std::fs::read_to_string(folder.path().join("service-providers/sp.toml")).unwrap();
    let picky = format!("{text}[connectors]\nallow = [\"idp\"]\n");
    let folder = folder.with("service-providers/sp.toml", picky).with("connectors/idp.toml", "x");
    let (names, problems) = started(&folder);
    assert_eq!(names, ["other", "sp", "archive", "second"]);
    assert!(problems.contains("excludes every existing connector"), "{problems}");
}

#[test]
fn a_hub_without_a_valid_file_of_a_kind_starts_and_reports_it() {
    let folder = Folder::good().with("connectors/idp.toml", "x");
    let kinds = usable(&folder).unwrap().files.unusable_kinds();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert_eq!(usable(&wide()).unwrap().files.unusable_kinds(), []);
}
