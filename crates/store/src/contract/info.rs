//! The facts that an adapter states before anything is opened.

use crate::tls::{CA, TLS};
use crate::{
    CONNECTIONS, Capabilities, Connections, Deployment, Endpoint, Keeps, OptionInfo, Place, Store, StoreError, VERSION,
    Versions,
};
use std::collections::BTreeMap;
use std::path::Path;
use study::{Authority, BudgetLayer, Class, Durability, Spec, Target, Transport};

/// The cargo feature an adapter needs for its driver. The macro `driver!` of the crate `catalog` makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The name of the feature.
    pub feature: &'static str,
    /// Whether the driver is in this build.
    pub built: bool,
}

/// The availability of a store: whether it can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The store can be used: product and version as the program or library states them, e.g. `Redis 7.0.15`.
    Found(String),
    /// The store cannot be used: the program or library that was looked for.
    NotFound(String),
    /// The adapter's driver is not in this build: the cargo feature that adds it.
    NotBuilt(&'static str),
}

/// Opens an embedded store in the directory, private or the user's, that holds its files.
pub type OpenEmbedded = fn(&Spec, &Path) -> Result<Box<dyn Store>, StoreError>;

/// Plans a private deployment.
pub type PlanDeployment = fn(&Spec, &mut Place) -> Result<Deployment, StoreError>;

/// Connects to the servers at these endpoints: the servers of a deployment that serve clients, or the user's.
pub type Connect = fn(&Spec, &[Endpoint]) -> Result<Box<dyn Store>, StoreError>;

/// The way in which a store is opened.
#[derive(Clone, Copy)]
pub enum Opener {
    /// A library in this process.
    Embedded(OpenEmbedded),
    /// One server or several, planned for a private place and started by the host, or the user's own; then connected to.
    Server {
        /// The plan of a private server.
        plan: PlanDeployment,
        /// The function that connects. It is also used to find out whether a server that was just started is ready, so it must fail fast and cheaply.
        connect: Connect,
        /// The store's usual port.
        usual_port: u16,
    },
}

/// The installation of a store that is part of this program.
pub const BUILT_IN: &str = "built in";

/// A store as `kvtrial stores` lists it.
#[derive(Clone, Copy)]
pub struct StoreInfo {
    /// The name in specs.
    pub name: &'static str,
    /// The name that the store shares with the stores that differ from it in transport only: `redis` of `redis-unix`. `--vary FAMILY.OPTION` means
    /// all of them.
    pub family: &'static str,
    /// The transport to a private store; `None`: the store is in this process.
    pub transport: Option<Transport>,
    /// The cargo feature of the driver; `None` when the driver is in every build.
    pub driver: Option<Driver>,
    /// The comparison class.
    pub class: Class,
    /// A word for the kind of store, 7 letters at most: `SQL`, `LSM`, `cache`.
    pub kind: &'static str,
    /// A line on what the store is.
    pub summary: &'static str,
    /// The levels that the store has, its default first.
    pub durabilities: &'static [Durability],
    /// The options that the store's spec may carry.
    pub options: &'static [OptionInfo],
    /// The line that installs the store; `built in` when there is nothing to install.
    pub install: &'static str,
    /// The licence of the measured program.
    pub licence: &'static str,
    /// The function that returns the native operations and the limits of a store with this spec, before the store is opened. For a private server or
    /// an embedded store they are exactly those that the open store has; for the user's server, those that such a server usually has.
    /// `layers::declared` fills in the level of durability.
    pub declares: fn(&Spec) -> Capabilities,
    /// The function that looks for the store on this machine; it starts no server and touches no data. [`StoreInfo::probe`] calls it, and only when
    /// the driver is in the build.
    pub probe: fn() -> Availability,
    /// The way in which the store is opened.
    pub opener: Opener,
}

