//! `passerelle init`: writes a new configuration folder.

use std::io::{self, BufRead, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_server::init::{
    ApplicationRegistration, InitError, InitOptions, InitReport, PageLinks, initialize_hub,
};
use passerelle_settings::Diagnostic;
use passerelle_settings::address::is_loopback;
use url::Url;

use super::CommandResult;
use super::output::{out, outln};

const DEFAULT_PORT: u16 = 8080;
const DEFAULT_PRIVATE_PORT: u16 = 9090;
/// Answer to a question whose option may be absent.
const NO_ANSWER: &str = "none";

#[derive(Args)]
pub(crate) struct InitCommand {
    /// The folder: a new or an empty one.
    dir: PathBuf,
    #[command(flatten)]
    answers: InitAnswers,
}

#[derive(Args, PartialEq, Eq, Default)]
struct InitAnswers {
    /// Platform: standard (eidas1), or high (eidas2, eidas3; encrypted tokens). Default: standard.
    #[arg(long, value_parser = parse_platform)]
    platform: Option<Platform>,
    /// Public base URL of the hub. Default: http://localhost:PORT.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Port of the public listener, on 127.0.0.1. Default: that of a --base-url on this machine,
    /// else 8080.
    #[arg(long)]
    port: Option<u16>,
    /// Port of the private listener, on 127.0.0.1. Default: 9090.
    #[arg(long, value_name = "PORT")]
    private_port: Option<u16>,
    /// The service provider's client_id. Default: example.
    #[arg(long)]
    client_id: Option<String>,
    /// The service provider's redirect URI. Default: http://localhost:3000/callback.
    #[arg(long, value_name = "URL")]
    redirect_uri: Option<String>,
    /// Its redirect URI after a logout. Default: /signed-out, at the same origin.
    #[arg(long, value_name = "URL")]
    post_logout_redirect_uri: Option<String>,
    /// Address of your support, for example mailto:help@example.org: pages of a public hub link to
    /// it, with the references of an error.
    #[arg(long, value_name = "URL")]
    support_url: Option<String>,
    /// Address of your privacy notice.
    #[arg(long, value_name = "URL")]
    privacy_url: Option<String>,
    /// Address of your accessibility statement.
    #[arg(long, value_name = "URL")]
    accessibility_url: Option<String>,
    /// Allow the sandbox identity provider although the base URL is not on this machine: anyone who
    /// reaches the hub can sign in as anyone.
    #[arg(long)]
    sandbox_public: bool,
}

impl InitCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) fn run(self) -> CommandResult<()> {
        let Self { dir, mut answers } = self;
        let has_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        if has_terminal && answers == InitAnswers::default() {
            answers.ask_for_options(&mut io::stdin().lock())?;
        }
        let written = initialize_hub(&dir, &answers.into_options(), &Env::system());
        let hub = written.map_err(describe_error)?;
        print_hub(&dir.display().to_string(), &hub);
        Ok(())
    }
}

impl InitAnswers {
    /// Asks for what most hubs need; an empty answer is the default.
    fn ask_for_options(&mut self, input: &mut impl BufRead) -> CommandResult<()> {
        outln!("Press Enter to accept a default.");
        let platform = loop {
            match parse_platform(&read_answer("Platform, standard or high", "standard", input)?) {
                Ok(platform) => break platform,
                Err(reason) => outln!("  {reason}"),
            }
        };
        self.platform = Some(platform);
        let base_url = format!("http://localhost:{DEFAULT_PORT}");
        let base_url = read_answer("Public base URL of the hub", &base_url, input)?;
        if Url::parse(&base_url).is_ok_and(|url| !is_loopback(&url)) {
            self.ask_for_links(input)?;
        }
        self.base_url = Some(base_url);
        let example = ApplicationRegistration::example();
        let client_id =
            read_answer("client_id of the first application", example.client_id.as_str(), input)?;
        self.client_id = Some(client_id);
        self.redirect_uri = Some(read_answer("Its redirect URI", &example.redirect_uri, input)?);
        Ok(())
    }

