//! `passerelle idp` and `notice`, from outside: a running hub, and the commands that switch its
//! identity providers off and on, and publish notices.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::folder::{SETTINGS, VARIABLE, valid_config_folder};

const TOKEN: &str = "0123456789abcdef0123456789abcdef-admin";

/// `passerelle serve`, stopped when the test is over.
struct Hub<'f> {
    process: Child,
    folder: &'f Path,
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has then seen.
        let _ended = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// A folder whose hub can be administered, its private listener on a port that is free at this
/// moment.
fn administered() -> TempDir {
    let folder = valid_config_folder();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let private = format!(
        "private = {{ listen = \"0.0.0.0:{port}\", insecure_http = true, admin_token = {{ file = \"admin.token\" }} }}"
    );
    let settings = SETTINGS.replace("private.listen = \"127.0.0.1:0\"", &private);
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    fs::write(folder.path().join("admin.token"), format!("{TOKEN}\n")).unwrap();
    folder
}

impl<'f> Hub<'f> {
    fn start(folder: &'f TempDir) -> Self {
        let (hub, lines) = Self::serving(folder);
        // The rest is read, so that the hub never waits for a reader; it ends when the hub does.
        let _reading = std::thread::spawn(move || lines.count());
        hub
    }

    /// A hub, and what it logs from now on.
    fn serving(folder: &'f TempDir) -> (Self, impl Iterator<Item = String> + Send + use<>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
        command.arg("serve").arg("--config").arg(folder.path()).env(VARIABLE.0, VARIABLE.1);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let hub = Self { process, folder: folder.path() };
        let mut output = Vec::new();
        let serves = lines
            .by_ref()
            .inspect(|line| output.push(line.clone()))
            .any(|line| line.contains("serving"));
        assert!(serves, "it did not start: {output:?}");
        (hub, lines)
    }

    fn idp(&self, arguments: &[&str]) -> (i32, String) {
        idp(arguments, self.folder)
    }
}

fn idp(arguments: &[&str], folder: &Path) -> (i32, String) {
    run("idp", arguments, folder)
}

fn run(name: &str, arguments: &[&str], folder: &Path) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    let output = command.arg(name).args(arguments).arg("--config").arg(folder).output().unwrap();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn the_status_of_a_running_hub_is_printed_once_as_text_and_as_json() {
    let folder = administered();
    assert_eq!(run("status", &[], folder.path()).0, 3);
    let hub = Hub::start(&folder);
    let (code, output) = run("status", &[], hub.folder);
    assert!(
        code == 0
            && output.contains("\nNo login is admitted. ")
            && output.contains("there is no service provider; fix: add a file")
            && output.contains("\npersons ")
            && !output.contains('\x1b'),
        "{code} {output}"
    );
    let (code, output) = run("status", &["--json"], hub.folder);
    let view: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!((code, &view["logins_per_second"]), (0, &serde_json::json!(0.0)), "{output}");
    assert_eq!(
        (&view["ready"], &view["ended_logins"], &view["connectors"][0]["id"]),
        (&true.into(), &serde_json::json!({}), &"persons".into()),
        "{output}"
    );
    fs::write(folder.path().join("admin.token"), "another-token-of-sufficient-length-0123456789")
        .unwrap();
    assert_eq!(run("status", &[], hub.folder).0, 4);
}