/// The names that servers and engines give the settings that kvtrial derives from `durability=`.
const SAFETY_SETTINGS: [&str; 14] = [
    "appendonly",
    "appendfsync",
    "save",
    "fsync",
    "sync",
    "synchronous",
    "synchronous_commit",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "journal",
    "journal_mode",
    "wal",
    "nosync",
    "flush_log_at_commit",
];

/// The options that name a program or a library by its path.
const NAMED_PROGRAM: [&str; 2] = ["program", "lib"];

impl StoreInfo {
    /// Returns whether the store can be had on this machine.
    pub fn probe(&self) -> Availability {
        match self.driver {
            Some(Driver { feature, built: false }) => Availability::NotBuilt(feature),
            _ => (self.probe)(),
        }
    }

    /// Returns the transport to a store of this spec on this machine; `None`: the store is in this process, or the server is elsewhere.
    pub fn transport(&self, spec: &Spec) -> Option<Transport> {
        spec.transport(self.transport)
    }

    /// Checks that the store's driver is in this build.
    ///
    /// # Errors
    /// Names the feature that adds the driver.
    pub fn built(&self) -> Result<(), StoreError> {
        match self.driver {
            Some(Driver { feature, built: false }) => Err(StoreError::NotBuilt { store: self.name.into(), feature }),
            _ => Ok(()),
        }
    }

    /// Returns the options of a spec that the store does not show in effect, in words: a setting that did nothing must not be measured as if
    /// it did.
    pub fn not_in_effect(&self, spec: &Spec, config: &BTreeMap<String, String>) -> Vec<String> {
        let asked = self.options.iter().filter_map(|option| Some((option, spec.options.get(option.name)?)));
        asked.filter_map(|(option, value)| option.not_in_effect(value, config)).collect()
    }

