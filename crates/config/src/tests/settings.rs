//! Tests of `passerelle.toml`: invalid values, and the register over HTTP.

use super::*;

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    let file = "passerelle.toml";
    let rows: &[Row] = &[
        (file, "platform = \"standard\"", "", "platform", "add platform = \"standard\""),
        (file, "\"standard\"", "\"gigantic\"", "platform", "write one of: standard, high"),
        (file, "platform =", "platfrom = 1\nplatform =", "platfrom", "did you mean `platform`?"),
        (
            file,
            "public.listen",
            "public.prot = 1\npublic.listen",
            "public.prot",
            "use one of: listen",
        ),
        (
            file,
            "\"127.0.0.1:8080\"",
            "8080",
            "public.listen",
            "must be text. write listen = \"127.0.0.1:8080\"",
        ),
        (
            file,
            "\"127.0.0.1:8080\"",
            "\"here\"",
            "public.listen",
            "write listen = \"127.0.0.1:8080\"",
        ),
        (file, "127.0.0.1:9090", "127.0.0.1:8080", "private.listen", "choose another port"),
        (file, "https://", "http://", "base_url", "use https://"),
        (
            file,
            "example.org",
            "example.org/hub",
            "base_url",
            "has a path, but a hub needs a host name",
        ),
        (file, "127.0.0.1:9090", "0.0.0.0:9090", "private.listen", "private.insecure_http = true"),
        (file, "127.0.0.1:9090", "[::]:9090", "private.listen", "operators' tokens"),
        (file, "127.0.0.1:9090", "10.0.0.1:9090", "private.listen", "use 127.0.0.1 or [::1]"),
        (file, "example.org", "example.org?a=b", "base_url", "has a query"),
        (file, "login.", "me:pw@login.", "base_url", "user name or password"),
        (file, "https://login.example.org", "login", "base_url", "not an absolute address"),
        (
            file,
            "platform =",
            "service_documentation = \"javascript:alert(1)\"\nplatform =",
            "service_documentation",
            "https://",
        ),
        (file, "{ env = \"SUBJECT_KEY\" }", "\"hunter2hunter2\"", "subject_key", "{ file"),
        (file, "{ env = \"SUBJECT_KEY\" }", "{}", "subject_key", "references no secret"),
        (
            file,
            "{ env = \"SUBJECT_KEY\" }",
            "{ env = \"A\", file = \"b\" }",
            "subject_key",
            "references two secrets",
        ),
        (file, "SUBJECT_KEY", "UNSET_KEY", "subject_key.env", "not set"),
        (file, "SUBJECT_KEY", "SHORT", "subject_key", "at least 32 random bytes"),
        (file, "{ env = \"SUBJECT_KEY\" }", "{ file = \"none\" }", "subject_key.file", "missing"),
        (file, "identity_source = \"provider\"", "", "register", "add [register.file]"),
        (
            file,
            "\"provider\"",
            "\"register\"\nsubject = \"provider\"\nregister.file.path = \"passerelle.toml\"",
            "subject",
            "pivot",
        ),
        (
            file,
            "identity_source",
            "register.file.path = \"none.csv\"\nidentity_source",
            "register.file.path",
            "missing",
        ),
        http_row("url = \"http://register.example.org\"", "register.http.url", "use https://"),
        http_row("url = \"https://register.example.org/?a=b\"", "register.http.url", "has a query"),
        http_row(
            "url = \"https://r.example\"\nuri = \"\"",
            "register.http.uri",
            "use one of: url, client_certificate",
        ),
        http_row(
            "url = \"https://r.example\"\ncalls = 0",
            "register.http.calls",
            "from 1 to 65536",
        ),
        http_row("url = \"https://r.example\"\nca = \"none.crt\"", "register.http.ca", "missing"),
        http_row(
            "url = \"https://r.example\"\nca = \"passerelle.toml\"",
            "register.http.ca",
            "without a PEM certificate",
        ),
        http_row(
            "url = \"https://r.example\"\nclient_key = { env = \"SECOND_KEY\" }",
            "register.http.client_key",
            "add client_certificate",
        ),
        http_row(
            "url = \"https://r.example\"\n[register.file]\npath = \"passerelle.toml\"",
            "register",
            "keep one",
        ),
        http_row(
            "url = \"https://r.example\"\nbearer = { env = \"UNSET\" }",
            "register.http.bearer.env",
            "not set",
        ),
        (
            file,
            "platform =",
            "audit.keep_days = 0\nplatform =",
            "audit.keep_days",
            "write at least 1",
        ),
        (
            file,
            "platform =",
            "audit = { keep_days = 9, rotate_daily = false }\nplatform =",
            "audit.keep_days",
            "rotate_daily = true",
        ),
        (
            file,
            "platform =",
            "audit.checkpoint_copy = \"audit/copy.json\"\nplatform =",
            "audit.checkpoint_copy",
            "another volume",
        ),
        (
            file,
            "identity_source",
            "amr_marker = \"pwd\"\nidentity_source",
            "amr_marker",
            "RFC 8176",
        ),
        (
            file,
            "identity_source",
            "cookie_prefix = \"__Host-x\"\nidentity_source",
            "cookie_prefix",
            "not starting with __",
        ),
        (
            file,
            "identity_source",
            "home_country = \"FR\"\nidentity_source",
            "home_country",
            "five digits",
        ),
        (
            file,
            "identity_source",
            "sandbox = true\nidentity_source",
            "sandbox",
            "sandbox_public = true",
        ),
        (
            file,
            "identity_source",
            "sandbox = \"yes\"\nidentity_source",
            "sandbox",
            "must be true or false",
        ),
        (
            file,
            "identity_source",
            "lifetimes.code_seconds = 0\nidentity_source",
            "lifetimes.code_seconds",
            "from 1 to 600",
        ),
        (
            file,
            "identity_source",
            "rotate_keys_every_days = 0\nidentity_source",
            "rotate_keys_every_days",
            "from 1 to 365",
        ),
        (
            file,
            "identity_source",
            "rotate_keys_every_days = 90\nlifetimes.signing_key_lead_seconds = 599\nidentity_source",
            "lifetimes.signing_key_lead_seconds",
            "write 1200",
        ),
        (
            file,
            "identity_source",
            "rotate_keys_every_days = 90\nplain_key_files = \"refused\"\nvault_transit = { address = \"https://vault.example.org\", token = { env = \"SUBJECT_KEY\" } }\nidentity_source",
            "rotate_keys_every_days",
            "set key_passphrase, or let devices",
        ),
        (
            file,
            "identity_source",
            "lifetimes.code_seconds = -1\nidentity_source",
            "lifetimes.code_seconds",
            "a whole number",
        ),
        (
            file,
            "identity_source",
            "lifetimes.session_seconds = 60\nidentity_source",
            "lifetimes.session_idle_seconds",
            "at most",
        ),
        (
            file,
            "identity_source",
            "lifetimes.session_seconds = 90000\nidentity_source",
            "lifetimes.session_seconds",
            "28800",
        ),
        (
            file,
            "identity_source",
            "limits.request_seconds = 0\nidentity_source",
            "limits.request_seconds",
            "from 1 to 120",
        ),
        (
            file,
            "identity_source",
            "theme = \"none.toml\"\nidentity_source",
            "",
            "the file is missing",
        ),
    ];
    check_rows(rows);
}

