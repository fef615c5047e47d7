//! Ends a script that computes for longer than a store may take to answer.
//!
//! A thread looks, many times per deadline, whether a client is still where it was. The client's side is one counter: odd while Lua
//! runs. What ends it is a hook, which LuaJIT allows to be set from another thread; compiled loops look for it because LuaJIT is built
//! so (`.cargo/config.toml`).

use mlua::ffi;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where nobody says another.
const DEADLINE: Duration = Duration::from_secs(10);
/// Looks per deadline, and the longest time between two.
const LOOKS: u32 = 50;
const LONGEST: Duration = Duration::from_millis(100);
/// Rounds of the hook that ends a script: every instruction, so that what is caught by `pcall` is raised again behind it.
const AT_ONCE: c_int = 1;

/// The words about a script that was ended.
pub(crate) const ENDED: &str = "ended: it computed for longer than the deadline without a call to the store";

/// One machine, as the watch sees it.
#[derive(Default)]
pub(crate) struct LuaPulse {
    /// Odd while Lua runs.
    beats: AtomicU64,
    /// The machine's state; null once it is gone.
    state: AtomicPtr<c_void>,
}

impl LuaPulse {
    /// Notes that Lua begins to run, or has stopped; Lua counts as stopped while kvtrial reads data for it.
    #[inline]
    pub(crate) fn beat(&self) {
        self.beats.store(self.beats.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Watches the machines of a trial.
#[derive(Default)]
pub(crate) struct LoopWatch {
    shared: Arc<Watched>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Watched {
    pulses: Mutex<Pulses>,
    changed: Condvar,
}

#[derive(Default)]
struct Pulses {
    all: Vec<Arc<LuaPulse>>,
    deadline: Option<Duration>,
    over: bool,
}

impl LoopWatch {
    /// Sets how long scripts may compute from now on without a call.
    pub(crate) fn set_deadline(&self, deadline: Duration) {
        self.shared.pulses.lock().unwrap_or_else(PoisonError::into_inner).deadline = Some(deadline);
    }

    /// Returns how long that is.
    pub(crate) fn deadline(&self) -> Duration {
        self.shared.pulses.lock().unwrap_or_else(PoisonError::into_inner).deadline.unwrap_or(DEADLINE)
    }

    /// Watches one more machine. The thread begins with the first.
    pub(crate) fn add(&self, pulse: &Arc<LuaPulse>, state: *mut c_void) {
        pulse.state.store(state, Ordering::Relaxed);
        self.shared.pulses.lock().unwrap_or_else(PoisonError::into_inner).all.push(Arc::clone(pulse));
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            *thread = Some(std::thread::spawn(move || look(&shared)));
        }
    }

    /// Notes that the machine is about to go.
    pub(crate) fn remove(&self, pulse: &Arc<LuaPulse>) {
        let mut pulses = self.shared.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulse.state.store(std::ptr::null_mut(), Ordering::Relaxed);
        pulses.all.retain(|known| !Arc::ptr_eq(known, pulse));
    }
}

impl Drop for LoopWatch {
    fn drop(&mut self) {
        self.shared.pulses.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join(); // it does not panic
        }
    }
}

/// The thread.
fn look(watched: &Watched) {
    let mut last: Vec<(Arc<LuaPulse>, u64, Instant)> = Vec::new();
    let mut pulses = watched.pulses.lock().unwrap_or_else(PoisonError::into_inner);
    while !pulses.over {
        let deadline = pulses.deadline.unwrap_or(DEADLINE);
        // A worker that gives no sign of life is ended a little behind the deadline, without a line: this must come first.
        let look = (deadline / LOOKS).min(LONGEST).max(Duration::from_millis(1));
        let patience = deadline.saturating_sub(look * 3);
        let now = Instant::now();
        last.retain(|(known, ..)| pulses.all.iter().any(|pulse| Arc::ptr_eq(pulse, known)));
        for pulse in &pulses.all {
            let beats = pulse.beats.load(Ordering::Relaxed);
            match last.iter_mut().find(|(known, ..)| Arc::ptr_eq(known, pulse)) {
                None => last.push((Arc::clone(pulse), beats, now)),
                Some((_, seen, since)) if *seen != beats => (*seen, *since) = (beats, now),
                Some((_, seen, since)) if *seen % 2 == 1 && now.duration_since(*since) >= patience => {
                    end(pulse.state.load(Ordering::Relaxed));
                }
                Some(_) => {}
            }
        }
        let waited = watched.changed.wait_timeout(pulses, look);
        pulses = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Has the next instruction of this state end in an error. A hook that is set is left alone: LuaJIT notes in the same byte that a hook runs,
/// and written back from here just when it ends, that note would stay and no hook would ever run again.
fn end(state: *mut c_void) {
    if state.is_null() {
        return;
    }
    // SAFETY: the state is alive: it is taken from the list, under the lock held here, before it is closed. LuaJIT says of its hooks
    // that they may be set from another native thread.
    unsafe {
        if ffi::lua_gethookmask(state.cast()) & ffi::LUA_MASKCOUNT == 0 {
            ffi::lua_sethook(state.cast(), Some(ended), ffi::LUA_MASKCOUNT, AT_ONCE);
        }
    }
}

/// Returns whether a state is to end: for functions within which no instruction is executed.
pub(crate) fn is_to_end(state: *mut c_void) -> bool {
    // SAFETY: called by the thread the state belongs to; it reads one number.
    unsafe { ffi::lua_gethookcount(state.cast()) == AT_ONCE }
}

/// Takes the hooks from a state that is not running.
pub(crate) fn calm(state: *mut c_void) {
    // SAFETY: called by the thread the state belongs to.
    unsafe { ffi::lua_sethook(state.cast(), None, 0, 0) };
}

unsafe extern "C-unwind" fn ended(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: Lua calls this with the state that runs. Nothing here needs to be dropped when the error unwinds.
    unsafe { raise(state, ENDED) }
}

/// Raises an error that names the line.
///
/// # Safety
/// Called from a hook.
unsafe fn raise(state: *mut ffi::lua_State, words: &'static str) {
    // SAFETY: the caller's; a hook has 20 places on the stack.
    unsafe {
        ffi::luaL_where(state, 0);
        ffi::lua_pushlstring(state, words.as_ptr().cast(), words.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}