    /// Returns the level that a spec asks for, or the default.
    ///
    /// # Errors
    /// The store does not have that level.
    pub fn durability(&self, spec: &Spec) -> Result<Durability, StoreError> {
        match spec.durability {
            None => Ok(self.durabilities[0]),
            Some(level) if self.durabilities.contains(&level) => Ok(level),
            Some(level) => Err(self.unsupported(format!(
                "durability={level} is not a level it has; use {}",
                self.durabilities.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// Returns whether the store is part of this program, so that nothing has to be installed.
    pub fn is_built_in(&self) -> bool {
        self.install == BUILT_IN
    }

    /// Returns the levels of durability of the product found here: of two products behind one name, each may lack some.
    pub fn levels_found(&self) -> Vec<Durability> {
        let lacks = |level: Durability| {
            let planned = self.planned(&Spec::private(self.name).with_durability(level));
            matches!(planned, Some(Err(StoreError::Unsupported { .. })))
        };
        self.durabilities.iter().copied().filter(|level| !lacks(*level)).collect()
    }

    /// Returns whether any user of this machine can connect to a private server of this store. False also for a program that is not found here: then
    /// the answer is not known.
    pub fn is_open_to_all(&self) -> bool {
        let planned = self.planned(&Spec::private(self.name));
        planned.and_then(Result::ok).is_some_and(|plan| plan.endpoints().iter().any(Endpoint::is_open_to_all))
    }

    /// Returns the plan of a private deployment that is not going to be started; `None` for a library.
    fn planned(&self, spec: &Spec) -> Option<Result<Deployment, StoreError>> {
        let Opener::Server { plan, .. } = self.opener else { return None };
        self.built().ok()?;
        Some(plan(spec, &mut Place::on_paper(false)))
    }

    /// Returns the last layer of cost that a baseline includes.
    pub fn layer(&self) -> Option<BudgetLayer> {
        let is_null = || (self.declares)(&Spec::private(self.name)).keeps == Keeps::Nothing;
        (self.class == Class::Baseline).then(|| match self.opener {
            Opener::Server { .. } => BudgetLayer::Wire,
            Opener::Embedded(_) if is_null() => BudgetLayer::Generator,
            Opener::Embedded(_) => BudgetLayer::Client,
        })
    }

    /// Returns whether the store has an option of this name.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.name == name)
    }

    /// Returns the versions of the store that can be fetched beside each other, and named by `NAME@VERSION`.
    pub fn versions(&self) -> Versions {
        self.options.iter().find(|option| option.name == VERSION.name).map_or(Versions(&[]), |option| option.versions)
    }

    /// Checks that the store has every option of the spec, with the given value, and the database that its address names. `layers` are the options that any store takes beside its own.
    ///
    /// # Errors
    /// Names the option and the possible values.
    pub fn check_options(&self, spec: &Spec, layers: &[&str]) -> Result<(), StoreError> {
        self.durability(spec)?;
        if let Target::Server(Authority { database: Some(name), .. }) = &spec.target {
            (self.declares)(spec).databases.check(name).map_err(|problem| self.unsupported(problem))?;
        }
        for (name, value) in &spec.options {
            let Some(option) = self.options.iter().find(|option| option.name == name) else {
                return Err(self.unsupported(self.no_option(name, value, layers)));
            };
            if [TLS.name, CA.name].contains(&name.as_str()) && spec.target == Target::Private {
                return Err(self.unsupported(format!(
                    "{name}= is for a server of yours, named by URL; a private one is reached from this machine only"
                )));
            }
            if *name == VERSION.name {
                self.check_version(spec, value)?;
            }
            if *name == CONNECTIONS.name {
                Connections::read(value).map_err(|problem| self.unsupported(problem))?;
            }
            if !option.values.is_empty() && !option.values.contains(&value.as_str()) {
                return Err(
                    self.unsupported(format!("{name}={value} is not possible; use {}", option.values.join(", ")))
                );
            }
        }
        Ok(())
    }

    /// Checks that a version is asked for where it chooses the program, and that it can be had.
    fn check_version(&self, spec: &Spec, version: &str) -> Result<(), StoreError> {
        if let Target::Server(_) = spec.target {
            let problem = format!("{}= is for a private one; a server of yours has its own version", VERSION.name);
            return Err(self.unsupported(problem));
        }
        match NAMED_PROGRAM.iter().find(|option| spec.options.contains_key(**option)) {
            Some(option) => {
                Err(self.unsupported(format!("a version and {option}= both name a program; leave one of the two out")))
            }
            None => {
                let systems = || if let Availability::Found(words) = self.probe() { Some(words) } else { None };
                self.versions().refusal(version, systems).map_or(Ok(()), |problem| Err(self.unsupported(problem)))
            }
        }
    }

    /// Returns the words for an option that the store does not have, with those that it has.
    fn no_option(&self, name: &str, value: &str, layers: &[&str]) -> String {
        let known: Vec<_> = self.options.iter().map(|option| option.name).collect();
        let all = known.iter().chain(layers).chain(&["durability"]).copied();
        let meant = match SAFETY_SETTINGS.contains(&name.to_lowercase().as_str()) {
            true => {
                let meant = Durability::meant(value).filter(|level| self.durabilities.contains(level));
                let meant = meant.map(|level| format!("; '{value}' is {level}")).unwrap_or_default();
                format!(" What survives a crash is chosen by {}{meant}.", self.durability_choice())
            }
            false => study::did_you_mean(name, all),
        };
        let has = match known.as_slice() {
            [] => "It has only durability=,".to_owned(),
            known => format!("It has durability, {},", known.join(", ")),
        };
        let equals = if known.is_empty() { "=" } else { "" };
        format!("it has no option '{name}'.{meant} {has} and as every store {}{equals}", layers.join(", "))
    }

    /// `durability=none, second or commit`.
    fn durability_choice(&self) -> String {
        let levels: Vec<&str> = self.durabilities.iter().map(|level| level.name()).collect();
        match levels.as_slice() {
            [some @ .., last] if !some.is_empty() => format!("durability={} or {last}", some.join(", ")),
            one => format!("durability={}", one.concat()),
        }
    }

    fn unsupported(&self, problem: String) -> StoreError {
        StoreError::Unsupported { store: self.name.into(), problem }
    }
}