#[test]
fn an_identity_provider_is_blocked_listed_and_unblocked_while_the_hub_runs() {
    let folder = administered();
    let hub = Hub::start(&folder);
    let (code, output) = hub.idp(&["list"]);
    assert!(
        code == 0 && output == "persons                  available eidas1..eidas1 Persons\n",
        "{code} {output}"
    );

    let block = [
        "block",
        "persons",
        "--reason",
        "a test",
        "--message",
        "fr=Fermé",
        "--message",
        "en=Closed",
        "--for",
        "2h",
    ];
    let (code, output) = hub.idp(&block);
    assert!(code == 0 && output.contains("blocked for all users by command "), "{code} {output}");
    let (_, output) = hub.idp(&["list"]);
    assert!(
        output.contains("persons                  blocked ") && output.contains(": a test\n"),
        "{output}"
    );
    let (_, output) = hub.idp(&["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&output).unwrap();
    let well =
        serde_json::json!({ "circuit": "closed", "failure_ratio": 0.0, "p99_seconds": null });
    assert_eq!(list["connectors"][0]["health"], well);
    assert_eq!(
        list["connectors"][0]["blocks"][0]["message"],
        serde_json::json!({ "en": "Closed", "fr": "Fermé" })
    );

    // Killed, and started again: what was blocked is blocked.
    drop(hub);
    let hub = Hub::start(&folder);
    let (code, output) = hub.idp(&["unblock", "persons"]);
    assert!(code == 0 && output.starts_with("lifted: persons\n"), "{code} {output}");
    assert!(hub.idp(&["list"]).1.starts_with("persons                  available "));
    assert_eq!(
        hub.idp(&["unblock", "persons"]),
        (1, "passerelle: nothing blocks persons\n".to_owned())
    );
}

#[test]
fn a_notice_is_published_listed_and_removed_while_the_hub_runs() {
    let folder = administered();
    let hub = Hub::start(&folder);
    let notice = |arguments: &[&str]| run("notice", arguments, hub.folder);
    let publish = ["publish", "--reason", "snow, case 4711", "--text"];
    let texts = ["en=Sorry, delays", "--text", "fr=Retards", "--for", "2h"];
    let (code, output) = notice(&[&publish[..], &texts].concat());
    assert!(code == 0 && output.ends_with("in en, fr: Sorry, delays\n"), "{code} {output}");
    let (_, listed) = notice(&["list"]);
    assert_eq!(output, format!("published: {listed}"));
    let (_, output) = notice(&["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&output).unwrap();
    let row = &list["notices"][0];
    assert_eq!((&row["severity"], &row["by"]), (&"info".into(), &"command".into()), "{row}");
    let (code, output) = notice(&[&publish[..], &["gr=x"]].concat());
    assert!(code == 1 && output.contains("text.gr: is not a language of the pages"), "{output}");
    let id = row["id"].as_str().unwrap();
    assert_eq!(notice(&["remove", id]), (0, format!("removed: {listed}")));
    assert_eq!(notice(&["list"]), (0, String::new()));
    assert_eq!(notice(&["remove", id]).0, 1);
}

#[test]
fn the_log_names_an_unreadable_key_folder_and_its_return() {
    let folder = administered();
    let (hub, log) = Hub::serving(&folder);
    let keys = fs::read_dir(folder.path().join("keys")).unwrap().map(|key| key.unwrap().path());
    let key = keys.into_iter().find(|path| path.is_file()).unwrap();
    let text = fs::read(&key).unwrap();
    for text in [b"damaged".to_vec(), text.clone(), text] {
        fs::write(&key, text).unwrap();
        run("node", &["reload"], hub.folder);
    }
    drop(hub);
    let log: Vec<String> = log.collect();
    let count = |words: &str| log.iter().filter(|line| line.contains(words)).count();
    assert_eq!(count("the key folder can't be read; the last good keys stay in use"), 1, "{log:?}");
    assert_eq!(count("the key folder can be read again"), 1, "{log:?}");
}

/// A log that can't be written is lost, and locks no one out: each of these changes is a
/// line in the log.
#[test]
fn a_hub_serves_on_when_the_reader_of_its_log_has_died() {
    let folder = administered();
    let (hub, log) = Hub::serving(&folder);
    drop(log);
    for _ in 0..3 {
        let (code, output) = hub.idp(&["block", "persons", "--reason", "a test"]);
        assert!(code == 0, "{code} {output}");
        assert_eq!(hub.idp(&["unblock", "persons"]).0, 0);
    }
}

#[test]
fn a_block_of_a_removed_connector_is_lifted_by_its_name() {
    let folder = administered();
    let (file, aside) = (folder.path().join("connectors/other.toml"), folder.path().join("other"));
    fs::copy(folder.path().join("connectors/persons.toml"), &file).unwrap();
    let hub = Hub::start(&folder);
    assert_eq!(hub.idp(&["block", "other", "--reason", "a test"]).0, 0);
    fs::rename(&file, aside).unwrap();
    (0..2000)
        .map(|_| hub.idp(&["list"]).1)
        .find(|output| output.contains("other                    gone\n"))
        .unwrap();
    let (code, output) = hub.idp(&["unblock", "other"]);
    assert!(code == 0 && output.starts_with("lifted: other\n"), "{code} {output}");
    assert_eq!(
        hub.idp(&["unblock", "other"]),
        (1, "passerelle: there is no connector other; known: persons\n".to_owned())
    );
}

/// An operator who looks for the connector to block sees which one is in trouble.
#[test]
fn the_list_names_the_failing_identity_provider() {
    let folder = administered();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let dead = format!(
        "name = {{ en = \"Dead\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\nassumed_level = \"eidas1\"\n\
         [kind.oidc]\nissuer = \"http://127.0.0.1:{port}\"\nclient_id = \"hub\"\nclient_secret = {{ file = \"dead.secret\" }}\n\
         insecure_http = true\ninternal_hosts = [\"127.0.0.1\"]\n"
    );
    fs::write(folder.path().join("dead.secret"), "any").unwrap();
    fs::write(folder.path().join("connectors/dead.toml"), dead).unwrap();
    let hub = Hub::start(&folder);
    let output = (0..2000)
        .map(|_| hub.idp(&["list"]).1)
        .find(|output| output.contains("some calls fail"))
        .unwrap();
    assert!(
        output.contains("Dead\n  some calls fail: 100 % of the last minute's calls failed"),
        "{output}"
    );
}

#[test]
fn a_value_that_the_hub_drew_may_begin_with_a_hyphen() {
    let folder = administered();
    let person = ["--sub", "-GrL_3VcKZI", "--reason", "a test"];
    for (command, arguments) in [
        ("login", [&["list"], &person[..]].concat()),
        ("person", [&["end-sessions"], &person[..]].concat()),
        ("person", [&["revoke-grants", "--id", "-x7K"], &person[..]].concat()),
    ] {
        let (code, output) = run(command, &arguments, folder.path());
        assert!(code == 3 && output.contains("fix: start it"), "{command}: {code} {output}");
    }
}

#[test]
fn errors_have_an_exit_code_and_a_fix() {
    let folder = administered();
    let put = |file: &str, content: &str| fs::write(folder.path().join(file), content).unwrap();
    let persons = fs::read_to_string(folder.path().join("connectors/persons.toml")).unwrap();
    put(
        "connectors/persons.toml",
        &persons.replace(
            "kind.persona",
            "block = [{ reason = \"by file\", until = 2999-01-01T00:00:00Z }]\nkind.persona",
        ),
    );
    let settings = fs::read_to_string(folder.path().join("passerelle.toml")).unwrap();
    let block = |more: &[&str]| {
        idp(&[&["block", "persons", "--reason", "a test"], more].concat(), folder.path())
    };
    let expect = |(code, output): (i32, String), expected: i32, words: &str| {
        assert!(
            code == expected && output.contains(words),
            "{code}, not {expected} with {words:?}: {output}"
        );
    };
    expect(block(&[]), 3, "fix: start it, or give its private listener with --private URL");

    let hub = Hub::start(&folder);
    // Blocking does not require valid files.
    put("connectors/broken.toml", "name = 3");
    expect(
        hub.idp(&["block", "unknown", "--reason", "a test"]),
        1,
        "There is no such connector.\n  known: persons",
    );
    expect(block(&["--sp", "unknown"]), 1, "There is no service provider of this client_id.");
    expect(
        block(&["--until", "tomorrow"]),
        1,
        "until: is not a date and time with a time zone; fix: ",
    );
    expect(block(&["--message", "Fermé"]), 1, "write it as --message fr=");
    expect(block(&["--for", "2 hours"]), 64, "write a number and a unit");
    expect(
        hub.idp(&["unblock", "persons"]),
        1,
        "blocked for all users by its file, until 2999-01-01T00:00:00Z: by file",
    );
    expect(hub.idp(&["unblock", "unknown"]), 1, "there is no connector unknown; known: persons");
    expect(hub.idp(&["unblock", "--id", "UNKNOWN"]), 1, "There is no block of this id");
    expect(block(&["--private", "ftp://127.0.0.1"]), 1, "is not the address of a private listener");
    put("admin.token", &TOKEN.replace("admin", "wrong"));
    expect(block(&[]), 4, "rejects the token");
    put("admin.token", "short");
    expect(block(&[]), 1, "references a token that is too short");
    put("passerelle.toml", SETTINGS);
    expect(block(&[]), 4, "private.admin_token is not set");
    // An operator's own token needs no private.admin_token, and no readable admin.token.
    put("passerelle.toml", &settings);
    fs::remove_file(folder.path().join("admin.token")).unwrap();
    let token = folder.path().join("own.token");
    let own = ["--token-file", token.to_str().unwrap()];
    expect(block(&own), 4, "own.token: can't be read");
    put("own.token", "two words");
    expect(block(&own), 4, "own.token: is not one word of printable ASCII");
    put("own.token", &TOKEN.replace("admin", "wrong"));
    expect(block(&own), 4, &format!("rejects the token in {}", token.display()));
    put("own.token", TOKEN);
    expect(hub.idp(&[&["list"], &own[..]].concat()), 0, "persons");

    // In an incident, an invalid passerelle.toml prevents no block.
    let listen = settings.split_once("listen = \"0.0.0.0:").unwrap().1.split('"').next().unwrap();
    let url = format!("http://127.0.0.1:{listen}");
    put("passerelle.toml", "x=");
    expect(block(&own), 1, "with --private URL and --token-file FILE the command does not read it");
    expect(hub.idp(&[&["list", "--private", &url], &own[..]].concat()), 0, "persons");

    put("passerelle.toml", &settings);
    put("admin.token", TOKEN);
    let (_, list) = hub.idp(&["list"]);
    assert!(
        list.contains("by its file") && !list.contains("by command"),
        "something took effect: {list}"
    );
}
