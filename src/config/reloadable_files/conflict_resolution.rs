//! Which of the newest versions count, when they don't all go together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Files;
use super::shelf::Order;
use crate::config::data_providers;
use crate::config::problem::Problem;
use crate::config::service_providers::{self, Reach};
use crate::config::source::problem_of_file;
use crate::config::together::{self, Conflict, Party};

/// Beyond so many files held back at once, none is tried again on its own before the next reading.
const TRIED_AGAIN: usize = 64;

/// Files whose newest version must not count, with the reasons.
type Held = BTreeMap<PathBuf, Vec<Problem>>;

impl Files {
    /// The newest versions count if they go together; where they don't, the one that changed last keeps its last good
    /// version. What only the going of a file has caused is said, and holds nothing up.
    pub(super) fn settle(&mut self) {
        let pending: BTreeMap<PathBuf, Order> = self.pending();
        let mut held = Held::new();
        self.left_behind = loop {
            let (blamed, left_behind) = blame(self.conflicts(&held), &pending, &held);
            if blamed.is_empty() {
                break left_behind;
            }
            held.extend(blamed);
        };
        self.left_behind.extend(self.nobody());
        if (2..=TRIED_AGAIN).contains(&held.len()) {
            self.try_again(&mut held);
        }
        self.services.settle(&mut held);
        self.data_providers.settle(&mut held);
        self.connectors.settle(&mut held);
        self.scopes.settle(&mut held);
        self.notices.settle(&mut held);
    }

    /// One that was only held back beside the one at fault comes in after all.
    fn try_again(&self, held: &mut Held) {
        let accepted = self.conflicts(held).len();
        let files: Vec<PathBuf> = held.keys().cloned().collect();
        for file in files {
            let Some(reasons) = held.remove(&file) else { continue };
            if self.conflicts(held).len() > accepted {
                held.insert(file, reasons);
            }
        }
    }

    /// A hub may start without any connector, and the last one may go; but then nobody can log in.
    fn nobody(&self) -> Option<Problem> {
        let is_empty = self.connectors.is_empty() && self.connectors.complaints().next().is_none();
        let mend = "put an identity provider's .toml file there";
        (is_empty && !self.services.is_empty()).then(|| {
            problem_of_file(
                &self.ground.connectors,
                "holds no connector, so that nobody can log in",
                mend,
            )
        })
    }

    fn pending(&self) -> BTreeMap<PathBuf, Order> {
        let all = self.services.pending().chain(self.data_providers.pending());
        let all = all.chain(self.connectors.pending()).chain(self.scopes.pending());
        all.map(|(path, order)| (path.to_owned(), order)).collect()
    }

    /// What does not go together, if the newest versions count except those held.
    fn conflicts(&self, held: &Held) -> Vec<Conflict> {
        let is_held = |path: &Path| held.contains_key(path);
        let services: Vec<_> = self.services.chosen(&is_held).collect();
        let data_providers: Vec<_> = self.data_providers.chosen(&is_held).collect();
        let of_services = services
            .iter()
            .map(|version| Party::of_service(&version.source, &version.says.client.file));
        let of_data = data_providers
            .iter()
            .map(|version| Party::of_data_provider(&version.source, &version.says.registered.file));
        let parties: Vec<_> = of_services.chain(of_data).collect();
        let mut found = together::conflicts(&parties, &self.ground.subject_keys);

        if let Some(scopes) = self.scopes.chosen(&is_held).next() {
            let (tables, file) = (&scopes.says.tables, scopes.source.path());
            for version in &services {
                let mut problems = Vec::new();
                service_providers::against_scopes(
                    &version.source,
                    &version.says.client.file,
                    tables,
                    &mut problems,
                );
                found.extend(
                    problems
                        .into_iter()
                        .map(|problem| Conflict::new(problem, [version.source.path(), file])),
                );
            }
            for version in &data_providers {
                let mut problems = Vec::new();
                let registered = &version.says.registered.file;
                data_providers::against_scopes(
                    &version.source,
                    registered,
                    &tables.scopes,
                    &mut problems,
                );
                found.extend(
                    problems
                        .into_iter()
                        .map(|problem| Conflict::new(problem, [version.source.path(), file])),
                );
            }
        }

        let connectors: Vec<_> = self.connectors.chosen(&is_held).collect();
        let clients = services
            .iter()
            .map(|version| &version.source)
            .chain(data_providers.iter().map(|version| &version.source));
        let all = clients.chain(connectors.iter().map(|version| &version.source));
        found.extend(together::shared_secrets(all, &self.ground.folder));
        let described = connectors.iter().map(|version| {
            let configured = &version.says.configured;
            (&configured.id, (configured.file.levels.highest, version.source.path()))
        });
        let reach = Reach { connectors: described.collect() };
        let files = services.iter().map(|version| (&version.source, &version.says.client.file));
        found.extend(service_providers::reachable(files, &reach, self.ground.platform));
        found
    }
}

/// For each conflict the file that changed last, with the reason; and what no change has caused.
fn blame(
    conflicts: Vec<Conflict>,
    pending: &BTreeMap<PathBuf, Order>,
    held: &Held,
) -> (Held, Vec<Problem>) {
    let (mut blamed, mut left_behind) = (Held::new(), Vec::new());
    for Conflict { problem, between } in conflicts {
        // One that another conflict has taken out may have ended this one as well: that is seen the next time around.
        if let Some(already) = between.iter().find(|file| blamed.contains_key(*file)) {
            if let Some(reasons) = blamed.get_mut(already) {
                reasons.push(as_told_of(already, problem));
            }
            continue;
        }
        let open: BTreeSet<_> = between.iter().filter(|file| !held.contains_key(*file)).collect();
        let last = open.into_iter().filter_map(|file| Some((pending.get(file)?, file))).max();
        match last {
            Some((_, file)) => {
                blamed.insert(file.clone(), vec![as_told_of(file, problem)]);
            }
            None => left_behind.push(problem),
        }
    }
    (blamed, left_behind)
}

/// A fault that shows in one file and is held against another is told of the latter, where the mending is to be done.
fn as_told_of(file: &Path, problem: Problem) -> Problem {
    let name = file.display().to_string();
    if problem.file == name {
        return problem;
    }
    let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
    let what = format!("does not go with {}{line}: {} {}", problem.file, problem.key, problem.what);
    let mend = format!("take this change back, or there: {}", problem.mend);
    Problem { file: name, line: None, key: String::new(), what, mend }
}
