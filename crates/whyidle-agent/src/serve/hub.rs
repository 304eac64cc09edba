//! One watch for all who look at the same program. It begins with the first who listens and ends with the last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch::{Receiver, Sender, channel};

use super::{MOST_WATCHES, Site};

type Watches = Mutex<HashMap<u32, Arc<Sender<Arc<str>>>>>;

pub(super) struct Hub {
    site: Arc<dyn Site>,
    watches: Arc<Watches>,
}

impl Hub {
    pub(super) fn new(site: Arc<dyn Site>) -> Self {
        Self { site, watches: Arc::default() }
    }

    /// What the watch of `pid` tells from now on, and what it told last. `None` where too many programs are watched.
    pub(super) fn listen(&self, pid: u32) -> Option<Receiver<Arc<str>>> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watches.get(&pid) {
            let mut told = sender.subscribe();
            if !told.borrow().is_empty() {
                told.mark_changed();
            }
            return Some(told);
        }
        if watches.len() >= MOST_WATCHES {
            return None;
        }
        let (sender, told) = channel(Arc::from(""));
        let (sender, site, all) = (Arc::new(sender), Arc::clone(&self.site), Arc::clone(&self.watches));
        let own = Arc::clone(&sender);
        let watch = move || {
            site.watch(pid, &mut |text| tell(&all, pid, &own, text));
            // By now another watch of the same program may have begun.
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            if all.get(&pid).is_some_and(|known| Arc::ptr_eq(known, &own)) {
                all.remove(&pid);
            }
        };
        std::thread::Builder::new().name(format!("watch {pid}")).spawn(watch).ok()?;
        watches.insert(pid, sender);
        Some(told)
    }
}

/// Tells those who listen; false where nobody does. Nobody can begin to listen in between.
fn tell(watches: &Watches, pid: u32, sender: &Sender<Arc<str>>, text: String) -> bool {
    let mut watches = watches.lock().unwrap_or_else(PoisonError::into_inner);
    if sender.receiver_count() == 0 {
        watches.remove(&pid);
        return false;
    }
    sender.send_replace(Arc::from(text));
    true
}
