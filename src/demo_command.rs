//! `passerelle demo`: runs the embedded demo until Ctrl+C.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use passerelle_config::model::{LogConfig, LogFormat};
use passerelle_demo::Demo;
use passerelle_protocol::env::Env;
use passerelle_server::memory_limit::check_memory_limit;

use super::output::outln;
use super::serve_command::Signals;
use super::{CommandResult, block_on, init_logging};

#[derive(Args)]
pub(crate) struct DemoCommand {
    /// Port of the standard hub; the others use the ports up to 23 above it. 0 chooses free ports.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Address to listen on. Use 0.0.0.0 in a container whose ports are published on 127.0.0.1
    /// only: anyone who reaches them can sign in as anyone, and open the operator consoles. The
    /// addresses of the demo begin with http://localhost in any case.
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into())]
    listen: IpAddr,
}

impl DemoCommand {
    /// Runs the demo.
    ///
    /// # Errors
    /// Returns an error if the demo can't be started.
    pub(crate) fn run(self) -> CommandResult<()> {
        let Self { port, listen } = self;
        check_memory_limit()?;
        init_logging(&LogConfig { format: LogFormat::Human, filter: "warn".into() })?;
        block_on(async move {
            outln!(
                "One identity provider, connector=donjon, can't be reached, to show how the hub"
            );
            outln!(
                "treats that: two lines of the log report it. Another one, cassis, is blocked.\n"
            );
            let demo = Demo::start(listen, port, &Env::system())?;
            outln!("The demo runs until you press Ctrl+C.");
            for (platform, addresses) in [("standard", &demo.standard), ("high", &demo.high)] {
                outln!("{platform} platform");
                outln!("  hub                 {}", addresses.hub);
                outln!("  its metrics         {}/metrics", addresses.private);
                outln!(
                    "  its console         {}/admin/ with the token in {}",
                    addresses.private,
                    addresses.admin_token.display()
                );
                outln!("  its folder          {}", addresses.folder.display());
                for provider in &addresses.identity_providers {
                    outln!("  identity provider   {provider}");
                }
                outln!("  data provider       {}", addresses.data_provider);
            }
            outln!(
                "\nA new file in connectors/ of a hub's folder adds an identity provider at once."
            );
            outln!("An application of yours signs in at the standard hub with the lines of");
            outln!("  {}", demo.standard.folder.join("service-providers/example.toml").display());
            outln!("Open {}  (its pages lead to the consoles)", demo.start_url);
            Signals::listen()?.stop().await;
            demo.stop().await;
            Ok(())
        })
    }
}
