//! Measures the cost of a rate limit per request, with 50,000 networks, new and known.
//!
//! `cargo bench --bench limits`. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

use passerelle_protocol::env::Env;
use passerelle_quota::{
    KeyedRateLimiter, LimitKey, NetworkRate, PrefixLengths, RateLimitSettings, RateLimits,
};
use passerelle_telemetry::Metrics;
use tokio::time::Instant;

const NETWORKS: u32 = 50_000;
const PREFIXES: PrefixLengths = PrefixLengths { v4: 32, v6: 64 };

fn main() {
    let env = Env::system();
    let metrics = Arc::new(Metrics::new().unwrap());
    let off = RateLimitSettings {
        logins_per_service_provider: None,
        requests_per_network: NetworkRate::Unlimited,
        redirects_per_connector: None,
        failed_authentications_per_network: NetworkRate::Unlimited,
        prefixes: PREFIXES,
    };
    let most = NonZeroU32::new(600).unwrap();
    let on = RateLimitSettings { requests_per_network: NetworkRate::Everyone(most), ..off };
    for (name, rates) in [("off", off), ("on", on)] {
        let quotas = RateLimits::new(rates, &env, &metrics);
        for round in ["first", "again", "again"] {
            let each = measured(|number| quotas.check_request(address(number)).is_ok());
            println!("{name}, {round}: {each} ns per request");
        }
    }
    let limit = KeyedRateLimiter::new("flood", 16_384, &env);
    let each = measured(|number| {
        limit.take(LimitKey::from_network(address(number), PREFIXES), most).is_ok()
    });
    println!("three times as many networks as the table holds: {each} ns per request");
}

fn address(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(number.wrapping_mul(2_654_435_761)))
}

fn measured(take: impl Fn(u32) -> bool) -> u128 {
    let began = Instant::now();
    let taken = (0..NETWORKS).filter(|number| std::hint::black_box(take(*number))).count();
    assert_eq!(taken, NETWORKS as usize);
    began.elapsed().as_nanos() / u128::from(NETWORKS)
}