    /// Asks for what the pages of a public hub link to.
    fn ask_for_links(&mut self, input: &mut impl BufRead) -> CommandResult<()> {
        let mut ask = |question: &str| -> CommandResult<Option<String>> {
            let answer = read_answer(question, NO_ANSWER, input)?;
            Ok(Some(answer).filter(|answer| answer != NO_ANSWER))
        };
        let support = ask("Your support: an e-mail address, or an https address")?;
        self.support_url =
            support.map(
                |address| {
                    if address.contains(':') { address } else { format!("mailto:{address}") }
                },
            );
        self.privacy_url = ask("Address of your privacy notice")?;
        self.accessibility_url = ask("Address of your accessibility statement")?;
        Ok(())
    }

    fn into_options(self) -> InitOptions {
        let given = self.base_url.as_deref().and_then(|url| Url::parse(url).ok());
        let port_of_url = given.filter(|url| url.scheme() == "http");
        let port_of_url = port_of_url.and_then(|url| url.port_or_known_default());
        let port = self.port.or(port_of_url).unwrap_or(DEFAULT_PORT);
        let example = ApplicationRegistration::example();
        let application = ApplicationRegistration::new(
            self.client_id.map_or(example.client_id, ClientId::new),
            self.redirect_uri.unwrap_or(example.redirect_uri),
            self.post_logout_redirect_uri,
        );
        InitOptions {
            platform: self.platform.unwrap_or(Platform::Standard),
            base_url: self.base_url.unwrap_or_else(|| format!("http://localhost:{port}")),
            sandbox_public: self.sandbox_public,
            links: PageLinks {
                support: self.support_url,
                privacy: self.privacy_url,
                accessibility: self.accessibility_url,
            },
            port,
            private_port: self.private_port.unwrap_or(DEFAULT_PRIVATE_PORT),
            application,
        }
    }
}

fn parse_platform(text: &str) -> Result<Platform, String> {
    match text {
        "standard" => Ok(Platform::Standard),
        "high" => Ok(Platform::High),
        _ => Err("write standard or high".into()),
    }
}

/// Asks a question, and returns the answer or the default.
fn read_answer(question: &str, default: &str, input: &mut impl BufRead) -> CommandResult<String> {
    out!("{question} [{default}]: ");
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(
            "the input ended before every question was answered; nothing was written".into()
        );
    }
    let answer = line.trim_ascii();
    Ok(if answer.is_empty() { default } else { answer }.to_owned())
}

/// Returns the error with the option that each finding is about.
fn describe_error(error: InitError) -> String {
    let InitError::Options(findings) = error else { return error.to_string() };
    let mut lines: Vec<String> = findings.iter().map(describe_finding).collect();
    lines.dedup();
    format!("nothing was written\n{}", lines.join("\n"))
}

fn describe_finding(finding: &Diagnostic) -> String {
    let option = match finding.key.split('[').next().unwrap_or_default() {
        "platform" => "--platform",
        "base_url" => "--base-url",
        "sandbox" => "--sandbox-public",
        "public.listen" => "--port",
        "private.listen" => "--private-port",
        "client_id" => "--client-id",
        "redirect_uris" | "home_page" => "--redirect-uri",
        "support_url" => "--support-url",
        "footer" => "--privacy-url, --accessibility-url",
        "post_logout_redirect_uris" => "--post-logout-redirect-uri",
        _ => return finding.to_string(),
    };
    format!("{option}: {}\n  fix: {}", finding.message, finding.fix)
}

fn print_hub(dir: &str, hub: &InitReport) {
    outln!("{dir} has everything that a hub needs: keys, secrets, a sandbox identity provider,");
    outln!("a service provider and a person. Its settings are in {dir}/passerelle.toml.\n");
    outln!("Start the hub:");
    outln!("  passerelle check --config {dir}");
    outln!("  passerelle serve --config {dir}\n");
    outln!(
        "Then try a login in a browser; it ends at the application's redirect URI, with a code:"
    );
    outln!("  {}\n", hub.login_url);
    outln!("What the application needs:");
    outln!("  issuer       {}", hub.issuer);
    outln!("  client_id    {}", hub.client_id);
    outln!("  its secret   {}", hub.client_secret.display());
    if let Some(key) = &hub.client_key {
        outln!("  its key      {}", key.display());
    }
    outln!("  its file     {dir}/service-providers/application.toml");
}
