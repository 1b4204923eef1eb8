//! `passerelle init`, from outside: a folder that works, or nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn init(dir: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.arg("init").arg(dir).args(options).output().unwrap()
}

#[test]
fn a_folder_may_be_relative_to_the_current_one() {
    let above = tempfile::tempdir().unwrap();
    for arguments in [
        ["init", "hub"].as_slice(),
        &["check", "--config", "hub"],
        &["keys", "list", "--config", "hub"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
        let output = command.args(arguments).current_dir(above.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn check(dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(["check", "--config"]).arg(dir).output().unwrap()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns every file and folder below `dir` with its mode.
fn modes(dir: &Path) -> Vec<(PathBuf, bool, u32)> {
    let mut found = Vec::new();
    for path in entries(dir) {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            found.extend(modes(&path));
        }
        found.push((path, metadata.is_dir(), metadata.permissions().mode() & 0o7777));
    }
    found
}

#[test]
fn a_new_folder_of_each_platform_passes_check_and_is_private() {
    for platform in ["standard", "high"] {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("hub");
        let output = init(&dir, &["--platform", platform]);
        assert!(output.status.success(), "{output:?}");
        let text = stdout(&output);
        for next in ["check --config", "serve --config", "http://localhost:8080/api/v2/authorize?"]
        {
            assert!(text.contains(next), "{next}: {text}");
        }
        let checked = check(&dir);
        assert!(checked.status.success(), "{checked:?}");
        let report = stdout(&checked);
        assert!(report.contains("The configuration is valid."), "{report}");
        assert!(report.contains("service providers: 1 (example)"), "{report}");
        assert!(report.contains("1 warning:") && report.contains("sandbox: is on"), "{report}");
        for (path, is_folder, mode) in modes(above.path()) {
            let expected = if is_folder { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{}", path.display());
        }
        let has_client_key = dir.join("secrets/service-providers/application/private.jwk.json");
        assert_eq!(has_client_key.exists(), platform == "high");
        assert_eq!(dir.join("register.csv").exists(), platform == "standard");
        assert_eq!(entries(above.path()), [dir], "temporary folders must not stay");
    }
}

#[test]
fn secrets_are_new_in_each_folder() {
    let above = tempfile::tempdir().unwrap();
    let secrets = ["one", "two"].map(|name| {
        let dir = above.path().join(name);
        assert!(init(&dir, &["--port", "8081"]).status.success());
        ["admin.token", "subject.key", "secrets/service-providers/application/client.secret"]
            .map(|file| fs::read_to_string(dir.join(file)).unwrap())
    });
    for (one, two) in secrets[0].iter().zip(&secrets[1]) {
        assert!(one.len() >= 43 && one != two);
    }
}

/// A person who can't sign in finds a contact, and the notices that the law demands.
#[test]
fn a_public_hub_without_support_and_notices_is_warned_about_and_init_writes_them() {
    let above = tempfile::tempdir().unwrap();
    let public = ["--base-url", "https://login.example.org", "--sandbox-public"];
    let bare = above.path().join("bare");
    assert!(init(&bare, &public).status.success());
    let report = stdout(&check(&bare));
    for missing in ["support_url", "privacy notice", "accessibility statement"] {
        assert!(report.contains(missing), "{missing}: {report}");
    }
    let whole = above.path().join("whole");
    let links = [
        "--support-url",
        "mailto:help@example.org",
        "--privacy-url",
        "https://example.org/privacy",
        "--accessibility-url",
        "https://example.org/accessibility",
    ];
    let output = init(&whole, &[public.as_slice(), &links].concat());
    assert!(output.status.success(), "{output:?}");
    let checked = check(&whole);
    let report = stdout(&checked);
    assert!(checked.status.success() && !report.contains("theme"), "{report}");
    // A support page that does not learn which login failed.
    let theme = whole.join("theme.toml");
    let text = fs::read_to_string(&theme).unwrap();
    let text = text.replace("mailto:help@example.org", "https://help.example.org/?code={code}");
    fs::write(&theme, text).unwrap();
    let report = stdout(&check(&whole));
    assert!(report.contains("lacks {support_id}"), "{report}");
    // A hub on this machine needs none of them.
    let local = above.path().join("local");
    assert!(init(&local, &[]).status.success());
    assert!(!stdout(&check(&local)).contains("support_url"));
    let wrong =
        init(&above.path().join("wrong"), &[public.as_slice(), &["--privacy-url", "x"]].concat());
    let error = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && error.contains("--privacy-url"), "{error}");
}

#[test]
fn options_are_written_as_toml_strings() {
    let above = tempfile::tempdir().unwrap();
    let dir = above.path().join("hub");
    let client_id = "https://app.example.org/\"quoted\"";
    let options = [
        "--client-id",
        client_id,
        "--redirect-uri",
        "https://app.example.org/back",
        "--base-url",
        "http://localhost:9001",
    ];
    let output = init(&dir, &options);
    assert!(output.status.success(), "{output:?}");
    let table =
        |file: &str| fs::read_to_string(dir.join(file)).unwrap().parse::<toml::Table>().unwrap();
    let settings = table("passerelle.toml");
    assert_eq!(settings["public"]["listen"].as_str(), Some("127.0.0.1:9001"));
    let application = table("service-providers/application.toml");
    assert_eq!(application["client_id"].as_str(), Some(client_id));
    assert_eq!(application["home_page"].as_str(), Some("https://app.example.org/"));
    let uris = &application["post_logout_redirect_uris"];
    assert_eq!(uris[0].as_str(), Some("https://app.example.org/signed-out"));
}

#[test]
fn invalid_options_are_named_with_their_fix_and_leave_nothing() {
    let table: [(&[&str], &str, &str); 7] = [
        (&["--redirect-uri", "http://app.example.org/cb"], "--redirect-uri", "use https://"),
        (&["--redirect-uri", "nowhere"], "--redirect-uri", "start with https://"),
        (&["--base-url", "https://login.example.org/hub"], "--base-url", "has a path"),
        (&["--base-url", "http://login.example.org"], "--base-url", "is plain http"),
        (&["--base-url", "https://login.example.org"], "--sandbox-public", "sign in as anyone"),
        (&["--private-port", "8080"], "--private-port", "choose another port"),
        (&["--platform", "low"], "--platform", "write standard or high"),
    ];
    for (options, option, words) in table {
        let above = tempfile::tempdir().unwrap();
        let output = init(&above.path().join("hub"), options);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{options:?}");
        assert!(text.contains(option) && text.contains(words), "{options:?}: {text}");
        assert!(entries(above.path()).is_empty(), "{options:?}");
    }
}

#[test]
fn a_folder_that_is_not_empty_is_not_touched() {
    let above = tempfile::tempdir().unwrap();
    let dir = above.path().join("hub");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    let output = init(&dir, &["--port", "8080"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("notes.txt") && text.contains("name a new folder"), "{text}");
    assert_eq!(entries(above.path()), std::slice::from_ref(&dir));
    assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
    assert_eq!(entries(&dir).len(), 1);
}

#[test]
fn what_is_no_folder_and_a_missing_parent_are_named() {
    let above = tempfile::tempdir().unwrap();
    let file = above.path().join("file");
    fs::write(&file, "mine").unwrap();
    let link = above.path().join("link");
    symlink(above.path().join("nowhere"), &link).unwrap();
    for (dir, words) in [
        (file.clone(), "is not a folder"),
        (link.clone(), "name a new folder"),
        (above.path().join("a/b"), "create it with `mkdir -p"),
    ] {
        let output = init(&dir, &["--port", "8080"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(words), "{text}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(entries(above.path()).len(), 2);
}

#[test]
fn an_empty_folder_is_filled() {
    let above = tempfile::tempdir().unwrap();
    let (dir, link) = (above.path().join("hub"), above.path().join("link"));
    fs::create_dir(&dir).unwrap();
    symlink(&dir, &link).unwrap();
    let output = init(&link, &["--port", "8080"]);
    assert!(output.status.success(), "{output:?}");
    assert!(dir.join("passerelle.toml").is_file() && link.is_symlink());
    let current = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    let output = command.args(["init", "."]).current_dir(current.path()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("is the current folder"), "{text}");
}

/// `script` of util-linux runs the command on a terminal.
#[test]
fn on_a_terminal_it_asks_and_an_empty_answer_is_the_default() {
    let above = tempfile::tempdir().unwrap();
    let answers = above.path().join("answers");
    fs::write(&answers, "low\nstandard\n\nmy-shop\nhttp://localhost:5000/cb\n").unwrap();
    let dir = above.path().join("hub");
    let command = format!("{} init {}", env!("CARGO_BIN_EXE_passerelle"), dir.display());
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(fs::File::open(&answers).unwrap())
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("write standard or high"), "{text}");
    assert!(text.contains("Public base URL of the hub [http://localhost:8080]"), "{text}");
    let application = fs::read_to_string(dir.join("service-providers/application.toml")).unwrap();
    assert!(application.contains("client_id = \"my-shop\""), "{application}");
    assert!(application.contains("[\"http://localhost:5000/cb\"]"), "{application}");
}
