//! libFuzzer over one of the targets of `passerelle_testkit::fuzz_targets`: the one that
//! `FUZZ_TARGET` names. All targets are one program, so that it is linked once.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use passerelle_testkit::fuzz_targets::{FuzzFunction, fuzz_targets};

thread_local! {
    static TARGET: RefCell<FuzzFunction> = RefCell::new(build_target());
}

fn build_target() -> FuzzFunction {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = fuzz_targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("FUZZ_TARGET={name} names no target")).build()
}

fuzz_target!(init: TARGET.with(|_| ()), |data: &[u8]| {
    TARGET.with_borrow_mut(|run| run(data));
});