#[test]
fn a_scope_for_registrations_that_does_not_exist_is_named_with_its_fix() {
    let row = |text: &'static str, word| -> Row {
        let text = format!("identity_source = \"provider\"\n[client_registration]\n{text}\n");
        let key = "client_registration.scopes[1]";
        ("passerelle.toml", "identity_source = \"provider\"\n", text.leak(), key, word)
    };
    check_rows(&[
        row("scopes = [\"openid\", \"nope\"]", "add it to [openid] of scopes.toml"),
        row(
            "scopes = [\"openid\", \"nope\"]\nrules = \"federation\"",
            "add it to [scopes] of scopes.toml",
        ),
    ]);
}

const TWO_ALIKE: &str = "choice.categories = [{ id = \"a\", name = { en = \"A\" } }, { id = \"a\", name = { en = \"B\" } }]";

#[test]
fn each_bad_choice_is_named_with_its_fix() {
    let row = |text: &'static str, key, word| -> Row {
        ("passerelle.toml", "identity_source", format!("{text}\nidentity_source").leak(), key, word)
    };
    check_rows(&[
        row(
            "choice.categories = [{ id = \"A b\", name = { en = \"A\" } }]",
            "choice.categories[0].id",
            "a-z, 0-9",
        ),
        row(
            "choice.categories = [{ id = \"a\", name = {} }]",
            "choice.categories[0].name",
            "has no text in any language",
        ),
        row(TWO_ALIKE, "choice.categories[1].id", "the id of another category"),
        row("choice.remember_days = 181", "choice.remember_days", "from 1 to 180"),
        row("choice.remember_days = 0", "choice.remember_days", "from 1 to 180"),
    ]);
}

/// `[register.http]` holding `text`, at the end of the settings.
fn http_row(text: &'static str, key: &'static str, word: &'static str) -> Row {
    let table = format!("identity_source = \"provider\"\n[register.http]\n{text}\n");
    ("passerelle.toml", "identity_source = \"provider\"\n", table.leak(), key, word)
}
