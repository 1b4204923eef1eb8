//! Reads the source files of all crates and the paths that they import.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use syn::visit::{self, Visit};

/// A path in code, made absolute: the crate, and the segments after it.
pub(crate) type CratePath = Vec<String>;

/// One source file, and what its code outside test modules names.
pub(crate) struct Source {
    /// Path in the repository, with forward slashes.
    pub path: String,
    pub text: String,
    /// Every path that starts with a crate of the workspace, `crate`, `self` or `super`.
    pub imports: BTreeSet<CratePath>,
    /// Names of the types and traits that other files can see.
    pub public_types: Vec<String>,
    /// Names of all functions, those of test modules included.
    pub functions: Vec<String>,
    /// First segments of all other paths: crates, and names in scope.
    pub crates: BTreeSet<String>,
    pub is_async: bool,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut imports = Imports { module: module_path(path), ..Imports::default() };
        imports.visit_file(&file);
        let mut public_types = PublicTypes(Vec::new());
        public_types.visit_file(&file);
        let mut functions = Functions(Vec::new());
        functions.visit_file(&file);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            imports: imports.found,
            public_types: public_types.0,
            functions: functions.0,
            crates: imports.crates,
            is_async: imports.is_async,
        }
    }

    /// Module path of the file: `["hub", "health"]` for `crates/hub/src/health.rs`.
    pub(crate) fn module(&self) -> Vec<String> {
        module_path(&self.path)
    }

    /// True for files that only test builds compile.
    pub(crate) fn is_test(&self) -> bool {
        let module = self.module();
        module[0] == "testkit" || module.iter().any(|part| part == "tests" || part == "testing")
    }
}

/// Returns every source file of the workspace, parsed once.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = ["crates", "src"].map(|folder| files_under(&root.join(folder), &["rs"]));
        let read =
            |path: &PathBuf| Source::new(&relative(path, root), &fs::read_to_string(path).unwrap());
        let sources: Vec<_> = files.concat().iter().map(read).collect();
        assert!(sources.len() > 100, "the crates were not found");
        sources
    })
}

/// `crates/hub/src/health.rs` is `["hub", "health"]`; `lib.rs` is the crate itself.
fn module_path(path: &str) -> Vec<String> {
    let (name, file) = match path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
    {
        Some(found) => found,
        None => ("passerelle", path.strip_prefix("src/").unwrap_or(path)),
    };
    let modules = file.trim_end_matches(".rs").split('/').filter(|part| *part != "lib");
    std::iter::once(name).chain(modules).map(str::to_owned).collect()
}

/// Returns the files under `folder` whose extension is one of `extensions`, sorted.
pub(crate) fn files_under(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns `path` as it reads below `root`, with forward slashes.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/")
}

/// Returns, for each file, the files that it imports from, by module path.
///
/// A path belongs to the deepest file that it names: `passerelle_store::memory::MemoryStore` to
/// `crates/store/src/memory.rs`.
pub(crate) fn import_graph(sources: &[Source]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let product: Vec<_> = sources.iter().filter(|s| !s.is_test()).collect();
    let modules: BTreeSet<_> = product.iter().map(|s| s.module()).collect();
    let file_of = |path: &CratePath| {
        (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|p| modules.contains(p))
    };
    let targets = |source: &Source| {
        let module = source.module();
        source.imports.iter().filter_map(file_of).filter(|file| *file != module).collect()
    };
    product.iter().map(|source| (source.module(), targets(source))).collect()
}

#[derive(Default)]
struct Imports {
    module: Vec<String>,
    found: BTreeSet<CratePath>,
    crates: BTreeSet<String>,
    is_async: bool,
}

impl Imports {
    fn add(&mut self, segments: &[String]) {
        let mut base = match segments.first().map(String::as_str) {
            Some("crate") => self.module[..1].to_vec(),
            Some("self" | "super") => self.module.clone(),
            Some(name) if name.starts_with("passerelle_") => {
                vec![name.trim_start_matches("passerelle_").to_owned()]
            }
            first => {
                self.crates.extend(first.map(str::to_owned));
                return;
            }
        };
        let super_count = segments.iter().take_while(|s| *s == "super").count();
        base.truncate(base.len().saturating_sub(super_count));
        base.extend(segments.iter().skip(super_count.max(1)).cloned());
        self.found.insert(base);
    }

    fn add_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) if name.ident == "self" => self.add(prefix),
            syn::UseTree::Name(name) => self.add(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.add(&with(&rename.ident)),
            syn::UseTree::Glob(_) => self.add(prefix),
            syn::UseTree::Group(group) => {
                for tree in group.items.iter() {
                    self.add_tree(prefix, tree);
                }
            }
        }
    }
}

impl<'a> Visit<'a> for Imports {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !is_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }

    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        self.is_async |= signature.asyncness.is_some();
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {
        self.is_async = true;
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}
}

struct PublicTypes(Vec<String>);

impl<'a> Visit<'a> for PublicTypes {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if is_for_tests(item) {
            return;
        }
        let (visibility, name) = match item {
            syn::Item::Struct(i) => (&i.vis, &i.ident),
            syn::Item::Enum(i) => (&i.vis, &i.ident),
            syn::Item::Trait(i) => (&i.vis, &i.ident),
            syn::Item::Type(i) => (&i.vis, &i.ident),
            _ => return visit::visit_item(self, item),
        };
        if !matches!(visibility, syn::Visibility::Inherited) {
            self.0.push(name.to_string());
        }
    }
}

struct Functions(Vec<String>);

impl<'a> Visit<'a> for Functions {
    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        self.0.push(signature.ident.to_string());
        visit::visit_signature(self, signature);
    }
}

fn is_for_tests(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Use(i) => &i.attrs,
        syn::Item::Struct(i) => &i.attrs,
        syn::Item::Enum(i) => &i.attrs,
        syn::Item::Const(i) => &i.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            let tokens = list.tokens.to_string();
            let mut words = tokens.split(|c: char| !c.is_ascii_alphanumeric());
            list.path.is_ident("cfg") && words.any(|word| word == "test")
        }
        _ => false,
    })
}
